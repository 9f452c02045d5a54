//! `penstock.incomplete`: the file that says a dump is running or has died.
//!
//! It is written, durably, before anything else of a dump and removed after
//! everything, the manifest included, is in place. So a directory in which it
//! stands is never complete, whatever else it holds; and an archive without
//! it and without a manifest was written by MySQL Shell.

use crate::Result;
use base::process;
use serde::{Deserialize, Serialize};
use store::Store;

/// Name of the marker file.
pub const INCOMPLETE: &str = "penstock.incomplete";

/// What the marker holds, for whoever finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// When the dump began: UTC, RFC 3339.
    pub started: String,
    /// Process that writes or wrote it.
    pub pid: u32,
    /// Version of the tool.
    #[serde(default)]
    pub tool_version: String,
    /// When the process began, in ticks since the boot.
    #[serde(default)]
    pub ticks: u64,
    /// The boot and the process namespace in which its number means anything.
    #[serde(default)]
    pub namespace: String,
}

impl Marker {
    fn of_this_process(tool_version: &str) -> Marker {
        let pid = std::process::id();
        Marker {
            started: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            pid,
            tool_version: tool_version.to_owned(),
            ticks: process::started(pid).unwrap_or(0),
            namespace: process::namespace(),
        }
    }

    /// Whether the process is gone; `None` where that cannot be known, as on another host.
    pub fn is_gone(&self) -> Option<bool> {
        process::is_gone(self.pid, self.ticks, &self.namespace)
    }
}

/// Declares the archive incomplete; the first write of a dump.
pub fn set(store: &dyn Store, tool_version: &str) -> Result<()> {
    let text = crate::meta::to_json(&Marker::of_this_process(tool_version));
    // Of two dumps that begin at the same time one is refused here.
    store.put_new(INCOMPLETE, text.as_bytes())?;
    store.sync()?;
    Ok(())
}

/// Declares that this process continues the archive, or that it is still there; `started` stays what it was.
pub fn renew(store: &dyn Store, tool_version: &str, started: &str) -> Result<()> {
    let marker = Marker {
        started: started.to_owned(),
        ..Marker::of_this_process(tool_version)
    };
    store.put(INCOMPLETE, crate::meta::to_json(&marker).as_bytes())?;
    Ok(())
}

/// Whether the archive is declared incomplete, and by whom where that can be read.
pub fn get(store: &dyn Store) -> Result<Option<Marker>> {
    if store.size(INCOMPLETE)?.is_none() {
        return Ok(None);
    }
    let bytes = store.read_all(INCOMPLETE, 64 * 1024)?;
    // A marker that cannot be read marks all the same.
    Ok(Some(serde_json::from_slice(&bytes).unwrap_or(Marker {
        started: "unknown".to_owned(),
        pid: 0,
        tool_version: String::new(),
        ticks: 0,
        namespace: String::new(),
    })))
}

/// Takes the declaration back; the last act of a dump, after
/// [`crate::Manifest::write`].
pub fn clear(store: &dyn Store) -> Result<()> {
    store.complete()?;
    store.remove(INCOMPLETE)?;
    store.sync()?;
    Ok(())
}

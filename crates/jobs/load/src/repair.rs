//! The repair record: a file on this host that says that a load ended and the target refused some of its objects. The
//! same command finds it, takes what exists for loaded, and creates what is missing.
//!
//! Invariant: what exists is left as it is: no row, no index, no view of it is touched. It is not compared again, for
//! others may have written since. What this does not do: notice that a table that exists has been changed.

use super::Target;
use instance::identity::server_id;
use run::state::{self, StateDir};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Most bytes of a record.
const MAX_SIZE: u64 = 16 << 20;

/// A load that ended without some of its objects.
#[derive(Debug, Serialize, Deserialize)]
pub struct Repairable {
    /// Tables, views, routines and events that did not exist then, in words. (Triggers are tried again, all of them.)
    pub missing: Vec<String>,
}

impl Repairable {
    /// Writes it. Without the record a repair is refused: no reason to fail now.
    pub(super) fn note(t: &Target<'_>, load: &str, missing: Vec<String>) {
        if let Some((dir, path)) = place(t, load) {
            let _ = state::put_json(dir, &path, &Repairable { missing });
        }
    }

    /// The record of this load into this server.
    pub(super) fn find(t: &Target<'_>, load: &str) -> Option<Repairable> {
        let (_, path) = place(t, load)?;
        state::read_json(&path, MAX_SIZE).ok()
    }

    /// Removes it: nothing is missing any more, or what it is about no longer exists.
    pub(super) fn forget(t: &Target<'_>, load: &str) {
        if let Some((_, path)) = place(t, load) {
            let _ = state::remove(&path);
        }
    }
}

/// The directory, and the file in it, whose name says which load and which server.
fn place<'a>(t: &Target<'a>, load: &str) -> Option<(StateDir<'a>, PathBuf)> {
    // A data directory that the load initializes is made anew.
    if t.options.managed.is_some() {
        return None;
    }
    let dir = StateDir(t.options.state.as_deref()?);
    let about = format!("{} {load}", server_id(&t.id));
    Some((dir, dir.hashed("refused-", &about, 24, ".json")))
}

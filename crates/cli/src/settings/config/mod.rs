//! The configuration: `/etc/penstock/penstock.toml`, or what `--config` names.
//!
//! A table for each command has its long options, under their names on the command line. `[servers.NAME]` says
//! how a server is reached, and may have such tables of its own, which win. `file` reads it, and keeps the line
//! of each setting; `words` completes a command line with it. What is typed wins over what stands here, and
//! this wins over option files.
//!
//! Invariant: an unknown key, a wrong value, or options that exclude each other are refused with their line
//! before anything is done. A password never stands here.

mod explain;
mod file;
mod words;

pub use explain::explain;
pub use file::{Config, Heartbeat};
pub use words::{complete, expand, prune_of};

use base::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where it is if nothing else is said.
const USUAL: &str = "/etc/penstock/penstock.toml";

/// The configuration that applies to this command line, if there is one.
pub fn find(typed: &[OsString]) -> Result<Option<Config>> {
    match named(typed) {
        Some(path) => Config::read(&path).map(Some),
        None if Path::new(USUAL).exists() && !is_for_others() => {
            Config::read(Path::new(USUAL)).map(Some)
        }
        None => Ok(None),
    }
}

/// Why the usual configuration is not used, if this account may not read it: it is the one of the services then, and
/// this account works without, as where there is none.
pub fn not_ours(typed: &[OsString]) -> Option<String> {
    let passed_over = named(typed).is_none() && is_for_others();
    passed_over.then(|| format!("{USUAL} is not used: this account may not read it"))
}

fn is_for_others() -> bool {
    std::fs::File::open(USUAL).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
}

/// What `--config` or the environment names. It is looked for before anything else is parsed.
fn named(typed: &[OsString]) -> Option<PathBuf> {
    let mut words = typed.iter().skip(1).take_while(|w| *w != "--");
    let mut found = None;
    while let Some(word) = words.next() {
        if word == "--config" {
            found = words.next().map(PathBuf::from);
        } else if let Some(path) = word.to_str().and_then(|w| w.strip_prefix("--config=")) {
            found = Some(PathBuf::from(path));
        }
    }
    let of_environment = || {
        let set = std::env::var_os("PENSTOCK_CONFIG")?;
        (!set.is_empty()).then(|| PathBuf::from(set))
    };
    found.or_else(of_environment)
}

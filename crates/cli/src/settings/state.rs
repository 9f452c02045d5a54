//! Directories on this host for what must outlive a run, and for the sockets of running jobs.

use std::path::{Path, PathBuf};

/// Where penstock keeps what must outlive a run.
pub fn directory() -> Option<PathBuf> {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            // The XDG specification ignores relative paths.
            .filter(|p| p.is_absolute())
    };
    named("PENSTOCK_STATE")
        .or_else(|| named("XDG_STATE_HOME").map(|p| p.join("penstock")))
        .or_else(|| named("HOME").map(|p| p.join(".local/state/penstock")))
}

/// The same for what a run can do without: no directory is made for a home that does not exist.
pub fn if_at_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).is_some();
    let home = || std::env::var_os("HOME").is_some_and(|home| Path::new(&home).is_dir());
    directory().filter(|_| named("PENSTOCK_STATE") || named("XDG_STATE_HOME") || home())
}

/// Where running jobs listen. `PENSTOCK_STATE` decides, for tests and for services; the directory of
/// the user's session comes next, because it is gone when the machine restarts.
pub fn sockets() -> Option<PathBuf> {
    let session = || {
        let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
        (path.is_absolute() && path.is_dir()).then(|| path.join("penstock"))
    };
    let directory = match std::env::var_os("PENSTOCK_STATE") {
        Some(_) => if_at_home(),
        None => session().or_else(if_at_home),
    };
    directory.map(|p| p.join("run"))
}

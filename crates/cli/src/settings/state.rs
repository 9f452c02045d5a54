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
    // The home of the account mysql may be the data directory, in which a directory is a schema.
    let is_outside = |p: &PathBuf| run::places::not_in_a_data_directory(p).is_ok();
    named("PENSTOCK_STATE")
        .or_else(|| named("XDG_STATE_HOME").map(|p| p.join("penstock")))
        .or_else(|| {
            let home = named("HOME").map(|p| p.join(".local/state/penstock"));
            home.filter(is_outside)
        })
}

/// The same for what a run can do without: no directory is made for a home that does not exist.
pub fn if_at_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).is_some();
    let home = || std::env::var_os("HOME").is_some_and(|home| Path::new(&home).is_dir());
    directory().filter(|_| named("PENSTOCK_STATE") || named("XDG_STATE_HOME") || home())
}

/// Where this job listens: the first of [`sockets`].
pub fn socket() -> Option<PathBuf> {
    sockets().into_iter().next()
}

/// Where running jobs of this user listen. `PENSTOCK_STATE` decides, for tests and for services; the
/// directory of the user's session comes next, because it is gone when the machine restarts. cron has no
/// session, so its jobs listen in the home directory, and a shell of cron has to look in the session's.
pub fn sockets() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = match std::env::var_os("PENSTOCK_STATE") {
        Some(_) => if_at_home().into_iter().collect(),
        None => {
            let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
            let there = |path: &PathBuf| path.is_absolute() && path.is_dir();
            let session = session.filter(there).map(|path| path.join("penstock"));
            // Where logins have their sessions, for a job that was started outside of one.
            let login = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
            let login = Some(login.join("penstock")).filter(|path| path.is_dir());
            session
                .into_iter()
                .chain(if_at_home())
                .chain(login)
                .collect()
        }
    };
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found.into_iter().map(|path| path.join("run")).collect()
}

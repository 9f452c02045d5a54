//! The completion record: a file on this host that says that a load has completed, from before its load
//! journal is dropped until the result has been reported (in a data directory that the load initialized:
//! until that is the user's). For a load that is killed in that time, nothing else tells its objects from
//! those of other sessions.
//!
//! Invariant: the record is on the disk before the load journal is dropped. `run::state` writes it, and a
//! torn record counts as none.

use super::Target;
use super::load_report::Chosen;
use instance::identity::server_id;
use run::state::{self, StateDir};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Most bytes of a record.
const MAX_SIZE: u64 = 1 << 20;

/// A load that has completed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Completion {
    /// What it could not carry over.
    pub exceptions: Vec<String>,
    /// Objects that do not exist for that reason.
    pub missing: Vec<String>,
    /// How many rows there are of tables of which not all were wanted.
    #[serde(default)]
    pub chosen: Vec<Chosen>,
}

impl Completion {
    /// Writes it. Without the record a later `--resume` is refused: no reason to fail now.
    pub(super) fn note(t: &Target<'_>, load: &str, missing: Vec<String>) {
        let Some((dir, path)) = place(t, load) else {
            return;
        };
        let completion = Completion {
            exceptions: t.report.exceptions.clone(),
            missing,
            chosen: t.report.chosen.clone(),
        };
        let _ = state::put_json(dir, &path, &completion);
    }

    /// The record of this load into this server.
    pub(super) fn find(t: &Target<'_>, load: &str) -> Option<Completion> {
        let (_, path) = place(t, load)?;
        state::read_json(&path, MAX_SIZE).ok()
    }

    /// Where it is, so that it can be removed when the result has been reported. In a data directory that
    /// the load initialized it is removed with everything that belongs to the load.
    pub(super) fn left(t: &Target<'_>, load: &str) -> Option<PathBuf> {
        let managed = t.options.managed.is_some();
        place(t, load).filter(|_| !managed).map(|(_, path)| path)
    }

    /// Removes it: what it is about no longer exists.
    pub(super) fn forget(t: &Target<'_>, load: &str) {
        if let Some(path) = Completion::left(t, load) {
            let _ = state::remove(&path);
        }
    }
}

/// The directory, and the file in it, whose name says which load and which server.
fn place<'a>(t: &Target<'a>, load: &str) -> Option<(StateDir<'a>, PathBuf)> {
    let dir = StateDir(t.options.state.as_deref()?);
    let about = format!("{} {load}", server_id(&t.id));
    Some((dir, dir.hashed("completed-", &about, 24, ".json")))
}

//! An applier that is stopped for a comparison. It is noted on this host before it is stopped, so that one that a killed run
//! left stopped is started again: by the next run, or by `penstock doctor --revert`.

use base::units::printable;
use base::{Error, Kind, Result};
use run::state::{self, LockedFile, Opened, StateDir};
use run::{Run, connect, failure};
use serde::{Deserialize, Serialize};
use server::Identity;
use server::replication::{Thread, Words};
use std::path::{Path, PathBuf};

const MAX_SIZE: u64 = 1 << 16;

/// What is noted.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    server: String,
    channel: String,
}

fn path(directory: &Path, server: &str) -> PathBuf {
    StateDir(directory).hashed("applier-", server, 16, ".json")
}

/// The note of a run that was killed, now locked for us.
fn left(directory: &Path, server: &str) -> Result<Option<(LockedFile, Note)>> {
    match state::open_current(&path(directory, server)).map_err(|e| e.error())? {
        None => Ok(None),
        Some(Opened::Ours(file)) => {
            let note = file.read_json(MAX_SIZE).map_err(|e| e.error())?;
            Ok(Some((file, note)))
        }
        Some(_) => Err(Error::new(
            Kind::Target,
            printable(&format!(
                "another penstock is comparing {server} with its source"
            )),
        )
        .hint("wait until it has finished: it starts the applier itself")),
    }
}

/// Whether a run that was killed has left the applier of this server stopped.
pub fn is_left_stopped(directory: &Path, server: &wire::Options) -> Result<bool> {
    Ok(left(directory, &server.endpoint.to_string())?.is_some())
}

/// Starts an applier that a run that was killed has left stopped, and says whether there was one.
pub fn start_left(run: &Run, directory: &Path, server: &wire::Options) -> Result<bool> {
    let Some((file, note)) = left(directory, &server.endpoint.to_string())? else {
        return Ok(false);
    };
    let (mut conn, id) = connect::open(run, server)?;
    let all = server::replication::channels(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    let there = all.iter().find(|c| c.name == note.channel);
    // Removed meanwhile, or started by hand.
    if there.is_some_and(|c| !c.applies) {
        let start = Words::of(&id, &note.channel).start(Thread::Applier);
        crate::execute(&mut conn, &start, "cannot start the applier again")?;
        run.observer.note(printable(&format!(
            "the applier of {} was left stopped by a comparison that was killed; it is started again",
            note.server
        )));
    }
    file.remove().map_err(|e| e.error())?;
    Ok(true)
}

/// An applier that is about to be stopped: it goes on at the latest when this is dropped.
pub(crate) struct Stopped {
    options: wire::Options,
    run: Run,
    words: Words,
    note: Option<LockedFile>,
}

impl Stopped {
    /// Notes it; nothing is stopped yet.
    pub(crate) fn noted(
        run: &Run,
        directory: Option<&Path>,
        options: &wire::Options,
        id: &Identity,
        channel: &str,
    ) -> Result<Stopped> {
        let server = options.endpoint.to_string();
        let note = match directory {
            None => None,
            Some(directory) => {
                StateDir(directory).create().map_err(|e| e.error())?;
                let opened = state::create(&path(directory, &server)).map_err(|e| e.error())?;
                let Opened::Ours(mut file) = opened else {
                    return left(directory, &server).and(Err(Error::new(
                        Kind::Target,
                        "another penstock has just begun to compare this replica",
                    )));
                };
                let channel = channel.to_owned();
                file.put_json(&Note { server, channel })
                    .map_err(|e| e.error())?;
                Some(file)
            }
        };
        Ok(Stopped {
            options: options.clone(),
            run: run.clone(),
            words: Words::of(id, channel),
            note,
        })
    }

    fn start(&mut self) -> Result<()> {
        // The connection that stopped it may be gone; and a run that was told to stop still has to do this.
        let mut conn = connect::untracked(&self.options)?;
        conn.execute(self.words.start(Thread::Applier))
            .map_err(|e| failure::wire("cannot start the applier again", e))?;
        match self.note.take() {
            Some(file) => file.remove().map_err(|e| e.error()),
            None => Ok(()),
        }
    }

    /// Starts it again.
    pub(crate) fn goes_on(mut self) -> Result<()> {
        let done = self.start();
        std::mem::forget(self);
        done.map_err(|e| e.hint(BY_HAND))
    }
}

const BY_HAND: &str = "penstock doctor --revert starts it, or by hand START REPLICA SQL_THREAD, on MariaDB START SLAVE SQL_THREAD";

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Err(e) = self.start() {
            let text = format!(
                "the applier of the replica is stopped: {}; {BY_HAND}",
                e.what
            );
            self.run.observer.warn(text);
        }
    }
}

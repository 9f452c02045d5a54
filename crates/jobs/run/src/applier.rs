//! The appliers of a replica, stopped while a job needs its tables to stay as they are. They are noted on this host before they
//! are stopped, so that those that a killed run left stopped are started again: by the next run, or by
//! `penstock doctor --revert`.

use crate::state::{self, LockedFile, Opened, StateDir};
use crate::{Run, connect, failure};
use base::units::printable;
use base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use server::Identity;
use server::replication::{Thread, Words};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::Conn;

const MAX_SIZE: u64 = 1 << 16;

/// What is noted.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    server: String,
    channels: Vec<String>,
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
                "another penstock has stopped the applier of {server}"
            )),
        )
        .hint("wait until it has finished: it starts the applier again itself")),
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
    // Removed meanwhile, or started by hand.
    let stands = |name: &&String| all.iter().any(|c| c.name == **name && !c.applies);
    let words: Vec<Words> = note
        .channels
        .iter()
        .filter(stands)
        .map(|c| Words::of(&id, c))
        .collect();
    let started = !words.is_empty();
    start_all(&mut conn, &words)?;
    if started {
        run.observer.note(printable(&format!(
            "the applier of {} was left stopped by a run that was killed; it is started again",
            note.server
        )));
    }
    file.remove().map_err(|e| e.error())?;
    Ok(true)
}

/// Starts them all: one that cannot be started keeps no other from it.
fn start_all(conn: &mut Conn, words: &[Words]) -> Result<()> {
    let mut outcome = Ok(());
    for words in words {
        let started = conn.execute(words.start(Thread::Applier));
        let started = started.map_err(|e| failure::wire("cannot start the applier again", e));
        outcome = outcome.and(started.map(drop));
    }
    outcome
}

/// Appliers that are about to be stopped: they go on at the latest when this is dropped.
pub struct Stopped {
    options: wire::Options,
    run: Run,
    words: Vec<Words>,
    note: Option<LockedFile>,
    /// Whether any may stand because of us.
    stopped: AtomicBool,
}

impl Stopped {
    /// Notes the appliers of these channels; nothing is stopped yet.
    pub fn noted(
        run: &Run,
        directory: Option<&Path>,
        options: &wire::Options,
        id: &Identity,
        channels: &[&str],
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
                        "another penstock has just begun to stop the applier of this replica",
                    )));
                };
                let channels = channels.iter().map(|c| (*c).to_owned()).collect();
                file.put_json(&Note { server, channels })
                    .map_err(|e| e.error())?;
                Some(file)
            }
        };
        Ok(Stopped {
            options: options.clone(),
            run: run.clone(),
            words: channels.iter().map(|c| Words::of(id, c)).collect(),
            note,
            stopped: AtomicBool::new(false),
        })
    }

    /// Stops them.
    pub fn stop(&self, conn: &mut Conn) -> Result<()> {
        for words in &self.words {
            match conn.execute(words.stop(Thread::Applier)) {
                Ok(_) => self.stopped.store(true, Ordering::SeqCst),
                Err(e) => {
                    // A server that refuses it has stopped nothing; of a connection that is lost nobody knows.
                    let known = e.code().is_some();
                    self.stopped.fetch_or(!known, Ordering::SeqCst);
                    return Err(failure::wire("cannot stop the applier", e));
                }
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        // The connection that stopped them may be gone; and a run that was told to stop still has to do this.
        if self.stopped.load(Ordering::SeqCst) {
            start_all(&mut connect::untracked(&self.options)?, &self.words)?;
        }
        match self.note.take() {
            Some(file) => file.remove().map_err(|e| e.error()),
            None => Ok(()),
        }
    }

    /// Starts them again.
    pub fn goes_on(mut self) -> Result<()> {
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

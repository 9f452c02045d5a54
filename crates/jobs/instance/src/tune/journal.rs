//! The settings journal: what makes it safe to change a server.
//!
//! One file for each server, JSON lines, one line for each event. Invariant: the line that says what a
//! setting was is on the disk before the statement that changes it is sent, so whatever ends the process,
//! the next one knows what to revert. The file is removed when everything is reverted; a file that exists
//! and is not locked is therefore what a dead run left. The lock is the process's own (`flock`), so it
//! ends with the process however that ends.
//!
//! It contains no account, no password, and none of the data. The mechanics of the file are `run::state`'s.

use crate::command::ServerCommand;
use base::{Error, Kind, Result, failpoint, units::printable};
use run::state::{self, LockedFile, StateDir};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of the lines; a journal of another version is not touched.
const VERSION: u32 = 1;

/// Most bytes of a journal: a few lines for each setting.
const MAX_SIZE: u64 = 16 << 20;

/// The server that a journal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// [`crate::identity::server_id`], which is also in the file's name.
    pub id: String,
    /// Flavour and version, for people.
    pub name: String,
    /// How it was reached, for people.
    pub endpoint: String,
    /// When it started, in seconds since 1970 by its own clock: a server that started later has forgotten
    /// what was set.
    pub started: i64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Record {
    /// A run begins.
    Begin {
        /// [`VERSION`].
        version: u32,
        /// Which server.
        server: Server,
        /// The process.
        pid: u32,
        /// When, in UTC, for people.
        at: String,
    },
    /// A setting is about to be changed.
    Change {
        /// The variable, or `innodb_redo_log`.
        setting: String,
        /// Its value now.
        before: String,
        /// The value it is to get.
        wanted: String,
    },
    /// It was changed, and reads so.
    Set {
        /// As above.
        setting: String,
        /// What the server made of it.
        during: String,
    },
    /// Nothing is left to do about it: refused, reverted, or changed by another session.
    Settled {
        /// As above.
        setting: String,
        /// Its value at that time.
        found: String,
    },
    /// A file of settings is about to be written, and the server restarted with it.
    Fragment(Fragment),
    /// The server runs with it.
    Restarted {
        /// When it started, as in [`Server::started`].
        started: i64,
    },
    /// The file is gone, and the server runs without it.
    Removed,
}

/// A `my.cnf` fragment for which the server is restarted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// Where it is written.
    pub file: PathBuf,
    /// The command that restarts the server.
    pub command: ServerCommand,
    /// What it sets.
    pub lines: Vec<Line>,
    /// Variables that were set while the server ran: a restart forgets them.
    pub runtime: Vec<(String, String)>,
}

/// One setting of a [`Fragment`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The variable.
    pub setting: String,
    /// Its value before.
    pub before: String,
    /// The value it is to get.
    pub wanted: String,
}

/// A setting that is changed and not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The variable, or `innodb_redo_log`.
    pub setting: String,
    /// Its value before.
    pub before: String,
    /// The value it was to get.
    pub wanted: String,
    /// What the server made of it; `None` if the process ended before it could look.
    pub during: Option<String>,
}

/// A journal that this process has locked.
#[derive(Debug)]
pub(crate) struct Journal {
    file: LockedFile,
    /// The first line's server and process.
    pub begin: Option<(Server, u32)>,
    /// In the order in which they were changed.
    pub entries: Vec<Entry>,
    /// A file of settings that may exist, and with which the server may run.
    pub fragment: Option<Box<Fragment>>,
}

/// What came of opening a journal.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It is ours.
    Ours(Journal),
    /// A living process has it; its process id, if it could be read.
    Busy(Option<u32>),
}

/// Where the journal of a server is.
pub(crate) fn path(state: &Path, id: &str) -> PathBuf {
    state.join(format!("tuning-{id}.jsonl"))
}

/// All journals of a state directory.
pub(crate) fn all(state: &Path) -> Result<Vec<PathBuf>> {
    StateDir(state).files("tuning-", ".jsonl").map_err(storage)
}

/// Opens the journal at `path` if it exists.
pub(crate) fn existing(path: &Path) -> Result<Option<Opened>> {
    match state::open_current(path).map_err(storage)? {
        None => Ok(None),
        Some(opened) => open(opened),
    }
}

/// Opens the journal of a server, creating it and its directory, which only the user may read.
pub(super) fn create(state: &Path, id: &str) -> Result<Opened> {
    StateDir(state).create().map_err(storage)?;
    let path = path(state, id);
    match open(state::create(&path).map_err(storage)?)? {
        Some(opened) => Ok(opened),
        // Not reachable: what is created is never reported as removed.
        None => Err(Error::new(Kind::Internal, "a journal was removed")),
    }
}

fn open(opened: state::Opened) -> Result<Option<Opened>> {
    let mut file = match opened {
        state::Opened::Removed => return Ok(None),
        state::Opened::Busy(file) => {
            let bytes = state::read_all(&file, MAX_SIZE).unwrap_or_default();
            let pid = parse(&bytes).ok().and_then(|p| p.begin).map(|(_, pid)| pid);
            return Ok(Some(Opened::Busy(pid)));
        }
        state::Opened::Ours(file) => file,
    };
    let bytes = file.read(MAX_SIZE).map_err(storage)?;
    let parsed = parse(&bytes).map_err(|why| {
        Error::new(Kind::Storage, format!("journal {}: {why}", file.path().display())).hint(
            "it says what settings of a server were before a load changed them: revert them by hand and remove it",
        )
    })?;
    // What is appended must not continue half a line.
    file.keep(parsed.complete).map_err(storage)?;
    Ok(Some(Opened::Ours(Journal {
        file,
        begin: parsed.begin,
        entries: parsed.entries,
        fragment: parsed.fragment,
    })))
}

impl Journal {
    /// Adds a line, and returns once it is on the disk.
    pub fn add(&mut self, record: Record) -> Result<()> {
        let mut line = serde_json::to_vec(&record)
            .map_err(|e| Error::new(Kind::Internal, format!("journal: {e}")))?;
        line.push(b'\n');
        let first = matches!(record, Record::Begin { .. });
        let about = match record {
            Record::Fragment(_) => "a file of settings",
            Record::Restarted { .. } => "a restart of the server",
            Record::Removed => "the end of a file of settings",
            _ => "a setting",
        };
        failpoint::reached(&format!("before the journal has {about}"));
        self.file.append(&line).map_err(storage)?;
        if first {
            self.file.sync_name().map_err(storage)?;
        }
        failpoint::reached(&format!("the journal has {about}"));
        apply(
            record,
            &mut self.begin,
            &mut self.entries,
            &mut self.fragment,
        )
        .map_err(|why| {
            Error::new(
                Kind::Internal,
                format!("journal {}: {why}", self.path().display()),
            )
        })
    }

    /// Whether nothing is left to revert.
    pub fn is_settled(&self) -> bool {
        self.entries.is_empty() && self.fragment.is_none()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes it: everything is reverted.
    pub fn remove(self) -> Result<()> {
        self.file.remove().map_err(storage)
    }
}

/// A journal's contents.
#[derive(Debug, Default)]
struct Parsed {
    begin: Option<(Server, u32)>,
    entries: Vec<Entry>,
    fragment: Option<Box<Fragment>>,
    /// Length of the complete lines.
    complete: u64,
}

/// Reads the lines. The last may be torn: its statement was never sent.
fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    for (at, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        let last = parsed.complete + line.len() as u64 == bytes.len() as u64;
        let record = match line.strip_suffix(b"\n").map(serde_json::from_slice) {
            Some(Ok(record)) => record,
            // Blocks may reach the disk in any order: the end may be written and the middle not.
            None | Some(Err(_)) if last => break,
            Some(Err(e)) => return Err(format!("line {} cannot be read: {e}", at + 1)),
            None => break,
        };
        let Parsed {
            begin,
            entries,
            fragment,
            ..
        } = &mut parsed;
        apply(record, begin, entries, fragment).map_err(|why| format!("line {}: {why}", at + 1))?;
        parsed.complete += line.len() as u64;
    }
    Ok(parsed)
}

fn apply(
    record: Record,
    begin: &mut Option<(Server, u32)>,
    entries: &mut Vec<Entry>,
    fragment: &mut Option<Box<Fragment>>,
) -> Result<(), String> {
    match record {
        Record::Begin { version, .. } if version != VERSION => {
            return Err(format!("it has version {version}, not {VERSION}"));
        }
        Record::Begin { server, pid, .. } => *begin = Some((server, pid)),
        _ if begin.is_none() => return Err("it does not begin with its server".to_owned()),
        Record::Change {
            setting,
            before,
            wanted,
        } => entries.push(Entry {
            setting,
            before,
            wanted,
            during: None,
        }),
        Record::Set { setting, during } => {
            if let Some(e) = entries.iter_mut().rev().find(|e| e.setting == setting) {
                e.during = Some(during);
            }
        }
        Record::Settled { setting, .. } => entries.retain(|e| e.setting != setting),
        Record::Fragment(new) => *fragment = Some(Box::new(new)),
        Record::Restarted { started } => {
            if let Some((server, _)) = begin {
                server.started = started;
            }
        }
        Record::Removed => *fragment = None,
    }
    Ok(())
}

/// The first line of a journal.
pub fn begin(server: Server) -> Record {
    Record::Begin {
        version: VERSION,
        server,
        pid: std::process::id(),
        at: jiff::Timestamp::now().to_string(),
    }
}

/// A journal is never applied to a server that it is not about.
pub(crate) fn belongs(journal: &Journal, id: &str) -> Result<()> {
    match &journal.begin {
        Some((server, _)) if server.id != id => Err(Error::new(
            Kind::Storage,
            printable(&format!(
                "journal {} is about another server, {} at {}",
                journal.path().display(),
                server.name,
                server.endpoint
            )),
        )
        .hint("it was renamed or copied: move it back, or remove it")),
        _ => Ok(()),
    }
}

/// What is said of a journal that another process has locked.
pub(super) fn busy(pid: Option<u32>) -> String {
    let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    format!("another load{who} has changed settings of this server, and reverts them when it ends")
}

/// The error of a record in the state directory that could not be used.
pub(crate) fn storage(failure: state::Failure) -> Error {
    failure.error().hint(
        "settings are changed, and servers stopped, only if a record of it can be written: PENSTOCK_STATE names another directory",
    )
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;

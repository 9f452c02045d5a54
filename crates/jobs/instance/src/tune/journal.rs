//! The journal of changed settings: what makes it safe to change a server.
//!
//! One file for each server, JSON lines, one an event. Invariant: the line that
//! says what a setting was is on the disk before the statement that changes it
//! is sent, so whatever ends the process, the next one knows what to put back.
//! The file is removed when everything is back; a file that is there and not
//! locked is therefore what a dead run left. The lock is the process's own
//! (`flock`), so it ends with the process however that ends.
//!
//! It holds no account, no password, and nothing of the data.

use base::{Error, Kind, Result, failpoint, units::printable};
use serde::{Deserialize, Serialize};
use server::Identity;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Version of the lines; a journal of another one is not touched.
const VERSION: u32 = 1;

/// The server that a journal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// [`id`], which is also in the file's name.
    pub id: String,
    /// Flavour and version, for people.
    pub name: String,
    /// How it was reached, for people.
    pub endpoint: String,
    /// When it started, in seconds since 1970 by its own clock: a server that
    /// started later has forgotten what was set.
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
    /// Nothing is left to do about it: refused, put back, or somebody else's by now.
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
    /// The shell line that restarts the server.
    pub command: crate::ServerCommand,
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

/// A journal that this process holds.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The first line's server and process.
    pub begin: Option<(Server, u32)>,
    /// In the order in which they were changed.
    pub entries: Vec<Entry>,
    /// A file of settings that may be there, with a server that may run with it.
    pub fragment: Option<Box<Fragment>>,
}

/// What came of opening a journal.
#[derive(Debug)]
pub enum Opened {
    /// It is ours.
    Ours(Journal),
    /// A living process has it; its number, if it could be read.
    Held(Option<u32>),
}

/// The name under which a server is known: what stays the same over restarts,
/// hashed, because a server's own words must not become a path. MySQL's uuid
/// travels with a copied data folder and MariaDB has at most an id computed from the
/// network card, so the places count too where they cannot change by a restart alone.
pub fn id(server: &Identity) -> String {
    let port = server.port.to_string();
    let uuid = server.uuid.as_deref().unwrap_or_default();
    let mut parts = vec![uuid, server.datadir.as_str()];
    if server.is_mariadb() || uuid.is_empty() {
        parts.extend([server.hostname.as_str(), port.as_str()]);
    }
    let mut hash = blake3::Hasher::new();
    hash.update(server.flavour.to_string().as_bytes());
    for part in parts {
        hash.update(&[0]);
        hash.update(part.as_bytes());
    }
    hash.finalize().to_hex()[..32].to_owned()
}

/// Where the journal of a server is.
pub fn path(state: &Path, id: &str) -> PathBuf {
    state.join(format!("tuning-{id}.jsonl"))
}

/// All journals of a folder.
pub fn all(state: &Path) -> Result<Vec<PathBuf>> {
    named(state, "tuning-", ".jsonl")
}

/// All files of a folder whose names begin and end so.
pub(crate) fn named(state: &Path, begin: &str, end: &str) -> Result<Vec<PathBuf>> {
    let list = match fs::read_dir(state) {
        Ok(list) => list,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed("read", state, e)),
    };
    let mut found = Vec::new();
    for entry in list {
        let path = entry.map_err(|e| failed("read", state, e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(begin) && name.ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Opens the journal at `path` if there is one with anything in it.
pub fn existing(path: &Path) -> Result<Option<Opened>> {
    open(path, false)
}

/// Opens the journal of a server, creating it and its folder, which only the user may read.
pub fn create(state: &Path, id: &str) -> Result<Opened> {
    folder(state).map_err(|e| failed("create", state, e))?;
    let path = path(state, id);
    match open(&path, true)? {
        Some(opened) => Ok(opened),
        None => Err(failed("create", &path, std::io::ErrorKind::NotFound.into())),
    }
}

/// Makes the folder of journals, which only the user may read.
pub fn folder(state: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
}

/// A file that one process at a time works with.
pub(crate) enum Locked {
    /// It is this one.
    Ours(File),
    /// Another one that lives.
    Held(File),
}

/// Opens a file and locks it; `None` if there is none and none is to be made.
pub(crate) fn locked(path: &Path, create: bool) -> Result<Option<Locked>> {
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(0o600)
            .custom_flags(run::NO_LINK)
            .open(path);
        let file = match file {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !create => return Ok(None),
            Err(e) => return Err(failed("open", path, e)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Some(Locked::Held(file))),
            Err(TryLockError::Error(e)) => return Err(failed("lock", path, e)),
        }
        // Its owner may have removed it between our open and our lock.
        let same = |a: &fs::Metadata, b: &fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
        match (fs::metadata(path), file.metadata()) {
            (Ok(there), Ok(ours)) if same(&there, &ours) => return Ok(Some(Locked::Ours(file))),
            _ => {}
        }
    }
}

fn open(path: &Path, create: bool) -> Result<Option<Opened>> {
    let mut bytes = Vec::new();
    let mut file = match locked(path, create)? {
        None => return Ok(None),
        Some(Locked::Held(mut file)) => {
            let _ = file.read_to_end(&mut bytes);
            let pid = parse(&bytes).ok().and_then(|p| p.begin).map(|(_, pid)| pid);
            return Ok(Some(Opened::Held(pid)));
        }
        Some(Locked::Ours(file)) => file,
    };
    file.read_to_end(&mut bytes)
        .map_err(|e| failed("read", path, e))?;
    let parsed = parse(&bytes).map_err(|why| {
        Error::new(Kind::Storage, format!("journal {}: {why}", path.display())).hint(
            "it says what settings of a server were before a load changed them: put them back by hand and remove it",
        )
    })?;
    // What follows must not be glued to half a line.
    file.set_len(parsed.whole)
        .and_then(|()| file.seek(SeekFrom::End(0)))
        .map_err(|e| failed("write", path, e))?;
    Ok(Some(Opened::Ours(Journal {
        path: path.to_owned(),
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
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_all())
            .and_then(|()| match self.path.parent() {
                // A new file is there after a power cut only if its folder is written, too.
                Some(folder) if first => File::open(folder)?.sync_all(),
                _ => Ok(()),
            })
            .map_err(|e| failed("write", &self.path, e))?;
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
                format!("journal {}: {why}", self.path.display()),
            )
        })
    }

    /// Whether nothing is left to be put back.
    pub fn is_settled(&self) -> bool {
        self.entries.is_empty() && self.fragment.is_none()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it: everything is back.
    pub fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|e| failed("remove", &self.path, e))
    }
}

/// A journal's contents.
#[derive(Debug, Default)]
struct Parsed {
    begin: Option<(Server, u32)>,
    entries: Vec<Entry>,
    fragment: Option<Box<Fragment>>,
    /// Length of the lines that are whole.
    whole: u64,
}

/// Reads the lines. The last may be torn: its statement was never sent.
fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    for (at, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        let last = parsed.whole + line.len() as u64 == bytes.len() as u64;
        let record = match line.strip_suffix(b"\n").map(serde_json::from_slice) {
            Some(Ok(record)) => record,
            // Blocks may reach the disk in any order: the end may be there and the middle not.
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
        parsed.whole += line.len() as u64;
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

pub(crate) fn failed(doing: &str, path: &Path, e: std::io::Error) -> Error {
    Error::new(
        Kind::Storage,
        printable(&format!("cannot {doing} {}: {e}", path.display())),
    )
    .hint("settings are changed, and servers stopped, only when it can be journalled: PENSTOCK_STATE names another folder")
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;

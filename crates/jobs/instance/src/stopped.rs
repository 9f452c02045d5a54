//! A server that penstock has stopped, and starts again.
//!
//! Invariants: before the server is stopped there is a note on disk that says
//! how it is started; the note goes when the server is up and has the variables
//! again that were set while it ran; while a process of penstock lives that has
//! stopped the server, no other one starts it, and nobody can: the lock on the
//! system tablespace, which a server holds for as long as it runs, is penstock's;
//! and no other one loads into it: the note is locked from before the load's own
//! lock on the server goes until it is there again.

use crate::command::ServerCommand;
use crate::restart;
use crate::tune::journal::{self, Locked, failed, locked};
use crate::tune::open;
use archive::FileRecord;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::Run;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use server::Identity;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::Conn;

/// The file that every server holds a lock on.
const SYSTEM: &str = "ibdata1";

/// How long a server may take to end: it writes what it has in memory.
const END: Duration = Duration::from_secs(600);

/// The same for one that has not come up, if it is there at all.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// How long a server takes to forget a session that has ended.
const LEAVE: Duration = Duration::from_millis(50);

/// Most bytes of a note.
const MOST: u64 = 1 << 20;

/// What is needed to start the server.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// As the user named it.
    endpoint: String,
    /// Which one it is: another may answer there by now.
    id: String,
    /// What it is, for people.
    server: String,
    /// Starts it.
    command: ServerCommand,
    /// Where it was given: it may name files from there.
    folder: Option<PathBuf>,
    /// Variables that were set while it ran.
    runtime: Vec<(String, String)>,
}

/// A note that is locked: somebody is at work on this server.
#[must_use = "the note stays until it is forgotten"]
pub struct Notice {
    path: PathBuf,
    _held: File,
}

impl Notice {
    /// The server is up, and only its own lock keeps others away.
    pub fn forget(self) -> Result<()> {
        forget(&self.path)
    }
}

/// Why a server is not stopped.
pub enum NotStopped {
    /// It runs, and everybody has to connect to it anew.
    Runs(Error, Notice),
    /// It does not, or nothing was done.
    Error(Error),
}

impl From<Error> for NotStopped {
    fn from(e: Error) -> Self {
        NotStopped::Error(e)
    }
}

/// A stopped server.
#[must_use = "it stays down until it is started"]
pub struct StoppedServer {
    note: Note,
    wire: wire::Options,
    id: Identity,
    state: PathBuf,
    system: Option<File>,
    since: Instant,
    took: Duration,
    /// To the server that is up again.
    conn: Option<Conn>,
}

/// Where the note of a server is.
fn path(state: &Path, endpoint: &str) -> PathBuf {
    let digest = FileRecord::of(endpoint.as_bytes()).blake3;
    state.join(format!("stopped-{}.json", &digest[..16]))
}

/// Whether a server with this data folder could be stopped in good order; the inner text says why not.
pub fn possible(datadir: &Path, state: &Path) -> Result<(), String> {
    // Without a note nobody would know how to start it.
    journal::folder(state)
        .and_then(|()| tempfile::tempfile_in(state))
        .map_err(|e| {
            format!(
                "no note can be left in {} of how the server is started: {e}",
                state.display()
            )
        })?;
    let system = datadir.join(SYSTEM);
    // Its lock says when the server is gone.
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(&system)
        .map(drop)
        .map_err(|e| {
            format!(
                "it is not to be seen from here when the server has ended ({}: {e})",
                system.display()
            )
        })
}

/// Stops the server that `conn` leads to, which is over with that, and waits for its end.
pub fn stop(
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<(Notice, StoppedServer), NotStopped> {
    let endpoint = wire.endpoint.to_string();
    let note = Note {
        id: journal::id(id),
        server: id.to_string(),
        command: command.clone(),
        folder: std::env::current_dir().ok(),
        runtime: restart::runtime(conn, id).unwrap_or_default(),
        endpoint,
    };
    let path = path(state, &note.endpoint);
    let noted = Notice {
        _held: write(&note, &path, state)?,
        path,
    };
    let datadir = PathBuf::from(&id.datadir);
    let mut down = StoppedServer {
        note,
        wire: wire.clone(),
        id: id.clone(),
        state: state.to_owned(),
        system: None,
        since: Instant::now(),
        took: Duration::ZERO,
        conn: None,
    };
    failpoint::reached("the server is about to be stopped");
    // MySQL waits two seconds for those that are still connected, also for one that is about to be gone.
    conn.quit();
    std::thread::sleep(LEAVE);
    failpoint::reached("the load has left the server");
    let said = command.call("stop", state, None);
    let why = |what: &str| {
        let failed = said.as_ref().err().map(|e| format!(" ({e})"));
        let text = format!("{what}: {command}{}", failed.unwrap_or_default());
        let error = Error::new(Kind::Failed, printable(&text));
        if command.is_managed() {
            return error;
        }
        error.hint(
            "--server-command has to know the word stop as well, and to end when the server has",
        )
    };
    if !restart::gone(wire, said.is_ok()) {
        let why = why("the command did not stop the server");
        return Err(NotStopped::Runs(why, noted));
    }
    match lock(&datadir.join(SYSTEM), END) {
        Ok(Some(file)) => {
            down.system = Some(file);
            failpoint::reached("the server is stopped");
            Ok((noted, down))
        }
        outcome => {
            let what = match outcome {
                Err(e) => format!("the end of the server is not to be seen from here ({e})"),
                _ => "the server did not end, or came up again by itself".to_owned(),
            };
            down.start().map_err(|e| down.lost(&e))?;
            down.restored()?;
            Err(NotStopped::Runs(why(&what), noted))
        }
    }
}

/// Takes the lock of a server that ends; `None` if it does not.
fn lock(system: &Path, limit: Duration) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).open(system)?;
    let end = Instant::now() + limit;
    loop {
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {}
            Err(e) => return Err(e.into()),
        }
        if Instant::now() > end {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes a note that nobody else has, or whose writer is gone.
fn write(note: &Note, path: &Path, state: &Path) -> Result<File> {
    journal::folder(state).map_err(|e| failed("create", state, e))?;
    let Some(Locked::Ours(mut file)) = locked(path, true)? else {
        return Err(busy());
    };
    let bytes = serde_json::to_vec(note)
        .map_err(|e| Error::new(Kind::Internal, format!("a note is not written: {e}")))?;
    file.set_len(0)
        .and_then(|()| file.write_all(&bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| File::open(state)?.sync_all())
        .map_err(|e| failed("write", path, e))?;
    Ok(file)
}

fn busy() -> Error {
    Error::new(
        Kind::Lock,
        "another penstock has stopped this server, and starts it again when its files are in their places",
    )
    .hint("wait for its end")
}

impl StoppedServer {
    /// Starts the server. `Err` says why it is not up, as far as can be seen; the note stays.
    pub fn start(&mut self) -> Result<(), String> {
        self.system = None;
        self.conn = Some(restart::started(
            &self.id,
            &self.wire,
            &self.note.command,
            &self.state,
            None,
        )?);
        self.took = self.since.elapsed();
        failpoint::reached("the server is up again");
        Ok(())
    }

    /// The error of a server that did not come up.
    pub fn lost(&self, why: &str) -> Error {
        let hint = "its files are as it left them, or whole new ones";
        restart::is_down(&self.wire, &self.note.command, why, hint)
    }

    /// Whether the server that did not come up has ended, so that its files may be touched again.
    pub fn has_ended(&mut self) -> bool {
        let system = PathBuf::from(&self.id.datadir).join(SYSTEM);
        self.system = lock(&system, GIVEN_UP).unwrap_or_default();
        self.system.is_some()
    }

    /// Gives the server that is up the variables again that it had; says which it could not.
    pub fn restored(&mut self) -> Result<Vec<String>> {
        let Some(conn) = &mut self.conn else {
            return Err(Error::new(Kind::Internal, "a server that was not started"));
        };
        restart::set_again(conn, &self.id, &self.note.runtime)
    }

    /// For how long it was down, in seconds.
    pub fn seconds(&self) -> f64 {
        self.took.as_secs_f64()
    }
}

impl Drop for StoppedServer {
    fn drop(&mut self) {
        // A panic, or an error that nobody thought of.
        if self.system.is_some() {
            let _ = self.start();
        }
    }
}

fn forget(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            let text = format!("cannot remove {}: {e}", path.display());
            Err(Error::new(Kind::Storage, printable(&text)).hint("remove it: the server is up"))
        }
        _ => Ok(()),
    }
}

/// A server that is, or was going to be, stopped.
pub struct Stopped {
    /// What it is, and where.
    pub server: String,
    /// As the user named it.
    pub endpoint: String,
    /// Whether a process of penstock sees to it.
    pub held: bool,
}

/// An error if another process is about to stop this server, or has stopped it: it has no session on it then that would say so.
pub fn check_not_in_use(wire: &wire::Options, state: &Path) -> Result<()> {
    match locked(&path(state, &wire.endpoint.to_string()), false) {
        Ok(Some(Locked::Held(_))) => Err(busy()),
        _ => Ok(()),
    }
}

/// All notes in the folder.
pub fn all(state: &Path) -> Result<Vec<Stopped>> {
    let mut found = Vec::new();
    for path in journal::named(state, "stopped-", ".json")? {
        let (file, held) = match locked(&path, false)? {
            None => continue,
            Some(Locked::Ours(file)) => (file, false),
            Some(Locked::Held(file)) => (file, true),
        };
        if let Some(note) = read(&file) {
            found.push(Stopped {
                server: format!("{} at {}", note.server, note.endpoint),
                endpoint: note.endpoint,
                held,
            });
        }
    }
    Ok(found)
}

/// `None` of one that is torn: its server was not stopped yet.
fn read(file: &File) -> Option<Note> {
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Ends what a killed run has left: starts the server if it is down, and gives it the variables again
/// that it had. False if there is no note of this server.
pub fn restart_after_crash(
    run: &Run,
    wire: &wire::Options,
    state: &Path,
    is_up: bool,
) -> Result<bool> {
    let endpoint = wire.endpoint.to_string();
    let path = path(state, &endpoint);
    let held = match locked(&path, false) {
        Ok(None) => return Ok(false),
        Ok(Some(Locked::Ours(file))) => file,
        // Its owner sees to it.
        Ok(Some(Locked::Held(_))) if is_up => return Ok(false),
        Ok(Some(Locked::Held(_))) => return Err(busy()),
        // Nothing of a server that is up depends on the note.
        Err(e) if is_up => {
            run.observer.warn(e.what);
            return Ok(false);
        }
        Err(e) => return Err(e),
    };
    let Some(note) = read(&held).filter(|n| n.endpoint == endpoint) else {
        forget(&path)?;
        return Ok(false);
    };
    let id = restart::described(&note.server)?;
    let mut conn = if is_up {
        open(wire, &id)?
    } else {
        let folder = note.folder.as_deref();
        restart::started(&id, wire, &note.command, state, folder).map_err(|why| {
            let hint = "a load had stopped it, and was killed";
            restart::is_down(wire, &note.command, &why, hint)
        })?
    };
    let id = restart::identity(&mut conn)?;
    if journal::id(&id) != note.id {
        // Nothing is set on a server that the note is not about.
        return Ok(!is_up);
    }
    for line in restart::set_again(&mut conn, &id, &note.runtime)? {
        run.observer.warn(printable(&line));
    }
    forget(&path)?;
    let what = if is_up {
        "an earlier run had stopped the server: it has the variables again that were set while it ran"
    } else {
        "an earlier run has left the server stopped: it is started again"
    };
    run.observer.warn(what.to_owned());
    Ok(true)
}

//! A server that penstock has stopped, and starts again.
//!
//! Invariants: before the server is stopped there is a restart notice on disk that says how it is
//! started; the notice is removed when the server is up and has the variables again that were set while
//! it ran; while a process of penstock lives that has stopped the server, no other process starts it, and
//! none can: the lock on the system tablespace, which a server holds for as long as it runs, is
//! penstock's; and no other load uses it: the notice is locked from before the load's own lock on the
//! server is released until the load has that lock again.

use crate::command::ServerCommand;
use crate::tune::journal::storage;
use crate::{identity, restart, variables};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::Run;
use run::state::{self, LockedFile, Opened, StateDir};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use server::Identity;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::Conn;

/// The system tablespace: the file that every server holds a lock on.
const SYSTEM: &str = "ibdata1";

/// How long a server may take to shut down: it writes what it has in memory.
const SHUTDOWN: Duration = Duration::from_secs(600);

/// The same for a server that has not come up, if its process exists at all.
const SHUTDOWN_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// How long a server takes to remove a session that has ended.
const SESSION_END: Duration = Duration::from_millis(50);

/// Most bytes of a notice.
const MAX_NOTICE: u64 = 1 << 20;

/// What is needed to start the server.
#[derive(Debug, Serialize, Deserialize)]
struct NoticeContent {
    /// As the user named it.
    endpoint: String,
    /// Which server it is: another one may answer there by now.
    id: String,
    /// Flavour and version, for people.
    server: String,
    /// Starts it.
    command: ServerCommand,
    /// The working directory when the command was given: it may name files relative to it.
    directory: Option<PathBuf>,
    /// Variables that were set while it ran.
    runtime: Vec<(String, String)>,
}

/// A restart notice that this process has locked: no other process stops, starts or loads into this server.
#[must_use = "the notice stays until it is forgotten"]
pub struct Notice {
    file: LockedFile,
}

impl Notice {
    /// Removes it: the server is up, and from now on only the load's own lock on it keeps others away.
    pub fn forget(self) -> Result<()> {
        removed(self.file)
    }
}

/// Why a server was not stopped.
pub enum NotStopped {
    /// It runs, and every connection to it must be opened again.
    Runs(Error, Notice),
    /// It does not run, or nothing was done.
    Error(Error),
}

impl From<Error> for NotStopped {
    fn from(e: Error) -> Self {
        NotStopped::Error(e)
    }
}

/// A stopped server. Dropping it starts the server.
#[must_use = "it stays down until it is started"]
pub struct StoppedServer {
    notice: NoticeContent,
    wire: wire::Options,
    id: Identity,
    state: PathBuf,
    /// The locked system tablespace.
    system: Option<File>,
    since: Instant,
    downtime: Duration,
    /// To the server that is up again.
    conn: Option<Conn>,
}

/// Where the notice of a server is.
fn path(state: &Path, endpoint: &str) -> PathBuf {
    StateDir(state).hashed("stopped-", endpoint, 16, ".json")
}

/// Whether a server with this data directory could be stopped cleanly; the inner text says why not.
pub fn possible(datadir: &Path, state: &Path) -> Result<(), String> {
    // Without a notice no later run would know how to start it.
    let failed = |e: String| format!("cannot write a restart notice in {}: {e}", state.display());
    StateDir(state)
        .create()
        .map_err(|e| failed(e.cause.to_string()))?;
    tempfile::tempfile_in(state).map_err(|e| failed(e.to_string()))?;
    let system = datadir.join(SYSTEM);
    // Its lock says when the server has stopped.
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(&system)
        .map(drop)
        .map_err(|e| {
            format!(
                "cannot detect when the server has stopped ({}: {e})",
                system.display()
            )
        })
}

/// Stops the server that `conn` leads to, which ends that connection, and waits until it has stopped.
pub fn stop(
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<(Notice, StoppedServer), NotStopped> {
    let content = NoticeContent {
        id: identity::server_id(id),
        server: id.to_string(),
        command: command.clone(),
        directory: std::env::current_dir().ok(),
        runtime: variables::set_at_runtime(conn, id).unwrap_or_default(),
        endpoint: wire.endpoint.to_string(),
    };
    let notice = write(&content, state)?;
    let datadir = PathBuf::from(&id.datadir);
    let mut down = StoppedServer {
        notice: content,
        wire: wire.clone(),
        id: id.clone(),
        state: state.to_owned(),
        system: None,
        since: Instant::now(),
        downtime: Duration::ZERO,
        conn: None,
    };
    failpoint::reached("the server is about to be stopped");
    // MySQL waits two seconds for sessions that are still connected, also for one that is about to end.
    conn.quit();
    std::thread::sleep(SESSION_END);
    failpoint::reached("the load has left the server");
    let outcome = command.call("stop", state, None);
    let why = |what: &str| {
        let failed = outcome.as_ref().err().map(|e| format!(" ({e})"));
        let text = format!("{what}: {command}{}", failed.unwrap_or_default());
        let error = Error::new(Kind::Failed, printable(&text));
        if command.is_managed() {
            return error;
        }
        error.hint(
            "--server-command must accept the word stop, too, and return when the server has stopped",
        )
    };
    if !restart::is_gone(wire, outcome.is_ok()) {
        let why = why("the command did not stop the server");
        return Err(NotStopped::Runs(why, notice));
    }
    match lock(&datadir.join(SYSTEM), SHUTDOWN) {
        Ok(Some(file)) => {
            down.system = Some(file);
            failpoint::reached("the server is stopped");
            Ok((notice, down))
        }
        outcome => {
            let what = match outcome {
                Err(e) => format!("cannot detect when the server has stopped ({e})"),
                _ => "the server did not stop, or was started again by something else".to_owned(),
            };
            down.start().map_err(|e| down.lost(&e))?;
            down.restored()?;
            Err(NotStopped::Runs(why(&what), notice))
        }
    }
}

/// Takes the lock of a server that shuts down; `None` if it does not.
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

/// Writes the notice of a server, unless another process that lives has one.
fn write(content: &NoticeContent, state: &Path) -> Result<Notice> {
    StateDir(state).create().map_err(storage)?;
    let path = path(state, &content.endpoint);
    let Opened::Ours(mut file) = state::create(&path).map_err(storage)? else {
        return Err(busy());
    };
    file.put_json(content).map_err(storage)?;
    Ok(Notice { file })
}

fn busy() -> Error {
    Error::new(
        Kind::Lock,
        "another penstock process has stopped this server, and starts it again when its files are in place",
    )
    .hint("wait until it has finished")
}

impl StoppedServer {
    /// Starts the server. `Err` says why it is not up, as far as can be found out; the notice stays.
    pub fn start(&mut self) -> Result<(), String> {
        self.system = None;
        self.conn = Some(restart::try_start(
            &self.id,
            &self.wire,
            &self.notice.command,
            &self.state,
            None,
        )?);
        self.downtime = self.since.elapsed();
        failpoint::reached("the server is up again");
        Ok(())
    }

    /// The error of a server that did not come up.
    pub fn lost(&self, why: &str) -> Error {
        let hint = "each of its files is either the one it had or a complete new one";
        restart::is_down(&self.wire, &self.notice.command, why, hint)
    }

    /// Whether the server that did not come up has ended, so that its files may be touched again.
    pub fn has_ended(&mut self) -> bool {
        let system = PathBuf::from(&self.id.datadir).join(SYSTEM);
        self.system = lock(&system, SHUTDOWN_AFTER_FAILURE).unwrap_or_default();
        self.system.is_some()
    }

    /// Sets the variables again that the running server had; returns a line for each that could not be set.
    pub fn restored(&mut self) -> Result<Vec<String>> {
        let Some(conn) = &mut self.conn else {
            return Err(Error::new(Kind::Internal, "a server that was not started"));
        };
        variables::set_again(conn, &self.id, &self.notice.runtime)
    }

    /// For how long it was down, in seconds.
    pub fn seconds(&self) -> f64 {
        self.downtime.as_secs_f64()
    }
}

impl Drop for StoppedServer {
    fn drop(&mut self) {
        // A panic, or an error path that does not start it.
        if self.system.is_some() {
            let _ = self.start();
        }
    }
}

fn removed(file: LockedFile) -> Result<()> {
    file.remove()
        .map_err(|e| e.error().hint("remove it: the server is up"))
}

/// A server that is, or was going to be, stopped.
pub struct Stopped {
    /// What it is, and where.
    pub server: String,
    /// As the user named it.
    pub endpoint: String,
    /// Whether a process of penstock that lives has stopped it, and starts it.
    pub busy: bool,
}

/// An error if another process is about to stop this server, or has stopped it: that process has no
/// session on the server that would show it.
pub fn check_not_in_use(wire: &wire::Options, state: &Path) -> Result<()> {
    match state::open_current(&path(state, &wire.endpoint.to_string())) {
        Ok(Some(Opened::Busy(_))) => Err(busy()),
        _ => Ok(()),
    }
}

/// All notices in the state directory.
pub fn all(state: &Path) -> Result<Vec<Stopped>> {
    let mut found = Vec::new();
    for path in StateDir(state)
        .files("stopped-", ".json")
        .map_err(storage)?
    {
        let (content, busy) = match state::open_current(&path).map_err(storage)? {
            Some(Opened::Ours(file)) => (file.read(MAX_NOTICE).ok(), false),
            Some(Opened::Busy(file)) => (state::read_all(&file, MAX_NOTICE).ok(), true),
            _ => continue,
        };
        if let Some(content) = content.as_deref().and_then(parse) {
            found.push(Stopped {
                server: format!("{} at {}", content.server, content.endpoint),
                endpoint: content.endpoint,
                busy,
            });
        }
    }
    Ok(found)
}

/// `None` of a notice that is torn: its server was not stopped yet.
fn parse(bytes: &[u8]) -> Option<NoticeContent> {
    serde_json::from_slice(bytes).ok()
}

/// Completes what a killed run has left: starts the server if it is down, and sets the variables again
/// that it had. False if this server has no notice.
pub(crate) fn restart_after_crash(
    run: &Run,
    wire: &wire::Options,
    state: &Path,
    is_up: bool,
) -> Result<bool> {
    let endpoint = wire.endpoint.to_string();
    let file = match state::open_current(&path(state, &endpoint)).map_err(storage) {
        Ok(Some(Opened::Ours(file))) => file,
        // Its owner starts it.
        Ok(Some(Opened::Busy(_))) if is_up => return Ok(false),
        Ok(Some(Opened::Busy(_))) => return Err(busy()),
        Ok(_) => return Ok(false),
        // Nothing of a server that is up depends on the notice.
        Err(e) if is_up => {
            run.observer.warn(e.what);
            return Ok(false);
        }
        Err(e) => return Err(e),
    };
    let content = file.read(MAX_NOTICE).ok();
    let content = content.as_deref().and_then(parse);
    let Some(content) = content.filter(|n| n.endpoint == endpoint) else {
        removed(file)?;
        return Ok(false);
    };
    let id = identity::from_name(&content.server)?;
    let mut conn = if is_up {
        identity::connect(wire, &id)?
    } else {
        let directory = content.directory.as_deref();
        restart::try_start(&id, wire, &content.command, state, directory).map_err(|why| {
            let hint = "a load had stopped it, and was killed";
            restart::is_down(wire, &content.command, &why, hint)
        })?
    };
    let id = identity::read(&mut conn)?;
    if identity::server_id(&id) != content.id {
        // Nothing is set on a server that the notice is not about.
        return Ok(!is_up);
    }
    for line in variables::set_again(&mut conn, &id, &content.runtime)? {
        run.observer.warn(printable(&line));
    }
    removed(file)?;
    let what = if is_up {
        "an earlier run had stopped the server: the variables that were set while it ran are set again"
    } else {
        "an earlier run left the server stopped: it is started again"
    };
    run.observer.warn(what.to_owned());
    Ok(true)
}

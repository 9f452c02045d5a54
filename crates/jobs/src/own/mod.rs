//! A server of a load's own, on a data folder that the load makes: it is
//! initialised, started on a socket in its folder, loaded, and shut down, and
//! the folder is somebody's to start a service on.
//!
//! `program` finds the programs, `server` is the process. Invariants: only a
//! folder that is empty is taken, and from the first byte on a mark in it says
//! whose it is; only what stands beside such a mark is ever removed; the mark is
//! locked for as long as anybody works in the folder, and goes when all of the
//! archive is there and the server has ended in good order.

mod program;
mod server;

pub use server::Server;

use crate::{Run, connect, failure};
use ::server::{Flavour, quote};
use base::units::printable;
use base::{Error, Kind, Result, Secret, failpoint};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// The mark in the folder. Servers take a folder for empty that has nothing but hidden files.
const MARK: &str = ".penstock-load";

/// How long an initialisation may go on whose load was killed.
const ORPHAN: Duration = Duration::from_secs(60);

/// Why a program may fail in a folder that has nothing wrong with it.
const DENIED: &str = "if it may not use the folder: its account has to get there, and AppArmor or SELinux may allow it the usual data folder only";

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data folder.
    pub folder: PathBuf,
    /// The server's program; looked for if it is not given.
    pub program: Option<PathBuf>,
    /// An option file for the server.
    pub defaults: Option<PathBuf>,
}

/// How far a folder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// What is in it is not a data folder yet.
    Initialising,
    /// It is one, and the archive is on its way.
    Loading,
    /// All is there, and the server is to end.
    Loaded,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    stage: Stage,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Done {
    /// The data folder.
    pub folder: PathBuf,
    /// The program that it was made with.
    pub program: PathBuf,
    /// Making the folder and starting the server for the first time, in seconds; none if an earlier load had done that.
    pub made: Option<f64>,
    /// Whether its root has a password.
    pub password: bool,
}

/// A server that was made for this load, or for the one that it goes on with.
pub struct Own {
    server: Server,
    mark: File,
    stage: Stage,
    made: Option<f64>,
    /// Whether the folder itself is of this load.
    created: bool,
    password: Option<Secret>,
}

/// What it is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Whose dump it is, if the dump says.
    pub source: Option<Flavour>,
    /// Bytes of rows.
    pub bytes: u64,
    /// Whether most of them come as files.
    pub by_file: bool,
    /// Whether an interrupted load is to be gone on with.
    pub resume: bool,
}

/// Makes the folder and starts the server on it.
pub fn begin(
    run: &Run,
    options: &Options,
    password: Option<Secret>,
    wanted: Wanted,
) -> Result<Own> {
    let folder =
        std::path::absolute(&options.folder).map_err(|e| storage("use", &options.folder, &e))?;
    let flavour = wanted.source.map(|f| f == Flavour::MariaDb);
    let (program, mariadb) = program::find(options.program.as_deref(), flavour)?;
    let defaults = options
        .defaults
        .as_deref()
        .map(fs::canonicalize)
        .transpose();
    let defaults = defaults.map_err(|e| {
        let given = options.defaults.as_deref().unwrap_or(Path::new(""));
        storage("read", given, &e)
    })?;
    let sizes = defaults.is_none().then(|| sizes(&wanted));
    let mut server = Server {
        folder,
        program,
        mariadb,
        defaults,
        user: None,
        sizes,
    };
    if !server.has_room_for_socket() || server.folder.to_str().is_none() {
        let text = format!(
            "--datadir {}: a socket in it would have a longer name than the kernel takes, or the name is not UTF-8",
            server.folder.display()
        );
        return Err(Error::new(Kind::Usage, printable(&text))
            .hint("load into a folder with a short name, and move it when the load is over"));
    }
    // Before anything is made.
    program::initialiser(&server)?;
    run.check()?;
    let created = folder_of(&server.folder)?;
    server.user = user(&server.folder).map_err(|e| storage("look at", &server.folder, &e))?;
    let (mark, stage) = match taken(run, &server, wanted.resume)? {
        Some((mark, Stage::Loaded)) => {
            let own = Own {
                server,
                mark,
                stage: Stage::Loaded,
                made: None,
                created: false,
                password: None,
            };
            let folder = own.server.folder.clone();
            own.ended()?;
            let text = format!(
                "the interrupted load into {} had come to its end: all was there and proven, and the server is shut down now",
                folder.display()
            );
            return Err(Error::new(Kind::Target, printable(&text))
                .hint("nothing is left to do: start your own server on the folder"));
        }
        Some((mark, stage)) => (mark, stage),
        None => (marked(&server)?, Stage::Initialising),
    };
    let mut own = Own {
        server,
        mark,
        stage,
        made: None,
        created,
        password,
    };
    let start = Instant::now();
    let _phase = run.phase("making the data folder", 1);
    let outcome = if stage == Stage::Initialising {
        let made = own.initialised();
        own.made = Some(start.elapsed().as_secs_f64());
        made
    } else {
        own.started()
    };
    match outcome.and_then(|()| run.check()) {
        Ok(()) => {
            run.observer.note(printable(&format!(
                "a server of the load's own: {}",
                own.server
            )));
            Ok(own)
        }
        Err(e) => Err(own.given_up(e)),
    }
}

/// The folder, empty if it was not there; whether it was not.
fn folder_of(folder: &Path) -> Result<bool> {
    let made = fs::DirBuilder::new().mode(0o750).create(folder);
    match made {
        Ok(()) => {
            if rustix::process::geteuid().is_root()
                && let Some((uid, gid)) = account("mysql")
            {
                // The servers' own packages have them run as this account.
                File::open(folder)
                    .and_then(|f| fchown(&f, Some(uid), Some(gid)))
                    .map_err(|e| storage("give to mysql", folder, &e))?;
            }
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        Err(e) => Err(storage("make", folder, &e)),
    }
}

/// Numbers of an account of this host.
fn account(name: &str) -> Option<(u32, u32)> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let line = text
        .lines()
        .find(|l| l.split(':').next() == Some(name))?
        .to_owned();
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// As whom the server has to run: only one that is started by root has to be told.
fn user(folder: &Path) -> io::Result<Option<u32>> {
    let owner = fs::metadata(folder)?.uid();
    Ok(rustix::process::geteuid().is_root().then_some(owner))
}

/// Has a file belong to the server's account.
fn given(file: &File, user: Option<u32>) -> io::Result<()> {
    match user {
        Some(uid) if file.metadata()?.uid() != uid => fchown(file, Some(uid), None),
        _ => Ok(()),
    }
}

/// The mark that an interrupted load has left in the folder, if it is to be gone on with; none in an empty one.
fn taken(run: &Run, server: &Server, resume: bool) -> Result<Option<(File, Stage)>> {
    let folder = &server.folder;
    let cannot = |e: io::Error| storage("read", folder, &e);
    let path = folder.join(MARK);
    let mut mark = match File::options().read(true).write(true).open(&path) {
        Ok(mark) => mark,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if fs::read_dir(folder).map_err(cannot)?.next().is_some() {
                let text = format!("--datadir {}: the folder is not empty", folder.display());
                return Err(Error::new(Kind::Target, printable(&text))
                    .hint("name one that is empty, or not there; nothing in it was touched"));
            }
            if resume {
                let what = "there is no interrupted load to go on with: beginning one";
                run.observer.note(what.to_owned());
            }
            return Ok(None);
        }
        Err(e) => return Err(cannot(e)),
    };
    if !resume {
        let running = server
            .process()
            .map(|pid| format!(" (its server still runs: process {})", pid.as_raw_nonzero()));
        let text = format!(
            "--datadir {}: a load into it was interrupted{}",
            folder.display(),
            running.unwrap_or_default()
        );
        return Err(Error::new(Kind::Target, printable(&text)).hint(
            "go on with --resume; to begin anew, end the server if it runs, and remove the folder",
        ));
    }
    // The program that makes a data folder has it too, and may have outlived its load.
    let end = Instant::now() + ORPHAN;
    while mark.try_lock().is_err() {
        run.check()?;
        if Instant::now() > end {
            let text = format!("another penstock loads into {}", folder.display());
            return Err(Error::new(Kind::Lock, printable(&text)).hint("wait for its end"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut text = String::new();
    mark.read_to_string(&mut text).map_err(cannot)?;
    // One that is torn was not written to its end, and nothing was before.
    let stage = serde_json::from_str(&text).map_or(Stage::Initialising, |m: Mark| m.stage);
    Ok(Some((mark, stage)))
}

/// A mark in an empty folder.
fn marked(server: &Server) -> Result<File> {
    let path = server.folder.join(MARK);
    let failed = |e: io::Error| storage("write", &path, &e);
    let mark = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(failed)?;
    mark.lock().map_err(failed)?;
    Ok(mark)
}

/// Bytes of the buffer pool and of the redo log.
fn sizes(wanted: &Wanted) -> (u64, u64) {
    const MIB: u64 = 1 << 20;
    let bytes = wanted.bytes;
    if wanted.by_file {
        // Rows of files are read once. A pool that had room for all of them would cost more than that: every page of it
        // is new to the process.
        return (256 * MIB, 128 * MIB);
    }
    let free = fs::read_to_string("/proc/meminfo").ok();
    let free = free.as_deref().and_then(crate::tune::memory::available);
    let most = free.unwrap_or(1 << 30) / 2;
    let pool = (bytes + bytes / 2).clamp(128 * MIB, most.max(128 * MIB));
    (pool, (bytes / 4).clamp(128 * MIB, 1024 * MIB))
}

fn storage(doing: &str, path: &Path, e: &io::Error) -> Error {
    let text = format!("cannot {doing} {}: {e}", path.display());
    Error::new(Kind::Storage, printable(&text))
}

impl Own {
    /// The process.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// How it is reached.
    pub fn wire(&self) -> wire::Options {
        let mut wire = wire::Options::new(Endpoint::Unix(self.server.socket()), "root");
        wire.password.clone_from(&self.password);
        wire
    }

    fn reached(&mut self, stage: Stage) -> Result<()> {
        self.stage = stage;
        let path = self.server.folder.join(MARK);
        let text = serde_json::to_string(&Mark { stage })
            .map_err(|e| Error::new(Kind::Internal, format!("a mark is not written: {e}")))?;
        let mut write = || -> io::Result<()> {
            self.mark.set_len(0)?;
            self.mark.seek(SeekFrom::Start(0))?;
            self.mark.write_all(text.as_bytes())?;
            self.mark.sync_all()?;
            File::open(&self.server.folder)?.sync_all()
        };
        write().map_err(|e| storage("write", &path, &e))
    }

    /// Makes a data folder of what is nothing yet, and its server's root what it is to be.
    fn initialised(&mut self) -> Result<()> {
        // A killed load may have left half of one, and even a server.
        self.server
            .stop()
            .map_err(|why| Error::new(Kind::Lock, format!("{}: {why}", self.server)))?;
        self.empty()?;
        self.reached(Stage::Initialising)?;
        failpoint::reached("a data folder is marked");
        let path = self.server.folder.join(MARK);
        let held = self
            .mark
            .try_clone()
            .map_err(|e| storage("hold", &path, &e))?;
        let out = program::initialiser(&self.server)?
            .current_dir(&self.server.folder)
            .env_remove("PENSTOCK_PASSWORD")
            .env_remove("MYSQL_PWD")
            // With it goes the lock: nobody empties the folder while this is at work, even if we are killed.
            .stdin(Stdio::from(held))
            .process_group(0)
            .output()
            .map_err(|e| storage("run", &self.server.program, &e))?;
        if !out.status.success() {
            let said = [out.stderr, out.stdout].concat();
            let text = format!(
                "a data folder cannot be made in {}: {}",
                self.server.folder.display(),
                server::last_lines(&String::from_utf8_lossy(&said))
            );
            return Err(Error::new(Kind::Target, printable(&text)).hint(DENIED));
        }
        failpoint::reached("a data folder is initialised");
        self.started()?;
        if let Some(password) = self.password.take() {
            let named = self.root(&password);
            self.password = Some(password);
            named?;
        }
        failpoint::reached("a server of the load's own is up");
        self.reached(Stage::Loading)
    }

    /// Gives every account called root the password.
    fn root(&self, password: &Secret) -> Result<()> {
        let failed = |e| failure::wire("cannot set the password of root", e);
        let mut conn = connect::unwatched(&self.wire())?;
        let hosts = conn
            .fetch("SELECT host FROM mysql.user WHERE user = 'root'")
            .map_err(failed)?;
        for host in hosts.into_iter().flatten().flatten() {
            let host = quote::text(&String::from_utf8_lossy(&host));
            let password = quote::text(password.reveal());
            conn.execute(format!("ALTER USER 'root'@{host} IDENTIFIED BY {password}"))
                .map_err(failed)?;
        }
        Ok(())
    }

    fn started(&self) -> Result<()> {
        self.server.start().map_err(|why| {
            let text = format!("the server does not start ({}): {why}", self.server);
            Error::new(Kind::Connection, printable(&text)).hint(DENIED)
        })
    }

    /// Removes everything in the folder but the mark.
    fn empty(&self) -> Result<()> {
        let folder = &self.server.folder;
        let list = fs::read_dir(folder).map_err(|e| storage("read", folder, &e))?;
        for entry in list.flatten().filter(|e| e.file_name() != MARK) {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
            let gone = if is_folder {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            gone.map_err(|e| storage("remove", &path, &e))?;
        }
        Ok(())
    }

    /// All is loaded: the server ends, and the folder is the user's.
    pub fn finish(mut self, run: &Run) -> Result<Done> {
        let _phase = run.phase("shutting the server down", 1);
        self.reached(Stage::Loaded)?;
        failpoint::reached("all is there on a server of the load's own");
        let done = Done {
            folder: self.server.folder.clone(),
            program: self.server.program.clone(),
            made: self.made,
            password: self.password.is_some(),
        };
        self.ended()?;
        Ok(done)
    }

    /// Ends the server, and takes the mark away.
    fn ended(self) -> Result<()> {
        let failed = |why: String| {
            let text = format!("the server is not to be ended ({}): {why}", self.server);
            Error::new(Kind::Failed, printable(&text))
                .hint("all of the archive is there: end the server, or load again with --resume, which does")
        };
        self.server.stop().map_err(failed)?;
        self.server.remove_traces();
        let path = self.server.folder.join(MARK);
        fs::remove_file(&path).map_err(|e| storage("remove", &path, &e))
    }

    /// The load has failed: the server ends, and the folder stays for `--resume`, unless there is nothing in it yet.
    pub fn given_up(self, e: Error) -> Error {
        let nothing =
            self.stage == Stage::Initialising || self.made.is_some() && self.has_nothing();
        if let Err(why) = self.server.stop() {
            let hint = format!(
                "the server of the load's own still runs: {} ({why})",
                self.server
            );
            return with_hint(e, &printable(&hint));
        }
        if nothing && self.empty().is_ok() {
            let _ = fs::remove_file(self.server.folder.join(MARK));
            if self.created {
                let _ = fs::remove_dir(&self.server.folder);
            }
            return e;
        }
        let hint = format!(
            "the server of the load's own was shut down; {} holds a part of the archive: --resume goes on from there; to begin anew, remove the folder",
            self.server.folder.display()
        );
        // Another way out would be one for a server that runs.
        Error {
            hint: Some(printable(&hint)),
            ..e
        }
    }

    /// Whether nobody has made anything on the server yet.
    fn has_nothing(&self) -> bool {
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name NOT IN \
             ('mysql', 'sys', 'information_schema', 'performance_schema')";
        let Ok(mut conn) = connect::unwatched(&self.wire()) else {
            return false;
        };
        let rows = conn.fetch(sql).unwrap_or_default();
        let cell = rows.into_iter().flatten().flatten().next();
        cell.as_deref() == Some(b"0")
    }
}

fn with_hint(e: Error, more: &str) -> Error {
    let hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default() + more;
    Error {
        hint: Some(hint),
        ..e
    }
}

//! A server of a load's own, on a data folder that the load makes: it is
//! initialised, started, loaded, and shut down, and the folder is somebody's to
//! start a service on.
//!
//! `program` finds the programs, `options` says which options the server may be
//! given, `server` is the process. Everything of the load's own is in one hidden
//! folder inside the data folder: a mark that says how far it has come, the
//! socket, the log, and at first the data folder itself, which is moved to its
//! place when it is whole. Invariants: only a folder that is empty is taken;
//! nothing is ever removed but that hidden folder; whoever works in it holds a
//! lock on the mark; it goes when all of the archive is there and the server has
//! ended in good order.

pub mod options;
mod program;
mod server;

pub use server::{Server, socket};

use crate::{NO_LINK, Run, connect};
use ::server::{Flavour, quote};
use base::units::printable;
use base::{Error, Kind, Result, Secret, failpoint};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// The name of the mark.
const MARK: &str = "mark";

/// Where the data folder is until it is whole.
const NEW: &str = "new";

/// The same, from the hidden folder: without the dot a server would look for it where it is installed.
const HERE: &str = "./new";

/// Bytes of a mark: written at once and never shorter, so that it is never torn.
const MARK_SIZE: usize = 128;

/// How long an initialisation may go on whose load was killed.
const ORPHAN: Duration = Duration::from_secs(20);

/// Why a program may fail in a folder that has nothing wrong with it.
const DENIED: &str = "its account has to get to the folder, and AppArmor or SELinux may allow it the usual data folder only";

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data folder.
    pub folder: PathBuf,
    /// The server's program; looked for if it is not given.
    pub program: Option<PathBuf>,
    /// Options of the server, each `name=value`.
    pub options: Vec<String>,
}

/// How far a folder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// A data folder is being made, in the hidden one.
    Initialising,
    /// It is whole, and on its way to its place.
    Moving,
    /// It is in its place, and the archive is on its way, or there.
    Loading,
}

#[derive(Clone, Serialize, Deserialize)]
struct Mark {
    stage: Stage,
    mariadb: bool,
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

/// Takes the folder, with what an interrupted load may have left in it; [`Own::up`] does the rest.
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
    let mut server = Server {
        folder,
        program,
        mariadb,
        options: options.options.clone(),
        user: None,
        sizes: sizes(&wanted),
        by_file: wanted.by_file,
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
    program::initialiser(&server, Path::new(HERE))?;
    run.check()?;
    let created = folder_of(&server.folder)?;
    server.user = user(&server.folder).map_err(|e| storage("look at", &server.folder, &e))?;
    let (mark, stage) = match taken(run, &server, wanted.resume)? {
        Some(taken) => taken,
        None => (marked(&server)?, Stage::Initialising),
    };
    Ok(Own {
        server,
        mark,
        stage,
        made: None,
        created,
        // One without a letter is none.
        password: password.filter(|p| !p.is_empty()),
    })
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
                lchown(folder, Some(uid), Some(gid))
                    .map_err(|e| storage("give to mysql", folder, &e))?;
            }
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let text = format!("--datadir {}: it is no folder", folder.display());
            Err(Error::new(Kind::Target, printable(&text))
                .hint("name a folder that is empty, or not there"))
        }
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
    let shown = printable(&folder.display().to_string());
    let cannot = |e: io::Error| storage("read", folder, &e);
    let refused = |what: String, hint: &str| Err(Error::new(Kind::Target, what).hint(hint));
    let path = server.private().join(MARK);
    let opened = File::options()
        .read(true)
        .write(true)
        .custom_flags(NO_LINK)
        .open(&path);
    let mut mark = match opened {
        Ok(mark) => mark,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // A hidden folder without a mark has nothing in it yet.
            let hidden =
                server.private().is_dir() && is_empty(&server.private()).map_err(cannot)?;
            for entry in fs::read_dir(folder).map_err(cannot)?.flatten() {
                let name = entry.file_name();
                // New file systems have this one.
                let known = name == "lost+found" || hidden && name == server::PRIVATE;
                if !known {
                    let over = resume && folder.join("ibdata1").exists();
                    return refused(
                        format!("--datadir {shown}: the folder is not empty"),
                        if over {
                            "it is somebody's data folder, or one that a load has made which was interrupted behind its last step, and then it is ready for your server (what is left in .penstock-load can be removed); nothing in it was touched"
                        } else {
                            "name one that is empty, or not there; nothing in it was touched"
                        },
                    );
                }
            }
            if resume {
                let what = "there is no interrupted load to go on with: beginning one";
                run.observer.note(what.to_owned());
            }
            return Ok(None);
        }
        Err(e) => return Err(cannot(e)),
    };
    // What initialises a folder has the lock too, and may have outlived its load.
    let end = Instant::now() + if resume { ORPHAN } else { Duration::ZERO };
    while mark.try_lock().is_err() {
        run.check()?;
        if Instant::now() >= end {
            return Err(
                Error::new(Kind::Lock, format!("another penstock loads into {shown}"))
                    .hint("wait for its end"),
            );
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    if mark.metadata().map_err(cannot)?.nlink() == 0 {
        return refused(
            format!("--datadir {shown}: another penstock has loaded into it just now"),
            "name another folder",
        );
    }
    if !resume {
        let running = server
            .process()
            .map(|pid| format!(" (its server still runs: process {})", pid.as_raw_nonzero()));
        return refused(
            format!(
                "--datadir {shown}: a load into it was interrupted{}",
                running.unwrap_or_default()
            ),
            "go on with --resume; to begin anew, end the server if it runs, and remove the folder",
        );
    }
    let mut text = String::new();
    mark.read_to_string(&mut text).map_err(cannot)?;
    let read: Option<Mark> = serde_json::from_str(text.trim()).ok();
    match read {
        Some(read) if read.mariadb != server.mariadb => refused(
            format!(
                "--datadir {shown}: the interrupted load made it with {}, and this is another server: {}",
                if read.mariadb { "MariaDB" } else { "MySQL" },
                printable(&server.program.display().to_string())
            ),
            "name the program of that load with --server-program",
        ),
        Some(read) => Ok(Some((mark, read.stage))),
        // It was made, and nothing written yet.
        None if text.is_empty() && !server.folder.join("ibdata1").exists() => {
            Ok(Some((mark, Stage::Initialising)))
        }
        None => refused(
            format!(
                "{} does not say how far a load has come",
                printable(&path.display().to_string())
            ),
            "nothing was touched; to begin anew, end the server if it runs, and remove the folder",
        ),
    }
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().is_none())
}

/// A mark in an empty folder.
fn marked(server: &Server) -> Result<File> {
    let private = server.private();
    let failed = |e: io::Error| storage("write", &private, &e);
    match fs::DirBuilder::new().mode(0o700).create(&private) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let mark = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(private.join(MARK))
        .map_err(failed)?;
    mark.lock().map_err(failed)?;
    // Other accounts must not get at the socket: until there is a password, everybody who does is root.
    if let Some(uid) = server.user {
        lchown(&private, Some(uid), None).map_err(failed)?;
    }
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
    /// Makes what is missing of the data folder, and starts the server on it. Before anything of a new one gets into its
    /// place, `goes_on` is asked whether it is still wanted.
    pub fn up(mut self, run: &Run, goes_on: impl FnOnce() -> bool) -> Result<Own> {
        let start = Instant::now();
        let outcome = match self.stage {
            Stage::Loading => self.started(),
            _ => self.initialised(goes_on).map(|waited| {
                let took = start.elapsed().saturating_sub(waited);
                self.made = Some(took.as_secs_f64());
            }),
        };
        match outcome
            .and_then(|()| self.is_entered())
            .and_then(|()| run.check())
        {
            Ok(()) => {
                run.observer.note(printable(&format!(
                    "a server of the load's own: {}",
                    self.server
                )));
                Ok(self)
            }
            Err(e) => Err(self.given_up(e)),
        }
    }

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
        let path = self.server.private().join(MARK);
        let mark = Mark {
            stage,
            mariadb: self.server.mariadb,
        };
        let mut text = serde_json::to_vec(&mark)
            .map_err(|e| Error::new(Kind::Internal, format!("a mark is not written: {e}")))?;
        text.resize(MARK_SIZE, b' ');
        let write = || -> io::Result<()> {
            self.mark.write_all_at(&text, 0)?;
            self.mark.sync_all()?;
            File::open(self.server.private())?.sync_all()?;
            File::open(&self.server.folder)?.sync_all()
        };
        write().map_err(|e| storage("write", &path, &e))
    }

    /// Makes the data folder, puts it into its place, and has its server's root be what it is to be. Says how long it
    /// waited for the answer.
    fn initialised(&mut self, goes_on: impl FnOnce() -> bool) -> Result<Duration> {
        let mut waited = Duration::ZERO;
        if self.stage == Stage::Initialising {
            self.reached(Stage::Initialising)?;
            failpoint::reached("a data folder is marked");
            self.made_new()?;
            let asked = Instant::now();
            if !goes_on() {
                return Err(Error::new(Kind::Failed, "the data folder is not wanted"));
            }
            waited = asked.elapsed();
            self.reached(Stage::Moving)?;
        }
        self.moved()?;
        failpoint::reached("a data folder is initialised");
        self.started()?;
        if let Some(password) = self.password.take() {
            let named = self.root(&password);
            self.password = Some(password);
            named?;
        }
        failpoint::reached("a server of the load's own is up");
        self.reached(Stage::Loading)?;
        Ok(waited)
    }

    fn made_new(&self) -> Result<()> {
        let new = self.server.private().join(NEW);
        if new.exists() {
            fs::remove_dir_all(&new).map_err(|e| storage("remove", &new, &e))?;
        }
        let path = self.server.private().join(MARK);
        let held = self
            .mark
            .try_clone()
            .map_err(|e| storage("hold", &path, &e))?;
        // By a name without the user's letters in it: what makes MariaDB's does not take all of them.
        let out = program::initialiser(&self.server, Path::new(HERE))?
            .current_dir(self.server.private())
            .env("TMPDIR", self.with_scratch()?)
            .env_remove("PENSTOCK_PASSWORD")
            .env_remove("MYSQL_PWD")
            // With it goes the lock: nobody else is at work here while this is, even if we are killed.
            .stdin(Stdio::from(held))
            .process_group(0)
            .output()
            .map_err(|e| storage("run", &self.server.program, &e))?;
        if !out.status.success() {
            let said = [out.stderr, out.stdout].concat();
            let said = server::complaints(&String::from_utf8_lossy(&said));
            let text = format!(
                "a data folder cannot be made in {}: {said}",
                self.server.folder.display(),
            );
            return Err(Error::new(Kind::Target, printable(&text)).hint(way_out(&said)));
        }
        Ok(())
    }

    /// Puts what was made into its place, entry by entry.
    fn moved(&self) -> Result<()> {
        let (new, folder) = (self.server.private().join(NEW), &self.server.folder);
        let list = match fs::read_dir(&new) {
            Ok(list) => list,
            // All were moved before.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(storage("read", &new, &e)),
        };
        for entry in list.flatten() {
            let to = folder.join(entry.file_name());
            if to.symlink_metadata().is_ok() {
                let text = format!("{} was put there by somebody else", to.display());
                return Err(Error::new(Kind::Target, printable(&text))
                    .hint("take it away, and go on with --resume"));
            }
            // Of MariaDB's files one stays with whoever made them.
            let ours = match self.server.user {
                Some(uid) if entry.metadata().is_ok_and(|m| m.uid() != uid) => {
                    lchown(entry.path(), Some(uid), None)
                }
                _ => Ok(()),
            };
            ours.and_then(|()| fs::rename(entry.path(), &to))
                .map_err(|e| storage("make", &to, &e))?;
        }
        fs::remove_dir(&new)
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|e| storage("sync", folder, &e))
    }

    /// Gives every account called root the password.
    fn root(&self, password: &Secret) -> Result<()> {
        // What the server says of a statement may quote it.
        let failed = |e: wire::Error| {
            let code = e.code().map(|c| format!(" (error {c})"));
            let text = format!(
                "cannot set the password of root{}",
                code.unwrap_or_default()
            );
            Error::new(Kind::Target, text)
                .hint("try another one, or load without: the server may have rules for passwords")
        };
        let mut conn = connect::unwatched(&self.wire())?;
        for sql in [
            "SET NAMES utf8mb4",
            "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
        ] {
            conn.execute(sql).map_err(failed)?;
        }
        let hosts = conn
            .fetch("SELECT host FROM mysql.user WHERE user = 'root'")
            .map_err(failed)?;
        let password = password.reveal().replace('\'', "''");
        for host in hosts.into_iter().flatten().flatten() {
            let host = quote::text(&String::from_utf8_lossy(&host));
            conn.execute(format!(
                "ALTER USER 'root'@{host} IDENTIFIED BY '{password}'"
            ))
            .map_err(failed)?;
        }
        Ok(())
    }

    /// Makes the folder for temporary files.
    fn with_scratch(&self) -> Result<PathBuf> {
        let scratch = self.server.scratch();
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&scratch);
        made.and_then(|()| match self.server.user {
            Some(uid) => lchown(&scratch, Some(uid), None),
            None => Ok(()),
        })
        .map_err(|e| storage("make", &scratch, &e))?;
        Ok(scratch)
    }

    fn started(&self) -> Result<()> {
        self.with_scratch()?;
        self.server.start().map_err(|why| {
            let text = format!("the server does not start ({}): {why}", self.server);
            Error::new(Kind::Connection, printable(&text)).hint(way_out(&why))
        })
    }

    /// Whether we get in.
    fn is_entered(&self) -> Result<()> {
        connect::unwatched(&self.wire()).map(drop).map_err(|e| {
            e.hint("root has the password that the load was given which made the folder, or none if it was given none")
        })
    }

    /// All is loaded: the server ends, and the folder is the user's.
    pub fn finish(self, run: &Run) -> Result<Done> {
        let _phase = run.phase("shutting the server down", 1);
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

    /// Ends the server, and takes everything away that is the load's own.
    fn ended(self) -> Result<()> {
        let failed = |why: String| {
            let text = format!("the server is not to be ended ({}): {why}", self.server);
            Error::new(Kind::Failed, printable(&text))
                .hint("all of the archive is there: end the server, or load again with --resume, which does")
        };
        self.server.stop().map_err(failed)?;
        self.removed()
    }

    /// Never through a link: the folder may be another account's. The mark, which a load would go on by, goes first: what is
    /// needed to see that the load has come to its end goes with the rest.
    fn removed(&self) -> Result<()> {
        let private = self.server.private();
        let failed = |e: io::Error| storage("remove", &private, &e);
        match fs::remove_file(private.join(MARK)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        failpoint::reached("a mark is gone");
        fs::remove_dir_all(&private).map_err(failed)
    }

    /// The load has failed: the server ends, and the folder stays for `--resume`, unless it was not made yet.
    pub fn given_up(self, e: Error) -> Error {
        if let Err(why) = self.server.stop() {
            let hint = format!(
                "the server of the load's own may still run: {} ({why})",
                self.server
            );
            return with_hint(e, &printable(&hint));
        }
        if self.stage == Stage::Initialising && self.removed().is_ok() {
            if self.created {
                let _ = fs::remove_dir(&self.server.folder);
            }
            return e;
        }
        let hint = format!(
            "the server of the load's own does not run; {} holds a part of the archive, or nothing yet: --resume goes on from there; to begin anew, remove the folder",
            self.server.folder.display()
        );
        // Another way out would be one for a server that runs.
        Error {
            hint: Some(printable(&hint)),
            ..e
        }
    }
}

/// What helps against what a server's program has said.
fn way_out(said: &str) -> &'static str {
    let says = |list: &[&str]| list.iter().any(|w| said.contains(w));
    if says(&[
        "No space left",
        "Errcode: 28",
        "OS errno 28",
        "error number 28",
        "Error number 28",
        "error 28",
    ]) {
        "make room on the disk of the folder"
    } else if says(&["denied", "Errcode: 13", "OS errno 13"]) {
        DENIED
    } else {
        "the server's program said so; options of it that were given with --server-option may be the reason"
    }
}

fn with_hint(e: Error, more: &str) -> Error {
    let hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default() + more;
    Error {
        hint: Some(hint),
        ..e
    }
}

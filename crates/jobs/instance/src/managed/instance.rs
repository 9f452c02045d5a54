//! A server of a load's own, on a data folder that the load makes: it is
//! initialised, started, loaded, and shut down, and the folder is somebody's to
//! start a service on.
//!
//! `mark` takes the folder and says how far it has come, `program` finds the
//! programs, `options` says which options the server may be given, `server` is the
//! process. Everything of the load's own is in one hidden
//! folder inside the data folder: a mark that says how far it has come, the
//! socket, the log, and at first the data folder itself, which is moved to its
//! place when it is whole. Invariants: only a folder that is empty is taken;
//! nothing is ever removed but that hidden folder; whoever works in it holds a
//! lock on the mark; it goes when all of the archive is there and the server has
//! ended in good order.

mod mysqld;
pub mod options;
mod program;
mod state_file;

pub use mysqld::{Mysqld, socket};

use ::server::{Flavour, quote};
use base::units::printable;
use base::{Error, Kind, Result, Secret, failpoint};
use run::Run;
use run::connect;
use run::failure;
use state_file::{MARK, Stage};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// Where the data folder is until it is whole.
const NEW: &str = "new";

/// The same, from the hidden folder: without the dot a server would look for it where it is installed.
const HERE: &str = "./new";

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

/// What became of it.
#[derive(Clone, Debug)]
pub struct Summary {
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
pub struct ManagedInstance {
    server: Mysqld,
    mark: File,
    stage: Stage,
    made: Option<f64>,
    /// Whether the folder itself is of this load.
    created: bool,
    password: Option<Secret>,
}

/// What it is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// Whose dump it is, if the dump says.
    pub source: Option<Flavour>,
    /// Bytes of rows.
    pub bytes: u64,
    /// Whether most of them come as files.
    pub tablespaces: bool,
    /// Whether an interrupted load is to be gone on with.
    pub resume: bool,
}

/// Takes the folder, with what an interrupted load may have left in it; [`Own::up`] does the rest.
pub fn begin(
    run: &Run,
    options: &Options,
    password: Option<Secret>,
    wanted: Purpose,
) -> Result<ManagedInstance> {
    let folder =
        std::path::absolute(&options.folder).map_err(|e| storage("use", &options.folder, &e))?;
    let flavour = wanted.source.map(|f| f == Flavour::MariaDb);
    let (program, mariadb) = program::find(options.program.as_deref(), flavour)?;
    let mut server = Mysqld {
        folder,
        program,
        mariadb,
        options: options.options.clone(),
        user: None,
        sizes: sizes(&wanted),
        by_file: wanted.tablespaces,
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
    let created = state_file::folder_of(&server.folder)?;
    server.user =
        state_file::user(&server.folder).map_err(|e| storage("look at", &server.folder, &e))?;
    let (mark, stage) = match state_file::taken(run, &server, wanted.resume)? {
        Some(taken) => taken,
        None => (state_file::marked(&server)?, Stage::Initialising),
    };
    Ok(ManagedInstance {
        server,
        mark,
        stage,
        made: None,
        created,
        // One without a letter is none.
        password: password.filter(|p| !p.is_empty()),
    })
}

/// Bytes of the buffer pool and of the redo log.
fn sizes(wanted: &Purpose) -> (u64, u64) {
    const MIB: u64 = 1 << 20;
    let bytes = wanted.bytes;
    if wanted.tablespaces {
        // Rows of files are read once. A pool that had room for all of them would cost more than that: every page of it
        // is new to the process.
        return (256 * MIB, 128 * MIB);
    }
    let free = fs::read_to_string("/proc/meminfo").ok();
    let free = free.as_deref().and_then(run::memory::available);
    let most = free.unwrap_or(1 << 30) / 2;
    let pool = (bytes + bytes / 2).clamp(128 * MIB, most.max(128 * MIB));
    (pool, (bytes / 4).clamp(128 * MIB, 1024 * MIB))
}

fn storage(doing: &str, path: &Path, e: &io::Error) -> Error {
    let text = format!("cannot {doing} {}: {e}", path.display());
    Error::new(Kind::Storage, printable(&text))
}

impl ManagedInstance {
    /// Makes what is missing of the data folder, and starts the server on it. Before anything of a new one gets into its
    /// place, `goes_on` is asked whether it is still wanted.
    pub fn start(mut self, run: &Run, goes_on: impl FnOnce() -> bool) -> Result<ManagedInstance> {
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
            Err(e) => Err(self.abandoned(e)),
        }
    }

    /// The process.
    pub fn mysqld(&self) -> &Mysqld {
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
        state_file::written(&self.mark, &self.server, stage)
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
        let new = self.server.state_directory().join(NEW);
        if new.exists() {
            fs::remove_dir_all(&new).map_err(|e| storage("remove", &new, &e))?;
        }
        let path = self.server.state_directory().join(MARK);
        let held = self
            .mark
            .try_clone()
            .map_err(|e| storage("hold", &path, &e))?;
        // By a name without the user's letters in it: what makes MariaDB's does not take all of them.
        let out = program::initialiser(&self.server, Path::new(HERE))?
            .current_dir(self.server.state_directory())
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
            let said = mysqld::complaints(&String::from_utf8_lossy(&said));
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
        let (new, folder) = (self.server.state_directory().join(NEW), &self.server.folder);
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
        let mut conn = connect::untracked(&self.wire())?;
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
        connect::untracked(&self.wire()).map(drop).map_err(|e| {
            e.hint("root has the password that the load was given which made the folder, or none if it was given none")
        })
    }

    /// All is loaded: the server ends, and the folder is the user's.
    pub fn finish(self, run: &Run) -> Result<Summary> {
        let _phase = run.phase("shutting the server down", 1);
        failpoint::reached("all is there on a server of the load's own");
        let done = Summary {
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
        let private = self.server.state_directory();
        let failed = |e: io::Error| storage("remove", &private, &e);
        match fs::remove_file(private.join(MARK)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        failpoint::reached("a mark is gone");
        fs::remove_dir_all(&private).map_err(failed)
    }

    /// The load has failed: the server ends, and the folder stays for `--resume`, unless it was not made yet.
    pub fn abandoned(self, e: Error) -> Error {
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
    if failure::says_full(said) {
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

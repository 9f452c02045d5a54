//! The life of a managed instance, from an empty directory to a data directory that is the user's.
//!
//! Invariant: the state file has a stage on the disk before the work of that stage begins, so a killed
//! load is resumed where it was.

use super::account;
use super::initialize::{self, HERE, hint_for};
use super::mysqld::Mysqld;
use super::program;
use super::state_file::{self, Stage};
use base::units::printable;
use base::{Error, Kind, Result, Secret, failpoint};
use run::state::{self, Failure, LockedFile, storage};
use run::{Run, connect};
use server::Flavour;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::Endpoint;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory.
    pub folder: PathBuf,
    /// The server's program; searched for if it is not given.
    pub program: Option<PathBuf>,
    /// Options of the server, each `name=value`.
    pub options: Vec<String>,
    /// Whether the program must be of the flavour of the dump: what is proven with another proves something else.
    pub same_flavour: bool,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The data directory.
    pub folder: PathBuf,
    /// The program that it was initialized with.
    pub program: PathBuf,
    /// Seconds for initializing it and starting the server for the first time; none if an earlier load
    /// had done that.
    pub made: Option<f64>,
    /// Whether the account root has a password.
    pub password: bool,
}

/// A server on a data directory that this load, or the one that it resumes, has initialized.
pub struct ManagedInstance {
    server: Mysqld,
    state: LockedFile,
    stage: Stage,
    made: Option<f64>,
    /// Whether this load created the directory.
    created: bool,
    password: Option<Secret>,
}

/// What will be loaded into it.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The flavour of the server that the dump is from, if the dump says.
    pub source: Option<Flavour>,
    /// Bytes of rows.
    pub bytes: u64,
    /// Whether most of them are imported as tablespaces.
    pub tablespaces: bool,
    /// Whether an interrupted load is resumed.
    pub resume: bool,
}

/// Claims the data directory, with what an interrupted load may have left in it;
/// [`ManagedInstance::start`] does the rest.
pub fn begin(
    run: &Run,
    options: &Options,
    password: Option<Secret>,
    purpose: Purpose,
) -> Result<ManagedInstance> {
    let datadir =
        std::path::absolute(&options.folder).map_err(|e| storage("use", &options.folder, &e))?;
    let flavour = purpose.source.map(|f| f == Flavour::MariaDb);
    let (program, mariadb) = program::find(options.program.as_deref(), flavour)?;
    if options.same_flavour && flavour.is_some_and(|wanted| wanted != mariadb) {
        let name = |mariadb| if mariadb { "MariaDB" } else { "MySQL" };
        let what = format!(
            "--mysqld {} is a server of {}, and the backup is of {}",
            program.display(),
            name(mariadb),
            name(!mariadb)
        );
        return Err(
            Error::new(Kind::Usage, printable(&what)).hint("name a program of that flavour")
        );
    }
    let mut server = Mysqld {
        datadir,
        program,
        mariadb,
        options: options.options.clone(),
        user: None,
        sizes: sizes(&purpose),
        tablespaces: purpose.tablespaces,
    };
    if !server.has_room_for_socket() || server.datadir.to_str().is_none() {
        let text = format!(
            "--datadir {}: the path of a socket in it is longer than the kernel accepts, or the path is not UTF-8",
            server.datadir.display()
        );
        return Err(Error::new(Kind::Usage, printable(&text))
            .hint("load into a directory with a short path, and move it after the load"));
    }
    // Before anything is created.
    program::initializer(&server, Path::new(HERE))?;
    run.check()?;
    let created = state_file::create_datadir(run, &server.datadir)?;
    server.user =
        account::of_server(&server.datadir).map_err(|e| storage("read", &server.datadir, &e))?;
    let (state, stage) = match state_file::resumed(run, &server, purpose.resume)? {
        Some(resumed) => resumed,
        None => (state_file::create(&server)?, Stage::Initializing),
    };
    Ok(ManagedInstance {
        server,
        state,
        stage,
        made: None,
        created,
        // An empty password is none.
        password: password.filter(|p| !p.is_empty()),
    })
}

/// Bytes of the buffer pool and of the redo log.
fn sizes(purpose: &Purpose) -> (u64, u64) {
    const MIB: u64 = 1 << 20;
    let bytes = purpose.bytes;
    if purpose.tablespaces {
        // Imported rows are read once. A pool with room for all of them would cost more than that: every
        // page of it is new to the process.
        return (256 * MIB, 128 * MIB);
    }
    let free = fs::read_to_string("/proc/meminfo").ok();
    let free = free.as_deref().and_then(run::memory::available);
    let most = free.unwrap_or(1 << 30) / 2;
    let pool = (bytes + bytes / 2).clamp(128 * MIB, most.max(128 * MIB));
    (pool, (bytes / 4).clamp(128 * MIB, 1024 * MIB))
}

impl ManagedInstance {
    /// Makes what is missing of the data directory, and starts the server on it. Before anything of a new
    /// one is moved to its place, `is_wanted` is asked whether to continue.
    pub fn start(mut self, run: &Run, is_wanted: impl FnOnce() -> bool) -> Result<ManagedInstance> {
        let start = Instant::now();
        let outcome = match self.stage {
            Stage::Loading => self.start_process(),
            _ => self.initialize(is_wanted).map(|waited| {
                let took = start.elapsed().saturating_sub(waited);
                self.made = Some(took.as_secs_f64());
            }),
        };
        match outcome
            .and_then(|()| self.check_login())
            .and_then(|()| run.check())
        {
            Ok(()) => {
                run.observer.note(printable(&format!(
                    "temporary server instance: {}",
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

    /// How to connect to it.
    pub fn wire(&self) -> wire::Options {
        let mut wire = wire::Options::new(Endpoint::Unix(self.server.socket()), "root");
        wire.password.clone_from(&self.password);
        wire
    }

    fn reached(&mut self, stage: Stage) -> Result<()> {
        self.stage = stage;
        state_file::write(&mut self.state, &self.server, stage)
    }

    /// Initializes the data directory, moves it to its place, and sets the password of root. Returns how
    /// long it waited for the answer.
    fn initialize(&mut self, is_wanted: impl FnOnce() -> bool) -> Result<Duration> {
        let mut waited = Duration::ZERO;
        if self.stage == Stage::Initializing {
            self.reached(Stage::Initializing)?;
            failpoint::reached("a data folder is marked");
            initialize::create_new(&self.server, &self.state)?;
            let asked_at = Instant::now();
            if !is_wanted() {
                return Err(Error::new(Kind::Failed, "the data directory is not needed"));
            }
            waited = asked_at.elapsed();
            self.reached(Stage::Moving)?;
        }
        initialize::move_to_place(&self.server)?;
        failpoint::reached("a data folder is initialised");
        self.start_process()?;
        if let Some(password) = self.password.take() {
            let outcome = initialize::set_root_password(&self.wire(), &password);
            self.password = Some(password);
            outcome?;
        }
        failpoint::reached("a server of the load's own is up");
        self.reached(Stage::Loading)?;
        Ok(waited)
    }

    fn start_process(&self) -> Result<()> {
        initialize::create_scratch(&self.server)?;
        self.server.start().map_err(|why| {
            let text = format!("the server does not start ({}): {why}", self.server);
            Error::new(Kind::Connection, printable(&text)).hint(hint_for(&why))
        })
    }

    /// An error if we cannot log in.
    fn check_login(&self) -> Result<()> {
        connect::untracked(&self.wire()).map(drop).map_err(|e| {
            e.hint("root has the password of the load that initialized the data directory, or none if that load had none")
        })
    }

    /// All is loaded: the server shuts down, and the data directory is the user's.
    pub fn finish(self, run: &Run) -> Result<Summary> {
        let _phase = run.phase("shutting the server down", 1);
        failpoint::reached("all is there on a server of the load's own");
        let done = Summary {
            folder: self.server.datadir.clone(),
            program: self.server.program.clone(),
            made: self.made,
            password: self.password.is_some(),
        };
        self.shut_down()?;
        Ok(done)
    }

    /// Shuts the server down, and removes everything that belongs to the load.
    fn shut_down(self) -> Result<()> {
        let failed = |why: String| {
            let text = format!("cannot shut the server down ({}): {why}", self.server);
            Error::new(Kind::Failed, printable(&text))
                .hint("all of the archive is loaded: shut the server down, or load again with --resume, which does")
        };
        self.server.stop().map_err(failed)?;
        self.remove_directory()
    }

    /// Never through a link: the data directory may belong to another account. The state file, from which
    /// a load would be resumed, is removed first; the completion record is removed with the rest.
    fn remove_directory(&self) -> Result<()> {
        let directory = self.server.state_directory();
        state::remove(&state_file::path(&self.server)).map_err(Failure::error)?;
        failpoint::reached("a mark is gone");
        fs::remove_dir_all(&directory).map_err(|e| storage("remove", &directory, &e))
    }

    /// The load has failed: the server shuts down, and the data directory stays for `--resume`, unless it
    /// was not initialized yet.
    pub fn abandoned(self, e: Error) -> Error {
        if let Err(why) = self.server.stop() {
            let hint = format!(
                "the temporary server instance may still run: {} ({why})",
                self.server
            );
            return with_hint(e, &printable(&hint));
        }
        if self.stage == Stage::Initializing && self.remove_directory().is_ok() {
            if self.created {
                let _ = fs::remove_dir(&self.server.datadir);
            }
            return e;
        }
        let hint = format!(
            "the temporary server instance is shut down; {} has a part of the archive, or nothing yet: --resume continues from there; to start again, remove the directory",
            self.server.datadir.display()
        );
        // The error's own hint is for a server that runs.
        Error {
            hint: Some(printable(&hint)),
            ..e
        }
    }
}

fn with_hint(e: Error, more: &str) -> Error {
    let hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default() + more;
    Error {
        hint: Some(hint),
        ..e
    }
}

//! Loads an archive into a server, and proves that it arrived whole.
//!
//! `archived` loads an archive, `foreign` what another tool wrote; either may go into
//! a server that is made for it. Steps, each a file: `precheck` (is the archive whole, is the target fit),
//! `script` (which statements may run), `prepare` (schemas and tables), `road`
//! (tables that come as files), `rows` by `schedule` (all others), `objects`
//! (what comes behind the rows); `journal` says on the target what is there, so
//! that a load that was interrupted can go on, `ending` that nothing was left to
//! do, where it was killed while its journal went.
//! Invariant: until all prechecks have passed, nothing on the target is
//! touched; nothing on it is ever dropped or replaced that this load did not
//! create.

mod completion;
mod from_archive;
mod journal;
mod other_dumps;
mod script;
mod sql;
pub mod tablespace;
mod target;

pub use from_archive::{LoadPlan, SchemaSelection, precheck};
pub use sql::{bulk_insert, schedule};

use base::{Error, Kind, Result, failpoint};
use from_archive::{prepare, raw_bytes};
use instance::managed;
use instance::tune;
use instance::tune::ServerCommand;
use run::Run;
use run::bottleneck;
use server::{Filter, Flavour};
use sql::chunk_stream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tablespace::{ImportMode, MethodPlan};
use target::{Target, refused};
use verify::Comparison;

/// What to load, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive's folder.
    pub from: PathBuf,
    /// The target.
    pub target: wire::Options,
    /// Connections that load rows.
    pub threads: usize,
    /// Compare the target's rows with the archive at the end.
    pub verify: bool,
    /// Load into the server that the archive came from.
    pub allow_same_server: bool,
    /// Keep the load out of the binary log.
    pub skip_binlog: bool,
    /// Go on with a load of the same archive that was interrupted.
    pub resume: bool,
    /// The schema for names without one, in dumps of other tools.
    pub schema: Option<String>,
    /// Leave out statements that no dump needs, instead of refusing the dump.
    pub skip_unsupported: bool,
    /// Which secondary keys are added behind the rows.
    pub defer_indexes: DeferIndexes,
    /// How rows get into tables.
    pub import_mode: ImportMode,
    /// Memory for sorting the keys of tables that come as files, in bytes.
    pub sort_memory: usize,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
    /// How far the server may be tuned, and where that is journalled.
    pub tune: tune::Options,
    /// Where it is noted that the load has come to its end; made if it is not there.
    pub state: Option<PathBuf>,
    /// Stops and starts the server, for [`Road::Cold`].
    pub server_command: Option<ServerCommand>,
    /// A server of the load's own instead of the target.
    pub managed: Option<managed::Options>,
}

impl Options {
    /// Whether the server is stopped for tables that come as files.
    fn is_offline(&self) -> bool {
        self.import_mode.stops(self.server_command.as_ref())
    }
}

/// Which tables get their secondary keys behind their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferIndexes {
    /// Those that are big enough for it to be quicker.
    Auto,
    /// Every one.
    All,
    /// None.
    Off,
}

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The archive, in words.
    pub archive: String,
    /// The target, in words.
    pub target: String,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows that this run loaded.
    pub raw_bytes: u64,
    /// Bytes of rows that an interrupted load had brought there before.
    pub already_loaded_bytes: u64,
    /// The whole run, in seconds.
    pub seconds: f64,
    /// Loading rows, in seconds.
    pub rows_seconds: f64,
    /// Connections that loaded.
    pub threads: usize,
    /// The comparison at the end, unless it was not wanted.
    pub verified: Option<Comparison>,
    /// What held the rows back, if they took long enough to tell.
    pub bottleneck: Option<bottleneck::Report>,
    /// What came by which road.
    pub import: tablespace::ImportSummary,
    /// Sizes that were found by trying, of tables that were big enough for it.
    pub batch_sizes: Vec<BatchSize>,
    /// Whether there is anything to compare with: what other tools write has no digests.
    pub digests: bool,
    /// Changes that the target's version made necessary.
    pub notes: Vec<String>,
    /// What could not be carried over, by name.
    pub exceptions: Vec<String>,
    /// Statements of a script that were left out, each; `exceptions` has them in groups.
    pub skipped_statements: Vec<String>,
    /// What was done to the server to make it fast, and undone.
    pub tuning: tune::Report,
    /// The data folder that was made for it.
    pub managed: Option<managed::Summary>,
    /// Whether there was nothing left to do: the load that was to be gone on with had come to its end.
    pub already_complete: bool,
    /// The note of its end, for [`Summary::told`].
    pub completion: Option<PathBuf>,
}

impl Summary {
    /// Whoever waits for the load's end has been told of it: `--resume` is not going to be asked for it.
    pub fn acknowledged(&self) {
        if let Some(path) = &self.completion {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// How many chunks of a table went best together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Quoted, qualified.
    pub table: String,
    /// Chunks in one statement and transaction.
    pub chunks: usize,
    /// How much faster that was than one by one, in per cent.
    pub gain: u64,
    /// Each number that was tried, with its bytes a second.
    pub tried: Vec<(usize, u64)>,
}

/// Loads an archive, or what another tool wrote.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let done = if other_dumps::is_archive(&options.from)? {
        from_archive::run(run, options)
    } else {
        other_dumps::run(run, options)
    };
    failpoint::reached("the load is over");
    done
}

/// Has a load go into a server of its own, if that is wanted; `bytes` of rows, dumped from `source`. While that
/// is made, `meanwhile` is done; if that fails, and nothing has its place yet, nothing is left.
fn with_managed_instance(
    run: &Run,
    options: &Options,
    bytes: u64,
    source: Option<Flavour>,
    meanwhile: impl FnOnce() -> Result<()>,
    load: impl FnOnce(&Options) -> Result<Summary>,
) -> Result<Summary> {
    let Some(wanted) = &options.managed else {
        return load(options);
    };
    let password = options.target.password.clone();
    let what = managed::Purpose {
        source,
        bytes,
        tablespaces: source.is_some() && options.import_mode != ImportMode::Sql,
        resume: options.resume,
    };
    let _held = run
        .cancel
        .delay_exit("the server of the load's own is shut down first");
    let own = managed::begin(run, wanted, password, what)?;
    let (own, done) = std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        // Nobody need wait for the rest of what is done meanwhile, if it fails.
        let up = move || {
            let goes_on = || told.recv().unwrap_or(false);
            own.start(run, goes_on)
                .inspect_err(|e| run.abort(e.clone()))
        };
        let making = std::thread::Builder::new().spawn_scoped(scope, up);
        let making = making.map_err(|e| {
            let what = format!("cannot start a thread: {e}");
            Error::new(Kind::Failed, what).hint("go on with --resume")
        })?;
        let done = meanwhile();
        // It may not wait for that any more.
        let _ = tell.send(done.is_ok());
        let _phase = (!making.is_finished()).then(|| run.phase("making the data folder", 1));
        let own = making.join();
        Ok((own.unwrap_or_else(|p| std::panic::resume_unwind(p)), done))
    })?;
    let own = match (own, done) {
        (Ok(own), Ok(())) => own,
        (Ok(own), Err(e)) => return Err(own.abandoned(e)),
        // Of two the second is the first once more.
        (Err(_), Err(e)) | (Err(e), Ok(())) => return Err(e),
    };
    let mut here = Options {
        target: own.wire(),
        server_command: Some(ServerCommand::Managed(own.mysqld().clone())),
        ..options.clone()
    };
    // What is noted of it is where it is, and goes with it.
    here.tune.state = Some(own.mysqld().state_directory());
    here.state.clone_from(&here.tune.state);
    match load(&here) {
        Ok(mut done) => {
            done.managed = Some(own.finish(run)?);
            Ok(done)
        }
        Err(e) => Err(own.abandoned(e)),
    }
}

/// Said of a load that left nothing to do.
const ENDED: &str = "the interrupted load had come to its end";

/// What is loaded from, for people.
fn named(from: &Path) -> String {
    if from.as_os_str() == "-" {
        return "standard input".to_owned();
    }
    let path = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    path.display().to_string()
}

//! Takes a consistent dump of a live server into a new archive.
//!
//! Steps, each a file: `snapshot` (one moment for all), `definitions` (DDL and
//! metadata), `plan` (tasks), `read` (rows into chunks), `unchanged` (tables
//! are what they were), `finish` (the manifest, last). Invariant: an archive without its manifest, or with the
//! marker of a running dump, is never taken for whole.

pub mod definitions;
mod finish;
pub mod plan;
pub mod read;
pub mod snapshot;
mod table_versions;
pub mod tables;

pub use archive::chunk::Compression;

use base::{Error, Kind, Result};
use run::Run;
use run::bottleneck;
use run::connect;
use run::failure;
use run::throttle;
use server::privileges::{DumpNeeds, LockPlan};
use server::session;
use server::{Catalog, Filter, Identity, Privileges};
use snapshot::Achieved;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::Store;
use tables::TableState;
use throttle::Throttle;
use wire::Conn;

/// How much consistency is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// One moment for all workers.
    Lock,
    /// None; for accounts that may not lock.
    None,
}

/// What to dump, and how.
#[derive(Debug)]
pub struct Options {
    /// The server.
    pub source: wire::Options,
    /// The folder to write.
    pub to: PathBuf,
    /// Connections that read rows.
    pub threads: usize,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Row bytes that a chunk aims at.
    pub chunk_bytes: u64,
    /// How much consistency.
    pub consistency: Consistency,
    /// Longest wait for locks.
    pub lock_wait: Duration,
    /// Procedures and functions too.
    pub routines: bool,
    /// Events too.
    pub events: bool,
    /// Triggers too.
    pub triggers: bool,
    /// Which schemas and tables.
    pub filter: Filter,
    /// What it may cost the server's other users.
    pub throttle: throttle::Options,
}

/// What was dumped.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The archive's folder, absolute.
    pub path: PathBuf,
    /// What was dumped from.
    pub source: String,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Bytes of chunks as stored.
    pub stored_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// The whole run, in seconds.
    pub seconds: f64,
    /// Reading and writing rows, in seconds.
    pub rows_seconds: f64,
    /// What held the rows back, if they took long enough to tell.
    pub bottleneck: Option<bottleneck::Report>,
    /// What it cost the server's other users, and what was done about it, if that was asked for.
    pub impact: Option<throttle::Report>,
    /// The moment and the lock.
    pub achieved: Achieved,
    /// What falls short of one consistent moment, by name.
    pub exceptions: Vec<String>,
    /// Connections that read.
    pub threads: usize,
    /// How chunks were compressed.
    pub compression: Compression,
}

/// The server, while it is being dumped.
struct Source {
    id: Identity,
    /// Holds definitions still and reads them.
    control: Conn,
    /// Plans.
    planner: Conn,
    /// Read rows, each inside the snapshot.
    readers: Vec<Conn>,
}

/// How the tool names itself in what it writes.
fn tool() -> String {
    format!("{}{}", archive::meta::DUMPER, env!("CARGO_PKG_VERSION"))
}

/// Dumps.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let begin = jiff::Timestamp::now();
    // Before anything is asked of the server; the store looks again when it takes the folder.
    if std::fs::read_dir(&options.to).is_ok_and(|mut d| d.next().is_some()) {
        return Err(not_empty(&options.to));
    }
    let (control, id) = connect::open(run, &options.source)?;
    run.observer
        .note(format!("source: {id} at {}", options.source.endpoint));
    let planner = connect::connection(run, &options.source)?;
    let mut source = Source {
        id,
        control,
        planner,
        readers: Vec::new(),
    };
    connect::prepared(session::for_catalog(&mut source.control, &source.id))?;
    connect::prepared(session::for_rows(&mut source.planner, &source.id))?;
    let account = Privileges::read(&mut source.control, &source.id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    privileges(&account, &source.id, options, &Catalog::default())?;
    if options.consistency == Consistency::Lock
        && !account.has("PROCESS")
        && !source.id.mariadb_at_least(10, 4, 1)
    {
        run.observer.warn(
            "without the PROCESS privilege other accounts' long statements cannot be seen before the read lock is asked for".into(),
        );
    }
    let phase = run.phase("reading the catalog", 1);
    let catalog = catalog(&mut source, options)?;
    drop(phase);
    privileges(&account, &source.id, options, &catalog)?;
    for _ in 0..options.threads {
        let mut conn = connect::connection(run, &options.source)?;
        connect::prepared(session::for_rows(&mut conn, &source.id))?;
        source.readers.push(conn);
    }
    // Where definitions cannot be held still, what identifies each table is noted first.
    let marks = if snapshot::can_lock_definitions(&source.id, options) {
        None
    } else {
        Some(table_versions::read_versions(
            &mut source.control,
            &catalog,
        )?)
    };
    // The last step with nothing locked and nothing written: what may take long waits here.
    let throttle = Throttle::begin(
        run,
        &options.throttle,
        &options.source,
        &source.id,
        options.threads,
    )?;
    let directory = store::Directory::create(&options.to)
        .map_err(|e| folder(&options.to, &e))?
        .through(&run.disk_limiter);
    let outcome = match archive::marker::set(&directory, env!("CARGO_PKG_VERSION")) {
        // Not ours, so nothing there is ours to remove.
        Err(archive::ArchiveError::Store(e)) if e.busy() => return Err(busy(&options.to)),
        Err(e) => Err(failure::archive("cannot begin the archive", &e)),
        Ok(()) => into(
            run,
            options,
            &mut source,
            &catalog,
            marks.as_deref(),
            &directory,
            throttle.as_ref(),
            begin,
        ),
    };
    match outcome {
        Ok(mut summary) => {
            summary.seconds = start.elapsed().as_secs_f64();
            summary.impact = throttle.map(Throttle::finish);
            Ok(summary)
        }
        Err(e) => {
            clear(&directory);
            Err(e)
        }
    }
}

/// The part of a dump that writes into its folder.
#[allow(
    clippy::too_many_arguments,
    reason = "each is a part of the run, none belongs to another"
)]
fn into(
    run: &Run,
    options: &Options,
    source: &mut Source,
    catalog: &Catalog,
    marks: Option<&[table_versions::TableVersion]>,
    store: &dyn Store,
    throttle: Option<&Throttle>,
    begin: jiff::Timestamp,
) -> Result<Summary> {
    // The read lock is taken by the planner's connection; the control connection
    // holds definitions still, and must not let go when the read lock ends.
    let Source {
        id,
        control,
        planner,
        readers,
    } = source;
    let phase = run.phase("taking the snapshot", 1);
    let achieved = snapshot::take(run, planner, control, readers, options, id)?;
    drop(phase);
    // Held still from here on: what the catalog said before the lock may have changed since.
    let fresh;
    let catalog = if snapshot::can_lock_definitions(id, options) {
        fresh = Catalog::read(control, id, &options.filter)
            .map_err(|e| failure::server("cannot read the catalog", e))?;
        &fresh
    } else {
        catalog
    };
    let mut exceptions = Vec::new();
    if options.consistency == Consistency::None {
        exceptions.push(
            "no snapshot was asked for (--consistency none): tables may be of different moments"
                .to_owned(),
        );
    }
    let written = definitions::write(run, control, id, catalog, store, options)?;
    exceptions.extend(written.exceptions.iter().cloned());
    let moved = rows(
        run,
        planner,
        readers,
        id,
        &written.tables,
        store,
        options,
        throttle,
    )?;
    let (rows_seconds, tables, held) = moved;
    if let Some(before) = marks {
        table_versions::compare(
            catalog,
            before,
            &table_versions::read_versions(control, catalog)?,
        )?;
    }
    for t in tables.iter().filter(|t| !t.table.transactional) {
        exceptions.push(format!(
            "table {} uses {}, which has no snapshots: its rows are of the moment they were read",
            t.plan.name, t.table.engine
        ));
    }
    let phase = run.phase("finishing the archive", 1);
    let facts = finish::Facts {
        id,
        catalog,
        tables: &tables,
        achieved: &achieved,
        exceptions: &exceptions,
        begin,
    };
    let finished = finish::finish(run, store, options, &facts)?;
    drop(phase);
    Ok(Summary {
        path: std::path::absolute(&options.to).unwrap_or_else(|_| options.to.clone()),
        source: format!("{id} at {}", options.source.endpoint),
        schemas: catalog.schemas.len() as u64,
        tables: tables.len() as u64,
        views: written.views,
        rows: finished.rows,
        raw_bytes: finished.raw_bytes,
        stored_bytes: finished.stored_bytes,
        chunks: finished.chunks,
        seconds: 0.0,
        rows_seconds,
        bottleneck: held,
        impact: None,
        achieved,
        exceptions,
        threads: options.threads,
        compression: options.compression,
    })
}

/// Takes back what a failed dump has written. The folder was empty, so all of
/// it is ours; the marker goes last, so that what a second failure leaves
/// behind is still marked.
fn clear(store: &dyn Store) {
    let Ok(entries) = store.list() else { return };
    for e in entries
        .iter()
        .filter(|e| e.name != archive::marker::INCOMPLETE)
    {
        let _ = store.remove(&e.name);
    }
    let _ = store.remove(archive::marker::INCOMPLETE);
}

/// A folder that cannot be written to, or already holds something.
fn folder(path: &std::path::Path, e: &store::Error) -> Error {
    if e.source.kind() == std::io::ErrorKind::DirectoryNotEmpty {
        return not_empty(path);
    }
    if e.source.kind() == std::io::ErrorKind::WouldBlock {
        return busy(path);
    }
    failure::store("no folder for the dump", e)
}

/// Two dumps began at the same moment; the other one was first.
fn busy(path: &std::path::Path) -> Error {
    let shown = base::units::printable(&path.display().to_string());
    Error::new(
        Kind::Target,
        format!("another dump is writing into {shown} at this moment"),
    )
    .hint("choose another folder; one folder takes one dump, and the other dump is not disturbed")
}

fn not_empty(path: &std::path::Path) -> Error {
    let shown = base::units::printable(&path.display().to_string());
    let marker = store::Directory::open(path)
        .ok()
        .and_then(|d| archive::marker::get(&d).ok().flatten());
    match marker {
        Some(m) => Error::new(
            Kind::Target,
            format!(
                "{shown} holds a dump that began at {} (process {}) and has not finished",
                base::units::printable(&m.started),
                m.pid
            ),
        )
        .hint("if that process is gone, nothing in the folder is of use: remove it, or choose another"),
        None => Error::new(Kind::Target, format!("{shown} is not empty")).hint(
            "a dump goes into a folder of its own, new or empty; an earlier dump is never overwritten",
        ),
    }
}

/// Refuses before anything is written or locked, naming every grant that is missing.
fn privileges(
    held: &Privileges,
    id: &Identity,
    options: &Options,
    catalog: &Catalog,
) -> Result<()> {
    let lock = options.consistency == Consistency::Lock;
    let mut needs = DumpNeeds {
        lock: if lock {
            LockPlan::Global
        } else {
            LockPlan::None
        },
        backup_lock: lock,
        position: lock,
        views: catalog.schemas.iter().any(|s| !s.views.is_empty()),
        triggers: options.triggers,
        routines: options.routines,
        events: options.events,
        ..DumpNeeds::default()
    };
    for schema in &catalog.schemas {
        if schema.whole {
            needs.schemas.push(schema.name.clone());
        } else {
            needs.tables.extend(
                schema
                    .tables
                    .iter()
                    .map(|t| (t.schema.clone(), t.name.clone())),
            );
        }
    }
    let missing = held.missing_for_dump(id, &needs);
    if missing.is_empty() {
        return Ok(());
    }
    let mut hint = missing.join(";\n") + ";";
    if lock && catalog.is_empty() {
        hint += "\nor, without the lock and its promise: --consistency none";
    }
    Err(Error::new(
        Kind::Privilege,
        format!("account {} may not do what this dump needs", held.account),
    )
    .hint(hint))
}

fn catalog(source: &mut Source, options: &Options) -> Result<Catalog> {
    let catalog = Catalog::read(&mut source.control, &source.id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    rows::selection::check_matched(&options.filter)?;
    if catalog.schemas.is_empty() {
        return Err(Error::new(Kind::Usage, "there is nothing to dump: no schema is left after the selection")
            .hint("the account may see no schema, or the selection leaves none; SHOW DATABASES tells which it sees"));
    }
    Ok(catalog)
}

/// Reads all rows; returns the seconds it took, the tables, largest first, and what held it back.
#[allow(
    clippy::too_many_arguments,
    reason = "each is a part of the run, none belongs to another"
)]
fn rows(
    run: &Run,
    planner: &mut Conn,
    readers: &mut [Conn],
    id: &Identity,
    tables: &[Arc<TableState>],
    store: &dyn Store,
    options: &Options,
    throttle: Option<&Throttle>,
) -> Result<(f64, Vec<Arc<TableState>>, Option<bottleneck::Report>)> {
    let phase = run.phase("dumping rows", readers.len());
    if let Some(throttle) = throttle {
        throttle.rows_started(&phase.counters);
    }
    let mut tables = tables.to_vec();
    tables.sort_by_key(|t| std::cmp::Reverse(t.table.data_bytes));
    phase
        .counters
        .rows_expected
        .set(tables.iter().map(|t| t.table.rows_estimate).sum());
    phase
        .counters
        .bytes_expected
        .set(tables.iter().map(|t| t.table.data_bytes).sum());
    let (send, receive) = crossbeam_channel::bounded(256);
    let job = bottleneck::Job::Dump {
        level: match options.compression {
            Compression::Zstd(level) => Some(level),
            _ => None,
        },
    };
    let counted = run.with_limiter(&options.source, wire::Direction::Received);
    let watch = bottleneck::Profiler::start(job, &counted, id, readers.len(), &run.observer)
        .with_disk_limiter(&run.disk_limiter);
    // Only now: what came before the release of the read lock must not wait.
    for conn in readers.iter_mut() {
        conn.set_limited(true);
    }
    let shared = read::Readers {
        profiler: &watch,
        store,
        compression: options.compression,
        max_chunk_bytes: options.chunk_bytes.saturating_mul(2),
        counters: &phase.counters,
        observer: &*run.observer,
    };
    enum Role<'c> {
        Plan(&'c mut Conn, crossbeam_channel::Sender<plan::Task>),
        Read(&'c mut Conn, crossbeam_channel::Receiver<plan::Task>),
    }
    let mut roles = vec![Role::Plan(planner, send)];
    let count = readers.len();
    roles.extend(readers.iter_mut().map(|c| Role::Read(c, receive.clone())));
    drop(receive);
    let reading = AtomicUsize::new(count);
    let (planned, shared, reading) = (&tables, &shared, &reading);
    run.workers(roles, |_, role, stop| match role {
        Role::Plan(conn, send) => {
            let bytes = options.chunk_bytes;
            plan::plan(conn, id, planned, bytes, &send, &phase.counters, run, stop)?;
            drop(send);
            // The planner has nothing left to do: it makes finished chunks durable while
            // others are still read, so that little is left to wait for at the end.
            // Rarely: a sync costs the writers something too.
            let (mut synced, mut looked) = (0, 0u32);
            while reading.load(Ordering::Acquire) > 0 && !stop.is_requested() {
                std::thread::sleep(Duration::from_millis(20));
                looked += 1;
                let stored = phase.counters.stored.get();
                if looked.is_multiple_of(16) && stored > synced {
                    synced = stored;
                    store
                        .sync()
                        .map_err(|e| failure::store("cannot write the archive", &e))?;
                }
            }
            Ok(())
        }
        Role::Read(conn, receive) => {
            let outcome = shared.work(conn, &receive, stop);
            reading.fetch_sub(1, Ordering::Release);
            outcome
        }
    })?;
    let seconds = phase.seconds();
    Ok((seconds, tables, watch.finish()))
}

//! Takes a consistent dump of a live server into a new archive.
//!
//! Steps, each a file: `snapshot` (one consistent snapshot for all workers), `definitions` (DDL and metadata),
//! `rows_phase` with `plan` (tasks) and `read` (rows into chunks), `table_versions` (tables did not change),
//! `finish` (the manifest, last). `unchanged` says what of an earlier dump is still so, and need not be
//! read; `progress` is what an unfinished dump leaves for the next run. `from_files` has them done on a data directory that no server uses,
//! `from_replica` on a replica whose applier is stopped meanwhile.
//!
//! Invariant: an archive without its manifest, or with the marker of a running dump, is never taken for complete.

mod accounts;
mod amounts;
mod choices;
pub mod complete;
mod definitions;
mod finish;
pub mod from_files;
pub mod from_replica;
mod open_changes;
mod options;
mod plan;
mod postponed;
mod preview;
mod progress;
mod read;
mod rows_phase;
pub mod snapshot;
mod summary;
mod table_versions;
mod tables;
mod unchanged;
mod unreadable;
mod visible;

pub use archive::chunk::Compression;
pub use options::{Accounts, Consistency, Options, SnapshotOf, SourceFiles};
pub use preview::{Preview, preview};
pub use rows::choices::Choices;
pub use summary::{Chosen, FilesRead, Summary};
pub use unchanged::{Base, EarlierRows, Held, TakenOver};

use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use progress::left::Heartbeat;
use progress::{kept, left};
use rows::accounts::Choice;
use rows::new_archive;
use rows_phase::RowsPhase;
use run::Run;
use run::connect;
use run::failure;
use run::places;
use run::throttle::Throttle;
use server::session;
use server::{Catalog, Identity, Privileges};
use snapshot::Way;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::{Location, Store};
use unchanged::{Now, Unchanged};
use wire::Conn;

/// The exception of a dump without a snapshot.
const NO_SNAPSHOT: &str =
    "no snapshot was requested (--consistency none): tables may be of different points in time";

/// The server, while it is being dumped.
struct Source {
    id: Identity,
    /// Locks definitions and reads them.
    control: Conn,
    /// Plans ranges; takes the read lock.
    planner: Conn,
    /// Read rows, each inside the snapshot.
    readers: Vec<Conn>,
}

/// The name of the tool in the files that it writes.
fn tool() -> String {
    format!("{}{}", archive::meta::DUMPER, env!("CARGO_PKG_VERSION"))
}

/// Runs a dump.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let begin = jiff::Timestamp::now();
    // Before the server is contacted.
    let left = match options.resume {
        true => left::find(run, &options.to)?,
        false => None,
    };
    if left.is_none() {
        new_archive::check(&options.to)?;
    }
    // A place of another host is reached before the source is disturbed; a directory is made when it is needed.
    let create = || {
        let created = options.to.create(Some(&run.disk_limiter));
        created.map_err(|e| new_archive::create_error(&options.to, &e))
    };
    let reached = match *options.to {
        _ if left.is_some() => None,
        Location::Stream | Location::Directory(_) | Location::Memory(_) => None,
        Location::Ssh(_) | Location::Object(_) => Some(create()?),
    };
    let LookedAt {
        mut source,
        catalog,
        ways,
        for_the_lock: _,
        not_seen,
        sees_programs,
        accounts: with_accounts,
    } = look_at(run, options)?;
    failpoint::reached("the catalog is read");
    about_loads(run, &catalog);
    for _ in 0..options.threads {
        let mut conn = connect::connection(run, &options.source)?;
        connect::prepared(session::for_rows(&mut conn, &source.id))?;
        source.readers.push(conn);
    }
    // The last step with nothing locked and nothing written: long waits belong here.
    let throttle = Throttle::begin(
        run,
        &options.throttle,
        &options.source,
        &source.id,
        options.threads,
    )?;
    let unfinished = left.as_ref().and_then(|left| left.base.as_ref());
    if let Some(base) = unfinished
        && let Some(uuid) = &source.id.uuid
        && !base.manifest.source.uuid.is_empty()
        && base.manifest.source.uuid != *uuid
    {
        let what = format!("{} holds an unfinished dump of another server", options.to);
        return Err(Error::new(Kind::Target, what)
            .hint("name another directory, or remove this one if it is not needed"));
    }
    let unchanged = match unfinished.or(options.base.as_ref()) {
        None => None,
        Some(base) => {
            let (conn, id) = (&mut source.control, &source.id);
            Some(Unchanged::begin(run, &options.source, conn, id, base)?)
        }
    };
    let store = match &left {
        Some(left) => Arc::clone(&left.store),
        None => reached.map_or_else(create, Ok)?,
    };
    let marked = match &left {
        Some(_) => Ok(()),
        None => archive::marker::set(&*store, env!("CARGO_PKG_VERSION")),
    };
    // Whoever comes later knows by it that this dump is not gone.
    let started = begin.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let started = left.as_ref().map_or(started, |left| left.started.clone());
    let heartbeat = marked
        .is_ok()
        .then(|| Heartbeat::begin(&store, &options.to, &started));
    let outcome = match marked {
        // Another dump owns the directory, so nothing in it may be removed.
        Err(archive::ArchiveError::Store(e)) if e.busy() => {
            return Err(new_archive::busy(&options.to));
        }
        Err(e) => Err(failure::archive("cannot start the archive", &e)),
        Ok(()) => Dump {
            run,
            options,
            catalog: &catalog,
            ways: &ways,
            accounts: with_accounts,
            before: None,
            unchanged,
            left: left.as_ref().map(|left| left.generation),
            heartbeat,
            sees_programs,
            store: &*store,
            throttle: throttle.as_ref(),
            begin,
        }
        .write(source),
    };
    match outcome {
        Ok(mut summary) => {
            summary.seconds = start.elapsed().as_secs_f64();
            summary.impact = throttle.map(Throttle::finish);
            summary.not_seen = not_seen;
            Ok(summary)
        }
        Err(e) => {
            let keeps = options.resume && progress::is_there(&*store);
            if keeps {
                run.observer.warn(format!(
                    "what is finished is kept in {}: the same command continues it",
                    options.to
                ));
            }
            // What was there before this run may hold files of others.
            if !keeps && left.is_none() {
                new_archive::clear(&*store);
            }
            if run.cancel.is_raised() {
                return Err(run.interrupted());
            }
            Err(new_archive::write_error(&options.to, e))
        }
    }
}

/// Refuses a place in the data directory of a server: what lies there is a schema, or part of one.
pub fn not_within(place: &Location, id: &Identity) -> Result<()> {
    let Some(path) = place.path() else {
        return Ok(());
    };
    let datadir = Path::new(&id.datadir);
    if id.datadir.is_empty() || !places::resolved(path).starts_with(places::resolved(datadir)) {
        return Ok(());
    }
    Err(places::in_a_data_directory(place, datadir))
}

/// A server that was looked at: nothing is locked, and nothing is written.
struct LookedAt<'a> {
    source: Source,
    catalog: Catalog,
    /// How one snapshot is had, the best way first.
    ways: Vec<Way>,
    /// What the best of all ways would take, where the account lacks it.
    for_the_lock: Vec<String>,
    /// What may be missing, because the account does not see it.
    not_seen: Vec<String>,
    /// Whether the account sees every view, routine and trigger of the server.
    sees_programs: bool,
    /// Which accounts are dumped.
    accounts: Option<&'a Choice>,
}

/// Looks at the source: whether the account may dump it, and what there is.
fn look_at<'a>(run: &Run, options: &'a Options) -> Result<LookedAt<'a>> {
    let (control, mut id) = connect::open(run, &options.source)?;
    if let Some(files) = &options.files {
        // Of what is dumped, not of the server that reads it.
        id.datadir = files.datadir.display().to_string();
    }
    not_within(&options.to, &id)?;
    let source_name = options.source_name(&id);
    run.observer.note(format!("source: {source_name}"));
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
    let fit = snapshot::ways(&account, &source.id, options, &Catalog::default());
    if let Err(lacking) = fit {
        // What is lacking for the schemas is named too, as far as they can be seen.
        let seen = catalog(&mut source, options);
        let all = seen.and_then(|c| snapshot::ways(&account, &source.id, options, &c));
        return Err(all
            .err()
            .filter(|e| e.kind == Kind::Privilege)
            .unwrap_or(lacking));
    }
    let phase = run.phase("reading the catalog", 1);
    let catalog = catalog(&mut source, options)?;
    drop(phase);
    choices::check(&mut source.planner, &source.id, &catalog, options)?;
    let ways = snapshot::ways(&account, &source.id, options, &catalog)?;
    let for_the_lock = match options.consistency {
        Consistency::Auto => snapshot::for_the_lock(&account, &source.id, options),
        _ => Vec::new(),
    };
    about_the_ways(run, &account, &source.id, &ways, &for_the_lock);
    let mut not_seen =
        visible::not_seen(&mut source.control, &source.id, &account, options, &catalog)?;
    let (with_accounts, unread) = accounts::wanted(&account, options)?;
    not_seen.extend(unread);
    let sees_programs =
        account.has("SELECT") && account.has("TRIGGER") && account.sees_every_schema();
    Ok(LookedAt {
        sees_programs,
        source,
        catalog,
        ways,
        for_the_lock,
        not_seen,
        accounts: with_accounts,
    })
}

/// Warns of tables that were being loaded, and are not complete.
fn about_loads(run: &Run, catalog: &Catalog) {
    for table in catalog.tables().filter(|t| t.name == archive::LOAD_JOURNAL) {
        run.observer.warn(printable(&format!(
            "{} is the journal of a load that has not ended: what it loads is dumped as far as it has come. penstock load --resume finishes it; if it is not wanted, drop the table",
            table.qualified()
        )));
    }
}

/// Says what the operator may want to change about the account.
fn about_the_ways(
    run: &Run,
    account: &Privileges,
    id: &Identity,
    ways: &[Way],
    lacking: &[String],
) {
    let first = ways.first();
    let by_flush = matches!(first, Some(Way::Lock { .. })) && !id.mariadb_at_least(10, 4, 1);
    if by_flush && !account.has("PROCESS") {
        run.observer.warn(
            "without the PROCESS privilege other accounts' long statements cannot be seen before the read lock is requested".into(),
        );
    }
    if lacking.is_empty() {
        return;
    }
    let grants = lacking.join("; ");
    let what = match first {
        Some(Way::Lock { .. }) => {
            "definitions are not locked while the dump runs, and a change of one fails it"
                .to_owned()
        }
        Some(way) => format!("without the global read lock: {}", way.words(id)),
        None => return,
    };
    run.observer
        .note(format!("{what} (with the lock: {grants})"));
}

/// What the part of a dump that writes into its directory needs, besides its connections.
struct Dump<'a> {
    run: &'a Run,
    options: &'a Options,
    /// Read before the snapshot.
    catalog: &'a Catalog,
    /// How one snapshot is had, the best way first.
    ways: &'a [Way],
    /// Which accounts are dumped.
    accounts: Option<&'a Choice>,
    /// What there was immediately before the snapshot, where definitions are not locked.
    before: Option<table_versions::Before>,
    /// What the binary log says of the time since an earlier dump.
    unchanged: Option<Unchanged<'a>>,
    /// How many runs have written what there is, if it goes on with that.
    left: Option<u32>,
    heartbeat: Option<Heartbeat>,
    sees_programs: bool,
    store: &'a dyn Store,
    throttle: Option<&'a Throttle>,
    begin: jiff::Timestamp,
}

impl Dump<'_> {
    /// Takes the snapshot and writes everything; the caller removes the files if it fails.
    fn write(mut self, source: Source) -> Result<Summary> {
        let (run, options, store) = (self.run, self.options, self.store);
        // The read lock is taken by the planner's connection; the control connection locks definitions, and must keep
        // that lock when the read lock is released.
        let Source {
            ref id,
            mut control,
            mut planner,
            mut readers,
        } = source;
        let (control, planner) = (&mut control, &mut planner);
        let phase = run.phase("taking the snapshot", 1);
        let mut connections = snapshot::Connections {
            control,
            planner,
            readers: &mut readers,
        };
        let before = &mut self.before;
        let mut unlocked = |conn: &mut Conn| {
            let catalog = read_catalog(conn, id, options)?;
            *before = Some(table_versions::Before::look(conn, id, catalog)?);
            Ok(())
        };
        let achieved = snapshot::take(
            run,
            &mut connections,
            self.ways,
            options,
            id,
            self.catalog,
            &mut unlocked,
        )?;
        drop(phase);
        failpoint::reached("the snapshot is taken");
        // Definitions may have changed since the catalog was read. From here on they are locked, or compared at the end.
        let (mut exceptions, mut without_rows) = (Vec::new(), Vec::new());
        let mut catalog = read_catalog(control, id, options)?;
        if achieved.definitions_locked {
            self.before = None;
        } else if let Some(before) = &self.before {
            let known = before.known(catalog);
            // A copy begins again: nothing of it is on the target yet.
            if let (Some(_), Some(gone)) = (&options.feed, known.gone.first()) {
                let what = format!("table {gone}");
                let gone = server::Error::Gone { what };
                return Err(failure::server("cannot read the definitions", gone));
            }
            catalog = known.catalog;
            exceptions.extend(known.said);
            without_rows.extend(known.gone);
        }
        let catalog = &catalog;
        let threads = readers.len();
        if options.consistency == Consistency::None {
            exceptions.push(NO_SNAPSHOT.to_owned());
        }
        let written = definitions::write(run, control, id, catalog, store, options)?;
        exceptions.extend(written.exceptions.iter().cloned());
        without_rows.extend(written.left_out.iter().cloned());
        let accounts = match self.accounts {
            Some(choice) => Some(accounts::Dumped::read(control, id, choice)?),
            None => None,
        };
        // No reader has read of a table yet, so whoever locks one does not wait for this dump.
        let mut waits = false;
        let identities = loop {
            run.check()?;
            if let Some(found) = unchanged::identities([&mut *control], id)? {
                break found;
            }
            if !std::mem::replace(&mut waits, true) {
                let what = "the list of InnoDB's tables cannot be read while another session changes one: waiting for it";
                run.observer.warn(what.to_owned());
            }
        };
        let facts = finish::Facts {
            id,
            catalog,
            tables: &written.tables,
            accounts: None,
            achieved: &achieved,
            exceptions: &exceptions,
            without_rows: &without_rows,
            identities: &identities,
            tablespaces: &written.tablespaces,
            files: written.files.clone(),
            begin: self.begin,
        };
        if let Some(feed) = &options.feed {
            finish::definitions(store, options, &facts)?;
            let estimate = |t: &Arc<tables::TableState>| {
                let name = (t.table.schema.clone(), t.table.name.clone());
                (name, t.table.data_bytes)
            };
            feed.defined(written.tables.iter().map(estimate).collect());
        }
        let taken_over = match self.unchanged.take() {
            None => None,
            Some(unchanged) => {
                // A reader sees the snapshot; there is always one.
                let Some(reader) = readers.first_mut() else {
                    return Err(Error::new(Kind::Internal, "a dump without readers"));
                };
                let mut now = Now {
                    control: &mut *control,
                    reader,
                    id,
                    sees_programs: self.sees_programs,
                    identities: &identities,
                    position: &achieved.position,
                    tables: &written.tables,
                    files: &written.files,
                };
                Some(unchanged.take_over(run, &options.source, &mut now)?)
            }
        };
        failpoint::reached("rows are taken over");
        let progress = kept::note(store, options, self.left, &facts)?;
        if self.left.is_some() {
            kept::remove_others(run, store, &facts, progress.as_ref())?;
        }
        let work = amounts::work(options, id, catalog, &written.tables, threads);
        let moved = RowsPhase {
            run,
            options,
            id,
            store,
            throttle: self.throttle,
            progress: progress.as_ref(),
        }
        .run(planner, &mut readers, &written.tables);
        if let (Err(_), true, Some(progress)) = (&moved, options.resume, &progress)
            && progress.keep().is_err()
        {
            let what = "what was finished last could not be noted, and will be read again";
            run.observer.warn(what.to_owned());
        }
        let moved = moved?;
        let mut files = written.files;
        if let Some(before) = &self.before {
            let (changed, unknown) = before.changed(control, &mut readers, id)?;
            unreadable::changed(&moved.tables, &changed, &*run.observer)?;
            exceptions.extend(unknown);
        }
        let tables = unreadable::left_out(store, &moved.tables, &mut files, &mut exceptions)?;
        let given_up = moved.tables.iter().filter(|t| t.unreadable().is_some());
        without_rows.extend(given_up.map(|t| t.table.qualified()));
        if let Some(lock) = options.files.as_ref().and_then(|f| f.lock.as_ref()) {
            exceptions.extend(lock.release()?);
        }
        let moving = |t: &&Arc<tables::TableState>| {
            !t.table.transactional && options.consistency != Consistency::Unused
        };
        for t in tables.iter().filter(moving) {
            exceptions.push(no_snapshot(&t.plan.name, &t.table.engine));
        }
        let in_memory = |t: &&Arc<tables::TableState>| {
            options.snapshot_of().is_some() && t.table.engine.eq_ignore_ascii_case("memory")
        };
        for t in tables.iter().filter(in_memory) {
            exceptions.push(not_in_files(&t.plan.name));
        }
        if let Some(accounts) = &accounts {
            accounts.add_exceptions(control, id, &mut exceptions)?;
        }
        let phase = options
            .feed
            .is_none()
            .then(|| run.phase("finishing the archive", 1));
        let facts = finish::Facts {
            id,
            catalog,
            tables: &tables,
            accounts: accounts.as_ref(),
            achieved: &achieved,
            exceptions: &exceptions,
            without_rows: &without_rows,
            identities: &identities,
            tablespaces: &written.tablespaces,
            files,
            begin: self.begin,
        };
        // It would write the mark again that is removed there.
        drop(self.heartbeat.take());
        let finished = finish::finish(run, store, options, &facts, progress.is_some())?;
        drop(phase);
        Ok(Summary {
            path: options.to.absolute(),
            source: options.source_name(id),
            schemas: catalog.schemas.len() as u64,
            tables: written.count,
            views: written.views,
            rows: finished.rows,
            raw_bytes: finished.raw_bytes,
            // What was written now.
            stored_bytes: (finished.stored_bytes)
                .saturating_sub(taken_over.as_ref().map_or(0, |t| t.stored_bytes)),
            chunks: finished.chunks,
            seconds: 0.0,
            rows_seconds: moved.seconds,
            bottleneck: moved.bottleneck,
            impact: None,
            achieved,
            exceptions,
            without_rows: !options.rows,
            not_chosen: options.left_out(),
            chosen: chosen(&tables),
            taken_over,
            files_read: options.files.as_ref().map(|_| files_read(&moved.tables)),
            accounts: accounts.map(|a| a.count()),
            histograms: catalog_histograms(catalog),
            not_seen: Vec::new(),
            threads,
            compression: options.compression,
            work,
        })
    }
}

/// How many columns have histograms; `None` where the account may not read that.
fn catalog_histograms(catalog: &Catalog) -> Option<u64> {
    let all = catalog.tables().map(|t| t.histograms.len() as u64);
    catalog.histograms_seen.then(|| all.sum())
}

/// The exception of a table that changes while it is read.
fn no_snapshot(name: &str, engine: &str) -> String {
    format!(
        "table {name} uses {engine}, which has no snapshots: its rows are as they were when they were read"
    )
}

/// The exception of a table whose rows a snapshot of the files does not have.
fn not_in_files(name: &str) -> String {
    format!("table {name} uses MEMORY: its rows are in no file, so the archive has none of them")
}

/// How many rows were chosen, of tables with a choice.
fn chosen(tables: &[Arc<tables::TableState>]) -> Vec<Chosen> {
    let with_choice = tables.iter().filter(|t| !t.plan.choice.is_all());
    let of = |t: &Arc<tables::TableState>| Chosen {
        table: t.plan.name.clone(),
        rows: t.chunks().iter().map(|c| c.record.rows).sum(),
        rows_estimate: t.table.rows_estimate,
    };
    with_choice.map(of).collect()
}

/// Which tables were read from files, and which not.
fn files_read(all: &[Arc<tables::TableState>]) -> FilesRead {
    let line = |t: &Arc<tables::TableState>| Some(format!("{}: {}", t.plan.name, t.by_sql()?));
    let mut by_sql: Vec<String> = all.iter().filter_map(line).collect();
    by_sql.sort();
    FilesRead {
        tables: all
            .iter()
            .filter(|t| t.by_sql().is_none() && t.unreadable().is_none())
            .count() as u64,
        by_sql,
    }
}

/// What there is of the selection, with its histograms.
fn read_catalog(conn: &mut wire::Conn, id: &Identity, options: &Options) -> Result<Catalog> {
    let mut catalog = Catalog::read(conn, id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    catalog
        .read_histograms(conn, id)
        .map_err(|e| failure::server("cannot read the histograms", e))?;
    if !options.views {
        catalog.schemas.iter_mut().for_each(|s| s.views.clear());
    }
    Ok(catalog)
}

fn catalog(source: &mut Source, options: &Options) -> Result<Catalog> {
    let catalog = read_catalog(&mut source.control, &source.id, options)?;
    rows::selection::check_matched(&options.filter)?;
    if catalog.schemas.is_empty() {
        return Err(Error::new(Kind::Usage, "nothing to dump: the selection leaves no schema")
            .hint("the account may see no schema, or the selection leaves none; SHOW DATABASES lists what the account sees"));
    }
    Ok(catalog)
}

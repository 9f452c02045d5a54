//! Takes a consistent dump of a live server into a new archive.
//!
//! Steps, each a file: `snapshot` (one consistent snapshot for all workers), `definitions` (DDL and metadata),
//! `rows_phase` with `plan` (tasks) and `read` (rows into chunks), `table_versions` (tables did not change),
//! `finish` (the manifest, last). `from_files` has them done on a data directory that no server uses.
//!
//! Invariant: an archive without its manifest, or with the marker of a running dump, is never taken for complete.

mod accounts;
mod amounts;
mod definitions;
mod finish;
pub mod from_files;
mod options;
mod plan;
mod preview;
mod read;
mod rows_phase;
pub mod snapshot;
mod summary;
mod table_versions;
mod tables;
mod unreadable;
mod visible;

pub use archive::chunk::Compression;
pub use options::{Accounts, Consistency, Options, SourceFiles};
pub use preview::{Preview, preview};
pub use summary::{FilesRead, Summary};

use base::{Error, Kind, Result, failpoint};
use rows::accounts::Choice;
use rows::new_archive;
use rows_phase::RowsPhase;
use run::Run;
use run::connect;
use run::failure;
use run::throttle::Throttle;
use server::privileges::{DumpNeeds, LockPlan};
use server::session;
use server::{Catalog, Identity, Privileges};
use std::sync::Arc;
use std::time::Instant;
use store::{Location, Store};
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
    // Before the server is contacted; the store checks again when it creates the directory.
    let not_empty = |path| std::fs::read_dir(path).is_ok_and(|mut d| d.next().is_some());
    if options.to.path().is_some_and(not_empty) {
        return Err(new_archive::not_empty(&options.to));
    }
    // A place of another host is reached before the source is disturbed; a directory is made when it is needed.
    let create = || {
        let created = options.to.create(Some(&run.disk_limiter));
        created.map_err(|e| new_archive::create_error(&options.to, &e))
    };
    let reached = match *options.to {
        Location::Stream | Location::Directory(_) | Location::Memory(_) => None,
        Location::Ssh(_) | Location::Object(_) => Some(create()?),
    };
    let LookedAt {
        mut source,
        catalog,
        not_seen,
        accounts: with_accounts,
    } = look_at(run, options)?;
    for _ in 0..options.threads {
        let mut conn = connect::connection(run, &options.source)?;
        connect::prepared(session::for_rows(&mut conn, &source.id))?;
        source.readers.push(conn);
    }
    // Where definitions cannot be locked, what identifies each table is read first.
    let versions = if snapshot::can_lock_definitions(&source.id, options) {
        None
    } else {
        Some(table_versions::read_versions(
            &mut source.control,
            &catalog,
        )?)
    };
    // The last step with nothing locked and nothing written: long waits belong here.
    let throttle = Throttle::begin(
        run,
        &options.throttle,
        &options.source,
        &source.id,
        options.threads,
    )?;
    let store = reached.map_or_else(create, Ok)?;
    let outcome = match archive::marker::set(&*store, env!("CARGO_PKG_VERSION")) {
        // Another dump owns the directory, so nothing in it may be removed.
        Err(archive::ArchiveError::Store(e)) if e.busy() => {
            return Err(new_archive::busy(&options.to));
        }
        Err(e) => Err(failure::archive("cannot start the archive", &e)),
        Ok(()) => Dump {
            run,
            options,
            catalog: &catalog,
            accounts: with_accounts,
            versions: versions.as_deref(),
            store: &*store,
            throttle: throttle.as_ref(),
            begin,
        }
        .write(&mut source),
    };
    match outcome {
        Ok(mut summary) => {
            summary.seconds = start.elapsed().as_secs_f64();
            summary.impact = throttle.map(Throttle::finish);
            summary.not_seen = not_seen;
            Ok(summary)
        }
        Err(e) => {
            new_archive::clear(&*store);
            if run.cancel.is_raised() {
                return Err(run.interrupted());
            }
            Err(new_archive::write_error(&options.to, e))
        }
    }
}

/// A server that was looked at: nothing is locked, and nothing is written.
struct LookedAt<'a> {
    source: Source,
    catalog: Catalog,
    /// What may be missing, because the account does not see it.
    not_seen: Vec<String>,
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
    let fit = privileges(&account, &source.id, options, &Catalog::default());
    if let Err(lacking) = fit {
        // What is lacking for the schemas is named too, as far as they can be seen.
        let seen = catalog(&mut source, options);
        let all = seen.and_then(|c| privileges(&account, &source.id, options, &c));
        return Err(all
            .err()
            .filter(|e| e.kind == Kind::Privilege)
            .unwrap_or(lacking));
    }
    if options.consistency == Consistency::Lock
        && !account.has("PROCESS")
        && !source.id.mariadb_at_least(10, 4, 1)
    {
        run.observer.warn(
            "without the PROCESS privilege other accounts' long statements cannot be seen before the read lock is requested".into(),
        );
    }
    let phase = run.phase("reading the catalog", 1);
    let catalog = catalog(&mut source, options)?;
    drop(phase);
    privileges(&account, &source.id, options, &catalog)?;
    let mut not_seen =
        visible::not_seen(&mut source.control, &source.id, &account, options, &catalog)?;
    let (with_accounts, unread) = accounts::wanted(&account, options)?;
    not_seen.extend(unread);
    Ok(LookedAt {
        source,
        catalog,
        not_seen,
        accounts: with_accounts,
    })
}

/// What the part of a dump that writes into its directory needs, besides its connections.
struct Dump<'a> {
    run: &'a Run,
    options: &'a Options,
    /// Read before the snapshot.
    catalog: &'a Catalog,
    /// Which accounts are dumped.
    accounts: Option<&'a Choice>,
    /// What identified the tables then, where definitions cannot be locked.
    versions: Option<&'a [table_versions::TableVersion]>,
    store: &'a dyn Store,
    throttle: Option<&'a Throttle>,
    begin: jiff::Timestamp,
}

impl Dump<'_> {
    /// Takes the snapshot and writes everything; the caller removes the files if it fails.
    fn write(&self, source: &mut Source) -> Result<Summary> {
        let (run, options, store) = (self.run, self.options, self.store);
        // The read lock is taken by the planner's connection; the control connection locks definitions, and must keep
        // that lock when the read lock is released.
        let Source {
            id,
            control,
            planner,
            readers,
        } = source;
        let phase = run.phase("taking the snapshot", 1);
        let achieved = snapshot::take(run, planner, control, readers, options, id)?;
        drop(phase);
        failpoint::reached("the snapshot is taken");
        // Definitions are locked from here on: they may have changed since the catalog was read.
        let fresh;
        let catalog = if snapshot::can_lock_definitions(id, options) {
            fresh = Catalog::read(control, id, &options.filter)
                .map_err(|e| failure::server("cannot read the catalog", e))?;
            &fresh
        } else {
            self.catalog
        };
        let mut exceptions = Vec::new();
        if options.consistency == Consistency::None {
            exceptions.push(NO_SNAPSHOT.to_owned());
        }
        let written = definitions::write(run, control, id, catalog, store, options)?;
        exceptions.extend(written.exceptions.iter().cloned());
        let accounts = match self.accounts {
            Some(choice) => Some(accounts::Dumped::read(control, id, choice)?),
            None => None,
        };
        if let Some(feed) = &options.feed {
            let facts = finish::Facts {
                id,
                catalog,
                tables: &written.tables,
                accounts: None,
                achieved: &achieved,
                exceptions: &exceptions,
                tablespaces: &written.tablespaces,
                files: written.files.clone(),
                begin: self.begin,
            };
            finish::definitions(store, options, &facts)?;
            let estimate = |t: &Arc<tables::TableState>| {
                let name = (t.table.schema.clone(), t.table.name.clone());
                (name, t.table.data_bytes)
            };
            feed.defined(written.tables.iter().map(estimate).collect());
        }
        let work = amounts::work(options, id, catalog, &written.tables);
        let moved = RowsPhase {
            run,
            options,
            id,
            store,
            throttle: self.throttle,
        }
        .run(planner, readers, &written.tables)?;
        let mut files = written.files;
        let tables = unreadable::left_out(store, &moved.tables, &mut files, &mut exceptions)?;
        if let Some(before) = self.versions {
            table_versions::compare(
                catalog,
                before,
                &table_versions::read_versions(control, catalog)?,
            )?;
        }
        let moving = |t: &&Arc<tables::TableState>| {
            !t.table.transactional && options.consistency != Consistency::Unused
        };
        for t in tables.iter().filter(moving) {
            exceptions.push(no_snapshot(&t.plan.name, &t.table.engine));
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
            tablespaces: &written.tablespaces,
            files,
            begin: self.begin,
        };
        let finished = finish::finish(run, store, options, &facts)?;
        drop(phase);
        Ok(Summary {
            path: options.to.absolute(),
            source: options.source_name(id),
            schemas: catalog.schemas.len() as u64,
            tables: written.count,
            views: written.views,
            rows: finished.rows,
            raw_bytes: finished.raw_bytes,
            stored_bytes: finished.stored_bytes,
            chunks: finished.chunks,
            seconds: 0.0,
            rows_seconds: moved.seconds,
            bottleneck: moved.bottleneck,
            impact: None,
            achieved,
            exceptions,
            files_read: options.files.as_ref().map(|_| files_read(&moved.tables)),
            accounts: accounts.map(|a| a.count()),
            not_seen: Vec::new(),
            threads: options.threads,
            compression: options.compression,
            work,
        })
    }
}

/// The exception of a table that changes while it is read.
fn no_snapshot(name: &str, engine: &str) -> String {
    format!(
        "table {name} uses {engine}, which has no snapshots: its rows are as they were when they were read"
    )
}

/// Which tables were read from files, and which not.
fn files_read(all: &[Arc<tables::TableState>]) -> FilesRead {
    let line = |t: &Arc<tables::TableState>| Some(format!("{}: {}", t.plan.name, t.by_sql()?));
    let mut by_sql: Vec<String> = all.iter().filter_map(line).collect();
    by_sql.sort();
    FilesRead {
        tables: (all.len() - by_sql.len()) as u64,
        by_sql,
    }
}

/// Refuses before anything is written or locked, naming every grant that is missing.
fn privileges(
    granted: &Privileges,
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
    let missing = granted.missing_for_dump(id, &needs);
    if missing.is_empty() {
        return Ok(());
    }
    let mut hint = missing.join(";\n") + ";";
    let global = DumpNeeds {
        schemas: Vec::new(),
        tables: Vec::new(),
        ..needs
    };
    if lock && !granted.missing_for_dump(id, &global).is_empty() {
        hint += "\nor, without the lock and without consistency: --consistency none";
    }
    Err(Error::new(
        Kind::Privilege,
        format!(
            "account {} lacks privileges that this dump needs",
            granted.account
        ),
    )
    .hint(hint))
}

fn catalog(source: &mut Source, options: &Options) -> Result<Catalog> {
    let catalog = Catalog::read(&mut source.control, &source.id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    rows::selection::check_matched(&options.filter)?;
    if catalog.schemas.is_empty() {
        return Err(Error::new(Kind::Usage, "nothing to dump: the selection leaves no schema")
            .hint("the account may see no schema, or the selection leaves none; SHOW DATABASES lists what the account sees"));
    }
    Ok(catalog)
}

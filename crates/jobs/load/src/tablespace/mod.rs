//! By which road the rows of a table come: as rows through SQL, or as the file
//! of its tablespace, built here and handed to the server.
//!
//! `choose` says which and why, `site` where the server has its files, `ready`
//! takes the server's own empty ones as templates, `build` makes one from the
//! archive's chunks, which `out` checks and writes, `hand` gives it to the server, `swap` to one that is stopped
//! for it; `parts` has partitions come one by one, `number` keeps rows without a key apart, `turns` shares the processor.
//! What comes as a file is compared with the archive before anything else is done
//! with it.
//! Invariants: the server never sees a file whose pages have not passed the check of
//! [`innodb::check`]; a table whose file was refused, or differs, is dropped and
//! loaded as rows; from before the first byte of a file until the server has
//! taken it the journal names it, so that nothing of it is ever left.

mod build;
mod choose;
mod cpu_slots;
mod datadir;
mod import;
mod offline;
mod page_writer;
mod partitions;
mod row_id;
mod template;

pub use choose::MethodPlan;

use super::prepare::{self, Prepared};
use super::{LoadPlan, Target, journal};
use archive::open::Table;
use base::units::printable;
use base::{Counters, Error, Kind, Result, failpoint};
use cpu_slots::CpuSlots;
use import::{Built, Importer, Outcome};
use instance::tune::ServerCommand;
use run::failure;
use run::{Run, Stop};
use server::{Catalog, Identity, ddl, quote};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use template::ImportTarget;
use verify::against_archive::TableVerifier;
use verify::{self, Comparison};
use wire::Conn;

/// How rows are to get into tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImportMode {
    /// As files where that is quicker and possible.
    #[default]
    Auto,
    /// As rows.
    Sql,
    /// As files wherever it is possible.
    Tablespace,
    /// The same, for a server that is stopped and started for them instead of importing them.
    Offline,
}

impl ImportMode {
    /// Whether a server that may be stopped and started by this command, if any, is stopped for files.
    pub fn stops(self, command: Option<&ServerCommand>) -> bool {
        match self {
            ImportMode::Offline => true,
            ImportMode::Auto => command.is_some_and(ServerCommand::is_managed),
            ImportMode::Sql | ImportMode::Tablespace => false,
        }
    }

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            ImportMode::Auto => "auto",
            ImportMode::Sql => "rows",
            ImportMode::Tablespace => "tablespace",
            ImportMode::Offline => "cold",
        }
    }
}

/// What came by which road.
#[derive(Clone, Debug, Default)]
pub struct ImportSummary {
    /// Tables that came as files, by quoted, qualified name.
    pub tables: Vec<String>,
    /// Bytes of their rows.
    pub raw_bytes: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Building, handing over and comparing, in seconds.
    pub seconds: f64,
    /// For how long of these the server was down, if it was stopped.
    pub downtime_seconds: Option<f64>,
    /// Why other tables came as rows, each reason with those tables.
    pub reasons: Vec<(String, Vec<String>)>,
    /// Keys of those that the server builds, with their tables: of words, of space, of expressions, and those whose
    /// order is not known here.
    pub indexes_built_by_server: Vec<String>,
}

/// Most tables that are under way at once, besides those that are built: the server takes them meanwhile.
const IMPORTS: usize = 3;

/// The same for a server that is stopped: the disk takes them meanwhile.
const SYNCED: usize = 1;

/// Most tables that are built at once, each with a part of the memory.
const BUILT: usize = 4;

/// Removes what an interrupted load has left of files, before anything is created again: the files,
/// and their tables. Tables that are to come as files now are dropped too if they have no rows yet, so that
/// they are created as that road needs them.
pub fn clear(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    journal: &journal::Journal,
    roads: &mut MethodPlan,
) -> Result<()> {
    let begun: Vec<(String, String)> = journal
        .files()
        .map(|(t, p)| (t.to_owned(), p.to_owned()))
        .collect();
    // Only in a folder that is this server's without a doubt is anything removed.
    let site = match begun.is_empty() {
        true => None,
        false => import::proven_site(t, journal::home(plan))?,
    };
    if site.is_none() && !begun.is_empty() {
        let names: Vec<&str> = begun.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::new(
            Kind::Target,
            printable(&format!(
                "the interrupted load was handing over files of {}, and the server's data folder ({}) is not to be reached from here to remove what is left of them",
                names.join(", "),
                t.id.datadir
            )),
        )
        .hint("go on with --resume on the server's host, as the user and with the account that began"));
    }
    for (name, path) in &begun {
        let path = Path::new(path);
        if site.as_ref().is_some_and(|s| s.is_building(path)) {
            import::removed(path)?;
        }
        let table = plan
            .tables()
            .find(|t| quote::qualified(&t.schema, &t.name) == *name);
        let place = site.as_ref().and_then(|site| match table {
            Some(t) => site.place(roads.lower_case(), &t.schema, &t.name),
            None => partitions::place_of(plan, site, roads.lower_case(), name),
        });
        import::drop_table(t, name, place)?;
        failpoint::reached("what was left of a file is gone");
        journal.forget_file(&mut t.conn, name)?;
        if table.is_some() {
            t.run.observer.note(printable(&format!(
                "table {name}: its file was on its way when the load was interrupted: it is loaded again"
            )));
        }
    }
    for table in roads.files(plan) {
        let name = quote::qualified(&table.schema, &table.name);
        if has_rows(t, &name)? {
            // The load's own would be in the journal: these are somebody's, and are not dropped.
            roads.by_rows(&name, "they hold rows that no load has entered");
            continue;
        }
        t.execute(
            &format!("DROP TABLE IF EXISTS {name}"),
            &format!("cannot drop table {name}, which the interrupted load has created"),
        )?;
    }
    Ok(())
}

/// Whether a table is there and has rows.
fn has_rows(t: &mut Target<'_>, name: &str) -> Result<bool> {
    match t.conn.fetch(format!("SELECT 1 FROM {name} LIMIT 1")) {
        Ok(rows) => Ok(!rows.is_empty()),
        // 1146: it has not been created, or somebody has dropped it.
        Err(e) if e.code() == Some(1146) => Ok(false),
        Err(e) => Err(failure::wire(
            format_args!("cannot look into table {name}"),
            e,
        )),
    }
}

/// Builds and hands over every file, and compares what came so. What cannot come as a file is
/// created again, for rows.
pub fn run(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    roads: &mut MethodPlan,
    prepared: &mut Prepared,
) -> Result<(ImportSummary, Option<Comparison>)> {
    let start = Instant::now();
    let mut done = Done {
        compared: prove(t, plan, roads, prepared)?,
        ..Done::default()
    };
    let mut wanted = roads.files(plan);
    if wanted.is_empty() {
        return Ok((finished(done.taken, plan, roads, prepared), done.compared));
    }
    let schemas = wanted.iter().map(|t| t.schema.as_str());
    let (id, catalog) = verify::against_archive::catalog(t.run, &t.options.target, schemas)?;
    let mut proofs = proofs(t, plan, &id, &catalog);
    if t.options.is_offline() {
        // They are compared when all of them are there; those that are imported one after the other, as each comes.
        let together = wanted.iter().copied();
        proofs.single_reader = verify::against_archive::single_reader_tables(
            &plan.archive,
            together,
            t.options.threads,
        );
    }
    // Those of a server that is stopped once for all of them.
    let mut built: Vec<(ImportTarget<'_>, Built)> = Vec::new();
    while !wanted.is_empty() {
        let stages = round(t, plan, roads, prepared, &proofs, &wanted)?;
        let mut more = Vec::new();
        for (table, stage) in wanted.into_iter().zip(stages) {
            match stage {
                Stage::Built(ready, file) => built.push((*ready, file)),
                Stage::Done(outcome) => {
                    if settle(t, plan, table, roads, prepared, &mut done, outcome)? {
                        more.push(table);
                    }
                }
            }
        }
        wanted = more;
    }
    if !built.is_empty() {
        let outcomes = swapped(t, plan, roads, prepared, &proofs, &mut done, &mut built)?;
        for ((ready, _), outcome) in built.iter().zip(outcomes) {
            settle(t, plan, ready.table, roads, prepared, &mut done, outcome)?;
        }
    }
    done.taken.seconds = start.elapsed().as_secs_f64();
    Ok((finished(done.taken, plan, roads, prepared), done.compared))
}

/// What has been done so far.
#[derive(Default)]
struct Done {
    taken: ImportSummary,
    compared: Option<Comparison>,
}

/// How far a table has come.
enum Stage<'p> {
    /// Its file is built, and waits for the server to be stopped.
    Built(Box<ImportTarget<'p>>, Built),
    /// To an end.
    Done(Outcome),
}

/// Does what an outcome asks for; whether the table is to be built once more.
fn settle(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    roads: &mut MethodPlan,
    prepared: &mut Prepared,
    done: &mut Done,
    outcome: Outcome,
) -> Result<bool> {
    let name = quote::qualified(&table.schema, &table.name);
    match outcome {
        Outcome::Taken {
            bytes,
            compared: proof,
        } => {
            let files = files(table);
            prepared.journal.entered(&files);
            done.compared = Some(proof.and(done.compared.take()));
            done.taken.bytes += bytes;
            done.taken.raw_bytes += super::raw_bytes(table);
        }
        // The server can sort those; all else of the table is built once more.
        Outcome::Keys(keys) if keys.iter().all(|key| roads.leave_key(&name, key)) => {
            again(t, plan, table, roads, prepared)?;
            return Ok(true);
        }
        Outcome::Keys(keys) => {
            let why = format!(
                "the order of values of key {} is not known here",
                keys.join(", ")
            );
            by_rows(t, plan, table, roads, prepared, &why)?;
        }
        Outcome::Differs(what) => differs(t, plan, table, roads, prepared, &what)?,
        Outcome::Unfit(why) => by_rows(t, plan, table, roads, prepared, &why)?,
        Outcome::Doubted(why) => {
            doubted(t, &name, &why);
            by_rows(t, plan, table, roads, prepared, "its file was not taken")?;
        }
    }
    Ok(false)
}

fn finished(
    mut taken: ImportSummary,
    plan: &LoadPlan,
    roads: &MethodPlan,
    prepared: &Prepared,
) -> ImportSummary {
    taken.tables = roads.taken(plan);
    for name in &taken.tables {
        let keys = prepared.keys.get(name).into_iter().flatten().flatten();
        let named = keys.filter_map(|key| ddl::key_name(key));
        taken
            .indexes_built_by_server
            .extend(named.map(|key| format!("{name}: {key}")));
    }
    taken.reasons = roads.reasons();
    taken
}

/// What came as a file is not what was dumped: it is loaded again.
fn differs(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    roads: &mut MethodPlan,
    prepared: &mut Prepared,
    what: &str,
) -> Result<()> {
    let name = quote::qualified(&table.schema, &table.name);
    doubted(t, &name, &format!("what came as a file differs: {what}"));
    // The rows go first: were the load killed in between, its journal would name chunks that are gone.
    t.execute(
        &format!("DROP TABLE IF EXISTS {name}"),
        &format!("cannot drop table {name}"),
    )?;
    let files = files(table);
    prepared.journal.entered(&files);
    prepared.journal.forget(t, &files)?;
    by_rows(t, plan, table, roads, prepared, "its file differed")?;
    prepared.journal.proven(&mut t.conn, &name)
}

/// An exception: something was not as it has to be, and was done again.
fn doubted(t: &mut Target<'_>, name: &str, why: &str) {
    let text = printable(&format!(
        "table {name}: {why}; the table was dropped and loaded as rows"
    ));
    t.run.observer.warn(text.clone());
    t.report.exceptions.push(text);
}

fn by_rows(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    roads: &mut MethodPlan,
    prepared: &mut Prepared,
    why: &str,
) -> Result<()> {
    let name = quote::qualified(&table.schema, &table.name);
    roads.by_rows(&name, why);
    again(t, plan, table, roads, prepared)
}

/// The table anew and empty; nothing is left of its file.
fn again(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    roads: &MethodPlan,
    prepared: &mut Prepared,
) -> Result<()> {
    prepare::again(t, plan, table, roads, prepared)?;
    let name = quote::qualified(&table.schema, &table.name);
    prepared.journal.forget_file(&mut t.conn, &name)
}

/// One attempt at each of these tables, the biggest first.
fn round<'p>(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    roads: &MethodPlan,
    prepared: &Prepared,
    proofs: &TableVerifier<'_>,
    wanted: &[&'p Table],
) -> Result<Vec<Stage<'p>>> {
    let cold = t.options.is_offline();
    let mut stages: Vec<Option<Stage<'p>>> = Vec::new();
    // Each with the place of its table.
    let mut ready = Vec::new();
    for (n, of) in template::ready(t, roads, &prepared.journal, wanted)?
        .into_iter()
        .enumerate()
    {
        match of {
            Ok(of) => {
                stages.push(None);
                ready.extend(of.into_iter().map(|ready| (n, ready)));
            }
            Err(outcome) => stages.push(Some(Stage::Done(outcome))),
        }
    }
    let threads = t.options.threads.max(1);
    let drivers = threads.min(BUILT) + if cold { SYNCED } else { IMPORTS };
    let drivers = drivers.min(ready.len());
    let conns = connections(t, drivers)?;
    let phase = t.run.phase("building tablespaces", threads);
    phase
        .counters
        .bytes_expected
        .set(wanted.iter().map(|t| super::raw_bytes(t)).sum());
    phase
        .counters
        .rows_expected
        .set(wanted.iter().filter_map(|t| t.rows).sum());
    let works = works(t, plan, roads, prepared, proofs, &phase.counters, drivers);
    let files = each(t.run, conns, &ready, |conn, rank, (_, ready), stop| {
        if !ready.imported {
            return works
                .built(rank, ready, stop)
                .map(|file| file.map_err(Some));
        }
        let outcome = works.table(conn, rank, ready, stop)?;
        Ok(Err(outcome.map(|outcome| works.told(ready, outcome))))
    })?;
    for ((n, ready), file) in ready.into_iter().zip(files) {
        match file {
            Ok(file) => stages[n] = Some(Stage::Built(Box::new(ready), file)),
            Err(Some(outcome)) => stages[n] = Some(Stage::Done(outcome)),
            // The last of its partitions knows.
            Err(None) => {}
        }
    }
    let all: Option<Vec<_>> = stages.into_iter().collect();
    all.ok_or_else(|| Error::new(Kind::Internal, "a table without an outcome"))
}

/// Has the server come back with these files; what they came to.
fn swapped(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    roads: &MethodPlan,
    prepared: &Prepared,
    proofs: &TableVerifier<'_>,
    done: &mut Done,
    built: &mut [(ImportTarget<'_>, Built)],
) -> Result<Vec<Outcome>> {
    let Some(site) = roads.site() else {
        return Err(Error::new(Kind::Internal, "files without a place"));
    };
    if let Some(all) = offline::swap(t, &mut done.taken, site, built)? {
        return Ok(vec![all; built.len()]);
    }
    let threads = t.options.threads.clamp(1, built.len());
    let conns = connections(t, threads)?;
    // One table may be read by all.
    let readers = t.options.threads.max(1);
    let phase = t.run.phase("comparing tables that came as files", readers);
    let tables = || built.iter().map(|(ready, _)| ready.table);
    phase
        .counters
        .bytes_expected
        .set(tables().map(super::raw_bytes).sum());
    phase
        .counters
        .rows_expected
        .set(tables().filter_map(|t| t.rows).sum());
    let works = works(t, plan, roads, prepared, proofs, &phase.counters, threads);
    each(t.run, conns, built, |conn, _, (ready, file), _| {
        works.enter(conn, ready)?;
        let outcome = works.prove(conn, ready, file.bytes)?;
        Ok(works.told(ready, outcome))
    })
}

fn works<'a>(
    t: &Target<'a>,
    plan: &'a LoadPlan,
    roads: &'a MethodPlan,
    prepared: &'a Prepared,
    proofs: &'a TableVerifier<'a>,
    counters: &'a Counters,
    at_once: usize,
) -> Importer<'a> {
    let threads = t.options.threads.max(1);
    Importer {
        store: &**plan.archive.store(),
        proofs,
        journal: &prepared.journal,
        roads,
        turns: CpuSlots::new(threads),
        counters,
        threads,
        memory: t.options.sort_memory / at_once.max(1),
        observer: &*t.run.observer,
    }
}

fn connections(t: &Target<'_>, count: usize) -> Result<Vec<Conn>> {
    (0..count).map(|_| import::connection(t)).collect()
}

/// Has workers do all of these, each on a connection of its own; what they came to, in their order.
fn each<I: Sync, O: Send>(
    run: &Run,
    conns: Vec<Conn>,
    items: &[I],
    work: impl Fn(&mut Conn, usize, &I, &Stop<'_>) -> Result<O> + Sync,
) -> Result<Vec<O>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, O)>> = Mutex::new(Vec::new());
    run.workers(conns, |_, mut conn, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return Ok(());
            };
            let outcome = work(&mut conn, at, item, stop)?;
            let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
            done.push((at, outcome));
        }
    })?;
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect())
}

fn proofs<'a>(
    t: &Target<'a>,
    plan: &'a LoadPlan,
    id: &'a Identity,
    catalog: &'a Catalog,
) -> TableVerifier<'a> {
    TableVerifier {
        run: t.run,
        archive: &plan.archive,
        server: &t.options.target,
        id,
        catalog,
        threads: t.options.threads,
        single_reader: BTreeSet::new(),
    }
}

/// The chunks of a table, as the journal names them.
fn files(table: &Table) -> Vec<&str> {
    table.chunks.iter().map(|c| c.file.as_str()).collect()
}

/// Compares the tables that the interrupted load has handed over and not compared any more.
fn prove(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    roads: &mut MethodPlan,
    prepared: &mut Prepared,
) -> Result<Option<Comparison>> {
    let name = |table: &Table| quote::qualified(&table.schema, &table.name);
    let unproven: Vec<&Table> = plan
        .tables()
        .filter(|t| {
            let there = t.chunks.iter().all(|c| prepared.journal.has(&c.file));
            there && prepared.journal.is_unproven(&name(t))
        })
        .collect();
    if unproven.is_empty() {
        return Ok(None);
    }
    let schemas = unproven.iter().map(|t| t.schema.as_str());
    let (id, catalog) = verify::against_archive::catalog(t.run, &t.options.target, schemas)?;
    let proofs = proofs(t, plan, &id, &catalog);
    let mut all = None;
    for table in unproven {
        let (compared, what) = proofs.table(table, &Counters::default())?;
        match what {
            Some(what) => differs(t, plan, table, roads, prepared, &what)?,
            None => {
                all = Some(compared.and(all));
                prepared.journal.proven(&mut t.conn, &name(table))?;
            }
        }
    }
    Ok(all)
}

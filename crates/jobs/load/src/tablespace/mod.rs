//! The physical import: tables are built here as InnoDB tablespaces and imported by the server, instead of
//! being loaded by SQL.
//!
//! Files, from the types up: `mode`, `outcome` and `targets` are types that the others share. `datadir` is
//! the server's data directory, `drop_table` drops tables with their files, `cpu_slots` shares the
//! processor, `work_queue` the tables. `choose` decides which tables are imported so. `template` prepares a
//! table, `partitions` its partitions; `build` builds a tablespace from the archive's chunks, and
//! `page_writer` checks and writes its pages. `import` imports it into a server that runs, where `row_id`
//! protects tables without a primary key; `offline` into one that is stopped. `conclude` does what the
//! verdict on a table asks for, and `interrupted` cleans up after a load that was interrupted. The driver,
//! [`PhysicalLoad`], is here.
//!
//! Every imported table is compared with the archive before anything else is done with it.
//! Invariants: the server never gets a tablespace whose pages have not passed [`innodb::check`]; a table
//! whose tablespace the server refused, or whose rows differ, is dropped and loaded by SQL; the journal
//! names a file from before its first byte until the server has imported it, so that nothing of it is ever
//! left.

mod build;
mod choose;
mod compare_file;
mod conclude;
mod cpu_slots;
mod datadir;
mod drop_table;
mod import;
mod interrupted;
mod mode;
mod offline;
mod outcome;
mod page_writer;
mod partitions;
mod row_id;
mod targets;
mod template;
mod work_queue;

pub use choose::{MethodPlan, is_worth_it};
pub use interrupted::clear;
pub use mode::{ImportMode, ImportSummary};

use crate::from_archive::prepared::Prepared;
use crate::{LoadPlan, Target, raw_bytes};
use archive::open::Table;
use base::{Counters, Error, Kind, Result, failpoint};
use cpu_slots::CpuSlots;
use import::Importer;
use outcome::{Imported, Verdict};
use run::{Stop, connect, failure};
use server::{Catalog, Identity, ddl, quote, session};
use std::collections::BTreeSet;
use std::time::Instant;
use targets::{BuiltTablespace, ImportTarget};
use verify::Comparison;
use verify::against_archive::{self, Leeway, TableVerifier};
use wire::Conn;
use work_queue::process_all;

/// Tables that the server may be importing at once, besides those that are being built.
const IMPORTS: usize = 3;

/// Tables that the disk may be syncing at once, besides those that are being built, for a server that is
/// stopped.
const SYNCS: usize = 1;

/// Tables that are built at once at most, each with a share of the memory.
const BUILDS: usize = 4;

/// Builds, imports and verifies every tablespace. A table that cannot be imported so is created again, to
/// be loaded by SQL.
pub fn run(
    target: &mut Target<'_>,
    plan: &LoadPlan,
    methods: &mut MethodPlan,
    prepared: &mut Prepared,
) -> Result<(ImportSummary, Option<Comparison>)> {
    let start = Instant::now();
    let mut load = PhysicalLoad {
        target,
        plan,
        methods,
        prepared,
        summary: ImportSummary::default(),
        compared: None,
    };
    load.verify_interrupted()?;
    let wanted = load.methods.physical_tables(plan);
    if !wanted.is_empty() {
        load.import_all(wanted)?;
        load.summary.seconds = start.elapsed().as_secs_f64();
    }
    Ok(load.finish())
}

/// A physical import, and what it has done so far.
struct PhysicalLoad<'a, 't> {
    target: &'a mut Target<'t>,
    plan: &'a LoadPlan,
    methods: &'a mut MethodPlan,
    prepared: &'a mut Prepared,
    summary: ImportSummary,
    /// The comparison of all tables that were imported.
    compared: Option<Comparison>,
}

/// How far a round has brought a table.
enum Progress<B> {
    /// Its tablespace is built, and waits for the server to be stopped.
    Built(B),
    /// Nothing is left to do in this round.
    Finished(Verdict<Imported>),
}

/// A table with its tablespace.
type Built<'p> = (ImportTarget<'p>, BuiltTablespace);

impl<'a, 't> PhysicalLoad<'a, 't> {
    /// Imports these tables, in as many rounds as it takes: another one if the server has to build more
    /// indexes.
    fn import_all(&mut self, mut wanted: Vec<&'a Table>) -> Result<()> {
        let (id, catalog) = self.catalog(&wanted)?;
        let mut verifier = self.verifier(&id, &catalog);
        if self.target.options.is_offline() {
            // These are compared together, after the server was started; the others one after the other, as
            // each is imported.
            verifier.single_reader = against_archive::single_reader_tables(
                &self.plan.archive,
                wanted.iter().copied(),
                self.target.options.threads,
            );
        }
        // The tablespaces for which the server is stopped once.
        let mut built: Vec<Built<'a>> = Vec::new();
        while !wanted.is_empty() {
            let round = self.build_round(&verifier, &wanted)?;
            let mut again = Vec::new();
            for (table, progress) in wanted.into_iter().zip(round) {
                match progress {
                    Progress::Built(tablespace) => built.push(tablespace),
                    Progress::Finished(verdict) => {
                        if self.conclude(table, verdict)? {
                            again.push(table);
                        }
                    }
                }
            }
            wanted = again;
        }
        if !built.is_empty() {
            let verdicts = self.import_offline(&verifier, &mut built)?;
            for ((target, _), verdict) in built.iter().zip(verdicts) {
                self.conclude(target.table, verdict)?;
            }
        }
        Ok(())
    }

    /// One attempt at each of these tables, the biggest first. With a running server that is the whole
    /// import; for one that is stopped, only the tablespaces are built.
    fn build_round(
        &mut self,
        verifier: &TableVerifier<'_>,
        wanted: &[&'a Table],
    ) -> Result<Vec<Progress<Built<'a>>>> {
        let offline = self.target.options.is_offline();
        let mut round: Vec<Option<Progress<Built<'a>>>> = Vec::new();
        // Each with the index of its table; a table with partitions has several.
        let mut targets = Vec::new();
        for (n, verdict) in self.prepare_targets(wanted)?.into_iter().enumerate() {
            match verdict {
                Verdict::Ready(all) => {
                    round.push(None);
                    targets.extend(all.into_iter().map(|target| (n, target)));
                }
                Verdict::Rejected(why) => {
                    round.push(Some(Progress::Finished(Verdict::Rejected(why))));
                }
            }
        }
        let threads = self.target.options.threads.max(1);
        let at_once = threads.min(BUILDS) + if offline { SYNCS } else { IMPORTS };
        let at_once = at_once.min(targets.len());
        let conns = self.connections(at_once)?;
        let phase = self.target.run.phase("building tablespaces", threads);
        expect(&phase.counters, wanted.iter().copied());
        let importer = self.importer(verifier, &phase.counters, at_once);
        let work =
            |conn: &mut Conn, rank, (_, target): &(usize, ImportTarget<'a>), stop: &Stop<'_>| {
                if target.online {
                    let verdict = importer.import(conn, rank, target, stop)?;
                    if let Some(verdict) = &verdict {
                        importer.report(target, verdict);
                    }
                    return Ok(verdict.map(Progress::Finished));
                }
                Ok(Some(match importer.build(rank, target, stop)? {
                    Verdict::Ready(tablespace) => Progress::Built(tablespace),
                    Verdict::Rejected(why) => Progress::Finished(Verdict::Rejected(why)),
                }))
            };
        let results = process_all(self.target.run, conns, &targets, work)?;
        for ((n, target), result) in targets.into_iter().zip(results) {
            match result {
                Some(Progress::Built(tablespace)) => {
                    round[n] = Some(Progress::Built((target, tablespace)));
                }
                Some(Progress::Finished(verdict)) => round[n] = Some(Progress::Finished(verdict)),
                // A partition; the last one of its table has the verdict.
                None => {}
            }
        }
        let all: Option<Vec<_>> = round.into_iter().collect();
        all.ok_or_else(|| Error::new(Kind::Internal, "a table without an outcome"))
    }

    /// Exports the server's empty tablespaces of these tables as templates, and has the server discard
    /// those that it imports while it runs.
    fn prepare_targets(
        &mut self,
        tables: &[&'a Table],
    ) -> Result<Vec<Verdict<Vec<ImportTarget<'a>>>>> {
        let (methods, journal) = (&*self.methods, &self.prepared.journal);
        let mut all = Vec::new();
        for table in tables {
            self.target.run.check()?;
            all.push(if partitions::are_separate(table) {
                partitions::prepare(self.target, methods, journal, table)?
            } else {
                template::prepare(self.target, methods, journal, table, None)?
                    .map(|target| vec![target])
            });
        }
        if self.target.id.is_mariadb() && all.iter().any(Verdict::is_ready) {
            // MariaDB's recovery takes a tablespace that was discarded since the last checkpoint for a
            // deleted one, and skips all changes to it since then, whether a tablespace was imported or
            // not. And it does not even read the pages that were created since then from the file, which
            // may be another one by then.
            template::checkpoint(&mut self.target.conn)?;
        }
        failpoint::reached("empty files are discarded");
        Ok(all)
    }

    /// Stops the server for these tablespaces, starts it again, and compares the tables.
    fn import_offline(
        &mut self,
        verifier: &TableVerifier<'_>,
        built: &mut [Built<'a>],
    ) -> Result<Vec<Verdict<Imported>>> {
        let Some(datadir) = self.methods.datadir() else {
            return Err(Error::new(
                Kind::Internal,
                "tablespaces without a data directory",
            ));
        };
        let imported = offline::import(self.target, &mut self.summary, datadir, built)?;
        if let Verdict::Rejected(why) = imported {
            let all = built.iter().map(|_| Verdict::Rejected(why.clone()));
            return Ok(all.collect());
        }
        let at_once = self.target.options.threads.clamp(1, built.len());
        let conns = self.connections(at_once)?;
        // All threads may read one table.
        let readers = self.target.options.threads.max(1);
        let phase = self.target.run.phase("verifying imported tables", readers);
        expect(
            &phase.counters,
            built.iter().map(|(target, _)| target.table),
        );
        let importer = self.importer(verifier, &phase.counters, at_once);
        process_all(
            self.target.run,
            conns,
            built,
            |conn, _, (target, tablespace), _| {
                importer.enter(conn, target)?;
                let verdict = importer.verify(conn, target, tablespace.bytes)?;
                importer.report(target, &verdict);
                Ok(verdict)
            },
        )
    }

    fn finish(self) -> (ImportSummary, Option<Comparison>) {
        let mut summary = self.summary;
        summary.tables = self.methods.imported_tables(self.plan);
        for name in &summary.tables {
            let indexes = self.prepared.keys.get(name).into_iter().flatten().flatten();
            let names = indexes.filter_map(|index| ddl::key_name(index));
            summary
                .indexes_built_by_server
                .extend(names.map(|index| format!("{name}: {index}")));
        }
        summary.reasons = self.methods.reasons();
        (summary, self.compared)
    }

    /// The target's catalog of the schemas of these tables.
    fn catalog(&self, tables: &[&Table]) -> Result<(Identity, Catalog)> {
        let schemas = tables.iter().map(|t| t.schema.as_str());
        against_archive::catalog(self.target.run, &self.target.options.target, schemas)
    }

    fn verifier<'v>(&self, id: &'v Identity, catalog: &'v Catalog) -> TableVerifier<'v>
    where
        'a: 'v,
    {
        TableVerifier {
            run: self.target.run,
            archive: &self.plan.archive,
            server: &self.target.options.target,
            id,
            catalog,
            threads: self.target.options.threads,
            single_reader: BTreeSet::new(),
            leeway: Leeway::default(),
        }
    }

    /// `at_once`: how many tables share the memory.
    fn importer<'i>(
        &'i self,
        verifier: &'i TableVerifier<'i>,
        counters: &'i Counters,
        at_once: usize,
    ) -> Importer<'i> {
        let threads = self.target.options.threads.max(1);
        Importer {
            store: &**self.plan.archive.store(),
            verifier,
            journal: &self.prepared.journal,
            methods: self.methods,
            cpu_slots: CpuSlots::new(threads, counters),
            counters,
            threads,
            reads_files: self.target.options.verify.reads_files(),
            memory: self.target.options.sort_memory / at_once.max(1),
            observer: &*self.target.run.observer,
        }
    }

    /// Connections that import tablespaces.
    fn connections(&self, count: usize) -> Result<Vec<Conn>> {
        let (run, options) = (self.target.run, self.target.options);
        let connect = |_| {
            let mut conn = connect::connection(run, &options.target)?;
            let failed = |e| failure::server("cannot prepare a session", e);
            session::for_ddl(&mut conn, &self.target.id).map_err(failed)?;
            if options.skip_binlog {
                session::skip_binlog(&mut conn, &self.target.id).map_err(failed)?;
            }
            Ok(conn)
        };
        (0..count).map(connect).collect()
    }
}

/// Tells a phase how much there is to do.
fn expect<'p>(counters: &Counters, tables: impl Iterator<Item = &'p Table> + Clone) {
    counters
        .bytes_expected
        .set(tables.clone().map(raw_bytes).sum());
    counters
        .rows_expected
        .set(tables.filter_map(|t| t.rows).sum());
}

/// The table's quoted, qualified name.
fn qualified(table: &Table) -> String {
    quote::qualified(&table.schema, &table.name)
}

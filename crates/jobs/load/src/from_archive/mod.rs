//! Loads an archive that has digests, or one of MySQL Shell: what is loaded of it,
//! and the steps from the first look at the target to the end of the journal.

pub mod objects;
pub mod precheck;
pub mod prepare;

use crate::completion::Completion;
use crate::journal::{self, Journal};
use crate::schedule::{Schedule, Work};
use crate::sql::chunk_stream::Chunk;
use crate::sql::loaders::{self, Loaders};
use crate::tablespace::{self, MethodPlan};
use crate::target::{Target, connections, refused};
use crate::{BatchSize, ENDED, Options, Summary, bulk_insert, named, with_managed_instance};
use archive::open::Table;
use archive::{Archive, RowDigest};
use base::{Error, Kind, Result};
use instance::tune;
use precheck::There;
use prepare::Prepared;
use run::Run;
use run::bottleneck;
use server::Identity;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What is loaded: the part of the archive that the selection leaves.
pub struct LoadPlan {
    /// The archive.
    pub archive: Archive,
    /// Schemas with their tables and views, by index into the archive's.
    pub schemas: Vec<SchemaSelection>,
    /// The server that it came from, as far as the archive says.
    pub source: Option<Identity>,
}

/// The wanted part of one schema.
pub struct SchemaSelection {
    /// Index into [`Archive::schemas`].
    pub at: usize,
    /// Whether its routines and events are wanted too.
    pub whole: bool,
    /// Indexes of its tables.
    pub tables: Vec<usize>,
    /// Indexes of its views.
    pub views: Vec<usize>,
}

impl LoadPlan {
    /// The tables that are loaded.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.schemas.iter().flat_map(|p| {
            p.tables
                .iter()
                .map(|t| &self.archive.schemas()[p.at].tables[*t])
        })
    }

    /// How much it is, for tuning.
    fn work(&self, target: &Target<'_>, roads: &MethodPlan) -> tune::LoadProfile {
        let size = |c: &archive::open::Chunk| c.raw_bytes.unwrap_or(c.stored_bytes);
        tune::LoadProfile {
            bytes: self.tables().flat_map(|t| &t.chunks).map(size).sum(),
            split: self.tables().any(|t| t.chunks.len() > 1),
            binlog: !target.options.skip_binlog,
            redo: roads.any(),
            session: target.conn.id(),
        }
    }
}

/// Loads an archive.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let plan = precheck::plan(run, options)?;
    let bytes = plan.tables().map(raw_bytes).sum();
    let source = plan.source.as_ref().map(|id| id.flavour);
    let check = || precheck::files(run, &plan, options.threads);
    let mut done = with_managed_instance(run, options, bytes, source, check, |options| {
        load_plan(run, options, &plan)
    })?;
    done.seconds = start.elapsed().as_secs_f64();
    Ok(done)
}

/// A load that was to be gone on with had come to its end: `Ending` says so, and rows are compared all the same where they can be.
fn complete(t: Target<'_>, plan: &LoadPlan, there: &There, ending: Completion) -> Result<Summary> {
    t.run.observer.note(ENDED.to_owned());
    let tables: Vec<_> = plan.tables().map(|t| (t, RowDigest::new())).collect();
    let (target, options) = (&t.options.target, t.options);
    let digests = plan.archive.has_manifest();
    let verified = if options.verify && digests {
        let archive = &plan.archive;
        match verify::against_archive::loaded(t.run, archive, &tables, target, options.threads) {
            Ok(compared) => Some(compared),
            Err(e) if e.kind == Kind::Differs => {
                let more = format!(
                    "; the interrupted load had come to its end, and since then rows were changed: {}",
                    e.what
                );
                return Err(there.refusal(&more).hint(
                    "nothing was touched: to load anew, drop them, or choose another server",
                ));
            }
            Err(e) => return Err(e),
        }
    } else {
        None
    };
    Ok(Summary {
        archive: named(&options.from),
        completion: Completion::left(&t, &journal::identity(plan)?),
        target: t.described(),
        schemas: plan.schemas.len() as u64,
        tables: plan.tables().count() as u64,
        views: plan.schemas.iter().map(|p| p.views.len() as u64).sum(),
        rows: plan.tables().filter_map(|t| t.rows).sum(),
        already_loaded_bytes: plan.tables().map(raw_bytes).sum(),
        threads: options.threads,
        verified,
        digests,
        exceptions: ending.exceptions,
        already_complete: true,
        ..Summary::default()
    })
}

fn load_plan(run: &Run, options: &Options, plan: &LoadPlan) -> Result<Summary> {
    let mut wire = options.target.clone();
    let mut target = Target::open(run, options)?;
    if !plan.archive.has_manifest() {
        run.observer.note(format!(
            "{} was not written by penstock ({}): it has no digests, so sizes and counts are checked, and a digest is taken as the rows pass",
            options.from.display(),
            base::units::printable(&plan.archive.root().dumper)
        ));
    }
    precheck::target(&mut target, plan)?;
    let journal = match interrupted(&mut target, plan)? {
        Found::Nothing => None,
        Found::Journal(journal) => Some(journal),
        Found::All(there, ending) => return complete(target, plan, &there, ending),
    };
    let mut roads = MethodPlan::choose(&mut target, plan, journal.as_ref())?;
    target.by_file = roads.any();
    // While a server of the load's own is made, that is done already.
    if options.managed.is_none() {
        precheck::files(run, plan, options.threads)?;
    }
    if !target.resuming {
        // The archive may have taken minutes to check: look again before the first statement.
        precheck::nothing_there(&mut target, plan)?;
    }
    // Whatever ends this function from here on, `tuning` puts the server's settings back.
    let mut tuning = tune::begin(
        run,
        &options.tune,
        &wire,
        &target.id,
        &plan.work(&target, &roads),
    )?;
    if tuning.restarted() {
        target.again()?;
    }
    target.prepare()?;
    let phase = run.phase("creating tables", 1);
    let mut prepared = {
        let cleared = match &journal {
            Some(journal) => tablespace::clear(&mut target, plan, journal, &mut roads),
            None => Ok(()),
        };
        let outcome = cleared.and_then(|()| prepare::create(&mut target, plan, journal, &roads));
        outcome.map_err(|e| partial_load_hint(e, plan, &target))?
    };
    drop(phase);
    let outcome = tablespace::run(&mut target, plan, &mut roads, &mut prepared);
    let (road, proven) = outcome.map_err(|e| partial_load_hint(e, plan, &target))?;
    wire.local_infile = true;
    let tables = tables(&target, plan, &prepared)?;
    let outcome = load_rows(&mut target, plan, &wire, &tables, &prepared.journal);
    let (rows_seconds, held) = outcome.map_err(|e| partial_load_hint(e, plan, &target))?;
    let phase = run.phase("adding keys and programs", 1);
    let outcome = objects::create(&mut target, plan, &prepared.foreign);
    outcome.map_err(|e| partial_load_hint(e, plan, &target))?;
    drop(phase);
    // The comparison only reads: it need not wait with durability.
    tuning.put_back();
    let loaded: Vec<_> = plan
        .tables()
        .zip(&tables)
        // What came as a file was compared before it was counted as there.
        .filter(|(_, t)| proven.is_none() || !road.tables.contains(&t.name))
        .map(|(table, t)| (table, *t.digest.lock().unwrap_or_else(|e| e.into_inner())))
        .collect();
    let verified = if options.verify && !(loaded.is_empty() && proven.is_some()) {
        let compared = verify::against_archive::loaded(
            run,
            &plan.archive,
            &loaded,
            &options.target,
            options.threads,
        )
        .map_err(|e| partial_load_hint(adapted(e, &target.notes), plan, &target))?;
        Some(compared.and(proven))
    } else {
        proven
    };
    let missing = match target.exceptions.is_empty() {
        true => Vec::new(),
        false => There::look(&mut target, plan)?.missing,
    };
    let noted = plan.archive.has_manifest() || options.managed.is_some();
    prepared
        .journal
        .end(&mut target, noted.then_some(missing))?;
    let tuning = tuning.finish();
    target
        .exceptions
        .extend(tuning.not_reverted.iter().cloned());
    target.notes.sort();
    target.notes.dedup();
    let loaded = tables.iter().flat_map(|t| &t.chunks);
    let loaded_bytes = loaded.filter_map(|c| c.raw_bytes).sum::<u64>() + road.raw_bytes;
    Ok(Summary {
        archive: named(&options.from),
        completion: Completion::left(&target, &journal::identity(plan)?),
        target: target.described(),
        schemas: plan.schemas.len() as u64,
        tables: tables.len() as u64,
        views: plan
            .schemas
            .iter()
            .map(|p| p.views.len() as u64)
            .sum::<u64>()
            - target.refused_views,
        rows: tables
            .iter()
            .map(|t| t.loaded.load(std::sync::atomic::Ordering::SeqCst))
            .sum(),
        raw_bytes: loaded_bytes,
        already_loaded_bytes: plan
            .tables()
            .map(raw_bytes)
            .sum::<u64>()
            .saturating_sub(loaded_bytes),
        skipped_statements: Vec::new(),
        // Whoever began knows when all is over.
        seconds: 0.0,
        rows_seconds: rows_seconds + road.seconds,
        import: road,
        threads: options.threads,
        verified,
        bottleneck: held,
        batch_sizes: target.sizes,
        digests: true,
        notes: target.notes,
        exceptions: target.exceptions,
        tuning,
        managed: None,
        already_complete: false,
    })
}

/// What differs may be what had to be changed for the target: say so.
fn adapted(e: Error, notes: &[String]) -> Error {
    if notes.is_empty() {
        return e;
    }
    let list: Vec<String> = notes
        .iter()
        .map(|n| format!("\n  {}", base::units::printable(n)))
        .collect();
    Error {
        what: format!("{}\nadapted for this target:{}", e.what, list.concat()),
        ..e
    }
}

/// A load that fails in the middle says what is on the target and how to begin again.
fn partial_load_hint(e: Error, plan: &LoadPlan, target: &Target<'_>) -> Error {
    if !target.touched {
        return e;
    }
    let shown = |name: &String| base::units::printable(&server::quote::ident(name));
    let created: Vec<String> = target.created.iter().map(shown).collect();
    let mut hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default();
    hint += if e.kind == Kind::Differs {
        "rows were changed on the target, or the archive's definitions do not fit it; to begin anew, "
    } else {
        "the target holds a part of the archive: penstock load --resume goes on from there; to begin anew, "
    };
    if created.len() < plan.schemas.len() {
        hint += &format!(
            "drop what this load created, `{}` with it{}",
            journal::TABLE,
            if created.is_empty() { "" } else { ", or " }
        );
    }
    if !created.is_empty() {
        hint += &format!(
            "drop the schema{} that this load created ({})",
            if created.len() == 1 { "" } else { "s" },
            created.join(", ")
        );
    }
    if target.by_file {
        hint += "; after a crash of the server --resume comes first, for it removes files that DROP leaves";
    }
    Error {
        hint: Some(hint),
        ..e
    }
}

/// What a target has of an earlier load.
enum Found {
    /// Nothing, and nothing of the archive either.
    Nothing,
    /// The journal of one that was interrupted, and is gone on with.
    Journal(Journal),
    /// Every object, and a note that the load which is to be gone on with had come to its end.
    All(There, Completion),
}

/// Finds the journal of a load that was interrupted, or makes sure that there is nothing of the archive.
fn interrupted(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Found> {
    journal::name_is_free(plan)?;
    let identity = journal::identity(plan)?;
    let Some(journal) = t.interrupted(journal::home(plan), &identity)? else {
        let there = There::look(t, plan)?;
        // Nobody else gets at a server of the load's own.
        let comparable =
            t.options.verify && plan.archive.has_manifest() || t.options.managed.is_some();
        if t.options.resume
            && comparable
            && let Some(ending) = Completion::find(t, &identity)
            && there.is_all_but(&ending.missing)
        {
            return Ok(Found::All(there, ending));
        }
        there.refuse()?;
        Completion::forget(t, &identity);
        t.nothing_to_resume();
        return Ok(Found::Nothing);
    };
    if !t.resuming {
        let e = refused("a load of this archive into this target was interrupted");
        return Err(partial_load_hint(e, plan, t));
    }
    let all: usize = plan.tables().map(|t| t.chunks.len()).sum();
    t.run.observer.note(format!(
        "going on with the interrupted load: {} of {all} chunks are there",
        journal.chunks()
    ));
    Ok(Found::Journal(journal))
}

/// The tables as the loaders need them, without the chunks that are there.
fn tables(
    target: &Target<'_>,
    plan: &LoadPlan,
    prepared: &Prepared,
) -> Result<Vec<loaders::Table>> {
    let journal = &prepared.journal;
    let bulk_most = bulk_most(target, plan);
    plan.tables()
        .map(|t| {
            let statement = prepare::load_statement(t)?;
            let mut digest = RowDigest::new();
            let mut there = 0;
            for c in t.chunks.iter().filter(|c| journal.has(&c.file)) {
                let taken = journal.digest(&c.file);
                there += c.rows.or(taken.map(|d| d.rows())).unwrap_or(0);
                if let Some(taken) = taken {
                    digest.merge(&taken);
                }
            }
            let chunks: Vec<Chunk> = t
                .chunks
                .iter()
                .filter(|c| !journal.has(&c.file))
                .map(|c| Chunk {
                    file: c.file.clone(),
                    compression: t.compression,
                    stored: c.record.clone(),
                    raw_bytes: c.raw_bytes,
                    rows: c.rows,
                })
                .collect();
            let tee = (!plan.archive.has_manifest() && t.meta.is_default_dialect())
                .then(|| t.meta.plan());
            let name = server::quote::qualified(&t.schema, &t.name);
            let plain = prepared.plain.contains(&name);
            // A table that is not empty any more is none for a bulk insert.
            let bulk = !plain
                && !chunks.is_empty()
                && chunks.len() == t.chunks.len()
                && raw_bytes(t) <= bulk_most;
            Ok(loaders::Table {
                schema: t.schema.clone(),
                table: t.name.clone(),
                nontransactional: plain,
                bulk,
                deferred_indexes: prepared.keys.get(&name).cloned().unwrap_or_default(),
                name,
                statement,
                columns: t.meta.options.columns.clone(),
                left: AtomicU64::new(chunks.len() as u64),
                chunks,
                rows: t.rows,
                tee,
                digest: Mutex::new(digest),
                loaded: AtomicU64::new(there),
            })
        })
        .collect()
}

fn load_rows(
    target: &mut Target<'_>,
    plan: &LoadPlan,
    wire: &wire::Options,
    tables: &[loaders::Table],
    journal: &Journal,
) -> Result<(f64, Option<bottleneck::Report>)> {
    let run = target.run;
    let conns = connections(target, wire)?;
    let phase = run.phase("loading rows", conns.len());
    let size = |c: &Chunk| {
        c.raw_bytes
            .or(c.stored.as_ref().map(|s| s.bytes))
            .unwrap_or(1)
    };
    let sizes: Vec<Vec<u64>> = tables
        .iter()
        .map(|t| t.chunks.iter().map(size).collect())
        .collect();
    phase
        .counters
        .bytes_expected
        .set(sizes.iter().flatten().sum());
    let schedule = Schedule::new(
        sizes
            .into_iter()
            .zip(tables)
            .map(|(sizes, t)| Work {
                sizes,
                indexes: !t.deferred_indexes.is_empty(),
                whole: t.bulk,
                // A digest that is taken on the way is one chunk's.
                trial: t.tee.is_none(),
            })
            .collect(),
    );
    let store: Arc<dyn store::Store> = plan.archive.store().clone();
    let job = bottleneck::Job::Load {
        skip_binlog: target.options.skip_binlog,
    };
    let watch = bottleneck::Profiler::start(
        job,
        &target.options.target,
        &target.id,
        conns.len(),
        &run.observer,
    );
    let loaders = Loaders {
        profiler: &watch,
        store: &*store,
        tables,
        schedule: &schedule,
        counters: &phase.counters,
        observer: &*run.observer,
        journal,
        resuming: target.resuming,
    };
    run.workers(conns, |_, mut conn, stop| loaders.work(&mut conn, stop))?;
    let seconds = phase.seconds();
    for (table, found) in schedule.found() {
        target.sizes.push(BatchSize {
            table: tables[table].name.clone(),
            chunks: found.chunks,
            gain: found.gain,
            tried: found.tried.to_vec(),
        });
    }
    Ok((seconds, watch.finish()))
}

/// Most bytes of a table that goes in as one piece; none of an archive without digests, which are taken of its chunks.
fn bulk_most(target: &Target<'_>, plan: &LoadPlan) -> u64 {
    if !plan.archive.has_manifest() {
        return 0;
    }
    let all = plan.tables().map(raw_bytes).sum();
    bulk_insert(
        &target.id,
        &target.options.tune,
        all,
        target.options.threads,
    )
}

/// Bytes of a table's rows, as far as the archive says.
pub fn raw_bytes(table: &Table) -> u64 {
    table.chunks.iter().filter_map(|c| c.raw_bytes).sum()
}

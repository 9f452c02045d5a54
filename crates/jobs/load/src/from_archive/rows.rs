//! The rows of an archive's tables, by SQL: which chunks are left, and the workers that load them.

use super::create_table;
use super::load_statement::load_statement;
use super::plan::{LoadPlan, raw_bytes};
use super::prepared::Prepared;
use crate::journal::{self, Journal};
use crate::load_report::BatchSize;
use crate::sql::bulk_insert;
use crate::sql::chunk_stream::Chunk;
use crate::sql::loaders::{self, Loaders};
use crate::sql::schedule::{Schedule, Work};
use crate::target::{Target, connections};
use ::rows::{archives, feed, renaming};
use archive::RowDigest;
use archive::open::Table;
use base::Result;
use run::{bottleneck, failure};
use server::{Flavour, ddl, quote};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use wire::Conn;

/// The tables as the loaders need them, without the chunks that are loaded already.
pub fn tables(
    target: &mut Target<'_>,
    plan: &LoadPlan,
    prepared: &Prepared,
) -> Result<Vec<loaders::Table>> {
    let journal = &prepared.journal;
    let bulk_most = bulk_most(target, plan);
    plan.tables()
        .map(|t| {
            let counted = counted(target, plan, t)?;
            let statement = load_statement(t, counted.as_deref())?;
            let mut digest = RowDigest::new();
            let mut loaded = 0;
            let name = server::quote::qualified(&t.schema, &t.name);
            let merged = prepared.merged.contains(&name);
            for c in t.chunks.iter().filter(|c| journal.has(&c.file)) {
                let taken = journal.digest(&c.file);
                loaded += c.rows.or(taken.map(|d| d.rows())).unwrap_or(0);
                if let Some(taken) = taken {
                    digest.merge(&taken);
                }
            }
            let chunks: Vec<Chunk> = t
                .chunks
                .iter()
                .filter(|c| !merged && !journal.has(&c.file))
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
            // Chunks and their entries are committed together: rows without an entry are not this load's.
            let unloaded = !chunks.is_empty() && chunks.len() == t.chunks.len();
            let has_rows_of_others = target.resuming && unloaded && has_rows(target, &name)?;
            let nontransactional = prepared.nontransactional.contains(&name);
            // A bulk insert needs an empty table.
            let bulk = !nontransactional
                && !chunks.is_empty()
                && chunks.len() == t.chunks.len()
                && raw_bytes(t) <= bulk_most;
            Ok(loaders::Table {
                schema: t.schema.clone(),
                table: t.name.clone(),
                source: t.source.clone(),
                nontransactional,
                bulk,
                deferred_indexes: prepared.keys.get(&name).cloned().unwrap_or_default(),
                statement,
                columns: t.meta.options.columns.clone(),
                // One whose members may be others is not among them: then a value was lost.
                enums: match prepared.doubtful.contains(&name) || plan.refills(t) {
                    true => Vec::new(),
                    false => enums(target, plan, t)?,
                },
                // Into a table that is there and empty others may write meanwhile.
                may_give_up: !has_rows_of_others
                    && (prepared.doubtful.contains(&name)
                        || !target.options.needs_all_rows() && !plan.fills(t)),
                refused_indexes: Mutex::default(),
                name: name.clone(),
                left: AtomicU64::new(chunks.len() as u64 + u64::from(plan.growing.is_some())),
                merged,
                doubtful: prepared.doubtful.contains(&name),
                given_up: Mutex::default(),
                chunks: Mutex::new(chunks),
                rows: t.rows,
                tee,
                digest: Mutex::new(digest),
                loaded: AtomicU64::new(loaded),
            })
        })
        .collect()
}

/// Whether a table has rows.
fn has_rows(target: &mut Target<'_>, name: &str) -> Result<bool> {
    let sql = format!("SELECT 1 FROM {name} LIMIT 1");
    let rows = target.conn.fetch(sql);
    let rows = rows.map_err(|e| failure::wire(format_args!("cannot look into table {name}"), e))?;
    Ok(!rows.is_empty())
}

/// The ENUM columns of a table. MariaDB warns of the value that is no member (index 0), which it stores as it was. Whether that was
/// all is seen when the rows are compared.
fn enums(target: &Target<'_>, plan: &LoadPlan, table: &Table) -> Result<Vec<String>> {
    let compared = plan.compares_sql(target.options) && table.meta.is_default_dialect();
    if target.id.flavour != Flavour::MariaDb || !compared {
        return Ok(Vec::new());
    }
    let create = create_table::definition(target, plan, table)?;
    Ok(create.map_or_else(Vec::new, |create| ddl::columns_of_type(&create, "ENUM")))
}

/// The AUTO_INCREMENT column of a table, where the LOAD statement has to assign it.
fn counted(target: &Target<'_>, plan: &LoadPlan, table: &Table) -> Result<Option<String>> {
    if target.id.flavour != Flavour::MariaDb || table.meta.options.decode_columns.is_empty() {
        return Ok(None);
    }
    let create = create_table::definition(target, plan, table)?;
    Ok(create.and_then(|create| ddl::auto_increment_column(&create)))
}

/// What a worker does.
enum Role<'f> {
    /// Loads chunks.
    Load(Box<Conn>),
    /// Takes them from the dump.
    Follow(&'f feed::Load),
}

/// Loads the rows of tables; returns the seconds that it took, and what limited the speed.
pub fn load(
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
        .map(|t| base::lock(&t.chunks).iter().map(size).collect())
        .collect();
    phase.counters.bytes_expected.set(match plan.growing {
        Some(_) => plan.raw_bytes(),
        None => sizes.iter().flatten().sum(),
    });
    let schedule = Schedule::new(
        sizes
            .into_iter()
            .zip(tables)
            .map(|(sizes, t)| Work {
                sizes,
                indexes: !t.deferred_indexes.is_empty(),
                whole: t.bulk,
                // A digest that is taken during the load is one chunk's.
                trial: t.tee.is_none() && plan.growing.is_none(),
                grows: plan.growing.is_some(),
            })
            .collect(),
    );
    let store: Arc<dyn store::Store> = plan.archive.store().clone();
    let job = bottleneck::Job::Load {
        skip_binlog: target.options.skip_binlog,
    };
    let profiler = bottleneck::Profiler::start(
        job,
        &target.options.target,
        &target.id,
        conns.len(),
        &run.observer,
    )
    .with_link(plan.archive.store().link());
    let loaders = Loaders {
        profiler: &profiler,
        store: &*store,
        tables,
        schedule: &schedule,
        counters: &phase.counters,
        observer: &*run.observer,
        journal,
        resuming: target.resuming,
        feed: plan.growing.as_ref().map(|g| &*g.feed),
    };
    let mut roles: Vec<Role> = conns.into_iter().map(|c| Role::Load(Box::new(c))).collect();
    if let Some(growing) = &plan.growing {
        roles.push(Role::Follow(&growing.feed));
    }
    run.workers(roles, |_, role, stop| match role {
        Role::Load(mut conn) => loaders.work(&mut conn, stop),
        Role::Follow(feed) => loaders.follow(feed, stop),
    })?;
    if let Some(growing) = &plan.growing {
        // Now it has the digests of all rows.
        let mut whole = archives::open_definitions(&target.options.from)?;
        renaming::rename(&mut whole, &target.options.names, &target.options.filter);
        let _ = growing.whole.set(whole);
    }
    let seconds = phase.seconds();
    drop(phase);
    empty(target, plan, tables, journal)?;
    for (table, found) in schedule.found() {
        target.report.batch_sizes.push(BatchSize {
            table: tables[table].name.clone(),
            chunks: found.chunks,
            gain: found.gain,
            tried: found.tried.to_vec(),
        });
    }
    Ok((seconds, profiler.finish()))
}

/// Empties the tables that were given up: none is left half loaded. The journal stays, so that a resuming load can
/// fill them once they are corrected.
fn empty(
    target: &mut Target<'_>,
    plan: &LoadPlan,
    tables: &[loaders::Table],
    journal: &Journal,
) -> Result<()> {
    let mut emptied = BTreeSet::new();
    for (table, loaded) in plan.tables().zip(tables) {
        for why in base::lock(&loaded.refused_indexes).drain(..) {
            target.refused(format!(
                "table {} lacks an index, which the target refused: {why}; penstock load --only indexes adds it when the rows fit",
                loaded.name
            ));
        }
        let Some(why) = base::lock(&loaded.given_up).take() else {
            continue;
        };
        let name = &loaded.name;
        let files: Vec<String> = match plan.growing {
            Some(_) => loaded.files(),
            None => table.chunks.iter().map(|c| c.file.clone()).collect(),
        };
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        journal.withdraw(target, &files)?;
        target.execute(
            &format!("TRUNCATE TABLE {name}"),
            &format!("cannot empty table {name}"),
        )?;
        // What the server says of the first row is enough.
        let lines: Vec<&str> = why.lines().take(2).map(str::trim).collect();
        let why = lines.join(": ");
        let triggers = match plan.refills(table) || table.triggers.is_none() {
            true => "",
            false => ", and has no triggers",
        };
        let leave = format!(
            ", or leave it empty: DROP TABLE {}",
            quote::qualified(journal::home(plan), journal::TABLE)
        );
        target.refused(match loaded.doubtful {
            true => format!(
                "table {name} is empty here{triggers}: the target refused its rows, and its definition in the archive has a ? where the source may have another character ({why}); correct the column with ALTER TABLE, then resume with --resume{leave}"
            ),
            false => {
                let packet = target.id.max_allowed_packet;
                let correct = match why.contains("max_allowed_packet") {
                    true => format!(
                        "a row is longer than the target's max_allowed_packet ({}): SET GLOBAL max_allowed_packet to more, 1 GiB at most",
                        base::units::bytes(packet)
                    ),
                    false => "correct the table".to_owned(),
                };
                format!(
                    "table {name} is empty here{triggers}: the target refused its rows ({why}); {correct}, then resume with --resume{leave}"
                )
            }
        });
        loaded.loaded.store(0, Ordering::SeqCst);
        emptied.insert(name.clone());
    }
    let _ = plan.emptied.set(emptied);
    Ok(())
}

/// Most bytes of a table that is loaded as one piece; 0 for an archive without digests, which are taken of
/// each chunk.
fn bulk_most(target: &Target<'_>, plan: &LoadPlan) -> u64 {
    if !plan.archive.has_manifest() {
        return 0;
    }
    let all = plan.raw_bytes();
    bulk_insert(
        &target.id,
        &target.options.tune,
        all,
        target.options.threads,
    )
}

//! `warm save`: the hot part of a buffer pool as key ranges.
//!
//! `crate::list` gets the numbers of the hot pages, `crate::dictionary` says which tables they are of, `definition` how their
//! records lie, `index` finds the keys between which they lie.
//!
//! Invariant: the server's files are only opened for reading, and of each index only the levels above the leaves are
//! read (with the leaves of rows whose off-page values are hot). A page that is not placed is counted, and its table
//! named where more than a stale page is the reason.

mod definition;
mod index;

use crate::dictionary::{self, Part};
use crate::file::{Counts, Header, HotSet, IndexRanges};
use crate::page_list::{PageList, Pages};
use crate::{datadir, list};
use base::units::printable;
use base::{Error, Kind, Result, lock};
use index::Outcome;
use innodb::read::sdi::Sdi;
use run::{Run, failure};
use server::{Catalog, Filter, Identity, catalog, session};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What to save, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub source: wire::Options,
    /// The file to write.
    pub to: PathBuf,
    /// Its data directory as it is seen from here; `None`: as the server names it.
    pub datadir: Option<PathBuf>,
    /// A list that the server wrote before; `None`: it is asked for one.
    pub list: Option<PathBuf>,
    /// The directory of journals.
    pub state: PathBuf,
    /// Tables that are read at the same time.
    pub threads: usize,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file, absolute.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// What it says of itself.
    pub header: Header,
    /// Tables and partitions with hot ranges.
    pub tables: u64,
    /// Indexes with hot ranges.
    pub indexes: u64,
    /// Ranges.
    pub ranges: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// What was not placed, by name.
    pub exceptions: Vec<String>,
}

/// Saves.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let (mut conn, id) = run::connect::open(run, &options.source)?;
    if !id.is_mariadb() && !id.mysql_at_least(8, 0, 0) {
        return Err(Error::new(
            Kind::Target,
            format!("hot ranges are saved of MySQL 8.0 and later and of MariaDB, and this is {id}"),
        ));
    }
    run::connect::prepared(session::for_catalog(&mut conn, &id))?;
    let datadir = datadir::of(&id, options.datadir.as_deref())?;
    let phase = run.phase("reading definitions", 1);
    let catalog = Catalog::read(&mut conn, &id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    rows::selection::check_matched(&options.filter)?;
    drop(phase);
    let phase = run.phase("list of pages", 1);
    let listed = list::read(
        run,
        &mut conn,
        &id,
        &options.source,
        options.list.as_deref(),
        &options.state,
        &datadir,
    )?;
    let parts = dictionary::read(&mut conn, &id, &datadir)?;
    drop(phase);
    let pool = id.variable("innodb_buffer_pool_size");
    let mut header = Header {
        warm: 0,
        at: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        server: id.to_string(),
        page_size: id.innodb_page_size,
        pool: pool.and_then(|n| n.parse().ok()).unwrap_or(0),
        pages: Counts::default(),
    };
    let found = read_tables(run, options, &id, &catalog, parts, &listed)?;
    let mut pages = found.counts;
    pages.listed = listed.pages;
    let known = pages.placed + pages.above + pages.off_page + pages.not_placed;
    pages.left_out = pages.listed.saturating_sub(known);
    header.pages = pages;
    let set = HotSet {
        header,
        indexes: found.indexes,
    };
    let bytes = set.write(&options.to)?;
    let path = std::path::absolute(&options.to).unwrap_or_else(|_| options.to.clone());
    let table = |i: &IndexRanges| (i.schema.clone(), i.table.clone(), i.partition.clone());
    let mut tables: Vec<_> = set.indexes.iter().map(table).collect();
    tables.dedup();
    Ok(Summary {
        path: path.display().to_string(),
        bytes,
        tables: tables.len() as u64,
        indexes: set.indexes.len() as u64,
        ranges: set.ranges(),
        header: set.header,
        seconds: start.elapsed().as_secs_f64(),
        exceptions: found.exceptions,
    })
}

/// A table with hot pages: its parts that have any, and all of them.
struct Task<'c> {
    table: &'c catalog::Table,
    hot: Vec<Part>,
    all: Vec<Part>,
}

/// Reads the indexes of all tables that have hot pages.
fn read_tables(
    run: &Run,
    options: &Options,
    id: &Identity,
    catalog: &Catalog,
    parts: Vec<Part>,
    listed: &PageList,
) -> Result<Outcome> {
    let (mariadb, folds) = (id.is_mariadb(), id.lower_case_table_names != 0);
    let mut by_table: HashMap<(String, String), Task<'_>> = HashMap::new();
    let mut in_space: HashMap<u32, usize> = HashMap::new();
    for part in &parts {
        *in_space.entry(part.space).or_default() += 1;
    }
    let mut all = Outcome::default();
    for part in parts {
        let Some(table) = catalog.table_folded(&part.schema, &part.table, folds) else {
            continue;
        };
        let is_shared = part.space == 0 || in_space[&part.space] > 1;
        if is_shared && listed.spaces.contains_key(&part.space) {
            all.exceptions.push(printable(&format!(
                "{}: it is in a tablespace of several tables, so its hot pages have no range",
                table.qualified()
            )));
        }
        if is_shared {
            continue;
        }
        let task = by_table
            .entry((table.schema.clone(), table.name.clone()))
            .or_insert_with(|| Task {
                table,
                hot: Vec::new(),
                all: Vec::new(),
            });
        if listed.spaces.contains_key(&part.space) {
            task.hot.push(part.clone());
        }
        task.all.push(part);
    }
    let hot = |t: &Task<'_>| -> u64 {
        let pages = |p: &Part| listed.spaces.get(&p.space).map_or(0, |l| l.len() as u64);
        t.hot.iter().map(pages).sum()
    };
    let mut tasks: Vec<Task<'_>> = by_table.into_values().filter(|t| hot(t) > 0).collect();
    tasks.sort_by_key(|t| (hot(t), t.table.qualified()));
    let phase = run.phase("indexes", options.threads);
    let queue = Mutex::new(tasks);
    let done = Mutex::new(Vec::new());
    run.workers(vec![(); options.threads.max(1)], |_, (), stop| {
        loop {
            stop.check()?;
            let Some(task) = lock(&queue).pop() else {
                return Ok(());
            };
            let outcome = read_table(&task, listed, mariadb);
            phase.counters.tables.add(1);
            lock(&done).push((task.table.qualified(), outcome));
        }
    })?;
    drop(phase);
    let mut done = base::lock::into_inner(done);
    done.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, one) in done {
        add(&mut all, one);
    }
    all.exceptions.sort();
    Ok(all)
}

fn add(all: &mut Outcome, one: Outcome) {
    all.indexes.extend(one.indexes);
    all.exceptions.extend(one.exceptions);
    all.counts.placed += one.counts.placed;
    all.counts.above += one.counts.above;
    all.counts.off_page += one.counts.off_page;
    all.counts.not_placed += one.counts.not_placed;
}

/// Reads the indexes of one table: what cannot be read costs its own ranges only.
fn read_table(task: &Task<'_>, listed: &PageList, mariadb: bool) -> Outcome {
    let mut all = Outcome::default();
    let mut sdi: Option<std::result::Result<Sdi, String>> = None;
    for part in &task.hot {
        let Some(pages) = listed.spaces.get(&part.space) else {
            continue;
        };
        let outcome = match mariadb {
            true => of_mariadb(task, part, pages),
            false => {
                let sdi = sdi.get_or_insert_with(|| definition::dictionary_information(&task.all));
                match sdi {
                    Ok(sdi) => of_mysql(task, part, pages, sdi),
                    Err(why) => Err(why.clone()),
                }
            }
        };
        match outcome {
            Ok(outcome) => add(&mut all, outcome),
            Err(why) => {
                all.counts.not_placed += pages.len() as u64;
                let table = task.table.qualified();
                all.exceptions.push(printable(&format!(
                    "{table}: {} hot pages have no range: {why}",
                    pages.len()
                )));
            }
        }
    }
    all
}

fn of_mysql(
    task: &Task<'_>,
    part: &Part,
    pages: &Pages,
    sdi: &Sdi,
) -> std::result::Result<Outcome, String> {
    let table = definition::of_mysql(sdi, &task.table.name, part.space)?;
    definition::with_space(&part.path, |space| {
        index::ranges(space, part, task.table, &table, pages)
    })
}

fn of_mariadb(task: &Task<'_>, part: &Part, pages: &Pages) -> std::result::Result<Outcome, String> {
    if task.table.columns.iter().any(|c| c.versioning) {
        return Err("system versioning".to_owned());
    }
    definition::with_space(&part.path, |space| {
        let table = definition::of_mariadb(space, task.table, &part.roots)?;
        index::ranges(space, part, task.table, &table, pages)
    })
}

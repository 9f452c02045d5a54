//! `warm load`: the ranges of a file are read on another server, so that their pages are in its buffer pool.
//!
//! `plan` makes statements of ranges, `condition` their conditions, `read` runs them; `young` makes one reading enough.
//! `in_memory` runs a few of them to see how much is there already.
//!
//! Invariant: sessions are read-only and their statements return one row each; nothing of the server is set unless that was
//! asked for. A stop leaves warm what was read until then.

mod condition;
mod in_memory;
mod plan;
mod read;
mod young;

pub use in_memory::{InMemory, in_memory};

use crate::file::HotSet;
use base::{Error, Kind, Result};
use plan::Plan;
use run::throttle::{self, Throttle};
use run::{Run, failure};
use server::{Catalog, Filter, Identity, session};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::Conn;

/// The share of the pool that may be read and not yet read again, less what the server keeps free: its old part is 3/8 of it.
const OLD: f64 = 0.2;

/// What to read.
#[derive(Clone, Debug)]
pub enum Source {
    /// The ranges of this file.
    File(PathBuf),
    /// All indexes of all tables.
    WholeIndexes,
}

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub target: wire::Options,
    /// What to read.
    pub from: Source,
    /// Connections that read.
    pub threads: usize,
    /// The share of the buffer pool that may be filled, from 0 to 1.
    pub share: f64,
    /// Set `innodb_old_blocks_time` to 0 meanwhile, with the directory of journals: then one reading makes pages young.
    pub one_reading: Option<PathBuf>,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
    /// How far it may slow down other sessions of the server.
    pub throttle: throttle::Options,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server.
    pub target: String,
    /// Indexes that were read of.
    pub indexes: u64,
    /// Statements that read them.
    pub ranges: u64,
    /// Bytes of their pages, as the file counts them.
    pub bytes: u64,
    /// Bytes that the server read from its files meanwhile, for others too.
    pub bytes_read: u64,
    /// Bytes of the buffer pool.
    pub pool: u64,
    /// Bytes of ranges that there was no room for.
    pub no_room: u64,
    /// Whether each page was read a second time, to become young.
    pub twice: bool,
    /// What it cost other sessions, where that was limited.
    pub impact: Option<throttle::Report>,
    /// Seconds it took.
    pub seconds: f64,
    /// What of the file the server does not have, and what it refused to read.
    pub exceptions: Vec<String>,
}

/// Loads.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let set = match &options.from {
        Source::File(path) => Some(HotSet::read(path)?),
        Source::WholeIndexes => None,
    };
    let (mut conn, id) = run::connect::open(run, &options.target)?;
    run::connect::prepared(session::for_catalog(&mut conn, &id))?;
    let phase = run.phase("reading definitions", 1);
    let catalog = Catalog::read(&mut conn, &id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    drop(phase);
    let pool = number(&id, "innodb_buffer_pool_size").unwrap_or(0);
    let page = id.innodb_page_size.max(1);
    let kept = kept_free(&id);
    let room = room(&id, options.share);
    let folds = id.lower_case_table_names != 0;
    let plan = match &set {
        Some(set) => Plan::of_file(set, &catalog, &options.filter, folds, room),
        None => Plan::of_whole_indexes(&catalog, &options.filter),
    };
    if plan.pieces.is_empty() {
        return Err(nothing(&plan));
    }
    // It may wait there for long, with nothing set.
    let limits = &options.throttle;
    let throttle = Throttle::begin(run, limits, &options.target, &id, options.threads)?;
    let before = Counters::read(&mut conn)?;
    let tuning = match &options.one_reading {
        Some(state) => Some(young::begin(run, &mut conn, &id, &options.target, state)?),
        None => None,
    };
    let after = match (tuning.is_some(), number(&id, "innodb_old_blocks_time")) {
        (true, _) => Duration::ZERO,
        (false, time) => Duration::from_millis(time.unwrap_or(1000) + 50),
    };
    let free = (before.free * page).saturating_sub(kept);
    let wanted = plan.bytes().min(room);
    // Into free pages, nothing is evicted that was read before, and it does not matter which pages are old. The rest of
    // isolated leaves is left out there where it would evict others.
    let fits = free >= wanted;
    let twice = set.is_some() && tuning.is_none() && !fits;
    let most = ((pool as f64 * OLD) as u64).saturating_sub(kept);
    let again = read::Again {
        after,
        most: twice.then(|| most.max(pool / 16)),
        hottest: set.is_some(),
    };
    let room = set.is_some().then(|| read::Room {
        before: before.pages,
        most: if fits { room.min(free) } else { room } / page,
    });
    let (ranges, bytes, no_room) = (plan.ranges(), plan.bytes(), plan.no_room);
    let mut exceptions = plan.exceptions.clone();
    let mut read: Vec<usize> = plan.pieces.iter().map(|p| p.index).collect();
    read.sort_unstable();
    read.dedup();
    let outcome = read::all(run, options, &id, plan, again, room, throttle.as_ref());
    let outcome = outcome.map_err(|e| match run.cancel.is_raised() {
        true => e.hint("what was read stays in memory; start again to read the rest"),
        false => e,
    })?;
    exceptions.extend(outcome.refused);
    drop(tuning);
    let impact = throttle.map(Throttle::finish);
    let after = Counters::read(&mut conn)?;
    Ok(Summary {
        target: id.to_string(),
        indexes: read.len() as u64,
        ranges,
        bytes: bytes - outcome.no_room,
        bytes_read: after.bytes.saturating_sub(before.bytes),
        pool,
        no_room: no_room + outcome.no_room,
        twice,
        impact,
        seconds: start.elapsed().as_secs_f64(),
        exceptions,
    })
}

/// What the server counts of its buffer pool.
struct Counters {
    bytes: u64,
    pages: u64,
    free: u64,
}

impl Counters {
    fn read(conn: &mut Conn) -> Result<Counters> {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                   ('Innodb_data_read', 'Innodb_pages_read', 'Innodb_buffer_pool_pages_free')";
        let rows = conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot read the server's counters", e))?;
        let of = |name: &str| {
            let row = rows.iter().find(|r| {
                r.first()
                    .and_then(|c| c.as_deref())
                    .is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
            });
            let cell = row.and_then(|r| r.get(1)?.as_deref());
            cell.and_then(|c| std::str::from_utf8(c).ok()?.parse().ok())
                .unwrap_or(0)
        };
        Ok(Counters {
            bytes: of("Innodb_data_read"),
            pages: of("Innodb_pages_read"),
            free: of("Innodb_buffer_pool_pages_free"),
        })
    }
}

/// Bytes of pages that the server keeps free, by evicting others.
fn kept_free(id: &Identity) -> u64 {
    number(id, "innodb_lru_scan_depth").unwrap_or(1024)
        * number(id, "innodb_buffer_pool_instances").unwrap_or(1)
        * id.innodb_page_size.max(1)
}

/// Bytes of the pool that may be filled, of this share of it.
pub(crate) fn room(id: &Identity, share: f64) -> u64 {
    let pool = number(id, "innodb_buffer_pool_size").unwrap_or(0);
    // MySQL fills the free pages in the end, where nothing is written.
    let kept = if id.is_mariadb() { kept_free(id) } else { 0 };
    (pool.saturating_sub(kept) as f64 * share) as u64
}

fn number(id: &Identity, name: &str) -> Option<u64> {
    id.variable(name)?.parse().ok()
}

fn nothing(plan: &Plan) -> Error {
    match plan.exceptions.first() {
        Some(first) => Error::new(
            Kind::Target,
            format!("the server has nothing of what the file names; the first: {first}"),
        )
        .hint("load the tables first"),
        None => Error::new(Kind::Archive, "there is nothing to read")
            .hint("check the selection; penstock warm status FILE lists what the file holds"),
    }
}

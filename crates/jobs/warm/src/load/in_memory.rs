//! How much of a file is in a server's memory: some of its ranges are read, and what the server reads from disk meanwhile is
//! counted.
//!
//! Nothing else says it of ranges of keys: a server lists numbers of pages, which have no keys. What was read is in memory
//! after that, so the sample is small. The server counts for all sessions, so the share is the least that it can be.

use super::plan::{Piece, Plan};
use super::{Counters, read};
use crate::file::HotSet;
use base::Result;
use base::units::printable;
use run::{Run, failure};
use server::{Catalog, Filter, Identity};
use wire::Conn;

/// What was found.
#[derive(Clone, Debug)]
pub struct InMemory {
    /// Hot pages of the file.
    pub hot: u64,
    /// Ranges that were read.
    pub ranges: u64,
    /// Their pages, as the file counts them.
    pub pages: u64,
    /// Pages that the server read from disk meanwhile.
    pub read: u64,
    /// What of the file the server does not have.
    pub exceptions: Vec<String>,
}

impl InMemory {
    /// The share of the pages that were in memory, at least.
    pub fn share(&self) -> f64 {
        1.0 - self.read.min(self.pages) as f64 / self.pages.max(1) as f64
    }
}

/// Reads up to `most` pieces, chosen evenly.
pub fn in_memory(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    target: &wire::Options,
    set: &HotSet,
    most: usize,
) -> Result<InMemory> {
    let everything = Filter::default();
    let catalog = Catalog::read(conn, id, &everything)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    let folds = id.lower_case_table_names != 0;
    let plan = Plan::of_file(set, &catalog, &everything, folds, u64::MAX);
    // The rest of an isolated leaf may be in another one here.
    let pieces: Vec<&Piece> = plan.pieces.iter().filter(|p| p.bytes > 0).collect();
    let count = pieces.len();
    let is_chosen = |n: usize| count <= most || (n + 1) * most / count > n * most / count;
    let chosen = pieces
        .into_iter()
        .enumerate()
        .filter(|(n, _)| is_chosen(*n));
    let chosen: Vec<&Piece> = chosen.map(|(_, p)| p).collect();
    let phase = run.phase("sample of ranges", 1);
    let mut reader = read::connect(run, target, id)?;
    let mut found = InMemory {
        hot: set.indexes.iter().map(|i| i.pages()).sum(),
        ranges: 0,
        pages: 0,
        read: 0,
        exceptions: plan.exceptions.clone(),
    };
    // Opening a table reads pages that are in no range.
    let mut opened: Vec<usize> = chosen.iter().map(|p| p.index).collect();
    opened.sort_unstable();
    opened.dedup();
    for index in opened {
        if let Some(piece) = chosen.iter().find(|p| p.index == index) {
            match reader.execute(format!("EXPLAIN {}", piece.sql)) {
                // Reading it says the same again.
                Ok(_) | Err(wire::Error::Server(_)) => {}
                Err(e) => return Err(failure::wire("cannot read a range", e)),
            }
        }
    }
    let before = Counters::read(conn)?.pages;
    for piece in chosen {
        run.check()?;
        match reader.execute(&piece.sql) {
            Ok(_) => {
                found.ranges += piece.ranges;
                found.pages += piece.bytes / set.header.page_size;
                phase.counters.bytes.add(piece.bytes);
            }
            Err(wire::Error::Server(e)) => {
                let name = &plan.names[piece.index];
                found.exceptions.push(printable(&format!("{name}: {e}")));
            }
            Err(e) => return Err(failure::wire("cannot read a range", e)),
        }
    }
    found.read = Counters::read(conn)?.pages.saturating_sub(before);
    found.exceptions.dedup();
    Ok(found)
}

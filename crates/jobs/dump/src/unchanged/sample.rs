//! A sample of what is taken over from an earlier dump, read in the new snapshot and compared.

use crate::tables::TableState;
use archive::RowDigest;
use archive::manifest::{ChunkEntry, TableRecord};
use base::Result;
use base::units::printable;
use rows::key_ranges::KeyRange;
use run::{Run, failure};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use wire::Conn;

/// One range in this many is read, and at least one of each table.
const ONE_IN: usize = 20;

/// How often the reader checks whether to stop, in rows.
const CHECK_EVERY: u64 = 2048;

/// Reads some ranges of each table; the number of rows, or what differs.
pub fn compare<'a>(
    run: &Run,
    conn: &mut Conn,
    tables: impl Iterator<Item = (&'a TableState, &'a TableRecord)>,
) -> Result<std::result::Result<u64, String>> {
    let phase = run.phase("comparing a sample of what is taken over", 1);
    for (table, record) in tables {
        // A range may be in several files.
        let mut ranges: BTreeMap<_, Vec<&ChunkEntry>> = BTreeMap::new();
        for chunk in &record.chunks {
            let whole = chunk.from.is_none() && chunk.to.is_none();
            // The empty file that closes a series says nothing.
            if !(whole && chunk.rows == 0 && record.chunks.len() > 1) {
                let of = (&chunk.partition, &chunk.from, &chunk.to);
                ranges.entry(of).or_default().push(chunk);
            }
        }
        let ranges: Vec<_> = ranges.into_iter().collect();
        let count = ranges.len().div_ceil(ONE_IN);
        let begin = random(ranges.len());
        for ((partition, from, to), chunks) in ranges.iter().cycle().skip(begin).take(count) {
            run.check()?;
            let Some(series) = table.series.iter().find(|s| s.partition == **partition) else {
                continue;
            };
            let range = match &series.plan.key {
                Some(key) => KeyRange::of_record(from.as_deref(), to.as_deref(), key),
                None => Some(KeyRange::whole()),
            };
            let mut wanted = RowDigest::new();
            for digest in chunks.iter().filter_map(|c| c.digest()) {
                wanted.merge(&digest);
            }
            let found = match &range {
                Some(range) => digest(
                    run,
                    conn,
                    &series.plan.name,
                    series.plan.select(range),
                    &phase.counters,
                )?,
                None => continue,
            };
            if found != wanted {
                return Ok(Err(printable(&format!(
                    "{} has other rows than the earlier backup, and nothing in the log changed it",
                    series.plan.name
                ))));
            }
        }
    }
    Ok(Ok(phase.counters.rows.get()))
}

fn digest(
    run: &Run,
    conn: &mut Conn,
    name: &str,
    sql: String,
    counters: &base::Counters,
) -> Result<RowDigest> {
    let lost = |e| failure::wire(format_args!("cannot read {name}"), e);
    let mut digest = RowDigest::new();
    let mut rows = conn.query_bulk(sql).map_err(lost)?;
    while let Some(row) = rows.next().map_err(lost)? {
        digest.add(row.payload());
        if digest.rows().is_multiple_of(CHECK_EVERY) {
            run.check()?;
            counters.rows.add(CHECK_EVERY);
        }
    }
    counters.rows.add(digest.rows() % CHECK_EVERY);
    Ok(digest)
}

/// A number below this one.
fn random(below: usize) -> usize {
    // Seeded by the system for every map.
    let hasher = std::collections::hash_map::RandomState::new().build_hasher();
    (hasher.finish() as usize).checked_rem(below).unwrap_or(0)
}

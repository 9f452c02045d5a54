//! The hot ranges of one table or partition: which of its leaves are in the list, and between which keys they lie.

use crate::dictionary::Part;
use crate::file::{Counts, IndexColumn, IndexRanges, Range, Value};
use crate::page_list::Pages;
use base::units::printable;
use innodb::page::{fil, kind, u16_at};
use innodb::read::nodes::{self, Key, Nodes};
use innodb::read::{Error, Field, Index, Table, Tablespace, Values, Window};
use server::catalog;
use std::collections::HashSet;

/// Leaves of a range at most: a larger one is several, so that each has a heat of its own, and reading one is soon over.
const LEAVES: u32 = 64;

/// Pages that one page of extent descriptors describes, of the smallest page size on; the first two of each so many are
/// descriptors and the bitmap of the change buffer.
const DESCRIBED: u32 = 16_384;

/// Pages that are looked at to say what those are that no index has.
const SAMPLE: usize = 64;

/// Types of pages of off-page values: chains, and MySQL's first, index and data pages (fil0fil.h).
const OFF_PAGE: [u16; 4] = [kind::BLOB, 22, 23, kind::LOB_FIRST];

/// What became of the pages of a part.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Indexes with hot ranges.
    pub indexes: Vec<IndexRanges>,
    /// Its pages.
    pub counts: Counts,
    /// What was not placed, and why.
    pub exceptions: Vec<String>,
}

/// A range, and which leaves it is of.
struct Run {
    heat: u64,
    leaves: Vec<u32>,
    from: Option<Key>,
    to: Option<Key>,
}

/// Finds the ranges. An error is about the whole part.
pub fn ranges(
    space: &Tablespace<'_>,
    part: &Part,
    described: &catalog::Table,
    table: &Table,
    pages: &Pages,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let mut seen = HashSet::new();
    let name = match &part.partition {
        Some(p) => format!("{} partition {p}", described.qualified()),
        None => described.qualified(),
    };
    let mut of_rows: Option<(IndexRanges, Vec<Vec<u32>>, u64)> = None;
    let all = std::iter::once(&table.clustered).chain(&table.secondary);
    for (n, index) in all.enumerate() {
        let mut found = IndexRanges {
            schema: described.schema.clone(),
            table: described.name.clone(),
            partition: part.partition.clone(),
            index: index.name.clone(),
            clustered: n == 0,
            own: 0,
            columns: Vec::new(),
            loose: false,
            leaves: 0,
            ranges: Vec::new(),
        };
        columns(&mut found, described, table, index);
        let mut runs: Vec<Run> = Vec::new();
        let mut open = false;
        let nodes = Nodes::walk(space, index, table.redundant, &mut |leaf, from, to| {
            found.leaves += 1;
            let Some(heat) = pages.get(&leaf) else {
                open = false;
                return;
            };
            seen.insert(leaf);
            match runs.last_mut() {
                // Between them may be leaves that could not be read of.
                Some(run)
                    if open && run.leaves.len() < LEAVES as usize && run.to.as_ref() == from =>
                {
                    run.heat += u64::from(*heat);
                    run.leaves.push(leaf);
                    run.to = to.cloned();
                }
                _ => runs.push(Run {
                    heat: (*heat).into(),
                    leaves: vec![leaf],
                    from: from.cloned(),
                    to: to.cloned(),
                }),
            }
            open = true;
        });
        let nodes = match nodes {
            Ok(nodes) => nodes,
            Err(e @ Error::Io(_)) => return Err(e),
            Err(e) => {
                let what = format!("{name}, index {}: {e}", index.name);
                outcome.exceptions.push(printable(&what));
                continue;
            }
        };
        if let Some(first) = nodes.lost.first() {
            let what = format!(
                "{name}, index {}: leaves below {} pages are not known; the first: {first}",
                index.name,
                nodes.lost.len()
            );
            outcome.exceptions.push(printable(&what));
        }
        for page in &nodes.above {
            outcome.counts.above += u64::from(pages.contains_key(page) && seen.insert(*page));
        }
        let hot: u64 = runs.iter().map(|r| r.leaves.len() as u64).sum();
        if found.columns.is_empty() && !runs.is_empty() {
            outcome.counts.not_placed += hot;
            outcome.exceptions.push(printable(&format!(
                "{name}: its rows have no key that a statement can name, so {hot} hot pages have no range"
            )));
            continue;
        }
        let mut leaves = Vec::new();
        for run in runs {
            match range(&run, index, table, described, found.columns.len()) {
                Some(range) => {
                    found.ranges.push(range);
                    leaves.push(run.leaves);
                }
                None => outcome.counts.not_placed += run.leaves.len() as u64,
            }
        }
        outcome.counts.placed += found.hot();
        if n == 0 {
            of_rows = Some((found, leaves, nodes.id));
        } else if !found.ranges.is_empty() {
            outcome.indexes.push(found);
        }
    }
    let mut rest: Vec<u32> = pages
        .keys()
        .filter(|p| !seen.contains(p))
        .copied()
        .collect();
    let all = rest.len();
    rest.retain(|p| p % DESCRIBED > 1 && *p != 2);
    rest.sort_unstable();
    outcome.counts.above += (all - rest.len()) as u64;
    let long = long_values(space, &rest)?;
    let others = rest.len() as u64 - long;
    outcome.counts.off_page += long;
    outcome.counts.not_placed += others;
    if others > 0 && !table.unread.is_empty() {
        let each = table.unread.iter();
        let list: Vec<String> = each
            .map(|(index, why)| format!("{index} ({why})"))
            .collect();
        outcome.exceptions.push(printable(&format!(
            "{name}: not read: {}; about {others} hot pages have no range",
            list.join(", ")
        )));
    }
    if let Some((mut found, leaves, id)) = of_rows {
        if long > 0 {
            off_page(space, table, id, &mut found, &leaves, (&rest, long))?;
        }
        if !found.ranges.is_empty() {
            outcome.indexes.insert(0, found);
        }
    }
    Ok(outcome)
}

/// The columns that bounds have values of: those of the index, as far as a statement can name them.
fn columns(found: &mut IndexRanges, described: &catalog::Table, table: &Table, index: &Index) {
    let key = described.keys.iter().find(|k| k.name == index.name);
    let rows = described
        .keys
        .iter()
        .find(|k| k.name == table.clustered.name);
    let own = key.map_or(0, |k| k.parts.len());
    for (n, field) in index.fields[..index.branch].iter().enumerate() {
        let named = field
            .column
            .map(|c| &table.columns[c])
            .filter(|c| !c.hidden && matches!(c.values, Values::Stored(_)));
        let Some(column) = named.and_then(|c| described.column(&c.name)) else {
            found.loose = true;
            break;
        };
        let part = match n < own {
            true => key.and_then(|k| k.parts.get(n)),
            // What follows its own columns is of the key of the rows, in that key's direction.
            false => rows.and_then(|k| {
                let is = |p: &&catalog::KeyPart| p.column.as_deref() == Some(&column.name);
                k.parts.iter().find(is)
            }),
        };
        found.columns.push(IndexColumn {
            name: column.name.clone(),
            data_type: column.data_type.clone(),
            collation: column.collation.clone(),
            prefix: field.prefix != 0,
            desc: part.is_some_and(|p| p.descending),
        });
    }
    found.own = own.min(found.columns.len());
}

fn range(
    run: &Run,
    index: &Index,
    table: &Table,
    described: &catalog::Table,
    columns: usize,
) -> Option<Range> {
    let bound = |key: &Option<Key>| -> Option<Option<Vec<Value>>> {
        let Some(key) = key else { return Some(None) };
        let fields = index.fields.iter().zip(key).take(columns);
        let values =
            fields.map(|(field, stored)| value(field, table, described, stored.as_deref()));
        values.collect::<Option<_>>().map(Some)
    };
    let (from, to) = (bound(&run.from)?, bound(&run.to)?);
    Some(Range {
        heat: (run.heat / run.leaves.len() as u64) as u16,
        leaves: run.leaves.len() as u32,
        off_page: 0,
        from,
        to,
    })
}

/// A stored value as bounds have it; `None` is what is no value of its column.
fn value(
    field: &Field,
    table: &Table,
    described: &catalog::Table,
    stored: Option<&[u8]>,
) -> Option<Value> {
    let Some(stored) = stored else {
        return Some(None);
    };
    let column = &table.columns[field.column?];
    let Values::Stored(of) = &column.values else {
        return None;
    };
    if field.prefix != 0 {
        return Some(Some(stored.to_vec()));
    }
    // Statements compare them by number.
    if matches!(
        described.column(&column.name)?.data_type.as_str(),
        "enum" | "set" | "bit"
    ) {
        let number = stored
            .iter()
            .try_fold(0u64, |n, b| Some(n.checked_mul(256)? + u64::from(*b)));
        return Some(Some(number?.to_string().into_bytes()));
    }
    let mut cell = Vec::new();
    of.cell(stored, &mut cell).ok()?;
    // A length of one byte or, after 0xfc, of two: no key is longer.
    let text = match cell.as_slice() {
        [0xfc, _, _, text @ ..] => text,
        [0..=0xfa, text @ ..] => text,
        _ => return None,
    };
    Some(Some(text.to_vec()))
}

/// How many of these pages are of off-page values, by a sample of them. What is of neither a value nor an index that was
/// walked is a leaf that is newer than the levels above it, or a page of an index that is not read.
fn long_values(space: &Tablespace<'_>, rest: &[u32]) -> Result<u64, Error> {
    let mut window = Window::default();
    let step = rest.len().div_ceil(SAMPLE).max(1);
    let (mut read, mut long) = (0, 0);
    for page in rest.iter().step_by(step) {
        read += 1;
        match space.raw(&mut window, *page) {
            Ok(bytes) => long += u64::from(OFF_PAGE.contains(&u16_at(bytes, fil::TYPE))),
            // The file has grown since it was opened.
            Err(e) => drop(e.not_io()?),
        }
    }
    Ok(match read {
        0 => 0,
        read => rest.len() as u64 * long / read,
    })
}

/// Counts, for each range of the clustered index, the hot pages of its rows' off-page values. The leaves are hot, so the
/// system is likely to have them in memory.
fn off_page(
    space: &Tablespace<'_>,
    table: &Table,
    id: u64,
    found: &mut IndexRanges,
    leaves: &[Vec<u32>],
    (rest, long): (&[u32], u64),
) -> Result<(), Error> {
    let rest: HashSet<u32> = rest.iter().copied().collect();
    let mut firsts: Vec<u64> = Vec::new();
    for leaves in leaves {
        let mut hot = HashSet::new();
        for leaf in leaves {
            match nodes::off_page(space, &table.clustered, table.redundant, id, *leaf) {
                Ok(pages) => hot.extend(pages.into_iter().filter(|p| rest.contains(p))),
                // It has changed its use since: its rows are elsewhere now.
                Err(e) => drop(e.not_io()?),
            }
        }
        firsts.push(hot.len() as u64);
    }
    // Only the first page of a value is known here; the others of the rest are thought to follow them evenly.
    let all: u64 = firsts.iter().sum();
    for (range, firsts) in found.ranges.iter_mut().zip(firsts) {
        if firsts > 0 {
            let pages = (long * firsts / all).max(1);
            range.off_page = u32::try_from(pages).unwrap_or(u32::MAX);
        }
    }
    Ok(())
}

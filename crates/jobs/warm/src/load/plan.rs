//! What is read on the target: each range of the file as a statement, the hottest first, as much as the pool holds.

use super::condition::{Part as KeyPart, condition};
use crate::file::{HotSet, IndexRanges, Range};
use crate::page_list::COLDEST;
use base::units::printable;
use rows::key_ranges::KeyColumn;
use server::catalog::{Catalog, Column, Key, Table};
use server::{Filter, quote};

/// Ranges of about one heat are read in the order of keys, which disks like better; there are so many steps of heat.
const BANDS: usize = 4;

/// Columns of longer values may have them off-page.
const SHORT: u64 = 255;

/// Ranges that one statement reads at most, where each is a page or two.
const TOGETHER: usize = 32;

/// What one statement reads.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The place of its index in [`Plan::names`].
    pub index: usize,
    /// The statement.
    pub sql: String,
    /// How many ranges it reads.
    pub ranges: u64,
    /// Bytes of the pages that the file names for it.
    pub bytes: u64,
    /// Bytes that it may read, for the rate limit.
    pub reads: u64,
    /// Whether it is of the hotter half.
    pub is_hottest: bool,
}

/// A range, or the beginning or the rest of one.
struct Part {
    index: usize,
    condition: String,
    with_long: bool,
    /// Whether it is read together with others.
    short: bool,
    bytes: u64,
    reads: u64,
    heat: u16,
    /// The step in which it is read, and within that its place in the file, which has the ranges of an index in the
    /// order of keys.
    order: (usize, usize),
    is_rest: bool,
}

/// All that is to be read.
#[derive(Debug, Default)]
pub struct Plan {
    /// The indexes in words.
    pub names: Vec<String>,
    /// What to read, in this order.
    pub pieces: Vec<Piece>,
    /// Bytes of ranges that the pool has no room for.
    pub no_room: u64,
    /// What of the file this server does not have.
    pub exceptions: Vec<String>,
}

/// An index of the file as this server has it.
struct Target {
    from: String,
    index: String,
    parts: Vec<KeyPart>,
    /// Columns whose values may be off-page.
    long: Vec<String>,
    /// Ends the reading of an entry before its row is looked up.
    guard: String,
    loose: bool,
}

impl Plan {
    /// Of a file: what the catalog has, up to `most` bytes.
    pub fn of_file(
        set: &HotSet,
        catalog: &Catalog,
        filter: &Filter,
        folds: bool,
        most: u64,
    ) -> Plan {
        let mut plan = Plan::default();
        let mut targets: Vec<Target> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for of in &set.indexes {
            if !filter.table(&of.schema, &of.table) {
                continue;
            }
            let name = name(of);
            match target(of, catalog, folds) {
                Ok(target) => {
                    for range in &of.ranges {
                        target.parts_of(range, set.header.page_size, targets.len(), &mut parts);
                    }
                    targets.push(target);
                    plan.names.push(name);
                }
                Err(why) => plan.exceptions.push(printable(&format!("{name}: {why}"))),
            }
        }
        plan.no_room = within(&mut parts, most);
        plan.pieces = pieces(parts, &targets);
        plan
    }

    /// Every index of every table, the smallest first: what a warm-up without a file is.
    pub fn of_whole_indexes(catalog: &Catalog, filter: &Filter) -> Plan {
        let mut plan = Plan::default();
        let mut tables: Vec<&Table> = (catalog.tables())
            .filter(|t| t.engine.eq_ignore_ascii_case("InnoDB") && filter.table(&t.schema, &t.name))
            .collect();
        tables.sort_by_key(|t| t.data_bytes + t.index_bytes);
        for table in tables {
            let trees = table
                .keys
                .iter()
                .filter(|k| k.index_type.eq_ignore_ascii_case("BTREE"));
            let trees: Vec<&Key> = trees.filter(|k| k.primary || k.visible).collect();
            let others = trees.iter().filter(|k| !k.primary).count().max(1) as u64;
            if !trees.iter().any(|k| k.primary) {
                plan.whole(table, "", table.data_bytes);
            }
            for key in trees {
                let bytes = match key.primary {
                    true => table.data_bytes,
                    false => table.index_bytes / others,
                };
                plan.whole(table, &key.name, bytes);
            }
        }
        plan
    }

    fn whole(&mut self, table: &Table, index: &str, bytes: u64) {
        let force = match index {
            "" => String::new(),
            name => format!(" FORCE INDEX ({})", quote::ident(name)),
        };
        self.pieces.push(Piece {
            index: self.names.len(),
            sql: format!(
                "{} FROM {}{force}",
                SELECT.replace("{}", "SUM(1)"),
                table.qualified()
            ),
            ranges: 1,
            bytes,
            reads: bytes,
            is_hottest: false,
        });
        self.names
            .push(printable(&format!("{} {index}", table.qualified())));
    }

    /// Bytes of all that is to be read.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|p| p.bytes).sum()
    }

    /// How many ranges it reads.
    pub fn ranges(&self) -> u64 {
        self.pieces.iter().map(|p| p.ranges).sum()
    }
}

/// COUNT(*) without a condition is answered by MySQL in its own way, whatever index is named; a sum is not.
const SELECT: &str = "SELECT /*!40001 SQL_NO_CACHE */ {}";

/// Leaves out the coldest parts, for which there is no room; returns their bytes.
fn within(parts: &mut Vec<Part>, most: u64) -> u64 {
    parts.sort_by_key(|p| p.heat);
    let mut sum = 0;
    let end = parts.iter().position(|p| {
        sum += p.bytes;
        sum > most
    });
    let left_out = parts.split_off(end.unwrap_or(parts.len()));
    left_out.iter().map(|p| p.bytes).sum()
}

/// The statements, in the order in which they are sent.
fn pieces(mut parts: Vec<Part>, targets: &[Target]) -> Vec<Piece> {
    parts.sort_by_key(|p| p.order);
    let mut pieces = Vec::new();
    let together = |a: &Part, b: &Part| {
        a.short && b.short && (a.index, a.order.0, a.is_rest) == (b.index, b.order.0, b.is_rest)
    };
    for group in parts.chunk_by(together) {
        for group in group.chunks(if group[0].short { TOGETHER } else { 1 }) {
            let condition = match group {
                [one] => one.condition.clone(),
                all => {
                    let each = all.iter().map(|p| format!("({})", p.condition));
                    format!("({})", each.collect::<Vec<_>>().join(" OR "))
                }
            };
            let first = &group[0];
            pieces.push(Piece {
                index: first.index,
                sql: targets[first.index].select(&condition, first.with_long),
                ranges: group.iter().filter(|p| !p.is_rest).count() as u64,
                bytes: group.iter().map(|p| p.bytes).sum(),
                reads: group.iter().map(|p| p.reads).sum(),
                is_hottest: !first.is_rest && usize::from(first.heat) * 2 <= usize::from(COLDEST),
            });
        }
    }
    pieces
}

impl Target {
    /// What is read of a range, and when.
    ///
    /// Leaves here begin at other keys than there. What was one leaf there lies in two here, as a rule, so an isolated one is
    /// read in two steps: first the leaf that its first key is in, and the rest after the hotter ranges and the next
    /// ones, while there is room.
    fn parts_of(&self, range: &Range, page: u64, index: usize, parts: &mut Vec<Part>) {
        let band = usize::from(range.heat) * BANDS / (usize::from(COLDEST) + 1);
        let place = parts.len();
        let bytes = (u64::from(range.leaves) + u64::from(range.off_page)) * page;
        let (from, to) = (range.from.as_deref(), range.to.as_deref());
        let is_exact = !self.loose && self.parts.iter().all(|p| !p.is_prefix());
        let whole = Part {
            index,
            condition: condition(&self.parts, from, to, self.loose),
            with_long: range.off_page > 0,
            short: false,
            bytes,
            reads: bytes,
            heat: range.heat,
            order: (2 * band, place),
            is_rest: false,
        };
        if range.leaves > 1 || range.off_page > 0 || from.is_none() || !is_exact {
            parts.push(whole);
            return;
        }
        parts.push(Part {
            condition: condition(&self.parts, from, from, true),
            short: true,
            ..whole
        });
        parts.push(Part {
            index,
            condition: condition(&self.parts, from, to, self.loose),
            with_long: false,
            short: true,
            bytes: 0,
            reads: page,
            heat: range.heat,
            order: (2 * band + 3, place),
            is_rest: true,
        });
    }

    fn select(&self, condition: &str, with_long: bool) -> String {
        let what = match with_long && !self.long.is_empty() {
            true => self.long.join(", "),
            false => "SUM(1)".to_owned(),
        };
        let mut sql = SELECT.replace("{}", &what);
        sql += &format!(
            " FROM {} FORCE INDEX ({})",
            self.from,
            quote::ident(&self.index)
        );
        match (condition, self.guard.as_str()) {
            ("", "") => {}
            ("", guard) => sql += &format!(" WHERE {guard}"),
            (condition, "") => sql += &format!(" WHERE {condition}"),
            (condition, guard) => sql += &format!(" WHERE {condition} AND {guard}"),
        }
        sql
    }
}

fn name(of: &IndexRanges) -> String {
    let table = quote::qualified(&of.schema, &of.table);
    match &of.partition {
        Some(p) => format!("{table} partition {p}, index {}", of.index),
        None => format!("{table}, index {}", of.index),
    }
}

/// Finds an index on the target; the error says what is missing.
fn target(of: &IndexRanges, catalog: &Catalog, folds: bool) -> Result<Target, String> {
    let table = catalog
        .table_folded(&of.schema, &of.table, folds)
        .ok_or("there is no such table")?;
    let own: Vec<&str> = of.columns[..of.own]
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    let is_same = |k: &&Key| {
        k.columns().take(of.own).eq(own.iter().copied())
            && k.parts.len() >= of.own
            && k.index_type.eq_ignore_ascii_case("BTREE")
            && (k.visible || k.primary)
    };
    let by_name = table
        .keys
        .iter()
        .filter(|k| k.name == of.index)
        .find(is_same);
    // Columns that were not recorded (an expression, say) cannot be compared.
    let is_as_long = |k: &&Key| {
        let own = of.columns[..of.own].iter().map(|c| c.desc);
        of.own > 0 && k.parts.len() == of.own && k.parts.iter().map(|p| p.descending).eq(own)
    };
    let key = by_name.or_else(|| table.keys.iter().filter(is_as_long).find(is_same));
    let named = table.keys.iter().find(|k| k.name == of.index);
    let key = key.ok_or_else(|| match named {
        Some(k) if !k.visible && !k.primary => "it is invisible".to_owned(),
        Some(_) => format!("its columns were {}, and are others now", own.join(", ")),
        None => "there is no such index".to_owned(),
    })?;
    let rows: Vec<&str> = table.primary_columns();
    let mut parts = Vec::new();
    let mut loose = of.loose;
    for (n, c) in of.columns.iter().enumerate() {
        // The key of the rows, which follows in every index, may be another one here.
        if n >= of.own && !rows.contains(&c.name.as_str()) {
            loose = true;
            break;
        }
        let column = table
            .column(&c.name)
            .ok_or_else(|| format!("there is no column {}", c.name))?;
        if column.data_type != c.data_type {
            return Err(format!(
                "column {} was {}, and is {} now",
                c.name, c.data_type, column.data_type
            ));
        }
        let known = KeyColumn::of(column)
            .ok_or_else(|| format!("column {} is of a type without an order", c.name))?;
        parts.push(KeyPart::new(known, c));
    }
    let partition = of.partition.as_ref().filter(|p| {
        let same = |q: &server::catalog::Partition| q.name.eq_ignore_ascii_case(p);
        table.partitions.iter().any(same)
    });
    let from = match partition {
        Some(p) => format!("{} PARTITION ({})", table.qualified(), quote::ident(p)),
        None => table.qualified(),
    };
    let is_long = |c: &&Column| {
        let stored = !c.generated || c.stored;
        stored
            && (c.octet_length.is_some_and(|n| n > SHORT)
                || c.is_spatial()
                || c.data_type == "json")
    };
    let long = match of.clustered {
        true => (table.columns.iter().filter(is_long))
            .map(|c| format!("SUM(LENGTH({}))", quote::ident(&c.name)))
            .collect(),
        false => Vec::new(),
    };
    // An index on a prefix does not have the value that a condition is about: the row would be looked up for it. A
    // condition that is of the row's key alone, and never true, is checked before.
    let guard = match (
        !key.primary && of.columns.iter().any(|c| c.prefix),
        rows.first(),
    ) {
        (true, Some(column)) => format!("CRC32({}) > 4294967295", quote::ident(column)),
        _ => String::new(),
    };
    Ok(Target {
        from,
        index: key.name.clone(),
        parts,
        long,
        guard,
        loose,
    })
}

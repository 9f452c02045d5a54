//! What is read on the target: each range of the file as a statement, the hottest first, as much as the pool holds.

use super::condition::{Part, condition};
use crate::file::{HotSet, IndexRanges};
use crate::page_list::COLDEST;
use base::units::printable;
use rows::key_ranges::KeyColumn;
use server::catalog::{Catalog, Column, Key, Table};
use server::{Filter, quote};

/// Ranges of about one heat are read in the order of keys, which disks like better; there are so many steps of heat.
const BANDS: usize = 4;

/// Columns of longer values may have them off-page.
const SHORT: u64 = 255;

/// A range to read.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The place of its index in [`Plan::names`].
    pub index: usize,
    /// The statement that reads it.
    pub sql: String,
    /// Bytes of its pages.
    pub bytes: u64,
    band: usize,
    heat: u16,
    /// Its place in the file, which has the ranges of an index in the order of keys.
    place: usize,
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
    parts: Vec<Part>,
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
        let page = set.header.page_size.max(1);
        for of in &set.indexes {
            if !filter.table(&of.schema, &of.table) {
                continue;
            }
            let name = name(of);
            let target = match target(of, catalog, folds) {
                Ok(target) => target,
                Err(why) => {
                    plan.exceptions.push(printable(&format!("{name}: {why}")));
                    continue;
                }
            };
            for range in &of.ranges {
                let condition = condition(
                    &target.parts,
                    range.from.as_deref(),
                    range.to.as_deref(),
                    target.loose,
                );
                plan.pieces.push(Piece {
                    index: plan.names.len(),
                    sql: target.select(&condition, range.off_page > 0),
                    bytes: (u64::from(range.leaves) + u64::from(range.off_page)) * page,
                    band: usize::from(range.heat) * BANDS / (usize::from(COLDEST) + 1),
                    heat: range.heat,
                    place: plan.pieces.len(),
                });
            }
            plan.names.push(name);
        }
        plan.within(most);
        plan
    }

    /// Leaves out what there is no room for: the coldest.
    fn within(&mut self, most: u64) {
        self.pieces.sort_by_key(|p| p.heat);
        let mut sum = 0;
        let end = self.pieces.iter().position(|p| {
            sum += p.bytes;
            sum > most
        });
        let left_out = self.pieces.split_off(end.unwrap_or(self.pieces.len()));
        self.no_room = left_out.iter().map(|p| p.bytes).sum();
        self.pieces.sort_by_key(|p| (p.band, p.place));
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
            bytes,
            band: 0,
            heat: 0,
            place: 0,
        });
        self.names
            .push(printable(&format!("{} {index}", table.qualified())));
    }

    /// Bytes of all that is to be read.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|p| p.bytes).sum()
    }
}

/// COUNT(*) without a condition is answered by MySQL in its own way, whatever index is named; a sum is not.
const SELECT: &str = "SELECT /*!40001 SQL_NO_CACHE */ {}";

impl Target {
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
    let key = key.ok_or_else(|| match table.keys.iter().any(|k| k.name == of.index) {
        true => format!("its columns were {}, and are others now", own.join(", ")),
        false => "there is no such index".to_owned(),
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
        parts.push(Part::new(known, c));
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

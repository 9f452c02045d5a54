//! Values that a server computed once and keeps: stored generated columns, and virtual ones in an index.
//!
//! An archive has no values of generated columns: a server does not take them, it computes them. But an
//! expression may depend on the session that computes it (time zone, sql_mode, div_precision_increment,
//! lc_time_names), and then the copy has other values than the source, or an index in which rows are
//! looked up in vain. So these values are digested, each with the row's primary key, and compared.
//!
//! What it does not do: read virtual columns without an index, which have no kept value; and indexes whose values no
//! statement gives back (on an expression, on the beginning of a virtual column), which are named instead.

use crate::table_plan::{RowChoice, narrowed};
use archive::RowDigest;
use base::Result;
use base::units::printable;
use run::failure;
use server::catalog::{Column, Key, Table};
use server::quote;
use wire::Conn;

/// The zone that times are computed in.
pub const TIME_ZONE: &str = "time_zone";

/// The zone of the server's host, which is meant by `SYSTEM`.
pub const SYSTEM_TIME_ZONE: &str = "system_time_zone";

/// Settings that the value of an expression may depend on.
pub const SETTINGS: [&str; 5] = [
    TIME_ZONE,
    "sql_mode",
    "lc_time_names",
    "div_precision_increment",
    "default_week_format",
];

/// A kept value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The generated column.
    pub column: String,
    /// The index that keeps it; `None` for a stored column, which the row keeps.
    pub index: Option<String>,
}

/// A SELECT that reads kept values.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The table, quoted.
    table: String,
    sql: String,
    /// Columns before the values: those of the primary key.
    key_columns: usize,
    values: Vec<Kept>,
}

/// The SELECTs that read all kept values of a table, each value with these columns, which identify a row.
pub fn readings(table: &Table, key: &[&str]) -> Vec<Reading> {
    let computed: Vec<&Column> = table
        .columns
        .iter()
        .filter(|c| c.generated && !c.versioning)
        .collect();
    let (stored, virtuals): (Vec<&Column>, Vec<&Column>) =
        computed.into_iter().partition(|c| c.stored);
    let mut readings = Vec::new();
    if !stored.is_empty() {
        readings.push(Reading::new(table, key, &stored, None));
    }
    for column in virtuals {
        let index = table.keys.iter().find(|k| keeps(k, &column.name));
        readings.extend(index.map(|k| Reading::new(table, key, &[column], Some(k))));
    }
    readings
}

/// Names of the indexes that keep computed values which no statement reads from them.
pub fn unread_indexes(table: &Table) -> Vec<String> {
    let computed = |name: &str| table.column(name).is_some_and(|c| c.generated && !c.stored);
    let unread = |key: &&Key| {
        key.parts.iter().any(|p| match &p.column {
            None => p.expression,
            Some(column) => computed(column) && !keeps(key, column),
        })
    };
    let keys = table.keys.iter().filter(unread);
    keys.map(|k| k.name.clone()).collect()
}

/// Whether the whole value of a column can be read from an index alone.
fn keeps(key: &Key, column: &str) -> bool {
    let whole =
        |p: &server::catalog::KeyPart| p.column.as_deref() == Some(column) && p.prefix.is_none();
    !key.primary && key.visible && key.index_type == "BTREE" && key.parts.iter().any(whole)
}

impl Reading {
    fn new(table: &Table, key: &[&str], columns: &[&Column], index: Option<&Key>) -> Reading {
        let key: Vec<&Column> = key.iter().filter_map(|name| table.column(name)).collect();
        let items: Vec<String> = key
            .iter()
            .chain(columns)
            .map(|c| c.select_expression())
            .collect();
        let mut sql = format!("SELECT {} FROM {}", items.join(","), table.qualified());
        if let Some(index) = index {
            sql += &format!(" FORCE INDEX ({})", quote::ident(&index.name));
        }
        Reading {
            table: table.qualified(),
            sql,
            key_columns: key.len(),
            values: columns
                .iter()
                .map(|c| Kept {
                    column: c.name.clone(),
                    index: index.map(|k| k.name.clone()),
                })
                .collect(),
        }
    }

    /// Of these rows alone.
    pub fn choose(&mut self, choice: &RowChoice) {
        // It ends with the table, or with the index that is read.
        let from = format!(" FROM {}", self.table);
        if let Some(at) = self.sql.rfind(&from) {
            let within = format!(" FROM {}", choice.within(&self.table));
            self.sql.replace_range(at..at + from.len(), &within);
        }
        self.sql += &narrowed(String::new(), choice.condition.as_deref());
    }

    /// Reads the values: one digest for each, over all rows. `check` is called now and then.
    pub fn digests(
        &self,
        conn: &mut Conn,
        check: impl Fn() -> Result<()>,
    ) -> Result<Vec<(Kept, RowDigest)>> {
        let lost = |e| failure::wire(format_args!("cannot read {}", self.table), e);
        const CHECK_EVERY: u64 = 2048;
        let mut digests = vec![RowDigest::new(); self.values.len()];
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut rows = conn.query(&self.sql).map_err(lost)?;
        let mut seen = 0u64;
        while let Some(row) = rows.next().map_err(lost)? {
            key.clear();
            for (n, cell) in row.cells().enumerate() {
                let cell = cell.map_err(lost)?;
                let Some(digest) = n
                    .checked_sub(self.key_columns)
                    .and_then(|n| digests.get_mut(n))
                else {
                    put(&mut key, cell);
                    continue;
                };
                value.clone_from(&key);
                put(&mut value, cell);
                digest.add(&value);
            }
            seen += 1;
            if seen.is_multiple_of(CHECK_EVERY) {
                check()?;
            }
        }
        Ok(self.values.iter().cloned().zip(digests).collect())
    }
}

/// A cell with its length, so that no two rows have the same bytes; NULL has one that no cell has.
fn put(out: &mut Vec<u8>, cell: Option<&[u8]>) {
    let length = cell.map_or(u64::MAX, |c| c.len() as u64);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(cell.unwrap_or_default());
}

impl Kept {
    /// That a table has other values of it than the source.
    pub fn differs(&self, table: &str) -> String {
        let column = quote::ident(&self.column);
        let where_kept = match &self.index {
            None => format!("stored generated column {column} has other values"),
            Some(index) => format!(
                "index {} has other values of the virtual column {column}",
                quote::ident(index)
            ),
        };
        printable(&format!(
            "{table}: {where_kept} than the source, while all other columns are equal: the server computed them again, and the expression depends on the session (time_zone, sql_mode, lc_time_names, …); ALTER TABLE … FORCE, ALGORITHM=COPY in a session with the application's settings computes them once more"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::catalog::KeyPart;

    fn column(name: &str, generated: bool, stored: bool) -> Column {
        Column {
            name: name.to_owned(),
            generated,
            stored,
            ..Column::default()
        }
    }

    fn key(name: &str, columns: &[(&str, Option<u32>)]) -> Key {
        Key {
            name: name.to_owned(),
            unique: name == "PRIMARY",
            primary: name == "PRIMARY",
            visible: true,
            index_type: "BTREE".to_owned(),
            parts: columns
                .iter()
                .map(|(c, prefix)| KeyPart {
                    column: Some((*c).to_owned()),
                    prefix: *prefix,
                    ..KeyPart::default()
                })
                .collect(),
        }
    }

    #[test]
    fn stored_columns_and_indexed_virtual_ones_are_read() {
        let table = Table {
            schema: "s".to_owned(),
            name: "t".to_owned(),
            columns: vec![
                column("id", false, false),
                column("a", true, true),
                column("b", true, true),
                column("v", true, false),
                column("p", true, false),
                column("w", true, false),
            ],
            keys: vec![
                key("PRIMARY", &[("id", None)]),
                key("kp", &[("p", Some(10))]),
                key("kv", &[("id", None), ("v", None)]),
            ],
            ..Table::default()
        };
        let sql: Vec<String> = readings(&table, &["id"])
            .into_iter()
            .map(|r| r.sql)
            .collect();
        assert_eq!(
            sql,
            [
                "SELECT `id`,`a`,`b` FROM `s`.`t`",
                "SELECT `id`,`v` FROM `s`.`t` FORCE INDEX (`kv`)",
            ]
        );
        let mut table = table;
        table.keys.push(Key {
            name: "on_expression".to_owned(),
            parts: vec![KeyPart {
                expression: true,
                ..KeyPart::default()
            }],
            ..key("k", &[])
        });
        table.keys.push(key("stored", &[("a", Some(4))]));
        assert_eq!(unread_indexes(&table), ["kp", "on_expression"]);
    }

    #[test]
    fn null_and_empty_differ_and_cells_do_not_run_together() {
        let bytes = |cells: &[Option<&[u8]>]| {
            let mut out = Vec::new();
            cells.iter().for_each(|c| put(&mut out, *c));
            out
        };
        assert_ne!(bytes(&[None]), bytes(&[Some(b"")]));
        assert_ne!(
            bytes(&[Some(b"a"), Some(b"bc")]),
            bytes(&[Some(b"ab"), Some(b"c")])
        );
    }
}

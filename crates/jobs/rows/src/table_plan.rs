//! The SELECT that reads a table's rows, the same for dump and verify, so that the digests of both can
//! be compared.
//!
//! The canonical bytes of a row are the text-protocol payload of this SELECT in a session without
//! character set conversion: the stored bytes of every value, FLOAT widened so that no bit is lost.

use crate::key_ranges::{ChunkKey, KeyRange};
use archive::manifest::TableRecord;
use archive::row::{Encoding, RowPlan};
use server::catalog::{Column, Table};
use server::quote;
use std::collections::BTreeMap;

/// How a table's rows are read and encoded.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// Quoted `schema`.`table`, and the partition if the plan is for one only.
    pub name: String,
    /// Columns in the data, in order: all but generated ones.
    pub columns: Vec<String>,
    /// SELECT items for them.
    items: Vec<String>,
    /// How each is written in a chunk.
    pub rows: RowPlan,
    /// Columns that LOAD DATA has to decode: column → `FROM_BASE64` or an expression.
    pub decode: BTreeMap<String, String>,
    /// Character set for LOAD DATA.
    pub charset: &'static str,
    /// The key to divide and order by.
    pub key: Option<ChunkKey>,
    /// Character set to receive text in; `None`: the stored bytes.
    pub client_charset: Option<String>,
    /// Which rows are read.
    pub choice: RowChoice,
}

/// Which rows of a table are wanted; without either, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChoice {
    /// Those that match a condition.
    pub condition: Option<String>,
    /// Those of these partitions, or subpartitions.
    pub partitions: Vec<String>,
}

impl RowChoice {
    /// The one that a table was dumped with.
    pub fn of_record(record: &TableRecord) -> RowChoice {
        RowChoice {
            condition: record.condition.clone(),
            partitions: record.partitions.clone(),
        }
    }

    /// Whether all rows are wanted.
    pub fn is_all(&self) -> bool {
        self.condition.is_none() && self.partitions.is_empty()
    }

    /// The option that chose, the first of two.
    pub fn option(&self) -> &'static str {
        match self.partitions.is_empty() {
            true => "--where",
            false => "--partitions",
        }
    }

    /// A quoted table, and behind it the partitions.
    pub fn within(&self, table: &str) -> String {
        if self.partitions.is_empty() {
            return table.to_owned();
        }
        let names: Vec<String> = self.partitions.iter().map(|p| quote::ident(p)).collect();
        format!("{table} PARTITION ({})", names.join(", "))
    }

    /// What of a table is wanted, in words for the user.
    pub fn shown(&self) -> Vec<String> {
        let partitions = (!self.partitions.is_empty())
            .then(|| format!("--partitions {}", self.partitions.join(",")));
        let condition = self.condition.as_ref().map(|c| format!("--where {c}"));
        partitions.into_iter().chain(condition).collect()
    }
}

/// A ` WHERE …`, which may be empty, and a condition that rows have to match besides.
pub fn narrowed(clause: String, condition: Option<&str>) -> String {
    let Some(condition) = condition else {
        return clause;
    };
    let before = match clause.is_empty() {
        true => " WHERE ".to_owned(),
        false => format!("{clause} AND "),
    };
    // It may end in a comment, which ends with the line.
    format!("{before}({condition}\n)")
}

impl TablePlan {
    /// The plan for a table of the catalog: all columns that hold data.
    pub fn of(table: &Table) -> TablePlan {
        TablePlan::of_columns(table, table.data_columns().collect())
    }

    /// The plan for the rows of one of its partitions.
    pub fn of_partition(&self, partition: &str) -> TablePlan {
        let partition = server::quote::ident(partition);
        TablePlan {
            name: format!("{} PARTITION ({partition})", self.name),
            ..self.clone()
        }
    }

    /// The plan that reads exactly these columns, in this order; the error names a column that one side
    /// lacks.
    pub fn of_names(table: &Table, names: &[String]) -> Result<TablePlan, String> {
        let plan = TablePlan::of_some_names(table, names)?;
        match table.data_columns().find(|c| !names.contains(&c.name)) {
            Some(extra) => Err(format!(
                "has an additional column {}",
                server::quote::ident(&extra.name)
            )),
            None => Ok(plan),
        }
    }

    /// The same of a table that may have more columns.
    pub fn of_some_names(table: &Table, names: &[String]) -> Result<TablePlan, String> {
        let mut columns = Vec::new();
        for name in names {
            columns.push(
                table
                    .column(name)
                    .ok_or_else(|| format!("has no column {}", server::quote::ident(name)))?,
            );
        }
        Ok(TablePlan::of_columns(table, columns))
    }

    fn of_columns(table: &Table, stored: Vec<&Column>) -> TablePlan {
        // The file's character set is `binary`: no conversion on either side, any
        // bytes survive. JSON, INET and UUID are not taken from binary text, so a
        // table with one is declared utf8mb4 and columns of other character sets go as base64.
        let json = stored
            .iter()
            .any(|c| matches!(c.data_type.as_str(), "json" | "inet4" | "inet6" | "uuid"));
        let base64 = |c: &Column| {
            c.is_binary_unsafe()
                || json
                    && c.charset
                        .as_deref()
                        .is_some_and(|s| !matches!(s, "utf8mb4" | "utf8mb3" | "utf8" | "ascii"))
        };
        let encodings = stored
            .iter()
            .map(|c| {
                if base64(c) {
                    Encoding::Base64
                } else {
                    Encoding::Text
                }
            })
            .collect();
        TablePlan {
            name: server::quote::qualified(&table.schema, &table.name),
            columns: stored.iter().map(|c| c.name.clone()).collect(),
            items: stored.iter().map(|c| c.select_expression()).collect(),
            rows: RowPlan::new(encodings),
            decode: stored
                .iter()
                .filter(|c| base64(c))
                .map(|c| (c.name.clone(), "FROM_BASE64".to_owned()))
                .collect(),
            charset: if json { "utf8mb4" } else { "binary" },
            key: ChunkKey::of(table),
            client_charset: None,
            choice: RowChoice::default(),
        }
    }

    /// Reads these rows alone; a plan that is for one partition stays so.
    pub fn choose(&mut self, choice: &RowChoice) {
        if !self.name.ends_with(')') {
            self.name = choice.within(&self.name);
        }
        self.choice = choice.clone();
    }

    /// Reads as a client with this character set would, for comparing with what such a client wrote.
    pub fn as_client(&mut self, charset: &str) {
        self.client_charset = Some(charset.to_owned());
        self.items = self
            .columns
            .iter()
            .map(|c| server::quote::ident(c))
            .collect();
        self.key = None;
    }

    /// The SELECT for one range, in key order where there is a key.
    pub fn select(&self, range: &KeyRange) -> String {
        let mut sql = format!(
            "SELECT /*!40001 SQL_NO_CACHE */ {} FROM {}",
            if self.items.is_empty() {
                "NULL".to_owned()
            } else {
                self.items.join(",")
            },
            self.name
        );
        let condition = self.choice.condition.as_deref();
        let Some(key) = &self.key else {
            return sql + &narrowed(String::new(), condition);
        };
        sql += &format!(" FORCE INDEX ({})", server::quote::ident(&key.index));
        sql += &narrowed(range.where_clause(key), condition);
        if range.nulls != crate::key_ranges::Nulls::Only {
            sql += &format!(" ORDER BY {}", key.order_of_index());
        }
        sql
    }
}

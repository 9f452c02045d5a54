//! Key ranges: how a table is divided into ranges that cover every row exactly once, whatever its key
//! consists of.
//!
//! The invariant: bounds are values that the server returned, or values that the server compares;
//! *which* bounds are used decides only how even the ranges are. Neighbouring ranges share one bound,
//! inclusive on one side and exclusive on the other, and all comparing is done by the server under the
//! column's own collation, so no row can fall between two ranges or into both.

pub mod middle;
pub mod range;
pub mod split;
#[cfg(test)]
mod tests;

pub use range::{Bound, KeyRange, Nulls};
pub use split::Splitter;

use server::catalog::{Column, Key, Table};

/// The kind of values in a key column, as far as dividing it needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers, BIT, YEAR, and ENUM and SET by their number.
    Integer,
    /// DECIMAL, as digits with a point.
    Decimal,
    /// FLOAT and DOUBLE, as shortest digits of the double.
    Float,
    /// Text of a character set.
    Text {
        /// Name that the server uses as introducer, e.g. `utf8mb4`.
        charset: String,
        /// Whether its collation ignores case.
        ignores_case: bool,
    },
    /// BINARY, VARBINARY and other bytes.
    Binary,
    /// DATE, DATETIME, TIMESTAMP, TIME.
    Temporal,
    /// Anything else that orders and prints (UUID, INET6).
    Other,
}

/// One column of the key that a table is divided by.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// Column name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether NULL is possible.
    pub nullable: bool,
    /// The SELECT item that gives the value in the form a [`Bound`] holds it.
    select: String,
}

/// The key that a table is divided and read by.
#[derive(Clone, Debug)]
pub struct ChunkKey {
    /// Index name, for FORCE INDEX.
    pub index: String,
    /// Its columns, or its first columns that all have the same direction.
    pub columns: Vec<KeyColumn>,
    /// Whether that direction is descending.
    pub descending: bool,
}

impl ChunkKey {
    /// The key to use for `table`, if it has a usable one.
    pub fn of(table: &Table) -> Option<ChunkKey> {
        let key: &Key = server::catalog::chunk_key(table)?;
        let descending = key.parts.first()?.descending;
        let mut columns = Vec::new();
        for part in &key.parts {
            // ORDER BY can follow the index only up to a change of direction.
            if part.descending != descending {
                break;
            }
            let name = part.column.as_deref()?;
            let column = table.columns.iter().find(|c| c.name == name)?;
            columns.push(KeyColumn::of(column)?);
        }
        Some(ChunkKey {
            index: key.name.clone(),
            columns,
            descending,
        })
    }

    /// For ORDER BY in index order: the server reads the index forwards, and a load inserts rows in the
    /// order in which the index keeps them.
    pub fn order_of_index(&self) -> String {
        if self.descending {
            self.order_by_descending()
        } else {
            self.order_by()
        }
    }

    /// `c1, c2`, for ORDER BY: from the smallest to the largest.
    pub fn order_by(&self) -> String {
        self.list(|c| c.quoted(), ", ")
    }

    /// `c1 DESC, c2 DESC`.
    pub fn order_by_descending(&self) -> String {
        self.list(|c| format!("{} DESC", c.quoted()), ", ")
    }

    /// The SELECT items that give a [`Bound`].
    pub fn select(&self) -> String {
        self.list(|c| c.select.clone(), ", ")
    }

    /// Whether ranges of this key cover every row of a table of another server that has that key: the same columns, of
    /// the same kinds, for between whole numbers nothing is looked for, and NULL in no column where it is not here.
    pub fn covers(&self, other: &ChunkKey) -> bool {
        let alike = |(ours, theirs): (&KeyColumn, &KeyColumn)| {
            let kinds = (&ours.kind, &theirs.kind);
            (kinds.0 == kinds.1 || matches!(kinds, (Kind::Text { .. }, Kind::Text { .. })))
                && (ours.nullable || !theirs.nullable)
        };
        self.names() == other.names() && self.columns.iter().zip(&other.columns).all(alike)
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// Whether rows with a NULL in the key can exist.
    pub fn nullable(&self) -> bool {
        self.columns.iter().any(|c| c.nullable)
    }

    fn list(&self, f: impl Fn(&KeyColumn) -> String, between: &str) -> String {
        self.columns.iter().map(f).collect::<Vec<_>>().join(between)
    }
}

impl KeyColumn {
    /// The column of a table; `None` where its values have no order that a condition can follow.
    pub fn of(column: &Column) -> Option<KeyColumn> {
        let quoted = server::quote::ident(&column.name);
        let mut select = quoted.clone();
        let kind = match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => Kind::Integer,
            // Ordered by number, not by text; `+0` gives that number.
            "bit" | "enum" | "set" => {
                select = format!("{quoted}+0");
                Kind::Integer
            }
            "decimal" => Kind::Decimal,
            "float" | "double" => {
                select = column.select_expression();
                Kind::Float
            }
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Kind::Text {
                charset: column.charset.clone()?,
                ignores_case: !column
                    .collation
                    .as_deref()
                    .is_some_and(|c| c.ends_with("_bin") || c.ends_with("_cs") || c == "binary"),
            },
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
                Kind::Binary
            }
            "date" | "datetime" | "timestamp" | "time" => Kind::Temporal,
            "uuid" | "inet4" | "inet6" => Kind::Other,
            _ => return None,
        };
        Some(KeyColumn {
            name: column.name.clone(),
            kind,
            nullable: column.nullable,
            select,
        })
    }

    /// Whether a bound holds its values as every SELECT gives them.
    pub fn is_plain(&self) -> bool {
        self.select == self.quoted()
    }

    /// Its name in backticks.
    pub fn quoted(&self) -> String {
        server::quote::ident(&self.name)
    }

    /// Whether no value lies between these two: whole numbers, one after the other.
    pub fn follows(&self, value: &[u8], next: &[u8]) -> bool {
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i128>().ok();
        let before = || number(next).and_then(|n| n.checked_sub(1));
        self.kind == Kind::Integer && number(value).is_some_and(|n| before() == Some(n))
    }

    /// The value as an SQL literal that compares under this column's rules.
    pub fn literal(&self, value: &[u8]) -> String {
        let number = |extra: &[u8]| {
            !value.is_empty()
                && value
                    .iter()
                    .all(|b| b.is_ascii_digit() || extra.contains(b))
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match &self.kind {
            Kind::Integer if number(b"-") => text(),
            Kind::Decimal if number(b"-.") => text(),
            // The exponent makes it a double; a plain decimal would compare as DECIMAL.
            Kind::Float if number(b"-+.eE") => {
                let t = text();
                if t.contains(['e', 'E']) {
                    t
                } else {
                    format!("{t}e0")
                }
            }
            Kind::Text { charset, .. } => {
                let charset: String = charset
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                format!("_{charset} {}", server::quote::hex(value))
            }
            Kind::Binary => server::quote::hex(value),
            // Temporal and other values are ASCII; anything else is made harmless by hex.
            _ if value.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
                && !value.contains(&b'\'')
                && !value.contains(&b'\\') =>
            {
                format!("'{}'", text())
            }
            _ => server::quote::hex(value),
        }
    }
}

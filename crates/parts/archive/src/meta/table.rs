//! `S@T.json`: one table.

use super::yes;
use crate::chunk::Compression;
use crate::row::{Encoding, RowPlan};
use crate::{ArchiveError, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `S@T.json`: how a table's rows are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableMeta {
    /// What MySQL Shell passes on to its importer.
    pub options: TableOptions,
    /// Triggers in the order of their execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<String>,
    /// Histograms to be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Histogram>,
    /// There are rows.
    #[serde(default = "yes")]
    pub includes_data: bool,
    /// There is a definition.
    #[serde(default = "yes")]
    pub includes_ddl: bool,
    /// Extension of the data files, without a leading dot.
    #[serde(default = "tsv")]
    pub extension: String,
    /// Data files are numbered chunks.
    #[serde(default)]
    pub chunking: bool,
    /// `none`, `gzip` or `zstd`, perhaps with `;level=N`; empty in old archives.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compression: String,
    /// Columns of the primary key.
    #[serde(default)]
    primary_index: Key,
    /// Partitions that have data files of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// File basename of each partition.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub basenames: BTreeMap<String, String>,
    /// Condition that rows were chosen by, for information.
    #[serde(default, rename = "where", skip_serializing_if = "String::is_empty")]
    pub condition: String,
}

/// Options of the importer; MySQL Shell refuses keys it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableOptions {
    /// The schema's name.
    pub schema: String,
    /// The table's name.
    pub table: String,
    /// Columns in the order of the data.
    #[serde(default)]
    pub columns: Vec<String>,
    /// How a column gets its value when loading: `FROM_BASE64`, `UNHEX` or an expression.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decode_columns: BTreeMap<String, String>,
    /// Character set of the data files.
    #[serde(default = "utf8mb4")]
    pub default_character_set: String,
    /// The text dialect.
    #[serde(flatten)]
    pub dialect: Dialect,
    /// Where version 1 had the primary key, as one name.
    #[serde(default, rename = "primaryIndex", skip_serializing)]
    old_primary_index: Key,
}

/// The five clauses of LOAD DATA that say how fields and lines end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dialect {
    /// FIELDS TERMINATED BY.
    pub fields_terminated_by: String,
    /// FIELDS ENCLOSED BY.
    pub fields_enclosed_by: String,
    /// … OPTIONALLY.
    pub fields_optionally_enclosed: bool,
    /// FIELDS ESCAPED BY.
    pub fields_escaped_by: String,
    /// LINES TERMINATED BY.
    pub lines_terminated_by: String,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            fields_terminated_by: "\t".to_owned(),
            fields_enclosed_by: String::new(),
            fields_optionally_enclosed: false,
            fields_escaped_by: "\\".to_owned(),
            lines_terminated_by: "\n".to_owned(),
        }
    }
}

/// A histogram of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Its column.
    pub column: String,
    /// Number of buckets asked for.
    #[serde(default)]
    pub buckets: u64,
    /// All of it, as MySQL prints it. MySQL Shell passes over the key.
    #[serde(
        default,
        rename = "penstockData",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<serde_json::Value>,
}

/// A primary key: a list since 2.0.0, one name before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Key {
    Columns(Vec<String>),
    Column(String),
}

impl Default for Key {
    fn default() -> Self {
        Self::Columns(Vec::new())
    }
}

impl Key {
    fn columns(&self) -> Vec<String> {
        match self {
            Self::Columns(names) => names.clone(),
            Self::Column(name) if name.is_empty() => Vec::new(),
            Self::Column(name) => vec![name.clone()],
        }
    }
}

fn tsv() -> String {
    "tsv".to_owned()
}

fn utf8mb4() -> String {
    "utf8mb4".to_owned()
}

impl TableMeta {
    /// A chunked table with these columns and their encodings, in the default dialect.
    pub fn new(
        schema: &str,
        table: &str,
        columns: &[(String, Encoding)],
        primary_key: &[String],
        compression: Compression,
    ) -> Self {
        let decode = |(name, encoding): &(String, Encoding)| {
            let function = match encoding {
                Encoding::Text => return None,
                Encoding::Base64 => "FROM_BASE64",
                Encoding::Hex => "UNHEX",
            };
            Some((name.clone(), function.to_owned()))
        };
        Self {
            options: TableOptions {
                schema: schema.to_owned(),
                table: table.to_owned(),
                columns: columns.iter().map(|(name, _)| name.clone()).collect(),
                decode_columns: columns.iter().filter_map(decode).collect(),
                default_character_set: utf8mb4(),
                dialect: Dialect::default(),
                old_primary_index: Key::default(),
            },
            triggers: Vec::new(),
            histograms: Vec::new(),
            includes_data: true,
            includes_ddl: true,
            extension: compression.extension().to_owned(),
            chunking: true,
            compression: compression.name().to_owned(),
            primary_index: Key::Columns(primary_key.to_vec()),
            partitions: Vec::new(),
            basenames: BTreeMap::new(),
            condition: String::new(),
        }
    }

    /// Columns of the primary key, wherever this version keeps them.
    pub fn primary_key(&self) -> Vec<String> {
        let columns = self.primary_index.columns();
        if columns.is_empty() {
            return self.options.old_primary_index.columns();
        }
        columns
    }

    /// How the data files are compressed; told by the extension where the key is missing.
    pub fn compression(&self, file: &str) -> Result<Compression> {
        match self.compression.split(';').next().unwrap_or_default() {
            "" => Ok(Compression::of_file(&self.extension)),
            "none" => Ok(Compression::None),
            "zstd" => Ok(Compression::Zstd(1)),
            "gzip" => Ok(Compression::Gzip),
            other => Err(ArchiveError::Unsupported {
                file: file.to_owned(),
                what: format!("compression '{}'", base::units::printable(other)),
            }),
        }
    }

    /// Whether the rows are in the default dialect, the only one that is decoded here.
    pub fn is_default_dialect(&self) -> bool {
        self.options.dialect == Dialect::default()
    }

    /// The encodings of the columns, in order. A column that is loaded through
    /// an expression of another kind counts as text.
    pub fn plan(&self) -> RowPlan {
        let encoding = |column: &String| {
            let function = self.options.decode_columns.get(column);
            match function.map(String::as_str) {
                Some("FROM_BASE64") => Encoding::Base64,
                Some("UNHEX") => Encoding::Hex,
                _ => Encoding::Text,
            }
        };
        RowPlan::new(self.options.columns.iter().map(encoding).collect())
    }
}

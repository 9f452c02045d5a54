//! `@.json` and `@.done.json`.

use super::yes;
use crate::{ArchiveError, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The version of the format that is written, and the newest that is read.
const VERSION: &str = "2.0.1";

/// Capabilities of others' archives that are understood here.
const CAPABILITIES: [&str; 2] = ["partition_awareness", "multifile_schema_ddl"];

/// `@.json`: the archive as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// The tool that wrote it.
    #[serde(default)]
    pub dumper: String,
    /// Version of the format.
    #[serde(default = "first_version")]
    pub version: String,
    /// `dumpInstance`, `dumpSchemas` or `dumpTables`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// Options given by the user, for information.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Schemas, by name.
    pub schemas: Vec<String>,
    /// File basename of each schema.
    #[serde(default)]
    pub basenames: BTreeMap<String, String>,
    /// Accounts as `'user'@'host'`; present only if accounts were dumped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Character set of the SQL and data files.
    #[serde(default = "utf8mb4")]
    pub default_character_set: String,
    /// TIMESTAMP values are in UTC.
    #[serde(default = "yes")]
    pub tz_utc: bool,
    /// Wished size of a chunk before compression.
    #[serde(default)]
    pub bytes_per_chunk: u64,
    /// Account that dumped.
    #[serde(default)]
    pub user: String,
    /// Host that dumped.
    #[serde(default)]
    pub hostname: String,
    /// Server that was dumped.
    #[serde(default)]
    pub server: String,
    /// Its version.
    #[serde(default)]
    pub server_version: String,
    /// Binary log file of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_file: Option<String>,
    /// Position in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_position: Option<u64>,
    /// GTID set of the snapshot, in MySQL's syntax only.
    #[serde(default)]
    pub gtid_executed: String,
    /// The GTID set may not be exactly the snapshot's.
    #[serde(default)]
    pub gtid_executed_inconsistent: bool,
    /// All rows come from one snapshot.
    #[serde(default)]
    pub consistent: bool,
    /// Modified for MySQL HeatWave Service.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mds_compatibility: bool,
    /// The account had partial revokes.
    #[serde(default)]
    pub partial_revokes: bool,
    /// Modifications made to the DDL.
    #[serde(default)]
    pub compatibility_options: Vec<String>,
    /// What a reader has to know to load it.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// `@.checksums.json` exists.
    #[serde(default)]
    pub checksum: bool,
    /// When the dump began.
    #[serde(default)]
    pub begin: String,
    /// Facts of the source, as MySQL Shell 9.3 and later write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

/// Something that a reader has to know to load an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capability {
    /// Its name.
    pub id: String,
    /// In words.
    pub description: String,
    /// First MySQL Shell that has it.
    pub version_required: String,
}

impl Capability {
    /// Partitions have files of their own.
    pub fn partitions() -> Capability {
        Capability {
            id: CAPABILITIES[0].to_owned(),
            description: "partitions have data files of their own, as if each were a table"
                .to_owned(),
            version_required: "8.0.27".to_owned(),
        }
    }
}

fn first_version() -> String {
    "1.0.0".to_owned()
}

fn utf8mb4() -> String {
    "utf8mb4".to_owned()
}

impl Default for Root {
    fn default() -> Self {
        Self {
            dumper: String::new(),
            version: VERSION.to_owned(),
            origin: String::new(),
            options: Map::new(),
            schemas: Vec::new(),
            basenames: BTreeMap::new(),
            users: None,
            default_character_set: utf8mb4(),
            tz_utc: true,
            bytes_per_chunk: 0,
            user: String::new(),
            hostname: String::new(),
            server: String::new(),
            server_version: String::new(),
            binlog_file: None,
            binlog_position: None,
            gtid_executed: String::new(),
            gtid_executed_inconsistent: false,
            consistent: false,
            mds_compatibility: false,
            partial_revokes: false,
            compatibility_options: Vec::new(),
            capabilities: Vec::new(),
            checksum: false,
            begin: String::new(),
            source: None,
        }
    }
}

impl Root {
    /// Refuses a version or a capability that is not known here.
    pub fn check_readable(&self) -> Result<()> {
        let mut numbers = self.version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            let what = format!("its version is '{}'", self.version);
            return Err(ArchiveError::damaged(super::ROOT, what));
        };
        if (major, minor) > (2, 0) {
            return Err(ArchiveError::NewerVersion {
                what: super::ROOT.to_owned(),
                found: base::units::printable(&self.version),
                supported: VERSION.to_owned(),
            });
        }
        for c in &self.capabilities {
            if !CAPABILITIES.contains(&c.id.as_str()) {
                return Err(ArchiveError::UnknownCapability {
                    id: base::units::printable(&c.id),
                    description: base::units::printable(&c.description),
                    version_required: base::units::printable(&c.version_required),
                });
            }
        }
        Ok(())
    }
}

/// `@.done.json`: the dump is complete, and how large everything is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Done {
    /// When the dump ended.
    pub end: String,
    /// Bytes of row data before compression.
    pub data_bytes: u64,
    /// The same by schema and table.
    pub table_data_bytes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Rows by schema and table.
    pub table_rows: BTreeMap<String, BTreeMap<String, u64>>,
    /// Bytes before compression by data file.
    pub chunk_file_bytes: BTreeMap<String, u64>,
}

//! What an archive says of itself: what is in it, from when and from where. Only its metadata is read, whoever wrote it.
//!
//! What this does not do: prove that the files are what they were; that is `penstock verify`.

use crate::archives;
use archive::Archive;
use archive::manifest::{Position, Source};
use archive::open::{Schema, Table};
use base::Result;
use encryption::Place;
use std::collections::BTreeMap;

/// What an archive says of itself.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Where it is.
    pub place: String,
    /// The tool that wrote it, with its version.
    pub tool: String,
    /// Whether every file has a digest.
    pub digests: bool,
    /// When the dump began and ended, as the archive has it: UTC.
    pub begin: String,
    /// See `begin`.
    pub end: String,
    /// The server that was dumped.
    pub source: Source,
    /// How consistent it is, in a word.
    pub consistency: String,
    /// The place of the snapshot in the binary log.
    pub position: Position,
    /// Its schemas, in its own order.
    pub schemas: Vec<SchemaDescription>,
    /// Its accounts, if it has any.
    pub accounts: Option<Vec<String>>,
    /// The options of its dump that chose what is in it.
    pub selected: Vec<String>,
    /// Whether its dump left rows of some tables out, or of all.
    pub lacks_rows: bool,
    /// What it lacks: the exceptions of its dump.
    pub exceptions: Vec<String>,
    /// What of it cannot be read, in words.
    pub damaged: Vec<String>,
}

/// A schema of an archive.
#[derive(Clone, Debug, Default)]
pub struct SchemaDescription {
    /// Its name.
    pub name: String,
    /// Its tables, in the order of the archive.
    pub tables: Vec<TableDescription>,
    /// Names of its views.
    pub views: Vec<String>,
    /// Procedures and functions.
    pub routines: u64,
    /// Events.
    pub events: u64,
}

/// A table of an archive.
#[derive(Clone, Debug, Default)]
pub struct TableDescription {
    /// Its name.
    pub name: String,
    /// Rows, where the archive says.
    pub rows: Option<u64>,
    /// Bytes of rows before compression, where the archive says.
    pub raw_bytes: Option<u64>,
    /// Bytes of its data files as stored.
    pub stored_bytes: u64,
    /// Its data files.
    pub chunks: u64,
    /// Its triggers.
    pub triggers: u64,
}

/// Reads what the archive in a place says of itself.
pub fn describe(from: &Place) -> Result<Description> {
    let archive = archives::open_tolerant(from)?;
    let root = archive.root();
    let mut d = Description {
        place: from.absolute(),
        tool: root.dumper.clone(),
        digests: archive.has_manifest(),
        begin: root.begin.clone(),
        end: archive.done().end.clone(),
        accounts: root.users.clone(),
        exceptions: archives::dumped_with(&archive),
        schemas: archive.schemas().iter().map(schema).collect(),
        ..Description::default()
    };
    for damaged in archive.damaged() {
        d.damaged.push(base::units::printable(&format!(
            "{} {}: {}",
            damaged.schema, damaged.object, damaged.error
        )));
    }
    match archive.manifest() {
        Some(m) => {
            d.lacks_rows = m.lacks_rows() || m.without_kinds().next().is_some();
            d.selected = m.selected();
            d.begin.clone_from(&m.created.begin);
            d.end.clone_from(&m.created.end);
            d.source = m.source.clone();
            d.consistency.clone_from(&m.consistency.mode);
            d.position = m.position.clone();
        }
        None => of_mysql_shell(&archive, &mut d),
    }
    Ok(d)
}

/// What MySQL Shell's metadata has in place of a manifest.
fn of_mysql_shell(archive: &Archive, d: &mut Description) {
    let root = archive.root();
    d.source = Source {
        version: root.server_version.clone(),
        hostname: root.server.clone(),
        ..Source::default()
    };
    d.consistency = match root.consistent {
        true => "consistent",
        false => "none",
    }
    .to_owned();
    d.position = Position {
        binlog_file: root.binlog_file.clone().filter(|f| !f.is_empty()),
        binlog_position: root.binlog_position,
        gtid_executed: Some(root.gtid_executed.clone()).filter(|g| !g.is_empty()),
        ..Position::default()
    };
    let sizes = &archive.done().table_data_bytes;
    let of = |schema: &str, table: &str| -> Option<u64> {
        sizes
            .get(schema)
            .and_then(|t: &BTreeMap<String, u64>| t.get(table))
            .copied()
    };
    for schema in &mut d.schemas {
        for table in &mut schema.tables {
            table.raw_bytes = of(&schema.name, &table.name).or(table.raw_bytes);
        }
    }
}

fn schema(schema: &Schema) -> SchemaDescription {
    let count = |list: &Option<Vec<String>>| list.as_ref().map_or(0, |l| l.len() as u64);
    SchemaDescription {
        name: schema.name.clone(),
        tables: schema.tables.iter().map(table).collect(),
        views: schema.views.iter().map(|v| v.name.clone()).collect(),
        routines: count(&schema.meta.functions)
            + count(&schema.meta.procedures)
            + count(&schema.meta.packages),
        events: count(&schema.meta.events),
    }
}

fn table(table: &Table) -> TableDescription {
    let raw: Option<Vec<u64>> = table.chunks.iter().map(|c| c.raw_bytes).collect();
    TableDescription {
        name: table.name.clone(),
        rows: table.rows.or((table.chunks.is_empty()).then_some(0)),
        raw_bytes: raw.map(|sizes| sizes.iter().sum()),
        stored_bytes: table.chunks.iter().map(|c| c.stored_bytes).sum(),
        chunks: table.chunks.len() as u64,
        triggers: table.meta.triggers.len() as u64,
    }
}

impl Description {
    fn tables(&self) -> impl Iterator<Item = &TableDescription> {
        self.schemas.iter().flat_map(|s| &s.tables)
    }

    /// Rows of all tables, if the archive says it of each.
    pub fn rows(&self) -> Option<u64> {
        self.tables().map(|t| t.rows).sum()
    }

    /// Bytes of all rows before compression, if the archive says it of each table.
    pub fn raw_bytes(&self) -> Option<u64> {
        self.tables().map(|t| t.raw_bytes).sum()
    }

    /// Bytes of all data files as stored.
    pub fn stored_bytes(&self) -> u64 {
        self.tables().map(|t| t.stored_bytes).sum()
    }
}

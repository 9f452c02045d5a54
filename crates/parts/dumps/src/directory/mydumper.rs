//! The file names of mydumper.
//!
//! | file | content |
//! |---|---|
//! | `metadata`, `metadata.partial` | written last; present while the dump runs |
//! | `all-schema-create-tablespace.sql` | tablespaces |
//! | `d-schema-create.sql` | the schema d |
//! | `d-schema-post.sql`, `d-schema-triggers.sql` | routines and events; triggers |
//! | `d.t-schema.sql` | the table t, or the placeholder table of a view |
//! | `d.t-schema-view.sql`, `-schema-sequence.sql`, `-schema-triggers.sql` | the view, sequence or triggers t |
//! | `d.t.sql`, `d.t.00000.sql`, `d.t.00000.00001.sql` | rows as INSERTs, or a LOAD DATA for a `.dat` |
//! | `d.t.00000.dat`, `.csv` | rows as lines |
//! | `d.t-metadata` | the number of rows, before 0.12 |
//!
//! Since 0.11 a name with characters other than letters, digits and a few signs
//! is written as `mydumper_N`. The real name is in `metadata` for tables since
//! 0.14, and always in the definition.

use super::{DataFile, DataKind, Delimited, Dump, File, Layout, Metadata, Object, Schema, Table};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The size limit of the metadata file; a million tables need less.
const METADATA: u64 = 256 << 20;

/// Whether these are files of mydumper.
pub(super) fn is(files: &[File]) -> bool {
    let is_schema = |f: &File| f.name.contains("-schema") && f.name.ends_with(".sql");
    let has_metadata = files
        .iter()
        .any(|f| matches!(f.name.as_str(), "metadata" | "metadata.partial"));
    // Where schemas were excluded there is no `-schema-create.sql`, only files of tables.
    has_metadata
        && files
            .iter()
            .any(|f| is_schema(f) || data_file(&f.name).is_some())
        || files.iter().any(|f| f.name.ends_with("-schema-create.sql"))
}

/// What a file contains.
enum Role<'a> {
    Tablespaces,
    Create(&'a str),
    Post(&'a str),
    SchemaTriggers(&'a str),
    Table(&'a str, &'a str),
    View(&'a str, &'a str),
    Sequence(&'a str, &'a str),
    Triggers(&'a str, &'a str),
    Rows(DataFileName<'a>),
    Count(&'a str, &'a str),
    Metadata,
    Unknown,
}

/// The parts of a data file's name.
#[derive(Clone, Copy)]
struct DataFileName<'a> {
    schema: &'a str,
    table: &'a str,
    numbers: (u64, u64),
    sql: bool,
}

fn role(name: &str) -> Role<'_> {
    match name {
        "metadata" | "metadata.header" => return Role::Metadata,
        "all-schema-create-tablespace.sql" => return Role::Tablespaces,
        _ => {}
    }
    if let Some(rest) = name.strip_suffix("-metadata")
        && let Some((schema, table)) = rest.split_once('.')
    {
        return Role::Count(schema, table);
    }
    type OfTable<'a> = fn(&'a str, &'a str) -> Role<'a>;
    let of_table: [(&str, OfTable<'_>); 4] = [
        ("-schema-view.sql", Role::View),
        ("-schema-sequence.sql", Role::Sequence),
        ("-schema-triggers.sql", Role::Triggers),
        ("-schema.sql", Role::Table),
    ];
    for (end, make) in of_table {
        if let Some((schema, table)) = name.strip_suffix(end).and_then(|n| n.split_once('.')) {
            return make(schema, table);
        }
    }
    type OfSchema<'a> = fn(&'a str) -> Role<'a>;
    let of_schema: [(&str, OfSchema<'_>); 3] = [
        ("-schema-create.sql", Role::Create),
        ("-schema-post.sql", Role::Post),
        ("-schema-triggers.sql", Role::SchemaTriggers),
    ];
    for (end, make) in of_schema {
        if let Some(schema) = name.strip_suffix(end) {
            return make(schema);
        }
    }
    data_file(name).map_or(Role::Unknown, Role::Rows)
}

/// Parses `d.t.sql`, `d.t.00000.sql`, `d.t.00000.00001.dat`. Before 0.11 a table
/// name may contain dots; digits after a dot are then read as a file number.
fn data_file(name: &str) -> Option<DataFileName<'_>> {
    let (rest, sql) = [(".sql", true), (".dat", false), (".csv", false)]
        .into_iter()
        .find_map(|(end, sql)| Some((name.strip_suffix(end)?, sql)))?;
    let (schema, mut table) = rest.split_once('.')?;
    let mut numbers = [None, None];
    for number in &mut numbers {
        if let Some((before, digits)) = table.rsplit_once('.')
            && digits.len() >= 5
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            *number = Some(digits.parse().ok()?);
            table = before;
        }
    }
    let numbers = match numbers {
        [Some(sub), Some(part)] => (part, sub),
        [Some(part), None] => (part, 0),
        _ => (0, 0),
    };
    Some(DataFileName {
        schema,
        table,
        numbers,
        sql,
    })
}

/// A table while its files are collected.
#[derive(Default)]
struct CollectedTable {
    table: Table,
    rows: BTreeMap<(u64, u64), (Option<File>, Option<File>)>,
    view: Option<PathBuf>,
    sequence: Option<PathBuf>,
}

#[derive(Default)]
struct CollectedSchema {
    schema: Schema,
    tables: BTreeMap<String, CollectedTable>,
}

/// Assigns the files of a dump to its objects.
pub(super) fn read(path: &Path, files: Vec<File>) -> Result<Dump> {
    let incomplete = |why: &str| Error::Incomplete {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    if files.iter().any(|f| f.name == "metadata.partial") {
        return Err(incomplete(
            "metadata.partial is there: mydumper has not finished",
        ));
    }
    if !files.iter().any(|f| f.name == "metadata") {
        return Err(incomplete(
            "there is no metadata file, which mydumper writes at the end",
        ));
    }
    let mut dump = Dump {
        layout: Layout::Mydumper,
        schemas: Vec::new(),
        metadata: None,
        before: Vec::new(),
        unknown: Vec::new(),
    };
    let mut schemas = BTreeMap::new();
    let mut metadata = Metadata::default();
    for file in files {
        let path = file.path.clone();
        let name = file.name.clone();
        match role(&name) {
            Role::Metadata => {
                let parsed = Metadata::parse(&text(&file)?);
                if file.name == "metadata" {
                    metadata = parsed;
                }
            }
            Role::Tablespaces => dump.before.push(path),
            Role::Create(s) => schema(&mut schemas, s).schema.create = Some(path),
            Role::Post(s) => schema(&mut schemas, s).schema.post.push(path),
            Role::SchemaTriggers(s) => schema(&mut schemas, s).schema.triggers.push(path),
            Role::Table(s, t) => table(&mut schemas, s, t).table.ddl = Some(path),
            Role::View(s, t) => table(&mut schemas, s, t).view = Some(path),
            Role::Sequence(s, t) => table(&mut schemas, s, t).sequence = Some(path),
            Role::Triggers(s, t) => table(&mut schemas, s, t).table.triggers = Some(path),
            Role::Count(s, t) => {
                table(&mut schemas, s, t).table.rows = text(&file)?.trim().parse().ok();
            }
            Role::Rows(name) => {
                let table = table(&mut schemas, name.schema, name.table);
                let (sql, lines) = table.rows.entry(name.numbers).or_default();
                *if name.sql { sql } else { lines } = Some(file);
            }
            Role::Unknown => dump.unknown.push(path),
        }
    }
    dump.schemas = schemas
        .into_values()
        .map(|s| finish(s, &metadata))
        .collect();
    dump.metadata = Some(metadata);
    Ok(dump)
}

type Schemas = BTreeMap<String, CollectedSchema>;

fn schema<'a>(schemas: &'a mut Schemas, name: &str) -> &'a mut CollectedSchema {
    let entry = schemas.entry(name.to_owned()).or_default();
    entry.schema.name = Some(name.to_owned());
    entry.schema.placeholder = is_placeholder(name);
    entry
}

fn table<'a>(schemas: &'a mut Schemas, of: &str, name: &str) -> &'a mut CollectedTable {
    let entry = schema(schemas, of)
        .tables
        .entry(name.to_owned())
        .or_default();
    entry.table.name = name.to_owned();
    entry.table.placeholder = is_placeholder(name);
    entry
}

/// Brings the files of a schema into the order of a load.
fn finish(collected: CollectedSchema, metadata: &Metadata) -> Schema {
    let mut schema = collected.schema;
    for (name, mut this) in collected.tables {
        let known = metadata.table(schema.name.as_deref().unwrap_or_default(), &name);
        if let Some(section) = known {
            if let Some(real) = section.get("real_table_name") {
                // mydumper's code for a line feed in a name.
                this.table.name = real.replace("\u{1000}0", "\n");
                this.table.placeholder = false;
            }
            let rows = section.get("rows").and_then(|r| r.parse().ok());
            this.table.rows = this.table.rows.or(rows);
        }
        let object = |ddl| Object {
            name: this.table.name.clone(),
            placeholder: this.table.placeholder,
            ddl,
        };
        if let Some(ddl) = this.view {
            // The placeholder table is not needed.
            schema.views.push(object(ddl));
            continue;
        }
        if let Some(ddl) = this.sequence {
            schema.sequences.push(object(ddl));
            continue;
        }
        this.table.missing = missing(this.rows.keys().copied());
        for (sql, lines) in this.rows.into_values() {
            let (file, kind) = match (sql, lines) {
                (Some(sql), Some(lines)) => (lines, DataKind::LoadData(sql.path)),
                (Some(sql), None) => (sql, DataKind::Sql),
                (None, Some(lines)) => (lines, DataKind::Delimited(Delimited::tsv())),
                (None, None) => continue,
            };
            this.table.data.push(DataFile {
                path: file.path,
                bytes: file.bytes,
                kind,
            });
        }
        schema.tables.push(this.table);
    }
    schema
}

/// The first number missing in this ascending sequence, in the form of the file names.
fn missing(numbers: impl Iterator<Item = (u64, u64)>) -> String {
    let mut last: Option<(u64, u64)> = None;
    for (part, sub) in numbers {
        let expected = match last {
            // The first number was 1 in the oldest versions.
            None => (part.min(1), 0),
            Some((before, at)) if before == part => (part, at + 1),
            Some((before, _)) => (before + 1, 0),
        };
        if (part, sub) != expected {
            return match expected {
                (part, 0) => format!("{part:05}"),
                (part, sub) => format!("{part:05}.{sub:05}"),
            };
        }
        last = Some((part, sub));
    }
    String::new()
}

/// The text of a small file.
fn text(file: &File) -> Result<String> {
    let fail = |e| Error::io(file.path.display().to_string(), e);
    let mut bytes = Vec::new();
    crate::input::open(&file.path)?
        .take(METADATA)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_placeholder(name: &str) -> bool {
    name.strip_prefix("mydumper_")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_missing_number_is_found() {
        let of = |list: &[(u64, u64)]| missing(list.iter().copied());
        for complete in [
            &[][..],
            &[(0, 0)],
            &[(0, 0), (1, 0), (2, 0)],
            &[(1, 0), (2, 0)],
            &[(0, 0), (0, 1), (1, 0), (1, 1)],
        ] {
            assert_eq!(of(complete), "", "{complete:?}");
        }
        assert_eq!(of(&[(0, 0), (2, 0)]), "00001");
        assert_eq!(of(&[(2, 0)]), "00001");
        assert_eq!(of(&[(0, 0), (0, 2)]), "00000.00001");
        assert_eq!(of(&[(0, 0), (1, 1)]), "00001");
    }
}

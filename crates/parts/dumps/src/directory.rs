//! Dump directories of other tools: which tool wrote it, and what each file is.
//!
//! Reads only file names and mydumper's small metadata file; data files are not
//! opened. The result is sorted: schemas, tables and files by name, the data
//! files of a table in the order of their rows.
//!
//! Known: the archives of MySQL Shell and penstock, which are only recognised;
//! mydumper from 0.9 to 1.0; `mysqldump --tab`; `mariadb-dump --dir`; CSV and TSV
//! files next to `.sql` files. Except in archives, each file may be compressed
//! with gzip, zstd, bzip2 or xz.
//!
//! Invariant: a dump that is marked as unfinished is [`Error::Incomplete`],
//! never a smaller dump. A name is taken from a file name only where the tool
//! writes it there unchanged.

mod delimited;
mod metadata;
mod mydumper;
mod tab;

pub use delimited::Delimited;
pub use metadata::{Metadata, Section};

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a directory contains.
#[derive(Clone, Debug, PartialEq)]
pub enum Detected {
    /// An archive in MySQL Shell's format, which the crate `archive` reads.
    Archive,
    /// A dump of another tool.
    Dump(Box<Dump>),
}

/// The layout of a dump directory, by the tool that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// mydumper.
    Mydumper,
    /// `mysqldump --tab`: `table.sql` and `table.txt`.
    Tab,
    /// `mariadb-dump --dir`: `schema/table.sql` and `schema/table.txt`.
    Dir,
    /// `table.csv` or `table.tsv`, with or without `table.sql`.
    Delimited,
}

/// The files of a dump.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// Its layout.
    pub layout: Layout,
    /// Schemas, by name; one without a name if the files do not name a schema.
    pub schemas: Vec<Schema>,
    /// mydumper's metadata.
    pub metadata: Option<Metadata>,
    /// Files to run before all others: `CREATE TABLESPACE`.
    pub before: Vec<PathBuf>,
    /// Files that match no rule, for a warning.
    pub unknown: Vec<PathBuf>,
}

/// The files of a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// Its name from the file names; `None` if they do not contain it.
    pub name: Option<String>,
    /// The name is a placeholder (`mydumper_0`) for the one in the CREATE
    /// DATABASE of [`create`](Self::create).
    pub placeholder: bool,
    /// The file with CREATE DATABASE.
    pub create: Option<PathBuf>,
    /// Tables, by name.
    pub tables: Vec<Table>,
    /// Views, by name.
    pub views: Vec<Object>,
    /// Sequences, by name.
    pub sequences: Vec<Object>,
    /// All triggers of the schema in one file (mydumper since 0.12).
    pub triggers: Vec<PathBuf>,
    /// Files with routines and events.
    pub post: Vec<PathBuf>,
}

/// The files of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The name is a placeholder for the one in the CREATE TABLE of [`ddl`](Self::ddl).
    pub placeholder: bool,
    /// The file with CREATE TABLE; `None` if only data was dumped.
    pub ddl: Option<PathBuf>,
    /// The files of its rows, in order.
    pub data: Vec<DataFile>,
    /// The file with its triggers.
    pub triggers: Option<PathBuf>,
    /// The number of rows in all data files, if the tool recorded it.
    pub rows: Option<u64>,
    /// The first number missing in the sequence of its data files; empty if none is.
    pub missing: String,
}

/// An object with one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The name is a placeholder, as in [`Schema::placeholder`].
    pub placeholder: bool,
    /// The file with its definition.
    pub ddl: PathBuf,
}

/// A file of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size on disk (compressed).
    pub bytes: u64,
    /// How its rows are written.
    pub kind: DataKind,
}

/// How rows are written.
#[derive(Clone, Debug, PartialEq)]
pub enum DataKind {
    /// As INSERT statements.
    Sql,
    /// As lines.
    Delimited(Delimited),
    /// As lines, in the format that the LOAD DATA statement in this file
    /// gives (mydumper `--load-data`, `--csv`); see [`Delimited::from_statement`].
    LoadData(PathBuf),
}

/// A file of the directory.
#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    bytes: u64,
    /// Its name without the suffix of the compression.
    name: String,
}

/// Finds out which kind of dump a directory contains, and its files.
pub fn detect(path: &Path) -> Result<Detected> {
    let (files, directories) = list(path)?;
    if is_archive(&files) {
        return Ok(Detected::Archive);
    }
    // Their files would be taken for those of a schema with the directory's name.
    let mut names = Vec::new();
    for directory in &directories {
        // What cannot be read is reported where it is needed.
        let Ok((files, _)) = list(directory) else {
            continue;
        };
        if (is_archive(&files) || mydumper::is(&files))
            && let Some(name) = directory.file_name()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    if !names.is_empty() {
        let path = path.to_owned();
        return Err(Error::Parent { path, names });
    }
    let dump = if mydumper::is(&files) {
        mydumper::read(path, files)?
    } else if has_rows(&files) {
        tab::read(files)
    } else {
        let mut schemas = Vec::new();
        let mut unread = None;
        for directory in directories {
            let files = match list(&directory) {
                Ok((files, _)) => files,
                Err(e) => {
                    unread.get_or_insert(e);
                    continue;
                }
            };
            if has_rows(&files)
                && let Some(name) = directory.file_name().and_then(|n| n.to_str())
            {
                schemas.push((name.to_owned(), files));
            }
        }
        if schemas.is_empty() {
            let path = path.to_owned();
            return Err(Error::Unknown { path });
        }
        // It could be a schema of the dump.
        if let Some(e) = unread {
            return Err(e);
        }
        tab::read_dir(schemas)
    };
    Ok(Detected::Dump(Box::new(dump)))
}

/// Whether these are the files of an archive, complete or not.
fn is_archive(files: &[File]) -> bool {
    let names = [
        "@.json",
        "penstock.json",
        "penstock.incomplete",
        "penstock.key.age",
        "penstock.names.age",
    ];
    files.iter().any(|f| names.contains(&f.name.as_str()))
}

fn has_rows(files: &[File]) -> bool {
    files.iter().any(|f| tab::parse_name(&f.name).is_some())
}

/// Files and directories by name, without hidden ones.
fn list(path: &Path) -> Result<(Vec<File>, Vec<PathBuf>)> {
    let fail = |e| Error::io(path.display().to_string(), e);
    let (mut files, mut directories) = (BTreeMap::new(), Vec::new());
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let path = entry.path();
        // The name of a link that leads nowhere is said, not only that of the directory.
        let meta =
            std::fs::metadata(&path).map_err(|e| Error::io(path.display().to_string(), e))?;
        let os_name = entry.file_name();
        let Some(name) = os_name.to_str().filter(|n| !n.starts_with('.')) else {
            continue;
        };
        if meta.is_dir() {
            directories.push(path);
        } else {
            let plain = [".gz", ".zst", ".bz2", ".xz"]
                .iter()
                .find_map(|end| name.strip_suffix(end))
                .unwrap_or(name)
                .to_owned();
            let bytes = meta.len();
            files.insert(
                name.to_owned(),
                File {
                    path,
                    bytes,
                    name: plain,
                },
            );
        }
    }
    directories.sort();
    Ok((files.into_values().collect(), directories))
}

#[cfg(test)]
mod tests;

//! Folders that other tools wrote: which tool it was, and what each file is.
//!
//! Only names are looked at, and mydumper's small metadata file; data files are
//! not opened. What is found is ordered: schemas, tables and files by name, the
//! data files of a table in the order they were cut.
//!
//! Known: MySQL Shell's and penstock's own archives, which are only recognised;
//! mydumper from 0.9 to 1.0; `mysqldump --tab`; `mariadb-dump --dir`; CSV and TSV
//! files beside `.sql` files. All but the archives may be compressed with gzip,
//! zstd, bzip2 or xz, one file at a time.
//!
//! Invariant: a dump that says it is not finished is
//! [`Error::Incomplete`], never a smaller dump; names are taken from file names
//! only where the tool writes them there unchanged.

mod delimited;
mod metadata;
mod mydumper;
mod tab;

pub use delimited::Delimited;
pub use metadata::{Metadata, Section};

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a folder holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// An archive in MySQL Shell's format; for `archive`, not for this crate.
    Archive,
    /// A dump of another tool.
    Dump(Box<Dump>),
}

/// Who laid out a folder.
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

/// A folder's parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// Who laid it out.
    pub layout: Layout,
    /// Schemas, by name; one without a name if files do not say theirs.
    pub schemas: Vec<Schema>,
    /// What mydumper says of the whole.
    pub metadata: Option<Metadata>,
    /// Files to be run before all else: `CREATE TABLESPACE`.
    pub before: Vec<PathBuf>,
    /// Files that no rule fits, for a warning.
    pub unknown: Vec<PathBuf>,
}

/// A schema's parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// Its name as the files have it; `None` if they do not say it.
    pub name: Option<String>,
    /// The name stands for another (`mydumper_0`), which is the one that
    /// [`create`](Self::create) has in its CREATE DATABASE.
    pub stand_in: bool,
    /// With CREATE DATABASE.
    pub create: Option<PathBuf>,
    /// Tables, by name.
    pub tables: Vec<Table>,
    /// Views' definitions, by name.
    pub views: Vec<Object>,
    /// Sequences' definitions, by name.
    pub sequences: Vec<Object>,
    /// Triggers of the whole schema, one file (mydumper since 0.12).
    pub triggers: Vec<PathBuf>,
    /// Routines and events.
    pub post: Vec<PathBuf>,
}

/// A table's parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// As [`Schema::stand_in`]: the name is the one in the CREATE TABLE of [`ddl`](Self::ddl).
    pub stand_in: bool,
    /// With CREATE TABLE; `None` if only data was dumped.
    pub ddl: Option<PathBuf>,
    /// Its rows, in the order the files were cut.
    pub data: Vec<DataFile>,
    /// Its triggers.
    pub triggers: Option<PathBuf>,
    /// Rows of all data files together, if the tool wrote that down.
    pub rows: Option<u64>,
    /// The first number that is missing between those of its files; empty if none is.
    pub missing: String,
}

/// An object that is one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// As [`Schema::stand_in`].
    pub stand_in: bool,
    /// Its definition.
    pub ddl: PathBuf,
}

/// A file of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size, as compressed.
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
    /// As lines, in a form that the LOAD DATA statement of this file gives
    /// (mydumper `--load-data`, `--csv`); see [`Delimited::of_statement`].
    LoadData(PathBuf),
}

/// A file of the folder.
#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    bytes: u64,
    /// Without a suffix of compression.
    name: String,
}

/// What kind of folder this is, and its parts.
pub fn look(path: &Path) -> Result<Found> {
    let (files, folders) = list(path)?;
    let has = |name: &str| files.iter().any(|f| f.name == name);
    if has("@.json") || has("penstock.json") {
        return Ok(Found::Archive);
    }
    let dump = if mydumper::is(&files) {
        mydumper::read(path, files)?
    } else if has_rows(&files) {
        tab::read(files)
    } else {
        let mut within = Vec::new();
        for folder in folders {
            let (files, _) = list(&folder)?;
            if has_rows(&files)
                && let Some(name) = folder.file_name().and_then(|n| n.to_str())
            {
                within.push((name.to_owned(), files));
            }
        }
        if within.is_empty() {
            let path = path.to_owned();
            return Err(Error::Unknown { path });
        }
        tab::read_dir(within)
    };
    Ok(Found::Dump(Box::new(dump)))
}

fn has_rows(files: &[File]) -> bool {
    files.iter().any(|f| tab::of_rows(&f.name).is_some())
}

/// Files and folders by name; hidden ones are left out.
fn list(path: &Path) -> Result<(Vec<File>, Vec<PathBuf>)> {
    let fail = |e| Error::io(path.display().to_string(), e);
    let (mut files, mut folders) = (BTreeMap::new(), Vec::new());
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let path = entry.path();
        let meta = std::fs::metadata(&path).map_err(fail)?;
        let os_name = entry.file_name();
        let Some(name) = os_name.to_str().filter(|n| !n.starts_with('.')) else {
            continue;
        };
        if meta.is_dir() {
            folders.push(path);
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
    folders.sort();
    Ok((files.into_values().collect(), folders))
}

#[cfg(test)]
mod tests;

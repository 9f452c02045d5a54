//! The files: of tables by name, of a schema's directory, of a data directory with the directories of all schemas.

use base::units::printable;
use base::{Error, Kind, Result};
use innodb::names::of_file_name;
use instance::read_only;
use run::state::storage;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Directories of a data directory that hold no tables of users.
const SYSTEM: [&str; 4] = ["mysql", "performance_schema", "sys", "lost+found"];

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Tablespaces, in the order of their paths.
    pub files: Vec<Input>,
    /// Where no archive is written, absolute and without links: directories that were named, and the data directories of files that were.
    pub places: Vec<PathBuf>,
    /// What is not read, with the reason.
    pub left_out: Vec<String>,
    /// As long as they are open, no server starts on these data directories.
    _locks: Vec<File>,
}

/// A tablespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// Where it is: absolute, without links.
    pub path: PathBuf,
    /// The schema by its directory; `None`: it lies among the files of a server, as a general tablespace does.
    pub schema: Option<String>,
    /// The table by its file's name.
    pub table: String,
    /// The file's name up to the marks of a partition.
    pub stem: String,
}

/// Finds them; a place that cannot be read, that a server uses, or that has none is an error.
pub fn find(places: &[PathBuf]) -> Result<Found> {
    let mut found = Found::default();
    for place in places {
        let shown = || printable(&place.display().to_string());
        let path = fs::canonicalize(place).map_err(|e| storage("read", place, &e))?;
        let before = found.files.len();
        if path.is_dir() {
            unused(&path, &mut found)?;
            directory(&path, &mut found)?;
            if found.files.len() == before {
                return Err(Error::new(
                    Kind::Usage,
                    format!(
                        "{} has no file of a table (*.ibd), nor has a directory in it",
                        shown()
                    ),
                )
                .hint("name files, the directory of a schema, or a data directory"));
            }
            found.places.push(path);
        } else {
            let directory = path.parent().map(Path::to_owned).unwrap_or_default();
            // Of a server's own files.
            for above in directory.ancestors().take(2) {
                unused(above, &mut found)?;
            }
            let schema = directory
                .file_name()
                .map(|n| of_file_name(&n.to_string_lossy()));
            found.files.push(input(&path, schema));
            // What else lies beside a single file is not read; but a data directory of a server gets no archive.
            let server = directory.ancestors().take(2).find(|d| is_of_server(d));
            found.places.extend(server.map(Path::to_owned));
        }
    }
    found.files.sort();
    found.files.dedup();
    Ok(found)
}

/// Refuses a directory that a server uses, and keeps one from starting on it.
fn unused(directory: &Path, found: &mut Found) -> Result<()> {
    found._locks.extend(read_only::lock_unused(directory)?);
    Ok(())
}

fn input(path: &Path, schema: Option<String>) -> Input {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let lower = stem.to_ascii_lowercase();
    let own = lower.find("#p#").map_or(&*stem, |at| &stem[..at]);
    Input {
        path: path.to_owned(),
        schema,
        table: of_file_name(own),
        stem: own.to_owned(),
    }
}

/// Whether it is a data directory.
fn is_of_server(path: &Path) -> bool {
    path.join("ibdata1").exists() || path.join("mysql.ibd").exists()
}

/// The files in a directory, and in the directories in it.
fn directory(path: &Path, found: &mut Found) -> Result<()> {
    let own = (!is_of_server(path)).then(|| name_of(path));
    let mut below = Vec::new();
    for entry in entries(path)? {
        if entry.is_dir() {
            below.push(entry);
        } else {
            add(&entry, own.clone(), found);
        }
    }
    for path in below {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if SYSTEM.contains(&&*name) || name.starts_with('#') {
            continue;
        }
        let schema = of_file_name(&name);
        for entry in entries(&path)? {
            if !entry.is_dir() {
                add(&entry, Some(schema.clone()), found);
            }
        }
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    of_file_name(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    let unread = |e: std::io::Error| storage("read", path, &e);
    let list = fs::read_dir(path).map_err(unread)?;
    let list = list.map(|e| e.map(|e| e.path()));
    let mut all = list.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    all.sort();
    Ok(all)
}

/// Takes a file of a table.
fn add(path: &Path, schema: Option<String>, found: &mut Found) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(engine) = other_engine(path) {
        found.left_out.push(printable(&format!(
            "{} has rows of a table of {engine}, which are not rescued: a server that starts on a copy of the files can read it",
            path.display()
        )));
        return;
    }
    if !name.ends_with(".ibd") || schema.is_none() && name == "mysql.ibd" {
        return;
    }
    // Full text indexes are built again.
    if is_of_full_text(&name) {
        return;
    }
    if name.starts_with("#sql") {
        found.left_out.push(printable(&format!(
            "{} is what an ALTER TABLE left that was not finished: name the file itself to read it",
            path.display()
        )));
        return;
    }
    found.files.push(input(path, schema));
}

/// The engine whose tables have their rows in such a file.
fn other_engine(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "MYD" => Some("MyISAM"),
        "MAD" => Some("Aria"),
        "CSV" => Some("CSV"),
        "ARZ" => Some("ARCHIVE"),
        _ => None,
    }
}

/// `fts_000000000000042a_….ibd`, capitals on MariaDB.
fn is_of_full_text(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let rest = lower.strip_prefix("fts_").map(str::as_bytes);
    rest.is_some_and(|r| r.len() > 17 && r[..16].iter().all(u8::is_ascii_hexdigit) && r[16] == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_where_servers_put_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        for schema in ["mysql", "a@002db", "#innodb_temp"] {
            fs::create_dir(at(schema)).expect("a directory");
        }
        for file in [
            "mysql.ibd",
            "space.ibd",
            "mysql/user.ibd",
            "#innodb_temp/temp_1.ibd",
            "a@002db/t.ibd",
            "a@002db/t.frm",
            "a@002db/q#P#p0#SP#s1.ibd",
            "a@002db/FTS_000000000000042a_CONFIG.ibd",
            "a@002db/#sql-1.ibd",
            "a@002db/m.MYD",
            "a@002db/m.MYI",
            "mysql/general_log.CSV",
        ] {
            fs::write(at(file), "").expect("a file");
        }
        let found = find(&[dir.path().to_owned()]).expect("files");
        let names: Vec<(Option<&str>, &str)> = found
            .files
            .iter()
            .map(|f| (f.schema.as_deref(), &*f.table))
            .collect();
        assert_eq!(
            names,
            [(Some("a-b"), "q"), (Some("a-b"), "t"), (None, "space")]
        );
        assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
        // The directory of a schema, and a file.
        let found = find(&[at("a@002db")]).expect("files");
        assert_eq!(found.files[0].schema.as_deref(), Some("a-b"));
        let found = find(&[at("a@002db/t.ibd"), at("a@002db/t.ibd")]).expect("a file");
        assert_eq!((found.files.len(), &*found.files[0].stem), (1, "t"));
        assert_eq!(
            find(&[at("#innodb_temp/x")]).expect_err("none").kind,
            Kind::Storage
        );
        assert!(is_of_full_text("fts_000000000000042a_being_deleted.ibd"));
        assert!(!is_of_full_text("fts_x.ibd"));
    }
}

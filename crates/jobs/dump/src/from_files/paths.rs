//! Where the files of a table are in a data directory.

use innodb::names::file_name;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a table, or of one of its partitions: one, or one for each partition, in the order of their names.
/// The error says why they are not found.
pub fn of_table(
    datadir: &Path,
    schema: &str,
    table: &str,
    partition: Option<&str>,
) -> Result<Vec<PathBuf>, String> {
    let encoded = |name: &str| {
        file_name(name, false).ok_or_else(|| "its name in file names is not known".to_owned())
    };
    let (schema, table) = (encoded(schema)?, encoded(table)?);
    let directory = datadir.join(&schema);
    let own = directory.join(format!("{table}.ibd"));
    if partition.is_none() && own.is_file() {
        return Ok(vec![own]);
    }
    let wanted = partition.map(encoded).transpose()?;
    let mut found = Vec::new();
    let unread = |e: io::Error| format!("{} cannot be read: {e}", directory.display());
    for entry in std::fs::read_dir(&directory).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let (Some(stem), Some("ibd")) = (
            path.file_stem().and_then(|s| s.to_str()),
            path.extension().and_then(|e| e.to_str()),
        ) else {
            continue;
        };
        let Some(last) = partition_of(stem, &table) else {
            continue;
        };
        if wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(last)) {
            found.push(path);
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err("it has no file of its own in the data directory (a general tablespace, the system tablespace, or DATA DIRECTORY)".to_owned()),
        false => Ok(found),
    }
}

/// The partition, or the subpartition, of a file `TABLE#p#PARTITION` or `TABLE#p#PARTITION#sp#SUBPARTITION`; MariaDB has
/// capitals between the marks.
fn partition_of<'s>(stem: &'s str, table: &str) -> Option<&'s str> {
    let rest = stem.strip_prefix(table)?;
    let marked = rest.get(..3).is_some_and(|m| m.eq_ignore_ascii_case("#p#"));
    // No name has such a mark in it: there it is encoded.
    marked.then(|| rest.rsplit('#').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_known_by_their_last_name() {
        assert_eq!(partition_of("t#p#p0", "t"), Some("p0"));
        assert_eq!(partition_of("t#P#p0#SP#s1", "t"), Some("s1"));
        assert_eq!(partition_of("t2#p#p0", "t"), None);
        assert_eq!(partition_of("t", "t"), None);
    }

    #[test]
    fn files_are_found_by_the_names_that_servers_write() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("a@002db")).expect("a schema");
        for name in [
            "t.ibd",
            "t@0020x.ibd",
            "q#P#p0.ibd",
            "q#P#p1.ibd",
            "q2#P#p0.ibd",
        ] {
            std::fs::write(dir.path().join("a@002db").join(name), "").expect("a file");
        }
        let of = |table, partition| of_table(dir.path(), "a-b", table, partition).map(|f| f.len());
        assert_eq!(of("t", None), Ok(1));
        assert_eq!(of("t x", None), Ok(1));
        assert_eq!(of("q", None), Ok(2));
        assert_eq!(of("q", Some("P1")), Ok(1));
        assert!(of("x", None).is_err());
        assert!(of_table(dir.path(), "none", "t", None).is_err());
    }
}

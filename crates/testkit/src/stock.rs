//! The limit of a load: chunk files that a dump wrote, loaded into an empty server by the stock
//! client's own LOAD DATA LOCAL INFILE, several clients at a time. What a load takes beyond this is
//! its own cost.

use crate::install::option;
use crate::{Error, Install, Result};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;

/// Loads all uncompressed chunks of `schema` in `archive` on `connections` clients at a time. The
/// tables must exist, with the columns in the order of the chunks.
pub fn load(
    install: &Install,
    socket: &Path,
    archive: &Path,
    schema: &str,
    connections: usize,
) -> Result<()> {
    let queue = Mutex::new(chunks(archive, schema)?);
    std::thread::scope(|scope| {
        let work_off = || -> Result<()> {
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).pop_front();
                let Some((table, file)) = next else {
                    return Ok(());
                };
                load_one(install, socket, schema, &table, &file)?;
            }
        };
        let handles: Vec<_> = (0..connections.max(1))
            .map(|_| scope.spawn(work_off))
            .collect();
        let mut joined = handles.into_iter().map(|h| h.join());
        joined.try_for_each(|r| r.unwrap_or_else(|_| Err(Error::new("a loading thread panicked"))))
    })
}

/// Table and file of every chunk, biggest first, so that all clients end together.
fn chunks(archive: &Path, schema: &str) -> Result<VecDeque<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(archive).map_err(Error::doing(archive.display()))? {
        let path = entry?.path();
        let size = path.metadata()?.len();
        let table = path
            .file_name()
            .and_then(|n| n.to_str())
            .and_then(|name| table_of(name, schema));
        if let Some(table) = table.filter(|_| size > 0) {
            found.push((size, table.to_owned(), path));
        }
    }
    if found.is_empty() {
        return Err(Error(format!(
            "no uncompressed chunks of {schema} in {}",
            archive.display()
        )));
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found
        .into_iter()
        .map(|(_, table, path)| (table, path))
        .collect())
}

/// The table of a chunk file: `SCHEMA@TABLE.tsv` or `SCHEMA@TABLE@N.tsv`.
fn table_of<'a>(name: &'a str, schema: &str) -> Option<&'a str> {
    let name = name
        .strip_suffix(".tsv")?
        .strip_prefix(schema)?
        .strip_prefix('@')?;
    name.split('@').next()
}

fn load_one(
    install: &Install,
    socket: &Path,
    schema: &str,
    table: &str,
    file: &Path,
) -> Result<()> {
    let name = file.to_str().filter(|n| !n.contains(['\'', '\\']));
    let name =
        name.ok_or_else(|| Error(format!("{} cannot be named in a statement", file.display())))?;
    // Both off make MariaDB lock a whole empty table for a bulk insert, and two loads deadlock.
    let unique = u8::from(matches!(
        install.kind,
        crate::Kind::MariaDb | crate::Kind::MariaDb118
    ));
    let sql = format!(
        "SET unique_checks={unique}, foreign_key_checks=0; \
         LOAD DATA LOCAL INFILE '{name}' INTO TABLE `{table}` CHARACTER SET utf8mb4"
    );
    let out = install
        .command("client")?
        .args(["--no-defaults", "--user=root", "--local-infile=1"])
        .arg(option("--socket=", socket))
        .args(["--execute", &sql, schema])
        .stdin(Stdio::null())
        .output()
        .map_err(Error::doing("stock client"))?;
    if out.status.success() {
        Ok(())
    } else {
        Err(Error(
            String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_from_file_names() {
        assert_eq!(table_of("tpcc@stock@0.tsv", "tpcc"), Some("stock"));
        assert_eq!(table_of("tpcc@stock@@17.tsv", "tpcc"), Some("stock"));
        assert_eq!(table_of("tpcc@item.tsv", "tpcc"), Some("item"));
        assert_eq!(table_of("tpcc@stock@0.tsv.idx", "tpcc"), None);
        assert_eq!(table_of("tpcc2@stock@0.tsv", "tpcc"), None);
    }
}

//! Drops tables together with what is left of their files.
//!
//! `DROP TABLE` leaves a file that the server does not know: a tablespace that was moved into its place and
//! not imported, or the description beside it. So both are removed here as well.

use super::datadir::{TablePaths, remove_if_exists, storage_error};
use super::targets::ImportTarget;
use crate::Target;
use base::Result;
use run::failure;
use std::path::Path;
use wire::Conn;

/// Removes a file that may not exist.
pub fn remove_file(path: &Path) -> Result<()> {
    remove_if_exists(path).map_err(|e| storage_error("remove", path, &e))
}

/// Drops a table of an interrupted load, and what is left of its files.
pub fn drop_table(t: &mut Target<'_>, name: &str, paths: Option<TablePaths>) -> Result<()> {
    t.execute(
        &format!("DROP TABLE IF EXISTS {name}"),
        &format!("cannot drop table {name}, whose import was interrupted"),
    )?;
    paths.iter().try_for_each(remove_files)
}

/// Drops a table whose tablespace was built in this load, and what is left of its files.
pub fn drop_target(conn: &mut Conn, target: &ImportTarget<'_>) -> Result<()> {
    let name = &target.name;
    conn.execute(format!("DROP TABLE IF EXISTS {name}"))
        .map_err(|e| failure::wire(format_args!("cannot drop table {name}"), e))?;
    remove_files(&target.paths)
}

fn remove_files(paths: &TablePaths) -> Result<()> {
    [&paths.tablespace, &paths.description]
        .into_iter()
        .try_for_each(|path| remove_file(path))
}

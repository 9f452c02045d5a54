//! Tables whose rows the server cannot read: damaged, without their file or their key; or that were altered, replaced or dropped
//! while the dump ran. One of them does not end the dump of the others: nothing of its rows is kept, its definition is, and it is
//! named.

use crate::tables::TableState;
use archive::meta;
use base::units::printable;
use base::{Error, Kind, Observer, Result};
use run::failure;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Store;

/// What servers say of a table that they cannot read, by the numbers of perror(1), 1932 of MariaDB alone. Whatever else
/// they say (no connection, killed, too many locks) says nothing about the table.
const CODES: [u16; 24] = [
    1016, // cannot open its file
    1017, // cannot find its file
    1024, // error reading a file
    1030, // error from the storage engine
    1033, // incorrect information in its definition
    1034, // incorrect key file
    1035, // old key file
    1194, // marked as crashed
    1195, // crashed, and the repair failed
    1286, // its storage engine is not installed
    1296, // error from the storage engine, in its words
    1429, // cannot connect to the server of a FEDERATED table
    1430, // the query on that server failed
    1431, // the table there does not exist
    1459, // must be upgraded
    1696, // cannot read its list of partitions
    1707, // must be rebuilt
    1712, // an index is corrupted
    1812, // its tablespace is missing
    1814, // its tablespace was discarded
    1815, // internal error of the engine
    1877, // corrupted
    1932, // does not exist in the engine
    3185, // its encryption key is not in the keyring
];

/// What servers say of a table that is not the one any more of which the snapshot is.
const CHANGED: [u16; 2] = [
    1146, // it does not exist
    1412, // its definition has changed
];

/// What helps with a table that cannot be read.
fn way_out(table: &TableState) -> &'static str {
    match table.table.engine.eq_ignore_ascii_case("InnoDB") {
        true => {
            "penstock rescue gets what is whole out of its file; --exclude-tables leaves the table out"
        }
        false => "repair it (CHECK TABLE, REPAIR TABLE), or leave it out with --exclude-tables",
    }
}

/// What helps with one that was changed.
const AGAIN: &str = "dump it again while no table is being changed";

/// Gives up the rows of a table if this is an error of it alone.
pub fn given_up(table: &TableState, outcome: Result<()>, observer: &dyn Observer) -> Result<()> {
    match outcome {
        // An engine that has no room for its work says so with one of these numbers, too.
        Err(e)
            if e.server_error.is_some_and(|code| CODES.contains(&code))
                && !failure::says_full(&e.what) =>
        {
            // Some of its rows may be loaded already.
            if table.is_fed() {
                return Err(e.hint(way_out(table)));
            }
            give_up(table, &e.what, observer);
            Ok(())
        }
        Err(e) if e.server_error.is_some_and(|code| CHANGED.contains(&code)) && !table.is_fed() => {
            leave_rows_out(table, &format!("{}; {AGAIN}", e.what), observer);
            Ok(())
        }
        outcome => outcome,
    }
}

/// Gives up the rows of a table that cannot be read.
pub fn give_up(table: &TableState, why: &str, observer: &dyn Observer) {
    leave_rows_out(table, &format!("{why}; {}", way_out(table)), observer);
}

/// Gives up the rows of tables that are not what they were when the snapshot was taken. Rows that are loaded already cannot be:
/// then it is an error.
pub fn changed(
    tables: &[Arc<TableState>],
    names: &[String],
    observer: &dyn Observer,
) -> Result<()> {
    const WHAT: &str =
        "altered, replaced or dropped while the dump ran, so its rows are not of one point in time";
    let is = |t: &&Arc<TableState>| names.contains(&t.table.qualified());
    for table in tables.iter().filter(is) {
        if table.is_fed() {
            let what = format!("{WHAT}: {}", table.table.qualified());
            return Err(Error::new(Kind::Failed, printable(&what)).hint(AGAIN));
        }
        leave_rows_out(table, &format!("{WHAT}; {AGAIN}"), observer);
    }
    Ok(())
}

fn leave_rows_out(table: &TableState, why: &str, observer: &dyn Observer) {
    if table.give_up(why) {
        observer.warn(exception(table, why));
    }
}

/// How it is named.
fn exception(table: &TableState, why: &str) -> String {
    printable(&format!(
        "table {}: the archive has its definition and none of its rows: {why}",
        table.table.qualified()
    ))
}

/// Removes what was written of such tables, and says in their descriptions that they have no rows; returns the others,
/// and adds an exception for each.
pub fn left_out(
    store: &dyn Store,
    tables: &[Arc<TableState>],
    files: &mut BTreeMap<String, archive::FileRecord>,
    exceptions: &mut Vec<String>,
) -> Result<Vec<Arc<TableState>>> {
    let wrong = |e: store::Error| failure::store("cannot leave out a table", &e);
    let mut whole = Vec::new();
    for table in tables {
        let Some(why) = table.unreadable() else {
            whole.push(Arc::clone(table));
            continue;
        };
        exceptions.push(exception(table, &why));
        for chunk in table.chunks() {
            store.remove(&chunk.record.file).map_err(wrong)?;
            if let Some((index, _)) = &chunk.record.index {
                store.remove(index).map_err(wrong)?;
            }
        }
        if let Some((file, described)) = &table.described {
            let mut described = described.clone();
            described.includes_data = false;
            let text = meta::to_json(&described);
            store.remove(file).map_err(wrong)?;
            let record = archive::file::put(store, file, text.as_bytes(), false)
                .map_err(|e| failure::archive("cannot leave out a table", &e))?;
            files.insert(file.clone(), record);
        }
    }
    Ok(whole)
}

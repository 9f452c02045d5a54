//! Whether the rows in a file are those that the server reads: the first of them are compared. A definition that does not
//! fit the file (MariaDB's files do not say how rows lie) shows here, before anything is written.

use archive::RowDigest;
use base::Result;
use rows::key_ranges::KeyRange;
use rows::table_plan::TablePlan;
use run::failure;
use wire::Conn;

/// Whether the first rows that the server reads have this digest.
pub fn has_first_rows(conn: &mut Conn, plan: &TablePlan, first: &RowDigest) -> Result<bool> {
    let name = &plan.name;
    // One more than there are, where there are none: an empty file must be an empty table.
    let sql = format!(
        "{} LIMIT {}",
        plan.select(&KeyRange::whole()),
        first.rows().max(1)
    );
    let failed = |e| failure::wire(format_args!("cannot read {name}"), e);
    let mut digest = RowDigest::new();
    let mut rows = match conn.query(sql) {
        Ok(rows) => rows,
        // A server that cannot read it says so when its rows are read by SQL.
        Err(wire::Error::Server(_)) => return Ok(false),
        Err(e) => return Err(failed(e)),
    };
    while let Some(row) = rows.next().map_err(failed)? {
        digest.add(row.payload());
    }
    Ok(digest == *first)
}

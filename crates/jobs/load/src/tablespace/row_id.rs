//! Row ids (`DB_ROW_ID`) of tables without a primary key, on MariaDB.
//!
//! A server identifies the rows of such a table by ids that it takes from one counter for all tables.
//! MariaDB 10.11 (10.11.19) sets that counter to the highest id of a tablespace that it imports, and not
//! past it, for its own tablespaces as well. The next row without a primary key, in whatever table, gets
//! that id again; in the imported table it is written over the last row, which is lost without an error. So
//! a row of a temporary table takes that id right after the import. MariaDB 11.8 (11.8.6) and MySQL
//! continue past the highest id, as they should.

use base::Result;
use run::failure;
use server::quote;
use wire::{Conn, Error};

/// The name of the temporary table, in the schema of the imported table.
const TABLE: &str = "penstock_row_number";

/// Why no row id can be taken in a schema, if it cannot.
pub fn why_unsupported(conn: &mut Conn, schema: &str) -> Result<Option<String>> {
    match take(conn, schema) {
        Ok(()) => Ok(None),
        Err(Error::Server(e)) => Ok(Some(format!(
            "they have no primary key, and after an import of such a table MariaDB would write the next row over its \
             last one, unless a temporary table takes that row id first: {e} (the privilege CREATE TEMPORARY TABLES \
             is needed)"
        ))),
        Err(e) => Err(failure::wire("cannot take a row id", e)),
    }
}

/// Takes the next row id.
pub fn take(conn: &mut Conn, schema: &str) -> std::result::Result<(), Error> {
    let table = quote::qualified(schema, TABLE);
    conn.execute(format!(
        "CREATE OR REPLACE TEMPORARY TABLE {table} (n INT) ENGINE=InnoDB"
    ))?;
    conn.execute(format!("INSERT INTO {table} VALUES (1)"))?;
    conn.execute(format!("DROP TEMPORARY TABLE {table}"))?;
    Ok(())
}

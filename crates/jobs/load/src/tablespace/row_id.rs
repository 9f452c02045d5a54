//! Numbers of rows that have no key, on MariaDB.
//!
//! A server keeps such rows by numbers that it gives them, from one counter for all tables. MariaDB 10.11 (10.11.19)
//! sets that counter to the highest number of a file that it imports, and not behind it, for files of its own as well: the next
//! row without a key, in whatever table, gets that number, and in the imported table it is written over the last row,
//! which is lost without a word. So a row of a temporary table takes the number before anybody else can.
//! MariaDB 11.8 (11.8.6) and MySQL count on as they should.

use base::Result;
use run::failure;
use server::quote;
use wire::{Conn, Error};

/// Its name, in the schema of the table.
const TABLE: &str = "penstock_row_number";

/// Why no number can be taken in a schema, if it cannot.
pub fn barred(conn: &mut Conn, schema: &str) -> Result<Option<String>> {
    match take(conn, schema) {
        Ok(()) => Ok(None),
        Err(Error::Server(e)) => Ok(Some(format!(
            "they have no key, and after an import of such a table MariaDB would write the next row over its last one, unless a temporary \
             table takes that number first: {e} (it takes the privilege CREATE TEMPORARY TABLES)"
        ))),
        Err(e) => Err(failure::wire("cannot take the number of a row", e)),
    }
}

/// Takes the next number.
pub fn take(conn: &mut Conn, schema: &str) -> std::result::Result<(), Error> {
    let table = quote::qualified(schema, TABLE);
    conn.execute(format!(
        "CREATE OR REPLACE TEMPORARY TABLE {table} (n INT) ENGINE=InnoDB"
    ))?;
    conn.execute(format!("INSERT INTO {table} VALUES (1)"))?;
    conn.execute(format!("DROP TEMPORARY TABLE {table}"))?;
    Ok(())
}

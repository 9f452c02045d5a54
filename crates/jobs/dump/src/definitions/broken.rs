//! Objects that the server lists but cannot use: views of something that is gone, or of a definer that is; tables whose
//! files are missing or damaged.

use base::Result;
use base::units::printable;
use run::failure;
use wire::Conn;

/// Why the server cannot use a view or open a table, in its own words. A query of it is prepared and not run.
pub(super) fn reason(conn: &mut Conn, schema: &str, name: &str) -> Result<Option<String>> {
    let name = server::quote::qualified(schema, name);
    let query = server::quote::text(&format!("SELECT * FROM {name}"));
    // PREPARE takes a plain string or a variable, and a name may need more than a plain string.
    conn.execute(format!("SET @penstock_try = {query}"))
        .map_err(|e| failure::wire("cannot look at an object", e))?;
    match conn.execute("PREPARE penstock_try FROM @penstock_try") {
        Ok(_) => {
            let end = conn.execute("DEALLOCATE PREPARE penstock_try");
            end.map(|_| None)
                .map_err(|e| failure::wire("cannot look at an object", e))
        }
        // What this account may not do says nothing of the view.
        Err(wire::Error::Server(e)) if matches!(e.code, 1044 | 1142 | 1143 | 1227 | 1370) => {
            Ok(None)
        }
        Err(wire::Error::Server(e)) => Ok(Some(printable(&e.to_string()))),
        Err(e) => Err(failure::wire("cannot look at an object", e)),
    }
}

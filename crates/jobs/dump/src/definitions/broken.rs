//! Views that the server lists but cannot use: what they are about is gone, or their definer is.

use base::Result;
use base::units::printable;
use run::failure;
use server::catalog::View;
use wire::Conn;

/// Why the server cannot use a view, in its own words. It is prepared as a query and not run.
pub(super) fn reason(conn: &mut Conn, view: &View) -> Result<Option<String>> {
    let name = server::quote::qualified(&view.schema, &view.name);
    let query = server::quote::text(&format!("SELECT * FROM {name}"));
    match conn.execute(format!("PREPARE penstock_view FROM {query}")) {
        Ok(_) => {
            let end = conn.execute("DEALLOCATE PREPARE penstock_view");
            end.map(|_| None)
                .map_err(|e| failure::wire("cannot look at a view", e))
        }
        // What this account may not do says nothing of the view.
        Err(wire::Error::Server(e)) if matches!(e.code, 1044 | 1142 | 1143 | 1227 | 1370) => {
            Ok(None)
        }
        Err(wire::Error::Server(e)) => Ok(Some(printable(&e.to_string()))),
        Err(e) => Err(failure::wire("cannot look at a view", e)),
    }
}

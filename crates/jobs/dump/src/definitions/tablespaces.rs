//! The general tablespaces (MySQL) that the dumped tables are in: what a load needs to make them again.

use base::Result;
use base::units::printable;
use run::failure;
use server::tablespaces::{self, Tablespace};
use std::collections::BTreeMap;
use wire::Conn;

/// What is found out about tablespaces, and what cannot be, in words. `used`: by tablespace, the tables in it, quoted and
/// qualified.
pub(super) fn read(
    conn: &mut Conn,
    used: &BTreeMap<String, Vec<String>>,
    exceptions: &mut Vec<String>,
) -> Result<Vec<Tablespace>> {
    if used.is_empty() {
        return Ok(Vec::new());
    }
    let names = used.keys().cloned().collect();
    let (found, why) = match tablespaces::read(conn, &names) {
        Ok(found) => (found, "it cannot be read".to_owned()),
        // An error of the server (no PROCESS, an older version) keeps nothing else from being dumped.
        Err(e) if e.code().is_some() => (Vec::new(), e.to_string()),
        Err(e) => return Err(failure::server("cannot read general tablespaces", e)),
    };
    for (name, tables) in used {
        let quoted = server::quote::ident(name);
        match found.iter().find(|f| f.name == *name) {
            None => exceptions.push(printable(&format!(
                "general tablespace {quoted} of {} is not in the archive ({why}): to have it on the target, create it there before the load, like CREATE TABLESPACE {quoted} ADD DATAFILE 'FILE.ibd' ENGINE=InnoDB; otherwise these tables get files of their own",
                tables.join(", ")
            ))),
            Some(space) if space.is_elsewhere() => exceptions.push(printable(&format!(
                "general tablespace {quoted} has its file at {}: a load makes it in the data directory; for another place create it on the target before the load",
                space.file
            ))),
            Some(_) => {}
        }
    }
    Ok(found)
}

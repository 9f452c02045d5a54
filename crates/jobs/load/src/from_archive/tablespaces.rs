//! General tablespaces (MySQL): made before the tables that are in them, unless the target has them.
//!
//! Invariant: a file is only ever made in the target's data directory, under a plain name; an archive that names another
//! place is not followed. A tablespace that cannot be made keeps no table from being loaded: the tables in it get files of
//! their own, and the same command moves them later. What this does not do: drop a tablespace.

use super::LoadPlan;
use super::create_table::definition;
use crate::Target;
use archive::manifest;
use base::Result;
use run::failure;
use server::ddl;
use server::quote;
use server::tablespaces::{self, Tablespace};
use std::collections::BTreeSet;

/// Makes those that tables of the plan are in.
pub(super) fn create(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let known = plan.archive.manifest().map_or(&[][..], |m| &m.tablespaces);
    // Without this look every definition would be read once more.
    if known.is_empty() || t.options.strip_tablespaces || !t.id.is_mysql() {
        return Ok(());
    }
    let mut used = BTreeSet::new();
    for table in plan.tables() {
        t.run.check()?;
        let create = definition(t, plan, table)?;
        used.extend(create.and_then(|create| ddl::general_tablespace(&create)));
    }
    let missing = |there: &BTreeSet<String>| -> Vec<&manifest::Tablespace> {
        let wanted = known.iter().filter(|k| used.contains(&k.name));
        wanted.filter(|k| !there.contains(&k.name)).collect()
    };
    if missing(&BTreeSet::new()).is_empty() {
        return Ok(());
    }
    let there = match tablespaces::names(&mut t.conn) {
        Ok(there) => there,
        // Without the privilege to look, the statement itself shows what is there.
        Err(e) if e.code().is_some() => BTreeSet::new(),
        Err(e) => {
            return Err(failure::server(
                "cannot look at the target's tablespaces",
                e,
            ));
        }
    };
    for space in missing(&there) {
        let refused = match make(t, space)? {
            None => continue,
            Some(refused) => refused,
        };
        t.refused(format!(
            "general tablespace {} is not created: {refused}",
            quote::ident(&space.name)
        ));
        t.report.repairable = true;
    }
    Ok(())
}

/// The server has a tablespace of this name.
const EXISTS: u16 = 3515;

/// Makes one; the reason if that is refused.
fn make(t: &mut Target<'_>, space: &manifest::Tablespace) -> Result<Option<String>> {
    if space.file.is_empty() || space.file.contains(['/', '\\']) {
        return Ok(Some(format!(
            "{:?} is not the plain name of a file, and an archive may not name another",
            space.file
        )));
    }
    let statement = Tablespace {
        name: space.name.clone(),
        file: space.file.clone(),
        block_size: space.block_size,
        autoextend_size: space.autoextend_size,
        encrypted: space.encrypted,
    };
    match t.conn.execute(statement.create()) {
        Ok(_) => {
            t.report.touched = true;
            Ok(None)
        }
        Err(wire::Error::Server(e)) if e.code == EXISTS => Ok(None),
        Err(wire::Error::Server(e)) => Ok(Some(e.to_string())),
        Err(e) => Err(failure::wire("cannot create a general tablespace", e)),
    }
}

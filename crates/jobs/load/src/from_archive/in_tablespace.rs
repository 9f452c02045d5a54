//! A table whose definition names a general tablespace (MySQL), and that is not in it: said once, and put right by a later
//! load when the tablespace is there.

use crate::Target;
use archive::open::Table;
use base::Result;
use run::failure;
use server::ddl::{self, Object};
use server::quote;

/// Puts a table that an earlier load has left with a file of its own into the tablespace that its definition names.
pub(super) fn move_into(t: &mut Target<'_>, table: &Table, create: &str) -> Result<()> {
    let Some(wanted) = ddl::general_tablespace(create) else {
        return Ok(());
    };
    let there = ddl::read(&mut t.conn, Object::Table, &table.schema, &table.name)
        .map_err(|e| failure::server("cannot read a definition of the target", e))?;
    if ddl::general_tablespace(&there.sql) == Some(wanted.clone()) {
        return Ok(());
    }
    let (name, space) = (
        quote::qualified(&table.schema, &table.name),
        quote::ident(&wanted),
    );
    match t
        .conn
        .execute(format!("ALTER TABLE {name} TABLESPACE = {space}"))
    {
        Ok(_) => Ok(()),
        Err(wire::Error::Server(e)) => {
            t.refused(has_own_file(&name, &e.to_string()));
            t.report.repairable = true;
            Ok(())
        }
        Err(e) => Err(failure::wire(
            format_args!("cannot move table {name} into tablespace {space}"),
            e,
        )),
    }
}

/// That a table is not in its general tablespace.
pub(super) fn has_own_file(name: &str, refusal: &str) -> String {
    format!(
        "table {name} has a file of its own, for the target does not have its general tablespace ({refusal}); --strip-tablespaces wants that"
    )
}

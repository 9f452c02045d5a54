//! Whether the rows that are chosen (`--where`, `--partitions`) are of tables that are dumped, and the server understands the
//! conditions: what it does not is refused before anything is locked.

use crate::Options;
use crate::definitions::is_merge;
use base::units::printable;
use base::{Error, Kind, Result};
use rows::table_plan::{RowChoice, narrowed};
use run::failure;
use server::catalog::{Table, TableKind};
use server::{Catalog, Identity, quote};
use wire::Conn;

/// Fails if a choice is of no table that is dumped, or is not understood by the server.
pub fn check(conn: &mut Conn, id: &Identity, catalog: &Catalog, options: &Options) -> Result<()> {
    // As the readers do it, which change nothing.
    let begin = match id.has_read_only_transactions() {
        true => "START TRANSACTION READ ONLY",
        false => "START TRANSACTION",
    };
    for ((schema, name), choice) in options.choices.iter() {
        let given = choice.option();
        let table = catalog.table(schema, name);
        let Some(table) = table.filter(|t| has_rows(t)) else {
            return Err(refused(format_args!(
                "{given}: {} is no table with rows that this dump takes",
                quote::qualified(schema, name)
            ))
            .hint(format!("the name has to be spelt as the server does, and the table to be selected; a view, a sequence and a MERGE table have no rows of their own; what stands in an option file or in penstock.toml ({}) is for every dump", &given[2..])));
        };
        let from = table.qualified();
        let mut tried = |choice: &RowChoice, given: &str, hint: &str| {
            let sql = format!(
                "SELECT 1 FROM {}{} LIMIT 0",
                choice.within(&from),
                narrowed(String::new(), choice.condition.as_deref())
            );
            let tried = conn.execute(begin).and_then(|_| conn.execute(&sql));
            let ended = conn.execute("ROLLBACK");
            match tried.and(ended) {
                Ok(_) => Ok(()),
                Err(wire::Error::Server(e)) => Err(refused(format_args!(
                    "{given} of {from}: the server does not take it: {e}"
                ))
                .hint(hint.to_owned())),
                Err(e) => Err(failure::wire(format_args!("cannot read {from}"), e)),
            }
        };
        if !choice.partitions.is_empty() {
            let partitions = RowChoice {
                condition: None,
                ..choice.clone()
            };
            let there: Vec<&str> = table.partitions.iter().map(|p| p.name.as_str()).collect();
            let hint = match there.is_empty() {
                true => "the table has no partitions; nothing was written".to_owned(),
                false => format!("it has {}; nothing was written", there.join(", ")),
            };
            tried(&partitions, "--partitions", &printable(&hint))?;
        }
        let hint = "try it first: SELECT COUNT(*) FROM … WHERE …; nothing was written";
        tried(choice, "--where", hint)?;
    }
    Ok(())
}

fn has_rows(table: &Table) -> bool {
    table.kind != TableKind::Sequence && !is_merge(table)
}

fn refused(what: std::fmt::Arguments<'_>) -> Error {
    Error::new(Kind::Usage, printable(&what.to_string()))
}

//! Tables that are not selected and that the target has: a trigger that the archive has of one, and the target has not, is
//! named. Whoever repeats a load without its tables may think that their triggers come along.

use super::LoadPlan;
use crate::Target;
use archive::open::Table;
use base::Result;
use base::units::printable;
use run::failure;
use server::quote;
use std::collections::{BTreeMap, BTreeSet};

/// Names such triggers in the summary.
pub(super) fn triggers(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let filter = &t.options.filter;
    let mut left_out: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for table in plan.archive.tables() {
        let selected = filter.table(&table.source.0, &table.source.1);
        // A table that is loaded may have got its name.
        let taken = || {
            plan.tables()
                .any(|t| t.schema == table.schema && t.name == table.name)
        };
        if table.triggers.is_some() && !selected && (plan.renaming.is_none() || !taken()) {
            left_out.entry(&table.schema).or_default().push(table);
        }
    }
    for (schema, tables) in left_out {
        let name = quote::text(schema);
        let there = names(
            t,
            format!("SELECT table_name FROM information_schema.tables WHERE table_schema = {name}"),
        )?;
        let made = names(
            t,
            format!(
                "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = {name}"
            ),
        )?;
        for table in tables.into_iter().filter(|t| there.contains(&t.name)) {
            let missing = table.meta.triggers.iter().filter(|tr| !made.contains(*tr));
            for trigger in missing {
                t.report.remarks.push(printable(&format!(
                    "trigger {} is not on the target: its table {} is there, and is not selected",
                    quote::qualified(schema, trigger),
                    quote::qualified(schema, &table.name)
                )));
            }
        }
    }
    Ok(())
}

fn names(t: &mut Target<'_>, sql: String) -> Result<BTreeSet<String>> {
    let rows = t
        .conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look at the target's objects", e))?;
    let cells = rows.into_iter().flatten().flatten();
    Ok(cells
        .map(|c| String::from_utf8_lossy(&c).into_owned())
        .collect())
}

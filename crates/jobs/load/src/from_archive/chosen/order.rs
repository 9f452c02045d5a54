//! In which order tables lose the rows that are not wanted: a condition that reads another table is to see all of its rows, as a
//! dump with the same conditions does.

use super::usage;
use super::words::Words;
use crate::from_archive::plan::LoadPlan;
use crate::from_archive::prepared::Prepared;
use archive::open::Table;
use base::{Error, Kind, Result};
use server::quote;

/// The tables that rows are deleted of: each before those that its condition may read.
pub(super) fn of(plan: &LoadPlan) -> Result<Vec<&Table>> {
    let tables = plan.selected_tables().filter(|t| plan.leaves_rows_out(t));
    let mut waiting: Vec<(&Table, Option<Words>)> = tables
        .map(|table| {
            let condition = plan.wanted(table).and_then(|w| w.rest.condition.as_deref());
            (table, condition.map(Words::of))
        })
        .collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let free = (0..waiting.len()).find(|at| {
            let others = waiting.iter().enumerate().filter(|(n, _)| n != at);
            let reads = |words: &Words| words.may_read(&waiting[*at].0.name);
            !others
                .filter_map(|(_, (_, words))| words.as_ref())
                .any(reads)
        });
        let Some(free) = free else {
            let names: Vec<String> = waiting
                .iter()
                .map(|(t, _)| quote::qualified(&t.schema, &t.name))
                .collect();
            return Err(usage(format!(
                "--where: the conditions of {} read each other's tables, so none can be the first to lose rows",
                names.join(", ")
            ))
            .hint("write out the values, or load one of the tables with another command"));
        };
        order.push(waiting.remove(free).0);
    }
    Ok(order)
}

/// Refuses a condition that may read a view: it has a placeholder at that time.
pub(super) fn no_placeholder(plan: &LoadPlan, table: &Table, condition: &str) -> Result<()> {
    let words = Words::of(condition);
    match plan.selected_views().find(|v| words.may_read(&v.name)) {
        None => Ok(()),
        Some(view) => Err(usage(format!(
            "--where of {}: it may read view {}, which is made after the rows",
            quote::qualified(&table.schema, &table.name),
            quote::qualified(&view.schema, &view.name)
        ))
        .hint("write out what the view selects, or leave views out (--no-views)")),
    }
}

/// Fails if a condition may read a table that does not have all of its rows: the target refused them, or an earlier run of this
/// load has left some of them out already, because it could not choose rows of this table then.
pub(super) fn has_all_rows_to_read(
    plan: &LoadPlan,
    table: &Table,
    condition: &str,
    prepared: &Prepared,
) -> Result<()> {
    let words = Words::of(condition);
    let reduced = |t: &Table| {
        let name = quote::qualified(&t.schema, &t.name);
        let done = prepared.journal.chosen(&name).is_some();
        plan.leaves_rows_out(t) && (done || prepared.journal.leaving(&name).is_some())
    };
    let others = plan.tables().filter(|t| !std::ptr::eq(*t, table));
    for other in others.filter(|t| words.may_read(&t.name)) {
        let (why, hint) = match (plan.is_emptied(other), reduced(other)) {
            (true, _) => (
                "whose rows the target refused",
                "correct that table, then resume",
            ),
            (_, true) => (
                "which an earlier run has left rows out of",
                "drop both tables, then resume",
            ),
            _ => continue,
        };
        return Err(Error::new(
            Kind::Failed,
            base::units::printable(&format!(
                "the rows of {} cannot be chosen: the condition may read {}, {why}",
                quote::qualified(&table.schema, &table.name),
                quote::qualified(&other.schema, &other.name)
            )),
        )
        .hint(hint));
    }
    Ok(())
}

//! Definitions of a live server's tables, for its own log: they hold since the last statement that may have changed them.

use crate::definitions::{Definition, Definitions, Need, Offer, may_change};
use crate::live::Live;
use crate::log::Log;
use crate::walk::Place;
use base::Result;
use run::{Run, failure};
use server::catalog::{Catalog, TableKind};
use server::{Filter, Privileges, quote};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The definitions that the server has now, and since when in its log.
pub fn of_server(run: &Run, live: &Live, needs: &[Need]) -> Result<Definitions> {
    let mut all = Definitions::default();
    let Some(from) = needs
        .iter()
        .map(|n| &n.from)
        .min_by(|a, b| a.order().cmp(&b.order()))
    else {
        return Ok(all);
    };
    let mut changed: BTreeMap<usize, Place> = BTreeMap::new();
    Log::Live(live).statements(run, 0, (from, None), &mut |at, schema, text| {
        for (i, need) in needs.iter().enumerate() {
            if may_change(text, schema, &need.schema, &need.table) {
                changed.insert(i, at.clone());
            }
        }
    })?;
    let (mut conn, identity) = live.catalog()?;
    let names = needs.iter().map(|n| quote::qualified(&n.schema, &n.table));
    let names: Vec<String> = names.collect();
    let filter = Filter::new(&[], &[], &names, &[])
        .map_err(|e| failure::server("cannot name the tables", e))?;
    let catalog = Catalog::read(&mut conn, &identity, &filter)
        .map_err(|e| failure::server("cannot read the definitions of the tables", e))?;
    let account = Privileges::read(&mut conn, &identity)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    for (i, need) in needs.iter().enumerate() {
        let Some(table) = catalog.table(&need.schema, &need.table) else {
            continue;
        };
        let definition = Definition {
            columns: table.columns.clone(),
            primary: table
                .primary_columns()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            triggers: match table.triggers.is_empty() {
                false => Ok(true),
                true if account.has_on(&table.schema, &table.name, "TRIGGER") => Ok(false),
                // They are not even listed to it.
                true => Err(format!(
                    "whether the table has triggers is unknown: account {} lacks TRIGGER on it",
                    account.account
                )),
            },
            versioned: table.kind == TableKind::SystemVersioned,
            present: true,
            by: "the server's present definition".to_owned(),
        };
        let from = changed.get(&i).cloned();
        all.add(
            (need.timeline, need.schema.clone(), need.table.clone()),
            Offer {
                definition: Arc::new(definition),
                from,
                to: None,
            },
        );
    }
    Ok(all)
}

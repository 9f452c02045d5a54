//! Tables and views of an archive whose files are missing or damaged. One that is not selected keeps nothing from being
//! loaded; one that is selected does, unless the user asks for what is whole (`--skip-damaged`).
//!
//! Invariant: each is loaded with all of its files, or not at all and by name. What is damaged besides them (the
//! definitions of a schema, say) always ends the load.

use super::LoadPlan;
use super::precheck::files_of;
use crate::Options;
use archive::{Archive, ArchiveError};
use base::Result;
use base::units::printable;
use run::{Run, failure};
use server::quote;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the tables are that the metadata already shows as damaged; an error if one is selected and may not be skipped.
pub(super) fn of_metadata(run: &Run, options: &Options, archive: &Archive) -> Result<Vec<String>> {
    let mut skipped = Vec::new();
    for d in archive.damaged() {
        let name = quote::qualified(&d.schema, &d.table);
        if !(options.filter.schema(&d.schema) && options.filter.table(&d.schema, &d.table)) {
            run.observer.warn(printable(&format!(
                "{} {name}, which is not selected, is damaged in the archive: {}",
                kind(d.view),
                d.error
            )));
        } else if options.skip_damaged {
            skipped.push(text(d.view, &name, &d.error));
        } else {
            let doing = format_args!("cannot use {}", options.from);
            return Err(failure::archive(doing, &d.error).hint(
                "penstock verify DIR lists everything that is wrong with an archive; --skip-damaged loads the tables that are whole",
            ));
        }
    }
    Ok(skipped)
}

/// Reads the files of all selected tables, and takes those out of the plan that have a damaged one.
pub(super) fn leave_out(run: &Run, plan: &mut LoadPlan, threads: usize) -> Result<()> {
    let Some(manifest) = plan.archive.manifest() else {
        return Ok(());
    };
    let phase = run.phase("looking for damaged tables", threads);
    let mut tables = HashMap::new();
    for table in plan.tables() {
        let key = (table.schema.clone(), table.name.clone());
        tables.extend(files_of(table).into_iter().map(|f| (f, key.clone())));
    }
    for view in plan.selected_views() {
        let key = (view.schema.clone(), view.name.clone());
        tables.extend([&view.pre, &view.ddl].map(|f| (f.clone(), key.clone())));
    }
    let list: Vec<_> = manifest
        .files
        .iter()
        .filter_map(|(name, record)| Some((name, record, tables.get(name)?)))
        .collect();
    let bytes = list.iter().map(|(_, r, _)| r.bytes).sum();
    phase.counters.bytes_expected.set(bytes);
    let found: Mutex<BTreeMap<(String, String), String>> = Mutex::default();
    let views = plan
        .selected_views()
        .map(|v| (v.schema.clone(), v.name.clone()));
    let views: BTreeSet<(String, String)> = views.collect();
    let (store, next) = (plan.archive.store(), AtomicUsize::new(0));
    run.workers((0..threads).collect(), |_, _: usize, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, record, table)) = list.get(at) else {
                return Ok(());
            };
            let count = |n| phase.counters.bytes.add(n);
            match archive::file::verify(&**store, name, record, &run.cancel, count) {
                Ok(()) => {}
                Err(e @ ArchiveError::Damaged { .. }) => {
                    let name = quote::qualified(&table.0, &table.1);
                    let mut found = base::lock(&found);
                    let view = views.contains(table);
                    found
                        .entry((*table).clone())
                        .or_insert(text(view, &name, &e));
                }
                Err(e) => return Err(failure::archive("cannot check the archive", &e)),
            }
        }
    })?;
    run.check()?;
    let found = base::lock::into_inner(found);
    let schemas = plan.archive.schemas();
    for part in &mut plan.schemas {
        let schema = &schemas[part.at];
        part.tables.retain(|at| {
            let table = &schema.tables[*at];
            !found.contains_key(&(table.schema.clone(), table.name.clone()))
        });
        part.views.retain(|at| {
            let view = &schema.views[*at];
            !found.contains_key(&(view.schema.clone(), view.name.clone()))
        });
    }
    plan.damaged.extend(found.into_values());
    Ok(())
}

fn kind(view: bool) -> &'static str {
    if view { "view" } else { "table" }
}

fn text(view: bool, name: &str, e: &ArchiveError) -> String {
    let triggers = if view { "" } else { ", nor its triggers" };
    printable(&format!(
        "{} {name} is not loaded{triggers}: it is damaged in the archive ({e})",
        kind(view)
    ))
}

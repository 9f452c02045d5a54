//! What an archive has in missing or damaged files. What is not selected keeps nothing from being loaded; what is
//! selected does, unless the user asks for what is whole (`--skip-damaged`).
//!
//! Invariant: each table and view is loaded with all of its rows and its own definition, or not at all and by name. The
//! triggers of a table, and the definition of a schema with its routines and events, are left out alone. What says what
//! the archive is (`@.json`, `@.done.json`, the manifest) is never damaged without ending the load.

use super::LoadPlan;
use crate::Options;
use crate::left_out::LeftOut;
use archive::open::{Part, Table};
use archive::{Archive, ArchiveError};
use base::units::printable;
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::quote;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The hint for an archive of which a part may be whole.
const HINT: &str = "penstock verify DIR lists everything that is wrong with an archive; --skip-damaged loads what is whole";

/// An error of a damaged archive, with the way out.
pub(super) fn or(e: Error) -> Error {
    match e.kind {
        Kind::Archive => e.hint(HINT),
        _ => e,
    }
}

/// What the metadata already shows as damaged; an error if that is selected and may not be skipped.
pub(super) fn of_metadata(run: &Run, options: &Options, archive: &Archive) -> Result<Vec<LeftOut>> {
    let mut skipped = Vec::new();
    for d in archive.damaged() {
        let selected = options.filter.schema(&d.schema)
            && (d.object.is_empty() || options.filter.table(&d.schema, &d.object));
        let of = Owner {
            part: d.part,
            schema: d.schema.clone(),
            object: d.object.clone(),
        };
        if !selected {
            let of = of.named();
            run.observer.warn(printable(&format!(
                "{of}, which is not selected, is damaged in the archive: {}",
                d.error
            )));
        } else if options.skip_damaged {
            let found = archive.schemas().iter().any(|s| s.name == d.schema);
            skipped.push(of.left_out(&d.error, found));
        } else {
            let doing = format_args!("cannot use {}", options.from);
            return Err(failure::archive(doing, &d.error).hint(HINT));
        }
    }
    Ok(skipped)
}

/// What a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    schema: String,
    object: String,
    part: Part,
}

impl Owner {
    fn named(&self) -> String {
        let schema = quote::ident(&self.schema);
        let object = quote::qualified(&self.schema, &self.object);
        match self.part {
            Part::Table => format!("table {object}"),
            Part::Triggers => format!("the file with the triggers of table {object}"),
            Part::View => format!("view {object}"),
            Part::Objects => format!("the list of objects of schema {schema}"),
            Part::Schema => format!("the definition of schema {schema}"),
        }
    }

    /// It is left out; of a schema without a list of objects, `found` says whether its objects were found otherwise.
    fn left_out(&self, e: &ArchiveError, found: bool) -> LeftOut {
        let (named, schema) = (self.named(), quote::ident(&self.schema));
        let what = match self.part {
            Part::Table => {
                format!(
                    "{named} is not loaded, nor its triggers: it is damaged in the archive ({e})"
                )
            }
            Part::View => format!("{named} is not loaded: it is damaged in the archive ({e})"),
            Part::Triggers => format!(
                "the triggers of table {} are not loaded: they are damaged in the archive ({e})",
                quote::qualified(&self.schema, &self.object)
            ),
            Part::Objects if found => format!(
                "{named} is damaged in the archive ({e}): tables and views are loaded that their own files name; others would be missing"
            ),
            Part::Objects => {
                format!("schema {schema} is not loaded: {named} is damaged in the archive ({e})")
            }
            Part::Schema => format!(
                "schema {schema} has no routines and events from the archive, nor its default collation: {named} is damaged in the archive ({e})"
            ),
        };
        LeftOut {
            what: printable(&what),
            schema: self.schema.clone(),
            object: matches!(self.part, Part::Table | Part::View).then(|| self.object.clone()),
        }
    }
}

/// The files of what is selected, each with what it belongs to.
fn owners(plan: &LoadPlan) -> BTreeMap<String, Owner> {
    let mut owners = BTreeMap::new();
    let owner = |part, schema: &str, object: &str| Owner {
        part,
        schema: schema.to_owned(),
        object: object.to_owned(),
    };
    for table in plan.tables() {
        let own = owner(Part::Table, &table.schema, &table.name);
        owners.extend(own_files(table).map(|f| (f.clone(), own.clone())));
        let triggers = owner(Part::Triggers, &table.schema, &table.name);
        owners.extend(table.triggers.iter().map(|f| (f.clone(), triggers.clone())));
    }
    for view in plan.selected_views() {
        let own = owner(Part::View, &view.schema, &view.name);
        owners.extend([&view.pre, &view.ddl].map(|f| (f.clone(), own.clone())));
    }
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        let own = owner(Part::Schema, &schema.name, "");
        owners.extend(schema.ddl.iter().map(|f| (f.clone(), own.clone())));
    }
    owners
}

/// The files without which a table cannot be loaded.
fn own_files(table: &Table) -> impl Iterator<Item = &String> {
    let first = [&table.meta_file].into_iter().chain(&table.ddl);
    first.chain(table.chunks.iter().map(|c| &c.file))
}

/// Reads the files of all that is selected, and takes out of the plan what has a damaged one.
pub(super) fn leave_out(run: &Run, plan: &mut LoadPlan, threads: usize) -> Result<()> {
    let Some(manifest) = plan.archive.manifest() else {
        return Ok(());
    };
    let phase = run.phase("looking for damaged files", threads);
    let owners = owners(plan);
    let indexes: BTreeMap<String, Owner> = plan
        .tables()
        .flat_map(|t| t.chunks.iter().map(move |c| (t, c)))
        .map(|(t, c)| {
            let owner = Owner {
                part: Part::Table,
                schema: t.schema.clone(),
                object: t.name.clone(),
            };
            (format!("{}.idx", c.file), owner)
        })
        .collect();
    // What the client would run before and after all else, and accounts that are not asked for.
    let spare = |name: &str| match name {
        "@.sql" | "@.post.sql" => true,
        name => plan.accounts.is_none() && plan.archive.users_file().is_some_and(|f| f == name),
    };
    let list: Vec<_> = manifest
        .files
        .iter()
        .filter(|(name, _)| {
            owners.contains_key(*name) || indexes.contains_key(*name) || spare(name)
        })
        .collect();
    let bytes = list.iter().map(|(_, r)| r.bytes).sum();
    phase.counters.bytes_expected.set(bytes);
    let found: Mutex<BTreeMap<String, ArchiveError>> = Mutex::default();
    let (store, next) = (plan.archive.store(), AtomicUsize::new(0));
    run.workers((0..threads).collect(), |_, _: usize, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, record)) = list.get(at) else {
                return Ok(());
            };
            let count = |n| phase.counters.bytes.add(n);
            match archive::file::verify(&**store, name, record, &run.cancel, count) {
                Ok(()) => {}
                Err(e @ ArchiveError::Damaged { .. }) => {
                    base::lock(&found).insert((*name).clone(), e);
                }
                Err(e) => return Err(failure::archive("cannot check the archive", &e)),
            }
        }
    })?;
    run.check()?;
    let found = base::lock::into_inner(found);
    // Only MySQL Shell reads the index of a chunk.
    for (file, e) in found.iter().filter(|(file, _)| indexes.contains_key(*file)) {
        run.observer
            .warn(printable(&format!("{e}: nothing but MySQL Shell reads it")));
        plan.unread.insert(file.clone());
    }
    let not_needed: Vec<_> = found.iter().filter(|(file, _)| spare(file)).collect();
    for (_, e) in &not_needed {
        run.observer
            .warn(printable(&format!("{e}: this load does not need it")));
    }
    let not_needed: Vec<String> = not_needed
        .into_iter()
        .map(|(file, _)| file.clone())
        .collect();
    plan.unread.extend(not_needed);
    let mut left_out: BTreeMap<&Owner, &ArchiveError> = BTreeMap::new();
    for (file, e) in &found {
        let Some(owner) = owners.get(file) else {
            continue;
        };
        left_out.entry(owner).or_insert(e);
        if matches!(owner.part, Part::Triggers | Part::Schema) {
            plan.archive.leave_out_definition(file);
            plan.unread.insert(file.clone());
        }
    }
    let has = |schema: &str, object: &str| {
        let mut gone = left_out.keys();
        gone.any(|o| {
            matches!(o.part, Part::Table | Part::View) && o.schema == schema && o.object == object
        })
    };
    let schemas = plan.archive.schemas();
    for part in &mut plan.schemas {
        let schema = &schemas[part.at];
        part.tables
            .retain(|at| !has(&schema.name, &schema.tables[*at].name));
        part.views
            .retain(|at| !has(&schema.name, &schema.views[*at].name));
    }
    // A table without its rows has no triggers, either.
    let shown = left_out
        .iter()
        .filter(|(o, _)| o.part != Part::Triggers || !has(&o.schema, &o.object));
    let shown: Vec<LeftOut> = shown.map(|(o, e)| o.left_out(e, true)).collect();
    plan.damaged.extend(shown);
    Ok(())
}

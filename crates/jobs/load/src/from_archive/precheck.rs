//! Everything that can be checked before the target is touched: the archive is intact, the target is not
//! its source, it may be written to, and it holds none of the objects.

use super::definers::{self, Programs};
use super::plan::Growing;
use super::{LoadPlan, Renaming, SchemaSelection, chosen};
use crate::journal;
use crate::{Existing, Only, Options, Target, check_writable, refused};
use archive::Archive;
use archive::open::Table;
use base::units::printable;
use base::{Error, Kind, Result};
use rows::archives::{not_beside, open_definitions, open_tolerant, open_tolerant_definitions};
use rows::renaming;
use rows::selection::check_matched;
use run::Run;
use run::failure;
use server::filter::Program;
use server::privileges::{LoadNeeds, Privileges};
use server::{Identity, quote};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// What the selection leaves of the archive.
pub fn plan(run: &Run, options: &Options) -> Result<LoadPlan> {
    let growing = match &options.feed {
        Some(feed) => Some((feed, feed.definitions(|| run.check())?)),
        None => None,
    };
    let mut archive = match growing {
        Some(_) => open_definitions(&options.from)?,
        None if !options.parts.rows => open_tolerant_definitions(&options.from)?,
        None => open_tolerant(&options.from)?,
    };
    let damaged = super::skip_damaged::of_metadata(run, options, &archive);
    let mut damaged = damaged.map_err(|e| not_beside(&options.from).unwrap_or(e))?;
    let mut kinds = super::left_out::Kinds::default();
    let (filter, map) = (&options.filter, &options.names);
    let whole = |schema: &archive::open::Schema| {
        let source = schema.source.as_ref();
        source.is_some_and(|s| filter.whole_schema(s))
    };
    for schema in archive.schemas() {
        // Each pattern sees each name, so that one without a match is noticed.
        let names = schema.tables.iter().map(|t| &t.name);
        for name in names.chain(schema.views.iter().map(|v| &v.name)) {
            filter.table(&schema.name, name);
        }
        filter.schema(&schema.name);
    }
    let (unwanted, without_programs) = archive.choose_programs(|kind, schema, name| {
        let kind = match kind {
            "trigger" => Program::Trigger,
            "routine" => Program::Routine,
            _ => Program::Event,
        };
        filter.program(kind, schema, name)
    });
    // What was left out of an archive that this command made is not in it.
    if !options.is_step {
        check_matched(filter)?;
    }
    renaming::check(&archive, map, filter)?;
    renaming::rename(&mut archive, map, filter);
    for left_out in &mut damaged {
        left_out.rename(map);
    }
    let mut schemas = Vec::new();
    for (at, schema) in archive.schemas().iter().enumerate() {
        let wanted = |names: Vec<&(String, String)>| -> Vec<usize> {
            names
                .iter()
                .enumerate()
                .filter(|(_, (schema, name))| filter.table(schema, name))
                .map(|(i, _)| i)
                .collect()
        };
        let mut part = SchemaSelection {
            at,
            whole: whole(schema),
            tables: wanted(schema.tables.iter().map(|t| &t.source).collect()),
            views: wanted(schema.views.iter().map(|v| &v.source).collect()),
        };
        kinds.add(schema, &part);
        // All of it may have moved to another schema.
        let empty = !part.whole && part.tables.is_empty() && part.views.is_empty();
        if !options.parts.views {
            part.views.clear();
        }
        if !empty {
            schemas.push(part);
        }
    }
    if !options.parts.definitions {
        schemas.retain(|part| !part.tables.is_empty());
    }
    run.check()?;
    let left_out: Vec<&str> = archive
        .schemas()
        .iter()
        .filter_map(|s| s.source.as_deref())
        .filter(|s| server::filter::is_system_schema(s) && !filter.schema(s))
        .collect();
    if !left_out.is_empty() {
        run.observer.warn(format!(
            "system schemas are loaded only if --include-schemas names them: {}",
            left_out.join(", ")
        ));
    }
    if schemas.is_empty() {
        return Err(Error::new(
            Kind::Usage,
            "there is nothing to load: the selection leaves no schema of the archive",
        ));
    }
    let mut unread = super::left_out::forget(options.parts, &mut archive);
    unread.extend(without_programs);
    let choices = chosen::of_archive(options, &mut archive, &damaged, |s, t| filter.table(s, t))?;
    unread.extend(choices.unread);
    let mut left_out = kinds.without(options.parts);
    left_out.extend(choices.left_out);
    let mut plan = LoadPlan {
        source: source(&archive),
        parts: options.parts,
        left_out,
        choices: choices.wanted,
        accounts: super::accounts::of_archive(options, &archive)?,
        renaming: Renaming::of(&archive, map),
        definers: options.definers.clone(),
        archive,
        schemas,
        refused: OnceLock::new(),
        unwanted: unwanted.into_iter().collect(),
        emptied: OnceLock::new(),
        treated: OnceLock::new(),
        damaged,
        unread,
        growing: None,
    };
    if let Some((feed, estimates)) = growing {
        plan.growing = Some(Growing {
            feed: Arc::clone(feed),
            estimates,
            identity: format!("{}{}", journal::COPY, journal::identity(&plan)?),
            whole: OnceLock::new(),
        });
    }
    Ok(plan)
}

/// The source server, as far as the archive describes it.
fn source(archive: &Archive) -> Option<Identity> {
    let mut v = BTreeMap::new();
    if let Some(m) = archive.manifest() {
        let s = &m.source;
        v.insert("version".to_owned(), s.version.clone());
        v.insert("version_comment".to_owned(), s.flavour.clone());
        v.insert("server_uuid".to_owned(), s.uuid.clone());
        v.insert("hostname".to_owned(), s.hostname.clone());
        v.insert("port".to_owned(), s.port.to_string());
        v.insert("socket".to_owned(), s.socket.clone());
        v.insert("datadir".to_owned(), s.datadir.clone());
    } else {
        v.insert("version".to_owned(), archive.root().server_version.clone());
    }
    Identity::from_variables(v)
}

/// Checks that the target can take the archive, and that the account may load it.
pub fn target(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if let Some(source) = &plan.source
        && !t.options.allow_same_server
        && plan.archive.has_manifest()
        // Beside the originals there is no danger for them.
        && (plan.growing.is_some() || !plan.is_all_renamed())
        && source.same_server(&t.id)
    {
        if plan.growing.is_some() {
            let what = format!("{} is the source itself", t.options.target.endpoint);
            return Err(refused(what).hint("name another server"));
        }
        return Err(refused(format!(
            "{} is the server that the archive was taken from",
            t.options.target.endpoint
        ))
        .hint("check --into; to restore a lost schema on purpose, add --allow-same-server; to restore beside the original, give every schema or table another name (--map-schema, --map-table)"));
    }
    let programs = Programs::read(t, plan)?;
    let granted = Privileges::read(&mut t.conn, &t.id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let lacking = privileges(t, plan, &programs, &granted)?;
    let level = match plan.parts.rows {
        true => Some(t.options.tune.level),
        false => None,
    };
    let writable = check_writable(&mut t.conn, &t.id, level);
    match (writable, lacking) {
        (Ok(()), None) => {}
        (Ok(()), Some(lacking)) => return Err(lacking),
        (Err(e), None) => return Err(e),
        // What is lacking is named at once, not one thing a run.
        (Err(e), Some(lacking)) => {
            let hints = [e.hint.as_deref(), lacking.hint.as_deref()];
            let hints: Vec<&str> = hints.into_iter().flatten().collect();
            let hint = hints.join("\n");
            return Err(Error::new(e.kind, format!("{}; {}", e.what, lacking.what)).hint(hint));
        }
    }
    definers::check(t, plan, programs, &granted.account)?;
    match plan.parts.only {
        Some(Only::Users) => Ok(()),
        _ => {
            storage(t, plan);
            names(t, plan)?;
            chosen::check(t, plan)
        }
    }
}

/// The error of an account that lacks something for this load; it names all of it. What keeps only some objects
/// from being created is a warning.
fn privileges(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    programs: &Programs,
    granted: &Privileges,
) -> Result<Option<Error>> {
    let has = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|l| !l.is_empty());
    // They come with whole schemas alone.
    let whole: Vec<&archive::open::Schema> = plan
        .schemas
        .iter()
        .filter(|p| p.whole)
        .map(|p| &plan.archive.schemas()[p.at])
        .collect();
    let routines = whole.iter().any(|s| {
        let m = &s.meta;
        plan.parts.routines && (has(&m.functions) || has(&m.procedures) || has(&m.packages))
    });
    let events = plan.parts.events && whole.iter().any(|s| has(&s.meta.events));
    let only_users = plan.parts.only == Some(Only::Users);
    let schemas = match only_users {
        true => BTreeSet::new(),
        false => plan.schema_names(),
    };
    let needs = LoadNeeds {
        schemas: schemas.into_iter().map(str::to_owned).collect(),
        everywhere: false,
        views: !only_users && plan.schemas.iter().any(|p| !p.views.is_empty()),
        triggers: plan.tables().any(|t| t.triggers.is_some()),
        routines,
        functions: programs.trusted.iter().any(|o| o.starts_with("function ")),
        events,
        definers: false,
        accounts: plan.accounts.is_some(),
        // Neither needs ALTER, but for indexes.
        rows_only: !plan.parts.definitions || plan.parts.only == Some(Only::Objects),
        sees_triggers: t.options.existing.destroys() || !plan.parts.definitions,
        skip_binlog: t.options.skip_binlog,
    };
    let given = granted.missing_to_grant(&super::accounts::grants(t, plan)?);
    let fatal = granted.missing_for_load(&t.id, &needs);
    let trust = granted.missing_trust(&t.id, &needs);
    let others = programs.of_others(&granted.account);
    let definers = !others.is_empty();
    let all = granted.missing_for_load(&t.id, &LoadNeeds { definers, ..needs });
    // What is replaced is dropped first, and would be lost.
    let would_be_lost =
        definers && matches!(t.options.existing, Existing::Replace(_)) && !all.is_empty();
    if fatal.is_empty() && trust.is_none() && !would_be_lost {
        if !given.is_empty() {
            t.run.observer.warn(printable(&format!(
                "the target will refuse some grants of the archive's accounts, for this account may not give them: {};",
                given.join("; ")
            )));
        }
        if !all.is_empty() {
            t.run.observer.warn(printable(&format!(
                "the target will refuse {}, for this account may not create objects of other definers: {};",
                definers::shown(&others),
                all.join("; ")
            )));
        }
        return Ok(None);
    }
    let mut hint: Vec<String> = all
        .into_iter()
        .chain(given)
        .map(|grant| format!("{grant};"))
        .collect();
    hint.extend(trust.map(|statement| {
        printable(&format!(
            "{statement}; for {}: the target's binary log is on (error 1419)",
            definers::shown(&programs.trusted)
        ))
    }));
    let error = Error::new(
        Kind::Privilege,
        format!(
            "account {} lacks privileges that this load needs",
            granted.account
        ),
    );
    Ok(Some(error.hint(hint.join("\n"))))
}

/// What the target's settings make of tables whose definitions say nothing of it.
fn storage(t: &mut Target<'_>, plan: &LoadPlan) {
    if !plan.parts.definitions || plan.tables().next().is_none() {
        return;
    }
    let of = |name: &str| t.id.variable(name).map(str::to_owned);
    let format = of("innodb_default_row_format").filter(|f| !f.eq_ignore_ascii_case("dynamic"));
    let shared = of("innodb_file_per_table").is_some_and(|v| matches!(&*v, "OFF" | "0"));
    if let Some(format) = format {
        t.report.notes.push(printable(&format!(
            "tables of InnoDB whose definitions name no ROW_FORMAT are made with {}: innodb_default_row_format of the target; the usual one is DYNAMIC",
            format.to_uppercase()
        )));
    }
    if shared {
        t.report.notes.push(
            "tables of InnoDB are made in the system tablespace, without files of their own: innodb_file_per_table of the target is OFF"
                .to_owned(),
        );
    }
}

/// Names that differ only in case cannot both exist on a server that folds case.
/// One such name comes out in small letters where the server stores it so.
fn names(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if t.id.lower_case_table_names == 0 {
        return Ok(());
    }
    if t.id.lower_case_table_names == 1 {
        let schemas = plan.schemas.iter().map(|p| {
            let schema = &plan.archive.schemas()[p.at];
            let views = p.views.iter().map(|v| &schema.views[*v].name);
            (&schema.name, views)
        });
        for (schema, views) in schemas {
            if *schema != schema.to_lowercase() {
                t.report.notes.push(folded("schema", &quote::ident(schema)));
            }
            for view in views.filter(|v| **v != v.to_lowercase()) {
                let name = quote::qualified(schema, view);
                t.report.notes.push(folded("view", &name));
            }
        }
        for table in plan.tables() {
            if table.name != table.name.to_lowercase() {
                let name = quote::qualified(&table.schema, &table.name);
                t.report.notes.push(folded("table", &name));
            }
        }
    }
    let mut seen = BTreeSet::new();
    for table in plan.tables() {
        let folded = (table.schema.to_lowercase(), table.name.to_lowercase());
        if !seen.insert(folded) {
            return Err(refused(format!(
                "the target folds case in names (lower_case_table_names = {}), and {} differs from another table only in case",
                t.id.lower_case_table_names, quote::qualified(&table.schema, &table.name)
            ))
            .hint("load them separately with --exclude-tables"));
        }
    }
    Ok(())
}

fn folded(kind: &str, name: &str) -> String {
    format!(
        "{kind} {name} becomes {}: the target stores names in small letters (lower_case_table_names = 1)",
        name.to_lowercase()
    )
}

/// The files of one table.
pub(super) fn files_of(table: &Table) -> Vec<String> {
    let mut files = vec![table.meta_file.clone()];
    files.extend(table.ddl.iter().chain(&table.triggers).cloned());
    for chunk in &table.chunks {
        files.push(chunk.file.clone());
        files.push(format!("{}.idx", chunk.file));
    }
    files
}

/// Compares the sizes of all files with one listing; returns the files that are not rows.
fn sizes<'a>(
    plan: &LoadPlan,
    list: Vec<(&'a String, &'a archive::FileRecord)>,
) -> Result<Vec<(&'a String, &'a archive::FileRecord)>> {
    let found = plan.archive.store().list().map_err(|e| {
        failure::archive(
            "cannot list the archive's files",
            &archive::ArchiveError::Store(e),
        )
    })?;
    let found: BTreeMap<&str, u64> = found.iter().map(|e| (e.name.as_str(), e.size)).collect();
    for (name, record) in &list {
        let size = found.get(name.as_str()).copied();
        archive::file::verify_size(name, size, record).map_err(|e| {
            super::skip_damaged::or(failure::archive(
                "nothing was loaded: the archive was changed after it was written",
                &e,
            ))
        })?;
    }
    // With the index of each, which only MySQL Shell reads.
    let rows: BTreeSet<&str> = plan
        .tables()
        .flat_map(|t| &t.chunks)
        .map(|c| c.file.as_str())
        .collect();
    let of_rows = |name: &str| rows.contains(name.strip_suffix(".idx").unwrap_or(name));
    Ok(list
        .into_iter()
        .filter(|(name, _)| !of_rows(name))
        .collect())
}

/// Verifies every file that will be read, before the first statement. Of rows in another place only the sizes:
/// they would cross the network twice, and each chunk is compared with its digest while it is loaded, before
/// the server commits it.
pub fn files(run: &Run, plan: &LoadPlan, threads: usize) -> Result<()> {
    if plan.growing.is_some() {
        return Ok(());
    }
    let Some(manifest) = plan.archive.manifest() else {
        return Ok(());
    };
    let phase = run.phase("checking the archive", threads);
    let store = plan.archive.store();
    let strays = archive::strays(&**store, manifest)
        .map_err(|e| failure::archive("cannot list the archive's files", &e))?;
    for name in strays {
        run.observer.warn(archive::stray_warning(&name));
    }
    let of_views = |v: &archive::open::View| [v.pre.clone(), v.ddl.clone()];
    let of_schema =
        |s: &archive::open::Schema| [std::slice::from_ref(&s.meta_file), &s.ddl].concat();
    let schemas = plan.archive.schemas();
    let all_views = schemas.iter().flat_map(|s| &s.views);
    let all: BTreeSet<String> = plan
        .archive
        .tables()
        .flat_map(files_of)
        .chain(all_views.flat_map(of_views))
        .chain(schemas.iter().flat_map(of_schema))
        .collect();
    let selected = plan.schemas.iter().map(|part| &schemas[part.at]);
    let wanted: BTreeSet<String> = plan
        .tables()
        .flat_map(files_of)
        .chain(plan.selected_views().flat_map(of_views))
        // Those of a table that is left as it is may be missing.
        .chain(plan.selected_tables().filter_map(|t| t.triggers.clone()))
        .chain(selected.flat_map(of_schema))
        .collect();
    // What belongs to no object, and the files of those that are loaded: damage to another's files does not keep
    // the others from being restored.
    let list: Vec<_> = manifest
        .files
        .iter()
        .filter(|(name, _)| !all.contains(*name) || wanted.contains(*name))
        .filter(|(name, _)| !plan.unread.contains(*name))
        .filter(|(name, _)| !plan.archive.damaged().iter().any(|d| d.has(name)))
        .collect();
    let list = if store.link().is_some() {
        sizes(plan, list)?
    } else {
        list
    };
    phase
        .counters
        .bytes_expected
        .set(list.iter().map(|(_, r)| r.bytes).sum());
    let next = AtomicUsize::new(0);
    // Of several damaged files, the first one in the list is named, whichever is found first.
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let counters = &phase.counters;
    run.workers((0..threads).collect(), |_, _: usize, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, record)) = list.get(at) else {
                return Ok(());
            };
            counters.busy.add(1);
            let outcome = archive::file::verify(&**store, name, record, &run.cancel, |n| {
                counters.bytes.add(n)
            });
            counters.busy.sub(1);
            let Err(e) = outcome else {
                continue;
            };
            let e = super::skip_damaged::or(failure::archive(
                "nothing was loaded: the archive was changed after it was written",
                &e,
            ));
            next.fetch_max(list.len(), Ordering::Relaxed);
            let mut first = base::lock(&first);
            if first.as_ref().is_none_or(|f| at < f.0) {
                *first = Some((at, e));
            }
        }
    })?;
    run.check()?;
    let first = base::lock::into_inner(first);
    first.map_or(Ok(()), |(_, e)| Err(e))
}

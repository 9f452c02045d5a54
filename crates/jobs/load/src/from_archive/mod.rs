//! Loads an archive, penstock's or MySQL Shell's: the steps from the first look at the target to the end of
//! the journal.

mod accounts;
mod amounts;
pub mod attempt;
mod chosen;
pub mod create_table;
mod create_tables;
mod definer_clause;
mod definers;
mod definitions;
pub mod existing;
mod generated;
mod gtids;
mod histograms;
mod in_tablespace;
mod left_out;
mod load_statement;
pub mod objects;
mod only;
mod plan;
pub mod precheck;
mod prepare;
pub mod prepared;
mod preview;
mod rows;
mod skip_damaged;
mod statistics;
mod tablespaces;
mod unselected;

pub use chosen::Wanted;
pub use existing::{Treated, lost};
pub use plan::{LoadPlan, Renaming, SchemaSelection, raw_bytes};
pub use preview::{Preview, preview};

use crate::completion::Completion;
use crate::earlier_accounts::EarlierAccounts;
use crate::journal;
use crate::managed_instance::with_managed_instance;
use crate::options::{Existing, Only, Options};
use crate::previous_load::{Input, PreviousLoad};
use crate::repair::Repairable;
use crate::sql::loaders;
use crate::summary::Summary;
use crate::tablespace::{self, MethodPlan};
use crate::target::Target;
use archive::RowDigest;
use archive::open::Table;
use base::events::Silent;
use base::units::printable;
use base::{Error, Kind, Result};
use existing::ExistingObjects;
use instance::tune;
use run::Run;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use verify::Comparison;
use verify::against_archive::Leeway;

/// Loads an archive.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    if options.parts.only == Some(Only::Users) {
        return only::users(run, options);
    }
    let start = Instant::now();
    let mut plan = precheck::plan(run, options)?;
    if options.skip_damaged {
        skip_damaged::leave_out(run, &mut plan, options.threads)?;
    }
    let plan = plan;
    let source = plan.source.as_ref().map(|id| id.flavour);
    let check = || precheck::files(run, &plan, options.threads);
    let bytes = plan.raw_bytes();
    let mut done = with_managed_instance(run, options, bytes, source, check, |options| {
        load_plan(run, options, &plan)
    })?;
    done.seconds = start.elapsed().as_secs_f64();
    done.link_seconds = plan
        .archive
        .store()
        .link()
        .map(|l| l.waited().as_secs_f64());
    done.dumped_with = ::rows::archives::dumped_with(plan.whole_archive());
    done.from_source = plan.growing.is_some();
    done.has_accounts = plan.archive.users_file().is_some();
    let of = |m: &archive::Manifest| (m.position.clone(), m.source.clone());
    // The log changes objects by the names that they have on the source, and all kinds of them.
    let continues = plan.renaming.is_none()
        && plan.left_out.is_empty()
        && plan.unwanted.is_empty()
        && plan.treated().left.is_empty()
        && plan.has_all_rows();
    done.source = plan
        .whole_archive()
        .manifest()
        .filter(|m| continues && !m.lacks_rows() && m.without_kinds().next().is_none())
        .map(of);
    Ok(done)
}

/// How much a load would have to do, for a forecast.
pub fn work(run: &Run, options: &Options) -> Result<forecast::Work> {
    // What is looked at has been said.
    let run = run.with_observer(Arc::new(Silent));
    let plan = precheck::plan(&run, options)?;
    if options.managed.is_some() {
        return Ok(amounts::of_new_server(options, &plan));
    }
    let mut target = Target::look(&run, options)?;
    let methods = MethodPlan::choose(&mut target, &plan, None)?;
    Ok(amounts::work(&target, &plan, &methods))
}

/// What a load would refuse before its first change.
pub fn check(run: &Run, options: &Options) -> Result<()> {
    let plan = precheck::plan(run, options)?;
    let mut target = Target::open(run, options)?;
    precheck::target(&mut target, &plan)?;
    gtids::check(&mut target, &plan)?;
    ExistingObjects::look(&mut target, &plan)?.refuse(options)
}

fn load_plan(run: &Run, options: &Options, plan: &LoadPlan) -> Result<Summary> {
    let mut target = Target::open(run, options)?;
    for damaged in &plan.damaged {
        target.refused(damaged.what.clone());
    }
    if !plan.archive.has_manifest() {
        run.observer.note(format!(
            "{} was not written by penstock ({}): it has no digests, so sizes and counts are checked, and a digest is taken while the rows are loaded",
            options.from,
            printable(&plan.archive.root().dumper)
        ));
    }
    precheck::target(&mut target, plan)?;
    target
        .report
        .notes
        .extend(crate::rename::in_words(&options.names));
    let asked = &plan.archive.root().compatibility_options;
    if asked.iter().any(|o| o == "create_invisible_pks") {
        target.report.remarks.push("tables without a primary key are created as they are in the archive: its option create_invisible_pks has MySQL Shell add one".into());
    }
    let chunks: usize = plan.tables().map(|t| t.chunks.len()).sum();
    let input = Input {
        word: "archive",
        schemas: Some(plan.schema_names().len()),
        pieces: format!("of {chunks} chunks"),
        journal: Some(server::quote::qualified(
            journal::home(plan),
            journal::TABLE,
        )),
    };
    let previous = previous_load(&mut target, &input, plan)?;
    let repairs = matches!(previous, PreviousLoad::None) && target.resuming;
    let journal = match previous {
        PreviousLoad::None if repairs => Some(kept_journal(&target, plan)?),
        PreviousLoad::None => None,
        PreviousLoad::Interrupted(journal) => {
            target.earlier = EarlierAccounts {
                made: journal.accounts().clone(),
                locked: journal.accounts().clone(),
                refused: None,
            };
            let _ = plan.treated.set(journal.treated().clone());
            Some(*journal)
        }
        PreviousLoad::Completed(completion) => return already_complete(target, plan, completion),
    };
    if !target.resuming {
        chosen::try_on_those_there(&mut target, plan)?;
    }
    gtids::check(&mut target, plan)?;
    let mut methods = MethodPlan::choose(&mut target, plan, journal.as_ref())?;
    target.report.physical = methods.any();
    // For a managed instance, that was done while its data directory was initialized.
    if options.managed.is_none() {
        precheck::files(run, plan, options.threads)?;
    }
    if !target.resuming {
        // Checking the archive may have taken minutes: look again before the first statement.
        existing::check_again(&mut target, plan)?;
    }
    let work = amounts::work(&target, plan, &methods);
    let resumed = target.resuming;
    let profile = plan.profile(&target, &methods);
    let mut tuning = target.tuned(&profile)?;
    if let (true, Some(journal)) = (repairs, &journal) {
        journal.write(&mut target, journal::home(plan))?;
    }
    let phase = run.phase("creating tables", 1);
    let cleared = match &journal {
        Some(journal) => tablespace::clear(&mut target, plan, journal, &mut methods),
        None => Ok(()),
    };
    if !resumed {
        existing::clear(&mut target, plan)?;
    }
    let outcome = cleared.and_then(|()| prepare::create(&mut target, plan, journal, &methods));
    let mut prepared = outcome.map_err(|e| input.partial_load_hint(e, &target))?;
    drop(phase);
    chosen::try_on_tables(&mut target, plan, &prepared.journal)
        .map_err(|e| input.partial_load_hint(e, &target))?;
    let outcome = tablespace::run(&mut target, plan, &mut methods, &mut prepared);
    let (import, imported) = outcome.map_err(|e| input.partial_load_hint(e, &target))?;
    let mut wire = options.target.clone();
    wire.local_infile = true;
    let tables = rows::tables(&mut target, plan, &prepared)?;
    let outcome = rows::load(&mut target, plan, &wire, &tables, &prepared.journal);
    let (rows_seconds, bottleneck) = outcome.map_err(|e| input.partial_load_hint(e, &target))?;
    // Before any trigger, foreign key or event could do more.
    let chosen = chosen::delete(&mut target, plan, &tables, &prepared)
        .map_err(|e| input.partial_load_hint(e, &target))?;
    let phase = run.phase("creating foreign keys, routines, views", 1);
    let journal = &prepared.journal;
    let outcome = accounts::create(&mut target, plan, &mut |conn, name| {
        journal.account(conn, name)
    });
    let outcome = outcome.and_then(|()| objects::create(&mut target, plan, &prepared.foreign));
    let outcome = outcome.and_then(|()| match plan.parts.only {
        Some(Only::Indexes) => only::indexes(&mut target, plan),
        _ => unselected::triggers(&mut target, plan),
    });
    outcome.map_err(|e| input.partial_load_hint(e, &target))?;
    drop(phase);
    // The comparison only reads: it does not have to wait for durability.
    tuning.put_back();
    // Imported tables were verified before the journal counted them as loaded.
    let by_sql: Vec<_> = plan
        .tables()
        .zip(&tables)
        .filter(|(t, l)| !plan.is_emptied(t) && !target.kept.contains(&l.name))
        // Those were compared while all of their rows were there.
        .filter(|(t, _)| !plan.leaves_rows_out(t))
        .filter(|(_, t)| imported.is_none() || !import.tables.contains(&t.name))
        .collect();
    let before = match (chosen, imported) {
        (Some(chosen), imported) => Some(chosen.and(imported)),
        (None, imported) => imported,
    };
    let verified =
        compare(&target, plan, &by_sql, before).map_err(|e| input.partial_load_hint(e, &target))?;
    if plan.compares_sql(options) {
        let all: Vec<&Table> = plan
            .tables()
            .filter(|t| {
                let name = server::quote::qualified(&t.schema, &t.name);
                !plan.is_emptied(t) && !target.kept.contains(&name) && !plan.leaves_rows_out(t)
            })
            .collect();
        let compared = generated::compare(&mut target, plan, &all);
        compared.map_err(|e| input.partial_load_hint(e, &target))?;
    }
    chosen::referring(&mut target, plan).map_err(|e| input.partial_load_hint(e, &target))?;
    existing::check_constraints(&mut target, plan)
        .map_err(|e| input.partial_load_hint(e, &target))?;
    histograms::make(&mut target, plan).map_err(|e| input.partial_load_hint(e, &target))?;
    if options.analyze {
        statistics::take(&mut target, plan).map_err(|e| input.partial_load_hint(e, &target))?;
    }
    gtids::set(&mut target, plan).map_err(|e| input.partial_load_hint(e, &target))?;
    let existing = match target.report.exceptions.is_empty() {
        true => ExistingObjects::default(),
        false => ExistingObjects::look(&mut target, plan)?,
    };
    let missing = existing.missing.clone();
    let recorded = plan.archive.has_manifest() || options.managed.is_some();
    let emptied = plan.emptied.get().map_or(0, |e| e.len());
    // With tables to fill, the load can still be resumed.
    if emptied == 0 {
        let identity = journal::identity(plan)?;
        let refused = plan.refused.get().is_some_and(|r| !r.is_empty());
        if plan.parts.only == Some(Only::Indexes) {
            if target.report.repairable {
                target.report.remarks.push("when the reason of the exceptions is gone, the same command adds what is missing".into());
            }
        } else if options.is_step {
            // The command that it is a step of removes the archive.
            Repairable::forget(&target, &identity);
        } else if target.report.repairable || refused || !plan.damaged.is_empty() {
            let noted = Repairable::note(&target, &identity, existing, &plan.damaged);
            target.report.remarks.push(match noted {
                Ok(()) => "when the reason of the exceptions is gone, the same command creates what is missing, and leaves what is there as it is".into(),
                Err(why) => format!("the same command cannot create what is missing ({why}): create it yourself from the archive's .sql files, or drop what was loaded, and load again"),
            });
        } else {
            Repairable::forget(&target, &identity);
        }
        let journal = &prepared.journal;
        journal.end(&mut target, recorded.then_some(missing))?;
    }
    let loaded = tables.iter().map(loaders::Table::raw_bytes).sum::<u64>() + import.raw_bytes;
    Ok(Summary {
        completion: Completion::left(&target, &journal::identity(plan)?),
        schemas: plan.schema_names().len() as u64,
        tables: (tables.len() - emptied) as u64,
        views: plan.views() - target.report.refused_views,
        rows: tables.iter().map(|t| t.loaded.load(Ordering::SeqCst)).sum(),
        raw_bytes: loaded,
        already_loaded_bytes: match plan.growing {
            Some(_) => 0,
            None => plan.raw_bytes().saturating_sub(loaded),
        },
        rows_seconds: rows_seconds + import.seconds,
        import,
        verified,
        bottleneck,
        digests: true,
        accounts: plan.accounts_left(),
        left_out: plan.left_out.clone(),
        existing: plan.treated().shown(plan.parts.only),
        only: plan.parts.only,
        without_rows: !plan.parts.rows,
        not_compared: not_compared(plan),
        work: (!resumed).then_some(work),
        ..Summary::of(target, tuning.finish())
    })
}

/// The tables that no digest can be taken of.
fn not_compared(plan: &LoadPlan) -> Vec<String> {
    plan.tables()
        .filter(|t| plan.may_have_rows(t) && !t.meta.is_default_dialect())
        .map(|t| server::quote::qualified(&t.schema, &t.name))
        .collect()
}

/// Compares the tables that were loaded by SQL with the archive, if that is wanted; `imported` is what the
/// import of the others found.
fn compare(
    target: &Target<'_>,
    plan: &LoadPlan,
    by_sql: &[(&Table, &loaders::Table)],
    imported: Option<Comparison>,
) -> Result<Option<Comparison>> {
    let options = target.options;
    if !plan.compares_sql(options) || by_sql.is_empty() && imported.is_some() {
        return Ok(imported);
    }
    let digest = |t: &loaders::Table| *base::lock(&t.digest);
    let tables: Vec<_> = by_sql.iter().map(|(t, l)| (*t, digest(l))).collect();
    let (archive, server) = (plan.whole_archive(), &options.target);
    let treated = plan.treated();
    let leeway = Leeway {
        rows: false,
        // A table that was there may have more of them.
        columns: treated.refills_any(),
    };
    let threads = options.threads;
    verify::against_archive::loaded(target.run, archive, &tables, server, threads, leeway)
        .map(|compared| Some(compared.and(imported)))
        .map_err(|e| with_adaptations(e, &target.report.notes))
        .map_err(|e| with_json(e, target, plan, by_sql))
}

/// A number in JSON that was a DECIMAL comes back as a DOUBLE: servers write JSON as text. That is said where it may be why rows differ.
fn with_json(
    e: Error,
    target: &Target<'_>,
    plan: &LoadPlan,
    tables: &[(&Table, &loaders::Table)],
) -> Error {
    if e.kind != Kind::Differs {
        return e;
    }
    let has_json = |table: &Table| {
        let create = create_table::definition(target, plan, table).ok().flatten();
        create.is_some_and(|c| !server::ddl::columns_of_type(&c, "json").is_empty())
    };
    let differs = tables.iter().map(|(table, _)| *table).filter(|table| {
        let name = printable(&server::quote::qualified(&table.schema, &table.name));
        e.what.contains(&format!("  {name}: ")) && has_json(table)
    });
    let names: Vec<String> = differs
        .map(|t| printable(&server::quote::qualified(&t.schema, &t.name)))
        .collect();
    if names.is_empty() {
        return e;
    }
    Error {
        what: format!(
            "{}\n  ({} has JSON: a number that the source holds there as a DECIMAL, 1.10 say, is text in every dump, and 1.1 when it is read again)",
            e.what,
            names.join(", ")
        ),
        ..e
    }
}

/// The interrupted load had already completed, as its completion record says; rows are compared again where
/// they can be.
fn already_complete(mut t: Target<'_>, plan: &LoadPlan, completion: Completion) -> Result<Summary> {
    let missing = completion.missing.iter();
    let refused = missing.filter_map(|m| m.strip_prefix("table ").map(str::to_owned));
    let _ = plan.refused.set(refused.collect());
    let tables: Vec<_> = plan
        .tables()
        .filter(|t| !plan.leaves_rows_out(t))
        .map(|t| (t, RowDigest::new()))
        .collect();
    let (target, options) = (&t.options.target, t.options);
    let (archive, digests) = (&plan.archive, plan.archive.has_manifest());
    // What was there before that load is not known any more.
    let leeway = Leeway {
        rows: false,
        columns: true,
    };
    let compared = (plan.compares_sql(options) && digests).then(|| {
        verify::against_archive::loaded(t.run, archive, &tables, target, options.threads, leeway)
    });
    let mut compared = compared.transpose();
    if compared.is_ok()
        && let Some(what) = chosen::changed_since(&mut t, &completion.chosen)?
    {
        compared = Err(Error::new(Kind::Differs, what));
    }
    let verified = match compared {
        Ok(verified) => verified,
        Err(e) if e.kind == Kind::Differs => {
            let more = format!(
                "; the interrupted load had already completed, and since then rows were changed: {}",
                e.what
            );
            return Err(ExistingObjects::look(&mut t, plan)?
                .refusal(&more)
                .hint("nothing was touched: to load again, drop them, or choose another server"));
        }
        Err(e) => return Err(e),
    };
    Ok(Summary {
        completion: Completion::left(&t, &journal::identity(plan)?),
        schemas: plan.schema_names().len() as u64,
        tables: plan.tables().count() as u64,
        views: plan.views(),
        rows: plan
            .tables()
            .filter(|t| plan.wanted(t).is_none())
            .filter_map(|t| t.rows)
            .chain(completion.chosen.iter().map(|c| c.rows))
            .sum(),
        chosen: completion.chosen,
        already_loaded_bytes: plan.raw_bytes(),
        verified,
        digests,
        accounts: plan.accounts_left(),
        left_out: plan.left_out.clone(),
        without_rows: !plan.parts.rows,
        not_compared: not_compared(plan),
        exceptions: completion.exceptions,
        already_complete: true,
        ..Summary::of(t, tune::Report::default())
    })
}

/// Rows may differ because of what was adapted for the target: lists that.
fn with_adaptations(e: Error, notes: &[String]) -> Error {
    if notes.is_empty() {
        return e;
    }
    let list: Vec<String> = notes
        .iter()
        .map(|n| format!("\n  {}", printable(n)))
        .collect();
    Error {
        what: format!("{}\nadapted for this target:{}", e.what, list.concat()),
        ..e
    }
}

/// Takes what an earlier load has left for loaded.
fn repair(t: &mut Target<'_>, existing: &ExistingObjects) {
    let kinds = ["table ", "view ", "sequence "];
    let name = |found: &String| {
        kinds
            .iter()
            .find_map(|k| found.strip_prefix(k).map(str::to_owned))
    };
    t.kept = existing.found.iter().filter_map(name).collect();
    t.resuming = true;
    t.report.touched = true;
    let what = "an earlier load of this archive ended with exceptions: what is missing is created; rows that it loaded are left as they are, and not compared again";
    t.run.observer.note(what.to_owned());
    t.report.remarks.push(what.to_owned());
}

/// The journal of a load that repairs an earlier one.
fn kept_journal(t: &Target<'_>, plan: &LoadPlan) -> Result<journal::Journal> {
    let kept = |table: &&Table| {
        t.kept
            .contains(&server::quote::qualified(&table.schema, &table.name))
    };
    let chunks = plan.tables().filter(kept).flat_map(|t| &t.chunks);
    let files = chunks.map(|c| c.file.clone()).collect();
    let chosen = plan
        .tables()
        .filter(|t| kept(t) && plan.leaves_rows_out(t))
        .map(|t| server::quote::qualified(&t.schema, &t.name));
    Ok(journal::Journal::with_chunks(
        journal::home(plan),
        &journal::identity(plan)?,
        files,
        chosen.collect(),
    ))
}

/// Whether both words mean one name: tables, views and sequences share theirs.
fn same_object(a: &str, b: &str) -> bool {
    let parts = |words: &str| {
        let (kind, name) = words.split_once(' ').unwrap_or(("", words));
        let kind = match kind {
            "view" | "sequence" => "table",
            kind => kind,
        };
        (kind.to_owned(), name.to_owned())
    };
    parts(a) == parts(b)
}

/// Finds an earlier load of this archive, or makes sure that the target holds nothing of it.
fn previous_load(t: &mut Target<'_>, input: &Input, plan: &LoadPlan) -> Result<PreviousLoad> {
    journal::name_is_free(plan)?;
    let identity = journal::identity(plan)?;
    let key = (journal::home(plan), identity.as_str());
    let comparable = plan.compares_sql(t.options) && plan.archive.has_manifest();
    PreviousLoad::find(t, input, key, comparable, |t, completion| {
        let existing = ExistingObjects::look(t, plan)?;
        if completion.is_some_and(|c| existing.is_all_but(&c.missing)) {
            return Ok(true);
        }
        // It only adds what is missing, whoever made the rest.
        if plan.parts.only == Some(Only::Indexes) {
            existing::decide(t, plan, &existing)?;
            return Ok(false);
        }
        match repairs(t, &existing, &identity) {
            Ok(true) if plan.parts.only.is_some() => {
                let _ = plan.treated.set(only::repeated(plan, &existing));
                return Ok(false);
            }
            Ok(true) => return Ok(false),
            // What is there is left as it is, whoever made it.
            Err(_) if t.options.existing == Existing::Skip => {}
            Err(e) if !t.options.existing.destroys() => return Err(e),
            _ => {}
        }
        existing::decide(t, plan, &existing)?;
        Ok(false)
    })
}

/// Whether an earlier load of this archive ended with exceptions, and this one creates what that one left out.
fn repairs(t: &mut Target<'_>, existing: &ExistingObjects, identity: &str) -> Result<bool> {
    if t.options.existing.destroys() {
        Repairable::forget(t, identity);
        return Ok(false);
    }
    let Some(earlier) = Repairable::find(t, identity) else {
        return Ok(false);
    };
    // What was missing then, and is there now, is another session's.
    let foreign = |f: &&String| earlier.missing.iter().any(|m| same_object(m, f));
    if let Some(foreign) = existing.found.iter().find(foreign) {
        let more =
            format!("; {foreign} was made by another session since an earlier load of the archive");
        return Err(existing.refusal(&more).hint(
            "the same command could create what that load left out if nothing else were there: drop or rename that object, and load again",
        ));
    }
    let changed = existing
        .made
        .iter()
        .find(|(what, made)| earlier.made.get(*what).is_some_and(|m| m != *made));
    if let Some((what, _)) = changed {
        let more =
            format!("; {what} was altered or made again since an earlier load of the archive");
        return Err(existing.refusal(&more).hint(
            "what an earlier load left out is only created beside what it loaded itself: drop what is there, and load again, or create the rest yourself from the archive's .sql files",
        ));
    }
    let gone = existing.missing.iter().find(|m| !earlier.left_out(m));
    match gone {
        None => {
            t.earlier = earlier.accounts;
            repair(t, existing);
            return Ok(true);
        }
        Some(gone) if !existing.found.is_empty() => {
            return Err(existing
                .refusal(&format!("; and {gone}, which an earlier load of the archive made, is gone"))
                .hint("an earlier load ended with exceptions and could be repaired if all that it made were there: drop what is left of it, and load again"));
        }
        Some(_) => Repairable::forget(t, identity),
    }
    Ok(false)
}

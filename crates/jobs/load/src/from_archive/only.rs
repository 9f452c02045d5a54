//! A part of an archive that is added to a target which has the rest (`--only`): what an earlier load left out or was refused, or
//! what was dropped since.
//!
//! Invariant: tables and their rows are left as they are; no schema and no table is created.

use super::existing::{ExistingObjects, lost_with};
use super::{LoadPlan, accounts, create_table, definitions, precheck};
use crate::options::{Existing, Only, Options};
use crate::repair::Repairable;
use crate::script::Allowed;
use crate::summary::Summary;
use crate::target::{Target, connections, refused};
use crate::{Treated, journal};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::tune;
use rows::load_data::add_keys;
use run::{Run, failure};
use server::{ddl, quote};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A table that lacks keys.
struct Lacking {
    /// Quoted, qualified.
    table: String,
    /// Each group for one ALTER.
    keys: Vec<Vec<String>>,
}

/// What is done with what the target has.
pub(super) fn treated(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    existing: &ExistingObjects,
) -> Result<Treated> {
    let option = plan.parts.only.map_or("--only", Only::option);
    for name in plan.schema_names() {
        if t.collation_of(name)?.is_none() {
            return Err(refused(printable(&format!(
                "the target has no schema {}, and {option} creates none",
                quote::ident(name)
            )))
            .hint("nothing was touched: load the tables first, without --only; or choose others with --include-schemas or --exclude-schemas"));
        }
    }
    let mut treated = tables_left(plan);
    // A table that has the name of a view cannot be replaced by it.
    for (what, there) in &existing.others {
        if what.starts_with("view ") && there == "a table" {
            treated.left.insert(what.clone());
            // Otherwise that is said already.
            if !matches!(t.options.existing, Existing::Skip) {
                t.refused(format!(
                    "{what} is not loaded: the target has {there} of that name, which is left as it is"
                ));
            }
        }
    }
    let others = existing.ours.iter().cloned();
    match &t.options.existing {
        Existing::Refuse => existing.refuse(t.options)?,
        Existing::Replace(_) => {
            treated.replaced = others.collect();
            treated.with_them = lost_with(t, plan, &treated.replaced)?;
        }
        Existing::Skip | Existing::Truncate(_) => treated.left.extend(others),
    }
    Ok(treated)
}

/// All tables of the plan are left as they are.
fn tables_left(plan: &LoadPlan) -> Treated {
    let words = |t: &archive::open::Table| {
        let name = table_name(t);
        [format!("table {name}"), format!("sequence {name}")]
    };
    Treated {
        left: plan.selected_tables().flat_map(words).collect(),
        ..Treated::default()
    }
}

/// The same, and all else that is there: a run that repeats one whose exceptions have gone adds what that lacked.
pub(super) fn repeated(plan: &LoadPlan, existing: &ExistingObjects) -> Treated {
    let mut treated = tables_left(plan);
    treated.left.extend(existing.ours.iter().cloned());
    treated
}

/// Whether words name a table or sequence.
pub(super) fn is_table(what: &str) -> bool {
    what.starts_with("table ") || what.starts_with("sequence ")
}

/// What would be added, in words.
pub(super) fn foreseen(t: &mut Target<'_>, plan: &LoadPlan, only: Only) -> Result<Vec<String>> {
    if only == Only::Objects {
        let existing = ExistingObjects::look(t, plan)?;
        let missing = existing.missing.iter();
        // Where the target lacks a view, a table is said to be missing.
        let missing = missing.map(|what| match what.strip_prefix("table ") {
            Some(name) => format!("view {name}"),
            None => what.clone(),
        });
        let replaced = plan.treated().replaced.iter().cloned();
        return Ok(missing.chain(replaced).collect());
    }
    let (lacking, foreign) = lacking(t, plan)?;
    let keys = lacking.iter().flat_map(|l| {
        let keys = l.keys.iter().flatten();
        keys.map(|key| format!("{key} of table {}", l.table))
    });
    let foreign = foreign
        .iter()
        .map(|(table, key)| format!("{key} of table {table}"));
    Ok(keys.chain(foreign).collect())
}

/// Quoted, qualified.
pub(super) fn table_name(table: &archive::open::Table) -> String {
    quote::qualified(&table.schema, &table.name)
}

/// Adds the indexes and foreign keys that tables of the target lack, and names those that are other ones there.
pub(super) fn indexes(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let (lacking, foreign) = lacking(t, plan)?;
    let added = add(t, lacking)?;
    if added > 0 {
        t.report.made.insert("index", added);
    }
    add_foreign(t, foreign)
}

/// A foreign key of a table.
type Foreign = (String, String);

/// What tables of the target lack.
fn lacking(t: &mut Target<'_>, plan: &LoadPlan) -> Result<(Vec<Lacking>, Vec<Foreign>)> {
    let mut lacking = Vec::new();
    let mut foreign = Vec::new();
    for table in plan.selected_tables() {
        t.run.check()?;
        let name = table_name(table);
        let Some(wanted) = wanted(t, plan, table, &name)? else {
            continue;
        };
        let Some(there) = there(t, &name)? else {
            t.report.repairable = true;
            t.refused(format!(
                "table {name} is not there, so its indexes are not added"
            ));
            continue;
        };
        let (wanted, wanted_foreign) = ddl::strip_foreign_keys(&wanted);
        let (there, there_foreign) = ddl::strip_foreign_keys(&there);
        let keys = missing(
            t,
            &name,
            "index",
            ddl::all_keys(&wanted),
            &ddl::all_keys(&there).concat(),
        );
        let more = missing(
            t,
            &name,
            "foreign key",
            vec![wanted_foreign],
            &there_foreign,
        );
        foreign.extend(more.into_iter().flatten().map(|k| (name.clone(), k)));
        if !keys.is_empty() {
            lacking.push(Lacking { table: name, keys });
        }
    }
    Ok((lacking, foreign))
}

/// The definition of a table, as this target takes it.
fn wanted(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &archive::open::Table,
    name: &str,
) -> Result<Option<String>> {
    let Some(file) = &table.ddl else {
        return Ok(None);
    };
    let statements = definitions::statements(plan, None, file)?;
    if let Some(why) = statements.iter().find_map(|s| s.unsure.as_ref()) {
        t.refused(format!("the indexes of table {name} are not added: {why}"));
        return Ok(None);
    }
    let mut all = statements.iter();
    match all.find(|s| matches!(s.kind, Allowed::Table | Allowed::Elsewhere)) {
        Some(s) if s.kind == Allowed::Table => create_table::definition(t, plan, table),
        Some(_) => {
            t.refused(format!(
                "the indexes of table {name} are not added: its definition names a directory on the server's host (DATA DIRECTORY); add them by hand, from {file}"
            ));
            Ok(None)
        }
        None => Ok(None),
    }
}

/// The definition that a table has on the target.
fn there(t: &mut Target<'_>, name: &str) -> Result<Option<String>> {
    let rows = match t.conn.fetch(format!("SHOW CREATE TABLE {name}")) {
        Ok(rows) => rows,
        Err(e) if e.code() == Some(1146) => return Ok(None),
        Err(e) => {
            let doing = format!("cannot look at table {name}");
            return Err(failure::wire(printable(&doing), e));
        }
    };
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().nth(1));
    Ok(cell
        .flatten()
        .map(|c| String::from_utf8_lossy(&c).into_owned()))
}

/// Those keys that are not there, by name. One that is there, and is another one, is named.
fn missing(
    t: &mut Target<'_>,
    table: &str,
    word: &str,
    wanted: Vec<Vec<String>>,
    there: &[String],
) -> Vec<Vec<String>> {
    let there: BTreeMap<String, &String> = there.iter().map(|k| (named(k), k)).collect();
    let mut groups = Vec::new();
    for group in wanted {
        let mut left = Vec::new();
        for key in group {
            match there.get(&named(&key)) {
                None => left.push(key),
                Some(other) if plain(other) == plain(&key) => {}
                Some(other) => t.refused(format!(
                    "{word} of table {table} is another one there, and left as it is: {other}; in the archive: {key}"
                )),
            }
        }
        if !left.is_empty() {
            groups.push(left);
        }
    }
    groups
}

/// What a key is found by. Names of keys are not case-sensitive.
fn named(key: &str) -> String {
    if key.to_ascii_uppercase().starts_with("PRIMARY") {
        return "PRIMARY".to_owned();
    }
    ddl::key_name(key).unwrap_or(key).to_lowercase()
}

/// A key without what servers write of it or leave out, with the same meaning.
fn plain(key: &str) -> String {
    let words: Vec<&str> = key.split_whitespace().collect();
    words.join(" ").replace(" USING BTREE", "")
}

/// Adds keys to several tables at once; how many were added.
fn add(t: &mut Target<'_>, mut lacking: Vec<Lacking>) -> Result<u64> {
    if lacking.is_empty() {
        return Ok(0);
    }
    lacking.reverse();
    let queue = Mutex::new(lacking);
    let (run, phase) = (t.run, t.run.phase("adding indexes", t.options.threads));
    let added = Mutex::new(0);
    let refusals: Mutex<Vec<String>> = Mutex::default();
    let conns = connections(t, &t.options.target)?;
    run.workers(conns, |_, mut conn, stop| {
        wait_for_locks(&mut conn)?;
        loop {
            stop.check()?;
            let Some(next) = base::lock(&queue).pop() else {
                return Ok(());
            };
            phase.counters.busy.add(1);
            for keys in next.keys {
                // One that is refused must not keep the others away.
                let (done, why) = match together(&mut conn, &next.table, &keys)? {
                    Outcome::Added => (keys.len() as u64, Vec::new()),
                    // Waiting for each of them would keep others waiting as well.
                    Outcome::Locked(why) => (0, vec![why]),
                    Outcome::There => each(&mut conn, &next.table, keys)?,
                    Outcome::Refused(_) if keys.len() > 1 => each(&mut conn, &next.table, keys)?,
                    Outcome::Refused(why) => (0, vec![why]),
                };
                *base::lock(&added) += done;
                base::lock(&refusals).extend(why);
            }
            phase.counters.busy.sub(1);
        }
    })?;
    drop(phase);
    let refusals = std::mem::take(&mut *base::lock(&refusals));
    t.report.repairable |= !refusals.is_empty();
    refusals.into_iter().for_each(|why| t.refused(why));
    Ok(*base::lock(&added))
}

/// Adds keys one by one; how many were added, and why the others were not.
fn each(conn: &mut wire::Conn, table: &str, keys: Vec<String>) -> Result<(u64, Vec<String>)> {
    let (mut added, mut refusals) = (0, Vec::new());
    for key in keys {
        match together(conn, table, &[key])? {
            Outcome::Added => added += 1,
            Outcome::There => {}
            Outcome::Refused(why) => refusals.push(why),
            Outcome::Locked(why) => {
                refusals.push(why);
                break;
            }
        }
    }
    Ok((added, refusals))
}

/// What came of an ALTER.
enum Outcome {
    Added,
    /// Another session has added one of them meanwhile.
    There,
    Refused(String),
    /// Another session uses the table.
    Locked(String),
}

/// There is a key of that name.
const DUPLICATE_KEY_NAME: u16 = 1061;
/// A lock was waited for in vain.
const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// Two statements wait for each other.
const DEADLOCK: u16 = 1213;

/// Adds keys with one statement. A table that is in use is not waited for again and again: others would wait behind it.
fn together(conn: &mut wire::Conn, table: &str, keys: &[String]) -> Result<Outcome> {
    let e = match add_keys(conn, table, keys, |e| e.code() == Some(DEADLOCK)) {
        Ok(()) => return Ok(Outcome::Added),
        Err(wire::Error::Server(e)) => e,
        Err(e) => {
            let doing = format!("cannot add the indexes of {table}");
            return Err(failure::wire(printable(&doing), e));
        }
    };
    let why = format!("{} of table {table} is not added: {e}", keys.join(", "));
    Ok(match e.code {
        DUPLICATE_KEY_NAME => Outcome::There,
        LOCK_WAIT_TIMEOUT => Outcome::Locked(why),
        _ => Outcome::Refused(why),
    })
}

/// Statements of other sessions queue behind one that waits for a table.
fn wait_for_locks(conn: &mut wire::Conn) -> Result<()> {
    let sql = "SET SESSION lock_wait_timeout = 60";
    let done = conn.execute(sql).map(drop);
    done.map_err(|e| failure::wire("cannot prepare a session", e))
}

/// Adds foreign keys. Others may have written since the rows were loaded, so the server checks them.
fn add_foreign(t: &mut Target<'_>, keys: Vec<Foreign>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    wait_for_locks(&mut t.conn)?;
    let checks = |t: &mut Target<'_>, on: u8| {
        let sql = format!("SET SESSION foreign_key_checks = {on}");
        t.execute(&sql, "cannot prepare the session")
    };
    checks(t, 1)?;
    for (table, key) in keys {
        t.run.check()?;
        // References without a schema are to the table's own.
        let sql = format!("ALTER TABLE {table} ADD {key}");
        match t.conn.execute(&sql) {
            Ok(_) => *t.report.made.entry("foreign key").or_default() += 1,
            Err(wire::Error::Server(e)) => {
                t.report.repairable = true;
                t.refused(format!("{key} of table {table} is not added: {e}"));
            }
            Err(e) => return Err(failure::wire("cannot add a foreign key", e)),
        }
        failpoint::reached("a foreign key is added");
    }
    checks(t, 0)
}

/// Makes the accounts of an archive.
pub(super) fn users(run: &Run, options: &Options) -> Result<Summary> {
    let start = std::time::Instant::now();
    let plan = precheck::plan(run, options)?;
    let mut target = Target::open(run, options)?;
    let t = &mut target;
    precheck::target(t, &plan)?;
    let identity = journal::identity(&plan)?;
    // One that was killed, or whose grants were refused.
    if let Some(earlier) = Repairable::find(t, &identity) {
        t.earlier = earlier.accounts;
    }
    t.prepare()?;
    let mut so_far = t.earlier.clone();
    so_far.refused = None;
    let note = Repairable::of_accounts(t, &identity);
    accounts::create(t, &plan, &mut |_, name| {
        so_far.made.insert(name.to_owned());
        so_far.locked.insert(name.to_owned());
        note(&so_far).map_err(|why| {
            let what = format!("the accounts are not made, because a run that is killed could not be repeated: {why}");
            Error::new(Kind::Storage, what)
        })
    })?;
    accounts::grant(t, &plan)?;
    if t.report.repairable {
        t.report.remarks.push(match note(&t.earlier) {
            Ok(()) => "when the reason of the exceptions is gone, the same command gives the accounts what they lack".into(),
            Err(why) => format!("the same command cannot give the accounts what they lack ({why})"),
        });
    } else {
        Repairable::forget(t, &identity);
    }
    Ok(Summary {
        digests: true,
        left_out: plan.left_out.clone(),
        only: plan.parts.only,
        without_rows: true,
        has_accounts: true,
        seconds: start.elapsed().as_secs_f64(),
        dumped_with: ::rows::archives::dumped_with(&plan.archive),
        ..Summary::of(target, tune::Report::default())
    })
}

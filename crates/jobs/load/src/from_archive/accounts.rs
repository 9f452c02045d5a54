//! The accounts of an archive: made before the objects that have them as definers, and given what they may do after the
//! objects that this is about, before events begin to run.
//!
//! Invariants: an account that the target had before is left as it is, and so is what was done to one of ours since. Which
//! ones are ours is in the load journal before they are made, and in the repair record afterwards. They are made after the
//! rows, so that nobody logs in with one meanwhile.

use super::LoadPlan;
use crate::Target;
use crate::load_report::AccountsMade;
use crate::options::Options;
use archive::Archive;
use base::{Error, Kind, Result, failpoint};
use rows::accounts::adapt::{Adapted, Source, adapt};
use rows::accounts::make::{self, Refused};
use rows::accounts::{Account, Grant, Name, Statement, file};
use run::failure;
use server::{Flavour, Identity};
use std::collections::BTreeSet;

/// The accounts of the archive that are wanted; none if none are.
pub(super) fn of_archive(options: &Options, archive: &Archive) -> Result<Option<Vec<Account>>> {
    let Some(choice) = &options.accounts else {
        return Ok(None);
    };
    let Some(file) = archive.users_file() else {
        let option = options.parts.only.map_or("--users", |only| only.option());
        let what = format!("{option}: the archive has no accounts");
        return Err(Error::new(Kind::Usage, what)
            .hint("leave it out; a dump has accounts if all schemas are dumped, or with --users"));
    };
    let text = archive
        .sql(file)
        .map_err(|e| failure::archive("cannot read the accounts", &e))?;
    let mut accounts = file::read(&text)?;
    accounts.retain(|a| choice.takes(&a.name));
    choice.check_matched(accounts.len())?;
    Ok(Some(accounts))
}

/// The accounts as the target takes them.
fn adapted(plan: &LoadPlan, target: &Identity) -> Vec<Adapted> {
    let accounts = plan.accounts.as_deref().unwrap_or_default();
    let source = Source {
        flavour: plan.source.as_ref().map_or(Flavour::MySql, |s| s.flavour),
        literal: plan.archive.root().partial_revokes,
    };
    adapt(accounts, source, target)
}

/// The accounts that there will be, by user and host.
pub(super) fn brought(plan: &LoadPlan, target: &Identity) -> BTreeSet<(String, String)> {
    let all = adapted(plan, target);
    all.iter().map(|a| a.account.name.key()).collect()
}

/// The grants that this load will run, as far as that is known: which accounts the target has must be visible, and the
/// privileges of the other flavour are not known to it.
pub(super) fn grants(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Vec<String>> {
    let same = plan
        .source
        .as_ref()
        .is_some_and(|s| s.flavour == t.id.flavour);
    if !same || plan.accounts.is_none() {
        return Ok(Vec::new());
    }
    let existing = match t.conn.fetch("SELECT User FROM mysql.user LIMIT 0") {
        Ok(_) => make::existing(&mut t.conn)?,
        Err(wire::Error::Server(_)) => return Ok(Vec::new()),
        Err(e) => return Err(failure::wire("cannot read the accounts of the target", e)),
    };
    let all = adapted(plan, &t.id);
    let new = all
        .iter()
        .filter(|a| !make::has(&existing, &a.account.name));
    let grants = new.flat_map(|a| &a.account.grants);
    Ok(grants.map(Grant::sql).collect())
}

/// The accounts that would be made, and those that would be left as they are.
pub(super) fn foreseen(
    t: &mut Target<'_>,
    plan: &LoadPlan,
) -> Result<Option<(Vec<String>, Vec<String>)>> {
    if plan.accounts.is_none() {
        return Ok(None);
    }
    let existing = make::existing(&mut t.conn)?;
    let names = adapted(plan, &t.id)
        .into_iter()
        .map(|a| a.account.name)
        .filter(|name| !name.is_public());
    let (kept, made): (Vec<Name>, Vec<Name>) = names.partition(|n| make::has(&existing, n));
    let shown = |all: Vec<Name>| all.iter().map(ToString::to_string).collect();
    Ok(Some((shown(made), shown(kept))))
}

/// Makes those that the target does not have; `note` records the name of each before.
pub(super) fn create(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    note: &mut dyn FnMut(&mut wire::Conn, &str) -> Result<()>,
) -> Result<()> {
    if plan.accounts.is_none() {
        return Ok(());
    }
    let all = adapted(plan, &t.id);
    let existing = make::existing(&mut t.conn)?;
    let own = |name: &Name| t.earlier.made.contains(&name.to_string());
    let (mut missing, mut ours, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for adapted in &all {
        let name = &adapted.account.name;
        match (make::has(&existing, name), own(name)) {
            (false, _) if name.is_public() => ours.push(adapted),
            (false, _) => missing.push(adapted),
            (true, true) => ours.push(adapted),
            (true, false) => kept.push(adapted),
        }
    }
    // One that only the record knows was perhaps not made, and then it is not on the target.
    let made = make::create(&mut t.conn, &t.id, &missing, &mut |conn, name| {
        note(conn, &name.to_string())?;
        failpoint::reached("an account is about to be made");
        Ok(())
    })?;
    for adapted in &ours {
        let name = adapted.account.name.to_string();
        if t.earlier.locked.contains(&name) {
            if let Some(why) = make::unlock(&mut t.conn, adapted)? {
                t.still_locked(adapted, &name, why);
            } else {
                t.earlier.locked.remove(&name);
            }
        }
    }
    for adapted in missing.iter().chain(&ours) {
        for lost in &adapted.lost {
            t.refused(lost.clone());
        }
    }
    for why in &made.exceptions {
        t.refused(why.clone());
    }
    for adapted in &kept {
        if adapted.account.name.is_public() {
            of_everyone(t, &adapted.account)?;
        }
    }
    let plugins = missing.iter().filter(|a| a.cannot_log_in.is_none());
    let mut plugins = plugins.map(|a| &a.account.name);
    let later = |n: &&Name| made.locked.contains(n) || made.refused.contains(n);
    t.report.repairable |= plugins.any(|n| later(&n));
    let names = |list: &[Name]| list.iter().map(Name::to_string).collect::<Vec<_>>();
    t.report.new_accounts = names(&made.made).into_iter().collect();
    t.earlier.locked.extend(names(&made.locked));
    t.earlier.made.extend(names(&made.made));
    let ours = ours.iter().map(|a| a.account.name.to_string());
    // What was refused is known of a load that ended; one that was interrupted is this load.
    let (this, earlier): (Vec<_>, Vec<_>) = match t.earlier.refused {
        None => (ours.collect(), Vec::new()),
        Some(_) => (Vec::new(), ours.collect()),
    };
    t.report.accounts = Some(AccountsMade {
        made: names(&made.made).into_iter().chain(this).collect(),
        earlier,
        kept: kept.iter().map(|a| a.account.name.to_string()).collect(),
    });
    Ok(())
}

/// Gives them what they may do.
pub(super) fn grant(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if plan.accounts.is_none() {
        return Ok(());
    }
    let all = adapted(plan, &t.id);
    let new = |name: &Name| t.report.new_accounts.contains(&name.to_string());
    // An interrupted run may have given a part of it; after a whole one only what was refused is tried again.
    let again = t.earlier.refused.take();
    let (conn, id) = (&mut t.conn, &t.id);
    let due: Vec<&Adapted> = all
        .iter()
        .filter(|a| {
            let name = a.account.name.to_string();
            let ours = t.earlier.made.contains(&name) || a.account.name.is_public();
            new(&a.account.name) || again.is_none() && ours
        })
        .collect();
    let kept = t.report.accounts.iter().flat_map(|a| &a.kept);
    let kept: BTreeSet<&String> = kept.collect();
    let due: Vec<&Adapted> = due
        .into_iter()
        .filter(|a| !kept.contains(&a.account.name.to_string()))
        .collect();
    failpoint::reached("accounts are about to get their privileges");
    let mut refused = make::grant(conn, id, &due)?;
    if let Some(statements) = again {
        let made = &t.earlier.made;
        let mine: Vec<String> = statements
            .into_iter()
            .filter(|sql| match Statement::read(sql) {
                Some(Statement::Grant(g)) => made.contains(&g.to.to_string()) && !new(&g.to),
                Some(Statement::DefaultRoles(n, _)) => made.contains(&n.to_string()) && !new(&n),
                _ => false,
            })
            .collect();
        refused.extend(make::again(conn, &mine)?);
    }
    t.note_refused(refused);
    Ok(())
}

/// MariaDB's role of everyone is there, and is left as it is: what it lacks is named.
fn of_everyone(t: &mut Target<'_>, wanted: &Account) -> Result<()> {
    let rows = t.conn.fetch("SHOW GRANTS FOR PUBLIC");
    let rows = match rows {
        Ok(rows) => rows,
        Err(wire::Error::Server(_)) => Vec::new(),
        Err(e) => return Err(failure::wire("cannot read the grants of PUBLIC", e)),
    };
    let has: BTreeSet<String> = rows
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(
            |line| match Statement::read(&String::from_utf8_lossy(&line)) {
                Some(Statement::Grant(g)) => Some(g.sql()),
                _ => None,
            },
        )
        .collect();
    let lacks = wanted.grants.iter().map(Grant::sql);
    let lacks: Vec<String> = lacks.filter(|sql| !has.contains(sql)).collect();
    if !lacks.is_empty() {
        t.refused(format!(
            "PUBLIC is there, and is left as it is: it lacks {}",
            lacks.join("; ")
        ));
    }
    Ok(())
}

impl Target<'_> {
    fn still_locked(&mut self, adapted: &Adapted, name: &str, why: String) {
        self.refused(why);
        self.earlier.locked.insert(name.to_owned());
        // Another flavour's hash will not become usable.
        self.report.repairable |= adapted.cannot_log_in.is_none();
    }

    fn note_refused(&mut self, refused: Vec<Refused>) {
        self.report.repairable |= !refused.is_empty();
        let mut statements = Vec::new();
        for r in refused {
            if !r.text.is_empty() {
                self.refused(r.text);
            }
            statements.push(r.statement);
        }
        self.earlier.refused = Some(statements);
    }
}

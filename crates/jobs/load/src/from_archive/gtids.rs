//! The transactions of the source that an archive holds, made known to the target (`--gtid-purged`): `gtid_purged` of MySQL,
//! `gtid_slave_pos` of MariaDB. A replica of that source then asks for what comes behind them.
//!
//! Invariant: it is the last thing that a load does, and is not done after exceptions, because a server that believes to
//! hold transactions never asks for them again.

use super::LoadPlan;
use crate::options::Gtids;
use crate::{Target, refused};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use binlog::gtid::Executed;
use run::failure;
use server::privileges::Privileges;
use server::quote;

/// Refuses what could not be done at the end; the statement that would be run.
pub(super) fn check(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Option<String>> {
    if t.options.gtids == Gtids::None {
        return Ok(None);
    }
    let held = of_archive(t, plan)?;
    if let Some(option) = plan.options_of_names().first() {
        return Err(usage(
            format!(
                "--gtid-purged does not apply with {option}: the source's log changes objects under their own names"
            ),
            "leave one of the two out",
        ));
    }
    may_set(t)?;
    let there = run::gtids::executed(&mut t.conn, !t.id.is_mysql())?;
    // A run before may have done it.
    if held.is_within(&there) {
        return Ok(Some(known(&held)));
    }
    if t.options.gtids == Gtids::Set && !there.is_empty() && !t.resuming {
        let word = variable(t, "gtid_executed");
        return Err(refused(format!("--gtid-purged set is for a server that has executed nothing, and {word} of the target is {there}"))
            .hint("--gtid-purged append adds the archive's transactions to these; a server that is to be new forgets its own with RESET BINARY LOGS AND GTIDS (MariaDB: SET GLOBAL gtid_slave_pos = '')"));
    }
    Ok(Some(statement(t, &held, &there)))
}

/// Nothing is to be done.
fn known(held: &Executed) -> String {
    format!("the target has them already: {held}")
}

/// Makes them known; says what was set.
pub(super) fn set(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if t.options.gtids == Gtids::None {
        return Ok(());
    }
    let held = of_archive(t, plan)?;
    let there = run::gtids::executed(&mut t.conn, !t.id.is_mysql())?;
    if held.is_within(&there) {
        t.report.gtids = Some(known(&held));
        return Ok(());
    }
    let sql = statement(t, &held, &there);
    if !t.report.exceptions.is_empty() {
        t.report.exceptions.push(format!(
            "GTIDs are not set, because of the other exceptions: a server that believes to hold transactions does not ask for them; when nothing is missing: {sql}"
        ));
        return Ok(());
    }
    failpoint::reached("GTIDs are about to be set");
    match t.conn.execute(&sql) {
        Ok(_) => {}
        Err(wire::Error::Server(e)) => {
            let what = format!("GTIDs are not set: {e}; the statement is {sql}");
            t.report.exceptions.push(printable(&what));
            return Ok(());
        }
        Err(e) => return Err(failure::wire("cannot set the GTIDs", e)),
    }
    t.report.gtids = Some(sql);
    let part_of_source = plan.archive.manifest().map(|m| m.selections());
    if part_of_source.is_some_and(|s| !s.is_empty()) || plan.is_part() {
        t.report.remarks.push("the target counts all transactions of the archive's source as executed, and has a part of its data: a replica needs filters for the rest".to_owned());
    }
    if t.id.is_mysql() && !t.options.skip_binlog && t.options.managed.is_none() {
        t.report.remarks.push("the load itself is in the target's binary log, as transactions of its own; with --skip-binlog it would not be".to_owned());
    }
    Ok(())
}

/// What the archive holds.
fn of_archive(t: &Target<'_>, plan: &LoadPlan) -> Result<Executed> {
    let mariadb = !t.id.is_mysql();
    let other = plan
        .source
        .as_ref()
        .is_some_and(|s| s.is_mysql() == mariadb);
    if other {
        return Err(usage(
            "--gtid-purged does not apply: the archive is from the other server, whose GTIDs the target does not understand",
            "leave it out; between MySQL and MariaDB a replica follows a position in the log",
        ));
    }
    let none = |why: &str| {
        usage(
            format!("--gtid-purged does not apply: {why}"),
            "leave it out; penstock list ARCHIVE shows what is known of its position",
        )
    };
    if !plan.choices.is_empty() {
        return Err(none(
            "not all rows of the archive are loaded (--where, --partitions), and the source's log would change some that the target does not have",
        ));
    }
    let text = match plan.archive.manifest() {
        Some(m) => {
            if m.consistency.mode.starts_with("none") {
                return Err(none(
                    "the archive has no position, because it was dumped with --consistency none",
                ));
            }
            if m.lacks_rows() {
                return Err(none(&format!(
                    "the archive lacks rows of its tables ({}), and the source's log would change some that the target does not have",
                    m.why_rows_lack().join(", ")
                )));
            }
            let p = &m.position;
            match mariadb {
                false => p.gtid_executed.clone(),
                true => p
                    .gtid_binlog_pos
                    .clone()
                    .or_else(|| p.gtid_slave_pos.clone()),
            }
        }
        None => {
            let root = plan.archive.root();
            if root.gtid_executed_inconsistent {
                return Err(none(
                    "the archive says that its GTIDs may not be exactly those of its rows",
                ));
            }
            Some(root.gtid_executed.clone())
        }
    };
    let text = text.unwrap_or_default();
    if text.is_empty() {
        return Err(none("the archive has no GTIDs"));
    }
    run::gtids::parse(mariadb, &text)
}

/// What sets them.
fn statement(t: &Target<'_>, held: &Executed, there: &Executed) -> String {
    if !t.id.is_mysql() {
        // Each domain as far as either has come.
        let mut all = there.clone();
        all.add_all(held);
        return format!(
            "SET GLOBAL gtid_slave_pos = {}",
            quote::text(&all.to_string())
        );
    }
    // The server refuses a set of which it has executed a part.
    let missing = held.without(there).to_string();
    let set = match there.is_empty() {
        true => missing,
        false => format!("+{missing}"),
    };
    format!("SET GLOBAL gtid_purged = {}", quote::text(&set))
}

/// The variable that holds them, by its name.
fn variable(t: &Target<'_>, mysql: &'static str) -> &'static str {
    match t.id.is_mysql() {
        true => mysql,
        false => "gtid_slave_pos",
    }
}

/// Refuses an account that may not.
fn may_set(t: &mut Target<'_>) -> Result<()> {
    let granted = Privileges::read(&mut t.conn, &t.id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let needed = match t.id.is_mysql() {
        true => "SYSTEM_VARIABLES_ADMIN",
        false => "REPLICATION SLAVE ADMIN",
    };
    if granted.has(needed) || granted.has("SUPER") {
        return Ok(());
    }
    let what = format!(
        "account {} may not set {}, which --gtid-purged asks for",
        granted.account,
        variable(t, "gtid_purged")
    );
    Err(Error::new(Kind::Privilege, what)
        .hint(format!("GRANT {needed} ON *.* TO {};", granted.account)))
}

fn usage(what: impl Into<String>, hint: &'static str) -> Error {
    Error::new(Kind::Usage, what.into()).hint(hint)
}

//! Values of generated columns, compared with those that the source had computed; where others came out, they are computed
//! once more under the source's own settings.
//!
//! A server takes no such values, and an expression may depend on the session that computes it. Applications mostly use the
//! server's settings: so the dump records those, and a table that differs is built again in a session that has them. What
//! still differs was computed in a session with settings of its own, and is named.

use super::LoadPlan;
use crate::Target;
use archive::open::Table;
use base::Result;
use base::units::printable;
use rows::generated::{SETTINGS, SYSTEM_TIME_ZONE, TIME_ZONE};
use run::{connect, failure};
use server::{quote, session};
use std::collections::{BTreeMap, BTreeSet};
use verify::OtherValues;
use wire::Conn;

/// Compares the values in these tables, whose other columns are known to be equal.
pub(super) fn compare(t: &mut Target<'_>, plan: &LoadPlan, tables: &[&Table]) -> Result<()> {
    let look = |t: &Target<'_>, tables: &[&Table]| {
        let (server, threads) = (&t.options.target, t.options.threads);
        verify::loaded_generated_columns(t.run, plan.whole_archive(), tables, server, threads)
    };
    let mut differ = look(t, tables)?;
    let again = match differ.is_empty() {
        true => BTreeSet::new(),
        false => compute_again(t, plan, &differ)?,
    };
    if !again.is_empty() {
        let of = |table: &&&Table| again.contains(&(table.schema.clone(), table.name.clone()));
        let tables: Vec<&Table> = tables.iter().filter(of).copied().collect();
        differ.retain(|d| !again.contains(&d.table));
        differ.extend(look(t, &tables)?);
    }
    let named = differ.into_iter().map(|d| d.what);
    t.report.exceptions.extend(named);
    Ok(())
}

/// Builds the tables again in a session with the source's settings; returns those for which that was possible.
fn compute_again(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    differ: &[OtherValues],
) -> Result<BTreeSet<(String, String)>> {
    let mut done = BTreeSet::new();
    let settings = plan.archive.manifest().map(|m| &m.source.settings);
    let Some(settings) = settings.filter(|s| !s.is_empty()) else {
        return Ok(done);
    };
    let mut conn = connect::connection(t.run, &t.options.target)?;
    session::for_ddl(&mut conn, &t.id)
        .map_err(|e| failure::server("cannot prepare a session", e))?;
    if t.options.skip_binlog {
        session::skip_binlog(&mut conn, &t.id)
            .map_err(|e| failure::server("cannot keep the load out of the binary log", e))?;
    }
    let used = use_settings(t, &mut conn, settings)?;
    let names: BTreeMap<_, _> = differ.iter().map(|d| (&d.table, &d.name)).collect();
    let _phase = t.run.phase("computing generated columns again", 1);
    for (table, name) in names {
        t.run.check()?;
        match conn.execute(format!("ALTER TABLE {name} FORCE, ALGORITHM=COPY")) {
            Ok(_) => {
                done.insert(table.clone());
                t.report.remarks.push(printable(&format!(
                    "{name}: generated columns were computed once more under the settings of the source ({used})"
                )));
            }
            // It stays as it is, and is named as different.
            Err(wire::Error::Server(e)) => t.run.observer.warn(printable(&format!(
                "{name}: generated columns cannot be computed under the settings of the source: {e}"
            ))),
            Err(e) => return Err(failure::wire(format_args!("cannot build {name} again"), e)),
        }
    }
    Ok(done)
}

/// Gives a session the source's settings as far as this server takes them; says which.
fn use_settings(
    t: &Target<'_>,
    conn: &mut Conn,
    settings: &BTreeMap<String, String>,
) -> Result<String> {
    let mut used = Vec::new();
    // An archive may name what it likes; only these are set.
    for name in SETTINGS {
        let Some(mut value) = settings.get(name).map(String::as_str) else {
            continue;
        };
        if name == TIME_ZONE && value == "SYSTEM" {
            let theirs = settings.get(SYSTEM_TIME_ZONE).map(String::as_str);
            value = match theirs {
                Some("UTC" | "GMT") => "+00:00",
                // The same zone of the host, by its name for now.
                _ if theirs == t.id.variable(SYSTEM_TIME_ZONE) => "SYSTEM",
                _ => continue,
            };
        }
        let number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        let shown = match number {
            true => value.to_owned(),
            false => quote::text(value),
        };
        let set = format!("SET SESSION {name} = {shown}");
        match conn.execute(&set) {
            Ok(_) => used.push(format!("{name} = {shown}")),
            // A mode that this flavour does not know, say.
            Err(wire::Error::Server(_)) => {}
            Err(e) => return Err(failure::wire("cannot prepare a session", e)),
        }
    }
    Ok(used.join(", "))
}

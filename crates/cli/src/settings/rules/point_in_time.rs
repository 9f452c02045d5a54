//! `restore` to a point in time: what does not go with the log of a whole server.

use super::names::no_names;
use super::refused::refuse;
use crate::args::load::Loading;
use crate::args::point_in_time::PointInTime;
use base::Result;

/// The log is that of the whole server.
pub fn point_in_time(a: &PointInTime, how: &Loading) -> Result<()> {
    if !a.is_given() {
        return match a.dry_run {
            true => super::load::preview(how),
            false => Ok(()),
        };
    }
    let selection = &how.selection;
    let given = [
        ("--include-schemas", &selection.include_schemas),
        ("--exclude-schemas", &selection.exclude_schemas),
        ("--include-tables", &selection.include_tables),
        ("--exclude-tables", &selection.exclude_tables),
    ];
    if let Some((option, _)) = given.iter().find(|(_, patterns)| !patterns.is_empty()) {
        return refuse(
            format!(
                "{option} does not apply: the binary log changes all tables, so a part of them cannot be restored to a point in time"
            ),
            "restore all of them with --datadir, and dump what you need from there",
        );
    }
    if let Some(option) = how.programs.given() {
        return refuse(
            format!("{option} does not apply: the binary log goes on from all of a backup"),
            "restore all of it with --datadir, and dump what you need from there",
        );
    }
    if let Some(option) = how.accounts.asks() {
        return refuse(
            format!(
                "{option} does not apply: the accounts of a dump are not restored before a binary log is applied"
            ),
            "leave it out, and create the accounts that the log needs; or begin with a snapshot, which has all of them (--kind snapshot)",
        );
    }
    no_names(
        &how.names,
        "the binary log changes tables by the names that they had",
        "restore under the names of the source with --datadir, then dump what you need from there and load it under another name",
    )?;
    if !how.definer.is_empty() {
        return refuse(
            "--definer does not apply: the binary log creates objects with the definers that they had",
            "leave it out",
        );
    }
    if let Some(option) = super::load::gtids(how) {
        return refuse(
            format!("{option} does not apply: a restore to a moment sets the GTIDs itself"),
            "leave it out",
        );
    }
    if let Some(option) = super::load::existing_given(how) {
        return refuse(
            format!(
                "{option} does not apply: the binary log goes on from a server that holds the backup alone"
            ),
            "restore with --datadir, or into an empty server",
        );
    }
    if let Some(option) = how.parts.given() {
        return refuse(
            format!("{option} does not apply: the binary log goes on from all of a backup"),
            "restore all of it with --datadir, and dump what you need from there",
        );
    }
    if let Some(option) = how.rows.given() {
        return refuse(
            format!(
                "{option} does not apply: the binary log changes all rows, so a part of them cannot be restored to a point in time"
            ),
            "restore all of it with --datadir, and dump the rows from there with penstock dump --where",
        );
    }
    if how.skip_damaged {
        return refuse(
            "the binary log cannot be applied to a backup of which a part is left out (--skip-damaged)",
            "restore to the point in time from another backup",
        );
    }
    if how.resume {
        return refuse(
            "a restore to a point in time cannot be resumed (--resume)",
            "restore the backup with --resume first, without a point in time; or begin again",
        );
    }
    Ok(())
}

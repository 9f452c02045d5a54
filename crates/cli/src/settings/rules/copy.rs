//! `copy`: what an archive takes, and what servers do.

use super::connection::{connects, said_twice};
use super::dump::{chunk_size, limits, rate_above_floor};
use super::refused::{first_given, refuse};
use crate::args::copy::{Copy, Transfer};
use crate::args::values::{Consistency, VerifyMode};
use base::Result;
use std::path::Path;
use store::Location;

/// The server that an argument names, if it is none of the places of archives.
pub fn server(argument: &Path) -> Option<&str> {
    let text = argument.to_str()?;
    let named = text.starts_with("mysql://") || text.starts_with("mariadb://");
    named.then_some(text)
}

/// `penstock copy`.
pub fn copy(a: &Copy) -> Result<()> {
    let targets = a.to.iter().filter(|to| server(to).is_some()).count();
    match (server(&a.from).is_some(), targets) {
        (true, n) if n == a.to.len() => servers(a),
        (false, 0) => archive(a),
        (true, _) => refuse(
            "FROM is a server and TO is not: that is a dump",
            "penstock dump SERVER --to DIR; another server is named mysql://user@host:3306/",
        ),
        (false, _) => refuse(
            "TO is a server and FROM is not: that is a load",
            "penstock load DIR --into SERVER; another server is named mysql://user@host:3306/",
        ),
    }
}

fn archive(a: &Copy) -> Result<()> {
    if let Some(option) = of_servers(a) {
        return refuse(
            format!(
                "{option} is for a copy from server to server, and an archive is copied as it is"
            ),
            "leave it out",
        );
    }
    if a.threads.is_some() && a.from.as_os_str() == "-" {
        return refuse(
            "--threads is for files at the same time, and a stream is read from its beginning to its end",
            "leave it out",
        );
    }
    Ok(())
}

/// An option that was given and means nothing to an archive.
fn of_servers(a: &Copy) -> Option<&'static str> {
    let (how, throttle, selection, c) = (&a.servers, &a.throttle, &a.selection, &a.connection);
    let given = [
        ("--chunk-size", how.transfer.chunk_size.is_some()),
        ("--memory", how.transfer.memory.is_some()),
        ("--via", how.transfer.via.is_some()),
        ("--resume", how.resume),
        ("--consistency", how.consistency.is_some()),
        ("--lock-wait", how.transfer.lock_wait.is_some()),
        ("--no-backup-lock", how.no_backup_lock),
        ("--no-routines", how.no_routines),
        ("--no-events", how.no_events),
        ("--no-triggers", how.no_triggers),
        ("--require-all", how.require_all),
        ("--verify", how.verify.is_some()),
        ("--strip-tablespaces", how.transfer.strip_tablespaces),
        ("--skip-binlog", how.skip_binlog),
        ("--defer-indexes", how.transfer.defer_indexes.is_some()),
        ("--tune", how.transfer.tune.is_some()),
        (
            "--target-defaults-file",
            how.transfer.target_defaults_file.is_some(),
        ),
        ("--max-rate", a.limits.max_rate.is_some()),
        ("--max-impact", throttle.max_impact.is_some()),
        ("--max-lag", throttle.max_lag.is_some()),
        ("--replica", !throttle.replica.is_empty()),
        (
            "--max-threads-running",
            throttle.max_threads_running.is_some(),
        ),
        ("--max-history-list", throttle.max_history_list.is_some()),
        ("--abort-if", !throttle.abort_if.is_empty()),
        ("--limit-timeout", throttle.limit_timeout.is_some()),
        ("--map-schema", !a.names.map_schema.is_empty()),
        ("--map-table", !a.names.map_table.is_empty()),
        ("--include-schemas", !selection.include_schemas.is_empty()),
        ("--exclude-schemas", !selection.exclude_schemas.is_empty()),
        ("--include-tables", !selection.include_tables.is_empty()),
        ("--exclude-tables", !selection.exclude_tables.is_empty()),
        ("--defaults-file", c.defaults_file.is_some()),
        ("--defaults-extra-file", c.defaults_extra_file.is_some()),
        ("--defaults-group-suffix", c.defaults_group_suffix.is_some()),
        ("--no-defaults", c.no_defaults),
    ];
    first_given(&given)
        .or_else(|| a.programs.given())
        .or_else(|| connects(c))
}

/// How many rows may wait.
pub fn memory(bytes: Option<u64>) -> Result<()> {
    match bytes {
        Some(0) => refuse(
            "--memory 0 leaves no room for any row",
            "name what may wait, such as 64M, or leave it out for 256M",
        ),
        _ => Ok(()),
    }
}

/// What goes together with an archive in between, and what without.
pub fn via(how: &Transfer) -> Result<()> {
    let Some(place) = &how.via else {
        return Ok(());
    };
    if place.as_os_str() == "-" {
        return refuse(
            "--via -: a stream could not be read twice",
            "name a directory or URL",
        );
    }
    match how.memory {
        Some(_) => refuse(
            "--memory is for rows that wait for the targets, and with --via they wait in an archive",
            "leave one of the two out",
        ),
        None => Ok(()),
    }
}

fn servers(a: &Copy) -> Result<()> {
    let how = &a.servers;
    via(&how.transfer)?;
    let by_archive = how.transfer.via.is_some();
    if a.store_limits.max_rate_disk.is_some() && !by_archive {
        return refuse(
            "--max-rate-disk limits what is written to an archive, and servers are copied without one",
            "use --max-rate: bytes per second from the source; or --via PLACE, to have an archive in between",
        );
    }
    if how.resume && !by_archive {
        return refuse(
            "--resume continues a copy with --via; without an archive nothing is left to continue, because its snapshot is gone",
            "leave --resume out, and drop what the interrupted copy has made; --via PLACE makes the next one resumable",
        );
    }
    if how.resume && how.consistency == Some(Consistency::None) {
        return refuse(
            "--resume does not apply with --consistency none: what is of no moment cannot be continued",
            "leave one of the two out",
        );
    }
    super::dump::snapshot(
        how.consistency.unwrap_or(Consistency::Auto),
        how.transfer.lock_wait,
        how.no_backup_lock,
    )?;
    if how.verify == Some(VerifyMode::Files) && !by_archive {
        return refuse(
            "--verify files is for tablespaces that penstock builds, and a copy without --via loads by SQL",
            "leave it out",
        );
    }
    let uris = std::iter::once(&a.from).chain(&a.to);
    said_twice(uris.filter_map(|uri| server(uri)), &a.connection)?;
    how.transfer.chunk_size.map_or(Ok(()), chunk_size)?;
    memory(how.transfer.memory)?;
    rate_above_floor(&a.throttle, &a.limits)?;
    limits(&a.throttle)?;
    let same = a.to.iter().find(|to| **to == a.from);
    if let Some(to) = same {
        return refuse(
            format!("{} would be copied onto itself", to.display()),
            "name another server",
        );
    }
    let twice =
        a.to.iter()
            .enumerate()
            .find(|(n, to)| a.to[..*n].contains(to));
    match twice {
        Some((_, to)) => refuse(
            format!("{} is named twice", to.display()),
            "name each target once",
        ),
        None => Ok(()),
    }
}

/// The places of a copy.
pub fn two_places(from: &Location, to: &Location) -> Result<()> {
    if from == to {
        return refuse(
            format!("{from} would be copied onto itself"),
            "name another place",
        );
    }
    Ok(())
}

//! `replica`: which options go together.

use super::connection::said_twice;
use super::copy::{memory, via};
use super::dump::{chunk_size, limits, rate_above_floor};
use super::refused::{first_given, refuse};
use crate::args::replica::{Abort, Create, Verify};
use crate::settings::place;
use base::Result;
use std::path::Path;

fn two_servers(source: &str, other: &str) -> Result<()> {
    match source == other {
        true => refuse(format!("{source} is named twice"), "name another server"),
        false => Ok(()),
    }
}

/// `penstock replica create`.
pub fn replica(a: &Create) -> Result<()> {
    two_servers(&a.source, &a.new)?;
    if let Some(replica) = &a.from_replica {
        two_servers(&a.source, replica)?;
        two_servers(&a.new, replica)?;
    }
    let uris = [&*a.source, &*a.new]
        .into_iter()
        .chain(a.from_replica.as_deref());
    said_twice(uris, &a.connection)?;
    match &a.from_archive {
        Some(place) => from_archive(a, place)?,
        None if !a.encryption.is_empty() => {
            return refuse(
                "--identity and --passphrase-file open an archive, and none is named",
                "name it with --from-archive, or leave them out",
            );
        }
        None => {}
    }
    via(&a.transfer)?;
    if a.transfer.via.is_some() && a.from_replica.is_some() {
        return refuse(
            "--via does not apply with --from-replica: where an archive of a replica continues in the log of the source is known only when it is there",
            "dump the replica with penstock dump, and name the archive with --from-archive; or leave one of the two out",
        );
    }
    a.transfer.chunk_size.map_or(Ok(()), chunk_size)?;
    memory(a.transfer.memory)?;
    rate_above_floor(&a.throttle, &a.limits)?;
    limits(&a.throttle)
}

/// What a load from an archive takes.
fn from_archive(a: &Create, place: &Path) -> Result<()> {
    if place.as_os_str() == "-" {
        return refuse(
            "--from-archive -: an archive on standard input is not read, for it could not be continued",
            "penstock copy - DIR unpacks it; then name DIR",
        );
    }
    let throttle = &a.throttle;
    let given = first_given(&[
        ("--chunk-size", a.transfer.chunk_size.is_some()),
        ("--memory", a.transfer.memory.is_some()),
        ("--via", a.transfer.via.is_some()),
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
    ]);
    match given {
        Some(option) => refuse(
            format!(
                "{option} is for a copy of the source, and with --from-archive the source is not copied"
            ),
            "leave one of the two out",
        ),
        None => Ok(()),
    }
}

/// `penstock replica verify`.
pub fn replica_verify(a: &Verify) -> Result<()> {
    two_servers(&a.source, &a.replica)?;
    said_twice([&*a.source, &*a.replica].into_iter(), &a.connection)
}

/// Where the SQL goes that repairs a replica.
pub fn repair_sql(file: Option<&Path>, json: bool) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    if file.as_os_str() == "-" {
        return match json {
            true => refuse(
                "--repair-sql - writes SQL to standard output, and --json its lines",
                "name a file for the SQL, or leave --json out",
            ),
            false => Ok(()),
        };
    }
    place::local("--repair-sql", file)?;
    match file.exists() {
        true => refuse(
            format!(
                "--repair-sql {}: there is such a file already",
                file.display()
            ),
            "name a new file",
        ),
        false => Ok(()),
    }
}

/// `penstock replica abort`.
pub fn replica_abort(a: &Abort) -> Result<()> {
    let uris = std::iter::once(&*a.new).chain(a.source.as_deref());
    said_twice(uris, &a.connection)
}

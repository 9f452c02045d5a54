//! `replica`: which options go together.

use super::connection::said_twice;
use super::copy::memory;
use super::dump::{chunk_size, limits, rate_above_floor};
use super::refused::refuse;
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
    a.transfer.chunk_size.map_or(Ok(()), chunk_size)?;
    memory(a.transfer.memory)?;
    rate_above_floor(&a.throttle, &a.limits)?;
    limits(&a.throttle)
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

//! `innodb_old_blocks_time = 0`, for as long as a load takes: a page is young when it is used a second time, which a scan does
//! at once. Journalled before, and put back however the load ends (`instance::tune`).

use base::{Error, Kind, Result};
use instance::tune::{self, Tuning};
use run::{Run, failure};
use server::Identity;
use std::path::Path;
use wire::Conn;

/// Sets it; the result puts it back when it is dropped.
pub fn begin<'r>(
    run: &'r Run,
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    state: &Path,
) -> Result<Tuning<'r>> {
    let changes = vec![("innodb_old_blocks_time", "0".to_owned())];
    let tuning = tune::begin_with(run, state, wire, id, changes)?;
    let rows = conn
        .fetch("SELECT @@GLOBAL.innodb_old_blocks_time")
        .map_err(|e| failure::wire("cannot read the server's settings", e))?;
    if rows.first().and_then(|r| r.first()?.as_deref()) == Some(b"0") {
        return Ok(tuning);
    }
    let why = tuning.finish().not_changed.into_iter().next();
    let what = format!(
        "innodb_old_blocks_time cannot be set: {}",
        why.unwrap_or_else(|| "another session has changed it".to_owned())
    );
    Err(Error::new(Kind::Privilege, what)
        .hint("grant what is missing, or leave --one-reading out: then ranges are read twice"))
}

//! How far a replica is.

use base::Result;
use run::applier;
use run::{Run, connect, failure};
use server::replication::{self, Channel};
use std::path::Path;

/// A server's channels.
#[derive(Clone, Debug)]
pub struct Status {
    /// The server, in words.
    pub server: String,
    /// Its channels; none if it is no replica.
    pub channels: Vec<Channel>,
    /// Whether `read_only` or `super_read_only` is on.
    pub read_only: bool,
    /// What it has executed, as it says.
    pub gtids: String,
    /// Why its applier may be stopped: a run of this host, in words.
    pub compared: Option<String>,
}

/// Looks at it; `state` is where comparisons of this host note what they stop.
pub fn status(run: &Run, server: &wire::Options, state: Option<&Path>) -> Result<Status> {
    let (mut conn, id) = connect::open(run, server)?;
    let channels = replication::channels(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    let gtids = match id.is_mariadb() {
        true => "SELECT @@GLOBAL.gtid_current_pos",
        false => "SELECT @@GLOBAL.gtid_executed",
    };
    let known = id.mariadb_at_least(10, 0, 2) || id.mysql_at_least(5, 6, 5);
    let left = |state| applier::is_left_stopped(state, server);
    let compared = match state.map(left) {
        Some(Ok(true)) => Some(
            "a run that was killed has stopped its applier: penstock doctor --revert starts it again"
                .to_owned(),
        ),
        // One that runs has the note.
        Some(Err(e)) => Some(e.what),
        Some(Ok(false)) | None => None,
    };
    Ok(Status {
        compared,
        server: format!("{id} at {}", server.endpoint),
        read_only: id.read_only || id.super_read_only,
        gtids: match known {
            true => {
                crate::value(&mut conn, gtids, "cannot read the executed GTIDs")?.replace('\n', "")
            }
            false => String::new(),
        },
        channels,
    })
}

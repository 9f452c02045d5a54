//! How far a replica is.

use base::Result;
use run::{Run, connect, failure};
use server::replication::{self, Channel};

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
}

/// Looks at it.
pub fn status(run: &Run, server: &wire::Options) -> Result<Status> {
    let (mut conn, id) = connect::open(run, server)?;
    let channels = replication::channels(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    let gtids = match id.is_mariadb() {
        true => "SELECT @@GLOBAL.gtid_current_pos",
        false => "SELECT @@GLOBAL.gtid_executed",
    };
    let known = id.mariadb_at_least(10, 0, 2) || id.mysql_at_least(5, 6, 5);
    Ok(Status {
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

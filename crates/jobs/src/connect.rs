//! Opens connections for jobs: who is on the other end, and sessions prepared
//! for what they are to do.

use crate::{Run, failure};
use base::{Error, Kind, Result};
use server::identity::Identity;
use wire::{Conn, Options};

/// Connects, and finds out what answered.
pub fn open(run: &Run, options: &Options) -> Result<(Conn, Identity)> {
    let mut conn = connection(run, options)?;
    let id = Identity::read(&mut conn)
        .map_err(|e| failure::server("cannot find out what the server is", e))?;
    if !id.at_least(5, 5, 0) {
        return Err(Error::new(
            Kind::Failed,
            format!(
                "server {} is version {}, older than 5.5",
                options.endpoint, id.version_text
            ),
        ));
    }
    Ok((conn, id))
}

/// One more connection to a server that is already known.
pub fn connection(run: &Run, options: &Options) -> Result<Conn> {
    run.check()?;
    let conn = Conn::connect(options).map_err(|e| match e {
        wire::Error::Connect { .. } => failure::wire("no connection", e),
        e => failure::wire(
            format_args!("cannot log in to {} as {}", options.endpoint, options.user),
            e,
        ),
    })?;
    run.watch(&conn);
    Ok(conn)
}

//! Opens connections for jobs: who is on the other end, and sessions prepared
//! for what they are to do.

use crate::Run;
use crate::failure;
use base::{Error, Kind, Result};
use server::identity::Identity;
use wire::{Conn, Direction, Options};

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

/// One more connection to a server that is already known. What it receives is counted at the run's gate, unless the
/// options say that it is what it sends; it does not wait there.
pub fn connection(run: &Run, options: &Options) -> Result<Conn> {
    run.check()?;
    let counts = options
        .limited
        .as_ref()
        .map_or(Direction::Received, |g| g.counts);
    let conn = untracked(&run.with_limiter(options, counts))?;
    run.track(&conn);
    Ok(conn)
}

/// A connection that a stop does not break: its owner ends it.
pub fn untracked(options: &Options) -> Result<Conn> {
    Conn::connect(options).map_err(|e| match e {
        wire::Error::Connect { .. } => failure::wire("no connection", e),
        e => failure::wire(
            format_args!("cannot log in to {} as {}", options.endpoint, options.user),
            e,
        ),
    })
}

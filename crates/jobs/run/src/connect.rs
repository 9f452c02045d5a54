//! Opens connections for jobs: which server answered, and sessions prepared for their task.

use crate::Run;
use crate::failure;
use base::{Error, Kind, Result};
use server::identity::Identity;
use server::session;
use wire::{Conn, Direction, Options};

/// Connects and identifies the server.
pub fn open(run: &Run, options: &Options) -> Result<(Conn, Identity)> {
    let mut conn = connection(run, options)?;
    let id =
        Identity::read(&mut conn).map_err(|e| failure::server("cannot identify the server", e))?;
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

/// Opens another connection to a server that is already identified. The run's rate limiter counts the
/// bytes that it receives, or those that it sends if the options say so; the connection does not wait
/// there yet.
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

/// Opens a connection that a stop does not close: its owner ends it.
pub fn untracked(options: &Options) -> Result<Conn> {
    session::connect(options).map_err(|e| match e {
        wire::Error::Connect { .. } => failure::wire("no connection", e),
        e => failure::wire(
            format_args!("cannot log in to {} as {}", options.endpoint, options.user),
            e,
        ),
    })
}

/// The error of a session whose settings could not be made (`server::session`).
pub fn prepared(outcome: std::result::Result<(), server::Error>) -> Result<()> {
    outcome.map_err(|e| failure::server("cannot prepare a session", e))
}

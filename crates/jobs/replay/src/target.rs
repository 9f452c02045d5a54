//! The target while its channel exists: a guard that removes the channel however the replay ends.

use crate::channel;
use base::{Result, units::printable};
use run::{Run, connect, failure};
use server::{Identity, session};
use wire::Conn;

/// A connection to the target that a stop does not break, and the channel on it.
pub(crate) struct Target<'a> {
    run: &'a Run,
    options: &'a wire::Options,
    pub(crate) id: Identity,
    pub(crate) conn: Conn,
    channel: bool,
}

impl<'a> Target<'a> {
    /// Connects; there must be no other replay.
    pub(crate) fn connect(run: &'a Run, options: &'a wire::Options) -> Result<Target<'a>> {
        run.check()?;
        let mut conn = connect::untracked(options)?;
        let id = Identity::read(&mut conn)
            .map_err(|e| failure::server("cannot identify the target", e))?;
        connect::prepared(session::for_catalog(&mut conn, &id))?;
        channel::lock(&mut conn)?;
        Ok(Target {
            run,
            options,
            id,
            conn,
            channel: false,
        })
    }

    /// From now on there may be a channel.
    pub(crate) fn begin(&mut self) {
        self.channel = true;
    }

    /// Stops the channel; what it has applied can still be read.
    pub(crate) fn stop(&mut self) -> Result<()> {
        channel::stop(&mut self.conn, &self.id)
    }

    /// Stops and removes the channel.
    pub(crate) fn remove(&mut self) -> Result<()> {
        if !self.channel {
            return Ok(());
        }
        let mut outcome = self.try_remove();
        if outcome.is_err() && self.conn.is_closed() {
            // The connection was lost, which says nothing about the server.
            if let Ok(conn) = connect::untracked(self.options) {
                self.conn = conn;
                outcome = self.try_remove();
            }
        }
        self.channel = false;
        outcome.map_err(|e| {
            let by_hand = channel::removal(&self.id);
            e.hint(format!(
                "the next replay removes what is left on the target, or do it by hand: {by_hand}"
            ))
        })
    }

    fn try_remove(&mut self) -> Result<()> {
        self.stop()?;
        channel::remove(&mut self.conn, &self.id)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let Err(e) = self.remove() {
            let hint = e.hint.map(|h| format!(" ({h})")).unwrap_or_default();
            self.run
                .observer
                .warn(printable(&format!("{}{hint}", e.what)));
        }
    }
}

//! `penstock doctor` and the channel of a replay that was killed.

use base::{Kind, Result};
use instance::doctor::{Left, Options, Summary};
use replay::{Leftover, NamedPlace};
use run::Run;

/// What was found on the server.
#[derive(Default)]
pub struct Found {
    in_use: bool,
    left: Option<NamedPlace>,
    removed: Option<NamedPlace>,
    unseen: Option<String>,
}

/// Looks for the channel, and removes it if that was asked for.
pub fn found(run: &Run, server: &wire::Options, revert: bool) -> Result<Found> {
    let mut found = Found::default();
    match replay::look(server) {
        Ok(None) => {}
        Ok(Some(Leftover::InUse)) if !revert => found.in_use = true,
        Ok(Some(_)) if revert => found.removed = replay::remove(run, server)?,
        Ok(Some(Leftover::Left(applied))) => found.left = Some(applied),
        Ok(Some(Leftover::InUse)) => {}
        // An account that may not look is answered so; a server that is down is the doctor's own business.
        Err(e) if e.kind == Kind::Connection => {}
        Err(e) => found.unseen = Some(e.what),
    }
    Ok(found)
}

impl Found {
    /// Adds it to what the doctor says.
    pub fn add_to(self, done: &mut Summary, options: &Options) {
        if self.in_use {
            done.in_use.push(
                "a restore to a point in time is running: it has a replication channel penstock, which it removes itself"
                    .to_owned(),
            );
        }
        if let Some(applied) = self.removed {
            done.done.insert(
                0,
                base::units::printable(&format!(
                    "the replication channel penstock, of a restore that was killed, is stopped and removed; it had applied its log up to {applied}"
                )),
            );
        }
        if let Some(applied) = self.left {
            done.left.insert(
                0,
                Left {
                    server: done.looked_at.clone(),
                    name: "channel penstock".to_owned(),
                    before: "absent".to_owned(),
                    during: "replaying".to_owned(),
                    now: Some(base::units::printable(&format!(
                        "left by a restore that was killed; it has applied its log up to {applied}"
                    ))),
                },
            );
            if let (true, Some(server)) = (done.commands.is_empty(), &options.server) {
                done.commands
                    .push(instance::identity::revert_command(server));
            }
        }
        if let Some(why) = self.unseen {
            done.notes.push(base::units::printable(&format!(
                "whether a restore that was killed left its replication channel is not known: {why}"
            )));
        }
    }
}

//! `penstock doctor` and replication: the channel of a replay that was killed, and an applier that a killed run left
//! stopped.

use base::{Kind, Result};
use instance::doctor::{Left, Options, Summary};
use replay::{Leftover, NamedPlace};
use run::{Run, applier};

/// What was found on the server.
#[derive(Default)]
pub struct Found {
    in_use: bool,
    left: Option<NamedPlace>,
    removed: Option<NamedPlace>,
    unseen: Option<String>,
    /// Whether a killed run left the applier stopped.
    stopped: bool,
    started: bool,
    in_use_by: Option<String>,
}

/// Looks for the channel, and removes it if that was asked for.
pub fn found(run: &Run, server: &wire::Options, options: &Options) -> Result<Found> {
    let (revert, state) = (options.revert, &options.state);
    let mut found = Found::default();
    match revert {
        true => match applier::start_left(run, state, server) {
            Ok(started) => found.started = started,
            Err(e) if e.kind == Kind::Connection => {}
            Err(e) => return Err(e),
        },
        false => match applier::is_left_stopped(state, server) {
            Ok(is) => found.stopped = is,
            Err(e) => found.in_use_by = Some(e.what),
        },
    }
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
        let server = done.looked_at.clone();
        done.in_use.extend(self.in_use_by);
        if self.started {
            let text =
                "the applier of this replica, which a run that was killed had stopped, runs again";
            done.done.insert(0, text.to_owned());
        }
        if self.stopped {
            add(
                done,
                options,
                Left {
                    server: server.clone(),
                    name: "the applier of this replica".to_owned(),
                    before: "running".to_owned(),
                    during: "stopped".to_owned(),
                    now: Some("left by a run that was killed".to_owned()),
                },
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
            add(
                done,
                options,
                Left {
                    server,
                    name: "channel penstock".to_owned(),
                    before: "absent".to_owned(),
                    during: "replaying".to_owned(),
                    now: Some(base::units::printable(&format!(
                        "left by a restore that was killed; it has applied its log up to {applied}"
                    ))),
                },
            );
        }
        if let Some(why) = self.unseen {
            done.notes.push(base::units::printable(&format!(
                "whether a restore that was killed left its replication channel is not known: {why}"
            )));
        }
    }
}

fn add(done: &mut Summary, options: &Options, left: Left) {
    done.left.insert(0, left);
    if let (true, Some(server)) = (done.commands.is_empty(), &options.server) {
        done.commands
            .push(instance::identity::revert_command(server));
    }
}

//! What a replay that was killed left on a server: its channel, whose applier may still run.
//!
//! Here it is only looked for, or removed with nothing else; settings are put back by whoever asks for that.

use crate::channel;
use crate::log::NamedPlace;
use crate::status;
use crate::target::Target;
use base::{Result, units::printable};
use run::{Run, connect, failure};
use server::Identity;

/// A channel of ours on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Of a replay that runs.
    InUse,
    /// Of one that was killed, with the place up to which its log is applied so far.
    Left(NamedPlace),
}

/// Looks for a channel, and changes nothing. `None`: there is none, or the server is too old for one.
pub fn look(options: &wire::Options) -> Result<Option<Leftover>> {
    let mut conn = connect::untracked(options)?;
    let id =
        Identity::read(&mut conn).map_err(|e| failure::server("cannot identify the server", e))?;
    if !can_have_one(&id) {
        return Ok(None);
    }
    let Some(status) = status::ours(&mut conn, &id)? else {
        return Ok(None);
    };
    if channel::is_locked(&mut conn)? {
        return Ok(Some(Leftover::InUse));
    }
    Ok(Some(Leftover::Left(NamedPlace {
        file: status.applied.file,
        offset: status.applied.offset,
    })))
}

fn can_have_one(id: &Identity) -> bool {
    id.mysql_at_least(8, 0, 23) || id.mariadb_at_least(10, 0, 2)
}

/// Stops and removes the channel, and returns how far its log was applied; `None` if there was none. Fails if the replay runs.
pub fn remove(run: &Run, options: &wire::Options) -> Result<Option<NamedPlace>> {
    if look(options)?.is_none() {
        return Ok(None);
    }
    take_away(&mut Target::connect(run, options)?)
}

/// The same on a target that is locked for us: so no living replay has the channel. The applier continues without us with what it
/// has received, so only after a stop it is known where it stands.
pub(crate) fn take_away(target: &mut Target<'_>) -> Result<Option<NamedPlace>> {
    if status::ours(&mut target.conn, &target.id)?.is_none() {
        return Ok(None);
    }
    target.begin();
    target.stop()?;
    let left = status::at_end(&mut target.conn, &target.id)?.map(|s| NamedPlace {
        file: s.applied.file,
        offset: s.applied.offset,
    });
    target.remove()?;
    Ok(left)
}

/// In words.
pub(crate) fn was_removed(applied: &NamedPlace) -> String {
    printable(&format!(
        "an earlier replay, which did not end by itself, had left its channel on the target, and had applied its log up to {applied}; the channel was removed"
    ))
}

//! The source that the target reads from: listens, answers, and serves the log to one connection after the other.

use crate::feed::{Ended, Feed, unexpected};
use crate::log::Place;
use base::units::printable;
use base::{Observer, Result};
use binlog::Checksum;
use std::sync::Arc;
use wire::serve::{Dump, Listener, Profile, Session};

/// Serves until a stop is requested. What prevents it is in the state: whoever watches the applier ends the replay.
pub(crate) fn run(
    listener: &Listener,
    profile: &Arc<Profile>,
    feed: &Feed<'_>,
    checksum: Checksum,
    observer: &dyn Observer,
) {
    loop {
        let session = match listener.accept(profile) {
            Ok(Some(session)) => session,
            Ok(None) => return,
            Err(e) => {
                let text = format!("cannot accept the target's connection: {e}");
                feed.state.fail(base::Error::new(base::Kind::Failed, text));
                return;
            }
        };
        match one(session, feed, checksum) {
            Ok(()) => {}
            Err(Ended::Connection(_)) if feed.cancel.is_raised() || feed.state.is_ending() => {}
            // The replica connects again, and what it says about it is in its status.
            Err(Ended::Connection(e)) => {
                observer.note(printable(&format!("the target's connection ended: {e}")));
            }
            Err(Ended::Log(e)) => {
                feed.state.fail(e);
                return;
            }
        }
    }
}

fn one(mut session: Session, feed: &Feed<'_>, checksum: Checksum) -> Result<(), Ended> {
    let dump = session.until_dump();
    feed.state.refused(session.refused());
    let Some(dump) = dump? else {
        return Ok(());
    };
    let Some(from) = asked(feed, &dump) else {
        let file = String::from_utf8_lossy(&dump.file).into_owned();
        session.fail("this place of the log is not replayed")?;
        return Err(unexpected(&file, dump.offset).into());
    };
    let mut sender = session.into_sender();
    let outcome = feed.serve(&mut sender, from, checksum, dump.heartbeat);
    if let Err(Ended::Log(e)) = &outcome {
        // The replica learns it, too, and does not come again for it.
        let _ = sender.fail(&e.what);
    }
    outcome
}

/// The place that a replica asks for: the beginning, or any that was sent, after a connection was lost. It can ask for
/// no offset beyond 4 GiB, so a place counts by the end of its offset.
fn asked(feed: &Feed<'_>, dump: &Dump) -> Option<Place> {
    let sent = feed.state.sent().place;
    let name = String::from_utf8_lossy(&dump.file);
    let file = feed.log.files().iter().position(|f| f.name == name)?;
    let offset = dump.offset.max(4);
    for known in [feed.from, sent] {
        if known.file == file && known.offset as u32 == offset as u32 {
            return Some(known);
        }
    }
    let place = Place { file, offset };
    (place >= feed.from && place <= sent).then_some(place)
}

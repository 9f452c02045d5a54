//! Reverts the settings that an earlier run, which was killed, left changed on a server.
//!
//! Invariants: only what is in a journal that no living process has locked is reverted; a journal is
//! removed only when all of it is reverted.

use super::fragment;
use super::journal::{self, Opened};
use super::options::{Level, Options};
use super::revert::{self, Outcome};
use crate::identity::{self, revert_command, server_id};
use base::Result;
use base::units::printable;
use run::Run;
use server::Identity;
use wire::Conn;

/// Reverts what an earlier run left changed on this server, and returns the server's description, read
/// again if anything was. Call it before anything is decided from that description.
pub fn recover(
    run: &Run,
    options: &Options,
    wire: &wire::Options,
    conn: &mut Conn,
    id: Identity,
) -> Result<Identity> {
    let Some(state) = &options.state else {
        return Ok(id);
    };
    let key = server_id(&id);
    let mut journal = match journal::existing(&journal::path(state, &key)) {
        Ok(None) => return Ok(id),
        Ok(Some(Opened::Busy(pid))) => {
            run.observer.note(journal::busy(pid));
            return Ok(id);
        }
        Ok(Some(Opened::Ours(journal))) => journal,
        // Settings matter to this load only if it changes some itself.
        Err(e) if options.level != Level::Max => {
            run.observer.warn(e.what);
            return Ok(id);
        }
        Err(e) => return Err(e),
    };
    journal::belongs(&journal, &key)?;
    if journal.is_settled() {
        journal.remove()?;
        return Ok(id);
    }
    let mut outcome = Outcome::default();
    revert::revert(conn, &mut journal, &mut outcome)?;
    for line in outcome.lines() {
        run.observer.warn(format!(
            "an earlier run left settings of this server changed: {line}"
        ));
    }
    if outcome.failed.is_empty() {
        if let Some(fragment) = journal.fragment.clone() {
            let phase = run.phase("restarting the server", 1);
            let left = fragment::undo(conn, wire, &mut journal, state)?;
            drop(phase);
            run.observer.warn(format!(
                "an earlier run left {}: it is removed, and the server runs without it",
                printable(&fragment.file.display().to_string())
            ));
            left.iter().for_each(|l| run.observer.warn(printable(l)));
        }
        journal.remove()?;
    } else {
        run.observer.warn(format!(
            "settings are still changed: run {} as an account that may set them",
            revert_command(wire)
        ));
    }
    identity::read(conn)
}

//! Connects to a server, and starts one that an earlier run has left down: because it had stopped it
//! (`stopped`), or because it was restarting it with a fragment of settings (`tune::fragment`).
//!
//! Invariant: a server is started only if a record in the state directory says that a run of ours, which
//! no longer lives, took it down.

use crate::stopped;
use crate::tune::fragment;
use crate::tune::journal::{self, Opened};
use base::{Kind, Result};
use run::connect::open;
use server::Identity;
use std::path::Path;
use wire::Conn;

/// Connects; a server that an earlier run was restarting or had stopped, and has left down, is started.
/// Without `state` it only connects.
pub fn connect(
    run: &run::Run,
    wire: &wire::Options,
    state: Option<&Path>,
) -> Result<(Conn, Identity)> {
    let (e, state) = match (open(run, wire), state) {
        (Err(e), Some(state)) if e.kind == Kind::Connection => (e, state),
        (Ok(found), Some(state)) => {
            return if stopped::restart_after_crash(run, wire, state, true)? {
                open(run, wire)
            } else {
                Ok(found)
            };
        }
        (outcome, _) => return outcome,
    };
    if stopped::restart_after_crash(run, wire, state, false)? {
        return open(run, wire);
    }
    for path in journal::all(state)? {
        let Ok(Some(Opened::Ours(journal))) = journal::existing(&path) else {
            continue;
        };
        if fragment::start_without(wire, &journal, state)?.is_some() {
            let what =
                "an earlier run was restarting the server and left it down: it is started again";
            run.observer.warn(what.to_owned());
            return open(run, wire);
        }
    }
    Err(e)
}

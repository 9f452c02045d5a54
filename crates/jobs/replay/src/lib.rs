//! Replays a binary log into a running server by the server's own parallel applier.
//!
//! We are the source of its replication: the log is served to the target over the replication protocol up to the place
//! asked for, and not a byte more, so the applier cannot go further, whatever it does at the same time. Then the target
//! is detached again.
//!
//! `replay` is the job. `feed` sends the log, `source` answers the target's connections, `channel`, `status` and
//! `target` are the target's side of it, `watch` waits, `state` is what those know of each other; `leftover` is what a
//! killed one left; `precheck` and
//! `settings` are about the target's settings, `reading` and `log` about the log.
//!
//! Invariants: only the channel `penstock` of the target is touched, and it is removed however the replay ends; nothing
//! is applied that is outside of the part; a target that would apply the log differently (filters, skipped errors,
//! another flavour) is refused before anything is changed.

mod channel;
mod directory;
mod feed;
mod leftover;
mod log;
mod numbers;
mod options;
mod precheck;
mod reading;
mod replay;
mod settings;
mod source;
mod state;
mod status;
mod target;
mod watch;

pub use crate::log::{FIRST, LogFile, LogFiles, NamedPlace, Place};
pub use crate::replay::{check, clear, replay};
pub use directory::Directory;
pub use leftover::{Leftover, look, remove};
pub use options::{AHEAD, Listen, Options, Request, Summary};

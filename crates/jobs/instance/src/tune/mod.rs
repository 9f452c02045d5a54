//! Tunes a server for a load, and reverts everything.
//!
//! `begin` returns a guard; its `finish`, or its drop however the load ends (an error, a stop, a panic),
//! reverts what was changed. What this process cannot revert any more, the next load of the same server
//! does (`recover`) or `penstock doctor --revert`, from the journal. Invariants: nothing is changed that
//! is not in the journal on disk first; nothing is persisted in the server; the redo log is the last to
//! be switched off and the first to be switched on again. What needs a restart is in `fragment`: it comes
//! before the other settings and is reverted after them, by the command that the user gave.

pub(crate) mod fragment;
mod guard;
pub(crate) mod journal;
mod options;
mod recover;
mod replicas;
pub(crate) mod revert;
mod settings;

pub use guard::{Tuning, begin, begin_with};
pub use options::{ChangedSetting, Level, LoadProfile, Options, Report, Restart, local_infile_off};
pub use recover::recover;

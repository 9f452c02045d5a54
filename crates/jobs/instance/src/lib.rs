//! The life of a server around a load: initializing a data directory and running a temporary instance on
//! it (`managed`), restarting and stopping a server with the user's command (`restart`, `stopped`),
//! reading a data directory without writing to it (`read_only`),
//! changing settings and reverting them (`tune`), and what a killed run left behind (`recover`,
//! `doctor`).
//!
//! Imports go one way: `doctor` on top, then `recover`, `stopped`, `tune`, `restart`, `variables` and
//! `identity`, `command`, `managed`.
//!
//! Invariant: nothing on a server is changed that is not written to the state directory first.

mod command;
pub mod doctor;
pub mod identity;
pub mod managed;
pub mod read_only;
pub mod recover;
pub mod restart;
pub mod stopped;
pub mod tune;
mod variables;

pub use command::ServerCommand;

//! The life of a server around a load: initializing a data directory and running a temporary instance on it
//! (`managed`), changing settings and putting them back (`tune`), and what a killed run left behind (`doctor`).
//!
//! Invariant: nothing on a server is changed that is not written to the state directory first.

mod command;
pub mod doctor;
pub mod managed;
pub mod recover;
pub mod restart;
pub mod stopped;
pub mod tune;

pub use command::ServerCommand;

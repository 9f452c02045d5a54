//! The server half of the replication protocol: a replica connects, asks what replicas ask, and is sent the events
//! of a binary log.
//!
//! A [`Listener`] accepts replicas of one address, with one account whose name and password are made for it alone.
//! A [`Session`] answers their questions from a [`Profile`] until the replica asks for events; from then on its
//! owner sends them, through a [`Sender`].
//!
//! Invariants: nothing is served before the login; a statement that no replica needs gets an error and is kept for
//! the log of the run ([`Session::refused`]); nothing is sent but what the owner passes. There is no TLS: the
//! listener is meant for the loopback address.
//!
//! It does not know what an event holds, where a log is kept, or where to stop. Formats: MySQL source
//! documentation, "Replication Protocol"; MariaDB knowledge base, "Replication Protocol".

mod account;
mod answers;
mod listener;
mod login;
mod pipe;
mod sender;
mod session;
#[cfg(test)]
mod tests;

pub use account::Account;
pub use answers::Profile;
pub use listener::Listener;
pub use sender::Sender;
pub use session::{Dump, Session};

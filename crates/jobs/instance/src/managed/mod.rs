//! A managed instance: a temporary server on a data directory that the load creates. It is initialized,
//! started, loaded into, and shut down, and then the data directory is the user's to start a server on.
//!
//! `instance` is its life, `initialize` makes the data directory, `mysqld` is the process, `program`
//! finds the programs, `options` says which options the server may be given, `account` which account it
//! runs as, `restored` is such a server on files of a snapshot, `abandoned` ends servers of killed runs, and `state_file` claims the data directory and records
//! how far it has come. Everything of the load is in one hidden directory inside the data directory: the state
//! file, the socket, the log, and at first the new data directory itself, which is moved to its place when it
//! is complete. Invariants: only
//! an empty directory is used; nothing is ever removed but that hidden directory; a process that works in
//! it holds the lock on the state file; the hidden directory is removed when all of the archive is loaded
//! and the server has shut down cleanly.

mod abandoned;
pub(crate) mod account;
mod initialize;
mod instance;
pub(crate) mod mysqld;
pub mod options;
pub(crate) mod program;
mod restored;
mod state_file;

pub use abandoned::end_within;
pub use instance::{ManagedInstance, Options, Purpose, Summary, begin};
pub use mysqld::{Mysqld, socket};
pub use restored::{Restored, account_of, create_datadir};

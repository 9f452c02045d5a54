//! What the stores of other hosts share: one small runtime, and files that are moved in pieces.
//!
//! The rest of the program is threads that wait. Only here is asynchronous code, because the libraries of
//! object stores and of SFTP are: a thread that reads or writes waits for a future, and pieces of a file
//! are on their way while the thread fills or uses another.

mod finishing;
mod link;
mod read_ahead;
mod write_behind;

pub(crate) use finishing::Finishing;
pub use link::Link;
pub(crate) use read_ahead::ReadAhead;
pub(crate) use write_behind::WriteBehind;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// A future that a task can own.
pub(crate) type Task<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// The runtime; threads for the network are few, because they only wait and copy.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("network")
            .enable_all()
            .build()
            .expect("threads for the network: this host has no more")
    })
}

/// Waits for a future; never called from the runtime's own threads.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// What a task gave, its panic as an error.
pub(crate) fn joined<T>(joined: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    joined.unwrap_or_else(|e| Err(io::Error::other(format!("a transfer broke off: {e}"))))
}

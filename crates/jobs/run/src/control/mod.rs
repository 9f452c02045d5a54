//! Control of a running job from outside: its status (`status`), what can be changed (`tunables`), the
//! socket that it listens on (`listener`, in a private `directory`), and the other end of that socket
//! (`client`).
//!
//! One JSON object on one line in each direction, one request for each connection: `{"do":"status"}`,
//! `{"do":"set","set":[["max-rate","20M"]]}`, `{"do":"pause"}`, `{"do":"resume"}`, `{"do":"stop"}`. The
//! answer holds `status`, or `error`. Invariants: only the user who started the job, and root, is
//! served; requests are bounded in size and time, and a job never fails or waits because of them; a
//! `set` of several values sets all of them or none.

mod client;
mod directory;
mod listener;
mod status;
#[cfg(test)]
mod tests;
mod tunables;

pub use client::{Running, Runs, running};
pub use listener::{Control, open};
pub use status::{Status, status};
pub use tunables::{TUNABLES, Tunable, rate};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest request or answer, in bytes; a longer one is refused.
const MAX_MESSAGE: u64 = 64 * 1024;

/// How long one side waits for the other.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// A request to a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Report the status.
    Status,
    /// Set these tunables to these values.
    Set {
        /// Names and values, as they were typed.
        set: Vec<(String, String)>,
    },
    /// Pause: let no bytes pass the rate limiter.
    Pause,
    /// End a pause.
    Resume,
    /// Stop cleanly, as Ctrl-C does.
    Stop,
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

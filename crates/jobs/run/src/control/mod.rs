//! Steering a run from outside while it goes on: what it tells (`board`), what
//! can be set (`knobs`), the socket that it listens on (`serve`), and the other
//! end of that (`ask`).
//!
//! One JSON object on a line each way, one request for each connection:
//! `{"do":"status"}`, `{"do":"set","set":[["rate","20M"]]}`, `{"do":"pause"}`,
//! `{"do":"resume"}`, `{"do":"stop"}`. The answer holds `status`, or `error`.
//! Invariants: nobody but the user who started the run (and root) is listened
//! to; what comes is bounded in size and time, and a run never fails or waits
//! because of it; a `set` of several things sets all of them or none.

mod client;
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
use std::path::Path;
use std::time::Duration;

/// A longer request or answer is refused, in bytes.
const MAX_MESSAGE: u64 = 64 * 1024;

/// A side that takes longer is given up.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// How it stands.
    Status,
    /// Set these, by name, to these values.
    Set {
        /// Names and values, as they were typed.
        set: Vec<(String, String)>,
    },
    /// Let nothing pass.
    Pause,
    /// Let it pass again.
    Resume,
    /// Stop cleanly, as Ctrl-C does.
    Stop,
}

/// What a run answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

/// A path that fits into a socket's address, which has room for 107 bytes: a long one goes by way of its folder's
/// descriptor. The second part must be kept as long as the first is used.
fn socket_address(path: &Path) -> std::io::Result<(std::path::PathBuf, Option<std::fs::File>)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    if path.as_os_str().len() <= 100 {
        return Ok((path.to_owned(), None));
    }
    use std::os::fd::AsRawFd;
    let folder = std::fs::File::open(folder)?;
    let by_number = format!("/proc/self/fd/{}", folder.as_raw_fd());
    Ok((Path::new(&by_number).join(name), Some(folder)))
}

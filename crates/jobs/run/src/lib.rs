//! What every job runs on: the running job itself (`run`), its status and setpoints, the control socket, the
//! limits on its impact, what it waited for, the host it runs on, connections, and the one mapping from the
//! errors of parts to the error of a job.
//!
//! Nothing here knows what a particular job does.

mod board;
pub mod connect;
pub mod failure;
pub mod held;
pub mod host;
pub mod memory;
mod run;
pub mod status;
pub mod steer;
pub mod throttle;
mod wishes;

pub use crate::run::{Flow, Phase, Run, Stop};
pub use board::Board;
pub use wishes::Wishes;

/// Flags for opening a file in a directory that another account may write to: never through a link, which could
/// lead anywhere, and without waiting for a writer.
pub const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW
    .union(rustix::fs::OFlags::NONBLOCK)
    .bits()
    .cast_signed();

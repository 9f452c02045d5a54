//! What every job runs on: its context (`run`) with worker threads and phases, its status and setpoints, the control
//! socket, the limits on its impact, the analysis of its bottleneck, facts about the host and the directories of a server there, connections, the appliers of a
//! replica that are stopped for a job, and the one mapping from the errors of parts to the error of a job.
//!
//! Nothing here knows what a particular job does.

pub mod applier;
pub mod bottleneck;
pub mod connect;
pub mod control;
pub mod failure;
pub mod file_system;
pub mod gtids;
pub mod host;
pub mod memory;
mod phase;
pub mod places;
pub mod read_lock;
mod run;
mod run_status;
pub mod server_counters;
mod setpoints;
pub mod state;
pub mod throttle;
mod workers;

pub use crate::run::Run;
pub use phase::{Phase, PhaseTraffic};
pub use run_status::RunStatus;
pub use setpoints::Setpoints;
pub use workers::Stop;

/// Flags for opening a file in a directory that another account may write to: never through a link, which could
/// lead anywhere, and without waiting for a writer.
pub const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW
    .union(rustix::fs::OFlags::NONBLOCK)
    .bits()
    .cast_signed();

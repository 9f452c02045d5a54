//! Rate limits: how fast bytes may come from a server, go to it, or go to the disk.

use super::values::rate;
use clap::Args;

/// For every job that moves rows.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits (change them while it runs: penstock set)")]
pub struct Limits {
    /// Bytes per second from the server (load: to the server), over all connections together: 40M,
    /// 1.5G [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub max_rate: Option<u64>,
}

/// For jobs that write an archive, in addition.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits (change them while it runs: penstock set)")]
pub struct StoreLimits {
    /// Bytes per second written to the archive, over all files together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub max_rate_disk: Option<u64>,
}

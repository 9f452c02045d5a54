//! `penstock status`, `set`, `pause`, `resume`, `stop`: which job is meant, and what it shall do.

use clap::Args;

/// `penstock status`, `pause`, `resume`, `stop`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock status
  penstock pause --pid 4711
  penstock resume --pid 4711

Exit codes: 0 done, 1 the job does not answer, 2 no such job, or several and no --pid")]
pub struct Which {
    /// Process id of the job; not needed if only one runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// `penstock set`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock set max-rate=20M
  penstock set max-rate=none max-rate-disk=50M --pid 4711
  penstock set max-impact=10%

Exit codes: 0 done, 1 the job does not answer, 2 a wrong value, no such job, or several and no --pid")]
pub struct Set {
    /// Limits to change: max-rate and max-rate-disk in bytes per second; max-impact and max-threads-running
    /// for a dump that was started with one of them; none removes a limit
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub values: Vec<String>,
    /// Process id of the job; not needed if only one runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

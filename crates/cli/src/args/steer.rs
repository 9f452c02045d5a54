//! Which run is meant, and what it is to be told.

use clap::Args;

/// `penstock status`, `pause`, `resume`, `stop`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock status
  penstock pause --pid 4711
  penstock resume --pid 4711")]
pub struct Which {
    /// Its process; not needed where only one runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// `penstock set`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock set rate=20M
  penstock set rate=none rate-disk=50M --pid 4711
  penstock set impact=10% max-running=64")]
pub struct Set {
    /// What to set: rate and rate-disk in bytes per second; impact and max-running of a dump that began with limits on what
    /// it costs; none lifts a limit
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub values: Vec<String>,
    /// Its process; not needed where only one runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

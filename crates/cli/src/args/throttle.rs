//! Limits on the impact of a dump on the server's other users.

use super::values::{duration, limit, rate, share};
use clap::Args;
use run::throttle::Limit;
use std::time::Duration;

/// What the reading of hot ranges can be limited by.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Impact (a limit on what the reading costs the other users of the server that is warmed)"
)]
pub struct Impact {
    /// Keep the effect on the latency and throughput of other sessions below this share, measured
    /// while the ranges are read: 5%
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub max_impact: Option<f64>,
    /// Bytes per second that --max-impact never goes below, so that it ends [default: 1M]
    #[arg(long, value_name = "RATE", requires = "max_impact", value_parser = rate)]
    pub min_rate: Option<u64>,
}

/// What a dump can be limited by.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Impact (limits on what the dump costs the server's other users)")]
pub struct Throttle {
    /// Keep the effect on the latency and throughput of other sessions below this share, measured
    /// while the dump runs: 5%
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub max_impact: Option<f64>,
    /// Bytes per second that --max-impact never goes below, so that the dump ends [default: 1M]
    #[arg(long, value_name = "RATE", requires = "max_impact", value_parser = rate)]
    pub min_rate: Option<u64>,
    /// Pause while a replica lags more than this: 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_lag: Option<Duration>,
    /// Replica whose lag counts; may be given several times [default: the server itself]
    #[arg(long, value_name = "SERVER")]
    pub replica: Vec<String>,
    /// Pause while Threads_running of the server, without the dump's own, is above this
    #[arg(long, value_name = "N")]
    pub max_threads_running: Option<u64>,
    /// End the dump if InnoDB's history list grows beyond this length; only the end of the snapshot
    /// shortens it
    #[arg(long, value_name = "N")]
    pub max_history_list: Option<u64>,
    /// End the dump at once, with exit code 12, beyond threads-running=N, lag=SECONDS, history-list=N or
    /// impact=PERCENT; may be given several times
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    pub abort_if: Vec<Limit>,
    /// Longest pause for a limit; then the dump ends with exit code 12 [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub limit_timeout: Option<Duration>,
}

//! What a run may cost the server's other users, as it is typed.

use base::{Error, Kind, Result};
use clap::Args;
use run::throttle::{self, Limit, limits};
use std::time::Duration;

use super::connection::Connection;

/// What a dump can be held to.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Price (what the dump may cost the server's other users)")]
pub struct Throttle {
    /// Keep the effect on the latency and throughput of everybody else within this share, measured
    /// while it runs: 5%
    #[arg(long, value_name = "PERCENT")]
    pub max_impact: Option<String>,
    /// Bytes per second that --max-impact never goes below, so that the dump ends [default: 1M]
    #[arg(long, value_name = "RATE", requires = "max_impact")]
    pub min_rate: Option<String>,
    /// Wait while a replica is further behind than this: 2s
    #[arg(long, value_name = "SECONDS")]
    pub max_lag: Option<String>,
    /// The replica whose lag counts; may be given several times [default: the server itself]
    #[arg(long, value_name = "SERVER")]
    pub lag_of: Vec<String>,
    /// Wait while more statements than this are under way on the server, the dump's own left out
    #[arg(long, value_name = "N")]
    pub max_running: Option<u64>,
    /// End the dump if the history list of InnoDB grows beyond this: only the end of the snapshot shortens it
    #[arg(long, value_name = "N")]
    pub max_history: Option<u64>,
    /// End the dump, with exit code 12, at once: running=N, lag=SECONDS, history=N or impact=PERCENT
    #[arg(long, value_name = "LIMIT")]
    pub abort_if: Vec<String>,
    /// Longest wait for a limit to be kept again before the dump ends, with exit code 12 [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub max_wait: Option<String>,
}

impl Throttle {
    /// What is meant; `connection` has what servers named here share with the source.
    pub fn meant(&self, connection: &Connection) -> Result<throttle::Options> {
        let usage = |option: &str, text: &str, example: &str| {
            Error::new(Kind::Usage, format!("{option}: {text:?} makes no sense"))
                .hint(format!("for example {option} {example}"))
        };
        let share = |text: &String| {
            limits::percent(text).filter(|p| *p < 1.0).ok_or_else(|| {
                let what =
                    format!("--max-impact: {text:?} is no share above 0 and below 100 per cent");
                Error::new(Kind::Usage, what).hint("for example --max-impact 5%")
            })
        };
        let time = |option: &str, text: &String| {
            let example = if option == "--max-wait" { "30m" } else { "2s" };
            base::typed::time(text).ok_or_else(|| usage(option, text, example))
        };
        let mut meant = throttle::Options {
            impact: self.max_impact.as_ref().map(share).transpose()?,
            max_lag: self
                .max_lag
                .as_ref()
                .map(|t| time("--max-lag", t))
                .transpose()?,
            max_threads_running: self.max_running,
            max_history_list: self.max_history,
            ..throttle::Options::default()
        };
        if let Some(text) = &self.min_rate {
            meant.floor = super::limits::rate("--min-rate", text)?;
        }
        if let Some(text) = &self.max_wait {
            meant.limit_timeout = Duration::from_secs_f64(time("--max-wait", text)?.min(1e9));
        }
        for text in &self.abort_if {
            meant.abort_if.push(Limit::parse(text)?);
        }
        for server in &self.lag_of {
            meant.replicas.push(connection.another(server)?);
        }
        if self.max_wait.is_some() && meant.is_empty() {
            return Err(Error::new(
                Kind::Usage,
                "--max-wait says how long a limit may hold the dump, but no limit is set",
            )
            .hint(
                "add --max-running 32, --max-lag 2s or another one; the read lock has --lock-wait",
            ));
        }
        let lag = meant.max_lag.is_some()
            || meant
                .abort_if
                .iter()
                .any(|l| l.what == throttle::LimitKind::Lag);
        if !meant.replicas.is_empty() && !lag {
            return Err(Error::new(
                Kind::Usage,
                "--lag-of names replicas, but no limit on their lag is set",
            )
            .hint("add --max-lag 2s, or --abort-if lag=60s"));
        }
        Ok(meant)
    }
}

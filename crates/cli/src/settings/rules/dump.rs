//! `dump` and `backup`: what they take, and what it may cost others.

use super::refused::refuse;
use crate::args::dump::{Dump, Dumping};
use crate::args::limits::Limits;
use crate::args::throttle::Throttle;
use crate::args::values::Consistency;
use base::Result;
use run::throttle;
use std::path::Path;
use store::Location;

/// Chunks below this cost more files than they save work.
const LEAST_CHUNK: u64 = 64 << 10;

/// How long chunks may be.
pub fn chunk_size(bytes: u64) -> Result<()> {
    if bytes < LEAST_CHUNK {
        return refuse(
            format!("--chunk-size is {} bytes, and the least is 64k", bytes),
            "add --chunk-size 64k, or more",
        );
    }
    Ok(())
}

/// Values of a dump that are wrong whatever is done with them.
pub fn sizes(a: &Dumping) -> Result<()> {
    chunk_size(a.chunk_size)?;
    rate_above_floor(&a.throttle, &a.limits)
}

/// The rate that --max-impact never goes below, and the one that is never passed.
pub fn rate_above_floor(throttle: &Throttle, rates: &Limits) -> Result<()> {
    if let (Some(floor), Some(most)) = (throttle.min_rate, rates.max_rate)
        && most < floor
    {
        return refuse(
            format!("--min-rate is {floor} bytes per second, and --max-rate allows {most}"),
            "lower --min-rate, or raise --max-rate",
        );
    }
    Ok(())
}

/// `penstock dump`.
pub fn dump(a: &Dumping) -> Result<()> {
    sizes(a)?;
    if let (Consistency::Transaction, Some(threads @ 2..)) = (a.consistency, a.threads) {
        return refuse(
            format!("--consistency transaction has one reader, and --threads is {threads}"),
            "leave --threads out; several readers have one snapshot with --consistency compare, tables or lock",
        );
    }
    snapshot(a.consistency, a.lock_wait, a.no_backup_lock)?;
    limits(&a.throttle)
}

/// Where a dump can be resumed.
pub fn resumed(a: &Dump, to: &Location) -> Result<()> {
    if !a.resume {
        return Ok(());
    }
    if *to == Location::Stream {
        return refuse(
            "--resume does not apply to a stream: nothing of it is left",
            "dump into a directory or URL, or leave --resume out",
        );
    }
    if a.how.consistency == Consistency::None {
        return refuse(
            "--resume does not apply with --consistency none: what is of no moment cannot be continued",
            "leave one of them out",
        );
    }
    Ok(())
}

/// Options that only some ways to a snapshot have a use for.
pub fn snapshot(how: Consistency, lock_wait: Option<u64>, no_backup_lock: bool) -> Result<()> {
    let name = match how {
        Consistency::Auto | Consistency::Lock => return Ok(()),
        Consistency::Compare => "compare",
        Consistency::Tables => "tables",
        Consistency::Transaction => "transaction",
        Consistency::None => "none",
    };
    if no_backup_lock {
        return refuse(
            format!(
                "--no-backup-lock is for the lock that --consistency lock takes, and --consistency {name} takes none"
            ),
            "leave one of the two out",
        );
    }
    if lock_wait.is_some() && matches!(how, Consistency::Transaction | Consistency::None) {
        return refuse(
            format!(
                "--lock-wait limits the wait for a snapshot of all workers, and --consistency {name} waits for none"
            ),
            "leave one of the two out",
        );
    }
    Ok(())
}

/// A record is no file of the archive.
pub fn record_outside(a: &Dump) -> Result<()> {
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    if let Some(record) = &a.how.recording.record
        && absolute(record).starts_with(absolute(&a.to))
    {
        return refuse(
            format!(
                "--record {} is inside the archive directory, where it would not be part of the archive",
                record.display()
            ),
            "name a file outside of it",
        );
    }
    Ok(())
}

/// Whether there is a limit on the impact of a dump.
fn is_limited(a: &Throttle) -> bool {
    a.max_impact.is_some()
        || a.max_lag.is_some()
        || a.max_threads_running.is_some()
        || a.max_history_list.is_some()
        || !a.abort_if.is_empty()
}

/// Limits on the impact of a dump.
pub fn limits(a: &Throttle) -> Result<()> {
    let limited = is_limited(a);
    if a.limit_timeout.is_some() && !limited {
        return refuse(
            "--limit-timeout is the longest pause for a limit, but no limit is set",
            "add --max-threads-running 32, --max-lag 2s or another limit; for the read lock use --lock-wait",
        );
    }
    let of_lag = |l: &throttle::Limit| l.what == throttle::LimitKind::Lag;
    let lag = a.max_lag.is_some() || a.abort_if.iter().any(of_lag);
    if !a.replica.is_empty() && !lag {
        return refuse(
            "--replica names replicas, but no limit on their lag is set",
            "add --max-lag 2s, or --abort-if lag=60s",
        );
    }
    Ok(())
}

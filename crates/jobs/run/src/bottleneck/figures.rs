//! The figures of a run, put together from what workers, host and server reported.
//!
//! All times are seconds. A figure that is not known is `None`: a rule that needs it then makes no
//! statement.

use super::ServerSamples;
use super::sample::{Sample, delta, redo};
use crate::host::Host;
use std::collections::BTreeMap;

/// The job that moved the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Out of a server, compressed with this zstd level; `None` without compression.
    Dump {
        /// The level.
        level: Option<i32>,
    },
    /// Into a server.
    Load {
        /// Whether the load is not written to the binary log.
        skip_binlog: bool,
    },
}

/// What a server wrote and waited for during the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Syncs of files.
    pub fsyncs: u64,
    /// Bytes of redo.
    pub redo_bytes: u64,
    /// Pages written to data files.
    pub pages_written: u64,
    /// Pages that were also written to the doublewrite buffer.
    pub doublewrites: u64,
    /// Times that a session waited for a free page.
    pub wait_free: u64,
    /// Pages read from disk because they were not in memory.
    pub pages_read: u64,
    /// Seconds that sessions waited for row locks.
    pub row_locks: f64,
    /// Times that a session waited for room in the log buffer.
    pub log_waits: u64,
}

/// The redo log, over all samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Redo {
    /// Greatest age of the last checkpoint, in bytes.
    pub age: u64,
    /// The maximum age.
    pub max_age: u64,
    /// Share of the samples that found it near that maximum.
    pub full_share: f64,
}

/// The figures of one run's rows.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Which job.
    pub job: Option<Job>,
    /// From the first row to the last.
    pub wall: f64,
    /// Connections that moved rows.
    pub workers: usize,
    /// Cores of this host.
    pub cores: usize,
    /// Workers' time in tasks.
    pub busy: f64,
    /// Of that, time in calls to the socket.
    pub waited: f64,
    /// Of that, time at the run's rate limiter; not part of `waited`.
    pub limited: f64,
    /// Time that writes to the archive waited for the disk rate limit, in all threads.
    pub limited_disk: f64,
    /// Time that threads waited for the network to the archive, if there is one.
    pub link: Option<f64>,
    /// Of the waiting time, time until commits were answered.
    pub commit: f64,
    /// Workers' time between their last task and the end of the last worker's.
    pub straggler_wait: f64,
    /// How long the last worker was alone, and its table.
    pub last_worker: Option<(f64, String)>,
    /// CPU time of penstock.
    pub own_cpu: f64,
    /// CPU time of the server, if it runs on this host.
    pub server_cpu: Option<f64>,
    /// Of that, CPU time of the threads that serve the workers, and their wait for a core.
    pub connection_threads: Option<(f64, f64)>,
    /// CPU time of everything on this host.
    pub host_busy: Option<f64>,
    /// Core time idle because of disks.
    pub iowait: Option<f64>,
    /// Time in which something on this host waited for a disk.
    pub pressure: Option<f64>,
    /// Whether the server runs here.
    pub same_host: bool,
    /// What the server did.
    pub traffic: Option<Traffic>,
    /// Its redo log.
    pub redo: Option<Redo>,
    /// Time that sessions waited for metadata locks.
    pub metadata_wait: Option<f64>,
    /// Time that transactions waited for an AUTO_INCREMENT lock.
    pub auto_inc_wait: Option<f64>,
    /// Its time in files, by kind.
    pub files: BTreeMap<String, f64>,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// What could not be measured, as texts.
    pub not_measured: Vec<String>,
}

/// Share of its capacity from which redo counts as full: servers slow writers down some way before the
/// end, MySQL earlier than MariaDB, whose maximum already excludes that margin.
const REDO_FULL: f64 = 0.7;

impl Figures {
    /// The host's totals between two readings.
    pub(super) fn host(&mut self, a: &Host, b: &Host) {
        let over = |a: f64, b: f64| (b >= a).then_some(b - a);
        self.host_busy = over(a.busy, b.busy);
        self.iowait = over(a.iowait, b.iowait);
        self.pressure = a.pressure.zip(b.pressure).and_then(|(a, b)| over(a, b));
    }

    /// Takes when each worker finished its last task, in seconds since the start, and its table.
    pub(super) fn set_worker_ends(&mut self, ends: impl Iterator<Item = (f64, String)>) {
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some((end, table)) = ends.first().cloned() else {
            return;
        };
        // A worker that never got a task waited from the start.
        let others = ends.iter().map(|e| end - e.0).sum::<f64>();
        let never = self.workers.saturating_sub(ends.len()) as f64 * end;
        self.straggler_wait = others + never;
        let alone = end - ends.get(1).map_or(0.0, |e| e.0);
        if self.workers > 1 {
            self.last_worker = Some((alone, table));
        }
    }

    /// Notes what could not be measured.
    pub(super) fn add_not_measured(&mut self, what: &str) {
        self.not_measured.push(what.to_owned());
    }

    /// What the server's counters say.
    pub(super) fn server(&mut self, seen: &ServerSamples) {
        self.settings.clone_from(&seen.settings);
        self.same_host = seen.same_host;
        let (Some(a), Some(b)) = (seen.samples.first(), seen.samples.last()) else {
            return self.add_not_measured("the server gave no counters");
        };
        if delta(&a.status, &b.status, "uptime").is_none() {
            return self.add_not_measured(if b.status.contains_key("uptime") {
                "the server was restarted, which reset its counters"
            } else {
                "the server gave no counters"
            });
        }
        self.server_cpu = a
            .cpu
            .zip(b.cpu)
            .and_then(|(a, b)| (b >= a).then_some(b - a));
        self.connection_threads = seen.connection_threads.map(|t| (t.cpu, t.delay));
        if !seen.same_host {
            self.add_not_measured(
                "the server runs on another host: its CPU and disk use cannot be measured",
            );
        }
        self.traffic = Some(traffic(a, b));
        self.redo = redo_ages(&seen.samples);
        self.metadata_wait = average_wait(&seen.samples, "metadata", self.wall);
        self.auto_inc_wait = average_wait(&seen.samples, "auto_inc", self.wall);
        self.files = b
            .files
            .iter()
            .filter_map(|(k, v)| Some((k.clone(), v - a.files.get(k)?)))
            .filter(|(_, v)| *v >= 0.0)
            .collect();
    }

    /// A setting of the server, if it gave it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }
}

fn traffic(a: &Sample, b: &Sample) -> Traffic {
    let n = |name| delta(&a.status, &b.status, name);
    // The growth of InnoDB's log sequence number, or its count of redo bytes.
    let redo = [
        "innodb_redo_log_current_lsn",
        "innodb_lsn_current",
        "innodb_os_log_written",
    ];
    Traffic {
        fsyncs: n("innodb_data_fsyncs").unwrap_or(0),
        redo_bytes: redo.iter().find_map(|r| n(r)).unwrap_or(0),
        pages_written: n("innodb_pages_written").unwrap_or(0),
        doublewrites: n("innodb_dblwr_pages_written").unwrap_or(0),
        wait_free: n("innodb_buffer_pool_wait_free").unwrap_or(0),
        pages_read: n("innodb_buffer_pool_reads").unwrap_or(0),
        row_locks: n("innodb_row_lock_time").unwrap_or(0) as f64 / 1e3,
        log_waits: n("innodb_log_waits").unwrap_or(0),
    }
}

/// The average number of waiting sessions over all samples, as time.
fn average_wait(samples: &[Sample], what: &str, wall: f64) -> Option<f64> {
    let found: Vec<u64> = samples
        .iter()
        // The first sample was taken before the first row.
        .skip(usize::from(samples.len() > 1))
        .filter_map(|s| s.waiting.get(what).copied())
        .collect();
    let looks = found.len();
    (looks > 0).then(|| found.iter().sum::<u64>() as f64 / looks as f64 * wall)
}

fn redo_ages(samples: &[Sample]) -> Option<Redo> {
    let ages: Vec<_> = samples.iter().filter_map(|s| redo(&s.status)).collect();
    // The first sample was taken before the first row.
    let during = if ages.len() > 1 {
        &ages[1..]
    } else {
        &ages[..]
    };
    let (age, most) = *during.iter().max_by(|a, b| {
        let of = |x: &(u64, u64)| x.0 as f64 / x.1 as f64;
        of(a).total_cmp(&of(b))
    })?;
    let near = during
        .iter()
        .filter(|(age, most)| *age as f64 >= REDO_FULL * *most as f64)
        .count();
    Some(Redo {
        age,
        max_age: most,
        full_share: near as f64 / during.len() as f64,
    })
}

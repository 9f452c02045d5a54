//! The server's counters, read twice a second on a separate connection.
//!
//! All queries are open to any account (SHOW GLOBAL STATUS) or optional (performance_schema): what the
//! server refuses is left out, and a malformed answer counts as none. Nothing here fails a job.

use crate::host::{Process, Thread};
use crate::server_counters::pairs;
use base::events::Measure;
use server::Identity;
use std::collections::BTreeMap;
use wire::{Conn, Options};

/// Counters of `SHOW GLOBAL STATUS`, names in lower case, numbers only.
pub type Status = BTreeMap<String, u64>;

/// Settings that suggestions are about.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_redo_log_capacity', 'innodb_log_file_size', 'innodb_log_files_in_group', 'innodb_buffer_pool_size', 'innodb_doublewrite', 'innodb_page_size', 'innodb_io_capacity', 'innodb_autoinc_lock_mode')";

/// Counters that the rules use.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Innodb_data_fsyncs', 'Innodb_os_log_fsyncs', 'Innodb_data_pending_fsyncs', 'Innodb_data_written', 'Innodb_data_read', 'Innodb_os_log_written', 'Innodb_log_waits', 'Innodb_buffer_pool_wait_free', 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests', 'Innodb_dblwr_pages_written', 'Innodb_pages_written', 'Innodb_row_lock_time', 'Innodb_row_lock_waits', 'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn', 'Innodb_redo_log_capacity_resized', 'Innodb_checkpoint_age', 'Innodb_checkpoint_max_age', 'Innodb_lsn_current', 'Innodb_history_list_length')";

/// Time in files, in picoseconds, where performance_schema is on and open to the account.
const FILES: &str = "SELECT EVENT_NAME, SUM_TIMER_WAIT FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME IN ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/innodb/innodb_data_file', 'wait/io/file/innodb/innodb_dblwr_file', 'wait/io/file/sql/binlog')";

/// Operating system ids of the threads that serve this account's sessions, by flavour: MariaDB, MySQL.
const THREADS: [&str; 2] = [
    "SELECT TID, 0 FROM information_schema.processlist WHERE USER = SUBSTRING_INDEX(USER(), '@', 1)",
    "SELECT THREAD_OS_ID, 0 FROM performance_schema.threads WHERE PROCESSLIST_USER = SUBSTRING_INDEX(USER(), '@', 1)",
];

/// Sessions of this account that wait for a metadata lock, by flavour as above: servers do not count
/// such waits, so samples of them are counted.
const METADATA_WAITS: [&str; 2] = [
    "SELECT 'metadata', COUNT(*) FROM information_schema.processlist WHERE STATE LIKE 'Waiting for%metadata lock' AND USER = SUBSTRING_INDEX(USER(), '@', 1)",
    "SELECT 'metadata', COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_STATE LIKE 'Waiting for%metadata lock' AND PROCESSLIST_USER = SUBSTRING_INDEX(USER(), '@', 1)",
];

/// Transactions that wait for an AUTO_INCREMENT lock; needs PROCESS. It is a table lock, which
/// `Innodb_row_lock_time` leaves out.
const AUTO_INC_WAITS: &str = "SELECT 'auto_inc', COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_operation_state = 'setting auto-inc lock'";

/// A server whose counters are read.
pub struct Source {
    conn: Conn,
    process: Option<Process>,
    files: bool,
    /// Queries that count waiting sessions.
    wait_queries: Vec<&'static str>,
    /// Threads that serve this account: at the start and when last seen, because a thread ends with its
    /// connection.
    threads: BTreeMap<u64, (Thread, Thread)>,
    /// Its settings during the rows, whoever set them.
    pub settings: BTreeMap<String, String>,
}

/// Counters at one time.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Status counters of the server.
    pub status: Status,
    /// Seconds that the server spent in each kind of file.
    pub files: BTreeMap<String, f64>,
    /// CPU seconds of the server.
    pub cpu: Option<f64>,
    /// Sessions that were waiting, by what they waited for.
    pub waiting: Status,
}

impl Source {
    /// Connects; the error is a text.
    pub fn open(options: &Options, id: &Identity) -> Result<Source, String> {
        let mut options = options.clone();
        options.local_infile = false;
        let mut conn = server::session::connect(&options).map_err(|e| e.to_string())?;
        let process = Process::of(&conn, &options.endpoint, id);
        let settings = pairs(&mut conn, SETTINGS).unwrap_or_default();
        let files = id.is_mysql() && conn.fetch(FILES).is_ok();
        let asked = [METADATA_WAITS[usize::from(id.is_mysql())], AUTO_INC_WAITS];
        let waits = asked
            .into_iter()
            .filter(|q| conn.fetch(q).is_ok())
            .collect();
        let threads = process.map_or_else(BTreeMap::new, |p| {
            let asked = pairs(&mut conn, THREADS[usize::from(id.is_mysql())]);
            let asked = asked.map(|l| l.iter().filter_map(|(n, _)| n.parse().ok()).collect());
            let list: Vec<u64> = asked.unwrap_or_else(|| p.connection_threads());
            let at = |n| p.thread(n).map(|t| (n, (t, t)));
            list.into_iter().filter_map(at).collect()
        });
        Ok(Source {
            threads,
            conn,
            process,
            files,
            wait_queries: waits,
            settings: settings.into_iter().collect(),
        })
    }

    /// Whether the server runs on this host.
    pub fn same_host(&self) -> bool {
        self.process.is_some()
    }

    /// Totals of the threads that serve this account; `None` if they are not known.
    pub fn connection_threads(&self) -> Option<Thread> {
        (!self.threads.is_empty()).then(|| {
            let sum = |f: fn(&Thread) -> f64| {
                let parts = self.threads.values().map(|(a, b)| (f(b) - f(a)).max(0.0));
                parts.sum()
            };
            Thread {
                cpu: sum(|t| t.cpu),
                delay: sum(|t| t.delay),
            }
        })
    }

    /// The counters now; `None` once the server no longer answers.
    pub fn sample(&mut self) -> Option<Sample> {
        let cpu = self.process.and_then(Process::cpu);
        if let Some(process) = self.process {
            for (number, (_, last)) in &mut self.threads {
                *last = process.thread(*number).unwrap_or(*last);
            }
        }
        let status = numbers(pairs(&mut self.conn, STATUS)?);
        let files = if self.files {
            let list = pairs(&mut self.conn, FILES).unwrap_or_default();
            list.into_iter()
                .filter_map(|(k, v)| Some((k, v.parse::<f64>().ok()? / 1e12)))
                .collect()
        } else {
            BTreeMap::new()
        };
        let waiting = self
            .wait_queries
            .iter()
            .filter_map(|q| pairs(&mut self.conn, q));
        let waiting = numbers(waiting.flatten().collect());
        Some(Sample {
            status,
            files,
            cpu,
            waiting,
        })
    }
}

/// Keeps the numbers; a value that is not a number (a UUID, a state) is not a counter.
fn numbers(pairs: Vec<(String, String)>) -> Status {
    pairs
        .into_iter()
        .filter_map(|(k, v)| Some((k, v.parse().ok()?)))
        .collect()
}

/// The growth of a counter; `None` if it is missing or went backwards.
pub fn delta(from: &Status, to: &Status, name: &str) -> Option<u64> {
    to.get(name)?.checked_sub(*from.get(name)?)
}

/// The values to record from two samples taken `seconds` apart; none if they are too close together.
pub fn measures(a: &Sample, b: &Sample, seconds: f64) -> Vec<Measure> {
    if seconds < 0.1 {
        return Vec::new();
    }
    let line = |chart, name, unit, value: Option<f64>| {
        Some(Measure {
            chart,
            name,
            unit,
            value: value?,
            steps: false,
        })
    };
    let rate = |name| Some(delta(&a.status, &b.status, name)? as f64 / seconds);
    let cpu = a.cpu.zip(b.cpu).map(|(a, b)| (b - a).max(0.0) / seconds);
    let full = redo(&b.status).map(|(age, most)| age as f64 / most as f64 * 100.0);
    let history = b.status.get("innodb_history_list_length");
    [
        line("Processors", "server", "cores", cpu),
        line(
            "Files of the server",
            "written",
            "B/s",
            rate("innodb_data_written"),
        ),
        line(
            "Files of the server",
            "read",
            "B/s",
            rate("innodb_data_read"),
        ),
        line("Redo log in use", "checkpoint age", "%", full),
        line(
            "Undo history",
            "list length",
            "transactions",
            history.map(|n| *n as f64),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Age of the last checkpoint and its maximum, in bytes of redo.
pub fn redo(s: &Status) -> Option<(u64, u64)> {
    let (age, most) = match (
        s.get("innodb_redo_log_current_lsn"),
        s.get("innodb_redo_log_checkpoint_lsn"),
        s.get("innodb_redo_log_capacity_resized"),
    ) {
        (Some(now), Some(then), Some(most)) => (now.checked_sub(*then)?, *most),
        _ => (
            *s.get("innodb_checkpoint_age")?,
            *s.get("innodb_checkpoint_max_age")?,
        ),
    };
    (most > 0).then_some((age, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(list: &[(&str, u64)]) -> Status {
        list.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
    }

    #[test]
    fn counters_that_are_missing_or_went_backwards_are_none() {
        let (a, b) = (status(&[("x", 5), ("y", 9)]), status(&[("x", 7), ("y", 1)]));
        assert_eq!(delta(&a, &b, "x"), Some(2));
        assert_eq!(delta(&a, &b, "y"), None);
        assert_eq!(delta(&a, &b, "z"), None);
        let words = vec![("a".to_owned(), "OK".to_owned()), ("b".into(), "1".into())];
        assert_eq!(numbers(words), status(&[("b", 1)]));
    }

    #[test]
    fn lines_are_drawn_of_what_is_known() {
        let sample = |written, cpu| Sample {
            status: status(&[("innodb_data_written", written)]),
            cpu,
            ..Sample::default()
        };
        let list = measures(&sample(100, None), &sample(300, Some(1.0)), 0.5);
        let found: Vec<_> = list.iter().map(|m| (m.name, m.value)).collect();
        assert_eq!(found, [("written", 400.0)]);
        assert!(measures(&sample(100, None), &sample(300, None), 0.01).is_empty());
    }

    #[test]
    fn the_age_of_redo_on_both_flavours() {
        let mysql = status(&[
            ("innodb_redo_log_current_lsn", 110),
            ("innodb_redo_log_checkpoint_lsn", 10),
            ("innodb_redo_log_capacity_resized", 200),
        ]);
        assert_eq!(redo(&mysql), Some((100, 200)));
        let maria = status(&[
            ("innodb_checkpoint_age", 5),
            ("innodb_checkpoint_max_age", 9),
        ]);
        assert_eq!(redo(&maria), Some((5, 9)));
        assert_eq!(redo(&status(&[("innodb_checkpoint_age", 5)])), None);
        let zero = status(&[
            ("innodb_checkpoint_age", 5),
            ("innodb_checkpoint_max_age", 0),
        ]);
        assert_eq!(redo(&zero), None);
    }
}

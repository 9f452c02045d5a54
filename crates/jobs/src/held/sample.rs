//! The server's counters, read twice a second on a connection of its own.
//!
//! Everything asked for here is open to any account (SHOW GLOBAL STATUS) or
//! optional (performance_schema): what the server refuses is left out, and an
//! answer that makes no sense is as good as none. It never fails a job.

use super::host::{Process, Thread};
use server::Identity;
use std::collections::BTreeMap;
use wire::{Conn, Options};

/// Counters of `SHOW GLOBAL STATUS`, names in lower case, numbers only.
pub type Status = BTreeMap<String, u64>;

/// Settings that advice is about.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_redo_log_capacity', 'innodb_log_file_size', 'innodb_log_files_in_group', 'innodb_buffer_pool_size', 'innodb_doublewrite', 'innodb_page_size', 'innodb_io_capacity')";

/// Counters that the rules look at.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Innodb_data_fsyncs', 'Innodb_os_log_fsyncs', 'Innodb_data_pending_fsyncs', 'Innodb_data_written', 'Innodb_data_read', 'Innodb_os_log_written', 'Innodb_log_waits', 'Innodb_buffer_pool_wait_free', 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests', 'Innodb_dblwr_pages_written', 'Innodb_pages_written', 'Innodb_row_lock_time', 'Innodb_row_lock_waits', 'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn', 'Innodb_redo_log_capacity_resized', 'Innodb_checkpoint_age', 'Innodb_checkpoint_max_age', 'Innodb_lsn_current', 'Innodb_history_list_length')";

/// Time in files, in picoseconds, where performance_schema is on and open to the account.
const FILES: &str = "SELECT EVENT_NAME, SUM_TIMER_WAIT FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME IN ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/innodb/innodb_data_file', 'wait/io/file/innodb/innodb_dblwr_file', 'wait/io/file/sql/binlog')";

/// System's numbers of the threads that serve this account's sessions.
const THREADS: [&str; 2] = [
    "SELECT TID, 0 FROM information_schema.processlist WHERE USER = SUBSTRING_INDEX(USER(), '@', 1)",
    "SELECT THREAD_OS_ID, 0 FROM performance_schema.threads WHERE PROCESSLIST_USER = SUBSTRING_INDEX(USER(), '@', 1)",
];

/// A server that is looked at.
pub struct Source {
    conn: Conn,
    process: Option<Process>,
    files: bool,
    /// Threads that serve us: at the beginning and when last seen, for they end with their connection.
    threads: BTreeMap<u64, (Thread, Thread)>,
    /// Its settings as they are during the rows, whoever set them.
    pub settings: BTreeMap<String, String>,
}

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Of the server.
    pub status: Status,
    /// Seconds that the server spent in each kind of file.
    pub files: BTreeMap<String, f64>,
    /// Processor seconds of the server.
    pub cpu: Option<f64>,
}

impl Source {
    /// Connects; the reason, in words, if that fails.
    pub fn open(options: &Options, id: &Identity) -> Result<Source, String> {
        let mut options = options.clone();
        options.local_infile = false;
        let mut conn = Conn::connect(&options).map_err(|e| e.to_string())?;
        let process = Process::of(&conn, &options.endpoint, id);
        let settings = pairs(&mut conn, SETTINGS).unwrap_or_default();
        let files = id.is_mysql() && conn.fetch(FILES).is_ok();
        let threads = process.map_or_else(BTreeMap::new, |p| {
            let asked = pairs(&mut conn, THREADS[usize::from(id.is_mysql())]);
            let asked = asked.map(|l| l.iter().filter_map(|(n, _)| n.parse().ok()).collect());
            let list: Vec<u64> = asked.unwrap_or_else(|| p.serving());
            let at = |n| p.thread(n).map(|t| (n, (t, t)));
            list.into_iter().filter_map(at).collect()
        });
        Ok(Source {
            threads,
            conn,
            process,
            files,
            settings: settings.into_iter().collect(),
        })
    }

    /// Whether the server runs on this host.
    pub fn here(&self) -> bool {
        self.process.is_some()
    }

    /// What the threads that serve us did so far; `None` if they are not known.
    pub fn served(&self) -> Option<Thread> {
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
        Some(Sample { status, files, cpu })
    }
}

/// Two columns as text, names in lower case.
fn pairs(conn: &mut Conn, sql: &str) -> Option<Vec<(String, String)>> {
    let text = |v: &Option<Vec<u8>>| {
        v.as_ref()
            .map(|v| String::from_utf8_lossy(v).into_owned())
            .unwrap_or_default()
    };
    let rows = conn.fetch(sql).ok()?;
    Some(
        rows.iter()
            .filter_map(|r| Some((text(r.first()?).to_ascii_lowercase(), text(r.get(1)?))))
            .collect(),
    )
}

/// What is no number (a UUID, a state in words) is no counter.
fn numbers(pairs: Vec<(String, String)>) -> Status {
    pairs
        .into_iter()
        .filter_map(|(k, v)| Some((k, v.parse().ok()?)))
        .collect()
}

/// What a counter moved by; `None` if it is missing or went backwards.
pub fn moved(from: &Status, to: &Status, name: &str) -> Option<u64> {
    to.get(name)?.checked_sub(*from.get(name)?)
}

/// Age of the last checkpoint and what it may become, in bytes of redo.
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
        assert_eq!(moved(&a, &b, "x"), Some(2));
        assert_eq!(moved(&a, &b, "y"), None);
        assert_eq!(moved(&a, &b, "z"), None);
        let words = vec![("a".to_owned(), "OK".to_owned()), ("b".into(), "1".into())];
        assert_eq!(numbers(words), status(&[("b", 1)]));
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

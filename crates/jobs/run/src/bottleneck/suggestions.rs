//! Suggestions, each with the counter that supports it and the largest gain that it can bring.
//!
//! A rule is one function: figures and shares in, a suggestion or nothing out. No rule makes a
//! suggestion without a figure of this run.

use super::figures::{Figures, Job};
use super::types::{CPU_SATURATED, Share, Suggestion, WaitClass, percent, share_of};
use base::units::{bytes, count, seconds};

/// Suggestions with a smaller gain are left out.
const MIN_GAIN: f64 = 0.05;

/// The input of the rules.
struct Inputs<'a> {
    figures: &'a Figures,
    shares: &'a [Share],
}

/// At most two, the most promising first.
pub fn suggestions(f: &Figures, shares: &[Share]) -> Vec<Suggestion> {
    let case = Inputs { figures: f, shares };
    let rules = [
        Inputs::threads,
        Inputs::redo,
        Inputs::auto_inc,
        Inputs::binlog,
        Inputs::flush,
        Inputs::doublewrite,
        Inputs::buffer_pool,
        Inputs::stragglers,
        Inputs::compression_level,
        Inputs::other_programs,
    ];
    let mut all: Vec<Suggestion> = rules
        .iter()
        .filter_map(|rule| rule(&case))
        .filter(|a| a.gain >= MIN_GAIN)
        .collect();
    all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    all.truncate(2);
    all
}

impl Inputs<'_> {
    fn share(&self, class: WaitClass) -> f64 {
        share_of(self.shares, class)
    }

    /// The gain of less waiting: at most what the cores leave.
    fn gain_of_less_waiting(&self, share: f64) -> f64 {
        share.min(1.0 - self.figures.cpu_used_by_run()).max(0.0)
    }

    fn is_load(&self) -> bool {
        matches!(self.figures.job, Some(Job::Load { .. }))
    }

    /// Idle cores, and fewer workers than cores.
    fn threads(&self) -> Option<Suggestion> {
        let f = self.figures;
        if f.workers >= f.cores || f.cpu_used() >= CPU_SATURATED {
            return None;
        }
        // At best all cores are saturated, or each has a worker.
        let left = f.cpu_used().max(f.workers as f64 / f.cores as f64);
        Some(Suggestion {
            what: format!("--threads {}", f.cores),
            why: format!(
                "{} of the time of {} cores was idle with {} worker{}",
                percent(1.0 - f.cpu_used()),
                f.cores,
                f.workers,
                if f.workers == 1 { "" } else { "s" }
            ),
            gain: (1.0 - left) * (1.0 - self.share(WaitClass::Stragglers)),
        })
    }

    /// Redo near its capacity: the server flushes pages urgently and slows writers down.
    fn redo(&self) -> Option<Suggestion> {
        let (r, t) = (self.figures.redo?, self.figures.traffic?);
        if !self.is_load() || r.full_share < 0.2 {
            return None;
        }
        // Twice what was written fits without urgent flushing; servers count in whole megabytes.
        let want = (t.redo_bytes.max(r.max_age).saturating_mul(2))
            .clamp(64 << 20, 128 << 30)
            .next_power_of_two();
        let name = if self.figures.setting("innodb_redo_log_capacity").is_some() {
            "innodb_redo_log_capacity"
        } else {
            "innodb_log_file_size"
        };
        let waits = self.share(WaitClass::Redo)
            + self.share(WaitClass::ServerDisk)
            + self.share(WaitClass::ServerWait);
        Some(Suggestion {
            what: format!("{name} = {}", binary(want)),
            why: format!(
                "{} of redo were written with a capacity of {}, which was nearly full in {} of the samples",
                bytes(t.redo_bytes),
                bytes(r.max_age),
                percent(r.full_share)
            ),
            gain: waits.min(1.0 - self.cpu_needed()).max(0.0),
        })
    }

    /// Share of the cores' time that the rows themselves needed: flushing pages repeatedly for want of
    /// redo capacity is the server's work, and is saved with it.
    fn cpu_needed(&self) -> f64 {
        let f = self.figures;
        f.connection_threads
            .map_or(f.cpu_used_by_run(), |(cpu, _)| {
                ((f.own_cpu + cpu) / f.core_seconds()).clamp(0.0, 1.0)
            })
    }

    /// Workers that wait for one table's AUTO_INCREMENT lock.
    fn auto_inc(&self) -> Option<Suggestion> {
        let mode = self.figures.setting("innodb_autoinc_lock_mode")?;
        if !self.is_load() || mode == "2" {
            return None;
        }
        let waits = self.share(WaitClass::AutoInc);
        Some(Suggestion {
            what: "innodb_autoinc_lock_mode = 2 (needs a restart: --server-command)".into(),
            why: format!(
                "with mode {mode} workers waited for an AUTO_INCREMENT lock for {} of their time",
                percent(waits)
            ),
            gain: self.gain_of_less_waiting(waits),
        })
    }

    /// Commits that wait for the binary log.
    fn binlog(&self) -> Option<Suggestion> {
        let skip = match self.figures.job? {
            Job::Load { skip_binlog } => skip_binlog,
            Job::Dump { .. } => return None,
        };
        if skip || !is_on(self.figures.setting("log_bin")?) {
            return None;
        }
        let commit = self.share(WaitClass::Commit);
        let (binlog, redo) = (
            self.figures.files.get("wait/io/file/sql/binlog"),
            self.figures
                .files
                .get("wait/io/file/innodb/innodb_log_file"),
        );
        // The server reports the time in that file; otherwise it cannot be separated from the redo
        // log's.
        let part = match (binlog, redo) {
            (Some(b), Some(_)) => (b / self.figures.worker_seconds()).min(commit),
            _ => commit,
        };
        Some(Suggestion {
            what: "--skip-binlog".into(),
            why: format!(
                "commits took {} of the workers' time and the binary log is on (only if no replica needs the rows)",
                percent(commit)
            ),
            gain: self.gain_of_less_waiting(part),
        })
    }

    /// Commits that wait for a sync.
    fn flush(&self) -> Option<Suggestion> {
        if !self.is_load() {
            return None;
        }
        let log = self.figures.setting("innodb_flush_log_at_trx_commit") == Some("1");
        let binlog = self
            .figures
            .setting("sync_binlog")
            .is_some_and(|v| v != "0")
            && self.figures.setting("log_bin").is_some_and(is_on);
        let what = match (log, binlog) {
            (true, true) => "innodb_flush_log_at_trx_commit = 0, sync_binlog = 0",
            (true, false) => "innodb_flush_log_at_trx_commit = 0",
            (false, true) => "sync_binlog = 0",
            (false, false) => return None,
        };
        let commit = self.share(WaitClass::Commit);
        let fsyncs = self.figures.traffic?.fsyncs;
        Some(Suggestion {
            what: format!("{what}, for the load"),
            why: format!(
                "commits took {} of the workers' time, with {} syncs",
                percent(commit),
                count(fsyncs)
            ),
            gain: self.gain_of_less_waiting(commit),
        })
    }

    /// Pages that are written twice, when the disk is the bottleneck.
    fn doublewrite(&self) -> Option<Suggestion> {
        let t = self.figures.traffic?;
        if !self.is_load() || t.doublewrites == 0 || t.pages_written == 0 {
            return None;
        }
        // Half of all page writes, if every page was written twice.
        let part = t.doublewrites as f64 / (t.pages_written + t.doublewrites) as f64;
        let disk = self.share(WaitClass::ServerDisk);
        Some(Suggestion {
            what: "innodb_doublewrite = OFF, for the load (some versions need a restart)".into(),
            why: format!(
                "{} of {} pages were written twice",
                count(t.doublewrites.min(t.pages_written)),
                count(t.pages_written)
            ),
            gain: self.gain_of_less_waiting(disk * part),
        })
    }

    /// Sessions that waited for a free page.
    fn buffer_pool(&self) -> Option<Suggestion> {
        let t = self.figures.traffic?;
        if t.wait_free == 0 {
            return None;
        }
        let size: u64 = self
            .figures
            .setting("innodb_buffer_pool_size")?
            .parse()
            .ok()?;
        Some(Suggestion {
            what: format!(
                "innodb_buffer_pool_size = {}",
                binary(size.saturating_mul(2))
            ),
            why: format!(
                "the buffer pool of {} had no free page {} times; {} pages were read from disk",
                bytes(size),
                count(t.wait_free),
                count(t.pages_read)
            ),
            gain: self.gain_of_less_waiting(self.share(WaitClass::ServerDisk)),
        })
    }

    /// One worker alone at the end.
    fn stragglers(&self) -> Option<Suggestion> {
        let (alone, table) = self.figures.last_worker.as_ref()?;
        Some(Suggestion {
            what:
                "a smaller --chunk-size for the dump, so that several workers share the last table"
                    .into(),
            why: format!(
                "the last worker, on {table}, was alone for {} of {}",
                seconds(*alone),
                seconds(self.figures.wall)
            ),
            // Divided among all workers, the last task takes its share of the time.
            gain: self.gain_of_less_waiting(self.share(WaitClass::Stragglers)),
        })
    }

    /// Compression that costs more than the cores can give.
    fn compression_level(&self) -> Option<Suggestion> {
        let Job::Dump { level: Some(level) } = self.figures.job? else {
            return None;
        };
        let own = self.share(WaitClass::Client);
        if level < 2 || own < 0.3 {
            return None;
        }
        Some(Suggestion {
            what: "--compression zstd:1".into(),
            why: format!(
                "{} of the workers' time was penstock's own, at level {level}",
                percent(own)
            ),
            gain: own,
        })
    }

    /// Other programs on the same host.
    fn other_programs(&self) -> Option<Suggestion> {
        let f = self.figures;
        let all = f
            .host_busy
            .filter(|_| f.same_host && f.cpu_used() >= CPU_SATURATED)?;
        let others = (all - f.own_cpu - f.server_cpu?) / f.core_seconds();
        (others >= 0.15).then(|| Suggestion {
            what: "a quieter time, or another host".into(),
            why: format!("other programs used {} of the cores' time", percent(others)),
            gain: others.min(1.0),
        })
    }
}

fn is_on(value: &str) -> bool {
    matches!(value, "ON" | "1")
}

/// Formats a setting: `64M`, `2G`.
fn binary(n: u64) -> String {
    if n.is_multiple_of(1 << 30) {
        format!("{}G", n >> 30)
    } else {
        format!("{}M", n.div_ceil(1 << 20))
    }
}

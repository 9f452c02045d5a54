//! Forecasts of runs: made before them from what earlier ones took, and compared with them afterwards.

use crate::args::dump::Dumping;
use crate::args::load::Loading;
use crate::settings::state;
use ::forecast::{Disk, Ended, Forecast, History, Limits, Work};
use ::report::summary::{self, Foreseen, Item};
use bench::disk::Pattern;
use run::Run;
use std::path::Path;
use std::time::Instant;

/// What is known when a run begins.
pub struct Forecasts<'r> {
    run: &'r Run,
    history: History,
    limits: Limits,
    began: Instant,
}

/// A dump that waited this share of its time for the read lock, and a second, says nothing about others.
const LONG_WAIT: f64 = 0.05;

/// Keeps what disks were measured to do, for forecasts of what is written to them and read from them.
pub fn keep_disks(measured: &bench::disk::Summary) {
    let mut history = History::open(state::if_at_home().as_deref());
    for volume in &measured.volumes {
        let reliable = |pattern: &Pattern| volume.is_reliable(*pattern);
        let median = |pattern| {
            Some(pattern)
                .filter(reliable)
                .and_then(|p| volume.spread(p))
                .map(|s| s.median)
        };
        if let (Some(write), Some(read)) = (median(Pattern::Append), median(Pattern::Read)) {
            // The benchmark is done whether or not it is kept.
            let _ = history.keep_disk(Disk::of(&volume.file_system, write, read));
        }
    }
}

impl<'r> Forecasts<'r> {
    fn new(run: &'r Run, no_history: bool, limits: Limits, place: Option<&Path>) -> Self {
        let state = state::if_at_home().filter(|_| !no_history);
        let history = History::open(state.as_deref());
        let disk = place.and_then(|path| history.disk(path));
        Forecasts {
            run,
            limits: Limits {
                write: disk.as_ref().map(|d| d.write),
                read: disk.map(|d| d.read),
                ..limits
            },
            history,
            began: Instant::now(),
        }
    }

    /// Before a dump.
    pub fn of_dump(run: &'r Run, how: &Dumping, options: &dump::Options) -> Self {
        let limits = Limits {
            rate: how.limits.max_rate,
            disk_rate: how.store_limits.max_rate_disk,
            impact: !options.throttle.is_empty(),
            ..Limits::default()
        };
        Forecasts::new(run, how.history.no_history, limits, options.to.path())
    }

    /// Before a load.
    pub fn of_load(run: &'r Run, how: &Loading, options: &load::Options) -> Self {
        let limits = Limits {
            rate: how.limits.max_rate,
            ..Limits::default()
        };
        Forecasts::new(run, how.history.no_history, limits, options.from.path())
    }

    /// Before a binary log is applied.
    pub fn of_replay(run: &'r Run, how: &Loading) -> Self {
        Forecasts::new(run, how.history.no_history, Limits::default(), None)
    }

    /// The forecast of one run.
    pub fn forecast(&mut self, work: &Work) -> Forecast {
        self.history.forecast(work, &self.limits)
    }

    /// The forecast of a dump.
    pub fn dump(&mut self, found: &dump::Preview) -> Foreseen {
        Foreseen {
            forecast: self.forecast(&found.work),
            parts: Vec::new(),
            by_mode: Vec::new(),
        }
    }

    /// The forecast of a load, if it is one from its beginning.
    pub fn load(&mut self, found: &load::Preview) -> Option<Foreseen> {
        let work = found.work.as_ref()?;
        let by_mode = found.by_mode.iter().map(|(mode, work)| {
            let forecast = work.as_ref().map(|w| self.forecast(w));
            (*mode, forecast.map_err(Clone::clone))
        });
        let by_mode = by_mode.collect();
        Some(Foreseen {
            forecast: self.forecast(work),
            parts: Vec::new(),
            by_mode,
        })
    }

    /// The dump is done.
    pub fn dumped(&mut self, done: &dump::Summary) -> Item {
        let waited = done.achieved.wait_ms / 1000.0 > (LONG_WAIT * done.seconds).max(1.0);
        let unusual = match (&done.impact, waited) {
            (Some(_), _) => Some("a limit on its impact held it back"),
            (None, true) => Some("it waited for the read lock"),
            (None, false) if done.taken_over.is_some() => {
                Some("rows of an earlier dump were taken over")
            }
            (None, false) if !done.chosen.is_empty() => {
                Some("how many rows are chosen (--where, --partitions) is not known before")
            }
            (None, false) => None,
        };
        self.judged(Some(&done.work), done.stored_bytes, unusual)
    }

    /// The load is done.
    pub fn loaded(&mut self, done: &load::Summary) -> Item {
        let work = done.work.as_ref();
        let built = done.import.tables.len() as u64;
        let unusual = match work {
            _ if done.already_complete || done.already_loaded_bytes > 0 => {
                Some("it continued an earlier load")
            }
            Some(work) if built != work.tablespaces.tables => {
                Some("not all tables were imported as it was planned")
            }
            _ if !done.exceptions.is_empty() => Some("it has exceptions"),
            _ if !done.chosen.is_empty() => {
                Some("how many rows are left out (--where, --partitions) is not known before")
            }
            _ => None,
        };
        self.judged(work, 0, unusual)
    }

    /// The log is applied, in this time.
    pub fn replayed(&mut self, work: &Work, seconds: f64) -> Item {
        let mut phases = self.run.status.traffic();
        phases.retain(|(t, _)| t.phase == "replaying");
        let ended = Ended {
            work: work.clone(),
            seconds,
            phases,
            ..Ended::default()
        };
        summary::judged(Some(&self.history.judge(&ended, &self.limits)))
    }

    fn judged(&mut self, work: Option<&Work>, written: u64, unusual: Option<&'static str>) -> Item {
        let Some(work) = work else {
            return summary::judged(None);
        };
        let run = self.run;
        let waited = run.limiter.waited() + run.disk_limiter.waited();
        let ended = Ended {
            work: work.clone(),
            seconds: self.began.elapsed().as_secs_f64(),
            phases: run.status.traffic(),
            limited: waited.as_secs_f64(),
            written,
            unusual,
        };
        summary::judged(Some(&self.history.judge(&ended, &self.limits)))
    }
}

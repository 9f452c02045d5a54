//! What held a run back: measured while the rows move, said at the end in one
//! sentence, with what is worth trying next.
//!
//! A [`Watch`] begins with the first row and ends with the last. Workers tell
//! it how long each piece took and how much of that they waited for the
//! server; `host` adds processor time, `sample` the server's own counters.
//! `figures` puts them together, `rules` judges. Invariants: nothing here fails
//! or delays a job (a server that does not answer is left behind), and no
//! advice is given that a counter of this very run does not speak for.

mod figures;
mod rules;
mod sample;
mod suggestions;
#[cfg(test)]
mod tests;
mod types;

pub use figures::{Figures, Job, Redo, Traffic};
pub use rules::evaluate;
pub use types::{Report, Share, Suggestion, WaitClass};

use crate::host;
use base::{Event, Observer, RateLimiter, lock};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use sample::{Sample, Source};
use server::Identity;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use wire::{Conn, Options};

/// Time between two looks at the server's counters.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// How long the end of a run waits for a server's last counters.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// Shorter runs say nothing: a counter of hundredths of a second would decide.
const MIN_SECONDS: f64 = 0.5;

/// Looks on while rows move.
pub struct Profiler {
    job: Job,
    workers: usize,
    start: Instant,
    own_cpu: f64,
    host: Option<host::Host>,
    tally: Mutex<Tally>,
    /// Writing waits here, and had waited so long when the rows began.
    disk_limiter: Option<(Arc<RateLimiter>, Duration)>,
    server: Result<Sampler, String>,
}

/// What workers reported.
#[derive(Default)]
struct Tally {
    busy: Duration,
    waited: Duration,
    /// At the gate of the run.
    limited: Duration,
    commit: Duration,
    /// When each worker was last through with something, and with what.
    finished: HashMap<ThreadId, (Instant, String)>,
}

/// A worker's piece of work that is not finished.
pub struct Span {
    since: Instant,
    waited: Duration,
    limited: Duration,
}

impl Profiler {
    /// Begins to look; `workers` connections are about to move rows.
    ///
    /// What the server's counters say meanwhile is told to `observer`.
    pub fn start(
        job: Job,
        server: &Options,
        id: &Identity,
        workers: usize,
        observer: &Arc<dyn Observer>,
    ) -> Profiler {
        let server =
            Source::open(server, id).map(|source| Sampler::start(source, observer.clone()));
        Profiler {
            job,
            workers,
            start: Instant::now(),
            own_cpu: host::own_cpu(),
            host: host::host(),
            tally: Mutex::default(),
            disk_limiter: None,
            server,
        }
    }

    /// What the run writes goes through this gate.
    #[must_use]
    pub fn with_disk_limiter(mut self, gate: &Arc<RateLimiter>) -> Profiler {
        self.disk_limiter = Some((gate.clone(), gate.waited()));
        self
    }

    /// A worker takes up a piece of work.
    pub fn begin(&self, conn: &Conn) -> Span {
        Span {
            since: Instant::now(),
            waited: conn.waited(),
            limited: conn.limited(),
        }
    }

    /// A worker is through with it.
    pub fn end(&self, spell: &Span, conn: &Conn, table: &str) {
        let now = Instant::now();
        let mut t = lock(&self.tally);
        t.busy += now - spell.since;
        t.waited += conn.waited().saturating_sub(spell.waited);
        t.limited += conn.limited().saturating_sub(spell.limited);
        t.finished
            .insert(std::thread::current().id(), (now, table.to_owned()));
    }

    /// A worker's commit, which began at this moment, is done.
    pub fn committed(&self, began: Instant) {
        let mut t = lock(&self.tally);
        t.commit += began.elapsed();
    }

    /// The rows are through: what held them back. `None` if it was over too soon to tell.
    pub fn finish(self) -> Option<Report> {
        let wall = self.start.elapsed().as_secs_f64();
        if wall < MIN_SECONDS {
            return None;
        }
        let mut f = Figures {
            job: Some(self.job),
            wall,
            workers: self.workers,
            cores: host::cores(),
            own_cpu: host::own_cpu() - self.own_cpu,
            ..Figures::default()
        };
        if let (Some(a), Some(b)) = (self.host, host::host()) {
            f.host(&a, &b);
        }
        let t = base::lock::into_inner(self.tally);
        f.busy = t.busy.as_secs_f64();
        f.waited = t.waited.as_secs_f64();
        f.limited = t.limited.as_secs_f64();
        if let Some((gate, before)) = &self.disk_limiter {
            f.limited_disk = gate.waited().saturating_sub(*before).as_secs_f64();
        }
        f.commit = t.commit.as_secs_f64();
        let ends = t.finished.into_values();
        f.set_worker_ends(ends.map(|(at, table)| ((at - self.start).as_secs_f64(), table)));
        match self.server.map(Sampler::finish) {
            Ok(Some(seen)) => f.server(&seen),
            Ok(None) => {
                f.add_not_measured("the server stopped answering questions about its counters")
            }
            Err(why) => {
                f.add_not_measured(&format!("no connection for the server's counters: {why}"))
            }
        }
        Some(evaluate(&f))
    }
}

/// What was seen of a server.
struct ServerSamples {
    settings: std::collections::BTreeMap<String, String>,
    same_host: bool,
    connection_threads: Option<host::Thread>,
    samples: Vec<Sample>,
}

/// The thread that asks.
struct Sampler {
    stop: Sender<()>,
    samples: Receiver<ServerSamples>,
}

impl Sampler {
    fn start(mut source: Source, observer: Arc<dyn Observer>) -> Sampler {
        let (stop, stopped) = bounded::<()>(1);
        let (send, seen) = bounded(1);
        // The first look is taken before the rows begin, the others beside them.
        let first = source.sample();
        let look = move || {
            let mut samples: Vec<Sample> = first.into_iter().collect();
            let mut looked = Instant::now();
            loop {
                let over = !matches!(
                    stopped.recv_timeout(SAMPLE_EVERY),
                    Err(RecvTimeoutError::Timeout)
                );
                let Some(sample) = source.sample() else {
                    return;
                };
                if let Some(before) = samples.last() {
                    let list = sample::measures(before, &sample, looked.elapsed().as_secs_f64());
                    observer.event(Event::Measured(list));
                }
                looked = Instant::now();
                samples.push(sample);
                if over {
                    break;
                }
            }
            let _ = send.send(ServerSamples {
                same_host: source.same_host(),
                connection_threads: source.connection_threads(),
                settings: source.settings,
                samples,
            });
        };
        // Without a thread there are no counters, and the report says so.
        let _ = std::thread::Builder::new().name("held".into()).spawn(look);
        Sampler {
            stop,
            samples: seen,
        }
    }

    /// Waits for the last look, but not for ever: the thread ends with its connection.
    fn finish(self) -> Option<ServerSamples> {
        let _ = self.stop.send(());
        self.samples.recv_timeout(FINISH_TIMEOUT).ok()
    }
}

//! What a run waited for: measured while the rows move, reported at the end in one sentence with
//! suggestions for the next run.
//!
//! A [`Profiler`] starts with the first row and ends with the last. Workers report how long each task
//! took and how much of that time they waited for the server; `host` adds CPU time, `sample` the
//! server's own counters. `figures` puts them together, `rules` evaluates them, `suggestions` names
//! what would help.
//!
//! Invariants: nothing here fails or delays a job (a server that does not answer is ignored), and every
//! suggestion is supported by a counter of this very run.

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

/// Time between two samples of the server's counters.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// How long the end of a run waits for a server's last counters.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// Shorter runs get no report: counters that count hundredths of a second would decide it.
const MIN_SECONDS: f64 = 0.5;

/// Measures while rows move.
pub struct Profiler {
    job: Job,
    workers: usize,
    start: Instant,
    own_cpu: f64,
    host: Option<host::Host>,
    tally: Mutex<Tally>,
    /// The rate limiter of writes, and how long writes had waited there when the rows began.
    disk_limiter: Option<(Arc<RateLimiter>, Duration)>,
    /// The network to the archive, and how long threads had waited for it when the rows began.
    link: Option<(Arc<store::Link>, Duration)>,
    server: Result<Sampler, String>,
}

/// What workers reported.
#[derive(Default)]
struct Tally {
    busy: Duration,
    waited: Duration,
    /// Time at the run's rate limiter.
    limited: Duration,
    commit: Duration,
    /// When each worker last finished a task, and of which table.
    finished: HashMap<ThreadId, (Instant, String)>,
}

/// A worker's unfinished task.
pub struct Span {
    since: Instant,
    waited: Duration,
    limited: Duration,
}

impl Profiler {
    /// Starts to measure; `workers` connections are about to move rows.
    ///
    /// The server's counters are sent to `observer` as they are read.
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
            link: None,
            server,
        }
    }

    /// What the run writes passes this rate limiter.
    #[must_use]
    pub fn with_disk_limiter(mut self, limiter: &Arc<RateLimiter>) -> Profiler {
        self.disk_limiter = Some((limiter.clone(), limiter.waited()));
        self
    }

    /// The archive is reached through this network.
    #[must_use]
    pub fn with_link(mut self, link: Option<Arc<store::Link>>) -> Profiler {
        self.link = link.map(|l| (Arc::clone(&l), l.waited()));
        self
    }

    /// A worker begins a task.
    pub fn begin(&self, conn: &Conn) -> Span {
        Span {
            since: Instant::now(),
            waited: conn.waited(),
            limited: conn.limited(),
        }
    }

    /// A worker has finished a task.
    pub fn end(&self, span: &Span, conn: &Conn, table: &str) {
        let now = Instant::now();
        let mut t = lock(&self.tally);
        t.busy += now - span.since;
        t.waited += conn.waited().saturating_sub(span.waited);
        t.limited += conn.limited().saturating_sub(span.limited);
        t.finished
            .insert(std::thread::current().id(), (now, table.to_owned()));
    }

    /// A worker's commit, begun at `began`, is done.
    pub fn committed(&self, began: Instant) {
        let mut t = lock(&self.tally);
        t.commit += began.elapsed();
    }

    /// The rows are done: returns the report, or `None` if they took too little time for one.
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
        if let Some((limiter, before)) = &self.disk_limiter {
            f.limited_disk = limiter.waited().saturating_sub(*before).as_secs_f64();
        }
        if let Some((link, before)) = &self.link {
            f.link = Some(link.waited().saturating_sub(*before).as_secs_f64());
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

/// What was measured on a server.
struct ServerSamples {
    settings: std::collections::BTreeMap<String, String>,
    same_host: bool,
    connection_threads: Option<host::Thread>,
    samples: Vec<Sample>,
}

/// The thread that takes samples.
struct Sampler {
    stop: Sender<()>,
    samples: Receiver<ServerSamples>,
}

impl Sampler {
    fn start(mut source: Source, observer: Arc<dyn Observer>) -> Sampler {
        let (stop, stopped) = bounded::<()>(1);
        let (send, seen) = bounded(1);
        // The first sample is taken before the rows begin, the others while they move.
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
        let _ = std::thread::Builder::new()
            .name("bottleneck".into())
            .spawn(look);
        Sampler {
            stop,
            samples: seen,
        }
    }

    /// Waits for the last sample, but not without limit: the thread ends with its connection.
    fn finish(self) -> Option<ServerSamples> {
        let _ = self.stop.send(());
        self.samples.recv_timeout(FINISH_TIMEOUT).ok()
    }
}

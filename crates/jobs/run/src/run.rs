//! What every job is given besides its options: somebody to tell, a flag that
//! asks it to stop, and the gates that its bytes go through; and how it starts
//! and ends its worker threads.

use crate::run_status::RunStatus;
use crate::setpoints::Setpoints;
use base::{Cancel, Counters, Error, Event, Kind, Observer, RateLimiter, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a worker may go on after a stop was asked for before its connection is broken.
const GRACE: Duration = Duration::from_secs(3);

/// How often it is told what the workers wait for.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// The surroundings of a running job.
#[derive(Clone)]
pub struct Run {
    /// Hears what happens.
    pub observer: Arc<dyn Observer>,
    /// Raised to ask for a stop.
    pub cancel: Cancel,
    /// What is received from servers (in a load: sent to the target) goes through here.
    pub limiter: Arc<RateLimiter>,
    /// What is written to the store goes through here.
    pub disk_limiter: Arc<RateLimiter>,
    /// What a throttle is asked for; may change while it runs.
    pub setpoints: Arc<Setpoints>,
    /// What it tells of itself to those who ask.
    pub status: Arc<RunStatus>,
    /// Why the run is to end, if not because somebody asked.
    aborted: Arc<Mutex<Option<Error>>>,
    closers: Arc<Mutex<Vec<wire::Closer>>>,
    /// Sessions that were begun; a server forgets them some time after their end.
    sessions: Arc<Mutex<Vec<u32>>>,
}

impl Run {
    /// Surroundings with nobody interrupting.
    pub fn new(observer: Arc<dyn Observer>, cancel: Cancel) -> Self {
        Self {
            observer,
            cancel,
            limiter: RateLimiter::new(),
            disk_limiter: RateLimiter::named("the disk rate limit"),
            setpoints: Arc::default(),
            status: Arc::default(),
            aborted: Arc::default(),
            closers: Arc::default(),
            sessions: Arc::default(),
        }
    }

    /// Ends the run, as a stop does, for this reason.
    pub fn abort(&self, e: Error) {
        let mut slot = self.aborted.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(e);
        drop(slot);
        self.cancel.raise();
    }

    /// The same surroundings with somebody else to hear what happens.
    pub fn with_observer(&self, observer: Arc<dyn Observer>) -> Run {
        Run {
            observer,
            ..self.clone()
        }
    }

    /// The error of a job that stopped because it was asked to, or because something ended it.
    pub fn interrupted(&self) -> Error {
        let aborted = self.aborted.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(e) = &*aborted {
            return e.clone();
        }
        Error::new(Kind::Interrupted, "stopped on request")
    }

    /// Fails if a stop was asked for.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_raised() {
            Err(self.interrupted())
        } else {
            Ok(())
        }
    }

    /// The server's numbers of all sessions so far that this run has watched.
    pub fn sessions(&self) -> Vec<u32> {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The server that they were on was restarted.
    pub fn forget_sessions(&self) {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(|e| e.into_inner()).clear();
    }

    /// Remembers a connection so that a stop can break it if its owner is stuck in it.
    pub fn track(&self, conn: &wire::Conn) {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(|e| e.into_inner()).push(conn.id());
        if let Ok(closer) = conn.closer() {
            self.closers
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .push(closer);
        }
    }

    /// The options of a connection whose bytes of this direction are counted at the run's gate; none waits there
    /// until its owner says so.
    pub fn with_limiter(&self, options: &wire::Options, counts: wire::Direction) -> wire::Options {
        let mut options = options.clone();
        options.limited = Some(wire::Limited {
            limiter: self.limiter.clone(),
            counts,
            waits: false,
        });
        options
    }

    /// What the workers wait for at the gates, to go behind "waiting for".
    pub fn waiting(&self) -> Option<String> {
        self.limiter
            .waiting()
            .or_else(|| self.disk_limiter.waiting())
    }

    /// Nobody waits at a gate any more.
    fn end_limits(&self) {
        self.limiter.end();
        self.disk_limiter.end();
    }

    /// Announces a phase and returns the figures it is to move.
    pub fn phase(&self, name: &'static str, workers: usize) -> Phase<'_> {
        let counters = Arc::new(Counters::default());
        self.observer.event(Event::Phase {
            name,
            counters: counters.clone(),
            workers,
        });
        self.status.begin_phase(name, &counters, workers);
        Phase {
            run: self,
            name,
            counters,
            start: Instant::now(),
            passed: (self.limiter.passed(), self.disk_limiter.passed()),
            limits: (self.limiter.rate(), self.disk_limiter.rate()),
        }
    }

    /// Runs `work` on each element of `workers` in a thread of its own and waits for all.
    ///
    /// The first error wins and raises `stop`, a flag of this call alone, so
    /// that the other workers end at their next look; a panic becomes an
    /// internal error. Connections still stuck `GRACE` after a stop are broken.
    pub fn workers<W: Send>(
        &self,
        workers: Vec<W>,
        work: impl Fn(usize, W, &Stop<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let first: Mutex<Option<Error>> = Mutex::new(None);
        let failed = Cancel::new();
        let stop = Stop {
            run: self,
            failed: &failed,
        };
        let fail = |e: Error| {
            let mut slot = first.lock().unwrap_or_else(|e| e.into_inner());
            // A worker that stops because another failed has nothing to add.
            if slot.is_none() {
                *slot = Some(e);
            }
            failed.raise();
        };
        let left = base::counters::Counter::default();
        left.add(workers.len() as u64);
        std::thread::scope(|scope| {
            for (i, w) in workers.into_iter().enumerate() {
                let (stop, fail, work, left) = (&stop, &fail, &work, &left);
                let spawned = std::thread::Builder::new()
                    .name(format!("worker-{}", i + 1))
                    .spawn_scoped(scope, move || {
                        let outcome =
                            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                                work(i, w, stop)
                            }));
                        match outcome {
                            Ok(Ok(())) => {}
                            Ok(Err(e)) => fail(e),
                            Err(panic) => fail(Error::new(
                                Kind::Internal,
                                format!("a worker panicked: {}", panic_text(&panic)),
                            )),
                        }
                        left.sub(1);
                    });
                if let Err(e) = spawned {
                    left.sub(1);
                    fail(Error::new(
                        Kind::Failed,
                        format!("cannot start a worker thread: {e}"),
                    ));
                }
            }
            let mut since: Option<Instant> = None;
            let (mut told, mut told_at) = (false, Instant::now());
            while left.get() > 0 {
                std::thread::sleep(Duration::from_millis(5));
                if told_at.elapsed() >= REPORT_EVERY {
                    told_at = Instant::now();
                    let waiting = self.waiting();
                    if waiting.is_some() || told {
                        told = waiting.is_some();
                        self.observer.event(Event::Waiting(waiting));
                    }
                }
                if stop.is_requested() {
                    self.end_limits();
                    let since = *since.get_or_insert_with(Instant::now);
                    if since.elapsed() > GRACE {
                        self.break_connections();
                    }
                }
            }
            if told {
                self.observer.event(Event::Waiting(None));
            }
        });
        if self.cancel.is_raised() {
            return Err(self.interrupted());
        }
        match first.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }

    fn break_connections(&self) {
        for c in self
            .closers
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .drain(..)
        {
            c.close();
        }
    }
}

/// What passed a gate during a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTraffic {
    /// The phase.
    pub phase: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// Bytes.
    pub bytes: u64,
    /// What the operator allowed when it ended, in bytes per second.
    pub limit: Option<u64>,
    /// Whether that was something else when it began.
    pub changed: bool,
}

/// Whether a worker should end early: the user asked, or another worker failed.
pub struct Stop<'a> {
    run: &'a Run,
    failed: &'a Cancel,
}

impl Stop<'_> {
    /// This worker has come to the end of a piece: another may have its place at the gate.
    pub fn release_slot(&self) {
        self.run.limiter.release_slot();
    }

    /// Whether to end now.
    pub fn is_requested(&self) -> bool {
        self.failed.is_raised() || self.run.cancel.is_raised()
    }

    /// Fails if the worker should end now.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() {
            Err(self.run.interrupted())
        } else {
            Ok(())
        }
    }
}

/// A phase that is running; ends when dropped.
pub struct Phase<'a> {
    run: &'a Run,
    name: &'static str,
    /// The phase's figures.
    pub counters: Arc<Counters>,
    start: Instant,
    /// What had passed the gates when it began, and their limits.
    passed: (u64, u64),
    limits: (Option<u64>, Option<u64>),
}

impl Phase<'_> {
    /// Seconds since the phase began.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Phase<'_> {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        let run = self.run;
        let flow = |gate: &RateLimiter, passed: u64, limit| PhaseTraffic {
            phase: self.name,
            seconds,
            bytes: gate.passed() - passed.min(gate.passed()),
            limit: gate.rate(),
            changed: gate.rate() != limit,
        };
        run.status.end_phase(
            flow(&run.limiter, self.passed.0, self.limits.0),
            flow(&run.disk_limiter, self.passed.1, self.limits.1),
        );
        run.observer.event(Event::PhaseEnd {
            name: self.name,
            seconds,
        });
    }
}

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

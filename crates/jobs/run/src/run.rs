//! What every job gets besides its options: an observer that receives events, a flag that asks it to stop, and the
//! rate limiters that its bytes pass. `workers` runs its threads, `phase` counts its steps.

use crate::phase::Phase;
use crate::run_status::RunStatus;
use crate::setpoints::Setpoints;
use base::{Cancel, Counters, Error, Event, Kind, Observer, RateLimiter, Result, lock};
use std::sync::{Arc, Mutex};

/// The context of a running job.
#[derive(Clone)]
pub struct Run {
    /// Receives events.
    pub observer: Arc<dyn Observer>,
    /// Raised to ask for a stop.
    pub cancel: Cancel,
    /// Limits what is received from servers (in a load: what is sent to the target).
    pub limiter: Arc<RateLimiter>,
    /// Limits what is written to the store.
    pub disk_limiter: Arc<RateLimiter>,
    /// The limits that the throttle keeps; they may change while the job runs.
    pub setpoints: Arc<Setpoints>,
    /// What the control socket reports.
    pub status: Arc<RunStatus>,
    /// Why the run ends, if not because a stop was requested.
    aborted: Arc<Mutex<Option<Error>>>,
    closers: Arc<Mutex<Vec<wire::Closer>>>,
    /// Connection ids of all sessions that were opened; a server forgets them some time after their end.
    sessions: Arc<Mutex<Vec<u32>>>,
}

impl Run {
    /// A context without limits.
    pub fn new(observer: Arc<dyn Observer>, cancel: Cancel) -> Self {
        let disk_limiter = RateLimiter::named("the disk rate limit");
        disk_limiter.ends_with(&cancel);
        Self {
            observer,
            cancel,
            limiter: RateLimiter::new(),
            disk_limiter,
            setpoints: Arc::default(),
            status: Arc::default(),
            aborted: Arc::default(),
            closers: Arc::default(),
            sessions: Arc::default(),
        }
    }

    /// Ends the run as a stop does, with this error.
    pub fn abort(&self, e: Error) {
        lock(&self.aborted).get_or_insert(e);
        self.cancel.raise();
    }

    /// The same context for a part of the work, which may be given up without the rest.
    pub fn below(&self) -> Run {
        Run {
            cancel: self.cancel.below(),
            aborted: Arc::default(),
            ..self.clone()
        }
    }

    /// The same context with another observer.
    pub fn with_observer(&self, observer: Arc<dyn Observer>) -> Run {
        Run {
            observer,
            ..self.clone()
        }
    }

    /// The error of a job that stopped: the error given to [`Run::abort`], or "stopped on request".
    pub fn interrupted(&self) -> Error {
        if let Some(e) = &*lock(&self.aborted) {
            return e.clone();
        }
        Error::new(Kind::Interrupted, "stopped on request")
    }

    /// Fails if a stop was requested.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_raised() {
            Err(self.interrupted())
        } else {
            Ok(())
        }
    }

    /// Connection ids, as the server counts them, of all sessions that this run has tracked.
    pub fn sessions(&self) -> Vec<u32> {
        lock(&self.sessions).clone()
    }

    /// Forgets the tracked sessions, because their server was restarted.
    pub fn forget_sessions(&self) {
        lock(&self.sessions).clear();
    }

    /// Remembers a connection, so that a stop can close it if its owner is blocked in it.
    pub fn track(&self, conn: &wire::Conn) {
        lock(&self.sessions).push(conn.id());
        if let Ok(closer) = conn.closer() {
            lock(&self.closers).push(closer);
        }
    }

    /// Connection options whose bytes of this direction are counted by the run's rate limiter. The connection does
    /// not wait there until its owner asks for it.
    pub fn with_limiter(&self, options: &wire::Options, counts: wire::Direction) -> wire::Options {
        let mut options = options.clone();
        options.limited = Some(wire::Limited {
            limiter: self.limiter.clone(),
            counts,
            waits: false,
        });
        options
    }

    /// What the workers wait for at the rate limiters; completes the words "waiting for".
    pub fn waiting(&self) -> Option<String> {
        self.limiter
            .waiting()
            .or_else(|| self.disk_limiter.waiting())
    }

    /// From now on nothing waits at a rate limiter.
    pub(crate) fn end_limits(&self) {
        self.limiter.end();
        self.disk_limiter.end();
    }

    /// Announces a phase and returns the counters that its owner moves.
    pub fn phase(&self, name: &'static str, workers: usize) -> Phase<'_> {
        let counters = Arc::new(Counters::default());
        self.observer.event(Event::Phase {
            name,
            counters: counters.clone(),
            workers,
        });
        self.status.begin_phase(name, &counters, workers);
        Phase::new(self, name, counters)
    }

    /// Closes all tracked connections.
    pub(crate) fn break_connections(&self) {
        for c in lock(&self.closers).drain(..) {
            c.close();
        }
    }
}

//! A phase of a job: its counters, its time, and the bytes that passed the rate limiters in it.

use crate::Run;
use base::{Counters, Event, RateLimiter};
use std::sync::Arc;
use std::time::Instant;

/// What passed a rate limiter during a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTraffic {
    /// The phase.
    pub phase: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// Bytes.
    pub bytes: u64,
    /// The operator's limit when the phase ended, in bytes per second.
    pub limit: Option<u64>,
    /// Whether the limit was different when the phase began.
    pub changed: bool,
}

/// A phase that is running; ends when dropped.
pub struct Phase<'a> {
    run: &'a Run,
    name: &'static str,
    /// The phase's counters.
    pub counters: Arc<Counters>,
    start: Instant,
    /// Bytes that had passed the two rate limiters when the phase began, and the limits at that time.
    passed: (u64, u64),
    limits: (Option<u64>, Option<u64>),
}

impl<'a> Phase<'a> {
    /// Begins now; the caller announces it.
    pub(crate) fn new(run: &'a Run, name: &'static str, counters: Arc<Counters>) -> Phase<'a> {
        Phase {
            run,
            name,
            counters,
            start: Instant::now(),
            passed: (run.limiter.passed(), run.disk_limiter.passed()),
            limits: (run.limiter.rate(), run.disk_limiter.rate()),
        }
    }

    /// Seconds since the phase began.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Phase<'_> {
    fn drop(&mut self) {
        let seconds = self.seconds();
        let run = self.run;
        let traffic = |limiter: &RateLimiter, passed: u64, limit| PhaseTraffic {
            phase: self.name,
            seconds,
            bytes: limiter.passed() - passed.min(limiter.passed()),
            limit: limiter.rate(),
            changed: limiter.rate() != limit,
        };
        run.status.end_phase(
            traffic(&run.limiter, self.passed.0, self.limits.0),
            traffic(&run.disk_limiter, self.passed.1, self.limits.1),
        );
        run.observer.event(Event::PhaseEnd {
            name: self.name,
            seconds,
        });
    }
}

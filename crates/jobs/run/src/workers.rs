//! Worker threads of a job: started together, stopped together. The first error wins.

use crate::Run;
use base::counters::Counter;
use base::{Cancel, Error, Event, Kind, Result, lock};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a worker may continue after a stop was requested before its connection is closed.
const GRACE: Duration = Duration::from_secs(3);

/// How often the observer learns what the workers wait for.
const REPORT_EVERY: Duration = Duration::from_millis(250);

impl Run {
    /// Runs `work` on each element of `workers`, each in its own thread, and waits for all of them.
    ///
    /// The first error wins and raises `stop`, a flag of this call alone, so that the other workers end at their
    /// next check; a panic becomes an internal error. Connections that still block a worker `GRACE` after a stop are
    /// closed.
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
            // A worker that stops because another failed adds nothing: the first error is kept.
            lock(&first).get_or_insert(e);
            failed.raise();
        };
        let left = Counter::default();
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
            self.wait_for_workers(&stop, &left);
        });
        if self.cancel.is_raised() {
            return Err(self.interrupted());
        }
        match base::lock::into_inner(first) {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }

    /// Returns when no worker is left; meanwhile reports what they wait for, and closes connections after a stop.
    fn wait_for_workers(&self, stop: &Stop<'_>, left: &Counter) {
        let mut stopping_since: Option<Instant> = None;
        let (mut reported, mut reported_at) = (false, Instant::now());
        while left.get() > 0 {
            std::thread::sleep(Duration::from_millis(5));
            if reported_at.elapsed() >= REPORT_EVERY {
                reported_at = Instant::now();
                let waiting = self.waiting();
                if waiting.is_some() || reported {
                    reported = waiting.is_some();
                    self.observer.event(Event::Waiting(waiting));
                }
            }
            if stop.is_requested() {
                self.end_limits();
                let since = *stopping_since.get_or_insert_with(Instant::now);
                if since.elapsed() > GRACE {
                    self.break_connections();
                }
            }
        }
        if reported {
            self.observer.event(Event::Waiting(None));
        }
    }
}

/// Whether a worker should end early: the user asked for it, or another worker failed.
pub struct Stop<'a> {
    run: &'a Run,
    failed: &'a Cancel,
}

impl Stop<'_> {
    /// This worker has finished a task: another worker may take its slot at the rate limiter.
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

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

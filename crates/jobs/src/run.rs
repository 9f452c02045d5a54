//! What every job is given besides its options: somebody to tell, and a flag
//! that asks it to stop; and how it starts and ends its worker threads.

use base::{Cancel, Counters, Error, Event, Kind, Observer, Result};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a worker may go on after a stop was asked for before its connection is broken.
const GRACE: Duration = Duration::from_secs(3);

/// The surroundings of a running job.
#[derive(Clone)]
pub struct Run {
    /// Hears what happens.
    pub observer: Arc<dyn Observer>,
    /// Raised to ask for a stop.
    pub cancel: Cancel,
    closers: Arc<Mutex<Vec<wire::Closer>>>,
}

impl Run {
    /// Surroundings with nobody interrupting.
    pub fn new(observer: Arc<dyn Observer>, cancel: Cancel) -> Self {
        Self {
            observer,
            cancel,
            closers: Arc::default(),
        }
    }

    /// The error of a job that stopped because it was asked to.
    pub fn interrupted(&self) -> Error {
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

    /// Remembers a connection so that a stop can break it if its owner is stuck in it.
    pub fn watch(&self, conn: &wire::Conn) {
        if let Ok(closer) = conn.closer() {
            self.closers
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .push(closer);
        }
    }

    /// Announces a phase and returns the figures it is to move.
    pub fn phase(&self, name: &'static str, workers: usize) -> Phase<'_> {
        let counters = Arc::new(Counters::default());
        self.observer.event(Event::Phase {
            name,
            counters: counters.clone(),
            workers,
        });
        Phase {
            run: self,
            name,
            counters,
            start: Instant::now(),
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
            while left.get() > 0 {
                std::thread::sleep(Duration::from_millis(5));
                if stop.asked() {
                    let since = *since.get_or_insert_with(Instant::now);
                    if since.elapsed() > GRACE {
                        self.break_connections();
                    }
                }
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

/// Whether a worker should end early: the user asked, or another worker failed.
pub struct Stop<'a> {
    run: &'a Run,
    failed: &'a Cancel,
}

impl Stop<'_> {
    /// Whether to end now.
    pub fn asked(&self) -> bool {
        self.failed.is_raised() || self.run.cancel.is_raised()
    }

    /// Fails if the worker should end now.
    pub fn check(&self) -> Result<()> {
        if self.asked() {
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
}

impl Phase<'_> {
    /// Seconds since the phase began.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Phase<'_> {
    fn drop(&mut self) {
        self.run.observer.event(Event::PhaseEnd {
            name: self.name,
            seconds: self.start.elapsed().as_secs_f64(),
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

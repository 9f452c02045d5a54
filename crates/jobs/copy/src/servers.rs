//! From a server into others: one read of the source, and a load for each target that takes every chunk while it is in
//! memory.
//!
//! The dump and the loads are those of archives, with the same snapshot, limits, checks and comparison; only the chunks
//! never reach a disk. Invariant: nothing is changed on a target that a load of an archive would refuse.

use base::{Error, Event, Kind, Observer, Result, lock};
use rows::feed::Feed;
use run::{Run, connect, failure};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use store::{Location, Memory};

/// What to copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source, and how it is read.
    pub dump: dump::Options,
    /// The targets, and how they are loaded.
    pub loads: Vec<load::Options>,
    /// Most bytes of rows that wait in memory.
    pub memory: u64,
}

/// What was copied.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The source.
    pub dump: dump::Summary,
    /// The targets.
    pub loads: Vec<load::Summary>,
    /// Whether a part of the source was left out: its log changes more than that.
    pub partial: bool,
    /// The whole run, in seconds.
    pub seconds: f64,
    /// Part of the time for reading that the connections to the source waited for the targets.
    pub waited_for_targets: f64,
}

/// From this part of the time on, waiting is what limited the copy.
const LIMITING: f64 = 0.25;

impl Summary {
    /// Seconds until all rows were stored.
    pub fn rows_seconds(&self) -> f64 {
        let loads = self.loads.iter().map(|l| l.rows_seconds);
        loads.fold(self.dump.rows_seconds, f64::max)
    }

    /// The target that the rows waited for; `None` if it was the source.
    pub fn slow_target(&self) -> Option<&load::Summary> {
        let loads = self.loads.iter();
        let slowest = loads.max_by(|a, b| a.rows_seconds.total_cmp(&b.rows_seconds))?;
        let behind = slowest.rows_seconds > self.dump.rows_seconds * (1.0 + LIMITING);
        (behind || self.waited_for_targets > LIMITING).then_some(slowest)
    }

    /// What is not as on the source, by name.
    pub fn exceptions(&self) -> Vec<String> {
        let several = self.loads.len() > 1;
        let mut all = self.dump.exceptions.clone();
        for load in &self.loads {
            let named = |e: &String| match several {
                true => format!("{}: {e}", load.target),
                false => e.clone(),
            };
            all.extend(load.exceptions.iter().map(named));
        }
        all
    }
}

/// How often the source is read when tables disappear while their definitions are read.
const ATTEMPTS: u32 = 3;

/// Copies from one server into others.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    // The source is not read, nor locked, for a target that cannot be reached.
    for load in &options.loads {
        connect::open(run, &load.target).map_err(of_target)?;
    }
    let mut attempt = 1;
    loop {
        match once(run, options) {
            Ok(done) => {
                return Ok(Summary {
                    seconds: start.elapsed().as_secs_f64(),
                    ..done
                });
            }
            // MariaDB has no lock for definitions that does not keep everything out. Nothing is made on a target yet.
            Err(failed) if failed.may_begin_again() && attempt < ATTEMPTS => {
                attempt += 1;
                run.observer.note(format!(
                    "a table of the source was dropped while definitions were read, so they are read again ({})",
                    failed.error.what
                ));
            }
            Err(failed) => return Err(failed.error),
        }
    }
}

/// How a copy failed.
struct Failed {
    error: Error,
    /// Whether the targets had the definitions.
    defined: bool,
}

impl Failed {
    fn may_begin_again(&self) -> bool {
        !self.defined && self.error.server_error == Some(failure::NO_SUCH_TABLE)
    }
}

/// Whether something of the source is not copied.
fn leaves_out(dump: &dump::Options) -> bool {
    let kinds = [dump.routines, dump.events, dump.triggers];
    !dump.filter.is_empty() || kinds.contains(&false)
}

fn of_target(e: Error) -> Error {
    failure::of_server("the target", e)
}

fn once(run: &Run, options: &Options) -> Result<Summary, Failed> {
    let source = options.dump.source.endpoint.to_string();
    let memory = Memory::new(&source);
    let feed = Feed::new(memory.clone(), options.memory);
    let place = Location::Memory(memory);
    let loads: Vec<load::Options> = options
        .loads
        .iter()
        .map(|load| load::Options {
            from: place.clone().into(),
            feed: Some(Arc::new(feed.load())),
            ..load.clone()
        })
        .collect();
    let dump = dump::Options {
        to: place.into(),
        feed: Some(Arc::clone(&feed)),
        ..options.dump.clone()
    };
    let stage = Arc::new(Stage::default());
    lock(&stage.shown).targets = vec![Some(None); loads.len()];
    let first = Mutex::new(None::<Error>);
    let (dumped, loaded) = std::thread::scope(|scope| {
        let several = loads.len() > 1;
        let threads: Vec<_> = loads
            .into_iter()
            .enumerate()
            .map(|(number, load)| {
                let observer = Arc::new(OfTarget {
                    name: several.then(|| load.target.endpoint.to_string()),
                    number,
                    inner: Arc::clone(&run.observer),
                    stage: Arc::clone(&stage),
                });
                let below = Run::new(observer, run.cancel.below());
                let (first, stage) = (&first, &stage);
                scope.spawn(move || {
                    let endpoint = load.target.endpoint.to_string();
                    let done = load::run(&below, &load);
                    // The source's chunks are not for it any more.
                    drop(load);
                    stage.change(&*run.observer, |shown| shown.targets[number] = None);
                    done.map_err(|e| {
                        let e = match several {
                            true => e.context(&endpoint),
                            false => of_target(e),
                        };
                        if e.kind != Kind::Interrupted {
                            lock(first).get_or_insert_with(|| e.clone());
                        }
                        e
                    })
                })
            })
            .collect();
        let dumped = dump::run(run, &dump);
        feed.end(dumped.is_ok());
        stage.change(&*run.observer, |shown| shown.read = true);
        let loaded: Vec<Result<load::Summary>> = threads
            .into_iter()
            .map(|thread| {
                let panicked = |_| Err(Error::new(Kind::Internal, "a load ended without a word"));
                thread.join().unwrap_or_else(panicked)
            })
            .collect();
        (dumped, loaded)
    });
    let defined = feed.is_defined();
    let wrong = |error| Failed { error, defined };
    run.check().map_err(wrong)?;
    let failed = lock(&first).take();
    let dump = match (dumped, &failed) {
        // It ended because no load was left.
        (Err(e), Some(failed)) if e.kind == Kind::Interrupted => return Err(wrong(failed.clone())),
        (Err(e), _) => return Err(wrong(of_source(e, defined))),
        (Ok(dump), _) => dump,
    };
    let complete: Vec<String> = loaded.iter().flatten().map(|l| l.target.clone()).collect();
    if let Some(failed) = failed {
        return Err(wrong(match complete.is_empty() {
            true => failed,
            false => failed.also(format!("complete and compared: {}", complete.join(", "))),
        }));
    }
    let reading = dump.rows_seconds * dump.threads.max(1) as f64;
    Ok(Summary {
        partial: leaves_out(&options.dump),
        waited_for_targets: (feed.waited().as_secs_f64() / reading.max(1e-9)).min(1.0),
        dump,
        loads: loaded.into_iter().collect::<Result<_>>().map_err(wrong)?,
        seconds: 0.0,
    })
}

/// The error of the reading, with what it means for the targets.
fn of_source(e: Error, defined: bool) -> Error {
    let e = failure::of_server("the source", e);
    match defined {
        false => e,
        true => e.also(
            "the targets hold a part of the copy, and it cannot be resumed: the next copy names what to drop",
        ),
    }
}

/// Who is shown: the source while it is read, then the targets, one after the other. All of them work at the same time, and a
/// screen has room for one.
#[derive(Default)]
struct Stage {
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    /// Whether the source has been read.
    read: bool,
    /// Of each target: the phase that it is in; `None` when it has ended.
    targets: Vec<Option<Option<Event>>>,
}

impl Shown {
    fn current(&self) -> Option<usize> {
        self.targets
            .iter()
            .position(Option::is_some)
            .filter(|_| self.read)
    }
}

impl Stage {
    /// Changes who is shown; what the next one does then begins on the screen.
    fn change(&self, observer: &dyn Observer, change: impl FnOnce(&mut Shown)) {
        let mut shown = lock(&self.shown);
        let before = shown.current();
        change(&mut shown);
        let now = shown.current();
        if let Some(target) = now.filter(|_| now != before)
            && let Some(Some(Some(phase))) = shown.targets.get(target)
        {
            observer.event(phase.clone());
        }
    }
}

/// The observer of one load.
struct OfTarget {
    /// How it is called, if it is one of several.
    name: Option<String>,
    number: usize,
    inner: Arc<dyn Observer>,
    stage: Arc<Stage>,
}

impl Observer for OfTarget {
    fn event(&self, event: Event) {
        let named = |text: String| match &self.name {
            Some(name) => format!("{name}: {text}"),
            None => text,
        };
        let event = match event {
            Event::Note(text) => Event::Note(named(text)),
            Event::Warning(text) => Event::Warning(named(text)),
            // The dump has said it.
            Event::Table { .. } => return,
            other => {
                let mut shown = lock(&self.stage.shown);
                let phase = match &other {
                    Event::Phase { .. } => Some(Some(other.clone())),
                    Event::PhaseEnd { .. } => Some(None),
                    _ => None,
                };
                if let (Some(phase), Some(slot)) = (phase, shown.targets.get_mut(self.number)) {
                    *slot = Some(phase);
                }
                if shown.current() != Some(self.number) {
                    return;
                }
                other
            }
        };
        self.inner.event(event);
    }
}

//! The targets of a copy: loaded side by side, each with its name in what it says.

use base::{Error, Event, Kind, Observer, Result, lock};
use run::{Run, connect, failure};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};

/// Refuses targets that cannot be reached.
pub(crate) fn reached(run: &Run, loads: &[load::Options]) -> Result<()> {
    for load in loads {
        connect::open(run, &load.target).map_err(of_target)?;
    }
    Ok(())
}

fn of_target(e: Error) -> Error {
    failure::of_server("the target", e)
}

/// The loads of a copy, while they run.
pub(crate) struct Targets {
    stage: Arc<Stage>,
    /// What the first that failed said.
    first: Mutex<Option<Error>>,
}

/// A load that runs.
type Running<'scope> = ScopedJoinHandle<'scope, Result<load::Summary>>;

impl Targets {
    pub(crate) fn new(count: usize) -> Targets {
        let stage = Arc::new(Stage::default());
        lock(&stage.shown).targets = vec![Some(None); count];
        Targets {
            stage,
            first: Mutex::new(None),
        }
    }

    /// Begins the loads, each in the run that `of` makes for its observer.
    pub(crate) fn load<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        run: &Run,
        loads: Vec<load::Options>,
        of: impl Fn(Arc<dyn Observer>) -> Run,
    ) -> Vec<Running<'scope>> {
        let several = loads.len() > 1;
        let begin = |(number, load): (usize, load::Options)| {
            let observer = Arc::new(OfTarget {
                name: several.then(|| load.target.endpoint.to_string()),
                number,
                inner: Arc::clone(&run.observer),
                stage: Arc::clone(&self.stage),
            });
            let below = of(observer);
            let shown = Arc::clone(&run.observer);
            scope.spawn(move || {
                let endpoint = load.target.endpoint.to_string();
                let done = load::run(&below, &load);
                // The source's chunks are not for it any more.
                drop(load);
                self.stage
                    .change(&*shown, |shown| shown.targets[number] = None);
                done.map_err(|e| {
                    let e = match several {
                        true => e.context(&endpoint),
                        false => of_target(e),
                    };
                    if e.kind != Kind::Interrupted {
                        lock(&self.first).get_or_insert_with(|| e.clone());
                    }
                    e
                })
            })
        };
        loads.into_iter().enumerate().map(begin).collect()
    }

    /// From here on the targets are shown.
    pub(crate) fn source_is_read(&self, observer: &dyn Observer) {
        self.stage.change(observer, |shown| shown.read = true);
    }

    /// What the first that failed said, if any did.
    pub(crate) fn failed(&self) -> Option<Error> {
        lock(&self.first).take()
    }
}

/// Waits for the loads.
pub(crate) fn joined(running: Vec<Running<'_>>) -> Vec<Result<load::Summary>> {
    let panicked = |_| Err(Error::new(Kind::Internal, "a load ended without a word"));
    running
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(panicked))
        .collect()
}

/// The summaries of loads that all succeeded; else what failed, with those that are complete.
pub(crate) fn all_complete(
    loaded: Vec<Result<load::Summary>>,
    failed: Option<Error>,
) -> Result<Vec<load::Summary>> {
    let Some(failed) = failed else {
        return loaded.into_iter().collect();
    };
    let complete: Vec<String> = loaded.iter().flatten().map(|l| l.target.clone()).collect();
    Err(match complete.is_empty() {
        true => failed,
        false => failed.also(format!("complete and compared: {}", complete.join(", "))),
    })
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

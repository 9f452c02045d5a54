//! From a server into others: one read of the source, and a load for each target that takes every chunk while it is in
//! memory.
//!
//! The dump and the loads are those of archives, with the same snapshot, limits, checks and comparison; only the chunks
//! never reach a disk. Invariant: nothing is changed on a target that a load of an archive would refuse.

use crate::targets::{Targets, all_complete, joined, reached};
use base::{Error, Kind, Result};
use rows::feed::Feed;
use run::{Run, failure};
use std::sync::Arc;
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
        exceptions(self.dump.exceptions.clone(), &self.loads)
    }
}

/// What of the source was not read, and what was not stored, with the target if there are several.
pub(crate) fn exceptions(dumped: Vec<String>, loads: &[load::Summary]) -> Vec<String> {
    let several = loads.len() > 1;
    let mut all = dumped;
    for load in loads {
        let named = |e: &String| match several {
            true => format!("{}: {e}", load.target),
            false => e.clone(),
        };
        all.extend(load.exceptions.iter().map(named));
    }
    all
}

/// How often the source is read when tables disappear while their definitions are read.
const ATTEMPTS: u32 = 3;

/// Copies from one server into others.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    // The source is not read, nor locked, for a target that cannot be reached.
    reached(run, &options.loads)?;
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
pub(crate) fn leaves_out(dump: &dump::Options) -> bool {
    let kinds = [dump.routines, dump.events, dump.triggers];
    !dump.filter.is_empty() || kinds.contains(&false)
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
    let targets = Targets::new(loads.len());
    let (dumped, loaded) = std::thread::scope(|scope| {
        // The limits of the copy are those of reading.
        let of = |observer| Run::new(observer, run.cancel.below());
        let running = targets.load(scope, run, loads, of);
        let dumped = dump::run(run, &dump);
        feed.end(dumped.is_ok());
        targets.source_is_read(&*run.observer);
        (dumped, joined(running))
    });
    let defined = feed.is_defined();
    let wrong = |error| Failed { error, defined };
    run.check().map_err(wrong)?;
    let failed = targets.failed();
    let dump = match (dumped, &failed) {
        // It ended because no load was left.
        (Err(e), Some(failed)) if e.kind == Kind::Interrupted => return Err(wrong(failed.clone())),
        (Err(e), _) => return Err(wrong(of_source(e, defined))),
        (Ok(dump), _) => dump,
    };
    let loads = all_complete(loaded, failed).map_err(wrong)?;
    let reading = dump.rows_seconds * dump.threads.max(1) as f64;
    Ok(Summary {
        partial: leaves_out(&options.dump),
        waited_for_targets: (feed.waited().as_secs_f64() / reading.max(1e-9)).min(1.0),
        dump,
        loads,
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

//! From a server into others by way of an archive on this host: its tables can become tablespaces on the target's host, and what
//! was interrupted can be resumed. The archive is removed when all of it is on every target.
//!
//! Invariant: the archive is removed only when it is the one that was loaded, all of its loads have succeeded, and that was said.

use crate::targets::{Targets, all_complete, joined, reached};
use archive::manifest::{MANIFEST, Manifest};
use base::{Kind, Result};
use run::{Run, failure};
use std::time::Instant;
use store::Location;

/// What to copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source, and the place of the archive.
    pub dump: dump::Options,
    /// The targets, and how they are loaded from there.
    pub loads: Vec<load::Options>,
}

/// What was copied.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The dump, unless an earlier run had made it.
    pub dump: Option<dump::Summary>,
    /// The targets.
    pub loads: Vec<load::Summary>,
    /// Where the archive is, for [`Summary::end`].
    place: Location,
    /// Whether this run has made that place.
    made_place: bool,
    /// Whether a part of the source was left out: its log changes more than that.
    pub partial: bool,
    /// The whole run, in seconds.
    pub seconds: f64,
}

impl Summary {
    /// What is not as on the source, by name.
    pub fn exceptions(&self) -> Vec<String> {
        let dumped = match (&self.dump, self.loads.first()) {
            (Some(dump), _) => dump.exceptions.clone(),
            (None, Some(load)) => load.dumped_with.clone(),
            (None, None) => Vec::new(),
        };
        super::servers::exceptions(dumped, &self.loads)
    }

    /// The user knows that the copy is complete: what it could be resumed with is removed.
    pub fn end(&self) -> Result<()> {
        for load in &self.loads {
            load.acknowledged();
        }
        remove(&self.place, self.made_place)
    }
}

/// Copies from one server into others.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    reached(run, &options.loads)?;
    let place = options.dump.to.location();
    let made_place = place.path().is_some_and(|path| !path.exists());
    let dump = dump(run, &options.dump)?;
    let targets = Targets::new(options.loads.len());
    targets.source_is_read(&*run.observer);
    let loaded =
        std::thread::scope(|scope| joined(targets.load(scope, run, options.loads.clone())));
    run.check()?;
    let loads = all_complete(loaded, targets.failed())?;
    Ok(Summary {
        place: place.clone(),
        made_place,
        partial: super::servers::leaves_out(&options.dump),
        dump,
        loads,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Makes the archive, or what an interrupted run has not made of it; `None` if that had made all.
pub fn dump(run: &Run, options: &dump::Options) -> Result<Option<dump::Summary>> {
    if options.resume && dump::complete::is_there(run, options)? {
        let what = format!(
            "the archive in {} is complete: going on behind it",
            options.to
        );
        run.observer.note(what);
        return Ok(None);
    }
    let dumped = dump::run(run, options);
    let dumped = dumped.map_err(|e| match e.kind {
        Kind::Target if !options.resume => e.hint(
            "--via needs a new or empty directory; --resume continues a copy that was interrupted",
        ),
        _ => failure::of_server("the source", e),
    });
    dumped.map(Some)
}

/// Removes the archive, when all of it is where it was to go; `made`: with its directory.
pub fn remove(place: &Location, made: bool) -> Result<()> {
    let cannot = |e: store::Error| failure::store(format_args!("cannot remove {place}"), &e);
    let store = place.open(None).map_err(cannot)?;
    let unread = |e| failure::archive(format_args!("cannot remove {place}"), &e);
    let Some(manifest) = Manifest::read(&*store).map_err(unread)? else {
        return Ok(());
    };
    // Without its manifest it is not taken for whole if this is killed.
    let all = manifest.files.keys().map(String::as_str);
    for name in [MANIFEST].into_iter().chain(all) {
        match store.remove(name) {
            Err(e) if !e.not_found() => return Err(cannot(e)),
            _ => {}
        }
    }
    if made && let Some(path) = place.path() {
        // Files of others stay, and so does it then.
        let _ = std::fs::remove_dir(path);
    }
    Ok(())
}

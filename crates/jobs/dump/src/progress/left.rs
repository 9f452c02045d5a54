//! What another run has left of a dump that it could not finish.

use super::{Batch, Ended, PREFIX, generation};
use crate::unchanged::{Base, EarlierRows, TasksByTable};
use archive::marker::{self, Marker};
use archive::{FileRecord, Manifest};
use base::units::printable;
use base::{Error, Kind, Result};
use crossbeam_channel::{RecvTimeoutError, Sender};
use rows::new_archive;
use run::{Run, failure};
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{EntryKind, Location, PARTIAL_SUFFIX, Store};

/// A file of progress is no larger than this, in bytes.
const LIMIT: u64 = 1 << 30;

/// An unfinished dump.
pub struct Left {
    pub store: Arc<dyn Store>,
    /// The highest of its runs.
    pub generation: u32,
    /// When the first of them began.
    pub started: String,
    /// What can be used of it, if anything.
    pub base: Option<Base>,
}

/// A dump in a place of another host writes its mark again this often …
const RENEWED: Duration = Duration::from_secs(60);

/// … and is gone if it has not for this long, by the clock of that place.
const GONE: Duration = Duration::from_secs(600);

/// Looks for an unfinished dump in this place, and takes it over; `None`: there is nothing.
pub fn find(run: &Run, to: &encryption::Place) -> Result<Option<Left>> {
    let cannot = |e: &store::Error| failure::store(format_args!("cannot read {to}"), e);
    let store = match to.location().open_alone(Some(&run.disk_limiter)) {
        Ok(store) => store,
        Err(e) if e.not_found() => return Ok(None),
        Err(e) if e.busy() => return Err(running(to, "")),
        Err(e) => return Err(cannot(&e)),
    };
    let listed = store.list().map_err(|e| cannot(&e))?;
    if listed.is_empty() {
        return Ok(None);
    }
    let unread = |e| failure::archive(format_args!("cannot read {to}"), &e);
    let Some(marker) = marker::get(&*store).map_err(unread)? else {
        return Err(match Manifest::read(&*store) {
            Ok(Some(_)) => Error::new(
                Kind::Target,
                format!("{to} holds a dump that is complete: there is nothing to resume"),
            )
            .hint("name a new directory for another dump"),
            _ => new_archive::not_empty(to),
        });
    };
    let generations = listed.iter().filter_map(|e| generation(&e.name));
    let highest = generations.max().unwrap_or(0);
    if to.path().is_none() {
        let age = age_of_mark(&*store, &listed).map_err(|e| cannot(&e))?;
        match (marker.is_gone(), age) {
            (Some(true), _) => {}
            (None, Some(age)) if age > GONE => {}
            (Some(false), _) => return Err(running(to, &format!(" (process {})", marker.pid))),
            (None, age) => {
                let age = age.map_or(String::new(), |a| format!(" {} s ago", a.as_secs()));
                return Err(running(to, &format!(", or was{age}, on another host")));
            }
        }
        // Of two runs that come at the same moment one has it.
        let name = format!("{PREFIX}{}.owner.json", highest + 1);
        match store.put_new(&name, b"{}") {
            Err(e) if e.busy() => return Err(running(to, "")),
            taken => taken.map_err(|e| cannot(&e))?,
        }
    }
    // What was being written when it was killed would be in the way.
    for entry in listed.iter().filter(|e| e.name.ends_with(PARTIAL_SUFFIX)) {
        match store.remove(&entry.name) {
            Err(e) if !e.not_found() => return Err(cannot(&e)),
            _ => {}
        }
    }
    marker::renew(&*store, env!("CARGO_PKG_VERSION"), &marker.started).map_err(unread)?;
    let there: HashMap<&str, u64> = listed
        .iter()
        .filter(|e| e.kind == EntryKind::File)
        .map(|e| (e.name.as_str(), e.size))
        .collect();
    // The head is written when all that it begins with is there.
    let head = (1..=highest).rev().find_map(|generation| {
        let name = format!("{PREFIX}{generation}.json");
        let bytes = there
            .get(name.as_str())
            .and_then(|_| store.read_all(&name, LIMIT).ok())?;
        Some((generation, Manifest::parse(&bytes).ok()?))
    });
    // Above that of whoever may have begun before.
    let left = |base| Left {
        store: Arc::clone(&store),
        generation: highest,
        started: marker.started.clone(),
        base,
    };
    let Some((of, head)) = head else {
        run.observer.warn(format!(
            "nothing can be used of the dump that began at {}: it has not noted what it had finished",
            printable(&marker.started)
        ));
        return Ok(Some(left(None)));
    };
    let mut ended = Vec::new();
    for entry in listed.iter().filter(|e| generation(&e.name) == Some(of)) {
        let batch = store.read_all(&entry.name, LIMIT).ok();
        let batch = batch.and_then(|bytes| serde_json::from_slice::<Batch>(&bytes).ok());
        ended.extend(batch.into_iter().flat_map(|b| b.tasks));
    }
    let whole = intact(run, to, &*store, &there, ended)?;
    Ok(Some(left(Some(base(&marker, head, whole)))))
}

fn running(to: &Location, which: &str) -> Error {
    let what = format!("the dump in {to} is still running{which}");
    let hint = match to.path() {
        Some(_) => "wait for it, or end it",
        None => {
            "wait for it, or end it; on another host it counts as gone when it has written nothing for ten minutes"
        }
    };
    Error::new(Kind::Target, what).hint(hint)
}

/// For how long the mark was not written, by the clock of the place.
fn age_of_mark(store: &dyn Store, listed: &[store::Entry]) -> store::Result<Option<Duration>> {
    const CLOCK: &str = "penstock.progress.clock";
    let time = |all: &[store::Entry], name: &str| {
        let entry = all.iter().find(|e| e.name == name)?;
        entry.modified
    };
    store.put(CLOCK, b"{}")?;
    let now = store.list();
    store.remove(CLOCK)?;
    let (then, now) = (time(listed, marker::INCOMPLETE), time(&now?, CLOCK));
    Ok(then
        .zip(now)
        .map(|(then, now)| now.duration_since(then).unwrap_or_default()))
}

/// Renews the mark of a dump in a place of another host, until it is dropped.
pub struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub fn begin(store: &Arc<dyn Store>, to: &Location, started: &str) -> Heartbeat {
        let (stop, stopped) = crossbeam_channel::bounded::<()>(0);
        let (store, started) = (Arc::clone(store), started.to_owned());
        let thread = to.path().is_none().then(|| {
            std::thread::spawn(move || {
                while stopped.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                    // The next one may succeed; what writes rows has its own errors.
                    let _ = marker::renew(&*store, env!("CARGO_PKG_VERSION"), &started);
                }
            })
        });
        Heartbeat {
            stop: Some(stop),
            thread,
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The tasks all of whose files are what they were when they were finished: a crash of the host may have taken something back.
fn intact(
    run: &Run,
    to: &Location,
    store: &dyn Store,
    there: &HashMap<&str, u64>,
    ended: Vec<Ended>,
) -> Result<Vec<Ended>> {
    let phase = run.phase("checking what is there", 1);
    let bytes = |e: &Ended| e.files.values().map(|f| f.bytes).sum::<u64>();
    let all = ended.iter().map(bytes).sum();
    phase.counters.bytes_expected.set(all);
    // An object store has a file whole or not at all, and reading it again is a transfer.
    let reads = !matches!(to, Location::Object(_));
    let mut whole = Vec::new();
    for task in ended {
        run.check()?;
        let fits = |(name, wanted): (&String, &FileRecord)| {
            let read = |n| phase.counters.bytes.add(n);
            there.get(name.as_str()) == Some(&wanted.bytes)
                && (!reads || archive::file::verify(store, name, wanted, &run.cancel, read).is_ok())
        };
        if task.files.iter().all(fits) {
            // The process that wrote them may have had no time to make them durable.
            task.files.keys().for_each(|name| store.not_durable(name));
            whole.push(task);
        }
    }
    run.check()?;
    Ok(whole)
}

/// What the rows of an unfinished dump are compared with.
fn base(marker: &Marker, mut head: Manifest, ended: Vec<Ended>) -> Base {
    let mut tasks = TasksByTable::new();
    for task in ended {
        head.files.extend(task.files.clone());
        let of = (task.schema.clone(), task.table.clone());
        tasks.entry(of).or_default().push(task);
    }
    for record in &mut head.tables {
        let of = (record.schema.clone(), record.table.clone());
        for task in tasks.get(&of).into_iter().flatten() {
            record.chunks.extend(task.chunks.clone());
            record.generated.extend(task.generated.clone());
        }
        record.sum_up();
    }
    Base {
        name: format!("the dump that began at {}", printable(&marker.started)),
        manifest: Arc::new(head),
        rows: EarlierRows::Unfinished(Arc::new(tasks)),
    }
}

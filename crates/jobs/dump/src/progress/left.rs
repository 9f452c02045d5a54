//! What another run has left of a dump that it could not finish.

use super::{Batch, Ended, PREFIX, generation};
use crate::unchanged::{Base, Held};
use archive::marker::{self, Marker};
use archive::{FileRecord, Manifest};
use base::units::printable;
use base::{Error, Kind, Result};
use rows::new_archive;
use run::{Run, failure};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::{EntryKind, Location, Store};

/// A file of progress is no larger than this, in bytes.
const LIMIT: u64 = 1 << 30;

/// An unfinished dump.
pub struct Left {
    pub store: Arc<dyn Store>,
    /// The highest of its runs.
    pub generation: u32,
    /// What can be used of it, if anything.
    pub base: Option<Base>,
}

/// Looks for an unfinished dump in this place; `None`: there is nothing.
pub fn find(run: &Run, to: &encryption::Place) -> Result<Option<Left>> {
    let cannot = |e: &store::Error| failure::store(format_args!("cannot read {to}"), e);
    let store = match to.location().open(Some(&run.disk_limiter)) {
        Ok(store) => store,
        Err(e) if e.not_found() => return Ok(None),
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
    if is_running(to, &marker) {
        let what = format!("the dump in {to} is still running (process {})", marker.pid);
        return Err(Error::new(Kind::Target, what).hint("wait for it, or end it"));
    }
    let generations = listed.iter().filter_map(|e| generation(&e.name));
    let highest = generations.max().unwrap_or(0);
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
    let Some((of, head)) = head else {
        run.observer.warn(format!(
            "nothing can be used of the dump that began at {}: it was not reading rows yet",
            printable(&marker.started)
        ));
        return Ok(Some(Left {
            store,
            generation: highest,
            base: None,
        }));
    };
    let mut ended = Vec::new();
    for entry in listed.iter().filter(|e| generation(&e.name) == Some(of)) {
        let batch = store.read_all(&entry.name, LIMIT).ok();
        let batch = batch.and_then(|bytes| serde_json::from_slice::<Batch>(&bytes).ok());
        ended.extend(batch.into_iter().flat_map(|b| b.tasks));
    }
    let whole = intact(run, to, &*store, &there, ended)?;
    Ok(Some(Left {
        generation: highest,
        base: Some(base(&marker, head, whole)),
        store,
    }))
}

/// Whether the process that writes it is there, as far as this host can know.
fn is_running(to: &Location, marker: &Marker) -> bool {
    if to.path().is_none() || marker.pid == std::process::id() {
        return false;
    }
    // A number is used again by other programs.
    let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let (theirs, ours) = (program(&marker.pid.to_string()), program("self"));
    let name = |path: Option<std::path::PathBuf>| {
        let name = path.and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned()));
        name.map(|n| n.trim_end_matches(" (deleted)").to_owned())
    };
    name(theirs).is_some_and(|theirs| Some(theirs) == name(ours))
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
            whole.push(task);
        }
    }
    run.check()?;
    Ok(whole)
}

/// What the rows of an unfinished dump are compared with.
fn base(marker: &Marker, mut head: Manifest, ended: Vec<Ended>) -> Base {
    let mut files = HashMap::new();
    let mut tasks: BTreeMap<(String, String), Vec<Ended>> = BTreeMap::new();
    for task in ended {
        for name in task.files.keys() {
            let held = Held {
                directory: String::new(),
                stored: name.clone(),
            };
            files.insert(name.clone(), held);
        }
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
        files: Arc::new(files),
        unfinished: Some(Arc::new(tasks)),
        paranoid: false,
    }
}

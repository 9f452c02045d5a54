//! A stored snapshot, read through without a server.
//!
//! Invariant: a snapshot without a problem here is restored to the bytes that were read from the server's files. What
//! this does not do: look at pages. A page that a server was writing at that moment is half of an old and half of a new
//! one; recovery mends it, and a sum over it says nothing. What a server says of the files, a restore proves.

use crate::manifest::{MANIFEST, Manifest};
use crate::place;
use crate::stored::{read_object, read_piece};
use archive::marker;
use base::units::printable;
use base::{Error, Kind, Result};
use encryption::Place;
use run::{Run, failure};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use store::EntryKind;

/// Problems that are named.
const MOST: usize = 50;

/// What was read, all of it intact.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What the snapshot says of itself.
    pub manifest: Manifest,
    /// Objects, the manifest among them.
    pub objects: u64,
    /// Their bytes, without those of the manifest.
    pub bytes: u64,
    /// Seconds it took.
    pub seconds: f64,
}

/// Reads every object against its digests; with `contents` also what is compressed in them.
pub fn check(run: &Run, from: &Place, threads: usize, contents: bool) -> Result<Checked> {
    let start = Instant::now();
    let (store, manifest) = place::open(from)?;
    let pieces: Vec<_> = manifest
        .files
        .iter()
        .flat_map(|f| f.pieces.iter().enumerate().map(move |(n, p)| (f, n, p)))
        .collect();
    let phase = run.phase("checking the snapshot", threads);
    let counters = &phase.counters;
    let all = pieces.iter().map(|(_, _, p)| p.stored.bytes).sum();
    counters.bytes_expected.set(match contents {
        true => pieces.iter().map(|(_, _, p)| p.data).sum(),
        false => all,
    });
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    run.workers(vec![(); threads], |_, (), stop| {
        while let Some((file, n, piece)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            stop.check()?;
            let pass = |bytes: usize| {
                if stop.is_requested() || !run.limiter.acquire_all(bytes) {
                    return Err(run.interrupted());
                }
                counters.bytes.add(bytes as u64);
                Ok(())
            };
            let read = match contents {
                true => read_piece(&*store, file, *n, piece, |bytes, _| pass(bytes.len())),
                false => read_object(&*store, piece, pass),
            };
            match read {
                Err(e) if e.kind == Kind::Archive => {
                    let path = printable(&file.path);
                    base::lock(&problems).push(format!("{path}: {}", e.what));
                }
                read => read?,
            }
            counters.stored.add(piece.stored.bytes);
        }
        Ok(())
    })?;
    drop(phase);
    let known: BTreeSet<&str> = pieces.iter().map(|(_, _, p)| p.object.as_str()).collect();
    let listed = store
        .list()
        .map_err(|e| failure::store(format_args!("cannot list {from}"), &e))?;
    for entry in listed.iter().filter(|e| e.kind == EntryKind::File) {
        let ours = [MANIFEST, marker::INCOMPLETE].contains(&entry.name.as_str());
        if !ours && !known.contains(entry.name.as_str()) {
            let name = printable(&entry.name);
            run.observer
                .warn(format!("{name} is not part of the snapshot"));
        }
    }
    let mut problems = base::lock::into_inner(problems);
    problems.sort();
    if !problems.is_empty() {
        let mut text = format!(
            "the snapshot in {from} is damaged in {}",
            match problems.len() {
                1 => "one place:".to_owned(),
                n => format!("{n} places:"),
            }
        );
        for problem in problems.iter().take(MOST) {
            text += &format!("\n  {problem}");
        }
        if problems.len() > MOST {
            text += &format!("\n  … and {} more", problems.len() - MOST);
        }
        return Err(Error::new(Kind::Archive, text)
            .hint("do not rely on it: take another one, or copy it again from another copy"));
    }
    Ok(Checked {
        objects: pieces.len() as u64 + 1,
        bytes: all,
        manifest,
        seconds: start.elapsed().as_secs_f64(),
    })
}

//! Verifies an archive without a server: every file, every byte, and every row.

use archive::CheckOptions;
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use encryption::Place;
use rows::archives;
use run::Run;
use run::failure;
use server::quote;
use std::sync::Arc;
use std::time::Instant;

/// An archive that was found intact.
#[derive(Clone, Debug)]
pub struct Offline {
    /// Its directory.
    pub path: String,
    /// Files read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows decoded.
    pub rows: u64,
    /// Accounts that it has, if it has any.
    pub accounts: Option<u64>,
    /// Whether it has digests.
    pub digests: bool,
    /// Seconds it took.
    pub seconds: f64,
    /// Time that all threads together waited for the network to the archive, if there is one.
    pub link_seconds: Option<f64>,
    /// What the archive lacks: the exceptions of its dump.
    pub dumped_with: Vec<String>,
    /// Whether it is encrypted, and was checked without a key: then nothing of its contents is known.
    pub locked: bool,
}

/// Checks every byte of an archive without a server.
pub fn offline(run: &Run, from: &Place, threads: usize, rows: bool) -> Result<Offline> {
    let start = Instant::now();
    let store = match from.open(None) {
        Err(encryption::Error::Locked { .. }) if !rows => return locked(run, from, threads),
        opened => opened.map_err(|e| archives::place_error(from, &e))?,
    };
    let phase = run.phase("checking the archive", threads);
    let options = CheckOptions { threads, rows };
    let report = archive::check(
        &*store,
        &options,
        &|p| progress(&phase.counters, &p),
        &run.cancel,
    )
    .map_err(|e| {
        archives::nothing(from, &*store)
            .unwrap_or_else(|| failure::archive(format_args!("cannot check {from}"), &e))
    })?;
    drop(phase);
    run.check()?;
    for note in &report.notes {
        run.observer.note(note.clone());
    }
    for warning in &report.warnings {
        run.observer.warn(warning.clone());
    }
    if !report.problems.is_empty() {
        let problems: Vec<String> = report.problems.iter().map(describe_problem).collect();
        return Err(damaged(from, &problems));
    }
    let archive = archives::open_in(from, Arc::clone(&store))?;
    Ok(Offline {
        locked: false,
        accounts: archive.root().users.as_ref().map(|u| u.len() as u64),
        path: from.absolute(),
        files: report.files,
        bytes: report.bytes,
        rows: report.rows,
        digests: report.has_manifest,
        seconds: start.elapsed().as_secs_f64(),
        link_seconds: store.link().map(|l| l.waited().as_secs_f64()),
        dumped_with: archives::dumped_with(&archive),
    })
}

/// Checks the files of an encrypted archive without a key.
fn locked(run: &Run, from: &Place, threads: usize) -> Result<Offline> {
    let start = Instant::now();
    let store = from
        .location()
        .open(None)
        .map_err(|e| archives::open_error(from, &e))?;
    let phase = run.phase("checking the encrypted files", threads);
    let progress = |bytes: u64| phase.counters.stored.add(bytes);
    let wrong = |e: encryption::Error| archives::place_error(from, &e);
    let mut found =
        encryption::check_files(&*store, None, threads, &progress, &run.cancel).map_err(wrong)?;
    let references = archive::References::read(&*store)
        .map_err(|e| failure::archive(format_args!("cannot check {from}"), &e))?;
    for (directory, files) in references.iter().flat_map(archive::References::directories) {
        let place = from.location().beside(directory);
        let beside = match place.map(|place| place.open(None)).transpose() {
            Ok(Some(beside)) => beside,
            Err(e) if !e.not_found() => return Err(archives::open_error(from, &e)),
            _ => return Err(wrong(encryption::Error::NotBeside(directory.to_owned()))),
        };
        let more = encryption::check_files(&*beside, Some(files), threads, &progress, &run.cancel);
        let more = more.map_err(wrong)?;
        found.files += more.files;
        found.bytes += more.bytes;
        let problems = more.problems.into_iter();
        found
            .problems
            .extend(problems.map(|problem| format!("{directory}/{problem}")));
    }
    drop(phase);
    run.check()?;
    for name in &found.strays {
        let name = printable(name);
        run.observer
            .warn(format!("{name} is not part of the archive"));
    }
    if !found.problems.is_empty() {
        return Err(damaged(from, &found.problems));
    }
    Ok(Offline {
        path: from.absolute(),
        accounts: None,
        files: found.files,
        bytes: found.bytes,
        rows: 0,
        digests: true,
        seconds: start.elapsed().as_secs_f64(),
        link_seconds: store.link().map(|l| l.waited().as_secs_f64()),
        dumped_with: Vec::new(),
        locked: true,
    })
}

/// The error of an archive with these problems.
fn damaged(from: &Place, problems: &[String]) -> Error {
    let n = problems.len();
    let mut text = format!(
        "the archive {from} is damaged in {}:",
        if n == 1 {
            "one place".to_owned()
        } else {
            format!("{n} places")
        }
    );
    for p in problems.iter().take(50) {
        text += &format!("\n  {p}");
    }
    if n > 50 {
        text += &format!("\n  … and {} more", n - 50);
    }
    Error::new(Kind::Archive, text)
        .hint("do not rely on it: dump again, or copy the archive again from another copy")
}

/// Names file, table and chunk, and what is wrong.
fn describe_problem(p: &archive::Problem) -> String {
    let mut text = p.file.clone();
    if let (Some(schema), Some(table)) = (&p.schema, &p.table) {
        text += &format!(" (table {}", printable(&quote::qualified(schema, table)));
        if let Some(chunk) = p.chunk {
            text += &format!(", chunk {chunk}");
        }
        text += ")";
    }
    let what = p.what.strip_prefix(&p.file).unwrap_or(&p.what);
    format!("{text}: {}", what.trim_start_matches([':', ' ']))
}

fn progress(counters: &Counters, p: &archive::Progress) {
    counters.bytes.add(p.raw_bytes);
    counters.stored.add(p.stored_bytes);
    counters.rows.add(p.rows);
}

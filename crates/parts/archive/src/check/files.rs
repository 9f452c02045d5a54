//! Which files there should be, and going through them on several threads.

use super::rows::{Decoded, decode_chunk};
use super::task::{ChunkTask, Task};
use super::{CheckOptions, Problem, ProblemKind, Progress, Report};
use crate::chunk::index;
use crate::manifest::{MANIFEST, Manifest};
use crate::meta::TableMeta;
use crate::open::{Chunk, Content, Table};
use crate::{ArchiveError, Result, file, marker, meta};
use base::Cancel;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{EntryKind, Store};

/// Compares the files there are with the files there should be.
pub(super) fn account(store: &dyn Store, manifest: &Manifest, report: &mut Report) -> Result<()> {
    let mut found = HashMap::new();
    for entry in store.list()? {
        found.insert(entry.name, entry.kind);
    }
    for name in manifest.files.keys() {
        match found.get(name) {
            Some(EntryKind::File) => {}
            Some(EntryKind::Other) => {
                let what = "not a regular file";
                report.problem(Problem::new(ProblemKind::Damaged, name, what));
            }
            None => report.problem(Problem::new(ProblemKind::Missing, name, "missing")),
        }
    }
    for name in found.keys() {
        if is_progress_file(name) && !manifest.files.contains_key(name) {
            let name = base::units::printable(name);
            report.notes.push(format!("{name} was left by a load"));
        }
    }
    let strays = super::strays(store, manifest)?;
    let warnings = strays.iter().map(|name| super::stray_warning(name));
    report.warnings.extend(warnings);
    Ok(())
}

/// Whether the archive does not have this file, and no load has left it.
pub(super) fn is_stray(name: &str, manifest: &Manifest) -> bool {
    name != MANIFEST && !manifest.files.contains_key(name) && !is_progress_file(name)
}

fn is_progress_file(name: &str) -> bool {
    name.starts_with("load-progress.") && name.ends_with(".json")
}

/// Every file of the manifest.
pub(super) fn with_manifest(manifest: &Manifest, content: Option<&Content>) -> Vec<Task> {
    let mut chunks = HashMap::new();
    for (table, chunk) in content.into_iter().flat_map(all_chunks) {
        let indexed = manifest.files.contains_key(&index::name_of(&chunk.file));
        chunks.insert(chunk.file.as_str(), chunk_task(table, chunk, indexed));
    }
    let files = manifest.files.iter();
    files
        .map(|(name, record)| Task {
            file: name.clone(),
            size: record.bytes,
            record: Some(record.clone()),
            chunk: chunks.remove(name.as_str()),
        })
        .collect()
}

/// The data files of an archive without a manifest.
pub(super) fn without_manifest(
    store: &dyn Store,
    content: &Content,
    report: &mut Report,
) -> Result<Vec<Task>> {
    let names: HashSet<String> = store.list()?.into_iter().map(|e| e.name).collect();
    let mut known = known_names(content);
    let mut tasks = Vec::new();
    for (table, chunk) in all_chunks(content) {
        let index = index::name_of(&chunk.file);
        let indexed = names.contains(&index);
        known.extend([chunk.file.clone(), index]);
        if !table.meta.is_default_dialect() {
            let file = base::units::printable(&chunk.file);
            report.notes.push(format!(
                "{file} is in another dialect of LOAD DATA: its bytes are read, its rows are not"
            ));
        }
        tasks.push(Task {
            file: chunk.file.clone(),
            record: None,
            size: chunk.stored_bytes,
            chunk: Some(chunk_task(table, chunk, indexed)),
        });
    }
    for name in names.difference(&known).filter(|n| !is_progress_file(n)) {
        report.warnings.push(super::stray_warning(name));
    }
    report.notes.sort();
    report.warnings.sort();
    Ok(tasks)
}

fn known_names(content: &Content) -> HashSet<String> {
    let always = [
        meta::ROOT,
        meta::DONE,
        "@.sql",
        "@.post.sql",
        "@.users.sql",
        "@.checksums.json",
        marker::INCOMPLETE,
    ];
    let mut known: HashSet<String> = always.map(str::to_owned).into();
    for schema in &content.schemas {
        known.insert(schema.meta_file.clone());
        known.extend(schema.ddl.iter().cloned());
        for table in &schema.tables {
            known.insert(table.meta_file.clone());
            known.extend(table.ddl.iter().chain(&table.triggers).cloned());
        }
        for view in &schema.views {
            known.extend([view.pre.clone(), view.ddl.clone()]);
        }
    }
    known
}

fn all_chunks(content: &Content) -> impl Iterator<Item = (&Table, &Chunk)> {
    let tables = content.schemas.iter().flat_map(|s| &s.tables);
    tables.flat_map(|t| t.chunks.iter().map(move |c| (t, c)))
}

fn chunk_task(table: &Table, chunk: &Chunk, indexed: bool) -> ChunkTask {
    let meta: &TableMeta = &table.meta;
    ChunkTask {
        schema: table.schema.clone(),
        table: table.name.clone(),
        number: chunk.number,
        compression: table.compression,
        plan: meta.is_default_dialect().then(|| meta.plan()),
        raw_bytes: chunk.raw_bytes,
        digest: chunk.row_digest,
        indexed,
    }
}

/// Goes through all files, the largest first so that no thread ends up alone
/// with one at the end.
pub(super) fn run(
    store: &dyn Store,
    mut tasks: Vec<Task>,
    options: &CheckOptions,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &Cancel,
    report: &mut Report,
) -> Result<()> {
    tasks.sort_by_key(|t| std::cmp::Reverse(t.size));
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(report);
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.is_raised() {
                return Err(ArchiveError::Interrupted);
            }
            let mut totals = Progress::default();
            let mut step = |more: Progress| {
                totals.stored_bytes += more.stored_bytes;
                totals.rows += more.rows;
                progress(more);
            };
            let outcome = one(store, task, options, cancel, &mut step);
            progress(Progress {
                files: 1,
                ..Progress::default()
            });
            let mut report = shared.lock().unwrap_or_else(PoisonError::into_inner);
            report.files += 1;
            report.bytes += totals.stored_bytes;
            report.rows += totals.rows;
            match outcome {
                Ok(()) => {}
                Err(ArchiveError::Interrupted) => return Err(ArchiveError::Interrupted),
                Err(e) if super::unreadable(&e) => return Err(e),
                Err(e) => report.problem(task.problem(&e)),
            }
        }
        Ok(())
    };
    let threads = options.threads.clamp(1, tasks.len().max(1));
    if threads == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut result = Ok(());
        for worker in workers {
            // A panic is a bug of ours, and must not look like a sound archive.
            let done = worker
                .join()
                .unwrap_or_else(|p| std::panic::resume_unwind(p));
            result = result.and(done);
        }
        result
    })
}

impl Task {
    fn problem(&self, error: &ArchiveError) -> Problem {
        let mut problem = Problem::from_error(&self.file, error);
        if let Some(chunk) = &self.chunk {
            problem = problem.of_table(&chunk.schema, &chunk.table);
            problem.chunk = Some(chunk.number);
        }
        problem
    }
}

fn one(
    store: &dyn Store,
    task: &Task,
    options: &CheckOptions,
    cancel: &Cancel,
    step: &mut dyn FnMut(Progress),
) -> Result<()> {
    let decode = task
        .chunk
        .as_ref()
        .filter(|_| options.rows || task.record.is_none());
    let Some(chunk) = decode else {
        let Some(record) = &task.record else {
            return Ok(());
        };
        return file::verify(store, &task.file, record, cancel, |stored_bytes| {
            step(Progress {
                stored_bytes,
                ..Progress::default()
            });
        });
    };
    let decoded = decode_chunk(store, task, chunk, options.rows, cancel, step)?;
    compare(store, task, chunk, &decoded)
}

/// What was decoded against what is recorded, and against the index file.
fn compare(store: &dyn Store, task: &Task, chunk: &ChunkTask, decoded: &Decoded) -> Result<()> {
    let damaged = |what: String| Err(ArchiveError::damaged(&task.file, what));
    if let (Some(expected), Some(found)) = (chunk.digest, decoded.digest) {
        if expected.rows() != found.rows() {
            let (found, expected) = (found.rows(), expected.rows());
            return damaged(format!("holds {found} rows instead of {expected}"));
        }
        if expected != found {
            return damaged("its rows differ from the recorded row digest".to_owned());
        }
    }
    if !chunk.indexed {
        return Ok(());
    }
    let name = index::name_of(&task.file);
    let index = match store.read_all(&name, 1 << 30) {
        // Reported where files are accounted for.
        Err(e) if e.not_found() => return Ok(()),
        other => other?,
    };
    let agrees = match (&decoded.index, task.record.is_some()) {
        (Some(expected), true) => *expected == index,
        // Another writer's index: only its last entry means anything to a reader.
        _ => index::last_entry(&index) == Some(decoded.raw_bytes),
    };
    if !agrees {
        return Err(ArchiveError::damaged(&name, "does not fit its data file"));
    }
    Ok(())
}

//! Proving an archive without a server.
//!
//! With a manifest every byte is accounted for: each file's size and digest,
//! no file missing and none too many, each chunk where it belongs, all counts
//! in agreement; and with `rows`, that each chunk decodes to the rows that
//! were dumped. Without one (MySQL Shell's archives) only the structure can be
//! checked, and the report says so.
//!
//! A damaged file is a [`Problem`] in the report, and the check continues, so
//! that one run finds all of them; only what makes checking pointless (another
//! version, an unfinished dump, a store that cannot be listed) is an error.

mod contents;
mod files;
mod rows;
mod task;
#[cfg(test)]
mod tests;

use crate::manifest::Manifest;
use crate::open::{Content, refuse_unfinished};
use crate::{ArchiveError, Result};
use base::Cancel;
use store::Store;

/// How thoroughly to check.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Files checked at a time; at least 1.
    pub threads: usize,
    /// Decode the rows as well.
    pub rows: bool,
}

/// Work done since the last call, from any thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Files finished.
    pub files: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// Bytes of row data decompressed.
    pub raw_bytes: u64,
    /// Rows decoded.
    pub rows: u64,
}

/// The kind of damage it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A file differs from its record, or cannot be read or decoded.
    Damaged,
    /// A file is not there.
    Missing,
    /// Two parts of the archive say different things.
    Disagrees,
}

/// Something that is not as it should be. Texts are safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The file concerned.
    pub file: String,
    /// The schema, where the file belongs to one.
    pub schema: Option<String>,
    /// The table, where the file belongs to one.
    pub table: Option<String>,
    /// The chunk's number in its series, if the file is a data file.
    pub chunk: Option<u64>,
    /// What is wrong.
    pub what: String,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// There is a manifest; without one bytes could not be proven.
    pub has_manifest: bool,
    /// Files read.
    pub files: u64,
    /// Stored bytes read.
    pub bytes: u64,
    /// Rows: decoded ones if rows were asked for, else as recorded.
    pub rows: u64,
    /// Everything that is wrong, by file.
    pub problems: Vec<Problem>,
    /// What the reader of the report should know besides.
    pub notes: Vec<String>,
    /// What is no damage and should not be: files that are not part of the archive.
    pub warnings: Vec<String>,
}

/// Files in `store` that nothing in the archive accounts for, sorted; loading ignores them.
pub fn strays(store: &dyn Store, manifest: &Manifest) -> Result<Vec<String>> {
    let names = store.list()?.into_iter().map(|e| e.name);
    let mut strays: Vec<String> = names.filter(|n| files::is_stray(n, manifest)).collect();
    strays.sort();
    Ok(strays)
}

/// The warning about one of them.
pub fn stray_warning(name: &str) -> String {
    let name = base::units::printable(name);
    format!("{name} is not part of the archive: nothing reads it, so it does not belong there")
}

/// Checks the archive in `store`.
pub fn check(
    store: &dyn Store,
    options: &CheckOptions,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &Cancel,
) -> Result<Report> {
    refuse_unfinished(store)?;
    let mut report = Report::default();
    let manifest = match Manifest::read(store) {
        Ok(manifest) => manifest,
        Err(e) => {
            report.problem(Problem::from_error(crate::manifest::MANIFEST, &refused(e)?));
            report.has_manifest = true;
            return Ok(report);
        }
    };
    report.has_manifest = manifest.is_some();
    let recorded = manifest.clone();
    let content = match Content::read(store, manifest, true) {
        Ok(content) => {
            // With a manifest the account of files names them too.
            for d in &content.damaged {
                let problem = Problem::from_error("", &d.error);
                report.problem(match recorded {
                    None if !d.object.is_empty() => problem.of_table(&d.schema, &d.object),
                    _ => problem,
                });
            }
            Some(content)
        }
        Err(e) => {
            report.problem(Problem::from_error("", &refused(e)?));
            None
        }
    };
    let tasks = match &recorded {
        Some(manifest) => {
            files::account(store, manifest, &mut report)?;
            if let Some(content) = &content {
                contents::agree(content, manifest, &mut report);
            }
            files::with_manifest(manifest, content.as_ref())
        }
        None => {
            let note =
                "the archive has no manifest: its bytes cannot be proven, only its structure";
            report.notes.push(note.to_owned());
            match &content {
                Some(content) => files::without_manifest(store, content, &mut report)?,
                None => Vec::new(),
            }
        }
    };
    files::run(store, tasks, options, progress, cancel, &mut report)?;
    if let (None, Some(content), true) = (&recorded, &content, options.rows) {
        contents::rows_agree(content, &mut report);
    }
    report.finish(recorded.as_ref(), options.rows);
    Ok(report)
}

/// Lets damage through as a problem, and everything else out as an error.
fn refused(error: ArchiveError) -> Result<ArchiveError> {
    match error {
        ArchiveError::Damaged { .. } => Ok(error),
        ArchiveError::Store(e) if e.source.raw_os_error().is_none() && !e.not_found() => {
            Ok(ArchiveError::Store(e))
        }
        other => Err(other),
    }
}

/// Whether it is the store that failed and not the file: a file that may not
/// be read, or a disk that does not answer, says nothing about the archive.
fn unreadable(error: &ArchiveError) -> bool {
    matches!(error, ArchiveError::Store(e) if e.refused())
}

impl Report {
    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn finish(&mut self, manifest: Option<&Manifest>, rows: bool) {
        if let (Some(manifest), false) = (manifest, rows) {
            self.rows = manifest.totals.rows;
        }
        self.problems
            .sort_by(|a, b| (&a.file, a.chunk, &a.what).cmp(&(&b.file, b.chunk, &b.what)));
        // The metadata and the account of files may both have met the same file.
        self.problems.dedup();
    }

    /// Whether nothing is wrong.
    pub fn sound(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Problem {
    fn new(kind: ProblemKind, file: &str, what: impl AsRef<str>) -> Self {
        Self {
            kind,
            file: base::units::printable(file),
            schema: None,
            table: None,
            chunk: None,
            what: base::units::printable(what.as_ref()),
        }
    }

    fn of_table(mut self, schema: &str, table: &str) -> Self {
        self.schema = Some(base::units::printable(schema));
        self.table = Some(base::units::printable(table));
        self
    }

    fn from_error(file: &str, error: &ArchiveError) -> Self {
        match error {
            ArchiveError::Damaged { file, what } => {
                let missing = what.starts_with("missing");
                let kind = if missing {
                    ProblemKind::Missing
                } else {
                    ProblemKind::Damaged
                };
                Self::new(kind, file, what)
            }
            other => Self::new(ProblemKind::Damaged, file, other.to_string()),
        }
    }
}

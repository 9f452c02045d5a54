//! One self-contained HTML page from the records of one or several runs.
//!
//! `layout` makes a page of `chart`, `bars`, `tables` and, for several runs, `beside`; `curve` and
//! `quantity` prepare numbers for drawing and reading. Invariants: values of a record reach the page
//! only as escaped text or as checked numbers (`page` has no other way); the page loads nothing, has
//! no script, and says so in its content security policy; its size is bounded for a run of any length.
//! What it does not do: judge. The job has judged its run.

mod backups;
mod bars;
mod beside;
mod chart;
mod curve;
mod layout;
mod names;
mod page;
mod quantity;
mod tables;
#[cfg(test)]
mod tests;

pub use names::kind;
pub use quantity::show;

use crate::record::{self, Part, Record};
use base::{Error, Kind, Result, units::printable};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Marks a page of penstock report, which may be replaced.
const MARK: &str = "<meta name='generator' content='penstock report'>";

/// [`MARK`] is within this many bytes from the start of a file.
const HEAD: u64 = 1024;

/// Largest number of runs on one page; more are not readable side by side.
const MOST_RUNS: usize = 20;

/// The input and output of a page.
#[derive(Debug)]
pub struct Options {
    /// Records, or directories that hold one.
    pub runs: Vec<PathBuf>,
    /// Output of the page.
    pub to: To,
    /// Replace a file that is not an earlier page.
    pub force: bool,
}

/// Output of a page.
#[derive(Debug)]
pub enum To {
    /// Next to the only record, under its name.
    Beside,
    /// Into this file.
    File(PathBuf),
    /// Into the summary.
    Caller,
}

/// The result.
#[derive(Debug)]
pub struct Summary {
    /// The file, unless the page is in `html`.
    pub path: Option<PathBuf>,
    /// The page, if it did not go into a file.
    pub html: Option<String>,
    /// The records, in the order given.
    pub records: Vec<Record>,
}

/// Reads the records and writes the page.
pub fn run(options: &Options) -> Result<Summary> {
    if options.runs.len() > MOST_RUNS {
        return Err(Error::new(
            Kind::Usage,
            format!(
                "{} runs are too many for one page, which takes {MOST_RUNS}",
                options.runs.len()
            ),
        ));
    }
    let path = match (&options.to, options.runs.as_slice()) {
        (To::Caller, _) => None,
        (To::File(path), _) => Some(path.clone()),
        (To::Beside, [one]) => Some(if one.is_dir() {
            one.join(record::NAME).with_extension("html")
        } else {
            one.with_extension("html")
        }),
        (To::Beside, _) => {
            return Err(
                Error::new(Kind::Usage, "the page of several runs needs a name")
                    .hint("--to FILE.html"),
            );
        }
    };
    let records = options
        .runs
        .iter()
        .map(|path| record::read(path))
        .collect::<Result<Vec<_>>>()?;
    let html = page(&records);
    let Some(path) = path else {
        return Ok(Summary {
            path: None,
            html: Some(html),
            records,
        });
    };
    write(
        &path,
        &html,
        options.force,
        "name another file with --to, or replace it with --force",
    )?;
    Ok(Summary {
        path: Some(std::path::absolute(&path).unwrap_or(path)),
        html: None,
        records,
    })
}

/// The page of these records.
pub fn page(records: &[Record]) -> String {
    layout::page(records)
}

/// The page of a repository, as it is now.
pub fn of_repository(place: &str, listing: &repository::Listing) -> String {
    backups::page(place, listing, jiff::Timestamp::now())
}

/// Writes a page that replaces an earlier one, and nothing else.
pub fn replace(path: &Path, html: &str) -> Result<()> {
    write(path, html, false, "name another file, or remove it")
}

fn write(path: &Path, html: &str, force: bool, hint: &str) -> Result<()> {
    let shown = printable(&path.display().to_string());
    if !force && !replaceable(path) {
        return Err(Error::new(
            Kind::Target,
            format!("{shown} already exists, and is no page that penstock has written"),
        )
        .hint(hint));
    }
    let fail = |e: std::io::Error| Error::new(Kind::Storage, format!("cannot write {shown}: {e}"));
    let mut part = Part::begin(path).map_err(fail)?;
    part.write_all(html.as_bytes()).map_err(fail)?;
    part.finish().map_err(fail)
}

/// Whether this file may be overwritten.
fn replaceable(path: &Path) -> bool {
    // Anything but a regular file is refused when it is written; opening a pipe here would block.
    if !path.is_file() {
        return true;
    }
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut head = Vec::new();
    let read = file.take(HEAD).read_to_end(&mut head);
    read.is_ok() && (head.is_empty() || String::from_utf8_lossy(&head).contains(MARK))
}

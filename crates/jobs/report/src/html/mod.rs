//! One self-contained HTML page from the records of one or several runs.
//!
//! `layout` puts a page together of `chart`, `bars` and `tables`; `curve` and
//! `quantity` make numbers fit to be drawn and read. Invariants: nothing of a
//! record reaches the page but as text or as a number that was checked (`page`
//! has no other way); the page asks for nothing from anywhere, has no script,
//! and says so in its content security policy; its size is bounded, however
//! long the run was. What it does not do: judge. What is said about a run was
//! said by who recorded it.

mod bars;
mod beside;
mod chart;
mod curve;
mod layout;
mod page;
mod quantity;
mod tables;
#[cfg(test)]
mod tests;

pub use quantity::show;

use crate::record::{self, Part, Record};
use base::{Error, Kind, Result, units::printable};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Says that a page is one of ours, and may be replaced.
const MARK: &str = "<meta name='generator' content='penstock report'>";

/// How far into a file [`MARK`] may stand.
const HEAD: u64 = 1024;

/// Runs on one page; more cannot be read side by side.
const MOST_RUNS: usize = 20;

/// What to make a page of, and where.
#[derive(Debug)]
pub struct Options {
    /// Records, or folders that hold one.
    pub runs: Vec<PathBuf>,
    /// Where the page goes.
    pub to: To,
    /// Replace a file that is not an earlier page.
    pub force: bool,
}

/// Where a page goes.
#[derive(Debug)]
pub enum To {
    /// Beside the only record, under its name.
    Beside,
    /// Into this file.
    File(PathBuf),
    /// Into the summary.
    Caller,
}

/// What was made.
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
            return Err(Error::new(
                Kind::Usage,
                "several runs go onto one page, which needs a name",
            )
            .hint("--to FILE.html"));
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
    write(&path, &html, options.force)?;
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

fn write(path: &Path, html: &str, force: bool) -> Result<()> {
    let shown = printable(&path.display().to_string());
    if !force && !replaceable(path) {
        return Err(Error::new(
            Kind::Target,
            format!("{shown} is there already, and is no page of penstock report"),
        )
        .hint("name another file with --to, or replace it with --force"));
    }
    let fail = |e: std::io::Error| Error::new(Kind::Storage, format!("cannot write {shown}: {e}"));
    let mut part = Part::begin(path).map_err(fail)?;
    part.write_all(html.as_bytes()).map_err(fail)?;
    part.finish().map_err(fail)
}

/// Whether nothing is lost if this file is written.
fn replaceable(path: &Path) -> bool {
    // What is no file is refused when it is to be written; to open a pipe would be to wait for its other end.
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

//! Checks InnoDB files without a server: every page, and the position of every record. The structure of
//! a file is checked, not the meaning of its rows.

use base::units::printable;
use base::{Error, Kind, Result};
use innodb::page::SIZE;
use innodb::space::Pages;
use innodb::{Exported, Layout};
use run::Run;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files that were found intact.
#[derive(Clone, Debug)]
pub struct Tablespaces {
    /// Each.
    pub files: Vec<Tablespace>,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds it took.
    pub seconds: f64,
}

/// A file that was found intact.
#[derive(Clone, Debug)]
pub struct Tablespace {
    /// Where it is.
    pub path: PathBuf,
    /// The table, where a description lies beside the file: `schema/table`, as InnoDB writes names.
    pub table: Option<String>,
    /// Pages.
    pub pages: u32,
    /// Its indexes.
    pub indexes: Vec<innodb::check::Index>,
}

/// Checks files, one after another, each with `threads` threads.
pub fn tablespaces(run: &Run, files: &[PathBuf], threads: usize) -> Result<Tablespaces> {
    let start = Instant::now();
    let phase = run.phase("checking tablespaces", threads);
    let mut done = Tablespaces {
        files: Vec::new(),
        bytes: 0,
        seconds: 0.0,
    };
    let mut damaged = Vec::new();
    for path in files {
        match check_file(run, path, threads, &phase.counters)? {
            Ok(file) => {
                done.bytes += u64::from(file.pages) * SIZE as u64;
                done.files.push(file);
            }
            Err(text) => damaged.push(text),
        }
    }
    drop(phase);
    done.seconds = start.elapsed().as_secs_f64();
    if damaged.is_empty() {
        return Ok(done);
    }
    Err(Error::new(Kind::Archive, damaged.join("\n"))
        .hint("pages are numbered from 0, 16 KiB each. If a server was writing to the file, export it (FLUSH TABLES … FOR EXPORT) or stop the server, and check again; else restore the table from a backup"))
}

/// Checks one file; the inner error is the text of what is wrong with it.
fn check_file(
    run: &Run,
    path: &Path,
    threads: usize,
    counters: &base::Counters,
) -> Result<std::result::Result<Tablespace, String>> {
    let name = printable(&path.display().to_string());
    let unread = |e: &io::Error| Error::new(Kind::Storage, format!("cannot read {name}: {e}"));
    // Opening a pipe would wait for a writer.
    let meta = std::fs::metadata(path).map_err(|e| unread(&e))?;
    if !meta.is_file() {
        return Err(Error::new(Kind::Usage, format!("{name} is not a file"))
            .hint("name the .ibd file of a table or of a partition"));
    }
    let file = File::open(path).map_err(|e| unread(&e))?;
    let meta = file.metadata().map_err(|e| unread(&e))?;
    let exported = description(run, path)?;
    let mut layouts = Vec::new();
    for i in exported.iter().flat_map(|e| &e.indexes) {
        match exported.as_ref().map(|e| Layout::of(e, i)) {
            Some(Ok(layout)) => layouts.push(layout),
            Some(Err(e)) => run
                .observer
                .note(format!("{name}: {e}: its records are not compared")),
            None => {}
        }
    }
    let pages = StoppableFile {
        run,
        file,
        count: u32::try_from(meta.len() / SIZE as u64).unwrap_or(u32::MAX),
        counters,
    };
    let whole = meta.len() % SIZE as u64 == 0;
    let report = match innodb::check(&pages, &layouts, threads) {
        Ok(report) => report,
        Err(innodb::check::Error::Io(e)) => {
            run.check()?;
            return Err(unread(&e));
        }
        Err(e) => {
            return Err(Error::new(Kind::Archive, format!("{name}: {e}"))
                .hint("what is checked: file-per-table tablespaces of MySQL 8 and later and of MariaDB 10.5 and later, pages of 16 KiB, neither compressed nor encrypted, with rows that are not REDUNDANT"));
        }
    };
    if report.is_whole() && whole {
        return Ok(Ok(Tablespace {
            path: path.to_owned(),
            table: exported.map(|e| e.table),
            pages: report.pages,
            indexes: report.indexes,
        }));
    }
    let n = report.count + u64::from(!whole);
    let places = if n == 1 {
        "one place".to_owned()
    } else {
        format!("{n} places")
    };
    let mut text = format!("{name} is damaged in {places}:");
    if !whole {
        text += "\n  it ends in the middle of a page";
    }
    const SHOWN: usize = 50;
    for (page, what) in report.problems.iter().take(SHOWN) {
        text += &format!("\n  page {page}: {what}");
    }
    let shown = report.problems.len().min(SHOWN) as u64;
    if report.count > shown {
        text += &format!("\n  … and {} more", report.count - shown);
    }
    Ok(Err(text))
}

/// Reads the `.cfg` file that the server wrote next to the file when it was exported.
fn description(run: &Run, path: &Path) -> Result<Option<Exported>> {
    let beside = path.with_extension("cfg");
    let name = printable(&beside.display().to_string());
    match std::fs::read(&beside) {
        Ok(bytes) => match Exported::read(&bytes) {
            Ok(exported) => return Ok(Some(exported)),
            Err(e) => run.observer.warn(format!("{name} is not used: {e}")),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => {
            return Err(Error::new(
                Kind::Storage,
                format!("cannot read {name}: {e}"),
            ));
        }
    }
    run.observer.note(format!(
        "{}: without a description next to it ({name}, which FLUSH TABLES … FOR EXPORT writes) the order of records and their lengths are not checked",
        printable(&path.display().to_string())
    ));
    Ok(None)
}

/// A file whose reads end when the run is stopped.
struct StoppableFile<'a> {
    run: &'a Run,
    file: File,
    count: u32,
    counters: &'a base::Counters,
}

impl Pages for StoppableFile<'_> {
    fn count(&self) -> u32 {
        self.count
    }

    fn read(&self, number: u32, page: &mut [u8]) -> io::Result<()> {
        if number.is_multiple_of(1024) && self.run.check().is_err() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.counters.bytes.add(SIZE as u64);
        self.file
            .read_exact_at(page, u64::from(number) * SIZE as u64)
    }
}

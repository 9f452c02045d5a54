//! The rows of one table into chunks: what is whole, and beside it what is not.

use crate::account::Account;
use crate::cells::{current, key_text, without_row_end};
use crate::described;
use crate::file::{self, File, name_lost, unread};
use crate::series::Series;
use crate::{Options, side};
use archive::chunk::{ChunkRecord, ChunkWriter, Scratch};
use base::units::printable;
use base::{Counters, Error, Event, Kind, Result};
use innodb::page::NONE;
use innodb::read::{self, Rows, Salvaged};
use rows::table_plan::TablePlan;
use run::state::storage;
use run::{Run, Stop, failure};
use store::Store;

/// What became of a table.
pub struct Done {
    /// Its place among all.
    pub table: usize,
    /// Its data files.
    pub own: Vec<ChunkRecord>,
    /// Those of the tables beside it, where there are any.
    pub partial: Vec<ChunkRecord>,
    pub deleted: Vec<ChunkRecord>,
    pub old: Vec<ChunkRecord>,
    /// What is lost.
    pub account: Account,
    /// Whether none of its files could be read.
    pub unread: bool,
}

/// Reads tables.
pub struct Reader<'a> {
    pub run: &'a Run,
    pub stop: &'a Stop<'a>,
    pub options: &'a Options,
    pub store: &'a dyn Store,
    pub counters: &'a Counters,
}

/// The rows of a table that are there.
struct Own<'a> {
    series: Series<'a>,
    account: Account,
    /// Rows of the history of a system-versioned table.
    history: u64,
    /// Rows that a newer page has, too.
    older: u64,
    /// Pages with rows that lack values, by file.
    incomplete: Vec<Vec<u32>>,
    /// Whether leaves name other neighbours than the level above.
    doubtful: bool,
}

/// What is read of leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Rows that are there and whole.
    Whole,
    /// Rows that are there and lack values.
    Partial,
    /// Rows that were deleted.
    Deleted,
    /// Rows of pages that the tree does not have any more.
    Old,
}

/// Why a pass over the leaves ends early.
enum End {
    /// The file cannot be read.
    File(read::Error),
    /// The archive cannot be written, or the run is stopped.
    Other(Error),
}

impl From<read::Error> for End {
    fn from(e: read::Error) -> End {
        End::File(e)
    }
}

impl Reader<'_> {
    /// Reads a table.
    pub fn table(&self, n: usize, t: &described::Table, scratch: &mut Scratch) -> Result<Done> {
        let mut account = Account::default();
        for what in &t.not_told {
            account.note(format!("not rescued: {what}"));
        }
        if let Some(name) = &t.renamed_from {
            account.note(format!(
                "it was called {name}, as another of the rescued tables is; in the archive it has the name {}",
                t.catalog.name
            ));
        }
        let plan = TablePlan::of(&t.catalog);
        let mut files = Vec::new();
        for input in &t.files {
            self.stop.check()?;
            let shown = printable(&input.path.display().to_string());
            match file::open(
                self.run,
                self.options,
                t,
                &plan,
                &input.path,
                &shown,
                &mut account,
            ) {
                Ok(file) => files.push(file),
                Err(read::Error::Io(e)) => return Err(storage("read", &input.path, &e)),
                Err(e) => account.page(|| format!("{shown}: none of its rows: {e}")),
            }
        }
        for file in files.iter_mut().filter(|f| f.found.broken.is_some()) {
            file.compare()?;
        }
        let before = account.clone();
        let mut read = self.own(t, &plan, &files, account, scratch)?;
        if read.doubtful {
            // Some pages are older than others: rows may be there twice, or on pages that those above do not know yet. Once
            // more, by all pages, with the keys compared.
            for file in &mut files {
                file.look_at_all()?;
                file.compare()?;
            }
            read.series.remove();
            let mut before = before;
            for file in &files {
                name_lost(&file.found, &file.shown, &mut before);
            }
            read = self.own(t, &plan, &files, before, scratch)?;
            read.account.note(
                "its pages are of different moments, as after a crash: rows may be missing, or older than others".to_owned(),
            );
        }
        let Own {
            series: own,
            account,
            history,
            older,
            incomplete,
            ..
        } = read;
        let lost: u64 = files.iter().map(|f| f.opened.unreadable()).sum();
        let rows = own.rows();
        let mut done = Done {
            table: n,
            own: own.end(scratch)?,
            partial: Vec::new(),
            deleted: Vec::new(),
            old: Vec::new(),
            account,
            unread: files.is_empty(),
        };
        if lost > 0 {
            done.account.note(format!(
                "the disk failed to give bytes of its files ({lost} times): the pages that they are of are among the lost ones"
            ));
        }
        if older > 0 {
            done.account.note(format!(
                "{older} rows are in two pages: those of the page that was changed last are in the archive"
            ));
        }
        if history > 0 {
            done.account.note(format!(
                "it is system-versioned: its history ({history} rows) is not rescued"
            ));
        }
        if incomplete.iter().any(|p| !p.is_empty()) {
            let pages: Vec<&[u32]> = incomplete.iter().map(Vec::as_slice).collect();
            done.partial = self.beside(
                t,
                &plan,
                &files,
                &pages,
                What::Partial,
                &t.names.partial,
                scratch,
            )?;
        }
        if self.options.deleted {
            let pages: Vec<&[u32]> = files.iter().map(|f| f.found.leaves.as_slice()).collect();
            done.deleted = self.beside(
                t,
                &plan,
                &files,
                &pages,
                What::Deleted,
                &t.names.deleted,
                scratch,
            )?;
        }
        if self.options.old_pages {
            let pages: Vec<&[u32]> = files.iter().map(|f| f.found.old.as_slice()).collect();
            done.old = self.beside(t, &plan, &files, &pages, What::Old, &t.names.old, scratch)?;
        }
        self.run.observer.event(Event::Table {
            schema: t.catalog.schema.clone(),
            table: t.catalog.name.clone(),
            rows,
            bytes: done.own.iter().map(|c| c.raw_bytes).sum(),
        });
        Ok(done)
    }

    /// The rows of all files that are there and whole.
    fn own<'a>(
        &'a self,
        t: &'a described::Table,
        plan: &TablePlan,
        files: &[File],
        account: Account,
        scratch: &mut Scratch,
    ) -> Result<Own<'a>> {
        let mut own = Own {
            series: Series::new(self.store, self.options, &t.names.own.base),
            account,
            history: 0,
            older: 0,
            incomplete: Vec::new(),
            doubtful: false,
        };
        let key: Vec<usize> = t
            .primary
            .iter()
            .filter_map(|k| plan.columns.iter().position(|c| c == k))
            .collect();
        for file in files {
            let shown = &file.shown;
            let mut incomplete = Vec::new();
            let Own {
                account,
                history,
                older,
                series,
                ..
            } = &mut own;
            let pages = &file.found.leaves;
            let doubtful = self.pass(
                file,
                pages,
                What::Whole,
                series,
                scratch,
                |page, row, chunk| {
                    match row {
                        Salvaged::Row(payload) => match current(t, payload, plan.columns.len()) {
                            Some(payload) => push(plan, chunk, payload)?,
                            None => *history += 1,
                        },
                        Salvaged::Partial(payload, e) => {
                            account.partial(|| {
                                let key = key_text(payload, &key);
                                format!("{shown}: the row {key} lacks values: {e}")
                            });
                            if incomplete.last() != Some(&page) {
                                incomplete.push(page);
                            }
                        }
                        Salvaged::Older => *older += 1,
                        Salvaged::Record(e) => account.row(|| format!("{shown}: {e}")),
                        Salvaged::Rest(e) => account
                            .page(|| format!("{shown}: {e}; the rows that follow on it are lost")),
                        Salvaged::Page(e) => account.page(|| format!("{shown}: {e}")),
                    }
                    Ok(())
                },
            )?;
            own.doubtful |= doubtful && file.found.broken.is_none();
            own.incomplete.push(incomplete);
        }
        Ok(own)
    }

    /// Rows that go into a table of their own; nothing where there are none.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is a part of what is read or where it goes"
    )]
    fn beside(
        &self,
        t: &described::Table,
        plan: &TablePlan,
        files: &[File],
        pages: &[&[u32]],
        what: What,
        names: &side::Named,
        scratch: &mut Scratch,
    ) -> Result<Vec<ChunkRecord>> {
        let mut series = Series::new(self.store, self.options, &names.base);
        for (file, pages) in files.iter().zip(pages) {
            self.pass(file, pages, what, &mut series, scratch, |_, row, chunk| {
                let payload = match (what, &row) {
                    (What::Partial, Salvaged::Partial(payload, _))
                    | (
                        What::Deleted | What::Old,
                        Salvaged::Row(payload) | Salvaged::Partial(payload, _),
                    ) => payload,
                    _ => return Ok(()),
                };
                match without_row_end(t, payload, plan.columns.len()) {
                    Some(payload) => push(plan, chunk, payload),
                    None => Ok(()),
                }
            })?;
        }
        if series.rows() == 0 {
            return Ok(Vec::new());
        }
        series.end(scratch)
    }

    /// Reads pages of a file, and cuts what is written into chunks. Returns whether leaves in a row do not name each other.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is a part of what is read or where it goes"
    )]
    fn pass(
        &self,
        file: &File,
        pages: &[u32],
        what: What,
        series: &mut Series<'_>,
        scratch: &mut Scratch,
        mut each: impl FnMut(u32, Salvaged<'_>, &mut ChunkWriter<'_>) -> std::result::Result<(), End>,
    ) -> Result<bool> {
        let unread = |e: read::Error| unread(&file.shown, e);
        let space = file.opened.space().map_err(unread)?;
        let rows = Rows::new(&space, &file.table, file.found.id, &file.columns).map_err(unread)?;
        let mut rows = match what {
            What::Deleted => rows.of_deleted(),
            What::Old => rows,
            What::Whole | What::Partial => rows.without(&file.older),
        };
        let mut doubtful = false;
        let mut chunk = series.create(scratch)?;
        for (n, page) in pages.iter().enumerate() {
            self.stop.check()?;
            let (rows_before, bytes_before) = (chunk.rows(), chunk.raw_bytes());
            let mut outcome = rows.salvage(*page, &mut |row| each(*page, row, &mut chunk));
            if what == What::Deleted && outcome.is_ok() {
                outcome = rows
                    .purged(*page, &mut |payload| {
                        each(*page, Salvaged::Row(payload), &mut chunk)
                    })
                    .map(drop);
            }
            if let Some(named) = rows.neighbours() {
                let before = n.checked_sub(1).map_or(NONE, |n| pages[n]);
                let after = pages.get(n + 1).copied().unwrap_or(NONE);
                doubtful |= named != (before, after);
            }
            match outcome {
                Ok(()) => {}
                Err(End::File(e)) => return Err(unread(e)),
                Err(End::Other(e)) => return Err(e),
            }
            self.counters.rows.add(chunk.rows() - rows_before);
            self.counters.bytes.add(chunk.raw_bytes() - bytes_before);
            if series.is_full(&chunk) {
                series.finish(chunk)?;
                chunk = series.create(scratch)?;
            }
        }
        series.finish(chunk)?;
        Ok(doubtful)
    }
}

fn push(
    plan: &TablePlan,
    chunk: &mut ChunkWriter<'_>,
    payload: &[u8],
) -> std::result::Result<(), End> {
    let pushed = chunk.push(&plan.rows, payload);
    pushed.map_err(|e| {
        End::Other(failure::archive(
            format_args!("cannot write rows of {}", plan.name),
            &e,
        ))
    })
}

/// Whether nothing of all tables could be read.
pub fn nothing(done: &[Done]) -> bool {
    done.iter().all(|d| d.unread)
}

/// The error of that.
pub fn nothing_error(lines: &[String]) -> Error {
    let first = lines.first().map_or("", String::as_str);
    Error::new(
        Kind::Archive,
        format!("nothing can be read of the files; the first reason: {first}"),
    )
}

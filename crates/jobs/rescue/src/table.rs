//! The rows of one table into chunks: what is whole, and beside it what is not.

use crate::account::Account;
use crate::described::{self, Opened};
use crate::series::Series;
use crate::{Options, side};
use archive::chunk::{ChunkRecord, ChunkWriter, Scratch};
use base::units::printable;
use base::{Counters, Error, Event, Kind, Result};
use innodb::page::NONE;
use innodb::read::salvage::Found;
use innodb::read::{self, Rows, Salvaged, Window, versions};
use rows::table_plan::TablePlan;
use run::state::storage;
use run::{Run, Stop, failure};
use std::io;
use std::path::Path;
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

/// A file of a table that can be read.
struct File {
    opened: Opened,
    /// Its path for people.
    shown: String,
    table: read::Table,
    found: Found,
    columns: Vec<usize>,
    /// Rows that a newer page of it has.
    older: versions::Older,
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

impl File {
    /// Finds the leaves again, by all pages.
    fn look_at_all(&mut self) -> Result<()> {
        let why = "its leaves name other neighbours".to_owned();
        let found = self.opened.space().and_then(|space| {
            let (table, id) = (&self.table, Some(self.found.id));
            Found::by_pages(&space, &table.clustered, table.redundant, id, why)
        });
        self.found = found.map_err(|e| unread(&self.shown, e))?;
        Ok(())
    }

    /// Finds the rows that are in it twice.
    fn compare(&mut self) -> Result<()> {
        let older = self.opened.space().and_then(|space| {
            let index = &self.table.clustered;
            let found = &self.found;
            versions::older(&space, index, self.table.redundant, found.id, &found.leaves)
        });
        self.older = older.map_err(|e| unread(&self.shown, e))?;
        Ok(())
    }
}

fn unread(shown: &str, e: read::Error) -> Error {
    let e = match e {
        read::Error::Io(e) => e,
        e => io::Error::other(e.to_string()),
    };
    storage("read", Path::new(shown), &e)
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
        let plan = TablePlan::of(&t.catalog);
        let mut files = Vec::new();
        for input in &t.files {
            self.stop.check()?;
            let shown = printable(&input.path.display().to_string());
            match self.open(t, &plan, &input.path, &shown, &mut account) {
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

    /// Opens a file, and finds its leaves.
    fn open(
        &self,
        t: &described::Table,
        plan: &TablePlan,
        path: &Path,
        shown: &str,
        account: &mut Account,
    ) -> std::result::Result<File, read::Error> {
        let opened = Opened::new(path)?;
        let (table, found, columns) = {
            let space = opened.space()?;
            if let Some(why) = &opened.damaged {
                account.page(|| {
                    format!("{shown}: page 0: {why}; what it says is taken from other pages")
                });
            }
            cut(&space, opened.damaged.is_some(), shown, account)?;
            let (table, id, doubt) = t.of_file(&space)?;
            if let Some(e) = doubt {
                account.note(format!(
                    "{shown}: what an instant ALTER TABLE left cannot be read ({e}): rows of before and after it may be lost"
                ));
            }
            let all = self.options.old_pages;
            let found = Found::of(&space, &table.clustered, table.redundant, id, all)?;
            if let Some(why) = &found.broken {
                account.page(|| {
                    format!("{shown}: the index of the rows is damaged ({why}): its leaves were looked for in all pages")
                });
            }
            name_lost(&found, shown, account);
            let mut columns = Vec::new();
            for name in plan.columns.iter().chain(&t.row_end) {
                let column = table.column(name);
                columns.push(column.ok_or_else(|| {
                    read::Error::Definition(format!("it has no column {}", printable(name)))
                })?);
            }
            // Types that are not read are known now.
            Rows::new(&space, &table, found.id, &columns)?;
            (table, found, columns)
        };
        Ok(File {
            opened,
            shown: shown.to_owned(),
            table,
            found,
            columns,
            older: versions::Older::new(),
        })
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

/// Names the pages that are lost.
fn name_lost(found: &Found, shown: &str, account: &mut Account) {
    for lost in &found.lost {
        account.page(|| {
            let records = match lost.records {
                Some(n) => format!("it had {n} rows, as what is left of it says"),
                None => "it may have had rows".to_owned(),
            };
            format!("{shown}: page {}: {}; {records}", lost.page, lost.why)
        });
    }
}

/// Names what the end of a file lacks.
fn cut(
    space: &read::Tablespace<'_>,
    first_is_damaged: bool,
    shown: &str,
    account: &mut Account,
) -> std::result::Result<(), read::Error> {
    /// How many pages there are (`FSP_SIZE`).
    const SIZE: usize = 38 + 8;
    let has = space.pages();
    let mut window = Window::default();
    let says = match first_is_damaged {
        true => has,
        false => innodb::page::u32_at(space.page(&mut window, 0)?, SIZE),
    };
    if says > has {
        account.page(|| {
            format!(
                "{shown}: it ends after page {}, and had {says} pages",
                i64::from(has) - 1
            )
        });
    } else if space.cut_off()? > 0 {
        account.page(|| format!("{shown}: it ends within page {has}"));
    }
    Ok(())
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

/// The cells of a row.
fn cells(payload: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = payload;
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let (length, bytes) = match *first {
            archive::row::NULL => {
                rest = behind;
                return Some(None);
            }
            0xfc => (2, behind),
            0xfd => (3, behind),
            0xfe => (8, behind),
            _ => (0, rest),
        };
        let (length, behind) = match length {
            0 => (usize::from(bytes[0]), &bytes[1..]),
            n => {
                let (digits, behind) = bytes.split_at_checked(n)?;
                let number = digits
                    .iter()
                    .rev()
                    .fold(0usize, |n, b| n << 8 | usize::from(*b));
                (number, behind)
            }
        };
        let (cell, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some(Some(cell))
    })
}

/// The row without the cell that says until when it was current; `None`: it is no row.
fn without_row_end<'p>(t: &described::Table, payload: &'p [u8], count: usize) -> Option<&'p [u8]> {
    if t.row_end.is_none() {
        return Some(payload);
    }
    let last = cells(payload).nth(count)?;
    // It is short: one byte for its length.
    payload.get(..payload.len() - 1 - last.map_or(0, <[u8]>::len))
}

/// The same of a row that is current; `None` for one of the history.
fn current<'p>(t: &described::Table, payload: &'p [u8], count: usize) -> Option<&'p [u8]> {
    if t.row_end.is_some() {
        // The greatest TIMESTAMP, that of MariaDB 11.5 and later, and the greatest number of a transaction.
        const NEVER: [&[u8]; 3] = [
            b"2038-01-19 03:14:07.999999",
            b"2106-02-07 06:28:15.999999",
            b"18446744073709551615",
        ];
        let last = cells(payload).nth(count)??;
        if !NEVER.contains(&last) {
            return None;
        }
    }
    without_row_end(t, payload, count)
}

/// The key of a row for people.
fn key_text(payload: &[u8], key: &[usize]) -> String {
    /// Characters of each value.
    const SHOWN: usize = 40;
    let all: Vec<Option<&[u8]>> = cells(payload).collect();
    let one = |n: &usize| match all.get(*n) {
        Some(Some(value)) => String::from_utf8_lossy(value).chars().take(SHOWN).collect(),
        _ => "NULL".to_owned(),
    };
    let values: Vec<String> = key.iter().map(one).collect();
    match values.is_empty() {
        true => "(without a primary key)".to_owned(),
        false => format!("({})", values.join(", ")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_walked() {
        let mut payload = vec![2, b'a', b'b', 0xfb, 0xfc, 0, 1];
        payload.extend([b'x'; 256]);
        payload.push(0);
        let all: Vec<_> = cells(&payload).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[0], all[1], all[3]),
            (Some(&b"ab"[..]), None, Some(&b""[..]))
        );
        assert_eq!(all[2].map(<[u8]>::len), Some(256));
        // What ends early has fewer.
        assert_eq!(cells(&payload[..100]).count(), 2);
        assert_eq!(key_text(&payload, &[0, 1]), "(ab, NULL)");
        assert_eq!(key_text(&payload, &[]), "(without a primary key)");
    }
}

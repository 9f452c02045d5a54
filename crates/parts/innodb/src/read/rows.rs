//! Rows of a table as the server would send them, page by page.
//!
//! Each row is one payload of the text protocol with the cells of the columns that were asked for. Memory is used
//! again from row to row; what a row needs depends on its own length only.

use super::chain::{Chain, info};
use super::entries::{Derived, Entries};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves::{self, Leaf};
use super::outside::Outside;
use super::record::{Found, Records, Span};
use super::table::{Absent, Index, Table, Values};
use super::types::{Broken, Type};
use super::versions::{self, Older};
use crate::page::{fil, u32_at};
use values::number::Whole;

/// The cell of NULL in the text protocol.
const NULL: u8 = 0xfb;

/// Reads rows; one for each thread.
pub struct Rows<'t> {
    space: &'t Tablespace<'t>,
    table: &'t Table,
    /// The index's number.
    id: u64,
    records: Records,
    cells: Vec<Cell<'t>>,
    deleted: bool,
    /// Rows that a newer page has.
    older: Option<&'t Older>,
    /// The neighbours of the leaf that was read last.
    neighbours: Option<(u32, u32)>,
    derived: Vec<Derived<'t>>,
    spans: Vec<Span>,
    payload: Vec<u8>,
    long: Vec<u8>,
    outside: Outside,
    window: Window,
}

/// A column that is asked for.
struct Cell<'t> {
    field: usize,
    of: &'t Type,
    /// Most columns have whole numbers, which take the shortest way.
    whole: Option<Whole>,
}

impl<'t> Rows<'t> {
    /// Of the columns with these numbers (places in [`Table::columns`]), in this order; `id` is that of
    /// [`super::leaves::Leaves`].
    pub fn new(
        space: &'t Tablespace<'t>,
        table: &'t Table,
        id: u64,
        columns: &[usize],
    ) -> Result<Rows<'t>, Error> {
        let cell = |n: &usize| {
            let column = table.columns.get(*n);
            let column =
                column.ok_or_else(|| Error::Definition(format!("there is no column {n}")))?;
            match &column.values {
                Values::Stored(of) => {
                    let field = table.field(*n).ok_or_else(|| {
                        Error::Definition(format!("column {} is not in rows", column.name))
                    })?;
                    let whole = of.whole();
                    Ok(Cell { field, of, whole })
                }
                Values::Unread(why) => Err(Error::Unsupported(format!(
                    "column {}, {why},",
                    column.name
                ))),
                Values::Virtual => Err(Error::Definition(format!(
                    "column {} is virtual: rows do not have it",
                    column.name
                ))),
            }
        };
        let records = Records::of(&table.clustered, table.redundant);
        Ok(Rows {
            space,
            table,
            id,
            cells: columns.iter().map(cell).collect::<Result<_, _>>()?,
            deleted: false,
            older: None,
            neighbours: None,
            derived: Vec::new(),
            spans: records.spans(),
            records,
            payload: Vec::new(),
            long: Vec::new(),
            outside: Outside::default(),
            window: Window::default(),
        })
    }

    /// Reads the rows that are marked as deleted and not yet purged, instead of those that are there.
    pub fn of_deleted(mut self) -> Self {
        self.deleted = true;
        self
    }

    /// Leaves these rows out, for [`Self::salvage`] to name them.
    pub fn without(mut self, older: &'t Older) -> Self {
        self.older = Some(older).filter(|o| !o.is_empty());
        self
    }

    /// The pages before and after the leaf that [`Self::salvage`] has read, as it names them; `None`: it is not whole.
    pub fn neighbours(&self) -> Option<(u32, u32)> {
        self.neighbours
    }

    /// Also counts and digests the entries that the rows should have in these indexes.
    pub fn deriving(mut self, indexes: impl IntoIterator<Item = &'t Index>) -> Result<Self, Error> {
        for index in indexes {
            self.derived.push(Derived::of(self.table, index)?);
        }
        Ok(self)
    }

    /// The entries of the rows that were read, for each index of [`Self::deriving`].
    pub fn derived(&self) -> impl Iterator<Item = (&'t Index, Entries)> {
        self.derived.iter().map(Derived::entries)
    }

    /// The rows of these leaves, in their order; returns how many. Leaves that lie one after another in the file are read
    /// together.
    pub fn scan<E: From<Error>>(
        &mut self,
        leaves: &[Leaf],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut window = std::mem::take(&mut self.window);
        let mut rows = 0;
        leaves::pages(self.space, &mut window, leaves, |leaf, page| {
            rows += self.page(leaf.page, page, &mut each)?;
            Ok::<_, E>(())
        })?;
        self.window = window;
        Ok(rows)
    }

    /// The rows of a page, which has been read and checked; returns how many.
    pub fn page<E: From<Error>>(
        &mut self,
        number: u32,
        page: &[u8],
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        leaves::is_of(page, number, self.id, 0, self.table.redundant)?;
        let mut chain = Chain::of(page);
        let mut rows = 0;
        while let Some(at) = chain.next().map_err(|why| Error::damaged(number, why))? {
            let flags = chain.info(at);
            // At a leaf, the least record is what MariaDB's instant ALTER left to know.
            if flags & info::LEAST != 0 || (flags & info::DELETED != 0) != self.deleted {
                continue;
            }
            self.row(number, page, at)?;
            each(&self.payload)?;
            rows += 1;
        }
        Ok(rows)
    }

    /// What can be had of the rows of a leaf whatever it is worth: of each row the payload, or why there is none.
    ///
    /// Only errors of reading the file, and those of `each`, end it.
    pub fn salvage<E: From<Error>>(
        &mut self,
        number: u32,
        each: &mut impl FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = std::mem::take(&mut self.window);
        let outcome = self.salvage_page(number, &mut window, each);
        self.window = window;
        outcome
    }

    fn salvage_page<E: From<Error>>(
        &mut self,
        number: u32,
        window: &mut Window,
        each: &mut impl FnMut(Salvaged<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.neighbours = None;
        let page = match self.space.page(window, number) {
            Ok(page) => page,
            Err(e) => return each(Salvaged::Page(e.not_io()?)),
        };
        if let Err(e) = leaves::is_of(page, number, self.id, 0, self.table.redundant) {
            return each(Salvaged::Page(e));
        }
        self.neighbours = Some((u32_at(page, fil::PREV), u32_at(page, fil::NEXT)));
        let mut chain = Chain::of(page);
        loop {
            let at = match chain.next() {
                Ok(Some(at)) => at,
                Ok(None) => return Ok(()),
                Err(why) => return each(Salvaged::Rest(Error::damaged(number, why))),
            };
            let flags = chain.info(at);
            if flags & info::LEAST != 0 || (flags & info::DELETED != 0) != self.deleted {
                continue;
            }
            let filled = self.fill::<true>(number, page, at);
            if let Some(older) = self.older
                && filled.is_ok()
                && let Some(key) = versions::key(page, &self.spans, self.table.clustered.branch)
                && older.contains(&(number, key))
            {
                each(Salvaged::Older)?;
                continue;
            }
            match filled {
                Ok(None) => each(Salvaged::Row(&self.payload))?,
                Ok(Some(e)) => each(Salvaged::Partial(&self.payload, e))?,
                Err(e) => each(Salvaged::Record(e.not_io()?))?,
            }
        }
    }

    /// The deleted rows that a leaf no longer lists, but still has the bytes of: records that were marked as deleted, and
    /// whose place is free since. What cannot be read of them is left out; returns how many.
    pub fn purged<E: From<Error>>(
        &mut self,
        number: u32,
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut window = std::mem::take(&mut self.window);
        let outcome = self.purged_of(number, &mut window, each);
        self.window = window;
        outcome
    }

    fn purged_of<E: From<Error>>(
        &mut self,
        number: u32,
        window: &mut Window,
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut unread = 0;
        let page = match self.space.page(window, number) {
            Ok(page) => page,
            Err(e) => {
                e.not_io()?;
                return Ok(0);
            }
        };
        if leaves::is_of(page, number, self.id, 0, self.table.redundant).is_err() {
            return Ok(0);
        }
        let mut chain = Chain::of_free(page);
        while let Some(at) = chain.next_free() {
            let flags = chain.info(at);
            // Others were moved to another page, or replaced by a longer version.
            if flags & info::DELETED == 0 || flags & info::LEAST != 0 {
                continue;
            }
            match self.fill::<false>(number, page, at) {
                // MariaDB overwrites what it purges with zeros.
                Ok(_) if self.is_overwritten(page) => unread += 1,
                Ok(_) => each(&self.payload)?,
                Err(e) => {
                    e.not_io()?;
                    unread += 1;
                }
            }
        }
        Ok(unread)
    }

    /// Whether the record that was read last has no `DB_ROLL_PTR`, as none has that was ever written.
    fn is_overwritten(&self, page: &[u8]) -> bool {
        let field = self.table.clustered.branch + 1;
        match self.spans.get(field).map(|s| s.of(page)) {
            Some(Found::Whole(bytes)) => bytes.iter().all(|b| *b == 0),
            _ => true,
        }
    }

    /// Makes the payload of a record.
    #[inline]
    fn row(&mut self, number: u32, page: &[u8], at: usize) -> Result<(), Error> {
        self.fill::<false>(number, page, at).map(|_| ())
    }

    /// The same; where it is lenient, NULL takes the place of values that cannot be read, and the first reason is returned.
    #[inline]
    fn fill<const LENIENT: bool>(
        &mut self,
        number: u32,
        page: &[u8],
        at: usize,
    ) -> Result<Option<Error>, Error> {
        if let Err(why) = self.records.leaf(page, at, &mut self.spans) {
            return Err(of_record(number, at, why));
        }
        self.payload.clear();
        let mut first = None;
        for cell in &self.cells {
            if let Some(whole) = cell.whole
                && let Some(raw) = self.spans[cell.field].ending(page, whole.bytes())
            {
                whole.cell(raw, &mut self.payload);
                continue;
            }
            let before = self.payload.len();
            let broken = |why: Broken| {
                broken(
                    self.table,
                    &self.table.clustered,
                    cell.field,
                    number,
                    at,
                    &why,
                )
            };
            let written = match self.spans[cell.field].of(page) {
                Found::Whole(bytes) => cell.of.cell(bytes, &mut self.payload).map_err(broken),
                Found::Null => {
                    self.payload.push(NULL);
                    Ok(())
                }
                Found::Outside(local) => {
                    self.long.clear();
                    let read = self
                        .outside
                        .value(self.space, number, local, &mut self.long);
                    match read {
                        Ok(()) => cell.of.cell(&self.long, &mut self.payload).map_err(broken),
                        Err(e) => Err(e),
                    }
                }
                Found::Absent => match &self.table.clustered.fields[cell.field].absent {
                    Absent::Bytes(bytes) => cell.of.cell(bytes, &mut self.payload).map_err(broken),
                    Absent::Null => {
                        self.payload.push(NULL);
                        Ok(())
                    }
                    Absent::Never => Err(of_record(number, at, "lacks a column")),
                },
            };
            if let Err(e) = written {
                if !LENIENT {
                    return Err(e);
                }
                first.get_or_insert(e.not_io()?);
                self.payload.truncate(before);
                self.payload.push(NULL);
            }
        }
        for d in &mut self.derived {
            d.add(
                self.space,
                self.table,
                number,
                page,
                &self.spans,
                &mut self.outside,
            )?;
        }
        Ok(first)
    }
}

/// What is left of a row.
#[derive(Debug)]
pub enum Salvaged<'p> {
    /// All of it.
    Row(&'p [u8]),
    /// A part: values that cannot be read are NULL in the payload; why.
    Partial(&'p [u8], Error),
    /// A row that a newer page has.
    Older,
    /// Nothing of one row.
    Record(Error),
    /// Nothing of the rows of the page that follow.
    Rest(Error),
    /// Nothing of the page.
    Page(Error),
}

fn of_record(page: u32, at: usize, why: &str) -> Error {
    Error::damaged(page, format!("the record at byte {at} {why}"))
}

#[cold]
fn broken(table: &Table, index: &Index, field: usize, page: u32, at: usize, why: &Broken) -> Error {
    let column = index.fields[field].column;
    let name = column.map_or("", |n| table.columns[n].name.as_str());
    Error::damaged(
        page,
        format!("the record at byte {at}: column {name}: {why}"),
    )
}

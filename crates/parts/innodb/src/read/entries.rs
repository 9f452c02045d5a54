//! Entries of secondary indexes: how many, and a digest that does not depend on their order; of an index as it is, and as
//! the rows say it should be.
//!
//! Equal counts and digests mean that every entry has its row and every row its entry. Values are taken as they are
//! stored, without regard to types.

use super::chain::{Chain, info};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves::{self, Leaf};
use super::outside::Outside;
use super::prefix::Cut;
use super::record::{Found, Records, Span};
use super::table::{Absent, Index, Table};
use xxhash_rust::xxh3::xxh3_128;

/// Entries of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// How many.
    pub count: u64,
    /// The sum, modulo 2^128, of the XXH3-128 of each.
    pub sum: u128,
}

impl Entries {
    /// Those of another piece of the index, too.
    pub fn merge(&mut self, other: &Entries) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    fn add(&mut self, entry: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(entry));
    }

    /// Those of these leaves of an index; `id` is that of [`leaves::Leaves`].
    pub fn of_index(
        space: &Tablespace<'_>,
        table: &Table,
        index: &Index,
        id: u64,
        leaves: &[Leaf],
    ) -> Result<Entries, Error> {
        let records = Records::of(index, table.redundant);
        let mut spans = records.spans();
        let mut entries = Entries::default();
        let mut entry = Vec::new();
        let mut window = Window::default();
        leaves::pages(space, &mut window, leaves, |leaf, page| {
            let damaged = |why| Error::damaged(leaf.page, why);
            leaves::is_of(page, leaf.page, id, 0, table.redundant)?;
            let mut chain = Chain::of(page);
            while let Some(at) = chain.next().map_err(damaged)? {
                if chain.info(at) & info::DELETED != 0 {
                    continue;
                }
                records.leaf(page, at, &mut spans).map_err(damaged)?;
                entry.clear();
                for span in &spans {
                    match span.of(page) {
                        Found::Null => null(&mut entry),
                        Found::Whole(bytes) => value(bytes, &mut entry),
                        _ => return Err(damaged("an entry of an index is not whole")),
                    }
                }
                entries.add(&entry);
            }
            Ok(())
        })?;
        Ok(entries)
    }
}

fn null(entry: &mut Vec<u8>) {
    entry.extend_from_slice(&u32::MAX.to_le_bytes());
}

fn value(bytes: &[u8], entry: &mut Vec<u8>) {
    entry.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    entry.extend_from_slice(bytes);
}

/// The entries that rows should have in an index.
#[derive(Debug)]
pub(super) struct Derived<'t> {
    index: &'t Index,
    /// The fields of the clustered index that those of the index are made of, in their order.
    from: Vec<usize>,
    entries: Entries,
    entry: Vec<u8>,
}

impl<'t> Derived<'t> {
    pub(super) fn of(table: &Table, index: &'t Index) -> Result<Derived<'t>, Error> {
        let from = index.fields.iter().map(|f| {
            let whole = |c: &super::table::Field| {
                c.stored.is_some() && c.stored == f.stored && c.prefix == 0
            };
            let place = table.clustered.fields.iter().position(whole);
            place.ok_or_else(|| {
                Error::Definition(format!("index {} has a field that rows lack", index.name))
            })
        });
        let unknown = |f: &super::table::Field| f.prefix > 0 && f.cut == Cut::Unknown;
        if index.fields.iter().any(unknown) {
            return Err(Error::Unsupported(format!(
                "index {}, with a prefix in a multi-byte character set other than Unicode,",
                index.name
            )));
        }
        Ok(Derived {
            from: from.collect::<Result<_, _>>()?,
            index,
            entries: Entries::default(),
            entry: Vec::new(),
        })
    }

    pub(super) fn entries(&self) -> (&'t Index, Entries) {
        (self.index, self.entries)
    }

    /// Adds the entry of a row.
    pub(super) fn add(
        &mut self,
        space: &Tablespace<'_>,
        table: &Table,
        number: u32,
        page: &[u8],
        spans: &[Span],
        outside: &mut Outside,
    ) -> Result<(), Error> {
        self.entry.clear();
        for (field, from) in self.index.fields.iter().zip(&self.from) {
            let mut put = |bytes: &[u8]| {
                let length = match field.prefix {
                    0 => bytes.len(),
                    prefix => field.cut.length(bytes, prefix as usize),
                };
                value(&bytes[..length], &mut self.entry);
            };
            match spans[*from].of(page) {
                Found::Whole(bytes) => put(bytes),
                Found::Null => null(&mut self.entry),
                Found::Outside(local) => {
                    let mut long = Vec::new();
                    outside.value(space, number, local, &mut long)?;
                    put(&long);
                }
                Found::Absent => match &table.clustered.fields[*from].absent {
                    Absent::Bytes(bytes) => put(bytes),
                    Absent::Null => null(&mut self.entry),
                    Absent::Never => {
                        return Err(Error::damaged(number, "a record lacks a column"));
                    }
                },
            }
        }
        self.entries.add(&self.entry);
        Ok(())
    }
}

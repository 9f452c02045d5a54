//! Rows into a file: records of the clustered index in their order, those of the
//! secondary indexes through a sort.

use super::encode::{POINTER, Span, encode, in_row, of_spans};
use super::extents::own_page;
use super::page::Encoded;
use super::sort::{Batch, Shape, Sorter};
use super::tree::{self, Done, Pages, Run, Shared, Target};
use super::{Error, Sink, Template, key};
use crate::cfg::Exported;
use crate::page::kind;
use crate::record::Value;
use crate::value::{Kind, Wrong};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Longest record of a page; longer ones store long values externally.
const LONGEST: usize = 8126;

/// Shorter values are always stored inline.
const SHORTEST_OUTSIDE: usize = 2 * POINTER;

/// How a file is built.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for sorting, in bytes.
    pub memory: usize,
    /// Directory for sorted runs that do not fit into memory.
    pub folder: PathBuf,
    /// Threads that build indexes at the end.
    pub threads: usize,
}

/// The source of a field's bytes.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A column.
    Column(usize),
    /// A prefix: bytes of it, and the longest character in bytes.
    Prefix(usize, usize, usize),
    /// `DB_TRX_ID`: no transaction.
    Transaction,
    /// `DB_ROLL_PTR`: an insert, nothing to roll back.
    Roll,
    /// `DB_ROW_ID`, by which a table without a key is clustered.
    Number,
}

/// A column of the given rows.
struct Column {
    name: String,
    kind: Kind,
    nullable: bool,
    /// Bytes of each value, if the file defines a fixed length.
    fixed: Option<usize>,
}

/// A file in progress.
pub struct Builder<'a> {
    shared: Shared<'a>,
    template: &'a Template,
    /// By index, the clustered one first.
    sources: Vec<Vec<Source>>,
    columns: Vec<Column>,
    sorters: Vec<Sorter<'a>>,
    threads: usize,
}

impl<'a> Builder<'a> {
    /// An empty file. `columns` are those whose values are given, in their order.
    pub fn new(
        template: &'a Template,
        exported: &Exported,
        columns: Vec<(String, Kind)>,
        sink: &'a dyn Sink,
        options: &Options,
    ) -> Result<Builder<'a>, Error> {
        let shared = Shared {
            sink,
            format: template.format,
            space: template.space,
            lsn: template.lsn,
            extents: Mutex::new(template.extents()),
        };
        let mut sources = Vec::new();
        for (target, index) in template.targets.iter().zip(&exported.indexes) {
            let mut of = Vec::new();
            for f in &index.fields {
                of.push(match f.name.as_str() {
                    "DB_TRX_ID" => Source::Transaction,
                    "DB_ROLL_PTR" => Source::Roll,
                    "DB_ROW_ID" => Source::Number,
                    name => {
                        let at = columns.iter().position(|c| c.0 == name);
                        let at = at.ok_or_else(|| Error::Column(name.to_owned()))?;
                        let widest = exported.column(name).map_or(1, |c| c.character.end.max(1));
                        let set = columns[at].1.charset();
                        match f.prefix {
                            0 => Source::Column(at),
                            _ if set.is_some_and(|set| !set.is_walked()) => {
                                return Err(Error::Unknown(index.name.clone()));
                            }
                            n => Source::Prefix(at, n as usize, usize::from(widest)),
                        }
                    }
                });
            }
            if of.len() != target.layout.fields.len() {
                return Err(Error::Builder("fields of an index"));
            }
            sources.push(of);
        }
        let used = |n: usize| {
            sources[0]
                .iter()
                .any(|s| matches!(s, Source::Column(c) if *c == n))
        };
        if let Some(lost) = (0..columns.len()).find(|n| !used(*n)) {
            return Err(Error::Column(columns[lost].0.clone()));
        }
        let columns = columns
            .into_iter()
            .map(|(name, kind)| {
                let nullable = exported
                    .column(&name)
                    .is_some_and(crate::cfg::Column::is_nullable);
                let at = exported.indexes[0]
                    .fields
                    .iter()
                    .position(|f| f.name == name);
                let fixed = at.and_then(|at| template.targets[0].layout.fields[at].fixed);
                Column {
                    name,
                    kind,
                    nullable,
                    fixed,
                }
            })
            .collect();
        let others = &template.targets[1..];
        let threads = options.threads.max(1);
        // Each thread may be sorting its own part of them.
        let each = options.memory / (others.len() + threads);
        let sorter =
            |t: &Target| Sorter::new(Shape::of(&t.layout), each, options.folder.clone(), sink);
        Ok(Builder {
            shared,
            template,
            sources,
            columns,
            sorters: others.iter().map(sorter).collect(),
            threads: threads.min(others.len().max(1)),
        })
    }

    /// A range of rows; several may be filled at once, each by its own thread. In a table without a key rows are in
    /// the order of their row ids, which start at `first` in this range; otherwise `first` is not used.
    pub fn rows(&self, first: u64) -> Rows<'_> {
        Rows {
            builder: self,
            number: first,
            run: Run::new(&self.shared, &self.template.targets[0]),
            outside: Pages::new(&self.shared, self.template.targets[0].leaves),
            bytes: SYSTEM.to_vec(),
            cells: Vec::new(),
            spans: Vec::new(),
            record: Encoded::default(),
            key: Vec::new(),
            first: None,
            last: Vec::new(),
            batches: self.sorters.iter().map(Sorter::batch).collect(),
        }
    }

    /// Joins the ranges, which may come in any order, builds the secondary indexes, and writes the headers.
    /// Returns the number of pages of the file.
    pub fn finish(self, mut stretches: Vec<RowRange>) -> Result<u32, Error> {
        stretches.retain(|s| s.keys.is_some());
        stretches.sort_by(|a, b| a.keys.cmp(&b.keys));
        for pair in stretches.windows(2) {
            if let [Some((_, before)), Some((behind, _))] = [&pair[0].keys, &pair[1].keys]
                && before >= behind
            {
                return Err(Error::Order);
            }
        }
        let runs = stretches.into_iter().map(|s| s.done).collect();
        let rows = tree::finish(&self.shared, &self.template.targets[0], runs)?;
        let work = self.sorters.into_iter().zip(&self.template.targets[1..]);
        let mut work: Vec<_> = work.collect();
        // The largest first: a large one that starts last would keep the other threads waiting.
        work.sort_by_key(|(sorter, _)| sorter.size());
        let work = Mutex::new(work);
        let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop();
        std::thread::scope(|scope| {
            let shared = &self.shared;
            let workers: Vec<_> = (0..self.threads)
                .map(|_| {
                    scope.spawn(|| {
                        while let Some((sorter, target)) = next() {
                            secondary(shared, target, sorter, rows)?;
                        }
                        Ok::<(), Error>(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|w| {
                w.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        let extents = self
            .shared
            .extents
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut kept = self.template.kept();
        let first = kept
            .get(&0)
            .cloned()
            .ok_or(Error::Builder("no first page"))?;
        for number in extents.descriptor_pages() {
            kept.insert(number, own_page(number, &first, kind::EXTENTS));
            kept.insert(number + 1, own_page(number + 1, &first, kind::BITMAP));
        }
        extents.write(&mut kept);
        for (number, mut page) in kept {
            self.shared.format.seal(&mut page);
            self.shared.sink.write(number, &page)?;
        }
        Ok(extents.size())
    }
}

/// An index from its sorted records.
fn secondary(
    shared: &Shared<'_>,
    target: &Target,
    sorter: Sorter<'_>,
    rows: u64,
) -> Result<(), Error> {
    let mut run = Run::new(shared, target);
    sorter.drain(&target.layout.name, |record| run.push(record))?;
    if tree::finish(shared, target, vec![run.end()?])? == rows {
        Ok(())
    } else {
        Err(Error::Builder(
            "an index has another number of records than rows",
        ))
    }
}

/// A finished range of rows.
pub struct RowRange {
    done: Done,
    /// Keys of the first and the last row, as bytes in their order.
    keys: Option<(Vec<u8>, Vec<u8>)>,
}

impl RowRange {
    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.done.count
    }
}

/// The values of the system columns: no transaction, nothing to roll back because it is an insert, and the row
/// id.
const SYSTEM: [u8; 19] = [0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Position of the row id in it.
const NUMBER: std::ops::Range<usize> = 13..19;

/// Row ids are below.
const NUMBERS: u64 = 1 << 48;

/// A range of rows that are consecutive in the primary key.
pub struct Rows<'a> {
    builder: &'a Builder<'a>,
    /// Row id of the next row.
    number: u64,
    run: Run<'a>,
    outside: Pages<'a>,
    /// What [`SYSTEM`] holds, then the values of a row.
    bytes: Vec<u8>,
    /// By column.
    cells: Vec<Span>,
    /// By field of an index.
    spans: Vec<Span>,
    record: Encoded,
    key: Vec<u8>,
    /// Keys of the first row and of the last one.
    first: Option<Vec<u8>>,
    last: Vec<u8>,
    /// By secondary index.
    batches: Vec<Batch>,
}

impl Rows<'_> {
    /// Adds a row: the text of each column as [`Kind::put`] takes it, `None` for NULL.
    pub fn push<'v>(
        &mut self,
        row: impl IntoIterator<Item = Option<&'v [u8]>>,
    ) -> Result<(), Error> {
        row.into_iter().try_for_each(|cell| self.cell(cell))?;
        self.row()
    }

    /// The next value of a row.
    #[inline]
    pub fn cell(&mut self, text: Option<&[u8]>) -> Result<(), Error> {
        let column = self.builder.columns.get(self.cells.len());
        let column = column.ok_or(Error::Builder("a row has too many values"))?;
        let Some(text) = text else {
            if !column.nullable {
                return Err(Error::Null(column.name.clone()));
            }
            self.cells.push(None);
            return Ok(());
        };
        let at = self.bytes.len();
        let wrong = |wrong| Error::Value(column.name.clone(), wrong);
        column.kind.put(text, &mut self.bytes).map_err(wrong)?;
        let end = self.bytes.len();
        // Another length than the file's description says would shift all following fields.
        if column.fixed.is_some_and(|fixed| end - at != fixed) {
            return Err(wrong(Wrong("length")));
        }
        self.cells.push(Some((at as u32, end as u32)));
        Ok(())
    }

    /// All values of a row have been added.
    pub fn row(&mut self) -> Result<(), Error> {
        if self.cells.len() < self.builder.columns.len() {
            return Err(Error::Builder("a row has too few values"));
        }
        if self.number >= NUMBERS {
            return Err(Error::Order);
        }
        self.bytes[NUMBER].copy_from_slice(&self.number.to_be_bytes()[2..]);
        self.number += 1;
        self.fill_indexes()?;
        self.bytes.truncate(SYSTEM.len());
        self.cells.clear();
        Ok(())
    }

    /// Puts the values into every index.
    fn fill_indexes(&mut self) -> Result<(), Error> {
        if u32::try_from(self.bytes.len()).is_err() {
            return Err(Error::RowSize);
        }
        self.clustered()?;
        for (n, target) in self.builder.template.targets.iter().enumerate().skip(1) {
            self.spans(n);
            let value = |n: usize| in_row(&self.bytes, self.spans[n]);
            self.key.clear();
            let unique = key::key(&target.layout, value, &mut self.key);
            let unique = unique.ok_or_else(|| Error::Unknown(target.layout.name.clone()))?;
            let batch = &mut self.batches[n - 1];
            if !batch.is_of_keys() {
                of_spans(&target.layout, &self.bytes, &self.spans, &mut self.record);
            }
            if batch.push(&self.key, unique, &self.record)? {
                self.hand_over(n - 1)?;
            }
        }
        Ok(())
    }

    /// The fields of an index.
    fn spans(&mut self, index: usize) {
        let Rows {
            bytes,
            cells,
            spans,
            ..
        } = self;
        spans.clear();
        spans.extend(self.builder.sources[index].iter().map(|s| match *s {
            Source::Column(n) => cells[n],
            Source::Prefix(n, most, widest) => cells[n].map(|(from, to)| {
                let kept = prefix(&bytes[from as usize..to as usize], most, widest);
                (from, from + kept.len() as u32)
            }),
            Source::Transaction => Some((0, 6)),
            Source::Roll => Some((6, NUMBER.start as u32)),
            Source::Number => Some((NUMBER.start as u32, NUMBER.end as u32)),
        }));
    }

    fn hand_over(&mut self, n: usize) -> Result<(), Error> {
        self.builder.sorters[n].take(&mut self.batches[n])
    }

    fn clustered(&mut self) -> Result<(), Error> {
        let Target { layout, .. } = &self.builder.template.targets[0];
        self.spans(0);
        let value = |n: usize| in_row(&self.bytes, self.spans[n]);
        self.key.clear();
        key::key(layout, value, &mut self.key)
            .ok_or_else(|| Error::Unknown(layout.name.clone()))?;
        if self.first.is_none() {
            self.first = Some(self.key.clone());
        } else if self.key <= self.last {
            return Err(Error::Order);
        }
        std::mem::swap(&mut self.last, &mut self.key);
        of_spans(layout, &self.bytes, &self.spans, &mut self.record);
        if self.record.bytes.len() > LONGEST {
            self.shortened()?;
        }
        self.run.push(&self.record)
    }

    /// Stores long values of a row externally, the longest first, until the rest fits.
    fn shortened(&mut self) -> Result<(), Error> {
        let Target { layout, .. } = &self.builder.template.targets[0];
        let mut values: Vec<Value<'_>> =
            self.spans.iter().map(|s| in_row(&self.bytes, *s)).collect();
        while self.record.bytes.len() > LONGEST {
            let longest = values
                .iter()
                .enumerate()
                .skip(layout.keys)
                .filter_map(|(n, v)| match v {
                    Value::Bytes(b)
                        if layout.fields[n].big
                            && layout.fields[n].fixed.is_none()
                            && b.len() > SHORTEST_OUTSIDE =>
                    {
                        Some((b.len(), n))
                    }
                    _ => None,
                })
                .max();
            let Some((_, n)) = longest else {
                return Err(Error::RowSize);
            };
            if let Value::Bytes(b) = values[n] {
                let pointer = tree::outside(&mut self.outside, &self.builder.shared, b)?;
                values[n] = Value::Outside(&[], pointer);
            }
            let count = values.len();
            encode(layout, |n| values[n], count, None, &mut self.record);
        }
        Ok(())
    }

    /// Ends this range.
    pub fn end(mut self) -> Result<RowRange, Error> {
        self.outside.end()?;
        for n in 0..self.batches.len() {
            self.hand_over(n)?;
        }
        Ok(RowRange {
            done: self.run.end()?,
            keys: self.first.map(|first| (first, self.last)),
        })
    }
}

/// As many characters as fit a prefix of that many bytes if each takes the maximum.
fn prefix(value: &[u8], bytes: usize, widest: usize) -> &[u8] {
    if widest == 1 {
        return &value[..value.len().min(bytes)];
    }
    let characters = bytes / widest;
    let begins = |b: &u8| b & 0xc0 != 0x80;
    let mut starts = value.iter().enumerate().filter(|(_, b)| begins(b));
    starts.nth(characters).map_or(value, |(at, _)| &value[..at])
}

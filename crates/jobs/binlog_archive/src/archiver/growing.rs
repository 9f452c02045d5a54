//! The segment that is being filled and, where commits wait for the archive, what of it is stored already.
//!
//! A source with semi-synchronous replication waits until what it sent is stored. So it is stored at once, as a small segment:
//! a *part*. When the whole segment is due, it takes the name of its first part, and the others are removed. Until then, and
//! after a kill for good, parts are segments as all others.
//! Invariant: whatever is killed when, every part is there, or the whole segment is.

use crate::segment::{Head, Segment};
use base::Result;
use binlog::gtid::Executed;
use binlog::{Boundaries, Transaction};
use encryption::Sealing;
use std::time::Duration;
use store::Store;

pub(crate) struct Growing {
    whole: Segment,
    /// What is in no store yet, where parts are stored.
    part: Option<Segment>,
    /// Parts that are stored.
    parts: Vec<Head>,
}

impl Growing {
    /// An empty one behind this; `in_parts` if commits wait for it.
    pub(crate) fn new(before: &Head, mariadb: bool, in_parts: bool) -> Result<Growing> {
        let part = in_parts
            .then(|| Segment::new(before, mariadb))
            .transpose()?;
        Ok(Growing {
            whole: Segment::new(before, mariadb)?,
            part,
            parts: Vec::new(),
        })
    }

    fn both(&mut self) -> impl Iterator<Item = &mut Segment> {
        std::iter::once(&mut self.whole).chain(self.part.as_mut())
    }

    /// See [`Segment::push`].
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.both().try_for_each(|s| s.push(bytes))
    }

    /// See [`Segment::whole`].
    pub(crate) fn whole(&mut self) {
        self.both().for_each(Segment::whole);
    }

    /// See [`Segment::add`].
    pub(crate) fn add(&mut self, transaction: &Transaction) {
        self.both().for_each(|s| s.add(transaction));
    }

    /// See [`Segment::described`].
    pub(crate) fn described(&mut self, created: u32, server_version: &str) {
        self.both()
            .for_each(|s| s.described(created, server_version));
    }

    /// See [`Segment::executed_before`].
    pub(crate) fn executed_before(&mut self, executed: &Executed) {
        self.both().for_each(|s| s.executed_before(executed));
    }

    pub(crate) fn head(&self) -> &Head {
        self.whole.head()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_empty()
    }

    /// Bytes of the log in it.
    pub(crate) fn len(&self) -> u64 {
        self.whole.len()
    }

    /// Since when its first byte waits for the whole segment to be stored.
    pub(crate) fn age(&self) -> Duration {
        self.whole.since.elapsed()
    }

    /// The age of the oldest byte that is in no store.
    pub(crate) fn unstored(&self) -> Option<Duration> {
        let unstored = self.part.as_ref().unwrap_or(&self.whole);
        (!unstored.is_empty()).then(|| unstored.since.elapsed())
    }

    /// Bytes that are in no store, where parts are stored.
    pub(crate) fn part_len(&self) -> u64 {
        self.part.as_ref().map_or(0, Segment::len)
    }

    /// Stores what is in no store, where parts are stored.
    pub(crate) fn store_part(
        &mut self,
        store: &dyn Store,
        sealing: Option<&Sealing>,
        boundaries: &Boundaries,
        mariadb: bool,
    ) -> Result<()> {
        let Some(part) = self.part.take_if(|p| !p.is_empty()) else {
            return Ok(());
        };
        let head = part.finish(store, sealing, boundaries, None)?;
        self.part = Some(Segment::new(&head, mariadb)?);
        self.parts.push(head);
        base::failpoint::reached("a part of a segment is stored");
        Ok(())
    }

    /// Stores all of it, in place of its parts. `next`: the file ends, and the log goes on in that one.
    pub(crate) fn finish(
        self,
        store: &dyn Store,
        sealing: Option<&Sealing>,
        boundaries: &Boundaries,
        next: Option<&str>,
    ) -> Result<Head> {
        let head = self.whole.finish(store, sealing, boundaries, next)?;
        // The first has the name of the whole. One that cannot be removed now, the next run removes.
        for part in self.parts.iter().skip(1) {
            let _ = store.remove(&part.name());
        }
        Ok(head)
    }
}

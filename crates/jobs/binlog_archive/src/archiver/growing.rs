//! The segment that is being filled and, where commits wait for the archive, what of it is stored already.
//!
//! A source with semi-synchronous replication waits until what it sent is stored. So it is stored at once, as a small segment:
//! a *part*. When the whole segment is due, it takes the name of its first part, and the others are removed. Until then, and
//! after a kill for good, parts are segments as all others.
//! Invariant: whatever is killed when, every part is there, or the whole segment is.

use crate::segment::{Head, Segment};
use base::Result;
use binlog::gtid::Executed;
use binlog::{Boundaries, Description, Header, Transaction};
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

    /// See [`Segment::begin_file`].
    pub(crate) fn begin_file(
        &mut self,
        description: &Description,
        header: &Header,
        bytes: &[u8],
    ) -> Result<u64> {
        self.both()
            .try_fold(0, |_, s| s.begin_file(description, header, bytes))
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

    /// How many parts there are.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Stores all of it, in place of its parts. `next`: the file ends, and the log goes on in that one. Returns the parts that
    /// are of no use now.
    pub(crate) fn finish(
        self,
        store: &dyn Store,
        sealing: Option<&Sealing>,
        boundaries: &Boundaries,
        next: Option<&str>,
    ) -> Result<(Head, Vec<String>)> {
        let head = self.whole.finish(store, sealing, boundaries, next)?;
        // The first has the name of the whole.
        let parts = self.parts.iter().skip(1).map(Head::name).collect();
        Ok((head, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::Kept;
    use crate::layout::Name;
    use crate::timeline::Timeline;
    use std::io::Read;
    use std::sync::Arc;

    const FILE: &str = "binlog.000001";

    /// A timeline whose only file has these parts, and what grows on behind them.
    fn parts(store: &Arc<store::Memory>, all: &[&[u8]]) -> Growing {
        let timeline = Timeline {
            version: Timeline::VERSION,
            number: 1,
            flavour: "mariadb".to_owned(),
            server_version: "10.11".to_owned(),
            server_uuid: None,
            server_id: 1,
            file: FILE.to_owned(),
            began: "2026-11-27T00:00:00Z".to_owned(),
            reason: "the first".to_owned(),
            executed_before: None,
            follows: None,
            missing: None,
        };
        let name = Name::Timeline(1).to_string();
        store
            .put(&name, timeline.to_text().as_bytes())
            .expect("stored");
        let before = Head {
            timeline: 1,
            file: FILE.to_owned(),
            ..Head::default()
        };
        let mut growing = Growing::new(&before, true, true).expect("a segment");
        for part in all {
            growing.push(part).expect("pushed");
            growing
                .store_part(&**store, None, &Boundaries::new(), true)
                .expect("stored");
        }
        growing
    }

    fn kept(store: &Arc<store::Memory>) -> Kept {
        Kept::open(Arc::clone(store) as Arc<dyn Store>).expect("kept")
    }

    /// Whoever reads parts while the whole segment takes their place reads the same bytes.
    #[test]
    fn parts_are_replaced_while_they_are_read() {
        let store = Arc::new(store::Memory::new("test"));
        for before in 0..4 {
            let mut growing = parts(&store, &[b"first ", b"second ", b"third "]);
            let listed = kept(&store);
            let file = &listed.timelines[0].files[0];
            assert_eq!(file.segments.len(), 3);
            let mut bytes = listed.bytes(file, 0);
            // One that has not begun to read, behind the first part.
            let mut later = listed.bytes(file, 13);
            let mut read = vec![0; before * 6];
            bytes.read_exact(&mut read).expect("read");
            growing.push(b"fourth ").expect("pushed");
            let done = growing.finish(&*store, None, &Boundaries::new(), None);
            let (head, parts) = done.expect("stored");
            assert_eq!((head.end, parts.len()), (26, 2));
            parts
                .iter()
                .for_each(|name| store.remove(name).expect("removed"));
            bytes.read_to_end(&mut read).expect("read");
            assert_eq!(String::from_utf8_lossy(&read), "first second third ");
            let mut third = String::new();
            later.read_to_string(&mut third).expect("read");
            assert_eq!(third, "third ");
            // Who comes later finds one.
            let after = kept(&store);
            let file = &after.timelines[0].files[0];
            assert_eq!((file.segments.len(), file.end()), (1, 26));
        }
    }

    /// A run that was killed before it removed the parts.
    #[test]
    fn parts_that_stayed_are_of_no_use_and_removed() {
        let store = Arc::new(store::Memory::new("test"));
        let growing = parts(&store, &[b"first ", b"second ", b"third "]);
        let second = growing.parts[1].name();
        let bytes = store.read_all(&second, 1 << 20).expect("a part");
        let (_, parts) = growing
            .finish(&*store, None, &Boundaries::new(), None)
            .expect("stored");
        parts
            .iter()
            .for_each(|name| store.remove(name).expect("removed"));
        store.put(&second, &bytes).expect("stored");
        let mut found = kept(&store);
        let file = &found.timelines[0].files[0];
        assert_eq!((file.segments.len(), file.gap, file.end()), (1, None, 19));
        let mut read = Vec::new();
        found.bytes(file, 6).read_to_end(&mut read).expect("read");
        assert_eq!(String::from_utf8_lossy(&read), "second third ");
        found.remove_covered();
        assert!(store.read_all(&second, 1 << 20).is_err());
    }
}

//! What is archived so far, and the segment that is being filled.

use super::growing::Growing;
use super::remover::Remover;
use super::standing::Standings;
use super::{Options, Summary};
use crate::kept::{Kept, KeptTimeline};
use crate::layout::Name;
use crate::segment::Head;
use crate::timeline::Timeline;
use base::{Counters, Result};
use binlog::gtid::Executed;
use binlog::{Boundaries, Transaction};
use encryption::Sealing;
use run::{Run, failure};
use std::sync::Arc;
use store::Store;

/// The whole segment is stored after so many parts, however young it is.
const MOST_PARTS: usize = 256;

/// After so many segments of a file their heads are stored in one object.
const TOGETHER: usize = 64;

pub(crate) struct State<'r> {
    pub(crate) run: &'r Run,
    pub(crate) options: &'r Options,
    store: Arc<dyn Store>,
    sealing: Option<Arc<Sealing>>,
    counters: &'r Counters,
    pub(crate) summary: Summary,
    pub(crate) standings: Standings,
    /// The newest timeline.
    pub(crate) timeline: Option<Timeline>,
    /// The heads of the file that is being followed.
    heads: Vec<Head>,
    segment: Option<Growing>,
    pub(crate) boundaries: Boundaries,
    /// What was executed before the newest timeline and those that it carries on, and what they hold.
    pub(crate) archived: Option<Executed>,
    /// Whether there was something before this run.
    pub(crate) resumed: bool,
    /// Connections to a source so far.
    pub(crate) sessions: u64,
    /// How often one failed.
    pub(crate) lost: u64,
    remover: Remover,
    /// The server's file is not the one that is archived under its name.
    pub(crate) changed: bool,
    /// Bytes when [`State::took_something`] was asked last.
    asked: u64,
}

impl<'r> State<'r> {
    pub(crate) fn new(
        run: &'r Run,
        store: Arc<dyn Store>,
        options: &'r Options,
        counters: &'r Counters,
        kept: Kept,
    ) -> Result<State<'r>> {
        let newest = kept.newest();
        // Of a file whose segments are all damaged nothing is known; the one before it names it as its next.
        let file = newest.and_then(|t| t.files.iter().rfind(|f| !f.segments.is_empty()));
        let heads = file.map_or_else(Vec::new, |f| f.segments.clone());
        let boundaries = heads.last().and_then(|h| h.open.as_ref());
        Ok(State {
            boundaries: boundaries.map_or_else(Boundaries::new, |open| open.boundaries()),
            archived: archived(&kept),
            timeline: newest.map(|t| t.timeline.clone()),
            resumed: !heads.is_empty(),
            sessions: 0,
            lost: 0,
            remover: Remover::new(Arc::clone(&store)),
            sealing: kept.sealing.clone(),
            heads,
            segment: None,
            run,
            store,
            options,
            counters,
            summary: Summary::default(),
            standings: Standings::new(),
            changed: false,
            asked: 0,
        })
    }

    /// Whether no source was followed yet, or waited for.
    pub(crate) fn is_first(&self) -> bool {
        self.sessions == 0 && self.lost == 0
    }

    /// Says how the archive stands.
    pub(crate) fn report(&mut self) {
        let unstored = self.segment.as_ref().and_then(Growing::unstored);
        self.standings.report(&*self.run.observer, unstored);
    }

    /// Whether anything came since this was asked last.
    pub(crate) fn took_something(&mut self) -> bool {
        let bytes = self.counters.bytes.get();
        std::mem::replace(&mut self.asked, bytes) != bytes
    }

    /// Where the archive ends: the file, the offset in it, and when the file was begun. `None` before the first byte of a timeline.
    pub(crate) fn place(&self) -> Option<(&str, u64, u32)> {
        if let Some(segment) = &self.segment {
            let head = segment.head();
            return Some((&head.file, head.end, head.created));
        }
        let last = self.heads.last()?;
        Some(match &last.next {
            Some(next) => (next, 0, 0),
            None => (&last.file, last.end, last.created),
        })
    }

    /// The file that the archive ends with, and when it was begun, if all of it is there and nothing of the next.
    pub(crate) fn ended(&self) -> Option<(String, u32)> {
        let last = self.heads.last().filter(|_| self.segment.is_none())?;
        last.next.as_ref()?;
        Some((last.file.clone(), last.created))
    }

    pub(crate) fn is_mariadb(&self) -> bool {
        self.timeline.as_ref().is_some_and(Timeline::is_mariadb)
    }

    /// Begins a timeline; from here on everything belongs to it.
    pub(crate) fn begin_timeline(&mut self, mut timeline: Timeline) -> Result<()> {
        self.flush()?;
        timeline.number = self.timeline.as_ref().map_or(0, |t| t.number) + 1;
        let name = Name::Timeline(timeline.number).to_string();
        self.store
            .put(&name, timeline.to_text().as_bytes())
            .and_then(|()| self.store.sync())
            .map_err(|e| failure::store("cannot store the binary log", &e))?;
        base::failpoint::reached("a timeline of the binary log is begun");
        if let Some(missing) = &timeline.missing {
            let what = format!("missing in the archive: {missing} ({})", timeline.reason);
            self.run.observer.warn(what.clone());
            self.summary.exceptions.push(what);
        }
        if timeline.follows.is_none() {
            // After a reset the same GTIDs mean other transactions.
            let before = timeline.executed_before.as_deref().unwrap_or_default();
            self.archived = Executed::parse(timeline.is_mariadb(), before);
        }
        self.heads.clear();
        self.segment = None;
        self.changed = false;
        self.boundaries = Boundaries::new();
        self.timeline = Some(timeline);
        Ok(())
    }

    /// Goes on with another file: the one before it has ended.
    pub(crate) fn begin_file(&mut self, file: &str) -> Result<()> {
        let here = self.heads.last().is_some_and(|h| h.file == file);
        if here || self.segment.as_ref().is_some_and(|s| s.head().file == file) {
            return Ok(());
        }
        self.store_segment(Some(file))?;
        // Its last segment may have been stored before its end was known.
        if let Some(last) = self.heads.last_mut() {
            last.next = Some(file.to_owned());
        }
        Kept::join(&*self.store, &self.heads)
            .map_err(|e| failure::store("cannot store the binary log", &e))?;
        let (timeline, version) = self.of_timeline();
        self.heads.clear();
        self.boundaries = Boundaries::new();
        let before = Head {
            timeline,
            file: file.to_owned(),
            server_version: version,
            ..Head::default()
        };
        let in_parts = self.options.semi_sync;
        self.segment = Some(Growing::new(&before, self.is_mariadb(), in_parts)?);
        Ok(())
    }

    fn of_timeline(&self) -> (u32, String) {
        let timeline = self.timeline.as_ref();
        let version = timeline.map_or_else(String::new, |t| t.server_version.clone());
        (timeline.map_or(0, |t| t.number), version)
    }

    /// The segment that is being filled; a new one behind the last.
    pub(crate) fn segment(&mut self, file: &str) -> Result<&mut Growing> {
        let segment = match self.segment.take() {
            Some(segment) => segment,
            None => {
                let (timeline, server_version) = self.of_timeline();
                let first = Head {
                    timeline,
                    file: file.to_owned(),
                    server_version,
                    ..Head::default()
                };
                let before = self.heads.last().filter(|h| h.file == file);
                let in_parts = self.options.semi_sync;
                Growing::new(before.unwrap_or(&first), self.is_mariadb(), in_parts)?
            }
        };
        Ok(self.segment.insert(segment))
    }

    /// A transaction that ended with the last bytes.
    pub(crate) fn add(&mut self, transaction: &Transaction) {
        if let (Some(archived), Some(gtid)) = (&mut self.archived, &transaction.gtid) {
            archived.add(gtid);
        }
        if let Some(segment) = &mut self.segment {
            segment.add(transaction);
        }
    }

    pub(crate) fn count(&self, bytes: usize) {
        self.counters.bytes.add(bytes as u64);
    }

    /// Stores the segment if it is due.
    ///
    /// `margin`: the next look at the clock comes no later, with an event or a heartbeat.
    pub(crate) fn flush_if_due(&mut self, margin: std::time::Duration) -> Result<()> {
        let oldest = self.options.max_age.saturating_sub(margin);
        let segment = self.segment.as_ref().filter(|s| !s.is_empty());
        let due = self.is_large() || segment.is_some_and(|s| s.age() >= oldest);
        if due { self.flush() } else { Ok(()) }
    }

    /// Whether the segment is due, however young it is.
    pub(crate) fn is_large(&self) -> bool {
        let segment = self.segment.as_ref().filter(|s| !s.is_empty());
        segment.is_some_and(|s| s.len() >= self.options.max_segment || s.parts() >= MOST_PARTS)
    }

    /// Bytes that no store has, where commits wait for it.
    pub(crate) fn part_len(&self) -> u64 {
        self.segment.as_ref().map_or(0, Growing::part_len)
    }

    /// Stores everything that came for commits that wait.
    pub(crate) fn store_part(&mut self) -> Result<()> {
        let mariadb = self.is_mariadb();
        let (store, sealing) = (&*self.store, self.sealing.as_deref());
        match &mut self.segment {
            Some(segment) => segment.store_part(store, sealing, &self.boundaries, mariadb),
            None => Ok(()),
        }
    }

    /// Stores everything that came.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.store_segment(None)
    }

    fn store_segment(&mut self, next: Option<&str>) -> Result<()> {
        let Some(segment) = self.segment.take_if(|s| !s.is_empty()) else {
            return Ok(());
        };
        let from = (segment.head().file.clone(), segment.head().start);
        let (head, parts) = segment.finish(
            &*self.store,
            self.sealing.as_deref(),
            &self.boundaries,
            next,
        )?;
        self.remover.remove(parts);
        let summary = &mut self.summary;
        summary.segments += 1;
        summary.bytes += head.end - head.start;
        summary.stored += head.stored;
        summary.transactions += head.transactions;
        summary.from.get_or_insert(from);
        summary.to = Some((head.file.clone(), head.end));
        summary.last_time = summary.last_time.max(head.last_time);
        summary.timeline = head.timeline;
        self.counters.stored.add(head.stored);
        self.heads.push(head);
        // Who lists the archive then reads one object instead of many.
        if self.heads.len().is_multiple_of(TOGETHER) {
            Kept::join(&*self.store, &self.heads)
                .map_err(|e| failure::store("cannot store the binary log", &e))?;
        }
        Ok(())
    }
}

/// Everything that the timelines hold together which carry each other on, up to the newest.
fn archived(kept: &Kept) -> Option<Executed> {
    let carries_on = |t: &KeptTimeline| t.timeline.follows.is_some();
    let begin = kept.timelines.iter().rposition(|t| !carries_on(t));
    let timelines = &kept.timelines[begin.unwrap_or(0)..];
    let first = timelines.first()?;
    // The files before the first that is kept may have been pruned.
    let stated = first.first().and_then(|h| h.executed_before.as_deref());
    let before = stated.or(first.timeline.executed_before.as_deref());
    let mut all = Executed::parse(first.timeline.is_mariadb(), before.unwrap_or(""))?;
    for timeline in timelines {
        all.add_all(&timeline.gtids());
    }
    Some(all)
}

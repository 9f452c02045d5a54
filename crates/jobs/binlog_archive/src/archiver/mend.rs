//! Archives again what was lost or damaged in the repository, as long as the server has that file.
//!
//! A file of the server is the one that is archived under its name if it was begun at the same second by the same server; the bytes
//! that are fetched must end where the next segment begins. What is whole is left as it is.

use super::Options;
use crate::kept::{Hole, Kept, KeptFile, KeptTimeline};
use crate::layout::order;
use crate::segment::{self, Head, Segment};
use crate::source::{Source, is_made_for_stream, of_log, stated};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog::body::Rotate;
use binlog::{Boundaries, Description, Event, Header, MAGIC, Mark, kind};
use run::{Run, failure};
use std::time::Duration;
use wire::replication::LogRequest;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Mended {
    /// Parts that were archived again.
    pub(crate) mended: Vec<String>,
    /// Parts that are still missing.
    pub(crate) missing: Vec<String>,
}

/// A part of a file that is missing.
struct Lost {
    file: String,
    hole: Hole,
    /// When the server began the file, if a segment of it says so.
    created: Option<u32>,
    /// It was begun between these two.
    between: (u32, u32),
    /// The segment in front of it.
    before: Head,
    /// The file behind it, if the part is the end of its file.
    next: Option<String>,
}

impl Lost {
    fn shown(&self) -> String {
        let end = self
            .hole
            .end
            .map_or_else(|| "its end".to_owned(), |e| e.to_string());
        printable(&format!("{} from {} to {end}", self.file, self.hole.start))
    }
}

/// Compares every segment with its digest first, and takes those out that are damaged.
pub(crate) fn read_through(run: &Run, kept: &mut Kept) -> Result<()> {
    let phase = run.phase("checking binary logs", 1);
    let store = std::sync::Arc::clone(&kept.store);
    for file in kept.timelines.iter_mut().flat_map(|t| &mut t.files) {
        let all: Vec<Head> = file.segments.iter().chain(&file.behind).cloned().collect();
        for head in all {
            run.check()?;
            match segment::verify(&*store, &head) {
                Err(e) if e.kind == Kind::Archive => file.lose(head.start, e.what),
                done => done?,
            }
            phase.counters.bytes.add(head.end - head.start);
        }
    }
    Ok(())
}

/// Fetches what is missing. A server that cannot be reached now is no error here: following it is the next thing that is tried.
pub(crate) fn mend(run: &Run, kept: &Kept, options: &Options) -> Result<Mended> {
    let mut done = Mended::default();
    for timeline in &kept.timelines {
        let mut source = None;
        for lost in lost(timeline) {
            source = source.or_else(|| same_server(run, options, timeline));
            done.one(run, kept, timeline, source.as_ref(), options, &lost)?;
        }
        // Files of which nothing is kept are known by the server's list alone.
        if gone_files(timeline) {
            source = source.or_else(|| same_server(run, options, timeline));
            let names = source.as_ref().map_or_else(Vec::new, |(_, source)| {
                source.files.iter().map(|f| f.name.clone()).collect()
            });
            for lost in lost_files(timeline, &names) {
                done.one(run, kept, timeline, source.as_ref(), options, &lost)?;
            }
        }
    }
    Ok(done)
}

type Found<'o> = (&'o wire::Options, Source);

impl Mended {
    fn one(
        &mut self,
        run: &Run,
        kept: &Kept,
        timeline: &KeptTimeline,
        source: Option<&Found<'_>>,
        options: &Options,
        lost: &Lost,
    ) -> Result<()> {
        run.check()?;
        let shown = lost.shown();
        let here = source.filter(|(_, s)| s.file(&lost.file).is_some());
        let outcome = match (source, here) {
            (None, _) => Err("the server that wrote it cannot be reached".to_owned()),
            (_, None) => Err("the server has that file no more".to_owned()),
            (_, Some((wire, _))) => match fetch(run, kept, timeline, wire, options, lost) {
                Err(e) if e.kind == Kind::Interrupted || e.kind == Kind::Storage => return Err(e),
                outcome => outcome.map_err(|e| e.what),
            },
        };
        match outcome {
            Ok(()) => {
                run.observer.note(format!(
                    "archived again, as it was lost or damaged: {shown}"
                ));
                self.mended.push(shown);
            }
            Err(why) => {
                let what = format!(
                    "lost or damaged in the repository: {shown}, and not archived again: {why}"
                );
                run.observer.warn(printable(&what));
                self.missing.push(printable(&what));
            }
        }
        Ok(())
    }
}

/// A connection to the server whose log this is.
fn same_server<'o>(run: &Run, options: &'o Options, timeline: &KeptTimeline) -> Option<Found<'o>> {
    options.sources.iter().find_map(|wire| {
        let source = Source::open(run, wire).ok()?;
        let is = source.is_of(&timeline.timeline);
        is.then_some((wire, source))
    })
}

/// What is missing of files of which something is kept.
fn lost(timeline: &KeptTimeline) -> Vec<Lost> {
    let files = &timeline.files;
    let mut all = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let next = files.get(i + 1).map(|f| f.name.clone());
        for hole in file.holes(next.is_some()) {
            let heads = || file.segments.iter().chain(&file.behind);
            let before = heads().find(|h| h.end == hole.start).cloned();
            all.push(Lost {
                file: file.name.clone(),
                hole,
                created: heads().next().map(|h| h.created),
                between: around(files, i),
                before: before.unwrap_or_else(|| head_of(timeline, &file.name)),
                next: next.clone(),
            });
        }
    }
    all
}

/// When the files before and after were begun.
fn around(files: &[KeptFile], i: usize) -> (u32, u32) {
    let begun = |file: &KeptFile| file.segments.first().map(|h| h.created);
    let before = files[..i].iter().rev().find_map(begun).unwrap_or(0);
    let after = files.get(i + 1..).and_then(|f| f.iter().find_map(begun));
    (before, after.unwrap_or(u32::MAX))
}

fn head_of(timeline: &KeptTimeline, file: &str) -> Head {
    Head {
        timeline: timeline.timeline.number,
        file: file.to_owned(),
        server_version: timeline.timeline.server_version.clone(),
        ..Head::default()
    }
}

/// Whether a file names another one as its next than the one that follows.
fn gone_files(timeline: &KeptTimeline) -> bool {
    let pairs = timeline.files.windows(2);
    let mut named = pairs.map(|p| {
        (
            p[0].segments.last().and_then(|h| h.next.as_ref()),
            &p[1].name,
        )
    });
    named.any(|(next, after)| next.is_some_and(|n| n != after))
}

/// Files between others of which nothing is kept.
fn lost_files(timeline: &KeptTimeline, names: &[String]) -> Vec<Lost> {
    let files = &timeline.files;
    let mut all = Vec::new();
    for (i, pair) in files.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        let first = before.segments.last().and_then(|h| h.next.clone());
        let Some(first) = first.filter(|n| *n != after.name) else {
            continue;
        };
        let is_between = |n: &&String| order(n) >= order(&first) && order(n) < order(&after.name);
        let mut between: Vec<String> = names.iter().filter(is_between).cloned().collect();
        if !between.contains(&first) {
            between.insert(0, first);
        }
        for (n, name) in between.iter().enumerate() {
            all.push(Lost {
                file: name.clone(),
                hole: Hole {
                    start: 0,
                    end: None,
                },
                created: None,
                between: (around(files, i + 1).0, around(files, i).1),
                before: head_of(timeline, name),
                next: Some(between.get(n + 1).unwrap_or(&after.name).clone()),
            });
        }
    }
    all
}

/// Fetches a part, and stores it.
fn fetch(
    run: &Run,
    kept: &Kept,
    timeline: &KeptTimeline,
    wire: &wire::Options,
    options: &Options,
    lost: &Lost,
) -> Result<()> {
    let mut source = Source::open(run, wire)?;
    source.prepare(Duration::from_secs(10))?;
    let mut filling = Filling::new(kept, timeline, options, lost)?;
    let wrong = |e: binlog::Error| of_log(&lost.file, &e);
    let start = lost.hole.start.max(MAGIC.len() as u64);
    let request = LogRequest {
        server_id: options.server_id,
        file: lost.file.clone(),
        position: u32::try_from(start).map_err(|_| {
            let what = "the protocol has no offsets behind 4 GiB";
            Error::new(Kind::Failed, what)
        })?,
        follow: false,
        silence: Some(Duration::from_secs(60)),
        semi_sync: false,
    };
    let mut description = Description::of_stream(source.checksum);
    let cannot = |e| failure::wire("cannot read the binary log again", e);
    let mut events = source.conn.binary_log(&request).map_err(cannot)?;
    while let Some(bytes) = events.next().map_err(cannot)? {
        run.check()?;
        let header = Header::parse(bytes).map_err(wrong)?;
        if header.kind == kind::FORMAT_DESCRIPTION {
            description = Description::parse(bytes).map_err(wrong)?;
            filling.check(header.timestamp)?;
            if filling.at == 0 {
                filling.begin(&description, &header, bytes)?;
            }
        } else if is_made_for_stream(&header) {
            let event = Event::parse(bytes, &description).map_err(wrong)?;
            if header.kind == kind::ROTATE {
                let rotate = Rotate::parse(event.body()).map_err(wrong)?;
                if rotate.file != lost.file {
                    return filling.end(Some(&rotate.file));
                }
            }
        } else {
            filling.take(&Event::parse(bytes, &description).map_err(wrong)?)?;
        }
        if lost.hole.end.is_some_and(|end| filling.at >= end) {
            return filling.end(None);
        }
    }
    Err(filling.other("the server's file ends before"))
}

/// The part while it comes.
struct Filling<'a> {
    kept: &'a Kept,
    lost: &'a Lost,
    longest: u64,
    mariadb: bool,
    segment: Segment,
    boundaries: Boundaries,
    /// Behind the last byte.
    at: u64,
}

impl<'a> Filling<'a> {
    fn new(
        kept: &'a Kept,
        timeline: &KeptTimeline,
        options: &Options,
        lost: &'a Lost,
    ) -> Result<Filling<'a>> {
        let mariadb = timeline.timeline.is_mariadb();
        let open = lost.before.open.as_ref();
        Ok(Filling {
            kept,
            lost,
            longest: options.max_segment,
            mariadb,
            segment: Segment::new(&lost.before, mariadb)?,
            boundaries: open.map_or_else(Boundaries::new, |open| open.boundaries()),
            at: lost.hole.start,
        })
    }

    fn other(&self, why: &str) -> Error {
        let what = format!(
            "{} of the server is not the one that is archived: {why}",
            self.lost.file
        );
        Error::new(Kind::Differs, printable(&what))
    }

    /// Whether the server began this file when the archived one was begun.
    fn check(&self, created: u32) -> Result<()> {
        let (after, before) = self.lost.between;
        let is = match self.lost.created {
            Some(known) => known == created,
            None => (after..=before).contains(&created),
        };
        match is {
            true => Ok(()),
            false => Err(self.other("it was begun at another time")),
        }
    }

    fn begin(&mut self, description: &Description, header: &Header, bytes: &[u8]) -> Result<()> {
        self.at += self.segment.begin_file(description, header, bytes)?;
        Ok(())
    }

    fn take(&mut self, event: &Event<'_>) -> Result<()> {
        let wrong = |e: binlog::Error| of_log(&self.lost.file, &e);
        let bytes = event.bytes();
        let end = self.at + bytes.len() as u64;
        if event.header.end != 0 && event.header.end != end as u32
            || self.lost.hole.end.is_some_and(|last| end > last)
        {
            return Err(self.other("its events end at other places"));
        }
        let mark = self.boundaries.take(self.at, event).map_err(wrong)?;
        self.segment.push(bytes)?;
        if let Some(before) = stated(event).map_err(wrong)? {
            self.segment.executed_before(&before);
        }
        match mark {
            Mark::Between => self.segment.whole(),
            Mark::End => self.segment.add(self.boundaries.ended()),
            Mark::Inside => {}
        }
        self.at = end;
        if self.segment.len() >= self.longest && self.lost.hole.end != Some(end) {
            let next = Segment::new(self.segment.head(), self.mariadb)?;
            let full = std::mem::replace(&mut self.segment, next);
            let sealing = self.kept.sealing.as_deref();
            full.finish(&*self.kept.store, sealing, &self.boundaries, None)?;
        }
        Ok(())
    }

    fn end(self, next: Option<&str>) -> Result<()> {
        if self.lost.hole.end.is_some_and(|end| end != self.at) {
            return Err(self.other("its end does not fit what is archived behind it"));
        }
        if next.is_some() && self.lost.next.as_deref() != next {
            return Err(self.other("another file follows it"));
        }
        if !self.segment.is_empty() {
            let sealing = self.kept.sealing.as_deref();
            self.segment
                .finish(&*self.kept.store, sealing, &self.boundaries, next)?;
            return Ok(());
        }
        // Nothing but that the file ends here was lost, which stands with the descriptions of all of its segments.
        let timelines = self.kept.timelines.iter();
        let mut of_this = timelines.filter(|t| t.timeline.number == self.lost.before.timeline);
        let file = of_this.find_map(|t| t.files.iter().find(|f| f.name == self.lost.file));
        let mut heads = file.map_or_else(Vec::new, |f| f.segments.clone());
        if let Some(last) = heads.last_mut() {
            last.next = next.map(str::to_owned);
        }
        Kept::join(&*self.kept.store, &heads)
            .map_err(|e| failure::store("cannot store the binary log", &e))
    }
}

//! The transactions of a timeline, in their order, out of those segments that may hold what is looked for.

use crate::kept::{Kept, KeptFile, KeptTimeline};
use crate::layout::order;
use crate::segment::Head;
use crate::source::of_kept;
use base::Result;
use binlog::file::File;
use binlog::{Boundaries, Checksum, Description, Event, Mark, Transaction};
use std::io::Read;
use std::ops::ControlFlow;

/// A place in a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File of the log.
    pub file: String,
    /// Offset in it.
    pub offset: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", base::units::printable(&self.file), self.offset)
    }
}

impl Place {
    /// Sorts the places of one timeline.
    pub fn order(&self) -> impl Ord + '_ {
        (order(&self.file), self.offset)
    }
}

impl KeptTimeline {
    /// The file of this name.
    pub fn file(&self, name: &str) -> Option<&KeptFile> {
        self.files.iter().find(|f| f.name == name)
    }

    /// Behind the last transaction that is kept whole.
    pub fn end(&self) -> Option<Place> {
        let heads = self.files.iter().rev();
        let mut heads = heads.flat_map(|f| f.segments.iter().rev());
        let head = heads.find(|h| h.whole_to > h.start)?;
        Some(Place {
            file: head.file.clone(),
            offset: head.whole_to,
        })
    }

    /// Offset of a file's first event.
    pub fn begin(&self) -> Option<Place> {
        let first = self.first()?;
        Some(Place {
            file: first.file.clone(),
            offset: binlog::MAGIC.len() as u64,
        })
    }

    /// Whether this place is kept.
    pub fn holds(&self, place: &Place) -> bool {
        let file = self.file(&place.file);
        file.is_some_and(|f| place.offset <= f.end())
    }
}

/// An event, where it stands, and what it is to its transaction.
pub struct Walked<'e> {
    /// Its file.
    pub file: &'e str,
    /// Its offset.
    pub at: u64,
    /// The event.
    pub event: &'e Event<'e>,
    /// What it is to its transaction.
    pub mark: Mark,
    /// The transaction that is open, or has just ended.
    pub boundaries: &'e Boundaries,
}

impl Walked<'_> {
    /// Where it stands.
    pub fn place(&self) -> Place {
        Place {
            file: self.file.to_owned(),
            offset: self.at,
        }
    }
}

impl Kept {
    /// Calls `each` with the transactions that end behind `from`, in segments that `wanted` wants; returns whether it said that it
    /// has enough.
    pub fn walk(
        &self,
        timeline: &KeptTimeline,
        from: &Place,
        wanted: impl FnMut(&Head) -> bool,
        mut each: impl FnMut(&str, &Transaction) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        self.walk_events(timeline, from, wanted, |e| match e.mark {
            Mark::End => each(e.file, e.boundaries.ended()),
            _ => Ok(ControlFlow::Continue(())),
        })
    }

    /// The same with every event of these transactions, from the first on. A transaction that began in a segment that was not wanted is
    /// read from its beginning.
    pub fn walk_events(
        &self,
        timeline: &KeptTimeline,
        from: &Place,
        mut wanted: impl FnMut(&Head) -> bool,
        mut each: impl FnMut(&Walked<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        for file in &timeline.files {
            if order(&file.name) < order(&from.file) {
                continue;
            }
            let begin = match file.name == from.file {
                true => from.offset,
                false => 0,
            };
            let wrong = |e: binlog::Error| of_kept(&file.name, &e);
            let mut description = None;
            let mut open = None;
            // Where the segment before was left.
            let mut left: Option<(u64, Boundaries)> = None;
            for head in &file.segments {
                let before = std::mem::replace(&mut open, head.open.as_ref());
                // The next one may end what is open here.
                let is_wanted = head.transactions > 0 && wanted(head);
                let goes_on = left.as_ref().is_some_and(|(end, _)| *end == head.start);
                if head.end <= begin || !(is_wanted || goes_on && head.transactions == 0) {
                    continue;
                }
                let described = match &mut description {
                    Some(known) => known,
                    none => none.insert(self.description(file)?),
                };
                let (start, mut boundaries) = match left.take().filter(|_| goes_on) {
                    Some((end, boundaries)) => (end, boundaries),
                    None => {
                        let first = head.start.max(binlog::MAGIC.len() as u64);
                        (before.map_or(first, |o| o.start()), Boundaries::new())
                    }
                };
                let bytes = self.bytes(file, start).take(head.end - start);
                let mut events = File::from(bytes, start, Description::clone(described));
                while let Some((at, event)) = events.next().map_err(wrong)? {
                    let mark = boundaries.take(at, &event).map_err(wrong)?;
                    if at + event.bytes().len() as u64 <= begin {
                        continue;
                    }
                    let walked = Walked {
                        file: &file.name,
                        at,
                        event: &event,
                        mark,
                        boundaries: &boundaries,
                    };
                    if each(&walked)?.is_break() {
                        return Ok(true);
                    }
                }
                left = Some((head.end, boundaries));
            }
        }
        Ok(false)
    }

    /// What the first event of a file says.
    fn description(&self, file: &KeptFile) -> Result<Description> {
        let wrong = |e: binlog::Error| of_kept(&file.name, &e);
        let mut events = File::open(self.bytes(file, 0)).map_err(wrong)?;
        events.next().map_err(wrong)?;
        Ok(match events.description() {
            described if described.server_version.is_empty() => {
                Description::of_stream(Checksum::None)
            }
            described => described.clone(),
        })
    }

    /// Commit of the last transaction before this place, as far as the timeline knows.
    pub fn last_time_before(&self, timeline: &KeptTimeline, place: &Place) -> Result<Option<u64>> {
        let mut last = None;
        for file in &timeline.files {
            for head in &file.segments {
                let is_here = head.file == place.file;
                if order(&head.file) < order(&place.file) || is_here && head.end <= place.offset {
                    last = last.max(head.last_time);
                } else if is_here && head.start < place.offset {
                    let begin = Place {
                        file: head.file.clone(),
                        offset: head.start,
                    };
                    let mut inside = None;
                    self.walk(
                        timeline,
                        &begin,
                        |h| h.file == head.file && h.start == head.start,
                        |_, transaction| {
                            if transaction.end > place.offset {
                                return Ok(ControlFlow::Break(()));
                            }
                            inside = inside.max(Some(transaction.time));
                            Ok(ControlFlow::Continue(()))
                        },
                    )?;
                    return Ok(last.max(inside));
                }
            }
        }
        Ok(last)
    }
}

//! A log that is searched: what is kept of one, or that of a server.

use crate::kept::Kept;
use crate::live::Live;
use crate::parts::Wrong;
use crate::segment::Head;
use crate::source::{of_kept, of_log};
use crate::walk::{Place, Walked};
use base::Result;
use binlog::body::Query;
use binlog::body::query::Role;
use run::Run;
use std::ops::ControlFlow;

/// A log.
pub enum Log<'k> {
    /// What is kept of it.
    Kept(&'k Kept),
    /// That of a server, up to where it was when it was opened; it is one timeline.
    Live(&'k Live),
}

impl Log<'_> {
    /// How many timelines it has.
    pub(crate) fn timelines(&self) -> usize {
        match self {
            Log::Kept(kept) => kept.timelines.len(),
            Log::Live(_) => 1,
        }
    }

    /// The number of a timeline; a server's has none, which is 0.
    pub(crate) fn number(&self, timeline: usize) -> u32 {
        match self {
            Log::Kept(kept) => kept.timelines[timeline].timeline.number,
            Log::Live(_) => 0,
        }
    }

    /// Its place among the timelines.
    pub(crate) fn place_of(&self, number: u32) -> usize {
        match self {
            Log::Kept(kept) => {
                let mut all = kept.timelines.iter();
                all.position(|t| t.timeline.number == number).unwrap_or(0)
            }
            Log::Live(_) => 0,
        }
    }

    /// Whether its server is MariaDB.
    pub(crate) fn is_mariadb(&self, timeline: usize) -> bool {
        match self {
            Log::Kept(kept) => kept.timelines[timeline].timeline.is_mariadb(),
            Log::Live(live) => live.is_mariadb(),
        }
    }

    /// What becomes of events that cannot be read.
    pub(crate) fn wrong(&self) -> Wrong {
        match self {
            Log::Kept(_) => of_kept,
            Log::Live(_) => of_log,
        }
    }

    /// Bytes of it.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Log::Kept(kept) => {
                let files = kept.timelines.iter().flat_map(|t| &t.files);
                let all = files.flat_map(|f| &f.segments);
                all.map(|h| h.end - h.start).sum()
            }
            Log::Live(live) => live.bytes(),
        }
    }

    /// What cannot be read of it, in words.
    pub(crate) fn unreadable(&self) -> Vec<&str> {
        match self {
            Log::Kept(kept) => {
                let files = kept.timelines.iter().flat_map(|t| &t.files);
                files.flat_map(|f| &f.unreadable).map(|w| &**w).collect()
            }
            Log::Live(_) => Vec::new(),
        }
    }

    /// The names of its files, in their order.
    pub(crate) fn files(&self) -> Vec<&str> {
        match self {
            Log::Kept(kept) => {
                let files = kept.timelines.iter().flat_map(|t| &t.files);
                files.map(|f| f.name.as_str()).collect()
            }
            Log::Live(live) => live.file_names().collect(),
        }
    }

    /// What is missing of a timeline between two places, in words.
    pub(crate) fn missing(&self, timeline: usize, from: &Place, to: &Place) -> Vec<String> {
        match self {
            Log::Kept(kept) => kept.gaps(timeline, from, to),
            Log::Live(_) => Vec::new(),
        }
    }

    /// Where a timeline ends.
    pub(crate) fn end(&self, timeline: usize) -> Option<Place> {
        match self {
            Log::Kept(kept) => {
                let last = kept.timelines[timeline].files.last()?;
                Some(Place {
                    file: last.name.clone(),
                    offset: u64::MAX,
                })
            }
            Log::Live(live) => live.end(),
        }
    }

    /// Where a timeline begins.
    pub(crate) fn begin(&self, timeline: usize) -> Option<Place> {
        match self {
            Log::Kept(kept) => kept.timelines[timeline].begin(),
            Log::Live(live) => live.begin(),
        }
    }

    /// Calls `each` with every statement between two places: where it is, its default schema and its text.
    pub fn statements(
        &self,
        run: &Run,
        timeline: usize,
        (from, to): (&Place, Option<&Place>),
        each: &mut dyn FnMut(&Place, &str, &str),
    ) -> Result<()> {
        let phase = run.phase("reading the statements in between", 1);
        self.walk(timeline, from, &mut |_| true, &mut |walked| {
            run.check()?;
            let at = walked.place();
            if to.is_some_and(|to| at.order() >= to.order()) {
                return Ok(ControlFlow::Break(()));
            }
            phase.counters.bytes.add(walked.event.bytes().len() as u64);
            let query = Query::parse(walked.event);
            let query = query.map_err(|e| self.wrong()(walked.file, &e))?;
            if let Some(query) = query.filter(|q| q.role() == Role::Part) {
                let schema = String::from_utf8_lossy(query.schema);
                let text = String::from_utf8_lossy(&query.statement);
                each(&at, &schema, &text);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// Calls `each` with the events of the transactions that end behind `from`, in segments that `wanted` wants; returns whether it
    /// said that it has enough.
    pub(crate) fn walk(
        &self,
        timeline: usize,
        from: &Place,
        wanted: &mut dyn FnMut(&Head) -> bool,
        each: &mut dyn FnMut(&Walked<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        match self {
            Log::Kept(kept) => kept.walk_events(&kept.timelines[timeline], from, wanted, each),
            Log::Live(live) => live.walk(from, each),
        }
    }
}

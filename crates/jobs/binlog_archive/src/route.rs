//! The way through the timelines from a backup to the state that is asked for.

use crate::kept::{Kept, KeptTimeline};
use crate::layout::order;
use crate::timeline::Timeline;
use crate::walk::Place;
use base::{Error, Kind, Result};
use binlog::Transaction;
use binlog::gtid::{Executed, Gtid};
use std::ops::ControlFlow;

/// The state that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Everything that is archived.
    Latest,
    /// Every transaction that was committed until then: microseconds since 1970.
    Time(u64),
    /// Everything up to this transaction, and it.
    After(Gtid),
    /// Everything before this transaction.
    Before(Gtid),
    /// Everything before this place.
    Position(Place),
}

/// A part of one timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Which timeline, by its place in [`Kept::timelines`].
    pub timeline: usize,
    /// Where it begins.
    pub from: Place,
    /// Where it ends: between two transactions.
    pub to: Place,
}

/// The parts, in their order.
#[derive(Clone, Debug)]
pub struct Route {
    /// At least one.
    pub legs: Vec<Leg>,
    /// Bytes of the log.
    pub bytes: u64,
    /// The transaction that comes next and is left out, and its file, where that is known.
    pub next: Option<(String, Transaction)>,
    /// What is missing on the way.
    pub missing: Vec<String>,
}

/// What tells a backup's place in the log from one of the same name and offset, after the log was reset.
#[derive(Clone, Debug)]
pub struct Taken {
    /// When it ended by the clock of the host that took it, in seconds since 1970.
    pub end: i64,
    /// When its place was read, by the server's clock.
    pub server_time: Option<i64>,
    /// The server's UUID.
    pub server_uuid: Option<String>,
    /// What the server had executed.
    pub executed: Option<Executed>,
}

impl Taken {
    /// A file that was begun later is not the backup's.
    fn latest(&self) -> i64 {
        // Clocks of two hosts differ; that of the server wrote the time into the file.
        const TOLERANCE: i64 = 60;
        self.server_time
            .unwrap_or(self.end.saturating_add(TOLERANCE))
    }

    fn is_of_server(&self, timeline: &Timeline) -> bool {
        self.server_uuid.is_some() && self.server_uuid == timeline.server_uuid
    }

    /// Whether the server had executed what came before this place, and nothing that came behind it.
    fn agrees(&self, kept: &KeptTimeline, place: &Place) -> bool {
        let Some(executed) = &self.executed else {
            return true;
        };
        let Some(file) = kept.file(&place.file) else {
            return false;
        };
        let mariadb = kept.timeline.is_mariadb();
        let parse = |text: &str| Executed::parse(mariadb, text);
        let first = file.segments.first();
        let before = first.and_then(|h| parse(h.executed_before.as_deref()?));
        let mut least = before.unwrap_or_else(|| Executed::empty(mariadb));
        let mut most = least.clone();
        for head in file.segments.iter().filter(|h| h.start < place.offset) {
            let gtids = parse(&head.gtids).unwrap_or_else(|| Executed::empty(mariadb));
            if head.end <= place.offset {
                least.add_all(&gtids);
            }
            most.add_all(&gtids);
        }
        least.is_within(executed) && executed.is_within(&most)
    }
}

/// Keeps those that pass, unless none does.
fn keep_if_any(all: &mut Vec<(usize, &KeptTimeline, u32)>, passes: impl Fn(&KeptTimeline) -> bool) {
    if all.iter().any(|(_, t, _)| passes(t)) {
        all.retain(|(_, t, _)| passes(t));
    }
}

/// Where a part of the log ends that is applied.
struct Stop {
    /// Between two transactions.
    to: Place,
    /// The transaction that is left out, and its file, where that is known.
    next: Option<(String, Transaction)>,
}

/// Why a backup is not a beginning.
pub enum NoRoute {
    /// The state that is asked for is older than the backup.
    TooNew,
    /// What is looked for does not come after it.
    NotFound(Error),
}

impl Kept {
    /// The timeline that a backup's place is in. After a reset of the log, names of files come again: then it is the newest that had
    /// begun when the backup was taken, and whose GTIDs do not speak against it.
    pub fn timeline_of(&self, place: &Place, taken: &Taken) -> Option<usize> {
        let holding = self.timelines.iter().enumerate();
        let holding = holding.filter(|(_, t)| t.holds(place));
        let mut in_time: Vec<(usize, &KeptTimeline, u32)> = holding
            .filter_map(|(i, t)| Some((i, t, t.file(&place.file)?.segments.first()?.created)))
            .filter(|(_, _, created)| i64::from(*created) <= taken.latest())
            .collect();
        // Where all would be ruled out, the evidence is of another kind than what is known of them.
        keep_if_any(&mut in_time, |t| taken.is_of_server(&t.timeline));
        keep_if_any(&mut in_time, |t| taken.agrees(t, place));
        let newest = in_time
            .into_iter()
            .max_by_key(|(i, _, created)| (*created, *i));
        newest.map(|(i, ..)| i)
    }

    /// A place at which a backup's own place cannot be later, if all that is known of the backup is when it began: the first event of the
    /// newest file that the server had begun a good while before. Clocks of two hosts differ.
    pub fn not_after(&self, began: i64) -> Option<(usize, Place)> {
        const TOLERANCE: i64 = 600;
        let timelines = self.timelines.iter().enumerate();
        let files = timelines.flat_map(|(i, t)| t.files.iter().map(move |f| (i, f)));
        let begun = files.filter_map(|(i, f)| Some((i, f, f.segments.first()?.created)));
        let before = begun.filter(|(.., created)| i64::from(*created) + TOLERANCE <= began);
        let (i, file, _) = before.max_by_key(|(i, _, created)| (*i, *created))?;
        let place = Place {
            file: file.name.clone(),
            offset: binlog::MAGIC.len() as u64,
        };
        Some((i, place))
    }

    /// The way from a place of a timeline.
    pub fn route(
        &self,
        timeline: usize,
        from: &Place,
        target: &Target,
    ) -> Result<std::result::Result<Route, NoRoute>> {
        if let Target::Time(time) = target
            && let Some(before) = self.last_time_before(&self.timelines[timeline], from)?
            && before > *time
        {
            return Ok(Err(NoRoute::TooNew));
        }
        let mut route = Route {
            legs: Vec::new(),
            bytes: 0,
            next: None,
            missing: Vec::new(),
        };
        let (mut at, mut from) = (timeline, from.clone());
        loop {
            let kept = &self.timelines[at];
            let next = self.timelines.get(at + 1);
            // What comes behind the place where the next timeline branches off happened on this one only.
            let branch = next.and_then(|n| {
                let follows = n.timeline.follows.as_ref();
                let follows = follows.filter(|f| f.timeline == kept.timeline.number)?;
                Some(Place {
                    file: follows.file.clone(),
                    offset: follows.position?,
                })
            });
            let end = kept.end().unwrap_or_else(|| from.clone());
            let end = branch.filter(|b| b.order() < end.order()).unwrap_or(end);
            if let Some(stop) = self.stop(kept, &from, &end, target)? {
                self.add(&mut route, at, from, stop.to);
                route.next = stop.next;
                return Ok(Ok(route));
            }
            self.add(&mut route, at, from.clone(), end.clone());
            let Some(next) = next else {
                let last = kept.files.iter().flat_map(|f| &f.segments);
                let last = last.filter_map(|h| h.last_time).max();
                return Ok(match target {
                    Target::Latest => Ok(route),
                    // The very last one that is archived.
                    Target::Time(time) if last == Some(*time) => Ok(route),
                    other => Err(NoRoute::NotFound(self.not_found(other, kept))),
                });
            };
            if let Some(missing) = &next.timeline.missing {
                route.missing.push(missing.clone());
            } else if next.timeline.follows.is_none() {
                route.missing.push(format!(
                    "what came between timeline {} and {}",
                    kept.timeline.number, next.timeline.number
                ));
            }
            let Some(begin) = next.begin() else {
                return Ok(match target {
                    Target::Latest => Ok(route),
                    other => Err(NoRoute::NotFound(self.not_found(other, kept))),
                });
            };
            at += 1;
            from = begin;
        }
    }

    fn add(&self, route: &mut Route, timeline: usize, from: Place, to: Place) {
        route.missing.extend(self.gaps(timeline, &from, &to));
        for head in self.timelines[timeline]
            .files
            .iter()
            .flat_map(|f| &f.segments)
        {
            let start = match head.file == from.file {
                true => head.start.max(from.offset),
                false if order(&head.file) < order(&from.file) => continue,
                false => head.start,
            };
            let end = match head.file == to.file {
                true => head.end.min(to.offset),
                false if order(&head.file) > order(&to.file) => continue,
                false => head.end,
            };
            route.bytes += end.saturating_sub(start);
        }
        route.legs.push(Leg { timeline, from, to });
    }

    /// What is missing within a timeline, where segments were lost.
    pub(crate) fn gaps(&self, timeline: usize, from: &Place, to: &Place) -> Vec<String> {
        let files = &self.timelines[timeline].files;
        let between = |f: &&crate::KeptFile| {
            order(&f.name) >= order(&from.file) && order(&f.name) <= order(&to.file)
        };
        let files: Vec<_> = files.iter().filter(between).collect();
        let mut missing = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let end = file.end();
            let next = file.segments.last().and_then(|s| s.next.as_deref());
            match files.get(i + 1) {
                _ if file.gap.is_some() => {
                    missing.push(format!("{}:{end} and what follows in that file", file.name));
                }
                // The next one is what this one names as its next.
                Some(after) if next != Some(&after.name) => {
                    missing.push(format!("from {}:{end} to {}:0", file.name, after.name));
                }
                _ => {}
            }
        }
        missing
    }

    /// Where to stop in this timeline, if that is in it.
    fn stop(
        &self,
        kept: &KeptTimeline,
        from: &Place,
        end: &Place,
        target: &Target,
    ) -> Result<Option<Stop>> {
        let mut found = None;
        let (mut inside, mut following) = (None, None);
        let mariadb = kept.timeline.is_mariadb();
        let may_hold = |head: &crate::Head, gtid: &Gtid| {
            Executed::parse(mariadb, &head.gtids).is_none_or(|e| e.contains(gtid))
        };
        self.walk(
            kept,
            from,
            |head| match target {
                Target::Latest => false,
                Target::Time(time) => head.last_time.is_none_or(|last| last > *time),
                Target::After(gtid) | Target::Before(gtid) => may_hold(head, gtid),
                Target::Position(place) => head.file == place.file && head.end >= place.offset,
            },
            |file, transaction| {
                let here = Place {
                    file: file.to_owned(),
                    offset: transaction.end,
                };
                if here.order() > end.order() {
                    return Ok(ControlFlow::Break(()));
                }
                let left_out = || Some((file.to_owned(), transaction.clone()));
                let stop = match target {
                    Target::Latest => None,
                    Target::Time(time) => {
                        (transaction.time > *time).then(|| (transaction.start, left_out()))
                    }
                    Target::After(gtid) => {
                        (transaction.gtid.as_ref() == Some(gtid)).then_some((transaction.end, None))
                    }
                    Target::Before(gtid) => (transaction.gtid.as_ref() == Some(gtid))
                        .then(|| (transaction.start, left_out())),
                    Target::Position(place) => {
                        if transaction.end <= place.offset {
                            return Ok(ControlFlow::Continue(()));
                        }
                        if transaction.start < place.offset {
                            inside = Some(transaction.clone());
                        } else {
                            following = left_out();
                        }
                        return Ok(ControlFlow::Break(()));
                    }
                };
                Ok(match stop {
                    None => ControlFlow::Continue(()),
                    Some((at, next)) => {
                        found = Some(Stop {
                            to: Place {
                                file: file.to_owned(),
                                offset: at,
                            },
                            next,
                        });
                        ControlFlow::Break(())
                    }
                })
            },
        )?;
        let Target::Position(place) = target else {
            return Ok(found);
        };
        if let Some(transaction) = inside {
            let what = format!(
                "{place} is inside a transaction, from {} to {}",
                transaction.start, transaction.end
            );
            return Err(Error::new(Kind::Usage, what)
                .hint("name one of these two offsets: before it, or behind it"));
        }
        let file = kept.file(&place.file);
        if following.is_none()
            && let Some(open) = file.and_then(|f| f.segments.last()?.open.as_ref())
            && open.start() < place.offset
        {
            let what = format!(
                "{place} is inside a transaction that begins at {} and whose end is not archived",
                open.start()
            );
            return Err(Error::new(Kind::Usage, what).hint("name that offset: before it"));
        }
        let there =
            kept.holds(place) && from.order() <= place.order() && place.order() <= end.order();
        Ok(there.then(|| Stop {
            to: place.clone(),
            next: following,
        }))
    }

    fn not_found(&self, target: &Target, last: &KeptTimeline) -> Error {
        let end = last.end().map_or_else(String::new, |p| format!(" ({p})"));
        let time = last.last().and_then(|h| h.last_time);
        let until = time.map_or_else(|| "nothing".to_owned(), shown_time);
        let (what, hint) = match target {
            Target::Time(time) => (
                format!(
                    "no transaction after {} is archived, so what happened until then is not known to be complete",
                    shown_time(*time)
                ),
                format!(
                    "the archive's last transaction is of {until}{end}; restore everything that there is with --latest"
                ),
            ),
            Target::After(gtid) | Target::Before(gtid) => (
                format!("the transaction {gtid} does not come after it in the archive"),
                format!("the archive ends with {until}{end}; penstock binlog find searches it"),
            ),
            Target::Position(place) => (
                format!("{place} does not come after it in the archive"),
                format!("the archive ends with {until}{end}"),
            ),
            Target::Latest => ("nothing is archived".to_owned(), String::new()),
        };
        Error::new(Kind::Usage, what).hint(hint)
    }
}

/// A time of the log, in UTC.
pub fn shown_time(micros: u64) -> String {
    let time = i64::try_from(micros).ok();
    let time = time.and_then(|t| jiff::Timestamp::from_microsecond(t).ok());
    time.map_or_else(|| micros.to_string(), |t| t.to_string())
}

//! A server's state at a moment: a backup, and the binary log behind it.
//!
//! `plan` finds the newest backup from which the archived log leads to the state that is asked for. The backup is restored as any
//! other, and then the restored server applies the log (`carry_on`).

use crate::catalog::{BackupKind, Entry};
use crate::layout::ServerName;
use crate::obstacles::{self, AccountChange, Obstacles};
use crate::repo::Repository;
use crate::selection::Selection;
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use binlog_archive::{Kept, Leg, NoRoute, Place, Route, Taken, Target};
use encryption::Keys;
use replay::{LogFile, LogFiles};
use run::Run;
use std::io::{self, Read};

/// How a state is reached.
pub struct Plan {
    /// The backup to begin with.
    pub backup: Entry,
    /// What is kept of the log.
    pub kept: Kept,
    /// The parts of it that lead from the backup to the state.
    pub route: Route,
    /// Why newer backups are not where it begins.
    pub passed_over: Vec<String>,
    /// The state that was asked for.
    pub target: Target,
    /// Statements on the way that change accounts, if the backup has none.
    pub accounts: Vec<AccountChange>,
}

impl Plan {
    /// Whether the server is MariaDB.
    pub fn is_mariadb(&self) -> bool {
        let first = self.route.legs.first();
        first.is_some_and(|leg| self.kept.timelines[leg.timeline].timeline.is_mariadb())
    }

    pub(crate) fn carries_on(&self, leg: &Leg) -> bool {
        self.kept.timelines[leg.timeline].timeline.follows.is_some()
    }
}

/// Finds the way to a state of a server. `backup`: begin with this one; `kind`: with one of this kind.
pub fn plan(
    run: &Run,
    repository: &Repository,
    server: &ServerName,
    (backup, kind): (Option<&Entry>, Option<BackupKind>),
    target: &Target,
    across_gap: bool,
    keys: &Keys,
) -> Result<Plan> {
    let kept = repository.readable_binlogs(server, keys)?.ok_or_else(|| {
        let what = format!(
            "no binary log of {server} is kept in {}",
            repository.place()
        );
        Error::new(Kind::Usage, what).hint(format!(
            "penstock binlog archive {server} keeps it; without one a backup is restored as it is"
        ))
    })?;
    let mut entries = match backup {
        Some(entry) => vec![entry.clone()],
        None => repository.entries(Some(server))?.0,
    };
    if let Some(kind) = kind {
        entries.retain(|e| e.kind == kind);
    }
    entries.sort_by(|a, b| b.order().cmp(&a.order()));
    if entries.is_empty() {
        let what = format!("there is no backup of {server} in {}", repository.place());
        return Err(Error::new(Kind::Usage, what).hint("penstock list shows what there is"));
    }
    let (mut why, mut gaps, mut selected) = (Vec::new(), false, false);
    for entry in entries {
        let name = format!("{}@{}", entry.server, entry.id);
        let entry = match repository.opened(entry, keys) {
            Ok(entry) => entry,
            Err(e) if e.kind == Kind::Usage || e.kind == Kind::Archive => {
                why.push(base::units::printable(&format!("{name}: {}", e.what)));
                continue;
            }
            Err(e) => return Err(e),
        };
        if !entry.tables_without_rows.is_empty() {
            // The log would go on with rows that are not there, and where it only adds some, nothing would tell.
            why.push(base::units::printable(&format!(
                "{name} has no rows of {}: they could not be read, or changed while it was taken",
                entry.tables_without_rows.join(", ")
            )));
            continue;
        }
        match way(&kept, &entry, target)? {
            Ok(route) if route.missing.is_empty() || across_gap => {
                if let Some(reason) = begins_again(&kept, &entry, &route) {
                    why.push(format!("{name}: {reason}"));
                    continue;
                }
                let found = in_the_way(run, &kept, &entry, &route)?;
                if let (Some(outside), Some(selection)) = (found.outside, &entry.selection) {
                    selected = true;
                    why.push(format!(
                        "{name} holds a part of the server ({selection}), and the log behind it changes more: {outside}"
                    ));
                    continue;
                }
                return Ok(Plan {
                    backup: entry,
                    kept,
                    route,
                    passed_over: why,
                    target: target.clone(),
                    accounts: found.accounts,
                });
            }
            Ok(route) => {
                gaps = true;
                let missing = route.missing.join("; ");
                why.push(base::units::printable(&format!(
                    "behind {name} is missing: {missing}"
                )));
            }
            Err(reason) => why.push(base::units::printable(&format!("{name} {reason}"))),
        }
    }
    let what = format!(
        "no backup of {server} leads to that state:\n{}",
        why.join("\n")
    );
    Err(Error::new(Kind::Usage, what).hint(match gaps {
        true => "--across-gap applies the log in spite of what is missing",
        false if selected => {
            "the binary log is that of the whole server: take backups of all of it (without --schemas, --tables and their like), or snapshots"
        }
        false => "penstock list shows from when to when a server can be restored",
    }))
}

/// What in the log changes something that the backup does not hold.
fn in_the_way(run: &Run, kept: &Kept, entry: &Entry, route: &Route) -> Result<Obstacles> {
    if entry.kind == BackupKind::Snapshot {
        return Ok(Obstacles::default());
    }
    let filter = entry.selection.as_ref().and_then(Selection::filter);
    obstacles::look(run, kept, route, filter.as_ref())
}

/// The place of a backup in the log.
pub(crate) fn place_of(entry: &Entry) -> Option<Place> {
    Some(Place {
        file: entry.position.binlog_file.clone()?,
        offset: entry.position.binlog_position?,
    })
}

/// What tells a backup's place from others of the same name.
pub(crate) fn taken(entry: &Entry) -> Taken {
    let position = &entry.position;
    let mysql = position.gtid_executed.as_deref().map(|t| (false, t));
    let mariadb = position.gtid_binlog_pos.as_deref().map(|t| (true, t));
    Taken {
        end: entry.end().map_or(i64::MAX, |t| t.as_second()),
        server_time: position.server_time.and_then(|t| i64::try_from(t).ok()),
        server_uuid: entry.server_uuid.clone(),
        executed: mysql
            .or(mariadb)
            .and_then(|(mariadb, t)| Executed::parse(mariadb, t)),
    }
}

/// The way from one backup, or in words why there is none.
pub(crate) fn way(
    kept: &Kept,
    entry: &Entry,
    target: &Target,
) -> Result<std::result::Result<Route, String>> {
    let Some(from) = place_of(entry) else {
        return Ok(Err("has no place in the binary log".into()));
    };
    if let (Target::Time(time), Some(begin)) = (target, entry.begin())
        && begin.as_microsecond() > i64::try_from(*time).unwrap_or(i64::MAX)
    {
        return Ok(Err(format!("is newer: it began at {begin}")));
    }
    let Some(timeline) = kept.timeline_of(&from, &taken(entry)) else {
        return Ok(Err(format!(
            "ends at {from}, and the log is not archived from there"
        )));
    };
    Ok(match kept.route(timeline, &from, target)? {
        Ok(route) => Ok(route),
        Err(NoRoute::TooNew) => Err("holds later transactions already".to_owned()),
        Err(NoRoute::NotFound(e)) => {
            let hint = e.hint.map_or_else(String::new, |h| format!(" ({h})"));
            Err(format!("leads not there: {}{hint}", e.what))
        }
    })
}

/// The log of one timeline, as it is replayed.
pub(crate) struct Log<'k> {
    kept: &'k Kept,
    timeline: usize,
    files: Vec<LogFile>,
}

impl<'k> Log<'k> {
    pub(crate) fn new(kept: &'k Kept, timeline: usize) -> Log<'k> {
        let files = kept.timelines[timeline].files.iter();
        Log {
            kept,
            timeline,
            files: files
                .map(|f| LogFile {
                    name: f.name.clone(),
                    length: Some(f.end()),
                })
                .collect(),
        }
    }

    pub(crate) fn place(&self, place: &Place) -> replay::Place {
        let file = self.files.iter().position(|f| f.name == place.file);
        replay::Place {
            file: file.unwrap_or(0),
            offset: place.offset,
        }
    }
}

impl LogFiles for Log<'_> {
    fn files(&self) -> &[LogFile] {
        &self.files
    }

    fn open(&self, file: usize, offset: u64) -> io::Result<Box<dyn Read + Send + '_>> {
        let kept = &self.kept.timelines[self.timeline];
        let file = kept.files.get(file).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(self.kept.bytes(file, offset)))
    }
}

pub(crate) fn executed_after(plan: &Plan, leg: &Leg, before: Option<Executed>) -> Executed {
    let timeline = &plan.kept.timelines[leg.timeline];
    let mut all = before.unwrap_or_else(|| of_backup(&plan.backup, timeline.timeline.is_mariadb()));
    all.add_all(&timeline.gtids());
    all
}

/// Whether GTIDs begin again on the way, after a reset: the server would take new transactions for old ones, and pass over them.
fn begins_again(kept: &Kept, entry: &Entry, route: &Route) -> Option<String> {
    let mut executed: Option<Executed> = None;
    for leg in &route.legs {
        let timeline = &kept.timelines[leg.timeline];
        let gtids = timeline.gtids();
        let known =
            executed.get_or_insert_with(|| of_backup(entry, timeline.timeline.is_mariadb()));
        let is_first = leg == &route.legs[0];
        if !is_first && timeline.timeline.follows.is_none() && !timeline.timeline.is_mariadb() {
            let twice = gtids.without(&gtids.without(known));
            if !twice.is_empty() {
                return Some(format!(
                    "the GTIDs {twice} stand for other transactions behind the gap, and the server would pass over them"
                ));
            }
        }
        known.add_all(&gtids);
    }
    None
}

pub(crate) fn of_backup(entry: &Entry, mariadb: bool) -> Executed {
    let position = &entry.position;
    let text = match mariadb {
        true => position.gtid_binlog_pos.as_deref(),
        false => position.gtid_executed.as_deref(),
    };
    let executed = Executed::parse(mariadb, text.unwrap_or_default());
    executed.unwrap_or_else(|| Executed::empty(mariadb))
}

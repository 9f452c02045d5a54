//! From when to when a server can be restored, and which part of its log that needs.

use crate::catalog::Entry;
use crate::layout::{BINLOGS, ServerName};
use crate::point_in_time::{place_of, taken, way};
use crate::repo::{Repository, storage};
use base::Result;
use binlog_archive::{KeptFile, Place, PrunedLog, Target, shown_time};
use store::EntryKind;

/// Moments to which a server can be restored: a stretch of its log without a gap, behind a backup.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The server.
    pub server: String,
    /// The backup that it begins with.
    pub backup: String,
    /// When that began: UTC, RFC 3339.
    pub from: String,
    /// When the last transaction that is archived was committed.
    pub to: Option<String>,
    /// Where that part of the log ends.
    pub end: Place,
    /// What is missing behind it.
    pub missing: Vec<String>,
}

/// When a backup began, in seconds since 1970.
fn began(entry: &Entry) -> Option<i64> {
    entry.begin().map(|t| t.as_second())
}

/// The files from this place on, up to the first after which something is missing.
fn whole_files<'f>(files: &'f [KeptFile], from: &Place) -> impl Iterator<Item = &'f KeptFile> {
    let begin = files.iter().position(|f| f.name == from.file);
    let files = &files[begin.unwrap_or(files.len())..];
    let breaks = |(i, file): (usize, &KeptFile)| {
        let next = file.segments.last().and_then(|s| s.next.as_ref());
        let after = files.get(i + 1);
        file.gap.is_some() || after.is_some_and(|a| next != Some(&a.name))
    };
    let end = files.iter().enumerate().position(breaks);
    files.iter().take(end.map_or(files.len(), |i| i + 1))
}

impl Repository {
    /// The servers whose binary logs are kept.
    pub(crate) fn servers_with_logs(&self) -> Result<Vec<ServerName>> {
        let place = self.place.join(BINLOGS);
        let store = match place.open(None) {
            Ok(store) => store,
            Err(e) if e.not_found() => return Ok(Vec::new()),
            Err(e) => return Err(storage("cannot list the binary logs", &e)),
        };
        let all = store.list();
        let all = all.map_err(|e| storage("cannot list the binary logs", &e))?;
        let below = all.into_iter().filter(|e| e.kind == EntryKind::Other);
        Ok(below
            .filter_map(|e| ServerName::parse(&e.name).ok())
            .collect())
    }

    /// From when to when a server can be restored, with these backups.
    pub(crate) fn windows(&self, server: &ServerName, entries: &[Entry]) -> Result<Vec<Window>> {
        let Some(kept) = self.binlogs(server)? else {
            return Ok(Vec::new());
        };
        let mut windows: Vec<Window> = Vec::new();
        for entry in entries.iter().filter(|e| e.server == server.as_str()) {
            let way = match entry.position.binlog_file.is_none() && entry.encrypted {
                false => way(&kept, entry, &Target::Latest)?.ok(),
                // Its place is encrypted, too.
                true => match began(entry).and_then(|t| kept.not_after(t)) {
                    Some((timeline, from)) => kept.route(timeline, &from, &Target::Latest)?.ok(),
                    None => None,
                },
            };
            let Some(route) = way else {
                continue;
            };
            // Up to the first gap.
            let legs = match route.missing.is_empty() {
                true => &route.legs[..],
                false => &route.legs[..1],
            };
            let Some(last) = legs.last() else {
                continue;
            };
            if windows.iter().any(|w| w.end == last.to) {
                continue;
            }
            let times = legs.iter().filter_map(|leg| {
                let files = &kept.timelines[leg.timeline].files;
                let whole = whole_files(files, &leg.from);
                let heads = whole.flat_map(|f| &f.segments);
                heads.filter_map(|h| h.last_time).max()
            });
            windows.push(Window {
                server: entry.server.clone(),
                backup: entry.id.clone(),
                from: entry.begin.clone(),
                to: times.max().map(shown_time),
                end: last.to.clone(),
                missing: route.missing,
            });
        }
        Ok(windows)
    }

    /// Removes the files of a server's log that no backup needs of those that stay. Without a backup that has a place in the log
    /// nothing is removed.
    pub(crate) fn prune_log(
        &self,
        server: &ServerName,
        stay: &[Entry],
        dry_run: bool,
    ) -> Result<Option<PrunedLog>> {
        let Some(kept) = self.binlogs(server)? else {
            return Ok(None);
        };
        let of_server = stay.iter().filter(|e| e.server == server.as_str());
        let mut places = Vec::new();
        for entry in of_server {
            if entry.encrypted && entry.position.binlog_file.is_none() {
                match began(entry).and_then(|t| kept.not_after(t)) {
                    Some(place) => places.push(place),
                    // It may need all of it.
                    None => return Ok(None),
                }
            } else if let Some(place) = place_of(entry)
                && let Some(timeline) = kept.timeline_of(&place, &taken(entry))
            {
                places.push((timeline, place));
            }
        }
        let places = places.into_iter();
        let oldest = places.min_by(|a, b| (a.0, a.1.order()).cmp(&(b.0, b.1.order())));
        let Some((timeline, place)) = oldest else {
            return Ok(None);
        };
        let done = kept.remove_before(timeline, &place, dry_run)?;
        Ok((done.files > 0).then(|| PrunedLog {
            server: server.to_string(),
            ..done
        }))
    }
}

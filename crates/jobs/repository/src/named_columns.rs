//! Definitions of tables out of backups, for logs that do not name their columns.
//!
//! Those between the first and the last transaction are looked at, the newest before them and the oldest behind them. The log in between is read for
//! statements that may have changed the table: a definition holds from the last of them before its backup to the first one behind it. A snapshot of files
//! has no definitions that could be read here.

use crate::catalog::{BackupKind, Entry};
use crate::layout::ServerName;
use crate::point_in_time::{place_of, taken};
use crate::repo::Repository;
use archive::Archive;
use base::units::printable;
use base::{Kind, Result};
use binlog_archive::{Definition, Definitions, Kept, Log, Need, Offer, Place, may_change};
use dumps::create_table;
use dumps::script::Script;
use encryption::Keys;
use run::Run;
use std::sync::Arc;

/// The definitions of the tables that are needed, as far as backups have them; what cannot be read is warned of.
pub fn definitions(
    run: &Run,
    repository: &Repository,
    server: &ServerName,
    kept: &Kept,
    keys: &Keys,
    needs: &[Need],
) -> Result<Definitions> {
    let mut all = Definitions::default();
    if needs.is_empty() {
        return Ok(all);
    }
    let backups = backups(run, repository, server, kept, keys)?;
    for (timeline, of_timeline) in kept.timelines.iter().enumerate() {
        let number = of_timeline.timeline.number;
        let needs: Vec<&Need> = needs.iter().filter(|n| n.timeline == number).collect();
        let (Some(first), Some(last)) = (
            needs
                .iter()
                .map(|n| &n.from)
                .min_by(|a, b| a.order().cmp(&b.order())),
            needs
                .iter()
                .map(|n| &n.to)
                .max_by(|a, b| a.order().cmp(&b.order())),
        ) else {
            continue;
        };
        let mut near = near(&backups, timeline, first, last);
        let places = || near.iter().map(|b| &b.place);
        let order = |a: &&Place, b: &&Place| a.order().cmp(&b.order());
        let from = places().chain([first]).min_by(order).cloned();
        let to = places().chain([last]).max_by(order).cloned();
        let (Some(from), Some(to), false) = (from, to, near.is_empty()) else {
            continue;
        };
        let mut changes: Vec<Vec<Place>> = vec![Vec::new(); needs.len()];
        Log::Kept(kept).statements(
            run,
            timeline,
            (&from, Some(&to)),
            &mut |at, schema, text| {
                for (need, changes) in needs.iter().zip(&mut changes) {
                    if may_change(text, schema, &need.schema, &need.table) {
                        changes.push(at.clone());
                    }
                }
            },
        )?;
        // The newest is the likeliest to be whole and at hand.
        near.reverse();
        for backup in near {
            offer(run, repository, keys, backup, (&needs, &changes), &mut all)?;
        }
    }
    Ok(all)
}

/// The backups of a timeline that a transaction between two places may be near to, in the order of the log.
fn near<'b>(
    backups: &'b [Backup],
    timeline: usize,
    first: &Place,
    last: &Place,
) -> Vec<&'b Backup> {
    let mut here: Vec<&Backup> = backups.iter().filter(|b| b.timeline == timeline).collect();
    here.sort_by(|a, b| a.place.order().cmp(&b.place.order()));
    let from = here.partition_point(|b| b.place.order() <= first.order());
    let to = here.partition_point(|b| b.place.order() < last.order());
    let to = (to + 1).min(here.len());
    here.drain(from.saturating_sub(1)..to).collect()
}

/// A backup that has definitions, and its place in the log.
struct Backup {
    entry: Entry,
    timeline: usize,
    place: Place,
}

fn backups(
    run: &Run,
    repository: &Repository,
    server: &ServerName,
    kept: &Kept,
    keys: &Keys,
) -> Result<Vec<Backup>> {
    let (mut entries, _) = repository.entries(Some(server))?;
    entries.retain(|e| e.kind == BackupKind::Logical);
    let mut all = Vec::new();
    for entry in entries {
        let name = format!("{}@{}", entry.server, entry.id);
        let entry = match repository.opened(entry, keys) {
            Ok(entry) => entry,
            Err(e) if e.kind == Kind::Usage || e.kind == Kind::Archive => {
                let what = format!("the definitions in {name} cannot be read: {}", e.what);
                run.observer.warn(printable(&what));
                continue;
            }
            Err(e) => return Err(e),
        };
        let Some(place) = place_of(&entry) else {
            continue;
        };
        if let Some(timeline) = kept.timeline_of(&place, &taken(&entry)) {
            all.push(Backup {
                entry,
                timeline,
                place,
            });
        }
    }
    Ok(all)
}

/// Adds what a backup knows of tables, with the places at which each was changed.
fn offer(
    run: &Run,
    repository: &Repository,
    keys: &Keys,
    backup: &Backup,
    (needs, changes): (&[&Need], &[Vec<Place>]),
    all: &mut Definitions,
) -> Result<()> {
    let name = format!("backup {}@{}", backup.entry.server, backup.entry.id);
    let place = encryption::Place::new(repository.place_of(&backup.entry)?, keys.clone());
    let archive = match rows::archives::open_tolerant(&place) {
        Ok(archive) => archive,
        // It is of use only, and a prune may be removing it.
        Err(e) => {
            run.observer.warn(format!(
                "the definitions in {name} cannot be read: {}",
                e.what
            ));
            return Ok(());
        }
    };
    for (need, changes) in needs.iter().zip(changes) {
        let definition = match definition(&archive, need, &name) {
            Ok(Some(definition)) => definition,
            Ok(None) => continue,
            Err(why) => {
                run.observer.warn(printable(&format!(
                    "the definition of {}.{} in {name} cannot be used: {why}",
                    need.schema, need.table
                )));
                continue;
            }
        };
        let behind = changes.partition_point(|p| p.order() < backup.place.order());
        all.add(
            (need.timeline, need.schema.clone(), need.table.clone()),
            Offer {
                definition: Arc::new(definition),
                from: behind.checked_sub(1).map(|i| changes[i].clone()),
                to: changes.get(behind).cloned(),
            },
        );
    }
    Ok(())
}

/// The definition that an archive has of a table; the error says why it cannot be used.
fn definition(
    archive: &Archive,
    need: &Need,
    by: &str,
) -> std::result::Result<Option<Definition>, String> {
    let is = |t: &&archive::open::Table| t.schema == need.schema && t.name == need.table;
    let Some(table) = archive.tables().find(is) else {
        return Ok(None);
    };
    let Some(file) = &table.ddl else {
        return Ok(None);
    };
    let sql = archive.sql(file).map_err(|e| e.to_string())?;
    let mut script = Script::new(sql.as_bytes()).allow_unterminated(true);
    let created = loop {
        let Some(statement) = script.next().map_err(|e| e.to_string())? else {
            return Ok(None);
        };
        if let Some(created) = create_table::parse(&statement.text, statement.dialect) {
            break created?;
        }
    };
    let columns = created.columns.iter().map(|c| {
        let charset = created.charset_of(c).filter(|_| c.is_text());
        server::catalog::Column {
            generated: c.generated.is_some(),
            stored: c.generated == Some(true),
            charset,
            ..server::catalog::Column::declared(&c.name, &c.column_type, None)
        }
    });
    let primary = created.primary_columns();
    let options = archive.manifest().map(|m| &m.options);
    let without_triggers = options.is_some_and(|o| o.get("triggers") == Some(&false.into()));
    Ok(Some(Definition {
        columns: columns.collect(),
        primary: primary.into_iter().map(str::to_owned).collect(),
        triggers: match (table.triggers.is_some(), without_triggers) {
            (false, true) => Err(format!(
                "whether the table has triggers is unknown: {by} was made without triggers"
            )),
            (has, _) => Ok(has),
        },
        present: false,
        versioned: sql.to_ascii_uppercase().contains("SYSTEM VERSIONING"),
        by: by.to_owned(),
    }))
}

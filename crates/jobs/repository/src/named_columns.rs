//! Definitions of tables out of backups, for logs that do not name their columns.
//!
//! The newest backup before the transactions is looked at first, and then the oldest behind them. The log between the two is read for
//! statements that may have changed the table: a definition holds up to the first of them, or from the last one on. A snapshot of files
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
use std::collections::BTreeMap;
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
        let here = || backups.iter().filter(|b| b.timeline == timeline);
        let before = here().filter(|b| b.place.order() <= first.order());
        let before = before.max_by(|a, b| a.place.order().cmp(&b.place.order()));
        let behind = here().filter(|b| b.place.order() > first.order());
        let behind = behind.min_by(|a, b| a.place.order().cmp(&b.place.order()));
        if let Some(backup) = before {
            let way = (&backup.place, last);
            offer(run, repository, kept, keys, (backup, way), &needs, &mut all)?;
        }
        if let Some(backup) = behind {
            let way = (first, &backup.place);
            offer(run, repository, kept, keys, (backup, way), &needs, &mut all)?;
        }
    }
    Ok(all)
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

/// Adds what a backup knows; `way` is the part of the log between it and the transactions, in the log's order.
fn offer(
    run: &Run,
    repository: &Repository,
    kept: &Kept,
    keys: &Keys,
    (backup, way): (&Backup, (&Place, &Place)),
    needs: &[&Need],
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
    let mut found = BTreeMap::new();
    for (i, need) in needs.iter().enumerate() {
        match definition(&archive, need, &name) {
            Ok(Some(definition)) => {
                found.insert(i, definition);
            }
            Ok(None) => {}
            Err(why) => run.observer.warn(printable(&format!(
                "the definition of {}.{} in {name} cannot be used: {why}",
                need.schema, need.table
            ))),
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    // The first and the last statement that may have changed each.
    let mut changed: BTreeMap<usize, (Place, Place)> = BTreeMap::new();
    Log::Kept(kept).statements(
        run,
        backup.timeline,
        (way.0, Some(way.1)),
        &mut |at, schema, text| {
            for i in found.keys() {
                let need = needs[*i];
                if may_change(text, schema, &need.schema, &need.table) {
                    let entry = changed
                        .entry(*i)
                        .or_insert_with(|| (at.clone(), at.clone()));
                    entry.1 = at.clone();
                }
            }
        },
    )?;
    let is_before = way.0 == &backup.place;
    for (i, definition) in found {
        let need = needs[i];
        let change = changed.get(&i);
        let change = change.map(|(first, last)| if is_before { first } else { last });
        let (from, to) = match is_before {
            true => (Some(way.0.clone()), change.cloned()),
            false => (change.cloned(), Some(way.1.clone())),
        };
        all.add(
            (need.timeline, need.schema.clone(), need.table.clone()),
            Offer {
                definition: Arc::new(definition),
                from,
                to,
                ended_by: change.map(|p| format!("a change of the table at {p}")),
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
    Ok(Some(Definition {
        columns: columns.collect(),
        primary: primary.into_iter().map(str::to_owned).collect(),
        triggers: table.triggers.is_some(),
        versioned: sql.to_ascii_uppercase().contains("SYSTEM VERSIONING"),
        by: by.to_owned(),
    }))
}

//! The record of a load.

use super::{bottleneck, duration, fact, filter, moved, rate, setting, things, yes};
use crate::record::{Better, Cell, Column, Figure, Kind, Record, Section, Table};
use base::units::{bytes, count};
use load::{DeferIndexes, Options, Summary};

/// What is known before a load begins.
pub fn load_begins(o: &Options) -> Record {
    let mut r = Record::new(Kind::Load, format!("Load into {}", o.target.endpoint));
    setting(&mut r, "from", o.from.display());
    setting(&mut r, "target", &o.target.endpoint);
    setting(&mut r, "workers", o.threads);
    setting(&mut r, "verify at the end", yes(o.verify));
    setting(&mut r, "tuning of the server", o.tune.level.name());
    setting(
        &mut r,
        "secondary indexes after the rows",
        match o.defer_indexes {
            DeferIndexes::Auto => "of big tables",
            DeferIndexes::All => "of all tables",
            DeferIndexes::Off => "of none",
        },
    );
    setting(&mut r, "import mode", o.import_mode.name());
    if let Some(new) = &o.managed {
        setting(&mut r, "new data directory", new.folder.display());
    }
    setting(&mut r, "kept out of the binary log", yes(o.skip_binlog));
    setting(&mut r, "resumes an interrupted load", yes(o.resume));
    if let Some(schema) = &o.schema {
        setting(&mut r, "schema for names without one", schema);
    }
    filter(&mut r, &o.filter);
    r
}

/// What is known after a load.
pub fn load(r: &mut Record, d: &Summary) {
    r.title = format!("Load into {}", d.target);
    let loaded = if d.already_complete {
        format!(
            "The interrupted load had already completed: all rows ({}) were loaded.",
            bytes(d.already_loaded_bytes)
        )
    } else {
        format!(
            "{} in {} ({} of row data) were loaded in {}, at {} by {}.",
            things(d.rows, "row"),
            things(d.tables, "table"),
            bytes(d.raw_bytes),
            duration(r),
            rate(d.raw_bytes, d.rows_seconds),
            things(d.threads as u64, "worker"),
        )
    };
    r.story = vec![
        loaded,
        match &d.verified {
            Some(v) => format!(
                "Verified: the rows of {} were read back from the server and have the archive's digests.",
                match v.tables {
                    1 => "the one table".to_owned(),
                    n => format!("all {} tables", count(n)),
                }
            ),
            None if !d.digests => "The server counted every row that was sent and had no warning; a dump of another tool has no digests to compare with.".to_owned(),
            None => "NOT VERIFIED (--no-verify): the server's rows were not compared with the archive.".to_owned(),
        },
    ];
    match d.exceptions.len() {
        0 => {}
        1 => r
            .story
            .push("There is one exception, listed below.".to_owned()),
        n => r
            .story
            .push(format!("There are {n} exceptions, listed below.")),
    }
    if !d.already_complete {
        moved(r, d.rows, d.raw_bytes, d.rows_seconds, d.threads);
    }
    if let Some(v) = &d.verified {
        r.figures
            .push(Figure::new("verification", v.seconds, "s", Better::Lower).note("at the end"));
    }
    r.outcome.exceptions.clone_from(&d.exceptions);
    fact(r, "server", &d.target);
    fact(r, "from", &d.archive);
    fact(r, "schemas", count(d.schemas));
    fact(r, "tables", count(d.tables));
    fact(r, "views", count(d.views));
    for note in &d.notes {
        fact(r, "adapted", note);
    }
    if !d.import.tables.is_empty() {
        let n = things(d.import.tables.len() as u64, "table");
        fact(
            r,
            "as tablespaces",
            format!("{n}, {} of files", bytes(d.import.bytes)),
        );
    }
    for (why, tables) in &d.import.reasons {
        let n = things(tables.len() as u64, "table");
        fact(r, "by SQL", format!("{n}: {why}"));
    }
    for c in &d.batch_sizes {
        let found = match c.chunks {
            1 => "one chunk at a time is the fastest".to_owned(),
            n => format!("{n} chunks at a time, {} % faster", c.gain),
        };
        fact(r, "batch size", format!("{}: {found}", c.table));
    }
    bottleneck(r, d.bottleneck.as_ref());
    if !d.tuning.changes.is_empty() {
        let column = |name| Column::new(name, "");
        r.sections.push(Section {
            title: "Settings of the server".to_owned(),
            text: vec!["Changed for the load, and put back.".to_owned()],
            tables: vec![Table {
                columns: ["setting", "before", "during the load", "after"]
                    .map(column)
                    .to_vec(),
                rows: d
                    .tuning
                    .changes
                    .iter()
                    .map(|c| {
                        let after = c.after.clone().map_or(Cell::None, Cell::Text);
                        let text = |t: &String| Cell::text(t.clone());
                        vec![text(&c.name), text(&c.before), text(&c.during), after]
                    })
                    .collect(),
                ..Table::default()
            }],
            ..Section::default()
        });
        if !d.tuning.not_reverted.is_empty()
            && let Some(s) = r.sections.last_mut()
        {
            s.text = d.tuning.not_reverted.clone();
        }
    }
}

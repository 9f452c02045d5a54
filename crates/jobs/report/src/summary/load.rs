//! After a load.

use super::continues::{Copy, continues};
use super::shared::{
    duration_with_rows, exceptions_sentence, indexes_not_compared, not_in_archives, objects, rate,
    rows, some, things, throughput,
};
use super::{Item, Summary, tuning};
use crate::record::Better;
use base::units::{bytes, count, printable, rounded, seconds};
use serde_json::json;
use std::collections::BTreeMap;
use verify::Comparison;

/// Describes a load that is complete but for its exceptions.
pub fn load(d: &load::Summary) -> Summary {
    let heading = if d.exceptions.is_empty() {
        "Load complete"
    } else {
        "Load complete, with exceptions"
    };
    let mut s = Summary::new("load", heading);
    s.title = format!("Load into {}", d.target);
    s.story = story(d);
    s.add(Item::new("into").shown(&d.target).key("target", &d.target));
    s.add(
        Item::new("from")
            .shown(&d.archive)
            .key("archive", &d.archive),
    );
    match d.only {
        Some(_) => add_part(&mut s, d),
        None => {
            add_amounts(&mut s, d);
            s.add(verified(d));
        }
    }
    s.add(not_compared(&d.not_compared));
    let indexes = d
        .verified
        .iter()
        .flat_map(|v| v.indexes_not_compared.clone());
    s.add(indexes_not_compared(&indexes.collect::<Vec<_>>()));
    s.add(left_out(&d.left_out));
    s.add(rows_that_match(&d.chosen));
    s.add(existing(&d.existing, d.existing.destroys()));
    s.add(accounts(&d.accounts));
    for item in accounts_made(d.accounts_made.as_ref()) {
        s.add(item);
    }
    s.add(statistics(d.analyzed.as_ref()));
    s.add(histograms(d.histograms.as_ref()));
    s.add(gtids(d.gtids.as_deref()));
    for item in import(&d.import) {
        s.add(item);
    }
    s.add(data_directory(d.managed.as_ref()));
    if d.managed.as_ref().is_some_and(|own| !own.password) {
        s.add(Item::new("root").line(
            "HAS NO PASSWORD there: a password given with -p or PENSTOCK_PASSWORD becomes root's",
        ));
    }
    s.add(batch_sizes(&d.batch_sizes));
    s.add(super::shared::link(d.link_seconds));
    s.add_bottleneck(d.bottleneck.as_ref());
    tuning::add(&mut s, &d.tuning);
    let adapted = d.notes.iter().fold(Item::new("adapted"), Item::fact);
    s.add(adapted.list(&d.notes).key("adapted", &d.notes));
    let remarks = d.remarks.iter().fold(Item::new("notes"), Item::fact);
    s.add(remarks.list(&d.remarks).key("notes", &d.remarks));
    s.add(Item::keys().key("skipped_statements", &d.skipped_statements));
    if let Some((position, source)) = &d.source {
        s.add(continues(position, source, Copy::Rows(d.flavour)));
    }
    s.add_dumped_with(&d.dumped_with);
    // A script of another tool may have them.
    if d.digests {
        s.add(not_in_archives(d.has_accounts, true));
    }
    s.add_exceptions(&d.exceptions);
    s
}

/// How many objects of each kind were added, in words.
fn made(d: &load::Summary) -> Vec<String> {
    let all = d.made.iter().map(|(word, n)| things(*n, word));
    all.collect()
}

/// What was added to a target that has the rest.
fn add_part(s: &mut Summary, d: &load::Summary) {
    let made = made(d);
    let item = Item::new("added").key(
        "added",
        d.made
            .iter()
            .map(|(word, n)| ((*word).to_owned(), *n))
            .collect::<BTreeMap<_, _>>(),
    );
    s.add(match (d.accounts_made.is_some(), made.is_empty()) {
        (true, _) => item,
        (false, true) if !d.exceptions.is_empty() => item.line("nothing"),
        (false, true) => item.line("nothing: the target lacked none of it"),
        (false, false) => item.shown(made.join(", ")),
    });
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .number("duration", d.seconds)
            .figure(d.seconds, "s", Better::Lower),
    );
}

/// What was loaded, and how fast.
fn add_amounts(s: &mut Summary, d: &load::Summary) {
    // For another tool's dump these are known only after it has been read.
    if d.schemas > 0 || !d.already_complete {
        s.add(objects(d.schemas, d.tables, d.views));
        s.add(rows(d.rows));
    } else {
        s.add(Item::keys().key("rows", d.rows));
    }
    s.add(
        Item::keys()
            .key("schemas", d.schemas)
            .key("tables", d.tables)
            .key("views", d.views),
    );
    let done = Item::new("loaded").key("already_complete", d.already_complete);
    s.add(if d.already_complete {
        done.line("nothing to do: the interrupted load had already completed")
    } else {
        done
    });
    let all = bytes(d.raw_bytes + d.already_loaded_bytes);
    let data = Item::new("row data").line(match d.already_loaded_bytes {
        0 => all,
        there => format!("{all}, of which {} were already loaded", bytes(there)),
    });
    let data = if d.already_complete {
        data
    } else {
        data.figure(d.raw_bytes as f64, "B", Better::Neither)
    };
    s.add(
        data.key("raw_bytes", d.raw_bytes)
            .key("already_loaded_bytes", d.already_loaded_bytes),
    );
    s.add(duration_with_rows(d.seconds, d.rows_seconds, "the rows"));
    // All rows may have been loaded before.
    s.add(if d.raw_bytes > 0 {
        throughput(d.raw_bytes, d.rows_seconds, d.threads)
    } else {
        Item::keys().key("workers", d.threads)
    });
}

/// What is known of rows without digests.
const COUNTED: &str = "counted: the server stored every row that was sent, without a warning; a dump like this has no digests to compare with";

/// What was not done.
const NOT_VERIFIED: &str = "NOT VERIFIED (--verify none or files): the rows that were loaded by SQL were not compared with the archive";

/// What is loaded without rows has nothing to compare by digests.
const WITHOUT_ROWS: &str =
    "no rows were loaded; penstock verify compares the definitions with those of a server";

/// Kinds of objects that were not wanted.
pub(super) fn left_out(what: &[String]) -> Item {
    let item = Item::new("left out").key("left_out", what);
    match what.is_empty() {
        true => item,
        false => item.line(what.join(", ")),
    }
}

/// How many rows there are of tables of which not all were wanted.
fn rows_that_match(chosen: &[load::Chosen]) -> Item {
    let line = |c: &load::Chosen| {
        let by = c.by.join(", ");
        match c.of {
            Some(of) => format!(
                "{} of {} of {} ({by})",
                count(c.rows),
                things(of, "row"),
                c.table
            ),
            None => format!("{} of {} ({by})", things(c.rows, "row"), c.table),
        }
    };
    let json = |c: &load::Chosen| json!({"table": c.table, "rows": c.rows, "of": c.of});
    let lines: Vec<String> = chosen.iter().map(|c| printable(&line(c))).collect();
    let keys: Vec<_> = chosen.iter().map(json).collect();
    Item::new("rows that match")
        .list(&lines)
        .key("rows_that_match", keys)
}

/// The histograms that the source had.
fn histograms(made: Option<&load::HistogramsMade>) -> Item {
    let item = Item::new("histograms").key(
        "histograms",
        made.map(|m| json!({"exact": m.exact, "taken_again": m.taken_again})),
    );
    let Some(made) = made else {
        return item;
    };
    let all = [
        (made.exact, "as on the source"),
        (made.taken_again, "taken again, from the loaded rows"),
    ];
    let there = all.into_iter().filter(|(n, _)| *n > 0);
    there.fold(item, |item, (n, how)| {
        item.line(format!("of {}: {how}", things(n, "column")))
    })
}

/// What the target had before, and what is done with it; `all`: each object that is lost, by name.
pub(super) fn existing(treated: &load::Treated, all: bool) -> Item {
    let kinds = [
        ("left as they are", &treated.left),
        ("replaced", &treated.replaced),
        ("lost with them", &treated.with_them),
        ("emptied and filled", &treated.emptied),
        ("filled", &treated.filled),
    ];
    let item = Item::new("there already").key(
        "existing",
        json!({
            "left": treated.left, "replaced": treated.replaced, "lost_with_them": treated.with_them,
            "emptied": treated.emptied, "filled": treated.filled,
        }),
    );
    let there = kinds.into_iter().filter(|(_, objects)| !objects.is_empty());
    there.fold(item, |item, (what, objects)| {
        let names: Vec<String> = objects.iter().cloned().collect();
        let n = things(names.len() as u64, "object");
        let named = match all && what != "left as they are" {
            true => printable(&names.join(", ")),
            false => some(&names),
        };
        item.line(format!("{what}: {n} ({named})"))
    })
}

/// Whether the target has the archive's rows.
pub(super) fn verified(d: &load::Summary) -> Item {
    let item = Item::new("verified").key("digests", d.digests).key(
        "verified",
        d.verified.as_ref().map(|v| {
            json!({
                "tables": v.tables, "rows": v.rows, "duration": rounded(v.seconds),
                "tables_from_files": v.from_files, "sampled_rows": v.sampled_rows,
            })
        }),
    );
    let from_files = |v: &Comparison| match v.from_files {
        0 => String::new(),
        n => format!(
            "; {} of them in the files that were built, with all indexes, and {} of these also through the server",
            things(n, "table"),
            things(v.sampled_rows, "row")
        ),
    };
    match &d.verified {
        Some(v) => item
            .line(format!(
                "equal: {} in {} have the {} digests ({}){}",
                things(v.rows, "row"),
                things(v.tables, "table"),
                match d.from_source {
                    true => "source's",
                    false => "archive's",
                },
                seconds(v.seconds),
                from_files(v)
            ))
            .figure_with_note(v.seconds, "s", Better::Lower, "at the end"),
        None if d.without_rows => item.line(WITHOUT_ROWS),
        None if !d.digests => item.line(COUNTED),
        None => item.line(NOT_VERIFIED),
    }
}

/// Tables whose rows no digest was taken of.
pub(super) fn not_compared(tables: &[String]) -> Item {
    let item = Item::new("not compared").key("not_compared", tables);
    if tables.is_empty() {
        return item;
    }
    item.line(format!(
        "{} in another dialect of LOAD DATA (CSV, say): the server stored every row that was sent, without a \
         warning, and the rows were not read back",
        some(tables)
    ))
}

/// Accounts that stay in the archive.
fn accounts(accounts: &[String]) -> Item {
    let item = Item::new("not loaded").key("accounts_not_loaded", accounts);
    if accounts.is_empty() {
        return item;
    }
    item.line(format!(
        "{} of the archive ({}): --users makes them; their statements are in @.users.sql",
        things(accounts.len() as u64, "account"),
        some(accounts)
    ))
}

/// Statistics that were taken at the end.
fn statistics(d: Option<&load::Analyzed>) -> Item {
    let item = Item::new("statistics").key("analyzed", d.map(|d| d.tables));
    let Some(d) = d else { return item };
    item.line(format!(
        "taken of {} ({})",
        things(d.tables, "table"),
        seconds(d.seconds)
    ))
}

/// What made the GTIDs of the archive known to the target.
fn gtids(statement: Option<&str>) -> Item {
    let item = Item::new("GTIDs").key("gtids", statement);
    match statement {
        Some(said) => item.line(printable(said)),
        None => item,
    }
}

/// What came of the accounts of the archive.
fn accounts_made(d: Option<&load::AccountsMade>) -> Vec<Item> {
    let Some(d) = d else { return Vec::new() };
    let list = |all: &[String]| match all.len() {
        0 => "none".to_owned(),
        n => format!("{} ({})", things(n as u64, "account"), some(all)),
    };
    let mut items = vec![
        Item::new("accounts")
            .line(format!("made: {}", list(&d.made)))
            .key("accounts_made", &d.made),
    ];
    let earlier = Item::new("accounts").key("accounts_made_earlier", &d.earlier);
    items.push(match d.earlier.is_empty() {
        true => earlier,
        false => earlier.line(format!(
            "made by an earlier load of the archive: {}",
            list(&d.earlier)
        )),
    });
    let kept = Item::new("accounts").key("accounts_kept", &d.kept);
    items.push(match d.kept.is_empty() {
        true => kept,
        false => kept.line(format!(
            "left as they were, for the target has them: {}",
            d.kept.join(", ")
        )),
    });
    items
}

/// Tables imported as tablespaces, and why the others were not.
pub(super) fn import(d: &load::tablespace::ImportSummary) -> Vec<Item> {
    let mut item = Item::new("as tablespaces").key("import", json!({
        "tables": d.tables, "raw_bytes": d.raw_bytes, "bytes": d.bytes, "duration": rounded(d.seconds),
        "by_sql": d.reasons.iter().map(|(why, tables)| json!({"reason": why, "tables": tables})).collect::<Vec<_>>(),
        "indexes_built_by_server": d.indexes_built_by_server, "downtime_seconds": d.downtime_seconds.map(rounded),
    }));
    if !d.tables.is_empty() {
        let stopped = d.downtime_seconds.map(|down| {
            let down = seconds(down);
            format!("; the server was stopped for {down} of it")
        });
        item = item.shown(format!(
            "{}, {} of row data, {} of files, built, imported and verified in {} ({}){}",
            things(d.tables.len() as u64, "table"),
            bytes(d.raw_bytes),
            bytes(d.bytes),
            seconds(d.seconds),
            rate(d.bytes, d.seconds),
            stopped.unwrap_or_default(),
        ));
    }
    let mut items = vec![item];
    for (why, tables) in &d.reasons {
        items.push(Item::new("by SQL").shown(format!("{}: {why}", some(tables))));
    }
    for key in &d.indexes_built_by_server {
        items.push(Item::new("index").line(format!("{key}: built by the server after import")));
    }
    items
}

/// The data directory that the load has initialized.
fn data_directory(made: Option<&instance::managed::Summary>) -> Item {
    let item = Item::new("data directory").key(
        "datadir",
        made.map(|own| {
            json!({
                "directory": own.folder.display().to_string(), "program": own.program.display().to_string(),
                "made": own.made.map(rounded), "root_has_password": own.password,
            })
        }),
    );
    let Some(own) = made else { return item };
    let initialized = own.made.map(|s| format!("; initialized in {}", seconds(s)));
    item.line(format!(
        "{}: its temporary server is shut down, start your service on it{}",
        own.folder.display(),
        initialized.unwrap_or_default()
    ))
}

/// Batch sizes that were measured.
fn batch_sizes(all: &[load::BatchSize]) -> Item {
    let json: Vec<_> = all
        .iter()
        .map(|c| {
            let tried = c.tried.iter().map(|(n, rate)| json!({"chunks": n, "bytes_per_second": rate}));
            json!({"table": c.table, "chunks": c.chunks, "gain_percent": c.gain, "tried": tried.collect::<Vec<_>>()})
        })
        .collect();
    let one = |item: Item, c: &load::BatchSize| {
        let found = match c.chunks {
            1 => "one at a time is the fastest".to_owned(),
            n => format!("{n} at a time, {} % faster than one at a time", c.gain),
        };
        let tried: Vec<String> = c.tried.iter().map(|(n, _)| n.to_string()).collect();
        item.shown(format!("{}: {found} (tried {})", c.table, tried.join(", ")))
    };
    all.iter()
        .fold(Item::new("batch size").key("batch_size", json), one)
}

fn story(d: &load::Summary) -> Vec<String> {
    if d.only.is_some() && d.accounts_made.is_none() {
        let made = made(d);
        let mut story = vec![match made.is_empty() {
            true if !d.exceptions.is_empty() => "Nothing was added.".to_owned(),
            true => "Nothing was added: the target lacked none of it.".to_owned(),
            false => format!("Added to the target: {}.", made.join(", ")),
        }];
        story.extend(exceptions_sentence(d.exceptions.len()));
        return story;
    }
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
            seconds(d.seconds),
            rate(d.raw_bytes, d.rows_seconds),
            things(d.threads as u64, "worker"),
        )
    };
    let verified = match &d.verified {
        Some(v) => format!(
            "Verified: the rows of {} were read back and have the archive's digests.",
            match v.tables {
                1 => "the one table".to_owned(),
                n => format!("all {} tables", count(n)),
            }
        ),
        None if d.without_rows => "Definitions alone were loaded.".to_owned(),
        None if !d.digests => "The server counted every row that was sent and had no warning; a dump of another tool has no digests to compare with.".to_owned(),
        None => format!("{NOT_VERIFIED}."),
    };
    let mut story = vec![loaded, verified];
    story.extend(exceptions_sentence(d.exceptions.len()));
    story
}

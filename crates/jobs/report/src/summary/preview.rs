//! What a load would do.

use super::shared::{objects, rows, some, things};
use super::{Foreseen, Item, Summary, foreseen};
use base::units::{bytes, printable};
use serde_json::json;

/// Describes it.
pub fn preview(d: &load::Preview, time: Option<&Foreseen>) -> Summary {
    if let Some((only, added)) = &d.only {
        return only_a_part(d, *only, added);
    }
    let heading = match (d.exceptions.is_empty(), d.missing.is_empty()) {
        (true, true) => "This would be loaded",
        (false, _) => "This would be loaded, with exceptions",
        (true, false) => "This would be added to what an earlier load of the archive left",
    };
    let mut s = begin(d, heading);
    if !d.missing.is_empty() {
        s.add(
            Item::new("missing there")
                .list(&d.missing)
                .key("missing", &d.missing),
        );
    }
    s.add(objects(d.schemas, d.tables, d.views));
    s.add(rows(d.rows));
    s.add(
        Item::new("row data")
            .line(format!(
                "{}; {} are read for it",
                bytes(d.raw_bytes),
                bytes(d.stored_bytes)
            ))
            .key("raw_bytes", d.raw_bytes)
            .key("stored_bytes", d.stored_bytes),
    );
    s.add(
        Item::keys()
            .key("schemas", d.schemas)
            .key("tables", d.tables)
            .key("views", d.views)
            .key(
                "import",
                json!({
                    "tables": d.imported.0, "raw_bytes": d.imported.1,
                    "by_sql": d.reasons.iter().map(|(why, tables)| json!({"reason": why, "tables": tables})).collect::<Vec<_>>(),
                }),
            ),
    );
    if d.imported.0 > 0 {
        s.add(Item::new("as tablespaces").line(format!(
            "{}, {} of row data",
            things(d.imported.0, "table"),
            bytes(d.imported.1)
        )));
    }
    for (why, tables) in &d.reasons {
        s.add(Item::new("by SQL").line(printable(&format!("{}: {why}", some(tables)))));
    }
    s.add(super::load::left_out(&d.left_out));
    s.add(super::load::existing(&d.existing, true));
    accounts(&mut s, d);
    let gtids = Item::new("GTIDs").key("gtids", &d.gtids);
    s.add(match &d.gtids {
        Some(statement) => gtids.line(printable(statement)),
        None => gtids,
    });
    s.add(Item::new("adapted").list(&d.notes).key("adapted", &d.notes));
    for item in foreseen(time) {
        s.add(item);
    }
    s.add(Item::new("changed").line("nothing").key("dry_run", true));
    s.add_dumped_with(&d.dumped_with);
    s.add_exceptions(&d.exceptions);
    s
}

/// From where, and into what.
fn begin(d: &load::Preview, heading: &str) -> Summary {
    let mut s = Summary::new("load preview", heading);
    s.add(Item::new("into").line(&d.target).key("target", &d.target));
    s.add(
        Item::new("from")
            .line(&d.archive)
            .key("archive", &d.archive),
    );
    s
}

/// What would be added to a target that has the rest.
fn only_a_part(d: &load::Preview, only: load::Only, added: &[String]) -> Summary {
    let heading = match d.exceptions.is_empty() {
        true => "This would be added",
        false => "This would be added, with exceptions",
    };
    let mut s = begin(d, heading);
    let list = Item::new("would be added").key("added", added);
    s.add(match (only, added.is_empty()) {
        (load::Only::Users, _) => list,
        (_, true) => list.line("nothing: the target lacks none of it"),
        (_, false) => list.list(added),
    });
    s.add(super::load::left_out(&d.left_out));
    s.add(super::load::existing(&d.existing, true));
    accounts(&mut s, d);
    s.add(Item::new("adapted").list(&d.notes).key("adapted", &d.notes));
    s.add(Item::new("changed").line("nothing").key("dry_run", true));
    s.add_dumped_with(&d.dumped_with);
    s.add_exceptions(&d.exceptions);
    s
}

fn accounts(s: &mut Summary, d: &load::Preview) {
    let left = Item::new("not loaded").key("accounts_not_loaded", &d.accounts_left);
    s.add(match d.accounts_left.len() {
        0 => left,
        n => left.line(format!(
            "{} of the archive ({}): --users makes them",
            things(n as u64, "account"),
            some(&d.accounts_left)
        )),
    });
    let Some((made, kept)) = &d.accounts else {
        return;
    };
    let list = |all: &[String]| match all.len() {
        0 => "none".to_owned(),
        n => format!("{} ({})", things(n as u64, "account"), some(all)),
    };
    s.add(
        Item::new("accounts")
            .line(format!("made: {}", list(made)))
            .key("accounts_made", made),
    );
    s.add(
        Item::new("accounts")
            .line(format!("left as they are: {}", list(kept)))
            .key("accounts_kept", kept),
    );
}

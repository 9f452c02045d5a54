//! After a rescue.

use super::shared::{duration_at, exceptions_sentence, rows, things};
use super::{Item, Summary};
use crate::record::Better;
use base::units::{bytes, count};
use rescue::TableSummary;
use serde_json::json;

/// What files of tables do not have.
const NOT_IN_FILES: [&str; 4] = [
    "tables of other engines than InnoDB",
    "views, triggers, routines and events",
    "accounts, roles and their grants",
    "foreign keys of MariaDB; the default collation of a schema of MySQL",
];

/// What a server that ended without shutting down keeps to itself.
const AS_THEY_WERE: &str = "as they were: changes that a server had logged, and not written to them before it ended, are missing; where it can still recover, penstock dump --from-files --recover has them";

/// Describes a rescue.
pub fn rescue(d: &rescue::Summary) -> Summary {
    let heading = if d.exceptions.is_empty() {
        "Rescue complete: every row of every file is whole"
    } else {
        "Rescue complete, with exceptions"
    };
    let mut s = Summary::new("rescue", heading);
    s.title = "Rescue of files".to_owned();
    s.story = vec![
        format!(
            "{} in {} were rescued from {}.",
            things(d.rows, "row"),
            things(d.tables.len() as u64, "table"),
            things(d.files, "file"),
        ),
        exceptions_sentence(d.exceptions.len())
            .unwrap_or_else(|| "Every row of every file is whole.".to_owned()),
    ];
    let files = things(d.files, "file");
    s.add(Item::new("from").shown(&files).key("files", d.files));
    let tables = things(d.tables.len() as u64, "table");
    let schemas = things(d.schemas, "schema");
    s.add(
        Item::new("objects")
            .shown(format!("{schemas}, {tables}"))
            .key("schemas", d.schemas)
            .key("tables", d.tables.len()),
    );
    s.add(rows(d.rows));
    s.add(
        Item::new("row data")
            .line(bytes(d.raw_bytes))
            .key("raw_bytes", d.raw_bytes)
            .figure(d.raw_bytes as f64, "B", Better::Neither),
    );
    s.add(
        Item::new("stored")
            .line(bytes(d.stored_bytes))
            .key("stored_bytes", d.stored_bytes),
    );
    let each: Vec<_> = d.tables.iter().map(table).collect();
    s.add(Item::keys().key("each_table", each));
    let sum = |of: fn(&TableSummary) -> u64| d.tables.iter().map(of).sum::<u64>();
    for (label, key, n) in [
        ("lost pages", "lost_pages", sum(|t| t.lost_pages)),
        ("lost rows", "lost_rows", sum(|t| t.lost_rows)),
        ("rows lacking values", "partial_rows", sum(|t| t.partial)),
        ("deleted rows", "deleted_rows", sum(|t| t.deleted)),
        ("rows of old pages", "old_rows", sum(|t| t.old)),
    ] {
        let item = Item::new(label).key(key, n);
        s.add(match n {
            0 => item,
            n => item.shown(count(n)),
        });
    }
    for item in duration_at(d.seconds, d.raw_bytes, "") {
        s.add(item);
    }
    s.add(Item::new("files were read").line(AS_THEY_WERE));
    s.add(
        Item::new("not in files")
            .line(NOT_IN_FILES.join("; "))
            .key("not_included", NOT_IN_FILES),
    );
    s.add_exceptions(&d.exceptions);
    s.add(
        Item::new("archive")
            .shown(&d.path)
            .key("archive", d.path.clone()),
    );
    s
}

fn table(t: &TableSummary) -> serde_json::Value {
    json!({
        "table": t.name, "rows": t.rows, "described_by": t.described_by, "lost_pages": t.lost_pages,
        "lost_rows": t.lost_rows, "partial_rows": t.partial, "deleted_rows": t.deleted, "old_rows": t.old,
    })
}

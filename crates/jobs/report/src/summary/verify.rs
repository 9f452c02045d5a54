//! After a verification.

use super::shared::{duration_at, indexes_not_compared, rate, rows, several, things};
use super::{Item, Summary};
use crate::record::Better;
use base::units::{bytes, count, seconds};
use serde_json::{Value, json};

/// Describes an archive that was found intact.
pub fn offline(d: &verify::Offline) -> Summary {
    let path = d.path.clone();
    let heading = if d.locked {
        "The encrypted files are intact; their contents were not checked"
    } else {
        "Archive is intact"
    };
    let mut s = Summary::new("verify", heading);
    s.title = format!("Check of {path}");
    s.story = vec![
        format!(
            "The files of the archive are intact: {} ({}) were read in {}, at {}, and {} decoded.",
            things(d.files, "file"),
            bytes(d.bytes),
            seconds(d.seconds),
            rate(d.bytes, d.seconds),
            things(d.rows, "row"),
        ),
        if d.digests {
            "Verified: every file has the digest that was computed when it was written."
        } else {
            "It has no digests: penstock did not write it, so only structure, sizes and counts were checked."
        }
        .to_owned(),
    ];
    s.add(Item::new("archive").shown(&path).key("archive", &path));
    s.add(
        Item::new("files")
            .line(format!("{}, {}", count(d.files), bytes(d.bytes)))
            .key("files", d.files)
            .figure(d.files as f64, "", Better::Neither),
    );
    s.add(Item::new("bytes read").key("bytes", d.bytes).figure(
        d.bytes as f64,
        "B",
        Better::Neither,
    ));
    s.add(rows(d.rows));
    s.add(super::dump::accounts(d.accounts));
    let digests = Item::new("digests").key("digests", d.digests);
    s.add(if d.digests {
        digests
    } else {
        digests.line(
            "none: penstock did not write it, so only structure, sizes and counts were checked",
        )
    });
    for item in duration_at(d.seconds, d.bytes, "") {
        s.add(item);
    }
    s.add(super::shared::link(d.link_seconds));
    if d.locked {
        s.add(
            Item::new("not checked")
                .line("rows and definitions: the archive is encrypted, and no key was named"),
        );
    }
    s.add(Item::keys().key("contents_checked", !d.locked));
    s.add_dumped_with(&d.dumped_with);
    s.add(Item::keys().key("equal", true));
    s
}

/// Describes two equal sides.
pub fn compared(d: &verify::Comparison) -> Summary {
    let mut s = Summary::new("verify", "Equal");
    s.title = format!("Comparison of {} and {}", d.left, d.right);
    s.story = vec![
        format!(
            "Equal: {} in {} ({}) were compared in {}, at {}.",
            things(d.rows, "row"),
            things(d.tables, "table"),
            bytes(d.bytes),
            seconds(d.seconds),
            rate(d.bytes, d.seconds),
        ),
        match d.definitions.as_ref().filter(|d| d.not_compared.is_empty()) {
            Some(defined) => format!(
                "Verified: the rows of both sides have the same digests, and {} the same.",
                match defined.equal {
                    1 => "its definition is".to_owned(),
                    n => format!("all {} definitions are", count(n)),
                }
            ),
            None => "Verified: the rows of both sides have the same digests; definitions were not, or not all, compared.".to_owned(),
        },
    ];
    s.add(Item::new("left").shown(&d.left).key("left", &d.left));
    s.add(Item::new("right").shown(&d.right).key("right", &d.right));
    s.add(
        Item::new("compared")
            .line(match d.tables {
                0 => "no rows: there are none in what is compared".to_owned(),
                tables => several(&[(tables, "table"), (d.rows, "row")]),
            })
            .key("tables", d.tables),
    );
    if let Some(defined) = &d.definitions {
        let mut item = Item::new("definitions").key("definitions", defined.equal);
        item = match defined.not_compared.is_empty() {
            true => item.line(format!("{} compared", things(defined.equal, "object"))),
            false => item.line(format!("{} on both sides", things(defined.equal, "object"))),
        };
        s.add(item.figure(defined.equal as f64, "", Better::Neither));
    }
    s.add(
        Item::new("row data")
            .key("bytes", d.bytes)
            .figure(d.bytes as f64, "B", Better::Neither),
    );
    s.add(
        Item::new("rows")
            .key("rows", d.rows)
            .figure(d.rows as f64, "", Better::Neither),
    );
    for item in duration_at(d.seconds, d.bytes, " of row data") {
        s.add(item);
    }
    if d.chunks_unread {
        let what = "the archive's files: its recorded digests were compared; penstock verify DIR reads them";
        s.add(Item::new("not read").shown(what).key("chunks_read", false));
    }
    s.add(indexes_not_compared(&d.indexes_not_compared));
    s.add(definitions_not_compared(d));
    s.add_dumped_with(&d.dumped_with);
    s.add(Item::keys().key("equal", true));
    s
}

/// What of the definitions was not compared.
fn definitions_not_compared(d: &verify::Comparison) -> Item {
    let not: &[String] = d.definitions.as_ref().map_or(&[], |d| &d.not_compared);
    let mut item = Item::new("not compared").key("definitions_not_compared", not);
    for why in not {
        item = item.line(why);
    }
    item
}

/// Describes tablespace files that were found intact.
pub fn tablespaces(d: &verify::Tablespaces) -> Summary {
    let heading = if d.files.len() == 1 {
        "Tablespace is intact"
    } else {
        "Tablespaces are intact"
    };
    let mut s = Summary::new("verify", heading);
    for f in &d.files {
        s.add(Item::new("file").line(f.path.display()));
        if let Some(table) = &f.table {
            s.add(Item::new("table").line(table));
        }
        s.add(Item::new("pages").line(count(f.pages.into())));
        for i in &f.indexes {
            s.add(Item::new("index").line(index(i)));
        }
    }
    let files: Vec<Value> = d.files.iter().map(file_json).collect();
    s.add(
        Item::keys()
            .key("tablespaces", files)
            .key("bytes", d.bytes)
            .key("equal", true),
    );
    for item in duration_at(d.seconds, d.bytes, "") {
        s.add(item);
    }
    s
}

fn index(i: &innodb::check::Index) -> String {
    let name = match &i.name {
        Some(name) => name.clone(),
        None if i.id == u64::MAX => "(dictionary)".to_owned(),
        None => format!("number {}", i.id),
    };
    let mut text = format!(
        "{name}: {} in {}",
        things(i.records, "record"),
        things(i.pages.into(), "page")
    );
    if i.outside > 0 {
        text += &format!(", {} of long values", things(i.outside.into(), "page"));
    }
    text += &format!(", {}", things(i.levels.into(), "level"));
    match (i.ordered, i.unordered) {
        (0, 0) => {}
        (_, 0) => text += ", in order",
        (_, n) => {
            let pairs = things(n, "pair");
            text += &format!(", in order except for {pairs} with an unknown collation");
        }
    }
    text
}

fn file_json(f: &verify::Tablespace) -> Value {
    json!({
        "path": f.path.display().to_string(), "table": f.table, "pages": f.pages,
        "indexes": f.indexes.iter().map(|i| json!({
            "id": i.id, "name": i.name, "root": i.root, "levels": i.levels, "pages": i.pages,
            "outside_pages": i.outside, "records": i.records, "ordered": i.ordered, "unordered": i.unordered,
        })).collect::<Vec<_>>(),
    })
}

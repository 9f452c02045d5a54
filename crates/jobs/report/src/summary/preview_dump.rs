//! What a dump would do.

use super::shared::{objects, things};
use super::{Foreseen, Item, Summary, foreseen};
use base::units::{bytes, count, printable};
use serde_json::json;

/// Describes it.
pub fn preview_dump(d: &dump::Preview, time: &Foreseen) -> Summary {
    let heading = match d.exceptions.is_empty() {
        true => "This would be dumped",
        false => "This would be dumped, with exceptions",
    };
    let mut s = Summary::new("dump preview", heading);
    s.add(Item::new("from").line(&d.source).key("source", &d.source));
    s.add(Item::new("into").line(&d.to).key("archive", &d.to));
    s.add(objects(d.schemas, d.tables, d.views));
    s.add(
        Item::keys()
            .key("schemas", d.schemas)
            .key("tables", d.tables)
            .key("views", d.views)
            .key("dry_run", true),
    );
    s.add(
        Item::new("rows")
            .line(format!("about {}, as the server estimates", count(d.rows)))
            .key("rows_estimate", d.rows),
    );
    s.add(
        Item::new("table files")
            .line(format!(
                "about {}, and {} of other indexes, which no archive has",
                bytes(d.data_bytes),
                bytes(d.index_bytes)
            ))
            .key("data_bytes", d.data_bytes)
            .key("index_bytes", d.index_bytes),
    );
    let largest: Vec<String> = d
        .largest
        .iter()
        .map(|(name, size)| printable(&format!("{name}: about {}", bytes(*size))))
        .collect();
    s.add(
        Item::new("largest tables").list(&largest).key(
            "largest",
            d.largest
                .iter()
                .map(|(name, size)| json!({"table": name, "data_bytes": size}))
                .collect::<Vec<_>>(),
        ),
    );
    s.add(super::dump::left_out(d.without_rows, &d.not_chosen));
    let room = Item::new("room").key("free_bytes", d.free);
    s.add(match d.free {
        Some(free) => room.line(format!("{} are free there", bytes(free))),
        None => room,
    });
    s.add(
        Item::new("consistency")
            .line(&d.consistency)
            .key("consistency", &d.consistency),
    );
    let accounts = Item::new("accounts").key("accounts", d.accounts);
    s.add(match d.accounts {
        Some(n) => accounts.line(things(n, "account")),
        None => accounts.line("none"),
    });
    s.add(
        Item::new("not seen")
            .list(&d.not_seen)
            .key("not_seen", &d.not_seen),
    );
    for item in foreseen(Some(time)) {
        s.add(item);
    }
    s.add(Item::new("written").line("nothing"));
    s.add_exceptions(&d.exceptions);
    s
}

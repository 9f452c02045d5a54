//! After `penstock warm`.

use super::shared::{duration_at, impact_on_others, several, things};
use super::{Item, Line, Summary, Table};
use crate::record::Better;
use base::units::{bytes, count, printable};
use serde_json::json;
use warm::file::{Counts, HotSet, IndexRanges};
use warm::{load, save};

/// Indexes that are shown to people.
const MOST: usize = 40;

/// Describes what was saved.
pub fn warm_save(d: &save::Summary) -> Summary {
    let heading = match d.exceptions.is_empty() {
        true => "The hot ranges are saved",
        false => "The hot ranges are saved, with exceptions",
    };
    let mut s = Summary::new("warm save", heading);
    s.add(
        Item::new("server")
            .shown(&d.header.server)
            .key("server", &d.header.server),
    );
    s.add(pages(&d.header.pages, d.header.page_size));
    s.add(objects(d.tables, d.indexes, d.ranges));
    let took = duration_at(
        d.seconds,
        d.header.pages.placed * d.header.page_size,
        " of hot pages",
    );
    for item in took {
        s.add(item);
    }
    s.add_exceptions(&d.exceptions);
    s.add(
        Item::new("file")
            .shown(format!("{} ({})", printable(&d.path), bytes(d.bytes)))
            .key("file", &d.path)
            .key("file_bytes", d.bytes),
    );
    s
}

/// Describes what was loaded.
pub fn warm_load(d: &load::Summary) -> Summary {
    let mut s = loaded("warm load", d, &d.exceptions);
    s.add_exceptions(&d.exceptions);
    s
}

/// Describes what was saved and loaded.
pub fn warm_copy(saved: &save::Summary, d: &load::Summary) -> Summary {
    let exceptions = [saved.exceptions.clone(), d.exceptions.clone()].concat();
    let mut s = loaded("warm copy", d, &exceptions);
    s.add(
        Item::new("source")
            .line(format!("{}, {:.2} s", saved.header.server, saved.seconds))
            .key("source", &saved.header.server)
            .number("source_duration", saved.seconds),
    );
    s.add(pages(&saved.header.pages, saved.header.page_size));
    s.add_exceptions(&exceptions);
    s
}

fn loaded(job: &'static str, d: &load::Summary, exceptions: &[String]) -> Summary {
    let heading = match exceptions.is_empty() {
        true => "The server is warm",
        false => "The server is warm, with exceptions",
    };
    let mut s = Summary::new(job, heading);
    s.add(
        Item::new("server")
            .shown(&d.target)
            .key("server", &d.target),
    );
    s.add(objects(0, d.indexes, d.ranges));
    s.add(
        Item::new("hot pages")
            .line(format!(
                "{}, of a pool of {}",
                bytes(d.bytes),
                bytes(d.pool)
            ))
            .key("bytes", d.bytes)
            .key("pool_bytes", d.pool)
            .figure(d.bytes as f64, "B", Better::Neither),
    );
    s.add(
        Item::new("read from disk")
            .line(format!(
                "{} by the whole server meanwhile",
                bytes(d.bytes_read)
            ))
            .key("bytes_read", d.bytes_read)
            .figure(d.bytes_read as f64, "B", Better::Lower),
    );
    let room = Item::new("no room").key("no_room_bytes", d.no_room);
    s.add(match d.no_room {
        0 => room,
        n => room.line(format!("for {} of colder ranges", bytes(n))),
    });
    let twice = Item::new("read twice").key("twice", d.twice);
    s.add(match d.twice {
        true => twice
            .line("the pool was full: each range was read again, so that it is not evicted first"),
        false => twice,
    });
    for item in duration_at(d.seconds, d.bytes, " of hot pages") {
        s.add(item);
    }
    for item in impact_on_others(d.impact.as_ref()) {
        s.add(item);
    }
    s
}

/// Describes what a file holds.
pub fn warm_status(set: &HotSet) -> Summary {
    let h = &set.header;
    let mut s = Summary::new("warm status", "Hot ranges of a buffer pool");
    s.add(
        Item::new("server")
            .line(format!(
                "{}, pool of {}",
                printable(&h.server),
                bytes(h.pool)
            ))
            .key("server", &h.server)
            .key("pool_bytes", h.pool),
    );
    s.add(Item::new("saved").line(printable(&h.at)).key("at", &h.at));
    s.add(pages(&h.pages, h.page_size));
    s.add(objects(0, set.indexes.len() as u64, set.ranges()));
    let mut largest: Vec<&IndexRanges> = set.indexes.iter().collect();
    largest.sort_by_key(|i| std::cmp::Reverse(i.pages()));
    let head = [
        "table",
        "index",
        "ranges",
        "hot leaves",
        "of all",
        "hot bytes",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for i in largest.iter().take(MOST) {
        let share = i.hot() as f64 * 100.0 / i.leaves.max(1) as f64;
        rows.push(vec![
            printable(&table(i)),
            printable(&i.index),
            count(i.ranges.len() as u64),
            count(i.hot()),
            format!("{share:.1} %"),
            bytes(i.pages() * h.page_size),
        ]);
    }
    let all: Vec<_> = set
        .indexes
        .iter()
        .map(|i| {
            json!({
                "schema": i.schema, "table": i.table, "partition": i.partition, "index": i.index,
                "ranges": i.ranges.len(), "hot_leaves": i.hot(), "leaves": i.leaves, "hot_pages": i.pages(),
            })
        })
        .collect();
    s.add(
        Item::keys()
            .key("each_index", all)
            .with(Line::Blank)
            .with(Line::Table(Table {
                indent: 2,
                numbers: true,
                rows,
            })),
    );
    if largest.len() > MOST {
        let rest = things((largest.len() - MOST) as u64, "smaller index");
        s.add(Item::keys().with(Line::Plain(format!("{rest} not shown; --json has them"))));
    }
    s
}

fn table(i: &IndexRanges) -> String {
    match &i.partition {
        Some(p) => format!("{}.{} partition {p}", i.schema, i.table),
        None => format!("{}.{}", i.schema, i.table),
    }
}

fn objects(tables: u64, indexes: u64, ranges: u64) -> Item {
    let parts = [(tables, "table"), (ranges, "range")];
    let indexes_in_words = match indexes {
        1 => "1 index".to_owned(),
        n => format!("{} indexes", count(n)),
    };
    Item::new("ranges")
        .shown(format!("{}, {indexes_in_words}", several(&parts)))
        .key("indexes", indexes)
        .key("ranges", ranges)
}

/// The pages of the list, by what they are.
fn pages(c: &Counts, size: u64) -> Item {
    let mut item = Item::new("pages")
        .shown(format!(
            "{} ({}) in the buffer pool",
            count(c.listed),
            bytes(c.listed * size)
        ))
        .key("pages", c)
        .key("page_size", size);
    for (n, what) in [
        (c.placed, "leaves, in ranges"),
        (c.above, "above the leaves, or describe files"),
        (c.off_page, "of off-page values"),
        (
            c.not_placed,
            "not placed: newer than the files, or of what is not read",
        ),
        (
            c.left_out,
            "left out: undo logs, system, temporary, not selected",
        ),
    ] {
        if n > 0 {
            item = item.with(Line::Plain(format!("  {:>12}  {what}", count(n))));
        }
    }
    item
}

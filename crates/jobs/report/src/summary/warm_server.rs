//! After `penstock warm status SERVER`.

use super::{Item, Line, Summary, Table};
use base::units::{bytes, count, printable, rounded};
use serde_json::json;
use warm::status;

/// Indexes that are shown to people.
const MOST: usize = 40;

/// Describes what is in a buffer pool.
pub fn warm_server(d: &status::Summary) -> Summary {
    let mut s = Summary::new("warm status", "What is in the buffer pool");
    s.add(
        Item::new("server")
            .line(printable(&d.server))
            .key("server", &d.server),
    );
    let size = |pages: u64| bytes(pages * d.page_size);
    s.add(
        Item::new("pool")
            .line(format!(
                "{}: {} of data, {} free",
                size(d.pool),
                size(d.data),
                size(d.free)
            ))
            .key("page_size", d.page_size)
            .key("pool_pages", d.pool)
            .key("data_pages", d.data)
            .key("free_pages", d.free),
    );
    s.add(
        Item::new("data")
            .line(format!(
                "{} in the old part of the list, which is evicted first; {} not written to disk yet",
                size(d.old),
                size(d.dirty)
            ))
            .key("old_pages", d.old)
            .key("dirty_pages", d.dirty),
    );
    let item = Item::new("in memory");
    s.add(match &d.hot {
        Some(hot) => item
            .line(format!(
                "at least {:.1} % of the file's hot pages, by a sample: {} ranges of {} pages, {} read from disk",
                hot.share() * 100.0,
                count(hot.ranges),
                count(hot.pages),
                count(hot.read)
            ))
            .key("hot_share", rounded(hot.share()))
            .key("hot_pages", hot.hot)
            .key("sampled_ranges", hot.ranges)
            .key("sampled_pages", hot.pages)
            .key("sampled_pages_read", hot.read),
        None => item,
    });
    s.add(indexes(d));
    let missing = d.hot.as_ref().map(|h| h.exceptions.as_slice());
    s.add_exceptions(missing.unwrap_or_default());
    s
}

fn indexes(d: &status::Summary) -> Item {
    let Some(indexes) = &d.indexes else {
        return Item::new("indexes")
            .line("MariaDB does not count the pages of each; penstock warm save on its host does")
            .key("each_index", Option::<u64>::None);
    };
    let head = ["table", "index", "pages", "bytes"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let table = |i: &status::Cached| match &i.partition {
        Some(p) => format!("{}.{} partition {p}", i.schema, i.table),
        None => format!("{}.{}", i.schema, i.table),
    };
    for i in indexes.iter().take(MOST) {
        rows.push(vec![
            printable(&table(i)),
            printable(&i.index),
            count(i.pages),
            bytes(i.pages * d.page_size),
        ]);
    }
    let all: Vec<_> = (indexes.iter())
        .map(|i| json!({"schema": i.schema, "table": i.table, "partition": i.partition, "index": i.index, "pages": i.pages}))
        .collect();
    let mut item = Item::keys()
        .key("each_index", all)
        .with(Line::Blank)
        .with(Line::Table(Table {
            indent: 2,
            numbers: true,
            rows,
        }));
    if indexes.len() > MOST {
        let rest = count((indexes.len() - MOST) as u64);
        item = item.with(Line::Plain(format!(
            "{rest} smaller ones not shown; --json has them"
        )));
    }
    item
}

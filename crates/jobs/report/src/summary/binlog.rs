//! After the commands of `penstock binlog`.

use super::shared::things;
use super::{Item, Summary};
use base::units::{bytes, count, printable, seconds};
use binlog_archive::Summary as Archived;
use repository::ServerName;
use serde_json::json;

/// Describes what was archived of a binary log.
pub fn binlog_archive(server: &ServerName, d: &Archived) -> Summary {
    let heading = match (d.segments, d.exceptions.is_empty()) {
        (0, true) => "Binary log: nothing new",
        (_, true) => "Binary log archived",
        (_, false) => "Binary log archived, with exceptions",
    };
    let mut s = Summary::new("binlog archive", heading);
    s.add(
        Item::new("server")
            .shown(server.as_str())
            .key("server", server.as_str()),
    );
    let source = printable(&d.source);
    s.add(Item::new("source").shown(&source).key("source", &source));
    let place = |place: &Option<(String, u64)>| {
        place
            .as_ref()
            .map(|(file, at)| printable(&format!("{file}:{at}")))
    };
    if let (Some(from), Some(to)) = (place(&d.from), place(&d.to)) {
        s.add(
            Item::new("archived")
                .line(format!("{from} to {to}"))
                .key("from", from)
                .key("to", to),
        );
        s.add(
            Item::new("stored")
                .line(format!(
                    "{} of the log in {}, {} ({})",
                    bytes(d.bytes),
                    bytes(d.stored),
                    things(d.segments, "segment"),
                    things(d.transactions, "transaction"),
                ))
                .key("bytes", d.bytes)
                .key("stored_bytes", d.stored)
                .key("segments", d.segments)
                .key("transactions", d.transactions)
                .key("timeline", d.timeline),
        );
    }
    let last = d.last_time.and_then(|t| i64::try_from(t).ok());
    if let Some(last) = last.and_then(|t| jiff::Timestamp::from_microsecond(t).ok()) {
        let last = last.to_string();
        s.add(
            Item::new("last transaction")
                .shown(&last)
                .key("last_transaction", &last),
        );
    }
    if d.reconnects > 0 {
        s.add(
            Item::new("reconnected")
                .line(format!("{} times", count(d.reconnects)))
                .key("reconnects", d.reconnects),
        );
    }
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .key("seconds", json!(d.seconds)),
    );
    let exceptions: Vec<String> = d.exceptions.iter().map(|e| printable(e)).collect();
    s.add(
        Item::new("exceptions")
            .list(&exceptions)
            .key("exceptions", &exceptions),
    );
    s
}

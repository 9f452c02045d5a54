//! The record of a dump.

use super::{bottleneck, duration, fact, filter, moved, rate, setting, things, yes};
use crate::record::{Better, Figure, Kind, Record};
use base::units::{bytes, count, seconds};
use dump::{Compression, Consistency, Options, Summary};

/// What is known before a dump begins.
pub fn dump_begins(o: &Options) -> Record {
    let mut r = Record::new(Kind::Dump, format!("Dump of {}", o.source.endpoint));
    setting(&mut r, "source", &o.source.endpoint);
    setting(&mut r, "to", o.to.display());
    setting(&mut r, "workers", o.threads);
    setting(&mut r, "compression", method(o.compression));
    setting(&mut r, "chunk size", bytes(o.chunk_bytes));
    setting(
        &mut r,
        "consistency",
        match o.consistency {
            Consistency::Lock => "one snapshot, under a read lock",
            Consistency::None => "none",
        },
    );
    setting(
        &mut r,
        "longest wait for the read lock",
        seconds(o.lock_wait.as_secs_f64()),
    );
    setting(&mut r, "routines", yes(o.routines));
    setting(&mut r, "events", yes(o.events));
    setting(&mut r, "triggers", yes(o.triggers));
    filter(&mut r, &o.filter);
    r
}

/// What is known after a dump.
pub fn dump(r: &mut Record, d: &Summary) {
    r.title = format!("Dump of {}", d.source);
    let ratio = d.raw_bytes as f64 / d.stored_bytes.max(1) as f64;
    let smaller = if ratio < 1.05 {
        String::new()
    } else {
        format!(", {ratio:.1} times smaller")
    };
    r.story = vec![
        format!(
            "{} in {} ({} of row data) were dumped in {}, at {} by {}; they are stored as {}{smaller}.",
            things(d.rows, "row"),
            things(d.tables, "table"),
            bytes(d.raw_bytes),
            duration(r),
            rate(d.raw_bytes, d.rows_seconds),
            things(d.threads as u64, "worker"),
            bytes(d.stored_bytes),
        ),
        match (d.exceptions.len(), d.achieved.lock_ms > 0.0) {
            (0, true) => format!(
                "It is one consistent snapshot; the read lock for it was granted after {:.1} ms and held for {:.1} ms.",
                d.achieved.wait_ms, d.achieved.lock_ms
            ),
            (0, false) => format!("Consistency: {}.", d.achieved.mode),
            (1, _) => "There is one exception, listed below.".to_owned(),
            (n, _) => format!("There are {n} exceptions, listed below."),
        },
        "Every file has a digest in the archive; the archive has not been loaded yet.".to_owned(),
    ];
    moved(r, d.rows, d.raw_bytes, d.rows_seconds, d.threads);
    r.figures.push(
        Figure::new("stored", d.stored_bytes as f64, "B", Better::Lower).note(format!(
            "{}, {}",
            things(d.chunks, "chunk"),
            method(d.compression)
        )),
    );
    if d.achieved.lock_ms > 0.0 {
        r.figures.push(
            Figure::new("read lock", d.achieved.lock_ms, "ms", Better::Lower)
                .note(format!("after {:.1} ms of waiting", d.achieved.wait_ms)),
        );
    }
    r.outcome.exceptions.clone_from(&d.exceptions);
    fact(r, "server", &d.source);
    fact(r, "archive", d.path.display());
    fact(r, "schemas", count(d.schemas));
    fact(r, "tables", count(d.tables));
    fact(r, "views", count(d.views));
    fact(r, "consistency", &d.achieved.mode);
    let p = &d.achieved.position;
    if let (Some(file), Some(at)) = (&p.binlog_file, p.binlog_position) {
        fact(r, "binary log", format!("{file}:{at}"));
    }
    if let Some(gtid) = p.gtid_executed.as_ref().or(p.gtid_binlog_pos.as_ref()) {
        fact(r, "GTID", gtid);
    }
    bottleneck(r, d.bottleneck.as_ref());
}

fn method(c: Compression) -> String {
    match c {
        Compression::None => "none".to_owned(),
        Compression::Zstd(level) => format!("zstd:{level}"),
        Compression::Gzip => "gzip".to_owned(),
    }
}

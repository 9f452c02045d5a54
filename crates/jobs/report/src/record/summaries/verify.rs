//! The record of a verification.

use super::{duration, fact, filter, rate, setting, things};
use crate::record::{Better, Figure, Kind, Record};
use base::units::bytes;
use server::Filter;
use verify::{Comparison, Offline};

/// What is known before a verification begins; `sides` are the archive or the servers.
pub fn verify_begins(sides: &[String], threads: usize, selection: &Filter) -> Record {
    let mut r = Record::new(
        Kind::Verify,
        match sides {
            [one] => format!("Check of {one}"),
            _ => format!("Comparison of {}", sides.join(" and ")),
        },
    );
    for (side, name) in sides.iter().zip(["left", "right"]) {
        let name = if sides.len() == 1 { "archive" } else { name };
        setting(&mut r, name, side);
    }
    setting(&mut r, "workers", threads);
    filter(&mut r, selection);
    r
}

/// An archive that was found intact.
pub fn offline(r: &mut Record, d: &Offline) {
    r.title = format!("Check of {}", d.path.display());
    r.story = vec![
        format!(
            "The archive is intact: {} ({}) were read in {}, at {}, and {} decoded.",
            things(d.files, "file"),
            bytes(d.bytes),
            duration(r),
            rate(d.bytes, d.seconds),
            things(d.rows, "row"),
        ),
        if d.digests {
            "Verified: every file has the digest that was computed when it was written.".to_owned()
        } else {
            "It has no digests: penstock did not write it, so only structure, sizes and counts were checked.".to_owned()
        },
    ];
    figures(r, d.bytes, d.rows, d.seconds, "bytes read");
    r.figures
        .push(Figure::new("files", d.files as f64, "", Better::Neither));
    fact(r, "archive", d.path.display());
}

/// Two equal sides.
pub fn compared(r: &mut Record, d: &Comparison) {
    r.title = format!("Comparison of {} and {}", d.left, d.right);
    r.story = vec![
        format!(
            "Equal: {} in {} ({}) were compared in {}, at {}.",
            things(d.rows, "row"),
            things(d.tables, "table"),
            bytes(d.bytes),
            duration(r),
            rate(d.bytes, d.seconds),
        ),
        "Verified: the rows of both sides have the same digests; definitions were not compared."
            .to_owned(),
    ];
    figures(r, d.bytes, d.rows, d.seconds, "row data");
    fact(r, "left", &d.left);
    fact(r, "right", &d.right);
}

fn figures(r: &mut Record, amount: u64, rows: u64, time: f64, what: &str) {
    let throughput = super::per_second(amount, time);
    r.figures = vec![
        Figure::new("duration", r.seconds, "s", Better::Lower),
        Figure::new("throughput", throughput, "B/s", Better::Higher),
        Figure::new(what, amount as f64, "B", Better::Neither),
        Figure::new("rows", rows as f64, "", Better::Neither),
    ];
}

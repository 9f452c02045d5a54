//! How fast rows are read from a file of MySQL by one thread: to the digest of the rows, to lines of an archive, and to
//! both. Files of MariaDB do not describe themselves; their pages are read in the same way.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use crate::args::Args;
use archive::RowDigest;
use archive::row::{Encoding, RowPlan};
use innodb::read::sdi::Sdi;
use innodb::read::{self, Leaves, Rows, Table, Tablespace, Values};
use std::fs::File;
use std::time::Instant;
use testkit::{Error, Result};

/// The options of `testkit pages`.
pub(crate) const OPTIONS: [&str; 1] = ["runs"];

/// Bytes of lines that are kept at once, as a chunk that is written would be.
const LINES: usize = 1 << 21;

/// Prints the median of each way.
pub(crate) fn measure(args: &Args) -> Result<()> {
    let path = args.word(0, "FILE.ibd")?;
    let runs: usize = args.number("runs", 5)?;
    let file = File::open(path).map_err(Error::doing(path))?;
    let space = Tablespace::open(&file).map_err(Error::doing(path))?;
    let described = Sdi::read(&space).map_err(Error::doing(path))?;
    let table = described
        .table(space.id)
        .ok_or_else(|| Error(format!("{path}: it describes no table")))?;
    let table = table.map_err(Error::doing(path))?;
    let leaves = Leaves::of(&space, &table.clustered, table.redundant);
    let leaves = leaves.map_err(Error::doing(path))?;
    let bytes = (leaves.all.len() * space.page_size()) as f64;
    // What the disk takes is measured elsewhere.
    one(&space, &table, &leaves, true, true).map_err(Error::doing(path))?;
    for (name, digests, lines) in [
        ("digest", true, false),
        ("lines", false, true),
        ("both", true, true),
    ] {
        let mut seconds = Vec::new();
        for _ in 0..runs.max(1) {
            let begin = Instant::now();
            one(&space, &table, &leaves, digests, lines).map_err(Error::doing(path))?;
            seconds.push(begin.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        println!("{name}={:.0}", bytes / seconds[seconds.len() / 2] / 1e6);
    }
    Ok(())
}

/// Reads all rows.
fn one(
    space: &Tablespace<'_>,
    table: &Table,
    leaves: &Leaves,
    digests: bool,
    lines: bool,
) -> std::result::Result<(), read::Error> {
    let stored = |n: &usize| matches!(table.columns[*n].values, Values::Stored(_));
    let columns: Vec<usize> = (0..table.columns.len()).filter(stored).collect();
    let plan = RowPlan::new(vec![Encoding::Text; columns.len()]);
    let mut rows = Rows::new(space, table, leaves.id, &columns)?;
    let mut digest = RowDigest::new();
    let mut out: Vec<u8> = Vec::with_capacity(2 * LINES);
    rows.scan(&leaves.all, |row| {
        if digests {
            digest.add(row);
        }
        if lines {
            if out.len() > LINES {
                out.clear();
            }
            plan.encode(row, &mut out)
                .map_err(|e| read::Error::Definition(e.to_string()))?;
        }
        Ok::<_, read::Error>(())
    })?;
    std::hint::black_box((&digest, &out));
    Ok(())
}

//! How fast rows are read from a file of MySQL: `cargo run --release -p penstock-innodb --example read_rows FILE.ibd [RUNS]`.
//!
//! One thread; megabytes of pages a second, to the digest of the rows, to lines of an archive, and to both. The file
//! should be in the page cache: run it twice.
#![allow(
    clippy::print_stdout,
    reason = "an example's results go to the terminal"
)]

use archive::RowDigest;
use archive::row::{Encoding, RowPlan};
use innodb::read::sdi::Sdi;
use innodb::read::{Error, Leaves, Rows, Tablespace, Values};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("a file, please")?;
    let runs: usize = args.next().map_or(Ok(5), |n| n.parse())?;
    let file = std::fs::File::open(&path)?;
    let space = Tablespace::open(&file)?;
    let table = Sdi::read(&space)?;
    let table = table.table(space.id).ok_or("it describes no table")??;
    let leaves = Leaves::of(&space, &table.clustered, table.redundant)?;
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|n| matches!(table.columns[*n].values, Values::Stored(_)))
        .collect();
    let plan = RowPlan::new(vec![Encoding::Text; columns.len()]);
    let bytes = leaves.all.len() * space.page_size();
    for _ in 0..runs {
        for (name, digests, lines) in [
            ("rows", false, false),
            ("digest", true, false),
            ("lines", false, true),
            ("digest and lines", true, true),
        ] {
            let mut rows = Rows::new(&space, &table, leaves.id, &columns)?;
            let mut digest = RowDigest::new();
            let mut out: Vec<u8> = Vec::with_capacity(1 << 22);
            let (mut payload, mut text) = (0u64, 0u64);
            let begin = Instant::now();
            let count = rows.scan(&leaves.all, |row| {
                payload += row.len() as u64;
                if digests {
                    digest.add(row);
                }
                if lines {
                    if out.len() > 1 << 21 {
                        text += out.len() as u64;
                        out.clear();
                    }
                    plan.encode(row, &mut out)
                        .map_err(|e| Error::Definition(e.to_string()))?;
                }
                Ok::<_, Error>(())
            })?;
            text += out.len() as u64;
            let seconds = begin.elapsed().as_secs_f64();
            println!(
                "{name:<17} {:>6.0} MB/s of pages; {count} rows, {:.0} ns each; {} MB of cells, {} MB of lines",
                bytes as f64 / seconds / 1e6,
                seconds * 1e9 / count as f64,
                payload / 1_000_000,
                text / 1_000_000,
            );
        }
    }
    Ok(())
}

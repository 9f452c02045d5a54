//! Measures how fast a dump is split and the rows of its plain INSERTs are converted to lines.
//!
//! `cargo run --release -p penstock-dumps --example parse FILE [split]`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use dumps::insert::{Header, Literal, convert};
use dumps::script::Script;
use dumps::{Dialect, input};
use std::path::PathBuf;
use std::time::Instant;

/// Guesses the kinds of the columns from the first row, because the table's definition is not known here.
fn guess(values: &[u8], dialect: Dialect) -> Option<Vec<Literal>> {
    let mut columns = Vec::new();
    loop {
        columns.push(Literal::Text);
        for kind in [Literal::Text, Literal::Number, Literal::Bytes] {
            if let Some(last) = columns.last_mut() {
                *last = kind;
            }
            match convert(values, &columns, dialect, &mut Vec::new()) {
                Ok(_) => return Some(columns),
                Err(e) => match e.reason {
                    dumps::insert::Reason::Count { found, expected } if found > expected => break,
                    _ => {}
                },
            }
        }
        if columns.len() > 1000 {
            return None;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("which file?")?);
    let only_split = arguments.next().is_some();
    let mut script = Script::new(input::open(&path)?);
    let mut known: Vec<(String, Option<Vec<Literal>>)> = Vec::new();
    let (mut bytes, mut statements, mut rows, mut inserts, mut other) =
        (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut out = Vec::new();
    let start = Instant::now();
    while let Some(statement) = script.next()? {
        statements += 1;
        bytes = statement.offset + statement.text.len() as u64;
        if !only_split && let Some(head) = Header::parse(&statement.text, statement.dialect) {
            let values = &statement.text[head.values_at..];
            if known.last().is_none_or(|(table, _)| *table != head.table) {
                known.push((head.table.clone(), guess(values, statement.dialect)));
            }
            out.clear();
            let columns = known.last().and_then(|(_, c)| c.as_deref());
            match convert(
                values,
                columns.unwrap_or_default(),
                statement.dialect,
                &mut out,
            ) {
                Ok(n) => {
                    rows += n;
                    inserts += 1;
                }
                Err(e) => {
                    other += 1;
                    println!("{}: line {}: {e}", head.table, statement.line);
                }
            }
        }
        script.recycle(statement.text);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{bytes} bytes, {statements} statements, {inserts} plain inserts, {rows} rows, {other} not plain, {seconds:.3} s, {:.0} MB/s",
        bytes as f64 / seconds / 1e6
    );
    println!("{:?}", script.info());
    Ok(())
}

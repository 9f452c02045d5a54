//! The limit of a dump: the same rows, read by as many connections and thrown away, or written to files as they come.
//! What a dump takes beyond this is its own cost.

use crate::{Error, Result};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;
use wire::{Conn, Options};

/// A table is cut into pieces of about this many rows when its key can be cut.
const PIECE_ROWS: u64 = 200_000;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drained {
    /// Rows.
    pub rows: u64,
    /// Bytes of row packets: each cell's text and its length.
    pub bytes: u64,
    /// Time for the reading alone, without the planning.
    pub seconds: f64,
    /// Processor time of this process while reading, user and system.
    pub cpu: f64,
}

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 20;

/// Reads every row of `schema` (or of one `table` in it) over `connections`; with `to`, each of them writes the bytes of
/// its rows to a file in this directory, and syncs it.
pub fn drain(
    options: &Options,
    schema: &str,
    table: Option<&str>,
    connections: usize,
    to: Option<&Path>,
) -> Result<Drained> {
    let queue = Mutex::new(plan(&mut Conn::connect(options)?, schema, table)?);
    let opened: Result<Vec<Conn>> = (0..connections.max(1))
        .map(|_| Ok(Conn::connect(options)?))
        .collect();
    let (begin, cpu) = (Instant::now(), cpu_seconds()?);
    let parts: Vec<Result<Drained>> = std::thread::scope(|scope| {
        let handles: Vec<_> = opened?
            .into_iter()
            .enumerate()
            .map(|(n, conn)| {
                let to = to.map(|to| to.join(format!("rows-{n}")));
                let queue = &queue;
                scope.spawn(move || work_off(conn, queue, to.as_deref()))
            })
            .collect();
        let joined = handles.into_iter().map(|h| h.join());
        Ok::<_, Error>(
            joined
                .map(|r| r.unwrap_or_else(|_| Err(Error::new("a reading thread panicked"))))
                .collect(),
        )
    })?;
    let mut all = Drained::default();
    for part in parts {
        let part = part?;
        all.rows += part.rows;
        all.bytes += part.bytes;
    }
    all.seconds = begin.elapsed().as_secs_f64();
    all.cpu = cpu_seconds()? - cpu;
    Ok(all)
}

fn work_off(mut conn: Conn, queue: &Mutex<VecDeque<String>>, to: Option<&Path>) -> Result<Drained> {
    let created = to.map(File::create).transpose()?;
    let mut file = created.map(|file| BufWriter::with_capacity(AT_ONCE, file));
    conn.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    conn.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    let mut drained = Drained::default();
    loop {
        let next = queue.lock().unwrap_or_else(|e| e.into_inner()).pop_front();
        let Some(sql) = next else {
            if let Some(mut file) = file {
                file.flush()?;
                file.get_ref().sync_all()?;
            }
            return Ok(drained);
        };
        let mut rows = conn.query(&sql)?;
        while let Some(row) = rows.next()? {
            drained.rows += 1;
            drained.bytes += row.payload().len() as u64;
            if let Some(file) = &mut file {
                file.write_all(row.payload())?;
            }
        }
    }
}

/// The SELECTs, biggest table first.
fn plan(conn: &mut Conn, schema: &str, table: Option<&str>) -> Result<VecDeque<String>> {
    let only = table
        .map(|t| format!("AND table_name = '{t}'"))
        .unwrap_or_default();
    let sql = format!(
        "SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = '{schema}' \
         AND table_type = 'BASE TABLE' {only} ORDER BY data_length DESC"
    );
    let mut plan = VecDeque::new();
    for row in strings(conn, &sql)? {
        let [table, rows] = &row[..] else { continue };
        plan.extend(pieces(conn, schema, table, rows.parse().unwrap_or(0))?);
    }
    if plan.is_empty() {
        return Err(Error(format!("no tables to read in {schema}")));
    }
    Ok(plan)
}

/// Cuts a table along its primary key, as far as the first columns tell its rows apart.
fn pieces(conn: &mut Conn, schema: &str, table: &str, rows: u64) -> Result<Vec<String>> {
    let from = format!("SELECT * FROM `{schema}`.`{table}`");
    let sql = format!(
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = '{schema}' \
         AND table_name = '{table}' AND index_name = 'PRIMARY' ORDER BY seq_in_index LIMIT 1"
    );
    let key = strings(conn, &sql)?.into_iter().flatten().next();
    let Some(key) = key.filter(|_| rows > PIECE_ROWS) else {
        return Ok(vec![from]);
    };
    // One bound every PIECE_ROWS rows; equal bounds are merged (a first column with few values,
    // such as a warehouse number, cuts less finely).
    let mut bounds: Vec<String> = Vec::new();
    loop {
        let after = bounds
            .last()
            .map(|b| format!("WHERE `{key}` > {b}"))
            .unwrap_or_default();
        let sql = format!(
            "SELECT QUOTE(`{key}`) FROM `{schema}`.`{table}` FORCE INDEX (PRIMARY) {after} ORDER BY `{key}` \
             LIMIT 1 OFFSET {PIECE_ROWS}"
        );
        match strings(conn, &sql)?.into_iter().flatten().next() {
            Some(bound) => bounds.push(bound),
            None => break,
        }
    }
    let mut pieces = Vec::new();
    for n in 0..=bounds.len() {
        let low = n.checked_sub(1).map(|n| format!("`{key}` > {}", bounds[n]));
        let high = bounds.get(n).map(|b| format!("`{key}` <= {b}"));
        let range: Vec<String> = low.into_iter().chain(high).collect();
        let filter = if range.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", range.join(" AND "))
        };
        pieces.push(format!("{from} FORCE INDEX (PRIMARY){filter}"));
    }
    Ok(pieces)
}

fn strings(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>> {
    let rows = conn.fetch(sql).map_err(Error::doing(sql))?;
    let text =
        |cell: Option<Vec<u8>>| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
    Ok(rows
        .into_iter()
        .map(|row| row.into_iter().map(text).collect())
        .collect())
}

/// Processor time of this process so far, from /proc/self/stat.
fn cpu_seconds() -> Result<f64> {
    let stat =
        std::fs::read_to_string("/proc/self/stat").map_err(Error::doing("/proc/self/stat"))?;
    // The name of the program comes second, in parentheses, and may contain anything.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |n: usize| {
        fields
            .get(n)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Ok((ticks(11) + ticks(12)) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

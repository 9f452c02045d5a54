//! Compares rows with a server's: the same SELECT as a dump's, of which only the digest is kept. Ranges
//! of tables are spread over workers; a difference is named by table and key range.

use archive::RowDigest;
use base::units::count;
use base::{Counters, Error, Kind, Result, lock};
use rows::key_ranges::KeyRange;
use rows::table_plan::TablePlan;
use run::Run;
use run::Stop;
use run::connect;
use run::failure;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wire::Conn;

/// Ranges with more rows than this are read as bulk.
const BULK_ROWS: u64 = 5_000;

/// A piece of a table, and what its rows should amount to.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Which table, as an index into the plans.
    pub table: usize,
    /// Which rows.
    pub range: KeyRange,
    /// What they should be.
    pub expected: Expected,
}

/// What a piece is compared with.
#[derive(Clone, Debug)]
pub enum Expected {
    /// A digest taken earlier.
    Digest(RowDigest),
    /// The same rows of another server, read by the second connection.
    Other,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows read (on the first server).
    pub rows: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// One line for each piece that differs, in order, with its table.
    pub differences: Vec<(usize, String)>,
    /// Those pieces.
    pub pieces: Vec<usize>,
}

/// The connections of one worker: the server, and the other one when two are compared.
pub struct Pair {
    /// Read always.
    pub left: Conn,
    /// Read for [`Expected::Other`].
    pub right: Option<Conn>,
}

/// How a table is read on either side; the two differ only in the server's own names for things.
#[derive(Clone, Debug)]
pub struct Plans {
    /// On the first server.
    pub left: TablePlan,
    /// On the second.
    pub right: Option<TablePlan>,
}

/// Opens a connection with its own consistent snapshot, ready to read rows.
pub fn reader(run: &Run, options: &wire::Options, id: &server::Identity) -> Result<Conn> {
    let mut conn = connect::connection(run, options)?;
    connect::prepared(server::session::for_rows(&mut conn, id))?;
    for sql in [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ] {
        conn.execute(sql)
            .map_err(|e| failure::wire("cannot open a snapshot", e))?;
    }
    conn.set_limited(true);
    Ok(conn)
}

/// Compares all pieces.
pub fn compare(
    run: &Run,
    counters: &Counters,
    plans: &[Plans],
    pieces: &[Piece],
    workers: Vec<Pair>,
) -> Result<Outcome> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, String)>> = Mutex::default();
    // Counted here, because the phase's counters may include other work.
    let (rows, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    run.workers(workers, |_, mut pair, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else {
                return Ok(());
            };
            counters.busy.add(1);
            let outcome = compare_piece(&mut pair, &plans[piece.table], piece, counters, stop);
            counters.busy.sub(1);
            let (read, differs) = outcome?;
            rows.fetch_add(read.digest.rows(), Ordering::Relaxed);
            bytes.fetch_add(read.bytes, Ordering::Relaxed);
            if let Some(text) = differs {
                lock(&found).push((at, text));
            }
        }
    })?;
    let mut found = base::lock::into_inner(found);
    found.sort();
    Ok(Outcome {
        rows: rows.into_inner(),
        bytes: bytes.into_inner(),
        pieces: found.iter().map(|(at, _)| *at).collect(),
        differences: found
            .into_iter()
            .map(|(at, text)| (pieces[at].table, text))
            .collect(),
    })
}

fn compare_piece(
    pair: &mut Pair,
    plans: &Plans,
    piece: &Piece,
    counters: &Counters,
    stop: &Stop<'_>,
) -> Result<(RangeDigest, Option<String>)> {
    let bulk = match &piece.expected {
        Expected::Digest(d) => d.rows() > BULK_ROWS,
        Expected::Other => true,
    };
    let two = matches!(piece.expected, Expected::Other);
    let read = read_digest(
        &mut pair.left,
        &plans.left,
        &piece.range,
        bulk,
        Some(counters),
        stop,
    )
    .map_err(|e| match two {
        true => failure::of_server("the first server", e),
        false => e,
    })?;
    let right = match (&piece.expected, &mut pair.right, &plans.right) {
        (Expected::Digest(d), _, _) => *d,
        (Expected::Other, Some(conn), Some(plan)) => {
            read_digest(conn, plan, &piece.range, bulk, None, stop)
                .map_err(|e| failure::of_server("the second server", e))?
                .digest
        }
        (Expected::Other, _, _) => {
            return Err(Error::new(Kind::Internal, "nothing to compare with"));
        }
    };
    let left = read.digest;
    if left == right {
        return Ok((read, None));
    }
    let range = match &plans.left.key {
        Some(key) => piece.range.describe(key),
        None => "all rows".to_owned(),
    };
    let what = if left.rows() == right.rows() {
        format!(
            "{} rows on both sides, but their contents differ",
            count(left.rows())
        )
    } else {
        let words = match piece.expected {
            Expected::Digest(_) => ("on the server", "in the archive"),
            Expected::Other => ("on the first server", "on the second"),
        };
        format!(
            "{} rows {}, {} {}",
            count(left.rows()),
            words.0,
            count(right.rows()),
            words.1
        )
    };
    let text = base::units::printable(&format!("{}: {range}: {what}", plans.left.name));
    Ok((read, Some(text)))
}

/// What a range of rows amounts to.
struct RangeDigest {
    digest: RowDigest,
    bytes: u64,
}

/// Reads a range and keeps its digest.
fn read_digest(
    conn: &mut Conn,
    plan: &TablePlan,
    range: &KeyRange,
    bulk: bool,
    counters: Option<&Counters>,
    stop: &Stop<'_>,
) -> Result<RangeDigest> {
    const CHECK_EVERY: u64 = 2048;
    let lost = |e| failure::wire(format_args!("cannot read {}", plan.name), e);
    let mut digest = RowDigest::new();
    if let Some(charset) = &plan.client_charset {
        let charset: String = charset
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        conn.execute(format!("SET SESSION character_set_results = {charset}"))
            .map_err(lost)?;
    }
    let sql = plan.select(range);
    let mut rows = if bulk {
        conn.query_bulk(sql)
    } else {
        conn.query(sql)
    }
    .map_err(lost)?;
    let (mut seen, mut bytes, mut counted) = (0u64, 0u64, 0u64);
    while let Some(row) = rows.next().map_err(lost)? {
        digest.add(row.payload());
        seen += 1;
        bytes += row.payload().len() as u64;
        if seen % CHECK_EVERY == 0 {
            stop.check()?;
            if let Some(c) = counters {
                c.rows.add(CHECK_EVERY);
                c.bytes.add(bytes - counted);
                counted = bytes;
            }
        }
    }
    if let Some(c) = counters {
        c.rows.add(seen % CHECK_EVERY);
        c.bytes.add(bytes - counted);
    }
    Ok(RangeDigest { digest, bytes })
}

/// The error that lists what differs.
pub fn differs(left: &str, right: &str, differences: &[String]) -> Error {
    const MOST: usize = 50;
    let mut text = format!(
        "{left} and {right} differ in {}:",
        match differences.len() {
            1 => "one place".to_owned(),
            n => format!("{n} places"),
        }
    );
    for d in differences.iter().take(MOST) {
        text += &format!("\n  {d}");
    }
    if differences.len() > MOST {
        text += &format!("\n  … and {} more", differences.len() - MOST);
    }
    Error::new(Kind::Differs, text)
}

//! How fast the processor does penstock's own work: rows are digested and compressed into a chunk in memory, for a
//! moment, by one thread. Only a host without history needs it.

use archive::{ChunkWriter, Compression, RowPlan, Scratch, WriteOptions};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};
use store::Memory;

/// Bytes of rows per second and core on the machine of the built-in rates: 716 MB in 2.48 s, of which about a quarter
/// was reading from the server (`bench/rows`, zstd:1).
const REFERENCE: f64 = 380e6;

/// How long is measured, in so many parts.
const MEASURED: Duration = Duration::from_millis(60);
/// See [`MEASURED`]. The fastest part counts: a host that shares its cores with others slows the rest.
const PARTS: u32 = 6;

/// Rows of a chunk that is made up.
const ROWS: u64 = 2000;

/// As a multiple of the machine of the built-in rates; 1 where nothing can be measured.
pub fn speed() -> f64 {
    let rows: Vec<Vec<u8>> = (0..ROWS).map(row).collect();
    let plan = RowPlan::text(8);
    let mut scratch = Scratch::new();
    // The compressor's tables are made by the first chunk.
    if chunk(&rows, &plan, &mut scratch).is_none() {
        return 1.0;
    }
    let mut part = || {
        let (begin, cpu, mut bytes) = (Instant::now(), own_cpu(), 0);
        while begin.elapsed() < MEASURED / PARTS {
            bytes += chunk(&rows, &plan, &mut scratch).unwrap_or(0);
        }
        bytes as f64 / (own_cpu() - cpu) / REFERENCE
    };
    let speed = (0..PARTS).map(|_| part()).fold(f64::NAN, f64::max);
    match speed.is_finite() && speed > 0.0 {
        true => speed.clamp(0.02, 50.0),
        false => 1.0,
    }
}

/// Seconds that this thread has run: what other programs take of a busy host is no property of its processor.
fn own_cpu() -> f64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// Writes rows into a chunk; returns their bytes.
fn chunk(rows: &[Vec<u8>], plan: &RowPlan, scratch: &mut Scratch) -> Option<u64> {
    let memory = Memory::new("rows that are made up");
    let options = WriteOptions::default();
    let level = Compression::Zstd(1);
    let mut writer = ChunkWriter::create(&memory, "rows", level, options, scratch).ok()?;
    for row in rows {
        writer.push(plan, row).ok()?;
    }
    Some(writer.finish().ok()?.raw_bytes)
}

/// A row as a server sends it: numbers, a few words, a time.
fn row(n: u64) -> Vec<u8> {
    // A generator of Lehmer's kind; the rows are the same in every run.
    let random = n.wrapping_mul(6_364_136_223_846_793_005).rotate_left(29);
    let cells = [
        n.to_string(),
        (random % 3000).to_string(),
        format!("{:016x}", random),
        format!("{}.{:02}", random % 9000, random % 100),
        format!("2026-11-{:02} 12:{:02}:00", 1 + n % 28, n % 60),
        format!("customer {} of district {}", random % 777, n % 10),
        format!("{:032x}{:016x}", u128::from(random) << 40, n),
        "a remark that many rows have in common".to_owned(),
    ];
    let mut payload = Vec::new();
    for cell in cells {
        // All are shorter than 251 bytes, so the length is one byte.
        payload.push(cell.len() as u8);
        payload.extend_from_slice(cell.as_bytes());
    }
    payload
}

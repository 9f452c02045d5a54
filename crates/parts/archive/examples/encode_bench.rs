//! What a row costs: canonical payload → digest and line → chunk on disk →
//! back. Rows look like those of an ordinary table: ten columns of about
//! fourteen bytes, some NULL, now and then a long text.
//!
//! `cargo run --release -p penstock-archive --example encode_bench [rows] [folder]`
#![allow(
    clippy::print_stdout,
    reason = "a measuring tool, not part of penstock"
)]

use archive::{
    ChunkReader, ChunkWriter, Compression, Encoding, Expected, RowDigest, RowPlan, Scratch,
    WriteOptions,
};
use std::error::Error;
use std::io::Read;
use std::time::Instant;
use store::Store;

const COLUMNS: usize = 10;
const RUNS: usize = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let count: usize = args.next().map_or(Ok(100_000), |n| n.parse())?;
    let folder = args.next();
    let rows = make(count);
    let total: usize = rows.iter().map(Vec::len).sum();
    println!(
        "{count} rows, {:.1} MB, {:.1} bytes a row",
        total as f64 / 1e6,
        total as f64 / count as f64
    );

    let text = RowPlan::text(COLUMNS);
    let mut base64 = vec![Encoding::Text; COLUMNS];
    base64[3] = Encoding::Base64;
    let mut lines = vec![0; 1 << 20];
    measure("digest", count, total, || {
        let mut d = RowDigest::new();
        rows.iter().for_each(|r| d.add(r));
        d.to_hex().len()
    });
    let mut fixed = |plan: &RowPlan| {
        let (mut o, mut sum) = (0, 0);
        for r in &rows {
            if lines.len() - o < plan.bound(r.len()) {
                o = 0;
            }
            let n = plan.encode_into(r, &mut lines[o..]).unwrap_or_default();
            o += n;
            sum += n;
        }
        sum
    };
    measure("encode_into, text", count, total, || fixed(&text));
    let plan = RowPlan::new(base64.clone());
    measure("encode_into, one base64 column", count, total, || {
        fixed(&plan)
    });
    let mut out = Vec::new();
    measure("encode to a Vec, text", count, total, || {
        let mut sum = 0;
        for r in &rows {
            if out.len() > 1 << 20 {
                out.clear();
            }
            let before = out.len();
            if text.encode(r, &mut out).is_ok() {
                sum += out.len() - before;
            }
        }
        sum
    });
    let mut all = Vec::new();
    for r in rows.iter().take(100_000) {
        text.encode(r, &mut all)?;
    }
    let some = rows.len().min(100_000);
    measure("split, decode, digest", some, all.len(), || {
        let (mut d, mut payload, mut rest) = (RowDigest::new(), Vec::new(), &all[..]);
        while let Some(end) = archive::row::row_end(rest) {
            payload.clear();
            if text.decode_row(&rest[..end - 1], &mut payload).is_ok() {
                d.add(&payload);
            }
            rest = &rest[end..];
        }
        d.rows() as usize
    });
    if let Some(folder) = folder {
        for (compression, durable) in [
            (Compression::None, false),
            (Compression::None, true),
            (Compression::Zstd(1), false),
            (Compression::Zstd(1), true),
        ] {
            chunks(&folder, &rows, &text, compression, durable)?;
        }
    }
    Ok(())
}

/// Prints the best of several runs: what else the machine does only ever adds.
fn measure(what: &str, rows: usize, bytes: usize, mut work: impl FnMut() -> usize) {
    let (mut s, mut result) = (f64::MAX, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        result = work();
        s = s.min(start.elapsed().as_secs_f64());
    }
    println!(
        "  {what:32} {:6.1} ns/row {:7.0} MB/s  ({result})",
        s * 1e9 / rows as f64,
        bytes as f64 / 1e6 / s
    );
}

/// Chunks of 64 MB, as a dump makes them.
fn chunks(
    folder: &str,
    rows: &[Vec<u8>],
    plan: &RowPlan,
    compression: Compression,
    durable: bool,
) -> Result<(), Box<dyn Error>> {
    let path = std::path::Path::new(folder).join("encode_bench");
    let store = store::Directory::create(&path)?;
    let mut scratch = Scratch::new();
    let options = WriteOptions {
        durable,
        ..WriteOptions::default()
    };
    let (mut next, mut records) = (rows.iter(), Vec::new());
    let start = Instant::now();
    let mut finishing = 0.0;
    loop {
        let name = format!("s@t@{}.{}", records.len(), compression.extension());
        let mut w = ChunkWriter::create(&store, &name, compression, options, &mut scratch)?;
        for r in next.by_ref() {
            w.push(plan, r)?;
            if w.raw_bytes() > 64 << 20 {
                break;
            }
        }
        let before = Instant::now();
        let record = w.finish()?;
        finishing += before.elapsed().as_secs_f64();
        let full = record.raw_bytes > 64 << 20;
        records.push(record);
        if !full {
            break;
        }
    }
    let written = start.elapsed().as_secs_f64();
    store.sync()?;
    let synced = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut buffer = vec![0; 256 * 1024];
    for r in &records {
        let expected = Expected {
            stored: Some(&r.stored),
            raw_bytes: Some(r.raw_bytes),
        };
        let mut reader = ChunkReader::open(&store, &r.file, compression, expected)?;
        while reader.read(&mut buffer)? > 0 {}
    }
    let raw: u64 = records.iter().map(|r| r.raw_bytes).sum();
    let stored: u64 = records.iter().map(|r| r.stored.bytes).sum();
    println!(
        "{compression:?} durable={durable}: {:.0} MB to {:.0} MB in {} chunks; written {written:.3} s \
         (finish {finishing:.3} s), with sync {synced:.3} s; read back {:.3} s",
        raw as f64 / 1e6,
        stored as f64 / 1e6,
        records.len(),
        start.elapsed().as_secs_f64()
    );
    std::fs::remove_dir_all(&path)?;
    Ok(())
}

fn make(count: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut row = |i: usize| {
        let mut p = Vec::with_capacity(160);
        for column in 0..COLUMNS {
            if column > 4 && random(15) == 0 {
                p.push(0xFB);
            } else if column == 9 && random(50) == 0 {
                let len = 300 + random(200);
                p.push(0xFC);
                p.extend_from_slice(&(len as u16).to_le_bytes());
                p.extend((0..len).map(|_| b'a' + random(26) as u8));
            } else if column == 0 {
                let text = i.to_string();
                p.push(text.len() as u8);
                p.extend_from_slice(text.as_bytes());
            } else {
                let len = 2 + random(if column == 8 { 40 } else { 20 });
                p.push(len as u8);
                let dirty = random(300) == 0;
                p.extend((0..len).map(|_| b'a' + random(26) as u8));
                if dirty {
                    *p.last_mut().unwrap_or(&mut 0) = b'\n';
                }
            }
        }
        p
    };
    (0..count).map(&mut row).collect()
}

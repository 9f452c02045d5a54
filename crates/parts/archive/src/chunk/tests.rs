//! What goes in comes out; what was changed in between does not.

use super::*;
use crate::row::RowPlan;
use crate::{ArchiveError, RowDigest};
use std::io::Read;
use std::sync::Arc;
use store::{Directory, Failure, Fault, Store};

fn rows(n: usize) -> Vec<Vec<u8>> {
    let mut state = 7u32;
    let mut rows = Vec::new();
    for i in 0..n {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let text = format!("row {i}\t{state}\n\\");
        let mut p = vec![text.len() as u8];
        p.extend_from_slice(text.as_bytes());
        if state.is_multiple_of(5) {
            p.push(0xFB);
        } else {
            p.push(4);
            p.extend_from_slice(&state.to_le_bytes());
        }
        rows.push(p);
    }
    rows
}

fn plan() -> RowPlan {
    RowPlan::new(vec![crate::Encoding::Text, crate::Encoding::Base64])
}

fn write(
    store: &dyn Store,
    name: &str,
    compression: Compression,
    rows: &[Vec<u8>],
    scratch: &mut Scratch,
) -> crate::Result<ChunkRecord> {
    let options = WriteOptions::default();
    let mut w = ChunkWriter::create(store, name, compression, options, scratch)?;
    for row in rows {
        w.push(&plan(), row)?;
    }
    assert_eq!(w.rows(), rows.len() as u64);
    w.finish()
}

fn read(store: &dyn Store, record: &ChunkRecord) -> crate::Result<Vec<u8>> {
    let expected = Expected {
        stored: Some(&record.stored),
        raw_bytes: Some(record.raw_bytes),
    };
    let compression = Compression::of_file(&record.file);
    let mut reader = ChunkReader::open(store, &record.file, compression, expected)?;
    let mut out = Vec::new();
    match reader.read_to_end(&mut out) {
        Ok(_) => Ok(out),
        Err(e) => {
            assert!(
                reader.read(&mut [0; 8]).is_err(),
                "failed once, failed for good"
            );
            Err(ArchiveError::from_io(&record.file, e))
        }
    }
}

fn expected_lines(rows: &[Vec<u8>]) -> Vec<u8> {
    let mut lines = Vec::new();
    rows.iter()
        .for_each(|r| plan().encode(r, &mut lines).unwrap());
    lines
}

#[test]
fn round_trips_with_one_scratch_for_all() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let mut scratch = Scratch::new();
    for (i, (compression, n)) in [
        (Compression::Zstd(1), 100_000),
        (Compression::None, 20_000),
        (Compression::Zstd(1), 0),
        (Compression::None, 0),
        (Compression::Zstd(3), 3),
        (Compression::Zstd(1), 1000),
    ]
    .into_iter()
    .enumerate()
    {
        let rows = rows(n);
        let name = format!("s@t@{i}.{}", compression.extension());
        let record = write(&store, &name, compression, &rows, &mut scratch).unwrap();
        let lines = expected_lines(&rows);
        assert!(read(&store, &record).unwrap() == lines);
        assert_eq!(record.raw_bytes, lines.len() as u64);
        assert_eq!(record.rows, n as u64);
        let mut digest = RowDigest::new();
        rows.iter().for_each(|r| digest.add(r));
        assert_eq!(record.row_digest, digest);
        assert_eq!(store.size(&name).unwrap(), Some(record.stored.bytes));
        let (index_name, index) = record.index.clone().unwrap();
        assert_eq!(index_name, format!("{name}.idx"));
        let bytes = store.read_all(&index_name, 1 << 20).unwrap();
        assert_eq!(index, crate::FileRecord::of(&bytes));
        assert_eq!(index::last_entry(&bytes), Some(record.raw_bytes));
        let stored = store.read_all(&name, 1 << 30).unwrap();
        if let Compression::Zstd(_) = compression {
            // One frame, and a checksum flag in its header (bit 2 of the descriptor).
            assert_eq!(stored[..4], [0x28, 0xB5, 0x2F, 0xFD]);
            assert_ne!(stored[4] & 4, 0);
            assert!(zstd::stream::decode_all(&stored[..]).unwrap() == lines);
        }
    }
}

#[test]
fn rows_larger_than_any_buffer_pass() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let mut scratch = Scratch::new();
    let big = |len: usize, fill: u8| {
        let mut p = vec![0xFD];
        p.extend_from_slice(&(len as u32).to_le_bytes()[..3]);
        p.resize(p.len() + len, fill);
        p.extend_from_slice(&[0xFD, 0x03, 0x00, 0x01]);
        p.resize(p.len() + 65_539, 0xEE);
        p
    };
    let mut all = rows(10);
    all.push(big(5_000_000, b'\n'));
    all.extend(rows(3));
    all.push(big(70_000, b'a'));
    let record = write(
        &store,
        "x.tsv.zst",
        Compression::Zstd(1),
        &all,
        &mut scratch,
    )
    .unwrap();
    assert!(read(&store, &record).unwrap() == expected_lines(&all));
}

#[test]
fn every_flipped_byte_and_every_length_is_found() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    for (name, compression) in [
        ("a.tsv.zst", Compression::Zstd(1)),
        ("a.tsv", Compression::None),
    ] {
        let record = write(&store, name, compression, &rows(40), &mut Scratch::new()).unwrap();
        let good = store.read_all(name, 1 << 20).unwrap();
        // Behind the store's back: thousands of synced writes take minutes.
        let put = |bytes: &[u8]| std::fs::write(store.path().join(name), bytes).unwrap();
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1;
            put(&bad);
            assert!(read(&store, &record).is_err(), "byte {i}");
            put(&good[..i]);
            let e = read(&store, &record).unwrap_err();
            assert!(matches!(e, ArchiveError::Damaged { .. }), "{i}: {e}");
        }
        for tail in [&b"\0"[..], &good, b"\x28\xb5\x2f\xfd"] {
            put(&[&good, tail].concat());
            assert!(read(&store, &record).is_err());
        }
        put(&good);
        read(&store, &record).unwrap();
    }
}

#[test]
fn without_a_record_the_frames_themselves_are_checked() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let rows = rows(40);
    write(
        &store,
        "a.zst",
        Compression::Zstd(1),
        &rows,
        &mut Scratch::new(),
    )
    .unwrap();
    let good = store.read_all("a.zst", 1 << 20).unwrap();
    let decode = |bytes: &[u8]| {
        std::fs::write(tmp.path().join("b.zst"), bytes).unwrap();
        let compression = Compression::Zstd(1);
        let mut r = ChunkReader::open(&store, "b.zst", compression, Expected::default()).unwrap();
        let mut out = Vec::new();
        r.read_to_end(&mut out).map(|_| out)
    };
    let once = expected_lines(&rows);
    assert_eq!(decode(&good).unwrap(), once);
    // Frames one after another are one stream.
    assert_eq!(decode(&good.repeat(2)).unwrap(), once.repeat(2));
    for cut in 0..good.len() {
        assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        let after = [&good[..], &good[..cut]].concat();
        assert_eq!(
            decode(&after).is_err(),
            cut > 0,
            "second frame cut at {cut}"
        );
    }
    assert!(decode(&[&good[..], b"x"].concat()).is_err());
    assert!(decode(&[&good[..], b"garbage"].concat()).is_err());
}

#[test]
fn a_bomb_stops_at_the_declared_size() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let bomb = zstd::stream::encode_all(std::io::repeat(0).take(1 << 28), 1).unwrap();
    store.put("bomb.zst", &bomb).unwrap();
    let expected = Expected {
        stored: None,
        raw_bytes: Some(1000),
    };
    let mut r = ChunkReader::open(&store, "bomb.zst", Compression::Zstd(1), expected).unwrap();
    let mut out = Vec::new();
    let e = r.read_to_end(&mut out).unwrap_err();
    assert!(e.to_string().contains("more than the 1000 bytes"), "{e}");
    assert!(out.len() < 1 << 20);
}

#[test]
fn a_row_error_dooms_the_chunk_and_a_drop_leaves_nothing() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let mut scratch = Scratch::new();
    let options = WriteOptions::default();
    let c = Compression::Zstd(1);
    let mut w = ChunkWriter::create(&store, "x.tsv.zst", c, options, &mut scratch).unwrap();
    w.push(&plan(), b"\x01a\xfb").unwrap();
    assert!(matches!(
        w.push(&plan(), b"\x01a"),
        Err(ArchiveError::Row { .. })
    ));
    assert!(w.finish().is_err());
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn each_failing_operation_fails_the_chunk_and_shows_no_half() {
    let rows = rows(30_000);
    for n in 1.. {
        let tmp = tempfile::tempdir().unwrap();
        let dir = Directory::open(tmp.path()).unwrap();
        let fault = Fault::failing(Arc::new(dir.clone()), n, Failure::Full, false);
        let c = Compression::Zstd(1);
        match write(&fault, "x.tsv.zst", c, &rows, &mut Scratch::new()) {
            Ok(_) => {
                assert!(n > 6, "create, writes and finish of two files");
                break;
            }
            Err(e) => assert!(e.full(), "{e}"),
        }
        for entry in dir.list().unwrap() {
            // Only the data file may be there, whole, without its index.
            assert_eq!(entry.name, "x.tsv.zst");
            let bytes = dir.read_all("x.tsv.zst", 1 << 30).unwrap();
            assert!(zstd::stream::decode_all(&bytes[..]).unwrap() == expected_lines(&rows));
        }
    }
}

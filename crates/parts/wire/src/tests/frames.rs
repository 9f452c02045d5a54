//! Packets in every cut: whatever pieces the kernel delivers, the same rows come out.

use super::{always, text};
use crate::buffer::{Buffer, FULL, LONGEST};
use crate::rogue::{Reply, frame, row};
use crate::{Error, Row};
use proptest::prelude::*;
use std::io::{self, Read};

/// Gives `data` in pieces of the sizes in `cuts`, over and over.
struct Pieces<'a> {
    data: &'a [u8],
    cuts: Vec<usize>,
    next: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let cut = self.cuts[self.next % self.cuts.len()];
        self.next += 1;
        let n = cut.min(buf.len()).min(self.data.len());
        let (now, rest) = self.data.split_at(n);
        buf[..n].copy_from_slice(now);
        self.data = rest;
        Ok(n)
    }
}

/// Every payload in the stream, by the fast path where it offers itself.
fn payloads(data: &[u8], cuts: Vec<usize>, fast: bool) -> Vec<Vec<u8>> {
    let mut source = Pieces {
        data,
        cuts,
        next: 0,
    };
    let mut buffer = Buffer::new();
    let mut all = Vec::new();
    loop {
        if fast && let Some(range) = buffer.whole_row() {
            all.push(buffer.bytes(range).to_vec());
            continue;
        }
        match buffer.packet(&mut source, LONGEST) {
            Ok(packet) => all.push(buffer.bytes(packet.range).to_vec()),
            Err(Error::Io(e)) if e.kind() == io::ErrorKind::UnexpectedEof => return all,
            Err(e) => panic!("{e}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_gives_the_same_packets(
        sizes in prop::collection::vec(prop_oneof![0usize..300, 4000usize..9000, 250_000usize..270_000], 0..40),
        cuts in prop::collection::vec(prop_oneof![1usize..8, 1usize..20_000, Just(1 << 20)], 1..6),
        fast: bool,
    ) {
        // Single-byte cuts of big packets would only take time.
        let cuts = if sizes.iter().any(|s| *s > 10_000) { vec![4096 + cuts[0]] } else { cuts };
        let sent: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(i, n)| vec![i as u8; *n]).collect();
        prop_assert_eq!(payloads(&frame(&sent, 0), cuts, fast), sent);
    }

    #[test]
    fn cells_come_back(cells in prop::collection::vec(
        prop::option::of(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            (0xFAusize..0x102).prop_map(|n| vec![7; n]),
            (0xFFFEusize..0x1_0002).prop_map(|n| vec![8; n]),
        ]), 0..12)
    ) {
        let payload = row(&cells);
        let back: Vec<Option<Vec<u8>>> = Row(&payload)
            .cells()
            .map(|c| c.map(|c| c.map(<[u8]>::to_vec)))
            .collect::<Result<_, _>>()?;
        prop_assert_eq!(back, cells);
    }

    #[test]
    fn random_cells_end(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let walked = Row(&payload).cells().count();
        prop_assert!(walked <= payload.len());
        let mut cells = Row(&payload).cells();
        // An error is the last word.
        if cells.any(|c| c.is_err()) {
            prop_assert!(cells.next().is_none());
        }
    }
}

#[test]
fn rows_around_16_mib_are_joined() {
    // The cell's own length field takes 4 bytes below 16 MiB, 9 above.
    for size in [
        FULL - 5,
        FULL - 4,
        FULL - 3,
        FULL,
        FULL + 1,
        2 * FULL - 9,
        2 * FULL,
    ] {
        let big: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let rows = vec![vec![text("a")], vec![Some(big.clone())], vec![text("z")]];
        let (_rogue, mut conn) = always(Reply::Rows(vec!["c".into()], rows.clone()));
        assert_eq!(conn.fetch("q").expect("rows"), rows, "{size}");
        assert_eq!(conn.fetch("q").expect("rows again").len(), 3);
    }
}

#[test]
fn the_buffer_goes_back_to_its_size() {
    let mut sent = vec![vec![1u8; 20 << 20]];
    sent.extend(vec![vec![2u8; 100 << 10]; 400]);
    let data = frame(&sent, 0);
    let mut source = Pieces {
        data: &data,
        cuts: vec![100 << 10],
        next: 0,
    };
    let mut buffer = Buffer::new();
    let mut most = 0;
    for _ in &sent {
        buffer.packet(&mut source, LONGEST).expect("a packet");
        most = most.max(buffer.size());
    }
    assert!((20 << 20..=64 << 20).contains(&most), "{most}");
    assert_eq!(buffer.size(), Buffer::new().size());
}

#[test]
fn memory_follows_what_arrives_not_what_is_announced() {
    // Announces 16 MiB, sends 100 bytes.
    let mut data = vec![0xFE, 0xFF, 0xFF, 0];
    data.extend([3; 100]);
    let mut source = Pieces {
        data: &data,
        cuts: vec![7],
        next: 0,
    };
    let mut buffer = Buffer::new();
    assert!(buffer.packet(&mut source, LONGEST).is_err());
    assert_eq!(buffer.size(), Buffer::new().size());
}

#[test]
fn rows_dropped_early_are_read_away() {
    let rows: Vec<_> = (0..50_000).map(|i| vec![text(&i.to_string())]).collect();
    let (_rogue, mut conn) = always(Reply::Rows(vec!["n".into()], rows));
    let mut first = conn.query("q").expect("rows");
    let row = first.next().expect("a row").expect("a row");
    assert_eq!(row.payload(), b"\x010");
    assert_eq!(conn.execute("q").expect("the next").affected, 0);
    assert_eq!(conn.query("q").expect("rows").columns()[0].name, "n");
}

#[test]
fn big_statements_are_split() {
    let (rogue, mut conn) = always(Reply::Ok(3, "fine".into()));
    // With the command byte: one short of a full packet, exactly full, one more.
    for size in [FULL - 2, FULL - 1, FULL] {
        let before = rogue.heard().len();
        let sql = vec![b'x'; size];
        // The scripted half answers each packet, so only one of these can be read on.
        let done = conn.execute(&sql);
        let heard = rogue.heard()[before..].to_vec();
        let headers = if size + 1 >= FULL { 8 } else { 4 };
        if size + 1 < FULL {
            assert_eq!(done.expect("done").info, "fine");
            assert_eq!(heard.len(), size + 1 + headers);
        } else {
            // Full, so a second packet follows, empty or not.
            assert_eq!(&heard[..5], &[0xFF, 0xFF, 0xFF, 0, 3]);
            return;
        }
    }
}

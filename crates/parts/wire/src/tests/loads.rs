//! LOAD DATA LOCAL INFILE: only our stream, only for our statement, all of it or nothing.

use super::{always, rogue, text};
use crate::load::PACKET;
use crate::rogue::{Reply, Script};
use crate::{Conn, Error};
use std::io::{self, Read};

const SQL: &str = "LOAD DATA LOCAL INFILE 'penstock-4711' INTO TABLE t";

/// The payload bytes behind the statement, without headers.
fn sent(heard: &[u8]) -> Vec<u8> {
    let mut rest = heard;
    let mut out = Vec::new();
    let mut file = false;
    while let Some((head, tail)) = rest.split_first_chunk::<4>() {
        let len = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let (payload, tail) = tail.split_at(len);
        if file {
            out.extend_from_slice(payload);
        }
        file |= payload.starts_with(b"\x03LOAD");
        rest = tail;
    }
    out
}

#[test]
fn all_of_the_stream_and_its_end_are_sent() {
    for size in [0, 1, PACKET - 1, PACKET, PACKET + 1, 1_000_000] {
        let data: Vec<u8> = (0..size).map(|i| (i % 253) as u8).collect();
        let (rogue, mut conn) = always(Reply::File("penstock-4711".into()));
        conn.load(SQL, &mut data.as_slice()).expect("loaded");
        assert!(sent(&rogue.heard()) == data, "{size}");
        // And again on the same connection.
        conn.load(SQL, &mut data.as_slice()).expect("loaded twice");
    }
}

#[test]
fn short_reads_fill_packets() {
    struct Drip(usize);
    impl Read for Drip {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.0.min(1000).min(buf.len());
            buf[..n].fill(b'x');
            self.0 -= n;
            Ok(n)
        }
    }
    let (rogue, mut conn) = always(Reply::File("penstock-4711".into()));
    conn.load(SQL, &mut Drip(300_000)).expect("loaded");
    assert_eq!(sent(&rogue.heard()).len(), 300_000);
    // Statement, a few packets of data, the end: no packet per short read.
    let login = rogue.heard().len();
    assert!(login < 300_000 + 600);
}

#[test]
fn another_name_gets_nothing() {
    for name in ["/etc/passwd", ""] {
        let (rogue, mut conn) = always(Reply::File(name.into()));
        let got = conn.load(SQL, &mut &b"secret"[..]);
        assert!(matches!(got, Err(Error::LocalFile)), "{got:?}");
        assert!(conn.is_closed());
        assert!(sent(&rogue.heard()).is_empty());
    }
}

#[test]
fn a_connection_not_for_loading_gets_nothing() {
    let rogue = rogue(Script::new(|_| Reply::File("penstock-4711".into())));
    let mut conn = Conn::connect(&rogue.options()).expect("in");
    let got = conn.load(SQL, &mut &b"secret"[..]);
    assert!(matches!(got, Err(Error::LocalFile)), "{got:?}");
    assert!(sent(&rogue.heard()).is_empty());
}

#[test]
fn a_second_request_gets_nothing() {
    // Asks, and asks again once the data came.
    let again = Reply::FileThen("penstock-4711".into(), b"\xFBpenstock-4711".to_vec());
    let (_rogue, mut conn) = always(again);
    let got = conn.load(SQL, &mut &b"data"[..]);
    assert!(matches!(got, Err(Error::LocalFile)), "{got:?}");
}

#[test]
fn a_load_that_asks_for_nothing_is_no_load() {
    for reply in [
        Reply::Ok(5, "Records: 5".into()),
        Reply::Rows(vec!["a".into()], vec![vec![text("x")]]),
    ] {
        let (_rogue, mut conn) = always(reply);
        let got = conn.load(SQL, &mut &b"data"[..]);
        assert!(matches!(got, Err(Error::Protocol(_))), "{got:?}");
    }
}

#[test]
fn a_source_that_fails_ends_the_connection() {
    struct Fails(usize);
    impl Read for Fails {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("digest mismatch"));
            }
            let n = self.0.min(buf.len());
            buf[..n].fill(b'x');
            self.0 -= n;
            Ok(n)
        }
    }
    let (rogue, mut conn) = always(Reply::File("penstock-4711".into()));
    let got = conn.load(SQL, &mut Fails(600_000));
    assert!(matches!(got, Err(Error::Source(_))), "{got:?}");
    assert!(conn.is_closed());
    drop(conn);
    // The empty packet that would end the data was never sent.
    assert!(!rogue.heard().ends_with(&[0, 0, 0]));
    assert!(sent(&rogue.heard()).len() < 600_000);
}

#[test]
fn a_server_error_instead_of_a_request_is_passed_on() {
    let (_rogue, mut conn) = always(Reply::Error(3948, "Loading local data is disabled".into()));
    let got = conn.load(SQL, &mut &b"data"[..]);
    assert_eq!(got.expect_err("refused").code(), Some(3948));
    assert!(!conn.is_closed());
}

//! Servers that lie: every one gets a plain error, none gets a file, memory or a panic.

use super::{always, loading, rogue, text};
use crate::rogue::{Reply, Script, capabilities, column, frame, greeting, ok, row};
use crate::{Conn, Error, payload};
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn packets(list: &[&[u8]]) -> Reply {
    Reply::Packets(list.iter().map(|p| p.to_vec()).collect())
}

#[test]
fn a_file_asked_for_anywhere_ends_the_connection() {
    let (rogue, mut conn) = always(Reply::File("/etc/passwd".into()));
    let before = rogue.heard().len();
    assert!(matches!(conn.query("SELECT 1"), Err(Error::LocalFile)));
    assert!(conn.is_closed());
    assert!(matches!(conn.execute("SELECT 2"), Err(Error::Io(_))));
    // Only the statement itself went out.
    assert_eq!(rogue.heard().len(), before + 4 + 1 + "SELECT 1".len());
}

#[test]
fn a_file_asked_for_in_the_login() {
    for script in [
        Script::new(|_| Reply::Close).login(Reply::File("/etc/passwd".into())),
        Script::new(|_| Reply::Close).greeting(b"\xFB/etc/passwd".to_vec()),
    ] {
        let rogue = rogue(script);
        assert!(matches!(
            Conn::connect(&loading(&rogue)),
            Err(Error::LocalFile)
        ));
    }
}

#[test]
fn nonsense_is_a_protocol_error() {
    let rows_then = |last: &[u8]| packets(&[&[1], &column("c"), last]);
    let many = |n: &[u8]| packets(&[n]);
    let replies = [
        // Column counts: 2^64 - 1, 4097, a length that is none, none at all.
        many(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255]),
        many(&[0xFC, 1, 16]),
        many(&[0xFC, 1]),
        many(&[]),
        // A definition that ends early, or whose name is longer than its packet.
        packets(&[&[1], b"\x03def"]),
        packets(&[&[1], b"\x03def\0\0\0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"]),
        // An empty row, a broken end, a second result.
        rows_then(&[]),
        rows_then(&[0xFE, 0]),
        rows_then(&[0xFE, 0, 0, 8, 0, 0, 0]),
        // An OK that ends early.
        packets(&[&[0, 1]]),
        // Numbers out of order.
        Reply::Raw(frame(&[ok(0, 0, "")], 2)),
        Reply::Raw(
            [
                frame(&[vec![1], column("c")], 1),
                frame(&[row(&[text("x")])], 9),
            ]
            .concat(),
        ),
    ];
    for reply in replies {
        let (_rogue, mut conn) = always(reply.clone());
        let got = conn.execute("SELECT 1");
        assert!(matches!(got, Err(Error::Protocol(_))), "{reply:?}: {got:?}");
        assert!(conn.is_closed());
    }
}

#[test]
fn bytes_behind_an_answer_are_noticed() {
    let twice = frame(&[ok(0, 0, ""), ok(0, 0, "")], 1);
    let (_rogue, mut conn) = always(Reply::Raw(twice));
    conn.execute("a").expect("the first");
    assert!(matches!(conn.execute("b"), Err(Error::Protocol(_))));
}

#[test]
fn rows_behind_an_ok_are_no_rows() {
    let more = frame(&[ok(0, 0, ""), row(&[text("x")])], 1);
    let (_rogue, mut conn) = always(Reply::Raw(more));
    let mut rows = conn.query("a").expect("done");
    assert!(rows.next().expect("the end").is_none());
    assert!(rows.next().expect("still the end").is_none());
}

#[test]
fn errors_are_typed_and_leave_the_connection_good() {
    let (_rogue, mut conn) = always(Reply::Error(1205, "Lock wait timeout".into()));
    for _ in 0..2 {
        let e = conn.execute("q").expect_err("an error");
        assert_eq!(e.code(), Some(1205));
        assert_eq!(
            e.to_string(),
            "Lock wait timeout (error 1205, SQL state HY000)"
        );
    }
    let middle = packets(&[
        &[1],
        &column("c"),
        &row(&[text("x")]),
        b"\xFF\x25\x05#70100killed",
    ]);
    let (_rogue, mut conn) = always(middle);
    let mut rows = conn.query("q").expect("rows");
    assert!(rows.next().expect("a row").is_some());
    assert_eq!(rows.next().expect_err("killed").code(), Some(1317));
    assert!(rows.next().expect("over").is_none());
    assert!(!conn.is_closed());
}

#[test]
fn last_words_out_of_turn_are_heard() {
    // An idle session that the server ends: an error with number 0, then nothing.
    let reply = Reply::Raw(frame(&[b"\xFF\xBF\x0F#HY000idle for too long"], 0));
    let (_rogue, mut conn) = always(reply);
    assert_eq!(conn.execute("q").expect_err("ended").code(), Some(4031));
    assert!(conn.is_closed());
}

#[test]
fn a_cut_at_every_byte_is_an_error() {
    let answer = |_: &[u8]| Reply::Rows(vec!["a".into(), "b".into()], vec![vec![text("x"), None]]);
    let whole = {
        let rogue = rogue(Script::new(answer));
        let mut conn = Conn::connect(&rogue.options()).expect("in");
        conn.fetch("q").expect("rows").len()
    };
    assert_eq!(whole, 1);
    let mut good = 0;
    for bytes in 1..300 {
        let rogue = rogue(Script::new(answer).cut_after(bytes));
        let result = Conn::connect(&rogue.options()).and_then(|mut c| c.fetch("q"));
        match result {
            Ok(rows) => {
                assert_eq!(rows, vec![vec![text("x"), None]]);
                good += 1;
            }
            Err(Error::Io(_)) => assert_eq!(good, 0, "cut after {bytes}"),
            Err(e) => panic!("cut after {bytes}: {e}"),
        }
    }
    assert!(good > 0);
}

#[test]
fn a_stall_in_the_middle_ends_in_a_timeout() {
    let start = packets(&[&[1], &column("c"), &row(&[text("x")])]);
    let rogue = rogue(Script::new(move |_| start.clone()));
    let mut options = rogue.options();
    options.read_timeout = Some(Duration::from_millis(50));
    let mut conn = Conn::connect(&options).expect("in");
    let began = Instant::now();
    let got = conn.fetch("q");
    assert!(matches!(got, Err(Error::Timeout(_))), "{got:?}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_stall_in_the_login_ends_at_the_connect_timeout() {
    let rogue = rogue(Script::new(|_| Reply::Close).login(Reply::Stall));
    let mut options = rogue.options();
    options.connect_timeout = Duration::from_millis(80);
    assert!(matches!(Conn::connect(&options), Err(Error::Timeout(1))));
}

#[test]
fn a_closer_wakes_a_blocked_read() {
    let (_rogue, mut conn) = always(Reply::Stall);
    let closer = conn.closer().expect("a handle");
    let waiter = std::thread::spawn(move || conn.execute("q"));
    std::thread::sleep(Duration::from_millis(30));
    closer.close();
    assert!(matches!(
        waiter.join().expect("no panic"),
        Err(Error::Io(_))
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_payload_makes_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = payload::ok(&bytes);
        let _ = payload::eof(&bytes);
        let _ = payload::err(&bytes);
        let _ = payload::column(&bytes);
        let _ = crate::login::parse_greeting(&bytes);
        let mut marked = vec![10];
        marked.extend(&bytes);
        let _ = crate::login::parse_greeting(&marked);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_damaged_greeting_never_panics(at in 0usize..80, value: u8, keep in 0usize..90) {
        let mut bytes = greeting("8.4.0", "caching_sha2_password", capabilities());
        if let Some(b) = bytes.get_mut(at) {
            *b = value;
        }
        bytes.truncate(keep);
        let rogue = rogue(Script::new(|_| Reply::Ok(0, String::new())).greeting(bytes));
        let _ = Conn::connect(&rogue.options());
    }

    #[test]
    fn a_random_answer_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let reply = Reply::Raw([frame(&[vec![1u8], column("c")], 1), bytes, frame(&[ok(0, 0, "")], 1)].concat());
        let rogue = rogue(Script::new(move |_| reply.clone()));
        let mut options = rogue.options();
        options.read_timeout = Some(Duration::from_millis(20));
        let mut conn = Conn::connect(&options).expect("in");
        let _ = conn.fetch("q");
    }
}

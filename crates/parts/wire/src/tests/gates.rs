//! The gate at the socket: what is counted, what is held back, and what is not.

use super::{rogue, text};
use crate::rogue::{Reply, Rogue, Script};
use crate::{Conn, Direction, Error, Limited, Options};
use base::RateLimiter;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const LOAD: &str = "LOAD DATA LOCAL INFILE 'penstock-4711' INTO TABLE t";

/// Ten thousand rows, a little more than a megabyte on the wire.
fn many() -> Script {
    Script::new(|sql| {
        if sql.starts_with(b"LOAD") {
            return Reply::File("penstock-4711".into());
        }
        let rows = (0..10_000).map(|_| vec![Some(vec![b'x'; 100])]).collect();
        Reply::Rows(vec!["a".into()], rows)
    })
}

fn gated(rogue: &Rogue, gate: &Arc<RateLimiter>, counts: Direction, waits: bool) -> Options {
    let mut options = rogue.options();
    options.local_infile = true;
    options.limited = Some(Limited {
        limiter: gate.clone(),
        counts,
        waits,
    });
    options
}

fn count(conn: &mut Conn) -> u64 {
    let mut rows = conn.query("rows").expect("rows");
    let mut n = 0;
    while rows.next().expect("a row").is_some() {
        n += 1;
    }
    n
}

/// Both sorts of sockets.
fn both(test: impl Fn(Rogue)) {
    test(rogue(many()));
    test(Rogue::tcp(many()).expect("a port"));
}

#[test]
fn received_bytes_are_counted_with_and_without_a_rate() {
    both(|rogue| {
        let mut sizes = Vec::new();
        for (rate, waits) in [
            (None, false),
            (None, true),
            (Some(1 << 30), false),
            (Some(4 << 20), true),
        ] {
            let gate = RateLimiter::new();
            gate.set_rate(rate);
            let mut conn =
                Conn::connect(&gated(&rogue, &gate, Direction::Received, waits)).unwrap();
            assert_eq!(count(&mut conn), 10_000);
            assert_eq!(conn.fetch("again").unwrap().len(), 10_000);
            drop(conn);
            sizes.push(gate.passed());
        }
        assert!(sizes[0] > 2_000_000, "{sizes:?}");
        assert!(sizes.iter().all(|s| *s == sizes[0]), "{sizes:?}");
    });
}

#[test]
fn sent_bytes_are_counted_and_arrive_whole() {
    both(|rogue| {
        let data: Vec<u8> = (0..700_000u32).map(|i| (i % 251) as u8).collect();
        let mut sizes = Vec::new();
        let mut open = Vec::new(); // a farewell would be heard in the middle of the next
        for (rate, waits) in [(None, false), (Some(8 << 20), true)] {
            let gate = RateLimiter::new();
            gate.set_rate(rate);
            let before = rogue.heard().len();
            let mut conn = Conn::connect(&gated(&rogue, &gate, Direction::Sent, waits)).unwrap();
            conn.load(LOAD, &mut data.as_slice()).unwrap();
            sizes.push(gate.passed());
            assert_eq!(gate.passed() as usize, rogue.heard().len() - before);
            open.push(conn);
        }
        assert_eq!(sizes[0], sizes[1]);
        assert!(sizes[0] > 700_000);
    });
}

#[test]
fn a_paused_gate_holds_rows_and_lets_go() {
    both(|rogue| {
        let gate = RateLimiter::new();
        let mut conn = Conn::connect(&gated(&rogue, &gate, Direction::Received, true)).unwrap();
        gate.set_paused(true);
        let (send, receive) = channel();
        let reading = thread::spawn(move || {
            let n = count(&mut conn);
            let _ = send.send(n);
            conn.limited()
        });
        let early = receive.recv_timeout(Duration::from_millis(100));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        let passed = gate.passed();
        // One that takes locks is not held back.
        let mut free = Conn::connect(&gated(&rogue, &gate, Direction::Received, false)).unwrap();
        assert_eq!(count(&mut free), 10_000);
        assert!(gate.passed() > passed, "it is counted all the same");
        gate.set_paused(false);
        assert_eq!(receive.recv().unwrap(), 10_000);
        assert!(reading.join().unwrap() > Duration::ZERO);
    });
}

#[test]
fn the_end_of_a_run_fails_what_waits() {
    both(|rogue| {
        let gate = RateLimiter::new();
        gate.set_paused(true);
        let mut conn = Conn::connect(&gated(&rogue, &gate, Direction::Received, true)).unwrap();
        let reading = thread::spawn(move || {
            let e = conn.fetch("rows").unwrap_err();
            assert!(matches!(e, Error::Io(_)), "{e:?}");
            assert!(conn.is_closed());
        });
        gate.end();
        reading.join().unwrap();
    });
}

#[test]
fn a_paused_load_can_be_dropped() {
    both(|rogue| {
        let gate = RateLimiter::new();
        let mut conn = Conn::connect(&gated(&rogue, &gate, Direction::Sent, true)).unwrap();
        conn.execute("SET a = 1").unwrap();
        gate.set_paused(true);
        drop(conn); // its farewell does not wait at the gate
    });
}

#[test]
fn a_silent_server_runs_into_the_timeout_at_a_gate_too() {
    let rogue = rogue(Script::new(|sql| match sql {
        b"half" => Reply::Raw(vec![1, 0, 0, 1, 1]),
        _ => Reply::Rows(vec!["a".into()], vec![vec![text("x")]]),
    }));
    let gate = RateLimiter::new();
    gate.set_rate(Some(1 << 20));
    let mut options = gated(&rogue, &gate, Direction::Received, true);
    options.read_timeout = Some(Duration::from_millis(50));
    let mut conn = Conn::connect(&options).unwrap();
    conn.fetch("whole").unwrap();
    let e = conn.fetch("half").unwrap_err();
    assert!(matches!(e, Error::Timeout(_)), "{e:?}");
}

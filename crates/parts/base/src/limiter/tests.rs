//! The budget by a clock that is only a number; the gate by threads, without any time asserted.

use super::budget::Budget;
use super::slots::{QUIET, Slots};
use super::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};

const SECOND: u64 = 1_000_000_000;

/// Takers that always want more, each of whom comes back some time after it got something.
fn busy(budget: &mut Budget, takers: u64, from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut granted = Vec::new();
    // When each is next at the gate.
    let mut at: Vec<u64> = (0..takers).map(|i| from + i * 7).collect();
    loop {
        let (who, now) = at
            .iter()
            .copied()
            .enumerate()
            .min_by_key(|(_, t)| *t)
            .unwrap();
        if now >= to {
            return granted;
        }
        at[who] = match budget.ask(now, 1 << 20) {
            // What it took it works on, for longer the more takers there are; wake-ups come late, too.
            Ok(n) => {
                granted.push((now, n as u64));
                now + takers * 100_000 + now % 300_000
            }
            Err(pause) => now + pause.as_nanos() as u64 + now % 90_000,
        };
    }
}

/// Most and least that was granted in any `window` within `from..to`, in bytes.
fn windows(granted: &[(u64, u64)], from: u64, to: u64, window: u64) -> (u64, u64) {
    let (mut most, mut least) = (0, u64::MAX);
    let mut at = from;
    while at + window <= to {
        let sum = granted
            .iter()
            .filter(|(t, _)| (at..at + window).contains(t))
            .map(|(_, n)| n)
            .sum();
        most = most.max(sum);
        least = least.min(sum);
        at += window / 50;
    }
    (most, least)
}

#[test]
fn the_rate_is_kept_at_any_number_of_takers() {
    for rate in [1024, 100_000, 5_000_000, 20_000_000, 80_000_000] {
        for takers in [1, 2, 4, 8, 16] {
            let mut budget = Budget::default();
            budget.set_rate(0, Some(rate));
            let granted = busy(&mut budget, takers, 0, 20 * SECOND);
            let (most, least) = windows(&granted, 0, 20 * SECOND, 5 * SECOND);
            let fair = 5 * rate;
            assert!(
                most <= fair + fair / 50 + 512,
                "{rate} {takers}: {most} of {fair}"
            );
            assert!(
                least + fair / 50 + 512 >= fair,
                "{rate} {takers}: {least} of {fair}"
            );
        }
    }
}

#[test]
fn what_nobody_asked_for_is_not_saved_up() {
    let mut budget = Budget::default();
    budget.set_rate(0, Some(10_000_000));
    busy(&mut budget, 4, 0, SECOND);
    // A minute of silence, then everybody at once.
    let granted = busy(&mut budget, 4, 61 * SECOND, 62 * SECOND);
    let all: u64 = granted.iter().map(|(_, n)| n).sum();
    let credit = 10_000_000 * CREDIT.as_nanos() as u64 / SECOND;
    assert!(all <= 10_000_000 + credit + 65_536, "{all}");
}

#[test]
fn what_could_not_wait_is_made_up_for() {
    let mut budget = Budget::default();
    budget.set_rate(0, Some(1_000_000));
    budget.charge(0, 2_000_000);
    let pause = budget.ask(0, 1000).unwrap_err();
    assert_eq!(pause, Duration::from_secs(2));
    assert!(budget.ask(2 * SECOND - 1000, 1000).is_err());
    assert_eq!(budget.ask(2 * SECOND, 1000), Ok(1000));
}

#[test]
fn what_was_not_used_can_be_taken_again() {
    let mut budget = Budget::default();
    budget.set_rate(0, Some(1_000_000));
    assert_eq!(budget.ask(0, 10_000), Ok(10_000));
    assert!(budget.ask(0, 10_000).is_err());
    budget.give_back(0, 10_000);
    assert_eq!(budget.ask(0, 10_000), Ok(10_000));
}

#[test]
fn a_debt_does_not_outlive_a_change_of_rate() {
    // From slow to fast: as many bytes.
    let mut budget = Budget::default();
    budget.set_rate(0, Some(1_000));
    budget.charge(0, 100_000);
    budget.set_rate(0, Some(100_000_000));
    assert_eq!(budget.ask(0, 10).unwrap_err(), Duration::from_millis(1));
    // From fast to slow: as much time.
    let mut budget = Budget::default();
    budget.set_rate(0, Some(100_000_000));
    budget.charge(0, 1_000_000);
    budget.set_rate(0, Some(1_000));
    assert_eq!(budget.ask(0, 10).unwrap_err(), Duration::from_millis(10));
    // And to no rate at all.
    budget.set_rate(0, None);
    assert_eq!(budget.ask(0, 10), Ok(10));
}

#[test]
fn a_clock_that_stands_still_or_goes_back_grants_nothing() {
    let mut budget = Budget::default();
    budget.set_rate(SECOND, Some(1_000_000));
    assert!(budget.ask(SECOND, 1 << 20).is_ok());
    assert!(budget.ask(SECOND, 1).is_err());
    assert!(budget.ask(0, 1).is_err());
    assert!(budget.ask(SECOND, 1).is_err());
}

#[test]
fn places_go_to_the_first_and_to_others_when_they_are_left() {
    let ids: Vec<_> = (0..3)
        .map(|_| thread::spawn(|| thread::current().id()).join().unwrap())
        .collect();
    let mut places = Slots::default();
    assert!(places.enter(ids[2], 0), "no limit");
    places.set_most(Some(2));
    assert!(places.enter(ids[0], 0));
    places.granted(ids[0], 0);
    assert!(places.enter(ids[1], 0));
    assert!(!places.enter(ids[2], 0), "two are there");
    assert!(places.enter(ids[0], 1), "who has a place keeps it");
    places.leave(ids[0]);
    assert!(places.enter(ids[2], 2));
    assert!(!places.enter(ids[0], 3));
    // One of them shows no sign of life; the other waits for its turn and is not to be robbed.
    places.granted(ids[2], 3);
    let later = 4 + QUIET.as_nanos() as u64;
    assert!(places.enter(ids[0], later), "in place of the quiet one");
    assert!(!places.enter(ids[2], later));
    // Fewer places: the later comers lose theirs.
    places.set_most(Some(1));
    assert!(places.enter(ids[1], later));
    assert!(!places.enter(ids[0], later));
}

/// A thread that takes once and tells how much it got.
fn taker(gate: &Arc<RateLimiter>, want: usize) -> (JoinHandle<()>, Receiver<usize>) {
    let (gate, (send, receive)) = (gate.clone(), channel());
    let thread = thread::spawn(move || {
        let _ = send.send(gate.acquire(want));
    });
    (thread, receive)
}

/// It does not get anything: as much as can be said without waiting for ever.
fn still_waits(got: &Receiver<usize>) {
    let early = got.recv_timeout(Duration::from_millis(60));
    assert_eq!(early, Err(RecvTimeoutError::Timeout));
}

fn gets(got: &Receiver<usize>) -> usize {
    got.recv_timeout(Duration::from_secs(60))
        .expect("a taker that is let through")
}

#[test]
fn an_open_gate_grants_all_and_counts() {
    let gate = RateLimiter::new();
    assert!(gate.is_open());
    assert_eq!(gate.acquire(1 << 30), 1 << 30);
    gate.give_back(1 << 29);
    gate.charge(5);
    assert_eq!(gate.passed(), (1 << 29) + 5);
    assert_eq!(
        (gate.waiting(), gate.rate(), gate.read_ahead()),
        (None, None, None)
    );
}

#[test]
fn a_pause_holds_and_resuming_wakes() {
    let gate = RateLimiter::new();
    gate.set_paused(true);
    let (thread, got) = taker(&gate, 10);
    still_waits(&got);
    gate.charge(7); // passes all the same
    let shown = gate.waiting().unwrap();
    assert!(shown.contains("paused by the operator"), "{shown}");
    // A controller's reason is another matter, and holds on its own.
    gate.suspend(Some("replica r1 to catch up (lag 12 s)".to_owned()));
    gate.set_paused(false);
    still_waits(&got);
    assert_eq!(gate.waiting().unwrap(), "replica r1 to catch up (lag 12 s)");
    gate.suspend(None);
    assert_eq!(gets(&got), 10);
    thread.join().unwrap();
    assert_eq!((gate.passed(), gate.waiting()), (17, None));
    assert!(gate.is_open());
}

#[test]
fn a_new_rate_reaches_those_who_wait() {
    let gate = RateLimiter::new();
    gate.set_rate(Some(LOWEST));
    gate.charge(100 << 20); // more than a day's worth
    let waiting: Vec<_> = (0..3).map(|_| taker(&gate, 10)).collect();
    for (_, got) in &waiting {
        still_waits(got);
    }
    let shown = gate.waiting().unwrap();
    assert_eq!(shown, "the rate limit of 1 KiB/s");
    gate.set_rate(Some(1 << 30));
    for (thread, got) in waiting {
        assert_eq!(gets(&got), 10);
        thread.join().unwrap();
    }
}

#[test]
fn the_lower_of_rate_and_ceiling_holds() {
    let gate = RateLimiter::named("the disk rate limit");
    gate.set_rate(Some(40 << 20));
    gate.set_ceiling(Some(10 << 20));
    assert_eq!(gate.allowed(), Some(10 << 20));
    assert_eq!(
        (gate.rate(), gate.ceiling()),
        (Some(40 << 20), Some(10 << 20))
    );
    gate.set_rate(Some(1 << 20));
    assert_eq!(gate.allowed(), Some(1 << 20));
    gate.set_ceiling(Some(1)); // not so low
    assert_eq!(gate.allowed(), Some(LOWEST));
    gate.set_ceiling(None);
    gate.set_rate(None);
    assert!(gate.is_open());
}

#[test]
fn the_end_wakes_everybody() {
    let gate = RateLimiter::new();
    gate.set_paused(true);
    gate.set_workers(Some(1));
    let waiting: Vec<_> = (0..4).map(|_| taker(&gate, 10)).collect();
    still_waits(&waiting[0].1);
    gate.end();
    for (thread, got) in waiting {
        assert_eq!(gets(&got), 0);
        thread.join().unwrap();
    }
    assert_eq!(gate.acquire(5), 0);
    assert_eq!(gate.waiting(), None);
}

#[test]
fn workers_beyond_the_places_wait_until_one_leaves() {
    let gate = RateLimiter::new();
    gate.set_workers(Some(1));
    assert_eq!(gate.acquire(10), 10);
    let (thread, got) = taker(&gate, 10);
    gate.release_slot();
    assert_eq!(gets(&got), 10);
    thread.join().unwrap();
    // What is quiet loses its place, or nobody would ever get it.
    let (thread, got) = taker(&gate, 10);
    assert_eq!(gets(&got), 10);
    thread.join().unwrap();
    gate.set_workers(None);
    assert!(gate.is_open());
}

#[test]
fn what_may_lie_ready_is_shared_by_all() {
    let gate = RateLimiter::new();
    let before = gate.version();
    gate.set_rate(Some(20_000_000));
    assert_eq!(gate.read_ahead(), Some(1_000_000));
    for _ in 0..4 {
        gate.add_source(true);
    }
    assert_eq!(gate.read_ahead(), Some(250_000));
    gate.add_source(false);
    assert!(gate.version() > before);
}

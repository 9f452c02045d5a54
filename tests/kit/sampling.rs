//! Exhaustive tests (a kill at every failpoint, hundreds of random tables) take a sample of their
//! cases by default, and all of them with `PENSTOCK_THOROUGH=1`, which `./dev test --thorough`
//! sets.
//!
//! The sample is chosen by `PENSTOCK_SEED`, else by the clock. It is only ever taken from the cases
//! that the thorough run tries, so that no seed fails for a program that passes the thorough run.
//! The same seed chooses the same cases as long as the calls of [`few`] stay where they are in the
//! source.

use std::panic::Location;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::Kind;

/// Whether every case is to be tried.
pub fn thorough() -> bool {
    std::env::var("PENSTOCK_THOROUGH").is_ok_and(|v| !v.is_empty() && v != "0")
}

/// `count` of these cases, in their order; all of them if the run is thorough.
#[track_caller]
pub fn few<T: Clone>(kind: Kind, count: usize, cases: &[T]) -> Vec<T> {
    if thorough() {
        return cases.to_vec();
    }
    let location = Location::caller();
    let label = format!("{}:{} {}", location.file(), location.line(), kind.name());
    chosen(seed(), &label, count, cases.len())
        .into_iter()
        .map(|i| cases[i].clone())
        .collect()
}

/// One for the whole process; the output of a test that fails has it.
#[allow(
    clippy::print_stderr,
    reason = "the harness shows it where a test fails, which is where it is needed"
)]
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| match std::env::var("PENSTOCK_SEED") {
        Ok(text) if !text.is_empty() => text.parse().expect("PENSTOCK_SEED: a number"),
        _ => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(0, |t| t.as_secs())
        }
    });
    eprintln!("a sample of the cases; PENSTOCK_SEED={seed} takes the same one again");
    seed
}

/// `count` different numbers below `of`, ascending.
fn chosen(seed: u64, label: &str, count: usize, of: usize) -> Vec<usize> {
    // FNV-1a: each label gets its own sequence.
    let mut state = label.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    // splitmix64.
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut all: Vec<usize> = (0..of).collect();
    let count = count.min(of);
    for i in 0..count {
        let rest = (of - i) as u64;
        all.swap(i, i + (next() % rest) as usize);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}

#[test]
fn samples_are_repeated_by_their_seed_and_differ_by_label() {
    let a = chosen(7, "a", 10, 1000);
    assert_eq!(a, chosen(7, "a", 10, 1000));
    assert_ne!(a, chosen(7, "b", 10, 1000));
    assert_ne!(a, chosen(8, "a", 10, 1000));
    assert!(a.windows(2).all(|w| w[0] < w[1]) && a.len() == 10, "{a:?}");
    assert_eq!(chosen(7, "a", 10, 3), [0, 1, 2]);
    assert_eq!(chosen(7, "a", 10, 0), [0; 0]);
}

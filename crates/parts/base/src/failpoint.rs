//! Named failpoints, where a test may end the process to see what it leaves behind.
//!
//! Each call of [`reached`] is a failpoint. `PENSTOCK_KILL_AT=n` kills the process
//! at the n-th one as `kill -9` would, `PENSTOCK_KILL_AT=name#n` at the n-th of
//! this name, which is stable where the number of others depends on the machine's
//! speed; `PENSTOCK_STOP_AT` stops it there as `kill -STOP` would, so that a test
//! can kill the server and let penstock continue; `PENSTOCK_PLACES=FILE` writes
//! their names to a file, in order. Bytes that pass one ([`passed`]) are damaged
//! by `PENSTOCK_DAMAGE_AT`. Release builds do not have failpoints.

use std::borrow::Cow;

#[cfg(debug_assertions)]
mod places {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    /// How often failpoints were reached: all of them, and by name.
    #[derive(Default)]
    pub struct Counts {
        all: u64,
        named: HashMap<String, u64>,
    }

    impl Counts {
        pub fn count(&mut self, place: &str) {
            self.all += 1;
            *self.named.entry(place.to_owned()).or_default() += 1;
        }

        /// Whether the failpoint just counted is the one that `asked` means.
        pub fn is(&self, place: &str, asked: &str) -> bool {
            match asked.rsplit_once('#') {
                Some((name, n)) => name == place && n.parse().ok() == self.named.get(name).copied(),
                None => asked.parse().ok() == Some(self.all),
            }
        }
    }

    static COUNTS: Mutex<Option<Counts>> = Mutex::new(None);

    /// Counts a failpoint; says which of the three variables mean it.
    pub fn count(place: &str) -> [bool; 3] {
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.get_or_insert_default();
        counts.count(place);
        ["PENSTOCK_KILL_AT", "PENSTOCK_STOP_AT", "PENSTOCK_DAMAGE_AT"].map(|name| {
            let asked = std::env::var(name);
            asked.is_ok_and(|asked| counts.is(place, &asked))
        })
    }
}

/// A failpoint; the name is its address in tests.
#[cfg(debug_assertions)]
pub fn reached(place: &str) {
    counted(place);
}

/// A failpoint that bytes pass: one bit in the middle of them may be flipped.
#[cfg(debug_assertions)]
pub fn passed<'b>(place: &str, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    if counted(place) {
        let middle = bytes.len() / 2;
        if let Some(byte) = bytes.to_mut().get_mut(middle) {
            *byte ^= 1;
        }
    }
    bytes
}

/// A failpoint that bytes pass.
#[cfg(not(debug_assertions))]
#[inline]
pub fn passed<'b>(_place: &str, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    Cow::Borrowed(bytes)
}

/// Counts a failpoint and does what was asked for; returns whether bytes that pass it are to be damaged.
#[cfg(debug_assertions)]
fn counted(place: &str) -> bool {
    if let Some(list) = std::env::var_os("PENSTOCK_PLACES") {
        use std::io::Write;
        let list = std::fs::File::options()
            .create(true)
            .append(true)
            .open(list);
        let _ = list.and_then(|mut f| f.write_all(format!("{place}\n").as_bytes()));
    }
    let [killed, stopped, damaged] = places::count(place);
    let signal = match (killed, stopped) {
        (true, _) => rustix::process::Signal::KILL,
        (false, true) => rustix::process::Signal::STOP,
        (false, false) => return damaged,
    };
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    // Another thread may receive the signal: until then this one must not continue.
    std::thread::sleep(std::time::Duration::from_millis(300));
    damaged
}

/// A failpoint.
#[cfg(not(debug_assertions))]
#[inline]
pub fn reached(_place: &str) {}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::places::Counts;

    #[test]
    fn places_are_meant_by_number_or_by_name() {
        let mut counts = Counts::default();
        for place in ["a", "b", "a"] {
            counts.count(place);
        }
        assert!(counts.is("a", "3") && counts.is("a", "a#2"));
        for other in ["2", "a#1", "b#1", "b#2", "c#1", "a#", "a", ""] {
            assert!(!counts.is("a", other), "{other}");
        }
    }
}

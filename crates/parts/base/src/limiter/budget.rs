//! The bytes that may pass now, in whole numbers: bytes times nanoseconds.
//!
//! A token bucket that fills at the rate and is emptied by what passes. It may be
//! overdrawn by one grant, or by bytes that could not wait; then nothing is
//! granted until the debt is paid. Time is an argument, so that tests need no
//! clock.

use super::CREDIT;
use std::time::Duration;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// Most that is granted at once, in bytes.
const LARGEST: u64 = 64 * 1024;

/// Least that is granted when that much is wanted, in bytes: smaller system calls are not worth it.
const SMALLEST: u64 = 256;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Budget {
    rate: Option<u64>,
    /// What may pass, times [`SECOND`]; negative for a debt.
    level: i128,
    /// When `level` was true, in nanoseconds.
    at: u64,
}

impl Budget {
    /// Changes the rate. A debt is kept as bytes or as the time to pay it, whichever is less: a lower rate must not
    /// wait long for it, and a higher rate must not wait as the lower one had to.
    pub(super) fn set_rate(&mut self, now: u64, rate: Option<u64>) {
        if rate == self.rate {
            return;
        }
        self.fill(now);
        self.at = now;
        self.level = match (self.rate, rate) {
            (Some(old), Some(new)) => {
                let same_time = self.level * i128::from(new) / i128::from(old.max(1));
                if self.level < 0 {
                    self.level.max(same_time)
                } else {
                    self.level.min(same_time)
                }
            }
            _ => 0,
        };
        self.rate = rate;
    }

    /// Drops what was saved up.
    pub(super) fn forfeit(&mut self, now: u64) {
        self.fill(now);
        self.level = self.level.min(0);
    }

    /// Grants up to `want` bytes, or says how long it takes until there are any.
    pub(super) fn ask(&mut self, now: u64, want: usize) -> Result<usize, Duration> {
        let Some(rate) = self.rate else {
            return Ok(want);
        };
        self.fill(now);
        if self.level < 0 {
            let rate = i128::from(rate);
            let pause = (rate - 1 - self.level) / rate; // rounded up
            return Err(Duration::from_nanos(
                u64::try_from(pause).unwrap_or(u64::MAX),
            ));
        }
        let quantum = (rate / 100).clamp(SMALLEST, LARGEST) as usize;
        let n = want.min(quantum);
        self.level -= n as i128 * SECOND;
        Ok(n)
    }

    /// Takes bytes without asking.
    pub(super) fn charge(&mut self, now: u64, n: usize) {
        if self.rate.is_some() {
            self.fill(now);
            self.level -= n as i128 * SECOND;
        }
    }

    /// Returns what was not used.
    pub(super) fn give_back(&mut self, now: u64, n: usize) {
        if let Some(rate) = self.rate {
            self.fill(now);
            self.level = (self.level + n as i128 * SECOND).min(most(rate));
        }
    }

    fn fill(&mut self, now: u64) {
        if let Some(rate) = self.rate {
            let passed = i128::from(now.saturating_sub(self.at));
            self.level = (self.level + passed * i128::from(rate)).min(most(rate));
        }
        self.at = self.at.max(now);
    }
}

/// What can be saved up.
fn most(rate: u64) -> i128 {
    i128::from(rate) * CREDIT.as_nanos() as i128
}

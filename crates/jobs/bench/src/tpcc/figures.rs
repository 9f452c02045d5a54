//! What a window of the workload measured: latencies and counts of each
//! transaction, tpmC, and whether the specification's constraints hold.

use super::mix::Transaction;
use hdrhistogram::Histogram;
use std::time::Duration;

/// The longest latency that is told apart from longer ones, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;

/// Three digits.
const DIGITS: u8 = 3;

/// Share of a transaction's runs that has to keep within its limit, in per cent.
const WITHIN: f64 = 90.0;

/// One transaction in a window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Runs that were committed.
    pub committed: u64,
    /// Runs that were rolled back as the specification wants it: orders with an unused item.
    pub rolled_back: u64,
    /// Tries that were lost to a deadlock or a lock wait and made again.
    pub retries: u64,
    /// Runs that took no longer than [`Transaction::limit`].
    pub within_limit: u64,
    latency: Histogram<u64>,
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            committed: 0,
            rolled_back: 0,
            retries: 0,
            within_limit: 0,
            latency: empty(),
        }
    }
}

fn empty() -> Histogram<u64> {
    // These bounds are constants that the crate allows; growing by itself is what is left.
    Histogram::new_with_max(LONGEST, DIGITS).unwrap_or_else(|_| unreachable!("bounds in range"))
}

impl Measured {
    /// Runs that came to their end, whether committed or rolled back.
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }

    /// Latencies in microseconds, from the first statement to the answer to the
    /// last, tries that were made again included.
    pub fn latency(&self) -> &Histogram<u64> {
        &self.latency
    }

    /// The latency that a share (0 to 1) of all runs kept within; `None` without a run.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        quantile(&self.latency, share)
    }

    /// The mean latency; `None` without a run.
    pub fn mean(&self) -> Option<Duration> {
        (!self.latency.is_empty()).then(|| Duration::from_secs_f64(self.latency.mean() / 1e6))
    }

    /// The longest latency; `None` without a run.
    pub fn max(&self) -> Option<Duration> {
        (!self.latency.is_empty()).then(|| Duration::from_micros(self.latency.max()))
    }

    pub(super) fn record(&mut self, latency: Duration, limit: Duration, committed: bool) {
        self.committed += u64::from(committed);
        self.rolled_back += u64::from(!committed);
        self.within_limit += u64::from(latency <= limit);
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LONGEST);
        self.latency.saturating_record(micros.max(1));
    }

    fn merge(&mut self, other: &Measured) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.retries += other.retries;
        self.within_limit += other.within_limit;
        // Both have the same bounds, so nothing can be out of range.
        let _ = self.latency.add(&other.latency);
    }
}

fn quantile(latency: &Histogram<u64>, share: f64) -> Option<Duration> {
    (!latency.is_empty()).then(|| Duration::from_micros(latency.value_at_quantile(share)))
}

/// What a window measured. A run counts in the window in which it ended, with
/// all the time it took.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// When the window began, since the workload did.
    pub from: Duration,
    /// How long it was.
    pub length: Duration,
    /// By transaction, in the order of [`Transaction::ALL`].
    pub each: [Measured; 5],
    /// Districts that had nothing to deliver.
    pub skipped_deliveries: u64,
    /// How long the oldest transaction had been under way when the window
    /// ended; a server that stalls shows here first.
    pub under_way: Option<Duration>,
}

/// A rule of the specification, and whether it was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Which transaction.
    pub transaction: Transaction,
    /// Whether it is about response times; about the mix otherwise.
    pub response_time: bool,
    /// What was found, in per cent; `None` if there was nothing to judge by.
    pub found: Option<f64>,
    /// The least that is allowed, in per cent.
    pub least: f64,
}

impl Constraint {
    /// Whether it was kept. Nothing to judge by is not good enough.
    pub fn is_kept(&self) -> bool {
        self.found.is_some_and(|f| f >= self.least)
    }
}

impl Figures {
    /// The figures of one transaction.
    pub fn of(&self, transaction: Transaction) -> &Measured {
        &self.each[transaction as usize]
    }

    /// New-Orders committed per minute.
    pub fn tpmc(&self) -> f64 {
        let minutes = self.length.as_secs_f64() / 60.0;
        self.of(Transaction::NewOrder).committed as f64 / minutes.max(f64::MIN_POSITIVE)
    }

    /// Transactions that came to their end.
    pub fn completed(&self) -> u64 {
        self.each.iter().map(Measured::completed).sum()
    }

    /// Tries that were lost and made again.
    pub fn retries(&self) -> u64 {
        self.each.iter().map(|m| m.retries).sum()
    }

    /// Latencies of all transactions together, in microseconds.
    pub fn latency(&self) -> Histogram<u64> {
        let mut all = empty();
        for m in &self.each {
            let _ = all.add(&m.latency);
        }
        all
    }

    /// The latency that a share (0 to 1) of all transactions kept within.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        quantile(&self.latency(), share)
    }

    /// A transaction's share of all that came to their end, in per cent.
    pub fn share(&self, transaction: Transaction) -> Option<f64> {
        percent(self.of(transaction).completed(), self.completed())
    }

    /// The mix (clause 5.2.3) and the response times (clause 5.2.5), as
    /// tpcc-mysql's constraint check has them.
    pub fn constraints(&self) -> Vec<Constraint> {
        let mix = Transaction::ALL.into_iter().filter_map(|transaction| {
            Some(Constraint {
                transaction,
                response_time: false,
                found: self.share(transaction),
                least: transaction.least_share()?,
            })
        });
        let times = Transaction::ALL.into_iter().map(|transaction| {
            let m = self.of(transaction);
            Constraint {
                transaction,
                response_time: true,
                found: percent(m.within_limit, m.completed()),
                least: WITHIN,
            }
        });
        mix.chain(times).collect()
    }

    /// Adds a window's figures to these, as if both were one window.
    pub fn merge(&mut self, other: &Figures) {
        for (mine, theirs) in self.each.iter_mut().zip(&other.each) {
            mine.merge(theirs);
        }
        self.from = self.from.min(other.from);
        self.length += other.length;
        self.skipped_deliveries += other.skipped_deliveries;
        self.under_way = self.under_way.max(other.under_way);
    }
}

fn percent(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Figures {
        let mut f = Figures {
            length: Duration::from_secs(30),
            ..Figures::default()
        };
        for (transaction, runs) in Transaction::ALL.into_iter().zip([55, 53, 5, 5, 5]) {
            for n in 0..runs {
                let m = &mut f.each[transaction as usize];
                m.record(
                    Duration::from_millis(n + 1),
                    transaction.limit(),
                    n != 0 || transaction != Transaction::NewOrder,
                );
            }
        }
        f
    }

    #[test]
    fn orders_that_were_rolled_back_do_not_count() {
        let f = window();
        assert_eq!(f.of(Transaction::NewOrder).committed, 54);
        assert_eq!(f.of(Transaction::NewOrder).completed(), 55);
        assert!((f.tpmc() - 108.0).abs() < 1e-9, "{}", f.tpmc());
        assert_eq!(f.completed(), 123);
    }

    #[test]
    fn constraints_name_what_was_missed() {
        let mut f = window();
        assert_eq!(f.constraints().len(), 9);
        assert!(f.constraints().iter().all(Constraint::is_kept));
        for _ in 0..8 {
            f.each[Transaction::StockLevel as usize].record(
                Duration::from_secs(21),
                Transaction::StockLevel.limit(),
                true,
            );
        }
        let missed: Vec<_> = f
            .constraints()
            .into_iter()
            .filter(|c| !c.is_kept())
            .map(|c| (c.transaction, c.response_time))
            .collect();
        // More of one is less of another.
        assert_eq!(
            missed,
            [
                (Transaction::Payment, false),
                (Transaction::OrderStatus, false),
                (Transaction::Delivery, false),
                (Transaction::StockLevel, true)
            ]
        );
        assert!(
            Figures::default()
                .constraints()
                .iter()
                .all(|c| !c.is_kept())
        );
    }

    #[test]
    fn windows_add_up() {
        let (mut a, b) = (window(), window());
        a.merge(&b);
        assert_eq!((a.completed(), a.length.as_secs()), (246, 60));
        assert!((a.tpmc() - b.tpmc()).abs() < 1e-9);
        let p95 = b.of(Transaction::NewOrder).quantile(0.95);
        assert_eq!(a.of(Transaction::NewOrder).quantile(0.95), p95);
        // The 53rd of 55, within the histogram's three digits.
        let p95 = p95.expect("runs").as_micros();
        assert!((53_000..53_100).contains(&p95), "{p95}");
    }
}

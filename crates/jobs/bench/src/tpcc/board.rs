//! Where all terminals write down what they did: into the window that is open,
//! and into the second that passes.

use super::figures::Figures;
use super::mix::Transaction;
use std::time::Duration;

/// One second of the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Whole seconds since the workload began, at the second's beginning.
    pub at: u64,
    /// New-Orders committed; sixty times that is the second's tpmC.
    pub new_orders: u64,
    /// Transactions that came to their end.
    pub transactions: u64,
    /// Tries that were lost to a deadlock or a lock wait and made again.
    pub retries: u64,
    /// What 95 % of the New-Orders kept within; `None` if none ended.
    pub p95_new_order: Option<Duration>,
    /// What 95 % of all transactions kept within; `None` if none ended.
    pub p95: Option<Duration>,
}

/// A transaction that came to its end.
pub(super) struct Ended {
    pub(super) transaction: Transaction,
    /// When, since the workload began.
    pub(super) at: Duration,
    pub(super) latency: Duration,
    pub(super) committed: bool,
    pub(super) retries: u64,
    pub(super) skipped: u64,
}

/// The open window and the seconds.
#[derive(Debug, Default)]
pub(super) struct Board {
    window: Option<Figures>,
    seconds: Vec<Second>,
    new_orders: Vec<Duration>,
    all: Vec<Duration>,
    current: Second,
    committed: u64,
}

impl Board {
    pub(super) fn record(&mut self, ended: &Ended) {
        self.pass(ended.at);
        let counted = ended.transaction == Transaction::NewOrder;
        let counts = u64::from(ended.committed);
        self.committed += counts;
        self.all.push(ended.latency);
        self.current.transactions += 1;
        self.current.retries += ended.retries;
        if counted {
            self.new_orders.push(ended.latency);
            self.current.new_orders += counts;
        }
        if let Some(window) = &mut self.window {
            let m = &mut window.each[ended.transaction as usize];
            m.record(ended.latency, ended.transaction.limit(), ended.committed);
            m.retries += ended.retries;
            window.skipped_deliveries += ended.skipped;
        }
    }

    /// Closes the seconds that are over.
    fn pass(&mut self, now: Duration) {
        while self.current.at < now.as_secs() {
            let mut done = std::mem::take(&mut self.current);
            self.current.at = done.at + 1;
            done.p95_new_order = quantile(&mut self.new_orders);
            done.p95 = quantile(&mut self.all);
            self.new_orders.clear();
            self.all.clear();
            self.seconds.push(done);
        }
    }

    /// All seconds that are over.
    pub(super) fn seconds(&mut self, now: Duration) -> Vec<Second> {
        self.pass(now);
        self.seconds.clone()
    }

    pub(super) fn open(&mut self, now: Duration) {
        self.window = Some(Figures {
            from: now,
            ..Figures::default()
        });
    }

    pub(super) fn close(&mut self, now: Duration) -> Option<Figures> {
        let mut window = self.window.take()?;
        window.length = now.saturating_sub(window.from);
        Some(window)
    }

    /// Transactions committed since the workload began.
    pub(super) fn committed(&self) -> u64 {
        self.committed
    }
}

/// What 95 % kept within, exactly.
fn quantile(all: &mut [Duration]) -> Option<Duration> {
    let at = (all.len() * 95).div_ceil(100).checked_sub(1)?;
    Some(*all.select_nth_unstable(at).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(millis: u64, latency: u64, transaction: Transaction) -> Ended {
        Ended {
            transaction,
            at: Duration::from_millis(millis),
            latency: Duration::from_millis(latency),
            committed: true,
            retries: 0,
            skipped: 0,
        }
    }

    #[test]
    fn seconds_without_an_end_are_there_too() {
        let mut board = Board::default();
        for n in 1..=100 {
            board.record(&ended(n, n, Transaction::NewOrder));
        }
        board.record(&ended(3_500, 3_400, Transaction::Payment));
        let seconds = board.seconds(Duration::from_millis(4_100));
        let shown: Vec<_> = seconds
            .iter()
            .map(|s| (s.at, s.new_orders, s.transactions))
            .collect();
        assert_eq!(shown, [(0, 100, 100), (1, 0, 0), (2, 0, 0), (3, 0, 1)]);
        assert_eq!(seconds[0].p95, Some(Duration::from_millis(95)));
        assert_eq!(seconds[1].p95, None);
        assert_eq!(seconds[3].p95, Some(Duration::from_millis(3_400)));
        assert_eq!(seconds[3].p95_new_order, None);
        assert_eq!(board.committed(), 101);
    }

    #[test]
    fn a_window_holds_what_ended_in_it() {
        let mut board = Board::default();
        board.record(&ended(100, 1, Transaction::NewOrder));
        board.open(Duration::from_millis(150));
        board.record(&ended(200, 100, Transaction::NewOrder));
        let window = board.close(Duration::from_millis(1_150)).expect("open");
        board.record(&ended(1_200, 1, Transaction::NewOrder));
        assert_eq!(window.completed(), 1);
        assert_eq!(window.length, Duration::from_secs(1));
        assert!((window.tpmc() - 60.0).abs() < 1e-9);
        assert!(board.close(Duration::from_secs(2)).is_none());
    }
}

//! Which transaction comes next (clause 5.2.4), and how quick each has to be
//! (clause 5.2.5.7).
//!
//! Cards are dealt from one deck that all connections share, so the mix holds
//! in short measurements too.

use super::random::Random;
use std::time::Duration;

/// A transaction of clause 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// Clause 2.4: enters an order of 5 to 15 lines; the one that is counted.
    NewOrder,
    /// Clause 2.5: takes a customer's money.
    Payment,
    /// Clause 2.6: reads a customer's last order.
    OrderStatus,
    /// Clause 2.7: delivers the oldest order of each district.
    Delivery,
    /// Clause 2.8: counts items that run short.
    StockLevel,
}

impl Transaction {
    /// All of them.
    pub const ALL: [Transaction; 5] = [
        Transaction::NewOrder,
        Transaction::Payment,
        Transaction::OrderStatus,
        Transaction::Delivery,
        Transaction::StockLevel,
    ];

    /// The specification's name.
    pub fn name(self) -> &'static str {
        match self {
            Transaction::NewOrder => "New-Order",
            Transaction::Payment => "Payment",
            Transaction::OrderStatus => "Order-Status",
            Transaction::Delivery => "Delivery",
            Transaction::StockLevel => "Stock-Level",
        }
    }

    /// The same as a key in `--json`.
    pub fn key(self) -> &'static str {
        match self {
            Transaction::NewOrder => "new_order",
            Transaction::Payment => "payment",
            Transaction::OrderStatus => "order_status",
            Transaction::Delivery => "delivery",
            Transaction::StockLevel => "stock_level",
        }
    }

    /// What 90 % have to keep within. Delivery's is that of its interactive
    /// part, as the connection waits for it here.
    pub fn limit(self) -> Duration {
        match self {
            Transaction::StockLevel => Duration::from_secs(20),
            _ => Duration::from_secs(5),
        }
    }

    /// The least share of all transactions, in per cent.
    pub fn least_share(self) -> Option<f64> {
        match self {
            Transaction::NewOrder => None,
            Transaction::Payment => Some(43.0),
            _ => Some(4.0),
        }
    }

    /// Cards in a deck: 44.7 % New-Order, 43.1 % Payment, 4.07 % of each of the
    /// rest; a hair above the least shares, which a deck of exactly 45, 43, 4,
    /// 4 and 4 would miss by chance half of the time.
    fn cards(self) -> usize {
        match self {
            Transaction::NewOrder => 55,
            Transaction::Payment => 53,
            _ => 5,
        }
    }
}

/// Cards in random order, shuffled anew when all are dealt.
#[derive(Debug)]
pub(super) struct Deck {
    random: Random,
    left: Vec<Transaction>,
}

impl Deck {
    pub(super) fn new(seed: u64) -> Deck {
        Deck {
            random: Random::new(seed, &[0x6465_636b]),
            left: Vec::new(),
        }
    }

    pub(super) fn deal(&mut self) -> Transaction {
        loop {
            if let Some(card) = self.left.pop() {
                return card;
            }
            let all = Transaction::ALL.into_iter();
            let mut cards: Vec<_> = all
                .flat_map(|t| std::iter::repeat_n(t, t.cards()))
                .collect();
            self.random.shuffle(&mut cards);
            self.left = cards;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deck_has_the_least_shares() {
        let mut deck = Deck::new(7);
        let size: usize = Transaction::ALL.iter().map(|t| t.cards()).sum();
        for _ in 0..3 {
            let dealt: Vec<_> = (0..size).map(|_| deck.deal()).collect();
            for t in Transaction::ALL {
                let share = dealt.iter().filter(|d| **d == t).count() as f64 / size as f64 * 100.0;
                assert!(share > t.least_share().unwrap_or(44.5), "{t:?} {share}");
            }
            assert!(
                dealt[..20].iter().any(|t| *t != dealt[0]),
                "not one after the other"
            );
        }
    }
}

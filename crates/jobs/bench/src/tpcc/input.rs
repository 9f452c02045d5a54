//! What a terminal types in: the random input of each transaction, to the
//! rules of clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1.
//!
//! Made before the transaction begins, so that one that lost a fight over locks
//! is tried again as it was.

use super::mix::Transaction;
use super::random::{Random, last_name};
use super::{CUSTOMERS, DISTRICTS, ITEMS};

/// The constants C of clause 2.1.6. That of last names is 87 away from the one
/// the rows were made with, which is within what clause 2.1.6.1 allows.
const C_LAST: u32 = 210;
const C_CUSTOMER: u32 = 987;
const C_ITEM: u32 = 5987;

/// A district, by warehouse and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct District {
    pub(super) warehouse: u32,
    pub(super) number: u32,
}

/// How a customer of a district is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    Number(u32),
    /// The one in the middle of all of that last name.
    LastName(String),
}

/// A line of an order that is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Warehouse that supplies it.
    pub(super) supply: u32,
    pub(super) item: u32,
    pub(super) quantity: u32,
}

/// The input of a transaction.
#[derive(Clone, Debug)]
pub(super) enum Input {
    NewOrder {
        home: District,
        customer: u32,
        /// Ordered by warehouse and item, so that two orders never lock stock
        /// crosswise; an item that does not exist, if there is one, is last.
        lines: Vec<Line>,
    },
    Payment {
        home: District,
        /// Where the customer lives.
        of: District,
        customer: Customer,
        cents: u32,
    },
    OrderStatus {
        home: District,
        customer: Customer,
    },
    Delivery {
        warehouse: u32,
        carrier: u32,
    },
    StockLevel {
        home: District,
        threshold: u32,
    },
}

impl Input {
    /// Input for `transaction` among so many warehouses.
    pub(super) fn of(transaction: Transaction, random: &mut Random, warehouses: u32) -> Input {
        let home = District {
            warehouse: random.between(1, warehouses),
            number: random.between(1, DISTRICTS),
        };
        match transaction {
            Transaction::NewOrder => Input::NewOrder {
                home,
                customer: random.nurand(1023, C_CUSTOMER, 1, CUSTOMERS),
                lines: lines(random, home.warehouse, warehouses),
            },
            Transaction::Payment => {
                let remote = warehouses > 1 && random.chance(15);
                let of = if remote {
                    District {
                        warehouse: other(random, home.warehouse, warehouses),
                        number: random.between(1, DISTRICTS),
                    }
                } else {
                    home
                };
                Input::Payment {
                    home,
                    of,
                    customer: customer(random),
                    cents: random.between(100, 500_000),
                }
            }
            Transaction::OrderStatus => Input::OrderStatus {
                home,
                customer: customer(random),
            },
            Transaction::Delivery => Input::Delivery {
                warehouse: home.warehouse,
                carrier: random.between(1, 10),
            },
            Transaction::StockLevel => Input::StockLevel {
                home,
                threshold: random.between(10, 20),
            },
        }
    }
}

/// 60 % by last name.
fn customer(random: &mut Random) -> Customer {
    if random.chance(60) {
        let mut name = Vec::new();
        last_name(&mut name, random.nurand(255, C_LAST, 0, 999));
        Customer::LastName(String::from_utf8_lossy(&name).into_owned())
    } else {
        Customer::Number(random.nurand(1023, C_CUSTOMER, 1, CUSTOMERS))
    }
}

/// Any warehouse but `home`.
fn other(random: &mut Random, home: u32, warehouses: u32) -> u32 {
    let n = random.between(1, warehouses - 1);
    if n >= home { n + 1 } else { n }
}

/// 5 to 15 different items, 1 % of them from another warehouse; in 1 % of the
/// orders the last one does not exist.
fn lines(random: &mut Random, home: u32, warehouses: u32) -> Vec<Line> {
    let count = random.between(5, 15) as usize;
    let mut lines: Vec<Line> = Vec::with_capacity(count);
    while lines.len() < count {
        let item = random.nurand(8191, C_ITEM, 1, ITEMS);
        if lines.iter().any(|l| l.item == item) {
            continue;
        }
        let remote = warehouses > 1 && random.chance(1);
        lines.push(Line {
            supply: if remote {
                other(random, home, warehouses)
            } else {
                home
            },
            item,
            quantity: random.between(1, 10),
        });
    }
    lines.sort_unstable_by_key(|l| (l.supply, l.item));
    if random.chance(1)
        && let Some(last) = lines.last_mut()
    {
        last.item = ITEMS + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(transaction: Transaction) -> Vec<Input> {
        let mut random = Random::new(3, &[1]);
        (0..20_000)
            .map(|_| Input::of(transaction, &mut random, 5))
            .collect()
    }

    /// In per cent, of those that `true` or `false` was said of.
    fn share(of: impl Iterator<Item = bool>) -> f64 {
        let (mut yes, mut all) = (0u32, 0u32);
        for is in of {
            yes += u32::from(is);
            all += 1;
        }
        f64::from(yes) / f64::from(all) * 100.0
    }

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1.0, "{found} {wanted}");
    }

    #[test]
    fn orders_keep_to_their_shares() {
        let all = many(Transaction::NewOrder);
        let orders: Vec<(u32, &[Line])> = all
            .iter()
            .map(|i| match i {
                Input::NewOrder { home, lines, .. } => (home.warehouse, &lines[..]),
                other => panic!("{other:?}"),
            })
            .collect();
        let unused = |lines: &[Line]| lines.iter().any(|l| l.item > ITEMS);
        let rolled_back = share(orders.iter().map(|(_, l)| unused(l)));
        assert!((0.7..1.3).contains(&rolled_back), "{rolled_back}");
        let each = orders
            .iter()
            .flat_map(|(w, l)| l.iter().map(move |l| (*w, l)));
        let remote = share(each.map(|(home, line)| line.supply != home));
        assert!((0.8..1.2).contains(&remote), "{remote}");
        near(
            orders.iter().map(|(_, l)| l.len() as f64).sum::<f64>() / orders.len() as f64,
            10.0,
        );
        for (_, lines) in orders {
            assert!((5..=15).contains(&lines.len()));
            assert!(lines.iter().all(|l| (1..=5).contains(&l.supply)));
            let known = lines.iter().filter(|l| l.item <= ITEMS).count();
            assert!(known >= lines.len() - 1);
            let order: Vec<_> = lines[..known].iter().map(|l| (l.supply, l.item)).collect();
            assert!(order.is_sorted() && order.windows(2).all(|w| w[0] != w[1]));
        }
    }

    #[test]
    fn customers_pay_elsewhere_and_are_known_by_name() {
        let all = many(Transaction::Payment);
        let of = |i: &Input| match i {
            Input::Payment {
                home, of, customer, ..
            } => (
                home.warehouse != of.warehouse,
                matches!(customer, Customer::LastName(_)),
            ),
            other => panic!("{other:?}"),
        };
        near(share(all.iter().map(|i| of(i).0)), 15.0);
        near(share(all.iter().map(|i| of(i).1)), 60.0);
    }

    #[test]
    fn one_warehouse_has_no_other() {
        let mut random = Random::new(1, &[]);
        for _ in 0..1_000 {
            for t in Transaction::ALL {
                match Input::of(t, &mut random, 1) {
                    Input::NewOrder { lines, .. } => assert!(lines.iter().all(|l| l.supply == 1)),
                    Input::Payment { home, of, .. } => assert_eq!(home, of),
                    _ => {}
                }
            }
        }
    }
}

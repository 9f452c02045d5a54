//! New-Order, Order-Status, Delivery and Stock-Level: what reads and changes
//! orders (clauses 2.4, 2.6, 2.7, 2.8).
//!
//! Rows of one kind are fetched by one statement for the whole order, as an
//! application would; each stock row is changed by a statement of its own.

use super::DISTRICTS;
use super::input::{Customer, District, Line};
use super::payments::find;
use super::session::{Money, Result, Session, cents};
use server::quote;
use std::collections::HashMap;
use std::fmt::Write;

/// Stock as it was read: quantity, and the district's own information.
type Stock = HashMap<(u32, u32), (u32, String)>;

/// Clause 2.4.2; false if an item did not exist and the order was rolled back.
pub(super) fn new_order(
    s: &mut Session,
    home: District,
    customer: u32,
    lines: &[Line],
) -> Result<bool> {
    let District {
        warehouse: w,
        number: d,
    } = home;
    s.run(format_args!("START TRANSACTION"))?;
    let known = s.rows(
        format_args!(
            "SELECT c_discount, c_last, c_credit, w_tax FROM warehouse, customer \
             WHERE w_id = {w} AND c_w_id = {w} AND c_d_id = {d} AND c_id = {customer}"
        ),
        |_: [&str; 4]| {},
    )?;
    if known != 1 {
        return Err(s.wrong("no customer"));
    }
    let order = s.one(format_args!(
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = {w} AND d_id = {d} FOR UPDATE"
    ))?;
    s.change(format_args!(
        "UPDATE district SET d_next_o_id = {} WHERE d_w_id = {w} AND d_id = {d}",
        order + 1
    ))?;
    let local = u8::from(lines.iter().all(|l| l.supply == w));
    let count = lines.len();
    s.change(format_args!(
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
         VALUES ({order}, {d}, {w}, {customer}, NOW(), NULL, {count}, {local})"
    ))?;
    s.change(format_args!(
        "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES ({order}, {d}, {w})"
    ))?;
    let prices = prices(s, lines)?;
    let stock = stock(s, d, lines, &prices)?;
    let mut insert = String::with_capacity(1024);
    for (number, line) in (1..).zip(lines) {
        let Some(price) = prices.get(&line.item) else {
            continue;
        };
        let Some((there, info)) = stock.get(&(line.supply, line.item)) else {
            return Err(s.wrong(&format!("no stock of item {}", line.item)));
        };
        let n = line.quantity;
        let left = if *there >= n + 10 {
            there - n
        } else {
            there + 91 - n
        };
        let remote = u8::from(line.supply != w);
        s.change(format_args!(
            "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {n}, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + {remote} WHERE s_w_id = {} AND s_i_id = {}",
            line.supply, line.item
        ))?;
        let _ = write!(
            insert,
            "{}({order}, {d}, {w}, {number}, {}, {}, NULL, {n}, {}, {})",
            if insert.is_empty() { "" } else { ", " },
            line.item,
            line.supply,
            Money(price * i64::from(n)),
            quote::text(info)
        );
    }
    s.run(format_args!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
         ol_quantity, ol_amount, ol_dist_info) VALUES {insert}"
    ))?;
    let all_known = lines.iter().all(|l| prices.contains_key(&l.item));
    s.run(format_args!(
        "{}",
        if all_known { "COMMIT" } else { "ROLLBACK" }
    ))?;
    Ok(all_known)
}

/// Prices in cents of those items that exist.
fn prices(s: &mut Session, lines: &[Line]) -> Result<HashMap<u32, i64>> {
    let mut found = HashMap::with_capacity(lines.len());
    let list = Numbers(lines.iter().map(|l| l.item).collect());
    s.rows(
        format_args!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({list})"),
        |[id, price, ..]: [&str; 4]| {
            if let (Ok(id), Some(price)) = (id.parse(), cents(price)) {
                found.insert(id, price);
            }
        },
    )?;
    Ok(found)
}

/// Locks and reads the stock of the items that exist, one warehouse after the other.
fn stock(s: &mut Session, d: u32, lines: &[Line], known: &HashMap<u32, i64>) -> Result<Stock> {
    let mut found = HashMap::with_capacity(lines.len());
    for group in lines.chunk_by(|a, b| a.supply == b.supply) {
        let supply = group[0].supply;
        let items = group.iter().map(|l| l.item);
        let list = Numbers(items.filter(|i| known.contains_key(i)).collect());
        if list.0.is_empty() {
            continue;
        }
        s.rows(
            format_args!(
                "SELECT s_i_id, s_quantity, s_dist_{d:02}, s_data FROM stock \
                 WHERE s_w_id = {supply} AND s_i_id IN ({list}) FOR UPDATE"
            ),
            |[id, quantity, info, _]: [&str; 4]| {
                if let (Ok(id), Ok(quantity)) = (id.parse(), quantity.parse()) {
                    found.insert((supply, id), (quantity, info.to_owned()));
                }
            },
        )?;
    }
    Ok(found)
}

/// Clause 2.6.2.
pub(super) fn order_status(s: &mut Session, home: District, customer: &Customer) -> Result<()> {
    let District {
        warehouse: w,
        number: d,
    } = home;
    s.run(format_args!("START TRANSACTION"))?;
    let c = find(s, home, customer)?;
    s.rows(
        format_args!(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {c}"
        ),
        |_: [&str; 4]| {},
    )?;
    // Every customer has placed an order: there is one each at the start.
    let order = s.one(format_args!(
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_c_id = {c} \
         ORDER BY o_id DESC LIMIT 1"
    ))?;
    s.rows(
        format_args!(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {order}"
        ),
        |_: [&str; 5]| {},
    )?;
    s.run(format_args!("COMMIT"))?;
    Ok(())
}

/// Clause 2.7.4, all districts in one transaction; gives how many had nothing to deliver.
pub(super) fn delivery(s: &mut Session, w: u32, carrier: u32) -> Result<u64> {
    let mut skipped = 0;
    s.run(format_args!("START TRANSACTION"))?;
    for d in 1..=DISTRICTS {
        let oldest = s.number(format_args!(
            "SELECT no_o_id FROM new_orders WHERE no_w_id = {w} AND no_d_id = {d} ORDER BY no_o_id LIMIT 1 FOR UPDATE"
        ))?;
        let Some(order) = oldest else {
            skipped += 1;
            continue;
        };
        s.change(format_args!(
            "DELETE FROM new_orders WHERE no_w_id = {w} AND no_d_id = {d} AND no_o_id = {order}"
        ))?;
        let customer = s.one(format_args!(
            "SELECT o_c_id FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {order}"
        ))?;
        s.change(format_args!(
            "UPDATE orders SET o_carrier_id = {carrier} WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = {order}"
        ))?;
        s.run(format_args!(
            "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {order}"
        ))?;
        let mut sum = None;
        s.rows(
            format_args!(
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {order}"
            ),
            |[text]: [&str; 1]| sum = cents(text),
        )?;
        let Some(sum) = sum else {
            return Err(s.wrong("no sum"));
        };
        s.change(format_args!(
            "UPDATE customer SET c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {customer}",
            Money(sum)
        ))?;
    }
    s.run(format_args!("COMMIT"))?;
    Ok(skipped)
}

/// Clause 2.8.2.
pub(super) fn stock_level(s: &mut Session, home: District, threshold: u32) -> Result<()> {
    let District {
        warehouse: w,
        number: d,
    } = home;
    s.run(format_args!("START TRANSACTION"))?;
    let next = s.one(format_args!(
        "SELECT d_next_o_id FROM district WHERE d_w_id = {w} AND d_id = {d}"
    ))?;
    s.one(format_args!(
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id \
         WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id < {next} AND ol_o_id >= {} \
         AND s_w_id = {w} AND s_quantity < {threshold}",
        next.saturating_sub(20)
    ))?;
    s.run(format_args!("COMMIT"))?;
    Ok(())
}

/// Numbers with commas between them.
struct Numbers(Vec<u32>);

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, n) in self.0.iter().enumerate() {
            write!(f, "{}{n}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

//! The consistency conditions of clause 3.3.2. Each relates tables that one
//! transaction changes together, so data that is not of one moment breaks them.
//!
//! Every condition is one statement, so it sees one moment even while a
//! workload runs. They are asked on several connections at once.

use super::schema;
use base::Result;
use run::Run;
use run::connect;
use run::failure;
use server::{quote, session};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub server: wire::Options,
    /// The schema that holds the tables.
    pub schema: String,
    /// Connections that ask.
    pub threads: usize,
}

/// One condition, and how many warehouses, districts, orders, lines or customers break it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its number in clause 3.3.2.
    pub number: u32,
    /// What it says.
    pub text: &'static str,
    /// Where it does not hold; 0 is good.
    pub broken: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// The schema.
    pub schema: String,
    /// Its warehouses.
    pub warehouses: u32,
    /// All conditions, in order.
    pub conditions: Vec<Condition>,
    /// How long it took.
    pub seconds: f64,
}

impl Summary {
    /// Whether all conditions hold.
    pub fn holds(&self) -> bool {
        self.conditions.iter().all(|c| c.broken == 0)
    }
}

/// Number, meaning, and the statement that counts where it is broken. `<=>` is
/// an equality that takes a missing row for different. Those that read most
/// come first in [`ORDER`].
const CONDITIONS: [(u32, &str, &str); 12] = [
    (
        1,
        "a warehouse's takings are those of its districts",
        "SELECT COUNT(*) FROM warehouse WHERE NOT w_ytd <=> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
    ),
    (
        2,
        "the next order number follows the newest order, and the newest new order",
        // A district whose orders are all delivered has no new order.
        "SELECT COUNT(*) FROM district \
         WHERE NOT d_next_o_id - 1 <=> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         OR d_next_o_id - 1 <> (SELECT MAX(no_o_id) FROM new_orders WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    (
        3,
        "new orders are numbered without a gap",
        "SELECT COUNT(*) FROM (SELECT 1 FROM new_orders GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) broken",
    ),
    (
        4,
        "a district's orders count as many lines as there are",
        "SELECT COUNT(*) FROM district WHERE NOT (SELECT SUM(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         <=> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)",
    ),
    (
        5,
        "exactly the orders without a carrier are new orders",
        "SELECT COUNT(*) FROM orders LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        6,
        "each order counts as many lines as it has",
        "SELECT COUNT(*) FROM orders WHERE NOT o_ol_cnt <=> (SELECT COUNT(*) FROM order_line \
         WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
    ),
    (
        7,
        "exactly the lines of orders without a carrier are not delivered",
        "SELECT COUNT(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        8,
        "a warehouse's takings are those in the history",
        "SELECT COUNT(*) FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS taken FROM history GROUP BY h_w_id) h \
         ON h_w_id = w_id WHERE NOT w_ytd <=> taken",
    ),
    (
        9,
        "a district's takings are those in the history",
        "SELECT COUNT(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS taken FROM history \
         GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT d_ytd <=> taken",
    ),
    (
        10,
        "a customer's balance is what was delivered less what the history says was paid",
        // Grouped rather than joined: the history has no key, and old servers would join row by row.
        "SELECT COUNT(*) FROM (SELECT w, d, c, SUM(amount) AS delivered FROM \
         (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS amount FROM customer \
         UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history) moved GROUP BY w, d, c) t \
         WHERE NOT delivered <=> COALESCE((SELECT SUM(ol_amount) FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE o_w_id = w AND o_d_id = d AND o_c_id = c AND ol_delivery_d IS NOT NULL), 0)",
    ),
    (
        11,
        // The specification asks for 2,100, which holds before the first delivery.
        "a district's delivered orders are the 2,100 of the start and its customers' deliveries",
        "SELECT COUNT(*) FROM district WHERE NOT \
         (SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         - (SELECT COUNT(*) FROM new_orders WHERE no_w_id = d_w_id AND no_d_id = d_id) \
         <=> 2100 + (SELECT SUM(c_delivery_cnt) FROM customer WHERE c_w_id = d_w_id AND c_d_id = d_id)",
    ),
    (
        12,
        "a customer's balance and payments are what was delivered",
        "SELECT COUNT(*) FROM customer WHERE NOT c_balance + c_ytd_payment <=> COALESCE((SELECT SUM(ol_amount) FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL), 0)",
    ),
];

/// Places in [`CONDITIONS`], the slowest first, so that all connections end together.
const ORDER: [usize; 12] = [9, 11, 6, 5, 3, 10, 4, 7, 8, 1, 2, 0];

/// Asks the server for every condition.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let begin = Instant::now();
    let (mut conn, id) = connect::open(run, &options.server)?;
    schema::allowed(&mut conn, &id, &options.schema, &["SELECT"])?;
    let warehouses = schema::warehouses(&mut conn, &options.schema)?;
    run.observer.note(format!(
        "server: {id} at {}, {}",
        options.server.endpoint,
        schema::described(&options.schema, warehouses)
    ));
    let threads = options.threads.clamp(1, CONDITIONS.len());
    let mut conns = vec![conn];
    while conns.len() < threads {
        conns.push(connect::connection(run, &options.server)?);
    }
    for conn in &mut conns {
        session::for_rows(conn, &id).map_err(|e| failure::server("cannot prepare a session", e))?;
        conn.execute(format!("USE {}", quote::ident(&options.schema)))
            .map_err(|e| failure::wire("cannot use the schema", e))?;
    }
    let phase = run.phase("checking conditions", threads);
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Condition>> = Mutex::default();
    run.workers(conns, |_, mut conn, stop| {
        loop {
            stop.check()?;
            let Some(at) = ORDER.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return Ok(());
            };
            let (number, text, sql) = CONDITIONS[*at];
            phase.counters.busy.add(1);
            let counted = conn.fetch(sql);
            phase.counters.busy.sub(1);
            let doing = format!("cannot check condition {number}");
            let rows = counted.map_err(|e| failure::wire(&doing, e))?;
            let cell = rows.into_iter().flatten().flatten().next();
            let broken = cell.and_then(|c| String::from_utf8_lossy(&c).parse().ok());
            let condition = Condition {
                number,
                text,
                broken: broken.ok_or_else(|| {
                    base::Error::new(base::Kind::Failed, format!("{doing}: no count came back"))
                })?,
            };
            base::lock(&found).push(condition);
        }
    })?;
    drop(phase);
    let mut conditions = base::lock::into_inner(found);
    conditions.sort_by_key(|c| c.number);
    Ok(Summary {
        server: format!("{id} at {}", options.server.endpoint),
        schema: options.schema.clone(),
        warehouses,
        conditions,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_asked_once() {
        let mut order = ORDER;
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..12));
        let numbers: Vec<u32> = CONDITIONS.iter().map(|c| c.0).collect();
        assert!(numbers.iter().copied().eq(1..=12));
    }
}

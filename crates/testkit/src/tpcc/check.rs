//! The consistency conditions of clause 3.3.2. Each relates tables that one
//! transaction changes together, so data that is not of one moment breaks them.

use crate::Result;
use wire::Conn;

/// One condition, and how many warehouses, districts or orders break it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its number in clause 3.3.2.
    pub number: u32,
    /// What it says.
    pub text: &'static str,
    /// Where it does not hold; 0 is good.
    pub broken: u64,
}

const CONDITIONS: [(u32, &str, &str); 7] = [
    (
        1,
        "a warehouse's takings are those of its districts",
        "SELECT COUNT(*) FROM warehouse w WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
    ),
    (
        2,
        "the next order number follows the newest order, and the newest new order",
        "SELECT COUNT(*) FROM district \
         WHERE d_next_o_id - 1 <> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
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
        "orders count as many lines as there are",
        "SELECT COUNT(*) FROM district WHERE (SELECT SUM(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)",
    ),
    (
        5,
        "exactly the orders without a carrier are new orders",
        "SELECT COUNT(*) FROM orders LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        8,
        "a warehouse's takings are those in the history",
        "SELECT COUNT(*) FROM warehouse JOIN (SELECT h_w_id, SUM(h_amount) AS taken FROM history GROUP BY h_w_id) h \
         ON h_w_id = w_id WHERE w_ytd <> taken",
    ),
    (
        9,
        "a district's takings are those in the history",
        "SELECT COUNT(*) FROM district JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS taken FROM history \
         GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> taken",
    ),
];

/// Asks the server for every condition.
pub fn check(conn: &mut Conn, schema: &str) -> Result<Vec<Condition>> {
    conn.execute(format!("USE `{schema}`"))?;
    let mut all = Vec::new();
    for (number, text, sql) in CONDITIONS {
        let rows = conn.fetch(sql).map_err(crate::Error::doing(sql))?;
        let cell = rows
            .into_iter()
            .flatten()
            .next()
            .flatten()
            .unwrap_or_default();
        let broken = String::from_utf8_lossy(&cell)
            .parse()
            .map_err(crate::Error::doing(sql))?;
        all.push(Condition {
            number,
            text,
            broken,
        });
    }
    Ok(all)
}

//! Payment (clause 2.5), and how a customer is found by last name.

use super::input::{Customer, District};
use super::session::{Money, Result, Session};
use server::quote;

/// Clause 2.5.2.
pub(super) fn payment(
    s: &mut Session,
    home: District,
    of: District,
    customer: &Customer,
    cents: u32,
) -> Result<()> {
    let District {
        warehouse: w,
        number: d,
    } = home;
    let amount = Money(cents.into());
    s.run(format_args!("START TRANSACTION"))?;
    s.change(format_args!(
        "UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {w}"
    ))?;
    let warehouse = name(
        s,
        format_args!(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = {w}"
        ),
    )?;
    s.change(format_args!(
        "UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = {w} AND d_id = {d}"
    ))?;
    let district = name(
        s,
        format_args!(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
             WHERE d_w_id = {w} AND d_id = {d}"
        ),
    )?;
    let c = find(s, of, customer)?;
    let key = format!(
        "c_w_id = {} AND c_d_id = {} AND c_id = {c}",
        of.warehouse, of.number
    );
    let mut bad = false;
    s.rows(
        format_args!(
            "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
             c_since, c_credit_lim, c_discount, c_balance FROM customer WHERE {key} FOR UPDATE"
        ),
        |[credit]: [&str; 1]| bad = credit == "BC",
    )?;
    let (cd, cw) = (of.number, of.warehouse);
    // The history of a customer with bad credit is kept in the customer's row.
    let data = if bad {
        format!(", c_data = LEFT(CONCAT('{c} {cd} {cw} {d} {w} {amount} | ', c_data), 500)")
    } else {
        String::new()
    };
    s.change(format_args!(
        "UPDATE customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, \
         c_payment_cnt = c_payment_cnt + 1{data} WHERE {key}"
    ))?;
    if bad {
        s.rows(
            format_args!("SELECT LEFT(c_data, 200) FROM customer WHERE {key}"),
            |_: [&str; 1]| {},
        )?;
    }
    s.change(format_args!(
        "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ({c}, {cd}, {cw}, {d}, {w}, NOW(), {amount}, {})",
        quote::text(&format!("{warehouse}    {district}"))
    ))?;
    s.run(format_args!("COMMIT"))?;
    Ok(())
}

fn name(s: &mut Session, sql: std::fmt::Arguments<'_>) -> Result<String> {
    let mut name = None;
    s.rows(sql, |[text]: [&str; 1]| name = Some(text.to_owned()))?;
    name.ok_or_else(|| s.wrong("no row"))
}

/// A customer's number; of several of one last name, that of the one in the
/// middle, ordered by first name (rounded up: clause 2.5.2.2).
pub(super) fn find(s: &mut Session, of: District, customer: &Customer) -> Result<u64> {
    let name = match customer {
        Customer::Number(n) => return Ok(u64::from(*n)),
        Customer::LastName(name) => name,
    };
    let mut all = Vec::new();
    s.rows(
        format_args!(
            "SELECT c_id FROM customer WHERE c_w_id = {} AND c_d_id = {} AND c_last = '{name}' ORDER BY c_first",
            of.warehouse, of.number
        ),
        |[id]: [&str; 1]| all.extend(id.parse::<u64>()),
    )?;
    // Every name of the thousand is there: the first thousand customers have them in turn.
    let middle = all.len().div_ceil(2).checked_sub(1);
    let found = middle.and_then(|at| all.get(at).copied());
    found.ok_or_else(|| s.wrong("no customer"))
}

//! TPC-C: a public, well-known order-entry database, filled to the rules of the
//! specification's clause 4.3 (revision 5.11), deterministic by seed.
//!
//! One warehouse is about 71 MB of rows: 30,000 customers with as many orders,
//! 300,000 order lines, 100,000 stock rows. Dates are not "now" as in the
//! specification but one fixed day, so that the same seed gives the same bytes.

mod check;
mod load;
mod random;
mod rows;
mod tables;
mod writes;

pub use check::{Condition, check};
pub use load::{Fill, Filled};
pub use tables::{SCHEMA, Table};
pub use writes::{Mix, Writes};

/// Items in the catalogue, and stock rows of each warehouse.
pub const ITEMS: u32 = 100_000;
/// Districts of each warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of each district; as many orders are there at the start.
pub const CUSTOMERS: u32 = 3_000;
/// The first order of a district that is not delivered yet (900 of them).
pub const FIRST_UNDELIVERED: u32 = 2_101;

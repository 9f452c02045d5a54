//! TPC-C: the public, well-known order-entry benchmark, to the rules of its
//! specification (revision 5.11): `load` fills the nine tables (clause 4.3),
//! `workload` runs the five transactions (clause 2) and keeps the figures, `run`
//! measures once with it, `check` asks for the consistency conditions (clause
//! 3.3.2).
//!
//! One warehouse is about 71 MB of rows: 30,000 customers with as many orders,
//! 300,000 order lines, 100,000 stock rows. Dates at the start are not "now" as
//! in the specification but one fixed day, so that the same seed gives the same
//! bytes.
//!
//! What it is not: an audited result. There are no keying and think times, no
//! screens, and a connection is not bound to one warehouse (docs/tpcc.md).

mod board;
pub mod check;
mod feed;
mod figures;
mod input;
pub mod load;
mod mix;
mod orders;
mod payments;
pub(crate) mod random;
mod rows;
pub mod run;
mod schema;
mod session;
mod stream;
mod tables;
mod terminal;
mod workload;

pub use board::Second;
pub use figures::{Constraint, Figures, Measured};
pub use mix::Transaction;
pub use tables::{SCHEMA, Table};
pub use workload::{Options, Workload};

/// Items in the catalogue, and stock rows of each warehouse.
pub const ITEMS: u32 = 100_000;
/// Districts of each warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of each district; as many orders are there at the start.
pub const CUSTOMERS: u32 = 3_000;
/// The first order of a district that is not delivered yet (900 of them).
pub const FIRST_UNDELIVERED: u32 = 2_101;

//! What single kinds of events hold.

pub mod begin;
pub mod columns;
pub mod payload;
pub mod query;
pub mod rotate;
pub mod rows;
pub mod table;

pub use begin::Begin;
pub use payload::Payload;
pub use query::Query;
pub use rotate::Rotate;
pub use rows::{Cell, Change, Image, Rows};
pub use table::Table;

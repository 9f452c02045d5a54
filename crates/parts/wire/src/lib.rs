//! One blocking driver for MySQL and MariaDB, made for moving rows.
//!
//! A text row is handed out as one byte slice inside the read buffer; no
//! allocation happens per row or per cell. LOCAL INFILE is announced only on
//! connections opened for loading and answered only from our own stream while
//! one of our own LOAD statements is open. Multi-statements are never enabled.
//!
//! What it does not do: prepared statements, pooling, async, reconnecting. A
//! connection that failed is closed; whoever owns the work decides what next.
//!
//! [`serve`] is another thing: the server half of the replication protocol, which
//! the replay of a binary log needs.
//!
//! Debug builds have a scripted server half for tests, `wire::rogue`.

mod auth;
mod buffer;
pub mod conn;
pub mod error;
pub mod limited;
mod load;
mod login;
pub mod options;
mod packets;
mod payload;
pub mod replication;
#[cfg(any(test, debug_assertions))]
pub mod rogue;
pub mod rows;
mod rsa;
pub mod serve;
mod socket;
mod state;
mod statement;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

pub use conn::{Closer, Conn, Done};
pub use error::{Error, Result, ServerError};
pub use limited::{Direction, Limited};
pub use options::{Endpoint, Options, SslMode};
pub use rows::{Cells, Column, Row, Rows};

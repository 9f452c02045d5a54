//! What tests, the demo and the benchmarks stand on: throw-away servers of
//! each kind, and data to fill them with.
//!
//! Servers are real ones, found on this machine or in the cache folder where
//! `./dev` puts them; nothing here downloads a server. A server started by a
//! test ends with the test's process, however that ends.
//!
//! Nothing of penstock is used except the driver (`wire`): a test that fills a
//! server must not depend on the code it is about to judge.

pub mod checksum;
pub mod debian;
pub mod drain;
pub mod install;
pub mod sample;
pub mod server;
pub mod stock;
pub mod tpcc;

mod datadir;
mod error;
mod feed;
mod process;

pub use error::{Error, Result};
pub use install::{Install, Kind, available};
pub use server::{Server, Setup};

//! What tests, the demo and the benchmarks stand on: throw-away servers of
//! each kind, and data to fill them with.
//!
//! Servers are real ones, found on this machine or in the cache folder where
//! `./dev` puts them; nothing here downloads a server. A server started by a
//! test ends with the test's process, however that ends.
//!
//! Of penstock only the driver (`wire`) and the TPC-C benchmark of `jobs` are
//! used: a test that fills a server must not depend on the code it is about to
//! judge.

pub mod checksum;
pub mod debian;
pub mod drain;
pub mod install;
pub mod proxy;
pub mod sample;
pub mod server;
pub mod skip;
pub mod stock;

mod datadir;
mod error;
mod process;

pub use error::{Error, Result};
pub use install::{Install, Kind, available};
pub use process::interrupt;
pub use server::{Server, Setup};
pub use skip::skip;

//! What tests, the demo and the benchmarks use: throw-away servers of each kind, and data to fill
//! them with.
//!
//! Servers are real ones, found on this machine or in the cache directory where `./dev` puts them;
//! nothing here downloads a server. A server started by a test ends with the test's process,
//! however that ends.
//!
//! What judges penstock does not use the code that it judges: servers, checksums, proxies, sample
//! schemas and the Debian index use only the driver (`wire`). The program `testkit`, which `./dev`
//! calls, is not that strict: it fills servers for the demo and the benchmarks with the TPC-C
//! loader of `jobs`, which shares its `LOAD DATA` code with `penstock load`. Such data is judged by
//! TPC-C's own conditions and by the servers' checksums.

pub mod checksum;
pub mod debian;
pub mod drain;
pub mod install;
pub mod keyring;
pub mod matrix;
pub mod proxy;
pub mod sample;
pub mod server;
pub mod skip;
pub mod stock;
pub mod stores;

mod datadir;
mod error;
mod process;

pub use error::{Error, Result};
pub use install::{Install, Kind, available};
pub use process::interrupt;
pub use server::{Server, Setup};
pub use skip::skip;

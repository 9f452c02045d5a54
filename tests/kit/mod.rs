//! What every test here uses: the binary under test, and a source and a target server of each
//! flavour, shared by all tests of the process.
//!
//! A test has its pair of servers for itself (DDL of one test would meet the locks of another's
//! dump). It finds both without schemas of users.

mod applied;
pub mod binary;
pub mod chromium;
pub mod fixtures;
pub mod imported;
pub mod managed;
pub mod mounted;
pub mod pair;
pub mod proxied;
pub mod same;
pub mod sampling;
pub mod small;
pub mod waiting;

pub use applied::apply_log;
pub use binary::{Done, Tool};
pub use managed::Managed;
pub use pair::{Pair, own_server};
pub(crate) use pair::{both, each_kind};
pub use same::COUNT;
pub use sampling::{few, thorough};
pub use small::Small;

//! What every other crate stands on: how a failure is described, how a run is
//! counted, stopped and told about, and how secrets are kept out of sight.
//!
//! Nothing here knows a server, an archive or a screen.

pub mod cancel;
pub mod counters;
pub mod error;
pub mod events;
pub mod failpoint;
pub mod limiter;
pub mod lock;
pub mod pace;
pub mod secret;
pub mod typed;
pub mod units;

pub use cancel::Cancel;
pub use counters::Counters;
pub use error::{Error, Kind, Result};
pub use events::{Event, Observer};
pub use limiter::RateLimiter;
pub use lock::lock;
pub use secret::Secret;

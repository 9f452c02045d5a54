//! What every other crate uses: errors and exit codes, counters, events, the stop
//! flag, the rate limiter, units, and secrets that are never printed.
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
pub mod process;
pub mod secret;
pub mod typed;
pub mod units;

pub use cancel::Cancel;
pub use counters::Counters;
pub use error::{Error, Kind, Result};
pub use events::{Event, Observer, Standing};
pub use limiter::RateLimiter;
pub use lock::lock;
pub use secret::Secret;

//! The binary log of a server, followed as a replica follows it, and kept byte for byte.
//!
//! The log is stored in segments (`segment`), each a part of one file, in the order of the log. What belongs together
//! is a timeline (`timeline`): the files of one server from the first that was archived until something breaks their order
//! (a reset of the log, files that were purged before they were archived, another server). `kept` is what lies in a place, `reading`
//! reads a file of the log out of its segments, `walk` finds transactions in them, `route` the way from a backup to a state, `survey` what the transactions on it are about, `search` one transaction among them, `source` is the server's side, `archiver` is the job.
//!
//! `log` is what is searched: what is kept, or the log of a server (`live`). `parts` is what the events of a transaction say, `definitions` what a
//! log does not say of its tables; `show` prints transactions with their rows, `undo` writes the statements that take them back.
//! `touched` says which tables nothing between two places of a server's log can have changed.
//!
//! Invariants: a segment is durable before it counts, and nothing is ever written over; bytes that are missing are noticed by
//! their offsets and named, never passed over; killed at any moment, the next run goes on behind the last segment.

mod archiver;
mod check;
mod definitions;
mod kept;
pub mod layout;
mod live;
mod log;
mod of_server;
mod parts;
mod prune;
mod reading;
mod route;
mod search;
mod segment;
pub mod show;
mod source;
mod survey;
mod timeline;
mod touched;
pub mod undo;
mod walk;

pub use archiver::standing;
pub use archiver::{Options, Start, Summary, archive, replica_number};
pub use check::CheckedLog;
pub use definitions::{Definition, Definitions, Need, Offer, may_change};
pub use kept::{Kept, KeptFile, KeptTimeline};
pub use live::{First, Live};
pub use log::Log;
pub use of_server::of_server;
pub use prune::PrunedLog;
pub use reading::FileBytes;
pub use route::{Leg, NoRoute, Route, Taken, Target, shown_time};
pub use search::{Bound, Changes, Found, Kind as FoundKind, Search, Searched, search};
pub use segment::{Head, Segment};
pub use survey::{Met, What};
pub use timeline::{Follows, Timeline};
pub use touched::{Program, Since, Touched};
pub use walk::Place;

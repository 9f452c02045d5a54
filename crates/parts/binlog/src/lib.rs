//! The binary log of MySQL (5.5 and later) and MariaDB: what stands in its files and streams.
//!
//! `event` finds events and checks their sums, `description` is what the first event of a file says about the others,
//! `body` reads what single events hold, `gtid` is about GTIDs and sets of them, `transaction` finds where transactions
//! begin and end, `value` reads the values in row events, `file` walks a file from front to back, `made` makes the few events that a source adds to its stream.
//!
//! Invariants: no length is trusted; an event of an unknown kind is a header and bytes, never an error, because
//! archiving needs no more than that; nothing here changes a byte.
//!
//! Formats: MySQL source documentation, "Binary log event"; MariaDB documentation, "Replication Protocol".

pub mod body;
pub mod description;
mod error;
pub mod event;
mod fields;
pub mod file;
pub mod gtid;
pub mod kind;
pub mod made;
pub mod transaction;
pub mod value;

pub use description::{Checksum, Description};
pub use error::{Error, Result};
pub use event::{Event, HEADER, Header, MAGIC};
pub use transaction::{Boundaries, Mark, Transaction};

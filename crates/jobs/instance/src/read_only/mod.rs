//! A temporary server that reads a data directory which no server uses: for its definitions, and for the rows of
//! tables whose files penstock does not read itself.
//!
//! It has a data directory of its own in a scratch directory (`directory`): InnoDB's files are links to the
//! originals, which a server with `innodb_read_only` opens for reading only; everything else is copied. `original`
//! is the data directory that is read, `process` the server. Invariants: nothing in the original is ever opened for
//! writing; as long as it is read, it is locked, so that no server starts on it; the temporary server listens on a
//! socket in a directory of its own account, and ends when its value is dropped.
//!
//! What it does not do: recover. A data directory whose server was killed, or that was copied from a running one, is
//! refused, because a server that recovers writes; `recovered` makes a copy and has it recovered.

mod binary_logs;
mod directory;
mod original;
mod process;
mod recovered;

pub use binary_logs::has_open_binary_log;
pub use original::{END_PREPARED, Original, RECOVER, lock_unused};
pub use process::{Options, ReadOnlyServer};
pub use recovered::{Recovered, recover};

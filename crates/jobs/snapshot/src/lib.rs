//! Snapshots of a server's files: taken (`take`), stored in any place or kept, listed and cleaned (`kept`), restored
//! and proven (`restore`).
//!
//! What is taken how: `reflink` clones files one by one and `redo` joins them; `volume` has what file systems and volume
//! managers do; `server_copy` what servers and their tools do; `stopped` reads the files of a server that does not run.
//! `locks` are those of the server, `files` says which files belong to a snapshot, `record` and `made` are what `clean`
//! finds again, and `unrecorded` what it finds without them. `send` and `receive` move files in the `piece`s that the `manifest` lists; `check` reads what is `stored`.
//!
//! Invariants: the data directory of a server is never written to, and its files are never opened for writing; a lock is
//! held for no longer than the snapshot needs, and waited for a bounded time; a snapshot is removed on every way out.
//! What this does not do: read rows.

mod check;
mod clone;
mod files;
mod kept;
mod local;
mod locks;
mod made;
pub mod manifest;
mod options;
mod piece;
mod place;
mod program;
mod prove;
mod receive;
mod record;
mod redo;
mod reflink;
mod restore;
mod room;
mod send;
mod server_copy;
mod space;
mod stopped;
mod stored;
mod take;
mod unrecorded;
mod volume;

pub use check::{Checked, check};
pub use kept::{CleanOptions, Cleaned, Listed, State, clean, list};
pub use manifest::Manifest;
pub use options::{Method, Prove, RestoreOptions, Server, TakeOptions, WhenProven};
pub use place::{holds_one, read};
pub use prove::Proof;
pub use record::Content;
pub use restore::{Outcome, restore};
pub use take::{Kept, Taken, Used, take, with_snapshot};
pub use volume::Volume;

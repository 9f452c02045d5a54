//! A repository: backups of many servers in one place, under retention.
//!
//! Each backup is an ordinary archive, or an ordinary snapshot of a server's files, in a place of its own (`layout`),
//! which every verb that takes one reads without the repository. A backup is listed when its entry is in the catalog (`catalog`),
//! and the entry is written after the archive is whole; the catalog can be made again from the archives (`recover`).
//! What is in use is locked (`lock`). `backup` adds one, which may refer to files of earlier ones (`incremental`), `prune` removes what the policy (`retention`) does
//! not keep, `check` reads backups through,
//! `drill` restores one for proof (`question` asks it, `proof` is what is written down).
//!
//! Invariant: killed at any moment, each of these leaves only backups that are whole and listed, and
//! leftovers that are neither listed nor mistaken for a backup.

mod accounts;
mod backup;
mod binlogs;
mod carry_on;
mod catalog;
mod check;
mod drill;
mod incremental;
mod layout;
mod listing;
mod lock;
mod named_columns;
mod obstacles;
mod point_in_time;
mod proof;
mod prune;
mod question;
mod recover;
mod repo;
mod retention;
mod selection;
mod small_files;
mod target;
mod window;

pub use backup::{Backup, How, Made, Planned, backup};
pub use binlogs::archive_binlog;
pub use carry_on::carry_on;
pub use catalog::{BackupKind, Entry};
pub use check::{Checked, Intact, check};
pub use drill::{
    Applied, Behind, Drilled, Log as DrillLog, Options as DrillOptions, Restore, Restored,
    candidates, drill, drill_of_damaged_log, failure as drill_failure, plan_behind,
};
pub use incremental::Incremental;
pub use layout::{BackupId, ServerName};
pub use listing::{Listing, Unlisted};
pub use lock::{Lock, Purpose};
pub use named_columns::definitions;
pub use point_in_time::{Plan, plan};
pub use proof::Proof;
pub use prune::{Pruned, Removal, prune};
pub use repo::Repository;
pub use retention::{Keep, Policies, Policy};
pub use selection::Selection;
pub use target::{At, check_target};
pub use window::Window;

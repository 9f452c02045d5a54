//! Loads an archive, or a dump of another tool, into a server, and verifies that it arrived complete.
//!
//! `from_archive` loads an archive, `other_dumps` what other tools wrote; either may load into a managed
//! instance (`managed_instance`). Steps of an archive's load: `from_archive::precheck` (is the archive
//! intact, can the target take it), `script` (which statements may run), `from_archive::prepare` (schemas
//! and tables), `tablespace` (tables that are imported as tablespaces), `sql` (all other rows),
//! `from_archive::chosen` (deletes rows that are not wanted), `from_archive::objects` (what is created after
//! the rows). The `journal` on the target records what is loaded, so that an interrupted load can be resumed; `completion` records on this host that nothing was
//! left to do, for a load that is killed while its journal is dropped; `previous_load` reads both.
//! Invariant: until all prechecks have passed, nothing on the target is touched; nothing on it is ever
//! dropped or replaced that this load did not create, but what the user agreed to (`from_archive::existing`).

mod completion;
mod earlier_accounts;
mod from_archive;
mod journal;
mod left_out;
mod load_report;
mod managed_instance;
mod options;
mod other_dumps;
mod previous_load;
mod rename;
mod repair;
mod script;
mod sql;
mod summary;
pub mod tablespace;
mod target;

pub use from_archive::{LoadPlan, Preview, SchemaSelection, Treated, Wanted, lost, preview, work};
pub use load_report::{AccountsMade, Analyzed, BatchSize, Chosen, HistogramsMade};
pub use options::{
    DeferIndexes, Definers, Existing, Gtids, Only, Options, Parts, Verification, WhenLoaded,
};
pub use other_dumps::is_archive;
pub use sql::{bulk_insert, schedule};
pub use summary::Summary;
pub use target::check_writable;

use base::{Result, failpoint};
use from_archive::{attempt, create_table, raw_bytes};
use run::Run;
use sql::chunk_stream;
use tablespace::MethodPlan;
use target::{Target, refused};

/// Fails if the archive could not be loaded into the target, as far as that shows before anything is changed.
pub fn check(run: &Run, options: &Options) -> Result<()> {
    from_archive::check(run, options)
}

/// Loads an archive, or what another tool wrote.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let done = if other_dumps::is_archive(&options.from)? {
        from_archive::run(run, options)
    } else {
        other_dumps::run(run, options)
    };
    failpoint::reached("the load is over");
    done
}

//! What a dump would do (`--dry-run`): every look that it takes at the source before it locks or writes anything. Definitions are
//! read as by the dump, into memory, so that what cannot be dumped shows.

use super::{
    Consistency, NO_SNAPSHOT, Options, accounts, amounts, definitions, look_at, no_snapshot,
};
use crate::snapshot::Way;
use base::Result;
use rows::new_archive;
use run::Run;
use std::path::Path;
use store::Memory;

/// What a dump would do.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The server, in words.
    pub source: String,
    /// Where the archive would be.
    pub to: String,
    /// How the tables would be of one moment.
    pub consistency: String,
    /// The GRANT statements that the global read lock would take, which is the best way, where the account lacks them.
    pub for_the_lock: Vec<String>,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Whether definitions alone would be dumped.
    pub without_rows: bool,
    /// What is not wanted, besides the rows of all tables, in words.
    pub not_chosen: Vec<String>,
    /// Rows, as the server estimates them.
    pub rows: u64,
    /// Bytes of tables, and of their other indexes, as the server estimates them.
    pub data_bytes: u64,
    /// Bytes of the indexes, which no archive has.
    pub index_bytes: u64,
    /// The largest tables, with the estimates of their bytes.
    pub largest: Vec<(String, u64)>,
    /// Bytes that are free where the archive would be, if that is a directory of this host.
    pub free: Option<u64>,
    /// Accounts that would be in it, if any would.
    pub accounts: Option<u64>,
    /// What may be missing, because the account does not see it.
    pub not_seen: Vec<String>,
    /// What would not be as it should be.
    pub exceptions: Vec<String>,
    /// How much there is to do, for a forecast.
    pub work: forecast::Work,
}

/// Tables that are named with their sizes.
const LARGEST: usize = 5;

/// Looks.
pub fn preview(run: &Run, options: &Options) -> Result<Preview> {
    new_archive::check(&options.to)?;
    let mut looked = look_at(run, options)?;
    let (id, control) = (&looked.source.id, &mut looked.source.control);
    let memory = Memory::new("definitions");
    let written = definitions::write(run, control, id, &looked.catalog, &memory, options)?;
    let mut exceptions = Vec::new();
    if options.consistency == Consistency::None {
        exceptions.push(NO_SNAPSHOT.to_owned());
    }
    exceptions.extend(written.exceptions.iter().cloned());
    let moving = written.tables.iter().filter(|t| !t.table.transactional);
    exceptions.extend(moving.map(|t| no_snapshot(&t.plan.name, &t.table.engine)));
    let accounts = match looked.accounts {
        Some(choice) => {
            let dumped = accounts::Dumped::read(control, id, choice)?;
            dumped.add_exceptions(control, id, &mut exceptions)?;
            Some(dumped.count())
        }
        None => None,
    };
    let readers = match looked.ways.first() {
        Some(Way::Transaction) => 1,
        _ => options.threads,
    };
    let work = amounts::work(options, id, &looked.catalog, &written.tables, readers);
    let tables = || written.tables.iter().map(|t| &t.table);
    let mut largest: Vec<(String, u64)> = written
        .tables
        .iter()
        .map(|t| (t.plan.name.clone(), t.table.data_bytes))
        .collect();
    largest.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    largest.truncate(LARGEST);
    Ok(Preview {
        source: options.source_name(id),
        to: options.to.absolute(),
        for_the_lock: looked.for_the_lock,
        consistency: looked.ways.first().map(|w| w.words(id)).unwrap_or_default(),
        schemas: looked.catalog.schemas.len() as u64,
        tables: written.count,
        views: written.views,
        without_rows: !options.rows,
        not_chosen: options.left_out(),
        rows: tables().map(|t| t.rows_estimate).sum(),
        data_bytes: tables().map(|t| t.data_bytes).sum(),
        index_bytes: tables().map(|t| t.index_bytes).sum(),
        largest,
        free: options.to.path().and_then(free),
        accounts,
        not_seen: looked.not_seen,
        exceptions,
        work,
    })
}

/// Bytes that are free where this directory is, or would be.
fn free(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|p| p.exists())?;
    let s = rustix::fs::statvfs(there).ok()?;
    Some(s.f_bavail.saturating_mul(s.f_frsize))
}

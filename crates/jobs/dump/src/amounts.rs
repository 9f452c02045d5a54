//! How much a dump has to do, for a forecast of its time: what the catalog estimates.

use crate::tables::TableState;
use crate::{Options, SourceFiles};
use forecast::{Amount, Job, Work};
use run::host;
use server::catalog::Table;
use server::{Catalog, Identity};
use std::sync::Arc;

/// The work of a dump of these tables by so many readers.
pub fn work(
    options: &Options,
    id: &Identity,
    catalog: &Catalog,
    tables: &[Arc<TableState>],
    readers: usize,
) -> Work {
    let tables: Vec<_> = tables.iter().filter(|t| t.taken().is_none()).collect();
    let series = || tables.iter().flat_map(|t| &t.series);
    // Without a key, or while a table is too small to be cut, one worker reads all of it.
    let alone = series().filter(|s| s.plan.key.is_none() || s.data_bytes < options.chunk_bytes);
    let programs = catalog.schemas.iter().map(|s| {
        let views = s.views.len();
        views + s.routines.len() + s.events.len()
    });
    Work {
        job: Job::Dump,
        flavour: id.flavour.to_string().to_ascii_lowercase(),
        server: match &options.files {
            Some(files) if files.has_own_server() => forecast::own_server(),
            _ => forecast::server(&options.source.endpoint, id),
        },
        place: forecast::place(&options.to, options.to.keys().can_encrypt()),
        how: how(options),
        workers: readers as u64,
        cores: host::cores() as u64,
        tables: tables.len() as u64,
        objects: programs.sum::<usize>() as u64,
        rows: Amount {
            tables: tables.len() as u64,
            rows: tables.iter().map(|t| t.table.rows_estimate).sum(),
            values: tables.iter().map(|t| values(&t.table)).sum(),
            bytes: tables.iter().map(|t| t.table.data_bytes).sum(),
        },
        alone: alone.map(|s| s.data_bytes).max().unwrap_or(0),
        starts_server: (options.files.as_ref()).is_some_and(SourceFiles::has_own_server),
        ..Work::default()
    }
}

fn values(table: &Table) -> u64 {
    table.rows_estimate * table.data_columns().count() as u64
}

/// What decides the speed besides amounts.
fn how(options: &Options) -> String {
    let compression = options.compression.to_string();
    match &options.files {
        None => compression,
        Some(files) if files.read_from == files.datadir => format!("{compression}, from files"),
        Some(_) => format!("{compression}, from files of a copy"),
    }
}

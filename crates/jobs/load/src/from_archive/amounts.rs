//! How much a load of an archive has to do, for a forecast of its time: what the archive says, and how its tables are
//! imported.

use super::{LoadPlan, raw_bytes};
use crate::options::{DeferIndexes, Options};
use crate::tablespace::{self, ImportMode, MethodPlan};
use crate::target::Target;
use archive::open::Table;
use forecast::{Amount, Job, Work};
use run::host;
use server::quote;

/// The work of a load.
pub fn work(t: &Target<'_>, plan: &LoadPlan, methods: &MethodPlan) -> Work {
    let options = t.options;
    let built = |table: &Table| {
        let name = quote::qualified(&table.schema, &table.name);
        methods.is_physical(&name)
    };
    let own = options.managed.is_some();
    let log = t.id.log_bin && !options.skip_binlog;
    Work {
        flavour: t.id.flavour.to_string().to_ascii_lowercase(),
        server: match own {
            true => forecast::own_server(),
            false => forecast::server(&options.target.endpoint, &t.id),
        },
        how: how(options, log),
        offline: options.is_offline() && methods.any(),
        ..amounts(options, plan, built)
    }
}

/// The same for a server that is made for it, as far as that is seen before there is one.
pub fn of_new_server(options: &Options, plan: &LoadPlan) -> Work {
    let sql = options.import_mode == ImportMode::Sql || !plan.archive.has_manifest();
    let work = amounts(options, plan, |t| !sql && tablespace::is_worth_it(t));
    Work {
        flavour: plan
            .source
            .as_ref()
            .map_or_else(|| "mysql".to_owned(), |id| id.flavour.to_string())
            .to_ascii_lowercase(),
        server: forecast::own_server(),
        how: how(options, false),
        offline: work.tablespaces.tables > 0,
        ..work
    }
}

fn amounts(options: &Options, plan: &LoadPlan, built: impl Fn(&Table) -> bool) -> Work {
    let tables = || plan.tables();
    let with_rows = || tables().filter(|t| !t.chunks.is_empty());
    let chunks = || tables().flat_map(|t| &t.chunks);
    Work {
        job: Job::Load,
        place: forecast::place(&options.from, options.from.keys().can_open()),
        workers: options.threads as u64,
        cores: host::cores() as u64,
        tables: tables().count() as u64,
        objects: plan.views() + tables().filter(|t| t.triggers.is_some()).count() as u64,
        rows: amount(with_rows().filter(|t| !built(t))),
        tablespaces: amount(with_rows().filter(|t| built(t))),
        stored: chunks().map(|c| c.stored_bytes).sum(),
        starts_server: options.managed.is_some(),
        compares: options.verify.compares_sql(),
        ..Work::default()
    }
}

fn amount<'t>(tables: impl Iterator<Item = &'t Table>) -> Amount {
    tables.fold(Amount::default(), |sum, t| Amount {
        tables: sum.tables + 1,
        rows: sum.rows + t.rows.unwrap_or(0),
        values: sum.values + t.rows.unwrap_or(0) * t.meta.options.columns.len() as u64,
        bytes: sum.bytes + raw_bytes(t),
    })
}

/// What decides the speed of SQL besides amounts.
fn how(options: &Options, log: bool) -> String {
    let settings = match options.managed {
        Some(_) => "a server of its own".to_owned(),
        None => format!("tune {}", options.tune.level.name()),
    };
    let log = match log {
        true => ", binary log",
        false => "",
    };
    let indexes = match options.defer_indexes {
        DeferIndexes::Auto => "",
        DeferIndexes::All => ", all indexes deferred",
        DeferIndexes::Off => ", no index deferred",
    };
    format!("{settings}{log}{indexes}")
}

//! Decides which tables are imported as tablespaces. What is not known to work is loaded by SQL, and the
//! reason is kept for the summary.

use super::datadir::{Datadir, TablePaths};
use super::{ImportMode, partitions, template};
use crate::create_table;
use crate::journal::{self, Journal};
use crate::{LoadPlan, Target, raw_bytes};
use archive::open::Table;
use base::Result;
use instance::stopped;
use server::{Identity, ddl, quote};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Rows of a table, in bytes, from which on a physical import is faster: every tablespace costs the server
/// a few synced writes, whatever its size.
const WORTH_IT: u64 = 4 << 20;

/// Server series that the tests build tablespaces for.
const SERIES: &str = "MySQL 9.7, MariaDB 10.11 and 11.8";

/// How each table is imported.
#[derive(Debug, Default)]
pub struct MethodPlan {
    datadir: Option<Datadir>,
    lower_case: bool,
    /// Tables that are imported as tablespaces, by quoted, qualified name, with the indexes that the server
    /// builds.
    physical: HashMap<String, Vec<String>>,
    /// Next values of AUTO_INCREMENT columns, by their definitions.
    auto_increments: HashMap<String, u64>,
    /// Why tables are loaded by SQL.
    reasons: BTreeMap<String, BTreeSet<String>>,
    /// Tables that the interrupted load has imported as tablespaces.
    imported_before: BTreeSet<String>,
}

impl MethodPlan {
    /// Decides for every table of the plan.
    pub fn choose(
        t: &mut Target<'_>,
        plan: &LoadPlan,
        journal: Option<&Journal>,
    ) -> Result<MethodPlan> {
        let mut methods = MethodPlan {
            lower_case: t.id.lower_case_table_names != 0,
            ..MethodPlan::default()
        };
        // Looked for once, when the first table needs it.
        let mut datadir = None;
        for table in plan.tables() {
            let name = quote::qualified(&table.schema, &table.name);
            if journal.is_some_and(|j| j.is_unverified(&name)) {
                methods.imported_before.insert(name);
                continue;
            }
            // A table without rows is complete as it was created.
            if t.options.import_mode == ImportMode::Sql || table.rows.unwrap_or(0) == 0 {
                continue;
            }
            if plan.refills(table) {
                methods.use_sql(&name, "they were there, and keep their definitions");
                continue;
            }
            if plan.wanted(table).is_some() {
                methods.use_sql(
                    &name,
                    "only some of their rows are wanted (--where, --partitions)",
                );
                continue;
            }
            if let Some(why) = too_small(t, table) {
                methods.use_sql(&name, why);
                continue;
            }
            if journal.is_some_and(|j| table.chunks.iter().any(|c| j.has(&c.file))) {
                methods.use_sql(&name, "the interrupted load has begun to load them by SQL");
                continue;
            }
            let mut why = methods.why_table_unsupported(t, plan, table)?;
            if why.is_none() {
                let datadir = datadir.get_or_insert_with(|| match why_unsupported(t, plan) {
                    Some(why) => Err(why),
                    None => Datadir::find(t),
                });
                let home = (journal::home(plan), journal::TABLE);
                why = match datadir {
                    Err(why) => Some(why.clone()),
                    Ok(datadir) => [(table.schema.as_str(), table.name.as_str()), home]
                        .iter()
                        .any(|(s, t)| datadir.paths(methods.lower_case, s, t).is_none())
                        .then(|| {
                            "their names, or that of the first schema, have capitals, which this server folds to lower case"
                                .to_owned()
                        }),
                };
            }
            match why {
                Some(why) => methods.use_sql(&name, &why),
                None => {
                    methods.physical.insert(name, Vec::new());
                }
            }
        }
        methods.datadir = datadir.and_then(std::result::Result::ok);
        Ok(methods)
    }

    /// Why this table cannot be imported as a tablespace, as far as the archive shows.
    fn why_table_unsupported(
        &mut self,
        t: &Target<'_>,
        plan: &LoadPlan,
        table: &Table,
    ) -> Result<Option<String>> {
        let no = |why: &str| Ok(Some(why.to_owned()));
        if table.chunks.iter().any(|c| c.raw_bytes.is_none()) || !table.meta.is_default_dialect() {
            return no("their rows have an unsupported format");
        }
        let known = |f: &String| matches!(f.as_str(), "FROM_BASE64" | "UNHEX");
        if !table.meta.options.decode_columns.values().all(known) {
            return no("they have columns of an unsupported type");
        }
        let Some(create) = create_table::definition(t, plan, table)? else {
            return no("the archive has no definition of them");
        };
        if let Some(why) = ddl::no_file(&create) {
            return no(why);
        }
        match (
            ddl::has_partitions(&create),
            partitions::are_separate(table),
        ) {
            (true, false) => {
                return no("they have partitions, and the archive does not keep their rows apart");
            }
            (false, true) => return no("they had partitions, and have none on the target"),
            _ => {}
        }
        let source = plan.archive.manifest().map(|m| m.source.flavour.as_str());
        if ddl::has_partitions_by_key(&create) && source != Some(&t.id.flavour.to_string()) {
            return no(
                "they have partitions by KEY, and come from the other server, which may put rows into other partitions",
            );
        }
        if let Some(next) = ddl::auto_increment(&create) {
            let name = quote::qualified(&table.schema, &table.name);
            self.auto_increments.insert(name, next);
        }
        Ok(None)
    }

    /// The next value of a table's AUTO_INCREMENT column, if it has one.
    pub fn next_auto_increment(&self, name: &str) -> Option<u64> {
        self.auto_increments.get(name).copied()
    }

    /// Whether any table is imported as a tablespace.
    pub fn any(&self) -> bool {
        !self.physical.is_empty() || !self.imported_before.is_empty()
    }

    /// Whether a table is imported as a tablespace.
    pub fn is_physical(&self, name: &str) -> bool {
        self.physical.contains_key(name)
    }

    /// The indexes of a table imported as a tablespace that the server builds, besides those that only a
    /// server can build.
    pub fn keys_of_server(&self, name: &str) -> Option<&[String]> {
        self.physical.get(name).map(Vec::as_slice)
    }

    /// Leaves an index to the server; false if that was done already, or if the server cannot build it
    /// afterwards.
    pub fn leave_to_server(&mut self, name: &str, index: &str) -> bool {
        match self.physical.get_mut(name) {
            Some(indexes) if index != "PRIMARY" && !indexes.iter().any(|i| i == index) => {
                indexes.push(index.to_owned());
                true
            }
            _ => false,
        }
    }

    /// A table is loaded by SQL, for this reason.
    pub fn use_sql(&mut self, name: &str, reason: &str) {
        self.physical.remove(name);
        self.imported_before.remove(name);
        let tables = self.reasons.entry(reason.to_owned()).or_default();
        tables.insert(name.to_owned());
    }

    /// The tables that are imported as tablespaces, the biggest first.
    pub fn physical_tables<'p>(&self, plan: &'p LoadPlan) -> Vec<&'p Table> {
        let mut list: Vec<&Table> = plan
            .tables()
            .filter(|t| self.is_physical(&quote::qualified(&t.schema, &t.name)))
            .collect();
        list.sort_by_key(|t| std::cmp::Reverse(raw_bytes(t)));
        list
    }

    /// The names of those, and of the tables that the resumed load has imported so before.
    pub fn imported_tables(&self, plan: &LoadPlan) -> Vec<String> {
        plan.tables()
            .map(|t| quote::qualified(&t.schema, &t.name))
            .filter(|name| self.is_physical(name) || self.imported_before.contains(name))
            .collect()
    }

    /// Why tables are loaded by SQL.
    pub fn reasons(&self) -> Vec<(String, Vec<String>)> {
        self.reasons
            .iter()
            .map(|(why, tables)| (why.clone(), tables.iter().cloned().collect()))
            .collect()
    }

    /// Whether the server folds names to lower case.
    pub fn lower_case(&self) -> bool {
        self.lower_case
    }

    /// The server's data directory.
    pub fn datadir(&self) -> Option<&Datadir> {
        self.datadir.as_ref()
    }

    /// Where the server has a table.
    pub fn paths(&self, schema: &str, table: &str) -> Option<TablePaths> {
        self.datadir.as_ref()?.paths(self.lower_case, schema, table)
    }
}

/// Whether a physical import of a table is faster.
pub fn is_worth_it(table: &Table) -> bool {
    raw_bytes(table) / partitions::count(table).max(1) >= WORTH_IT
}

fn too_small(t: &Target<'_>, table: &Table) -> Option<&'static str> {
    (t.options.import_mode == ImportMode::Auto && !is_worth_it(table)).then_some(
        if partitions::are_separate(table) {
            "partitions below 4 MiB: loaded by SQL (faster)"
        } else {
            "below 4 MiB: loaded by SQL (faster)"
        },
    )
}

/// Why no table of this server can be imported as a tablespace, as far as the server itself shows.
fn why_unsupported(t: &mut Target<'_>, plan: &LoadPlan) -> Option<String> {
    let id = &t.id;
    if !plan.archive.has_manifest() {
        return Some("the archive has no digests to verify them with".to_owned());
    }
    if !is_tested(id) {
        return Some(format!(
            "tablespaces are built for {SERIES} only, and this is {id}"
        ));
    }
    if id.innodb_page_size != 16_384 {
        return Some(format!(
            "innodb_page_size is {} (only 16384 is supported)",
            id.innodb_page_size
        ));
    }
    if id.log_bin && !t.options.skip_binlog {
        return Some(
            "the server writes a binary log, which would lack their rows (--skip-binlog keeps the load out of it)"
                .to_owned(),
        );
    }
    let on = |name: &str| {
        id.variable(name)
            .is_some_and(|v| matches!(v.to_ascii_uppercase().as_str(), "ON" | "1"))
    };
    if on("wsrep_on") {
        return Some("the other nodes of the cluster would lack their rows".to_owned());
    }
    if id.has_variable("innodb_file_per_table") && !on("innodb_file_per_table") {
        return Some("the server keeps all tables in one file (innodb_file_per_table)".to_owned());
    }
    if t.options.is_offline() {
        let (Some(_), Some(state)) = (&t.options.server_command, &t.options.tune.state) else {
            return Some("--server-command is required".to_owned());
        };
        if let Err(why) = stopped::possible(Path::new(&id.datadir), state) {
            return Some(why);
        }
    }
    if t.run.limiter.rate().is_some() {
        return Some(
            "--max-rate limits what is sent to the server, and tablespaces are not sent".to_owned(),
        );
    }
    let redo = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'";
    if t.id.is_mysql() && t.conn.fetch(redo).is_ok_and(|rows| is_off(&rows)) {
        return Some(
            "the server's redo log is disabled, so a crash during an import would destroy the whole server"
                .to_owned(),
        );
    }
    if t.id.is_mariadb()
        && !t.only_looks
        && let Err(e) = template::checkpoint(&mut t.conn)
    {
        return Some(format!(
            "the server has to write a checkpoint first, or a crash soon afterwards would lose their changes: {} (this needs innodb_log_checkpoint_now and the privilege SUPER)",
            e.what
        ));
    }
    None
}

/// Whether a status variable is OFF.
fn is_off(rows: &[Vec<Option<Vec<u8>>>]) -> bool {
    let cell = rows.first().and_then(|r| r.get(1)?.as_deref());
    cell == Some(b"OFF")
}

/// Whether the tests run against this series.
fn is_tested(id: &Identity) -> bool {
    let v = &id.version;
    if id.is_mysql() {
        (v.major, v.minor) == (9, 7)
    } else {
        id.is_mariadb() && matches!((v.major, v.minor), (10, 11) | (11, 8))
    }
}

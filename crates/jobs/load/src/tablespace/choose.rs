//! Which tables come as files. What is not known to work comes as rows, and the
//! reason is kept for the summary.

use super::super::{LoadPlan, Target, raw_bytes};
use super::datadir::{Datadir, TablePaths};
use super::{ImportMode, partitions, template};
use crate::journal::{self, Journal};
use crate::prepare;
use archive::open::Table;
use base::Result;
use instance::stopped;
use server::{Identity, ddl, quote};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Rows of a table, in bytes, from which on it is quicker as a file: every file costs the
/// server a few synced writes, whatever its size.
const WORTH_IT: u64 = 4 << 20;

/// Server series that the tests build files for.
const SERIES: &str = "MySQL 9.7, MariaDB 10.11 and 11.8";

/// The road of each table.
#[derive(Debug, Default)]
pub struct MethodPlan {
    site: Option<Datadir>,
    lower_case: bool,
    /// By quoted, qualified name: keys that the server adds.
    files: HashMap<String, Vec<String>>,
    /// Next numbers of AUTO_INCREMENT columns, by their definitions.
    numbers: HashMap<String, u64>,
    why: BTreeMap<String, BTreeSet<String>>,
    /// Tables that the interrupted load has taken as files.
    before: BTreeSet<String>,
}

impl MethodPlan {
    /// Chooses for every table of the plan.
    pub fn choose(
        t: &mut Target<'_>,
        plan: &LoadPlan,
        journal: Option<&Journal>,
    ) -> Result<MethodPlan> {
        let mut roads = MethodPlan {
            lower_case: t.id.lower_case_table_names != 0,
            ..MethodPlan::default()
        };
        let mut site = None;
        for table in plan.tables() {
            let name = quote::qualified(&table.schema, &table.name);
            if journal.is_some_and(|j| j.is_unproven(&name)) {
                roads.before.insert(name);
                continue;
            }
            // A table without rows is complete as it was created.
            if t.options.import_mode == ImportMode::Sql || table.rows.unwrap_or(0) == 0 {
                continue;
            }
            if let Some(why) = too_small(t, table) {
                roads.by_rows(&name, why);
                continue;
            }
            if journal.is_some_and(|j| table.chunks.iter().any(|c| j.has(&c.file))) {
                roads.by_rows(&name, "the interrupted load has begun with their rows");
                continue;
            }
            let mut why = roads.unfit(t, plan, table)?;
            if why.is_none() {
                let site = site.get_or_insert_with(|| match barred(t, plan) {
                    Some(why) => Err(why),
                    None => Datadir::find(t),
                });
                let home = (journal::home(plan), journal::TABLE);
                why = match site {
                    Err(why) => Some(why.clone()),
                    Ok(site) => [(table.schema.as_str(), table.name.as_str()), home]
                        .iter()
                        .any(|(s, t)| site.place(roads.lower_case, s, t).is_none())
                        .then(|| {
                            "they, or the first schema, have capitals in their names, which this server makes small ones"
                                .to_owned()
                        }),
                };
            }
            match why {
                Some(why) => roads.by_rows(&name, &why),
                None => {
                    roads.files.insert(name, Vec::new());
                }
            }
        }
        roads.site = site.and_then(std::result::Result::ok);
        Ok(roads)
    }

    /// Why this table cannot come as a file, as far as the archive tells.
    fn unfit(&mut self, t: &Target<'_>, plan: &LoadPlan, table: &Table) -> Result<Option<String>> {
        let no = |why: &str| Ok(Some(why.to_owned()));
        if table.chunks.iter().any(|c| c.raw_bytes.is_none()) || !table.meta.is_default_dialect() {
            return no("their rows are written in another way");
        }
        let known = |f: &String| matches!(f.as_str(), "FROM_BASE64" | "UNHEX");
        if !table.meta.options.decode_columns.values().all(known) {
            return no("they have columns of a type that is not built");
        }
        let Some(create) = prepare::definition(t, plan, table)? else {
            return no("the archive has no definition of them");
        };
        if let Some(why) = ddl::no_file(&create) {
            return no(why);
        }
        match (ddl::has_partitions(&create), partitions::has(table)) {
            (true, false) => {
                return no("they have partitions, and their rows are not apart in the archive");
            }
            (false, true) => return no("they had partitions, and are to have none"),
            _ => {}
        }
        let source = plan.archive.manifest().map(|m| m.source.flavour.as_str());
        if ddl::has_partitions_by_key(&create) && source != Some(&t.id.flavour.to_string()) {
            return no(
                "they have partitions by KEY, and come from the other server, which may put rows into others",
            );
        }
        if let Some(next) = ddl::auto_increment(&create) {
            let name = quote::qualified(&table.schema, &table.name);
            self.numbers.insert(name, next);
        }
        Ok(None)
    }

    /// The next number of a table's AUTO_INCREMENT column, if it has one.
    pub fn next_number(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    /// Whether anything comes as a file.
    pub fn any(&self) -> bool {
        !self.files.is_empty() || !self.before.is_empty()
    }

    /// Whether a table comes as a file.
    pub fn is_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The keys that the server adds to a table that comes as a file, besides those that only a server builds.
    pub fn keys_of_server(&self, name: &str) -> Option<&[String]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Leaves a key to the server; false if that was done already.
    pub fn leave_key(&mut self, name: &str, key: &str) -> bool {
        match self.files.get_mut(name) {
            Some(keys) if key != "PRIMARY" && !keys.iter().any(|k| k == key) => {
                keys.push(key.to_owned());
                true
            }
            _ => false,
        }
    }

    /// A table comes as rows, and why.
    pub fn by_rows(&mut self, name: &str, why: &str) {
        self.files.remove(name);
        self.before.remove(name);
        let tables = self.why.entry(why.to_owned()).or_default();
        tables.insert(name.to_owned());
    }

    /// The tables that come as files, the biggest first.
    pub fn files<'p>(&self, plan: &'p LoadPlan) -> Vec<&'p Table> {
        let mut list: Vec<&Table> = plan
            .tables()
            .filter(|t| self.is_file(&quote::qualified(&t.schema, &t.name)))
            .collect();
        list.sort_by_key(|t| std::cmp::Reverse(raw_bytes(t)));
        list
    }

    /// Those that did, in this load or the one that it goes on with.
    pub fn taken(&self, plan: &LoadPlan) -> Vec<String> {
        plan.tables()
            .map(|t| quote::qualified(&t.schema, &t.name))
            .filter(|name| self.is_file(name) || self.before.contains(name))
            .collect()
    }

    /// Why tables came as rows.
    pub fn reasons(&self) -> Vec<(String, Vec<String>)> {
        self.why
            .iter()
            .map(|(why, tables)| (why.clone(), tables.iter().cloned().collect()))
            .collect()
    }

    /// Whether the server folds names to lower case.
    pub fn lower_case(&self) -> bool {
        self.lower_case
    }

    /// The server's data folder.
    pub fn site(&self) -> Option<&Datadir> {
        self.site.as_ref()
    }

    /// Where the server has a table.
    pub fn place(&self, schema: &str, table: &str) -> Option<TablePaths> {
        self.site.as_ref()?.place(self.lower_case, schema, table)
    }
}

fn too_small(t: &Target<'_>, table: &Table) -> Option<&'static str> {
    let files = partitions::count(table).max(1);
    (t.options.import_mode == ImportMode::Auto && raw_bytes(table) / files < WORTH_IT).then_some(
        if partitions::has(table) {
            "their partitions are small, and quicker so"
        } else {
            "they are small, and quicker so"
        },
    )
}

/// Why no table of this server can come as a file, as far as the server itself tells.
fn barred(t: &mut Target<'_>, plan: &LoadPlan) -> Option<String> {
    let id = &t.id;
    if !plan.archive.has_manifest() {
        return Some("the archive has no digests to prove them with".to_owned());
    }
    if !tested(id) {
        return Some(format!(
            "files are built for {SERIES} only, and this is {id}"
        ));
    }
    if id.innodb_page_size != 16_384 {
        return Some(format!("its pages are {} bytes", id.innodb_page_size));
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
            return Some("nobody said how the server is stopped and started".to_owned());
        };
        if let Err(why) = stopped::possible(Path::new(&id.datadir), state) {
            return Some(why);
        }
    }
    if t.run.limiter.rate().is_some() {
        return Some(
            "--max-rate counts what is sent to the server, and files are not sent".to_owned(),
        );
    }
    let redo = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'";
    if t.id.is_mysql() && t.conn.fetch(redo).is_ok_and(|rows| is_off(&rows)) {
        return Some(
            "the server's redo log is off, so a crash during an import would cost the whole server"
                .to_owned(),
        );
    }
    if t.id.is_mariadb()
        && let Err(e) = template::checkpoint(&mut t.conn)
    {
        return Some(format!(
            "the server has to write a checkpoint first, or a crash soon afterwards would cost their changes: {} (it takes innodb_log_checkpoint_now and the privilege SUPER)",
            e.what
        ));
    }
    None
}

/// Whether a status variable says OFF.
fn is_off(rows: &[Vec<Option<Vec<u8>>>]) -> bool {
    let cell = rows.first().and_then(|r| r.get(1)?.as_deref());
    cell == Some(b"OFF")
}

/// Whether the tests run against this series.
fn tested(id: &Identity) -> bool {
    let v = &id.version;
    if id.is_mysql() {
        (v.major, v.minor) == (9, 7)
    } else {
        id.is_mariadb() && matches!((v.major, v.minor), (10, 11) | (11, 8))
    }
}

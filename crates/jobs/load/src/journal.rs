//! The load journal: a table on the target that records what has been loaded. The entry of a chunk is
//! committed together with the chunk.
//!
//! So a load that was killed at any instruction can be resumed: what the journal names is on the target
//! exactly once, and nothing else of the archive's rows is. Invariants:
//! * the journal is begun before the first object and dropped after the last; before it was begun, the
//!   target held none of the archive's objects, so those that exist beside a journal were created by the
//!   load;
//! * a worker enters a chunk before it sends the chunk, in the same transaction: two transactions can never
//!   both store it, and a reader that locks the journal waits for the end of one that is under way;
//! * rows of a table that are not wanted are deleted only when all of its rows are there, and that is entered in the same
//!   transaction; where they go by statements that no transaction takes back, the journal says before the first of them that they
//!   may be gone, and how many rows stay.

use super::completion::Completion;
use super::from_archive::{SchemaSelection, Treated};
use super::{LoadPlan, Target, refused};
use archive::{FileRecord, RowDigest};
use base::units::printable;
use base::{Error, Event, Kind, Result, failpoint};
use run::failure;
use server::quote;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use wire::Conn;

/// The journal's table, in the first schema that is loaded. Chunks are entered by
/// their file, batches of a script by where they begin.
pub const TABLE: &str = archive::LOAD_JOURNAL;

/// The identity of a load that takes its rows from a dump while it is written begins like this.
pub(super) const COPY: &str = "copy ";

/// Longest wait for the last transactions of the interrupted load.
const PATIENCE: Duration = Duration::from_secs(600);

/// A journal that was begun or found.
#[derive(Debug)]
pub struct Journal {
    /// Quoted, qualified.
    table: String,
    /// Identifies the load that it belongs to.
    identity: String,
    /// Chunks that are loaded, by file; with rows and digest where the archive has none.
    done: BTreeMap<String, Option<RowDigest>>,
    /// Rows of those, where the journal says.
    rows: BTreeMap<String, u64>,
    /// Schemas that the load has created.
    created: Vec<String>,
    /// Accounts that the load has made, or was about to.
    accounts: BTreeSet<String>,
    /// Tables whose tablespace is being built or imported, and where it is built.
    files: BTreeMap<String, String>,
    /// Tables that were imported as tablespaces and are not verified yet.
    unverified: BTreeSet<String>,
    /// Under which names its load loads, as options.
    names: BTreeSet<String>,
    /// Tables of which rows may have been left out: how many stay, and how many there were.
    leaving: BTreeMap<String, Option<Leaving>>,
    /// Tables of which only the rows that are wanted are left; with the numbers, where the journal has them.
    chosen: BTreeMap<String, Option<Leaving>>,
    /// What was on the target before, and what is done with it.
    treated: Treated,
}

/// How many rows of a table stay, and how many it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// They are wanted.
    pub stay: u64,
    /// With those that are not.
    pub of: u64,
}

impl Leaving {
    fn parse(value: &str) -> Option<Leaving> {
        let (stay, of) = value.split_once(' ')?;
        Some(Leaving {
            stay: stay.parse().ok()?,
            of: of.parse().ok()?,
        })
    }

    fn value(self) -> String {
        format!("{} {}", self.stay, self.of)
    }
}

impl Journal {
    fn empty(table: String, identity: &str) -> Journal {
        Journal {
            table,
            identity: identity.to_owned(),
            done: BTreeMap::new(),
            rows: BTreeMap::new(),
            created: Vec::new(),
            accounts: BTreeSet::new(),
            files: BTreeMap::new(),
            unverified: BTreeSet::new(),
            names: BTreeSet::new(),
            leaving: BTreeMap::new(),
            chosen: BTreeMap::new(),
            treated: Treated::default(),
        }
    }

    /// Looks for the journal of an earlier load. Holds a lock until the
    /// connection ends, so that no two loads work on one journal.
    pub(super) fn find(
        t: &mut Target<'_>,
        schema: &str,
        identity: &str,
    ) -> Result<Option<Journal>> {
        let names: BTreeSet<String> = t.options.names.options().into_iter().collect();
        t.lock(schema)?;
        let table = quote::qualified(schema, TABLE);
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
            quote::text(schema),
            quote::text(TABLE)
        );
        if t.number(&sql, "cannot look for the journal of an earlier load")? == 0 {
            return Ok(None);
        }
        let rows = settled(t, &table)?;
        let mut journal = Journal::empty(table, identity);
        let mut load = None;
        for row in rows {
            let mut cells = row
                .into_iter()
                .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
            let (entry, value) = (
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
            );
            match entry.split_once(':') {
                Some(("load", _)) => load = Some(value),
                Some(("schema", name)) => journal.created.push(name.to_owned()),
                Some(("account", name)) => {
                    journal.accounts.insert(name.to_owned());
                }
                Some(("file", table)) => {
                    journal.files.insert(table.to_owned(), value);
                }
                Some(("unverified", table)) => {
                    journal.unverified.insert(table.to_owned());
                }
                Some(("names", option)) => {
                    journal.names.insert(option.to_owned());
                }
                Some(("leaving", table)) => {
                    let leaving = Leaving::parse(&value);
                    journal.leaving.insert(table.to_owned(), leaving);
                }
                Some(("chosen", table)) => {
                    let chosen = Leaving::parse(&value);
                    journal.chosen.insert(table.to_owned(), chosen);
                }
                Some(("left", object)) => {
                    journal.treated.left.insert(object.to_owned());
                }
                Some(("emptied", object)) => {
                    journal.treated.emptied.insert(object.to_owned());
                }
                Some(("filled", object)) => {
                    journal.treated.filled.insert(object.to_owned());
                }
                Some(("replaced", object)) => {
                    journal.treated.replaced.insert(object.to_owned());
                }
                Some(("chunk", file)) => {
                    journal.done.entry(file.to_owned()).or_default();
                }
                Some(("rows", id)) => {
                    journal
                        .rows
                        .insert(id.to_owned(), value.parse().unwrap_or(0));
                }
                Some(("digest", file)) => {
                    let digest = value
                        .split_once(' ')
                        .and_then(|(rows, hex)| RowDigest::from_hex(hex, rows.parse().ok()?));
                    journal.done.insert(file.to_owned(), digest);
                }
                _ => {}
            }
        }
        match load {
            // Killed between its creation and its first row: nothing else was done yet.
            None => {
                t.run_sql(&format!("DROP TABLE {}", journal.table))?;
                Ok(None)
            }
            Some(load) if load == identity => Ok(Some(journal)),
            Some(load) if load.starts_with(COPY) => Err(refused(format!(
                "the target holds a part of a copy that was interrupted (its journal is {})",
                printable(&journal.table)
            ))
            .hint(journal.after_a_copy())),
            Some(_) if journal.names != names => Err(refused(format!(
                "the target holds a part of a load that was interrupted ({}), which gave {}; this one gives {}",
                printable(&journal.table),
                given(&journal.names),
                given(&names)
            ))
            .hint("resume it with the same names, or drop what it has loaded, then the journal")),
            Some(_) => Err(refused(format!(
                "the target holds the journal of another load that was interrupted ({})",
                printable(&journal.table)
            ))
            .hint("resume it with the same archive and selection, or drop what it has loaded, then the journal")),
        }
    }

    /// What to do about a copy from a server that was interrupted.
    fn after_a_copy(&self) -> String {
        let created: Vec<String> = self.created.iter().map(|s| quote::ident(s)).collect();
        let schemas = match created.is_empty() {
            true => String::new(),
            false => printable(&format!(" (it created {})", created.join(", "))),
        };
        format!(
            "a copy cannot be resumed, because the snapshot that it read is gone: drop what it created{schemas}, the journal with it, and copy again"
        )
    }

    /// The journal of a load that has these chunks already, and of these tables only the rows that are wanted; to begin with
    /// [`Journal::write`].
    pub(super) fn with_chunks(
        schema: &str,
        identity: &str,
        chunks: Vec<String>,
        chosen: Vec<String>,
    ) -> Journal {
        let mut journal = Journal::empty(quote::qualified(schema, TABLE), identity);
        journal.done = chunks.into_iter().map(|file| (file, None)).collect();
        journal.chosen = chosen.into_iter().map(|table| (table, None)).collect();
        journal
    }

    /// Writes a journal that is not on the target yet. Until all of it is there, it counts as none.
    pub(super) fn write(&self, t: &mut Target<'_>, schema: &str) -> Result<()> {
        Journal::create(t, schema)?;
        t.run_sql("START TRANSACTION")?;
        for file in self.done.keys() {
            t.run_sql(&self.insert(&format!("chunk:{file}"), ""))?;
        }
        for table in self.chosen.keys() {
            t.run_sql(&self.insert(&format!("chosen:{table}"), ""))?;
        }
        self.write_names(t)?;
        t.run_sql(&self.insert("load:", &self.identity))?;
        t.run_sql("COMMIT")
    }

    /// Records under which names the load loads: before it counts as begun.
    fn write_names(&self, t: &mut Target<'_>) -> Result<()> {
        for option in t.options.names.options() {
            t.run_sql(&self.insert(&format!("names:{option}"), ""))?;
        }
        Ok(())
    }

    /// Begins a journal in a schema that exists; `treated`: what was on the target before.
    pub(super) fn begin(
        t: &mut Target<'_>,
        schema: &str,
        identity: &str,
        treated: &Treated,
    ) -> Result<Journal> {
        let table = Journal::create(t, schema)?;
        let journal = Journal::empty(table, identity);
        t.run_sql("START TRANSACTION")?;
        journal.write_names(t)?;
        for (kind, objects) in [
            ("left", &treated.left),
            ("emptied", &treated.emptied),
            ("filled", &treated.filled),
            ("replaced", &treated.replaced),
        ] {
            for object in objects {
                t.run_sql(&journal.insert(&format!("{kind}:{object}"), ""))?;
            }
        }
        t.run_sql(&journal.insert("load:", identity))?;
        t.run_sql("COMMIT")?;
        failpoint::reached("the journal is begun");
        Ok(journal)
    }

    fn create(t: &mut Target<'_>, schema: &str) -> Result<String> {
        let table = quote::qualified(schema, TABLE);
        t.run_sql(&format!(
            "CREATE TABLE {table} (entry VARBINARY(700) NOT NULL PRIMARY KEY, value VARBINARY(500) NOT NULL) \
             ENGINE=InnoDB COMMENT='a load by penstock is running or was interrupted: penstock load --resume continues it'"
        ))?;
        failpoint::reached("the journal is there, and empty");
        Ok(table)
    }

    /// Whether a chunk is loaded.
    pub fn has(&self, file: &str) -> bool {
        self.done.contains_key(file)
    }

    /// The digest that was taken of a chunk when it was loaded.
    pub fn digest(&self, file: &str) -> Option<RowDigest> {
        self.done.get(file).copied().flatten()
    }

    /// Number of chunks that are loaded.
    pub fn chunks(&self) -> usize {
        self.done.len()
    }

    /// Forgets chunks, because their table is loaded again from its beginning.
    pub(super) fn forget(&mut self, t: &mut Target<'_>, files: &[&str]) -> Result<()> {
        for file in files {
            if self.done.remove(*file).is_some() {
                for kind in ["chunk", "digest"] {
                    let delete = self.delete(&format!("{kind}:{file}"));
                    t.run_sql(&delete)?;
                }
            }
        }
        Ok(())
    }

    /// Takes back what this load has entered, because the table is emptied.
    pub(super) fn withdraw(&self, t: &mut Target<'_>, files: &[&str]) -> Result<()> {
        for file in files {
            for kind in ["chunk", "digest"] {
                t.run_sql(&self.delete(&format!("{kind}:{file}")))?;
            }
        }
        Ok(())
    }

    /// Tables whose tablespace was being built or imported when the load was interrupted, with where it was
    /// built.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(t, p)| (t.as_str(), p.as_str()))
    }

    /// Whether a table was imported as a tablespace and is not verified yet.
    pub fn is_unverified(&self, table: &str) -> bool {
        self.unverified.contains(table)
    }

    /// Records that the tablespace of a table is about to be built.
    pub(super) fn begin_tablespace(&self, conn: &mut Conn, table: &str, path: &str) -> Result<()> {
        let insert = self.insert(&format!("file:{table}"), path);
        run_sql(conn, &insert.replacen("INSERT", "REPLACE", 1))
    }

    /// Records that nothing of a tablespace file is left.
    pub(super) fn forget_tablespace(&self, conn: &mut Conn, table: &str) -> Result<()> {
        run_sql(conn, &self.delete(&format!("file:{table}")))
    }

    /// Records that the server has imported a tablespace, and with it all chunks of the table.
    pub(super) fn enter_tablespace(
        &self,
        conn: &mut Conn,
        table: &str,
        files: &[&str],
    ) -> Result<()> {
        run_sql(conn, "START TRANSACTION")?;
        run_sql(conn, &self.delete(&format!("file:{table}")))?;
        let insert = self.insert(&format!("unverified:{table}"), "");
        // An earlier attempt at this table may have left it.
        run_sql(conn, &insert.replacen("INSERT", "REPLACE", 1))?;
        for file in files {
            run_sql(conn, &self.insert(&format!("chunk:{file}"), ""))?;
        }
        run_sql(conn, "COMMIT")
    }

    /// Records that an imported table has been verified, or is loaded again.
    pub(super) fn mark_verified(&self, conn: &mut Conn, table: &str) -> Result<()> {
        run_sql(conn, &self.delete(&format!("unverified:{table}")))
    }

    /// Takes over what workers that share the journal have recorded with [`Journal::enter_tablespace`].
    pub(super) fn mark_imported(&mut self, files: &[&str]) {
        for file in files {
            self.done.entry((*file).to_owned()).or_default();
        }
    }

    /// What was on the target before the load, and what is done with it.
    pub(super) fn treated(&self) -> &Treated {
        &self.treated
    }

    /// Whether rows of a table may have been left out, and how many stay.
    pub(super) fn leaving(&self, table: &str) -> Option<Leaving> {
        self.leaving.get(table).copied().flatten()
    }

    /// Whether only the rows that are wanted are left of a table; with the numbers, where the journal has them.
    pub(super) fn chosen(&self, table: &str) -> Option<Option<Leaving>> {
        self.chosen.get(table).copied()
    }

    /// Records that rows of a table are about to be left out for good.
    pub(super) fn begin_leaving(
        &self,
        conn: &mut Conn,
        table: &str,
        leaving: Leaving,
    ) -> Result<()> {
        run_sql(
            conn,
            &self.insert(&format!("leaving:{table}"), &leaving.value()),
        )
    }

    /// Records that only the rows that are wanted are left of a table; the numbers may follow.
    pub(super) fn enter_chosen(
        &self,
        conn: &mut Conn,
        table: &str,
        leaving: Option<Leaving>,
    ) -> Result<()> {
        let value = leaving.map_or_else(String::new, Leaving::value);
        let insert = self.insert(&format!("chosen:{table}"), &value);
        run_sql(conn, &insert.replacen("INSERT", "REPLACE", 1))
    }

    /// Forgets that rows of a table were left out, because it is loaded again from its beginning.
    pub(super) fn forget_chosen(&mut self, t: &mut Target<'_>, table: &str) -> Result<()> {
        for (kind, tables) in [("leaving", &mut self.leaving), ("chosen", &mut self.chosen)] {
            if tables.remove(table).is_some() {
                let entry = format!("{kind}:{table}");
                let delete = format!(
                    "DELETE FROM {} WHERE entry = {}",
                    self.table,
                    literal(&entry)
                );
                t.run_sql(&delete)?;
            }
        }
        Ok(())
    }

    /// Schemas that this load, or the one that it resumes, has created.
    pub fn created(&self) -> &[String] {
        &self.created
    }

    /// Records that this load has created a schema.
    pub(super) fn schema(&self, t: &mut Target<'_>, name: &str) -> Result<()> {
        // It has an entry already if it was dropped while the load was interrupted.
        let insert = self.insert(&format!("schema:{name}"), "");
        t.run_sql(&insert.replacen("INSERT", "INSERT IGNORE", 1))
    }

    /// Accounts that the load which this one resumes has made. They did not exist before it.
    pub fn accounts(&self) -> &BTreeSet<String> {
        &self.accounts
    }

    /// Records that this load is about to make an account, which does not exist.
    pub(super) fn account(&self, conn: &mut Conn, name: &str) -> Result<()> {
        let insert = self.insert(&format!("account:{name}"), "");
        run_sql(conn, &insert.replacen("INSERT", "REPLACE", 1))
    }

    /// Enters a chunk, in the transaction that is going to store it.
    pub fn enter(&self, conn: &mut Conn, file: &str) -> Result<(), wire::Error> {
        conn.execute(self.insert(&format!("chunk:{file}"), ""))
            .map(drop)
    }

    /// Enters how many rows a batch had, before its transaction is committed.
    pub fn stored(&self, conn: &mut Conn, id: &str, rows: u64) -> Result<(), wire::Error> {
        conn.execute(self.insert(&format!("rows:{id}"), &rows.to_string()))
            .map(drop)
    }

    /// Rows of a batch that is loaded.
    pub fn rows(&self, id: &str) -> u64 {
        self.rows.get(id).copied().unwrap_or(0)
    }

    /// Enters the digest that was taken while the chunk passed, before its transaction is committed.
    pub fn counted(
        &self,
        conn: &mut Conn,
        file: &str,
        digest: &RowDigest,
    ) -> Result<(), wire::Error> {
        let value = format!("{} {}", digest.rows(), digest.to_hex());
        conn.execute(self.insert(&format!("digest:{file}"), &value))
            .map(drop)
    }

    /// Ends the journal of a complete load. `missing` are objects that the target refused; they go into the
    /// completion record, which is written only where a load that is killed here could be recognized later.
    pub(super) fn end(&self, t: &mut Target<'_>, missing: Option<Vec<String>>) -> Result<()> {
        failpoint::reached("all is loaded and compared");
        // An earlier run of this load, which was killed here, may have found some of them as well.
        let mut seen = BTreeSet::new();
        t.report.exceptions.retain(|e| seen.insert(e.clone()));
        if let Some(missing) = missing {
            Completion::note(t, &self.identity, missing);
        }
        failpoint::reached("the end of the load is noted");
        t.run_sql(&format!("DROP TABLE {}", self.table))?;
        failpoint::reached("the journal is gone");
        Ok(())
    }

    fn delete(&self, entry: &str) -> String {
        format!(
            "DELETE FROM {} WHERE entry = {}",
            self.table,
            literal(entry)
        )
    }

    fn insert(&self, entry: &str, value: &str) -> String {
        format!(
            "INSERT INTO {} VALUES ({}, {})",
            self.table,
            literal(entry),
            literal(value)
        )
    }
}

/// The options of names, for the user.
fn given(names: &BTreeSet<String>) -> String {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    match list.is_empty() {
        true => "every object its own name".to_owned(),
        false => printable(&list.join(" ")),
    }
}

/// Identifies an archive and the selected part of it, also that of which the files are damaged now.
pub(super) fn identity(plan: &LoadPlan) -> Result<String> {
    if let Some(growing) = &plan.growing {
        return Ok(growing.identity.clone());
    }
    let store = plan.archive.store();
    let name = if plan.archive.has_manifest() {
        archive::manifest::MANIFEST
    } else {
        "@.json"
    };
    let bytes = store
        .read_all(name, 1 << 30)
        .map_err(|e| failure::store("cannot read the archive", &e))?;
    let mut part = plan.options_of_names().concat() + &plan.parts.options().concat();
    for (table, wanted) in &plan.choices {
        part += &format!("{table} {}\n", wanted.given.shown().join("\n"));
    }
    if plan.parts.only.is_some() {
        let accounts = plan.accounts.iter().flatten();
        part.extend(accounts.map(|a| format!("{}\n", a.name)));
    }
    for (file, kind, name) in &plan.unwanted {
        part += &format!("without {kind} {name} of {file}\n");
    }
    for p in &plan.schemas {
        let schema = &plan.archive.schemas()[p.at];
        part += &format!("{}\n{}\n", quote::ident(&schema.name), p.whole);
        let tables = p.tables.iter().map(|i| &schema.tables[*i].name);
        let views = p.views.iter().map(|i| &schema.views[*i].name);
        let damaged = plan.damaged.iter().filter(|d| d.schema == schema.name);
        let damaged = damaged.filter_map(|d| d.object.as_ref());
        let all: BTreeSet<&String> = tables.chain(views).chain(damaged).collect();
        for name in all {
            part += &format!("{}\n", quote::ident(name));
        }
    }
    Ok(format!(
        "2 {} {}",
        FileRecord::of(&bytes).blake3,
        FileRecord::of(part.as_bytes()).blake3
    ))
}

/// The schema that holds the journal of an archive's load: the first that is loaded and has no table of that name in the archive,
/// which was taken during another load then.
pub(super) fn home(plan: &LoadPlan) -> &str {
    let free = |part: &&SchemaSelection| {
        let tables = &plan.archive.schemas()[part.at].tables;
        !part.tables.iter().any(|at| tables[*at].name == TABLE)
    };
    let part = plan.schemas.iter().find(free);
    &plan.archive.schemas()[part.unwrap_or(&plan.schemas[0]).at].name
}

/// All entries, after every transaction that is still adding one has ended.
fn settled(t: &mut Target<'_>, table: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    let start = Instant::now();
    let sql = format!("SELECT entry, value FROM {table} FOR UPDATE");
    let rows = loop {
        t.run.check()?;
        match t.conn.fetch(&sql) {
            Ok(rows) => break rows,
            Err(e) if e.code() == Some(1205) && start.elapsed() < PATIENCE => {
                let what = "the last transactions of the interrupted load to end on the server";
                t.run.observer.event(Event::Waiting(Some(what.to_owned())));
            }
            Err(e) => return Err(failure::wire("cannot read the journal of the load", e)),
        }
    };
    t.run.observer.event(Event::Waiting(None));
    Ok(rows)
}

/// Bytes as a literal that no mode or character set changes.
fn literal(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let hex: String = text.bytes().map(|b| format!("{b:02x}")).collect();
    format!("0x{hex}")
}

impl Target<'_> {
    fn run_sql(&mut self, sql: &str) -> Result<()> {
        run_sql(&mut self.conn, sql)
    }
}

/// Runs a statement on the journal.
fn run_sql(conn: &mut Conn, sql: &str) -> Result<()> {
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire("cannot write the journal of the load", e))
}

/// Refuses an archive that has a table of the journal's name.
pub fn name_is_free(plan: &LoadPlan) -> Result<()> {
    let home = home(plan);
    match plan.tables().find(|t| t.name == TABLE && t.schema == home) {
        None => Ok(()),
        Some(t) => Err(Error::new(
            Kind::Target,
            format!(
                "{} has the name of penstock's journal table, which exists on the target during a load",
                printable(&quote::qualified(&t.schema, &t.name))
            ),
        )
        .hint("the archive was taken during a load; exclude the table with --exclude-tables")),
    }
}

//! What has been loaded, kept on the target itself: a row of the journal is
//! committed together with the chunk that it stands for.
//!
//! So a load that was killed at any instruction can go on: what the journal
//! names is there exactly once, and nothing else of the archive's rows is.
//! Invariants:
//! * the journal is begun before the first object and dropped after the last;
//!   before it was begun, the target held none of the archive's objects, so
//!   whatever of them stands beside a journal is the load's own;
//! * a worker enters a chunk before it sends the chunk, in the same
//!   transaction: two transactions can never both store it, and whoever reads
//!   the journal with locks waits for the end of one that is under way.

use super::completion::Completion;
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
pub const TABLE: &str = "penstock_load_journal";

/// Longest wait for the last transactions of the load that was interrupted.
const PATIENCE: Duration = Duration::from_secs(600);

/// A journal that has been begun or taken up.
#[derive(Debug)]
pub struct Journal {
    /// Quoted, qualified.
    table: String,
    /// Which load it is of.
    identity: String,
    /// Chunks that are there, by file; with rows and digest where the archive has none.
    done: BTreeMap<String, Option<RowDigest>>,
    /// Rows of those, where the journal says.
    rows: BTreeMap<String, u64>,
    /// Schemas that the load has created.
    created: Vec<String>,
    /// Tables whose file is being built or handed over, and where it is built.
    files: BTreeMap<String, String>,
    /// Tables that came as files and have not been compared yet.
    unproven: BTreeSet<String>,
}

impl Journal {
    /// Looks for the journal of an earlier load. Holds a lock until the
    /// connection ends, so that no two loads work on one journal.
    pub(super) fn find(
        t: &mut Target<'_>,
        schema: &str,
        identity: &str,
    ) -> Result<Option<Journal>> {
        lock(t, schema)?;
        let table = quote::qualified(schema, TABLE);
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
            quote::text(schema),
            quote::text(TABLE)
        );
        if number(t, &sql)? == 0 {
            return Ok(None);
        }
        let rows = settled(t, &table)?;
        let mut journal = Journal {
            table,
            identity: identity.to_owned(),
            done: BTreeMap::new(),
            rows: BTreeMap::new(),
            created: Vec::new(),
            files: BTreeMap::new(),
            unproven: BTreeSet::new(),
        };
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
                Some(("file", table)) => {
                    journal.files.insert(table.to_owned(), value);
                }
                Some(("unproven", table)) => {
                    journal.unproven.insert(table.to_owned());
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
            Some(_) => Err(refused(format!(
                "the target holds the journal of another load that was interrupted ({})",
                printable(&journal.table)
            ))
            .hint("go on with that archive and selection, or drop what it has loaded, and then the journal")),
        }
    }

    /// Begins a journal in a schema that is there.
    pub(super) fn begin(t: &mut Target<'_>, schema: &str, identity: &str) -> Result<Journal> {
        let table = quote::qualified(schema, TABLE);
        t.run_sql(&format!(
            "CREATE TABLE {table} (entry VARBINARY(700) NOT NULL PRIMARY KEY, value VARBINARY(500) NOT NULL) \
             ENGINE=InnoDB COMMENT='a load by penstock is under way, or was interrupted: penstock load --resume goes on'"
        ))?;
        failpoint::reached("the journal is there, and empty");
        let journal = Journal {
            table,
            identity: identity.to_owned(),
            done: BTreeMap::new(),
            rows: BTreeMap::new(),
            created: Vec::new(),
            files: BTreeMap::new(),
            unproven: BTreeSet::new(),
        };
        t.run_sql(&journal.insert("load:", identity))?;
        failpoint::reached("the journal is begun");
        Ok(journal)
    }

    /// Whether a chunk is there.
    pub fn has(&self, file: &str) -> bool {
        self.done.contains_key(file)
    }

    /// The digest that was taken of a chunk when it was loaded.
    pub fn digest(&self, file: &str) -> Option<RowDigest> {
        self.done.get(file).copied().flatten()
    }

    /// Chunks that are there.
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

    /// Tables whose file was being built or handed over when the load was interrupted, with where it was built.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(t, p)| (t.as_str(), p.as_str()))
    }

    /// Whether a table came as a file and has not been compared yet.
    pub fn is_unproven(&self, table: &str) -> bool {
        self.unproven.contains(table)
    }

    /// The file of a table is about to be built.
    pub(super) fn begin_file(&self, conn: &mut Conn, table: &str, path: &str) -> Result<()> {
        let insert = self.insert(&format!("file:{table}"), path);
        told(conn, &insert.replacen("INSERT", "REPLACE", 1))
    }

    /// Nothing of a file is left.
    pub(super) fn forget_file(&self, conn: &mut Conn, table: &str) -> Result<()> {
        told(conn, &self.delete(&format!("file:{table}")))
    }

    /// The server has taken a file: with it came all chunks of the table.
    pub(super) fn enter_file(&self, conn: &mut Conn, table: &str, files: &[&str]) -> Result<()> {
        told(conn, "START TRANSACTION")?;
        told(conn, &self.delete(&format!("file:{table}")))?;
        let unproven = self.insert(&format!("unproven:{table}"), "");
        // An earlier attempt at this table may have left it.
        told(conn, &unproven.replacen("INSERT", "REPLACE", 1))?;
        for file in files {
            told(conn, &self.insert(&format!("chunk:{file}"), ""))?;
        }
        told(conn, "COMMIT")
    }

    /// A table that came as a file has been compared, or is loaded again.
    pub(super) fn proven(&self, conn: &mut Conn, table: &str) -> Result<()> {
        told(conn, &self.delete(&format!("unproven:{table}")))
    }

    /// What [`Journal::enter_file`] told the server, by workers that share the journal.
    pub(super) fn entered(&mut self, files: &[&str]) {
        for file in files {
            self.done.entry((*file).to_owned()).or_default();
        }
    }

    /// Schemas that this load, or the one it goes on with, has created.
    pub fn created(&self) -> &[String] {
        &self.created
    }

    /// A schema was created by this load.
    pub(super) fn schema(&self, t: &mut Target<'_>, name: &str) -> Result<()> {
        // It is entered already if somebody dropped it while the load was interrupted.
        let insert = self.insert(&format!("schema:{name}"), "");
        t.run_sql(&insert.replacen("INSERT", "INSERT IGNORE", 1))
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

    /// Rows of a batch that is there.
    pub fn rows(&self, id: &str) -> u64 {
        self.rows.get(id).copied().unwrap_or(0)
    }

    /// Enters what was counted while the chunk passed, before its transaction is committed.
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

    /// The load is complete. Which objects are missing for an exception is noted, if a load that is killed here could be told
    /// from others at all.
    pub(super) fn end(&self, t: &mut Target<'_>, missing: Option<Vec<String>>) -> Result<()> {
        failpoint::reached("all is loaded and compared");
        // An earlier run of this load, which was killed here, may have found some of them as well.
        let mut seen = BTreeSet::new();
        t.exceptions.retain(|e| seen.insert(e.clone()));
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

/// Which archive and which part of it.
pub(super) fn identity(plan: &LoadPlan) -> Result<String> {
    let store = plan.archive.store();
    let name = if plan.archive.has_manifest() {
        archive::manifest::MANIFEST
    } else {
        "@.json"
    };
    let bytes = store
        .read_all(name, 1 << 30)
        .map_err(|e| failure::store("cannot read the archive", &e))?;
    let mut part = String::new();
    for p in &plan.schemas {
        let schema = &plan.archive.schemas()[p.at];
        part += &format!("{}\n{}\n", quote::ident(&schema.name), p.whole);
        let tables = p.tables.iter().map(|i| &schema.tables[*i].name);
        for name in tables.chain(p.views.iter().map(|i| &schema.views[*i].name)) {
            part += &format!("{}\n", quote::ident(name));
        }
    }
    Ok(format!(
        "1 {} {}",
        FileRecord::of(&bytes).blake3,
        FileRecord::of(part.as_bytes()).blake3
    ))
}

/// The schema that holds the journal of an archive's load.
pub(super) fn home(plan: &LoadPlan) -> &str {
    &plan.archive.schemas()[plan.schemas[0].at].name
}

/// Only one load at a time on one journal. The server lets go of it when the connection ends.
pub(super) fn lock(t: &mut Target<'_>, schema: &str) -> Result<()> {
    // Names of locks have at most 64 characters, and MySQL 9.6 took SHA1() away.
    let digest = FileRecord::of(schema.as_bytes()).blake3;
    let sql = format!("SELECT GET_LOCK('penstock {}', 5)", &digest[..40]);
    if number(t, &sql)? == 1 {
        return Ok(());
    }
    Err(refused(format!(
        "another penstock is loading into schema {} of this server",
        printable(&quote::ident(schema))
    ))
    .hint("wait for its end"))
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

fn number(t: &mut Target<'_>, sql: &str) -> Result<u64> {
    let rows = t
        .conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for the journal of an earlier load", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
    Ok(cell
        .flatten()
        .and_then(|c| String::from_utf8_lossy(&c).parse().ok())
        .unwrap_or(0))
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
        told(&mut self.conn, sql)
    }
}

/// Runs a statement on the journal.
fn told(conn: &mut Conn, sql: &str) -> Result<()> {
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire("cannot write the journal of the load", e))
}

/// Refuses an archive that has a table of the journal's name.
pub fn name_is_free(plan: &LoadPlan) -> Result<()> {
    match plan.tables().find(|t| t.name == TABLE) {
        None => Ok(()),
        Some(t) => Err(Error::new(
            Kind::Target,
            format!(
                "{} has the name of penstock's own journal, which stands on the target during a load",
                printable(&quote::qualified(&t.schema, &t.name))
            ),
        )
        .hint("the archive was taken while a load was under way; leave the table out with --exclude-tables")),
    }
}

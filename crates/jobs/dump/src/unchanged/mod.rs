//! Tables that an earlier dump of the same server holds as they are now: their rows are taken over, and not read again.
//!
//! The binary log between the two snapshots is the proof (`binlog_archive::Touched`): a table whose rows no event changed, which no
//! statement may have changed, and which no foreign key changes along with another one, is what it was. What the log cannot prove is read
//! again, with the reason. Changes that are not in the log at all (`sql_log_bin = 0`) are noticed by the time of the table's last
//! change, as long as the server runs; after it was started again everything is read.
//!
//! Invariant: when in doubt, a table is read.

mod programs;
mod sample;

use crate::progress::Ended;
use crate::tables::TableState;
use archive::manifest::{ChunkEntry, Manifest, TableRecord};
use archive::{FileRecord, References};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog_archive::{Place, Since, Touched};
use run::{Run, failure};
use server::{Identity, Position, quote};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use wire::Conn;

/// The tasks that a dump has finished, by schema and table.
pub type TasksByTable = BTreeMap<(String, String), Vec<Ended>>;

/// An earlier dump of the same server.
#[derive(Clone, Debug)]
pub struct Base {
    /// What it is called, for people.
    pub name: String,
    /// What it holds.
    pub manifest: Arc<Manifest>,
    /// Where its data files lie, as far as they are there.
    pub files: Arc<HashMap<String, Held>>,
    /// The tasks that it has finished, if it is the unfinished part of the same dump: its files stay where they are.
    pub unfinished: Option<Arc<TasksByTable>>,
    /// Whether a sample of what is taken over is read and compared.
    pub paranoid: bool,
}

/// Where a file of an earlier dump lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The directory beside the new archive.
    pub directory: String,
    /// What it is called there.
    pub stored: String,
}

/// The rows of a table as an earlier dump has them.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What the manifest says of them.
    pub record: TableRecord,
    /// Their files.
    pub files: BTreeMap<String, FileRecord>,
}

/// What was taken over from an earlier dump, and why other tables were not.
#[derive(Clone, Debug, Default)]
pub struct TakenOver {
    /// The earlier dump.
    pub from: String,
    /// Tables.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// Bytes of them, before compression.
    pub raw_bytes: u64,
    /// Bytes of their data files.
    pub stored_bytes: u64,
    /// Why nothing was taken over.
    pub nothing: Option<String>,
    /// Tables that the earlier dump has and that were read again, each with the reason.
    pub read_again: Vec<String>,
    /// Rows of what was taken over that were read and compared.
    pub compared_rows: Option<u64>,
}

/// A dump whose snapshot is taken, and whose definitions are written.
pub struct Now<'n> {
    pub control: &'n mut Conn,
    /// Sees the snapshot.
    pub reader: &'n mut Conn,
    pub id: &'n Identity,
    /// Whether the account sees every view, routine and trigger.
    pub sees_programs: bool,
    /// What identifies the tables in the server.
    pub identities: &'n Identities,
    /// Of the snapshot.
    pub position: &'n Position,
    pub tables: &'n [Arc<TableState>],
    /// The files of definitions.
    pub files: &'n BTreeMap<String, FileRecord>,
}

/// What the log says, while a dump is being taken.
pub struct Unchanged<'a> {
    base: &'a Base,
    /// Its tables, by schema and name.
    records: HashMap<(&'a str, &'a str), &'a TableRecord>,
    touched: Touched,
    /// Up to where the log was read.
    at: Option<Place>,
    /// As which replica it is read.
    server_id: u32,
}

impl<'a> Unchanged<'a> {
    /// Reads most of the log before the snapshot, so that little of it is left to be read while that is open.
    pub fn begin(
        run: &Run,
        source: &wire::Options,
        conn: &mut Conn,
        id: &Identity,
        base: &'a Base,
    ) -> Result<Unchanged<'a>> {
        let tables = base.manifest.tables.iter().map(|t| t.table.clone());
        let names: Vec<String> = tables.chain(programs::names(conn)?).collect();
        let text = format!("{} {}", base.name, std::process::id());
        let mut unchanged = Unchanged {
            base,
            records: base.manifest.by_name().collect(),
            touched: Touched::new(names.iter().map(String::as_str)),
            at: None,
            server_id: binlog_archive::replica_number(&text),
        };
        match since(&base.manifest, id) {
            Err(why) => unchanged.touched.give_up(why),
            Ok(since) => {
                let server_id = unchanged.server_id;
                let at = unchanged.touched.begin(run, source, server_id, &since)?;
                unchanged.at = Some(at);
            }
        }
        Ok(unchanged)
    }

    /// Reads the rest of the log, up to the snapshot, and has every table take over its rows that are proven to be the same.
    pub fn take_over(
        mut self,
        run: &Run,
        source: &wire::Options,
        now: &mut Now<'_>,
    ) -> Result<TakenOver> {
        let control = &mut *now.control;
        let log = Position::read_log(control, now.id);
        let log = log.map_err(|e| failure::server("cannot read the binary log position", e))?;
        if let Some(filter) = log.log_filter {
            let why = format!("the server does not log every schema ({filter})");
            self.touched.give_up(why);
        }
        match (&self.at, here(now.position, &self.base.manifest, now.id)) {
            (Some(at), Ok(to)) => {
                self.touched
                    .go_on(run, source, self.server_id, at, Some(&to))?;
            }
            (_, Err(why)) => self.touched.give_up(why),
            (None, _) => {}
        }
        if self.touched.has_statements() && !now.sees_programs {
            let why = "the account may not see every view, routine and trigger that a statement may have run";
            self.touched.give_up(why.to_owned());
        }
        if self.touched.everything().is_none() {
            programs::follow(control, &mut self.touched)?;
        }
        let mut done = TakenOver {
            from: self.base.name.clone(),
            nothing: self.touched.everything().map(str::to_owned),
            ..TakenOver::default()
        };
        if done.nothing.is_some() {
            return Ok(done);
        }
        let with_others = cascades(control, &self.touched)?;
        let changed = last_changes(control)?;
        let mut taken = Vec::new();
        for table in now.tables {
            let Some(record) = self.record(table) else {
                continue;
            };
            let name = (table.table.schema.clone(), table.table.name.clone());
            let why = self
                .other(table, record, now)
                .or_else(|| self.logged(&name, &with_others))
                .or_else(|| self.not_logged(changed.get(&name)))
                .or_else(|| is_another(record.identity.as_ref(), now.identities.get(&name)));
            match why {
                Some(why) => done
                    .read_again
                    .push(printable(&format!("{}: {why}", table.table.qualified()))),
                None => taken.push((table, record)),
            }
        }
        if self.base.paranoid {
            let of = taken.iter().map(|(table, record)| (&***table, *record));
            match sample::compare(run, now.reader, of)? {
                Ok(rows) => done.compared_rows = Some(rows),
                Err(why) => {
                    run.observer.warn(format!(
                        "{why}: the log does not tell all changes, so everything is read again"
                    ));
                    done.nothing = Some(why);
                    done.read_again.clear();
                    return Ok(done);
                }
            }
        }
        for (table, record) in taken {
            done.tables += 1;
            done.rows += record.rows;
            done.raw_bytes += record.chunks.iter().map(|c| c.raw_bytes).sum::<u64>();
            let files = record.chunks.iter();
            let files = files.filter_map(|c| self.base.manifest.files.get(&c.file));
            done.stored_bytes += files.map(|f| f.bytes).sum::<u64>();
            match self.base.tasks_of(table) {
                Some(tasks) => table.keep(tasks),
                None => table.take_over(self.taken(record)),
            }
        }
        Ok(done)
    }

    /// What the earlier dump says of a table.
    fn record(&self, table: &TableState) -> Option<&'a TableRecord> {
        // Of an unfinished dump there is only what it had finished.
        let unread = self.base.tasks_of(table).is_some_and(<[Ended]>::is_empty);
        let of = (table.table.schema.as_str(), table.table.name.as_str());
        self.records.get(&of).copied().filter(|_| !unread)
    }

    /// Why the earlier dump's files are not those that this dump would write.
    fn other(&self, table: &TableState, record: &TableRecord, now: &Now<'_>) -> Option<String> {
        if record.condition.is_some() || table.plan.condition.is_some() {
            let why = "its rows are chosen by a condition, which may depend on the time or on other tables";
            return Some(why.to_owned());
        }
        let engine = &table.table.engine;
        if !table.table.transactional {
            return Some(format!(
                "{engine} has no snapshots, so its rows there may be of another moment"
            ));
        }
        // The rows of others may be on another server, or are written without this one's log.
        if !engine.eq_ignore_ascii_case("InnoDB") {
            return Some(format!(
                "of {engine} tables the log need not have every change"
            ));
        }
        let earlier = &self.base.manifest.files;
        let key = table.plan.key.as_ref().map(|k| k.names());
        let described = table.described.as_ref().map(|(file, _)| file);
        let same = described.is_some_and(|file| earlier.get(file) == now.files.get(file))
            && record.columns == table.plan.columns
            && record.key == key.unwrap_or_default();
        if !same {
            let why = "it is written in another way now: other columns, partitions or compression";
            return Some(why.to_owned());
        }
        let tasks = self.base.tasks_of(table).unwrap_or_default();
        if !tasks.iter().all(|t| t.chunks_of(table).is_some()) {
            return Some("what is there of it does not fit".to_owned());
        }
        let there = |chunk: &ChunkEntry| self.base.files.contains_key(&chunk.file);
        if !record.chunks.iter().all(there) {
            return Some("not all of its files are there any more".to_owned());
        }
        let setting = |name: &str| {
            let value = now.id.variable(name).unwrap_or_default();
            let then = self.base.manifest.source.settings.get(name);
            then.is_some_and(|then| then != value)
        };
        if !record.generated.is_empty() && rows::generated::SETTINGS.into_iter().any(setting) {
            let why = "values of its generated columns depend on settings of the server, which are others now";
            return Some(why.to_owned());
        }
        None
    }

    /// Why it may have been changed, by the log.
    fn logged(
        &self,
        name: &(String, String),
        with_others: &BTreeMap<(String, String), String>,
    ) -> Option<String> {
        let (schema, table) = name;
        if let Some(at) = self.touched.rows_of(schema, table) {
            return Some(format!("its rows were changed ({at})"));
        }
        if let Some(at) = self.touched.named(table) {
            return Some(format!("a statement may have changed it ({at})"));
        }
        let parent = with_others.get(&lower(schema, table))?;
        Some(format!(
            "a foreign key changes it along with {parent}, which was changed"
        ))
    }

    /// Why it was changed, although the log does not say so.
    fn not_logged(&self, change: Option<&LastChange>) -> Option<String> {
        let then = self.base.manifest.position.server_time?;
        let change = change?;
        // Within the second of the earlier snapshot it may be before or after it.
        if change.rows.is_some_and(|t| t >= then) {
            return Some("its rows were changed after the earlier backup, or in the same second, and the log does not say how".to_owned());
        }
        let made = change.made.is_some_and(|t| t > then);
        made.then(|| "it was made after the earlier backup".to_owned())
    }

    fn taken(&self, record: &TableRecord) -> Taken {
        let earlier = &self.base.manifest.files;
        let mut files = BTreeMap::new();
        for chunk in &record.chunks {
            for name in [
                chunk.file.clone(),
                archive::chunk::index::name_of(&chunk.file),
            ] {
                if let Some(record) = earlier.get(&name) {
                    files.insert(name, record.clone());
                }
            }
        }
        Taken {
            record: record.clone(),
            files,
        }
    }
}

impl Base {
    /// The finished tasks of a table, if this is an unfinished dump.
    fn tasks_of(&self, table: &TableState) -> Option<&[Ended]> {
        let tasks = self.unfinished.as_ref()?;
        let of = (table.table.schema.clone(), table.table.name.clone());
        Some(tasks.get(&of).map_or(&[], Vec::as_slice))
    }

    /// Where the files lie that these tables have taken over.
    pub fn references(&self, tables: &[Arc<TableState>]) -> Result<References> {
        let mut references = References::default();
        for name in tables
            .iter()
            .filter_map(|t| t.taken())
            .flat_map(|t| t.files.keys())
        {
            let held = self.files.get(name).ok_or_else(|| {
                Error::new(Kind::Internal, format!("where {name} lies is not known"))
            })?;
            references.add(&held.directory, &held.stored);
        }
        Ok(references)
    }
}

/// Where the log is to be read from; the error says why it proves nothing.
fn since(earlier: &Manifest, id: &Identity) -> std::result::Result<Since, String> {
    let position = &earlier.position;
    let (file, offset) = match (&position.binlog_file, position.binlog_position) {
        (Some(file), Some(offset)) => (file.clone(), offset),
        _ => return Err("it has no place in a binary log".to_owned()),
    };
    let Some(time) = position.server_time else {
        return Err("it does not say when its snapshot was taken".to_owned());
    };
    let then = &earlier.source;
    let address = (&id.hostname, id.port, &id.socket, &id.datadir);
    // Old servers have no UUID.
    let same = match id.uuid.as_deref().unwrap_or_default() {
        "" => {
            then.uuid.is_empty()
                && address == (&then.hostname, then.port, &then.socket, &then.datadir)
        }
        uuid => uuid == then.uuid,
    };
    if !same {
        return Err("it is of another server".to_owned());
    }
    let knows_changes = id.mysql_at_least(5, 7, 0) || id.mariadb_at_least(10, 2, 2);
    if !knows_changes {
        return Err(format!(
            "{id} does not know when rows of a table were changed"
        ));
    }
    if !id.log_bin {
        return Err("the server writes no binary log".to_owned());
    }
    Ok(Since {
        place: Place { file, offset },
        time,
    })
}

/// The place of the snapshot; the error says why it proves nothing.
fn here(
    position: &Position,
    earlier: &Manifest,
    id: &Identity,
) -> std::result::Result<Place, String> {
    let on = |name: &str| matches!(id.variable(name), Some("ON" | "1"));
    let logs = on("log_slave_updates") || on("log_replica_updates");
    if on("wsrep_on") && !logs {
        return Err(
            "the server is a node of a cluster and does not log what others write".to_owned(),
        );
    }
    // It may have been one at the earlier moment only.
    let sources = !position.sources.is_empty() || !earlier.position.sources.is_empty();
    let applied = id.variable("gtid_slave_pos").is_some_and(|p| !p.is_empty());
    if (sources || applied) && !logs {
        return Err("the server is or was a replica, and does not log what it applies".to_owned());
    }
    if let Some(grant) = position.sources_hidden.as_ref().filter(|_| !logs) {
        return Err(format!(
            "the server does not log what it would apply as a replica, and the account may not see whether it is one ({grant})"
        ));
    }
    if id.variable("slave_run_triggers_for_rbr") == Some("YES") {
        let why = "triggers run on what is replicated without being logged (slave_run_triggers_for_rbr=YES)";
        return Err(why.to_owned());
    }
    match (&position.binlog_file, position.binlog_position) {
        (Some(file), Some(offset)) => Ok(Place {
            file: file.clone(),
            offset,
        }),
        _ => Err("the new snapshot has no place in the binary log".to_owned()),
    }
}

fn lower(schema: &str, table: &str) -> (String, String) {
    (schema.to_lowercase(), table.to_lowercase())
}

/// The tables that foreign keys change along with others, which the log does not say: each with a table that was changed.
fn cascades(conn: &mut Conn, touched: &Touched) -> Result<BTreeMap<(String, String), String>> {
    let rows = conn
        .fetch(
            "SELECT constraint_schema, table_name, unique_constraint_schema, referenced_table_name \
            FROM information_schema.referential_constraints \
            WHERE update_rule NOT IN ('RESTRICT', 'NO ACTION') OR delete_rule NOT IN ('RESTRICT', 'NO ACTION')",
        )
        .map_err(|e| failure::wire("cannot read the foreign keys", e))?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let all: Vec<[String; 4]> = rows
        .iter()
        .map(|row| [0, 1, 2, 3].map(|n| text(row.get(n))))
        .collect();
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut changed: BTreeSet<(String, String)> = touched.tables().cloned().collect();
    loop {
        let before = found.len();
        for [child_schema, child, parent_schema, parent] in &all {
            let key = lower(parent_schema, parent);
            if !changed.contains(&key) && touched.named(parent).is_none() {
                continue;
            }
            let child = lower(child_schema, child);
            changed.insert(child.clone());
            found
                .entry(child)
                .or_insert_with(|| quote::qualified(parent_schema, parent));
        }
        if found.len() == before {
            return Ok(found);
        }
    }
}

/// What identifies each table in the server, by schema and name.
pub type Identities = HashMap<(String, String), String>;

/// Whether it is another table by now, or one that was emptied, exchanged or altered at once; the log does not say so.
fn is_another(then: Option<&String>, now: Option<&String>) -> Option<String> {
    let differs = then.zip(now).is_some_and(|(then, now)| then != now);
    differs.then(|| {
        "it was emptied, exchanged, renamed or altered, and the log does not say so".to_owned()
    })
}

/// Reads what identifies tables: the numbers that InnoDB knows them and their partitions by, and how often they were altered at once.
/// Nothing without the PROCESS privilege.
pub fn identities(conn: &mut Conn, id: &Identity) -> Result<Identities> {
    let versions = match id.mysql_at_least(8, 0, 29) {
        true => "TOTAL_ROW_VERSIONS",
        false => "0",
    };
    let list = match id.mysql_at_least(8, 0, 0) {
        true => "INNODB_TABLES",
        false => "INNODB_SYS_TABLES",
    };
    let sql = format!(
        "SELECT NAME, CONCAT_WS(':', TABLE_ID, SPACE, N_COLS, {versions}) FROM information_schema.{list} ORDER BY NAME"
    );
    let rows = match conn.fetch(&sql) {
        Ok(rows) => rows,
        // It lacks the privilege, or the server has no such list.
        Err(e) if e.code().is_some() => return Ok(Identities::new()),
        Err(e) => return Err(failure::wire("cannot read the list of InnoDB's tables", e)),
    };
    let mut all: HashMap<(String, String), String> = HashMap::new();
    for row in rows {
        let mut cells = row
            .into_iter()
            .flatten()
            .map(|cell| String::from_utf8_lossy(&cell).into_owned());
        let (Some(name), Some(numbers)) = (cells.next(), cells.next()) else {
            continue;
        };
        let Some((schema, table)) = name.split_once('/') else {
            continue;
        };
        // A # in a name is written in another way: here it begins that of a partition.
        let (table, partition) = table.split_once('#').unwrap_or((table, ""));
        let of = innodb::names::of_file_name;
        let text = all.entry((of(schema), of(table))).or_default();
        *text += &format!("{partition}:{numbers};");
    }
    // A table may have thousands of partitions.
    let short = |text: String| {
        FileRecord::of(text.as_bytes())
            .blake3
            .chars()
            .take(32)
            .collect()
    };
    Ok(all
        .into_iter()
        .map(|(name, text)| (name, short(text)))
        .collect())
}

/// When a table was changed last, in seconds since 1970, as far as the server knows.
#[derive(Clone, Copy, Debug)]
struct LastChange {
    /// Its rows. Forgotten when the server starts.
    rows: Option<u64>,
    /// Its definition.
    made: Option<u64>,
}

fn last_changes(conn: &mut Conn) -> Result<HashMap<(String, String), LastChange>> {
    let unread = |e| failure::wire("cannot see when tables were changed", e);
    let rows = conn
        .fetch(
            "SELECT table_schema, table_name, UNIX_TIMESTAMP(update_time), UNIX_TIMESTAMP(create_time) \
            FROM information_schema.tables WHERE table_type <> 'VIEW' \
            AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')",
        )
        .map_err(unread)?;
    let text = |cell: Option<&Option<Vec<u8>>>| -> Option<String> {
        let bytes = cell.and_then(Option::as_deref)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let seconds = |cell: Option<&Option<Vec<u8>>>| -> Option<u64> {
        let whole = text(cell)?;
        whole.split('.').next()?.parse().ok()
    };
    let mut all = HashMap::new();
    for row in rows {
        let (Some(schema), Some(table)) = (text(row.first()), text(row.get(1))) else {
            continue;
        };
        let change = LastChange {
            rows: seconds(row.get(2)),
            made: seconds(row.get(3)),
        };
        all.insert((schema, table), change);
    }
    Ok(all)
}

//! Tables that an earlier dump of the same server holds as they are now: their rows are taken over, and not read again.
//!
//! The binary log between the two snapshots is the proof (`binlog_archive::Touched`): a table whose rows no event changed, which no
//! statement may have changed, and which no foreign key changes along with another one, is what it was. What the log cannot prove is read
//! again, with the reason. Changes that are not in the log at all (`sql_log_bin = 0`) are noticed by what the server says of tables
//! (`server_side`), as long as it runs; after it was started again everything is read.
//!
//! Invariant: when in doubt, a table is read.

mod places;
mod programs;
mod sample;
mod server_side;

pub use server_side::{Identities, identities};

use crate::progress::Ended;
use crate::tables::TableState;
use archive::manifest::{ChunkEntry, Manifest, TableRecord};
use archive::{FileRecord, References};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog_archive::{Place, Touched};
use places::{here, since};
use rows::table_plan::RowChoice;
use run::{Run, failure};
use server::{Identity, Position};
use server_side::{LastChange, cascades, is_another, last_changes, lower};
use std::collections::{BTreeMap, HashMap};
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
    /// How its rows become those of this dump.
    pub rows: EarlierRows,
}

/// How the rows of an earlier dump become those of this one.
#[derive(Clone, Debug)]
pub enum EarlierRows {
    /// It is an archive of its own, which the new one refers to.
    Referred {
        /// Where its data files lie, as far as they are there.
        files: Arc<HashMap<String, Held>>,
        /// Whether a sample of what is taken over is read and compared.
        paranoid: bool,
    },
    /// It is the unfinished part of the same archive, which has ended these tasks: their files stay where they are.
    Unfinished(Arc<TasksByTable>),
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
        if let EarlierRows::Referred { paranoid: true, .. } = self.base.rows {
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
        let (choice, then) = (&table.plan.choice, RowChoice::of_record(record));
        if choice.condition.is_some() || then.condition.is_some() {
            let why = "its rows are chosen by a condition, which may depend on the time or on other tables";
            return Some(why.to_owned());
        }
        if choice.partitions != then.partitions {
            return Some("other partitions of it were chosen".to_owned());
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
        match &self.base.rows {
            EarlierRows::Unfinished(_) => {
                let mut tasks = self.base.tasks_of(table).unwrap_or_default().iter();
                if tasks.any(|task| task.chunks_of(table).is_none()) {
                    return Some("what is there of it does not fit".to_owned());
                }
            }
            EarlierRows::Referred { files, .. } => {
                let there = |chunk: &ChunkEntry| files.contains_key(&chunk.file);
                if !record.chunks.iter().all(there) {
                    return Some("not all of its files are there any more".to_owned());
                }
            }
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
        let EarlierRows::Unfinished(tasks) = &self.rows else {
            return None;
        };
        let of = (table.table.schema.clone(), table.table.name.clone());
        Some(tasks.get(&of).map_or(&[], Vec::as_slice))
    }

    /// Where the files lie that these tables have taken over.
    pub fn references(&self, tables: &[Arc<TableState>]) -> Result<References> {
        let mut references = References::default();
        let EarlierRows::Referred { files, .. } = &self.rows else {
            return Ok(references);
        };
        for name in tables
            .iter()
            .filter_map(|t| t.taken())
            .flat_map(|t| t.files.keys())
        {
            let held = files.get(name).ok_or_else(|| {
                Error::new(Kind::Internal, format!("where {name} lies is not known"))
            })?;
            references.add(&held.directory, &held.stored);
        }
        Ok(references)
    }
}

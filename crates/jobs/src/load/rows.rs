//! Rows into tables: every worker streams one chunk after the other through
//! LOAD DATA LOCAL INFILE, each in a transaction of its own that is committed
//! only when the server counted what the archive counted, without a warning.
//!
//! LOCAL turns errors into warnings and skips what it cannot store; here a
//! warning, a skipped row or another count fails the chunk and rolls it back.

use super::journal::Journal;
use super::schedule::{Schedule, Task};
use crate::failure;
use crate::held::Watch;
use crate::run::Stop;
use archive::chunk::{ChunkReader, Compression, Expected};
use archive::{ArchiveError, RowDigest, RowPlan};
use base::units::{count, printable};
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::Store;
use wire::{Conn, Done};

/// A chunk that is to be loaded.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its file.
    pub file: String,
    /// How it is compressed.
    pub compression: Compression,
    /// Size and digest of the file, where the archive records them.
    pub stored: Option<archive::file::FileRecord>,
    /// Bytes of rows, where known.
    pub raw_bytes: Option<u64>,
    /// Rows, where known.
    pub rows: Option<u64>,
}

/// A table that is being loaded.
#[derive(Debug)]
pub struct Table {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Quoted, qualified.
    pub name: String,
    /// `LOAD DATA …` for each of its chunks.
    pub statement: String,
    /// Its engine has no transactions: a chunk is entered when it is there, and
    /// an interrupted load of it begins anew.
    pub plain: bool,
    /// The columns that it fills.
    pub columns: Vec<String>,
    /// Those of its chunks that are to be loaded, in key order.
    pub chunks: Vec<Chunk>,
    /// Keys to be added behind the rows: clauses to follow `ADD`, a group for each ALTER.
    pub keys: Vec<Vec<String>>,
    /// Rows in all, where the archive says.
    pub rows: Option<u64>,
    /// For an archive without digests: how to take one while the rows pass.
    pub tee: Option<RowPlan>,
    /// The digest taken that way.
    pub digest: Mutex<RowDigest>,
    /// Rows loaded so far.
    pub loaded: AtomicU64,
    /// Chunks not loaded yet.
    pub left: AtomicU64,
}

/// What all workers share.
pub struct Loaders<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// All tables.
    pub tables: &'a [Table],
    /// Which chunk is next.
    pub schedule: &'a Schedule,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Told when a table is done.
    pub observer: &'a dyn Observer,
    /// Where chunks are entered.
    pub journal: &'a Journal,
    /// Whether this load goes on with one that was interrupted.
    pub resuming: bool,
    /// Told where the time goes.
    pub watch: &'a Watch,
}

impl Loaders<'_> {
    /// Works until there is no chunk left.
    pub fn work(&self, conn: &mut Conn, stop: &Stop<'_>) -> Result<()> {
        let mut last = None;
        loop {
            stop.check()?;
            let (table, chunk) = match self.schedule.next(last) {
                Task::Chunk(table, chunk) => (table, chunk),
                Task::Keys(table) => {
                    self.counters.busy.add(1);
                    let t = &self.tables[table];
                    let spell = self.watch.begin(conn);
                    let outcome = add_keys(conn, &t.name, &t.keys, self.resuming);
                    self.watch.end(&spell, conn, &t.name);
                    self.counters.busy.sub(1);
                    outcome?;
                    continue;
                }
                Task::Wait => continue,
                Task::End => return Ok(()),
            };
            last = Some(table);
            self.counters.busy.add(1);
            let t = &self.tables[table];
            let spell = self.watch.begin(conn);
            let outcome = self.chunk(conn, t, &t.chunks[chunk], stop);
            self.watch.end(&spell, conn, &t.name);
            self.counters.busy.sub(1);
            outcome?;
            if t.left.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.table_done(t)?;
            }
            self.schedule.done(table);
        }
    }

    fn table_done(&self, t: &Table) -> Result<()> {
        let loaded = t.loaded.load(Ordering::SeqCst);
        if let Some(rows) = t.rows.filter(|n| *n != loaded) {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "{}: the archive says {} rows, its chunks held {}",
                    printable(&t.name),
                    count(rows),
                    count(loaded)
                ),
            ));
        }
        self.counters.tables.add(1);
        self.observer.event(Event::Table {
            schema: t.schema.clone(),
            table: t.table.clone(),
            rows: loaded,
            bytes: t.chunks.iter().filter_map(|c| c.raw_bytes).sum(),
        });
        Ok(())
    }

    /// Loads a chunk; one that lost a fight over locks was rolled back whole, and is tried again.
    fn chunk(&self, conn: &mut Conn, t: &Table, chunk: &Chunk, stop: &Stop<'_>) -> Result<()> {
        let doing = format!("cannot load {} into {}", chunk.file, t.name);
        let mut tries = 0;
        loop {
            stop.check()?;
            let before = self.counters.bytes.get();
            match self.attempt(conn, t, chunk, &doing, stop) {
                Ok(()) => return Ok(()),
                Err(Failed::Locks(e)) if tries < MOST_TRIES => {
                    tries += 1;
                    // What was sent does not count twice; other workers' bytes make this a little inexact.
                    let sent = chunk
                        .raw_bytes
                        .unwrap_or(0)
                        .min(self.counters.bytes.get() - before);
                    self.counters.bytes.sub(sent);
                    conn.execute("ROLLBACK")
                        .map_err(|e| failure::wire(&doing, e))?;
                    self.observer
                        .event(Event::Waiting(Some(format!("locks in {}: {e}", t.name))));
                    std::thread::sleep(Duration::from_millis(50 * tries));
                    self.observer.event(Event::Waiting(None));
                }
                Err(Failed::Locks(e)) => return Err(failure::wire(&doing, e)),
                Err(Failed::Other(e)) => return Err(e),
            }
        }
    }

    fn enter(&self, conn: &mut Conn, chunk: &Chunk, doing: &str) -> Result<(), Failed> {
        self.journal.enter(conn, &chunk.file).map_err(|e| {
            if is_lock(&e) {
                Failed::Locks(e)
            } else {
                Failed::Other(failure::wire(doing, e))
            }
        })
    }

    fn attempt(
        &self,
        conn: &mut Conn,
        t: &Table,
        chunk: &Chunk,
        doing: &str,
        stop: &Stop<'_>,
    ) -> Result<(), Failed> {
        let expected = Expected {
            stored: chunk.stored.as_ref(),
            raw_bytes: chunk.raw_bytes,
        };
        let reader = ChunkReader::open(self.store, &chunk.file, chunk.compression, expected)
            .map_err(|e| failure::archive(doing, &e))?;
        let mut passing = Passing {
            reader,
            counters: self.counters,
            stop,
            tee: t.tee.as_ref().map(|plan| Tee {
                file: &chunk.file,
                plan,
                line: Vec::new(),
                payload: Vec::new(),
                digest: RowDigest::new(),
            }),
        };
        if !t.plain {
            self.enter(conn, chunk, doing)?;
        }
        failpoint::reached("a chunk is entered");
        let done = match conn.load(&t.statement, &mut passing) {
            Ok(done) => done,
            Err(wire::Error::Source(e)) => {
                return Err(Failed::Other(failure::source(doing, &chunk.file, e)));
            }
            Err(e) if is_lock(&e) => return Err(Failed::Locks(e)),
            Err(e) => return Err(Failed::Other(failure::wire(doing, e))),
        };
        if let Err(e) = checked(conn, doing, &done, &t.columns, chunk.rows) {
            let _ = conn.execute("ROLLBACK");
            return Err(Failed::Other(e));
        }
        let rows = Counts::of(&done).records;
        if let Some(tee) = passing.tee {
            let digest = tee
                .finish(&chunk.file)
                .map_err(|e| failure::archive(doing, &e))?;
            t.digest
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .merge(&digest);
            if !t.plain {
                self.journal
                    .counted(conn, &chunk.file, &digest)
                    .map_err(|e| failure::wire(doing, e))?;
            }
        }
        if t.plain {
            // With GTIDs, MySQL takes the two sorts of engine in two transactions only.
            conn.execute("COMMIT")
                .map_err(|e| failure::wire(doing, e))?;
            self.enter(conn, chunk, doing)?;
        }
        failpoint::reached("a chunk is stored");
        let began = Instant::now();
        conn.execute("COMMIT")
            .map_err(|e| failure::wire(doing, e))?;
        self.watch.committed(began);
        failpoint::reached("a chunk is committed");
        t.loaded.fetch_add(rows, Ordering::SeqCst);
        self.counters.rows.add(rows);
        Ok(())
    }
}

/// Adds the keys of a table whose rows are all there, a group in each ALTER.
pub fn add_keys(
    conn: &mut Conn,
    table: &str,
    groups: &[Vec<String>],
    resuming: bool,
) -> Result<()> {
    for group in groups {
        let clauses: Vec<String> = group.iter().map(|k| format!("ADD {k}")).collect();
        let sql = format!("ALTER TABLE {} {}", table, clauses.join(", "));
        failpoint::reached("keys are about to be added");
        let mut tries = 0;
        loop {
            match conn.execute(&sql) {
                Ok(_) => break,
                // 1061: the load that was interrupted has added them.
                Err(e) if resuming && e.code() == Some(1061) => break,
                // Two ALTERs at once can meet in the server's dictionary.
                Err(e) if is_lock(&e) && tries < MOST_TRIES => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(50 * tries));
                }
                Err(e) => {
                    let doing = format!("cannot add the keys of {}", table);
                    return Err(failure::wire(doing, e));
                }
            }
        }
        failpoint::reached("keys are added");
    }
    Ok(())
}

/// How often a chunk is tried again after it lost a fight over locks.
pub const MOST_TRIES: u64 = 10;

/// A lock wait (1205) or a deadlock (1213): another try may do.
pub fn is_lock(e: &wire::Error) -> bool {
    matches!(e.code(), Some(1205 | 1213))
}

/// Why a chunk was not loaded.
enum Failed {
    /// Another worker, or another client, was in the way; nothing of the chunk is there.
    Locks(wire::Error),
    /// Anything that another try would not mend.
    Other(Error),
}

impl From<Error> for Failed {
    fn from(e: Error) -> Self {
        Failed::Other(e)
    }
}

/// The figures in the text that ends a LOAD DATA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows read.
    pub records: u64,
    deleted: u64,
    skipped: u64,
    warnings: u64,
}

impl Counts {
    /// Reads `Records: 5  Deleted: 0  Skipped: 0  Warnings: 0`; the words are
    /// the server's in its own language, the order of the numbers is not.
    pub fn of(done: &Done) -> Counts {
        let mut numbers = done
            .info
            .split(|c: char| !c.is_ascii_digit())
            .filter(|s| !s.is_empty())
            .map(|s| s.parse::<u64>().unwrap_or(u64::MAX));
        let mut next = || numbers.next();
        match (next(), next(), next(), next()) {
            (Some(records), Some(deleted), Some(skipped), Some(warnings)) => Counts {
                records,
                deleted,
                skipped,
                warnings,
            },
            _ => Counts {
                records: done.affected,
                ..Counts::default()
            },
        }
    }
}

/// Insists that a LOAD DATA stored every row as it was sent; the caller rolls back if not.
pub fn checked(
    conn: &mut Conn,
    doing: &str,
    done: &Done,
    columns: &[String],
    rows: Option<u64>,
) -> Result<()> {
    let counts = Counts::of(done);
    let warnings = counts.warnings.max(u64::from(done.warnings));
    if warnings > 0 || counts.skipped > 0 || counts.deleted > 0 {
        let shown: Vec<String> = conn
            .fetch("SHOW WARNINGS")
            .unwrap_or_default()
            .into_iter()
            .filter_map(|row| row.into_iter().nth(2).flatten())
            .map(|m| printable(&String::from_utf8_lossy(&m)))
            .collect();
        // A generated column is computed by the server, whose own rounding may
        // warn; its value comes from the others, which arrived as they are.
        let computed = counts.skipped == 0
            && counts.deleted == 0
            // A warning that the server no longer shows could be about anything.
            && shown.len() as u64 >= warnings
            && shown
                .iter()
                .all(|m| named_column(m).is_some_and(|c| !columns.contains(&c)));
        if !computed {
            let mut text = format!(
                "{doing}: the server read {} rows, skipped {} and raised {} warning{}; the chunk was rolled back",
                count(counts.records),
                count(counts.skipped),
                count(warnings),
                if warnings == 1 { "" } else { "s" }
            );
            for message in shown.iter().take(5) {
                text += &format!("\n  {message}");
            }
            return Err(Error::new(Kind::Failed, text).hint(
                "rows are named by their number within the chunk; values that the target cannot hold as they are never enter it",
            ));
        }
    }
    if let Some(rows) = rows.filter(|n| *n != counts.records) {
        return Err(Error::new(
            Kind::Failed,
            format!(
                "{doing}: the archive has {} rows, the server counted {}; the chunk was rolled back",
                count(rows),
                count(counts.records)
            ),
        ));
    }
    Ok(())
}

/// The column in `Data truncated for column 'x' at row 5`, which all messages about values share.
fn named_column(message: &str) -> Option<String> {
    let rest = &message[message.rfind("olumn '")? + 7..];
    let end = rest.find("' at row").or_else(|| rest.rfind('\''))?;
    Some(rest[..end].to_owned())
}

/// The bytes of a chunk on their way to the server.
struct Passing<'a> {
    reader: ChunkReader,
    counters: &'a Counters,
    stop: &'a Stop<'a>,
    tee: Option<Tee<'a>>,
}

impl Read for Passing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.asked() {
            return Err(ArchiveError::Interrupted.into());
        }
        let n = self.reader.read(buffer)?;
        self.counters.bytes.add(n as u64);
        if let Some(tee) = &mut self.tee {
            tee.take(&buffer[..n])?;
        }
        Ok(n)
    }
}

/// Takes a digest of rows that pass as lines.
struct Tee<'a> {
    file: &'a str,
    plan: &'a RowPlan,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    payload: Vec<u8>,
    digest: RowDigest,
}

impl Tee<'_> {
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), ArchiveError> {
        // A line can end in any later piece, so the look begins at its start.
        if !self.line.is_empty() {
            let before = self.line.len();
            self.line.extend_from_slice(bytes);
            match archive::row::row_end(&self.line) {
                None => return Ok(()),
                Some(end) => {
                    let line = std::mem::take(&mut self.line);
                    self.row(&line[..end])?;
                    bytes = &bytes[end - before..];
                    self.line = line;
                    self.line.clear();
                }
            }
        }
        while let Some(end) = archive::row::row_end(bytes) {
            self.row(&bytes[..end])?;
            bytes = &bytes[end..];
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// One line with its end.
    fn row(&mut self, line: &[u8]) -> Result<(), ArchiveError> {
        self.payload.clear();
        self.plan
            .decode_row(&line[..line.len() - 1], &mut self.payload)
            .map_err(|source| ArchiveError::Row {
                file: self.file.to_owned(),
                source,
            })?;
        self.digest.add(&self.payload);
        Ok(())
    }

    fn finish(self, file: &str) -> Result<RowDigest, ArchiveError> {
        if self.line.is_empty() {
            Ok(self.digest)
        } else {
            Err(ArchiveError::damaged(file, "ends in the middle of a row"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_their_column() {
        assert_eq!(
            named_column("Data truncated for column 'gross' at row 1").as_deref(),
            Some("gross")
        );
        assert_eq!(
            named_column("Incorrect integer value: 'x' for column `s`.`t`.`a` at row 5"),
            None
        );
        assert_eq!(named_column("Duplicate entry '1' for key 'PRIMARY'"), None);
    }

    #[test]
    fn counts_in_any_language() {
        let done = |info: &str| Done {
            info: info.into(),
            ..Done::default()
        };
        let c = Counts::of(&done("Records: 5  Deleted: 1  Skipped: 2  Warnings: 3"));
        assert_eq!(
            c,
            Counts {
                records: 5,
                deleted: 1,
                skipped: 2,
                warnings: 3
            }
        );
        let c = Counts::of(&done(
            "Datensätze: 7  Gelöscht: 0  Ausgelassen: 0  Warnungen: 0",
        ));
        assert_eq!(c.records, 7);
    }
}

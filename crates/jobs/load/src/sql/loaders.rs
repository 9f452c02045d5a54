//! Rows into tables: every worker streams one piece (a chunk, on MariaDB
//! sometimes all chunks of a table) after the other through
//! LOAD DATA LOCAL INFILE, each in a transaction of its own that is committed
//! only when the server counted what the archive counted, without a warning.
//!
//! LOCAL turns errors into warnings and skips what it cannot store; here a
//! warning, a skipped row or another count fails the chunk and rolls it back.

use super::chunk_stream::{Passing, Tee};
use super::schedule::{Schedule, Task};
use crate::journal::Journal;
use archive::chunk::Compression;
use archive::{RowDigest, RowPlan};
use base::units::{count, printable};
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use run::Stop;
use run::bottleneck::Profiler;
use run::failure;
use std::ops::Range;
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
    /// They go together in one statement and transaction, which MariaDB can take as a bulk insert.
    pub bulk: bool,
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
    pub watch: &'a Profiler,
}

impl Loaders<'_> {
    /// Works until there is no chunk left.
    pub fn work(&self, conn: &mut Conn, stop: &Stop<'_>) -> Result<()> {
        let mut last = None;
        loop {
            stop.check()?;
            let (table, chunks) = match self.schedule.next(last) {
                Task::Chunks(table, chunks) => (table, chunks),
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
            let began = Instant::now();
            let outcome = self.piece(conn, t, chunks.clone(), stop);
            self.watch.end(&spell, conn, &t.name);
            self.counters.busy.sub(1);
            stop.release_slot();
            outcome?;
            let n = chunks.len() as u64;
            if t.left.fetch_sub(n, Ordering::SeqCst) == n {
                self.table_done(t)?;
            }
            self.schedule.done(table, chunks, began.elapsed());
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

    /// Loads a piece; one that lost a fight over locks was rolled back whole, and is tried again.
    fn piece(
        &self,
        conn: &mut Conn,
        t: &Table,
        piece: Range<usize>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let chunks = &t.chunks[piece];
        let doing = match chunks {
            [] => return Ok(()),
            [chunk] => format!("cannot load {} into {}", chunk.file, t.name),
            [first, .., last] => {
                format!("cannot load {} … {} into {}", first.file, last.file, t.name)
            }
        };
        let mut tries = 0;
        let mut bulk = t.bulk;
        if bulk {
            unique_checks(conn, false).map_err(|e| failure::wire(&doing, e))?;
        }
        let outcome = loop {
            stop.check()?;
            let before = self.counters.bytes.get();
            let again = match self.attempt(conn, t, chunks, &doing, stop) {
                Ok(()) => break Ok(()),
                // A bulk insert says no more of a duplicate than this.
                Err(Failed::Server(e)) if bulk && e.code() == Some(1180) => {
                    bulk = false;
                    None
                }
                Err(Failed::Server(e)) if is_lock(&e) && tries < MOST_TRIES => {
                    tries += 1;
                    Some(format!("locks in {}: {e}", t.name))
                }
                Err(Failed::Server(e)) => break Err(failure::wire(&doing, e)),
                Err(Failed::Other(e)) => break Err(e),
            };
            // What was sent does not count twice; other workers' bytes make this a little inexact.
            let sent: u64 = chunks.iter().filter_map(|c| c.raw_bytes).sum();
            let sent = sent.min(self.counters.bytes.get() - before);
            self.counters.bytes.sub(sent);
            conn.execute("ROLLBACK")
                .map_err(|e| failure::wire(&doing, e))?;
            match again {
                None => unique_checks(conn, true).map_err(|e| failure::wire(&doing, e))?,
                Some(locks) => {
                    self.observer.event(Event::Waiting(Some(locks)));
                    std::thread::sleep(Duration::from_millis(50 * tries));
                    self.observer.event(Event::Waiting(None));
                }
            }
        };
        if bulk && outcome.is_ok() {
            unique_checks(conn, true).map_err(|e| failure::wire(&doing, e))?;
        }
        outcome
    }

    fn enter(&self, conn: &mut Conn, chunks: &[Chunk]) -> Result<(), Failed> {
        for chunk in chunks {
            self.journal
                .enter(conn, &chunk.file)
                .map_err(Failed::Server)?;
        }
        Ok(())
    }

    fn attempt(
        &self,
        conn: &mut Conn,
        t: &Table,
        chunks: &[Chunk],
        doing: &str,
        stop: &Stop<'_>,
    ) -> Result<(), Failed> {
        let file = &chunks[0].file;
        let mut passing = Passing {
            store: self.store,
            chunks: chunks.iter(),
            reader: None,
            counters: self.counters,
            stop,
            tee: t.tee.as_ref().map(|plan| Tee::new(file, plan)),
        };
        passing.open().map_err(|e| failure::archive(doing, &e))?;
        if !t.plain {
            self.enter(conn, chunks)?;
        }
        failpoint::reached("a chunk is entered");
        let done = match conn.load(&t.statement, &mut passing) {
            Ok(done) => done,
            Err(wire::Error::Source(e)) => {
                return Err(Failed::Other(failure::source(doing, file, e)));
            }
            Err(e) => return Err(Failed::Server(e)),
        };
        let expected: Option<u64> = chunks.iter().map(|c| c.rows).sum();
        if let Err(e) = checked(conn, doing, &done, &t.columns, expected) {
            let _ = conn.execute("ROLLBACK");
            return Err(Failed::Other(e));
        }
        let rows = Counts::of(&done).records;
        if let Some(tee) = passing.tee {
            let digest = tee.finish(file).map_err(|e| failure::archive(doing, &e))?;
            t.digest
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .merge(&digest);
            if !t.plain {
                self.journal
                    .counted(conn, file, &digest)
                    .map_err(Failed::Server)?;
            }
        }
        if t.plain {
            // With GTIDs, MySQL takes the two sorts of engine in two transactions only.
            conn.execute("COMMIT").map_err(Failed::Server)?;
            self.enter(conn, chunks)?;
        }
        failpoint::reached("a chunk is stored");
        let began = Instant::now();
        conn.execute("COMMIT").map_err(Failed::Server)?;
        self.watch.committed(began);
        failpoint::reached("a chunk is committed");
        t.loaded.fetch_add(rows, Ordering::SeqCst);
        self.counters.rows.add(rows);
        Ok(())
    }
}

/// With this and the foreign key checks off, MariaDB sorts what a statement
/// inserts into an empty table, and writes pages instead of rows.
pub fn unique_checks(conn: &mut Conn, on: bool) -> Result<(), wire::Error> {
    conn.execute(format!("SET SESSION unique_checks = {}", u8::from(on)))
        .map(drop)
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
    /// The server refused, perhaps for locks; the transaction is to be rolled back.
    Server(wire::Error),
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

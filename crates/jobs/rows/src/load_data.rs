//! The LOAD DATA executor that every job shares which stores rows: one transaction for a piece of a table's
//! rows, tried again after a lock conflict, committed only when the server counted what was sent, without a
//! warning.
//!
//! LOCAL turns errors into warnings and skips rows that it cannot store. Invariant: a warning, a skipped
//! row or another count rolls the piece back ([`stored`]). What a transaction consists of is the caller's:
//! the `attempt` of [`Executor::run`] sends the rows, enters them in a journal if there is one, and
//! commits. It is a type parameter, so that no call in the row path is virtual.

use base::units::{count, printable};
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use run::{Stop, failure};
use std::time::Duration;
use wire::{Conn, Done};

/// How often a piece is tried again after a lock conflict.
const MOST_TRIES: u64 = 10;

/// Longer after each try.
const PAUSE: Duration = Duration::from_millis(50);

/// Why an attempt failed.
#[derive(Debug)]
pub enum Failed {
    /// The server refused a statement, perhaps because of locks; the transaction has to be rolled back.
    Server(wire::Error),
    /// Another attempt would not help.
    Other(Error),
}

impl From<wire::Error> for Failed {
    fn from(e: wire::Error) -> Self {
        Failed::Server(e)
    }
}

impl From<Error> for Failed {
    fn from(e: Error) -> Self {
        Failed::Other(e)
    }
}

/// Stores one piece of a table's rows.
pub struct Executor<'a> {
    /// Quoted, qualified table.
    pub table: &'a str,
    /// What errors begin with.
    pub doing: &'a str,
    /// MariaDB may take the piece as a bulk insert, see [`unique_checks`].
    pub bulk: bool,
    /// Bytes that an attempt counts while it sends them: a failed attempt's are taken off again.
    pub sent: u64,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Receives what a worker waits for.
    pub observer: &'a dyn Observer,
    /// Ends the tries.
    pub stop: &'a Stop<'a>,
}

impl Executor<'_> {
    /// Runs `attempt` until it has committed; after a lock conflict, rolls back and tries again.
    pub fn run<T>(
        &self,
        conn: &mut Conn,
        mut attempt: impl FnMut(&mut Conn) -> Result<T, Failed>,
    ) -> Result<T> {
        let failed = |e| failure::wire(self.doing, e);
        let mut tries = 0;
        let mut bulk = self.bulk;
        if bulk {
            unique_checks(conn, false).map_err(failed)?;
        }
        let done = loop {
            self.stop.check()?;
            let before = self.counters.bytes.get();
            let locks = match attempt(conn) {
                Ok(done) => break done,
                // A bulk insert says no more of a duplicate than this: row by row, the server names it.
                Err(Failed::Server(e)) if bulk && e.code() == Some(1180) => {
                    bulk = false;
                    None
                }
                Err(Failed::Server(e)) if is_lock(&e) && tries < MOST_TRIES => {
                    tries += 1;
                    Some(format!("locks in {}: {e}", self.table))
                }
                Err(Failed::Server(e)) => return Err(failed(e)),
                Err(Failed::Other(e)) => return Err(e),
            };
            // What was sent does not count twice; other workers' bytes make this a little inexact.
            let sent = self.counters.bytes.get().saturating_sub(before);
            self.counters.bytes.sub(sent.min(self.sent));
            conn.execute("ROLLBACK").map_err(failed)?;
            match locks {
                None => unique_checks(conn, true).map_err(failed)?,
                Some(locks) => {
                    self.observer.event(Event::Waiting(Some(locks)));
                    std::thread::sleep(PAUSE * tries as u32);
                    self.observer.event(Event::Waiting(None));
                }
            }
        };
        if bulk {
            unique_checks(conn, true).map_err(failed)?;
        }
        Ok(done)
    }
}

/// With these and the foreign key checks off, MariaDB sorts what a statement
/// inserts into an empty table, and writes pages instead of rows.
fn unique_checks(conn: &mut Conn, on: bool) -> Result<(), wire::Error> {
    conn.execute(format!("SET SESSION unique_checks = {}", u8::from(on)))
        .map(drop)
}

/// Adds indexes to a table whose rows are all stored; each group of clauses is one ALTER. `resuming`: the
/// interrupted load may have added some.
pub fn add_indexes(
    conn: &mut Conn,
    table: &str,
    groups: &[Vec<String>],
    resuming: bool,
) -> Result<()> {
    for group in groups {
        match add_keys(conn, table, group, is_lock) {
            // 1061: the interrupted load has added them.
            Err(e) if resuming && e.code() == Some(1061) => {}
            Err(e) => {
                let doing = format!("cannot add the indexes of {table}");
                return Err(failure::wire(doing, e));
            }
            Ok(()) => {}
        }
        failpoint::reached("keys are added");
    }
    Ok(())
}

/// Adds keys to a table with one ALTER. Two of them at once can conflict in the server's dictionary: it is tried again after an error
/// that is `passing`.
pub fn add_keys(
    conn: &mut Conn,
    table: &str,
    keys: &[String],
    passing: fn(&wire::Error) -> bool,
) -> Result<(), wire::Error> {
    let clauses: Vec<String> = keys.iter().map(|k| format!("ADD {k}")).collect();
    let sql = format!("ALTER TABLE {} {}", table, clauses.join(", "));
    failpoint::reached("keys are about to be added");
    let mut tries = 0;
    loop {
        match conn.execute(&sql) {
            Err(e) if passing(&e) && tries < MOST_TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE * tries as u32);
            }
            outcome => return outcome.map(drop),
        }
    }
}

/// A lock wait timeout (1205) or a deadlock (1213): another try may succeed.
fn is_lock(e: &wire::Error) -> bool {
    matches!(e.code(), Some(1205 | 1213))
}

/// The figures in the text that ends a LOAD DATA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Rows read.
    records: u64,
    deleted: u64,
    skipped: u64,
    warnings: u64,
}

impl Counts {
    /// Reads `Records: 5  Deleted: 0  Skipped: 0  Warnings: 0`; the words are in the server's language, the
    /// order of the numbers is always the same.
    fn of(done: &Done) -> Counts {
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

/// Checks that a LOAD DATA stored every row as it was sent, and rolls back if not. `columns` are those that
/// it fills with values; `expected` are the rows that were sent, where that is known. Returns the rows that
/// the server counted.
pub fn stored(
    conn: &mut Conn,
    doing: &str,
    done: &Done,
    columns: &[String],
    expected: Option<u64>,
) -> Result<u64, Failed> {
    let counts = Counts::of(done);
    match checked(conn, doing, done, counts, columns, expected) {
        Ok(()) => Ok(counts.records),
        Err(e) => {
            let _ = conn.execute("ROLLBACK");
            Err(Failed::Other(e))
        }
    }
}

fn checked(
    conn: &mut Conn,
    doing: &str,
    done: &Done,
    counts: Counts,
    columns: &[String],
    expected: Option<u64>,
) -> Result<()> {
    let warnings = counts.warnings.max(u64::from(done.warnings));
    if warnings > 0 || counts.skipped > 0 || counts.deleted > 0 {
        // Those that cannot be read could be about anything.
        let shown = warnings_about_values(conn, warnings)
            .unwrap_or_else(|e| vec![format!("its warnings cannot be read: {e}")]);
        // The server computes a generated column, and its own rounding may warn; the column's value comes
        // from the others, which arrived as they are.
        let computed = counts.skipped == 0
            && counts.deleted == 0
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
                "row numbers count within the chunk; values that the target cannot store unchanged are never stored",
            ));
        }
    }
    if let Some(rows) = expected.filter(|n| *n != counts.records) {
        return Err(Error::new(
            Kind::Failed,
            format!(
                "{doing}: expected {} rows, the server counted {}; the chunk was rolled back",
                count(rows),
                count(counts.records)
            ),
        ));
    }
    Ok(())
}

/// Warnings of MySQL that something is written in a deprecated way and has its value all the same: in general (1287, 1681),
/// utf8mb3 (3719), `N'…'` (3720), delimiters in dates and times (4095, 4096).
const DEPRECATED: [&[u8]; 6] = [b"1287", b"1681", b"3719", b"3720", b"4095", b"4096"];

/// The warnings of the last statement that may be about its values, of so many that it raised.
pub fn warnings_about_values(conn: &mut Conn, raised: u64) -> Result<Vec<String>, wire::Error> {
    let rows = conn.fetch("SHOW WARNINGS")?;
    let (all, mut left) = (rows.len() as u64, Vec::new());
    for row in rows {
        let mut cells = row.into_iter().skip(1).map(Option::unwrap_or_default);
        let (code, message) = (
            cells.next().unwrap_or_default(),
            cells.next().unwrap_or_default(),
        );
        if !DEPRECATED.contains(&&code[..]) {
            left.push(printable(&String::from_utf8_lossy(&message)));
        }
    }
    // One that the server does not show could be about anything.
    if all < raised {
        left.push(format!(
            "the server shows {} of {} warnings",
            count(all),
            count(raised)
        ));
    }
    Ok(left)
}

/// The column in `Data truncated for column 'x' at row 5`; all messages about values have this form.
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

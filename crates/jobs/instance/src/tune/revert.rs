//! Puts back what a journal says was changed, in reverse.
//!
//! A value is put back only where the server still has the one that we set.
//! What somebody else has changed meanwhile is theirs, and is named. A server
//! that was started again has forgotten its variables by itself, and must not
//! be told old values; only MySQL's redo log stays off over a restart.

use super::journal::{Entry, Journal, Record};
use super::settings::{BUFFER_POOL, REDO_LOG, same};
use base::Result;
use run::failure;
use server::quote;
use std::time::{Duration, Instant};
use wire::Conn;

/// How long a buffer pool may take to reach its size before we go on.
const RESIZE: Duration = Duration::from_secs(60);

/// What to do about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It has its old value.
    Back,
    /// It has ours: give it its old one.
    PutBack,
    /// The server was started again and has the value of its own configuration.
    Restarted,
    /// It has neither: somebody else changed it.
    Foreign,
}

/// Decides from what the server says now.
pub fn decide(entry: &Entry, found: &str, restarted: bool) -> Decision {
    if same(found, &entry.before) {
        Decision::Back
    } else if restarted && entry.setting != REDO_LOG {
        Decision::Restarted
    } else if same(found, &entry.wanted) || entry.during.as_deref().is_some_and(|d| same(found, d))
    {
        Decision::PutBack
    } else {
        Decision::Foreign
    }
}

/// What came of putting back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Settings with the value that they have again.
    pub back: Vec<(String, String)>,
    /// Settings that somebody else changed: name, our value, the value found.
    pub foreign: Vec<(String, String, String)>,
    /// Settings that could not be put back, with the server's reason.
    pub failed: Vec<(String, String)>,
}

/// Puts back everything in the journal. An error means that the connection is
/// gone or the journal cannot be written; calling again goes on.
pub fn revert(conn: &mut Conn, journal: &mut Journal, outcome: &mut Outcome) -> Result<()> {
    outcome.failed.clear();
    let restarted = restarted(conn, journal)?;
    for entry in journal.entries.clone().into_iter().rev() {
        let name = &entry.setting;
        let Some(found) = read(conn, name)? else {
            // A server that no longer has the setting has been replaced by another version.
            settle(journal, name, "")?;
            continue;
        };
        let decision = decide(&entry, &found, restarted);
        let settled = match decision {
            Decision::Back | Decision::Restarted => found,
            Decision::Foreign => {
                let ours = entry.during.clone().unwrap_or_else(|| entry.wanted.clone());
                outcome.foreign.push((name.clone(), ours, found.clone()));
                found
            }
            Decision::PutBack => match set(conn, name, &entry.before) {
                Ok(()) => settled_value(conn, name, &entry.before)?,
                Err(e) if e.code().is_some() => {
                    outcome
                        .failed
                        .push((name.clone(), base::units::printable(&e.to_string())));
                    continue;
                }
                Err(e) => return Err(failure::wire(format_args!("cannot put {name} back"), e)),
            },
        };
        settle(journal, name, &settled)?;
        if decision != Decision::Foreign {
            outcome.back.push((entry.setting, settled));
        }
    }
    Ok(())
}

fn settle(journal: &mut Journal, name: &str, found: &str) -> Result<()> {
    journal.add(Record::Settled {
        setting: name.to_owned(),
        found: found.to_owned(),
    })
}

/// Whether the server was started again since the journal began.
pub fn restarted(conn: &mut Conn, journal: &Journal) -> Result<bool> {
    let now = started(conn)?;
    // The two readings of the clock may be a second apart.
    Ok(journal
        .begin
        .as_ref()
        .is_some_and(|(s, _)| (now - s.started).abs() > 2))
}

/// When the server started, by its own clock, in seconds since 1970.
pub fn started(conn: &mut Conn) -> Result<i64> {
    let number = |cell: Option<String>| cell.and_then(|v| v.parse::<f64>().ok()).map(|v| v as i64);
    let now = number(cell(conn, "SELECT UNIX_TIMESTAMP()", 0)?);
    let up = number(cell(conn, "SHOW GLOBAL STATUS LIKE 'Uptime'", 1)?);
    Ok(now.unwrap_or(0) - up.unwrap_or(0))
}

/// The value of a setting; `None` if the server has no such setting.
pub fn read(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    if name == REDO_LOG {
        return cell(conn, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'", 1);
    }
    let sql = format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name = {}",
        quote::text(name)
    );
    cell(conn, &sql, 1)
}

/// Sends the statement that gives a setting its value, for as long as this server runs.
pub fn set(conn: &mut Conn, name: &str, value: &str) -> wire::Result<()> {
    if name == REDO_LOG {
        let word = if same(value, "ON") {
            "ENABLE"
        } else {
            "DISABLE"
        };
        return conn
            .execute(format!("ALTER INSTANCE {word} INNODB REDO_LOG"))
            .map(drop);
    }
    let literal = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        value.to_owned()
    } else {
        quote::text(value)
    };
    let sql = format!("SET GLOBAL {} = {literal}", quote::ident(name));
    let end = Instant::now() + RESIZE;
    loop {
        match conn.execute(&sql) {
            // A pool that is being resized takes no other size before it is done.
            Err(e)
                if name == BUFFER_POOL
                    && e.code().is_some()
                    && Instant::now() < end
                    && e.code() != Some(1227) =>
            {
                std::thread::sleep(Duration::from_millis(200));
            }
            outcome => return outcome.map(drop),
        }
    }
}

/// The value of a setting that was just set: the buffer pool takes its time.
pub fn settled_value(conn: &mut Conn, name: &str, wanted: &str) -> Result<String> {
    let end = Instant::now() + RESIZE;
    loop {
        let found = read(conn, name)?.unwrap_or_default();
        if name != BUFFER_POOL || same(&found, wanted) || Instant::now() > end {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn cell(conn: &mut Conn, sql: &str, at: usize) -> Result<Option<String>> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot read the server's settings", e))?;
    let cell = rows
        .into_iter()
        .next()
        .and_then(|r| r.into_iter().nth(at))
        .flatten();
    Ok(cell.map(|v| String::from_utf8_lossy(&v).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, before: &str, wanted: &str, during: Option<&str>) -> Entry {
        Entry {
            setting: name.into(),
            before: before.into(),
            wanted: wanted.into(),
            during: during.map(str::to_owned),
        }
    }

    #[test]
    fn only_our_own_value_is_put_back() {
        let e = entry("sync_binlog", "1", "0", Some("0"));
        assert_eq!(decide(&e, "0", false), Decision::PutBack);
        assert_eq!(decide(&e, "1", false), Decision::Back);
        assert_eq!(decide(&e, "100", false), Decision::Foreign);
        // The process ended before it could look: what was wanted is still ours.
        assert_eq!(
            decide(&entry("sync_binlog", "1", "0", None), "0", false),
            Decision::PutBack
        );
        // What the server made of it is ours, too.
        let rounded = entry("innodb_io_capacity", "200", "999", Some("1000"));
        assert_eq!(decide(&rounded, "1000", false), Decision::PutBack);
        let word = entry("local_infile", "OFF", "ON", None);
        assert_eq!(decide(&word, "1", false), Decision::PutBack);
        assert_eq!(decide(&word, "0", false), Decision::Back);
    }

    #[test]
    fn a_restart_settles_variables_but_not_the_redo_log() {
        let e = entry("sync_binlog", "1", "0", Some("0"));
        assert_eq!(decide(&e, "0", true), Decision::Restarted);
        assert_eq!(decide(&e, "100", true), Decision::Restarted);
        let redo = entry(REDO_LOG, "ON", "OFF", None);
        assert_eq!(decide(&redo, "OFF", true), Decision::PutBack);
        assert_eq!(decide(&redo, "ON", true), Decision::Back);
    }
}

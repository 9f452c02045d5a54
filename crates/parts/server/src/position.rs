//! Where the binary log stands: the point from which a copy made now can be
//! carried forward.
//!
//! The answer belongs to a snapshot only when it is read while writes are kept
//! out; taking and holding that lock is the caller's business. A server without
//! a binary log has no position, and that is not an error.
//!
//! On a replica the sources' coordinates belong to it too: its own log may hold
//! none of the changes that it applies.

mod sources;

pub use sources::SourcePosition;

use crate::ask::{Answer, ask};
use crate::{Error, Identity, Result};
use wire::Conn;

/// A point in a server's stream of changes; fields are `None` where the server has no such thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Name of the current binary log file.
    pub binlog_file: Option<String>,
    /// Offset in it, in bytes.
    pub binlog_position: Option<u64>,
    /// The server's clock then, in seconds since 1970: after a reset of the log it tells a file from another of the same name.
    pub server_time: Option<u64>,
    /// MySQL: the set of all transactions executed.
    pub gtid_executed: Option<String>,
    /// MariaDB: last transaction of each domain in the binary log.
    pub gtid_binlog_pos: Option<String>,
    /// MariaDB: last transaction of each domain that was applied as a replica.
    pub gtid_slave_pos: Option<String>,
    /// On a replica, where it stands in the logs of its sources, a place for each channel.
    pub sources: Vec<SourcePosition>,
    /// The statement that lets the account see `sources`, if it may not.
    pub sources_hidden: Option<String>,
    /// The statement that lets the account see file and offset, if it may not.
    pub log_hidden: Option<String>,
    /// Which schemas alone are logged, or not, as the server is configured; none if all are.
    pub log_filter: Option<String>,
}

impl Position {
    /// Reads the position; the session must see text as utf8mb4 or binary.
    pub fn read(conn: &mut Conn, identity: &Identity) -> Result<Position> {
        let mut position = Position::default();
        // First: this waits until the applier has noted what it has committed.
        position.read_sources(conn, identity)?;
        if identity.is_mariadb() {
            position.gtid_slave_pos = variable(conn, identity, "gtid_slave_pos")?;
        }
        if identity.log_bin {
            position.read_file(conn, identity)?;
        }
        position.read_gtids(conn, identity)?;
        Ok(position)
    }

    /// Reads where the server's own log stands, as far as the account may see it, and asks no source.
    pub fn read_log(conn: &mut Conn, identity: &Identity) -> Result<Position> {
        let mut position = Position::default();
        if identity.log_bin {
            match position.read_file(conn, identity) {
                Err(Error::Privilege { grant, .. }) => position.log_hidden = Some(grant),
                other => other?,
            }
        }
        position.read_gtids(conn, identity)?;
        Ok(position)
    }

    /// Adds the places in the logs of the sources, none of them exact: commits go on while they are read.
    pub fn add_sources(&mut self, conn: &mut Conn, identity: &Identity) -> Result<()> {
        self.read_sources(conn, identity)?;
        for source in &mut self.sources {
            source.exact = false;
        }
        Ok(())
    }

    fn read_sources(&mut self, conn: &mut Conn, identity: &Identity) -> Result<()> {
        let sources = sources::read(conn, identity)?;
        self.sources = sources.all;
        self.sources_hidden = sources.hidden.map(|privilege| grant(conn, privilege));
        Ok(())
    }

    fn read_gtids(&mut self, conn: &mut Conn, identity: &Identity) -> Result<()> {
        if identity.is_mariadb() {
            self.gtid_binlog_pos = variable(conn, identity, "gtid_binlog_pos")?;
        } else if self.gtid_executed.is_none() {
            // Kept even with the binary log off: the server has executed them all the same.
            self.gtid_executed = variable(conn, identity, "gtid_executed")?;
        }
        Ok(())
    }

    /// Whether there is anything to go on from.
    pub fn is_empty(&self) -> bool {
        *self == Position::default()
    }

    fn read_file(&mut self, conn: &mut Conn, identity: &Identity) -> Result<()> {
        // The new name came with 8.2, the old one left with 8.4.
        let sql = if identity.mysql_at_least(8, 2, 0) {
            "SHOW BINARY LOG STATUS"
        } else {
            "SHOW MASTER STATUS"
        };
        let answer = match ask(conn, "binary log position", sql) {
            Err(Error::Wire { what, source }) if source.code() == Some(1227) => {
                return Err(Error::Privilege {
                    what,
                    grant: grant(conn, needed(identity)),
                });
            }
            other => other?,
        };
        self.take(&answer)?;
        if self.binlog_file.is_some() {
            let answer = ask(conn, "clock", "SELECT UNIX_TIMESTAMP()")?;
            self.server_time = answer.first().and_then(|row| row.number(0));
        }
        Ok(())
    }

    fn take(&mut self, answer: &Answer) -> Result<()> {
        let Some(row) = answer.first() else {
            return Ok(());
        };
        self.binlog_file = row.text(answer.need(&["File"])?);
        self.binlog_position = row.number(answer.need(&["Position"])?);
        for name in ["Binlog_Do_DB", "Binlog_Ignore_DB"] {
            let schemas = answer.find(&[name]).and_then(|at| row.text(at));
            if let Some(schemas) = schemas.filter(|s| !s.is_empty()) {
                let option = name.to_lowercase().replace('_', "-");
                self.log_filter = Some(format!("{option}={schemas}"));
            }
        }
        if let Some(at) = answer.find(&["Executed_Gtid_Set"]) {
            self.gtid_executed = row.text(at).map(|t| one_line(&t)).filter(|t| !t.is_empty());
        }
        Ok(())
    }
}

/// The privilege that lets an account read the position.
pub(crate) fn needed(identity: &Identity) -> &'static str {
    if identity.mariadb_at_least(10, 5, 2) {
        "BINLOG MONITOR"
    } else {
        "REPLICATION CLIENT"
    }
}

fn grant(conn: &mut Conn, privilege: &str) -> String {
    let account = account(conn).unwrap_or_else(|| "CURRENT_USER()".into());
    format!("GRANT {privilege} ON *.* TO {account}")
}

/// The account that is logged in, quoted for a GRANT; `None` if even that fails.
pub(crate) fn account(conn: &mut Conn) -> Option<String> {
    let answer = ask(conn, "current account", "SELECT CURRENT_USER()").ok()?;
    let text = answer.first()?.text(0)?;
    let (user, host) = text.rsplit_once('@')?;
    Some(crate::quote::account(user, host))
}

/// A global variable with a list of GTIDs; `None` if it is empty, or the server has no such variable.
pub fn variable(conn: &mut Conn, identity: &Identity, name: &str) -> Result<Option<String>> {
    if !identity.has_variable(name) {
        return Ok(None);
    }
    let answer = ask(conn, name, &format!("SELECT @@GLOBAL.{name}"))?;
    Ok(answer
        .first()
        .and_then(|r| r.text(0))
        .map(|t| one_line(&t))
        .filter(|t| !t.is_empty()))
}

/// MySQL breaks a long GTID set over lines, for people.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gtid_set_over_lines_is_joined() {
        assert_eq!(one_line("a:1-5,\nb:1-2:tag:4"), "a:1-5,b:1-2:tag:4");
        assert!(Position::default().is_empty());
    }
}

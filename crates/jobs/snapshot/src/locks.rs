//! The locks of a snapshot, on two connections: definitions for as long as files are cloned one by one, commits for
//! the moment that the position belongs to.
//!
//! | | definitions | commits |
//! |---|---|---|
//! | MySQL 8 and later | `LOCK INSTANCE FOR BACKUP` | `FLUSH TABLES WITH READ LOCK` |
//! | MariaDB 10.4 and later | `BACKUP STAGE BLOCK_DDL` | `BACKUP STAGE BLOCK_COMMIT` |
//! | older | | `FLUSH TABLES WITH READ LOCK` |
//!
//! While commits are locked, no transaction is between its preparation and its commit, and tables without transactions
//! are not written to. Invariant: whatever happens, the locks go with the connections.

use crate::manifest::Locked;
use base::{Error, Kind, Result, failpoint};
use run::read_lock::{self, Waits};
use run::{Run, connect, failure};
use server::{Identity, Position, Privileges, session};
use std::time::{Duration, Instant};
use wire::Conn;

/// The connections, and what is locked.
pub(crate) struct Locks<'a> {
    run: &'a Run,
    /// The server.
    pub(crate) id: &'a Identity,
    lock: Conn,
    control: Conn,
    end: Instant,
    wait: Duration,
    definitions: Option<Instant>,
    commits: Option<Instant>,
    /// What was locked so far.
    pub(crate) locked: Locked,
}

impl<'a> Locks<'a> {
    /// Opens the second connection, and refuses an account that may not lock.
    pub(crate) fn new(
        run: &'a Run,
        mut control: Conn,
        id: &'a Identity,
        server: &wire::Options,
        wait: Duration,
    ) -> Result<Locks<'a>> {
        let mut lock = connect::connection(run, server)?;
        for conn in [&mut control, &mut lock] {
            connect::prepared(session::for_catalog(conn, id))?;
        }
        let account = Privileges::read(&mut control, id)
            .map_err(|e| failure::server("cannot read the account's privileges", e))?;
        let missing = account.missing_for_snapshot(id);
        if !missing.is_empty() {
            let what = format!(
                "account {} lacks privileges that this snapshot needs",
                account.account
            );
            return Err(Error::new(Kind::Privilege, what).hint(missing.join(";\n") + ";"));
        }
        Ok(Locks {
            run,
            id,
            lock,
            control,
            end: Instant::now() + wait,
            wait,
            definitions: None,
            commits: None,
            locked: Locked::default(),
        })
    }

    fn staged(&self) -> bool {
        self.id.mariadb_at_least(10, 4, 1)
    }

    /// Whether the time that was given for waiting is over.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.end
    }

    fn left(&self) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        left.clamp(Duration::from_secs(1), self.wait)
    }

    /// Keeps changes of definitions out.
    pub(crate) fn lock_definitions(&mut self) -> Result<()> {
        let asked = Instant::now();
        let (run, left) = (self.run, self.left());
        if self.staged() {
            let attempt = |conn: &mut Conn, _| {
                conn.execute("BACKUP STAGE START")?;
                let outcome = conn.execute("BACKUP STAGE BLOCK_DDL");
                if outcome.is_err() {
                    let _ = conn.execute("BACKUP STAGE END");
                }
                outcome.map(drop)
            };
            let what = ("BACKUP STAGE BLOCK_DDL", "snapshot");
            read_lock::attempts(run, &mut self.lock, left, Waits::InTurn, what, attempt)?;
        } else {
            let attempt = |conn: &mut Conn, _| conn.execute("LOCK INSTANCE FOR BACKUP").map(drop);
            let what = ("the backup lock", "snapshot");
            read_lock::attempts(run, &mut self.control, left, Waits::InTurn, what, attempt)?;
        }
        self.locked.waited_ms += ms(asked);
        self.definitions = Some(Instant::now());
        failpoint::reached("definitions are locked");
        Ok(())
    }

    /// Keeps commits out, and writes to tables without transactions; what was committed is on the disk then.
    pub(crate) fn lock_commits(&mut self) -> Result<()> {
        // What is flushed now is not waited for by others later.
        self.flush_logs()?;
        let asked = Instant::now();
        let run = self.run;
        if self.definitions.is_some() && self.staged() {
            let attempt = |conn: &mut Conn, _| conn.execute("BACKUP STAGE BLOCK_COMMIT").map(drop);
            let (left, what) = (self.left(), ("the read lock", "snapshot"));
            read_lock::attempts(run, &mut self.lock, left, Waits::InTurn, what, attempt)?;
        } else {
            // A statement that waits for our lock of definitions may be what the read lock waits for: then both have
            // to be let go, and that is our caller's business.
            let most = match self.definitions {
                Some(_) => self.left().min(Duration::from_secs(5)),
                None => self.left(),
            };
            let (staged, who) = (self.staged(), "snapshot");
            read_lock::acquire(run, &mut self.lock, &mut self.control, most, staged, who)?;
        }
        self.locked.waited_ms += ms(asked);
        self.commits = Some(Instant::now());
        failpoint::reached("commits are locked");
        // With innodb_flush_log_at_trx_commit other than 1 the last commits may not be in the log file yet.
        self.flush_logs()?;
        self.until_written()
    }

    /// Waits until everything that was logged before is in the log's file. With `innodb_flush_log_at_trx_commit = 0`
    /// MariaDB does nothing when it is told to flush its log, and writes it once a second
    /// (`innodb_flush_log_at_timeout`).
    fn until_written(&mut self) -> Result<()> {
        const MOST: Duration = Duration::from_secs(10);
        let (current, flushed) = match self.id.is_mariadb() {
            true => ("Innodb_lsn_current", "Innodb_lsn_flushed"),
            false => (
                "Innodb_redo_log_current_lsn",
                "Innodb_redo_log_flushed_to_disk_lsn",
            ),
        };
        let Some(wanted) = self.status(current)? else {
            return Ok(());
        };
        let end = Instant::now() + MOST;
        while self.status(flushed)?.is_some_and(|lsn| lsn < wanted) {
            self.run.check()?;
            if Instant::now() > end {
                let what = "the server does not write its redo log while commits are locked";
                return Err(Error::new(Kind::Lock, what).hint(
                    "nothing is locked any more; set innodb_flush_log_at_trx_commit to 1 or 2, and innodb_flush_log_at_timeout to 1",
                ));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn flush_logs(&mut self) -> Result<()> {
        self.lock
            .execute("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")
            .map_err(|e| failure::wire("cannot flush the redo log", e))?;
        Ok(())
    }

    /// The place in the binary log; commits must be locked.
    pub(crate) fn position(&mut self) -> Result<Position> {
        Position::read(&mut self.lock, self.id)
            .map_err(|e| failure::server("cannot read the binary log position", e))
    }

    /// A number that the server shows as its status.
    pub(crate) fn status(&mut self, name: &str) -> Result<Option<u64>> {
        let rows = self
            .lock
            .fetch(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .map_err(|e| failure::wire("cannot read the server's status", e))?;
        let text = rows.first().and_then(|r| r.get(1)).and_then(Option::as_ref);
        Ok(text.and_then(|t| String::from_utf8_lossy(t).parse().ok()))
    }

    /// Lets everybody go on.
    pub(crate) fn release(&mut self) -> Result<()> {
        let mut failed = None;
        let mut say = |conn: &mut Conn, sql: &str| {
            if let Err(e) = conn.execute(sql) {
                failed.get_or_insert(failure::wire(sql, e));
            }
        };
        if self.staged() {
            if self.commits.is_some() || self.definitions.is_some() {
                say(&mut self.lock, "BACKUP STAGE END");
            }
        } else {
            if self.commits.is_some() {
                say(&mut self.lock, "UNLOCK TABLES");
            }
            if self.definitions.is_some() {
                say(&mut self.control, "UNLOCK INSTANCE");
            }
        }
        if let Some(since) = self.commits.take() {
            self.locked.commits_ms += ms(since);
        }
        if let Some(since) = self.definitions.take() {
            self.locked.definitions_ms += ms(since);
        }
        failed.map_or(Ok(()), Err)
    }

    /// What the locks are called.
    pub(crate) fn mode(&self, definitions: bool) -> String {
        let (first, second) = if self.staged() {
            ("BACKUP STAGE BLOCK_DDL", "BACKUP STAGE BLOCK_COMMIT")
        } else {
            ("LOCK INSTANCE FOR BACKUP", "FLUSH TABLES WITH READ LOCK")
        };
        match definitions {
            true => format!("{first}, at the end {second}"),
            false => second.to_owned(),
        }
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

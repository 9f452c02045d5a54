//! The server that is loaded into: its connections, each in a known session, and the lock that keeps other
//! loads away.

use crate::earlier_accounts::EarlierAccounts;
use crate::load_report::LoadReport;
use crate::options::Options;
use archive::FileRecord;
use base::units::printable;
use base::{Error, Kind, Result};
use instance::recover;
use instance::tune::{self, LoadProfile, Tuning};
use run::Run;
use run::connect;
use run::failure;
use server::privileges::Privileges;
use server::{Identity, quote, session};
use std::collections::BTreeSet;
use wire::{Conn, Direction};

/// The target, as the steps before and after the rows use it.
pub struct Target<'a> {
    /// The surroundings.
    pub run: &'a Run,
    /// The user's options.
    pub options: &'a Options,
    /// What the server is.
    pub id: Identity,
    /// For everything but rows.
    pub conn: Conn,
    /// What the steps record for the summary.
    pub report: LoadReport,
    /// Whether this run resumes an interrupted load.
    pub resuming: bool,
    /// When what an earlier load could not create is created: the tables and views that it has left, quoted and
    /// qualified.
    pub kept: BTreeSet<String>,
    /// What an earlier run has made of the accounts.
    pub earlier: EarlierAccounts,
    /// Whether nothing may be changed: a preview.
    pub only_looks: bool,
    /// The schema that is locked against other loads.
    locked: Option<String>,
}

impl<'a> Target<'a> {
    /// Connects; first puts back settings that an earlier load has left changed, so that nothing is judged
    /// by them.
    pub fn open(run: &'a Run, options: &'a Options) -> Result<Target<'a>> {
        let state = options.tune.state.as_deref();
        let (mut conn, id) = recover::connect(run, &options.target, state)?;
        let id = tune::recover(run, &options.tune, &options.target, &mut conn, id)?;
        Ok(Target::connected(run, options, conn, id))
    }

    /// Connects, to look only.
    pub fn look(run: &'a Run, options: &'a Options) -> Result<Target<'a>> {
        let (conn, id) = connect::open(run, &options.target)?;
        let target = Target::connected(run, options, conn, id);
        Ok(Target {
            only_looks: true,
            ..target
        })
    }

    fn connected(run: &'a Run, options: &'a Options, conn: Conn, id: Identity) -> Target<'a> {
        let target = Target {
            run,
            options,
            id,
            conn,
            report: LoadReport::default(),
            resuming: false,
            kept: BTreeSet::new(),
            earlier: EarlierAccounts::default(),
            only_looks: false,
            locked: None,
        };
        run.observer.note(format!("target: {}", target.described()));
        target
    }

    /// What the server is, and where, for the user.
    pub fn described(&self) -> String {
        match &self.options.managed {
            Some(own) => printable(&format!("{} in {}", self.id, own.folder.display())),
            None => format!("{} at {}", self.id, self.options.target.endpoint),
        }
    }

    /// Tunes the server and prepares the session. The [`Tuning`] puts the server's settings back, at the
    /// latest when it is dropped.
    pub fn tuned(&mut self, profile: &LoadProfile) -> Result<Tuning<'a>> {
        let (run, options) = (self.run, self.options);
        let tuning = tune::begin(run, &options.tune, &options.target, &self.id, profile)?;
        if tuning.restarted() {
            self.again()?;
        }
        self.prepare()?;
        Ok(tuning)
    }

    /// Prepares the session for definitions.
    pub fn prepare(&mut self) -> Result<()> {
        let notes = session::for_ddl(&mut self.conn, &self.id)
            .map_err(|e| failure::server("cannot prepare a session", e))?;
        self.report.notes.extend(notes);
        if self.options.skip_binlog {
            session::skip_binlog(&mut self.conn, &self.id)
                .map_err(|e| failure::server("cannot keep the load out of the binary log", e))?;
        }
        Ok(())
    }

    /// Connects again after a restart of the server.
    pub fn again(&mut self) -> Result<()> {
        // The new server counts sessions from the beginning.
        self.run.forget_sessions();
        (self.conn, self.id) = connect::open(self.run, &self.options.target)?;
        match self.locked.clone() {
            Some(schema) => self.lock(&schema),
            None => Ok(()),
        }
    }

    /// Makes sure that only one load at a time uses the journal in a schema. The server releases the lock
    /// when the connection ends; [`Target::again`] takes it again.
    pub fn lock(&mut self, schema: &str) -> Result<()> {
        self.locked = Some(schema.to_owned());
        // Names of locks have at most 64 characters, and MySQL 9.6 has no SHA1() any more.
        let digest = FileRecord::of(schema.as_bytes()).blake3;
        let sql = format!("SELECT GET_LOCK('penstock {}', 5)", &digest[..40]);
        if self.number(&sql, "cannot look for the journal of an earlier load")? == 1 {
            return Ok(());
        }
        Err(refused(format!(
            "another penstock is loading into schema {} of this server",
            printable(&quote::ident(schema))
        ))
        .hint("wait until it has finished"))
    }

    /// The number that a query returns; 0 for none.
    pub fn number(&mut self, sql: &str, doing: &str) -> Result<u64> {
        let rows = self.conn.fetch(sql).map_err(|e| failure::wire(doing, e))?;
        let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
        Ok(cell
            .flatten()
            .and_then(|c| String::from_utf8_lossy(&c).parse().ok())
            .unwrap_or(0))
    }

    /// Runs a statement on the control connection.
    pub fn execute(&mut self, sql: &str, doing: &str) -> Result<()> {
        self.conn
            .execute(sql)
            .map(drop)
            .map_err(|e| failure::wire(printable(doing), e))
    }
}

/// Checks that the target can be written to; `level`: how it is tuned, if rows are loaded.
pub fn check_writable(
    conn: &mut wire::Conn,
    id: &Identity,
    level: Option<tune::Level>,
) -> Result<()> {
    // `tune::begin` switches it on where that is allowed, and refuses where it is not.
    if !id.local_infile && level.is_some_and(|level| level != tune::Level::Max) {
        return Err(tune::local_infile_off());
    }
    if id.read_only || id.super_read_only {
        let granted = Privileges::read(conn, id)
            .map_err(|e| failure::server("cannot read the account's privileges", e))?;
        let may = granted.has("CONNECTION_ADMIN")
            || granted.has("READ ONLY ADMIN")
            // From 10.11 on, MariaDB's SUPER is less than it was.
            || granted.has("SUPER") && !id.mariadb_at_least(10, 11, 0);
        if id.super_read_only || !may {
            return Err(refused("the target is read only (a replica?)")
                .hint("SET GLOBAL read_only = OFF, if this server is meant"));
        }
    }
    Ok(())
}

/// The connections that load rows, each in a session prepared for it.
pub fn connections(target: &Target<'_>, wire: &wire::Options) -> Result<Vec<Conn>> {
    let mut conns = Vec::new();
    let wire = &target.run.with_limiter(wire, Direction::Sent);
    for _ in 0..target.options.threads {
        let mut conn = connect::connection(target.run, wire)?;
        session::for_load(&mut conn, &target.id)
            .map_err(|e| failure::server("cannot prepare a session", e))?;
        if target.options.tune.level == tune::Level::Off {
            session::without_speedups(&mut conn)
                .map_err(|e| failure::server("cannot prepare a session", e))?;
        }
        if target.options.skip_binlog {
            session::skip_binlog(&mut conn, &target.id)
                .map_err(|e| failure::server("cannot keep the load out of the binary log", e))?;
        }
        conn.set_limited(true);
        conns.push(conn);
    }
    Ok(conns)
}

/// An error about the target that ends a load before it has begun.
pub fn refused(what: impl Into<String>) -> Error {
    Error::new(Kind::Target, what)
}

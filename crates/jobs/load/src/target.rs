//! The server that is loaded into: its connections, each in a known session, and
//! what an earlier load has left on it.

use super::completion::Completion;
use super::journal::Journal;
use super::{BatchSize, Options};
use base::units::printable;
use base::{Error, Kind, Result};
use instance::{recover, stopped, tune};
use run::Run;
use run::connect;
use run::failure;
use server::{Identity, session};
use wire::{Conn, Direction};

/// What the steps before and behind the rows share.
pub struct Target<'a> {
    /// The surroundings.
    pub run: &'a Run,
    /// What the user asked for.
    pub options: &'a Options,
    /// What the server is.
    pub id: Identity,
    /// For everything but rows.
    pub conn: Conn,
    /// Changes that the target made necessary.
    pub notes: Vec<String>,
    /// What could not be carried over.
    pub exceptions: Vec<String>,
    /// Views that the target did not take.
    pub refused_views: u64,
    /// Schemas that this run created.
    pub created: Vec<String>,
    /// Whether this run has created anything.
    pub touched: bool,
    /// Whether this run goes on with one that was interrupted.
    pub resuming: bool,
    /// Whether tables come as files.
    pub by_file: bool,
    /// Sizes that were found by trying.
    pub sizes: Vec<BatchSize>,
    /// The schema of the load's journal, which no other load may work on.
    home: Option<String>,
}

impl<'a> Target<'a> {
    /// Connects; puts back what an earlier load has left of its tuning, before
    /// anything is judged by it.
    pub fn open(run: &'a Run, options: &'a Options) -> Result<Target<'a>> {
        let state = options.tune.state.as_deref();
        let (mut conn, id) = recover::connect(run, &options.target, state)?;
        let id = tune::recover(run, &options.tune, &options.target, &mut conn, id)?;
        let target = Target {
            run,
            options,
            id,
            conn,
            notes: Vec::new(),
            exceptions: Vec::new(),
            refused_views: 0,
            created: Vec::new(),
            touched: false,
            resuming: false,
            by_file: false,
            sizes: Vec::new(),
            home: None,
        };
        run.observer.note(format!("target: {}", target.described()));
        Ok(target)
    }

    /// What the server is, and where, for people.
    pub fn described(&self) -> String {
        match &self.options.managed {
            Some(own) => printable(&format!("{} in {}", self.id, own.folder.display())),
            None => format!("{} at {}", self.id, self.options.target.endpoint),
        }
    }

    /// Prepares the session for definitions.
    pub fn prepare(&mut self) -> Result<()> {
        let notes = session::for_ddl(&mut self.conn, &self.id)
            .map_err(|e| failure::server("cannot prepare a session", e))?;
        self.notes.extend(notes);
        if self.options.skip_binlog {
            session::skip_binlog(&mut self.conn, &self.id)
                .map_err(|e| failure::server("cannot keep the load out of the binary log", e))?;
        }
        Ok(())
    }

    /// Connects anew after a restart of the server.
    pub fn again(&mut self) -> Result<()> {
        // It counts from the beginning.
        self.run.forget_sessions();
        (self.conn, self.id) = connect::open(self.run, &self.options.target)?;
        match self.home.clone() {
            Some(home) => super::journal::lock(self, &home),
            None => Ok(()),
        }
    }

    /// Finds the journal of an interrupted load, and takes it up if the user asked for that.
    pub fn interrupted(&mut self, home: &str, identity: &str) -> Result<Option<Journal>> {
        self.home = Some(home.to_owned());
        let found = Journal::find(self, home, identity)?;
        // A load that stops the server for its files has no lock on it meanwhile.
        if let Some(state) = &self.options.tune.state {
            stopped::check_not_in_use(&self.options.target, state)?;
        }
        if let Some(journal) = &found {
            self.touched = true;
            self.created = journal.created().to_vec();
            self.resuming = self.options.resume;
            // Killed between its last note and the end of its journal: what it could not carry over may not show again.
            if let Some(ending) = Completion::find(self, identity) {
                self.exceptions.extend(ending.exceptions);
            }
        }
        Ok(found)
    }

    /// Says that a load begins which was to be gone on with.
    pub fn nothing_to_resume(&self) {
        if self.options.resume {
            let what = "there is no interrupted load to go on with: beginning one";
            self.run.observer.note(what.to_owned());
        }
    }
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

/// An error about the target that stops a load before it began.
pub fn refused(what: impl Into<String>) -> Error {
    Error::new(Kind::Target, what)
}

//! The guard of a tuned server: changes each setting when it begins, and reverts each when it ends,
//! however that is.
//!
//! It uses a connection that belongs to it alone, which a stop does not break, and opens a new one if
//! that is lost. Invariants: the journal has a setting before the server has its new value, and a restart
//! before it happens; the journal is removed only when everything is reverted.

use super::journal::{self, Journal, Opened, Record};
use super::options::{
    ChangedSetting, Level, LoadProfile, Options, Report, Restart, local_infile_off,
};
use super::replicas::{self, Replication};
use super::revert::{self, Outcome};
use super::{fragment, settings};
use crate::identity::{self, revert_command, server_id};
use crate::restart;
use crate::variables::{self, same};
use base::{Error, Kind, Result, units::printable};
use run::{Run, failure};
use server::{Identity, Privileges};
use std::path::PathBuf;
use std::time::Duration;
use wire::Conn;

/// A tuned server; everything is reverted when it ends.
#[must_use = "dropping it reverts the settings"]
pub struct Tuning<'a> {
    run: &'a Run,
    wire: wire::Options,
    id: Identity,
    report: Report,
    conn: Option<Conn>,
    journal: Option<Journal>,
    /// The directory of journals.
    state: PathBuf,
    /// The live settings have been reverted, or it was reported that they could not.
    reported: bool,
}

/// Changes the settings that help this load. Nothing is changed unless the level is [`Level::Max`].
pub fn begin<'a>(
    run: &'a Run,
    options: &Options,
    wire: &wire::Options,
    id: &Identity,
    work: &LoadProfile,
) -> Result<Tuning<'a>> {
    let mut tuning = Tuning {
        run,
        wire: wire.clone(),
        id: id.clone(),
        report: Report {
            level: options.level,
            ..Report::default()
        },
        conn: None,
        journal: None,
        state: options.state.clone().unwrap_or_default(),
        reported: false,
    };
    if options.level == Level::Max {
        tuning.change(options, work)?;
    }
    Ok(tuning)
}

/// Changes the settings of this list, for a job that needs just these; the same guard reverts them.
pub fn begin_with<'a>(
    run: &'a Run,
    state: &std::path::Path,
    wire: &wire::Options,
    id: &Identity,
    changes: Vec<(&'static str, String)>,
) -> Result<Tuning<'a>> {
    let mut tuning = begin(run, &Options::default(), wire, id, &LoadProfile::default())?;
    tuning.state = state.to_owned();
    let conn = tuning.conn.insert(identity::connect(wire, id)?);
    let granted = Privileges::read(conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    match tuning.journal(state)? {
        Ok(journal) => tuning.journal = Some(journal),
        Err(busy) => {
            return Err(
                Error::new(Kind::Target, busy).hint("wait until it has finished, then start again")
            );
        }
    }
    tuning.set_each(id, &granted, changes)?;
    Ok(tuning)
}

impl Tuning<'_> {
    fn change(&mut self, options: &Options, work: &LoadProfile) -> Result<()> {
        let state = options.state.as_ref().ok_or_else(|| {
            Error::new(Kind::Usage, "--tune=max has no directory for its journal")
                .hint("set PENSTOCK_STATE, or HOME")
        })?;
        self.run.check()?;
        let conn = self.conn.insert(identity::connect(&self.wire, &self.id)?);
        let granted = Privileges::read(conn, &self.id)
            .map_err(|e| failure::server("cannot read the account's privileges", e))?;
        match replicas::find(conn, &self.id, granted.has("PROCESS"))? {
            Replication::None => {}
            Replication::Unknown(privilege) => self.report.not_changed.push(format!(
                "cannot check for replicas: needs {privilege} (GRANT {privilege} ON *.* TO {})",
                granted.account
            )),
            Replication::Found(why) => {
                return Err(Error::new(
                    Kind::Target,
                    format!("--tune=max is refused on this server: {why}"),
                )
                .hint("load with --tune=safe, which changes sessions only"));
            }
        }
        match self.journal(state)? {
            Ok(journal) => self.journal = Some(journal),
            Err(busy) => {
                self.tune_safely(busy);
                return self.can_load();
            }
        }
        self.apply(options, &granted, work)?;
        self.can_load()
    }

    /// The journal of this server, and the server's own lock; the reason if another run has either.
    fn journal(&mut self, state: &std::path::Path) -> Result<std::result::Result<Journal, String>> {
        let key = server_id(&self.id);
        let mut journal = match journal::create(state, &key)? {
            Opened::Ours(journal) => journal,
            Opened::Busy(pid) => return Ok(Err(journal::busy(pid))),
        };
        journal::belongs(&journal, &key)?;
        if !journal.is_settled() {
            return Err(Error::new(
                Kind::Privilege,
                "settings that an earlier run left changed are not reverted yet",
            )
            .hint(format!(
                "{}, or load with --tune=safe",
                revert_command(&self.wire)
            )));
        }
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        // A load from another host has its journal there; only the server's own lock shows it.
        if !lock(conn)? {
            journal.remove()?;
            return Ok(Err(
                "a load from another host has changed settings of this server".to_owned(),
            ));
        }
        journal.add(journal::begin(journal::Server {
            id: key,
            name: self.id.to_string(),
            endpoint: self.wire.endpoint.to_string(),
            started: variables::server_start(conn)?,
        }))?;
        Ok(Ok(journal))
    }

    fn tune_safely(&mut self, why: String) {
        let text = format!("{why}: this load continues as with --tune=safe");
        self.run.observer.warn(text.clone());
        self.report.not_changed.push(text);
    }

    fn apply(&mut self, options: &Options, granted: &Privileges, work: &LoadProfile) -> Result<()> {
        let (mut now, mut plan) = self.plan(granted, work)?;
        if let Some(restart) = &options.restart
            && self.restart(restart, work, &now, &plan)?
        {
            self.run.check()?;
            (now, plan) = self.plan(granted, work)?;
        }
        self.report.not_changed.extend(plan.not_changed);
        self.report.restart = plan.restart;
        let changes = plan.changes.into_iter().map(|c| (c.name, c.wanted));
        self.set_each(&now, granted, changes.collect())?;
        let list: Vec<String> = self
            .report
            .changes
            .iter()
            .map(|c| format!("{} = {}", c.name, c.during))
            .collect();
        if !list.is_empty() {
            self.run
                .observer
                .note(printable(&format!("for this load: {}", list.join(", "))));
        }
        Ok(())
    }

    /// Gives settings their values, each after the journal has its old one. What the server refuses is reported.
    fn set_each(
        &mut self,
        now: &Identity,
        granted: &Privileges,
        changes: Vec<(&'static str, String)>,
    ) -> Result<()> {
        let (Some(conn), Some(journal)) = (&mut self.conn, &mut self.journal) else {
            return Err(lost());
        };
        let _phase = self.run.phase("tuning the server", 1);
        for (name, wanted) in changes {
            self.run.check()?;
            let Some(before) = variables::read(conn, name)? else {
                continue;
            };
            if same(&before, &wanted) {
                continue;
            }
            journal.add(Record::Change {
                setting: name.to_owned(),
                before: before.clone(),
                wanted: wanted.clone(),
            })?;
            match variables::set(conn, name, &wanted) {
                Ok(()) => {
                    let during = variables::settled_value(conn, name, &wanted)?;
                    journal.add(Record::Set {
                        setting: name.to_owned(),
                        during: during.clone(),
                    })?;
                    self.report.changes.push(ChangedSetting {
                        name: name.to_owned(),
                        before,
                        during,
                        after: None,
                    });
                }
                Err(wire::Error::Server(e)) => {
                    journal.add(Record::Settled {
                        setting: name.to_owned(),
                        found: before,
                    })?;
                    let why = if matches!(e.code, 1044 | 1142 | 1227) {
                        settings::denied(now, name, &granted.account)
                    } else {
                        printable(&format!("{name}: {e}"))
                    };
                    self.report.not_changed.push(why);
                }
                Err(e) => return Err(failure::wire("cannot tune the server", e)),
            }
        }
        Ok(())
    }

    /// What the server is now, and what should be changed. Checking the archive may have taken minutes:
    /// what was true before may not be now.
    fn plan(
        &mut self,
        granted: &Privileges,
        work: &LoadProfile,
    ) -> Result<(Identity, settings::Plan)> {
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        let now = identity::read(conn)?;
        let redo_log = if now.mysql_at_least(8, 0, 21) {
            variables::read(conn, variables::REDO_LOG)?.map(|v| same(&v, "ON"))
        } else {
            None
        };
        let plan = settings::plan(&now, granted, work, run::memory::spare(conn), redo_log);
        Ok((now, plan))
    }

    /// Restarts the server with what only a restart can change; returns whether it did.
    fn restart(
        &mut self,
        options: &Restart,
        work: &LoadProfile,
        now: &Identity,
        plan: &settings::Plan,
    ) -> Result<bool> {
        let file = fragment::check(options)?;
        let lines = settings::lines(now, &plan.restart);
        if lines.is_empty() {
            self.run
                .observer
                .note("the server is not restarted: nothing that a restart changes would make this load faster".to_owned());
            return Ok(false);
        }
        let (Some(conn), Some(journal)) = (&mut self.conn, &mut self.journal) else {
            return Err(lost());
        };
        let _phase = self.run.phase("restarting the server", 1);
        let others = restart::others(conn, &[conn.id(), work.session]);
        if !others.is_empty() {
            self.run.observer.warn(printable(&format!(
                "the server is restarted, which ends the sessions of {}",
                others.join(", ")
            )));
        }
        let runtime = variables::set_at_runtime(conn, now);
        if runtime.is_none() {
            self.run.observer.warn(
                "the account may not see which variables were set while the server ran: the restart forgets them".to_owned(),
            );
        }
        let fragment = journal::Fragment {
            file,
            command: options.command.clone(),
            lines,
            runtime: runtime.unwrap_or_default(),
        };
        journal.add(Record::Fragment(fragment.clone()))?;
        fragment::write(&fragment)?;
        self.report.restarts += 1;
        let outcome = restart::restart(conn, now, &self.wire, &options.command, &self.state);
        if let Err(e) = outcome {
            fragment::remove(&fragment)?;
            if conn.fetch("SELECT 1").is_err() {
                // If this fails, there is no server to revert anything on.
                let started = restart::start(now, &self.wire, &options.command, &self.state)?;
                *conn = started;
            }
            let mut left = fragment::undo(conn, &self.wire, journal, &self.state)?;
            self.report.not_reverted.append(&mut left);
            let text = format!("settings that need a restart were not changed: {}", e.what);
            self.run.observer.warn(text.clone());
            self.report.not_changed.push(text);
            // A restart does not forget what is set from here on.
            journal.add(Record::Restarted {
                started: variables::server_start(conn)?,
            })?;
            return lock(conn).map(|_| true);
        }
        let again = identity::read(conn)?;
        journal::belongs(journal, &server_id(&again))?;
        lock(conn)?;
        for line in variables::set_again(conn, now, &fragment.runtime)? {
            self.run.observer.warn(printable(&line));
        }
        journal.add(Record::Restarted {
            started: variables::server_start(conn)?,
        })?;
        for line in &fragment.lines {
            let during = variables::read(conn, &line.setting)?.unwrap_or_default();
            if !same(&during, &line.wanted) {
                self.report.not_changed.push(format!(
                    "{}: the server was restarted and does not read it from {}: check that its my.cnf includes the directory and that no later file overrides it",
                    line.setting,
                    fragment.file.display()
                ));
            }
            self.report.changes.push(ChangedSetting {
                name: line.setting.clone(),
                before: line.before.clone(),
                during,
                after: None,
            });
        }
        Ok(true)
    }

    /// Whether the server was restarted, so that earlier connections are gone.
    pub fn restarted(&self) -> bool {
        self.report.restarts > 0
    }

    /// Checks `local_infile` again: switching it on may have been refused.
    fn can_load(&mut self) -> Result<()> {
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        match variables::read(conn, "local_infile")? {
            Some(v) if !same(&v, "ON") => Err(local_infile_off()),
            _ => Ok(()),
        }
    }

    /// Reverts everything and returns what was done. May restart the server.
    pub fn finish(mut self) -> Report {
        self.put_back();
        self.end_restart();
        std::mem::take(&mut self.report)
    }

    /// Reverts what can be reverted while the server runs. Tries for a while: a server that was restarted
    /// comes up again.
    pub fn put_back(&mut self) {
        if self.reported {
            return;
        }
        self.reported = true;
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        let phase = self.run.phase("reverting settings", 1);
        let mut outcome = Outcome::default();
        let mut problem = None;
        for attempt in 0..5 {
            if attempt > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            let opened = match self.conn.take() {
                Some(conn) => Ok(conn),
                None => identity::connect(&self.wire, &self.id),
            };
            let done = opened.and_then(|mut conn| {
                // Another server may have come up at this address.
                if attempt > 0 {
                    let now = identity::read(&mut conn)?;
                    journal::belongs(&journal, &server_id(&now))?;
                }
                let done = revert::revert(&mut conn, &mut journal, &mut outcome);
                if done.is_ok() {
                    self.conn = Some(conn);
                }
                done
            });
            problem = done.err();
            match &problem {
                Some(e) if e.kind == Kind::Connection => {}
                _ => break,
            }
        }
        drop(phase);
        self.report_outcome(&outcome, problem, journal);
    }

    /// Removes our file of settings, and restarts the server without it.
    fn end_restart(&mut self) {
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        if journal.fragment.is_none() {
            return;
        }
        let phase = self.run.phase("restarting the server", 1);
        let opened = match self.conn.take() {
            Some(conn) => Ok(conn),
            // It ended by itself, or did not come up after a restart.
            None => identity::connect(&self.wire, &self.id)
                .or_else(|e| fragment::start_without(&self.wire, &journal, &self.state)?.ok_or(e)),
        };
        let outcome = opened.and_then(|mut conn| {
            let left = fragment::undo(&mut conn, &self.wire, &mut journal, &self.state)?;
            self.report.restarts += 1;
            for change in self.report.changes.iter_mut().filter(|c| c.after.is_none()) {
                change.after = variables::read(&mut conn, &change.name)?;
            }
            Ok(left)
        });
        drop(phase);
        match outcome.and_then(|left| journal.remove().map(|()| left)) {
            Ok(mut left) => {
                let what = "the server was restarted with its own settings".to_owned();
                self.run.observer.note(what);
                self.report.not_reverted.append(&mut left);
            }
            Err(e) => {
                let hint = e.hint.map(|h| format!(" ({h})")).unwrap_or_default();
                let text = printable(&format!("{}{hint}", e.what));
                self.run.observer.warn(text.clone());
                self.report.not_reverted.push(text);
            }
        }
    }

    fn report_outcome(&mut self, outcome: &Outcome, problem: Option<Error>, journal: Journal) {
        for change in &mut self.report.changes {
            let found = outcome
                .reverted
                .iter()
                .find(|(name, _)| *name == change.name);
            let by_others = outcome
                .changed_by_others
                .iter()
                .find(|(name, ..)| *name == change.name);
            change.after = found
                .map(|(_, v)| v)
                .or(by_others.map(|(_, _, v)| v))
                .cloned();
        }
        let mut left: Vec<String> = outcome
            .changed_by_others
            .iter()
            .map(Outcome::changed_by_others_line)
            .collect();
        let all_reverted = problem.is_none() && outcome.failed.is_empty();
        if all_reverted && journal.fragment.is_none() {
            if let Err(e) = journal.remove() {
                left.push(e.what);
            }
        } else if all_reverted || journal.entries.is_empty() {
            self.journal = Some(journal);
        } else {
            let mut why: Vec<String> = outcome
                .failed
                .iter()
                .map(|(n, e)| format!("{n}: {e}"))
                .collect();
            why.extend(problem.map(|e| e.what));
            let names: Vec<&str> = journal.entries.iter().map(|e| e.setting.as_str()).collect();
            left.push(format!(
                "{} could not be reverted ({}): run {}",
                names.join(", "),
                why.join("; "),
                revert_command(&self.wire)
            ));
        }
        for line in &left {
            self.run.observer.warn(printable(line));
        }
        if !outcome.reverted.is_empty() {
            self.run.observer.note(printable(&outcome.reverted_line()));
        }
        self.report.not_reverted.append(&mut left);
    }
}

/// Keeps other loads from changing settings, until the connection ends. The session of one that has just finished may take
/// a moment to end.
fn lock(conn: &mut Conn) -> Result<bool> {
    let free = conn
        .fetch("SELECT GET_LOCK('penstock_tuning', 3)")
        .map_err(|e| failure::wire("cannot lock the server's settings", e))?;
    Ok(matches!(free.first().and_then(|r| r.first()), Some(Some(v)) if v == b"1"))
}

/// A connection that must exist by now.
fn lost() -> Error {
    Error::new(Kind::Internal, "the connection for settings is gone")
}

impl Drop for Tuning<'_> {
    fn drop(&mut self) {
        self.put_back();
        self.end_restart();
    }
}

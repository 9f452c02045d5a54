//! The guard of a tuned server: changes each setting when it begins, and puts
//! each back when it ends, on whatever road that is.
//!
//! It works on a connection of its own, which a stop does not break, and makes
//! a new one if that is lost.

use super::journal::{self, Journal, Opened, Record};
use super::replicas::{self, Found};
use super::revert::{self, Outcome};
use super::{
    ChangedSetting, LoadProfile, Options, Report, Restart, Tuning, belongs, doctor, held,
    local_infile_off, lost, open, settings,
};
use crate::restart;
use base::{Error, Kind, Result, units::printable};
use run::failure;
use server::{Identity, Privileges};
use std::time::Duration;
use wire::Conn;

impl Tuning<'_> {
    pub(super) fn change(&mut self, options: &Options, work: &LoadProfile) -> Result<()> {
        let state = options.state.as_ref().ok_or_else(|| {
            Error::new(Kind::Usage, "--tune=max has no folder for its journal")
                .hint("set PENSTOCK_STATE, or HOME")
        })?;
        self.run.check()?;
        let conn = self.conn.insert(open(&self.wire, &self.id)?);
        let held = Privileges::read(conn, &self.id)
            .map_err(|e| failure::server("cannot read the account's privileges", e))?;
        match replicas::find(conn, &self.id, held.has("PROCESS"))? {
            Found::Alone => {}
            Found::Unknown(privilege) => self.report.not_changed.push(format!(
                "replicas were not looked for: needs {privilege} (GRANT {privilege} ON *.* TO {})",
                held.account
            )),
            Found::Bound(why) => {
                return Err(Error::new(
                    Kind::Target,
                    format!("--tune=max is not for this server: {why}"),
                )
                .hint("load with --tune=safe, which changes sessions only"));
            }
        }
        let Some(journal) = self.journal(state)? else {
            return self.can_load();
        };
        self.journal = Some(journal);
        self.apply(options, &held, work)?;
        self.can_load()
    }

    /// The journal of this server, and the server's own lock; `None` if another load has either.
    fn journal(&mut self, state: &std::path::Path) -> Result<Option<Journal>> {
        let key = journal::id(&self.id);
        let mut journal = match journal::create(state, &key)? {
            Opened::Ours(journal) => journal,
            Opened::Held(pid) => {
                self.instead(held(pid));
                return Ok(None);
            }
        };
        belongs(&journal, &key)?;
        if !journal.is_settled() {
            return Err(Error::new(
                Kind::Privilege,
                "settings that an earlier run left changed are not put back yet",
            )
            .hint(format!("{}, or load with --tune=safe", doctor(&self.wire))));
        }
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        // A load from another host has its journal there; the server itself knows of it.
        if !lock(conn)? {
            journal.remove()?;
            self.instead("a load from another host has changed settings of this server".to_owned());
            return Ok(None);
        }
        journal.add(journal::begin(journal::Server {
            id: key,
            name: self.id.to_string(),
            endpoint: self.wire.endpoint.to_string(),
            started: revert::started(conn)?,
        }))?;
        Ok(Some(journal))
    }

    fn instead(&mut self, why: String) {
        let text = format!("{why}: this load goes on as with --tune=safe");
        self.run.observer.warn(text.clone());
        self.report.not_changed.push(text);
    }

    fn apply(&mut self, options: &Options, held: &Privileges, work: &LoadProfile) -> Result<()> {
        let (mut now, mut plan) = self.plan(held, work)?;
        if let Some(service) = &options.restart
            && self.restart(service, work, &now, &plan)?
        {
            self.run.check()?;
            (now, plan) = self.plan(held, work)?;
        }
        let (Some(conn), Some(journal)) = (&mut self.conn, &mut self.journal) else {
            return Err(lost());
        };
        let phase = self.run.phase("tuning the server", 1);
        self.report.not_changed.extend(plan.not_changed);
        self.report.restart = plan.restart;
        for change in plan.changes {
            self.run.check()?;
            let Some(before) = revert::read(conn, change.name)? else {
                continue;
            };
            if settings::same(&before, &change.wanted) {
                continue;
            }
            journal.add(Record::Change {
                setting: change.name.to_owned(),
                before: before.clone(),
                wanted: change.wanted.clone(),
            })?;
            match revert::set(conn, change.name, &change.wanted) {
                Ok(()) => {
                    let during = revert::settled_value(conn, change.name, &change.wanted)?;
                    journal.add(Record::Set {
                        setting: change.name.to_owned(),
                        during: during.clone(),
                    })?;
                    self.report.changes.push(ChangedSetting {
                        name: change.name.to_owned(),
                        before,
                        during,
                        after: None,
                    });
                }
                Err(wire::Error::Server(e)) => {
                    journal.add(Record::Settled {
                        setting: change.name.to_owned(),
                        found: before,
                    })?;
                    let why = if matches!(e.code, 1044 | 1142 | 1227) {
                        settings::denied(&now, change.name, &held.account)
                    } else {
                        printable(&format!("{}: {e}", change.name))
                    };
                    self.report.not_changed.push(why);
                }
                Err(e) => return Err(failure::wire("cannot tune the server", e)),
            }
        }
        drop(phase);
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

    /// What the server is now, and what is to be changed. The archive may have taken
    /// minutes to check: what was true then may not be now.
    fn plan(
        &mut self,
        held: &Privileges,
        work: &LoadProfile,
    ) -> Result<(Identity, settings::Plan)> {
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        let now = restart::identity(conn)?;
        let redo_log = if now.mysql_at_least(8, 0, 21) {
            revert::read(conn, settings::REDO_LOG)?.map(|v| settings::same(&v, "ON"))
        } else {
            None
        };
        let plan = settings::plan(&now, held, work, run::memory::spare(conn), redo_log);
        Ok((now, plan))
    }

    /// Restarts the server with what only a restart can change; whether it did.
    fn restart(
        &mut self,
        service: &Restart,
        work: &LoadProfile,
        now: &Identity,
        plan: &settings::Plan,
    ) -> Result<bool> {
        let file = restart::check(service)?;
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
        let runtime = restart::runtime(conn, now);
        if runtime.is_none() {
            self.run.observer.warn(
                "the account may not see which settings were made while the server ran: the restart forgets them".to_owned(),
            );
        }
        let fragment = journal::Fragment {
            file,
            command: service.command.clone(),
            lines,
            runtime: runtime.unwrap_or_default(),
        };
        journal.add(Record::Fragment(fragment.clone()))?;
        restart::write(&fragment)?;
        self.report.restarts += 1;
        let outcome = restart::restart(conn, now, &self.wire, &service.command, &self.state);
        if let Err(e) = outcome {
            restart::remove(&fragment)?;
            if conn.fetch("SELECT 1").is_err() {
                // From here on there may be no server to put anything back on.
                let revived = restart::start(now, &self.wire, &service.command, &self.state)?;
                *conn = revived;
            }
            let mut left = restart::undo(conn, &self.wire, journal, &self.state)?;
            self.report.not_reverted.append(&mut left);
            let text = format!("settings that need a restart were left alone: {}", e.what);
            self.run.observer.warn(text.clone());
            self.report.not_changed.push(text);
            // What is set from here on is not forgotten by a restart.
            journal.add(Record::Restarted {
                started: revert::started(conn)?,
            })?;
            return lock(conn).map(|_| true);
        }
        let again = restart::identity(conn)?;
        belongs(journal, &journal::id(&again))?;
        lock(conn)?;
        for line in restart::set_again(conn, now, &fragment.runtime)? {
            self.run.observer.warn(printable(&line));
        }
        journal.add(Record::Restarted {
            started: revert::started(conn)?,
        })?;
        for line in &fragment.lines {
            let during = revert::read(conn, &line.setting)?.unwrap_or_default();
            if !settings::same(&during, &line.wanted) {
                self.report.not_changed.push(format!(
                    "{}: the server was restarted and does not take it from {}: is the folder included in its my.cnf, and no later file wins?",
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

    /// `local_infile` is checked again here: switching it on may have been refused.
    fn can_load(&mut self) -> Result<()> {
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        match revert::read(conn, "local_infile")? {
            Some(v) if !settings::same(&v, "ON") => Err(local_infile_off()),
            _ => Ok(()),
        }
    }

    /// Puts everything back and says what was done. May restart the server.
    pub fn finish(mut self) -> Report {
        self.put_back();
        self.end_restart();
        std::mem::take(&mut self.report)
    }

    /// Puts back what can be put back while the server runs. Tries for a while:
    /// a server that was restarted comes back.
    pub fn put_back(&mut self) {
        if self.told {
            return;
        }
        self.told = true;
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        let phase = self.run.phase("putting settings back", 1);
        let mut outcome = Outcome::default();
        let mut problem = None;
        for attempt in 0..5 {
            if attempt > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            let opened = match self.conn.take() {
                Some(conn) => Ok(conn),
                None => open(&self.wire, &self.id),
            };
            let done = opened.and_then(|mut conn| {
                // Another server may have come up in this one's place.
                if attempt > 0 {
                    let now = restart::identity(&mut conn)?;
                    belongs(&journal, &journal::id(&now))?;
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
        self.tell(&outcome, problem, journal);
    }

    /// Takes our file of settings away, and restarts the server without it.
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
            // It went away by itself, or was never seen again after a restart.
            None => open(&self.wire, &self.id)
                .or_else(|e| restart::revive(&self.wire, &journal, &self.state)?.ok_or(e)),
        };
        let outcome = opened.and_then(|mut conn| {
            let left = restart::undo(&mut conn, &self.wire, &mut journal, &self.state)?;
            self.report.restarts += 1;
            for change in self.report.changes.iter_mut().filter(|c| c.after.is_none()) {
                change.after = revert::read(&mut conn, &change.name)?;
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

    fn tell(&mut self, outcome: &Outcome, problem: Option<Error>, journal: Journal) {
        for change in &mut self.report.changes {
            let found = outcome.back.iter().find(|(name, _)| *name == change.name);
            let foreign = outcome
                .foreign
                .iter()
                .find(|(name, ..)| *name == change.name);
            change.after = found
                .map(|(_, v)| v)
                .or(foreign.map(|(_, _, v)| v))
                .cloned();
        }
        let mut left: Vec<String> = outcome.foreign.iter().map(Outcome::foreign_line).collect();
        let back = problem.is_none() && outcome.failed.is_empty();
        if back && journal.fragment.is_none() {
            if let Err(e) = journal.remove() {
                left.push(e.what);
            }
        } else if back || journal.entries.is_empty() {
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
                "{} could not be put back ({}): run {}",
                names.join(", "),
                why.join("; "),
                doctor(&self.wire)
            ));
        }
        for line in &left {
            self.run.observer.warn(printable(line));
        }
        if !outcome.back.is_empty() {
            self.run.observer.note(printable(&outcome.back_line()));
        }
        self.report.not_reverted.append(&mut left);
    }
}

/// Keeps other loads' hands off the settings, until the connection ends.
fn lock(conn: &mut Conn) -> Result<bool> {
    let free = conn
        .fetch("SELECT GET_LOCK('penstock_tuning', 0)")
        .map_err(|e| failure::wire("cannot lock the server's settings", e))?;
    Ok(matches!(free.first().and_then(|r| r.first()), Some(Some(v)) if v == b"1"))
}

impl Drop for Tuning<'_> {
    fn drop(&mut self) {
        self.put_back();
        self.end_restart();
    }
}

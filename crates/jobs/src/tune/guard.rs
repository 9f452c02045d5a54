//! The guard of a tuned server: changes each setting when it begins, and puts
//! each back when it ends, on whatever road that is.
//!
//! It works on a connection of its own, which a stop does not break, and makes
//! a new one if that is lost.

use super::journal::{self, Journal, Opened, Record};
use super::replicas::{self, Found};
use super::revert::{self, Outcome};
use super::{
    Changed, Options, Report, Tuning, Work, belongs, doctor, held, local_infile_off, lost, memory,
    open, settings,
};
use crate::failure;
use base::{Error, Kind, Result, units::printable};
use server::{Identity, Privileges};
use std::time::Duration;

impl Tuning<'_> {
    pub(super) fn change(&mut self, options: &Options, work: &Work) -> Result<()> {
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
        self.apply(&held, work)?;
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
        if !journal.entries.is_empty() {
            return Err(Error::new(
                Kind::Privilege,
                "settings that an earlier run left changed are not put back yet",
            )
            .hint(format!("{}, or load with --tune=safe", doctor(&self.wire))));
        }
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        // A load from another host has its journal there; the server itself knows of it.
        let free = conn
            .fetch("SELECT GET_LOCK('penstock_tuning', 0)")
            .map_err(|e| failure::wire("cannot lock the server's settings", e))?;
        if !matches!(free.first().and_then(|r| r.first()), Some(Some(v)) if v == b"1") {
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

    fn apply(&mut self, held: &Privileges, work: &Work) -> Result<()> {
        let (Some(conn), Some(journal)) = (&mut self.conn, &mut self.journal) else {
            return Err(lost());
        };
        let phase = self.run.phase("tuning the server", 1);
        // The archive may have taken minutes to check: what was true then may not be now.
        let now = Identity::read(conn)
            .map_err(|e| failure::server("cannot find out what the server is", e))?;
        let redo_log = if now.mysql_at_least(8, 0, 21) {
            revert::read(conn, settings::REDO_LOG)?.map(|v| settings::same(&v, "ON"))
        } else {
            None
        };
        let plan = settings::plan(&now, held, work, memory::room(conn), redo_log);
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
                    self.report.changes.push(Changed {
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

    /// `local_infile` is checked again here: switching it on may have been refused.
    fn can_load(&mut self) -> Result<()> {
        let conn = self.conn.as_mut().ok_or_else(lost)?;
        match revert::read(conn, "local_infile")? {
            Some(v) if !settings::same(&v, "ON") => Err(local_infile_off()),
            _ => Ok(()),
        }
    }

    /// Puts everything back and says what was done.
    pub fn finish(mut self) -> Report {
        self.put_back();
        std::mem::take(&mut self.report)
    }

    /// Tries for a while: a server that was restarted comes back.
    fn put_back(&mut self) {
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
                    let now = Identity::read(&mut conn)
                        .map_err(|e| failure::server("cannot find out what the server is", e))?;
                    belongs(&journal, &journal::id(&now))?;
                }
                revert::revert(&mut conn, &mut journal, &mut outcome)
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
        if problem.is_none() && outcome.failed.is_empty() {
            if let Err(e) = journal.remove() {
                left.push(e.what);
            }
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
        self.report.left = left;
    }
}

impl Drop for Tuning<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

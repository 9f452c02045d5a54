//! Tunes a server for a load, and puts everything back.
//!
//! `begin` gives a guard; its `finish`, or its end on any road out of the load
//! (an error, a stop, a panic), puts back what was changed. What no code of
//! this process can do any more is done by the next load of the same server
//! (`recover`) or by `penstock doctor --revert`, from the journal. Invariants:
//! nothing is changed that is not in the journal on disk first; nothing is
//! persisted in the server; the redo log is the last to go and the first to
//! come back.

pub mod journal;
pub mod memory;
pub mod replicas;
pub mod revert;
pub mod settings;

use crate::{Run, failure};
use base::{Error, Kind, Result, units::printable};
use journal::{Journal, Opened, Record};
use replicas::Found;
use revert::Outcome;
use server::{Identity, Privileges, session};
use std::path::PathBuf;
use std::time::Duration;
use wire::{Conn, Endpoint};

/// How far a load may go to be fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Sessions are set as correctness needs, no further.
    Off,
    /// Session variables only.
    #[default]
    Safe,
    /// The server serves nobody else: global settings, durability among them.
    Max,
}

impl Level {
    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Safe => "safe",
            Level::Max => "max",
        }
    }
}

/// What the user allows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How far to go.
    pub level: Level,
    /// The folder of journals; without one, nothing global is changed.
    pub state: Option<PathBuf>,
}

/// What is going to be loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Bytes of rows, as text.
    pub bytes: u64,
    /// Whether several workers may load one table.
    pub split: bool,
    /// Whether the load goes into the binary log.
    pub binlog: bool,
}

/// A setting before, during and after the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The variable, or `innodb_redo_log`.
    pub name: String,
    /// What it was.
    pub before: String,
    /// What it was while rows were loaded.
    pub during: String,
    /// What it is now; `None` if that could not be found out.
    pub after: Option<String>,
}

/// What was done, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The level that was asked for.
    pub level: Level,
    /// What was changed.
    pub changes: Vec<Changed>,
    /// What was not, and why.
    pub not_changed: Vec<String>,
    /// Lines of a `my.cnf` that would help after a restart.
    pub restart: Vec<String>,
    /// What is not as it was, in words.
    pub left: Vec<String>,
}

/// A tuned server; ends by putting everything back.
#[must_use = "dropping it puts the settings back"]
pub struct Tuning<'a> {
    run: &'a Run,
    wire: wire::Options,
    id: Identity,
    report: Report,
    conn: Option<Conn>,
    journal: Option<Journal>,
}

/// Puts back what an earlier run left changed on this server; gives the
/// server's description anew if anything was. To be called before anything is
/// decided from that description.
pub fn recover(
    run: &Run,
    options: &Options,
    wire: &wire::Options,
    conn: &mut Conn,
    id: Identity,
) -> Result<Identity> {
    let Some(state) = &options.state else {
        return Ok(id);
    };
    let key = journal::id(&id);
    let mut journal = match journal::existing(&journal::path(state, &key)) {
        Ok(None) => return Ok(id),
        Ok(Some(Opened::Held(pid))) => {
            run.observer.note(held(pid));
            return Ok(id);
        }
        Ok(Some(Opened::Ours(journal))) => journal,
        // Settings matter to this load only if it is to change some itself.
        Err(e) if options.level != Level::Max => {
            run.observer.warn(e.what);
            return Ok(id);
        }
        Err(e) => return Err(e),
    };
    belongs(&journal, &key)?;
    if journal.entries.is_empty() {
        journal.remove()?;
        return Ok(id);
    }
    let mut outcome = Outcome::default();
    revert::revert(conn, &mut journal, &mut outcome)?;
    for line in outcome.lines() {
        run.observer.warn(format!(
            "an earlier run left settings of this server changed: {line}"
        ));
    }
    if outcome.failed.is_empty() {
        journal.remove()?;
    } else {
        run.observer.warn(format!(
            "settings are still changed: run {} as an account that may set them",
            doctor(wire)
        ));
    }
    Identity::read(conn).map_err(|e| failure::server("cannot find out what the server is", e))
}

/// Changes what is to be changed. Nothing is, unless the level is [`Level::Max`].
pub fn begin<'a>(
    run: &'a Run,
    options: &Options,
    wire: &wire::Options,
    id: &Identity,
    work: &Work,
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
    };
    if options.level == Level::Max {
        tuning.change(options, work)?;
    }
    Ok(tuning)
}

impl Tuning<'_> {
    fn change(&mut self, options: &Options, work: &Work) -> Result<()> {
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

impl Outcome {
    fn back_line(&self) -> String {
        let list: Vec<String> = self
            .back
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        format!("put back: {}", list.join(", "))
    }

    fn foreign_line((name, ours, found): &(String, String, String)) -> String {
        format!(
            "{name} is {found}, which is neither the value before nor the load's ({ours}): somebody else changed it, so it stays"
        )
    }

    /// All of it, for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.back.is_empty() {
            lines.push(self.back_line());
        }
        lines.extend(self.foreign.iter().map(Self::foreign_line));
        lines.extend(
            self.failed
                .iter()
                .map(|(n, e)| format!("{n} could not be put back: {e}")),
        );
        lines.iter().map(|l| printable(l)).collect()
    }
}

/// The refusal of a target that takes no rows from a client.
pub fn local_infile_off() -> Error {
    Error::new(
        Kind::Privilege,
        "LOAD DATA LOCAL is off on the target (local_infile = OFF)",
    )
    .hint("SET GLOBAL local_infile = ON; and OFF again after the load")
}

/// A connection that a stop does not break: it is what puts things back.
fn open(wire: &wire::Options, id: &Identity) -> Result<Conn> {
    let mut conn = Conn::connect(wire)
        .map_err(|e| failure::wire("no connection to the server whose settings are changed", e))?;
    session::for_catalog(&mut conn, id)
        .map_err(|e| failure::server("cannot prepare a session", e))?;
    Ok(conn)
}

/// A journal is never applied to a server that it is not about.
pub fn belongs(journal: &Journal, id: &str) -> Result<()> {
    match &journal.begin {
        Some((server, _)) if server.id != id => Err(Error::new(
            Kind::Storage,
            printable(&format!(
                "journal {} is about another server, {} at {}",
                journal.path().display(),
                server.name,
                server.endpoint
            )),
        )
        .hint("somebody renamed or copied it: put it back in its place, or remove it")),
        _ => Ok(()),
    }
}

fn held(pid: Option<u32>) -> String {
    let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    format!(
        "another load{who} has changed settings of this server, and puts them back when it ends"
    )
}

/// The command that puts settings back.
pub fn doctor(wire: &wire::Options) -> String {
    let server = match &wire.endpoint {
        Endpoint::Tcp(host, port) => format!("--host {host} --port {port}"),
        Endpoint::Unix(path) => format!("--socket {}", path.display()),
    };
    printable(&format!(
        "penstock doctor --revert {server} --user {}",
        wire.user
    ))
}

fn lost() -> Error {
    Error::new(Kind::Internal, "the connection that tunes is gone")
}

//! Tunes a server for a load, and puts everything back.
//!
//! `begin` gives a guard; its `finish`, or its end on any road out of the load
//! (an error, a stop, a panic), puts back what was changed. What no code of
//! this process can do any more is done by the next load of the same server
//! (`recover`) or by `penstock doctor --revert`, from the journal. Invariants:
//! nothing is changed that is not in the journal on disk first; nothing is
//! persisted in the server; the redo log is the last to go and the first to
//! come back. What needs a restart is `service`'s: it comes before the other
//! settings and is taken back behind them, by the `command` that the user gave. `down` is a server that is stopped and
//! started for files that are put into its folder.

mod guard;
pub mod journal;
pub mod replicas;
pub mod revert;
pub mod settings;

use crate::{ServerCommand, restart};
use base::{Error, Kind, Result, units::printable};
use journal::{Journal, Opened};
use revert::Outcome;
use run::Run;
use run::failure;
use server::{Identity, session};
use std::path::PathBuf;
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
    /// How the server is restarted, if that is allowed.
    pub restart: Option<Restart>,
}

/// What the user gave to restart the server with.
#[derive(Clone, Debug)]
pub struct Restart {
    /// Restarts it.
    pub command: ServerCommand,
    /// A folder of which the server reads every `.cnf` file when it starts.
    pub config: PathBuf,
}

/// What is going to be loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadProfile {
    /// Bytes of rows, as text.
    pub bytes: u64,
    /// Whether several workers may load one table.
    pub split: bool,
    /// Whether the load goes into the binary log.
    pub binlog: bool,
    /// Whether the redo log has to stay on: files that are handed over rely on it.
    pub redo: bool,
    /// The connection that the load has by now, which is no stranger's.
    pub session: u32,
}

/// A setting before, during and after the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
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
    pub changes: Vec<ChangedSetting>,
    /// What was not, and why.
    pub not_changed: Vec<String>,
    /// Lines of a `my.cnf` that would help after a restart.
    pub restart: Vec<String>,
    /// How often the server was restarted.
    pub restarts: u32,
    /// What is not as it was, in words.
    pub not_reverted: Vec<String>,
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
    /// The folder of journals.
    state: PathBuf,
    /// The live settings have been put back, or it was said that they could not.
    told: bool,
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
    if journal.is_settled() {
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
        if let Some(fragment) = journal.fragment.clone() {
            let phase = run.phase("restarting the server", 1);
            let left = restart::undo(conn, wire, &mut journal, state)?;
            drop(phase);
            run.observer.warn(format!(
                "an earlier run left {}: it is removed, and the server runs without it",
                printable(&fragment.file.display().to_string())
            ));
            left.iter().for_each(|l| run.observer.warn(printable(l)));
        }
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
        told: false,
    };
    if options.level == Level::Max {
        tuning.change(options, work)?;
    }
    Ok(tuning)
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
pub(crate) fn open(wire: &wire::Options, id: &Identity) -> Result<Conn> {
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

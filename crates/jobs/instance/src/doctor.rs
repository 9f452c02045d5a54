//! Reports what an interrupted load left changed on a server, and reverts it.
//!
//! It knows nothing but the settings journals and restart notices of this user on this host: it changes
//! nothing that is not in one, and has no opinion on any other setting.

use crate::identity::{revert_command, server_id};
use crate::tune::fragment;
use crate::tune::journal::{self, Journal, Opened};
use crate::tune::revert::{self, Decision, Outcome};
use crate::variables::{self, REDO_LOG, same};
use crate::{recover, stopped};
use base::{Error, Kind, Result, units::printable};
use run::Run;
use server::Identity;
use std::path::PathBuf;
use wire::Conn;

/// What to look at.
#[derive(Debug)]
pub struct Options {
    /// The server; without one, all journals are listed and no server is asked.
    pub server: Option<wire::Options>,
    /// The directory of journals.
    pub state: PathBuf,
    /// Revert what was left changed.
    pub revert: bool,
}

/// A setting that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The server, in words.
    pub server: String,
    /// The variable, or `innodb_redo_log`.
    pub name: String,
    /// What it was before the load.
    pub before: String,
    /// What the load set.
    pub during: String,
    /// What it is now, if the server was asked.
    pub now: Option<String>,
}

/// What was found, and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What was looked at, in words.
    pub looked_at: String,
    /// What is still changed.
    pub left: Vec<Left>,
    /// What was done, in words.
    pub done: Vec<String>,
    /// Other findings.
    pub notes: Vec<String>,
    /// Loads that run and have changed settings, which they revert themselves.
    pub in_use: Vec<String>,
    /// Commands that revert what is left.
    pub commands: Vec<String>,
}

/// Checks, and reverts if that was asked for.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    match &options.server {
        Some(server) => one(run, options, server),
        None if options.revert => Err(Error::new(
            Kind::Usage,
            "reverting settings needs the server",
        )
        .hint("penstock doctor --revert SERVER")),
        None => every(options),
    }
}

/// All journals and notices, without asking a server.
fn every(options: &Options) -> Result<Summary> {
    let mut summary = Summary {
        looked_at: format!("journals in {}", options.state.display()),
        ..Summary::default()
    };
    for stopped in stopped::all(&options.state)? {
        if stopped.busy {
            summary.in_use.push(format!(
                "a load is running and has stopped {}, or is about to; it starts the server itself",
                printable(&stopped.server)
            ));
            continue;
        }
        summary.commands.push(command(&stopped.endpoint));
        summary.left.push(server_down(stopped, None));
    }
    for path in journal::all(&options.state)? {
        match journal::existing(&path)? {
            None => {}
            Some(Opened::Busy(pid)) => summary.in_use.push(running(pid)),
            Some(Opened::Ours(j)) => {
                if let Some((server, _)) = j.begin.as_ref().filter(|_| !j.is_settled()) {
                    summary.commands.push(command(&server.endpoint));
                }
                let server = j.begin.as_ref().map_or_else(String::new, |(s, _)| {
                    format!("{} at {}", s.name, s.endpoint)
                });
                summary.left.extend(j.entries.iter().map(|e| Left {
                    server: server.clone(),
                    name: e.setting.clone(),
                    before: e.before.clone(),
                    during: e.during.clone().unwrap_or_else(|| e.wanted.clone()),
                    now: None,
                }));
                summary.left.extend(fragment_left(&j, &server));
            }
        }
    }
    Ok(summary)
}

fn server_down(stopped: stopped::Stopped, now: Option<&str>) -> Left {
    Left {
        server: stopped.server,
        name: "the server itself".to_owned(),
        before: "up".to_owned(),
        during: "stopped".to_owned(),
        now: now.map(str::to_owned),
    }
}

fn one(run: &Run, options: &Options, wire: &wire::Options) -> Result<Summary> {
    let state = options.revert.then_some(options.state.as_path());
    let endpoint = wire.endpoint.to_string();
    let stopped = stopped::all(&options.state)?
        .into_iter()
        .find(|s| s.endpoint == endpoint && !s.busy && !options.revert);
    let (mut conn, id) = match (recover::connect(run, wire, state), &stopped) {
        (Err(e), Some(_)) if e.kind == Kind::Connection => {
            return Err(e.hint(format!(
                "a load had stopped this server and was killed: {}",
                revert_command(wire)
            )));
        }
        (outcome, _) => outcome?,
    };
    let server = format!("{id} at {}", wire.endpoint);
    let mut summary = Summary {
        looked_at: server.clone(),
        ..Summary::default()
    };
    let key = server_id(&id);
    match journal::existing(&journal::path(&options.state, &key))? {
        None => {}
        Some(Opened::Busy(pid)) if options.revert => {
            return Err(Error::new(Kind::Lock, running(pid))
                .hint("wait until it ends; it reverts everything itself"));
        }
        Some(Opened::Busy(pid)) => {
            summary.in_use.push(running(pid));
            return Ok(summary);
        }
        Some(Opened::Ours(journal)) => {
            journal::belongs(&journal, &key)?;
            if options.revert {
                revert_all(&mut conn, options, wire, journal, &server, &mut summary)?;
            } else {
                summary.left = compare(&mut conn, &journal, &server)?;
            }
        }
    }
    summary.left.extend(stopped.map(|s| {
        server_down(
            s,
            Some("up, perhaps without variables that were set while it ran"),
        )
    }));
    if !summary.left.is_empty() {
        summary.commands.push(revert_command(wire));
    }
    redo_log(&mut conn, &id, &mut summary)?;
    Ok(summary)
}

fn revert_all(
    conn: &mut Conn,
    options: &Options,
    wire: &wire::Options,
    mut journal: Journal,
    server: &str,
    summary: &mut Summary,
) -> Result<()> {
    let mut outcome = Outcome::default();
    revert::revert(conn, &mut journal, &mut outcome)?;
    summary.done = outcome.lines();
    if outcome.failed.is_empty() {
        if let Some(fragment) = journal.fragment.clone() {
            let left = fragment::undo(conn, wire, &mut journal, &options.state)?;
            summary.notes.extend(left);
            summary.done.push(format!(
                "{} is removed, and the server runs without it",
                fragment.file.display()
            ));
        }
        return journal.remove();
    }
    summary.left = compare(conn, &journal, server)?;
    Ok(())
}

/// What is in the journal and does not have its old value.
fn compare(conn: &mut Conn, journal: &Journal, server: &str) -> Result<Vec<Left>> {
    let restarted = revert::restarted(conn, journal)?;
    let mut left = Vec::new();
    for e in &journal.entries {
        let Some(now) = variables::read(conn, &e.setting)? else {
            continue;
        };
        match revert::decide(e, &now, restarted) {
            Decision::AsBefore | Decision::Restarted => {}
            Decision::Revert | Decision::ChangedByOthers => left.push(Left {
                server: server.to_owned(),
                name: e.setting.clone(),
                before: e.before.clone(),
                during: e.during.clone().unwrap_or_else(|| e.wanted.clone()),
                now: Some(now),
            }),
        }
    }
    left.extend(fragment_left(journal, server));
    Ok(left)
}

/// The file for which the server was restarted, as long as it is in the journal.
fn fragment_left(journal: &Journal, server: &str) -> Option<Left> {
    let f = journal.fragment.as_ref()?;
    let lines: Vec<String> = f
        .lines
        .iter()
        .map(|l| format!("{} = {}", l.setting, l.wanted))
        .collect();
    let exists = f.file.symlink_metadata().is_ok();
    Some(Left {
        server: server.to_owned(),
        name: f.file.display().to_string(),
        before: "absent".to_owned(),
        during: format!("{}, and a restart", lines.join(", ")),
        now: Some(if exists { "present" } else { "absent" }.to_owned()),
    })
}

/// The one setting that outlives a restart, and without which a crash loses the server: reported even if
/// no load of ours changed it.
fn redo_log(conn: &mut Conn, id: &Identity, summary: &mut Summary) -> Result<()> {
    let off = id.mysql_at_least(8, 0, 21)
        && variables::read(conn, REDO_LOG)?.is_some_and(|v| same(&v, "OFF"));
    if off && !summary.left.iter().any(|l| l.name == REDO_LOG) {
        summary.notes.push(
            "the redo log is off, and no journal on this host says why: unless that is intended, ALTER INSTANCE ENABLE INNODB REDO_LOG".to_owned(),
        );
    }
    Ok(())
}

/// The command for a server of which only the address is known.
fn command(endpoint: &str) -> String {
    let server = match endpoint.rsplit_once(':') {
        Some((host, port)) if !endpoint.starts_with('/') => format!("--host {host} --port {port}"),
        _ => format!("--socket {endpoint}"),
    };
    printable(&format!("penstock doctor --revert {server}"))
}

fn running(pid: Option<u32>) -> String {
    let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    format!("a load{who} is running and has changed settings of the server; it reverts them itself")
}

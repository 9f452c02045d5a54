//! Control of running jobs: they listen, one is chosen by its process id, and it is asked something.

use crate::args::control::{Set, Which};
use crate::screen::{Screen, runs};
use crate::settings::state;
use base::{Cancel, Error, Kind, Result, units};
use run::Run;
use run::control::{self, Control, Request, Running, Runs, Status};
use std::time::{Duration, Instant};

/// How long `penstock stop` waits for the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the run listen until the result is dropped. A run that cannot listen continues without.
pub fn listen(run: &Run, job: &str, about: String) -> Option<Control> {
    run.status.job(job, about);
    let directory = state::socket()?;
    match control::open(&directory, run) {
        Ok(control) => Some(control),
        Err(e) => {
            run.observer.note(units::printable(&format!(
                "penstock status, set, pause and stop will not find this run: {}: {e}",
                directory.display()
            )));
            None
        }
    }
}

fn running() -> Result<Runs> {
    let mut all = Runs::default();
    for directory in state::sockets() {
        let found = control::running(&directory)?;
        all.answering.extend(found.answering);
        all.silent.extend(found.silent);
    }
    all.answering.sort_by_key(|r| r.status.pid);
    all.silent.sort_unstable();
    Ok(all)
}

/// The error for a run that listens and does not answer.
fn silent_error(pid: u32) -> Error {
    Error::new(
        Kind::Failed,
        format!("process {pid} runs and does not answer"),
    )
    .hint("if a signal has stopped it, kill -CONT continues it")
}

/// The run that is meant: by its process id, or the only one.
fn one(pid: Option<u32>) -> Result<Running> {
    let Runs {
        answering: mut all,
        silent,
    } = running()?;
    let list = |all: &[Running]| -> String {
        let line = |r: &Running| format!("\n  {}", runs::run_line(&r.status));
        all.iter().map(line).collect()
    };
    if let Some(pid) = pid {
        if silent.contains(&pid) {
            return Err(silent_error(pid));
        }
        if let Some(at) = all.iter().position(|r| r.status.pid == pid) {
            return Ok(all.swap_remove(at));
        }
        let mut text = format!("no dump, load or verification of this user runs as process {pid}");
        if !all.is_empty() {
            text += &format!("; these do:{}", list(&all));
        }
        return Err(Error::new(Kind::Usage, text).hint("penstock status"));
    }
    // A run that does not answer may be the one that is meant.
    let lines: String = silent
        .iter()
        .map(|pid| format!("\n  {}", runs::silent_line(*pid)))
        .collect();
    match all.len() + silent.len() {
        1 => silent
            .first()
            .map_or_else(|| Ok(all.remove(0)), |pid| Err(silent_error(*pid))),
        0 => Err(Error::new(
            Kind::Usage,
            "no dump, load or verification of this user is running",
        )
        .hint("runs are found by the user who started them, on the same host")),
        n => Err(Error::new(
            Kind::Usage,
            format!("{n} are running:{}{lines}", list(&all)),
        )
        .hint("choose one with --pid")),
    }
}

/// Shows the state of runs.
pub fn status(a: &Which, screen: &Screen) -> Result<u8> {
    let (list, silent): (Vec<Status>, Vec<u32>) = match a.pid {
        Some(_) => (vec![one(a.pid)?.status], Vec::new()),
        None => {
            let found = running()?;
            let list = found.answering.into_iter().map(|r| r.status).collect();
            (list, found.silent)
        }
    };
    screen.result(&runs::runs(&list, &silent), runs::runs_json(&list, &silent));
    Ok(0)
}

/// Changes limits.
pub fn set(a: &Set, screen: &Screen) -> Result<u8> {
    let mut set = Vec::new();
    for text in &a.values {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            let example = |k: &control::Tunable| format!("{}={}", k.name, k.example);
            let examples: Vec<String> = control::TUNABLES.iter().map(example).collect();
            Error::new(Kind::Usage, format!("{text:?} is not NAME=VALUE")).hint(format!(
                "one of {}; none removes a limit",
                examples.join(", ")
            ))
        })?;
        if set.iter().any(|(n, _)| n == name) {
            let what = format!("{name} is set twice");
            return Err(Error::new(Kind::Usage, what).hint("name each limit once"));
        }
        set.push((name.to_owned(), value.to_owned()));
    }
    ask(a.pid, &Request::Set { set }, screen)
}

/// Asks a run for something, and shows its state after that.
pub fn ask(pid: Option<u32>, request: &Request, screen: &Screen) -> Result<u8> {
    // A run refuses only what was typed wrong.
    let usage = |e: Error| Error {
        kind: Kind::Usage,
        ..e
    };
    let status = one(pid)?.ask(request).map_err(usage)?;
    let list = [status];
    screen.result(&runs::runs(&list, &[]), runs::runs_json(&list, &[]));
    Ok(0)
}

/// Stops, and waits for the end.
pub fn stop(a: &Which, screen: &Screen, cancel: &Cancel) -> Result<u8> {
    let run = one(a.pid)?;
    let status = run.ask(&Request::Stop)?;
    let end = Instant::now() + PATIENCE;
    while run.is_there() && Instant::now() < end {
        if cancel.sleep(Duration::from_millis(100)) {
            break;
        }
    }
    let gone = !run.is_there();
    screen.result(
        &runs::stopped(&status, gone),
        runs::stopped_json(&status, gone),
    );
    Ok(0)
}

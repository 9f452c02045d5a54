//! The verbs: settings are resolved, the job runs, and its summary is shown. One function each.

mod bench;
mod control;
mod report;

use crate::args::{self, Cli, Command, Completions};
use crate::screen::{Screen, summary};
use crate::settings::{self, Compared};
use ::report::record::{self, summaries};
use base::{Cancel, Kind, Result};
use clap::CommandFactory;
use instance::doctor;
use run::Run;
use run::control::Request;
use std::sync::Arc;

/// Runs the verb; returns the exit code of a run that completed.
pub fn run(cli: &Cli, screen: &Arc<Screen>, cancel: &Cancel) -> Result<u8> {
    let run = Run::new(screen.clone(), cancel.clone());
    screen.follow(run.limiter.clone());
    match &cli.command {
        Command::Dump(a) => dump(a, &run, screen),
        Command::Load(a) => load(a, &run, screen),
        Command::Verify(a) => verify(a, &run, screen),
        Command::Doctor(a) => doctor(a, &run, screen),
        Command::Status(a) => control::status(a, screen),
        Command::Set(a) => control::set(a, screen),
        Command::Pause(a) => control::ask(a.pid, &Request::Pause, screen),
        Command::Resume(a) => control::ask(a.pid, &Request::Resume, screen),
        Command::Stop(a) => control::stop(a, screen, cancel),
        Command::Bench(b) => bench::bench(b, &run, screen),
        Command::Report(a) => report::report(a, screen),
        Command::Completions(a) => completions(a, screen),
    }
}

/// A summary, and the traffic through the rate limits.
fn show(run: &Run, screen: &Screen, mut text: String, mut value: serde_json::Value) {
    let traffic = run.status.traffic();
    text += &summary::limits(&traffic);
    if let Some(map) = value.as_object_mut() {
        map.insert("traffic".into(), summary::limits_json(&traffic));
    }
    screen.summary(&text, value);
}

fn dump(a: &args::dump::Dump, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::dump(a)?;
    settings::limit(run, &a.limits, Some(&a.store_limits));
    let _listens = control::listen(run, "dump", settings::about("into", &a.to));
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || summaries::dump_begins(&options),
        |run| dump::run(run, &options),
        summaries::dump,
    )?;
    let done = &kept.done;
    show(run, screen, summary::dump(done), summary::dump_json(done));
    Ok(report::code(&kept, exceptions(&done.exceptions), run))
}

fn load(a: &args::load::Load, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::load(a)?;
    settings::limit(run, &a.limits, None);
    let _listens = control::listen(run, "load", settings::about("of", &a.from));
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || summaries::load_begins(&options),
        |run| load::run(run, &options),
        summaries::load,
    )?;
    let done = &kept.done;
    show(run, screen, summary::load(done), summary::load_json(done));
    done.acknowledged();
    Ok(report::code(&kept, exceptions(&done.exceptions), run))
}

fn verify(a: &args::verify::Verify, run: &Run, screen: &Screen) -> Result<u8> {
    let v = settings::verify(a)?;
    settings::limit(run, &a.limits, None);
    let about = match &v.of {
        Compared::Archive { directory, .. } | Compared::Against(directory, _) => {
            settings::about("of", directory)
        }
        Compared::Servers(_) => "of two servers".to_owned(),
        Compared::Tablespaces(files) => files
            .first()
            .map_or_else(String::new, |f| settings::about("of", f)),
    };
    let _listens = control::listen(run, "verify", about);
    let file = a.recording.record.as_deref();
    let begins = |sides: &[String]| summaries::verify_begins(sides, v.threads, &v.filter);
    let kept = match &v.of {
        Compared::Tablespaces(files) => {
            let done = verify::tablespaces(run, files, v.threads)?;
            screen.summary(
                &summary::tablespaces(&done),
                summary::tablespaces_json(&done),
            );
            return Ok(0);
        }
        Compared::Archive { directory, rows } => {
            let begins = || begins(&[directory.display().to_string()]);
            let job = |run: &Run| verify::offline(run, directory, v.threads, *rows);
            let kept = record::keep(run, file, begins, job, summaries::offline)?;
            let done = &kept.done;
            screen.summary(&summary::offline(done), summary::offline_json(done));
            return Ok(report::code(&kept, 0, run));
        }
        Compared::Against(directory, server) => {
            let begins = || begins(&[directory.display().to_string(), server.endpoint.to_string()]);
            let job = |run: &Run| verify::against(run, directory, server, v.threads, &v.filter);
            record::keep(run, file, begins, job, summaries::compared)?
        }
        Compared::Servers(sides) => {
            let [left, right] = &**sides;
            let begins = || begins(&[left.endpoint.to_string(), right.endpoint.to_string()]);
            let job = |run: &Run| verify::servers(run, left, right, v.threads, &v.filter);
            record::keep(run, file, begins, job, summaries::compared)?
        }
    };
    let done = &kept.done;
    show(
        run,
        screen,
        summary::compared(done),
        summary::compared_json(done),
    );
    Ok(report::code(&kept, 0, run))
}

fn doctor(a: &args::doctor::Doctor, run: &Run, screen: &Screen) -> Result<u8> {
    let done = doctor::run(run, &settings::doctor(a)?)?;
    screen.summary(&summary::doctor(&done), summary::doctor_json(&done));
    Ok(exceptions(&done.left))
}

fn completions(a: &Completions, screen: &Screen) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(a.shell, &mut Cli::command(), "penstock", &mut script);
    screen.document(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// A run that did everything except what it lists has its own exit code.
fn exceptions<T>(list: &[T]) -> u8 {
    if list.is_empty() {
        0
    } else {
        Kind::Exceptions.exit_code()
    }
}

//! The verbs: settings are resolved, the job runs, and its summary is shown. One function each.

mod around;
mod bench;
mod binlog;
mod channel;
mod config;
mod control;
mod each;
mod forecast;
mod from_snapshot;
mod metrics;
mod point_in_time;
mod preflight;
mod replica;
mod report;
mod repository;
mod rescue;
mod snapshot;
mod warm;

pub use each::run_all;

use self::around::Outcome;
use self::forecast::Forecasts;
use crate::args::load::Loading;
use crate::args::values::Existing;
use crate::args::{self, Cli, Command, Completions};
use crate::screen::Screen;
use crate::settings::config::Config;
use crate::settings::scratch::Scratch;
use crate::settings::{self, Compared, Copied};
use ::report::record::{self, settings as recorded};
use ::report::summary::{self, Summary};
use ::snapshot as snapshot_job;
use base::{Cancel, Error, Kind, Result};
use clap::CommandFactory;
use encryption::Place;
use instance::doctor;
use run::Run;
use run::control::Request;
use std::path::Path;
use std::sync::Arc;
use store::Location;

/// Runs the verb; returns the exit code of a run that completed.
fn run(cli: &Cli, config: Option<&Config>, screen: &Arc<Screen>, cancel: &Cancel) -> Result<u8> {
    let run = Run::new(screen.clone(), cancel.clone());
    screen.follow(run.limiter.clone());
    match &cli.command {
        Command::Dump(a) => dump(a, cli.json, &run, screen),
        Command::Load(a) => load(a, &run, screen),
        Command::Verify(a) => verify(a, &run, screen),
        Command::Copy(a) => copy(a, cli.json, &run, screen),
        Command::Rescue(a) => rescue::rescue(a, &run, screen),
        Command::Init(a) => repository::init(a, screen),
        Command::Backup(a) => repository::backup(a, config, &run, screen),
        Command::List(a) => repository::list(a, cli.json, screen),
        Command::Check(a) => repository::check(a, config, &run, screen),
        Command::Drill(a) => repository::drill(a, config, &run, screen),
        Command::Restore(a) => repository::restore(a, config, &run, screen),
        Command::Prune(a) => repository::prune(a, config, &run, screen),
        Command::Binlog(a) => binlog::binlog(a, config, &run, screen),
        Command::Replica(a) => replica::replica(a, cli.json, &run, screen),
        Command::Snapshot(a) => snapshot::snapshot(a, &run, screen),
        Command::Warm(a) => warm::warm(a, &run, screen),
        Command::Config(args::config::Config::Check(_)) => config::check(config, screen),
        Command::Rekey(a) => repository::rekey(a, screen),
        Command::Doctor(a) => doctor(a, &run, screen),
        Command::Preflight(a) => preflight::preflight(a, &run, screen),
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

/// Shows a summary, with the traffic through the rate limits.
fn show(run: &Run, screen: &Screen, summary: &mut Summary) {
    for item in summary::traffic(&run.status.traffic()) {
        summary.add(item);
    }
    screen.summary(summary);
}

fn dump(a: &args::dump::Dump, json: bool, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::dump(a)?;
    let mut forecasts = Forecasts::of_dump(run, &a.how, &options);
    if a.dry_run {
        let found = dump::preview(run, &options)?;
        let time = forecasts.dump(&found);
        screen.summary(&summary::preview_dump(&found, &time));
        return Ok(exceptions(&found.exceptions));
    }
    let of_server = match &a.files.from_files {
        Some(_) => Some(Scratch::of_files(a.files.scratch.as_deref())?),
        None => None,
    };
    let directory = of_server
        .as_ref()
        .zip(a.files.from_files.as_deref())
        .map(|(s, path)| settings::data_directory(&a.files, path, s.path()));
    let snapshot = match a.files.from_snapshot {
        Some(method) => Some(settings::snapshot::of_dump(a, &options.source, method)?),
        None => None,
    };
    let replica = settings::replica_files(&a.files);
    if *options.to == Location::Stream {
        settings::rules::to_stdout("--to -", json)?;
        screen.leave_stdout();
    }
    settings::limit(run, &a.how.limits, Some(&a.how.store_limits));
    let _listens = control::listen(run, "dump", settings::about("into", &options.to));
    let mut kept = record::keep(
        run,
        a.how.recording.record.as_deref(),
        || match &directory {
            Some(directory) => recorded::dump_from_files(&options, &directory.path),
            None if snapshot.is_some() => recorded::dump_from_snapshot(&options),
            None if replica.is_some() => recorded::dump_from_replica_files(&options),
            None => recorded::dump(&options),
        },
        |run| match (&directory, &replica, &snapshot) {
            (Some(directory), ..) => dump::from_files::run(run, directory, &options),
            (None, Some(replica), _) => dump::from_replica::run(run, replica, &options),
            (None, None, Some(take)) => from_snapshot::dump(run, &a.files, take, &options),
            (None, None, None) => dump::run(run, &options),
        },
        |done| {
            let mut shown = summary::dump(done);
            shown.add(forecasts.dumped(done));
            shown
        },
    )?;
    show(run, screen, &mut kept.summary);
    Ok(report::code(&kept, exceptions(&kept.done.exceptions), run))
}

fn load(a: &args::load::Load, run: &Run, screen: &Screen) -> Result<u8> {
    let mut options = settings::load(a)?;
    if a.dry_run {
        let (code, _) = preview(run, screen, &options, &a.how)?;
        return Ok(code);
    }
    let _listens = control::listen(run, "load", settings::about("of", &options.from));
    let unpacked = if *options.from == Location::Stream && load::is_archive(&options.from)? {
        Some(unpacked(run, a.scratch.as_deref())?)
    } else {
        None
    };
    if let Some(unpacked) = &unpacked {
        options.from = unpacked.place(&options.from);
    }
    let done = run_load(run, screen, &options, &a.how, After::Nothing).map(|done| done.code);
    done.map_err(|e| match &unpacked {
        Some(_) if e.hint.as_deref().is_some_and(|h| h.contains("--resume")) => e.hint(
            "a load from a stream cannot be resumed: unpack the archive with penstock copy - DIR, and load that with --resume",
        ),
        _ => e,
    })
}

/// Shows what a load would do; its exit code tells as that of the load would whether something is left out.
fn preview(
    run: &Run,
    screen: &Screen,
    options: &load::Options,
    a: &Loading,
) -> Result<(u8, Summary)> {
    let found = load::preview(run, options)?;
    let time = Forecasts::of_load(run, a, options).load(&found);
    let summary = summary::preview(&found, time.as_ref());
    screen.summary(&summary);
    Ok((exceptions(&found.exceptions), summary))
}

/// An archive of standard input, until it is dropped.
struct Unpacked(Scratch);

impl Unpacked {
    /// Its place, with the keys of the stream.
    fn place(&self, of: &Place) -> Place {
        let archive = Location::Directory(self.0.path().join("archive"));
        of.moved(archive).called("standard input")
    }
}

/// Unpacks the archive on standard input.
fn unpacked(run: &Run, scratch: Option<&Path>) -> Result<Unpacked> {
    let unpacked = Unpacked(Scratch::new(scratch, "penstock-stream-", 0o700)?);
    copy::unpack(run, &unpacked.0.path().join("archive"))?;
    Ok(unpacked)
}

fn copy(a: &args::copy::Copy, json: bool, run: &Run, screen: &Screen) -> Result<u8> {
    let options = match settings::copy(a)? {
        Copied::Archive(options) => options,
        Copied::Servers(options) => return copy_servers(a, &options, run, screen),
        Copied::Via(options) => return copy_via(a, &options, run, screen),
    };
    if options.to == Location::Stream {
        settings::rules::to_stdout("copy to -", json)?;
        screen.leave_stdout();
    }
    settings::limit_disk(run, &a.store_limits);
    let _listens = control::listen(run, "copy", settings::about("of", &options.from));
    let done = copy::run(run, &options)?;
    show(run, screen, &mut summary::copy(&done));
    Ok(0)
}

fn copy_servers(
    a: &args::copy::Copy,
    options: &copy::servers::Options,
    run: &Run,
    screen: &Screen,
) -> Result<u8> {
    settings::limit(run, &a.limits, None);
    let about = format!("of {}", options.dump.source.endpoint);
    let _listens = control::listen(run, "copy", about);
    let done = copy::servers::run(run, options)?;
    show(run, screen, &mut summary::copied_servers(&done));
    Ok(exceptions(&done.exceptions()))
}

fn copy_via(
    a: &args::copy::Copy,
    options: &copy::via::Options,
    run: &Run,
    screen: &Screen,
) -> Result<u8> {
    settings::limit(run, &a.limits, Some(&a.store_limits));
    let about = format!("of {}", options.dump.source.endpoint);
    let _listens = control::listen(run, "copy", about);
    let done = copy::via::run(run, options)?;
    show(run, screen, &mut summary::copied_via(&done));
    if !screen.lost_output()
        && let Err(e) = done.end()
    {
        run.observer
            .warn(format!("the archive is still there: {}", e.what));
    }
    Ok(exceptions(&done.exceptions()))
}

/// What follows the restore of a backup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// It is all.
    Nothing,
    /// The binary log is applied.
    Log,
}

/// Names what the load would drop or empty, and asks whether it may, unless that was said.
fn agreed(
    run: &Run,
    screen: &Screen,
    options: &load::Options,
    a: &Loading,
) -> Result<load::Options> {
    if a.yes || !options.existing.destroys() {
        return Ok(options.clone());
    }
    let lost = load::lost(run, options)?;
    if !lost.is_empty() {
        let what = match a.existing {
            Existing::Truncate => "emptied and filled from the archive",
            _ => "dropped, and loaded from the archive",
        };
        screen.agree(
            &format!("on {}, this will be {what}", options.target.endpoint),
            &lost,
        )?;
    }
    Ok(load::Options {
        existing: options.existing.clone().only(lost),
        ..options.clone()
    })
}

/// Loads, and shows what was done.
fn run_load(
    run: &Run,
    screen: &Screen,
    options: &load::Options,
    a: &Loading,
    after: After,
) -> Result<Outcome> {
    settings::limit(run, &a.limits, None);
    let agreed = agreed(run, screen, options, a)?;
    let options = &agreed;
    let mut forecasts = Forecasts::of_load(run, a, options);
    let mut kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::load(options),
        |run| load::run(run, options),
        |done| {
            let mut shown = summary::load(done);
            shown.add(forecasts.loaded(done));
            shown
        },
    )?;
    if after == After::Log {
        kept.summary.goes_on();
    }
    show(run, screen, &mut kept.summary);
    if !screen.lost_output() {
        kept.done.acknowledged();
    }
    let summary = kept.summary.json();
    let code = report::code(&kept, exceptions(&kept.done.exceptions), run);
    Ok(Outcome { code, summary })
}

fn verify(a: &args::verify::Verify, run: &Run, screen: &Screen) -> Result<u8> {
    let mut v = settings::verify(a)?;
    settings::limit(run, &a.limits, None);
    let about = match &v.of {
        Compared::Archive { directory, .. } | Compared::Against(directory, _) => {
            settings::about("of", directory)
        }
        Compared::Servers(_) => "of two servers".to_owned(),
        Compared::Tablespaces(files) => files
            .first()
            .map_or_else(String::new, |f| format!("of {}", f.display())),
    };
    let _listens = control::listen(run, "verify", about);
    let _unpacked = match &mut v.of {
        Compared::Archive { directory, .. } | Compared::Against(directory, _)
            if **directory == Location::Stream =>
        {
            let unpacked = unpacked(run, a.scratch.as_deref())?;
            *directory = unpacked.place(directory);
            Some(unpacked)
        }
        _ => None,
    };
    let file = a.recording.record.as_deref();
    let begins = |sides: &[String]| recorded::verify(sides, v.threads, &v.filter);
    let mut kept = match &v.of {
        Compared::Tablespaces(files) => {
            let done = verify::tablespaces(run, files, v.threads)?;
            screen.summary(&summary::tablespaces(&done));
            return Ok(0);
        }
        Compared::Archive { directory, rows } if is_snapshot(directory)? => {
            if file.is_some() {
                let what = "--record is for runs about rows, and a snapshot of files is checked";
                return Err(Error::new(Kind::Usage, what).hint("leave it out"));
            }
            let done = snapshot_job::check(run, directory, v.threads, *rows)?;
            screen.summary(&summary::snapshot_check(&done, directory));
            return Ok(0);
        }
        Compared::Archive { directory, rows } => {
            let begins = || begins(&[directory.to_string()]);
            let job = |run: &Run| verify::offline(run, directory, v.threads, *rows);
            let kept = record::keep(run, file, begins, job, summary::offline)?;
            screen.summary(&kept.summary);
            return Ok(report::code(&kept, 0, run));
        }
        Compared::Against(directory, server) => {
            let begins = || begins(&[directory.to_string(), server.endpoint.to_string()]);
            let (filter, names) = (&v.filter, &v.names);
            let job = |run: &Run| {
                verify::against(
                    run,
                    directory,
                    server,
                    v.threads,
                    filter,
                    names,
                    v.definitions,
                )
            };
            record::keep(run, file, begins, job, summary::compared)?
        }
        Compared::Servers(sides) => {
            let [left, right] = &**sides;
            let begins = || begins(&[left.endpoint.to_string(), right.endpoint.to_string()]);
            let job =
                |run: &Run| verify::servers(run, left, right, v.threads, &v.filter, v.definitions);
            record::keep(run, file, begins, job, summary::compared)?
        }
    };
    show(run, screen, &mut kept.summary);
    Ok(report::code(&kept, 0, run))
}

/// Whether it is one; of an encrypted place without a key only the files can be checked, whatever they are.
fn is_snapshot(place: &Place) -> Result<bool> {
    match place.open(None) {
        Ok(_) => snapshot_job::holds_one(place),
        // Opening it again reports that.
        Err(_) => Ok(false),
    }
}

fn doctor(a: &args::doctor::Doctor, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::doctor(a)?;
    // While its applier runs, settings cannot be put back.
    let channel = match &options.server {
        Some(server) => channel::found(run, server, &options)?,
        None => channel::Found::default(),
    };
    let mut done = doctor::run(run, &options)?;
    channel.add_to(&mut done, &options);
    screen.summary(&summary::doctor(&done));
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

//! From what was typed to what is meant: one function for each verb.

mod bench;
mod report;
mod steer;

use crate::args::{self, Cli, Command, Selection};
use crate::screen::{Screen, summary};
use ::report::record::{self, told};
use base::{Cancel, Error, Kind, Result};
use instance::ServerCommand;
use instance::doctor;
use instance::managed;
use instance::tune;
use run::Run;
use run::control::Request;
use server::Filter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Runs the verb; the number is the exit code of a run that came to its end.
pub fn run(cli: &Cli, screen: &Arc<Screen>, cancel: &Cancel) -> Result<u8> {
    let run = Run::new(screen.clone(), cancel.clone());
    match &cli.command {
        Command::Dump(a) => dump(a, &run, screen),
        Command::Load(a) => load(a, &run, screen),
        Command::Verify(a) => verify(a, &run, screen),
        Command::Doctor(a) => doctor(a, &run, screen),
        Command::Status(a) => steer::status(a, screen),
        Command::Set(a) => steer::set(a, screen),
        Command::Pause(a) => steer::tell(a.pid, &Request::Pause, screen),
        Command::Resume(a) => steer::tell(a.pid, &Request::Resume, screen),
        Command::Stop(a) => steer::stop(a, screen, cancel),
        Command::Bench(b) => bench::bench(b, &run, screen),
        Command::Report(a) => report::report(a, screen),
    }
}

/// A summary, and what passed the gates.
fn show(run: &Run, screen: &Screen, mut text: String, mut value: serde_json::Value) {
    let flows = run.status.traffic();
    text += &summary::limits(&flows);
    if let Some(map) = value.as_object_mut() {
        map.insert("traffic".into(), summary::limits_json(&flows));
    }
    screen.summary(&text, value);
}

fn filter(s: &Selection) -> Result<Filter> {
    Filter::new(
        &patterns(&s.include_schemas),
        &patterns(&s.exclude_schemas),
        &patterns(&s.include_tables),
        &patterns(&s.exclude_tables),
    )
    .map_err(|e| Error::new(Kind::Usage, e.to_string()))
}

/// Lists of patterns, cut at the commas that stand outside backticks.
fn patterns(typed: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for list in typed {
        let mut quoted = false;
        let parts = list.split(|c| {
            quoted ^= c == '`';
            c == ',' && !quoted
        });
        out.extend(parts.filter(|p| !p.is_empty()).map(str::to_owned));
    }
    out
}

fn dump(a: &args::Dump, run: &Run, screen: &Screen) -> Result<u8> {
    a.limits.apply(run)?;
    a.store_limits.apply(run)?;
    let options = dump::Options {
        source: a.connection.resolve(a.source.as_deref())?,
        to: a.to.clone(),
        threads: args::threads(a.threads),
        compression: compression(&a.compression)?,
        chunk_bytes: args::size(&a.chunk_size)?.max(64 << 10),
        consistency: match a.consistency.as_str() {
            "lock" => dump::Consistency::Lock,
            "none" => dump::Consistency::None,
            other => {
                return Err(
                    Error::new(Kind::Usage, format!("unknown consistency {other:?}"))
                        .hint("one of lock, none"),
                );
            }
        },
        lock_wait: Duration::from_secs(a.lock_wait.max(1)),
        routines: !a.no_routines,
        events: !a.no_events,
        triggers: !a.no_triggers,
        filter: filter(&a.selection)?,
        throttle: a.throttle.meant(&a.connection)?,
    };
    if a.throttle.min_rate.is_some()
        && let Some(most) = run
            .limiter
            .rate()
            .filter(|most| *most < options.throttle.floor)
    {
        return Err(Error::new(
            Kind::Usage,
            format!(
                "--min-rate is {} bytes per second, and --max-rate allows {most}",
                options.throttle.floor
            ),
        )
        .hint("lower --min-rate, or raise --max-rate"));
    }
    let absolute = |p: &std::path::Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    if let Some(record) = &a.recording.record
        && absolute(record).starts_with(absolute(&a.to))
    {
        return Err(Error::new(
            Kind::Usage,
            format!(
                "--record {} lies in the folder of the dump itself, which would count as damaged then",
                record.display()
            ),
        )
        .hint("name a place outside of it"));
    }
    let _listens = steer::listen(run, "dump", format!("into {}", a.to.display()));
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || told::dump_begins(&options),
        |run| dump::run(run, &options),
        told::dump,
    )?;
    let done = &kept.done;
    show(run, screen, summary::dump(done), summary::dump_json(done));
    Ok(report::code(&kept, exceptions(&done.exceptions), run))
}

/// `--memory`.
fn memory(text: &str) -> Result<usize> {
    const LEAST: u64 = 1 << 20;
    let size = args::size(text)?;
    if size < LEAST {
        return Err(Error::new(
            Kind::Usage,
            format!("--memory {text}: 1M is the least"),
        ));
    }
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

/// Whether what is said of `--server-command` goes together.
fn service(a: &args::Load, level: tune::Level) -> Result<()> {
    let no = |what: &str, hint: &str| Err(Error::new(Kind::Usage, what).hint(hint));
    let cold = matches!(a.road, args::Road::Cold);
    let max = level == tune::Level::Max;
    match (cold, max, &a.server_command, &a.server_config) {
        (_, true, ..) if a.datadir.is_some() => no(
            "--tune=max is for a server that has settings to change",
            "leave it out: the server that --datadir makes is made for the load",
        ),
        _ if a.datadir.is_some() => Ok(()),
        (.., Some(command), _) if command.trim().is_empty() => no(
            "--server-command is empty",
            "give the shell line that restarts the server: 'systemctl \"$1\" mysql'",
        ),
        (true, true, ..) => no(
            "--road cold restarts the server, which forgets what --tune=max sets",
            "leave --tune=max out: what comes as a file does not need it",
        ),
        (true, _, None, _) => no(
            "--road cold stops the server and starts it, and nobody said how",
            "add --server-command 'systemctl \"$1\" mysql', or --road tablespace, which needs no stop",
        ),
        (false, false, Some(_), _) => no(
            "--server-command restarts the server, which only --tune=max and --road cold may do",
            "add --tune=max, or --road cold, if the server is not in service",
        ),
        (false, _, Some(_), None) => no(
            "--server-command restarts the server for settings, and they have no place",
            "add --server-config with the folder of which the server reads every .cnf file",
        ),
        (true, _, _, Some(_)) => no(
            "--server-config is for settings of --tune=max, and --road cold has none",
            "leave it out",
        ),
        _ => Ok(()),
    }
}

/// Where a load goes.
fn target(a: &args::Load) -> Result<wire::Options> {
    let Some(folder) = &a.datadir else {
        return a.connection.resolve(a.into.as_deref());
    };
    // Of all that may be said of a server, only a password is for one that is still to be made.
    let mut root = a.connection.clone();
    root.socket = Some(managed::socket(folder));
    root.user = Some("root".to_owned());
    root.resolve(None)
}

fn load(a: &args::Load, run: &Run, screen: &Screen) -> Result<u8> {
    a.limits.apply(run)?;
    let level = level(&a.tune)?;
    service(a, level)?;
    let service = a.server_command.as_ref().zip(a.server_config.as_ref());
    let options = load::Options {
        from: a.from.clone(),
        target: target(a)?,
        threads: args::threads(a.threads),
        verify: !a.no_verify,
        allow_same_server: a.allow_same_server,
        skip_binlog: a.skip_binlog,
        resume: a.resume,
        schema: a.schema.clone(),
        skip_unsupported: a.skip_refused,
        defer_indexes: match a.defer_keys {
            args::DeferKeys::Auto => load::DeferIndexes::Auto,
            args::DeferKeys::All => load::DeferIndexes::All,
            args::DeferKeys::Off => load::DeferIndexes::Off,
        },
        import_mode: match a.road {
            args::Road::Auto => load::tablespace::ImportMode::Auto,
            args::Road::Rows => load::tablespace::ImportMode::Sql,
            args::Road::Tablespace => load::tablespace::ImportMode::Tablespace,
            args::Road::Cold => load::tablespace::ImportMode::Offline,
        },
        sort_memory: memory(&a.memory)?,
        filter: Arc::new(filter(&a.selection)?),
        tune: tune::Options {
            level,
            state: state(),
            restart: service.map(|(command, config)| tune::Restart {
                command: ServerCommand::Shell(command.clone()),
                config: config.clone(),
            }),
        },
        state: state_at_home(),
        server_command: a.server_command.clone().map(ServerCommand::Shell),
        managed: a.datadir.clone().map(|folder| managed::Options {
            folder,
            program: a.server_program.clone(),
            options: a.server_option.clone(),
        }),
    };
    let _listens = steer::listen(run, "load", format!("of {}", a.from.display()));
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || told::load_begins(&options),
        |run| load::run(run, &options),
        told::load,
    )?;
    let done = &kept.done;
    show(run, screen, summary::load(done), summary::load_json(done));
    done.acknowledged();
    Ok(report::code(&kept, exceptions(&done.exceptions), run))
}

fn verify(a: &args::Verify, run: &Run, screen: &Screen) -> Result<u8> {
    a.limits.apply(run)?;
    let threads = args::threads(a.threads);
    let filter = filter(&a.selection)?;
    let about = match (&a.archive, &a.tablespace[..]) {
        (Some(from), _) => format!("of {}", from.display()),
        (None, []) => "of two servers".to_owned(),
        (None, [file, ..]) => format!("of {}", file.display()),
    };
    let _listens = steer::listen(run, "verify", about);
    if !a.tablespace.is_empty() {
        if !a.selection.is_empty() || a.connection.names_a_server() {
            return Err(Error::new(
                Kind::Usage,
                "--tablespace checks files as they are: no server and no selection goes with it",
            )
            .hint("penstock verify --tablespace FILE.ibd"));
        }
        let done = verify::tablespaces(run, &a.tablespace, threads)?;
        screen.summary(
            &summary::tablespaces(&done),
            summary::tablespaces_json(&done),
        );
        return Ok(0);
    }
    let file = a.recording.record.as_deref();
    let begins = |sides: &[String]| told::verify_begins(sides, threads, &filter);
    if let Some(from) = &a.archive {
        let folder = from.display().to_string();
        if a.against.is_none() && !a.connection.names_a_server() {
            if !a.selection.is_empty() {
                return Err(Error::new(Kind::Usage, "an offline check covers the whole archive; a selection needs a server to compare with")
                    .hint("add --against SERVER, or leave the selection out"));
            }
            let begins = || begins(&[folder]);
            let job = |run: &Run| verify::offline(run, from, threads, !a.files_only);
            let kept = record::keep(run, file, begins, job, told::offline)?;
            let done = &kept.done;
            screen.summary(&summary::offline(done), summary::offline_json(done));
            return Ok(report::code(&kept, 0, run));
        }
        let server = a.connection.resolve(a.against.as_deref())?;
        let begins = || begins(&[folder, server.endpoint.to_string()]);
        let job = |run: &Run| verify::against(run, from, &server, threads, &filter);
        let kept = record::keep(run, file, begins, job, told::compared)?;
        return Ok(compared(&kept, run, screen));
    }
    let [left, right] = a.server.as_slice() else {
        return Err(
            Error::new(Kind::Usage, "comparing servers takes two of them")
                .hint("penstock verify --server A --server B"),
        );
    };
    let (left, right) = (
        a.connection.resolve(Some(left))?,
        a.connection.resolve(Some(right))?,
    );
    let begins = || begins(&[left.endpoint.to_string(), right.endpoint.to_string()]);
    let job = |run: &Run| verify::servers(run, &left, &right, threads, &filter);
    let kept = record::keep(run, file, begins, job, told::compared)?;
    Ok(compared(&kept, run, screen))
}

fn compared(kept: &record::Kept<verify::Comparison>, run: &Run, screen: &Screen) -> u8 {
    let done = &kept.done;
    show(
        run,
        screen,
        summary::compared(done),
        summary::compared_json(done),
    );
    report::code(kept, 0, run)
}

fn doctor(a: &args::Doctor, run: &Run, screen: &Screen) -> Result<u8> {
    let named = a.server.is_some() || a.connection.names_a_server();
    let options = doctor::Options {
        server: named
            .then(|| a.connection.resolve(a.server.as_deref()))
            .transpose()?,
        state: state().ok_or_else(|| {
            Error::new(Kind::Usage, "there is no folder of journals to look into")
                .hint("set PENSTOCK_STATE, or HOME")
        })?,
        revert: a.revert,
    };
    let done = doctor::run(run, &options)?;
    screen.summary(&summary::doctor(&done), summary::doctor_json(&done));
    Ok(if done.left.is_empty() {
        0
    } else {
        Kind::Exceptions.exit_code()
    })
}

fn level(text: &str) -> Result<tune::Level> {
    match text {
        "off" => Ok(tune::Level::Off),
        "safe" => Ok(tune::Level::Safe),
        "max" => Ok(tune::Level::Max),
        other => Err(
            Error::new(Kind::Usage, format!("unknown level {other:?} of --tune"))
                .hint("one of off, safe, max"),
        ),
    }
}

/// Where penstock keeps what must outlive a run.
fn state() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            // As the XDG rules have it, a relative path is no path.
            .filter(|p| p.is_absolute())
    };
    folder("PENSTOCK_STATE")
        .or_else(|| folder("XDG_STATE_HOME").map(|p| p.join("penstock")))
        .or_else(|| folder("HOME").map(|p| p.join(".local/state/penstock")))
}

/// The same for what a run can do without: nothing is made for a home that is not there.
fn state_at_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).is_some();
    let home = || std::env::var_os("HOME").is_some_and(|home| Path::new(&home).is_dir());
    state().filter(|_| named("PENSTOCK_STATE") || named("XDG_STATE_HOME") || home())
}

/// A run that did everything but what it lists ends with a code of its own.
fn exceptions(list: &[String]) -> u8 {
    if list.is_empty() {
        0
    } else {
        Kind::Exceptions.exit_code()
    }
}

fn compression(text: &str) -> Result<dump::Compression> {
    let bad = |why: &str| {
        Error::new(Kind::Usage, format!("compression {text:?}: {why}"))
            .hint("one of zstd, zstd:LEVEL (1 to 22), none")
    };
    match text.split_once(':') {
        None if text == "none" => Ok(dump::Compression::None),
        None if text == "zstd" => Ok(dump::Compression::Zstd(1)),
        Some(("zstd", level)) => match level.parse() {
            Ok(level @ 1..=22) => Ok(dump::Compression::Zstd(level)),
            _ => Err(bad("the level is not from 1 to 22")),
        },
        _ => Err(bad("unknown method")),
    }
}

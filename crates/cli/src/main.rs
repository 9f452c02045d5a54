//! The program `penstock`: arguments (what was typed), settings (what it means), commands (which run
//! jobs) and the screen. The only crate that knows the command line, the environment and the terminal.

mod args;
mod commands;
mod screen;
mod settings;
mod signals;

use args::Cli;
use base::{Cancel, Error, Kind, Observer as _};
use clap::Parser;
use clap::error::ErrorKind;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use screen::{Mode, Screen};
use settings::config::{self, Config};
use settings::rules;
use settings::words::Words;
use std::ffi::OsString;
use std::process::ExitCode;

/// For static builds: musl's own allocator lets threads wait for each other (docs/packaging.md has the figures).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Passwords and keys are in its memory: no core dump, and no debugger of another process of this user. A
    // kernel that refuses leaves things as they are for every program.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if let Some(e) = attached_password(
        std::env::args_os()
            .skip(1)
            .map(|a| a.to_string_lossy().into_owned()),
    ) {
        let json = std::env::args_os().any(|a| a == "--json");
        Screen::new(Mode::choose(json, true)).error(&e);
        return ExitCode::from(e.kind.exit_code());
    }
    let (config, lines) = match command_lines(std::env::args_os().collect()) {
        Ok(found) => found,
        Err(e) => {
            let json = std::env::args_os().any(|a| a == "--json");
            Screen::new(Mode::choose(json, true)).error(&e);
            return ExitCode::from(e.kind.exit_code());
        }
    };
    // All of them are understood before the first one is run.
    let several = lines.len() > 1;
    let mut parsed = Vec::new();
    for words in lines {
        match Cli::try_parse_from(&words.all) {
            Ok(cli) => {
                // Of several servers, all are looked at before the first is backed up.
                let sound = rules::everywhere(&cli).and_then(|()| match several {
                    true => rules::values(&cli.command).and_then(|()| rules::applies(&cli.command)),
                    false => Ok(()),
                });
                if let Err(e) = sound.map_err(|e| words.explain(e)) {
                    Screen::new(Mode::choose(cli.json, true)).error(&e);
                    return ExitCode::from(e.kind.exit_code());
                }
                parsed.push((words, cli));
            }
            // clap prints help and the version, to the right stream.
            Err(e)
                if !e.use_stderr()
                    || e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
            {
                let printed = e.print();
                return match e.use_stderr() {
                    true => ExitCode::from(Kind::Usage.exit_code()),
                    // Who reads only the beginning of a help has it.
                    false if printed.is_err_and(|e| e.kind() != std::io::ErrorKind::BrokenPipe) => {
                        ExitCode::from(Kind::Storage.exit_code())
                    }
                    false => ExitCode::SUCCESS,
                };
            }
            Err(e) => {
                let json = words.all.iter().any(|a| a == "--json");
                let typed = std::env::args_os().skip(1);
                let typed = typed.map(|a| a.to_string_lossy().into_owned());
                let e = words.explain(args::errors::usage(&e, typed));
                Screen::new(Mode::choose(json, true)).error(&e);
                return ExitCode::from(e.kind.exit_code());
            }
        }
    }
    if let Err(e) = rules::several(parsed.iter().map(|(_, cli)| cli)) {
        let json = parsed.iter().any(|(_, cli)| cli.json);
        Screen::new(Mode::choose(json, true)).error(&e);
        return ExitCode::from(e.kind.exit_code());
    }
    let Some((_, first)) = parsed.first() else {
        return ExitCode::from(Kind::Internal.exit_code());
    };
    let cancel = Cancel::new();
    let screen = Screen::new(Mode::choose(first.json, first.quiet));
    signals::watch(&cancel, screen.clone());
    if let Some(why) = config::not_ours(&std::env::args_os().collect::<Vec<_>>()) {
        screen.note(why);
    }
    // A panic is a bug in penstock: it is reported in one line, with the exit code for bugs.
    let reporter = screen.clone();
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        reporter.panicked(
            &Error::new(Kind::Internal, format!("internal error at {place}: {info}"))
                .hint("this is a bug in penstock: please report it with this message"),
        );
    }));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        commands::run_all(&parsed, config.as_ref(), &screen, &cancel)
    }));
    match outcome {
        Ok(code) => ExitCode::from(screen.ended().unwrap_or(code)),
        Err(_) => ExitCode::from(Kind::Internal.exit_code()),
    }
}

/// What was typed, completed by the configuration and the option files. One line, or several: a backup of each
/// server.
fn command_lines(typed: Vec<OsString>) -> base::Result<(Option<Config>, Vec<Words>)> {
    let config = config::find(&typed)?;
    let lines = config::expand(&typed, config.as_ref());
    let complete =
        |line| config::complete(line, config.as_ref()).and_then(settings::filed::complete);
    let words = lines.into_iter().map(complete).collect::<Result<_, _>>()?;
    Ok((config, words))
}

/// `-psecret`, as the mysql client allows it: refused before a parser could repeat it in a message.
fn attached_password(args: impl Iterator<Item = String>) -> Option<Error> {
    args.take_while(|a| a != "--")
        .any(|a| a.len() > 2 && a.starts_with("-p") || a.starts_with("--password=") && a.len() > 11)
        .then(settings::connection::password_on_command_line)
}

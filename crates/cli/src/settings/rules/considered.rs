//! Every option of every command, in every circumstance in which the command can run: it applies, or it is refused.
//!
//! The tables say which; they are written by hand, each line after a look at what the job does with the option. The
//! tests compare them with clap's own list of options, and with what the rules do: an option without an entry fails,
//! as does one that is accepted where the table says it means nothing.
//!
//! "Applies" means that it changes what is done, or that what it asks for is so. What only the server can show (that
//! it has no binary log, say) is no circumstance of a command line.

mod binlog;
mod connection;
mod copy;
mod dump;
mod load;
mod others;
mod preflight;
mod replica;
mod repository;
mod snapshot;
mod verify;
mod warm;

use super::load::Loaded;
use crate::args::bench::{Bench, Tpcc};
use crate::args::binlog::Binlog;
use crate::args::config::Config;
use crate::args::replica::Replica;
use crate::args::repository::OfKind;
use crate::args::snapshot::Snapshot;
use crate::args::warm::Warm;
use crate::args::{Cli, Command, errors};
use crate::settings;
use base::{Error, Kind, Result};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory, Parser};
use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::path::Path;
use store::Location;

/// A command with its circumstances and options.
struct Verb {
    /// Its words, as `bench tpcc run`.
    name: &'static str,
    /// Ways to call it; words in braces are files of [`Files`].
    calls: &'static [&'static str],
    options: &'static [&'static [Considered]],
}

/// An option: its name, its words, and where it applies.
type Considered = (&'static str, &'static str, fn(&Call) -> bool);

/// A way to call a command.
struct Call {
    line: &'static str,
}

impl Call {
    fn has(&self, word: &str) -> bool {
        self.line.split(' ').any(|w| w == word)
    }

    fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.has(w))
    }

    /// Whether a server is named by a URI.
    fn uri(&self) -> bool {
        self.line.contains("mysql://")
    }

    /// Whether the option is there already, by its long name or its letter.
    fn gives(&self, arg: &Arg) -> bool {
        let long = arg.get_long().map(|l| format!("--{l}"));
        let short = arg.get_short().map(|s| format!("-{s}"));
        [long, short].iter().flatten().any(|name| self.has(name))
    }
}

fn always(_: &Call) -> bool {
    true
}

const EVERYWHERE: &[Considered] = &[
    ("json", "--json", |c| {
        let to_stdout = ["--to - ", "--html - ", "copy {archive} - "];
        let line = format!("{} ", c.line);
        !c.has("completions") && !to_stdout.iter().any(|to| line.contains(to))
    }),
    ("quiet", "--quiet", always),
    ("config", "--config c.toml", |c| {
        !c.has_any(&["completions", "init", "bench"])
    }),
];

fn verbs() -> impl Iterator<Item = &'static Verb> {
    let all = [
        copy::VERBS,
        dump::VERBS,
        load::VERBS,
        verify::VERBS,
        repository::VERBS,
        snapshot::VERBS,
        binlog::VERBS,
        warm::VERBS,
        others::VERBS,
        preflight::VERBS,
        replica::VERBS,
    ];
    all.into_iter().flatten()
}

/// Options whose effect clap itself is.
const OF_CLAP: [&str; 2] = ["help", "version"];

/// It asks at the terminal, which a test does not have.
const ASKS: &str = "password";

/// What the words in braces stand for.
struct Files {
    directory: tempfile::TempDir,
    secret: std::fs::File,
}

impl Files {
    fn new() -> Files {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let write = |name: &str, text: &str| std::fs::write(path.join(name), text).expect("a file");
        for archive in ["archive", "shell"] {
            std::fs::create_dir(path.join(archive)).expect("a directory");
            write(&format!("{archive}/@.json"), "{}");
        }
        write("archive/penstock.json", "{}");
        write("script.sql", "SELECT 1;");
        write("empty.cnf", "");
        write("check.sql", "SELECT 1\n");
        write("passphrase", "correct horse\n");
        let key = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n";
        write("key.txt", key);
        write("secret", "secret\n");
        let secret = std::fs::File::open(path.join("secret")).expect("a file");
        Files { directory, secret }
    }

    /// The words of a command line.
    fn words(&self, line: &str) -> Vec<String> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let word = |w: &str| match w {
            "{archive}" => path("archive"),
            "{shell}" => path("shell"),
            "{script}" => path("script.sql"),
            "{new}" => path("new"),
            "{cnf}" => path("empty.cnf"),
            "{checks}" => path("check.sql"),
            "{passphrase}" => path("passphrase"),
            "{key}" => path("key.txt"),
            "{to}" => "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj".to_owned(),
            "{fd}" => self.secret.as_raw_fd().to_string(),
            word => word.replace('~', " "),
        };
        let words = line.split_whitespace().map(word);
        std::iter::once("penstock".to_owned())
            .chain(words)
            .collect()
    }
}

/// What becomes of a command line, short of doing it.
fn judge(cli: &Cli, on_stdin: Option<Loaded>) -> Result<()> {
    super::everywhere(cli)?;
    super::values(&cli.command)?;
    let place =
        || Location::parse("/backup".as_ref()).map_err(|e| Error::new(Kind::Usage, e.to_string()));
    match &cli.command {
        Command::Dump(a) => {
            if a.to == Path::new("-") && cli.json {
                super::to_stdout("--to -", true)?;
            }
            settings::dump(a).map(drop)
        }
        Command::Load(a) => match on_stdin {
            None => settings::load(a).map(drop),
            Some(loaded) => {
                super::load(&a.how)?;
                super::load_of(a, loaded)?;
                settings::restore(place()?, &a.how).map(drop)
            }
        },
        Command::Verify(a) => settings::verify(a).map(drop),
        Command::Copy(a) => {
            if a.to == [Path::new("-")] && cli.json {
                super::to_stdout("copy to -", true)?;
            }
            settings::copy(a).map(drop)
        }
        Command::Backup(a) => settings::backup(place()?, None, a).map(drop),
        Command::Rescue(a) => settings::rescue::rescue(a).map(drop),
        Command::List(a) => super::list(a, cli.json),
        Command::Check(a) => {
            super::check(a).and_then(|()| settings::keys::opening(&a.encryption).map(drop))
        }
        Command::Drill(a) => {
            settings::checks(a)?;
            settings::drill(place()?, Path::new("/data"), a).map(drop)
        }
        // Which it is, only the catalog shows.
        Command::Restore(a) if a.kind == Some(OfKind::Snapshot) => {
            settings::rules::point_in_time(&a.moment, &a.how)?;
            settings::restore(place()?, &a.how)?;
            settings::snapshot::of_repository(place()?, a).map(drop)
        }
        Command::Restore(a) => {
            settings::rules::point_in_time(&a.moment, &a.how)?;
            super::restored_archive(a)?;
            settings::restore(place()?, &a.how).map(drop)
        }
        Command::Rekey(a) => {
            super::rekey(a)?;
            settings::keys::rekey(a).map(drop)
        }
        Command::Doctor(a) => settings::doctor(a).map(drop),
        Command::Preflight(a) => settings::preflight::preflight(a).map(drop),
        Command::Report(a) => super::report(a),
        Command::Bench(Bench::Impact(a)) => settings::bench::impact(a).map(drop),
        Command::Bench(Bench::Disk(a)) => settings::bench::disk(a).map(drop),
        Command::Bench(Bench::Compare(_)) => Ok(()),
        Command::Bench(Bench::Tpcc(Tpcc::Load(a))) => settings::bench::tpcc_load(a).map(drop),
        Command::Bench(Bench::Tpcc(Tpcc::Run(a))) => settings::bench::tpcc_run(a).map(drop),
        Command::Bench(Bench::Tpcc(Tpcc::Check(a))) => settings::bench::tpcc_check(a).map(drop),
        Command::Binlog(Binlog::Archive(a)) => settings::binlog::archive(a, &place()?).map(drop),
        Command::Binlog(Binlog::Find(a)) => settings::binlog::find(a).map(drop),
        Command::Binlog(Binlog::Show(a)) => settings::binlog::show(a).map(drop),
        Command::Replica(Replica::Create(a)) => settings::replica::create(a).map(drop),
        Command::Replica(Replica::Status(a)) => settings::replica::status(a).map(drop),
        Command::Replica(Replica::Verify(a)) => settings::replica::verify(a).map(drop),
        Command::Replica(Replica::Abort(a)) => settings::replica::abort(a).map(drop),
        Command::Warm(Warm::Save(a)) => settings::warm::save(a).map(drop),
        Command::Warm(Warm::Load(a)) if a.pages => settings::warm::load_pages(a).map(drop),
        Command::Warm(Warm::Load(a)) => settings::warm::load(a).map(drop),
        Command::Warm(Warm::Check(a)) => settings::warm::check(a).map(drop),
        Command::Warm(Warm::Ramp(a)) => settings::warm::ramp(a).map(drop),
        Command::Warm(Warm::Status(a)) => settings::warm::status(a).map(drop),
        Command::Warm(Warm::Copy(a)) => settings::warm::copy(a).map(drop),
        Command::Snapshot(Snapshot::Take(a)) => settings::snapshot::take(a).map(drop),
        Command::Snapshot(Snapshot::Restore(a)) => settings::snapshot::restore(a).map(drop),
        Command::Snapshot(Snapshot::List(_) | Snapshot::Clean(_))
        | Command::Init(_)
        | Command::Prune(_)
        | Command::Config(Config::Check(_))
        | Command::Status(_)
        | Command::Set(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Stop(_)
        | Command::Completions(_) => Ok(()),
    }
}

/// The refusal of a command line, if it is refused.
fn refused(files: &Files, line: &str) -> Option<String> {
    // What is on standard input stands behind the minus.
    let (line, on_stdin) = match line.split_once("-:") {
        None => (line.to_owned(), None),
        Some((before, after)) => {
            let (what, after) = after.split_once(' ').expect("a word");
            let loaded = match what {
                "archive" => Loaded::Archive,
                "script" => Loaded::OtherDump,
                _ => panic!("{line}"),
            };
            (format!("{before}- {after}"), Some(loaded))
        }
    };
    let words = files.words(&line);
    match Cli::try_parse_from(&words) {
        Ok(cli) => match judge(&cli, on_stdin) {
            Ok(()) => None,
            Err(e) => {
                assert_eq!(e.kind, Kind::Usage, "{line}: {e:?}");
                Some(format!("{} {}", e.what, e.hint.unwrap_or_default()))
            }
        },
        Err(e) => {
            let of_rules = [
                ErrorKind::ArgumentConflict,
                ErrorKind::MissingRequiredArgument,
            ];
            assert!(of_rules.contains(&e.kind()), "{line}: {e}");
            Some(errors::usage(&e, words.into_iter().skip(1)).what)
        }
    }
}

/// Commands without commands below them, with their words.
fn leaves(command: &clap::Command, words: &str, into: &mut Vec<(String, clap::Command)>) {
    let mut below = command
        .get_subcommands()
        .filter(|c| c.get_name() != "help")
        .peekable();
    if below.peek().is_none() {
        into.push((words.trim().to_owned(), command.clone()));
    }
    for command in below {
        leaves(command, &format!("{words} {}", command.get_name()), into);
    }
}

fn all_commands() -> Vec<(String, clap::Command)> {
    let mut cli = Cli::command();
    cli.build();
    let mut all = Vec::new();
    leaves(&cli, "", &mut all);
    all
}

/// The options of a command that are its own, and not clap's.
fn options(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    let named = command.get_arguments().filter(|a| a.get_long().is_some());
    named.filter(|a| {
        let help = matches!(a.get_action(), ArgAction::Help | ArgAction::Version);
        !help && !OF_CLAP.contains(&a.get_long().unwrap_or_default())
    })
}

#[test]
fn every_option_of_every_command_has_its_entry() {
    let commands = all_commands();
    let names: BTreeSet<&str> = commands.iter().map(|(name, _)| name.as_str()).collect();
    let entered: BTreeSet<&str> = verbs().map(|v| v.name).collect();
    assert_eq!(names, entered, "the commands and their entries");
    for (name, command) in &commands {
        let verb = verbs().find(|v| v.name == name).expect("an entry");
        let of_clap: BTreeSet<&str> = options(command).filter_map(Arg::get_long).collect();
        let considered = || verb.options.iter().copied().flatten();
        let entered: BTreeSet<&str> = considered().map(|(name, ..)| *name).collect();
        assert_eq!(of_clap, entered, "the options of {name}, and their entries");
        assert_eq!(
            entered.len(),
            considered().count(),
            "{name}: two entries for one option"
        );
    }
}

#[test]
fn every_option_applies_or_is_refused() {
    let files = Files::new();
    let (mut applied, mut wrong) = (0, Vec::new());
    for (name, command) in &all_commands() {
        let verb = verbs().find(|v| v.name == name).expect("an entry");
        for line in verb.calls {
            assert!(line.starts_with(name.as_str()), "{line}");
            let call = Call { line };
            if let Some(why) = refused(&files, line) {
                wrong.push(format!("{line}: cannot be run: {why}"));
                continue;
            }
            for arg in options(command).filter(|a| !call.gives(a)) {
                let long = arg.get_long().unwrap_or_default();
                let mut entries = verb.options.iter().copied().flatten();
                let entry = entries.find(|(name, ..)| *name == long);
                let Some((_, words, applies)) = entry.filter(|_| long != ASKS) else {
                    continue;
                };
                let said = refused(&files, &format!("{line} {words}"));
                match (said, applies(&call)) {
                    (None, true) => applied += 1,
                    (None, false) => wrong.push(format!("{line}: --{long} is accepted")),
                    (Some(why), true) => wrong.push(format!("{line}: --{long} is refused: {why}")),
                    (Some(why), false) if !names(&why, arg) => {
                        wrong.push(format!("{line}: --{long} is not named: {why}"));
                    }
                    (Some(_), false) => {}
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(applied > 500, "{applied}");
}

/// Whether a refusal says which option it is about: by its name, or by that of its kind.
fn names(why: &str, arg: &Arg) -> bool {
    const KINDS: [&str; 11] = [
        "required arguments were not provided",
        "the server is named twice",
        "nothing to resume",
        "schemas and tables cannot be selected",
        "a selection",
        "no selection",
        "options on how to connect",
        "options on a connection",
        "no server",
        "a server is named",
        "which is",
    ];
    let mut names = arg.get_all_aliases().unwrap_or_default();
    names.extend(arg.get_long());
    names.iter().any(|name| why.contains(&format!("--{name}")))
        || KINDS.iter().any(|k| why.contains(k))
}

#[test]
fn one_record_is_not_for_several_servers() {
    let backup = |name: &str, record: &str| {
        Cli::try_parse_from([
            "penstock",
            "backup",
            name,
            "--repository",
            "r",
            "--record",
            record,
        ])
        .expect("a command line")
    };
    let same = [backup("a", "x.json"), backup("b", "x.json")];
    let e = super::several(same.iter()).expect_err("refused");
    assert_eq!(e.kind, Kind::Usage);
    assert!(e.what.contains("--record x.json"), "{e}");
    let own = [backup("a", "a.json"), backup("b", "b.json")];
    super::several(own.iter()).expect("each its own");
}

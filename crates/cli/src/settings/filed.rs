//! Options that stand in the group `[penstock]` of an option file: they are put behind the words of the
//! command line, so that they are parsed, and ruled on, as typed ones are.
//!
//! One file serves all commands and calls: an option of another command is passed over, and so is one that
//! does not apply to this call; a name that no command has is refused with its file and line, and so is a
//! wrong value. What is typed wins. What this does not do: connection options,
//! which `connection` reads, because a URI and `[client]` have a place in their order.

use super::optionfile::{Line, OptionFiles, Which};
use super::rules;
use crate::args::Cli;
use crate::args::connection::Connection;
use base::units::printable;
use base::{Error, Kind, Result};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, Parser};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

/// Long options that say which files are read, or what is on the command line only.
const TYPED_ONLY: [&str; 7] = [
    "help",
    "version",
    "password-fd",
    "defaults-file",
    "defaults-extra-file",
    "defaults-group-suffix",
    "no-defaults",
];

/// The command line, complete.
#[derive(Debug, Default)]
pub struct Words {
    /// What was typed, and what option files add.
    pub all: Vec<OsString>,
    /// What they add, with its place, for messages.
    added: Vec<String>,
}

impl Words {
    /// An error of a command line says which options were not typed.
    pub fn explain(&self, e: Error) -> Error {
        if self.added.is_empty() || e.kind != Kind::Usage {
            return e;
        }
        let files = format!(
            "from option files: {}; remove the line there, or type the option with another value (--no-defaults leaves out the user and password of these files too)",
            self.added.join(", ")
        );
        let hint = match &e.hint {
            Some(hint) => format!("{hint}\n{files}"),
            None => files,
        };
        e.hint(hint)
    }
}

/// Adds what the option files say to the words that were typed, the program's name first.
pub fn complete(typed: Vec<OsString>) -> Result<Words> {
    let mut cli = Cli::command();
    cli.build();
    // What is wrong or missing on the command line is found when all of it is parsed.
    let parsed = cli.clone().ignore_errors(true);
    let nothing = |all| Words {
        all,
        added: Vec::new(),
    };
    let Ok(matches) = parsed.try_get_matches_from(&typed) else {
        return Ok(nothing(typed));
    };
    let (verb, given) = verb(&cli, &matches);
    if !verb.get_arguments().any(|a| a.get_id() == "defaults_file") {
        return Ok(nothing(typed));
    }
    let path = |id: &str| given.try_get_one::<PathBuf>(id).ok().flatten().cloned();
    let suffix = given.try_get_one::<String>("defaults_group_suffix");
    let files = OptionFiles::read(&Which {
        only: path("defaults_file"),
        extra: path("defaults_extra_file"),
        // A command line with an error may not even have the defaults of its switches.
        none: given.try_get_one("no_defaults").ok().flatten() == Some(&true),
        suffix: suffix.ok().flatten().cloned(),
    })?;
    let mut known = BTreeSet::new();
    names(&cli, &mut known);
    let connection = Connection::augment_args(Command::new("connection"));
    let mut by_option: BTreeMap<String, Vec<(Option<String>, String)>> = BTreeMap::new();
    for line in files.own() {
        if !known.contains(&line.key) {
            return Err(unknown(line, &known));
        }
        let has = |a: &&Arg| long_names(a).any(|n| n == line.key);
        let Some(arg) = verb.get_arguments().find(has) else {
            continue;
        };
        let id = arg.get_id().as_str();
        let is_typed = given.value_source(id) == Some(ValueSource::CommandLine);
        if is_typed
            || connection
                .get_arguments()
                .any(|a| a.get_id() == arg.get_id())
        {
            continue;
        }
        let name = arg.get_long().unwrap_or(&line.key);
        let said = by_option.entry(name.to_owned()).or_default();
        if !matches!(arg.get_action(), ArgAction::Append) {
            said.clear();
        }
        let place = format!("{name} ({})", line.place());
        said.push((word(arg, name, line)?, place));
    }
    let said = |list: Vec<(Option<String>, String)>| -> Said {
        let words = list.into_iter();
        words.filter_map(|(w, place)| Some((w?, place))).collect()
    };
    let added = by_option.into_values().map(said).collect();
    let added = applicable(&typed, added);
    Ok(Words {
        all: joined(&typed, &added),
        added: added
            .into_iter()
            .flatten()
            .map(|(_, place)| place)
            .collect(),
    })
}

/// What files say of one option: words, each with its place.
type Said = Vec<(String, String)>;

/// Says how a dump is taken. A typed option that does not go with it is refused.
const NEVER_PASSED_OVER: &str = "--consistency=";

/// The command line with what files add.
fn joined(typed: &[OsString], added: &[Said]) -> Vec<OsString> {
    let mut all = typed.to_vec();
    let end = all.iter().position(|w| w == "--").unwrap_or(all.len());
    let more = added.iter().flatten().map(|(word, _)| word.into());
    all.splice(end..end, more);
    all
}

/// Passes over what the rules would refuse: in a file it is a default for the calls that it applies to. A wrong
/// value stays, and is refused; so does everything if what was typed is refused.
fn applicable(typed: &[OsString], added: Vec<Said>) -> Vec<Said> {
    let with = |chosen: &[usize]| {
        let mut chosen = chosen.to_vec();
        chosen.sort_unstable();
        let list: Vec<Said> = chosen.iter().map(|at| added[*at].clone()).collect();
        list
    };
    let judge = |chosen: &[usize]| judged(&joined(typed, &with(chosen)));
    let all: Vec<usize> = (0..added.len()).collect();
    if matches!(judge(&all), Judged::Fits | Judged::Wrong) {
        return added;
    }
    let always = |at: &usize| {
        let mut words = added[*at].iter();
        words.any(|(word, _)| word.starts_with(NEVER_PASSED_OVER))
    };
    let (mut chosen, mut left): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| always(at));
    // One option after the other; then two that need each other.
    let pairs = |left: &[usize]| -> Vec<Vec<usize>> {
        let of = |a: &usize| left.iter().map(|b| vec![*a, *b]).collect::<Vec<_>>();
        let two = left.iter().flat_map(of).filter(|pair| pair[0] < pair[1]);
        left.iter().map(|at| vec![*at]).chain(two).collect()
    };
    while let Some(more) = pairs(&left).into_iter().find(|more| {
        let tried = [chosen.as_slice(), more.as_slice()].concat();
        matches!(judge(&tried), Judged::Fits | Judged::Wrong)
    }) {
        left.retain(|at| !more.contains(at));
        chosen.extend(more);
        if judge(&chosen) == Judged::Wrong {
            break;
        }
    }
    match judge(&chosen) {
        Judged::Fits | Judged::Wrong => with(&chosen),
        // A rule refuses what was typed: its message shall be about that.
        Judged::Rule if judge(&[]) == Judged::Rule => Vec::new(),
        Judged::Rule | Judged::Conflict => added,
    }
}

/// What is thought of a command line.
#[derive(PartialEq)]
enum Judged {
    Fits,
    /// It is wrong in itself.
    Wrong,
    /// Options exclude or need one another, says clap.
    Conflict,
    /// The same, or that one does not apply, says a rule.
    Rule,
}

fn judged(words: &[OsString]) -> Judged {
    use clap::error::ErrorKind;
    match Cli::try_parse_from(words) {
        Ok(cli) if rules::values(&cli.command).is_err() => Judged::Wrong,
        Ok(cli) if rules::applies(&cli.command).is_err() => Judged::Rule,
        Ok(_) => Judged::Fits,
        Err(e) => match e.kind() {
            ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument => Judged::Conflict,
            _ => Judged::Wrong,
        },
    }
}

/// The command that was typed, and what was typed for it.
fn verb<'a>(cli: &'a Command, matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    let (mut command, mut given) = (cli, matches);
    while let Some((name, below)) = given.subcommand()
        && let Some(found) = command.find_subcommand(name)
    {
        (command, given) = (found, below);
    }
    (command, given)
}

/// All names of an option.
fn long_names(arg: &Arg) -> impl Iterator<Item = &str> {
    let others = arg.get_all_aliases().unwrap_or_default();
    arg.get_long().into_iter().chain(others)
}

/// The long options of all commands.
fn names(command: &Command, into: &mut BTreeSet<String>) {
    let all = command.get_arguments().flat_map(long_names);
    into.extend(all.filter(|n| !TYPED_ONLY.contains(n)).map(str::to_owned));
    for below in command.get_subcommands() {
        names(below, into);
    }
}

/// A line as a word of the command line; none for a switch that is off.
fn word(arg: &Arg, name: &str, line: &Line) -> Result<Option<String>> {
    if arg.get_action().takes_values() {
        return match &line.value {
            Some(value) => Ok(Some(format!("--{name}={value}"))),
            None => Err(wrong(line, "needs a value").hint(format!("{name} = VALUE"))),
        };
    }
    let value = line.value.as_deref().unwrap_or("on").to_ascii_lowercase();
    match value.as_str() {
        "on" | "1" | "true" => Ok(Some(format!("--{name}"))),
        "off" | "0" | "false" => Ok(None),
        _ => Err(wrong(line, "is on or off").hint(format!("write {name}, or {name} = off"))),
    }
}

fn wrong(line: &Line, why: &str) -> Error {
    let what = format!("{}: {} {why}", line.place(), printable(&line.key));
    Error::new(Kind::Usage, what)
}

/// A name that no command has.
fn unknown(line: &Line, known: &BTreeSet<String>) -> Error {
    if TYPED_ONLY.contains(&line.key.as_str()) {
        return wrong(line, "can only be typed").hint("remove the line");
    }
    let nearest = known.iter().map(|n| (distance(n, &line.key), n)).min();
    let hint = match nearest {
        Some((2.., _)) | None => {
            "the long options of penstock's commands can stand in [penstock]: penstock COMMAND --help; what is for mysql's own clients belongs into [client]".to_owned()
        }
        Some((_, name)) => format!("{name} is an option"),
    };
    wrong(line, "is not an option of any command").hint(hint)
}

/// How many letters are wrong: left out, added, or another one.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words after those that name the command and the file, or the error.
    fn added(verb: &str, file: &str, rest: &str) -> Result<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.cnf");
        std::fs::write(&path, file).unwrap();
        let mut typed: Vec<OsString> = vec!["penstock".into()];
        typed.extend(verb.split(' ').map(OsString::from));
        typed.extend(["--defaults-file".into(), path.into_os_string()]);
        typed.extend(rest.split_whitespace().map(OsString::from));
        let n = typed.len() - rest.split_whitespace().count();
        let all = complete(typed)?.all;
        Ok(all[n..]
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect())
    }

    #[test]
    fn options_of_the_command_are_added() {
        let file = "[client]\nmax_rate = 1\nno-such = 2\n[penstock]\nuser=u\nmax_rate = 20M\nno-routines\nno-events = off\nto = /b\nfiles-only\nschemas = a\n";
        assert_eq!(
            added("dump", file, "").unwrap(),
            [
                "--include-schemas=a",
                "--max-rate=20M",
                "--no-routines",
                "--to=/b"
            ]
        );
        // Another command has other ones of them, and a missing value is no matter yet.
        assert_eq!(
            added("load", file, "").unwrap(),
            ["--include-schemas=a", "--max-rate=20M"]
        );
    }

    #[test]
    fn what_does_not_apply_to_this_call_is_passed_over() {
        let kept = |typed: &str, file: &str| {
            let typed: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            let said = |word: &str| vec![(word.to_owned(), String::new())];
            let added = applicable(&typed, file.split(' ').map(said).collect());
            let words = added.into_iter().flatten().map(|(word, _)| word);
            words.collect::<Vec<_>>().join(" ")
        };
        let file = "--exclude-tables=a.b --max-rate=20M --include-schemas=a --threads=3";
        assert_eq!(kept("penstock verify d", file), "--threads=3");
        assert_eq!(kept("penstock verify d --against mysql://a/", file), file);
        assert_eq!(kept("penstock verify --tablespace t", file), "--threads=3");
        // A dump of another tool.
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("x.sql");
        std::fs::write(&script, "SELECT 1;").unwrap();
        let load = format!("penstock load {}", script.display());
        assert_eq!(kept(&load, file), "--max-rate=20M --threads=3");
        // Options that need each other.
        let restart = "--server-command=x --server-config=/c --threads=3 --tune=max";
        assert_eq!(kept("penstock load d", restart), restart);
        assert_eq!(kept("penstock load d --datadir e", restart), "--threads=3");
        assert_eq!(kept("penstock load d", "--server-config=/c"), "");
        assert_eq!(
            kept("penstock verify d --max-rate 1M", "--include-schemas=a"),
            ""
        );
        // What is typed is refused, not what stands in the file; and a wrong value is no default.
        for (typed, file) in [
            ("--lock-wait 5", "--consistency=none"),
            ("--threads 2", "--chunk-size=1k"),
            ("--threads 2", "--max-rate=fast"),
            ("--threads 2", "--max-impact=5% --max-rate=1M --min-rate=2M"),
            ("--thraeds 2", "--max-rate=1M"),
        ] {
            assert_eq!(kept(&format!("penstock dump --to d {typed}"), file), file);
        }
    }

    #[test]
    fn an_error_of_the_command_line_is_found_later() {
        let file = "[penstock]\nthreads=4\n";
        for rest in ["--thraeds 2", "--compression lead", "--max-rate=fast"] {
            assert!(added("dump", file, rest).is_ok(), "{rest}");
        }
    }

    #[test]
    fn what_is_typed_wins() {
        let file = "[penstock]\nthreads=4\nschemas=a\nto=/b\n";
        for rest in ["--threads 2 --include-schemas=c", "-t2 --schemas c"] {
            let words = added("dump", file, rest).unwrap();
            let typed = rest.split(' ').map(str::to_owned);
            let wanted: Vec<String> = typed.chain(["--to=/b".to_owned()]).collect();
            assert_eq!(words, wanted);
        }
        assert_eq!(
            added("load", "[penstock]\nresume\n", "-- x").unwrap(),
            ["--resume", "--", "x"]
        );
    }

    #[test]
    fn the_last_line_counts_unless_an_option_is_repeated() {
        let file = "[penstock]\nthreads=4\nthreads=5\nabort-if=lag=1s\nabort-if=running=9\n";
        assert_eq!(
            added("dump", file, "").unwrap(),
            ["--abort-if=lag=1s", "--abort-if=running=9", "--threads=5"]
        );
    }

    #[test]
    fn unknown_names_are_refused_with_their_line() {
        for (line, hint) in [
            ("max-rat = 1M", "max-rate is an option"),
            ("quick", "penstock COMMAND --help"),
            ("defaults-file = x", "remove the line"),
            ("threads", "threads = VALUE"),
            ("no-events = maybe", "no-events = off"),
        ] {
            let file = format!("[penstock]\nuser = u\n{line}\n");
            let e = added("dump", &file, "").expect_err(line);
            assert_eq!(e.kind, Kind::Usage);
            assert!(e.what.contains("o.cnf, line 3: "), "{line}: {e}");
            assert!(
                e.hint.as_deref().unwrap_or_default().contains(hint),
                "{e:?}"
            );
        }
        // A file for all commands is read by all of them.
        assert!(added("verify a", "[penstock]\nmax-rat=1\n", "").is_err());
    }
}

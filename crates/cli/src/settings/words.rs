//! Command lines that files complete: what is common to option files (`filed`) and the configuration
//! (`config`).
//!
//! Invariant: what a file adds is parsed, and ruled on, as what was typed.

use super::rules;
use crate::args::Cli;
use base::{Error, Kind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, Parser};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Long options that say which files are read, or what is on the command line only.
pub const TYPED_ONLY: [&str; 8] = [
    "config",
    "help",
    "version",
    "password-fd",
    "defaults-file",
    "defaults-extra-file",
    "defaults-group-suffix",
    "no-defaults",
];

/// A command line, with what files add to it.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// What was typed, and what files add.
    pub all: Vec<OsString>,
    /// What they add, with its place, for messages.
    added: Vec<String>,
}

impl Words {
    /// What was typed, the program's name first.
    pub fn typed(all: Vec<OsString>) -> Words {
        Words {
            all,
            added: Vec::new(),
        }
    }

    /// The same with what files say.
    pub fn with(mut self, added: Vec<Said>) -> Words {
        self.all = joined(&self.all, &added);
        for (_, place) in added.into_iter().flatten() {
            if !self.added.contains(&place) {
                self.added.push(place);
            }
        }
        self
    }

    /// An error of a command line says which of the options that it is about were not typed; if it names none, all.
    pub fn explain(&self, e: Error) -> Error {
        let about = self.about(&e);
        let added = if about.is_empty() {
            self.added.clone()
        } else {
            about
        };
        self.with_files(e, &added)
    }

    /// An error of a run that has begun is about options only if it names them.
    pub fn explain_run(&self, e: Error) -> Error {
        let about = self.about(&e);
        self.with_files(e, &about)
    }

    /// The options of files that an error names.
    fn about(&self, e: &Error) -> Vec<String> {
        let named = |place: &&String| {
            let key = place.split(" (").next().unwrap_or_default();
            names_option(&e.what, key)
        };
        self.added.iter().filter(named).cloned().collect()
    }

    fn with_files(&self, e: Error, added: &[String]) -> Error {
        if added.is_empty() || e.kind != Kind::Usage {
            return e;
        }
        let files = format!(
            "from files: {}; remove the line there, or type the option with another value (--no-defaults leaves out the user and password of these files too)",
            added.join(", ")
        );
        let hint = match &e.hint {
            Some(hint) => format!("{hint}\n{files}"),
            None => files,
        };
        e.hint(hint)
    }
}

/// Whether a message names this option, and not one whose name begins so.
fn names_option(message: &str, key: &str) -> bool {
    let option = format!("--{key}");
    message.match_indices(&option).any(|(at, _)| {
        let rest = &message[at + option.len()..];
        !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
    })
}

/// What files say of one option: words, each with its place.
pub type Said = Vec<(String, String)>;

/// Says how a dump is taken. A typed option that does not go with it is refused.
const NEVER_PASSED_OVER: &str = "--consistency=";

/// The command line with what files add.
pub fn joined(typed: &[OsString], added: &[Said]) -> Vec<OsString> {
    let mut all = typed.to_vec();
    let end = all.iter().position(|w| w == "--").unwrap_or(all.len());
    let more = added.iter().flatten().map(|(word, _)| word.into());
    all.splice(end..end, more);
    all
}

/// Passes over what the rules would refuse: in a file it is a default for the calls that it applies to. A wrong
/// value stays, and is refused; so does everything if what was typed is refused.
pub fn applicable(typed: &[OsString], added: Vec<Said>) -> Vec<Said> {
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
#[derive(Debug, PartialEq)]
pub enum Judged {
    /// It can be run.
    Fits,
    /// It is wrong in itself.
    Wrong,
    /// Options exclude or need one another, says clap.
    Conflict,
    /// The same, or that one does not apply, says a rule.
    Rule,
}

pub fn judged(words: &[OsString]) -> Judged {
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

/// A command line that was typed, as far as it can be understood: what is wrong or missing is found when all of
/// it is parsed.
pub struct Typed {
    cli: Command,
    matches: ArgMatches,
}

impl Typed {
    /// Parses it; `None` if it is not even that of a command, or asks for help.
    pub fn parse(words: &[OsString]) -> Option<Typed> {
        let mut cli = Cli::command();
        cli.build();
        // Not of one that is built: the setting would not reach commands below a command.
        let tolerant = Cli::command().ignore_errors(true);
        let matches = tolerant.try_get_matches_from(words);
        matches.ok().map(|matches| Typed { cli, matches })
    }

    /// The command that was typed.
    pub fn verb(&self) -> &Command {
        self.found().0
    }

    fn found(&self) -> (&Command, &ArgMatches) {
        let (mut command, mut given) = (&self.cli, &self.matches);
        while let Some((name, below)) = given.subcommand()
            && let Some(found) = command.find_subcommand(name)
        {
            (command, given) = (found, below);
        }
        (command, given)
    }

    /// The value of an argument.
    pub fn one<T: Clone + Send + Sync + 'static>(&self, id: &str) -> Option<&T> {
        self.found().1.try_get_one::<T>(id).ok().flatten()
    }

    /// Where an argument's value comes from.
    pub fn source(&self, id: &str) -> Option<ValueSource> {
        let given = self.found().1;
        given.try_contains_id(id).ok()?;
        given.value_source(id)
    }

    /// Whether an option of the command was typed.
    pub fn has(&self, arg: &Arg) -> bool {
        self.source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// The long options of all commands.
    pub fn all_names(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        names(&self.cli, &mut all);
        all
    }
}

/// The option of a command that has this name.
pub fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let has = |a: &&Arg| long_names(a).any(|n| n == name);
    command.get_arguments().find(has)
}

/// The names of a command's options.
pub fn option_names(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().flat_map(long_names)
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

/// The name that was most likely meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = known.map(|n| (distance(n, name), n)).min();
    nearest.filter(|(far, _)| *far < 2).map(|(_, name)| name)
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

    #[test]
    fn an_option_is_named_by_its_whole_name() {
        let message = "invalid value for '--max-rate-disk <RATE>'";
        assert!(names_option(message, "max-rate-disk"));
        assert!(!names_option(message, "max-rate"));
        assert!(names_option("--max-rate: no", "max-rate") && names_option("--host", "host"));
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
        let of_archives = "--analyze --max-rate=20M --skip-damaged --threads=3";
        assert_eq!(kept(&load, of_archives), "--max-rate=20M --threads=3");
        assert_eq!(kept(&load, file), file);
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
}

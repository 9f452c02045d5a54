//! Options that stand in the group `[penstock]` of an option file: they are put behind the words of the
//! command line, so that they are parsed, and ruled on, as typed ones are.
//!
//! One file serves all commands and calls: an option of another command is passed over, and so is one that
//! does not apply to this call; a name that no command has is refused with its file and line, and so is a
//! wrong value. What is typed wins. What this does not do: connection options,
//! which `connection` reads, because a URI and `[client]` have a place in their order.

use super::optionfile::{Line, OptionFiles, Which};
use super::words::{self, Said, TYPED_ONLY, Typed, Words};
use crate::args::connection::Connection;
use base::units::printable;
use base::{Error, Kind, Result};
use clap::{Arg, ArgAction, Args, Command};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Adds what the option files say to a command line.
pub fn complete(words: Words) -> Result<Words> {
    let Some(typed) = Typed::parse(&words.all) else {
        return Ok(words);
    };
    let verb = typed.verb();
    if !verb.get_arguments().any(|a| a.get_id() == "defaults_file") {
        return Ok(words);
    }
    let path = |id: &str| typed.one::<PathBuf>(id).cloned();
    let files = OptionFiles::read(&Which {
        only: path("defaults_file"),
        extra: path("defaults_extra_file"),
        // A command line with an error may not even have the defaults of its switches.
        none: typed.one("no_defaults") == Some(&true),
        suffix: typed.one::<String>("defaults_group_suffix").cloned(),
    })?;
    let known = typed.all_names();
    let connection = Connection::augment_args(Command::new("connection"));
    let mut by_option: BTreeMap<String, Vec<(Option<String>, String)>> = BTreeMap::new();
    for line in files.own() {
        if !known.contains(&line.key) {
            return Err(unknown(line, known.iter().map(String::as_str)));
        }
        let Some(arg) = words::option(verb, &line.key) else {
            continue;
        };
        if typed.has(arg)
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
    let added = words::applicable(&words.all, added);
    Ok(words.with(added))
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
fn unknown<'a>(line: &Line, known: impl Iterator<Item = &'a str>) -> Error {
    if TYPED_ONLY.contains(&line.key.as_str()) {
        return wrong(line, "can only be typed").hint("remove the line");
    }
    let hint = match words::nearest(&line.key, known) {
        None => {
            "the long options of penstock's commands can stand in [penstock]: penstock COMMAND --help; what is for mysql's own clients belongs into [client]".to_owned()
        }
        Some(name) => format!("{name} is an option"),
    };
    wrong(line, "is not an option of any command").hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

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
        let all = complete(Words::typed(typed))?.all;
        Ok(all[n..]
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect())
    }

    #[test]
    fn options_of_the_command_are_added() {
        let file = "[client]\nmax_rate = 1\nno-such = 2\n[penstock]\nuser=u\nmax_rate = 20M\nno-backup-lock\nno-routines\nno-events = off\nto = /b\nfiles-only\nschemas = a\n";
        assert_eq!(
            added("dump", file, "").unwrap(),
            [
                "--include-schemas=a",
                "--max-rate=20M",
                "--no-backup-lock",
                "--no-routines",
                "--to=/b"
            ]
        );
        // Another command has other ones of them, and a missing value is no matter yet.
        assert_eq!(
            added("load", file, "").unwrap(),
            ["--include-schemas=a", "--max-rate=20M", "--no-routines"]
        );
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

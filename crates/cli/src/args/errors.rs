//! Errors of the argument parser in the form of all others: one line that says what is wrong, and a
//! hint.

use base::{Error, Kind};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// What clap refused; `words` is the command line without the program's name.
pub fn usage(e: &clap::Error, words: impl Iterator<Item = String>) -> Error {
    let text = e.to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let lines: Vec<&str> = first.lines().map(str::trim).collect();
    let what = match (e.kind(), e.get(ContextKind::InvalidArg), e.source()) {
        // The option and its own parser's words are enough.
        (ErrorKind::ValueValidation, Some(ContextValue::String(arg)), Some(why)) => {
            let name = arg.split([' ', '=']).next().unwrap_or(arg);
            format!("{name}: {why}")
        }
        _ => lines.join(" "),
    };
    // clap offers to pass an unknown option as a value, which is never meant here.
    let tips: Vec<String> = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("tip: "))
        .filter(|tip| !tip.starts_with("to pass"))
        .map(suggestion)
        .collect();
    let hint = if tips.is_empty() {
        format!("{} --help", command(words))
    } else {
        tips.join("\n")
    };
    Error::new(Kind::Usage, what).hint(hint)
}

/// `some similar arguments exist: '--a', '--b'` as a question.
fn suggestion(tip: &str) -> String {
    match tip.split_once(": ") {
        Some((what, names)) if what.contains("similar") => {
            format!("did you mean {}?", names.replace("', '", "' or '"))
        }
        _ => tip.to_owned(),
    }
}

/// The command that was typed, as far as its words name one.
fn command(words: impl Iterator<Item = String>) -> String {
    let cli = super::Cli::command();
    let (mut at, mut path) = (&cli, vec!["penstock"]);
    for word in words {
        if let Some(found) = at.find_subcommand(&word) {
            path.push(found.get_name());
            at = found;
        }
    }
    path.join(" ")
}

#[cfg(test)]
mod tests {
    use super::usage;
    use crate::args::Cli;
    use clap::Parser;

    fn refused(line: &str) -> (String, String) {
        let words = || line.split(' ').map(str::to_owned);
        let all = std::iter::once("penstock".to_owned()).chain(words());
        let e = usage(&Cli::try_parse_from(all).expect_err(line), words());
        (e.what, e.hint.unwrap_or_default())
    }

    #[test]
    fn what_is_wrong_and_a_way_out() {
        let (what, hint) = refused("dump --to x --max-rate fast");
        assert!(
            what.starts_with("--max-rate: \"fast\" is not a rate"),
            "{what}"
        );
        assert_eq!(hint, "penstock dump --help");
        let (what, hint) = refused("load a --tune fast");
        assert!(
            what.contains("'fast'") && what.contains("off, safe, max"),
            "{what}"
        );
        assert_eq!(hint, "penstock load --help");
        assert_eq!(
            refused("load a --defer-index all").1,
            "did you mean '--defer-indexes'?"
        );
        assert!(
            refused("load a --import-mode tablespaces")
                .1
                .contains("'tablespace'")
        );
        assert_eq!(refused("load a --memory 1M").1, "penstock load --help");
        assert_eq!(
            refused("bench tpcc run --rate x").1,
            "penstock bench tpcc run --help"
        );
        assert!(refused("dmp").1.contains("'dump'"));
        assert!(refused("dump").0.contains("--to <DIR>"));
    }
}

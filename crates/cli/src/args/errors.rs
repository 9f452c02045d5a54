//! Errors of the argument parser in the form of all others: one line that says what is wrong, and a
//! hint.

use base::{Error, Kind};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// What clap refused.
pub fn usage(e: &clap::Error) -> Error {
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
    let tips: Vec<&str> = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("tip: "))
        .collect();
    let hint = if tips.is_empty() {
        format!("{} --help", command(&text))
    } else {
        tips.join("\n")
    };
    Error::new(Kind::Usage, what).hint(hint)
}

/// The command that was typed, from the usage line; `penstock` where there is none.
fn command(text: &str) -> String {
    let usage = text.lines().find_map(|l| l.strip_prefix("Usage: "));
    let words = usage.unwrap_or("penstock").split(' ');
    let words = words.take_while(|w| w.starts_with(|c: char| c.is_ascii_lowercase()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::usage;
    use crate::args::Cli;
    use clap::Parser;

    fn refused(line: &str) -> (String, String) {
        let words = std::iter::once("penstock").chain(line.split(' '));
        let e = usage(&Cli::try_parse_from(words).expect_err(line));
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
        assert!(
            refused("load a --defer-index all")
                .1
                .contains("--defer-indexes")
        );
        assert!(
            refused("load a --import-mode tablespaces")
                .1
                .contains("'tablespace'")
        );
        assert!(refused("dmp").1.contains("'dump'"));
        assert!(refused("dump").0.contains("--to <DIR>"));
    }
}

//! A command line of words, `--option value`, `--flag`, and what follows `--`.

use std::collections::BTreeMap;
use std::str::FromStr;
use testkit::{Error, Result};

/// A command's arguments, parsed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Args {
    /// Everything that is no option.
    pub(crate) words: Vec<String>,
    /// What follows `--`, untouched.
    pub(crate) after: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Args {
    /// Parses `words`; `options` take a value, `flags` do not, others are errors.
    pub(crate) fn parse(words: &[&str], options: &[&str], flags: &[&str]) -> Result<Args> {
        let mut args = Args::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(name) = word.strip_prefix("--") else {
                args.words.push((*word).to_owned());
                continue;
            };
            if name.is_empty() {
                args.after = rest.map(|w| (*w).to_owned()).collect();
                break;
            }
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            let value = if flags.contains(&name) && value.is_none() {
                ""
            } else if options.contains(&name) {
                let value = value.or_else(|| rest.next().copied());
                value.ok_or_else(|| Error(format!("--{name} needs a value")))?
            } else {
                return Err(Error(format!("no option --{name} here")));
            };
            args.options.insert(name.to_owned(), value.to_owned());
        }
        Ok(args)
    }

    /// The word at this place, or an error that says what is missing.
    pub(crate) fn word(&self, at: usize, what: &str) -> Result<&str> {
        let word = self
            .words
            .get(at)
            .ok_or_else(|| Error(format!("{what} is missing")))?;
        Ok(word)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str> {
        self.text(name)
            .ok_or_else(|| Error(format!("--{name} is missing")))
    }

    pub(crate) fn number<N: FromStr>(&self, name: &str, default: N) -> Result<N> {
        match self.text(name) {
            Some(text) => text
                .parse()
                .map_err(|_| Error(format!("--{name} {text}: not a number that fits"))),
            None => Ok(default),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_options_flags_and_the_rest() {
        let line = ["mysql", "--dir", "/d", "--port", "--rows=5", "--", "--x=1"];
        let args = Args::parse(&line, &["dir", "rows"], &["port"]).expect("a good line");
        assert_eq!(args.word(0, "KIND"), Ok("mysql"));
        assert_eq!(args.text("dir"), Some("/d"));
        assert_eq!(args.number("rows", 0), Ok(5));
        assert!(args.flag("port"));
        assert_eq!(args.after, ["--x=1"]);
    }

    #[test]
    fn unknown_options_and_missing_values_are_errors() {
        assert!(Args::parse(&["--what"], &[], &[]).is_err());
        assert!(Args::parse(&["--dir"], &["dir"], &[]).is_err());
        assert!(Args::parse(&["--port=1"], &[], &["port"]).is_err());
    }
}

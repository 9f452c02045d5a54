//! Which accounts the user wants.

use super::name::Name;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use std::sync::atomic::{AtomicBool, Ordering};

/// Accounts that are wanted, and those that are not; the latter win. Without patterns it is all.
#[derive(Debug, Default)]
pub struct Choice {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// `'user'@'host'`, or `user` with any host; `*` and `?` outside of quotes are wildcards.
#[derive(Debug)]
struct Pattern {
    text: String,
    user: server::filter::Glob,
    host: Option<server::filter::Glob>,
    used: AtomicBool,
}

impl Choice {
    /// A choice from lists of patterns.
    pub fn new<S: AsRef<str>>(include: &[S], exclude: &[S]) -> Result<Choice> {
        let read = |list: &[S]| -> Result<Vec<Pattern>> {
            list.iter().map(|p| Pattern::read(p.as_ref())).collect()
        };
        Ok(Choice {
            include: read(include)?,
            exclude: read(exclude)?,
        })
    }

    /// Whether it leaves everything in.
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Its patterns as they were given, under the names that MySQL Shell has for these options.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
        [
            ("includeUsers", &self.include),
            ("excludeUsers", &self.exclude),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| (name, list.iter().map(|p| p.text.as_str()).collect()))
    }

    /// Whether this account is wanted.
    pub fn takes(&self, name: &Name) -> bool {
        // Every list is looked at, so that each pattern that fits is marked as used.
        let hit = |list: &[Pattern]| list.iter().fold(false, |any, p| p.fits(name) | any);
        let (included, excluded) = (hit(&self.include), hit(&self.exclude));
        !excluded && (included || self.include.is_empty())
    }

    /// Fails if a pattern was never of use, which is probably a typo, or if no account is left of those that are named.
    pub fn check_matched(&self, left: usize) -> Result<()> {
        let all = self.include.iter().chain(&self.exclude);
        let unused = all.filter(|p| !p.used.load(Ordering::Relaxed));
        let unused: Vec<String> = unused.map(|p| printable(&p.text)).collect();
        if unused.is_empty() && left == 0 && !self.include.is_empty() {
            let what = "no account is left: all that --include-users names are excluded";
            return Err(Error::new(Kind::Usage, what)
                .hint("leave one of the two out; --no-users is a dump without accounts"));
        }
        if unused.is_empty() {
            return Ok(());
        }
        let what = format!("no account matches: {}", unused.join(", "));
        Err(Error::new(Kind::Usage, what).hint(
            "accounts are named as 'user'@'host', or as user for all hosts, with * and ? outside of quotes",
        ))
    }
}

impl Pattern {
    fn read(text: &str) -> Result<Pattern> {
        let wrong = || {
            let what = format!("{text} is not the name of an account");
            Error::new(Kind::Usage, printable(&what))
                .hint("write 'user'@'host', or user for all hosts")
        };
        let (user, host) = match at_sign(text) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        Ok(Pattern {
            text: text.to_owned(),
            user: part(user).ok_or_else(wrong)?,
            host: host.map(|h| part(h).ok_or_else(wrong)).transpose()?,
            used: AtomicBool::new(false),
        })
    }

    fn fits(&self, name: &Name) -> bool {
        // A role of MariaDB has no host.
        let host = name.host.as_deref().unwrap_or_default().to_lowercase();
        let fits = self.user.matches(&name.user, false)
            && self.host.as_ref().is_none_or(|h| h.matches(&host, true));
        if fits {
            self.used.store(true, Ordering::Relaxed);
        }
        fits
    }
}

/// Where the user ends: at the last `@` outside of quotes.
fn at_sign(text: &str) -> Option<usize> {
    let (mut quote, mut found) = (None, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == '@' => found = Some(at),
            None => {}
        }
    }
    found
}

/// A quoted part is taken as it is.
fn part(text: &str) -> Option<server::filter::Glob> {
    if !text.starts_with(['\'', '"', '`']) {
        return Some(server::filter::Glob::wild(text));
    }
    let mut tokens = Tokens::new(text.as_bytes(), Dialect::default());
    let token: Token<'_> = tokens.next()?;
    let name = token.user()?;
    let closed = text.len() >= 2 && text.ends_with(&text[..1]);
    (closed && tokens.next().is_none()).then(|| server::filter::Glob::literal(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_chosen_by_user_and_host() {
        let of =
            |include: &[&str], exclude: &[&str]| Choice::new(include, exclude).expect("patterns");
        let name = Name::account;
        let choice = of(&["app*", "'x*'@'%'"], &["app_old@localhost"]);
        assert!(choice.takes(&name("app", "%")) && choice.takes(&name("app_old", "10.%")));
        assert!(!choice.takes(&name("app_old", "localhost")) && !choice.takes(&name("root", "%")));
        assert!(choice.check_matched(1).is_err(), "x* is a name in quotes");
        assert!(choice.takes(&name("x*", "%")) && !choice.takes(&name("xy", "%")));
        choice.check_matched(1).expect("all were of use");
        assert!(choice.check_matched(0).is_err(), "nothing is left");
        let choice = of(&[], &["root", "`it's`@`H`"]);
        assert!(!choice.takes(&name("root", "localhost")) && choice.takes(&Name::role("r")));
        assert!(!choice.takes(&name("it's", "h")) && choice.takes(&name("root2", "h")));
        for bad in ["'a", "'a'b", "'a'@'b", "'"] {
            assert!(Choice::new(&[bad], &[]).is_err(), "{bad}");
        }
    }
}

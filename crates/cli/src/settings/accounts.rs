//! Which accounts a dump or a load is about.

use crate::args::accounts::{Dumped, Loaded, Which};
use base::{Error, Kind, Result};
use rows::accounts::Choice;
use std::sync::Arc;

/// The accounts of a dump.
pub fn dumped(a: &Dumped) -> Result<dump::Accounts> {
    if a.no_users {
        return Ok(dump::Accounts::None);
    }
    match a.asks() {
        None => Ok(dump::Accounts::Usual),
        Some(_) => choice(&a.which).map(|c| dump::Accounts::Chosen(Arc::new(c))),
    }
}

/// The accounts of a load; `only`: it is about nothing else.
pub fn loaded(a: &Loaded, only: bool) -> Result<Option<Arc<Choice>>> {
    let asks = (only || a.asks().is_some()).then(|| choice(&a.which));
    Ok(asks.transpose()?.map(Arc::new))
}

fn choice(a: &Which) -> Result<Choice> {
    for (option, typed) in [
        ("--include-users", &a.include_users),
        ("--exclude-users", &a.exclude_users),
    ] {
        // An empty variable of a script must not mean everything.
        if typed.iter().any(|list| names(list).is_empty()) {
            return Err(Error::new(Kind::Usage, format!("{option} names nothing"))
                .hint("name what is meant, or leave the option out"));
        }
    }
    let all = |typed: &[String]| typed.iter().flat_map(|l| names(l)).collect::<Vec<_>>();
    Choice::new(&all(&a.include_users), &all(&a.exclude_users))
}

/// A list, split at the commas outside of quotes.
fn names(list: &str) -> Vec<String> {
    let mut quote = None;
    let parts = list.split(|c| {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None => {}
        }
        c == ',' && quote.is_none()
    });
    let parts = parts.map(str::trim).filter(|p| !p.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn accounts_are_split_outside_of_quotes() {
        assert_eq!(names("a, 'b,c'@'%',,`d,`@e"), ["a", "'b,c'@'%'", "`d,`@e"]);
        assert!(names(" , ").is_empty());
    }
}

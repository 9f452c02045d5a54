//! Accounts that a part of the log changes, and whether a server has them.
//!
//! The accounts of a dump are not restored with a log, so one behind it that changes one which only the old server has ends the restore there, perhaps after
//! hours. Statements are read as the servers write them into their logs; one that is not understood names no account, and then the
//! applier has the last word.

use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use std::collections::BTreeSet;

/// An account or a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Account {
    /// Its name.
    pub user: String,
    /// Its host, if the statement names one.
    pub host: Option<String>,
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Some(host) => write!(f, "'{}'@'{host}'", self.user),
            None => write!(f, "'{}'", self.user),
        }
    }
}

/// What a statement does to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It must be there.
    Needs(Account),
    /// It must not be there, and is there afterwards.
    Creates(Account),
    /// It is there afterwards.
    Ensures(Account),
    /// It must be there, and is not there afterwards.
    Drops(Account),
    /// It is not there afterwards.
    Removes(Account),
}

/// Reads a statement; nothing if it is about no account.
pub fn steps(statement: &[u8]) -> Vec<Step> {
    let mut t = Tokens::new(statement, Dialect::default());
    let Some(Token::Word(first)) = t.next() else {
        return Vec::new();
    };
    let each = |list: Vec<Account>, step: fn(Account) -> Step| list.into_iter().map(step).collect();
    match String::from_utf8_lossy(first).to_ascii_uppercase().as_str() {
        "CREATE" => {
            let replaces = t.accept_all(&["OR", "REPLACE"]);
            if !t.accept("USER") && !t.accept("ROLE") {
                return Vec::new();
            }
            let lenient = t.accept_all(&["IF", "NOT", "EXISTS"]) || replaces;
            let step = if lenient {
                Step::Ensures
            } else {
                Step::Creates
            };
            each(accounts(&mut t), step)
        }
        "ALTER" if t.accept("USER") => match t.accept_all(&["IF", "EXISTS"]) {
            true => Vec::new(),
            false => each(accounts(&mut t), Step::Needs),
        },
        "DROP" if t.accept("USER") || t.accept("ROLE") => {
            let lenient = t.accept_all(&["IF", "EXISTS"]);
            let step = if lenient { Step::Removes } else { Step::Drops };
            each(accounts(&mut t), step)
        }
        "RENAME" if t.accept("USER") => renamed(t),
        "GRANT" => granted(t, "TO"),
        "REVOKE" if !t.accept_all(&["IF", "EXISTS"]) => granted(t, "FROM"),
        "SET" if t.accept_all(&["PASSWORD", "FOR"]) => each(accounts(&mut t), Step::Needs),
        "SET" if t.accept_all(&["DEFAULT", "ROLE"]) => {
            while let Some(token) = t.next() {
                if token.is("TO") || token.is("FOR") {
                    return each(accounts(&mut t), Step::Needs);
                }
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// A list of accounts, each with what is said about it, which is passed over.
fn accounts(t: &mut Tokens<'_>) -> Vec<Account> {
    let mut all = Vec::new();
    loop {
        let Some(account) = account(t) else {
            return all;
        };
        all.push(account);
        let mut depth = 0;
        loop {
            match t.next() {
                None => return all,
                Some(Token::Symbol(b'(')) => depth += 1,
                Some(Token::Symbol(b')')) => depth -= 1,
                Some(Token::Symbol(b',')) if depth == 0 => break,
                // Commas in what follows are not between accounts.
                Some(token) if token.is("DEFAULT") && t.accept("ROLE") => return all,
                Some(_) => {}
            }
        }
    }
}

fn account(t: &mut Tokens<'_>) -> Option<Account> {
    let user = match t.next()? {
        Token::Text(quoted) => unquoted(quoted),
        token => token.name()?,
    };
    // Functions that stand for accounts, and MariaDB's role of all.
    let words = ["CURRENT_USER", "SESSION_USER", "CURRENT_ROLE", "PUBLIC"];
    if words.iter().any(|w| user.eq_ignore_ascii_case(w)) {
        return None;
    }
    let host = match t.peek() {
        Some(Token::Variable(host)) => {
            t.next();
            Some(unquoted(host.strip_prefix(b"@").unwrap_or(host)))
        }
        _ => None,
    };
    Some(Account { user, host })
}

/// Without quotes; quotes in names of accounts are rare enough to be left as they are written.
fn unquoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let inner = ['\'', '"', '`']
        .iter()
        .find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q));
    inner.unwrap_or(&text).to_owned()
}

fn renamed(mut t: Tokens<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(old) = account(&mut t) {
        if !t.accept("TO") {
            break;
        }
        let Some(new) = account(&mut t) else { break };
        steps.extend([Step::Drops(old), Step::Creates(new)]);
        if t.peek() != Some(Token::Symbol(b',')) {
            break;
        }
        t.next();
    }
    steps
}

/// Privileges or roles, and to whom they are given or from whom they are taken.
fn granted(t: Tokens<'_>, word: &str) -> Vec<Step> {
    let (mut depth, mut on, mut at) = (0, false, t);
    loop {
        let Some(token) = at.next() else {
            return Vec::new();
        };
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth -= 1,
            token if depth == 0 && token.is("ON") => on = true,
            token if depth == 0 && token.is(word) => break,
            _ => {}
        }
    }
    let mut rest = at;
    let makes = rest.any(|token| token.is("IDENTIFIED"));
    let step = if makes { Step::Ensures } else { Step::Needs };
    let mut steps: Vec<Step> = accounts(&mut at).into_iter().map(step).collect();
    let mut roles = t;
    let of_all = roles.accept("ALL");
    roles.accept_all(&["ADMIN", "OPTION", "FOR"]);
    if !on && !of_all {
        let mut named = Vec::new();
        while let Some(role) = account(&mut roles) {
            named.push(Step::Needs(role));
            match roles.next() {
                Some(Token::Symbol(b',')) => {}
                _ => break,
            }
        }
        steps.splice(0..0, named);
    }
    steps
}

/// The accounts of a server while statements are run on it.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    known: BTreeSet<(String, String)>,
}

/// Why a statement cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such account.
    Missing(Account),
    /// There is one.
    Exists(Account),
}

impl Accounts {
    /// These accounts, by name and host.
    pub fn new(all: impl IntoIterator<Item = (String, String)>) -> Accounts {
        let lower = |(user, host): (String, String)| (user, host.to_lowercase());
        Accounts {
            known: all.into_iter().map(lower).collect(),
        }
    }

    /// Those of a server that was just initialized.
    pub fn of_new_server() -> Accounts {
        let users = [
            "root",
            "mysql",
            "mysql.sys",
            "mysql.session",
            "mysql.infoschema",
            "mariadb.sys",
        ];
        Accounts::new(users.map(|u| (u.to_owned(), "localhost".to_owned())))
    }

    fn keys(account: &Account) -> Vec<(String, String)> {
        let key = |host: &str| (account.user.clone(), host.to_lowercase());
        match &account.host {
            Some(host) => vec![key(host)],
            // An account for all hosts, or a role of MariaDB.
            None => vec![key("%"), key("")],
        }
    }

    /// Takes a step. After trouble it is as if there had been none, so that each account is named once.
    pub fn take(&mut self, step: &Step) -> Option<Trouble> {
        let (Step::Needs(account)
        | Step::Creates(account)
        | Step::Ensures(account)
        | Step::Drops(account)
        | Step::Removes(account)) = step;
        let keys = Accounts::keys(account);
        let known = keys.iter().any(|k| self.known.contains(k));
        match step {
            Step::Drops(_) | Step::Removes(_) => {
                for key in &keys {
                    self.known.remove(key);
                }
            }
            _ => self.known.extend(keys),
        }
        match step {
            Step::Needs(_) | Step::Drops(_) if !known => Some(Trouble::Missing(account.clone())),
            Step::Creates(_) if known => Some(Trouble::Exists(account.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str) -> String {
        let word = |step: &Step| match step {
            Step::Needs(a) => format!("needs {a}"),
            Step::Creates(a) => format!("creates {a}"),
            Step::Ensures(a) => format!("ensures {a}"),
            Step::Drops(a) => format!("drops {a}"),
            Step::Removes(a) => format!("removes {a}"),
        };
        let all: Vec<String> = steps(statement.as_bytes()).iter().map(word).collect();
        all.join(", ")
    }

    #[test]
    fn statements_are_read_as_logs_have_them() {
        for (statement, wanted) in [
            (
                "CREATE USER 'a'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$, x' DEFAULT ROLE 'r'@'%','s'@'%' REQUIRE NONE",
                "creates 'a'@'%'",
            ),
            (
                "CREATE USER a@localhost IDENTIFIED BY PASSWORD '*1', `b c`@`10.%`",
                "creates 'a'@'localhost', creates 'b c'@'10.%'",
            ),
            ("create user if not exists a", "ensures 'a'"),
            ("CREATE OR REPLACE ROLE r WITH ADMIN a", "ensures 'r'"),
            ("ALTER USER 'a'@'%' ACCOUNT LOCK", "needs 'a'@'%'"),
            ("ALTER USER IF EXISTS 'a'@'%' ACCOUNT LOCK", ""),
            ("DROP USER 'a'@'%','b'", "drops 'a'@'%', drops 'b'"),
            ("DROP USER IF EXISTS a", "removes 'a'"),
            (
                "RENAME USER a@h TO b@h, c TO d",
                "drops 'a'@'h', creates 'b'@'h', drops 'c', creates 'd'",
            ),
            (
                "GRANT SELECT (a, b), INSERT ON `d`.`t` TO 'a'@'%', 'b'@'h' WITH GRANT OPTION",
                "needs 'a'@'%', needs 'b'@'h'",
            ),
            ("GRANT ALL ON *.* TO a IDENTIFIED BY 'x'", "ensures 'a'"),
            (
                "GRANT 'r'@'%','s'@'%' TO 'a'@'%'",
                "needs 'r'@'%', needs 's'@'%', needs 'a'@'%'",
            ),
            ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM a", "needs 'a'"),
            ("REVOKE ADMIN OPTION FOR r FROM a", "needs 'r', needs 'a'"),
            ("REVOKE IF EXISTS SELECT ON *.* FROM a", ""),
            ("SET PASSWORD FOR 'a'@'%'='x'", "needs 'a'@'%'"),
            ("SET DEFAULT ROLE r TO a, b", "needs 'a', needs 'b'"),
            ("CREATE TABLE user (a INT)", ""),
            ("INSERT INTO t VALUES ('GRANT a TO b')", ""),
            ("GRANT SELECT ON d.* TO CURRENT_USER()", ""),
            ("", ""),
        ] {
            assert_eq!(shown(statement), wanted, "{statement}");
        }
    }

    #[test]
    fn a_log_that_creates_what_it_changes_is_no_trouble() {
        let run = |accounts: &mut Accounts, statement: &str| -> Vec<Trouble> {
            let steps = steps(statement.as_bytes());
            steps.iter().filter_map(|s| accounts.take(s)).collect()
        };
        let mut new = Accounts::of_new_server();
        assert!(run(&mut new, "CREATE USER a@'%'").is_empty());
        assert!(run(&mut new, "GRANT SELECT ON d.* TO a").is_empty());
        assert!(run(&mut new, "ALTER USER root@LOCALHOST ACCOUNT LOCK").is_empty());
        assert!(run(&mut new, "DROP USER a").is_empty());
        let missing = run(&mut new, "GRANT SELECT ON d.* TO a, b");
        assert_eq!(missing.len(), 2);
        assert!(run(&mut new, "GRANT INSERT ON d.* TO a, b").is_empty());
        let there = run(&mut new, "CREATE USER b");
        assert!(matches!(&there[..], [Trouble::Exists(b)] if b.user == "b"));
    }
}

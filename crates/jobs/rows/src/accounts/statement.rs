//! The statements that accounts are made with: `CREATE USER`, `CREATE ROLE`, `GRANT`, `REVOKE`, `SET DEFAULT ROLE`.
//!
//! They are taken apart and put together again from their parts, so that nothing else can be in one: a second account after a
//! comma, or a password in a GRANT.

use super::name::Name;
use dumps::Dialect;
use dumps::tokens::{Token, Tokens};

/// What creates an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// Whether it is a role of MariaDB.
    pub role: bool,
    /// What is said about it, in the order of the statement.
    pub clauses: Vec<Clause>,
}

/// A part of `CREATE USER`, as `REQUIRE SSL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What it is about.
    pub topic: Topic,
    /// All of it.
    pub text: String,
}

/// What a part of `CREATE USER` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// How it logs in.
    Identified,
    /// Roles that are active then.
    DefaultRole,
    /// TLS.
    Require,
    /// Limits of resources.
    With,
    /// How long a password is valid, and what a new one must be.
    Password,
    /// Locked or not.
    Account,
    /// Wrong passwords, comments, attributes.
    Other,
}

/// A right that is given or taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whether it is taken (a partial revoke of MySQL).
    pub revoke: bool,
    /// What.
    pub what: What,
    /// To whom, or from whom.
    pub to: Name,
    /// Whether it may be given on.
    pub option: bool,
}

/// What is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Privileges, each with its columns, on something.
    Privileges {
        /// As `SELECT`, `INSERT (a, b)`.
        list: Vec<String>,
        /// As `*.*`, `` `s`.* ``, ``PROCEDURE `s`.`p` ``.
        on: String,
    },
    /// Roles.
    Roles(Vec<Name>),
}

/// A statement about accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Creates an account.
    Create(Name, Create),
    /// Gives or takes.
    Grant(Grant),
    /// Sets the default roles.
    DefaultRoles(Name, String),
    /// Does nothing that matters here.
    Nothing,
}

impl Statement {
    /// Reads a statement; none if it is not understood to its end.
    pub fn read(text: &str) -> Option<Statement> {
        let mut tokens = Tokens::new(text.as_bytes(), Dialect::default());
        let Some(first) = tokens.next() else {
            return Some(Statement::Nothing);
        };
        if first.is("CREATE") {
            let role = tokens.accept("ROLE");
            if !role && !tokens.accept("USER") {
                return None;
            }
            tokens.accept_all(&["IF", "NOT", "EXISTS"]);
            let name = Name::read(&mut tokens)?;
            let clauses = clauses(text, tokens)?;
            return Some(Statement::Create(name, Create { role, clauses }));
        }
        if first.is("SET") && tokens.accept_all(&["DEFAULT", "ROLE"]) {
            return default_roles(text, tokens);
        }
        if first.is("FLUSH") && tokens.accept("PRIVILEGES") && tokens.next().is_none() {
            return Some(Statement::Nothing);
        }
        let revoke = first.is("REVOKE");
        if revoke || first.is("GRANT") {
            return Grant::read(text, tokens, revoke).map(Statement::Grant);
        }
        None
    }
}

impl Create {
    /// The statement.
    pub fn sql(&self, name: &Name) -> String {
        self.with("CREATE", name, "")
    }

    /// The same, which does nothing where there is such an account: for a file that may be run again.
    pub fn sql_if_missing(&self, name: &Name) -> String {
        self.with("CREATE", name, " IF NOT EXISTS")
    }

    /// The statement that gives an account which is there the same clauses.
    pub fn alter_sql(&self, name: &Name) -> String {
        self.with("ALTER", name, "")
    }

    fn with(&self, verb: &str, name: &Name, condition: &str) -> String {
        let kind = if self.role { "ROLE" } else { "USER" };
        let clauses: Vec<String> = self
            .clauses
            .iter()
            .map(|c| format!(" {}", c.text))
            .collect();
        format!(
            "{verb} {kind}{condition} {}{}",
            name.sql(),
            clauses.concat()
        )
    }

    /// The first clause about something.
    pub fn about(&self, topic: Topic) -> Option<&str> {
        let clause = self.clauses.iter().find(|c| c.topic == topic);
        clause.map(|c| c.text.as_str())
    }

    /// Takes the roles that are active when it logs in out of the statement: they must exist before.
    pub fn take_default_roles(&mut self) -> Option<String> {
        let at = self
            .clauses
            .iter()
            .position(|c| c.topic == Topic::DefaultRole)?;
        let clause = self.clauses.remove(at);
        let roles = clause.text.get("DEFAULT ROLE ".len()..)?;
        Some(roles.to_owned())
    }
}

/// The text between two places.
fn slice(text: &str, from: usize, to: usize) -> Option<String> {
    text.get(from..to).map(|t| t.trim().to_owned())
}

/// The parts of `CREATE USER` after the name; none if there is another account.
fn clauses(text: &str, mut tokens: Tokens<'_>) -> Option<Vec<Clause>> {
    const BEGIN: [(&str, Topic); 9] = [
        ("IDENTIFIED", Topic::Identified),
        ("DEFAULT", Topic::DefaultRole),
        ("REQUIRE", Topic::Require),
        ("WITH", Topic::With),
        ("PASSWORD", Topic::Password),
        ("ACCOUNT", Topic::Account),
        ("FAILED_LOGIN_ATTEMPTS", Topic::Other),
        ("PASSWORD_LOCK_TIME", Topic::Other),
        ("COMMENT", Topic::Other),
    ];
    let mut found: Vec<(usize, Topic)> = Vec::new();
    // A keyword after one of these belongs to it: IDENTIFIED WITH, BY PASSWORD, PASSWORD REQUIRE, AND IDENTIFIED.
    let continues = |t: &Token<'_>| {
        ["IDENTIFIED", "BY", "PASSWORD", "AND"]
            .iter()
            .any(|w| t.is(w))
    };
    let (mut within, mut depth) = (false, 0_u32);
    while let Some(token) = tokens.next() {
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth = depth.checked_sub(1)?,
            // Between accounts; the roles of one are a list too.
            Token::Symbol(b',') if found.last().map(|f| f.1) != Some(Topic::DefaultRole) => {
                return None;
            }
            Token::Symbol(b';') => return None,
            Token::Word(word) if depth == 0 && !within => {
                let attribute = token.is("ATTRIBUTE").then_some(Topic::Other);
                let begin = BEGIN.iter().find(|(w, _)| token.is(w)).map(|b| b.1);
                let begin = begin.filter(|b| {
                    *b != Topic::DefaultRole || tokens.peek().is_some_and(|t| t.is("ROLE"))
                });
                if let Some(topic) = begin.or(attribute) {
                    found.push((tokens.position() - word.len(), topic));
                } else if found.is_empty() {
                    return None;
                }
            }
            _ if found.is_empty() => return None,
            _ => {}
        }
        within = continues(&token);
    }
    let mut out = Vec::new();
    for (i, (at, topic)) in found.iter().enumerate() {
        let end = found.get(i + 1).map_or(text.len(), |f| f.0);
        let topic = *topic;
        let text = slice(text, *at, end)?;
        out.push(Clause { topic, text });
    }
    Some(out)
}

fn default_roles(text: &str, mut tokens: Tokens<'_>) -> Option<Statement> {
    let from = tokens.position();
    loop {
        let token = tokens.next()?;
        if token.is("TO") || token.is("FOR") {
            let word = if token.is("TO") { 2 } else { 3 };
            let roles = slice(text, from, tokens.position() - word)?;
            let name = Name::read(&mut tokens)?;
            return match tokens.next() {
                None => Some(Statement::DefaultRoles(name, roles)),
                Some(_) => None,
            };
        }
    }
}

impl Grant {
    fn read(text: &str, mut tokens: Tokens<'_>, revoke: bool) -> Option<Grant> {
        let end = if revoke { "FROM" } else { "TO" };
        let (mut depth, mut from, mut list, mut on) = (0_u32, tokens.position(), Vec::new(), None);
        loop {
            let token = tokens.next()?;
            let at = tokens.position();
            match token {
                Token::Symbol(b'(') => depth += 1,
                Token::Symbol(b')') => depth = depth.checked_sub(1)?,
                Token::Symbol(b';') => return None,
                Token::Symbol(b',') if depth == 0 && on.is_none() => {
                    list.push(slice(text, from, at - 1)?);
                    from = at;
                }
                token if depth == 0 && on.is_none() && token.is("ON") => {
                    list.push(slice(text, from, at - 2)?);
                    on = Some(at);
                }
                token if depth == 0 && token.is(end) => break,
                _ => {}
            }
        }
        let at = tokens.position() - end.len();
        let what = match on {
            Some(on) => What::Privileges {
                list,
                on: slice(text, on, at)?,
            },
            None => {
                list.push(slice(text, from, at)?);
                What::Roles(list.iter().map(|r| role(r)).collect::<Option<_>>()?)
            }
        };
        let to = Name::read(&mut tokens)?;
        let mut option = false;
        let mut before_admin = false;
        for token in tokens {
            match token {
                // Another account.
                Token::Symbol(b',' | b';') => return None,
                token if before_admin && token.is("OPTION") => option = true,
                _ => {}
            }
            before_admin = token.is("GRANT") || token.is("ADMIN");
        }
        Some(Grant {
            revoke,
            what,
            to,
            option,
        })
    }

    /// The statement.
    pub fn sql(&self) -> String {
        let (verb, word) = match self.revoke {
            true => ("REVOKE", "FROM"),
            false => ("GRANT", "TO"),
        };
        let to = self.to.sql();
        let (what, option) = match &self.what {
            What::Privileges { list, on } => (format!("{} ON {on}", list.join(", ")), "GRANT"),
            What::Roles(roles) => {
                let roles: Vec<String> = roles.iter().map(Name::sql).collect();
                (roles.join(", "), "ADMIN")
            }
        };
        let option = match self.option {
            true => format!(" WITH {option} OPTION"),
            false => String::new(),
        };
        format!("{verb} {what} {word} {to}{option}")
    }

    /// Whether it gives nothing: `USAGE`, with which servers say that an account is there.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.what, What::Privileges { list, .. } if list == &["USAGE"]) && !self.option
    }

    /// Whether it is about the whole server.
    pub fn is_global(&self) -> bool {
        matches!(&self.what, What::Privileges { on, .. } if on == "*.*")
    }
}

fn role(text: &str) -> Option<Name> {
    let mut tokens = Tokens::new(text.as_bytes(), Dialect::default());
    let name = Name::read(&mut tokens)?;
    tokens.next().is_none().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(text: &str) -> (Name, Create) {
        match Statement::read(text) {
            Some(Statement::Create(name, create)) => (name, create),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn users_are_taken_apart_and_put_together() {
        for text in [
            "CREATE USER `t`@`10.%` IDENTIFIED WITH 'caching_sha2_password' AS 0x2441 REQUIRE SSL WITH MAX_QUERIES_PER_HOUR 5 PASSWORD EXPIRE INTERVAL 90 DAY ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 ATTRIBUTE '{\"comment\": \"it\\'s, a; \\\\\"x\"}'",
            "CREATE USER `t`@`localhost` IDENTIFIED BY PASSWORD '*14E6' REQUIRE ISSUER '/CN=y' SUBJECT '/CN=x' WITH MAX_QUERIES_PER_HOUR 5 MAX_STATEMENT_TIME 3.500000 ACCOUNT LOCK PASSWORD EXPIRE",
            "CREATE USER `t`@`%` IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket",
            "CREATE USER `t`@`%`",
            "CREATE ROLE `r`",
        ] {
            let (name, create) = created(text);
            assert_eq!(create.sql(&name), text);
        }
        let (_, create) = created(
            "CREATE USER 'a'@'%' IDENTIFIED WITH 'p' AS '*1' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD REQUIRE CURRENT DEFAULT",
        );
        let topics: Vec<Topic> = create.clauses.iter().map(|c| c.topic).collect();
        use Topic::*;
        assert_eq!(topics, [Identified, Require, Password, Account, Password]);
    }

    #[test]
    fn default_roles_are_taken_out() {
        let (name, mut create) = created(
            "CREATE USER IF NOT EXISTS `a`@`%` IDENTIFIED WITH 'p' DEFAULT ROLE `r`@`%`,`s`@`%` REQUIRE NONE PASSWORD EXPIRE DEFAULT",
        );
        let roles = create.take_default_roles();
        assert_eq!(roles.as_deref(), Some("`r`@`%`,`s`@`%`"));
        assert_eq!(
            create.sql_if_missing(&name),
            "CREATE USER IF NOT EXISTS `a`@`%` IDENTIFIED WITH 'p' REQUIRE NONE PASSWORD EXPIRE DEFAULT"
        );
    }

    #[test]
    fn grants_are_taken_apart_and_put_together() {
        for (text, wanted) in [
            (
                "GRANT SELECT (`a`, `b`), INSERT ON `s`.`t` TO `u`@`h` WITH GRANT OPTION",
                "",
            ),
            ("GRANT EXECUTE ON PROCEDURE `s`.`p` TO `u`@`h`", ""),
            (
                "GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION",
                "",
            ),
            ("REVOKE SELECT ON `s`.* FROM `u`@`h`", ""),
            (
                "GRANT `r`@`%`,`s`@`%` TO `u`@`h` WITH ADMIN OPTION",
                "GRANT `r`@`%`, `s`@`%` TO `u`@`h` WITH ADMIN OPTION",
            ),
            ("GRANT `r` TO `s`", ""),
            ("GRANT SELECT ON `s`.* TO PUBLIC", ""),
            (
                "GRANT USAGE ON *.* TO `u`@`h` IDENTIFIED BY PASSWORD '*14E6' REQUIRE SSL WITH GRANT OPTION MAX_QUERIES_PER_HOUR 5",
                "GRANT USAGE ON *.* TO `u`@`h` WITH GRANT OPTION",
            ),
        ] {
            let Some(Statement::Grant(grant)) = Statement::read(text) else {
                panic!("{text}");
            };
            assert_eq!(grant.sql(), if wanted.is_empty() { text } else { wanted });
        }
    }

    #[test]
    fn what_is_about_more_than_one_account_is_not_understood() {
        for text in [
            "CREATE USER a@h, b@h",
            "CREATE USER a@h IDENTIFIED BY 'x', b@h",
            "CREATE OR REPLACE USER a@h",
            "GRANT SELECT ON *.* TO a@h, b@h",
            "GRANT r TO a@h; DROP USER b@h",
            "DROP USER a@h",
            "ALTER USER a@h ACCOUNT UNLOCK",
            "CREATE TABLE t (a INT)",
            "SET GLOBAL x = 1",
            "SET DEFAULT ROLE r TO a@h, b@h",
            "GRANT SELECT ON *.* TO CURRENT_USER()",
            "FLUSH TABLES",
        ] {
            assert_eq!(Statement::read(text), None, "{text}");
        }
    }
}

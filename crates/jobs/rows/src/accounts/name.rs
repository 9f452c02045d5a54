//! The name of an account.

use dumps::tokens::{Token, Tokens};
use server::quote;
use std::fmt;

/// MariaDB's role of everyone.
const PUBLIC: &str = "PUBLIC";

/// The name of an account or a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The user, or the role.
    pub user: String,
    /// Where it logs in from; roles of MariaDB have none.
    pub host: Option<String>,
}

impl Name {
    /// An account.
    pub fn account(user: impl Into<String>, host: impl Into<String>) -> Name {
        Name {
            user: user.into(),
            host: Some(host.into()),
        }
    }

    /// A role of MariaDB.
    pub fn role(name: impl Into<String>) -> Name {
        Name {
            user: name.into(),
            host: None,
        }
    }

    /// MariaDB's role of everyone.
    pub fn public() -> Name {
        Name::role(PUBLIC)
    }

    /// Whether it is MariaDB's role of everyone.
    pub fn is_public(&self) -> bool {
        self.host.is_none() && self.user.eq_ignore_ascii_case(PUBLIC)
    }

    /// The name as statements have it. Names in backticks mean the same under every `sql_mode`.
    pub fn sql(&self) -> String {
        match &self.host {
            _ if self.is_public() => PUBLIC.to_owned(),
            Some(host) => format!("{}@{}", quote::ident(&self.user), quote::ident(host)),
            None => quote::ident(&self.user),
        }
    }

    /// Its user and host as `mysql.user` has them.
    pub fn key(&self) -> (String, String) {
        let host = self.host.as_deref().unwrap_or_default();
        (self.user.clone(), host.to_lowercase())
    }

    /// Reads a name; what follows it stays.
    pub fn read(tokens: &mut Tokens<'_>) -> Option<Name> {
        let first = tokens.next()?;
        let user = first.user()?;
        if let Some(Token::Variable(_)) = tokens.peek() {
            let host = tokens.next()?.host()?;
            return Some(Name::account(user, host));
        }
        Some(match first {
            Token::Word(_) if user.eq_ignore_ascii_case(PUBLIC) => Name::public(),
            // A function of the server stands for an account that is not known here.
            _ if tokens.peek() == Some(Token::Symbol(b'(')) => return None,
            Token::Word(_) if user.eq_ignore_ascii_case("CURRENT_USER") => return None,
            _ => Name::role(user),
        })
    }
}

/// As MySQL Shell writes it: `'user'@'host'`.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'");
            format!("'{}'", text.replace('\n', "\\n"))
        };
        match &self.host {
            Some(host) => write!(f, "{}@{}", quoted(&self.user), quoted(host)),
            None => f.write_str(&quoted(&self.user)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumps::Dialect;

    #[test]
    fn names_are_read_however_they_are_quoted() {
        let of = |text: &str| Name::read(&mut Tokens::new(text.as_bytes(), Dialect::default()));
        for (text, user, host) in [
            ("`a``b`@`10.%` REQUIRE", "a`b", "10.%"),
            ("'it\\'s'@'%'", "it's", "%"),
            ("'it''s'@\"h\"", "it's", "h"),
            ("`a\\b`@`h`", "a\\b", "h"),
            ("root@localhost", "root", "localhost"),
            ("''@''", "", ""),
        ] {
            assert_eq!(of(text), Some(Name::account(user, host)), "{text}");
        }
        assert_eq!(of("`r`"), Some(Name::role("r")));
        assert!(of("PUBLIC").expect("a name").is_public());
        assert!(!of("`x`@`%`").expect("a name").is_public());
        for none in ["", "(", "CURRENT_USER()", "CURRENT_USER", "@x", "a@@b"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_name_comes_back_from_a_statement_and_from_a_list() {
        for user in ["a", "it's", "a`b", "a\\b", "a\nb", ""] {
            let name = Name::account(user, "%");
            for text in [name.sql(), name.to_string()] {
                let mut tokens = Tokens::new(text.as_bytes(), Dialect::default());
                assert_eq!(Name::read(&mut tokens), Some(name.clone()), "{text}");
            }
        }
    }
}

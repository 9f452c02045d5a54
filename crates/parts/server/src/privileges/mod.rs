//! What the account that is logged in may do, and what it lacks for a job, as
//! GRANT statements that an administrator can run as they are.
//!
//! Invariant: in doubt a privilege counts as missing, never as there; a job
//! that starts must not stop halfway for want of one. Column-level privileges
//! do not count, for they never cover a whole table. Partial revokes (MySQL 8)
//! are honoured per schema.

mod needs;
mod parse;

pub use needs::{DumpNeeds, LoadNeeds, LockPlan, for_new_replica, for_source_of_replica};

use crate::ask::ask;
use crate::{Error, Identity, Result, quote};
use std::collections::{BTreeMap, BTreeSet};
use wire::Conn;

/// The error for a statement on accounts on a server that runs without them (`ER_OPTION_PREVENTS_STATEMENT`).
const WITHOUT_GRANTS: u16 = 1290;

/// Where a privilege applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `*.*`
    Global,
    /// `schema.*`
    Schema(String),
    /// `schema.table`
    Table(String, String),
}

impl Scope {
    fn sql(&self) -> String {
        match self {
            Scope::Global => "*.*".into(),
            Scope::Schema(schema) => format!("{}.*", quote::ident(&escape(schema))),
            Scope::Table(schema, table) => quote::qualified(schema, table),
        }
    }
}

/// `_` and `%` are wildcards in the schema of a schema-wide GRANT.
fn escape(schema: &str) -> String {
    schema
        .replace('\\', "\\\\")
        .replace('_', "\\_")
        .replace('%', "\\%")
}

/// The privileges of one account with its active roles.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    /// `'user'@'host'`, quoted.
    pub account: String,
    global: BTreeSet<String>,
    /// Schema patterns, as granted.
    schemas: Vec<(String, BTreeSet<String>)>,
    tables: BTreeMap<(String, String), BTreeSet<String>>,
    /// Where what is held may be given on.
    given_on: Vec<Scope>,
    /// Taken away from the global ones, per schema.
    revoked: Vec<(String, BTreeSet<String>)>,
    /// Schema names in grants are literal (MySQL with `partial_revokes`).
    literal: bool,
    /// Names of schemas and tables are compared without case.
    fold_case: bool,
}

impl Privileges {
    /// Asks the server. Roles count as far as they are active in this session.
    pub fn read(conn: &mut Conn, identity: &Identity) -> Result<Privileges> {
        let what = "privileges";
        let mut privileges = Privileges {
            account: crate::position::account(conn).unwrap_or_else(|| "CURRENT_USER()".into()),
            literal: identity.is_on("partial_revokes"),
            fold_case: identity.lower_case_table_names != 0,
            ..Privileges::default()
        };
        let mut sql = "SHOW GRANTS".to_owned();
        // MariaDB lists active roles (and PUBLIC) by itself; MySQL 8 wants them named.
        if identity.mysql_at_least(8, 0, 0) {
            let answer = ask(conn, what, "SELECT CURRENT_ROLE()")?;
            let roles = answer
                .first()
                .map(|r| r.text_or_empty(0))
                .unwrap_or_default();
            if !roles.is_empty() && roles != "NONE" {
                sql = format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}");
            }
        }
        match ask(conn, what, &sql) {
            // A server with --skip-grant-tables checks none.
            Err(Error::Wire { source, .. }) if source.code() == Some(WITHOUT_GRANTS) => {
                privileges.add("GRANT ALL PRIVILEGES ON *.* TO CURRENT_USER()");
            }
            answer => {
                for row in &answer?.rows {
                    privileges.add(&row.text_or_empty(0));
                }
            }
        }
        Ok(privileges)
    }

    /// The privileges named by lines of `SHOW GRANTS`.
    pub fn from_grants<S: AsRef<str>>(account: &str, lines: &[S]) -> Self {
        let mut privileges = Self {
            account: account.to_owned(),
            ..Self::default()
        };
        for line in lines {
            privileges.add(line.as_ref());
        }
        privileges
    }

    /// Takes in one line; what is not a grant of privileges on schemas or tables is passed over.
    fn add(&mut self, line: &str) {
        let Some(parsed) = parse::line(line) else {
            return;
        };
        let set: BTreeSet<String> = parsed.privileges.into_iter().collect();
        if parsed.option && !parsed.revoke {
            self.given_on.push(parsed.scope.clone());
        }
        match (parsed.revoke, parsed.scope) {
            (true, Scope::Schema(schema)) => self.revoked.push((schema, set)),
            (true, _) => {}
            (false, Scope::Global) => self.global.extend(set),
            (false, Scope::Schema(pattern)) => self.schemas.push((pattern, set)),
            (false, Scope::Table(schema, table)) => {
                self.tables.entry((schema, table)).or_default().extend(set);
            }
        }
    }

    /// Whether a privilege is held for the whole server.
    pub fn has(&self, privilege: &str) -> bool {
        holds(&self.global, privilege)
    }

    /// Whether a privilege is held for a whole schema.
    pub fn has_on_schema(&self, schema: &str, privilege: &str) -> bool {
        let revoked = self
            .revoked
            .iter()
            .any(|(s, set)| self.same(s, schema) && holds(set, privilege));
        (self.has(privilege) && !revoked)
            || self
                .schemas
                .iter()
                .any(|(pattern, set)| self.covers(pattern, schema) && holds(set, privilege))
    }

    /// Whether a privilege is held for a table.
    pub fn has_on(&self, schema: &str, table: &str, privilege: &str) -> bool {
        self.has_on_schema(schema, privilege)
            || self.tables.iter().any(|((s, t), set)| {
                self.same(s, schema) && self.same(t, table) && holds(set, privilege)
            })
    }

    /// Whether the server shows this account every schema.
    pub fn sees_every_schema(&self) -> bool {
        self.has("SHOW DATABASES") || (self.has("SELECT") && self.revoked.is_empty())
    }

    /// Whether the server shows this account every table of a schema.
    pub fn sees_every_table(&self, schema: &str) -> bool {
        self.has_on_schema(schema, "SELECT")
    }

    fn has_at(&self, scope: &Scope, privilege: &str) -> bool {
        match scope {
            Scope::Global => self.has(privilege),
            Scope::Schema(schema) => self.has_on_schema(schema, privilege),
            Scope::Table(schema, table) => self.has_on(schema, table, privilege),
        }
    }

    /// The GRANT statements (without semicolon) that would fill what is missing
    /// of `needs`; each need is a place and privileges of which any one will do,
    /// the first being the one to ask for.
    pub fn missing(&self, needs: &[(Scope, Vec<&'static str>)]) -> Vec<String> {
        let mut by_scope: BTreeMap<&Scope, Vec<&str>> = BTreeMap::new();
        for (scope, choices) in needs {
            let held = choices
                .iter()
                .any(|p| self.has_at(scope, p) || self.has(p) && *scope == Scope::Global);
            if let (false, Some(first)) = (held, choices.first()) {
                let list = by_scope.entry(scope).or_default();
                if !list.contains(first) {
                    list.push(first);
                }
            }
        }
        by_scope
            .into_iter()
            .map(|(scope, list)| {
                let on = self.on(scope);
                format!("GRANT {} ON {on} TO {}", list.join(", "), self.account)
            })
            .collect()
    }

    /// The GRANT statements that would let this account give what these statements give. Grants of roles, of routines and
    /// of single columns are left to the server.
    pub fn missing_to_grant<S: AsRef<str>>(&self, grants: &[S]) -> Vec<String> {
        /// What stands for all privileges of a schema: servers have lists of different lengths.
        const ALL: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP"];
        let mut missing: BTreeMap<Scope, BTreeSet<String>> = BTreeMap::new();
        for grant in grants {
            let Some(line) = parse::line(grant.as_ref()).filter(|l| !l.revoke) else {
                continue;
            };
            for privilege in line.privileges {
                let all = matches!(privilege.as_str(), "ALL" | "ALL PRIVILEGES");
                let held = match all {
                    true => ALL.iter().all(|p| self.has_at(&line.scope, p)),
                    false => self.has_at(&line.scope, &privilege),
                };
                if !held || !self.may_give_on(&line.scope) {
                    missing
                        .entry(line.scope.clone())
                        .or_default()
                        .insert(privilege);
                }
            }
        }
        let statement = |(scope, list): (Scope, BTreeSet<String>)| {
            let list: Vec<String> = list.into_iter().collect();
            let (list, on) = (list.join(", "), self.on(&scope));
            format!("GRANT {list} ON {on} TO {} WITH GRANT OPTION", self.account)
        };
        missing.into_iter().map(statement).collect()
    }

    fn may_give_on(&self, scope: &Scope) -> bool {
        self.given_on.iter().any(|held| match (held, scope) {
            (Scope::Global, _) => true,
            (Scope::Schema(pattern), Scope::Schema(schema) | Scope::Table(schema, _)) => {
                pattern == schema || self.covers(pattern, schema)
            }
            (held, scope) => held == scope,
        })
    }

    fn on(&self, scope: &Scope) -> String {
        match scope {
            // Under partial revokes the name is literal and must not be escaped.
            Scope::Schema(schema) if self.literal => format!("{}.*", quote::ident(schema)),
            scope => scope.sql(),
        }
    }

    fn same(&self, a: &str, b: &str) -> bool {
        a == b || (self.fold_case && a.to_lowercase() == b.to_lowercase())
    }

    fn covers(&self, pattern: &str, schema: &str) -> bool {
        if self.literal {
            return self.same(pattern, schema);
        }
        if self.fold_case {
            return like(&pattern.to_lowercase(), &schema.to_lowercase());
        }
        like(pattern, schema)
    }
}

fn holds(set: &BTreeSet<String>, privilege: &str) -> bool {
    set.contains(privilege) || set.contains("ALL PRIVILEGES") || set.contains("ALL")
}

/// SQL's LIKE with `\` as escape; only the last `%` is tried again, so it cannot blow up.
fn like(pattern: &str, name: &str) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum P {
        Any,
        One,
        Char(char),
    }
    let mut list = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        list.push(match c {
            '%' => P::Any,
            '_' => P::One,
            '\\' => P::Char(chars.next().unwrap_or('\\')),
            c => P::Char(c),
        });
    }
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match list.get(p) {
            Some(P::Any) => {
                star = Some((p, n));
                p += 1;
            }
            Some(x) if *x == P::One || *x == P::Char(name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    list[p..].iter().all(|x| *x == P::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Privileges {
        Privileges::from_grants("'u'@'%'", lines)
    }

    #[test]
    fn scopes_and_wildcards() {
        let p = of(&[
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT SELECT, SHOW VIEW ON `shop\\_%`.* TO `u`@`%` WITH GRANT OPTION",
            "GRANT SELECT, INSERT (`a`, `b`) ON `crm`.`people` TO `u`@`%`",
            "GRANT `role`@`%` TO `u`@`%`",
            "GRANT EXECUTE ON PROCEDURE `crm`.`p` TO `u`@`%`",
        ]);
        assert!(p.has_on("shop_1", "t", "SELECT") && !p.has_on("shopx1", "t", "SELECT"));
        assert!(p.has_on("crm", "people", "SELECT") && !p.has_on_schema("crm", "SELECT"));
        assert!(!p.has_on("crm", "people", "INSERT") && !p.has_on("crm", "p", "EXECUTE"));
        assert!(!p.has("SELECT"));
    }

    #[test]
    fn all_privileges_and_partial_revokes() {
        let p = of(&["GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION"]);
        assert!(p.has("RELOAD") && p.has_on("any", "t", "TRIGGER"));
        let p = of(&[
            "GRANT SELECT, RELOAD ON *.* TO `u`@`%`",
            "GRANT BACKUP_ADMIN,FLUSH_TABLES ON *.* TO `u`@`%`",
            "REVOKE SELECT ON `secret`.* FROM `u`@`%`",
        ]);
        assert!(p.has("FLUSH_TABLES") && p.has_on_schema("shop", "SELECT"));
        assert!(!p.has_on("secret", "t", "SELECT"));
    }

    #[test]
    fn what_an_account_may_not_give_on_is_asked_for() {
        let root = of(&["GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION"]);
        let some = of(&[
            "GRANT SELECT, CREATE USER ON *.* TO `u`@`%`",
            "GRANT SELECT, INSERT ON `shop`.* TO `u`@`%` WITH GRANT OPTION",
        ]);
        let grants = [
            "GRANT SELECT, DELETE ON `shop`.`t` TO `a`@`%`",
            "GRANT SELECT ON *.* TO `a`@`%`",
            "GRANT USAGE ON *.* TO `a`@`%`",
            "GRANT `r`@`%` TO `a`@`%`",
            "REVOKE SELECT ON `x`.* FROM `a`@`%`",
            "GRANT ALL PRIVILEGES ON `x`.* TO `a`@`%`",
        ];
        assert!(root.missing_to_grant(&grants).is_empty());
        assert_eq!(
            some.missing_to_grant(&grants),
            [
                "GRANT SELECT ON *.* TO 'u'@'%' WITH GRANT OPTION",
                "GRANT ALL PRIVILEGES ON `x`.* TO 'u'@'%' WITH GRANT OPTION",
                "GRANT DELETE ON `shop`.`t` TO 'u'@'%' WITH GRANT OPTION",
            ]
        );
    }

    #[test]
    fn missing_ones_are_asked_for_in_one_statement_a_place() {
        let p = of(&["GRANT SELECT ON `a_b`.* TO `u`@`%`"]);
        let schema = |n: &str| Scope::Schema(n.into());
        let needs = [
            (Scope::Global, vec!["FLUSH_TABLES", "RELOAD"]),
            (schema("a_b"), vec!["SELECT"]),
            (schema("a_b"), vec!["TRIGGER"]),
            (schema("a_b"), vec!["SHOW VIEW"]),
        ];
        assert_eq!(
            p.missing(&needs),
            [
                "GRANT FLUSH_TABLES ON *.* TO 'u'@'%'",
                "GRANT TRIGGER, SHOW VIEW ON `a\\_b`.* TO 'u'@'%'"
            ]
        );
    }
}

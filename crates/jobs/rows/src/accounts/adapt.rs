//! Accounts for a server that is not like the one they are from: another flavour, or other rules for names in grants.
//!
//! Only what the target is known not to take is changed. What no change can carry over is named; whether it takes the rest is
//! for the server to say.

use super::Account;
use super::name::Name;
use super::statement::{Clause, Create, Grant, Topic, What};
use base::units::printable;
use server::{Flavour, Identity};
use std::collections::BTreeSet;

/// An account as the target gets it.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// With the target's statements.
    pub account: Account,
    /// Set if its way to log in cannot be carried over: why not. It is made locked then.
    pub cannot_log_in: Option<String>,
    /// What it has on the source and will not have, in words.
    pub lost: Vec<String>,
}

/// Privileges that have other names: MySQL's and MariaDB's.
const PRIVILEGES: [(&str, &str); 8] = [
    ("REPLICATION CLIENT", "BINLOG MONITOR"),
    ("REPLICATION CLIENT", "SLAVE MONITOR"),
    ("BINLOG_ADMIN", "BINLOG ADMIN"),
    ("CONNECTION_ADMIN", "CONNECTION ADMIN"),
    ("REPLICATION_SLAVE_ADMIN", "REPLICATION SLAVE ADMIN"),
    ("SET_ANY_DEFINER", "SET USER"),
    ("SET_USER_ID", "SET USER"),
    ("CREATE USER", "CREATE USER"),
];

/// Where accounts come from, as far as that matters.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The flavour.
    pub flavour: Flavour,
    /// Whether names of schemas in grants have no wildcards (MySQL's `partial_revokes`).
    pub literal: bool,
}

impl Source {
    /// This server, if it is there to be asked.
    pub fn of(id: &Identity) -> Source {
        Source {
            flavour: id.flavour,
            literal: is_literal(id),
        }
    }
}

/// Whether names of schemas in grants have no wildcards.
pub fn is_literal(id: &Identity) -> bool {
    id.is_on("partial_revokes")
}

/// These accounts as this server takes them.
pub fn adapt(accounts: &[Account], source: Source, target: &Identity) -> Vec<Adapted> {
    let literal = is_literal(target);
    let roles = roles(accounts);
    let one = |account: &Account| {
        let mut adapted = Adapted {
            account: account.clone(),
            cannot_log_in: None,
            lost: Vec::new(),
        };
        // MySQL has no role of everyone.
        if source.flavour == target.flavour || account.create.is_some() {
            if !literal {
                adapted.without_revokes();
            }
            adapted.literal_names(source.literal, literal);
        }
        match (source.flavour, target.flavour) {
            (Flavour::MySql, Flavour::MariaDb) => adapted.for_mariadb(&roles),
            (Flavour::MariaDb, Flavour::MySql) => adapted.for_mysql(),
            _ => {}
        }
        adapted
    };
    accounts.iter().map(one).collect()
}

/// Accounts of MySQL that are granted to others.
fn roles(accounts: &[Account]) -> BTreeSet<Name> {
    let grants = accounts.iter().flat_map(|a| &a.grants);
    let roles = grants.filter_map(|g| match &g.what {
        What::Roles(roles) => Some(roles.clone()),
        What::Privileges { .. } => None,
    });
    roles.flatten().collect()
}

impl Adapted {
    fn lost(&mut self, what: impl std::fmt::Display) {
        let text = printable(&format!("account {}: {what}", self.account.name));
        self.lost.push(text);
    }

    /// Where no privilege can be taken from a schema, an account would get more than it had.
    fn without_revokes(&mut self) {
        let revokes: Vec<String> = self
            .account
            .grants
            .iter()
            .filter(|g| g.revoke)
            .map(Grant::sql)
            .collect();
        if revokes.is_empty() {
            return;
        }
        self.account.grants.retain(|g| !g.revoke && !g.is_global());
        self.lost(format_args!(
            "its privileges on *.* are not given, because the target cannot take a part of them away ({}; partial_revokes is not ON there)",
            revokes.join("; ")
        ));
    }

    /// `_` and `%` are wildcards in the schema of a GRANT, but not under `partial_revokes`.
    fn literal_names(&mut self, source: bool, target: bool) {
        if source == target {
            return;
        }
        let mut refused = Vec::new();
        for grant in &mut self.account.grants {
            let What::Privileges { on, .. } = &mut grant.what else {
                continue;
            };
            let Some(schema) = on.strip_suffix(".*").filter(|s| *s != "*") else {
                continue;
            };
            let changed = match target {
                true => unescaped(schema),
                false => Some(schema.replace('_', "\\_").replace('%', "\\%")),
            };
            match changed {
                Some(schema) => *on = format!("{schema}.*"),
                None => refused.push(on.clone()),
            }
        }
        let kept = |g: &Grant| match &g.what {
            What::Privileges { on, .. } => !refused.contains(on),
            What::Roles(_) => true,
        };
        self.account.grants.retain(kept);
        for on in refused {
            self.lost(format_args!(
                "its privileges on {on} are not given: with partial_revokes=ON the target has no wildcards in names"
            ));
        }
    }

    fn for_mariadb(&mut self, roles: &BTreeSet<Name>) {
        let as_role = |name: &Name| match (name.host.as_deref(), roles.contains(name)) {
            (Some("%"), true) => Name::role(name.user.clone()),
            _ => name.clone(),
        };
        let is_role = self.account.name.host.as_deref() == Some("%")
            && roles.contains(&self.account.name)
            && self.account.create.as_ref().is_some_and(is_locked);
        let named: Vec<&Create> = self.account.create.iter().collect();
        let mut identified = None;
        let mut lost = Vec::new();
        let mut clauses = Vec::new();
        for clause in named.iter().flat_map(|c| &c.clauses) {
            let words = &clause.text;
            match clause.topic {
                Topic::Identified => identified = Some(words.clone()),
                Topic::Password if words.starts_with("PASSWORD EXPIRE") => {
                    clauses.push(clause.clone());
                }
                Topic::Password | Topic::Other if words.ends_with(" DEFAULT") => {}
                Topic::Password | Topic::Other => lost.push(short(words)),
                // Without a word it is not locked.
                Topic::Account if words == "ACCOUNT UNLOCK" => {}
                _ => clauses.push(clause.clone()),
            }
        }
        for grant in &mut self.account.grants {
            grant.to = as_role(&grant.to);
            match &mut grant.what {
                What::Roles(list) => {
                    for role in list {
                        *role = as_role(role);
                    }
                }
                What::Privileges { list, .. } => renamed(list, |(mysql, mariadb)| (mysql, mariadb)),
            }
        }
        if let Some(list) = self.account.default_roles.take() {
            self.account.default_roles = Some(list.replace("@`%`", ""));
            if list.contains(',') {
                self.account.default_roles = None;
                self.lost(format_args!(
                    "MariaDB has one default role for an account, and it has several: {list}"
                ));
            }
        }
        if is_role {
            self.account.name = Name::role(self.account.name.user.clone());
            self.account.create = Some(Create {
                role: true,
                clauses: Vec::new(),
            });
            return;
        }
        for what in lost {
            self.lost(format_args!("MariaDB has no {what}"));
        }
        let text = match login_of_mysql(identified.as_deref().unwrap_or_default()) {
            Login::Free => None,
            Login::Native(hash) => Some(format!(
                "IDENTIFIED VIA mysql_native_password USING '{hash}'"
            )),
            Login::Socket => Some("IDENTIFIED VIA unix_socket".to_owned()),
            Login::Other(why) => {
                self.cannot_log_in = Some(why);
                None
            }
        };
        self.set_clauses(text, clauses);
    }

    fn for_mysql(&mut self) {
        let Some(create) = self.account.create.clone() else {
            self.lost(format_args!(
                "MySQL has no role PUBLIC; not given: {}",
                self.account
                    .grants
                    .iter()
                    .map(Grant::sql)
                    .collect::<Vec<_>>()
                    .join("; ")
            ));
            self.account.grants.clear();
            return;
        };
        for grant in &mut self.account.grants {
            if let What::Privileges { list, .. } = &mut grant.what {
                renamed(list, |(mysql, mariadb)| (mariadb, mysql));
            }
        }
        if create.role {
            return;
        }
        let identified = create.about(Topic::Identified).unwrap_or_default();
        let (login, more) = login_of_mariadb(identified);
        let mut clauses = Vec::new();
        for clause in create.clauses.iter() {
            match clause.topic {
                Topic::Identified => {}
                Topic::With => {
                    let (text, time) = without_statement_time(&clause.text);
                    if time {
                        self.lost("MySQL has no MAX_STATEMENT_TIME for an account");
                    }
                    if text != "WITH" {
                        clauses.push(Clause {
                            topic: Topic::With,
                            text,
                        });
                    }
                }
                _ => clauses.push(clause.clone()),
            }
        }
        if more {
            self.lost("MySQL has one of several ways to log in: the first that it knows is kept");
        }
        let text = match login {
            Login::Free => None,
            Login::Native(hash) => Some(format!(
                "IDENTIFIED WITH 'mysql_native_password' AS '{hash}'"
            )),
            Login::Socket => Some("IDENTIFIED WITH 'auth_socket'".to_owned()),
            Login::Other(why) => {
                self.cannot_log_in = Some(why);
                None
            }
        };
        self.set_clauses(text, clauses);
    }

    fn set_clauses(&mut self, identified: Option<String>, rest: Vec<Clause>) {
        let identified = identified.map(|text| Clause {
            topic: Topic::Identified,
            text,
        });
        let clauses = identified.into_iter().chain(rest).collect();
        self.account.create = Some(Create {
            role: false,
            clauses,
        });
    }

    /// What creates it with no way to log in, on this server.
    pub fn locked(&self, target: &Identity) -> Option<Create> {
        let create = self.account.create.as_ref().filter(|c| !c.role)?;
        // A password that is not known to anybody, should it be unlocked too early.
        let nobody = match target.is_mariadb() {
            true => "IDENTIFIED VIA mysql_native_password USING 'invalid'",
            false => "IDENTIFIED BY RANDOM PASSWORD",
        };
        let kept = |c: &&Clause| !matches!(c.topic, Topic::Identified | Topic::Account);
        let clause = |topic, text: &str| Clause {
            topic,
            text: text.to_owned(),
        };
        let mut clauses = vec![clause(Topic::Identified, nobody)];
        clauses.extend(create.clauses.iter().filter(kept).cloned());
        clauses.push(clause(Topic::Account, "ACCOUNT LOCK"));
        Some(Create {
            role: false,
            clauses,
        })
    }
}

fn is_locked(create: &Create) -> bool {
    create.about(Topic::Account) == Some("ACCOUNT LOCK")
        && !create
            .about(Topic::Identified)
            .is_some_and(|i| i.contains(" AS "))
}

/// A name in backticks without its escapes; none if it has wildcards.
fn unescaped(schema: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = schema.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next().unwrap_or('\\')),
            '%' | '_' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

fn renamed(
    list: &mut [String],
    order: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    for privilege in list {
        let known = PRIVILEGES
            .into_iter()
            .map(order)
            .find(|(from, _)| privilege == from);
        if let Some((_, to)) = known {
            *privilege = to.to_owned();
        }
    }
}

/// The words of a clause without its value, which may be long.
fn short(clause: &str) -> String {
    let words: Vec<&str> = clause.split(' ').collect();
    let value = |w: &&&str| !w.starts_with(['\'', '"', '{']);
    words
        .iter()
        .take_while(value)
        .copied()
        .collect::<Vec<_>>()
        .join(" ")
}

/// How an account logs in.
#[derive(Debug, PartialEq, Eq)]
enum Login {
    /// Without a password.
    Free,
    /// With this hash of `mysql_native_password`.
    Native(String),
    /// As the user of the operating system.
    Socket,
    /// In another way: why that cannot be carried over.
    Other(String),
}

/// Reads `IDENTIFIED WITH 'plugin' AS 'hash'`.
fn login_of_mysql(text: &str) -> Login {
    let Some(rest) = text.strip_prefix("IDENTIFIED WITH ") else {
        return match text {
            "" => Login::Free,
            _ => Login::Other("its way to log in is not one that MariaDB has".to_owned()),
        };
    };
    let (plugin, hash) = rest.split_once(" AS ").unwrap_or((rest, ""));
    let plugin = plugin.trim_matches(['\'', '`', '"']);
    let by_password = [
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
    ];
    if rest.contains(" AND IDENTIFIED ") {
        return Login::Other(
            "it logs in with more than one factor, which MariaDB does not have".to_owned(),
        );
    }
    match plugin {
        _ if hash.is_empty() && by_password.contains(&plugin) => Login::Free,
        "mysql_native_password" => match native(hash) {
            Some(hash) => Login::Native(hash),
            None => Login::Other("the hash of its password is not understood".to_owned()),
        },
        "auth_socket" if hash.is_empty() => Login::Socket,
        // Without that name, another user of the system would log in.
        "auth_socket" => Login::Other(
            "it logs in as a user of the operating system who has another name, which MariaDB does not have".to_owned(),
        ),
        other => Login::Other(format!(
            "the target cannot use the hash of its password, which is one of {other}"
        )),
    }
}

/// The hash of a native password: `*` and 40 hexadecimal digits, as text or as the bytes of it.
fn native(hash: &str) -> Option<String> {
    let text = match hash.strip_prefix("0x") {
        Some(hex) => {
            let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
            let bytes = digits.chunks_exact(2).map(|d| (d[0] * 16 + d[1]) as u8);
            String::from_utf8(bytes.collect()).ok()?
        }
        None => hash.trim_matches(['\'', '"']).to_owned(),
    };
    let hex = text.strip_prefix('*')?;
    (hex.len() == 40 && hex.bytes().all(|b| b.is_ascii_hexdigit())).then_some(text)
}

/// Reads `IDENTIFIED BY PASSWORD 'hash'` and `IDENTIFIED VIA plugin USING 'hash' OR …`; and whether there is a second way.
fn login_of_mariadb(text: &str) -> (Login, bool) {
    if text.is_empty() {
        return (Login::Free, false);
    }
    if let Some(hash) = text.strip_prefix("IDENTIFIED BY PASSWORD ") {
        let login = native(hash).map_or_else(
            || Login::Other("the hash of its password is not understood".to_owned()),
            Login::Native,
        );
        return (login, false);
    }
    let ways = text.strip_prefix("IDENTIFIED VIA ").unwrap_or_default();
    let ways: Vec<&str> = ways.split(" OR ").collect();
    let hash = ways
        .iter()
        .find_map(|w| native(w.strip_prefix("mysql_native_password USING ")?));
    let (login, kept) = match hash {
        Some(hash) => (Login::Native(hash), true),
        None if ways.contains(&"unix_socket") => (Login::Socket, true),
        None if ways == ["mysql_native_password"] => (Login::Free, true),
        None => {
            let plugins = ways.iter().map(|w| w.split(' ').next().unwrap_or_default());
            let plugins: Vec<&str> = plugins.collect();
            let why = format!(
                "the target does not know how it logs in ({})",
                plugins.join(", ")
            );
            (Login::Other(why), false)
        }
    };
    // A password that cannot match is no way to log in.
    let others = ways
        .iter()
        .filter(|w| **w != "mysql_native_password USING 'invalid'");
    (login, kept && others.count() > 1)
}

/// The limits without the one that MySQL does not have, and whether that was there.
fn without_statement_time(with: &str) -> (String, bool) {
    let mut words = with.split(' ');
    let (mut out, mut found) = (Vec::new(), false);
    while let Some(word) = words.next() {
        if word == "MAX_STATEMENT_TIME" {
            words.next();
            found = true;
        } else {
            out.push(word);
        }
    }
    (out.join(" "), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, revokes: &str) -> Identity {
        let pairs = [("version", version), ("partial_revokes", revokes)];
        let pairs = pairs.map(|(k, v)| (k.to_owned(), v.to_owned()));
        Identity::from_variables(pairs.into()).expect("a version")
    }

    fn adapted(file: &str, from: Flavour, literal: bool, to: &Identity) -> Vec<Adapted> {
        let accounts = super::super::file::read(file).expect("accounts");
        let flavour = from;
        adapt(&accounts, Source { flavour, literal }, to)
    }

    fn sql(adapted: &Adapted) -> String {
        let account = &adapted.account;
        account
            .create
            .as_ref()
            .expect("it is created")
            .sql(&account.name)
    }

    const HASH: &str = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29";

    #[test]
    fn accounts_of_mysql_for_mariadb() {
        let file = format!(
            "CREATE USER `r`@`%` IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE PASSWORD EXPIRE ACCOUNT LOCK PASSWORD HISTORY DEFAULT;\n\
            CREATE USER `a`@`%` IDENTIFIED WITH 'mysql_native_password' AS 0x{} DEFAULT ROLE `r`@`%` REQUIRE SSL PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT;\n\
            CREATE USER `b`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x2441 REQUIRE NONE FAILED_LOGIN_ATTEMPTS 3 ATTRIBUTE '{{\"a\": 1}}';\n\
            CREATE USER `c`@`localhost` IDENTIFIED WITH 'auth_socket' REQUIRE NONE;\n\
            CREATE USER `d`@`localhost` IDENTIFIED WITH 'auth_socket' AS 0x6465706C6F79 REQUIRE NONE;\n\
            GRANT `r`@`%` TO `a`@`%`;\nGRANT BINLOG_ADMIN, SELECT ON *.* TO `a`@`%`;\n",
            HASH.bytes().map(|b| format!("{b:02X}")).collect::<String>()
        );
        let all = adapted(&file, Flavour::MySql, false, &server("10.11.1-MariaDB", ""));
        assert_eq!(sql(&all[0]), "CREATE ROLE `r`");
        assert_eq!(
            sql(&all[1]),
            format!(
                "CREATE USER `a`@`%` IDENTIFIED VIA mysql_native_password USING '{HASH}' REQUIRE SSL PASSWORD EXPIRE DEFAULT"
            )
        );
        let grants: Vec<String> = all[1].account.grants.iter().map(Grant::sql).collect();
        assert_eq!(
            grants,
            [
                "GRANT `r` TO `a`@`%`",
                "GRANT BINLOG ADMIN, SELECT ON *.* TO `a`@`%`"
            ]
        );
        assert_eq!(all[1].account.default_roles.as_deref(), Some("`r`"));
        let why = all[2].cannot_log_in.as_deref().expect("a reason");
        assert!(why.contains("caching_sha2_password"));
        assert_eq!(all[2].lost.len(), 2, "{:?}", all[2].lost);
        let locked = all[2]
            .locked(&server("10.11.1-MariaDB", ""))
            .expect("a statement");
        assert_eq!(
            locked.sql(&all[2].account.name),
            "CREATE USER `b`@`%` IDENTIFIED VIA mysql_native_password USING 'invalid' REQUIRE NONE ACCOUNT LOCK"
        );
        assert_eq!(
            sql(&all[3]),
            "CREATE USER `c`@`localhost` IDENTIFIED VIA unix_socket REQUIRE NONE"
        );
        let other_name = all[4].cannot_log_in.as_deref().unwrap_or_default();
        assert!(other_name.contains("another name"), "{other_name}");
    }

    #[test]
    fn accounts_of_mariadb_for_mysql() {
        let file = format!(
            "CREATE ROLE `r`;\nCREATE USER `a`@`%` IDENTIFIED BY PASSWORD '{HASH}' WITH MAX_QUERIES_PER_HOUR 5 MAX_STATEMENT_TIME 3.5 ACCOUNT LOCK;\n\
            CREATE USER `b`@`%` IDENTIFIED VIA ed25519 USING 'x' OR mysql_native_password USING '{HASH}';\n\
            CREATE USER `c`@`%` IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket;\n\
            CREATE USER `d`@`%` IDENTIFIED VIA ed25519 USING 'x' WITH MAX_STATEMENT_TIME 1;\n\
            GRANT BINLOG MONITOR ON *.* TO `a`@`%`;\nGRANT SELECT ON `s`.* TO PUBLIC;\n"
        );
        let all = adapted(&file, Flavour::MariaDb, false, &server("9.7.4", "OFF"));
        assert_eq!(sql(&all[0]), "CREATE ROLE `r`");
        assert_eq!(
            sql(&all[1]),
            format!(
                "CREATE USER `a`@`%` IDENTIFIED WITH 'mysql_native_password' AS '{HASH}' WITH MAX_QUERIES_PER_HOUR 5 ACCOUNT LOCK"
            )
        );
        assert_eq!(
            all[1].account.grants[0].sql(),
            "GRANT REPLICATION CLIENT ON *.* TO `a`@`%`"
        );
        assert_eq!(
            (all[1].lost.len(), all[2].lost.len(), all[3].lost.len()),
            (1, 1, 0)
        );
        assert_eq!(
            sql(&all[3]),
            "CREATE USER `c`@`%` IDENTIFIED WITH 'auth_socket'"
        );
        assert!(all[4].cannot_log_in.is_some() && sql(&all[4]) == "CREATE USER `d`@`%`");
        assert!(all[5].account.grants.is_empty() && all[5].lost[0].contains("PUBLIC"));
    }

    #[test]
    fn an_account_gets_no_more_than_it_had() {
        let file = "CREATE USER `a`@`%`;\nGRANT SELECT ON *.* TO `a`@`%`;\nREVOKE SELECT ON `x_y`.* FROM `a`@`%`;\nGRANT SELECT ON `b_c`.* TO `a`@`%`;\n";
        let grants = |all: &[Adapted]| -> Vec<String> {
            all[0].account.grants.iter().map(Grant::sql).collect()
        };
        let kept = adapted(file, Flavour::MySql, true, &server("9.7.4", "ON"));
        assert_eq!((grants(&kept).len(), kept[0].lost.len()), (3, 0));
        for target in [server("9.7.4", "OFF"), server("11.8.1-MariaDB", "")] {
            let all = adapted(file, Flavour::MySql, true, &target);
            assert_eq!(grants(&all), ["GRANT SELECT ON `b\\_c`.* TO `a`@`%`"]);
            assert!(all[0].lost[0].contains("REVOKE SELECT ON `x_y`.*"));
        }
        let file = "CREATE USER `a`@`%`;\nGRANT SELECT ON `b\\_c`.* TO `a`@`%`;\nGRANT SELECT ON `b%`.* TO `a`@`%`;\n";
        let all = adapted(file, Flavour::MySql, false, &server("9.7.4", "ON"));
        assert_eq!(grants(&all), ["GRANT SELECT ON `b_c`.* TO `a`@`%`"]);
        assert!(all[0].lost[0].contains("`b%`.*"));
    }
}

//! `@.users.sql`: the accounts of an archive, as MySQL Shell writes them.
//!
//! Invariant: only statements of accounts that the file itself creates are taken from it. Whoever wrote the file, it cannot
//! change an account that a server has.

use super::Account;
use super::name::Name;
use super::statement::{Grant, Statement};
use archive::sqlfile::AccountSql;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::script::Script;
use std::collections::BTreeMap;

/// The name of the file.
pub const FILE: &str = "@.users.sql";

/// The accounts of a server as the statements of the file; `mariadb`: of that flavour.
pub fn statements(accounts: &[Account], mariadb: bool) -> Vec<AccountSql> {
    let of = |account: &Account| AccountSql {
        name: account.name.to_string(),
        create: account
            .create
            .as_ref()
            .map(|c| c.sql_if_missing(&account.name)),
        grants: account.grants.iter().map(Grant::sql).collect(),
        default_roles: account.set_default_roles(mariadb),
    };
    accounts.iter().map(of).collect()
}

/// Reads the file.
pub fn read(text: &str) -> Result<Vec<Account>> {
    let mut accounts: Vec<Account> = Vec::new();
    let mut places: BTreeMap<Name, usize> = BTreeMap::new();
    let mut script = Script::new(text.as_bytes()).allow_unterminated(true);
    loop {
        let statement = match script.next() {
            Ok(None) => return Ok(accounts),
            Ok(Some(statement)) => statement,
            Err(e) => {
                return Err(Error::new(
                    Kind::Archive,
                    printable(&format!("{FILE}: {e}")),
                ));
            }
        };
        let text = String::from_utf8_lossy(&statement.text).into_owned();
        let refused = |why: &str| {
            // It may have the hash of a password in it.
            let what = format!("{FILE}, line {}: a statement that {why}", statement.line);
            Error::new(Kind::Archive, what).hint(
                "load without accounts, or, if you trust it, take the statement out of the file and run it yourself",
            )
        };
        match Statement::read(&text) {
            Some(Statement::Nothing) => {}
            Some(Statement::Create(name, mut create)) => {
                let default_roles = create.take_default_roles();
                places.insert(name.clone(), accounts.len());
                let mut account = Account::new(name, Some(create));
                account.default_roles = default_roles;
                accounts.push(account);
            }
            Some(Statement::Grant(grant)) if grant.to.is_public() => {
                let at = *places.entry(Name::public()).or_insert(accounts.len());
                if at == accounts.len() {
                    accounts.push(Account::new(Name::public(), None));
                }
                accounts[at].grants.push(grant);
            }
            Some(Statement::Grant(grant)) => match places.get(&grant.to) {
                Some(at) => accounts[*at].grants.push(grant),
                None => return Err(refused("is about an account that the file does not create")),
            },
            Some(Statement::DefaultRoles(name, roles)) => match places.get(&name) {
                Some(at) => accounts[*at].default_roles = Some(roles),
                None => return Err(refused("is about an account that the file does not create")),
            },
            None => return Err(refused("no file of accounts has")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sqlfile::{Header, users_sql};

    const AS_MYSQL_SHELL: &str = "-- MySQLShell dump 1.0.0\n--\n\n-- begin user root@%\n\
        CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*94BD' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK;\n\
        /* ALTER USER 'root'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*94BD' REQUIRE NONE; */\n\
        -- end user root@%\n\n-- begin grants root@%\n\
        GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n/* GRANT SUPER ON *.* TO 'root'@'%'; */\n\
        -- end grants root@%\n\n-- begin default role 'root'@'%'\nSET DEFAULT ROLE 'r'@'%' TO 'root'@'%';\n\
        -- end default role 'root'@'%'\n\nFLUSH PRIVILEGES;\n-- End of dumping user accounts\n\n";

    #[test]
    fn a_file_is_read_and_comes_back() {
        let accounts = read(AS_MYSQL_SHELL).expect("accounts");
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].name, Name::account("root", "%"));
        assert_eq!(accounts[0].grants.len(), 1);
        assert_eq!(accounts[0].default_roles.as_deref(), Some("'r'@'%'"));
        let text = users_sql(&Header::default(), &statements(&accounts, false));
        assert_eq!(read(&text).expect("accounts"), accounts);
        assert!(text.contains("\n-- begin user 'root'@'%'\nCREATE USER IF NOT EXISTS `root`@`%` "));
        assert!(text.ends_with("\n-- End of dumping user accounts\n\n"));
    }

    #[test]
    fn a_file_changes_no_account_but_its_own() {
        for text in [
            "GRANT ALL ON *.* TO 'app'@'%';",
            "CREATE USER a@h; GRANT ALL ON *.* TO b@h;",
            "SET DEFAULT ROLE r TO root@localhost;",
            "CREATE USER a@h; ALTER USER root@localhost IDENTIFIED BY 'x';",
            "DROP USER root@localhost;",
            "SET GLOBAL local_infile = 1;",
            "CREATE USER a@h, root@localhost;",
            "CREATE USER a@h IDENTIFIED BY 'secret' x;GRANT",
        ] {
            let e = read(text).expect_err(text);
            assert_eq!(e.kind, Kind::Archive);
            assert!(!e.what.contains("secret"));
        }
    }
}

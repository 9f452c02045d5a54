//! The account of the source that the new server logs in with: one that may replicate, and nothing else.

use crate::execute;
use crate::options::Account;
use base::{Error, Kind, Result, Secret};
use server::{Identity, quote};
use sha1::{Digest, Sha1};
use wire::Conn;
use wire::serve;

/// What rules on passwords ask for beside letters and digits.
const RULES: &str = "-A1z";
/// Characters before that, of 5 bits each. A replica of MySQL takes 32 in all.
const LETTERS: usize = 28;

/// A new account with a password that is nowhere else.
pub(crate) fn random() -> Result<Account> {
    let made = serve::Account::random()
        .map_err(|e| Error::new(Kind::Failed, format!("cannot make a random password: {e}")))?;
    let letters: String = made.password.reveal().chars().take(LETTERS).collect();
    Ok(Account {
        user: made.user,
        password: Secret::new(format!("{letters}{RULES}")),
    })
}

/// Makes it on the source.
pub(crate) fn create(
    conn: &mut Conn,
    id: &Identity,
    account: &Account,
    host: &str,
    tls: bool,
) -> Result<()> {
    let named = quote::account(&account.user, host);
    let doing = format!("cannot make the account {named} on the source");
    // MySQL writes the hash of the password into its logs; MariaDB writes what it got.
    let identified = match id.is_mariadb() {
        true => format!(
            "BY PASSWORD {}",
            quote::text(&native_hash(account.password.reveal()))
        ),
        false => format!("BY {}", quote::text(account.password.reveal())),
    };
    let require = if tls { " REQUIRE SSL" } else { "" };
    let sql = format!("CREATE USER {named} IDENTIFIED {identified}{require}");
    execute(conn, &sql, &doing).map_err(|e| {
        e.hint("name an account that may replicate: --replication-user, with --replication-password-file")
    })?;
    let sql = format!("GRANT REPLICATION SLAVE ON *.* TO {named}");
    execute(conn, &sql, format!("cannot let {named} replicate"))
}

/// Removes an account again. A role of MariaDB is one without a host.
pub(crate) fn remove(conn: &mut Conn, id: &Identity, user: &str, host: &str) -> Result<()> {
    let named = quote::account(user, host);
    // Replicas of the source may not have it.
    let sql = match id.is_mariadb() && host.is_empty() {
        true => format!("DROP ROLE IF EXISTS {}", quote::text(user)),
        false => format!("DROP USER IF EXISTS {named}"),
    };
    execute(conn, &sql, format!("cannot remove the account {named}"))
}

/// What `mysql_native_password` keeps of a password.
fn native_hash(password: &str) -> String {
    let twice = Sha1::digest(Sha1::digest(password.as_bytes()));
    let hex: String = twice.iter().map(|b| format!("{b:02X}")).collect();
    format!("*{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_servers() {
        // SELECT PASSWORD('password')
        let known = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
        assert_eq!(native_hash("password"), known);
    }

    #[test]
    fn passwords_are_long_and_never_the_same() {
        let (a, b) = (random().expect("one"), random().expect("another"));
        assert_eq!(a.password.reveal().len(), 32);
        assert_ne!(a.password.reveal(), b.password.reveal());
        assert!(!format!("{a:?}").contains(a.password.reveal()));
    }
}

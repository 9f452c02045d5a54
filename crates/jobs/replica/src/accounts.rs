//! The source's accounts on the new server: its log goes on to change them, and a statement about an account that is not there
//! ends replication.

use base::units::printable;
use base::{Result, failpoint};
use run::failure;
use server::{Identity, quote};
use std::collections::BTreeSet;
use wire::Conn;

/// Accounts of the server itself.
const OF_THE_SERVER: [&str; 5] = [
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
    "PUBLIC",
];

/// An account with the statements that make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) user: String,
    pub(crate) host: String,
    is_role: bool,
    create: String,
    grants: Vec<String>,
}

impl Definition {
    fn named(&self) -> String {
        match self.is_role {
            true => quote::text(&self.user),
            false => quote::account(&self.user, &self.host),
        }
    }
}

/// All accounts of a server but its own.
pub(crate) fn read(conn: &mut Conn, id: &Identity) -> Result<Vec<Definition>> {
    let wrong = |e| failure::wire("cannot read the accounts of the source", e);
    let sql = match id.is_mariadb() {
        true => "SELECT User, Host, is_role FROM mysql.user ORDER BY is_role DESC, User, Host",
        false => "SELECT User, Host, 'N' FROM mysql.user ORDER BY User, Host",
    };
    if id.is_mysql() {
        // Hashes are bytes, which a statement cannot hold as they are.
        conn.execute("SET SESSION print_identified_with_as_hex = ON")
            .map_err(wrong)?;
    }
    let text = |cell: &Option<Vec<u8>>| {
        String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
    };
    let mut all = Vec::new();
    for row in conn.fetch(sql).map_err(wrong)? {
        let [user, host, is_role] = &row[..] else {
            continue;
        };
        let (user, host, is_role) = (text(user), text(host), text(is_role) == "Y");
        if OF_THE_SERVER.contains(&user.as_str()) {
            continue;
        }
        let mut account = Definition {
            user,
            host,
            is_role,
            create: String::new(),
            grants: Vec::new(),
        };
        let named = account.named();
        account.create = match is_role {
            true => format!("CREATE ROLE {named}"),
            false => {
                let rows = conn
                    .fetch(format!("SHOW CREATE USER {named}"))
                    .map_err(wrong)?;
                rows.first()
                    .and_then(|r| r.first())
                    .map(text)
                    .unwrap_or_default()
            }
        };
        let rows = conn
            .fetch(format!("SHOW GRANTS FOR {named}"))
            .map_err(wrong)?;
        account.grants = rows.iter().filter_map(|r| r.first()).map(text).collect();
        all.push(account);
    }
    Ok(all)
}

/// Tells whether accounts have changed.
pub(crate) fn digest(all: &[Definition]) -> String {
    blake3::hash(format!("{all:?}").as_bytes())
        .to_hex()
        .to_string()
}

/// What came of the accounts.
#[derive(Debug, Default)]
pub(crate) struct Created {
    pub(crate) made: Vec<(String, String)>,
    /// What could not be made or granted.
    pub(crate) exceptions: Vec<String>,
}

/// Which of these the new server does not have, and the names of the others.
pub(crate) fn missing(
    conn: &mut Conn,
    wanted: &[Definition],
) -> Result<(Vec<Definition>, Vec<String>)> {
    let wrong = |e| failure::wire("cannot read the accounts of the new server", e);
    let rows = conn
        .fetch("SELECT User, Host FROM mysql.user")
        .map_err(wrong)?;
    let there: BTreeSet<Vec<Vec<u8>>> = rows
        .into_iter()
        .map(|r| r.into_iter().map(Option::unwrap_or_default).collect())
        .collect();
    let (mut missing, mut kept) = (Vec::new(), Vec::new());
    for account in wanted {
        let key = vec![
            account.user.clone().into_bytes(),
            account.host.clone().into_bytes(),
        ];
        match there.contains(&key) {
            true => kept.push(printable(&account.named())),
            false => missing.push(account.clone()),
        }
    }
    Ok((missing, kept))
}

/// Makes them, in a session that writes no binary log.
pub(crate) fn create(conn: &mut Conn, missing: &[Definition]) -> Created {
    let mut created = Created::default();
    let mut waiting: Vec<(&Definition, String)> =
        missing.iter().map(|a| (a, String::new())).collect();
    // One that has another as its default role has to wait for that.
    loop {
        let before = waiting.len();
        waiting.retain_mut(|(account, why)| match conn.execute(&account.create) {
            Ok(_) => {
                let name = (account.user.clone(), account.host.clone());
                created.made.push(name);
                failpoint::reached("an account is made");
                false
            }
            Err(e) => {
                *why = e.to_string();
                true
            }
        });
        if waiting.is_empty() || waiting.len() == before {
            break;
        }
    }
    for (account, why) in &waiting {
        created.exceptions.push(printable(&format!(
            "account {} was not made: {why}",
            account.named()
        )));
    }
    let failed: BTreeSet<String> = waiting.iter().map(|(a, _)| a.named()).collect();
    for account in missing.iter().filter(|a| !failed.contains(&a.named())) {
        for grant in &account.grants {
            if let Err(e) = conn.execute(grant) {
                // What was said has no password; the statement may have its hash.
                created.exceptions.push(printable(&format!(
                    "a grant of account {} was refused: {e}",
                    account.named()
                )));
            }
        }
    }
    created
}

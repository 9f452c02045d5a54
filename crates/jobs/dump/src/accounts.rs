//! The accounts of the source: read beside the definitions, and once more at the end, because not every server can keep others
//! from changing them meanwhile.

use crate::{Accounts, Options, SourceFiles};
use base::{Error, Kind, Result};
use rows::accounts::{Account, Choice, file};
use server::privileges::Scope;
use server::{Identity, Privileges};
use std::sync::OnceLock;
use wire::Conn;

/// The accounts that go into the archive.
pub struct Dumped<'a> {
    choice: &'a Choice,
    /// What of them cannot be written down.
    exceptions: Vec<String>,
    chosen: Vec<Account>,
    mariadb: bool,
}

/// Which accounts are dumped, if any; or, where the usual ones cannot be, why not.
pub fn wanted<'a>(
    granted: &Privileges,
    options: &'a Options,
) -> Result<(Option<&'a Choice>, Option<String>)> {
    static ALL: OnceLock<Choice> = OnceLock::new();
    // The temporary server of a data directory runs without accounts.
    let own = options
        .files
        .as_ref()
        .is_some_and(SourceFiles::has_own_server);
    let of_server = !own && options.feed.is_none();
    let (choice, asked) = match &options.accounts {
        Accounts::None => return Ok((None, None)),
        Accounts::Chosen(choice) => (&**choice, true),
        Accounts::Usual if !options.filter.takes_all() || !of_server => return Ok((None, None)),
        Accounts::Usual => (ALL.get_or_init(Choice::default), false),
    };
    let missing = granted.missing(&[(Scope::Schema("mysql".into()), vec!["SELECT"])]);
    if missing.is_empty() {
        return Ok((Some(choice), None));
    }
    let hint = missing.join(";\n") + ";";
    let account = &granted.account;
    if asked || options.require_all {
        let what = format!("account {account} may not read the accounts of the server");
        return Err(
            Error::new(Kind::Privilege, what).hint(format!("{hint}\nor without them: --no-users"))
        );
    }
    let why = format!(
        "accounts, roles and their grants are not in the archive, because {account} may not read them ({hint} or, to do without them, --no-users)"
    );
    Ok((None, Some(why)))
}

impl<'a> Dumped<'a> {
    /// Reads them.
    pub fn read(conn: &mut Conn, id: &Identity, choice: &'a Choice) -> Result<Dumped<'a>> {
        let found = rows::accounts::read(conn, id)?;
        let chosen = found.accounts.iter().filter(|a| choice.takes(&a.name));
        let chosen: Vec<Account> = chosen.cloned().collect();
        let of_them = found.exceptions.iter().filter(|(n, _)| choice.takes(n));
        let exceptions = of_them.map(|(_, why)| why.clone()).collect();
        choice.check_matched(chosen.len())?;
        Ok(Dumped {
            choice,
            exceptions,
            chosen,
            mariadb: id.is_mariadb(),
        })
    }

    /// Names what is not as it should be; accounts that were changed since they were read, too.
    pub fn add_exceptions(
        &self,
        conn: &mut Conn,
        id: &Identity,
        exceptions: &mut Vec<String>,
    ) -> Result<()> {
        exceptions.extend(self.exceptions.iter().cloned());
        let now = rows::accounts::read(conn, id)?;
        let chosen = now.accounts.iter().filter(|a| self.choice.takes(&a.name));
        if !chosen.eq(&self.chosen) {
            exceptions.push(
                "accounts were changed while the dump ran: the archive has them as they were at its beginning".to_owned(),
            );
        }
        Ok(())
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.chosen.len() as u64
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.chosen.iter().map(|a| a.name.to_string()).collect()
    }

    /// Their statements.
    pub fn statements(&self) -> Vec<archive::sqlfile::AccountSql> {
        file::statements(&self.chosen, self.mariadb)
    }
}

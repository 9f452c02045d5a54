//! Rows and accounts, onto the new server: two steps, so that hours of rows are not lost for an account.

use crate::create::{Making, of_copied, of_new, of_source, open, schemas_of, source_id};
use crate::made::From;
use crate::{account, refused};
use base::units::printable;
use base::{Result, failpoint};
use rows::accounts::adapt::{self, Adapted};
use rows::accounts::{Found, make};
use run::failure;
use server::{Identity, session};

/// The accounts of a server, and which server that is.
pub(crate) struct Accounts {
    found: Found,
    of: Identity,
}

impl Accounts {
    /// Tells whether they have changed.
    fn digest(&self) -> String {
        blake3::hash(format!("{:?}", self.found).as_bytes())
            .to_hex()
            .to_string()
    }
}

impl Making<'_> {
    /// Copies rows and accounts; `from_replica`: the channel of the replica that is copied.
    pub(crate) fn copy(&mut self, from_replica: Option<&str>, new: &wire::Options) -> Result<From> {
        if self.record.made.copying {
            return Err(refused(
                "an earlier run was interrupted while it copied, and a copy cannot be resumed: its snapshot is gone",
                "penstock replica abort removes what it has made; then begin again",
            ));
        }
        // Of the server that is copied: what was changed since is in the log.
        let wanted = self.accounts_of_source(from_replica.is_some())?;
        let source_id = source_id(&self.source);
        self.record.write(|made| {
            made.copying = true;
            made.source_id = source_id;
        })?;
        failpoint::reached("the copy is about to begin");
        let done = match copy::servers::run(self.run, &self.options.copy) {
            Ok(done) => done,
            Err(e) => {
                // Refused before anything was made: there is nothing to abort.
                if schemas_of(&mut self.new).is_ok_and(|found| found.is_empty()) {
                    self.record.write(|made| made.copying = false)?;
                }
                return Err(e);
            }
        };
        let position = &done.dump.achieved.position;
        let from = match from_replica {
            Some(channel) => From::of_replica(position, channel, self.by_gtid)?,
            None => From::of(position)?,
        };
        let digest = wanted.digest();
        let exceptions = done.exceptions();
        self.record.write(|made| {
            made.copied = Some(from.clone());
            made.accounts_digest = digest;
            made.exceptions.clone_from(&exceptions);
        })?;
        failpoint::reached("the rows are recorded");
        self.summary.exceptions.extend(exceptions);
        self.summary.copied = Some(done);
        // A copy takes hours, and nothing was said on these for as long.
        self.source = open(self.run, &self.options.source).map_err(of_source)?;
        self.new = open(self.run, new).map_err(of_new)?;
        self.copy_accounts(from, Some(wanted), from_replica.is_some())
    }

    /// Without what is granted to everyone.
    fn accounts_of_source(&self, of_replica: bool) -> Result<Accounts> {
        let read = || {
            let mut copied = open(self.run, &self.options.copy.dump.source)?;
            let mut found = rows::accounts::read(&mut copied.conn, &copied.id)?;
            found.accounts.retain(|a| !a.name.is_public());
            let of = copied.id;
            Ok(Accounts { found, of })
        };
        read().map_err(if of_replica { of_copied } else { of_source })
    }

    /// Makes the accounts: `wanted`, or those of the source as they still are.
    pub(crate) fn copy_accounts(
        &mut self,
        from: From,
        wanted: Option<Accounts>,
        of_replica: bool,
    ) -> Result<From> {
        let now = self.accounts_of_source(of_replica)?;
        let wanted = match wanted {
            Some(wanted) => {
                if now.found != wanted.found {
                    let what = "accounts of the source were changed while it was copied: compare them on both servers";
                    self.summary.exceptions.push(what.to_owned());
                }
                wanted
            }
            None if now.digest() == self.record.made.accounts_digest => now,
            // An account that the log makes must not be there already.
            None => {
                return Err(refused(
                    "accounts of the source were changed since it was copied, and as they were then is not known any more",
                    "penstock replica abort --drop-data removes what was made; then begin again",
                ));
            }
        };
        self.make_accounts(&wanted).map_err(of_new)?;
        let schemas = schemas_of(&mut self.new).map_err(of_new)?;
        let exceptions = self.summary.exceptions.clone();
        self.record.write(|made| {
            made.from = Some(from.clone());
            made.schemas = schemas;
            made.exceptions = exceptions;
        })?;
        failpoint::reached("the copy is recorded");
        Ok(from)
    }

    fn make_accounts(&mut self, wanted: &Accounts) -> Result<()> {
        let (conn, id) = (&mut self.new.conn, &self.new.id);
        session::skip_binlog(conn, id)
            .map_err(|e| failure::server("cannot keep accounts out of the binary log", e))?;
        // An earlier run may have made one without its grants.
        for (user, host) in &self.record.made.accounts {
            account::remove(conn, id, user, host)?;
        }
        let all = adapt::adapt(&wanted.found.accounts, adapt::Source::of(&wanted.of), id);
        let existing = make::existing(conn)?;
        let (kept, missing): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|a| make::has(&existing, &a.account.name));
        let names = missing.iter().map(|a| {
            let name = &a.account.name;
            (name.user.clone(), name.host.clone().unwrap_or_default())
        });
        self.record.write(|made| made.accounts = names.collect())?;
        let created = make::create(conn, id, &missing, &mut |_, _| Ok(()))?;
        let made: Vec<&Adapted> = missing
            .into_iter()
            .filter(|a| created.made.contains(&a.account.name))
            .collect();
        let refused = make::grant(conn, id, &made)?;
        self.summary.accounts = created.made.len() as u64;
        self.summary.accounts_kept = kept
            .iter()
            .map(|a| printable(&a.account.name.to_string()))
            .collect();
        let exceptions = &mut self.summary.exceptions;
        exceptions.extend(wanted.found.exceptions.iter().map(|(_, why)| why.clone()));
        exceptions.extend(created.exceptions);
        exceptions.extend(made.iter().flat_map(|a| a.lost.iter().cloned()));
        let refused = refused.into_iter().map(|r| r.text);
        exceptions.extend(refused.filter(|text| !text.is_empty()));
        Ok(())
    }
}

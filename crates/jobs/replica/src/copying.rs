//! Rows and accounts, of the source or of an archive, onto the new server: two steps, so that hours of rows are not lost for an account.

use crate::create::{Making, open};
use crate::earlier::{schemas_of, source_id};
use crate::made::{From, Loaded};
use crate::{account, of_copied, of_new, of_source, refused};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use rows::accounts::adapt::{self, Adapted};
use rows::accounts::{Found, make};
use run::{Run, failure};
use server::session;
use std::sync::Arc;

/// The accounts of a server, and how they are to be read.
pub(crate) struct Accounts {
    found: Found,
    of: adapt::Source,
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
        let wanted = self.accounts(from_replica.is_some())?;
        self.begin(None)?;
        let done = copy::servers::run(self.run, &self.options.copy);
        let done = done.map_err(|e| self.failed(e))?;
        let position = &done.dump.achieved.position;
        let from = match from_replica {
            Some(channel) => From::of_replica(position, channel, self.by_gtid)?,
            None => From::of(position)?,
        };
        self.rows_are_there(&from, &wanted, done.exceptions(), new)?;
        self.summary.copied = Some(done);
        self.copy_accounts(from, Some(wanted), from_replica.is_some())
    }

    /// Loads the archive, or what an interrupted run has not loaded of it; `from`: where the source's log continues it.
    pub(crate) fn load(&mut self, from: From, new: &wire::Options) -> Result<From> {
        let wanted = self.accounts(false)?;
        let (which, lacks) = match &self.given {
            Some(given) => (given.which.clone(), given.dumped_with()),
            None => return Err(Error::new(Kind::Internal, "no archive is named")),
        };
        let load = self.options.copy.loads.first();
        let load = load.ok_or_else(|| Error::new(Kind::Internal, "no new server is named"))?;
        let load = load::Options {
            resume: self.record.made.copying,
            ..load.clone()
        };
        self.begin(Some(which))?;
        // The limits of a copy are those of reading.
        let run = match self.options.via {
            Some(_) => Run::new(Arc::clone(&self.run.observer), self.run.cancel.below()),
            None => self.run.clone(),
        };
        let done = load::run(&run, &load).map_err(|e| self.failed(e))?;
        let exceptions = lacks.into_iter().chain(done.exceptions.iter().cloned());
        self.rows_are_there(&from, &wanted, exceptions.collect(), new)?;
        done.acknowledged();
        self.summary.loaded = Some(done);
        self.copy_accounts(from, Some(wanted), false)
    }

    /// Notes that rows are about to come: of this archive, or of the source.
    fn begin(&mut self, archive: Option<Loaded>) -> Result<()> {
        let source_id = source_id(&self.source);
        self.record.write(|made| {
            made.copying = true;
            made.source_id = source_id;
            made.archive = archive;
        })?;
        failpoint::reached("the copy is about to begin");
        Ok(())
    }

    /// The error of a copy that failed. Refused before anything was made, it leaves nothing to abort.
    fn failed(&mut self, e: Error) -> Error {
        if schemas_of(&mut self.new).is_ok_and(|found| found.is_empty())
            && let Err(not_noted) = self.record.write(|made| made.copying = false)
        {
            return not_noted;
        }
        e
    }

    /// Notes that all rows are there.
    fn rows_are_there(
        &mut self,
        from: &From,
        wanted: &Accounts,
        exceptions: Vec<String>,
        new: &wire::Options,
    ) -> Result<()> {
        let digest = wanted.digest();
        self.record.write(|made| {
            made.copied = Some(from.clone());
            made.accounts_digest = digest;
            made.exceptions.clone_from(&exceptions);
        })?;
        failpoint::reached("the rows are recorded");
        self.summary.exceptions.extend(exceptions);
        // They take hours, and nothing was said on these for as long.
        self.source = open(self.run, &self.options.source).map_err(of_source)?;
        self.new = open(self.run, new).map_err(of_new)?;
        Ok(())
    }

    /// Those of the archive, or of the server that is copied, without what is granted to everyone.
    fn accounts(&self, of_replica: bool) -> Result<Accounts> {
        if let Some(given) = &self.given {
            let (mut found, of) = given.accounts()?;
            found.accounts.retain(|a| !a.name.is_public());
            return Ok(Accounts { found, of });
        }
        let read = || {
            let mut copied = open(self.run, &self.options.copy.dump.source)?;
            let mut found = rows::accounts::read(&mut copied.conn, &copied.id)?;
            found.accounts.retain(|a| !a.name.is_public());
            let of = adapt::Source::of(&copied.id);
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
        let now = self.accounts(of_replica)?;
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
        let all = adapt::adapt(&wanted.found.accounts, wanted.of, id);
        let existing = make::existing(conn)?;
        let (kept, missing): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|a| make::has(&existing, &a.account.name));
        let names = missing.iter().map(|a| {
            let name = &a.account.name;
            (name.user.clone(), name.host.clone().unwrap_or_default())
        });
        self.record.write(|made| {
            made.accounts = names.collect();
            made.accounts_before = Some(existing.clone());
        })?;
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

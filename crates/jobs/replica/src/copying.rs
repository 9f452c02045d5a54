//! Rows and accounts, onto the new server: two steps, so that hours of rows are not lost for an account.

use crate::create::{Making, of_copied, of_new, of_source, open, schemas_of, source_id};
use crate::made::From;
use crate::{account, accounts, refused};
use base::{Result, failpoint};
use run::failure;
use server::session;

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
        let digest = accounts::digest(&wanted);
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

    fn accounts_of_source(&self, of_replica: bool) -> Result<Vec<accounts::Definition>> {
        let read = || {
            let mut copied = open(self.run, &self.options.copy.dump.source)?;
            accounts::read(&mut copied.conn, &copied.id)
        };
        read().map_err(if of_replica { of_copied } else { of_source })
    }

    /// Makes the accounts: `wanted`, or those of the source as they still are.
    pub(crate) fn copy_accounts(
        &mut self,
        from: From,
        wanted: Option<Vec<accounts::Definition>>,
        of_replica: bool,
    ) -> Result<From> {
        let now = self.accounts_of_source(of_replica)?;
        let wanted = match wanted {
            Some(wanted) => {
                if now != wanted {
                    let what = "accounts of the source were changed while it was copied: compare them on both servers";
                    self.summary.exceptions.push(what.to_owned());
                }
                wanted
            }
            None if accounts::digest(&now) == self.record.made.accounts_digest => now,
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

    fn make_accounts(&mut self, wanted: &[accounts::Definition]) -> Result<()> {
        let (conn, id) = (&mut self.new.conn, &self.new.id);
        session::skip_binlog(conn, id)
            .map_err(|e| failure::server("cannot keep accounts out of the binary log", e))?;
        // An earlier run may have made one without its grants.
        for (user, host) in &self.record.made.accounts {
            account::remove(conn, id, user, host)?;
        }
        let (missing, kept) = accounts::missing(conn, wanted)?;
        let names = missing.iter().map(|a| (a.user.clone(), a.host.clone()));
        self.record.write(|made| made.accounts = names.collect())?;
        let created = accounts::create(&mut self.new.conn, &missing);
        // It says for each account that it could not be made; a connection that is lost is one error.
        if self.new.conn.is_closed() {
            let lost = "the connection was lost while accounts were made";
            return Err(base::Error::new(base::Kind::Connection, lost));
        }
        self.summary.accounts = created.made.len() as u64;
        self.summary.accounts_kept = kept;
        self.summary.exceptions.extend(created.exceptions);
        Ok(())
    }
}

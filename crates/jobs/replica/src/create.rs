//! The steps, one after the other.

use crate::attach::{self, address};
use crate::check::{self, Side, uses_gtids};
use crate::made::{From, Record};
use crate::options::{Account, Address, Options, Summary};
use crate::{account, catch_up, compare, execute, refused, warming};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use rows::accounts::Found;
use rows::accounts::adapt::{self, Adapted};
use rows::accounts::make;
use run::{Run, connect, failure};
use server::replication::{self, LogPlace, Thread, Words};
use server::{Identity, quote, session};
use std::time::Instant;
use wire::SslMode;

/// Makes the new server a replica of the source.
pub fn create(run: &Run, options: &Options) -> Result<Summary> {
    let begin = Instant::now();
    let load = options
        .copy
        .loads
        .first()
        .ok_or_else(|| Error::new(Kind::Internal, "no new server is named"))?;
    let (mut source, mut new) = (open(run, &options.source)?, open(run, &load.target)?);
    let names = (
        load.target.endpoint.to_string(),
        options.source.endpoint.to_string(),
    );
    let found = record(options, &names.0, &names.1)?;
    // Whether the run that noted the channel came to make it, only the server knows.
    let attached = match found.as_ref().and_then(|r| r.made.channel.as_ref()) {
        Some(name) => has_connected(&mut new, name)?,
        None => false,
    };
    let complete = found.as_ref().is_some_and(|r| r.made.from.is_some());
    if !attached && !complete {
        check::check(&mut source, &mut new, options)?;
        warming::check(&source, options)?;
        if !found.as_ref().is_some_and(|r| r.made.copying) {
            empty(&mut new)?;
        }
    }
    let from_replica = copied_replica(run, &source, options)?;
    let address = address(
        options.address.as_ref(),
        &options.source,
        &load.target,
        &source.id,
    )?;
    let mut making = Making {
        run,
        options,
        by_gtid: source.id.is_mariadb() || uses_gtids(&source.id),
        tls: options.source.ssl_mode != SslMode::Disabled && has_tls(&source),
        record: match found {
            Some(record) => record,
            None => Record::begin(&options.state, &names.0, &names.1)?,
        },
        summary: Summary {
            source: format!("{} at {}", source.id, names.1),
            replica: format!("{} at {}", new.id, names.0),
            ..Summary::default()
        },
        begins: LogPlace::default(),
        source,
        new,
    };
    let from = match making.record.made.from.clone() {
        Some(from) => {
            let text = "the copy is complete: going on behind it";
            run.observer.note(text.to_owned());
            from
        }
        None => making.copy(from_replica.as_deref())?,
    };
    making.begins = LogPlace {
        file: from.file.clone(),
        offset: from.position,
    };
    match attached {
        true => making.summary.account = making.known_account(),
        false => making.attach(&from, &address)?,
    }
    making.summary.follows_from = from.described(making.by_gtid);
    making.prove(&load.target)?;
    making.warm()?;
    // The record stays: `abort` undoes a replica that is complete, too.
    Ok(Summary {
        tls: making.tls,
        seconds: begin.elapsed().as_secs_f64(),
        ..making.summary
    })
}

fn open(run: &Run, options: &wire::Options) -> Result<Side> {
    let (conn, id) = connect::open(run, options)?;
    Ok(Side { conn, id })
}

/// A replica that is being made.
struct Making<'a> {
    run: &'a Run,
    options: &'a Options,
    source: Side,
    new: Side,
    /// Whether it follows by GTIDs.
    by_gtid: bool,
    /// Whether it connects with TLS.
    tls: bool,
    record: Record,
    /// Where the log continues the copy.
    begins: LogPlace,
    summary: Summary,
}

impl Making<'_> {
    /// Copies data and accounts; `from_replica`: the channel of the replica that is copied.
    fn copy(&mut self, from_replica: Option<&str>) -> Result<From> {
        if self.record.made.copying {
            return Err(refused(
                "an earlier run was interrupted while it copied, and a copy cannot be resumed: its snapshot is gone",
                "penstock replica abort removes what it has made; then begin again",
            ));
        }
        // Of the server that is copied: what was changed since is in the log.
        let mut copied = open(self.run, &self.options.copy.dump.source)?;
        let wanted = accounts_of(&mut copied)?;
        self.record.write(|made| made.copying = true)?;
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
        if accounts_of(&mut copied)? != wanted {
            let what = "accounts of the source were changed while it was copied: compare them on both servers";
            self.summary.exceptions.push(what.to_owned());
        }
        self.copy_accounts(&wanted, &copied.id)?;
        let schemas = schemas_of(&mut self.new)?;
        self.record.write(|made| {
            made.from = Some(from.clone());
            made.schemas = schemas;
        })?;
        failpoint::reached("the copy is recorded");
        self.summary.exceptions.extend(done.exceptions());
        self.summary.copied = Some(done);
        Ok(from)
    }

    fn copy_accounts(&mut self, wanted: &Found, of: &Identity) -> Result<()> {
        let Side { conn, id, .. } = &mut self.new;
        let all = adapt::adapt(&wanted.accounts, adapt::Source::of(of), id);
        let existing = make::existing(conn)?;
        let (kept, missing): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|a| make::has(&existing, &a.account.name));
        let names = missing.iter().map(|a| {
            let name = &a.account.name;
            (name.user.clone(), name.host.clone().unwrap_or_default())
        });
        self.record.write(|made| made.accounts = names.collect())?;
        session::skip_binlog(conn, id)
            .map_err(|e| failure::server("cannot keep accounts out of the binary log", e))?;
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
        exceptions.extend(wanted.exceptions.iter().map(|(_, why)| why.clone()));
        exceptions.extend(created.exceptions);
        exceptions.extend(made.iter().flat_map(|a| a.lost.iter().cloned()));
        let refused = refused.into_iter().map(|r| r.text);
        exceptions.extend(refused.filter(|text| !text.is_empty()));
        Ok(())
    }

    /// Makes the channel and starts it.
    fn attach(&mut self, from: &From, address: &Address) -> Result<()> {
        attach::still_there(&mut self.source.conn, from)?;
        let account = self.replication_account()?;
        let channel = self.options.channel.clone();
        self.record
            .write(|made| made.channel = Some(channel.clone()))?;
        failpoint::reached("the channel is about to be made");
        attach::attach(
            &mut self.new.conn,
            &self.new.id,
            &channel,
            (from, self.by_gtid),
            (address, &account),
            &self.options.source,
            self.tls,
        )?;
        failpoint::reached("the channel is started");
        self.summary.account = account.user;
        Ok(())
    }

    /// The account that was named, or a new one.
    fn replication_account(&mut self) -> Result<Account> {
        if let Some(account) = &self.options.account {
            return Ok(account.clone());
        }
        let (conn, id) = (&mut self.source.conn, &self.source.id);
        // The password of one that an earlier run made is not kept.
        if let Some((user, host)) = self.record.made.account.clone() {
            account::remove(conn, id, &user, &host)?;
        }
        let made = account::random()?;
        let host = self.options.account_host.clone();
        self.record
            .write(|r| r.account = Some((made.user.clone(), host.clone())))?;
        failpoint::reached("the account is about to be made");
        account::create(conn, id, &made, &host, self.tls)?;
        Ok(made)
    }

    fn known_account(&self) -> String {
        let made = self.record.made.account.as_ref().map(|(user, _)| user);
        let named = self.options.account.as_ref().map(|a| &a.user);
        made.or(named).cloned().unwrap_or_default()
    }

    /// Waits until it has caught up, and compares it.
    fn prove(&mut self, new: &wire::Options) -> Result<()> {
        let options = self.options;
        self.summary.caught_up = self.wait()?;
        if !options.verify {
            return Ok(());
        }
        let of_source = dump::Options {
            source: options.source.clone(),
            ..options.copy.dump.clone()
        };
        let limit = options.catch_up;
        let compared = compare::compare(self.run, &of_source, new, &options.channel, limit)?;
        self.summary.compared = Some(compared);
        // Its applier waited meanwhile.
        let again = self.wait()?;
        let before = &mut self.summary.caught_up;
        (before.behind, before.place) = (again.behind, again.place);
        Ok(())
    }

    fn wait(&mut self) -> Result<catch_up::CaughtUp> {
        let options = self.options;
        catch_up::catch_up(
            self.run,
            &mut self.source,
            &mut self.new,
            (&options.channel, &self.begins),
            options.behind,
            options.catch_up,
        )
    }

    /// Fills its memory.
    fn warm(&mut self) -> Result<()> {
        let Some(hot) = &self.options.warm else {
            return Ok(());
        };
        match warming::fill(self.run, self.options, hot) {
            Ok(done) => {
                let exceptions = done.exceptions.iter().cloned();
                self.summary.exceptions.extend(exceptions);
                self.summary.warmed = Some(done);
                Ok(())
            }
            Err(e) if e.kind == Kind::Interrupted => Err(e),
            // It is a replica all the same.
            Err(e) => {
                let what = format!("the new server is cold: {}", e.what);
                self.summary.exceptions.push(what);
                Ok(())
            }
        }
    }
}

/// What an earlier run has recorded; refused unless this one shall go on with it.
fn record(options: &Options, target: &str, source: &str) -> Result<Option<Record>> {
    let Some(record) = Record::open(&options.state, target)? else {
        return Ok(None);
    };
    let made = &record.made;
    if made.source != source {
        return Err(refused(
            format!(
                "an earlier run has begun to make {target} a replica of {}",
                made.source
            ),
            "penstock replica abort removes what it has made",
        ));
    }
    if !made.copying {
        // Nothing was made yet, but perhaps an account.
        return Ok(Some(record));
    }
    if !options.resume {
        return Err(refused(
            format!(
                "{target} was made a replica by an earlier run, which began at {}",
                made.began
            ),
            "--resume continues it; penstock replica abort removes what it has made",
        ));
    }
    Ok(Some(record))
}

/// The channel by which the server that is copied follows the source, if that is another server.
fn copied_replica(run: &Run, source: &Side, options: &Options) -> Result<Option<String>> {
    let copied = &options.copy.dump.source;
    if copied.endpoint == options.source.endpoint {
        return Ok(None);
    }
    let (mut conn, id) = connect::open(run, copied)?;
    let channels = replication::channels(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the replication status of the replica", e))?;
    let number: u64 = source
        .id
        .variable("server_id")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let follows = channels.into_iter().find(|c| c.source_id == number);
    follows.map(|c| Some(c.name)).ok_or_else(|| {
        refused(
            format!(
                "{} is no replica of {}: none of its channels follows server_id {number}",
                copied.endpoint, options.source.endpoint
            ),
            "name a server that follows the source itself, or leave --from-replica out",
        )
    })
}

/// Whether it has a channel that was connected. One that never was is removed: its address or account may be wrong.
fn has_connected(new: &mut Side, name: &str) -> Result<bool> {
    let all = replication::channels(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot look for channels", e))?;
    let Some(channel) = all.iter().find(|c| c.name == name) else {
        return Ok(false);
    };
    if channel.source_id != 0 || channel.is_connected() {
        return Ok(true);
    }
    let words = Words::of(&new.id, name);
    let doing = "cannot remove the channel that never connected";
    execute(&mut new.conn, &words.stop(Thread::Both), doing)?;
    execute(&mut new.conn, &words.remove(), doing)?;
    Ok(false)
}

/// All accounts of a server, without what is granted to everyone.
fn accounts_of(server: &mut Side) -> Result<Found> {
    let mut found = rows::accounts::read(&mut server.conn, &server.id)?;
    found.accounts.retain(|a| !a.name.is_public());
    Ok(found)
}

fn has_tls(source: &Side) -> bool {
    match source.id.variable("have_ssl") {
        Some(value) => value == "YES",
        // Later versions of MySQL have it always, unless it is switched off.
        None => source.id.is_mysql(),
    }
}

/// The schemas of users on the new server: it had none before.
pub(crate) fn schemas_of(new: &mut Side) -> Result<Vec<String>> {
    let rows = new
        .conn
        .fetch("SHOW DATABASES")
        .map_err(|e| failure::wire("cannot list the schemas of the new server", e))?;
    let names = rows.into_iter().flatten().flatten();
    Ok(names
        .map(|n| String::from_utf8_lossy(&n).into_owned())
        .filter(|n| !server::filter::is_system_schema(n))
        .collect())
}

/// Refuses a server that holds data.
fn empty(new: &mut Side) -> Result<()> {
    let found = schemas_of(new)?;
    if found.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().take(5).map(|n| quote::ident(n)).collect();
    Err(refused(
        format!("the new server has data already: {}", names.join(", ")),
        "a replica is made of a server without schemas of users",
    ))
}

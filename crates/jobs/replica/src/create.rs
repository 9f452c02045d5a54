//! The steps, one after the other.

use crate::attach::{self, address};
use crate::check::{self, Side, uses_gtids};
use crate::made::{From, Record};
use crate::options::{Account, Options, Summary};
use crate::{account, accounts, catch_up, compare, refused, warming};
use base::{Error, Kind, Result, failpoint};
use run::{Run, connect, failure};
use server::{quote, replication, session};
use std::time::Instant;
use wire::SslMode;

/// Makes the new server a replica of the source.
pub fn create(run: &Run, options: &Options) -> Result<Summary> {
    let begin = Instant::now();
    let source_options = &options.source;
    let load = options
        .copy
        .loads
        .first()
        .ok_or_else(|| Error::new(Kind::Internal, "no new server is named"))?;
    let new_options = &load.target;
    let open = |o: &wire::Options| -> Result<Side> {
        let (conn, id) = connect::open(run, o)?;
        Ok(Side { conn, id })
    };
    let (mut source, mut new) = (open(source_options)?, open(new_options)?);
    let target = new_options.endpoint.to_string();
    let mut record = record(options, &target, &source_options.endpoint.to_string())?;
    // Whether the run that noted the channel came to make it, only the server knows.
    let attached = match record.as_ref().and_then(|r| r.made.channel.as_ref()) {
        Some(name) => has_channel(&mut new, name)?,
        None => false,
    };
    let complete = record.as_ref().is_some_and(|r| r.made.from.is_some());
    if !attached && !complete {
        check::check(&mut source, &mut new, options)?;
        warming::check(&source, options)?;
        if record.is_none() {
            empty(&mut new)?;
        }
    }
    let from_replica = copied_replica(run, &source, options)?;
    let by_gtid = source.id.is_mariadb() || uses_gtids(&source.id);
    let address = address(
        options.address.as_ref(),
        source_options,
        new_options,
        &source.id,
    )?;
    let tls = source_options.ssl_mode != SslMode::Disabled && has_tls(&source);
    let record = match &mut record {
        Some(record) => record,
        none => none.insert(Record::begin(
            &options.state,
            &target,
            &source_options.endpoint.to_string(),
        )?),
    };
    let mut exceptions = Vec::new();
    let mut copied = None;
    let (mut made_accounts, mut kept_accounts) = (0, Vec::new());
    let from = match record.made.from.clone() {
        Some(from) => {
            run.observer
                .note("the copy is complete: going on behind it".to_owned());
            from
        }
        None => {
            if record.made.copying {
                return Err(refused(
                    "an earlier run was interrupted while it copied, and a copy cannot be resumed: its snapshot is gone",
                    "penstock replica abort removes what it has made; then begin again",
                ));
            }
            // Of the server that is copied: what was changed since is in the log.
            let mut copied_from = open(&options.copy.dump.source)?;
            let of_source = accounts::read(&mut copied_from.conn, &copied_from.id)?;
            record.write(|made| made.copying = true)?;
            failpoint::reached("the copy is about to begin");
            let done = copy::servers::run(run, &options.copy)?;
            let position = &done.dump.achieved.position;
            let from = match &from_replica {
                Some(channel) => From::of_replica(position, channel, by_gtid)?,
                None => From::of(position)?,
            };
            if accounts::read(&mut copied_from.conn, &copied_from.id)? != of_source {
                exceptions.push("accounts of the source were changed while it was copied: compare them on both servers".to_owned());
            }
            let (missing, kept) = accounts::missing(&mut new.conn, &of_source)?;
            let names = missing.iter().map(|a| (a.user.clone(), a.host.clone()));
            record.write(|made| made.accounts = names.collect())?;
            session::skip_binlog(&mut new.conn, &new.id)
                .map_err(|e| failure::server("cannot keep accounts out of the binary log", e))?;
            let created = accounts::create(&mut new.conn, &missing);
            made_accounts = created.made.len() as u64;
            kept_accounts = kept;
            exceptions.extend(created.exceptions);
            let schemas = schemas_of(&mut new)?;
            record.write(|made| {
                made.from = Some(from.clone());
                made.schemas = schemas;
            })?;
            failpoint::reached("the copy is recorded");
            exceptions.extend(done.exceptions());
            copied = Some(done);
            from
        }
    };
    let user = match attached {
        true => record
            .made
            .account
            .as_ref()
            .map_or_else(String::new, |(user, _)| user.clone()),
        false => {
            attach::still_there(&mut source.conn, &from)?;
            let account = replication_account(&mut source, record, options, tls)?;
            record.write(|made| made.channel = Some(options.channel.clone()))?;
            failpoint::reached("the channel is about to be made");
            attach::attach(
                &mut new.conn,
                &new.id,
                &options.channel,
                (&from, by_gtid),
                (&address, &account),
                source_options,
                tls,
            )?;
            failpoint::reached("the channel is started");
            account.user
        }
    };
    let wait = |source: &mut Side, new: &mut Side| {
        catch_up::catch_up(
            run,
            source,
            new,
            &options.channel,
            options.behind,
            options.catch_up,
        )
    };
    let mut caught_up = wait(&mut source, &mut new)?;
    let mut compared = None;
    if options.verify {
        let of_source = dump::Options {
            source: options.source.clone(),
            ..options.copy.dump.clone()
        };
        compared = Some(compare::compare(
            run,
            &of_source,
            new_options,
            &options.channel,
            &options.copy.dump.filter,
            options.catch_up,
        )?);
        // Its applier waited meanwhile.
        let again = wait(&mut source, &mut new)?;
        caught_up.behind = again.behind;
        caught_up.place = again.place;
    }
    let mut warmed = None;
    if let Some(hot) = &options.warm {
        match warming::fill(run, options, hot) {
            Ok(done) => {
                exceptions.extend(done.exceptions.iter().cloned());
                warmed = Some(done);
            }
            Err(e) if e.kind == Kind::Interrupted => return Err(e),
            // It is a replica all the same.
            Err(e) => exceptions.push(format!("the new server is cold: {}", e.what)),
        }
    }
    let summary = Summary {
        warmed,
        source: format!("{} at {}", source.id, source_options.endpoint),
        replica: format!("{} at {}", new.id, new_options.endpoint),
        copied,
        follows_from: from.described(by_gtid),
        account: user,
        tls,
        accounts: made_accounts,
        accounts_kept: kept_accounts,
        caught_up,
        compared,
        exceptions,
        seconds: begin.elapsed().as_secs_f64(),
    };
    // The record stays: `abort` undoes a replica that is complete, too.
    Ok(summary)
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

/// The account that was named, or a new one.
fn replication_account(
    source: &mut Side,
    record: &mut Record,
    options: &Options,
    tls: bool,
) -> Result<Account> {
    if let Some(account) = &options.account {
        return Ok(account.clone());
    }
    // The password of one that an earlier run made is not kept.
    if let Some((user, host)) = record.made.account.clone() {
        account::remove(&mut source.conn, &source.id, &user, &host)?;
    }
    let made = account::random()?;
    let host = options.account_host.clone();
    record.write(|r| r.account = Some((made.user.clone(), host.clone())))?;
    failpoint::reached("the account is about to be made");
    account::create(&mut source.conn, &source.id, &made, &host, tls)?;
    Ok(made)
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

fn has_channel(new: &mut Side, name: &str) -> Result<bool> {
    let all = replication::channels(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot look for channels", e))?;
    Ok(all.iter().any(|c| c.name == name))
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

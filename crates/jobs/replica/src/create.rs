//! The steps, one after the other.

use crate::attach::{self, address};
use crate::check::{self, Side, uses_gtids};
use crate::made::{From, Made, Record};
use crate::options::{Account, Address, Options};
use crate::stopped::start_left;
use crate::summary::Summary;
use crate::{account, catch_up, compare, execute, refused, warming};
use base::{Error, Kind, Result, failpoint};
use run::{Run, connect, failure};
use server::quote;
use server::replication::{self, LogPlace, Thread, Words};
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
    let mut source = open(run, &options.source).map_err(of_source)?;
    let mut new = open(run, &load.target).map_err(of_new)?;
    let names = (
        load.target.endpoint.to_string(),
        options.source.endpoint.to_string(),
    );
    let found = record(options, (&names.0, &names.1), &source, &mut new)?;
    // Whether the run that noted the channel came to make it, only the server knows.
    let attached = match found.as_ref().and_then(|r| r.made.channel.as_ref()) {
        Some(name) => {
            start_left(run, &options.state, &load.target).map_err(of_new)?;
            has_connected(&mut new, name)?
        }
        None => false,
    };
    let copied = found.as_ref().is_some_and(|r| r.made.is_copied());
    if !attached && !copied {
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
    if let Err(e) = making.steps(from_replica.as_deref(), attached, &address, &load.target) {
        return Err(way_out(e, &making.record.made));
    }
    // The record stays: `abort` undoes a replica that is complete, too.
    Ok(Summary {
        tls: making.tls,
        seconds: begin.elapsed().as_secs_f64(),
        ..making.summary
    })
}

/// What is to be done about what was made, unless the error says so itself.
fn way_out(e: Error, made: &Made) -> Error {
    let said = e.hint.as_deref().unwrap_or_default();
    if e.kind == Kind::Differs || said.contains("--resume") || said.contains("replica abort") {
        return e;
    }
    match (made.is_copied(), made.copying) {
        (true, _) => {
            e.also("the copy is complete: the same command with --resume continues behind it; penstock replica abort removes what was made")
        }
        (false, true) => e.also(
            "a copy cannot be resumed: penstock replica abort --drop-data removes what was made; then begin again",
        ),
        (false, false) => e,
    }
}

pub(crate) fn of_source(e: Error) -> Error {
    failure::of_server("the source", e)
}

pub(crate) fn of_copied(e: Error) -> Error {
    failure::of_server("the replica that is copied", e)
}

pub(crate) fn of_new(e: Error) -> Error {
    failure::of_server("the new server", e)
}

pub(crate) fn open(run: &Run, options: &wire::Options) -> Result<Side> {
    let (conn, id) = connect::open(run, options)?;
    Ok(Side { conn, id })
}

/// A replica that is being made.
pub(crate) struct Making<'a> {
    pub(crate) run: &'a Run,
    pub(crate) options: &'a Options,
    pub(crate) source: Side,
    pub(crate) new: Side,
    /// Whether it follows by GTIDs.
    pub(crate) by_gtid: bool,
    /// Whether it connects with TLS.
    pub(crate) tls: bool,
    pub(crate) record: Record,
    /// Where the log continues the copy.
    pub(crate) begins: LogPlace,
    pub(crate) summary: Summary,
}

impl Making<'_> {
    fn steps(
        &mut self,
        from_replica: Option<&str>,
        attached: bool,
        address: &Address,
        new: &wire::Options,
    ) -> Result<()> {
        let note = |text: &str| self.run.observer.note(text.to_owned());
        let made = &self.record.made;
        self.summary.exceptions.clone_from(&made.exceptions);
        let from = match (made.from.clone(), made.copied.clone()) {
            (Some(from), _) => {
                note("the copy is complete: going on behind it");
                from
            }
            (None, Some(from)) => {
                note("the rows are copied: continuing with the accounts");
                self.copy_accounts(from, None, from_replica.is_some())?
            }
            (None, None) => self.copy(from_replica, new)?,
        };
        self.begins = LogPlace {
            file: from.file.clone(),
            offset: from.position,
        };
        match attached {
            true => self.summary.account = self.known_account(),
            false => self.attach(&from, address)?,
        }
        self.summary.follows_from = from.described(self.by_gtid);
        self.prove(new)?;
        self.warm()
    }

    /// Makes the channel and starts it.
    fn attach(&mut self, from: &From, address: &Address) -> Result<()> {
        attach::still_there(&mut self.source.conn, from).map_err(of_source)?;
        let account = self.replication_account().map_err(of_source)?;
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
        )
        .map_err(of_new)?;
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
        let read = dump::Options {
            source: options.source.clone(),
            ..options.copy.dump.clone()
        };
        let limit = options.catch_up;
        let state = Some(&*options.state);
        let mut found = compare::Found::default();
        let done = compare::compare(
            self.run,
            &read,
            new,
            &options.channel,
            limit,
            state,
            &mut found,
        );
        let compared = done.map_err(|e| match e.kind {
            Kind::Differs => e.also(
                "penstock replica verify --repair-sql FILE writes the SQL that makes them equal",
            ),
            _ => e,
        })?;
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

/// What tells a source from another server at the same address.
pub(crate) fn source_id(source: &Side) -> String {
    let number = source.id.variable("server_id").unwrap_or("0");
    match &source.id.uuid {
        Some(uuid) => format!("server_id {number}, {uuid}"),
        None => format!("server_id {number}"),
    }
}

/// What an earlier run has recorded; refused unless this one shall go on with it.
fn record(
    options: &Options,
    (target, name): (&str, &str),
    source: &Side,
    new: &mut Side,
) -> Result<Option<Record>> {
    let Some(mut record) = Record::open(&options.state, target)? else {
        return Ok(None);
    };
    let made = &record.made;
    if made.source != name {
        return Err(refused(
            format!(
                "an earlier run has begun to make {target} a replica of {}",
                made.source
            ),
            "penstock replica abort removes what it has made",
        ));
    }
    // Whether that run came to make anything, only the server knows.
    if made.copying
        && made.from.is_none()
        && made.accounts.is_empty()
        && schemas_of(new)?.is_empty()
    {
        record.write(|made| made.copying = false)?;
    }
    let made = &record.made;
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
    let (was, is) = (&made.source_id, source_id(source));
    if !was.is_empty() && *was != is {
        return Err(refused(
            format!(
                "{name} is another server than the one that was copied: {is}, and it was {was} (a failover?)"
            ),
            "what was copied has no known place in its log: penstock replica abort --drop-data, and begin again with the new source; or name the server that was copied",
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
    let (mut conn, id) = connect::open(run, copied).map_err(of_copied)?;
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

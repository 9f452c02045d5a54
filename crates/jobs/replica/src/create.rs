//! The steps, one after the other.

use crate::attach::{self, COPY_AGAIN, address};
use crate::check::{self, Side, uses_gtids};
use crate::earlier::{has_connected, opened, record, schemas_of};
use crate::from_archive::{self, Given};
use crate::made::{From, Made, Record};
use crate::options::{Account, Address, Options};
use crate::summary::Summary;
use crate::{account, catch_up, compare, of_copied, of_new, of_source, refused, warming};
use base::{Error, Kind, Result, failpoint};
use copy::via::{Copied, Dumped};
use run::applier::start_left;
use run::{Run, connect, failure};
use server::quote;
use server::replication::{self, LogPlace};
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
    let nothing_begun = found.as_ref().is_none_or(|r| !r.made.copying);
    // Whether the run that noted the channel came to make it, only the server knows.
    let attached = match found.as_ref().and_then(|r| r.made.channel.as_ref()) {
        Some(name) => {
            start_left(run, &options.state, &load.target).map_err(of_new)?;
            has_connected(&mut new, name)?
        }
        None => false,
    };
    let copied = found.as_ref().is_some_and(|r| r.made.is_copied());
    let by_gtid = source.id.is_mariadb() || uses_gtids(&source.id);
    // It is not needed any more once the accounts are there, too.
    let complete = found.as_ref().is_some_and(|r| r.made.from.is_some());
    let mut given = match options.from_archive && options.via.is_none() && !complete {
        true => Some(opened(options, found.as_ref())?),
        false => None,
    };
    let mut continues = None;
    let mut dumped = None;
    let mut made_place = false;
    if !attached && !copied {
        check::check(&mut source, &mut new, options)?;
        warming::check(&source, options)?;
        if !found.as_ref().is_some_and(|r| r.made.copying) {
            empty(&mut new)?;
        }
        if let Some(via) = &options.via {
            dump::not_within(&via.to, &new.id)?;
            if nothing_begun {
                made_place = copy::via::is_new(via.to.location());
                if let Dumped::Now(now) = copy::via::dump(run, via)? {
                    dumped = Some(*now);
                }
                // It takes hours, and nothing was said on these for as long.
                source = open(run, &options.source).map_err(of_source)?;
                new = open(run, &load.target).map_err(of_new)?;
            }
            given = Some(opened(options, found.as_ref())?);
        }
        let check = |given: &Given| given.check(&mut source, &mut new, by_gtid);
        continues = given.as_ref().map(check).transpose()?;
    }
    if given.is_none() && options.via.is_some() && !complete {
        given = Some(opened(options, found.as_ref())?);
    }
    let _held = match (&options.via, &given) {
        (Some(via), Some(_)) => Some(copy::via::hold(via.to.location())?),
        _ => None,
    };
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
        by_gtid,
        tls: options.source.ssl_mode != SslMode::Disabled && has_tls(&source),
        record: match found {
            Some(record) => record,
            None => Record::begin(&options.state, &names.0, &names.1)?,
        },
        summary: Summary {
            source: format!("{} at {}", source.id, names.1),
            replica: format!("{} at {}", new.id, names.0),
            began_again: options.resume && nothing_begun && options.via.is_none(),
            dumped,
            ..Summary::default()
        },
        given,
        begins: LogPlace::default(),
        source,
        new,
    };
    let steps = making.steps(
        (from_replica.as_deref(), continues),
        attached,
        &address,
        &load.target,
    );
    if let Err(e) = steps {
        return Err(way_out(e, &making.record.made));
    }
    if let Some(via) = &options.via {
        if let Err(e) = copy::via::end_removal(via.to.location()) {
            run.observer.warn(e.what);
        }
        // A run that continued behind the rows has not looked at it.
        let loaded = making.record.made.archive.as_ref();
        let is_it = Given::open(options)
            .is_ok_and(|there| Some(&there.which) == loaded && there.is_in_between());
        if is_it
            && let Err(e) = copy::via::remove(via.to.location(), made_place, &Copied::default())
        {
            run.observer
                .warn(format!("the archive is still there: {}", e.what));
        }
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
        (false, true) if made.archive.is_some() => e.also(
            "a part of the archive is loaded: the same command with --resume continues; penstock replica abort --drop-data removes what was made",
        ),
        (false, true) => e.also(
            "a copy cannot be resumed: penstock replica abort --drop-data removes what was made; then begin again",
        ),
        (false, false) => e,
    }
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
    /// The archive that is loaded, if the source is not copied.
    pub(crate) given: Option<Given>,
    /// Where the log continues the copy.
    pub(crate) begins: LogPlace,
    pub(crate) summary: Summary,
}

impl Making<'_> {
    fn steps(
        &mut self,
        (from_replica, continues): (Option<&str>, Option<From>),
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
            (None, None) => match continues {
                Some(from) => self.load(from, new)?,
                None => self.copy(from_replica, new)?,
            },
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
        match self.record.made.archive {
            Some(_) => {
                from_archive::continues(&mut self.source, from, self.by_gtid, COPY_AGAIN)?;
            }
            None => {
                let conn = &mut self.source.conn;
                attach::still_there(conn, from, COPY_AGAIN).map_err(of_source)?;
            }
        }
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
            Kind::Differs => e.also(found.repair.offer("penstock replica verify --repair-sql")),
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

fn has_tls(source: &Side) -> bool {
    match source.id.variable("have_ssl") {
        Some(value) => value == "YES",
        // Later versions of MySQL have it always, unless it is switched off.
        None => source.id.is_mysql(),
    }
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

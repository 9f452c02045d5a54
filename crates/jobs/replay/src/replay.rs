//! The replay from end to end: checks, settings, the source, the channel, the wait, and everything put back.

use crate::channel::{self, Source};
use crate::feed::Feed;
use crate::log::{NamedPlace, Place, named};
use crate::options::{Listen, Options, Request, Summary};
use crate::precheck;
use crate::state::State;
use crate::target::Target;
use crate::watch::Watch;
use crate::{leftover, numbers, reading, settings, source, status};
use base::{Cancel, Error, Kind, Result, units::printable};
use binlog::{Checksum, Description};
use instance::tune;
use run::{Phase, Run, failure};
use server::Identity;
use server::privileges::Privileges;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use wire::Conn;
use wire::serve::{Account, Listener, Profile};

/// Applies a part of a log to the target by its own applier.
///
/// When it returns `Ok`, the target holds the effect of every transaction of the part and of none after it, and nothing
/// else of the replay is left on it. After an error the target stands where the error says, and nothing is left either,
/// unless a warning says what.
pub fn replay(run: &Run, options: &Options, request: &Request<'_>) -> Result<Summary> {
    let log = request.log;
    let mut target = Target::connect(run, &options.wire)?;
    remove_left(run, &mut target)?;
    recover(run, options, &mut target)?;
    let description = reading::description(log, request.from.file)?;
    let names = reading::names(log, request.from)?;
    precheck::check(&target.id, description.is_mariadb(), names)?;

    if request.to <= request.from {
        return nothing(&mut target, request);
    }
    let workers = options
        .workers
        .unwrap_or_else(|| settings::workers(run::host::cores()))
        .max(1);
    let (server_id, target_id) = numbers::two()?;
    let wanted = settings::wanted(&target.id, target_id, workers, options.tune);
    let tuning = tune::begin_with(run, &options.state, &options.wire, &target.id, wanted)?;
    let target_id = number_of(&mut target.conn)?;

    let part = Part {
        run,
        options,
        request,
        description: &description,
        server_id,
        target_id,
        workers,
    };
    let outcome = part.apply(&mut target);
    let settings = tuning.finish();
    let mut summary = outcome?;
    summary.settings = settings;
    Ok(summary)
}

/// Fails if the server could not apply this part of a log as it is, or the account may not have it do so. Changes nothing.
pub fn check(options: &wire::Options, request: &Request<'_>) -> Result<()> {
    let mut conn = run::connect::untracked(options)?;
    let id =
        Identity::read(&mut conn).map_err(|e| failure::server("cannot identify the target", e))?;
    let description = reading::description(request.log, request.from.file)?;
    let names = reading::names(request.log, request.from)?;
    precheck::check(&id, description.is_mariadb(), names)?;
    let granted = Privileges::read(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let lacking = granted.missing_for_replay(&id);
    if !lacking.is_empty() {
        let what = format!(
            "account {} lacks privileges to have the target apply a binary log",
            granted.account
        );
        let hint: Vec<String> = lacking
            .into_iter()
            .map(|grant| format!("{grant};"))
            .collect();
        return Err(Error::new(Kind::Privilege, printable(&what)).hint(hint.join("\n")));
    }
    // What a killed replay left is removed by the next.
    channel::found(&mut conn, &id).map(drop)
}

/// The target stands where it should already.
fn nothing(target: &mut Target<'_>, request: &Request<'_>) -> Result<Summary> {
    let Request { log, from, to, .. } = *request;
    if to < from {
        let text = format!(
            "the stop, {}, is before the beginning, {}",
            named(log, to),
            named(log, from)
        );
        return Err(Error::new(Kind::Usage, text));
    }
    Ok(Summary {
        from: named(log, from),
        to: named(log, to),
        bytes: 0,
        transactions: 0,
        skipped: 0,
        seconds: 0.0,
        workers: 0,
        last: None,
        next: reading::next(log, to)?,
        gtids: gtids(&mut target.conn, &target.id)?,
        settings: tune::Report::default(),
    })
}

/// MySQL's executed transactions, or MariaDB's last applied one of each domain.
fn gtids(conn: &mut Conn, id: &Identity) -> Result<String> {
    let name = if id.is_mariadb() {
        "gtid_slave_pos"
    } else {
        "gtid_executed"
    };
    let text = cell(conn, &format!("SELECT @@GLOBAL.{name}"))?;
    Ok(text.replace(['\n', ' '], ""))
}

/// Removes what a replay that was killed left on a server: its channel, and settings that it changed. Returns how far that
/// replay has applied its log; `None` if nothing was left.
pub fn clear(run: &Run, options: &Options) -> Result<Option<NamedPlace>> {
    let mut target = Target::connect(run, &options.wire)?;
    let left = remove_left(run, &mut target)?;
    recover(run, options, &mut target)?;
    Ok(left)
}

/// Reverts settings that an earlier run left changed.
fn recover(run: &Run, options: &Options, target: &mut Target<'_>) -> Result<()> {
    let recover = tune::Options {
        level: tune::Level::Max,
        state: Some(options.state.clone()),
        restart: None,
    };
    let id = target.id.clone();
    target.id = tune::recover(run, &recover, &options.wire, &mut target.conn, id)?;
    Ok(())
}

/// Removes what a replay left that was killed; refuses a replica.
fn remove_left(run: &Run, target: &mut Target<'_>) -> Result<Option<NamedPlace>> {
    if channel::found(&mut target.conn, &target.id)?.is_none() {
        return Ok(None);
    }
    let left = leftover::take_away(target)?;
    if let Some(left) = &left {
        run.observer.warn(leftover::was_removed(left));
    }
    Ok(left)
}

/// The number that the target has now: the account may not be allowed to change it.
fn number_of(conn: &mut Conn) -> Result<u32> {
    let text = cell(conn, "SELECT @@GLOBAL.server_id")?;
    Ok(text.parse().unwrap_or(0))
}

fn cell(conn: &mut Conn, sql: &str) -> Result<String> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot read the target's state", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
    Ok(String::from_utf8_lossy(&cell.flatten().unwrap_or_default()).into_owned())
}

/// What is replayed, once everything is checked.
struct Part<'a> {
    run: &'a Run,
    options: &'a Options,
    request: &'a Request<'a>,
    description: &'a Description,
    server_id: u32,
    target_id: u32,
    workers: u32,
}

impl Part<'_> {
    fn apply(&self, target: &mut Target<'_>) -> Result<Summary> {
        let Request { log, from, to, .. } = *self.request;
        let state = State::new(from);
        // Not the run's own flag: when the user stops the run, the applier still gets the rest of its transaction, for
        // which it would wait otherwise.
        let stop = Cancel::new();
        let listener = self.listen(&target.conn, &stop)?;
        let address = listener
            .address()
            .map_err(|e| Error::new(Kind::Failed, format!("cannot serve the log: {e}")))?;
        let feed = Feed {
            log,
            state: &state,
            from,
            to,
            executed: self.request.executed,
            server_id: self.server_id,
            target_id: self.target_id,
            ahead: self.options.ahead,
            cancel: &stop,
        };
        let profile = Arc::new(self.profile(&target.id));
        let checksum = self.description.checksum;
        let watch = Watch {
            run: self.run,
            id: &target.id.clone(),
            log,
            state: &state,
            first: state.bytes(from),
        };
        let begun = Instant::now();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                source::run(&listener, &profile, &feed, checksum, &*self.run.observer);
            });
            let outcome = self.through(target, &watch, address, listener.account());
            // The channel is stopped by now, or the connection to the target is lost.
            stop.raise();
            outcome
        });
        for statement in state.take_refused() {
            let text =
                format!("the target asked what a source of logs does not answer: {statement}");
            self.run.observer.note(printable(&text));
        }
        let seconds = begun.elapsed().as_secs_f64();
        let gtids = outcome.map_err(|e| self.with_place(e, &state))?;
        let sent = state.sent();
        Ok(Summary {
            from: named(log, from),
            to: named(log, sent.whole),
            bytes: state.bytes(sent.whole) - state.bytes(from),
            transactions: sent.transactions,
            skipped: sent.skipped,
            seconds,
            workers: self.workers,
            next: reading::next(log, to)?,
            last: sent.last,
            gtids,
            settings: tune::Report::default(),
        })
    }

    /// From the channel's beginning to its end; returns the target's GTIDs.
    fn through(
        &self,
        target: &mut Target<'_>,
        watch: &Watch<'_>,
        address: SocketAddr,
        account: &Account,
    ) -> Result<String> {
        let from: NamedPlace = named(self.request.log, self.request.from);
        let source = Source {
            address,
            account,
            from: &from,
        };
        target.begin();
        let applied = self.started(target, watch, &source);
        let _guard = self
            .run
            .cancel
            .delay_exit("the target's replication is being stopped and removed");
        watch.state.set_ending();
        let stopped = target.stop();
        // What the workers have finished since.
        let verified = stopped
            .and_then(|()| watch.look_at_end(&mut target.conn))
            .and_then(|status| match status.apply_error {
                Some((number, text)) => Err(Error::new(
                    Kind::Failed,
                    printable(&format!(
                        "the target's applier failed: {text} (error {number})"
                    )),
                )),
                None => Ok(()),
            });
        let gtids = gtids(&mut target.conn, &target.id);
        let removed = target.remove();
        applied.and(verified).and(removed)?;
        let (applied, sent) = (watch.state.applied(), watch.state.sent());
        if applied < sent.whole {
            let text = format!(
                "the target stands at {} after the replay, and not at {}",
                named(self.request.log, applied),
                named(self.request.log, sent.whole)
            );
            return Err(Error::new(Kind::Failed, text));
        }
        gtids
    }

    fn started(
        &self,
        target: &mut Target<'_>,
        watch: &Watch<'_>,
        source: &Source<'_>,
    ) -> Result<()> {
        let (conn, id) = (&mut target.conn, &target.id);
        channel::configure(conn, id, source)?;
        if let Some(made) = status::ours(conn, id)?
            && let Some(filter) = made.filters.first()
        {
            return Err(precheck::filtered(filter));
        }
        channel::apply_in_parallel(conn, id)?;
        let phase = self.run.phase("replaying", self.workers as usize);
        self.expect(&phase);
        channel::start(conn, id)?;
        base::failpoint::reached("the channel of a replay is started");
        watch.wait(conn, &phase)
    }

    /// How many bytes there are, if that is known.
    fn expect(&self, phase: &Phase<'_>) {
        let Request { log, from, to, .. } = *self.request;
        let files = log.files().get(from.file..to.file).unwrap_or_default();
        let lengths: Option<u64> = files.iter().map(|f| f.length).sum();
        if let Some(lengths) = lengths {
            let bytes = (lengths + to.offset).saturating_sub(from.offset);
            phase.counters.bytes_expected.set(bytes);
        }
    }

    /// Says where the target stands after an error.
    fn with_place(&self, mut e: Error, state: &State) -> Error {
        let log = self.request.log;
        let applied = state.applied();
        if applied == self.request.from && state.sent().transactions == 0 {
            e.what.push_str("; nothing was applied");
            return e;
        }
        let mut text = format!("; the target stands at {}", named(log, applied));
        if let Ok(Some(next)) = reading::next(log, applied) {
            match next.gtid {
                Some(gtid) => text.push_str(&format!(", and transaction {gtid} is next")),
                None => text.push_str(&format!(
                    ", and the transaction at {} is next",
                    named(
                        log,
                        Place {
                            offset: next.start,
                            ..applied
                        }
                    )
                )),
            }
        }
        e.what.push_str(&printable(&text));
        e
    }

    /// Listens where the target reaches us: by the loopback address on this host, else at the address from which we have
    /// reached the target.
    fn listen(&self, conn: &Conn, stop: &Cancel) -> Result<Listener> {
        let local = Listen {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            target: IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let from_conn = || {
            let (ours, theirs) = conn.tcp_addresses()?;
            Some(Listen {
                address: SocketAddr::new(ours.ip().to_canonical(), 0),
                target: theirs.ip(),
            })
        };
        let listen = self.options.listen.or_else(from_conn).unwrap_or(local);
        if !listen.target.to_canonical().is_loopback() {
            self.run.observer.warn(format!(
                "the binary log is sent to the target, {}, without encryption",
                listen.target.to_canonical()
            ));
        }
        Account::random()
            .and_then(|account| Listener::bind(listen.address, listen.target, account, stop))
            .map_err(|e| {
                let text = format!("cannot serve the log on {}: {e}", listen.address);
                Error::new(Kind::Connection, text)
            })
    }

    /// The server that the target believes to read from: the log's own, but with numbers of this replay.
    fn profile(&self, id: &Identity) -> Profile {
        // The mode says what a source writes from now on, which is nothing. A target compares it with its own, and takes
        // none that is far from it, although it may take the log.
        let mode = id.variable("gtid_mode").unwrap_or("OFF");
        let version = &self.description.server_version;
        Profile {
            version: if self.description.is_mariadb() {
                // Replicas take a version that begins with 10 for a server older than themselves without this.
                format!("5.5.5-{version}")
            } else {
                version.clone()
            },
            server_id: self.server_id,
            checksum: match self.description.checksum {
                Checksum::None => "NONE",
                Checksum::Crc32 => "CRC32",
            },
            variables: vec![
                ("server_uuid", numbers::uuid(self.server_id)),
                ("gtid_mode", mode.to_owned()),
                ("gtid_domain_id", "0".to_owned()),
                ("collation_server", "utf8mb4_general_ci".to_owned()),
                ("time_zone", "SYSTEM".to_owned()),
            ],
        }
    }
}

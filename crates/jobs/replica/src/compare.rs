//! Both sides at one moment: a snapshot of the source, and the new server stopped at exactly its place.
//!
//! The applier waits while rows are compared, and goes on afterwards, however that ended.

use crate::catch_up::{broken, channel};
use crate::check::Side;
use crate::repair::Repair;
use crate::{execute, refused};
use base::{Error, Kind, Result, failpoint};
use run::applier::{Stopped, start_left};
use run::{Run, connect, failure};
use server::replication::{LogPlace, Thread, Words};
use server::{Identity, session};
use std::path::Path;
use std::time::{Duration, Instant};
use verify::Comparison;
use verify::compare::{Pair, reader};
use wire::Conn;

/// How often the applier is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// How often both are compared when definitions of the source change meanwhile.
const ATTEMPTS: u32 = 3;

/// What differed, and when.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The SQL that makes it equal.
    pub repair: Repair,
    /// Where in the source's log.
    pub place: String,
}

/// Compares a replica with its source, while both are in use; `dump` says how the source is read, and what of it. `found` gets what
/// differs.
pub fn compare(
    run: &Run,
    dump: &dump::Options,
    new: &wire::Options,
    name: &str,
    limit: Duration,
    state: Option<&Path>,
    found: &mut Found,
) -> Result<Comparison> {
    let source = |e| failure::of_server("the source", e);
    let (mut conn, _) = connect::open(run, &dump.source).map_err(source)?;
    if let Some(state) = state {
        start_left(run, state, new).map_err(|e| failure::of_server("the replica", e))?;
    }
    let mut attempt = 1;
    loop {
        let before = definitions(&mut conn).map_err(source)?;
        *found = Found::default();
        let e = match compare_once(run, dump, new, name, limit, state, found) {
            Err(e) if may_be_of_another_moment(&e) => e,
            done => return done,
        };
        // MariaDB has no lock that keeps definitions still for so long: what a table was when it was looked up may not be
        // what it was at the moment that is compared.
        if definitions(&mut conn).map_err(source)? == before {
            return Err(e);
        }
        if attempt == ATTEMPTS {
            return Err(e.hint("tables of the source were made or dropped each time: leave them out with --exclude-tables or --exclude-schemas, and compare again"));
        }
        attempt += 1;
        run.observer.note(format!(
            "tables of the source were made or dropped meanwhile, so it is compared again ({})",
            e.what
        ));
    }
}

/// Whether this is what definitions that change meanwhile look like: a difference, a table that is not there (1146), or one
/// that a snapshot cannot be read of (1412).
fn may_be_of_another_moment(e: &Error) -> bool {
    e.kind == Kind::Differs || matches!(e.server_error, Some(1146 | 1412))
}

/// The tables of a server, with when each was made.
fn definitions(conn: &mut Conn) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    conn.fetch(
        "SELECT table_schema, table_name, create_time FROM information_schema.tables \
        WHERE table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') ORDER BY 1, 2",
    )
    .map_err(|e| failure::wire("cannot list the tables of the source", e))
}

fn compare_once(
    run: &Run,
    dump: &dump::Options,
    new: &wire::Options,
    name: &str,
    limit: Duration,
    state: Option<&Path>,
    found: &mut Found,
) -> Result<Comparison> {
    let of_source = |e| failure::of_server("the source", e);
    let of_replica = |e| failure::of_server("the replica", e);
    let side = |options: &wire::Options| -> Result<Side> {
        let (conn, id) = connect::open(run, options)?;
        Ok(Side { conn, id })
    };
    let mut source = side(&dump.source).map_err(of_source)?;
    let mut replica = side(new).map_err(of_replica)?;
    follows(&source, &mut replica, name).map_err(of_replica)?;
    let words = Words::of(&replica.id, name);
    let applier = Stopped::noted(run, state, new, &replica.id, &[name])?;
    // So that it is not beyond the snapshot's place.
    applier.stop(&mut replica.conn).map_err(of_replica)?;
    failpoint::reached("the applier is stopped");
    let reader_of_source = || -> Result<Conn> {
        let mut conn = connect::connection(run, &dump.source)?;
        connect::prepared(session::for_rows(&mut conn, &source.id))?;
        Ok(conn)
    };
    let mut lefts = Vec::new();
    for _ in 0..=dump.threads {
        lefts.push(reader_of_source().map_err(of_source)?);
    }
    let mut lock = reader_of_source().map_err(of_source)?;
    let mut connections = dump::snapshot::Connections {
        control: &mut source.conn,
        planner: &mut lock,
        readers: &mut lefts,
    };
    let achieved = dump::snapshot::locked(run, &mut connections, dump, &source.id);
    let achieved = achieved.map_err(of_source)?;
    let place = LogPlace {
        file: achieved.position.binlog_file.unwrap_or_default(),
        offset: achieved.position.binlog_position.unwrap_or(0),
    };
    go_until(run, &mut replica, &words, name, &place, limit).map_err(of_replica)?;
    for conn in &mut lefts {
        conn.set_limited(true);
    }
    let mut pairs = Vec::new();
    for left in lefts {
        pairs.push(Pair {
            left,
            right: Some(reader(run, new, &replica.id).map_err(of_replica)?),
        });
    }
    let sides = (&dump.source, new);
    found.place = place.to_string();
    let mut different = |what| found.repair.add(&what);
    let pairs = |_: &Identity, _: &Identity, _| Ok(pairs);
    let compared = verify::servers_at(
        run,
        sides,
        dump.threads,
        &dump.filter,
        pairs,
        &mut different,
    );
    applier.goes_on()?;
    compared
}

/// Refuses, before anything is stopped, what is no replica of the source, or does not run.
fn follows(source: &Side, replica: &mut Side, name: &str) -> Result<()> {
    let all = server::replication::channels(&mut replica.conn, &replica.id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    let shown = match name {
        "" => "no unnamed channel".to_owned(),
        name => format!("no channel {name}"),
    };
    let Some(channel) = all.iter().find(|c| c.name == name) else {
        let hint = match all.first() {
            None => "the first server is the source, the second its replica".to_owned(),
            Some(other) => format!("--channel names another, such as {}", other.name),
        };
        return Err(refused(
            format!("the second server has {shown}: it follows nothing"),
            hint,
        ));
    };
    let number = source.id.variable("server_id").unwrap_or("0");
    if channel.source_id.to_string() != number {
        return Err(refused(
            format!(
                "the second server follows {}:{} (server_id {}), and not the first one (server_id {number})",
                channel.host, channel.port, channel.source_id
            ),
            "name the source that it follows",
        ));
    }
    match broken(channel, false) {
        Some(e) => Err(e.hint("penstock replica status shows it; it has to run to come to the moment that is compared")),
        None => Ok(()),
    }
}

/// Has the applier go on to a place, and stop there.
fn go_until(
    run: &Run,
    replica: &mut Side,
    words: &Words,
    name: &str,
    place: &LogPlace,
    limit: Duration,
) -> Result<()> {
    let begin = Instant::now();
    let now = channel(replica, name)?;
    if now.applied.order() > place.order() {
        return Err(Error::new(
            Kind::Internal,
            format!(
                "the replica is beyond the snapshot: {} and {place}",
                now.applied
            ),
        ));
    }
    if now.applied == *place {
        return Ok(());
    }
    execute(
        &mut replica.conn,
        &words.start_until(place),
        "cannot start the applier",
    )?;
    let _phase = run.phase("waiting for the replica", 1);
    loop {
        run.check()?;
        let now = channel(replica, name)?;
        if now.applied == *place {
            // It stops there by itself, perhaps a moment later.
            let stops = words.stop(Thread::Applier);
            return execute(&mut replica.conn, &stops, "cannot stop the applier");
        }
        if now.applied.order() > place.order() {
            let what = format!(
                "the replica did not stop at {place}, but at {}",
                now.applied
            );
            return Err(
                Error::new(Kind::Failed, what).hint("penstock replica verify compares again")
            );
        }
        // With an error, or because another session has stopped it.
        if let Some(e) = broken(&now, false) {
            return Err(e.hint("penstock replica status shows it"));
        }
        if begin.elapsed() > limit {
            let what = format!("the replica has not come to {place} in time");
            return Err(
                Error::new(Kind::Limit, what).hint("penstock replica status shows how far it is")
            );
        }
        std::thread::sleep(EVERY);
    }
}

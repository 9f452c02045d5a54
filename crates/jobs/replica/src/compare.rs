//! Both sides at one moment: a snapshot of the source, and the new server stopped at exactly its place.
//!
//! The applier waits while rows are compared, and goes on afterwards, however that ended.

use crate::catch_up::{broken, channel};
use crate::check::Side;
use crate::execute;
use base::{Error, Kind, Result};
use run::{Run, connect, failure};
use server::replication::{LogPlace, Thread, Words};
use server::{Filter, session};
use std::time::{Duration, Instant};
use verify::Comparison;
use verify::compare::{Pair, reader};

/// How often the applier is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// Compares a replica with its source, while both are in use.
pub fn compare(
    run: &Run,
    dump: &dump::Options,
    new: &wire::Options,
    name: &str,
    filter: &Filter,
    limit: Duration,
) -> Result<Comparison> {
    let side = |options: &wire::Options| -> Result<Side> {
        let (conn, id) = connect::open(run, options)?;
        Ok(Side { conn, id })
    };
    let (mut source, mut replica) = (side(&dump.source)?, side(new)?);
    let words = Words::of(&replica.id, name);
    // So that it is not beyond the snapshot's place.
    execute(
        &mut replica.conn,
        &words.stop(Thread::Applier),
        "cannot stop the applier",
    )?;
    let applier = Stopped {
        options: new.clone(),
        run: run.clone(),
        words: words.clone(),
    };
    let mut lefts = Vec::new();
    for _ in 0..=dump.threads {
        let mut conn = connect::connection(run, &dump.source)?;
        connect::prepared(session::for_rows(&mut conn, &source.id))?;
        lefts.push(conn);
    }
    let mut lock = connect::connection(run, &dump.source)?;
    connect::prepared(session::for_rows(&mut lock, &source.id))?;
    let achieved = dump::snapshot::take(
        run,
        &mut lock,
        &mut source.conn,
        &mut lefts,
        dump,
        &source.id,
    )?;
    let place = LogPlace {
        file: achieved.position.binlog_file.unwrap_or_default(),
        offset: achieved.position.binlog_position.unwrap_or(0),
    };
    go_until(run, &mut replica, &words, name, &place, limit)?;
    for conn in &mut lefts {
        conn.set_limited(true);
    }
    let mut pairs = Vec::new();
    for left in lefts {
        pairs.push(Pair {
            left,
            right: Some(reader(run, new, &replica.id)?),
        });
    }
    let compared = verify::servers_at(run, (&dump.source, new), dump.threads, filter, |_, _, _| {
        Ok(pairs)
    });
    applier.goes_on()?;
    compared
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
        if now.applied.order() >= place.order() {
            // It has reached the place, and stops by itself there.
            let stops = words.stop(Thread::Applier);
            if now.applied != *place {
                let what = format!(
                    "the replica did not stop at {place}, but at {}",
                    now.applied
                );
                return Err(
                    Error::new(Kind::Failed, what).hint("penstock replica verify compares again")
                );
            }
            return execute(&mut replica.conn, &stops, "cannot stop the applier");
        }
        if (!now.applies || now.apply_error.is_some()) && now.apply_error.is_some() {
            return Err(broken(&now, false).unwrap_or_else(|| {
                Error::new(Kind::Failed, "the applier of the replica stopped")
            }));
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

/// An applier that was stopped: it goes on at the latest when this is dropped.
struct Stopped {
    options: wire::Options,
    run: Run,
    words: Words,
}

impl Stopped {
    fn start(&self) -> Result<()> {
        // The connection that stopped it may be gone; and a run that was told to stop still has to do this.
        let mut conn = connect::untracked(&self.options)?;
        conn.execute(self.words.start(Thread::Applier))
            .map(drop)
            .map_err(|e| failure::wire("cannot start the applier again", e))
    }

    fn goes_on(self) -> Result<()> {
        let done = self.start();
        std::mem::forget(self);
        done.map_err(|e| {
            e.hint("start it by hand: START REPLICA SQL_THREAD, on MariaDB START SLAVE SQL_THREAD")
        })
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Err(e) = self.start() {
            self.run.observer.warn(e.what);
        }
    }
}

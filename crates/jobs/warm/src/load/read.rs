//! Runs the statements of a plan, on several connections.
//!
//! InnoDB puts a page that is read for the first time where it is soon evicted, and moves it to the young ones only if it is
//! used again after `innodb_old_blocks_time`. So where the pool is full each worker reads its last ranges again once that
//! time has passed, which costs no disk reads.

use super::Options;
use super::plan::{Piece, Plan};
use base::counters::Counter;
use base::units::printable;
use base::{Result, lock};
use run::{Run, Stop, failure};
use server::{Identity, session};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wire::Conn;

/// How often the server is asked how much it has read.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How ranges are read a second time.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// Not before this time has passed.
    pub after: Duration,
    /// Bytes that all workers together may have read once and not twice.
    pub most: u64,
}

/// How much may be read: what is beyond that would evict what was read first.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Pages that the server had read before.
    pub before: u64,
    /// Pages that it may read.
    pub most: u64,
}

/// What became of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Indexes that the server refused to read, and why.
    pub refused: Vec<String>,
    /// Bytes of ranges that were not read, because the pool was full of others.
    pub no_room: u64,
}

/// What the workers share.
struct Work<'w> {
    room: Option<Room>,
    /// When the server was last asked how much it has read.
    asked: Mutex<Instant>,
    no_room: Counter,
    queue: Mutex<VecDeque<Piece>>,
    names: &'w [String],
    /// Indexes that the server refused to read, and why.
    refused: Mutex<BTreeMap<usize, String>>,
}

/// Reads all of it, or as much as there is room for.
pub fn all(
    run: &Run,
    options: &Options,
    id: &Identity,
    plan: Plan,
    again: Option<Again>,
    room: Option<Room>,
) -> Result<Outcome> {
    let threads = options.threads.clamp(1, plan.pieces.len().max(1));
    let phase = run.phase("ranges", threads);
    phase.counters.bytes_expected.set(plan.bytes());
    let mut conns = Vec::new();
    for _ in 0..threads {
        conns.push(connect(run, options, id)?);
    }
    let work = Work {
        room,
        asked: Mutex::new(Instant::now()),
        no_room: Counter::default(),
        queue: Mutex::new(plan.pieces.into()),
        names: &plan.names,
        refused: Mutex::default(),
    };
    let most = again.map_or(0, |a| a.most / threads as u64);
    run.workers(conns, |_, mut conn, stop| {
        let mut once: VecDeque<(Instant, Piece)> = VecDeque::new();
        let mut waiting = 0;
        loop {
            stop.check()?;
            let next = lock(&work.queue).pop_front();
            let is_last = next.is_none();
            if let Some(piece) = next {
                if !run.limiter.acquire_all(piece.reads as usize) {
                    stop.check()?;
                }
                let is_read = work.read(&mut conn, &piece)?;
                phase.counters.bytes.add(piece.bytes);
                work.ask(&mut conn)?;
                if again.is_some() && is_read {
                    waiting += piece.reads;
                    once.push_back((Instant::now(), piece));
                }
            }
            let Some(again) = again else {
                if is_last {
                    return Ok(());
                }
                continue;
            };
            while let Some((at, piece)) = once.pop_front() {
                if at.elapsed() < again.after {
                    if !is_last && waiting <= most {
                        once.push_front((at, piece));
                        break;
                    }
                    wait(stop, again.after.saturating_sub(at.elapsed()))?;
                }
                work.read(&mut conn, &piece)?;
                waiting -= piece.reads;
            }
            if is_last {
                return Ok(());
            }
        }
    })
    .map_err(|e| match run.cancel.is_raised() {
        true => e.hint("what was read stays in memory; start again to read the rest"),
        false => e,
    })?;
    let refused = base::lock::into_inner(work.refused);
    Ok(Outcome {
        refused: refused.into_values().collect(),
        no_room: work.no_room.get(),
    })
}

/// Sleeps, unless a stop was requested.
fn wait(stop: &Stop<'_>, time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        stop.check()?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

impl Work<'_> {
    /// Asks the server now and then how much it has read; once there is no more room, the rest is left out.
    fn ask(&self, conn: &mut Conn) -> Result<()> {
        let Some(room) = self.room else {
            return Ok(());
        };
        let Ok(mut asked) = self.asked.try_lock() else {
            return Ok(());
        };
        if asked.elapsed() < ASK_EVERY {
            return Ok(());
        }
        *asked = Instant::now();
        if super::Counters::read(conn)?
            .pages
            .saturating_sub(room.before)
            >= room.most
        {
            let rest = std::mem::take(&mut *lock(&self.queue));
            self.no_room.add(rest.iter().map(|p| p.bytes).sum());
        }
        Ok(())
    }

    /// Reads a range; whether the server did.
    fn read(&self, conn: &mut Conn, piece: &Piece) -> Result<bool> {
        if lock(&self.refused).contains_key(&piece.index) {
            return Ok(false);
        }
        let name = &self.names[piece.index];
        match conn.execute(&piece.sql) {
            Ok(_) => Ok(true),
            Err(wire::Error::Server(e)) => {
                let why = printable(&format!("{name}: {e}"));
                lock(&self.refused).entry(piece.index).or_insert(why);
                Ok(false)
            }
            Err(e) => Err(failure::wire(format_args!("cannot read {name}"), e)),
        }
    }
}

/// A session that reads: it takes rows as they are, so that no old version of one is looked for.
fn connect(run: &Run, options: &Options, id: &Identity) -> Result<Conn> {
    let mut conn = run::connect::connection(run, &options.target)?;
    run::connect::prepared(session::for_rows(&mut conn, id))?;
    for sql in [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SESSION TRANSACTION READ ONLY",
    ] {
        conn.execute(sql)
            .map_err(|e| failure::wire("cannot prepare a session", e))?;
    }
    Ok(conn)
}

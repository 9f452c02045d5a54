//! Runs the statements of a plan, on several connections.
//!
//! InnoDB puts a page that is read for the first time where it is soon evicted, and moves it to the young ones only if it is
//! used again after `innodb_old_blocks_time`. So where the pool is full each worker reads its last ranges again once that
//! time has passed, which costs no disk reads. In the end the hottest are read once more, because those were read first.

use super::Options;
use super::plan::{Piece, Plan};
use base::counters::{Counter, Counters};
use base::units::printable;
use base::{Result, lock};
use run::throttle::Throttle;
use run::{Run, Stop, failure};
use server::{Identity, session};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wire::Conn;

/// How often the server is asked how much it has read.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How ranges are read again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// Not before this time has passed: until then a page that is used again stays old.
    pub after: Duration,
    /// Each range is, so that its pages become young: bytes that all workers together may have read once and not twice.
    pub most: Option<u64>,
    /// The hottest half is at the end, the hottest last: InnoDB evicts first what was used first.
    pub hottest: bool,
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
    run: &'w Run,
    counters: &'w Counters,
    /// Other sessions are to be spared: then what is read from memory counts, too.
    spares: bool,
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
    again: Again,
    room: Option<Room>,
    throttle: Option<&Throttle>,
) -> Result<Outcome> {
    let threads = options.threads.clamp(1, plan.pieces.len().max(1));
    let phase = run.phase("ranges", threads);
    phase.counters.bytes_expected.set(plan.bytes());
    if let Some(throttle) = throttle {
        throttle.rows_started(&phase.counters);
    }
    let mut conns = Vec::new();
    for _ in 0..threads {
        conns.push(connect(run, &options.target, id)?);
    }
    let work = Work {
        run,
        counters: &phase.counters,
        spares: throttle.is_some(),
        room,
        asked: Mutex::new(Instant::now()),
        no_room: Counter::default(),
        queue: Mutex::new(plan.pieces.into()),
        names: &plan.names,
        refused: Mutex::default(),
    };
    let most = again.most.map(|most| most / threads as u64);
    run.workers(conns, |_, mut conn, stop| {
        let mut once = Once::default();
        let mut hottest: Vec<Piece> = Vec::new();
        loop {
            stop.check()?;
            let Some(piece) = lock(&work.queue).pop_front() else {
                break;
            };
            if !run.limiter.acquire_all(piece.reads as usize) {
                stop.check()?;
            }
            let read = work.read(&mut conn, &piece);
            stop.release_slot();
            if !read? {
                continue;
            }
            phase.counters.bytes.add(piece.bytes);
            work.ask(&mut conn)?;
            if again.hottest && piece.is_hottest {
                hottest.push(piece.clone());
            }
            if let Some(most) = most {
                once.add(piece);
                once.read_again(&work, &mut conn, stop, again.after, most)?;
            }
        }
        once.read_again(&work, &mut conn, stop, again.after, 0)?;
        if !hottest.is_empty() && most.is_none() {
            wait(stop, again.after)?;
        }
        for piece in hottest.iter().rev() {
            stop.check()?;
            work.again(&mut conn, piece, stop)?;
        }
        Ok(())
    })?;
    let refused = base::lock::into_inner(work.refused);
    Ok(Outcome {
        refused: refused.into_values().collect(),
        no_room: work.no_room.get(),
    })
}

/// What a worker has read once.
#[derive(Default)]
struct Once {
    pieces: VecDeque<(Instant, Piece)>,
    bytes: u64,
}

impl Once {
    fn add(&mut self, piece: Piece) {
        self.bytes += piece.reads;
        self.pieces.push_back((Instant::now(), piece));
    }

    /// Reads again what was read long enough ago, and waits for that while there is more than `most`.
    fn read_again(
        &mut self,
        work: &Work<'_>,
        conn: &mut Conn,
        stop: &Stop<'_>,
        after: Duration,
        most: u64,
    ) -> Result<()> {
        while let Some((at, _)) = self.pieces.front() {
            let left = after.saturating_sub(at.elapsed());
            if !left.is_zero() {
                if self.bytes <= most {
                    return Ok(());
                }
                wait(stop, left)?;
            }
            if let Some((_, piece)) = self.pieces.pop_front() {
                self.bytes -= piece.reads;
                work.again(conn, &piece, stop)?;
            }
        }
        Ok(())
    }
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

    /// Reads a range again, which is in memory.
    fn again(&self, conn: &mut Conn, piece: &Piece, stop: &Stop<'_>) -> Result<()> {
        if self.spares && !self.run.limiter.acquire_all(piece.reads as usize) {
            stop.check()?;
        }
        let read = self.read(conn, piece);
        stop.release_slot();
        read.map(drop)
    }

    /// Reads a range; whether the server did.
    fn read(&self, conn: &mut Conn, piece: &Piece) -> Result<bool> {
        if lock(&self.refused).contains_key(&piece.index) {
            return Ok(false);
        }
        let name = &self.names[piece.index];
        self.counters.busy.add(1);
        let done = conn.execute(&piece.sql);
        self.counters.busy.sub(1);
        match done {
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
pub fn connect(run: &Run, target: &wire::Options, id: &Identity) -> Result<Conn> {
    let mut conn = run::connect::connection(run, target)?;
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

//! The lock under which a position belongs to a moment: taken by short attempts, for a bounded time.
//!
//! Waiting for such a lock is what takes production down: statements queue behind the waiting lock,
//! which itself waits for a long query. So on MySQL no lock is requested while a long statement runs,
//! each attempt is short, and the whole wait is bounded; MariaDB's BACKUP STAGE waits for commits only.
//! MySQL's lock may even wait for itself: it waits for a statement to close its tables, that statement
//! for a row lock, and the owner of the row lock for the read lock to go. As all writes stop meanwhile,
//! most attempts are very short: if nothing is in the way, that is enough, and if something is, waiting
//! longer does not help.
//!
//! What it does not do: release the lock, or read anything under it.

use crate::{Run, failure};
use base::{Error, Event, Kind, Result};
use std::time::{Duration, Instant};
use wire::Conn;

/// One attempt to get the lock, in the seconds that `lock_wait_timeout` counts.
pub const ATTEMPT: u64 = 2;

/// What the first attempts get. Statements that are merely slow are waited for later:
/// then each attempt gets twice as much as the one before it, up to [`ATTEMPT`].
const SHORT_ATTEMPT: Duration = Duration::from_millis(40);

/// How many attempts are short.
const SHORT_ATTEMPTS: u32 = 40;

/// A statement that has run for longer makes the lock wait for it.
const LONG_STATEMENT: u64 = 2;

/// Takes the read lock on the connection `lock`: MariaDB's `BACKUP STAGE BLOCK_COMMIT` if `staged`, else
/// `FLUSH TABLES WITH READ LOCK`. `control` cancels an attempt that takes too long; `who` is the job, for
/// messages.
pub fn acquire(
    run: &Run,
    lock: &mut Conn,
    control: &mut Conn,
    most: Duration,
    staged: bool,
    who: &str,
) -> Result<()> {
    let attempt = |lock: &mut Conn, timeout: Duration| {
        if staged {
            try_backup_stage(lock)
        } else {
            try_for(lock, control, "FLUSH TABLES WITH READ LOCK", timeout)
        }
    };
    let kind = if staged { Waits::InTurn } else { Waits::Alone };
    attempts(run, lock, most, kind, ("the read lock", who), attempt)
}

/// Takes locks on tables with `sql`, a `LOCK TABLES … READ`, on the connection `lock`; the rest is as for [`acquire`].
pub fn acquire_tables(
    run: &Run,
    lock: &mut Conn,
    control: &mut Conn,
    most: Duration,
    sql: &str,
    who: &str,
) -> Result<()> {
    let attempt = |lock: &mut Conn, timeout: Duration| try_for(lock, control, sql, timeout);
    let what = ("the locks on the tables", who);
    attempts(run, lock, most, Waits::WithWriters, what, attempt)
}

/// What a lock that is waited for does to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Statements queue behind it: it is not requested while a long statement runs.
    Alone,
    /// Those that write to the same tables queue behind it: the first attempts are short.
    WithWriters,
    /// It keeps only those out that want the same.
    InTurn,
}

/// Repeats `attempt`, which gets its own bound, until it is granted or `most` is over. `what` is the lock, and the
/// job that wants it.
pub fn attempts(
    run: &Run,
    lock: &mut Conn,
    most: Duration,
    waits: Waits,
    what: (&str, &str),
    mut attempt: impl FnMut(&mut Conn, Duration) -> wire::Result<()>,
) -> Result<()> {
    let end = Instant::now() + most;
    let (mut timeout, mut attempts) = (SHORT_ATTEMPT, 0);
    set_wait(lock, ATTEMPT.min(most.as_secs().max(1)))?;
    loop {
        run.check()?;
        // A lock that waits for a flush keeps new statements out until the old
        // statement ends, even after the wait itself was given up: never begin it.
        let blocker = match waits {
            Waits::InTurn | Waits::WithWriters => None,
            Waits::Alone => longest_statement(lock)?,
        };
        if let Some(text) = &blocker {
            run.observer.event(Event::Waiting(Some(format!(
                "a long statement to end before {} is requested: {text}",
                what.0
            ))));
        } else {
            match attempt(lock, timeout) {
                Ok(()) => {
                    run.observer.event(Event::Waiting(None));
                    return Ok(());
                }
                // Not granted in time, or (1317) cancelled by ourselves.
                Err(e) if matches!(e.code(), Some(1205 | 3572 | 1969 | 1317)) => {
                    run.observer.event(Event::Waiting(Some(format!(
                        "writers to release what {} needs",
                        what.0
                    ))));
                }
                Err(e) => return Err(failure::wire(format_args!("cannot get {}", what.0), e)),
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            run.observer.event(Event::Waiting(None));
            return Err(timed_out(lock, most, what));
        }
        attempts += 1;
        if waits == Waits::InTurn || attempts > SHORT_ATTEMPTS {
            timeout = (timeout * 2).min(Duration::from_secs(ATTEMPT));
        }
        // Writers get more time than the attempt took from them.
        run.cancel.sleep((timeout * 3).min(left));
    }
}

/// One attempt at a lock, given up after `timeout`: the server itself counts whole seconds only.
fn try_for(lock: &mut Conn, control: &mut Conn, sql: &str, timeout: Duration) -> wire::Result<()> {
    let kill = format!("KILL QUERY {}", lock.id());
    let (done, wait) = crossbeam_channel::bounded::<()>(1);
    let (outcome, killed) = std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let late = wait.recv_timeout(timeout).is_err();
            // Killing a query of the same account needs no further privilege.
            late && control.execute(kill).is_ok()
        });
        let outcome = lock.execute(sql).map(drop);
        let _ = done.send(());
        (outcome, watch.join().unwrap_or(false))
    });
    if killed && outcome.is_ok() {
        // The lock came at the last moment; the kill may hit the next statement, so let it be this one.
        let _ = lock.execute("DO 0");
    }
    outcome
}

/// One attempt at MariaDB's stage.
fn try_backup_stage(lock: &mut Conn) -> wire::Result<()> {
    lock.execute("BACKUP STAGE START")?;
    let outcome = lock.execute("BACKUP STAGE BLOCK_COMMIT");
    if outcome.is_err() {
        let _ = lock.execute("BACKUP STAGE END");
    }
    outcome.map(drop)
}

/// Sets how long the session waits for metadata locks, in seconds.
pub fn set_wait(conn: &mut Conn, seconds: u64) -> Result<()> {
    conn.execute(format!("SET SESSION lock_wait_timeout = {seconds}"))
        .map(drop)
        .map_err(|e| failure::wire("cannot set lock_wait_timeout", e))
}

/// The statement that has run longest, if it is a long one; `None` also where we may not see others.
fn longest_statement(conn: &mut Conn) -> Result<Option<String>> {
    let sql = format!(
        "SELECT id, user, time, LEFT(info, 80) FROM information_schema.processlist \
         WHERE command IN ('Query', 'Execute') AND time >= {LONG_STATEMENT} AND id <> CONNECTION_ID() \
         AND user NOT IN ('system user', 'event_scheduler') AND info IS NOT NULL \
         ORDER BY time DESC LIMIT 1"
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for long statements", e))?;
    Ok(rows.first().map(|row| {
        let cell = |i: usize| {
            row.get(i)
                .and_then(|c| c.as_deref())
                .map(|b| base::units::printable(&String::from_utf8_lossy(b)))
                .unwrap_or_default()
        };
        format!(
            "connection {} of {}, {} s: {}",
            cell(0),
            cell(1),
            cell(2),
            cell(3)
        )
    }))
}

fn timed_out(conn: &mut Conn, most: Duration, (what, who): (&str, &str)) -> Error {
    let wait = most.as_secs();
    let why = longest_statement(conn).ok().flatten();
    let mut text = format!("gave up after waiting {wait} s for {what}");
    if let Some(why) = why {
        text += &format!("; the longest statement is {why}");
    }
    let hint = format!(
        "nothing is locked, and no statement waits for this {who}: run again at a quieter time, or wait longer with --lock-wait"
    );
    Error::new(Kind::Lock, text).hint(hint)
}

//! One consistent snapshot for all workers: a read lock held only while every connection opens its
//! snapshot and the binary log position is read, then released.
//!
//! Waiting for such a lock is what takes production down: statements queue behind the waiting lock,
//! which itself waits for a long query. So on MySQL no lock is requested while a long statement runs,
//! each attempt is short, and the whole wait is bounded; MariaDB's BACKUP STAGE waits for commits only.
//! MySQL's lock may even wait for itself: it waits for a statement to close its tables, that statement
//! for a row lock, and the owner of the row lock for the read lock to go. As all writes stop meanwhile,
//! most attempts are very short: if nothing is in the way, that is enough, and if something is, waiting
//! longer does not help.
//!
//! What it does not do: protect tables without transactions after the lock is released. Those are
//! listed as exceptions.

use super::{Consistency, Options};
use base::{Error, Event, Kind, Result};
use run::Run;
use run::failure;
use server::{Identity, Position};
use std::time::{Duration, Instant};
use wire::Conn;

/// One attempt to get the lock, in the seconds that `lock_wait_timeout` counts.
const ATTEMPT: u64 = 2;

/// What the first attempts get. Statements that are merely slow are waited for later:
/// then each attempt gets twice as much as the one before it, up to [`ATTEMPT`].
const SHORT_ATTEMPT: Duration = Duration::from_millis(40);

/// How many attempts are short.
const SHORT_ATTEMPTS: u32 = 40;

/// A statement that has run for longer makes the lock wait for it.
const LONG_STATEMENT: u64 = 2;

/// What was achieved, for the manifest and the summary.
#[derive(Clone, Debug, Default)]
pub struct Achieved {
    /// As a text, e.g. `one snapshot for all workers, under FLUSH TABLES WITH READ LOCK`.
    pub mode: String,
    /// How long the read lock was held, in milliseconds.
    pub lock_ms: f64,
    /// How long it was waited for.
    pub wait_ms: f64,
    /// The binary log position of the snapshot.
    pub position: Position,
}

/// Whether definitions can be kept from changing while the dump runs.
///
/// MySQL only: MariaDB's equivalent would have to be held as a stage that also
/// keeps MyISAM writers out, so there a changed table is found out afterwards.
pub fn can_lock_definitions(id: &Identity, options: &Options) -> bool {
    id.mysql_at_least(8, 0, 0) && options.consistency == Consistency::Lock
}

/// Keeps definitions from changing until `conn` closes.
///
/// Taken under the read lock, when no change of definitions can be under way:
/// held while the read lock is still waited for, it would make a statement wait
/// that the read lock in turn waits for.
fn lock_definitions(conn: &mut Conn) -> Result<()> {
    set_lock_wait(conn, ATTEMPT)?;
    conn.execute("LOCK INSTANCE FOR BACKUP")
        .map(drop)
        .map_err(|e| failure::wire("LOCK INSTANCE FOR BACKUP", e))
}

/// Opens a snapshot on each of `workers`, all of the same moment, and has
/// `control` keep definitions still from then on.
pub fn take(
    run: &Run,
    lock: &mut Conn,
    control: &mut Conn,
    workers: &mut [Conn],
    options: &Options,
    id: &Identity,
) -> Result<Achieved> {
    for conn in workers.iter_mut() {
        conn.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .map_err(|e| failure::wire("cannot set the isolation level", e))?;
    }
    if options.consistency == Consistency::Unused {
        let mut position = Position::read(lock, id)
            .map_err(|e| failure::server("cannot read the binary log position", e))?;
        // The temporary server writes no binary log; its own position is none.
        if let Some(files) = &options.files {
            let (file, end) = files.binary_log.clone().unzip();
            (position.binlog_file, position.binlog_position) = (file, end);
            position.gtid_binlog_pos.clone_from(&files.gtid_binlog_pos);
        }
        return Ok(Achieved {
            mode: "a data directory that no server used".into(),
            position,
            ..Achieved::default()
        });
    }
    if options.consistency == Consistency::None {
        open_snapshots(workers, id)?;
        let position = Position::default();
        return Ok(Achieved {
            mode: "none: each worker has its own snapshot, tables may be inconsistent, no position"
                .into(),
            position,
            ..Achieved::default()
        });
    }
    let asked = Instant::now();
    let staged = id.mariadb_at_least(10, 4, 1);
    let name = if staged {
        "BACKUP STAGE BLOCK_COMMIT"
    } else {
        "FLUSH TABLES WITH READ LOCK"
    };
    acquire_read_lock(run, lock, control, options, staged)?;
    let wait_ms = asked.elapsed().as_secs_f64() * 1000.0;
    let held = Instant::now();
    // Whatever happens now, the lock goes first.
    let kept = if can_lock_definitions(id, options) {
        lock_definitions(control)
    } else {
        Ok(())
    };
    let outcome = kept
        .and_then(|()| open_snapshots(workers, id))
        .and_then(|()| {
            Position::read(lock, id)
                .map_err(|e| failure::server("cannot read the binary log position", e))
        });
    let release = if staged {
        "BACKUP STAGE END"
    } else {
        "UNLOCK TABLES"
    };
    let released = lock.execute(release).map_err(|e| failure::wire(release, e));
    let lock_ms = held.elapsed().as_secs_f64() * 1000.0;
    let position = outcome?;
    released?;
    Ok(Achieved {
        mode: format!("one snapshot for all workers, under {name}"),
        lock_ms,
        wait_ms,
        position,
    })
}

fn open_snapshots(workers: &mut [Conn], id: &Identity) -> Result<()> {
    let sql = if id.mysql_at_least(5, 6, 5) || id.mariadb_at_least(10, 0, 0) {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
    } else {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT"
    };
    for conn in workers {
        conn.execute(sql)
            .map_err(|e| failure::wire("cannot open a snapshot", e))?;
    }
    Ok(())
}

fn acquire_read_lock(
    run: &Run,
    lock: &mut Conn,
    control: &mut Conn,
    options: &Options,
    staged: bool,
) -> Result<()> {
    let end = Instant::now() + options.lock_wait;
    let (mut timeout, mut attempts) = (SHORT_ATTEMPT, 0);
    set_lock_wait(lock, ATTEMPT.min(options.lock_wait.as_secs().max(1)))?;
    loop {
        run.check()?;
        // A lock that waits for a flush keeps new statements out until the old
        // statement ends, even after the wait itself was given up: never begin it.
        let blocker = if staged {
            None
        } else {
            longest_statement(lock)?
        };
        if let Some(text) = &blocker {
            run.observer.event(Event::Waiting(Some(format!(
                "a long statement to end before the read lock is requested: {text}"
            ))));
        } else {
            let outcome = if staged {
                try_backup_stage(lock)
            } else {
                try_flush_with_read_lock(lock, control, timeout)
            };
            match outcome {
                Ok(()) => {
                    run.observer.event(Event::Waiting(None));
                    return Ok(());
                }
                // Not granted in time, or (1317) cancelled by ourselves.
                Err(e) if matches!(e.code(), Some(1205 | 3572 | 1969 | 1317)) => {
                    run.observer.event(Event::Waiting(Some(
                        "writers to release what the read lock needs".into(),
                    )));
                }
                Err(e) => return Err(failure::wire("cannot get the read lock", e)),
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            run.observer.event(Event::Waiting(None));
            return Err(lock_timeout(lock, options, "the read lock"));
        }
        attempts += 1;
        if staged || attempts > SHORT_ATTEMPTS {
            timeout = (timeout * 2).min(Duration::from_secs(ATTEMPT));
        }
        // Writers get more time than the attempt took from them.
        run.cancel.sleep((timeout * 3).min(left));
    }
}

/// One attempt at MySQL's lock, given up after `timeout`: the server itself counts whole seconds only.
fn try_flush_with_read_lock(
    lock: &mut Conn,
    control: &mut Conn,
    timeout: Duration,
) -> wire::Result<()> {
    let kill = format!("KILL QUERY {}", lock.id());
    let (done, wait) = crossbeam_channel::bounded::<()>(1);
    let (outcome, killed) = std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let late = wait.recv_timeout(timeout).is_err();
            // Killing a query of the same account needs no further privilege.
            late && control.execute(kill).is_ok()
        });
        let outcome = lock.execute("FLUSH TABLES WITH READ LOCK").map(drop);
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

fn set_lock_wait(conn: &mut Conn, seconds: u64) -> Result<()> {
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

fn lock_timeout(conn: &mut Conn, options: &Options, what: &str) -> Error {
    let wait = options.lock_wait.as_secs();
    let why = longest_statement(conn).ok().flatten();
    let mut text = format!("gave up after waiting {wait} s for {what}");
    if let Some(why) = why {
        text += &format!("; the longest statement is {why}");
    }
    Error::new(Kind::Lock, text)
        .hint("nothing is locked, and no statement waits for this dump: run again at a quieter time, or wait longer with --lock-wait")
}

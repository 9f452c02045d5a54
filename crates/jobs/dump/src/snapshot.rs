//! One consistent snapshot for all workers: a read lock held only while every connection opens its
//! snapshot and the binary log position is read, then released.
//!
//! How that lock is waited for is `run::read_lock`'s.
//!
//! What it does not do: protect tables without transactions after the lock is released. Those are
//! listed as exceptions.

use super::{Consistency, Options};
use base::Result;
use run::failure;
use run::{Run, read_lock};
use server::{Identity, Position};
use std::time::Instant;
use wire::Conn;

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
    read_lock::set_wait(conn, read_lock::ATTEMPT)?;
    conn.execute("LOCK INSTANCE FOR BACKUP")
        .map(drop)
        .map_err(|e| failure::wire("LOCK INSTANCE FOR BACKUP", e))
}

/// How the snapshot is taken, in words.
pub fn foreseen(id: &Identity, options: &Options) -> String {
    match options.consistency {
        Consistency::Unused => "a data directory that no server used".to_owned(),
        Consistency::None => {
            "none: each worker has its own snapshot, tables may be inconsistent, no position"
                .to_owned()
        }
        Consistency::Lock => {
            let name = match staged(id) {
                true => "BACKUP STAGE BLOCK_COMMIT",
                false => "FLUSH TABLES WITH READ LOCK",
            };
            format!("one snapshot for all workers, under {name}")
        }
    }
}

/// Whether the server has a lock for backups alone.
fn staged(id: &Identity) -> bool {
    id.mariadb_at_least(10, 4, 1)
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
            position.server_time = None;
            position.gtid_binlog_pos.clone_from(&files.gtid_binlog_pos);
        }
        return Ok(Achieved {
            mode: foreseen(id, options),
            position,
            ..Achieved::default()
        });
    }
    if options.consistency == Consistency::None {
        open_snapshots(workers, id)?;
        let position = Position::default();
        return Ok(Achieved {
            mode: foreseen(id, options),
            position,
            ..Achieved::default()
        });
    }
    let asked = Instant::now();
    let staged = staged(id);
    read_lock::acquire(run, lock, control, options.lock_wait, staged, "dump")?;
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
        mode: foreseen(id, options),
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

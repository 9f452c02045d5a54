//! Snapshots are opened.

use base::{Error, Kind, Result};
use run::failure;
use server::Identity;
use wire::Conn;

/// Every session reads in its snapshot from then on.
pub fn prepare(readers: &mut [Conn]) -> Result<()> {
    for conn in readers.iter_mut() {
        conn.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .map_err(|e| failure::wire("cannot set the isolation level", e))?;
    }
    Ok(())
}

/// One after the other, for a moment at which nothing is committed.
pub fn each(readers: &mut [Conn], id: &Identity) -> Result<()> {
    readers.iter_mut().try_for_each(|conn| one(conn, id))
}

/// All at once: the shorter it takes, the likelier nothing is committed meanwhile.
pub fn together(readers: &mut [Conn], id: &Identity) -> Result<()> {
    if readers.len() < 2 {
        return each(readers, id);
    }
    std::thread::scope(|scope| {
        let start = |conn| {
            std::thread::Builder::new()
                .spawn_scoped(scope, move || one(conn, id))
                .map_err(|e| Error::new(Kind::Failed, format!("cannot start a thread: {e}")))
        };
        let running: Vec<_> = readers.iter_mut().map(start).collect();
        let ended = running.into_iter().map(|thread| {
            let joined = thread?.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        // All have ended before the first error is told.
        ended.collect::<Vec<Result<()>>>().into_iter().collect()
    })
}

/// A transaction that is open ends with it.
fn one(conn: &mut Conn, id: &Identity) -> Result<()> {
    let sql = if id.has_read_only_transactions() {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
    } else {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT"
    };
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire("cannot open a snapshot", e))
}

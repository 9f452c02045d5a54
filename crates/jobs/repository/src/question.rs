//! A statement that must be true of a restored backup: it returns rows, and none of their first columns is 0, NULL
//! or empty.
//!
//! Invariant: an answer takes no more memory than one row, and no more time than it may: a statement that takes
//! longer is not true, and its connection is ended on both sides. What this does not do: judge what a statement may
//! say; it is the operator's own, and the server a temporary one.

use run::{Run, connect};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use wire::Conn;

/// Why a statement is not true of a server; `None` if it is.
pub(crate) fn wrong(
    run: &Run,
    server: &wire::Options,
    sql: &str,
    limit: Option<Duration>,
) -> Option<String> {
    let mut conn = match connect::connection(run, server) {
        Ok(conn) => conn,
        Err(e) => return Some(e.what),
    };
    let id = conn.id();
    let (answer, late) = within(limit, &mut conn, |conn| first_wrong(conn, sql));
    match (answer, limit) {
        (Ok(wrong), _) => wrong,
        (Err(_), Some(limit)) if late => {
            // The server does not look at the connection of a statement that runs.
            if let Ok(mut other) = connect::connection(run, server) {
                let _ = other.execute(format!("KILL {id}"));
            }
            let took = base::units::seconds(limit.as_secs_f64());
            Some(format!("it did not end within {took}"))
        }
        (Err(e), _) => Some(e.to_string()),
    }
}

/// Calls with a connection that is closed when the time is over; whether it was.
fn within<T>(
    limit: Option<Duration>,
    conn: &mut Conn,
    call: impl FnOnce(&mut Conn) -> wire::Result<T>,
) -> (wire::Result<T>, bool) {
    let Some(limit) = limit else {
        return (call(conn), false);
    };
    let closer = match conn.closer() {
        Ok(closer) => closer,
        Err(e) => return (Err(e), false),
    };
    let (answered, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                closer.close();
            }
            late
        });
        let answer = call(conn);
        drop(answered);
        (answer, watch.join().unwrap_or(false))
    })
}

/// What is wrong with the first row that is not true, or with there being none.
fn first_wrong(conn: &mut Conn, sql: &str) -> wire::Result<Option<String>> {
    let mut rows = conn.query(sql)?;
    let mut none = true;
    while let Some(row) = rows.next()? {
        none = false;
        let Some(first) = row.cells().next().transpose()?.flatten() else {
            return Ok(Some("it returns NULL".to_owned()));
        };
        let text = String::from_utf8_lossy(first);
        let is_zero = text.trim().parse::<f64>().is_ok_and(|n| n == 0.0);
        if text.trim().is_empty() || is_zero {
            let shown = base::units::printable(&text);
            return Ok(Some(format!("it returns '{shown}'")));
        }
    }
    Ok(none.then(|| "it returns no row".to_owned()))
}

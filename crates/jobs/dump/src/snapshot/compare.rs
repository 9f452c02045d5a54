//! One snapshot for all readers without a lock: every reader opens its own, all at once, and what the server says of its log
//! proves that they are equal, or they are opened again.
//!
//! MariaDB tells each snapshot the place in the binary log that it belongs to; equal places are equal snapshots. MySQL does
//! not, so the proof is this. Between its write to the binary log and the end of its commit a transaction owns its GTID
//! (`gtid_owned`); after that it is in `gtid_executed`. Read `gtid_executed`, open the snapshots, and then read `gtid_owned`
//! and, after it, `gtid_executed`: if nothing is owned and the set is what it was, then no transaction was committed, or was
//! about to be, from the first reading to the last. The order of the last two matters: a transaction that leaves the one set
//! before it is read is in the other when that is read.
//!
//! What it does not see: changes that are not logged (`sql_log_bin=0`, `binlog_do_db`, `binlog_ignore_db`).

use super::open;
use base::{Error, Event, Kind, Result};
use run::{Run, failure};
use server::{Identity, Position, position};
use std::time::{Duration, Instant};
use wire::Conn;

/// The pauses between attempts grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What proves it, for people.
pub fn proof(id: &Identity) -> &'static str {
    match id.is_mariadb() {
        true => "equal places in the binary log",
        false => "equal GTID sets",
    }
}

/// Why it cannot be proven on this server.
pub fn obstacle(id: &Identity) -> Option<String> {
    if !id.log_bin {
        return Some("the server writes no binary log, whose place would be the proof".to_owned());
    }
    if id.is_mariadb() {
        if !id.mariadb_at_least(10, 0, 0) {
            return Some(format!("{id} does not say which place a snapshot has"));
        }
        let applied = id.variable("gtid_slave_pos").is_some_and(|p| !p.is_empty());
        return (applied && !id.is_on("log_slave_updates")).then(|| {
            "this server is or was a replica and does not log what it applies (log_slave_updates=OFF)".to_owned()
        });
    }
    match id.variable("gtid_mode") {
        Some("ON") => None,
        mode => Some(format!(
            "a MySQL server needs gtid_mode=ON for it, and this one has {}",
            mode.unwrap_or("no such setting")
        )),
    }
}

/// Opens snapshots until they are proven equal, for no longer than `most`; the position is that of all of them.
pub fn take(
    run: &Run,
    (planner, control): (&mut Conn, &mut Conn),
    readers: &mut [Conn],
    id: &Identity,
    most: Duration,
) -> Result<Position> {
    let end = Instant::now() + most;
    // Before the snapshots: the data is there or a little later, never before.
    let mut sources = Position::default();
    sources
        .add_sources(control, id)
        .map_err(|e| failure::server("cannot read the place of the replica", e))?;
    let (mut pause, mut attempts) = (Duration::from_millis(2), 0u32);
    loop {
        run.check()?;
        attempts += 1;
        let proven = match id.is_mariadb() {
            true => same_place(planner, readers, id)?,
            false => same_set(planner, control, readers, id)?,
        };
        if let Some(position) = proven {
            run.observer.event(Event::Waiting(None));
            return Ok(Position {
                sources: sources.sources,
                sources_hidden: sources.sources_hidden,
                ..position
            });
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            run.observer.event(Event::Waiting(None));
            return Err(Error::new(
                Kind::Lock,
                format!(
                    "gave up after {} s: in each of {attempts} attempts something was committed while {} snapshots were opened",
                    most.as_secs(),
                    readers.len()
                ),
            )
            .hint("nothing was locked: run again at a quieter time, wait longer with --lock-wait, or take one reader with --consistency transaction"));
        }
        if attempts == 20 {
            run.observer.event(Event::Waiting(Some(
                "a moment without commits, for snapshots that are equal".to_owned(),
            )));
        }
        run.cancel.sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// MySQL.
fn same_set(
    planner: &mut Conn,
    control: &mut Conn,
    readers: &mut [Conn],
    id: &Identity,
) -> Result<Option<Position>> {
    let mut read = |name: &str| {
        position::variable(planner, id, name)
            .map_err(|e| failure::server("cannot read the GTIDs", e))
    };
    let before = read("gtid_executed")?;
    open::together(readers, id)?;
    let position = Position::read_log(control, id)
        .map_err(|e| failure::server("cannot read the binary log position", e))?;
    let owned = read("gtid_owned")?;
    let after = read("gtid_executed")?;
    let same = owned.is_none() && before == after && position.gtid_executed == before;
    Ok(same.then_some(position))
}

/// MariaDB.
fn same_place(planner: &mut Conn, readers: &mut [Conn], id: &Identity) -> Result<Option<Position>> {
    open::together(readers, id)?;
    let mut places = Vec::new();
    for conn in readers {
        places.push(place(conn)?);
    }
    let Some((file, offset)) = places.first().cloned() else {
        return Ok(None);
    };
    if places.iter().any(|p| *p != (file.clone(), offset)) {
        return Ok(None);
    }
    let asked = |e| failure::wire("cannot read the place of the snapshots", e);
    let sql = format!(
        "SELECT BINLOG_GTID_POS({}, {offset}), UNIX_TIMESTAMP()",
        server::quote::text(&file)
    );
    let rows = planner.fetch(sql).map_err(asked)?;
    let cell = |i: usize| text(rows.first()?.get(i)?.as_deref());
    Ok(Some(Position {
        binlog_file: Some(file),
        binlog_position: Some(offset),
        server_time: cell(1).and_then(|t| t.parse().ok()),
        gtid_binlog_pos: cell(0),
        ..Position::default()
    }))
}

/// The place in the binary log that the snapshot of this session belongs to.
fn place(conn: &mut Conn) -> Result<(String, u64)> {
    let asked = |e| failure::wire("cannot read the place of a snapshot", e);
    let rows = conn
        .fetch("SHOW STATUS LIKE 'binlog\\_snapshot\\_%'")
        .map_err(asked)?;
    let of = |name: &str| {
        let row = rows.iter().find(|r| {
            let first = r.first().and_then(|c| c.as_deref());
            first.is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
        });
        text(row?.get(1)?.as_deref())
    };
    let offset = of("Binlog_snapshot_position").and_then(|p| p.parse().ok());
    of("Binlog_snapshot_file").zip(offset).ok_or_else(|| {
        Error::new(
            Kind::Failed,
            "the server does not say which place in its binary log a snapshot has (Binlog_snapshot_file)",
        )
    })
}

fn text(cell: Option<&[u8]>) -> Option<String> {
    let text = String::from_utf8_lossy(cell?).into_owned();
    (!text.is_empty()).then_some(text)
}

//! The channel of a replay on the target: made, started, stopped, removed.
//!
//! Invariant: only the channel named `penstock` is ever touched, and it is removed however the replay ends. A server that
//! replicates from anything else is refused before.

use crate::log::NamedPlace;
use crate::status::{self, CHANNEL};
use base::{Error, Kind, Result, units::printable};
use run::failure;
use server::replication::Channel;
use server::{Identity, quote};
use std::net::SocketAddr;
use wire::Conn;
use wire::serve::Account;

/// Seconds between two attempts of the target to connect.
const RETRY: u32 = 1;
/// Attempts after which it gives up: of a replay that was killed nothing remains but a channel that is stopped.
const ATTEMPTS: u32 = 10;
/// Seconds of silence after which the source has to say that it lives.
const HEARTBEAT: u32 = 5;

/// Where the target is to read from.
pub(crate) struct Source<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) account: &'a Account,
    pub(crate) from: &'a NamedPlace,
}

/// Makes the channel.
pub(crate) fn configure(conn: &mut Conn, id: &Identity, source: &Source<'_>) -> Result<()> {
    let word = if id.is_mariadb() { "MASTER" } else { "SOURCE" };
    let mut options = vec![
        format!(
            "{word}_HOST = {}",
            quote::text(&source.address.ip().to_string())
        ),
        format!("{word}_PORT = {}", source.address.port()),
        format!("{word}_USER = {}", quote::text(&source.account.user)),
        format!(
            "{word}_PASSWORD = {}",
            quote::text(source.account.password.reveal())
        ),
        format!("{word}_LOG_FILE = {}", quote::text(&source.from.file)),
        format!("{word}_LOG_POS = {}", source.from.offset),
        format!("{word}_CONNECT_RETRY = {RETRY}"),
        format!("{word}_HEARTBEAT_PERIOD = {HEARTBEAT}"),
        format!("{word}_SSL = 0"),
    ];
    let sql = if id.is_mariadb() {
        options.push("MASTER_USE_GTID = no".to_owned());
        options.push("MASTER_SSL_VERIFY_SERVER_CERT = 0".to_owned());
        format!("CHANGE MASTER '{CHANNEL}' TO {}", options.join(", "))
    } else {
        options.push(format!("SOURCE_RETRY_COUNT = {ATTEMPTS}"));
        options.push("SOURCE_AUTO_POSITION = 0".to_owned());
        format!(
            "CHANGE REPLICATION SOURCE TO {} FOR CHANNEL '{CHANNEL}'",
            options.join(", ")
        )
    };
    execute(conn, &sql, "cannot make the channel of the replay")
}

/// MariaDB keeps how a connection applies in the connection itself.
pub(crate) fn apply_in_parallel(conn: &mut Conn, id: &Identity) -> Result<()> {
    if !id.is_mariadb() {
        return Ok(());
    }
    // The connection's own, not a global setting: it goes with the connection.
    let sql = format!("SET GLOBAL {CHANNEL}.slave_parallel_mode = 'optimistic'");
    execute(conn, &sql, "cannot let the target apply in parallel")
}

/// Starts both threads.
pub(crate) fn start(conn: &mut Conn, id: &Identity) -> Result<()> {
    let sql = if id.is_mariadb() {
        format!("START SLAVE '{CHANNEL}'")
    } else {
        format!("START REPLICA FOR CHANNEL '{CHANNEL}'")
    };
    execute(conn, &sql, "cannot start the channel of the replay")
}

/// Stops both threads, the applier first: it finishes the transactions that it has begun, and may need what is received
/// meanwhile.
pub(crate) fn stop(conn: &mut Conn, id: &Identity) -> Result<()> {
    for thread in ["SQL_THREAD", "IO_THREAD"] {
        let sql = if id.is_mariadb() {
            format!("STOP SLAVE '{CHANNEL}' {thread}")
        } else {
            format!("STOP REPLICA {thread} FOR CHANNEL '{CHANNEL}'")
        };
        execute(conn, &sql, "cannot stop the channel of the replay")?;
    }
    Ok(())
}

/// Removes the channel and its relay logs.
pub(crate) fn remove(conn: &mut Conn, id: &Identity) -> Result<()> {
    let sql = if id.is_mariadb() {
        format!("RESET SLAVE '{CHANNEL}' ALL")
    } else {
        format!("RESET REPLICA ALL FOR CHANNEL '{CHANNEL}'")
    };
    execute(conn, &sql, "cannot remove the channel of the replay")
}

/// What the operator runs to remove it by hand.
pub(crate) fn removal(id: &Identity) -> String {
    if id.is_mariadb() {
        format!("STOP SLAVE '{CHANNEL}'; RESET SLAVE '{CHANNEL}' ALL;")
    } else {
        format!("STOP REPLICA FOR CHANNEL '{CHANNEL}'; RESET REPLICA ALL FOR CHANNEL '{CHANNEL}';")
    }
}

fn execute(conn: &mut Conn, sql: &str, doing: &str) -> Result<()> {
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire(doing, e))
}

/// Keeps a second replay away, for as long as the connection lasts.
pub(crate) fn lock(conn: &mut Conn) -> Result<()> {
    // The session of a replay that has just ended may take a moment to end, too.
    let free = conn
        .fetch("SELECT GET_LOCK('penstock_replay', 5)")
        .map_err(|e| failure::wire("cannot lock the target for a replay", e))?;
    match free.first().and_then(|r| r.first()) {
        Some(Some(v)) if v == b"1" => Ok(()),
        _ => Err(Error::new(
            Kind::Target,
            "another penstock replays a binary log on this server",
        )
        .hint("wait until it has finished, then start again")),
    }
}

/// Whether a replay runs.
pub(crate) fn is_locked(conn: &mut Conn) -> Result<bool> {
    let owner = conn
        .fetch("SELECT IS_USED_LOCK('penstock_replay')")
        .map_err(|e| failure::wire("cannot see whether a replay runs", e))?;
    Ok(owner
        .first()
        .and_then(|r| r.first())
        .is_some_and(Option::is_some))
}

/// Refuses a server that replicates from anything; returns what a replay left that was killed.
pub(crate) fn found(conn: &mut Conn, id: &Identity) -> Result<Option<Channel>> {
    let mut left = None;
    for status in status::all(conn, id)? {
        if status.name == CHANNEL {
            left = Some(status);
            continue;
        }
        let name = match status.name.as_str() {
            "" => "its unnamed channel".to_owned(),
            name => format!("channel {name}"),
        };
        let text = format!(
            "the target is a replica already: {name} reads from {}:{}",
            status.host, status.port
        );
        return Err(Error::new(Kind::Target, printable(&text)).hint(
            "replay into a server of its own; if this one is meant, remove its replication first (RESET REPLICA ALL, on MariaDB RESET SLAVE ALL)",
        ));
    }
    Ok(left)
}

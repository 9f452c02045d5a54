//! What a server says of restored files: that it has recovered them, that every table opens or checks, and which place
//! in the binary log they belong to.
//!
//! The server asks for no password here, and nobody else can reach it. What this does not do: write.

use crate::manifest::Manifest;
use crate::options::Prove;
use base::units::printable;
use base::{Result, failpoint};
use run::{Run, connect, failure};
use server::quote;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Conn;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Tables that were checked or opened.
    pub tables: u64,
    /// What is wrong: the table and what the server says.
    pub wrong: Vec<String>,
    /// Tables whose engine cannot check them.
    pub unchecked: Vec<String>,
    /// MySQL: the binary log position that the recovered files name (`performance_schema.clone_status`).
    pub binlog: Option<(String, u64)>,
    /// MySQL: the transactions that the recovered files name.
    pub gtid: Option<String>,
}

/// Asks the server about every table.
pub(crate) fn prove(
    run: &Run,
    server: &wire::Options,
    manifest: &Manifest,
    how: Prove,
    threads: usize,
) -> Result<Proof> {
    let mut conn = connect::untracked(server)?;
    let mut proof = Proof::default();
    if !manifest.is_mariadb() {
        proof.gtid = one(&mut conn, "SELECT @@GLOBAL.gtid_executed")?
            .map(|t| t.chars().filter(|c| !c.is_whitespace()).collect());
        if manifest.method == "clone" {
            let sql = "SELECT CONCAT(binlog_position, ' ', binlog_file) FROM performance_schema.clone_status";
            let found = one(&mut conn, sql)?;
            proof.binlog = found.as_deref().and_then(|t| {
                let (position, file) = t.split_once(' ')?;
                Some((printable(file.rsplit('/').next()?), position.parse().ok()?))
            });
        }
    }
    if how == Prove::Start {
        return Ok(proof);
    }
    let sql = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' \
               AND table_schema NOT IN ('information_schema', 'performance_schema') ORDER BY data_length DESC";
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot list the restored tables", e))?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let tables: Vec<(String, String)> = rows
        .iter()
        .map(|r| (text(r.first()), text(r.get(1))))
        .collect();
    let phase = run.phase("proving the tables", threads);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(&mut proof);
    run.workers(vec![(); threads], |_, (), stop| {
        let mut conn = connect::untracked(server)?;
        while let Some((schema, table)) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            stop.check()?;
            let name = quote::qualified(schema, table);
            let said = match how {
                Prove::Check => check(&mut conn, &name)?,
                Prove::Open | Prove::Start => open(&mut conn, &name)?,
            };
            phase.counters.tables.add(1);
            let mut found = base::lock(&found);
            found.tables += 1;
            match said {
                Said::Well => {}
                Said::Unchecked => found.unchecked.push(name),
                Said::Wrong(why) => found.wrong.push(printable(&format!("{name}: {why}"))),
            }
        }
        Ok(())
    })?;
    failpoint::reached("restored files are proven");
    Ok(proof)
}

fn one(conn: &mut Conn, sql: &str) -> Result<Option<String>> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot ask the restored server", e))?;
    let cell = rows.into_iter().flatten().next().flatten();
    Ok(cell
        .map(|c| String::from_utf8_lossy(&c).into_owned())
        .filter(|t| !t.is_empty()))
}

enum Said {
    Well,
    Unchecked,
    Wrong(String),
}

/// `CHECK TABLE`: table, operation, kind of message, message.
fn check(conn: &mut Conn, name: &str) -> Result<Said> {
    let rows = match conn.fetch(format!("CHECK TABLE {name}")) {
        Ok(rows) => rows,
        Err(e) => return of_error(e),
    };
    let cell = |row: &Vec<Option<Vec<u8>>>, n: usize| {
        let bytes = row.get(n).cloned().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let said: Vec<(String, String)> = rows.iter().map(|r| (cell(r, 2), cell(r, 3))).collect();
    let wrong: Vec<&str> = said
        .iter()
        .filter(|(kind, text)| {
            kind.eq_ignore_ascii_case("error")
                || kind == "status" && text != "OK" && text != "Table is already up to date"
        })
        .map(|(_, text)| text.as_str())
        .collect();
    if !wrong.is_empty() {
        return Ok(Said::Wrong(wrong.join("; ")));
    }
    let has_status = said.iter().any(|(kind, _)| kind == "status");
    Ok(if has_status {
        Said::Well
    } else {
        Said::Unchecked
    })
}

fn open(conn: &mut Conn, name: &str) -> Result<Said> {
    match conn.fetch(format!("SELECT 1 FROM {name} LIMIT 1")) {
        Ok(_) => Ok(Said::Well),
        Err(e) => of_error(e),
    }
}

/// An error of the statement is the table's; one of the connection ends the proof.
fn of_error(e: wire::Error) -> Result<Said> {
    match e {
        wire::Error::Server(e) => Ok(Said::Wrong(e.to_string())),
        e => Err(failure::wire(
            "the server ended while its tables were proven",
            e,
        )),
    }
}

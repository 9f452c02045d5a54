//! What the server itself says of changes that the log does not show: foreign keys, times, and the numbers that it knows tables by.

use crate::postponed::{self, PATIENCE};
use archive::FileRecord;
use base::Result;
use binlog_archive::Touched;
use run::failure;
use server::{Identity, quote};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::Conn;

/// A table's name as the log is asked for it.
pub fn lower(schema: &str, table: &str) -> (String, String) {
    (schema.to_lowercase(), table.to_lowercase())
}

/// The tables that foreign keys change along with others, which the log does not say: each with a table that was changed.
pub fn cascades(conn: &mut Conn, touched: &Touched) -> Result<BTreeMap<(String, String), String>> {
    let rows = conn
        .fetch(
            "SELECT constraint_schema, table_name, unique_constraint_schema, referenced_table_name \
            FROM information_schema.referential_constraints \
            WHERE update_rule NOT IN ('RESTRICT', 'NO ACTION') OR delete_rule NOT IN ('RESTRICT', 'NO ACTION')",
        )
        .map_err(|e| failure::wire("cannot read the foreign keys", e))?;
    let all: Vec<[String; 4]> = rows
        .iter()
        .map(|row| [0, 1, 2, 3].map(|n| text(row, n).unwrap_or_default()))
        .collect();
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut changed: BTreeSet<(String, String)> = touched.tables().cloned().collect();
    loop {
        let before = found.len();
        for [child_schema, child, parent_schema, parent] in &all {
            let key = lower(parent_schema, parent);
            if !changed.contains(&key) && touched.named(parent).is_none() {
                continue;
            }
            let child = lower(child_schema, child);
            changed.insert(child.clone());
            found
                .entry(child)
                .or_insert_with(|| quote::qualified(parent_schema, parent));
        }
        if found.len() == before {
            return Ok(found);
        }
    }
}

/// What identifies each table in the server, by schema and name.
pub type Identities = HashMap<(String, String), String>;

/// Whether it is another table by now, or one that was emptied, exchanged or altered at once; the log does not say so.
pub fn is_another(then: Option<&String>, now: Option<&String>) -> Option<String> {
    let why = match (then?, now) {
        (then, Some(now)) if then == now => return None,
        (_, Some(_)) => {
            "it was emptied, exchanged, renamed or altered, and the log does not say so"
        }
        (_, None) => "InnoDB's number of it could not be read",
    };
    Some(why.to_owned())
}

/// Reads what identifies tables: the numbers that InnoDB knows them and their partitions by, and how often they were altered at once.
/// Nothing without the PROCESS privilege. `None`: none of these sessions could read it. MySQL locks each table for it, and where a
/// session waits to change one, only a session that has read of that table does not have to wait behind it.
pub fn identities<'c>(
    sessions: impl IntoIterator<Item = &'c mut Conn>,
    id: &Identity,
) -> Result<Option<Identities>> {
    let set = |conn: &mut Conn, seconds: &str| {
        let sql = format!("SET SESSION lock_wait_timeout = {seconds}");
        conn.execute(sql)
            .map(drop)
            .map_err(|e| failure::wire("cannot set lock_wait_timeout", e))
    };
    for conn in sessions {
        set(conn, &PATIENCE.to_string())?;
        let found = identities_in(conn, id);
        set(conn, "DEFAULT")?;
        match found {
            Err(e) if e.server_error == Some(postponed::TOO_LONG) => {}
            found => return found.map(Some),
        }
    }
    Ok(None)
}

fn identities_in(conn: &mut Conn, id: &Identity) -> Result<Identities> {
    let versions = match id.mysql_at_least(8, 0, 29) {
        true => "TOTAL_ROW_VERSIONS",
        false => "0",
    };
    let list = match id.mysql_at_least(8, 0, 0) {
        true => "INNODB_TABLES",
        false => "INNODB_SYS_TABLES",
    };
    let sql = format!(
        "SELECT NAME, CONCAT_WS(':', TABLE_ID, SPACE, N_COLS, {versions}) FROM information_schema.{list} ORDER BY NAME"
    );
    let rows = match conn.fetch(&sql) {
        Ok(rows) => rows,
        // It lacks the privilege, or the server has no such list.
        Err(e) if e.code().is_some_and(|c| c != postponed::TOO_LONG) => {
            return Ok(Identities::new());
        }
        Err(e) => return Err(failure::wire("cannot read the list of InnoDB's tables", e)),
    };
    let mut all: HashMap<(String, String), String> = HashMap::new();
    for row in rows {
        let (Some(name), Some(numbers)) = (text(&row, 0), text(&row, 1)) else {
            continue;
        };
        let Some((schema, table)) = name.split_once('/') else {
            continue;
        };
        // A # in a name is written in another way: here it begins that of a partition.
        let (table, partition) = table.split_once('#').unwrap_or((table, ""));
        let of = innodb::names::of_file_name;
        let numbers_of = all.entry((of(schema), of(table))).or_default();
        *numbers_of += &format!("{partition}:{numbers};");
    }
    // A table may have thousands of partitions.
    let short = |text: String| {
        FileRecord::of(text.as_bytes())
            .blake3
            .chars()
            .take(32)
            .collect()
    };
    Ok(all
        .into_iter()
        .map(|(name, text)| (name, short(text)))
        .collect())
}

/// When a table was changed last, in seconds since 1970, as far as the server knows.
#[derive(Clone, Copy, Debug)]
pub struct LastChange {
    /// Its rows. Forgotten when the server starts.
    pub rows: Option<u64>,
    /// Its definition.
    pub made: Option<u64>,
}

pub fn last_changes(conn: &mut Conn) -> Result<HashMap<(String, String), LastChange>> {
    let unread = |e| failure::wire("cannot see when tables were changed", e);
    let rows = conn
        .fetch(
            "SELECT table_schema, table_name, UNIX_TIMESTAMP(update_time), UNIX_TIMESTAMP(create_time) \
            FROM information_schema.tables WHERE table_type <> 'VIEW' \
            AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')",
        )
        .map_err(unread)?;
    let seconds = |row: &Row, n: usize| -> Option<u64> {
        // With a fraction where the server has one.
        text(row, n)?.split('.').next()?.parse().ok()
    };
    let mut all = HashMap::new();
    for row in rows {
        let (Some(schema), Some(table)) = (text(&row, 0), text(&row, 1)) else {
            continue;
        };
        let change = LastChange {
            rows: seconds(&row, 2),
            made: seconds(&row, 3),
        };
        all.insert((schema, table), change);
    }
    Ok(all)
}

/// A row of an answer.
pub type Row = Vec<Option<Vec<u8>>>;

/// One of its cells.
pub fn text(row: &Row, n: usize) -> Option<String> {
    let cell = row.get(n)?.as_deref()?;
    Some(String::from_utf8_lossy(cell).into_owned())
}

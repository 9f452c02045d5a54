//! Global variables of a running server: reading them, setting them, and setting those again that a
//! restart has forgotten.
//!
//! Invariant: nothing is persisted in the server; what is set here lasts until the server stops. MySQL's
//! redo log is handled as if it were a variable ([`REDO_LOG`]), and is the one setting that outlives a
//! restart. It does not decide what is set, and writes no journal.

use base::Result;
use run::failure;
use server::{Identity, quote};
use std::time::{Duration, Instant};
use wire::Conn;

/// The one setting that is not a variable.
pub(crate) const REDO_LOG: &str = "innodb_redo_log";
/// The buffer pool changes its size in the background.
pub(crate) const BUFFER_POOL: &str = "innodb_buffer_pool_size";

/// How long a buffer pool may take to reach its size before we continue without waiting.
const RESIZE: Duration = Duration::from_secs(60);

/// Whether two spellings are one value.
pub(crate) fn same(a: &str, b: &str) -> bool {
    fn digit(v: &str) -> &str {
        match v {
            v if v.eq_ignore_ascii_case("ON") => "1",
            v if v.eq_ignore_ascii_case("OFF") => "0",
            v => v,
        }
    }
    digit(a).eq_ignore_ascii_case(digit(b))
}

/// When the server started, by its own clock, in seconds since 1970.
pub(crate) fn server_start(conn: &mut Conn) -> Result<i64> {
    let number = |cell: Option<String>| cell.and_then(|v| v.parse::<f64>().ok()).map(|v| v as i64);
    let now = number(cell(conn, "SELECT UNIX_TIMESTAMP()", 0)?);
    let up = number(cell(conn, "SHOW GLOBAL STATUS LIKE 'Uptime'", 1)?);
    Ok(now.unwrap_or(0) - up.unwrap_or(0))
}

/// The value of a setting; `None` if the server has no such setting.
pub(crate) fn read(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    if name == REDO_LOG {
        return cell(conn, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'", 1);
    }
    let sql = format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name = {}",
        quote::text(name)
    );
    cell(conn, &sql, 1)
}

/// Sends the statement that gives a setting its value, for as long as this server runs.
pub(crate) fn set(conn: &mut Conn, name: &str, value: &str) -> wire::Result<()> {
    if name == REDO_LOG {
        let word = if same(value, "ON") {
            "ENABLE"
        } else {
            "DISABLE"
        };
        return conn
            .execute(format!("ALTER INSTANCE {word} INNODB REDO_LOG"))
            .map(drop);
    }
    let literal = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        value.to_owned()
    } else {
        quote::text(value)
    };
    let sql = format!("SET GLOBAL {} = {literal}", quote::ident(name));
    let end = Instant::now() + RESIZE;
    loop {
        match conn.execute(&sql) {
            // A pool that is being resized takes no other size before it is done.
            Err(e)
                if name == BUFFER_POOL
                    && e.code().is_some()
                    && Instant::now() < end
                    && e.code() != Some(1227) =>
            {
                std::thread::sleep(Duration::from_millis(200));
            }
            outcome => return outcome.map(drop),
        }
    }
}

/// The value of a setting that was just set: the buffer pool needs time to reach its size.
pub(crate) fn settled_value(conn: &mut Conn, name: &str, wanted: &str) -> Result<String> {
    let end = Instant::now() + RESIZE;
    loop {
        let found = read(conn, name)?.unwrap_or_default();
        if name != BUFFER_POOL || same(&found, wanted) || Instant::now() > end {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn cell(conn: &mut Conn, sql: &str, at: usize) -> Result<Option<String>> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot read the server's settings", e))?;
    let cell = rows
        .into_iter()
        .next()
        .and_then(|r| r.into_iter().nth(at))
        .flatten();
    Ok(cell.map(|v| String::from_utf8_lossy(&v).into_owned()))
}

/// Variables that were set while the server ran, which a restart forgets; `None` if the account may not
/// see them.
pub(crate) fn set_at_runtime(conn: &mut Conn, id: &Identity) -> Option<Vec<(String, String)>> {
    let sql = if id.is_mariadb() {
        "SELECT variable_name FROM information_schema.system_variables WHERE global_value_origin = 'SQL'"
    } else {
        "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC'"
    };
    let names = conn.fetch(sql).ok()?;
    let names = names.into_iter().flatten().flatten();
    let names = names.map(|n| String::from_utf8_lossy(&n).to_ascii_lowercase());
    let found = names
        // The server's position in its own log is not a setting.
        .filter(|n| !n.contains("gtid"))
        // Setting these asks for an action, which is done by then.
        .filter(|n| !n.ends_with("_now") && !n.ends_with("_abort"))
        .filter_map(|n| id.variable(&n).map(|v| (n.clone(), v.to_owned())));
    Some(found.collect())
}

/// Sets variables again that a restart has forgotten; returns a line for each that could not be set.
pub(crate) fn set_again(
    conn: &mut Conn,
    id: &Identity,
    values: &[(String, String)],
) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    // What another session has set since the server started is not ours to change.
    let since = set_at_runtime(conn, id).unwrap_or_default();
    for (name, value) in values {
        if since.iter().any(|(n, _)| n == name) {
            continue;
        }
        let now = read(conn, name)?;
        if now.is_none_or(|now| same(&now, value)) {
            continue;
        }
        let outcome = match literal(value) {
            number if number == *value => {
                let unquoted =
                    conn.execute(format!("SET GLOBAL {} = {number}", quote::ident(name)));
                // A text that looks like a number.
                unquoted.or_else(|_| set_text(conn, name, value))
            }
            _ => set_text(conn, name, value),
        };
        match outcome {
            Ok(_) => {}
            Err(e) if e.code().is_some() => failed.push(format!(
                "{name} was set to {value} while the server ran; the restart forgot it, and it could not be set again: {e}"
            )),
            Err(e) => return Err(failure::wire(format_args!("cannot set {name} again"), e)),
        }
    }
    Ok(failed)
}

fn set_text(conn: &mut Conn, name: &str, value: &str) -> wire::Result<wire::Done> {
    let text = quote::text(value);
    conn.execute(format!("SET GLOBAL {} = {text}", quote::ident(name)))
}

/// Numbers as they are, everything else as a text.
fn literal(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|b| *b == b'.').count() <= 1;
    if number {
        value.to_owned()
    } else {
        quote::text(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_quoted_and_texts_are() {
        assert_eq!(literal("7.500000"), "7.500000");
        assert_eq!(literal("-1"), "-1");
        for text in ["ON", "", "8.0.1", "1K", "a'b", "-"] {
            assert_eq!(literal(text), quote::text(text));
        }
    }
}

//! Settings of a session, for each of the things that connections are used for.
//!
//! Only session variables are touched, so nothing stays behind. A variable that
//! a server does not have is passed over (the list in [`Identity`] tells). What
//! an account may not set, and what the work can do without, comes back as a
//! note.

use crate::{Error, Identity, Result};
use wire::Conn;

/// The `sql_mode` under which rows are stored: zero stays zero in an
/// AUTO_INCREMENT column, dates like 2024-02-31 pass as they do from an old
/// server, and nothing is strict, because LOAD DATA LOCAL never is; the loader
/// counts warnings instead.
pub const LOAD_SQL_MODE: &str = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES";

/// The `sql_mode` under which objects are created: old defaults pass, but it is
/// strict, for without that a server turns what it cannot do into a warning and
/// something else (a VARCHAR into a TEXT, a character it lacks into `?`).
pub const DDL_SQL_MODE: &str = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES";

/// Seconds that a session may be idle, or wait for us in the middle of an answer: a month. A dump that is held to a
/// low rate, or paused, takes as long as it takes; a client that is gone is found out by TCP's keep-alive.
const PATIENCE: u32 = 30 * 86_400;

/// Global settings of a server that would cut, hold up or change what a session of ours reads or does, each with the value
/// that it has in ours. They come first, before anything is asked: even the list of the server's variables may be cut.
const NEUTRAL: [(&str, &str); 8] = [
    ("sql_select_limit", "18446744073709551615"),
    ("sql_big_selects", "1"),
    ("sql_safe_updates", "0"),
    ("sql_auto_is_null", "0"),
    // A commit shall not end the session.
    ("completion_type", "0"),
    ("autocommit", "1"),
    // Blanks behind a name in a system table would make another name of it.
    (
        "sql_mode",
        "REPLACE(@@SESSION.sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
    ),
    // MariaDB only: a statement may take its time. MySQL's limit is for SELECT, and is lifted with the other settings.
    ("max_statement_time", "0"),
];

/// `ER_UNKNOWN_SYSTEM_VARIABLE`.
const UNKNOWN_VARIABLE: u16 = 1193;

/// Connects, and takes what the server's global settings would do to the session.
pub fn connect(options: &wire::Options) -> wire::Result<Conn> {
    let mut conn = Conn::connect(options)?;
    let all = match conn.server_version().contains("MariaDB") {
        true => &NEUTRAL[..],
        false => &NEUTRAL[..NEUTRAL.len() - 1],
    };
    let list = |all: &[(&str, &str)]| {
        let each: Vec<String> = all
            .iter()
            .map(|(n, v)| format!("SESSION {n} = {v}"))
            .collect();
        format!("SET {}", each.join(", "))
    };
    match conn.execute(list(all)) {
        // A server that lacks one takes none of them together.
        Err(e) if e.code() == Some(UNKNOWN_VARIABLE) => {
            for one in all {
                match conn.execute(list(std::slice::from_ref(one))) {
                    Err(e) if e.code() == Some(UNKNOWN_VARIABLE) => {}
                    other => drop(other?),
                }
            }
        }
        other => drop(other?),
    }
    Ok(conn)
}

/// One setting.
struct Setting {
    /// Looked up in the server's list; `None`: every server has it.
    variable: Option<&'static str>,
    sql: String,
    /// Whether the work can do without when the account may not set it.
    optional: bool,
    /// The value wanted, where it is a plain one.
    value: String,
}

fn set(sql: impl Into<String>) -> Setting {
    Setting {
        variable: None,
        sql: sql.into(),
        optional: false,
        value: String::new(),
    }
}

fn if_known(variable: &'static str, value: impl std::fmt::Display) -> Setting {
    Setting {
        variable: Some(variable),
        sql: format!("SET SESSION {variable} = {value}"),
        optional: false,
        value: value.to_string(),
    }
}

fn if_allowed(variable: &'static str, value: impl std::fmt::Display) -> Setting {
    Setting {
        optional: true,
        ..if_known(variable, value)
    }
}

/// Prepares a session that reads rows: nothing is converted (text arrives as
/// the bytes stored), times are UTC, no limit ends a long read, and the server
/// waits a month for a reader that is being held back.
pub fn for_rows(conn: &mut Conn, identity: &Identity) -> Result<()> {
    let mut list = base("''");
    list.push(set("SET SESSION character_set_results = binary"));
    list.push(set(
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ));
    list.extend(no_limits());
    apply(conn, identity, "session for reading rows", list).map(drop)
}

/// Prepares a session that reads the catalog and definitions: text is utf8mb4,
/// names are quoted, the defaults of `SHOW CREATE` are on.
pub fn for_catalog(conn: &mut Conn, identity: &Identity) -> Result<()> {
    let mut list = base("''");
    list.push(set("SET SESSION sql_quote_show_create = 1"));
    // Oracle mode and NO_FIELD_OPTIONS-like modes change what SHOW CREATE says; so do these.
    list.push(if_known("show_create_table_verbosity", 0));
    list.push(if_known("show_create_table_skip_secondary_engine", 0));
    list.push(if_known(
        "show_gipk_in_create_table_and_information_schema",
        1,
    ));
    list.push(if_known("information_schema_stats_expiry", 0));
    list.extend(no_limits());
    apply(conn, identity, "session for reading the catalog", list).map(drop)
}

/// Prepares a session that stores rows, in transactions of the caller's
/// (`autocommit` is off). Notes name what the account may not set.
pub fn for_load(conn: &mut Conn, identity: &Identity) -> Result<Vec<String>> {
    let mut list = base(&crate::quote::text(LOAD_SQL_MODE));
    list.push(set("SET SESSION foreign_key_checks = 0"));
    // MariaDB takes the two together as leave for a bulk insert into an empty table: it locks the
    // whole table against the other workers, and hides a duplicate key in error 1180.
    let unique = if identity.is_mariadb() { 1 } else { 0 };
    list.push(set(format!("SET SESSION unique_checks = {unique}")));
    list.push(set("SET SESSION autocommit = 0"));
    // For the keys that are added after the rows: 16 MiB took a fifth less time than the default of 1 MiB.
    list.push(if_allowed("innodb_ddl_buffer_size", 16 << 20));
    // Every warning is looked at, so the server has to keep them; this is the most it can. MySQL asks for a privilege:
    // without it a chunk with more warnings than it keeps is refused.
    list.push(if_allowed("max_error_count", 65_535));
    // Rows of tables that MariaDB versions come with their own history, where the server can take it.
    list.push(if_allowed("system_versioning_insert_history", 1));
    // A CHECK that an old row breaks was broken on the source too; MariaDB can look away.
    list.push(if_known("check_constraint_checks", 0));
    list.extend(no_limits());
    apply(conn, identity, "session for loading rows", list)
}

/// Takes back what [`for_load`] set for speed alone: the server checks as it is
/// configured to. No table has a foreign key yet while rows are loaded.
pub fn without_speedups(conn: &mut Conn) -> Result<()> {
    for variable in ["foreign_key_checks", "unique_checks"] {
        let sql = format!("SET SESSION {variable} = DEFAULT");
        crate::ask::run(conn, "session for loading rows", &sql)?;
    }
    Ok(())
}

/// Prepares a session that creates objects on the target. Notes name what the
/// account may not set.
pub fn for_ddl(conn: &mut Conn, identity: &Identity) -> Result<Vec<String>> {
    let mut list = base(&crate::quote::text(DDL_SQL_MODE));
    list.push(set("SET SESSION foreign_key_checks = 0"));
    list.push(set("SET SESSION unique_checks = 0"));
    // An old table may have a row format or key size that strict mode refuses rather than replaces.
    list.push(if_allowed("innodb_strict_mode", 0));
    // The definition says what the table is; the server shall add no key of its own and ask for none.
    list.push(if_allowed("sql_require_primary_key", 0));
    list.push(if_allowed("sql_generate_invisible_primary_key", 0));
    // 8.4 and later refuse foreign keys to a key that is not unique, which older servers allowed.
    list.push(if_allowed("restrict_fk_on_non_standard_key", 0));
    // `TIMESTAMP` without NULL means the same as on the source, whose definition spells it out.
    list.push(if_allowed("explicit_defaults_for_timestamp", 1));
    list.extend(no_limits());
    apply(conn, identity, "session for creating objects", list)
}

/// Keeps this session's changes out of the binary log; needs a privilege, and
/// says which when it is missing.
pub fn skip_binlog(conn: &mut Conn, identity: &Identity) -> Result<()> {
    crate::ask::run(
        conn,
        "session without binary log",
        "SET SESSION sql_log_bin = 0",
    )
    .map_err(|e| {
        if !e.is_privilege() {
            return e;
        }
        let privilege = if identity.mariadb_at_least(10, 5, 2) {
            "BINLOG ADMIN"
        } else if identity.mysql_at_least(8, 0, 14) {
            "SESSION_VARIABLES_ADMIN"
        } else if identity.mysql_at_least(8, 0, 0) {
            "SYSTEM_VARIABLES_ADMIN"
        } else {
            "SUPER"
        };
        let account = crate::position::account(conn).unwrap_or_else(|| "CURRENT_USER()".into());
        Error::Privilege {
            what: "session without binary log".into(),
            grant: format!("GRANT {privilege} ON *.* TO {account}"),
        }
    })
}

/// What every session of ours begins with. The mode comes first: it decides how the rest is read.
fn base(sql_mode: &str) -> Vec<Setting> {
    vec![
        set(format!("SET SESSION sql_mode = {sql_mode}")),
        set("SET NAMES utf8mb4"),
        set("SET SESSION time_zone = '+00:00'"),
    ]
}

fn no_limits() -> Vec<Setting> {
    vec![
        if_known("wait_timeout", PATIENCE),
        if_known("net_write_timeout", PATIENCE),
        if_known("net_read_timeout", PATIENCE),
        // Milliseconds on MySQL, seconds on MariaDB; 0 is "no limit" on both.
        if_known("max_execution_time", 0),
        if_known("max_statement_time", 0),
    ]
}

fn apply(
    conn: &mut Conn,
    identity: &Identity,
    what: &str,
    list: Vec<Setting>,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for setting in list {
        if let Some(variable) = setting.variable {
            let Some(given) = identity.variable(variable) else {
                continue;
            };
            // A session begins with the global value; no privilege is needed to leave it so.
            let given = match given {
                "OFF" => "0",
                "ON" => "1",
                other => other,
            };
            if setting.optional && given == setting.value {
                continue;
            }
        }
        match crate::ask::run(conn, what, &setting.sql) {
            Err(e) if setting.optional && matches!(e, Error::Wire { .. }) && e.code().is_some() => {
                notes.push(format!("the server refused {}: {e}", setting.sql));
            }
            other => other?,
        }
    }
    Ok(notes)
}

//! Asking a server for a definition.

use super::literals::to_utf8;
use super::{Definition, Object, title};
use crate::ask::{Answer, ask, run};
use crate::catalog::{Routine, RoutineKind};
use crate::{Error, Result, quote};
use wire::Conn;

/// Reads one definition. For [`Object::Database`] `name` is ignored.
///
/// A view is read with its schema as the session's default one (which it stays):
/// only then does the server leave that name out of the text, so that the view
/// can be created under another.
pub fn read(conn: &mut Conn, object: Object, schema: &str, name: &str) -> Result<Definition> {
    let what = format!("definition of {}", title(object, schema, name));
    let target = match object {
        Object::Database => quote::ident(schema),
        _ => quote::qualified(schema, name),
    };
    if object == Object::View {
        run(conn, &what, &format!("USE {}", quote::ident(schema))).map_err(|e| gone(e, &what))?;
    }
    let show = format!("SHOW CREATE {} {target}", object.keyword());
    let answer = ask(conn, &what, &show).map_err(|e| gone(e, &what))?;
    let mut sql = statement(&answer, object, schema, &what)?;
    if object == Object::Table && sql.contains('?') {
        sql = table_as_stored(conn, schema, &what, &show)?;
    }
    let row = answer.first();
    let text = |names: &[&str]| answer.find(names).and_then(|at| row?.text(at));
    Ok(Definition {
        object,
        schema: schema.to_owned(),
        name: match object {
            Object::Database => String::new(),
            _ => name.to_owned(),
        },
        sql,
        sql_mode: text(&["sql_mode"]),
        character_set_client: text(&["character_set_client"]),
        collation_connection: text(&["collation_connection"]),
        database_collation: text(&["Database Collation"]),
        time_zone: text(&["time_zone"]),
    })
}

/// Reads a table's definition without conversion. Old servers convert all of it
/// to the session's character set, and a binary default loses its bytes to
/// question marks; unconverted it is UTF-8 with those bytes in their place.
fn table_as_stored(conn: &mut Conn, schema: &str, what: &str, show: &str) -> Result<String> {
    run(conn, what, "SET SESSION character_set_results = binary")?;
    let answer = ask(conn, what, show).map_err(|e| gone(e, what));
    run(conn, what, "SET SESSION character_set_results = utf8mb4")?;
    statement(&answer?, Object::Table, schema, what)
}

/// The statement in an answer to `SHOW CREATE`.
fn statement(answer: &Answer, object: Object, schema: &str, what: &str) -> Result<String> {
    // "Create Table", "Create Procedure", …; triggers have "SQL Original Statement".
    let word = match object {
        Object::Trigger => "SQL Original Statement".to_owned(),
        // MariaDB shows a sequence with the column names of a table.
        Object::Sequence => "Create Table".to_owned(),
        _ => format!("Create {}", object.keyword()),
    };
    let at = answer.need(&[&word, "Create Sequence"])?;
    let row = answer.first().ok_or_else(|| Error::Gone {
        what: what.to_owned(),
    })?;
    let Some(bytes) = row.bytes(at) else {
        // The server says NULL when the account may know of the routine but not read it.
        return Err(Error::Privilege {
            grant: grant_to_show(object, schema),
            what: what.to_owned(),
        });
    };
    let sql = to_utf8(bytes).map_err(|at| Error::Answer {
        what: what.to_owned(),
        why: format!("not UTF-8 from byte {at} on"),
    })?;
    let sql = sql.trim_end();
    Ok(match object {
        // The body is as it was typed, and may end in a comment that ends in a semicolon.
        Object::Trigger
        | Object::Procedure
        | Object::Function
        | Object::Event
        | Object::Package
        | Object::PackageBody
        | Object::Library => sql,
        Object::Database | Object::Table | Object::View | Object::Sequence => {
            sql.trim_end_matches(';')
        }
    }
    .to_owned())
}

/// Reads the definition of a stored routine of the catalog.
pub fn read_routine(conn: &mut Conn, routine: &Routine) -> Result<Definition> {
    let object = match routine.kind {
        RoutineKind::Function => Object::Function,
        RoutineKind::Procedure => Object::Procedure,
        RoutineKind::Package => Object::Package,
        RoutineKind::PackageBody => Object::PackageBody,
        RoutineKind::Library => Object::Library,
    };
    read(conn, object, &routine.schema, &routine.name)
}

/// The value that a MariaDB sequence continues from after a restart: never one
/// that was given out; and how often it has begun again. Put both back with
/// `SETVAL(seq, value, 0, count)`.
pub fn sequence_next(conn: &mut Conn, schema: &str, name: &str) -> Result<(i64, u64)> {
    let what = format!("value of {}", title(Object::Sequence, schema, name));
    let sql = format!(
        "SELECT next_not_cached_value, cycle_count FROM {}",
        quote::qualified(schema, name)
    );
    let answer = ask(conn, &what, &sql).map_err(|e| gone(e, &what))?;
    let row = answer.first();
    let next = row.and_then(|r| r.text(0)).and_then(|t| t.parse().ok());
    let count = row.and_then(|r| r.text(1)).and_then(|t| t.parse().ok());
    next.zip(count).ok_or_else(|| Error::Answer {
        what,
        why: "no number".into(),
    })
}

/// "No such …" as a variant of its own: between listing and reading, objects come and go.
fn gone(error: Error, what: &str) -> Error {
    // 1049 schema, 1146 table, 1305 routine, 1360 trigger, 1539 event, 4091 sequence
    if matches!(error.code(), Some(1049 | 1146 | 1305 | 1360 | 1539 | 4091)) {
        return Error::Gone {
            what: what.to_owned(),
        };
    }
    error
}

fn grant_to_show(object: Object, schema: &str) -> String {
    let privilege = match object {
        Object::Trigger => "TRIGGER",
        Object::Event => "EVENT",
        Object::View => "SHOW VIEW",
        _ => return "GRANT SHOW_ROUTINE ON *.* on MySQL, GRANT SELECT ON mysql.proc on MariaDB and MySQL 5.x".into(),
    };
    format!(
        "GRANT {privilege} ON {}.* TO CURRENT_USER()",
        quote::ident(schema)
    )
}

//! What statements change without naming it: the tables of views, and what routines and triggers do.

use super::server_side::text;
use base::Result;
use binlog_archive::{Program, Touched};
use run::failure;
use wire::Conn;

/// Names of views and routines, and of tables whose changes others follow: those with triggers, and those that foreign keys connect.
pub fn names(conn: &mut Conn) -> Result<Vec<String>> {
    let rows = conn
        .fetch(
            "SELECT table_name FROM information_schema.views WHERE table_schema NOT IN ('mysql', 'sys') \
            UNION SELECT routine_name FROM information_schema.routines WHERE routine_schema NOT IN ('mysql', 'sys') \
            UNION SELECT event_object_table FROM information_schema.triggers WHERE trigger_schema NOT IN ('mysql', 'sys') \
            UNION SELECT table_name FROM information_schema.referential_constraints \
            UNION SELECT referenced_table_name FROM information_schema.referential_constraints",
        )
        .map_err(unread)?;
    Ok(rows.iter().filter_map(|row| text(row, 0)).collect())
}

/// Adds the names in all programs that statements may have run, and in those that these run.
pub fn follow(conn: &mut Conn, touched: &mut Touched) -> Result<()> {
    if !touched.has_statements() {
        return Ok(());
    }
    let rows = conn
        .fetch(
            "SELECT table_name, view_definition FROM information_schema.views WHERE table_schema NOT IN ('mysql', 'sys') \
            UNION ALL SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema NOT IN ('mysql', 'sys') \
            UNION ALL SELECT event_object_table, action_statement FROM information_schema.triggers WHERE trigger_schema NOT IN ('mysql', 'sys')",
        )
        .map_err(unread)?;
    let programs = rows.into_iter().filter_map(|mut row| {
        Some(Program {
            name: text(&row, 0)?,
            text: row.get_mut(1)?.take().filter(|t| !t.is_empty()),
        })
    });
    touched.follow(&programs.collect::<Vec<_>>());
    Ok(())
}

fn unread(e: wire::Error) -> base::Error {
    failure::wire("cannot read the definitions of views and routines", e)
}

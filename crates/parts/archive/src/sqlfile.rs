//! The SQL files of the format: definitions as text, one object per statement,
//! fit to be run a second time.
//!
//! Names reach comments only with control characters made visible, so a name
//! with a newline in it cannot end a `--` comment and become a statement. Each
//! stored object runs under the settings it was made with, and its body is
//! enclosed by a delimiter that does not occur in it. Files are UTF-8.
//!
//! Nothing here is meant to be trusted by its reader: what a loader lets
//! through is the loader's decision.

mod program;
#[cfg(test)]
mod tests;
mod users;

pub use program::{Program, ProgramKind, keeps_charset};
pub use users::{AccountSql, users_sql};

use base::units::printable;
use program::{restore_charset, save_charset};
use std::fmt::Write;

/// What the comments at the top of each file tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<'a> {
    /// Name and version of the tool.
    pub tool: &'a str,
    /// Host that was dumped.
    pub host: &'a str,
    /// Version of the server.
    pub server_version: &'a str,
}

impl Header<'_> {
    fn text(&self, schema: &str, object: &str) -> String {
        let mut out = String::new();
        let (tool, host) = (printable(self.tool), printable(self.host));
        let _ = writeln!(out, "-- MySQLShell dump 2.0.1  Distrib {tool}");
        let _ = writeln!(out, "--");
        let _ = write!(out, "-- Host: {host}    Database: {}", printable(schema));
        if !object.is_empty() {
            let _ = write!(out, "    Table: {}", printable(object));
        }
        let rule = "-".repeat(54);
        let version = printable(self.server_version);
        let _ = writeln!(out, "\n-- {rule}\n-- Server version\t{version}");
        out
    }
}

/// A name as an SQL identifier.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `@.post.sql`: a header and nothing else.
pub fn empty_sql(header: &Header<'_>) -> String {
    header.text("", "")
}

/// `@.sql`, which is run before all else: a header, and these statements.
pub fn before_sql(header: &Header<'_>, statements: &[String]) -> String {
    let mut out = header.text("", "");
    for statement in statements {
        let _ = writeln!(out, "{statement};");
    }
    out
}

/// `S.sql`: the schema, its events, and its routines. `create_database` is
/// what SHOW CREATE DATABASE says; `collation` is the schema's own.
pub fn schema_sql(
    header: &Header<'_>,
    schema: &str,
    create_database: &str,
    collation: &str,
    events: &[Program],
    routines: &[Program],
) -> String {
    let mut out = header.text(schema, "");
    let create = if_not_exists(
        create_database,
        "CREATE DATABASE ",
        "/*!32312 IF NOT EXISTS*/ ",
    );
    let _ = writeln!(
        out,
        "\n--\n-- Dumping database '{}'\n--\n",
        printable(schema)
    );
    let _ = writeln!(out, "{};\n\nUSE {};", end_trimmed(&create), quote(schema));
    for (what, objects) in [("events", events), ("routines", routines)] {
        if objects.is_empty() {
            continue;
        }
        let name = printable(schema);
        let _ = writeln!(out, "\n--\n-- Dumping {what} for database '{name}'\n--");
        for object in objects {
            object.write(schema, collation, &mut out);
        }
    }
    out
}

/// `S@T.sql`: a table (or sequence), from what SHOW CREATE says.
pub fn table_sql(header: &Header<'_>, schema: &str, table: &str, create: &str) -> String {
    let mut out = header.text(schema, table);
    let mut create = if_not_exists(create, "CREATE TABLE ", "IF NOT EXISTS ");
    create = if_not_exists(&create, "CREATE SEQUENCE ", "IF NOT EXISTS ");
    let name = printable(&quote(table));
    let _ = writeln!(out, "\n--\n-- Table structure for table {name}\n--\n");
    out.push_str("/*!40101 SET @saved_cs_client     = @@character_set_client */;\n");
    out.push_str("/*!50503 SET character_set_client = utf8mb4 */;\n");
    let _ = writeln!(out, "{};", end_trimmed(&create));
    out.push_str("/*!40101 SET character_set_client = @saved_cs_client */;\n");
    out
}

/// `S@V.pre.sql`: a placeholder with the view's columns, so that views which use
/// each other can be made in any order. It replaces a view of that name, and
/// fails, rather than drop anything, where a table has the name.
pub fn view_pre_sql(header: &Header<'_>, schema: &str, view: &str, columns: &[String]) -> String {
    let mut out = header.text(schema, view);
    let name = printable(&quote(view));
    let _ = writeln!(
        out,
        "\n--\n-- Temporary view structure for view {name}\n--\n"
    );
    let _ = write!(out, "CREATE OR REPLACE VIEW {} AS SELECT", quote(view));
    for (i, column) in columns.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n 1 AS {}", quote(column));
    }
    if columns.is_empty() {
        // A view that the server cannot open has no columns to show.
        out.push_str(" 1");
    }
    out.push_str(";\n");
    out
}

/// `S@V.sql`: the view itself, from what SHOW CREATE VIEW says.
pub fn view_sql(
    header: &Header<'_>,
    schema: &str,
    view: &str,
    create: &str,
    character_set_client: &str,
    collation_connection: &str,
) -> String {
    let mut out = header.text(schema, view);
    let name = printable(&quote(view));
    let _ = writeln!(out, "\n--\n-- Final view structure for view {name}\n--\n");
    let _ = writeln!(out, "/*!50001 DROP VIEW IF EXISTS {}*/;", quote(view));
    save_charset(create, character_set_client, collation_connection, &mut out);
    let _ = writeln!(out, "{};", end_trimmed(create));
    restore_charset(&mut out);
    out
}

/// `S@T.triggers.sql`: the triggers of a table, in the order of their
/// execution; `collation` is the schema's own.
pub fn triggers_sql(
    header: &Header<'_>,
    schema: &str,
    table: &str,
    collation: &str,
    triggers: &[Program],
) -> String {
    let mut out = header.text(schema, table);
    let name = printable(&format!("{}.{}", quote(schema), quote(table)));
    let _ = writeln!(out, "\n--\n-- Dumping triggers for table {name}\n--");
    for trigger in triggers {
        trigger.write(schema, collation, &mut out);
    }
    out
}

/// Inserts `clause` after the leading `create`, unless it is there already.
fn if_not_exists(statement: &str, create: &str, clause: &str) -> String {
    match statement.trim_start().strip_prefix(create) {
        Some(rest) if !rest.starts_with("IF NOT EXISTS") && !rest.starts_with("/*!32312 IF") => {
            format!("{create}{clause}{rest}")
        }
        _ => statement.to_owned(),
    }
}

/// A statement without blanks and semicolons at its end.
fn end_trimmed(statement: &str) -> &str {
    statement.trim_end_matches(|c: char| c == ';' || c.is_whitespace())
}

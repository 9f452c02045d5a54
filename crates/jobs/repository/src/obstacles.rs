//! What in a log a backup may be no beginning for: changes of what the backup does not hold.
//!
//! A snapshot holds everything. The accounts of a dump are not restored with a log, and it may hold a part of the schemas and tables only. So before one is
//! restored, the log on the way is read through.

use crate::accounts::{Step, steps};
use base::Result;
use base::units::printable;
use binlog::gtid::Gtid;
use binlog_archive::{Kept, Met, Place, Route, What};
use dumps::Dialect;
use dumps::statement::{Kind, Name, classify};
use run::Run;
use server::Filter;
use server::filter::is_system_schema;
use std::ops::ControlFlow;

/// A statement that changes accounts.
#[derive(Clone, Debug)]
pub struct AccountChange {
    /// What it does, in its order.
    pub steps: Vec<Step>,
    /// Its first words; the others may hold secrets.
    pub verb: String,
    /// Where it is.
    pub place: Place,
    /// Its transaction.
    pub gtid: Option<Gtid>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Obstacles {
    /// The first thing outside of the selection, in words.
    pub outside: Option<String>,
    /// In the order of the log.
    pub accounts: Vec<AccountChange>,
}

/// Reads the log on the way; `filter` is what the backup holds, if not everything.
pub fn look(run: &Run, kept: &Kept, route: &Route, filter: Option<&Filter>) -> Result<Obstacles> {
    let mut found = Obstacles::default();
    kept.survey(run, route, |met| {
        if let What::Statement { text, .. } = met.what {
            let steps = steps(text);
            if !steps.is_empty() {
                found.accounts.push(AccountChange {
                    steps,
                    verb: verb(text),
                    place: place(met),
                    gtid: met.gtid.cloned(),
                });
                return Ok(ControlFlow::Continue(()));
            }
        }
        if let Some(outside) = filter.and_then(|f| outside(f, met.what)) {
            let name = met
                .gtid
                .map_or_else(String::new, |g| format!(", transaction {g}"));
            found.outside = Some(printable(&format!("{outside} at {}{name}", place(met))));
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn place(met: &Met<'_>) -> Place {
    Place {
        file: met.file.to_owned(),
        offset: met.at,
    }
}

/// The first two words of a statement, or the first if the second is a name.
fn verb(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(100)]).into_owned();
    let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
    let first = words.next().unwrap_or_default();
    match words.next() {
        Some(second) if ["USER", "ROLE", "PASSWORD"].contains(&second.as_str()) => {
            format!("{first} {second}")
        }
        _ => first,
    }
}

/// The name of what is changed outside of a selection.
fn outside(filter: &Filter, what: What<'_>) -> Option<String> {
    let lossy = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let table = |schema: &str, table: &str| {
        let is = is_system_schema(schema) || filter.table(schema, table);
        (!is).then(|| format!("the table {schema}.{table}"))
    };
    let schema = |schema: &str| {
        let is = schema.is_empty() || is_system_schema(schema) || filter.schema(schema);
        (!is).then(|| format!("the schema {schema}"))
    };
    let (default, text) = match what {
        What::Rows { schema, table: t } => return table(&lossy(schema), &lossy(t)),
        What::Statement { schema, text } => (lossy(schema), text),
    };
    if is_of_temporary_table(text) {
        return None;
    }
    let named = |name: &Name| {
        let of = name.schema.as_deref().unwrap_or(&default);
        table(of, &name.name)
    };
    match classify(text, Dialect::default()).kind {
        Kind::CreateDatabase(name) | Kind::DropDatabase(name) | Kind::AlterDatabase(Some(name)) => {
            schema(&name)
        }
        Kind::Insert(head) => {
            let of = head.schema.as_deref().unwrap_or(&default);
            table(of, &head.table)
        }
        Kind::Set(_) | Kind::Transaction | Kind::Rollback | Kind::Use(_) | Kind::Upkeep => None,
        kind @ (Kind::CreateRoutine(_) | Kind::CreateEvent(_) | Kind::DropObject(_)) => kind
            .objects()
            .iter()
            .find_map(|n| schema(n.schema.as_deref().unwrap_or(&default))),
        kind if !kind.objects().is_empty() => kind.objects().iter().find_map(named),
        _ => schema(&default),
    }
}

/// Servers write these by themselves when a session ends; where there is no such table, nothing happens.
fn is_of_temporary_table(text: &[u8]) -> bool {
    let begin = String::from_utf8_lossy(&text[..text.len().min(80)]).to_ascii_uppercase();
    begin.starts_with("DROP") && begin.contains("TEMPORARY") && begin.contains("IF EXISTS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_named() {
        let filter = |schemas: &[&str], tables: &[&str]| {
            Filter::new(schemas, &[], &[], tables).expect("patterns")
        };
        let shop = filter(&["shop"], &[]);
        let partly = filter(&["shop"], &["shop.log"]);
        let run = |filter: &Filter, schema: &str, text: &str| {
            let what = What::Statement {
                schema: schema.as_bytes(),
                text: text.as_bytes(),
            };
            outside(filter, what).unwrap_or_default()
        };
        for inside in [
            "CREATE TABLE t (a INT)",
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET a = 1",
            "DROP DATABASE shop",
            "ALTER TABLE shop.t ADD b INT",
            "DROP TEMPORARY TABLE IF EXISTS `other`.`x` /* generated by server */",
            "FLUSH PRIVILEGES",
        ] {
            assert_eq!(run(&shop, "shop", inside), "", "{inside}");
        }
        for (text, wanted) in [
            ("CREATE TABLE other.t (a INT)", "the table other.t"),
            ("DROP TABLE IF EXISTS shop.t, other.t", "the table other.t"),
            ("CREATE DATABASE other", "the schema other"),
            ("INSERT INTO other.t VALUES (1)", "the table other.t"),
        ] {
            assert_eq!(run(&shop, "shop", text), wanted, "{text}");
        }
        assert_eq!(run(&shop, "other", "DELETE FROM t"), "the schema other");
        assert_eq!(run(&shop, "", "FLUSH TABLES"), "");
        let alter = "ALTER TABLE log ADD b INT";
        assert_eq!(run(&partly, "shop", alter), "the table shop.log");
        let rows = |schema: &'static str, table: &'static str| What::Rows {
            schema: schema.as_bytes(),
            table: table.as_bytes(),
        };
        assert!(outside(&shop, rows("shop", "log")).is_none());
        assert!(outside(&partly, rows("shop", "log")).is_some());
        assert!(outside(&shop, rows("mysql", "time_zone")).is_none());
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(verb(b"create  user a IDENTIFIED BY 'x'"), "CREATE USER");
        assert_eq!(verb(b"GRANT ALL ON *.* TO a IDENTIFIED BY 'x'"), "GRANT");
        assert_eq!(verb(b"SET PASSWORD FOR a = 'x'"), "SET PASSWORD");
    }
}

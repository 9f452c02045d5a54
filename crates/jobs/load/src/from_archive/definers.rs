//! Definers that the target does not have: what they define is created, and then fails whenever it is used (error
//! 1449), an INSERT into a table with a trigger too. So they are named before the load begins.

use super::definitions::statements;
use super::{LoadPlan, SchemaSelection, definer_clause};
use crate::Target;
use crate::options::Definers;
use crate::script::Statement;
use archive::open::Schema;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::Dialect;
use dumps::tokens::Tokens;
use rows::accounts::Name;
use run::failure;
use server::quote;
use std::collections::{BTreeMap, BTreeSet};

/// An account: name and host; the host of a role is empty.
type Account = (String, String);

/// Objects that are named of each definer.
const NAMED: usize = 5;

/// What the definitions of a load say of the objects that are made after the rows.
#[derive(Default)]
pub(super) struct Programs {
    /// Objects that act with the rights of their definer, by definer.
    wanted: BTreeMap<Account, Vec<String>>,
    /// Objects whose definers are changed as asked for, by the one they had.
    changed: BTreeMap<Account, Vec<String>>,
    /// Functions and triggers: with the binary log on, servers take them only from whom they trust.
    pub(super) trusted: Vec<String>,
}

impl Programs {
    /// Reads the definitions.
    pub(super) fn read(t: &Target<'_>, plan: &LoadPlan) -> Result<Programs> {
        let mut programs = Programs::default();
        for part in &plan.schemas {
            t.run.check()?;
            collect(plan, part, &plan.archive.schemas()[part.at], &mut programs)?;
        }
        Ok(programs)
    }

    /// The objects that have another definer than this account, which is written as `'user'@'host'`.
    pub(super) fn of_others(&self, account: &str) -> Vec<&str> {
        let own = |a: &Account| format!("{}@{}", quote::text(&a.0), quote::text(&a.1)) == account;
        let others = self.wanted.iter().filter(|(a, _)| !own(a));
        others
            .flat_map(|(_, o)| o.iter().map(String::as_str))
            .collect()
    }
}

/// The first of a list of objects, and how many more there are.
pub(super) fn shown<S: AsRef<str>>(objects: &[S]) -> String {
    let more = match objects.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let first: Vec<&str> = objects.iter().take(NAMED).map(S::as_ref).collect();
    first.join(", ") + &more
}

/// Says which definers are changed; an account that is to be replaced, and defines nothing, is an error.
fn changed(t: &mut Target<'_>, programs: &Programs, loader: &str) -> Result<()> {
    let keys: BTreeSet<Account> = programs
        .changed
        .keys()
        .map(|(user, host)| (user.clone(), host.to_lowercase()))
        .collect();
    if let Definers::Map(map) = &t.options.definers
        && let Some((user, host)) = map.keys().find(|k| !keys.contains(*k))
    {
        let what = format!(
            "--definer map=…: nothing that is loaded has the definer {}@{}",
            quote::ident(user),
            quote::ident(host)
        );
        return Err(Error::new(Kind::Usage, printable(&what)).hint(
            "the definitions are in the archive's .sql files; leave it out if it is not meant",
        ));
    }
    for (account, objects) in &programs.changed {
        let to = match &t.options.definers {
            Definers::Map(map) => map
                .get(&(account.0.clone(), account.1.to_lowercase()))
                .map_or_else(String::new, Name::sql),
            _ => format!("{loader}, who loads them"),
        };
        t.report.notes.push(printable(&format!(
            "{} {} the definer {to} here, and had {}",
            shown(objects),
            if objects.len() == 1 { "has" } else { "have" },
            quoted(account)
        )));
    }
    Ok(())
}

/// Names the definers that the target does not have, and those that are changed; `loader` is the account of this load.
pub(super) fn check(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    programs: Programs,
    loader: &str,
) -> Result<()> {
    changed(t, &programs, loader)?;
    let brought = super::accounts::brought(plan, &t.id);
    let will_be = |a: &Account| brought.contains(&(a.0.clone(), a.1.to_lowercase()));
    let mut wanted = programs.wanted;
    wanted.retain(|account, _| !will_be(account));
    let in_archive = plan.accounts_left();
    // The accounts of a new replica come after its rows, and those that cannot be made are named then.
    if wanted.is_empty() || t.options.for_replica {
        return Ok(());
    }
    let known = match t.conn.fetch("SELECT user, host FROM mysql.user") {
        Ok(rows) => rows
            .into_iter()
            .map(|row| {
                let mut cells = row
                    .into_iter()
                    .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
                let (user, host) = (cells.next(), cells.next());
                (
                    user.unwrap_or_default(),
                    host.unwrap_or_default().to_lowercase(),
                )
            })
            .collect::<BTreeSet<Account>>(),
        Err(wire::Error::Server(_)) => {
            let names: Vec<String> = wanted.keys().map(quoted).collect();
            t.report.remarks.push(printable(&format!(
                "this account cannot see whether the target has the definers of views, triggers and routines ({}): without them these fail when they are used",
                names.join(", ")
            )));
            return Ok(());
        }
        Err(e) => return Err(failure::wire("cannot look for definers", e)),
    };
    for (account, objects) in wanted {
        if known.contains(&(account.0.clone(), account.1.to_lowercase())) {
            continue;
        }
        let name = quoted(&account);
        let there = in_archive.contains(&Name::account(&account.0, &account.1).to_string());
        let how = match there {
            true => " (or load with --users: the archive has this account)",
            false => "",
        };
        t.refused(format!(
            "definer {name} does not exist on the target: {} will fail when used (error 1449) until CREATE USER {name} ACCOUNT LOCK and its GRANTs are run there{how}; --definer gives them another",
            shown(&objects)
        ));
    }
    Ok(())
}

fn quoted(account: &Account) -> String {
    format!("{}@{}", quote::ident(&account.0), quote::ident(&account.1))
}

/// Adds the definers of what is loaded of a schema.
fn collect(
    plan: &LoadPlan,
    part: &SchemaSelection,
    schema: &Schema,
    programs: &mut Programs,
) -> Result<()> {
    let mut files: Vec<&String> = Vec::new();
    files.extend(
        part.tables
            .iter()
            .filter_map(|at| schema.tables[*at].triggers.as_ref()),
    );
    files.extend(part.views.iter().map(|at| &schema.views[*at].ddl));
    if part.whole {
        files.extend(&schema.ddl);
    }
    for file in files {
        // What may not run is refused when its turn comes.
        let statements = statements(plan, Some(&schema.name), file).unwrap_or_default();
        for statement in statements.into_iter().filter(|s| plan.parts.has(s.kind)) {
            if let Some((word @ ("function" | "trigger"), name)) = statement.object() {
                let object = format!("{word} {}", quote::qualified(&schema.name, &name));
                programs.trusted.push(object);
            }
            if let (Some(was), Some((word, name))) = (&statement.definer, statement.object()) {
                let account = (was.user.clone(), was.host.clone().unwrap_or_default());
                let object = format!("{word} {}", quote::qualified(&schema.name, &name));
                programs.changed.entry(account).or_default().push(object);
            }
            if let Some((account, object)) = definer(&schema.name, &statement) {
                programs.wanted.entry(account).or_default().push(object);
            }
        }
    }
    Ok(())
}

/// The definer of an object that acts with that account's rights, and the object.
fn definer(schema: &str, statement: &Statement) -> Option<(Account, String)> {
    let (word, name) = statement.object()?;
    let (_, account) = definer_clause::find(statement)?;
    if as_invoker(Tokens::new(statement.text.as_bytes(), Dialect::default())) {
        return None;
    }
    let (user, host) = (account.user, account.host.unwrap_or_default());
    let object = format!("{word} {}", quote::qualified(schema, &name));
    Some(((user, host), object))
}

/// Whether it says `SQL SECURITY INVOKER` before its body.
fn as_invoker(mut tokens: Tokens<'_>) -> bool {
    const BODY: [&str; 5] = ["BEGIN", "SELECT", "RETURN", "AS", "DO"];
    while let Some(token) = tokens.next() {
        if BODY.iter().any(|b| token.is(b)) {
            return false;
        }
        if token.is("SECURITY") {
            return tokens.next().is_some_and(|t| t.is("INVOKER"));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;

    #[test]
    fn definers_are_found() {
        let of = |text: &str| {
            let statements = script::statements("x", text).expect("a script");
            definer("s", &statements[0])
        };
        let account = |u: &str, h: &str| (u.to_owned(), h.to_owned());
        assert_eq!(
            of(
                "CREATE ALGORITHM=UNDEFINED DEFINER=`a``b`@`%` SQL SECURITY DEFINER VIEW `v` AS SELECT 1"
            ),
            Some((account("a`b", "%"), "view `s`.`v`".to_owned()))
        );
        assert_eq!(
            of("CREATE DEFINER=`r`@`10.0.0.%` TRIGGER t AFTER INSERT ON `x` FOR EACH ROW SET @a = 1")
                .map(|d| d.0),
            Some(account("r", "10.0.0.%"))
        );
        assert_eq!(
            of("CREATE DEFINER=`role` PROCEDURE `p`() SELECT 1").map(|d| d.0),
            Some(account("role", ""))
        );
        for none in [
            "CREATE DEFINER=`a`@`%` SQL SECURITY INVOKER VIEW `v` AS SELECT 1",
            "CREATE DEFINER=`a`@`%` PROCEDURE `p`() SQL SECURITY INVOKER SELECT 1",
            "CREATE PROCEDURE `DEFINER`(`=` int) SELECT 1",
            "CREATE TABLE t (`DEFINER` int)",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}

//! After an interrupted load: removes what it has left of tablespaces, before anything is created again,
//! and compares the tables that it has imported and had no time to compare.
//!
//! Invariants: files are removed only in a directory that is certainly this server's; a table that holds
//! rows which no load has entered into the journal is not dropped.

use super::datadir::Datadir;
use super::drop_table::{drop_table, remove_file};
use super::{MethodPlan, PhysicalLoad, partitions, qualified};
use crate::journal::{self, Journal};
use crate::{LoadPlan, Target};
use archive::open::Table;
use base::units::printable;
use base::{Counters, Error, Kind, Result, failpoint};
use run::failure;
use server::quote;
use std::path::Path;

/// Removes the files that the journal names, and drops their tables. Tables that are imported as
/// tablespaces now are dropped too if they have no rows yet, so that they are created as a physical import
/// needs them.
pub fn clear(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    journal: &Journal,
    methods: &mut MethodPlan,
) -> Result<()> {
    let begun: Vec<(String, String)> = journal
        .files()
        .map(|(t, p)| (t.to_owned(), p.to_owned()))
        .collect();
    let datadir = match begun.is_empty() {
        true => None,
        false => confirmed_datadir(t, journal::home(plan))?,
    };
    if datadir.is_none() && !begun.is_empty() {
        let names: Vec<&str> = begun.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::new(
            Kind::Target,
            printable(&format!(
                "the interrupted load was importing tablespaces of {}, and the server's data directory ({}) is not accessible from here to remove what is left of them",
                names.join(", "),
                t.id.datadir
            )),
        )
        .hint("resume with --resume on the server's host, with the user and the account of the interrupted load"));
    }
    for (name, path) in &begun {
        let path = Path::new(path);
        if datadir.as_ref().is_some_and(|d| d.is_build_path(path)) {
            remove_file(path)?;
        }
        let table = plan.tables().find(|t| qualified(t) == *name);
        let paths = datadir.as_ref().and_then(|datadir| match table {
            Some(t) => datadir.paths(methods.lower_case(), &t.schema, &t.name),
            None => partitions::exchange_table_paths(plan, datadir, methods.lower_case(), name),
        });
        drop_table(t, name, paths)?;
        failpoint::reached("what was left of a file is gone");
        journal.forget_tablespace(&mut t.conn, name)?;
        if table.is_some() {
            t.run.observer.note(printable(&format!(
                "table {name}: its import was interrupted: it is loaded again"
            )));
        }
    }
    for table in methods.physical_tables(plan) {
        let name = qualified(table);
        match has_rows(t, &name)? {
            // The load had not come to it.
            None => continue,
            // Rows of the load would be in the journal: these are another session's, and are not dropped.
            Some(true) => {
                methods.use_sql(&name, "they hold rows that no load has entered");
                continue;
            }
            Some(false) => {}
        }
        t.execute(
            &format!("DROP TABLE IF EXISTS {name}"),
            &format!("cannot drop table {name}, which the interrupted load has created"),
        )?;
    }
    Ok(())
}

/// The data directory, if it is certainly this server's: the description of the journal's table appears in
/// it when the server exports that table, and disappears afterwards. A directory of the same name on
/// another host may be another server's.
fn confirmed_datadir(t: &mut Target<'_>, home: &str) -> Result<Option<Datadir>> {
    let Ok(datadir) = Datadir::find(t) else {
        return Ok(None);
    };
    let lower_case = t.id.lower_case_table_names != 0;
    let Some(paths) = datadir.paths(lower_case, home, journal::TABLE) else {
        return Ok(None);
    };
    let export = format!(
        "FLUSH TABLES {} FOR EXPORT",
        quote::qualified(home, journal::TABLE)
    );
    let appears = t.conn.execute(export).is_ok() && paths.description.exists();
    t.execute("UNLOCK TABLES", "cannot unlock tables")?;
    let confirmed = appears && !paths.description.exists();
    Ok(confirmed.then_some(datadir))
}

/// Whether a table has rows; `None` if there is no such table.
fn has_rows(t: &mut Target<'_>, name: &str) -> Result<Option<bool>> {
    match t.conn.fetch(format!("SELECT 1 FROM {name} LIMIT 1")) {
        Ok(rows) => Ok(Some(!rows.is_empty())),
        // It has not been created, or another session has dropped it; MySQL says so of its schema.
        Err(e) if matches!(e.code(), Some(1146 | 1049)) => Ok(None),
        Err(e) => Err(failure::wire(
            format_args!("cannot look into table {name}"),
            e,
        )),
    }
}

impl PhysicalLoad<'_, '_> {
    /// Compares the tables that the interrupted load has imported and had no time to compare.
    pub(super) fn verify_interrupted(&mut self) -> Result<()> {
        let journal = &self.prepared.journal;
        let is_unverified = |table: &&Table| {
            let imported = table.chunks.iter().all(|c| journal.has(&c.file));
            imported && journal.is_unverified(&qualified(table))
        };
        let unverified: Vec<&Table> = self.plan.tables().filter(is_unverified).collect();
        if unverified.is_empty() {
            return Ok(());
        }
        let (id, catalog) = self.catalog(&unverified)?;
        let verifier = self.verifier(&id, &catalog);
        for table in unverified {
            match verifier.table(table, &Counters::default())? {
                (_, Some(difference)) => self.load_again(table, &difference)?,
                (compared, None) => {
                    self.compared = Some(compared.and(self.compared.take()));
                    let name = qualified(table);
                    self.prepared
                        .journal
                        .mark_verified(&mut self.target.conn, &name)?;
                }
            }
        }
        Ok(())
    }
}

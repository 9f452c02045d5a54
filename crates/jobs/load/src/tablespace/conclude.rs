//! What happens to a table after its verdict: it is counted, built once more, or loaded by SQL.
//!
//! Invariant: before a table is loaded by SQL it is dropped and created again, and the journal forgets its
//! tablespace.

use super::outcome::{Imported, Rejection, Verdict};
use super::{PhysicalLoad, qualified};
use crate::{create_table, raw_bytes};
use archive::open::Table;
use base::Result;
use base::units::printable;

impl PhysicalLoad<'_, '_> {
    /// Does what a verdict asks for. Returns whether the table is to be built once more.
    pub(super) fn conclude(&mut self, table: &Table, verdict: Verdict<Imported>) -> Result<bool> {
        let name = qualified(table);
        let rejection = match verdict {
            Verdict::Ready(imported) => {
                self.prepared.journal.mark_imported(&chunk_files(table));
                self.compared = Some(imported.compared.and(self.compared.take()));
                self.summary.bytes += imported.bytes;
                self.summary.raw_bytes += raw_bytes(table);
                return Ok(false);
            }
            Verdict::Rejected(rejection) => rejection,
        };
        match rejection {
            Rejection::Indexes(indexes) => {
                // The server can build these; all else of the table is built once more.
                if indexes
                    .iter()
                    .all(|i| self.methods.leave_to_server(&name, i))
                {
                    self.create_again(table)?;
                    return Ok(true);
                }
                let indexes = indexes.join(", ");
                let why = format!("the order of values in index {indexes} is not known here");
                self.use_sql(table, &why)?;
            }
            Rejection::UseSql(why) => self.use_sql(table, &why)?,
            Rejection::Suspect(what) => {
                self.add_exception(&name, &what);
                self.use_sql(table, "the physical import failed")?;
            }
            Rejection::Differs(difference) => self.load_again(table, &difference)?,
        }
        Ok(false)
    }

    /// The rows of an imported table are not those that were dumped: it is loaded again, by SQL.
    pub(super) fn load_again(&mut self, table: &Table, difference: &str) -> Result<()> {
        let name = qualified(table);
        self.add_exception(&name, &format!("the imported table differs: {difference}"));
        // The rows go first: were the load killed in between, its journal would name chunks that are gone.
        self.target.execute(
            &format!("DROP TABLE IF EXISTS {name}"),
            &format!("cannot drop table {name}"),
        )?;
        let files = chunk_files(table);
        self.prepared.journal.mark_imported(&files);
        self.prepared.journal.forget(self.target, &files)?;
        self.use_sql(table, "the imported table differed")?;
        let conn = &mut self.target.conn;
        self.prepared.journal.mark_verified(conn, &name)
    }

    /// Something was not as it should be: the user gets a warning and an exception in the summary.
    fn add_exception(&mut self, name: &str, what: &str) {
        let text = printable(&format!(
            "table {name}: {what}; the table was dropped and loaded by SQL"
        ));
        self.target.run.observer.warn(text.clone());
        self.target.report.exceptions.push(text);
    }

    /// The table is loaded by SQL, for this reason.
    fn use_sql(&mut self, table: &Table, reason: &str) -> Result<()> {
        self.methods.use_sql(&qualified(table), reason);
        self.create_again(table)
    }

    /// Creates the table again, empty; nothing is left of its tablespace.
    fn create_again(&mut self, table: &Table) -> Result<()> {
        create_table::again(self.target, self.plan, table, self.methods, self.prepared)?;
        let conn = &mut self.target.conn;
        self.prepared
            .journal
            .forget_tablespace(conn, &qualified(table))
    }
}

/// The files of a table's chunks, as the journal names them.
fn chunk_files(table: &Table) -> Vec<&str> {
    table.chunks.iter().map(|c| c.file.as_str()).collect()
}

//! Deletes the rows that are not wanted, once all rows of a table are there and were compared with the archive.
//!
//! Invariant: rows are only deleted of a table that holds exactly the rows of the archive, and what stays is what matched before
//! the first was deleted. On an engine with transactions the rows and the entry in the journal go together. Whole partitions and
//! rows of other engines are gone at once: there the journal says before that they may be, and how many stay, so that a load that
//! was killed in between deletes the rest, and compares no more.

use super::{order, session, use_schema};
use crate::from_archive::plan::LoadPlan;
use crate::from_archive::prepared::Prepared;
use crate::from_archive::{compare, generated};
use crate::journal::Leaving;
use crate::load_report::Chosen;
use crate::sql::loaders;
use crate::target::Target;
use archive::open::{Table, same_partition};
use base::units::{count, printable};
use base::{Error, Kind, Result, failpoint};
use rows::table_plan::narrowed;
use run::failure;
use server::quote;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use verify::Comparison;
use wire::Conn;

/// The statement that deletes what does not match.
pub(super) fn statement(table: &str, condition: &str) -> String {
    // It may end in a comment, which ends with the line.
    format!("DELETE FROM {table} WHERE ({condition}\n) IS NOT TRUE")
}

/// Runs a statement; the refusal of the server is the inner error.
pub(super) fn run(
    conn: &mut Conn,
    sql: &str,
) -> Result<std::result::Result<(), wire::ServerError>> {
    match conn.execute(sql) {
        Ok(_) => Ok(Ok(())),
        Err(wire::Error::Server(e)) => Ok(Err(e)),
        Err(e) => Err(failure::wire("cannot try which rows are chosen", e)),
    }
}

/// Leaves of every table of which not all rows are wanted those that are. What was compared before is returned.
pub(in crate::from_archive) fn delete(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    tables: &[loaders::Table],
    prepared: &Prepared,
) -> Result<Option<Comparison>> {
    if plan.choices.is_empty() {
        return Ok(None);
    }
    let mut compared = None;
    let mut conn = session(t)?;
    for table in order::of(plan)? {
        let name = quote::qualified(&table.schema, &table.name);
        let loaded = tables.iter().find(|l| l.name == name);
        let (Some(loaded), Some(wanted)) = (loaded, plan.wanted(table)) else {
            // The target refused it.
            continue;
        };
        if plan.is_emptied(table) {
            continue;
        }
        t.run.check()?;
        use_schema(&mut conn, table)?;
        let leaving = match prepared.journal.chosen(&name) {
            Some(Some(leaving)) => leaving,
            // An earlier load that ended has done it.
            Some(None) => {
                let stay = number(&mut conn, &format!("SELECT COUNT(*) FROM {name}"), &name)?;
                let of = wanted.all.unwrap_or(stay);
                Leaving { stay, of }
            }
            None => {
                if let Some(condition) = &wanted.rest.condition {
                    order::has_all_rows_to_read(plan, table, condition, prepared)?;
                }
                if prepared.journal.leaving(&name).is_none() {
                    let all = compare_whole(t, plan, table, loaded)?;
                    compared = all.map(|all| all.and(compared.take())).or(compared);
                }
                let run = t.run;
                let _phase = run.phase("deleting rows that are not wanted", 1);
                OneTable {
                    t: &*t,
                    table,
                    name: &name,
                    wanted,
                    loaded,
                    prepared,
                }
                .delete(&mut conn)?
            }
        };
        loaded.loaded.store(leaving.stay, Ordering::SeqCst);
    }
    for table in plan.tables().filter(|t| !plan.is_emptied(t)) {
        let name = quote::qualified(&table.schema, &table.name);
        let loaded = tables.iter().find(|l| l.name == name);
        if let (Some(loaded), Some(wanted)) = (loaded, plan.wanted(table)) {
            let given = &wanted.given;
            let options = [
                (!given.partitions.is_empty(), "--partitions"),
                (given.condition.is_some(), "--where"),
            ];
            let given = options.into_iter().filter(|(given, _)| *given);
            t.report.chosen.push(Chosen {
                table: name,
                rows: loaded.loaded.load(Ordering::SeqCst),
                of: wanted.all,
                by: given.map(|(_, option)| option.to_owned()).collect(),
            });
        }
    }
    Ok(compared)
}

/// Compares a table as long as all of its rows are there, with the values of its generated columns.
fn compare_whole(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    loaded: &loaders::Table,
) -> Result<Option<Comparison>> {
    if !plan.compares_sql(t.options) {
        return Ok(None);
    }
    let compared = compare(t, plan, &[(table, loaded)], None)?;
    generated::compare(t, plan, &[table])?;
    Ok(compared)
}

/// A table that loses rows.
struct OneTable<'a, 't> {
    t: &'a Target<'t>,
    table: &'a Table,
    name: &'a str,
    wanted: &'a super::Wanted,
    loaded: &'a loaders::Table,
    prepared: &'a Prepared,
}

impl OneTable<'_, '_> {
    fn delete(&self, conn: &mut Conn) -> Result<Leaving> {
        let (journal, name) = (&self.prepared.journal, self.name);
        let others = Others::of(conn, self.table, &self.wanted.rest.partitions)?;
        // None of these is taken back by a transaction.
        let for_good = self.prepared.nontransactional.contains(name) || others.whole;
        self.run(conn, "START TRANSACTION")?;
        if !for_good {
            // First, so that a load which resumes this one waits for the end of the transaction.
            journal.enter_chosen(conn, name, None)?;
        }
        failpoint::reached("rows are about to be deleted");
        let leaving = match journal.leaving(name) {
            Some(leaving) => leaving,
            None => self.count(conn)?,
        };
        if for_good {
            if journal.leaving(name).is_none() {
                journal.begin_leaving(conn, name, leaving)?;
            }
            self.run(conn, "COMMIT")?;
            failpoint::reached("rows may be deleted for good");
            if others.whole {
                let list = quote::ident_list(others.names.iter().map(String::as_str));
                let sql = format!("ALTER TABLE {name} TRUNCATE PARTITION {list}");
                self.run(conn, &sql)?;
                failpoint::reached("partitions are emptied");
            }
            self.run(conn, "START TRANSACTION")?;
        }
        let mut deleted = 0;
        if !others.whole && !others.names.is_empty() {
            let list = quote::ident_list(others.names.iter().map(String::as_str));
            deleted += self.run(conn, &format!("DELETE FROM {name} PARTITION ({list})"))?;
        }
        if let Some(condition) = &self.wanted.rest.condition {
            deleted += self.run(conn, &statement(name, condition))?;
        }
        failpoint::reached("rows are deleted");
        if self.prepared.nontransactional.contains(name) {
            // With GTIDs, MySQL takes the two kinds of engine in two transactions only.
            self.run(conn, "COMMIT")?;
        }
        let left = number(conn, &format!("SELECT COUNT(*) FROM {name}"), name)?;
        // Rows that came meanwhile are in no count, and would have been deleted all the same.
        let others_too = !for_good && deleted != leaving.of - leaving.stay;
        if left != leaving.stay || others_too {
            self.run(conn, "ROLLBACK")?;
            let left = leaving.of.saturating_sub(deleted).min(left);
            let what = format!(
                "{} rows of {name} matched, and {} would be left: the condition is not the same each time, or another session writes to the table",
                count(leaving.stay),
                count(left)
            );
            let error = Error::new(Kind::Differs, printable(&what));
            return Err(match for_good {
                true => error.hint("rows are lost on the target: drop what was loaded, and load again with a condition that does not change"),
                false => error.hint("nothing was deleted"),
            });
        }
        journal.enter_chosen(conn, name, Some(leaving))?;
        self.run(conn, "COMMIT")?;
        failpoint::reached("only wanted rows are left");
        Ok(leaving)
    }

    /// Counts the rows that stay, of a table that has to have all rows of the archive.
    fn count(&self, conn: &mut Conn) -> Result<Leaving> {
        let name = self.name;
        let of = number(conn, &format!("SELECT COUNT(*) FROM {name}"), name)?;
        let loaded = self.loaded.loaded.load(Ordering::SeqCst);
        // Of a part that an interrupted load has loaded, not every archive says how many rows it has.
        let expected = self.loaded.rows.or((!self.t.resuming).then_some(loaded));
        if let Some(expected) = expected.filter(|n| *n != of) {
            self.run(conn, "ROLLBACK")?;
            let what = format!(
                "{name} has {} rows, and {} were loaded: another session writes to it, so none was deleted",
                count(of),
                count(expected)
            );
            return Err(Error::new(Kind::Differs, printable(&what)));
        }
        let sql = format!(
            "SELECT COUNT(*) FROM {}{}",
            self.wanted.rest.within(name),
            narrowed(String::new(), self.wanted.rest.condition.as_deref())
        );
        let stay = number(conn, &sql, name)?;
        Ok(Leaving { stay, of })
    }

    /// Runs a statement; how many rows it deleted.
    fn run(&self, conn: &mut Conn, sql: &str) -> Result<u64> {
        conn.execute(sql).map(|done| done.affected).map_err(|e| {
            let doing = format!(
                "cannot delete the rows of {} that are not wanted",
                self.name
            );
            failure::wire(printable(&doing), e)
        })
    }
}

/// The partitions whose rows are not wanted.
struct Others {
    names: Vec<String>,
    /// They are emptied as a whole, which is no transaction; of subpartitions servers empty only all.
    whole: bool,
}

impl Others {
    fn of(conn: &mut Conn, table: &Table, wanted: &[String]) -> Result<Others> {
        if wanted.is_empty() {
            return Ok(Others {
                names: Vec::new(),
                whole: false,
            });
        }
        let is_wanted = |name: &String| wanted.iter().any(|w| same_partition(w, name));
        let all = partitions(conn, table)?;
        let has_parts = all.iter().any(|(_, part)| part.is_some());
        let others = all
            .into_iter()
            .filter(|(name, part)| !is_wanted(name) && !part.as_ref().is_some_and(is_wanted));
        let names: BTreeSet<String> = others.map(|(name, part)| part.unwrap_or(name)).collect();
        Ok(Others {
            whole: !has_parts && !names.is_empty(),
            names: names.into_iter().collect(),
        })
    }
}

/// The partitions of a table on the target, each with its subpartition.
pub(super) fn partitions(conn: &mut Conn, table: &Table) -> Result<Vec<(String, Option<String>)>> {
    let sql = format!(
        "SELECT partition_name, subpartition_name FROM information_schema.partitions \
         WHERE table_schema = {} AND table_name = {} AND partition_name IS NOT NULL",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    let rows = conn.fetch(sql);
    let rows = rows.map_err(|e| failure::wire("cannot look at the partitions", e))?;
    let text = |cell: Option<Vec<u8>>| cell.map(|c| String::from_utf8_lossy(&c).into_owned());
    let all = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((text(cells.next()?)?, text(cells.next()?)))
    });
    Ok(all.collect())
}

fn number(conn: &mut Conn, sql: &str, name: &str) -> Result<u64> {
    let doing = || printable(&format!("cannot count the rows of {name}"));
    let rows = conn.fetch(sql).map_err(|e| failure::wire(doing(), e))?;
    let cell = rows.into_iter().flatten().flatten().next();
    cell.and_then(|c| String::from_utf8_lossy(&c).parse().ok())
        .ok_or_else(|| Error::new(Kind::Failed, doing()))
}

/// What says that a table has other rows than a load has left of it: their number.
pub(in crate::from_archive) fn changed_since(
    t: &mut Target<'_>,
    chosen: &[Chosen],
) -> Result<Option<String>> {
    for c in chosen {
        let name = &c.table;
        let there = number(&mut t.conn, &format!("SELECT COUNT(*) FROM {name}"), name)?;
        if there != c.rows {
            return Ok(Some(printable(&format!(
                "{name} has {} rows, and the load left {}",
                count(there),
                count(c.rows)
            ))));
        }
    }
    Ok(None)
}

/// Tables whose foreign keys refer to one of which rows were left out: their own rows stay.
pub(in crate::from_archive) fn referring(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let fewer = |c: &Chosen| c.of.is_none_or(|of| of > c.rows);
    let parents: BTreeSet<String> = t
        .report
        .chosen
        .iter()
        .filter(|c| fewer(c))
        .map(|c| c.table.clone())
        .collect();
    let schemas: BTreeSet<&str> = plan
        .tables()
        .filter(|table| parents.contains(&quote::qualified(&table.schema, &table.name)))
        .map(|table| table.schema.as_str())
        .collect();
    for schema in schemas {
        let sql = format!(
            "SELECT DISTINCT table_schema, table_name, referenced_table_name FROM information_schema.key_column_usage \
             WHERE referenced_table_schema = {}",
            quote::text(schema)
        );
        let rows = t.conn.fetch(sql);
        let rows = rows.map_err(|e| failure::wire("cannot look at the foreign keys", e))?;
        for row in rows {
            let cells: Vec<String> = row
                .into_iter()
                .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned())
                .collect();
            let [of, child, parent] = cells.as_slice() else {
                continue;
            };
            let parent = quote::qualified(schema, parent);
            if parents.contains(&parent) {
                t.report.remarks.push(printable(&format!(
                    "table {} has a foreign key to {parent}, of which rows were left out: rows that refer to one of those are there all the same",
                    quote::qualified(of, child)
                )));
            }
        }
    }
    Ok(())
}

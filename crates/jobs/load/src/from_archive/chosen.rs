//! Rows of a table that are wanted, if not all are (`--where schema.table=CONDITION`, `--partitions schema.table=NAME,…`).
//!
//! Where the archive has the rows of partitions apart, the others are not read. Everything else is decided by the target: all
//! rows of the table are loaded and compared with the archive, and then those that are not wanted are deleted (`delete`).
//!
//! Invariant: what the server does not take of a condition ends the load before the first row is loaded, and as far as that shows
//! without the table before anything is changed.

mod delete;
mod order;
mod words;

pub(super) use delete::{changed_since, delete, referring};

use super::create_table;
use super::plan::LoadPlan;
use crate::left_out::LeftOut;
use crate::options::{Existing, Options};
use crate::script;
use crate::target::Target;
use archive::Archive;
use archive::open::{Table, same_partition};
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::dialect::Dialect;
use rows::archives::not_chosen;
use rows::table_plan::{RowChoice, narrowed};
use run::{connect, failure};
use server::{ddl, quote, session};
use std::collections::{BTreeMap, BTreeSet};
use wire::Conn;

/// Which rows of a table are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// As it was given.
    pub given: RowChoice,
    /// What of that the target decides; nothing if the rows that are read are those that are wanted.
    pub rest: RowChoice,
    /// Rows of the table in the archive, as far as it says.
    pub all: Option<u64>,
}

/// What the choices leave of an archive.
#[derive(Default)]
pub(super) struct Choices {
    /// By quoted, qualified table.
    pub(super) wanted: BTreeMap<String, Wanted>,
    /// What is left out, in words.
    pub(super) left_out: Vec<String>,
    /// Files that nothing reads.
    pub(super) unread: Vec<String>,
}

/// Finds the tables of the choices; the archive forgets rows that are not wanted, as far as it has them apart. `selected`: whether
/// a table is, by its schema and name on the source.
pub(super) fn of_archive(
    options: &Options,
    archive: &mut Archive,
    damaged: &[LeftOut],
    selected: impl Fn(&str, &str) -> bool,
) -> Result<Choices> {
    let mut choices = Choices::default();
    for ((schema, table), choice) in options.choices.iter() {
        let given = choice.option();
        let found = archive
            .tables()
            .find(|t| t.source.0 == *schema && t.source.1 == *table)
            .filter(|t| selected(schema, table) && t.meta.includes_data)
            .map(|t| (t.schema.clone(), t.name.clone(), t.rows));
        let Some((to, name, rows)) = found else {
            let renamed = options.names.table(schema, table);
            let is_it =
                |d: &&LeftOut| d.schema == renamed.0 && d.object.as_ref() == Some(&renamed.1);
            if damaged.iter().any(|d| is_it(&d)) {
                continue;
            }
            return Err(usage(format!(
                "{given}: {} is no table with rows that this load takes from the archive",
                quote::qualified(schema, table)
            ))
            .hint(format!("the name has to be spelt as in the archive, and the table to be selected; a view and a sequence have no rows of their own; what stands in an option file or in penstock.toml ({}) is for every load", &given[2..])));
        };
        let mut rest = choice.clone();
        // A condition on another table is to see all rows of this one.
        let others = options
            .choices
            .iter()
            .filter(|(other, _)| (&other.0, &other.1) != (schema, table));
        let read = others
            .filter_map(|(_, other)| other.condition.as_deref())
            .any(|condition| words::Words::of(condition).may_read(&name));
        if !rest.partitions.is_empty()
            && !read
            && let Some(files) = archive.leave_out_partitions(&to, &name, &rest.partitions)
        {
            choices.unread.extend(files);
            rest.partitions.clear();
        }
        choices.left_out.extend(not_chosen(&to, &name, choice));
        let wanted = Wanted {
            given: choice.clone(),
            rest,
            all: rows,
        };
        choices.wanted.insert(quote::qualified(&to, &name), wanted);
    }
    Ok(choices)
}

/// Refuses what cannot be chosen, as far as that shows before anything is changed.
pub(super) fn check(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if plan.choices.is_empty() {
        return Ok(());
    }
    order::of(plan)?;
    let mut conn = session(t)?;
    for table in plan.selected_tables() {
        let Some(wanted) = plan.wanted(table).filter(|w| !w.rest.is_all()) else {
            continue;
        };
        let create = create_table::definition(t, plan, table)?;
        if let Some(create) = &create {
            why_not(t, plan, table, wanted, create)?;
        }
        if let Some(condition) = &wanted.rest.condition {
            order::no_placeholder(plan, table, condition)?;
            try_alone(&mut conn, t, table, condition, create.as_deref())?;
        }
    }
    Ok(())
}

/// Why rows of this table cannot be chosen on the target.
fn why_not(
    t: &Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    wanted: &Wanted,
    create: &str,
) -> Result<()> {
    let name = quote::qualified(&table.schema, &table.name);
    let given = wanted.rest.option();
    let engine = script::engine(create).unwrap_or_default();
    if matches!(engine.as_str(), "MRG_MYISAM" | "MERGE") {
        return Err(usage(format!(
            "{given}: {name} shows the rows of other tables (engine MERGE), and has none of its own"
        ))
        .hint("choose from those tables"));
    }
    if ddl::keeps_history(create) {
        return Err(usage(format!(
            "{given}: {name} keeps its history (system versioning), where rows that are left out would stay"
        ))
        .hint("load the whole table, and delete rows and history there; or dump it with the condition"));
    }
    if wanted.rest.partitions.is_empty() {
        return Ok(());
    }
    if !ddl::has_partitions(create) {
        return Err(usage(format!(
            "--partitions: {name} has no partitions in the archive"
        ))
        .hint("choose rows with --where"));
    }
    // Of subpartitions the files tell, and not of what they are in.
    let in_files: BTreeSet<&str> = table
        .chunks
        .iter()
        .filter_map(|c| c.partition.as_deref())
        .collect();
    if !in_files.is_empty() && !create.to_uppercase().contains("SUBPARTITION") {
        let there = |name: &String| in_files.iter().any(|p| same_partition(p, name));
        if let Some(unknown) = wanted.rest.partitions.iter().find(|n| !there(n)) {
            let all: Vec<&str> = in_files.into_iter().collect();
            return Err(unknown_partition(&name, unknown, &all)
                .hint("a name may be in backticks; nothing was changed"));
        }
    }
    let source = plan.archive.manifest().map(|m| m.source.flavour.as_str());
    if ddl::has_partitions_by_key(create) && source != Some(&t.id.flavour.to_string()) {
        return Err(usage(format!(
            "--partitions: {name} has partitions by KEY, and comes from the other server, which may put rows into other partitions"
        ))
        .hint("choose rows with --where"));
    }
    Ok(())
}

fn unknown_partition(table: &str, unknown: &str, there: &[&str]) -> Error {
    usage(format!(
        "--partitions: {table} has no partition {} in the archive; it has {}",
        quote::ident(unknown),
        there.join(", ")
    ))
}

/// What is wrong for certain in a condition that was tried without its table.
const CERTAIN: [u16; 4] = [
    // Syntax, the use of a sum, the number of arguments.
    1064, 1111, 1149, 1582,
];

/// There is no such column.
const UNKNOWN_COLUMN: u16 = 1054;

/// The transaction is read only.
const READ_ONLY: u16 = 1792;

/// Tries a condition on the columns of a table that is not there: what the server says of syntax, and of columns where nothing else
/// than this table can be meant.
fn try_alone(
    conn: &mut Conn,
    t: &Target<'_>,
    table: &Table,
    condition: &str,
    create: Option<&str>,
) -> Result<()> {
    let parsed = create.and_then(|c| dumps::create_table::parse(c.as_bytes(), Dialect::default()));
    let Some(Ok(created)) = parsed else {
        return Ok(());
    };
    let columns: Vec<String> = created
        .columns
        .iter()
        .map(|c| format!("NULL AS {}", quote::ident(&c.name)))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    let from = format!(
        "(SELECT {}) AS {}",
        columns.join(", "),
        quote::ident(&table.name)
    );
    let sql = format!(
        "SELECT 1 FROM {from}{} LIMIT 0",
        narrowed(String::new(), Some(condition))
    );
    let Err(e) = attempt(conn, t, &sql)? else {
        return Ok(());
    };
    let said = words::Words::of(condition);
    let own_columns = !said.has_query() && !said.names(&table.schema) && !said.names("_rowid");
    if CERTAIN.contains(&e.code) || e.code == READ_ONLY || e.code == UNKNOWN_COLUMN && own_columns {
        let name = quote::qualified(&table.schema, &table.name);
        return Err(not_taken("--where", &name, &e).hint("nothing was changed"));
    }
    Ok(())
}

/// Tries all choices on the tables, which are there now, and empty unless an interrupted load has filled them.
pub(super) fn try_on_tables(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    journal: &crate::journal::Journal,
) -> Result<()> {
    let of = |table: &&Table| {
        let name = quote::qualified(&table.schema, &table.name);
        plan.leaves_rows_out(table) && journal.chosen(&name).is_none()
    };
    let tables: Vec<&Table> = plan.tables().filter(of).collect();
    try_on(t, plan, &tables, "no row was loaded")
}

/// The same with those that were there before, and keep their definitions: before any of them is emptied.
pub(super) fn try_on_those_there(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    if plan.choices.is_empty() {
        return Ok(());
    }
    for table in plan.selected_tables().filter(|t| plan.wanted(t).is_some()) {
        if plan.leaves(&table.schema, &table.name) {
            let name = quote::qualified(&table.schema, &table.name);
            let given = plan.wanted(table).map_or("--where", |w| w.given.option());
            let how = match t.options.existing {
                Existing::Skip => ", and --existing skip leaves it as it is",
                _ => ", and is left as it is",
            };
            return Err(usage(format!(
                "{given}: {name} is there already{how}"
            ))
            .hint("leave the option out, or the table (--exclude-tables); --existing replace drops the table first"));
        }
    }
    let of = |table: &&Table| plan.leaves_rows_out(table) && plan.refills(table);
    let tables: Vec<&Table> = plan.tables().filter(of).collect();
    for table in &tables {
        let name = quote::qualified(&table.schema, &table.name);
        if plan
            .wanted(table)
            .is_some_and(|w| !w.rest.partitions.is_empty())
        {
            return Err(usage(format!(
                "--partitions: the archive does not have the rows of each partition of {name} apart, and the table that is there may have other partitions"
            ))
            .hint("choose rows with --where; nothing was changed"));
        }
        if let Some(trigger) = delete_trigger(t, table)? {
            return Err(usage(format!(
                "--where: rows of {name} cannot be left out: its trigger {trigger} would run for each of them"
            ))
            .hint("drop the trigger for the time of the load, or leave the option out; nothing was changed"));
        }
    }
    try_on(t, plan, &tables, "nothing was changed")?;
    // What is replaced may have other columns.
    let replaced = |table: &Table| {
        let words = format!("table {}", quote::qualified(&table.schema, &table.name));
        plan.treated().replaced.contains(&words)
    };
    for table in plan
        .tables()
        .filter(|t| plan.leaves_rows_out(t) && replaced(t))
    {
        match try_on(t, plan, &[table], "nothing was changed") {
            Err(e) if e.server_error.is_some_and(|code| OF_OTHERS.contains(&code)) => {}
            tried => tried?,
        }
    }
    Ok(())
}

/// What a server says of columns, tables and partitions that are not there.
const OF_OTHERS: [u16; 4] = [UNKNOWN_COLUMN, failure::NO_SUCH_TABLE, 1735, 1747];

/// A trigger of the target that runs when rows of a table are deleted.
fn delete_trigger(t: &mut Target<'_>, table: &Table) -> Result<Option<String>> {
    let sql = format!(
        "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema = {} AND event_object_table = {} \
         AND event_manipulation = 'DELETE'",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    let rows = t.conn.fetch(sql);
    let rows = rows.map_err(|e| failure::wire("cannot look at the triggers", e))?;
    let name = rows.into_iter().flatten().flatten().next();
    Ok(name.map(|n| quote::qualified(&table.schema, &String::from_utf8_lossy(&n))))
}

fn try_on(t: &mut Target<'_>, plan: &LoadPlan, tables: &[&Table], state: &str) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let mut conn = session(t)?;
    for table in tables {
        let Some(wanted) = plan.wanted(table) else {
            continue;
        };
        let name = quote::qualified(&table.schema, &table.name);
        use_schema(&mut conn, table)?;
        if !wanted.rest.partitions.is_empty() {
            let sql = format!("SELECT 1 FROM {} LIMIT 0", wanted.rest.within(&name));
            if let Err(e) = attempt(&mut conn, t, &sql)? {
                let there = delete::partitions(&mut conn, table)?;
                let mut there: Vec<String> = there.into_iter().map(|(name, _)| name).collect();
                there.dedup();
                let hint = match there.is_empty() {
                    true => format!("the table has no partitions; {state}"),
                    false => format!("it has {}; {state}", there.join(", ")),
                };
                return Err(not_taken("--partitions", &name, &e).hint(printable(&hint)));
            }
        }
        let Some(condition) = &wanted.rest.condition else {
            continue;
        };
        let select = format!(
            "SELECT 1 FROM {}{} LIMIT 0",
            wanted.rest.within(&name),
            narrowed(String::new(), Some(condition))
        );
        // What may be read may still not be what is deleted from.
        let set = format!(
            "SET @penstock_choice = {}",
            quote::text(&delete::statement(&name, condition))
        );
        let mut tried = attempt(&mut conn, t, &select)?;
        for sql in [&set, "PREPARE penstock_choice FROM @penstock_choice"] {
            if tried.is_ok() {
                tried = delete::run(&mut conn, sql)?;
            }
        }
        if let Err(e) = tried {
            let hint = format!("try it first: SELECT COUNT(*) FROM … WHERE …; {state}");
            return Err(not_taken("--where", &name, &e).hint(hint));
        }
    }
    Ok(())
}

/// Runs a statement that reads, in a transaction that can do no more than that.
fn attempt(
    conn: &mut Conn,
    t: &Target<'_>,
    sql: &str,
) -> Result<std::result::Result<(), wire::ServerError>> {
    let begin = match t.id.has_read_only_transactions() {
        true => "START TRANSACTION READ ONLY",
        false => "START TRANSACTION",
    };
    let failed = |e| failure::wire("cannot try which rows are chosen", e);
    conn.execute(begin).map_err(failed)?;
    let tried = delete::run(conn, sql);
    conn.execute("ROLLBACK").map_err(failed)?;
    tried
}

/// A session in which a condition means what it means in a dump (`penstock dump --where`).
fn session(t: &Target<'_>) -> Result<Conn> {
    let failed = |e| failure::server("cannot prepare a session", e);
    let mut conn = connect::connection(t.run, &t.options.target)?;
    session::for_rows(&mut conn, &t.id).map_err(failed)?;
    // Rows of other tables that refer to one that is left out stay.
    let sql = "SET SESSION foreign_key_checks = 0";
    conn.execute(sql)
        .map_err(|e| failure::wire("cannot prepare a session", e))?;
    if t.options.skip_binlog && !t.only_looks {
        session::skip_binlog(&mut conn, &t.id).map_err(failed)?;
    }
    Ok(conn)
}

fn use_schema(conn: &mut Conn, table: &Table) -> Result<()> {
    conn.execute(format!("USE {}", quote::ident(&table.schema)))
        .map(drop)
        .map_err(|e| failure::wire("cannot use the schema", e))
}

fn not_taken(given: &str, name: &str, e: &wire::ServerError) -> Error {
    Error {
        server_error: Some(e.code),
        ..usage(format!(
            "{given} of {name}: the server does not take it: {e}"
        ))
    }
}

fn usage(what: String) -> Error {
    Error::new(Kind::Usage, printable(&what))
}

//! Reading the catalog from `information_schema`: schemas, tables, views.
//!
//! MySQL 8 and later answer from their data dictionary, so one query with
//! `IN (…)` covers many schemas. Older MySQL and all MariaDB open table files
//! to answer, and look into one directory only when the schema is compared with
//! `=`; there it is one query per schema. No query sorts: that would make those
//! servers spill wide temporary tables to disk, and sorting here is cheap.

use super::{Catalog, Schema, Table, TableKind, View};
use crate::ask::{Answer, Record, ask, run};
use crate::filter::Program;
use crate::{Filter, Identity, Result, ddl, quote};
use std::collections::HashMap;
use wire::Conn;

/// Schemas per query on servers with a data dictionary; bounds the length of a statement.
const SCHEMAS_AT_ONCE: usize = 500;

impl Catalog {
    /// Reads what `filter` lets through. The session must be one that
    /// [`crate::session::for_catalog`] prepared.
    ///
    /// On MySQL 8 and later the session's `information_schema_stats_expiry` is
    /// set to 0: with the default, sizes may be a day old, and asking for stale
    /// ones makes the server *write* fresh ones into its dictionary, which a
    /// reader should not cause and a read-only server refuses.
    pub fn read(conn: &mut Conn, identity: &Identity, filter: &Filter) -> Result<Catalog> {
        if identity.has_variable("information_schema_stats_expiry") {
            run(
                conn,
                "catalog session",
                "SET SESSION information_schema_stats_expiry = 0",
            )?;
        }
        filter.follow_case_rule(identity.lower_case_table_names);
        let mut schemas = read_schemas(conn, filter)?;
        let step = if identity.mysql_at_least(8, 0, 0) {
            SCHEMAS_AT_ONCE
        } else {
            1
        };
        let engines = read_engines(conn)?;
        for part in schemas.chunks_mut(step) {
            Part::new(part).read(conn, identity, filter, &engines)?;
        }
        // A pattern for tables of any schema is about those schemas that have such a table.
        schemas.retain(|s| {
            let empty = s.tables.is_empty() && s.views.is_empty();
            s.whole || !empty || filter.named_literally(&s.name)
        });
        for schema in &mut schemas {
            choose_programs(schema, filter);
            schema.create_sql = ddl::read(conn, ddl::Object::Database, &schema.name, "")?.sql;
        }
        Ok(Catalog {
            schemas,
            histograms_seen: false,
        })
    }
}

/// Leaves out the triggers, routines and events that the filter does not take.
fn choose_programs(schema: &mut Schema, filter: &Filter) {
    let of = &schema.name;
    for table in &mut schema.tables {
        let wanted = |name: &String| filter.program(Program::Trigger, of, name);
        table.triggers.retain(wanted);
    }
    schema
        .routines
        .retain(|r| filter.program(Program::Routine, of, &r.name));
    schema
        .events
        .retain(|name| filter.program(Program::Event, of, name));
}

fn read_schemas(conn: &mut Conn, filter: &Filter) -> Result<Vec<Schema>> {
    let answer = ask(
        conn,
        "list of schemas",
        "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA",
    )?;
    let mut schemas: Vec<Schema> = answer
        .rows
        .iter()
        .map(|r| Schema {
            name: r.text_or_empty(0),
            charset: r.text_or_empty(1),
            collation: r.text_or_empty(2),
            ..Schema::default()
        })
        .filter(|s| filter.schema(&s.name))
        .collect();
    for schema in &mut schemas {
        schema.whole = filter.whole_schema(&schema.name);
    }
    schemas.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(schemas)
}

/// The schemas that one round of queries covers.
pub(super) struct Part<'a> {
    pub(super) schemas: &'a mut [Schema],
    /// What a WHERE compares a schema column with: `= 'a'` or `IN ('a', 'b')`.
    condition: String,
    /// Schema name to place in `schemas`.
    places: HashMap<String, usize>,
}

impl<'a> Part<'a> {
    fn new(schemas: &'a mut [Schema]) -> Self {
        let names: Vec<_> = schemas.iter().map(|s| quote::text(&s.name)).collect();
        let condition = match names.as_slice() {
            [one] => format!("= {one}"),
            many => format!("IN ({})", many.join(", ")),
        };
        let places = schemas
            .iter()
            .enumerate()
            .map(|(i, s)| (s.name.clone(), i))
            .collect();
        Self {
            schemas,
            condition,
            places,
        }
    }

    /// The schema that a row belongs to; `None` when the server's comparison was laxer than ours.
    pub(super) fn place(&self, row: &Record) -> Option<usize> {
        self.places
            .get(std::str::from_utf8(row.bytes(0)?).ok()?)
            .copied()
    }

    pub(super) fn ask(
        &self,
        conn: &mut Conn,
        what: &str,
        columns: &str,
        table: &str,
        schema: &str,
    ) -> Result<Answer> {
        let sql = format!(
            "SELECT {schema}, {columns} FROM information_schema.{table} WHERE {schema} {}",
            self.condition
        );
        ask(conn, what, &sql)
    }

    fn read(
        &mut self,
        conn: &mut Conn,
        identity: &Identity,
        filter: &Filter,
        engines: &HashMap<String, bool>,
    ) -> Result<()> {
        self.read_tables(conn, identity, filter, engines)?;
        let tables = self.index();
        self.read_columns(conn, identity, &tables)?;
        self.read_keys(conn, identity, &tables)?;
        self.read_partitions(conn, &tables)?;
        self.read_triggers(conn, &tables)?;
        self.read_routines(conn, identity)?;
        self.read_events(conn)
    }

    fn read_tables(
        &mut self,
        conn: &mut Conn,
        identity: &Identity,
        filter: &Filter,
        transactional: &HashMap<String, bool>,
    ) -> Result<()> {
        let answer = self.ask(
            conn,
            "list of tables",
            "TABLE_NAME, TABLE_TYPE, ENGINE, ROW_FORMAT, TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, INDEX_LENGTH, \
             AUTO_INCREMENT, TABLE_COLLATION, CREATE_OPTIONS, TABLE_COMMENT",
            "TABLES",
            "TABLE_SCHEMA",
        )?;
        for row in &answer.rows {
            let Some(at) = self.place(row) else { continue };
            let schema = row.text_or_empty(0);
            let name = row.text_or_empty(1);
            if !filter.table(&schema, &name) {
                continue;
            }
            let kind = match row.text_or_empty(2).as_str() {
                "VIEW" | "SYSTEM VIEW" => {
                    self.schemas[at].views.push(View {
                        schema,
                        name,
                        columns: Vec::new(),
                    });
                    continue;
                }
                "BASE TABLE" => TableKind::Base,
                "SEQUENCE" => TableKind::Sequence,
                "SYSTEM VERSIONED" => TableKind::SystemVersioned,
                // TEMPORARY and what is yet to come: not part of the schema's lasting content.
                _ => continue,
            };
            let engine = row.text_or_empty(3);
            let comment = row.text_or_empty(12);
            self.schemas[at].tables.push(Table {
                kind,
                transactional: transactional.get(&engine).copied().unwrap_or(false),
                // A table that cannot be opened has no engine, and the reason is in its comment.
                problem: (engine.is_empty()
                    || (identity.is_mariadb() && row.text(4).is_none() && row.text(10).is_none()))
                .then_some(comment)
                .filter(|c| !c.is_empty() || engine.is_empty()),
                engine,
                row_format: row.text_or_empty(4),
                rows_estimate: row.number(5).unwrap_or(0),
                avg_row_length: row.number(6).unwrap_or(0),
                data_bytes: row.number(7).unwrap_or(0),
                index_bytes: row.number(8).unwrap_or(0),
                auto_increment: row.number(9),
                collation: row.text_or_empty(10),
                create_options: row.text_or_empty(11),
                schema,
                name,
                ..Table::default()
            });
        }
        for schema in self.schemas.iter_mut() {
            schema.tables.sort_by(|a, b| {
                let table = |t: &Table| t.kind != TableKind::Sequence;
                (table(a), &a.name).cmp(&(table(b), &b.name))
            });
            schema.views.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(())
    }

    /// Names of tables and views to their places, per schema.
    fn index(&self) -> Vec<HashMap<String, Place>> {
        self.schemas
            .iter()
            .map(|s| {
                let tables = s.tables.iter().enumerate();
                let views = s.views.iter().enumerate();
                tables
                    .map(|(i, t)| (t.name.clone(), Place::Table(i)))
                    .chain(views.map(|(i, v)| (v.name.clone(), Place::View(i))))
                    .collect()
            })
            .collect()
    }

    pub(super) fn find(
        &self,
        tables: &[HashMap<String, Place>],
        row: &Record,
    ) -> Option<(usize, Place)> {
        let schema = self.place(row)?;
        let name = std::str::from_utf8(row.bytes(1)?).ok()?;
        Some((schema, *tables[schema].get(name)?))
    }

    /// The table a row is about; `None` for views and what the filter left out.
    pub(super) fn table(
        &mut self,
        tables: &[HashMap<String, Place>],
        row: &Record,
    ) -> Option<&mut Table> {
        match self.find(tables, row)? {
            (schema, Place::Table(i)) => Some(&mut self.schemas[schema].tables[i]),
            (_, Place::View(_)) => None,
        }
    }
}

/// Where a name leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Table(usize),
    View(usize),
}

/// Engine name to whether it takes part in transactions.
fn read_engines(conn: &mut Conn) -> Result<HashMap<String, bool>> {
    let answer = ask(
        conn,
        "list of engines",
        "SELECT ENGINE, TRANSACTIONS FROM information_schema.ENGINES",
    )?;
    Ok(answer
        .rows
        .iter()
        .map(|r| (r.text_or_empty(0), r.bytes(1) == Some(b"YES")))
        .collect())
}

//! Definitions and metadata: the SQL files, and the base names of tables on disk.
//!
//! Definitions are read while they cannot change (MySQL) or while a change is detected later (MariaDB),
//! one file for each object, so that users can read and restore any of them by hand.

use super::Options;
use super::tables::{TableState, by_partition};
use archive::meta::{self, SchemaMeta, TableMeta};
use archive::sqlfile::{self, Header, Program, ProgramKind};
use archive::{Basenames, Encoding};
use base::units::printable;
use base::{Error, Kind, Result};
use run::Run;
use run::failure;
use server::catalog::{RoutineKind, Schema, Table, TableKind, View};
use server::ddl::{self, Definition, Object};
use server::{Catalog, Identity};
use std::sync::Arc;
use store::Store;
use wire::Conn;

/// What was written.
pub struct Written {
    /// The tables that have rows to be read.
    pub tables: Vec<Arc<TableState>>,
    /// Views written.
    pub views: u64,
    /// What could not be dumped exactly, by name.
    pub exceptions: Vec<String>,
}

/// Writes all definitions and metadata but the root's.
pub fn write(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    catalog: &Catalog,
    store: &dyn Store,
    options: &Options,
) -> Result<Written> {
    let phase = run.phase("writing definitions", 1);
    let mut names = Basenames::new();
    let tool = super::tool();
    let mut w = DefinitionWriter {
        conn,
        id,
        store,
        options,
        header: Header {
            tool: &tool,
            host: &id.hostname,
            server_version: &id.version_text,
        },
        out: Written {
            tables: Vec::new(),
            views: 0,
            exceptions: Vec::new(),
        },
    };
    for schema in &catalog.schemas {
        run.check()?;
        let base = names.schema(&schema.name);
        w.schema(run, schema, &base, &mut names)?;
        phase.counters.tables.add(schema.tables.len() as u64);
    }
    Ok(w.out)
}

struct DefinitionWriter<'a> {
    conn: &'a mut Conn,
    id: &'a Identity,
    store: &'a dyn Store,
    options: &'a Options,
    header: Header<'a>,
    out: Written,
}

impl DefinitionWriter<'_> {
    fn put(&self, file: &str, text: &str) -> Result<()> {
        archive::file::put(self.store, file, text.as_bytes(), false)
            .map(drop)
            .map_err(|e| failure::archive(format_args!("cannot write {file}"), &e))
    }

    fn definition(&mut self, object: Object, schema: &str, name: &str) -> Result<Definition> {
        ddl::read(self.conn, object, schema, name)
            .map_err(|e| failure::server("cannot read a definition", e))
    }

    fn schema(
        &mut self,
        run: &Run,
        schema: &Schema,
        base: &str,
        names: &mut Basenames,
    ) -> Result<()> {
        let mut meta = SchemaMeta::new(&schema.name);
        let create = self.definition(Object::Database, &schema.name, "")?;
        let mut events = Vec::new();
        if self.options.events {
            meta.events = Some(schema.events.clone());
            for name in &schema.events {
                let d = self.definition(Object::Event, &schema.name, name)?;
                events.push(program(ProgramKind::Event, &d));
            }
        }
        let mut routines = Vec::new();
        if self.options.routines {
            let (mut functions, mut procedures) = (Vec::new(), Vec::new());
            for r in &schema.routines {
                let kind = match r.kind {
                    RoutineKind::Function => {
                        functions.push(r.name.clone());
                        ProgramKind::Function
                    }
                    RoutineKind::Procedure => {
                        procedures.push(r.name.clone());
                        ProgramKind::Procedure
                    }
                    RoutineKind::Package => ProgramKind::Package,
                    RoutineKind::PackageBody => ProgramKind::PackageBody,
                    RoutineKind::Library => {
                        // The format has a file of its own for them, which only the newest MySQL Shell reads.
                        self.out.exceptions.push(format!(
                            "library {} is not dumped: libraries are not supported yet",
                            server::quote::qualified(&schema.name, &r.name)
                        ));
                        continue;
                    }
                };
                let d = ddl::read_routine(self.conn, r)
                    .map_err(|e| failure::server("cannot read a definition", e))?;
                routines.push(program(kind, &d));
            }
            meta.functions = Some(functions);
            meta.procedures = Some(procedures);
        }
        let text = sqlfile::schema_sql(
            &self.header,
            &schema.name,
            &create.sql,
            &schema.collation,
            &events,
            &routines,
        );
        self.put(&format!("{base}.sql"), &text)?;
        for table in &schema.tables {
            run.check()?;
            let base = names.table(&schema.name, &table.name);
            meta.tables.push(table.name.clone());
            meta.basenames.insert(table.name.clone(), base.clone());
            self.table(run, schema, table, base, names)?;
        }
        for view in &schema.views {
            let base = names.table(&schema.name, &view.name);
            meta.views.push(view.name.clone());
            meta.basenames.insert(view.name.clone(), base.clone());
            self.view(view, &base)?;
        }
        self.put(&format!("{base}.json"), &meta::to_json(&meta))
    }

    fn table(
        &mut self,
        run: &Run,
        schema: &Schema,
        table: &Table,
        base: String,
        names: &mut Basenames,
    ) -> Result<()> {
        if let Some(problem) = &table.problem {
            return Err(Error::new(
                Kind::Failed,
                format!(
                    "table {} cannot be read: {}",
                    table.qualified(),
                    printable(problem)
                ),
            )
            .hint("repair or drop it, or leave it out with --exclude-tables"));
        }
        let sequence = table.kind == TableKind::Sequence;
        let object = if sequence {
            Object::Sequence
        } else {
            Object::Table
        };
        let mut create = self.definition(object, &schema.name, &table.name)?.sql;
        if sequence {
            let next = ddl::sequence_next(self.conn, &schema.name, &table.name)
                .map_err(|e| failure::server("cannot read a sequence", e))?;
            create += &format!(
                ";\nDO SETVAL({}, {next}, 0)",
                server::quote::ident(&table.name)
            );
        }
        if ddl::has_data_directory(&create) {
            self.out.exceptions.push(format!(
                "table {} has its own DATA DIRECTORY: a load refuses such a definition; load without the table (--exclude-tables), and create it by hand",
                table.qualified()
            ));
        }
        for column in uncertain_columns(table, &create) {
            run.observer.warn(printable(&format!(
                "table {}, column {column}: the server shows a ? in its definition, which also stands for a character that its dictionary does not hold (an emoji, say): if it is one, the archive has another definition, and a load refuses rows that have it: correct the column on the target then (ALTER TABLE), then resume the load with --resume",
                table.qualified()
            )));
        }
        if table.kind == TableKind::SystemVersioned {
            self.out.exceptions.push(format!(
                "table {} is system-versioned: its current rows are dumped, its history is not",
                table.qualified()
            ));
        }
        let text = sqlfile::table_sql(&self.header, &schema.name, &table.name, &create);
        self.put(&format!("{base}.sql"), &text)?;
        let own = by_partition(self.id, table);
        let partitions = table.partitions.iter().filter(|_| own);
        let partitions = partitions.map(|p| names.partition(&schema.name, &table.name, &p.name));
        let state = TableState::new(table.clone(), base.clone(), partitions.collect());
        let columns: Vec<(String, Encoding)> = state
            .plan
            .columns
            .iter()
            .cloned()
            .zip(state.plan.rows.columns().iter().copied())
            .collect();
        let primary: Vec<String> = table
            .primary_columns()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut meta = TableMeta::new(
            &schema.name,
            &table.name,
            &columns,
            &primary,
            self.options.compression,
        );
        meta.options.default_character_set = state.plan.charset.to_owned();
        for series in &state.series {
            if let Some(partition) = &series.partition {
                meta.partitions.push(partition.clone());
                meta.basenames
                    .insert(partition.clone(), series.basename.clone());
            }
        }
        let no_data = state.plan.columns.is_empty();
        if no_data && !sequence {
            self.out.exceptions.push(format!(
                "table {} has only generated columns: it is created again, its rows (which hold no data) are not",
                table.qualified()
            ));
        }
        meta.includes_data = !sequence && !no_data;
        if self.options.triggers && !table.triggers.is_empty() {
            let mut triggers = Vec::new();
            for name in &table.triggers {
                let d = self.definition(Object::Trigger, &schema.name, name)?;
                triggers.push(program(ProgramKind::Trigger, &d));
            }
            meta.triggers.clone_from(&table.triggers);
            let text = sqlfile::triggers_sql(
                &self.header,
                &schema.name,
                &table.name,
                &schema.collation,
                &triggers,
            );
            self.put(&format!("{base}.triggers.sql"), &text)?;
        }
        self.put(&format!("{base}.json"), &meta::to_json(&meta))?;
        if meta.includes_data {
            self.out.tables.push(Arc::new(state));
        }
        Ok(())
    }

    fn view(&mut self, view: &View, base: &str) -> Result<()> {
        let d = self.definition(Object::View, &view.schema, &view.name)?;
        let text = sqlfile::view_pre_sql(&self.header, &view.schema, &view.name, &view.columns);
        self.put(&format!("{base}.pre.sql"), &text)?;
        let text = sqlfile::view_sql(
            &self.header,
            &view.schema,
            &view.name,
            &d.sql,
            d.character_set_client.as_deref().unwrap_or("utf8mb4"),
            d.collation_connection
                .as_deref()
                .unwrap_or("utf8mb4_general_ci"),
        );
        self.put(&format!("{base}.sql"), &text)?;
        self.out.views += 1;
        Ok(())
    }
}

/// A stored program with the settings it was made with.
fn program(kind: ProgramKind, d: &Definition) -> Program {
    let or = |v: &Option<String>, default: &str| v.clone().unwrap_or_else(|| default.to_owned());
    Program {
        kind,
        name: d.name.clone(),
        create: d.sql.clone(),
        sql_mode: or(&d.sql_mode, ""),
        character_set_client: or(&d.character_set_client, ""),
        collation_connection: or(&d.collation_connection, ""),
        database_collation: or(&d.database_collation, ""),
        time_zone: or(&d.time_zone, ""),
    }
}

/// Columns whose members or default may not be what the definition says: servers hand it on in utf8mb3, with a `?` for what is
/// not in that.
fn uncertain_columns<'t>(table: &'t Table, create: &str) -> Vec<&'t str> {
    const LARGER: [&str; 5] = ["utf8mb4", "utf16", "utf16le", "utf32", "gb18030"];
    let larger = |c: &&server::catalog::Column| {
        c.charset
            .as_deref()
            .is_some_and(|set| LARGER.contains(&set))
    };
    let default = |name: &str| {
        let begin = format!("  {} ", server::quote::ident(name));
        let line = create.lines().find(|l| l.starts_with(&begin))?;
        let text = line.split_once(" DEFAULT '")?.1;
        // Up to its end: a quote in it stands there twice.
        let end = text.replace("''", "  ").find('\'')?;
        Some(text[..end].contains('?'))
    };
    let columns = table.columns.iter().filter(larger);
    let doubtful = columns.filter(|c| match c.data_type.as_str() {
        "enum" | "set" => c.column_type.contains('?'),
        _ => default(&c.name).unwrap_or(false),
    });
    doubtful.map(|c| c.name.as_str()).collect()
}

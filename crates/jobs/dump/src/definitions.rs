//! Definitions and metadata: the SQL files, and the base names of tables on disk.
//!
//! Definitions are read while they cannot change (MySQL) or while a change is detected later (MariaDB),
//! one file for each object, so that users can read and restore any of them by hand.

mod broken;
mod merge;
mod one_statement;
mod program;
mod tablespaces;

pub(super) use merge::is_merge;

use super::Options;
use super::from_files::table_files;
use super::tables::{TableState, by_partition};
use archive::meta::{self, SchemaMeta, TableMeta};
use archive::sqlfile::{self, Header, ProgramKind};
use archive::{Basenames, Encoding, FileRecord};
use base::Result;
use base::units::printable;
use rows::definitions::kind_of;
use run::Run;
use run::failure;
use server::catalog::{RoutineKind, Schema, Table, TableKind, View};
use server::ddl::{self, Definition, Object};
use server::tablespaces::Tablespace;
use server::{Catalog, Identity};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Store;
use wire::Conn;

/// What was written.
pub struct Written {
    /// The tables that have rows to be read.
    pub tables: Vec<Arc<TableState>>,
    /// How many tables there are, with those that have no rows of their own: sequences, MERGE.
    pub count: u64,
    /// Views written.
    pub views: u64,
    /// What could not be dumped exactly, by name.
    pub exceptions: Vec<String>,
    /// Tables that are not dumped, quoted and qualified; the exceptions say why.
    pub left_out: Vec<String>,
    /// The files, with their sizes and digests.
    pub files: BTreeMap<String, FileRecord>,
    /// General tablespaces that tables are in.
    pub tablespaces: Vec<Tablespace>,
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
    let phase = run.phase("reading definitions", 1);
    let mut names = Basenames::new();
    let tool = super::tool();
    let mut w = DefinitionWriter {
        run,
        conn,
        id,
        catalog,
        store,
        options,
        header: Header {
            tool: &tool,
            host: &id.hostname,
            server_version: &id.version_text,
        },
        out: Written {
            tables: Vec::new(),
            count: 0,
            views: 0,
            exceptions: Vec::new(),
            left_out: Vec::new(),
            files: BTreeMap::new(),
            tablespaces: Vec::new(),
        },
        in_tablespaces: BTreeMap::new(),
    };
    for schema in &catalog.schemas {
        run.check()?;
        let base = names.schema(&schema.name);
        w.schema(run, schema, &base, &mut names)?;
        phase.counters.tables.add(schema.tables.len() as u64);
    }
    w.out.tablespaces = tablespaces::read(w.conn, &w.in_tablespaces, &mut w.out.exceptions)?;
    Ok(w.out)
}

/// What MySQL writes into the definition of such a schema, as a comment.
const READ_ONLY: &str = "/* READ ONLY = 1 */";

struct DefinitionWriter<'a> {
    run: &'a Run,
    conn: &'a mut Conn,
    id: &'a Identity,
    catalog: &'a Catalog,
    store: &'a dyn Store,
    options: &'a Options,
    header: Header<'a>,
    out: Written,
    /// By general tablespace, the tables in it, quoted and qualified.
    in_tablespaces: BTreeMap<String, Vec<String>>,
}

impl DefinitionWriter<'_> {
    fn put(&mut self, file: &str, text: &str) -> Result<()> {
        let record = archive::file::put(self.store, file, text.as_bytes(), false)
            .map_err(|e| failure::archive("cannot write the definitions", &e))?;
        self.out.files.insert(file.to_owned(), record);
        Ok(())
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
            let mut names = Vec::new();
            for name in &schema.events {
                let read = self.program(ProgramKind::Event, Object::Event, &schema.name, name)?;
                if let Some(event) = read {
                    names.push(name.clone());
                    events.push(event);
                }
            }
            meta.events = Some(names);
        }
        let mut routines = Vec::new();
        if self.options.routines {
            let (mut functions, mut procedures) = (Vec::new(), Vec::new());
            let mut packages = Vec::new();
            for r in &schema.routines {
                let Some(kind) = kind_of(r.kind) else {
                    // The format has a file of its own for them, which only the newest MySQL Shell reads.
                    self.out.exceptions.push(format!(
                        "library {} is not dumped: libraries are not supported yet",
                        server::quote::qualified(&schema.name, &r.name)
                    ));
                    continue;
                };
                let Some(routine) = self.routine(kind, r)? else {
                    continue;
                };
                match kind {
                    ProgramKind::Function => functions.push(r.name.clone()),
                    ProgramKind::Procedure => procedures.push(r.name.clone()),
                    _ if r.kind == RoutineKind::Package => packages.push(r.name.clone()),
                    _ => {}
                }
                routines.push(routine);
            }
            meta.functions = Some(functions);
            meta.procedures = Some(procedures);
            meta.packages = Some(packages).filter(|p| !p.is_empty());
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
            if self.table(run, schema, table, base.clone(), names)? {
                meta.tables.push(table.name.clone());
                meta.basenames.insert(table.name.clone(), base);
            } else {
                self.out.left_out.push(table.qualified());
            }
        }
        for view in &schema.views {
            let base = names.table(&schema.name, &view.name);
            if self.view(view, &base)? {
                meta.views.push(view.name.clone());
                meta.basenames.insert(view.name.clone(), base);
            }
        }
        if schema.create_sql.contains(READ_ONLY) {
            self.out.exceptions.push(format!(
                "schema {} is READ ONLY: a load does not make it so; afterwards: ALTER DATABASE {} READ ONLY = 1",
                server::quote::ident(&schema.name),
                server::quote::ident(&schema.name)
            ));
        }
        self.put(&format!("{base}.json"), &meta::to_json(&meta))
    }

    /// Writes a table; false if it is left out, and named.
    fn table(
        &mut self,
        run: &Run,
        schema: &Schema,
        table: &Table,
        base: String,
        names: &mut Basenames,
    ) -> Result<bool> {
        let merge = merge::is_merge(table);
        let mut problem = table.problem.clone();
        // InnoDB looks after its files. What others cannot open would end the dump when its rows are read.
        if problem.is_none() && !table.transactional && table.kind != TableKind::Sequence {
            problem = broken::reason(self.conn, &schema.name, &table.name)?;
        }
        if let Some(problem) = problem.filter(|_| !merge) {
            let files = self.options.files.as_ref();
            let name = table.qualified();
            let text = match files.is_some_and(|f| table_files::is_encrypted(&f.datadir, table)) {
                true => format!(
                    "table {name} is not dumped: its file is encrypted, and the temporary server has no key; dump it from its own server, or leave it out with --exclude-tables"
                ),
                false => format!(
                    "table {name} is not dumped, for it cannot be read: {}; repair or drop it, or leave it out with --exclude-tables",
                    printable(&problem)
                ),
            };
            run.observer.warn(text.clone());
            self.out.exceptions.push(text);
            return Ok(false);
        }
        let sequence = table.kind == TableKind::Sequence;
        let object = if sequence {
            Object::Sequence
        } else {
            Object::Table
        };
        let mut create = match ddl::read(self.conn, object, &schema.name, &table.name) {
            Ok(d) => d.sql,
            Err(e) => {
                self.refused(&format!("table {}", table.qualified()), e)?;
                return Ok(false);
            }
        };
        let shown = create.clone();
        if sequence {
            let (next, rounds) = ddl::sequence_next(self.conn, &schema.name, &table.name)
                .map_err(|e| failure::server("cannot read a sequence", e))?;
            let rounds = match rounds {
                0 => String::new(),
                n => format!(", {n}"),
            };
            create += &format!(
                ";\nDO SETVAL({}, {next}, 0{rounds})",
                server::quote::ident(&table.name)
            );
        }
        if merge {
            let missing = merge::not_dumped(self.catalog, &schema.name, &create);
            if !missing.is_empty() {
                self.out.exceptions.push(format!(
                    "table {} has its rows in {}, which this dump does not include",
                    table.qualified(),
                    missing.join(", ")
                ));
            }
        }
        if let Some(space) = ddl::general_tablespace(&create) {
            let tables = self.in_tablespaces.entry(space).or_default();
            tables.push(table.qualified());
        }
        if ddl::has_data_directory(&create) {
            self.out.exceptions.push(format!(
                "table {} has its own DATA DIRECTORY: a load leaves it out and names it; create it by hand",
                table.qualified()
            ));
        }
        for column in uncertain_columns(table, &create) {
            let text = printable(&format!(
                "table {}, column {column}: the server shows a ? in its definition, which also stands for a character that its dictionary does not hold (an emoji, say): if it is one, the archive has another definition, and a load leaves the table empty if it refuses its rows: correct the column on the target then (ALTER TABLE), then resume the load with --resume",
                table.qualified()
            ));
            run.observer.warn(text.clone());
            self.out.exceptions.push(text);
        }
        if table.kind == TableKind::SystemVersioned {
            self.out.exceptions.push(format!(
                "table {} is system-versioned: its current rows are dumped, its history is not",
                table.qualified()
            ));
        }
        let text = sqlfile::table_sql(&self.header, &schema.name, &table.name, &create);
        if !one_statement::is_one(&text, &shown) {
            self.not_one_statement(&format!("table {}", table.qualified()));
            return Ok(false);
        }
        self.put(&format!("{base}.sql"), &text)?;
        let choice = self.options.choices.of(&schema.name, &table.name);
        // What has subpartitions is known by their names, and may be chosen by those of partitions.
        let known = choice.is_none_or(|choice| {
            let known = |name: &String| table.partitions.iter().any(|p| p.name == *name);
            choice.partitions.iter().all(known)
        });
        let own = known && by_partition(self.id, table);
        let partitions = table.partitions.iter().filter(|_| own);
        let partitions = partitions.map(|p| names.partition(&schema.name, &table.name, &p.name));
        let state = TableState::new(table.clone(), base.clone(), partitions.collect());
        let mut state = state.chosen_by(choice).fed(self.options.feed.clone());
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
        meta.histograms = table.histograms.iter().map(histogram).collect();
        let no_data = state.plan.columns.is_empty();
        if no_data && !sequence {
            self.out.exceptions.push(format!(
                "table {} has only generated columns: it is created again, its rows (which hold no data) are not",
                table.qualified()
            ));
        }
        // Reading through it would dump the rows of its tables a second time.
        meta.includes_data = self.options.rows && !sequence && !no_data && !merge;
        if self.options.triggers && !table.triggers.is_empty() {
            let mut triggers = Vec::new();
            for name in &table.triggers {
                let kind = ProgramKind::Trigger;
                let read = self.program(kind, Object::Trigger, &schema.name, name)?;
                if let Some(trigger) = read {
                    meta.triggers.push(name.clone());
                    triggers.push(trigger);
                }
            }
            let text = sqlfile::triggers_sql(
                &self.header,
                &schema.name,
                &table.name,
                &schema.collation,
                &triggers,
            );
            self.put(&format!("{base}.triggers.sql"), &text)?;
        }
        let file = format!("{base}.json");
        self.put(&file, &meta::to_json(&meta))?;
        self.out.count += 1;
        if meta.includes_data {
            state.described = Some((file, meta));
            self.out.tables.push(Arc::new(state));
        }
        Ok(true)
    }

    /// Writes a view; false if it is left out, and named.
    fn view(&mut self, view: &View, base: &str) -> Result<bool> {
        let title = format!(
            "view {}",
            server::quote::qualified(&view.schema, &view.name)
        );
        let d = match ddl::read(self.conn, Object::View, &view.schema, &view.name) {
            Ok(d) => d,
            Err(e) => {
                self.refused(&title, e)?;
                return Ok(false);
            }
        };
        if let Some(why) = broken::reason(self.conn, &view.schema, &view.name)? {
            self.out.exceptions.push(format!(
                "{title} is broken on the source, and will be on the target: {why}"
            ));
        }
        let pre = sqlfile::view_pre_sql(&self.header, &view.schema, &view.name, &view.columns);
        let text = rows::definitions::view(&self.header, &d);
        if !one_statement::is_one(&text, &d.sql) {
            self.not_one_statement(&title);
            return Ok(false);
        }
        if let Some(charset) = d.character_set_client.as_deref()
            && !sqlfile::keeps_charset(&d.sql, charset)
        {
            self.charset_lost(&title, charset);
        }
        self.put(&format!("{base}.pre.sql"), &pre)?;
        self.put(&format!("{base}.sql"), &text)?;
        self.out.views += 1;
        Ok(true)
    }

    fn not_one_statement(&mut self, title: &str) {
        self.out.exceptions.push(format!(
            "{title} is not dumped: its definition cannot be proven to be one statement; create it by hand"
        ));
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
/// A histogram as the archive has it. One that is no JSON is taken anew by a load.
fn histogram(h: &server::catalog::Histogram) -> archive::meta::Histogram {
    let data: Option<serde_json::Value> =
        h.json.as_deref().and_then(|j| serde_json::from_str(j).ok());
    let asked = data
        .as_ref()
        .and_then(|d| d["number-of-buckets-specified"].as_u64());
    archive::meta::Histogram {
        column: h.column.clone(),
        buckets: asked.unwrap_or(100),
        data,
    }
}

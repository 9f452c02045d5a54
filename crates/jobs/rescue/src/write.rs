//! The archive around the rows: definitions, metadata, and the manifest, which says that these are rescued rows.

use crate::described::{All, Table};
use crate::side::{self, Named};
use crate::table::{Done, nothing, nothing_error};
use crate::{Options, Summary, TableSummary};
use archive::chunk::ChunkRecord;
use archive::manifest::{self, ChunkEntry, TableRecord};
use archive::meta::{self, Root, SchemaMeta, TableMeta};
use archive::sqlfile::{self, Header};
use archive::{Basenames, Encoding, FileRecord, Manifest};
use base::Result;
use rows::table_plan::TablePlan;
use run::{Run, failure};
use serde_json::json;
use std::collections::{BTreeMap, HashMap, HashSet};
use store::Store;

/// Gives tables their names in the archive.
#[derive(Default)]
pub struct Names {
    bases: Basenames,
    /// Names of tables in lower case, by schema.
    taken: HashMap<String, HashSet<String>>,
}

impl Names {
    /// Gives tables their names; one whose name another has gets another one.
    pub fn own(&mut self, tables: &mut [Table]) {
        // Names that differ in their case alone are those of two tables of one server; foreign keys know them by these.
        let mut seen = HashSet::new();
        let is_first: Vec<bool> = (tables.iter())
            .map(|t| seen.insert((t.catalog.schema.clone(), t.catalog.name.clone())))
            .collect();
        for (schema, name) in seen {
            self.taken
                .entry(schema)
                .or_default()
                .insert(name.to_lowercase());
        }
        for (table, is_first) in tables.iter_mut().zip(is_first) {
            self.name(table, is_first);
        }
    }

    fn name(&mut self, table: &mut Table, is_first: bool) {
        let own = match is_first {
            true => table.catalog.name.clone(),
            false => self.free(table, ""),
        };
        if own != table.catalog.name {
            table.renamed_from = Some(table.catalog.name.clone());
            let old = server::quote::ident(&table.catalog.name);
            let new = server::quote::ident(&own);
            table.create = table.create.replacen(&old, &new, 1);
            table.catalog.name.clone_from(&own);
        }
        table.names.own = self.named(table, own);
    }

    /// Gives those beside a table their names, after all tables have theirs.
    pub fn beside(&mut self, table: &mut Table, options: &Options) {
        for (suffix, wanted) in [
            (side::PARTIAL, true),
            (side::DELETED, options.deleted),
            (side::OLD, options.old_pages),
        ] {
            if !wanted {
                continue;
            }
            let name = self.free(table, suffix);
            let named = self.named(table, name);
            *match suffix {
                side::PARTIAL => &mut table.names.partial,
                side::DELETED => &mut table.names.deleted,
                _ => &mut table.names.old,
            } = named;
        }
    }

    fn free(&mut self, table: &Table, suffix: &str) -> String {
        let taken = self.taken.entry(table.catalog.schema.clone()).or_default();
        side::name(&table.catalog.name, suffix, taken)
    }

    fn named(&mut self, table: &Table, name: String) -> Named {
        Named {
            base: self.bases.table(&table.catalog.schema, &name),
            table: name,
        }
    }
}

/// What is written.
struct Writer<'a> {
    store: &'a dyn Store,
    options: &'a Options,
    header: Header<'a>,
    files: BTreeMap<String, FileRecord>,
    manifest: Manifest,
    done: meta::Done,
    schemas: BTreeMap<String, SchemaMeta>,
    chunks: u64,
}

/// Writes the rest, and removes the marker.
pub fn finish(
    run: &Run,
    options: &Options,
    store: &dyn Store,
    described: &All,
    tables: Vec<Done>,
    begin: jiff::Timestamp,
) -> Result<Summary> {
    let phase = run.phase("finishing the archive", 1);
    let mut exceptions = described.exceptions.clone();
    for one in &tables {
        let name = described.tables[one.table].catalog.qualified();
        exceptions.extend(one.account.lines(&name));
    }
    if nothing(&tables) {
        return Err(nothing_error(&exceptions));
    }
    let wrong = |e: archive::ArchiveError| failure::archive("cannot finish the archive", &e);
    let tool = format!("{}{}", meta::DUMPER, env!("CARGO_PKG_VERSION"));
    let first = &described.tables[0];
    let version = described.tables.iter().find_map(|t| t.version.clone());
    let version = version.unwrap_or_default();
    let mut writer = Writer {
        store,
        options,
        header: Header {
            tool: &tool,
            host: "",
            server_version: &version,
        },
        files: BTreeMap::new(),
        manifest: Manifest::new("penstock", env!("CARGO_PKG_VERSION")),
        done: meta::Done::default(),
        schemas: BTreeMap::new(),
        chunks: 0,
    };
    let mut summaries = Vec::new();
    for one in tables.iter().filter(|d| !d.unread) {
        let table = &described.tables[one.table];
        summaries.push(writer.table(table, one).map_err(wrong)?);
    }
    let of_schemas = described.tables.iter().filter_map(|t| {
        let collation = t.schema_collation.as_deref()?;
        Some((t.catalog.schema.as_str(), collation))
    });
    let collations: HashMap<&str, &str> = of_schemas.collect();
    let root = writer
        .schemas(first, &collations, &tool, begin)
        .map_err(wrong)?;
    writer
        .put(meta::ROOT, &meta::to_json(&root))
        .map_err(wrong)?;
    let (header, empty) = (writer.header, sqlfile::empty_sql(&writer.header));
    writer
        .put("@.sql", &sqlfile::before_sql(&header, &[]))
        .map_err(wrong)?;
    writer.put("@.post.sql", &empty).map_err(wrong)?;
    writer.done.end = meta::time_text(jiff::Timestamp::now());
    let done = meta::to_json(&writer.done);
    writer.put(meta::DONE, &done).map_err(wrong)?;
    let Writer {
        mut manifest,
        files,
        schemas,
        ..
    } = writer;
    manifest.files.extend(files);
    manifest
        .tables
        .sort_by(|a, b| (&a.schema, &a.table).cmp(&(&b.schema, &b.table)));
    manifest.created = manifest::Created {
        begin: begin.to_string(),
        end: jiff::Timestamp::now().to_string(),
    };
    let places: Vec<String> = options
        .from
        .iter()
        .map(|p| p.display().to_string())
        .collect();
    manifest.source = manifest::Source {
        flavour: first.flavour.to_string(),
        version,
        datadir: places.join(", "),
        ..manifest::Source::default()
    };
    manifest.consistency = manifest::Consistency {
        mode: MODE.to_owned(),
        lock_ms: 0,
        exceptions: exceptions.clone(),
        // Of a rescued table there are the rows that could be read.
        tables_without_rows: Vec::new(),
    };
    manifest.options = root.options;
    manifest.sum_up();
    let totals = manifest.totals;
    run.check()?;
    store.sync().map_err(|e| wrong(e.into()))?;
    manifest.write(store).map_err(wrong)?;
    archive::marker::clear(store).map_err(wrong)?;
    drop(phase);
    summaries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Summary {
        path: options.to.absolute(),
        files: 0,
        rows: summaries.iter().map(|t| t.rows).sum(),
        tables: summaries,
        schemas: schemas.len() as u64,
        raw_bytes: totals.raw_bytes,
        stored_bytes: totals.stored_bytes,
        seconds: 0.0,
        exceptions,
    })
}

/// How the rows belong together: not at all.
const MODE: &str =
    "rescued from files, as they were: no position, and no promise that tables are of one moment";

impl Writer<'_> {
    fn put(&mut self, file: &str, text: &str) -> archive::Result<()> {
        let record = archive::file::put(self.store, file, text.as_bytes(), false)?;
        self.files.insert(file.to_owned(), record);
        Ok(())
    }

    fn table(&mut self, t: &Table, one: &Done) -> archive::Result<TableSummary> {
        self.one(t, &t.names.own, &t.create, &t.primary, &one.own)?;
        let rows = |records: &[ChunkRecord]| records.iter().map(|r| r.rows).sum();
        for (names, records) in [
            (&t.names.partial, &one.partial),
            (&t.names.deleted, &one.deleted),
            (&t.names.old, &one.old),
        ] {
            if !records.is_empty() {
                self.one(
                    t,
                    names,
                    &side::create(&t.catalog, &names.table),
                    &[],
                    records,
                )?;
            }
        }
        let [lost_pages, lost_rows, _] = one.account.counts();
        Ok(TableSummary {
            name: t.catalog.qualified(),
            rows: rows(&one.own),
            described_by: t.by,
            lost_pages,
            lost_rows,
            partial: rows(&one.partial),
            deleted: rows(&one.deleted),
            old: rows(&one.old),
        })
    }

    /// A table of the archive.
    fn one(
        &mut self,
        t: &Table,
        names: &Named,
        create: &str,
        primary: &[String],
        records: &[ChunkRecord],
    ) -> archive::Result<()> {
        let schema = &t.catalog.schema;
        let plan = TablePlan::of(&t.catalog);
        let text = sqlfile::table_sql(&self.header, schema, &names.table, create);
        self.put(&format!("{}.sql", names.base), &text)?;
        let encodings = plan.rows.columns().iter().copied();
        let columns: Vec<(String, Encoding)> =
            plan.columns.iter().cloned().zip(encodings).collect();
        let mut meta = TableMeta::new(
            schema,
            &names.table,
            &columns,
            primary,
            self.options.compression,
        );
        meta.options.default_character_set = plan.charset.to_owned();
        meta.includes_data = !plan.columns.is_empty();
        self.put(&format!("{}.json", names.base), &meta::to_json(&meta))?;
        let of_schema = self
            .schemas
            .entry(schema.clone())
            .or_insert_with(|| SchemaMeta::new(schema));
        of_schema.tables.push(names.table.clone());
        of_schema
            .basenames
            .insert(names.table.clone(), names.base.clone());
        let mut record = TableRecord {
            schema: schema.clone(),
            table: names.table.clone(),
            columns: plan.columns,
            row_expressions: None,
            key: Vec::new(),
            condition: None,
            partitions: Vec::new(),
            rows: 0,
            row_digest: String::new(),
            chunks: Vec::new(),
            generated: Vec::new(),
            indexes_without_digest: Vec::new(),
            identity: None,
        };
        for chunk in records {
            record.chunks.push(ChunkEntry::of(chunk));
            self.manifest.add_files_of(chunk);
            self.done
                .chunk_file_bytes
                .insert(chunk.file.clone(), chunk.raw_bytes);
            self.chunks += 1;
        }
        record.sum_up();
        let bytes = record.chunks.iter().map(|c| c.raw_bytes).sum::<u64>();
        self.done.data_bytes += bytes;
        let of_schema = self.done.table_rows.entry(schema.clone()).or_default();
        of_schema.insert(names.table.clone(), record.rows);
        let of_schema = self
            .done
            .table_data_bytes
            .entry(schema.clone())
            .or_default();
        of_schema.insert(names.table.clone(), bytes);
        self.manifest.tables.push(record);
        Ok(())
    }

    /// Writes the schemas; what the root says of all.
    fn schemas(
        &mut self,
        first: &Table,
        collations: &HashMap<&str, &str>,
        tool: &str,
        begin: jiff::Timestamp,
    ) -> archive::Result<Root> {
        let mut names = Basenames::new();
        let mut root = Root {
            dumper: tool.to_owned(),
            origin: "dumpSchemas".to_owned(),
            bytes_per_chunk: self.options.chunk_bytes,
            server_version: first.version.clone().unwrap_or_default(),
            consistent: false,
            begin: meta::time_text(begin),
            ..Root::default()
        };
        root.options.insert("rescued".into(), json!(true));
        root.options.insert(
            "compression".into(),
            json!(self.options.compression.to_string()),
        );
        for (name, meta) in self.schemas.clone() {
            let base = names.schema(&name);
            let mut create = format!("CREATE DATABASE {}", server::quote::ident(&name));
            let collation = collations.get(name.as_str()).copied().unwrap_or_default();
            if !collation.is_empty() {
                let set = collation.split('_').next().unwrap_or(collation);
                create += &format!(" DEFAULT CHARACTER SET {set} COLLATE {collation}");
            }
            let text = sqlfile::schema_sql(&self.header, &name, &create, collation, &[], &[]);
            self.put(&format!("{base}.sql"), &text)?;
            self.put(&format!("{base}.json"), &meta::to_json(&meta))?;
            root.schemas.push(name.clone());
            root.basenames.insert(name.clone(), base);
        }
        Ok(root)
    }
}

//! An archive as a whole, ours or MySQL Shell's: which schemas, tables, views
//! and data files it has, and under which names they lie.
//!
//! File names are taken from the `basenames` maps, never computed, and every
//! one is checked to be a plain name. Data files are found as the format says:
//! `base.EXT`, or `base@0.EXT`, `base@1.EXT`, … up to the one with `@@`, which
//! has to be there. Only metadata is read; that the files hold what the
//! manifest says is proven by [`crate::check()`].

mod by_file;
mod rename;
mod series;
#[cfg(test)]
mod tests;

use crate::chunk::Compression;
use crate::manifest::{ChunkEntry, Manifest, TableRecord};
use crate::meta::{self, Done, Root, SchemaMeta, TableMeta};
use crate::{ArchiveError, FileRecord, Result, RowDigest, marker};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{EntryKind, Store};

pub use rename::Naming;

/// An archive whose metadata has been read.
pub struct Archive {
    store: Arc<dyn Store>,
    content: Content,
}

/// What the metadata of an archive says.
pub(crate) struct Content {
    pub(crate) root: Root,
    pub(crate) done: Done,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) schemas: Vec<Schema>,
    pub(crate) damaged: Vec<Damaged>,
}

/// Something that cannot be read, because one of its files is missing or damaged.
#[derive(Debug)]
pub struct Damaged {
    /// What it is.
    pub part: Part,
    /// Schema name.
    pub schema: String,
    /// Name of the table or view; empty for what belongs to the schema.
    pub object: String,
    /// What is wrong.
    pub error: ArchiveError,
    base: String,
}

/// What a file of definitions is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A table, with its rows and triggers.
    Table,
    /// The triggers of a table.
    Triggers,
    /// A view.
    View,
    /// The list of a schema's objects (`S.json`). Its tables and views are those whose own files tell.
    Objects,
    /// The definition of a schema, or of its routines and events.
    Schema,
}

impl Damaged {
    /// Whether a file belongs to it.
    pub fn has(&self, file: &str) -> bool {
        let Some(rest) = file.strip_prefix(&self.base) else {
            return false;
        };
        match self.part {
            Part::Table | Part::View => rest.starts_with(['.', '@']),
            Part::Triggers => rest == ".triggers.sql",
            Part::Objects => rest == ".json",
            Part::Schema => matches!(
                rest,
                ".sql" | ".libraries.sql" | ".routines.sql" | ".events.sql"
            ),
        }
    }
}

/// A schema and where its definitions are.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// Its name where it was dumped; `None` of one that only holds tables of other schemas ([`Archive::rename`]).
    pub source: Option<String>,
    /// `S.json`.
    pub meta: SchemaMeta,
    /// Name of its metadata file.
    pub meta_file: String,
    /// SQL files with its definition, events and routines, in the order of loading.
    pub ddl: Vec<String>,
    /// Its tables, in the order of the metadata.
    pub tables: Vec<Table>,
    /// Its views, in the order of the metadata.
    pub views: Vec<View>,
}

/// A table and where it is.
#[derive(Clone, Debug)]
pub struct Table {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Schema and name where it was dumped.
    pub source: (String, String),
    /// `S@T.json`.
    pub meta: TableMeta,
    /// Name of its metadata file.
    pub meta_file: String,
    /// SQL file with its definition.
    pub ddl: Option<String>,
    /// SQL file with its triggers.
    pub triggers: Option<String>,
    /// How its data files are compressed.
    pub compression: Compression,
    /// Its data files, in order; none if the archive has no rows of it.
    pub chunks: Vec<Chunk>,
    /// Rows, where the manifest or the done file tells.
    pub rows: Option<u64>,
    /// Digest of all rows, where there is a manifest.
    pub row_digest: Option<RowDigest>,
}

/// One data file of a table.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its name.
    pub file: String,
    /// The partition it belongs to, if data files are per partition.
    pub partition: Option<String>,
    /// Its number in its series.
    pub number: u64,
    /// Size as stored, in bytes.
    pub stored_bytes: u64,
    /// Size before compression, where known.
    pub raw_bytes: Option<u64>,
    /// Rows, where there is a manifest.
    pub rows: Option<u64>,
    /// Digest of its rows, where there is a manifest.
    pub row_digest: Option<RowDigest>,
    /// Size and digest as stored, where there is a manifest.
    pub record: Option<FileRecord>,
}

/// A view and where it is.
#[derive(Clone, Debug)]
pub struct View {
    /// Schema name.
    pub schema: String,
    /// View name.
    pub name: String,
    /// Schema and name where it was dumped.
    pub source: (String, String),
    /// SQL file with the placeholder.
    pub pre: String,
    /// SQL file with the view itself.
    pub ddl: String,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive")
            .field("store", &self.store.describe())
            .field("schemas", &self.schemas().len())
            .finish_non_exhaustive()
    }
}

impl Archive {
    /// Reads the metadata of a complete archive.
    pub fn open(store: Arc<dyn Store>) -> Result<Self> {
        refuse_unfinished(&*store)?;
        let manifest = Manifest::read(&*store)?;
        let content = Content::read(&*store, manifest, false)?;
        Ok(Self { store, content })
    }

    /// The same, without what cannot be read: [`Archive::damaged`] has it.
    pub fn open_tolerant(store: Arc<dyn Store>) -> Result<Self> {
        refuse_unfinished(&*store)?;
        let manifest = Manifest::read(&*store)?;
        let content = Content::read(&*store, manifest, true)?;
        Ok(Self { store, content })
    }

    /// The same without looking for data files: its tables have none.
    pub fn open_tolerant_definitions(store: Arc<dyn Store>) -> Result<Self> {
        refuse_unfinished(&*store)?;
        let manifest = Manifest::read(&*store)?;
        let content = Content::read_parts(&*store, manifest, true, false)?;
        Ok(Self { store, content })
    }

    /// Reads the definitions of an archive whose rows are elsewhere, or on their way: its tables have no data files.
    pub fn open_definitions(store: Arc<dyn Store>) -> Result<Self> {
        let manifest = Manifest::read(&*store)?;
        let mut content = Content::read_parts(&*store, manifest, false, false)?;
        for table in content.schemas.iter_mut().flat_map(|s| &mut s.tables) {
            table.rows = None;
            table.row_digest = None;
        }
        Ok(Self { store, content })
    }

    /// What [`Archive::open_tolerant`] has left out.
    pub fn damaged(&self) -> &[Damaged] {
        &self.content.damaged
    }

    /// Forgets a file with the triggers of a table, or with the definition, routines or events of a schema: it was
    /// found to be damaged.
    pub fn leave_out_definition(&mut self, file: &str) {
        for schema in &mut self.content.schemas {
            schema.ddl.retain(|f| f != file);
            for table in &mut schema.tables {
                table.triggers = table.triggers.take().filter(|f| f != file);
            }
        }
    }

    /// Forgets the rows of all tables, of which the definitions alone are used. Gives the files that nothing reads then.
    pub fn leave_out_rows(&mut self) -> Vec<String> {
        let entries = self.content.manifest.iter().flat_map(entries_by_file);
        let mut files: Vec<String> = entries
            .flat_map(|(file, _)| [format!("{file}.idx"), file.to_owned()])
            .collect();
        for table in self.content.schemas.iter_mut().flat_map(|s| &mut s.tables) {
            table.meta.includes_data = false;
            (table.rows, table.row_digest) = (None, None);
            for chunk in std::mem::take(&mut table.chunks) {
                files.push(format!("{}.idx", chunk.file));
                files.push(chunk.file);
            }
        }
        files
    }

    /// Forgets the rows of a table that are in other partitions than these. Gives the files that nothing reads then; `None`, and
    /// nothing is forgotten, if the archive does not have the rows of each of these apart, or has digests that are of all rows
    /// of the table: those of generated columns.
    pub fn leave_out_partitions(
        &mut self,
        schema: &str,
        table: &str,
        wanted: &[String],
    ) -> Option<Vec<String>> {
        let tables = self.content.schemas.iter_mut().flat_map(|s| &mut s.tables);
        let found = tables
            .into_iter()
            .find(|t| t.schema == schema && t.name == table)?;
        let mut record = self.content.manifest.as_mut().and_then(|m| {
            let mut tables = m.tables.iter_mut();
            tables.find(|t| t.schema == schema && t.table == table)
        });
        if record.as_ref().is_some_and(|r| !r.generated.is_empty()) {
            return None;
        }
        let apart = |name: &String| {
            let mut of = found.chunks.iter().filter_map(|c| c.partition.as_deref());
            of.any(|of| same_partition(of, name))
        };
        if !wanted.iter().all(apart) {
            return None;
        }
        let is_wanted = |of: &Option<String>| {
            let of = of.as_deref().unwrap_or_default();
            wanted.iter().any(|name| same_partition(of, name))
        };
        let (kept, forgotten): (Vec<Chunk>, Vec<Chunk>) = std::mem::take(&mut found.chunks)
            .into_iter()
            .partition(|c| is_wanted(&c.partition));
        found.chunks = kept;
        (found.rows, found.row_digest) = (None, None);
        if let Some(record) = &mut record {
            // That a partition has no rows is compared as well, as long as the target has the partitions of the archive.
            let mut empty = HashSet::new();
            record.chunks.retain_mut(|c| {
                let wanted = is_wanted(&c.partition);
                let first = !wanted && empty.insert(c.partition.clone());
                if first {
                    (c.rows, c.raw_bytes, c.from, c.to) = (0, 0, None, None);
                    c.row_digest = RowDigest::new().to_hex();
                }
                wanted || first
            });
            record.sum_up();
            (found.rows, found.row_digest) = (Some(record.rows), record.digest());
        }
        let files = forgotten.into_iter().map(|c| c.file);
        Some(files.flat_map(|f| [format!("{f}.idx"), f]).collect())
    }

    /// Forgets the triggers of all tables. Gives the files that nothing reads then.
    pub fn leave_out_triggers(&mut self) -> Vec<String> {
        let tables = self.content.schemas.iter_mut().flat_map(|s| &mut s.tables);
        tables.filter_map(|t| t.triggers.take()).collect()
    }

    /// Forgets the triggers, routines and events that are not wanted. Each is asked about by its kind ("trigger", "routine",
    /// "event"), the schema that it had on the source, and its name. Gives those, each with the file that defines it, and the
    /// files that nothing reads then.
    pub fn choose_programs(
        &mut self,
        wanted: impl Fn(&'static str, &str, &str) -> bool,
    ) -> (Vec<(String, &'static str, String)>, Vec<String>) {
        let (mut unwanted, mut unread) = (Vec::new(), Vec::new());
        let mut choose =
            |names: &mut Vec<String>, kind: &'static str, of: &str, files: &[String]| {
                names.retain(|name| {
                    let wanted = wanted(kind, of, name);
                    if !wanted {
                        unwanted.extend(files.iter().map(|f| (f.clone(), kind, name.clone())));
                    }
                    wanted
                });
            };
        for schema in &mut self.content.schemas {
            for table in &mut schema.tables {
                let files: Vec<String> = table.triggers.iter().cloned().collect();
                let had = !table.meta.triggers.is_empty();
                choose(&mut table.meta.triggers, "trigger", &table.source.0, &files);
                if had && table.meta.triggers.is_empty() {
                    unread.extend(table.triggers.take());
                }
            }
            let of = schema.source.clone().unwrap_or_else(|| schema.name.clone());
            let meta = &mut schema.meta;
            for names in [
                &mut meta.functions,
                &mut meta.procedures,
                &mut meta.packages,
            ]
            .into_iter()
            .flatten()
            {
                choose(names, "routine", &of, &schema.ddl);
            }
            if let Some(names) = &mut meta.events {
                choose(names, "event", &of, &schema.ddl);
            }
        }
        (unwanted, unread)
    }

    /// The store it lies in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// `@.json`.
    pub fn root(&self) -> &Root {
        &self.content.root
    }

    /// `@.done.json`.
    pub fn done(&self) -> &Done {
        &self.content.done
    }

    /// penstock's own account of it; others' archives have none.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.content.manifest.as_ref()
    }

    /// Whether there is an account of every byte.
    pub fn has_manifest(&self) -> bool {
        self.content.manifest.is_some()
    }

    /// Its schemas, in the order of the metadata.
    pub fn schemas(&self) -> &[Schema] {
        &self.content.schemas
    }

    /// The tables of all schemas.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.schemas().iter().flat_map(|s| &s.tables)
    }

    /// The views of all schemas.
    pub fn views(&self) -> impl Iterator<Item = &View> {
        self.schemas().iter().flat_map(|s| &s.views)
    }

    /// The SQL file with accounts, if there is one.
    pub fn users_file(&self) -> Option<&'static str> {
        self.root().users.as_ref().map(|_| "@.users.sql")
    }

    /// The content of an SQL file, checked against the manifest where there is one.
    pub fn sql(&self, file: &str) -> Result<String> {
        let bytes = meta::read_bytes(&*self.store, file)?;
        if let Some(manifest) = self.manifest() {
            let Some(record) = manifest.files.get(file) else {
                return Err(ArchiveError::damaged(file, "not listed in the manifest"));
            };
            crate::file::compare(file, &FileRecord::of(&bytes), record)?;
        }
        String::from_utf8(bytes).map_err(|_| ArchiveError::damaged(file, "not UTF-8"))
    }
}

/// Whether two names mean one partition: servers do not tell the case of letters apart.
pub fn same_partition(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// The error for an archive whose dump has declared itself and has not ended.
pub(crate) fn refuse_unfinished(store: &dyn Store) -> Result<()> {
    let Some(marker) = marker::get(store)? else {
        return Ok(());
    };
    let why = format!(
        "what writes it began at {} (process {}) and has not finished",
        base::units::printable(&marker.started),
        marker.pid
    );
    Err(ArchiveError::Incomplete { why })
}

impl Content {
    /// Reads the metadata files; `manifest` is the archive's, if it has one.
    /// Leaves out what is damaged, if that is `tolerant`.
    pub(crate) fn read(
        store: &dyn Store,
        manifest: Option<Manifest>,
        tolerant: bool,
    ) -> Result<Self> {
        Content::read_parts(store, manifest, tolerant, true)
    }

    /// `rows`: data files too.
    fn read_parts(
        store: &dyn Store,
        manifest: Option<Manifest>,
        tolerant: bool,
        rows: bool,
    ) -> Result<Self> {
        if manifest.is_none() && store.size(meta::ROOT)?.is_none() {
            let why = format!("there is no {} in {}", meta::ROOT, store.describe());
            return Err(ArchiveError::Incomplete { why });
        }
        let mut sizes = HashMap::new();
        for entry in store.list()? {
            if entry.kind == EntryKind::File {
                sizes.insert(entry.name, entry.size);
            }
        }
        let root: Root = checked_meta(store, manifest.as_ref(), meta::ROOT)?;
        root.check_readable()?;
        if manifest.is_none() && root.dumper.starts_with(meta::DUMPER) {
            let why = format!("there is no {}", crate::manifest::MANIFEST);
            return Err(ArchiveError::Incomplete { why });
        }
        if !sizes.contains_key(meta::DONE) {
            let why = format!("there is no {}", meta::DONE);
            return Err(ArchiveError::Incomplete { why });
        }
        let done: Done = checked_meta(store, manifest.as_ref(), meta::DONE)?;
        let mut reading = Reading {
            store,
            sizes,
            done: &done,
            entries: manifest.iter().flat_map(entries_by_file).collect(),
            tables: manifest.iter().flat_map(Manifest::by_name).collect(),
            manifest: manifest.as_ref(),
            damaged: tolerant.then(Vec::new),
            rows,
        };
        let schemas = root
            .schemas
            .iter()
            .filter_map(|name| {
                let base = root.basenames.get(name).unwrap_or(name);
                reading.schema(name, base).transpose()
            })
            .collect::<Result<_>>()?;
        let damaged = reading.damaged.unwrap_or_default();
        Ok(Self {
            damaged,
            root,
            done,
            manifest,
            schemas,
        })
    }
}

/// A metadata file, checked against the manifest where there is one.
fn checked_meta<T: serde::de::DeserializeOwned>(
    store: &dyn Store,
    manifest: Option<&Manifest>,
    file: &str,
) -> Result<T> {
    let bytes = meta::read_bytes(store, file)?;
    if let Some(record) = manifest.and_then(|m| m.files.get(file)) {
        crate::file::compare(file, &FileRecord::of(&bytes), record)?;
    }
    meta::parse(file, &bytes)
}

fn entries_by_file(manifest: &Manifest) -> impl Iterator<Item = (&str, &ChunkEntry)> {
    let chunks = manifest.tables.iter().flat_map(|t| &t.chunks);
    chunks.map(|c| (c.file.as_str(), c))
}

/// What is at hand while the metadata is read.
struct Reading<'a> {
    store: &'a dyn Store,
    sizes: HashMap<String, u64>,
    done: &'a Done,
    manifest: Option<&'a Manifest>,
    entries: HashMap<&'a str, &'a ChunkEntry>,
    tables: HashMap<(&'a str, &'a str), &'a TableRecord>,
    /// Where damaged objects go, unless one is an error.
    damaged: Option<Vec<Damaged>>,
    /// Whether data files are looked for.
    rows: bool,
}

impl Reading<'_> {
    fn meta<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<T> {
        self.present(file)?;
        checked_meta(self.store, self.manifest, file)
    }

    fn present(&self, file: &str) -> Result<()> {
        if !store::valid_name(file) {
            return Err(ArchiveError::damaged(file, "not a plain file name"));
        }
        if !self.sizes.contains_key(file) {
            return Err(ArchiveError::damaged(file, "missing"));
        }
        Ok(())
    }

    fn named(&self, file: String) -> Result<String> {
        self.present(&file)?;
        Ok(file)
    }

    /// What was read, or `None` if it is damaged and that is tolerated.
    fn unless_damaged<T>(
        &mut self,
        part: Part,
        (schema, object, base): (&str, &str, &str),
        read: Result<T>,
    ) -> Result<Option<T>> {
        match (read, &mut self.damaged) {
            (Err(error @ ArchiveError::Damaged { .. }), Some(damaged)) => {
                damaged.push(Damaged {
                    part,
                    schema: schema.to_owned(),
                    object: object.to_owned(),
                    error,
                    base: base.to_owned(),
                });
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }

    fn schema(&mut self, name: &str, base: &str) -> Result<Option<Schema>> {
        let meta_file = format!("{base}.json");
        let read = self.meta(&meta_file);
        let meta = match self.unless_damaged(Part::Objects, (name, "", base), read)? {
            Some(meta) => meta,
            None => match self.objects_by_file(name, base) {
                Some(meta) => meta,
                None => return Ok(None),
            },
        };
        let mut ddl = Vec::new();
        if meta.includes_ddl {
            let definition = self.named(format!("{base}.sql"));
            ddl.extend(self.unless_damaged(Part::Schema, (name, "", base), definition)?);
            for part in ["libraries", "routines", "events"] {
                let file = format!("{base}.{part}.sql");
                if meta.multifile_ddl && self.sizes.contains_key(&file) {
                    ddl.push(file);
                }
            }
        }
        let base_of = |object: &String| match meta.basenames.get(object) {
            Some(base) => base.clone(),
            None => format!("{base}@{object}"),
        };
        let mut tables = Vec::new();
        for table in &meta.tables {
            let base = base_of(table);
            let read = self.table(&meta, name, table, &base);
            tables.extend(self.unless_damaged(Part::Table, (name, table, &base), read)?);
        }
        let mut views = Vec::new();
        if meta.views_ddl() {
            for view in &meta.views {
                let base = base_of(view);
                let read = self.view(name, view, &base);
                views.extend(self.unless_damaged(Part::View, (name, view, &base), read)?);
            }
        }
        Ok(Some(Schema {
            name: name.to_owned(),
            source: Some(name.to_owned()),
            meta_file,
            ddl,
            tables,
            views,
            meta,
        }))
    }

    fn view(&self, schema: &str, name: &str, base: &str) -> Result<View> {
        Ok(View {
            schema: schema.to_owned(),
            name: name.to_owned(),
            source: (schema.to_owned(), name.to_owned()),
            pre: self.named(format!("{base}.pre.sql"))?,
            ddl: self.named(format!("{base}.sql"))?,
        })
    }

    fn table(&mut self, of: &SchemaMeta, schema: &str, name: &str, base: &str) -> Result<Table> {
        let meta_file = format!("{base}.json");
        let meta: TableMeta = self.meta(&meta_file)?;
        if meta.options.schema != schema || meta.options.table != name {
            return Err(ArchiveError::damaged(
                &meta_file,
                format!("it describes another table than {schema}.{name}"),
            ));
        }
        let has_ddl = of.includes_ddl && meta.includes_ddl;
        let ddl = has_ddl
            .then(|| self.named(format!("{base}.sql")))
            .transpose()?;
        let triggers = match has_ddl && !meta.triggers.is_empty() {
            true => {
                let file = self.named(format!("{base}.triggers.sql"));
                self.unless_damaged(Part::Triggers, (schema, name, base), file)?
            }
            false => None,
        };
        let mut chunks = Vec::new();
        if self.rows && of.includes_data && meta.includes_data {
            if meta.basenames.is_empty() {
                self.series(&meta, base, None, &mut chunks)?;
            } else {
                let names = meta.partitions.iter();
                let listed: HashSet<_> = names.clone().collect();
                let rest = meta.basenames.keys().filter(|p| !listed.contains(p));
                for partition in names.chain(rest) {
                    let base = match meta.basenames.get(partition) {
                        Some(base) => base.clone(),
                        None => format!("{base}@{partition}"),
                    };
                    self.series(&meta, &base, Some(partition), &mut chunks)?;
                }
            }
        }
        let record = self.tables.get(&(schema, name));
        let counted = self.done.table_rows.get(schema);
        let counted = counted.and_then(|tables| tables.get(name)).copied();
        Ok(Table {
            schema: schema.to_owned(),
            name: name.to_owned(),
            source: (schema.to_owned(), name.to_owned()),
            compression: meta.compression(&meta_file)?,
            ddl,
            triggers,
            chunks,
            rows: record.map(|r| r.rows).or(counted),
            row_digest: record.and_then(|r| r.digest()),
            meta_file,
            meta,
        })
    }
}

//! The end of a dump: metadata of the whole archive, everything made durable, and last the manifest,
//! which makes the archive complete.

use super::accounts::Dumped;
use super::complete::IN_BETWEEN;
use super::progress;
use super::tables::TableState;
use super::unchanged::Identities;
use super::{Accounts, Consistency, Options, snapshot::Achieved};
use archive::manifest::{self, ChunkEntry, GeneratedRecord, TableRecord};
use archive::meta::{self, Capability, Done, Root};
use archive::{FileRecord, Manifest, RowDigest, WriteOptions};
use base::{Result, failpoint};
use rows::archives;
use rows::generated::Kept;
use run::Run;
use run::failure;
use serde_json::json;
use server::tablespaces::Tablespace;
use server::{Catalog, Identity};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Store;

/// What the manifest records.
pub struct Facts<'a> {
    pub id: &'a Identity,
    pub catalog: &'a Catalog,
    pub tables: &'a [Arc<TableState>],
    pub accounts: Option<&'a Dumped<'a>>,
    pub achieved: &'a Achieved,
    pub exceptions: &'a [String],
    /// Tables whose rows were given up, quoted and qualified.
    pub without_rows: &'a [String],
    /// What identifies the tables in the server, as far as the account may see that.
    pub identities: &'a Identities,
    /// General tablespaces that tables are in.
    pub tablespaces: &'a [Tablespace],
    /// The files of definitions.
    pub files: BTreeMap<String, FileRecord>,
    pub begin: jiff::Timestamp,
}

impl Facts<'_> {
    /// The server that is dumped; another one may read the snapshot of its files.
    fn dumped<'a>(&'a self, options: &'a Options) -> &'a Identity {
        options.snapshot_of().map_or(self.id, |of| &of.id)
    }
}

/// Totals for the summary.
pub struct Finished {
    pub rows: u64,
    pub raw_bytes: u64,
    pub stored_bytes: u64,
    pub chunks: u64,
}

/// Writes the remaining files and removes the marker.
pub fn finish(
    run: &Run,
    store: &dyn Store,
    options: &Options,
    facts: &Facts<'_>,
    has_progress: bool,
) -> Result<Finished> {
    // Without files of rows there is nothing to close.
    if options.feed.is_none() {
        close_series(store, options, facts).map_err(|e| wrong(&e))?;
    }
    let manifest = metadata(store, options, facts)?;
    let totals = manifest.totals;
    run.check()?;
    if let Some(base) = &options.base {
        let references = base.references(facts.tables)?;
        if !references.is_empty() {
            // As it is, also beside encrypted files: whoever removes backups need not have a key.
            let place = options.to.location().open(None);
            let place = place.map_err(|e| wrong(&e.into()))?;
            references.write(&*place).map_err(|e| wrong(&e))?;
        }
    }
    // Everything the manifest speaks of is on stable storage before it speaks.
    store.sync().map_err(|e| wrong(&e.into()))?;
    manifest.write(store).map_err(|e| wrong(&e))?;
    failpoint::reached("the manifest is written");
    if has_progress {
        progress::remove(store).map_err(|e| wrong(&e.into()))?;
    }
    archive::marker::clear(store).map_err(|e| wrong(&e))?;
    Ok(Finished {
        rows: totals.rows,
        raw_bytes: totals.raw_bytes,
        stored_bytes: totals.stored_bytes,
        // Those that this run has written.
        chunks: facts
            .tables
            .iter()
            .map(|t| t.chunks().len() - t.ended().iter().map(|e| e.chunks.len()).sum::<usize>())
            .sum::<usize>() as u64,
    })
}

/// Writes everything but rows, for loads that begin before there are any.
pub fn definitions(store: &dyn Store, options: &Options, facts: &Facts<'_>) -> Result<()> {
    let manifest = metadata(store, options, facts)?;
    manifest.write(store).map_err(|e| wrong(&e))
}

fn wrong(e: &archive::ArchiveError) -> base::Error {
    failure::archive("cannot finish the archive", e)
}

/// Writes the metadata of the archive as a whole; returns the manifest, which is not written.
fn metadata(store: &dyn Store, options: &Options, facts: &Facts<'_>) -> Result<Manifest> {
    let mut manifest = Manifest::new("penstock", env!("CARGO_PKG_VERSION"));
    let mut done = Done::default();
    for schema in &facts.catalog.schemas {
        done.table_rows.entry(schema.name.clone()).or_default();
        done.table_data_bytes
            .entry(schema.name.clone())
            .or_default();
    }
    for state in facts.tables {
        let (schema, table) = (&state.table.schema, &state.table.name);
        let mut record = TableRecord {
            generated: state
                .kept()
                .iter()
                .map(|kept| generated(state, kept))
                .collect(),
            ..record(state, facts)
        };
        for chunk in state.chunks() {
            let mut entry = ChunkEntry::of(&chunk.record);
            entry
                .partition
                .clone_from(&state.series[chunk.series].partition);
            (entry.from, entry.to) = chunk.range.record();
            record.chunks.push(entry);
            manifest.add_files_of(&chunk.record);
            done.chunk_file_bytes
                .insert(chunk.record.file.clone(), chunk.record.raw_bytes);
        }
        if let Some(taken) = state.taken() {
            record = TableRecord {
                indexes_without_digest: record.indexes_without_digest,
                identity: record.identity,
                ..taken.record.clone()
            };
            manifest.files.extend(taken.files.clone());
            for chunk in &record.chunks {
                done.chunk_file_bytes
                    .insert(chunk.file.clone(), chunk.raw_bytes);
            }
        }
        record.sum_up();
        let bytes = record.chunks.iter().map(|c| c.raw_bytes).sum::<u64>();
        done.data_bytes += bytes;
        done.table_rows
            .entry(schema.clone())
            .or_default()
            .insert(table.clone(), record.rows);
        done.table_data_bytes
            .entry(schema.clone())
            .or_default()
            .insert(table.clone(), bytes);
        manifest.tables.push(record);
    }
    manifest
        .tables
        .sort_by(|a, b| (&a.schema, &a.table).cmp(&(&b.schema, &b.table)));
    let tool = super::tool();
    let header = archive::sqlfile::Header {
        tool: &tool,
        host: &facts.id.hostname,
        server_version: &facts.id.version_text,
    };
    let mut files = BTreeMap::new();
    let mut put = |name: &str, text: &str| {
        let record =
            archive::file::put(store, name, text.as_bytes(), false).map_err(|e| wrong(&e))?;
        files.insert(name.to_owned(), record);
        Ok(())
    };
    let spaces: Vec<String> = facts.tablespaces.iter().map(Tablespace::create).collect();
    put("@.sql", &archive::sqlfile::before_sql(&header, &spaces))?;
    if let Some(accounts) = facts.accounts {
        let text = archive::sqlfile::users_sql(&header, &accounts.statements());
        put(rows::accounts::file::FILE, &text)?;
        manifest.accounts = Some(accounts.count());
    }
    put("@.post.sql", &archive::sqlfile::empty_sql(&header))?;
    put(meta::ROOT, &meta::to_json(&root_metadata(options, facts)))?;
    done.end = meta::time_text(jiff::Timestamp::now());
    put(meta::DONE, &meta::to_json(&done))?;

    // What was written is recorded, not what could be read back: a damaged file must not get a fitting digest.
    manifest.files.extend(facts.files.clone());
    manifest.files.extend(files);
    about(&mut manifest, options, facts);
    manifest.source.settings = settings(options, facts);
    manifest.tablespaces = facts.tablespaces.iter().map(tablespace).collect();
    manifest.sum_up();
    Ok(manifest)
}

/// What an unfinished dump is of: everything that is known when its definitions are written.
pub fn head(options: &Options, facts: &Facts<'_>) -> Manifest {
    let mut manifest = Manifest::new("penstock", env!("CARGO_PKG_VERSION"));
    about(&mut manifest, options, facts);
    manifest.source.settings = settings_of(facts.dumped(options));
    for state in facts.tables {
        let mut record = record(state, facts);
        record.sum_up();
        manifest.tables.push(record);
        let described = state.described.as_ref().map(|(file, _)| file);
        if let Some((file, of)) = described.and_then(|f| facts.files.get_key_value(f)) {
            manifest.files.insert(file.clone(), of.clone());
        }
    }
    manifest.sum_up();
    manifest
}

/// The server, the moment, and how it was had.
fn about(manifest: &mut Manifest, options: &Options, facts: &Facts<'_>) {
    let id = facts.dumped(options);
    manifest.created = manifest::Created {
        begin: facts.begin.to_string(),
        end: jiff::Timestamp::now().to_string(),
    };
    manifest.source = archives::source(id);
    manifest.consistency = manifest::Consistency {
        mode: facts.achieved.mode.clone(),
        lock_ms: facts.achieved.lock_ms.ceil() as u64,
        exceptions: facts.exceptions.to_vec(),
        tables_without_rows: facts.without_rows.to_vec(),
    };
    manifest.position = archives::position(&facts.achieved.position);
    manifest.options = option_map(options);
}

/// What the manifest says of a table whose rows are not counted yet.
fn record(state: &TableState, facts: &Facts<'_>) -> TableRecord {
    let key = state.plan.key.as_ref();
    TableRecord {
        schema: state.table.schema.clone(),
        table: state.table.name.clone(),
        columns: state.plan.columns.clone(),
        row_expressions: None,
        key: key.map(|k| k.names()).unwrap_or_default(),
        condition: state.plan.choice.condition.clone(),
        partitions: state.plan.choice.partitions.clone(),
        rows: 0,
        row_digest: String::new(),
        chunks: Vec::new(),
        generated: Vec::new(),
        indexes_without_digest: rows::generated::unread_indexes(&state.table),
        identity: facts
            .identities
            .get(&(state.table.schema.clone(), state.table.name.clone()))
            .cloned(),
    }
}

/// A series of chunks ends with one that carries `@@`; where nobody could know
/// which would be the last, it is an empty one.
fn close_series(store: &dyn Store, options: &Options, facts: &Facts<'_>) -> archive::Result<()> {
    let mut scratch = archive::Scratch::new();
    for state in facts.tables.iter().filter(|t| t.taken().is_none()) {
        let chunks = state.chunks();
        let mut empty = |n: usize, number: u64, last: bool| -> archive::Result<()> {
            let (way, settings) = (options.compression, WriteOptions::default());
            let file = state.series[n].file(number, last, way.extension());
            let chunk = archive::ChunkWriter::create(store, &file, way, settings, &mut scratch)?;
            // It holds no range of its own: the rows are all in the others.
            state.add_chunk(super::tables::DoneChunk {
                record: chunk.finish()?,
                range: rows::key_ranges::KeyRange::whole(),
                series: n,
                number,
            });
            Ok(())
        };
        for (n, series) in state.series.iter().enumerate() {
            let mut own = chunks.iter().filter(|c| c.series == n);
            if own.any(|c| c.record.file.contains("@@")) {
                continue;
            }
            // What a dump that was killed had begun may be in fewer files now.
            while let Some(number) = series.free_number() {
                empty(n, number, false)?;
            }
            empty(n, series.next_number(), true)?;
        }
    }
    Ok(())
}

fn root_metadata(options: &Options, facts: &Facts<'_>) -> Root {
    let mut names = archive::Basenames::new();
    let mut root = Root::default();
    let p = &facts.achieved.position;
    let id = facts.dumped(options);
    root.dumper = super::tool();
    root.origin = if options.filter.takes_all() {
        "dumpInstance"
    } else {
        "dumpSchemas"
    }
    .to_owned();
    root.options = option_map(options);
    for schema in &facts.catalog.schemas {
        root.schemas.push(schema.name.clone());
        root.basenames
            .insert(schema.name.clone(), names.schema(&schema.name));
    }
    if facts.tables.iter().any(|t| t.series[0].partition.is_some()) {
        root.capabilities.push(Capability::partitions());
    }
    root.users = facts.accounts.map(Dumped::names);
    root.partial_revokes = rows::accounts::adapt::is_literal(id);
    root.bytes_per_chunk = options.chunk_bytes;
    root.user.clone_from(&options.source.user);
    root.hostname.clone_from(&id.hostname);
    root.server.clone_from(&id.hostname);
    root.server_version.clone_from(&id.version_text);
    root.binlog_file.clone_from(&p.binlog_file);
    root.binlog_position = p.binlog_position;
    // MySQL syntax only; MariaDB's position is in the manifest.
    root.gtid_executed = p.gtid_executed.clone().unwrap_or_default();
    root.consistent = options.consistency != Consistency::None;
    root.begin = meta::time_text(facts.begin);
    root
}

/// The settings that generated columns may have been computed under.
fn settings(options: &Options, facts: &Facts<'_>) -> BTreeMap<String, String> {
    let has_kept = |t: &Arc<TableState>| {
        !t.kept().is_empty()
            || t.taken()
                .is_some_and(|taken| !taken.record.generated.is_empty())
    };
    if !facts.tables.iter().any(has_kept) {
        return BTreeMap::new();
    }
    settings_of(facts.dumped(options))
}

fn settings_of(id: &Identity) -> BTreeMap<String, String> {
    let names = rows::generated::SETTINGS.into_iter();
    let names = names.chain([rows::generated::SYSTEM_TIME_ZONE]);
    let set = names.filter_map(|n| Some((n.to_owned(), id.variable(n)?.to_owned())));
    set.collect()
}

fn tablespace(t: &Tablespace) -> manifest::Tablespace {
    manifest::Tablespace {
        name: t.name.clone(),
        file: t.file_name().to_owned(),
        block_size: t.block_size,
        autoextend_size: t.autoextend_size,
        encrypted: t.encrypted,
    }
}

/// What the manifest says of values of a generated column.
pub fn generated(state: &TableState, (kept, digest): &(Kept, RowDigest)) -> GeneratedRecord {
    GeneratedRecord {
        column: kept.column.clone(),
        index: kept.index.clone(),
        key: state
            .table
            .primary_columns()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        rows: digest.rows(),
        row_digest: digest.to_hex(),
    }
}

/// The options that decide what is in the archive, and how it was made.
pub fn option_map(options: &Options) -> serde_json::Map<String, serde_json::Value> {
    let mut map = serde_json::Map::new();
    map.insert("threads".into(), json!(options.threads));
    map.insert("compression".into(), json!(options.compression.to_string()));
    map.insert("bytesPerChunk".into(), json!(options.chunk_bytes));
    map.insert(
        "consistent".into(),
        json!(options.consistency != Consistency::None),
    );
    map.insert("views".into(), json!(options.views));
    map.insert("routines".into(), json!(options.routines));
    map.insert("events".into(), json!(options.events));
    map.insert("triggers".into(), json!(options.triggers));
    if !options.rows {
        map.insert("ddlOnly".into(), json!(true));
    }
    if options.in_between {
        map.insert(IN_BETWEEN.into(), json!(true));
    }
    let choices = &options.choices;
    if !choices.partitions().is_empty() {
        map.insert("partitions".into(), json!(choices.partitions()));
    }
    if !choices.conditions().is_empty() {
        map.insert("where".into(), json!(choices.conditions()));
    }
    if let Accounts::Chosen(choice) = &options.accounts {
        for (name, patterns) in choice.options() {
            map.insert(name.into(), json!(patterns));
        }
    }
    for (name, patterns) in options.filter.options() {
        map.insert(name.into(), json!(patterns));
    }
    map
}

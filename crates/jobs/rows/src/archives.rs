//! How a job opens an archive.

use crate::table_plan::RowChoice;
use archive::{Archive, manifest};
use base::units::printable;
use base::{Error, Kind, Result};
use encryption::Place;
use run::failure;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Location, Store};

/// Opens an archive.
pub fn open(from: &Place) -> Result<Archive> {
    open_in(from, store(from)?)
}

/// Opens an archive without its damaged tables.
pub fn open_tolerant(from: &Place) -> Result<Archive> {
    tolerant(from, Archive::open_tolerant)
}

/// The same without looking for the files of rows.
pub fn open_tolerant_definitions(from: &Place) -> Result<Archive> {
    tolerant(from, Archive::open_tolerant_definitions)
}

fn tolerant(from: &Place, open: fn(Arc<dyn Store>) -> archive::Result<Archive>) -> Result<Archive> {
    let store = from.open_tolerant().map_err(|e| place_error(from, &e))?;
    open(Arc::clone(&store)).map_err(|e| {
        nothing(from, &*store)
            .unwrap_or_else(|| failure::archive(format_args!("cannot use {from}"), &e))
    })
}

/// The error of an archive that needs files of others beside it which are not there: it says more than that its files are missing.
pub fn not_beside(from: &Place) -> Option<Error> {
    match from.open(None) {
        Err(e @ encryption::Error::NotBeside(_)) => Some(place_error(from, &e)),
        _ => None,
    }
}

/// Opens the definitions of an archive whose rows are still being read.
pub fn open_definitions(from: &Place) -> Result<Archive> {
    let opened = Archive::open_definitions(store(from)?);
    opened.map_err(|e| failure::archive(format_args!("cannot use {from}"), &e))
}

/// Opens an archive whose place is open already.
pub fn open_in(from: &Place, store: Arc<dyn Store>) -> Result<Archive> {
    Archive::open(Arc::clone(&store)).map_err(|e| {
        nothing(from, &*store)
            .unwrap_or_else(|| failure::archive(format_args!("cannot use {from}"), &e))
    })
}

/// The error of a place that holds nothing at all, or a snapshot of files.
pub fn nothing(from: &impl std::fmt::Display, store: &dyn Store) -> Option<Error> {
    if matches!(store.size(archive::SNAPSHOT), Ok(Some(_))) {
        let what = format!(
            "{from} is a snapshot of a server's files, and holds no rows to load or compare"
        );
        return Some(Error::new(Kind::Usage, what).hint(
            "penstock snapshot restore makes a data directory of it, penstock verify DIR alone checks it",
        ));
    }
    let empty = store.list().is_ok_and(|all| all.is_empty());
    empty.then(|| {
        Error::new(
            Kind::Archive,
            format!("there is no archive in {from}: it is empty"),
        )
        .hint("check the name of the place")
    })
}

/// Opens the place of an archive.
pub fn store(from: &Place) -> Result<Arc<dyn Store>> {
    from.open(None).map_err(|e| place_error(from, &e))
}

/// The error of an archive whose place, or encryption, cannot be opened.
pub fn place_error(from: &Place, e: &encryption::Error) -> Error {
    match e {
        encryption::Error::Store(e) => open_error(from, e),
        e => failure::encryption(format_args!("cannot open the archive {from}"), e),
    }
}

/// A position as manifests have it.
pub fn position(p: &server::Position) -> manifest::Position {
    let source = |s: &server::SourcePosition| manifest::SourcePosition {
        channel: s.channel.clone(),
        host: s.host.clone(),
        port: s.port,
        server_id: s.server_id,
        server_uuid: s.server_uuid.clone(),
        file: s.file.clone(),
        position: s.position,
        exact: s.exact,
    };
    manifest::Position {
        binlog_file: p.binlog_file.clone(),
        binlog_position: p.binlog_position,
        server_time: p.server_time,
        gtid_executed: p.gtid_executed.clone(),
        gtid_binlog_pos: p.gtid_binlog_pos.clone(),
        gtid_slave_pos: p.gtid_slave_pos.clone(),
        sources: p.sources.iter().map(source).collect(),
    }
}

/// A server as manifests have it, without its settings.
pub fn source(id: &server::Identity) -> manifest::Source {
    manifest::Source {
        flavour: id.flavour.to_string(),
        version: id.version_text.clone(),
        uuid: id.uuid.clone().unwrap_or_default(),
        hostname: id.hostname.clone(),
        port: id.port,
        socket: id.socket.clone(),
        datadir: id.datadir.clone(),
        settings: BTreeMap::new(),
    }
}

/// Whether an archive is of this server.
pub fn is_of(of: &manifest::Source, id: &server::Identity) -> bool {
    match id.uuid.as_deref().filter(|_| !of.uuid.is_empty()) {
        Some(uuid) => uuid == of.uuid,
        None => {
            let place = (of.hostname.as_str(), of.port, of.datadir.as_str());
            place == (&id.hostname, id.port, &id.datadir)
        }
    }
}

/// What the archive itself says it lacks: the exceptions of its dump, and a weaker consistency.
pub fn dumped_with(archive: &Archive) -> Vec<String> {
    match archive.manifest() {
        Some(manifest) => {
            let without_rows = manifest
                .is_without_rows()
                .then(|| "the rows: it has definitions alone (--ddl-only)".to_owned());
            let chosen = manifest.tables.iter().filter_map(|t| {
                let choice = RowChoice::of_record(t);
                (!choice.is_all()).then(|| not_chosen(&t.schema, &t.table, &choice))
            });
            let mut not_chosen: Vec<String> = chosen.flatten().collect();
            if !not_chosen.is_empty() {
                not_chosen.push("where a foreign key refers to one of those rows, a load adds the key without looking for the row".to_owned());
            }
            let exceptions = manifest.consistency.exceptions.iter().cloned();
            let kinds = manifest.without_kinds();
            let kinds = kinds.map(|(what, option)| format!("{what}: it has none ({option})"));
            let not_wanted = without_rows.into_iter().chain(not_chosen).chain(kinds);
            not_wanted.chain(exceptions).collect()
        }
        // MySQL Shell says no more than this.
        None if !archive.root().consistent => vec![
            "it was dumped without a consistent snapshot: tables may be of different points in time"
                .to_owned(),
        ],
        None => Vec::new(),
    }
}

/// The rows of a table that are not wanted, in words.
pub fn not_chosen(schema: &str, table: &str, choice: &RowChoice) -> Vec<String> {
    let table = server::quote::qualified(schema, table);
    let partitions = (!choice.partitions.is_empty()).then(|| {
        format!(
            "the rows of {table} in other partitions than {} (--partitions)",
            choice.partitions.join(", ")
        )
    });
    let condition = choice.condition.as_ref().map(|condition| {
        let line = condition.replace(['\n', '\r', '\t'], " ");
        format!("the rows of {table} that do not match: {line} (--where)")
    });
    let all = partitions.into_iter().chain(condition);
    all.map(|what| printable(&what)).collect()
}

/// The error of a place that cannot be opened; it says nothing about the archive in it.
pub fn open_error(from: &Location, e: &store::Error) -> Error {
    let hint = match from {
        Location::Stream | Location::Memory(_) => "name the directory or URL of the archive",
        Location::Directory(_) => "check the path and the permissions",
        Location::Ssh(_) => {
            "check host, path and key; ssh must be able to log in without penstock too"
        }
        Location::Object(_) => {
            "check endpoint, bucket and credentials; docs/stores.md says where they are looked for"
        }
    };
    Error::new(
        Kind::Storage,
        printable(&format!("cannot open the archive {from}: {e}")),
    )
    .hint(hint)
}

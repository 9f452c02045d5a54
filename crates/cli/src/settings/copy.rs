//! `copy`: of an archive, or from server to server.

use super::{filter, impact, level, place, rules, state, threads};
use crate::args::connection::Connection;
use crate::args::copy::{Copy, Servers};
use crate::args::values::{Consistency, DeferIndexes, VerifyMode};
use base::{Error, Kind, Result};
use copy::servers;
use instance::tune;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Location, Memory};

/// Bytes of a chunk if nothing was said: smaller than on disk, because they wait in memory.
const CHUNK: u64 = 16 << 20;

/// Bytes that wait in memory if nothing was said.
const MEMORY: u64 = 256 << 20;

/// What is copied.
pub enum Copied {
    /// An archive.
    Archive(Box<copy::Options>),
    /// Data of a server.
    Servers(Box<servers::Options>),
}

/// What shall be copied.
pub fn copy(a: &Copy) -> Result<Copied> {
    rules::copy(a)?;
    if rules::server(&a.from).is_some() {
        return between_servers(a).map(|options| Copied::Servers(Box::new(options)));
    }
    let from = place::location_or_stream("FROM", &a.from)?;
    let [to] = &a.to[..] else {
        return Err(Error::new(
            Kind::Usage,
            "an archive is copied to one place, and several are named",
        )
        .hint("run penstock copy once for each"));
    };
    let to = place::location_or_stream("TO", to)?;
    rules::two_places(&from, &to)?;
    Ok(Copied::Archive(Box::new(copy::Options {
        from,
        to,
        threads: threads(a.threads),
    })))
}

fn between_servers(a: &Copy) -> Result<servers::Options> {
    let how = &a.servers;
    let uri = |path: &Path| rules::server(path).unwrap_or_default().to_owned();
    let of_targets = match &how.target_defaults_file {
        None => a.connection.clone(),
        // What the file does not say is said by these options, except the account.
        Some(file) => Connection {
            defaults_file: Some(file.clone()),
            defaults_extra_file: None,
            no_defaults: false,
            user: None,
            password: None,
            password_fd: None,
            ..a.connection.clone()
        },
    };
    let nowhere = Location::Memory(Memory::new("memory"));
    let filter = Arc::new(filter(&a.selection)?);
    let chunk = how.chunk_size.unwrap_or(CHUNK);
    let dump = dump::Options {
        to: nowhere.clone().into(),
        source: a.connection.one_of_several(&uri(&a.from))?,
        files: None,
        feed: None,
        threads: threads(a.threads),
        compression: dump::Compression::None,
        chunk_bytes: chunk,
        consistency: match how.consistency {
            Some(Consistency::None) => dump::Consistency::None,
            Some(Consistency::Lock) | None => dump::Consistency::Lock,
        },
        lock_wait: Duration::from_secs(how.lock_wait.unwrap_or(super::LOCK_WAIT).max(1)),
        routines: !how.no_routines,
        events: !how.no_events,
        triggers: !how.no_triggers,
        require_all: how.require_all,
        filter: Arc::clone(&filter),
        throttle: impact(&a.throttle, &a.connection)?,
    };
    let load = |to: &std::path::PathBuf| -> Result<load::Options> {
        Ok(load::Options {
            from: nowhere.clone().into(),
            feed: None,
            target: of_targets.one_of_several(&uri(to))?,
            threads: threads(a.threads),
            verify: match how.verify {
                Some(VerifyMode::None) => load::Verification::None,
                _ => load::Verification::Sql,
            },
            allow_same_server: false,
            skip_binlog: how.skip_binlog,
            resume: false,
            schema: None,
            skip_unsupported: false,
            skip_damaged: false,
            strip_tablespaces: how.strip_tablespaces,
            defer_indexes: deferred(how),
            import_mode: load::tablespace::ImportMode::Sql,
            sort_memory: super::SORT_MEMORY,
            filter: Arc::clone(&filter),
            tune: tune::Options {
                level: how.tune.map_or(tune::Level::Safe, level),
                state: state::directory(),
                restart: None,
            },
            // Nothing of it can be resumed.
            state: None,
            server_command: None,
            managed: None,
            when_loaded: None,
        })
    };
    Ok(servers::Options {
        dump,
        loads: a.to.iter().map(load).collect::<Result<_>>()?,
        memory: how.memory.unwrap_or(MEMORY).max(chunk),
    })
}

fn deferred(how: &Servers) -> load::DeferIndexes {
    match how.defer_indexes {
        Some(DeferIndexes::All) => load::DeferIndexes::All,
        Some(DeferIndexes::Off) => load::DeferIndexes::Off,
        Some(DeferIndexes::Auto) | None => load::DeferIndexes::Auto,
    }
}

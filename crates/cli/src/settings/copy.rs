//! `copy`: of an archive, or from server to server.

use super::{consistency, filter_with, impact, level, place, rules, state, threads};
use crate::args::connection::Connection;
use crate::args::copy::{Copy, Transfer};
use crate::args::throttle::Throttle;
use crate::args::values::{Consistency, DeferIndexes, VerifyMode};
use base::{Error, Kind, Result};
use copy::{servers, via};
use instance::tune;
use server::Filter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Location, Memory};

/// Bytes of a chunk if nothing was said: smaller than on disk, because they wait in memory.
const CHUNK: u64 = 16 << 20;

/// Bytes of a chunk in an archive if nothing was said, as of a dump.
const ARCHIVE_CHUNK: u64 = 32 << 20;

/// Bytes that wait in memory if nothing was said.
const MEMORY: u64 = 256 << 20;

/// What is copied.
pub enum Copied {
    /// An archive.
    Archive(Box<copy::Options>),
    /// Data of a server.
    Servers(Box<servers::Options>),
    /// Data of a server, by way of an archive.
    Via(Box<via::Options>),
}

/// What shall be copied.
pub fn copy(a: &Copy) -> Result<Copied> {
    rules::copy(a)?;
    if rules::server(&a.from).is_some() {
        let options = between_servers(a)?;
        return Ok(match &a.servers.transfer.via {
            Some(place) => Copied::Via(Box::new(by_way_of(a, place, options)?)),
            None => Copied::Servers(Box::new(options)),
        });
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
    let names = super::names::names(&a.names)?;
    let options = servers_options(&Between {
        from: uri(&a.from),
        to: a.to.iter().map(|to| uri(to)).collect(),
        threads: threads(a.threads),
        transfer: &how.transfer,
        consistency: consistency(how.consistency.unwrap_or(Consistency::Auto)),
        backup_lock: !how.no_backup_lock,
        routines: !how.no_routines,
        events: !how.no_events,
        triggers: !how.no_triggers,
        require_all: how.require_all,
        verify: match how.verify {
            Some(VerifyMode::None) => load::Verification::None,
            _ => load::Verification::Sql,
        },
        skip_binlog: how.skip_binlog,
        for_replica: false,
        filter: Arc::new(filter_with(&a.selection, &a.programs)?),
        throttle: &a.throttle,
        connection: &a.connection,
    })?;
    let loads = options.loads.into_iter();
    Ok(servers::Options {
        loads: loads
            .map(|load| load::Options {
                names: Arc::clone(&names),
                ..load
            })
            .collect(),
        ..options
    })
}

/// The same by way of an archive.
fn by_way_of(a: &Copy, place: &Path, options: servers::Options) -> Result<via::Options> {
    let how = &a.servers;
    let resume = how.resume;
    let place = place::location("--via", place)?;
    let load = |load| load::Options {
        verify: match how.verify {
            Some(mode) => super::verification(mode),
            None => load::Verification::Auto,
        },
        ..load_via(place.clone(), resume, load)
    };
    Ok(via::Options {
        loads: options.loads.into_iter().map(load).collect(),
        dump: dump_via(place.clone(), &how.transfer, resume, options.dump),
    })
}

/// The dump into an archive that is loaded afterwards.
pub fn dump_via(
    place: Location,
    how: &Transfer,
    resume: bool,
    dump: dump::Options,
) -> dump::Options {
    dump::Options {
        to: place.into(),
        resume,
        in_between: true,
        compression: dump::Compression::Zstd(1),
        chunk_bytes: how.chunk_size.unwrap_or(ARCHIVE_CHUNK),
        ..dump
    }
}

/// The load of that archive.
pub fn load_via(place: Location, resume: bool, load: load::Options) -> load::Options {
    load::Options {
        from: place.into(),
        resume,
        import_mode: load::tablespace::ImportMode::Auto,
        state: state::directory(),
        ..load
    }
}

/// What is copied from server to server, and how.
pub struct Between<'a> {
    pub from: String,
    pub to: Vec<String>,
    pub threads: usize,
    pub transfer: &'a Transfer,
    pub consistency: dump::Consistency,
    pub backup_lock: bool,
    pub routines: bool,
    pub events: bool,
    pub triggers: bool,
    pub require_all: bool,
    pub verify: load::Verification,
    pub skip_binlog: bool,
    pub for_replica: bool,
    pub filter: Arc<Filter>,
    pub throttle: &'a Throttle,
    pub connection: &'a Connection,
}

/// The connection options of the targets.
pub fn of_targets(connection: &Connection, file: Option<&PathBuf>) -> Connection {
    match file {
        None => connection.clone(),
        // What the file does not say is said by these options, except the account.
        Some(file) => Connection {
            defaults_file: Some(file.clone()),
            defaults_extra_file: None,
            no_defaults: false,
            user: None,
            password: None,
            password_fd: None,
            ..connection.clone()
        },
    }
}

/// The options of a copy from server to server.
pub fn servers_options(a: &Between<'_>) -> Result<servers::Options> {
    let how = a.transfer;
    let of_targets = of_targets(a.connection, how.target_defaults_file.as_ref());
    let nowhere = Location::Memory(Memory::new("memory"));
    let chunk = how.chunk_size.unwrap_or(CHUNK);
    let dump = dump::Options {
        to: nowhere.clone().into(),
        source: a.connection.one_of_several(&a.from)?,
        files: None,
        resume: false,
        base: None,
        feed: None,
        threads: match a.consistency {
            dump::Consistency::Transaction => 1,
            _ => a.threads,
        },
        compression: dump::Compression::None,
        chunk_bytes: chunk,
        consistency: a.consistency,
        backup_lock: a.backup_lock,
        lock_wait: Duration::from_secs(how.lock_wait.unwrap_or(super::LOCK_WAIT).max(1)),
        in_between: false,
        views: true,
        routines: a.routines,
        events: a.events,
        triggers: a.triggers,
        rows: true,
        choices: dump::Choices::default(),
        accounts: dump::Accounts::None,
        require_all: a.require_all,
        filter: Arc::clone(&a.filter),
        throttle: impact(a.throttle, a.connection)?,
    };
    let load = |to: &String| -> Result<load::Options> {
        Ok(load::Options {
            from: nowhere.clone().into(),
            feed: None,
            target: of_targets.one_of_several(to)?,
            threads: a.threads,
            verify: a.verify,
            allow_same_server: false,
            skip_binlog: a.skip_binlog,
            for_replica: a.for_replica,
            is_step: true,
            resume: false,
            schema: None,
            skip_unsupported: false,
            accounts: None,
            existing: load::Existing::Refuse,
            definers: load::Definers::Keep,
            parts: load::Parts::default(),
            choices: Arc::default(),
            analyze: false,
            gtids: load::Gtids::None,
            all_rows: false,
            skip_damaged: false,
            strip_tablespaces: how.strip_tablespaces,
            defer_indexes: match how.defer_indexes {
                Some(DeferIndexes::All) => load::DeferIndexes::All,
                Some(DeferIndexes::Off) => load::DeferIndexes::Off,
                Some(DeferIndexes::Auto) | None => load::DeferIndexes::Auto,
            },
            import_mode: load::tablespace::ImportMode::Sql,
            sort_memory: super::SORT_MEMORY,
            filter: Arc::clone(&a.filter),
            names: Arc::default(),
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

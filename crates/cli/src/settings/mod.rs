//! From what was typed to what it means: the options of a job, resolved. `rules` holds every rule
//! between options, and is asked first.
//!
//! Invariant: jobs get options, never flags. What this does not do: run anything.

mod accounts;
pub mod bench;
pub mod binlog;
pub mod config;
pub mod connection;
mod copy;
pub mod filed;
pub mod keys;
mod names;
mod optionfile;
pub mod place;
pub mod point_in_time;
pub mod preflight;
pub mod replica;
pub mod rescue;
pub mod rules;
pub mod scratch;
pub mod snapshot;
pub mod state;
pub mod warm;
pub mod words;

pub use copy::{Copied, copy};

use crate::args::dump::{Dump, Dumping, FromFiles};
use crate::args::limits::{Limits, StoreLimits};
use crate::args::load::{Load, Loading, OtherDumps, Rows};
use crate::args::repository::{Backup, Drill};
use crate::args::throttle::Throttle;
use crate::args::values::{
    Consistency, DeferIndexes, Definer, Existing, GtidPurged, ImportMode, Only, Tune, VerifyMode,
};
use crate::args::verify::Verify;
use crate::args::{Programs, Selection, connection::Connection, doctor::Doctor};
use base::units::printable;
use base::{Error, Kind, Result};
use encryption::Place;
use instance::{doctor, managed, tune};
use repository::{How, Incremental};
use run::{Run, throttle};
use server::filter::Program;
use server::{Filter, NameMap};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::Location;

/// Memory for sorting if none was named.
const SORT_MEMORY: usize = 512 << 20;

/// Seconds to wait for the read lock if none were named.
const LOCK_WAIT: u64 = 60;

/// What a dump shall do.
pub fn dump(a: &Dump) -> Result<dump::Options> {
    rules::record_outside(a)?;
    rules::from_files(a)?;
    let to = place::location_or_stream("--to", &a.to)?;
    rules::resumed(a, &to)?;
    let options = dump_to(to, a.source.as_deref(), &a.how)?;
    let objects = !a.data_only;
    Ok(dump::Options {
        resume: a.resume,
        rows: !a.ddl_only,
        views: options.views && objects,
        routines: options.routines && objects,
        events: options.events && objects,
        triggers: options.triggers && objects,
        accounts: match objects {
            true => options.accounts,
            false => dump::Accounts::None,
        },
        choices: dump::Choices::new(&a.conditions, &a.partitions)?,
        ..options
    })
}

/// The data directory that a dump reads, with a directory for its temporary server.
pub fn data_directory(
    a: &FromFiles,
    path: &Path,
    scratch: &Path,
) -> dump::from_files::DataDirectory {
    dump::from_files::DataDirectory {
        path: path.to_owned(),
        recover: a.recover,
        binary_log_index: a.binary_log_index.clone(),
        snapshot_of: None,
        server: instance::read_only::Options {
            scratch: scratch.to_owned(),
            program: a.mysqld.clone(),
            options: a.mysqld_option.clone(),
        },
    }
}

/// The replica whose files are read, if they are.
pub fn replica_files(a: &FromFiles) -> Option<dump::from_replica::Replica> {
    a.from_replica_files.then(|| dump::from_replica::Replica {
        datadir: a.datadir.clone(),
        state: state::if_at_home(),
    })
}

/// What a dump of this server into this place shall do.
fn dump_to(to: Location, source: Option<&str>, a: &Dumping) -> Result<dump::Options> {
    recorded(a.recording.record.as_deref())?;
    rules::dump(a)?;
    Ok(dump::Options {
        to: Place::new(to, keys::encrypting(&a.encryption)?),
        source: a.connection.resolve(source)?,
        files: None,
        resume: false,
        base: None,
        feed: None,
        threads: match a.consistency {
            Consistency::Transaction => 1,
            _ => threads(a.threads),
        },
        compression: a.compression,
        chunk_bytes: a.chunk_size.max(64 << 10),
        consistency: consistency(a.consistency),
        backup_lock: !a.no_backup_lock,
        lock_wait: Duration::from_secs(a.lock_wait.unwrap_or(LOCK_WAIT).max(1)),
        in_between: false,
        views: !a.no_views,
        routines: !a.no_routines,
        events: !a.no_events,
        triggers: !a.no_triggers,
        rows: true,
        choices: dump::Choices::default(),
        accounts: accounts::dumped(&a.accounts)?,
        require_all: a.require_all,
        filter: Arc::new(filter_with(&a.selection, &a.programs)?),
        throttle: impact(&a.throttle, &a.connection)?,
    })
}

/// How much consistency.
fn consistency(asked: Consistency) -> dump::Consistency {
    match asked {
        Consistency::Auto => dump::Consistency::Auto,
        Consistency::Lock => dump::Consistency::Lock,
        Consistency::Compare => dump::Consistency::Compare,
        Consistency::Tables => dump::Consistency::Tables,
        Consistency::Transaction => dump::Consistency::Transaction,
        Consistency::None => dump::Consistency::None,
    }
}

/// The limits on impact; `connection` has what replicas share with the source.
fn impact(a: &Throttle, connection: &Connection) -> Result<throttle::Options> {
    let usual = throttle::Options::default();
    let replicas = a.replica.iter().map(|server| connection.another(server));
    Ok(throttle::Options {
        impact: a.max_impact,
        floor: a.min_rate.unwrap_or(usual.floor),
        max_lag: a.max_lag.map(|t| t.as_secs_f64()),
        replicas: replicas.collect::<Result<_>>()?,
        max_threads_running: a.max_threads_running,
        max_history_list: a.max_history_list,
        abort_if: a.abort_if.clone(),
        limit_timeout: a.limit_timeout.unwrap_or(usual.limit_timeout),
    })
}

/// What a load shall do.
pub fn load(a: &Load) -> Result<load::Options> {
    let from = place::location_or_stream("FROM", &a.from)?;
    local_directories(&a.how)?;
    recorded(a.how.recording.record.as_deref())?;
    rules::load(&a.how)?;
    // What cannot be recognized is reported by the load itself.
    if let Ok(loaded) = rules::loaded(&from) {
        rules::load_of(a, loaded)?;
    }
    load_from(from, &a.how, &a.other_dumps)
}

/// What a restore from this place shall do.
pub fn restore(from: Location, a: &Loading) -> Result<load::Options> {
    local_directories(a)?;
    recorded(a.recording.record.as_deref())?;
    rules::load(a)?;
    load_from(from, a, &OtherDumps::default())
}

/// How a backup into this place is made; `id` is its identifier.
pub fn backup(to: Location, id: Option<String>, a: &Backup) -> Result<How> {
    rules::backup(a)?;
    let made = match a.snapshot.snapshot {
        Some(method) => {
            snapshot::backup(to, id, a, method).map(|options| How::Snapshot(Box::new(options)))
        }
        None => {
            let options = dump_to(to, a.source.as_deref(), &a.how).and_then(|options| {
                let keys = keys::comparing(&a.how.encryption, &a.incremental.identity)?;
                let to = Place::new(options.to.location().clone(), keys);
                Ok(dump::Options { to, ..options })
            });
            let incremental = a.incremental.incremental.then_some(Incremental {
                paranoid: a.incremental.paranoid,
            });
            options.map(|options| How::Dump(Box::new(options), incremental))
        }
    };
    made.map_err(|e| in_words_of_backup(a, e))
}

/// `penstock snapshot take` and `penstock backup` call one option by different names.
pub fn in_words_of_backup(a: &Backup, e: Error) -> Error {
    if a.snapshot.snapshot.is_none() {
        return e;
    }
    let renamed = |text: String| text.replace("--method ", "--snapshot ");
    Error {
        what: renamed(e.what),
        hint: e.hint.map(renamed),
        ..e
    }
}

/// How a drill restores a backup from this place: into a data directory that is removed afterwards.
pub fn drill(from: Location, datadir: &Path, a: &Drill) -> Result<load::Options> {
    Ok(load::Options {
        from: Place::new(from, keys::opening(&a.encryption)?),
        feed: None,
        target: wire::Options::new(wire::Endpoint::Unix(managed::socket(datadir)), "root"),
        threads: threads(a.threads),
        verify: load::Verification::Auto,
        allow_same_server: false,
        definers: load::Definers::Keep,
        parts: load::Parts::default(),
        choices: Arc::default(),
        analyze: false,
        gtids: load::Gtids::None,
        skip_binlog: false,
        for_replica: false,
        is_step: false,
        existing: load::Existing::Refuse,
        resume: false,
        schema: None,
        all_rows: false,
        skip_damaged: false,
        strip_tablespaces: false,
        skip_unsupported: false,
        accounts: None,
        defer_indexes: load::DeferIndexes::Auto,
        import_mode: load::tablespace::ImportMode::Auto,
        sort_memory: SORT_MEMORY,
        filter: Arc::new(Filter::default()),
        names: Arc::default(),
        tune: tune::Options {
            level: tune::Level::Safe,
            state: state::directory(),
            restart: None,
        },
        state: None,
        server_command: None,
        managed: Some(managed::Options {
            folder: datadir.to_owned(),
            program: a.mysqld.clone(),
            options: a.mysqld_option.clone(),
            same_flavour: true,
        }),
        when_loaded: None,
    })
}

/// What must be true of a restored backup: what was typed, and the lines of the file.
pub fn checks(a: &Drill) -> Result<Vec<String>> {
    let mut checks = a.check.clone();
    if let Some(file) = &a.check_file {
        let text = std::fs::read_to_string(file).map_err(|e| {
            let what = format!("cannot read --check-file {}: {e}", file.display());
            Error::new(Kind::Usage, printable(&what))
        })?;
        let lines = text.lines().map(|l| l.trim().trim_end_matches(';'));
        let lines = lines.filter(|l| !l.is_empty() && !l.starts_with("--") && !l.starts_with('#'));
        let before = checks.len();
        checks.extend(lines.map(str::to_owned));
        if checks.len() == before {
            let what = format!("--check-file {} holds no statement", file.display());
            return Err(Error::new(Kind::Usage, printable(&what)).hint("write one on each line"));
        }
    }
    if a.check_timeout.is_some_and(|limit| limit.is_zero()) {
        let what = "--check-timeout is 0, and no check takes less";
        return Err(Error::new(Kind::Usage, what).hint("write a longer time, such as 10m"));
    }
    if a.check_timeout.is_some() && checks.is_empty() {
        let what = "--check-timeout limits the time of checks, and there is none";
        return Err(Error::new(Kind::Usage, what).hint("add --check SQL or --check-file FILE"));
    }
    Ok(checks)
}

/// Which rows of tables are wanted.
fn choices(a: &Rows) -> Result<rows::choices::Choices> {
    rows::choices::Choices::new(&a.conditions, &a.partitions)
}

/// Whose rights loaded objects have.
fn definers(given: &[Definer]) -> Result<load::Definers> {
    match given {
        [] | [Definer::Keep] => return Ok(load::Definers::Keep),
        [Definer::Strip] => return Ok(load::Definers::Strip),
        _ => {}
    }
    let mut map = BTreeMap::new();
    for one in given {
        let Definer::Map(old, new) = one else {
            let what = "--definer is given more than once, and one of them is for all definers";
            return Err(Error::new(Kind::Usage, what)
                .hint("give keep or strip alone, or map=… for each account"));
        };
        if map.insert(old.key(), new.clone()).is_some() {
            let what = printable(&format!("--definer map=… names {} twice", old.sql()));
            return Err(Error::new(Kind::Usage, what).hint("leave one of the two out"));
        }
    }
    Ok(load::Definers::Map(map))
}

fn local_directories(a: &Loading) -> Result<()> {
    for (option, path) in [
        ("--datadir", &a.new_server.datadir),
        ("--server-config", &a.settings.server_config),
    ] {
        if let Some(path) = path {
            place::local(option, path)?;
        }
    }
    Ok(())
}

/// How rows are compared.
fn verification(mode: VerifyMode) -> load::Verification {
    match mode {
        VerifyMode::Auto => load::Verification::Auto,
        VerifyMode::Sql => load::Verification::Sql,
        VerifyMode::Files => load::Verification::Files,
        VerifyMode::None => load::Verification::None,
    }
}

fn load_from(from: Location, a: &Loading, other_dumps: &OtherDumps) -> Result<load::Options> {
    let (command, config) = (&a.settings.server_command, &a.settings.server_config);
    let restart = command.as_ref().zip(config.as_ref());
    Ok(load::Options {
        from: Place::new(from, keys::opening(&a.encryption)?),
        feed: None,
        target: target(a)?,
        threads: threads(a.threads),
        verify: verification(a.verify),
        allow_same_server: a.allow_same_server,
        definers: definers(&a.definer)?,
        parts: a.parts.wanted(),
        choices: Arc::new(choices(&a.rows)?),
        analyze: a.analyze,
        gtids: match a.gtid_purged {
            GtidPurged::None => load::Gtids::None,
            GtidPurged::Set => load::Gtids::Set,
            GtidPurged::Append => load::Gtids::Append,
        },
        skip_binlog: a.skip_binlog,
        for_replica: false,
        is_step: false,
        existing: match a.existing {
            Existing::Refuse => load::Existing::Refuse,
            Existing::Skip => load::Existing::Skip,
            Existing::Replace => load::Existing::Replace(None),
            Existing::Truncate => load::Existing::Truncate(None),
        },
        resume: a.resume,
        schema: other_dumps.schema.clone(),
        all_rows: false,
        skip_damaged: a.skip_damaged,
        strip_tablespaces: a.strip_tablespaces,
        skip_unsupported: other_dumps.skip_unsupported,
        accounts: accounts::loaded(&a.accounts, a.parts.only == Some(Only::Users))?,
        defer_indexes: match a.import.defer_indexes {
            DeferIndexes::Auto => load::DeferIndexes::Auto,
            DeferIndexes::All => load::DeferIndexes::All,
            DeferIndexes::Off => load::DeferIndexes::Off,
        },
        import_mode: match a.import.import_mode {
            ImportMode::Auto => load::tablespace::ImportMode::Auto,
            ImportMode::Sql => load::tablespace::ImportMode::Sql,
            ImportMode::Tablespace => load::tablespace::ImportMode::Tablespace,
            ImportMode::Offline => load::tablespace::ImportMode::Offline,
        },
        sort_memory: a.import.sort_memory.unwrap_or(SORT_MEMORY),
        filter: Arc::new(filter_with(&a.selection, &a.programs)?),
        names: names::names(&a.names)?,
        tune: tune::Options {
            level: level(a.settings.tune),
            state: state::directory(),
            restart: restart.map(|(command, config)| tune::Restart {
                command: instance::ServerCommand::Shell(command.clone()),
                config: config.clone(),
            }),
        },
        state: state::if_at_home(),
        server_command: command.clone().map(instance::ServerCommand::Shell),
        managed: a.new_server.datadir.clone().map(|folder| managed::Options {
            folder,
            program: a.new_server.mysqld.clone(),
            options: a.new_server.mysqld_option.clone(),
            same_flavour: false,
        }),
        when_loaded: None,
    })
}

/// The server to load into.
fn target(a: &Loading) -> Result<wire::Options> {
    let Some(directory) = &a.new_server.datadir else {
        return a.connection.resolve(a.into.as_deref());
    };
    // Of all connection options, only a password applies to a server that does not exist yet.
    let mut root = a.connection.clone();
    root.socket = Some(managed::socket(directory));
    root.user = Some("root".to_owned());
    root.resolve(None)
}

/// What a verification compares.
pub struct Verification {
    /// What is checked, or the two sides that are compared.
    pub of: Compared,
    /// Threads, or connections to each server.
    pub threads: usize,
    /// The objects to compare.
    pub filter: Filter,
    /// Under which names an archive was loaded.
    pub names: Arc<NameMap>,
    /// Whether definitions are compared too.
    pub definitions: bool,
}

/// The sides of a verification.
pub enum Compared {
    /// These files, each by itself.
    Tablespaces(Vec<PathBuf>),
    /// An archive by itself; `rows` says whether they are decoded.
    Archive { directory: Place, rows: bool },
    /// An archive and a server.
    Against(Place, Box<wire::Options>),
    /// Two servers.
    Servers(Box<[wire::Options; 2]>),
}

/// What a verification shall do.
pub fn verify(a: &Verify) -> Result<Verification> {
    let archive = a.archive.as_deref();
    let archive = archive.map(|dir| place::location_or_stream("DIR", dir));
    let archive = archive.transpose()?;
    recorded(a.recording.record.as_deref())?;
    rules::verify(a)?;
    if let Some(from) = &archive {
        an_archive(from, "verify")?;
    }
    let named = keys::opening(&a.encryption)?;
    let archive = archive.map(|from| Place::new(from, named));
    let resolve = |uri: Option<&str>| a.connection.resolve(uri);
    let one_of_two = |uri: &str| a.connection.one_of_several(uri);
    let of = match (archive, a.server.as_slice()) {
        (Some(from), _) if a.against.is_some() || a.connection.names_a_server() => {
            Compared::Against(from, Box::new(resolve(a.against.as_deref())?))
        }
        (Some(from), _) => Compared::Archive {
            directory: from,
            rows: !a.files_only,
        },
        (None, [left, right]) => {
            Compared::Servers(Box::new([one_of_two(left)?, one_of_two(right)?]))
        }
        (None, _) => Compared::Tablespaces(a.tablespace.clone()),
    };
    Ok(Verification {
        of,
        threads: threads(a.threads),
        filter: filter(&a.selection)?,
        names: names::names(&a.names)?,
        definitions: !a.no_definitions,
    })
}

/// Refuses what is not the directory of an archive, and says what would be right for this command.
pub fn an_archive(from: &Location, command: &str) -> Result<()> {
    let Some(path) = from.path().filter(|path| path.exists()) else {
        // Opening it reports that.
        return Ok(());
    };
    let named = path.display();
    match load::is_archive(from) {
        Ok(true) => Ok(()),
        Ok(false) if path.extension().is_some_and(|e| e == "ibd") => Err(Error::new(
            Kind::Usage,
            printable(&format!("{named} is a tablespace, and not an archive")),
        )
        .hint(printable(&format!("penstock verify --tablespace {named}")))),
        Ok(false) if command != "verify" => {
            let what = format!("{named} is not an archive");
            Err(Error::new(Kind::Usage, printable(&what)).hint("an archive is a directory with @.json in it"))
        }
        Ok(false) => Err(Error::new(
            Kind::Usage,
            printable(&format!(
                "{named} is not an archive: dumps of other tools have no digests to verify them with"
            )),
        )
        .hint(printable(&format!(
            "a load of it checks that every row arrives: penstock load {named}"
        )))),
        Err(Error { kind, what, hint: Some(hint), .. }) if hint.starts_with("name ") => {
            let own = format!("penstock {command} ");
            Err(Error::new(kind, what).hint(hint.replace("penstock load ", &own)))
        }
        Err(e) => Err(e),
    }
}

/// What doctor shall look at.
pub fn doctor(a: &Doctor) -> Result<doctor::Options> {
    rules::doctor(a)?;
    let named = a.server.is_some() || a.connection.names_a_server();
    let server = named.then(|| a.connection.resolve(a.server.as_deref()));
    Ok(doctor::Options {
        server: server.transpose()?,
        state: state::directory().ok_or_else(|| {
            Error::new(Kind::Usage, "no directory is known for settings journals")
                .hint("set PENSTOCK_STATE, or HOME")
        })?,
        revert: a.revert,
    })
}

/// A record is a file of this host.
fn recorded(file: Option<&Path>) -> Result<()> {
    file.map_or(Ok(()), |file| place::local("--record", file))
}

/// Sets the rate limits that were typed.
pub fn limit(run: &Run, limits: &Limits, store: Option<&StoreLimits>) {
    if let Some(rate) = limits.max_rate {
        run.limiter.set_rate(Some(rate));
    }
    if let Some(store) = store {
        limit_disk(run, store);
    }
}

/// Sets the limit on what is written that was typed.
pub fn limit_disk(run: &Run, store: &StoreLimits) {
    if let Some(rate) = store.max_rate_disk {
        run.disk_limiter.set_rate(Some(rate));
    }
}

fn level(tune: Tune) -> tune::Level {
    match tune {
        Tune::Off => tune::Level::Off,
        Tune::Safe => tune::Level::Safe,
        Tune::Max => tune::Level::Max,
    }
}

/// The number of workers, if none was asked for: one per core, at least 2 and at most 8.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8)),
        usize::from,
    )
}

fn filter(s: &Selection) -> Result<Filter> {
    filter_with(s, &Programs::default())
}

fn filter_with(s: &Selection, programs: &Programs) -> Result<Filter> {
    let of_tables = [
        ("--include-schemas", &s.include_schemas),
        ("--exclude-schemas", &s.exclude_schemas),
        ("--include-tables", &s.include_tables),
        ("--exclude-tables", &s.exclude_tables),
    ];
    for (option, typed) in of_tables.into_iter().chain(programs.lists()) {
        // An empty variable of a script must not mean everything.
        if typed
            .iter()
            .any(|list| patterns(std::slice::from_ref(list)).is_empty())
        {
            return Err(Error::new(Kind::Usage, format!("{option} names nothing"))
                .hint("name what is meant, or leave the option out"));
        }
    }
    let usage = |e: server::Error| Error::new(Kind::Usage, e.to_string());
    let mut filter = Filter::new(
        &patterns(&s.include_schemas),
        &patterns(&s.exclude_schemas),
        &patterns(&s.include_tables),
        &patterns(&s.exclude_tables),
    )
    .map_err(usage)?;
    let p = programs;
    for (kind, include, exclude) in [
        (Program::Trigger, &p.include_triggers, &p.exclude_triggers),
        (Program::Routine, &p.include_routines, &p.exclude_routines),
        (Program::Event, &p.include_events, &p.exclude_events),
    ] {
        filter = filter
            .with_programs(kind, &patterns(include), &patterns(exclude))
            .map_err(usage)?;
    }
    Ok(filter)
}

/// Lists of patterns, split at the commas outside of backticks, and outside of regular expressions, which begin and end with
/// a slash.
fn patterns(typed: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for list in typed {
        let mut rest = list.as_str();
        while !rest.is_empty() {
            let end = match rest.strip_prefix('/').and_then(|inner| inner.find("/,")) {
                Some(end) => end + 2,
                None if server::filter::expression(rest).is_some() => rest.len(),
                None => {
                    let mut quoted = false;
                    let comma = rest.find(|c| {
                        quoted ^= c == '`';
                        c == ',' && !quoted
                    });
                    comma.unwrap_or(rest.len())
                }
            };
            let (pattern, more) = rest.split_at(end);
            if !pattern.is_empty() {
                out.push(pattern.to_owned());
            }
            rest = more.strip_prefix(',').unwrap_or(more);
        }
    }
    out
}

/// What `penstock status` shows of a job's files.
pub fn about(preposition: &str, place: &Location) -> String {
    format!("{preposition} {place}")
}

#[cfg(test)]
mod tests {
    use super::patterns;

    #[test]
    fn patterns_are_split_outside_of_backticks() {
        let typed = ["a,b.c".to_owned(), "`d,e`.f,,g".to_owned()];
        assert_eq!(patterns(&typed), ["a", "b.c", "`d,e`.f", "g"]);
        let typed = ["/^a{1,2}$/,b,/c,d/".to_owned(), "/e,f".to_owned()];
        assert_eq!(patterns(&typed), ["/^a{1,2}$/", "b", "/c,d/", "/e", "f"]);
    }
}

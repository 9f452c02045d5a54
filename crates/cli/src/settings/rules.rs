//! All rules between options: which ones exclude each other, need each other, or do not apply. Pairs
//! that clap can check by name are declared at the option itself (`requires`, `conflicts_with`).
//!
//! Invariant: an option that would have no effect is an error, never ignored.

mod files;
mod rescue;

pub use files::{backup, from_files, restored_archive, restored_snapshot, snapshot};
pub use rescue::rescue;

use super::place;
use crate::args::bench::Impact;
use crate::args::copy::Copy;
use crate::args::doctor::Doctor;
use crate::args::dump::{Dump, Dumping};
use crate::args::encryption::Rekey;
use crate::args::load::{Load, Loading};
use crate::args::report::Report;
use crate::args::repository::{Check, List};
use crate::args::throttle::Throttle;
use crate::args::values::{Consistency, ImportMode, Tune};
use crate::args::verify::Verify;
use crate::args::{Cli, Command};
use base::{Error, Kind, Result};
use bench::impact::Method;
use run::throttle;
use std::io::IsTerminal;
use std::path::Path;
use store::Location;

fn refuse(what: impl Into<String>, hint: impl Into<String>) -> Result<()> {
    Err(Error::new(Kind::Usage, what).hint(hint))
}

/// Chunks below this cost more files than they save work.
const LEAST_CHUNK: u64 = 64 << 10;

/// All rules of a command that look at nothing but the options, and at what is to be loaded.
pub fn applies(command: &Command) -> Result<()> {
    match command {
        Command::Dump(a) => dump(&a.how),
        Command::Backup(a) => backup(a).and_then(|()| dump(&a.how)),
        Command::Load(a) => {
            load(&a.how)?;
            let from = place::location_or_stream("FROM", &a.from)?;
            match loaded(&from) {
                Ok(loaded) => load_of(a, loaded),
                Err(_) => Ok(()),
            }
        }
        Command::Restore(a) => load(&a.how),
        Command::Verify(a) => verify(a),
        Command::Copy(a) => copy(a),
        Command::Rescue(a) => rescue(a),
        Command::Check(a) => check(a),
        Command::Rekey(a) => rekey(a),
        Command::Doctor(a) => doctor(a),
        Command::Report(a) => report(a),
        _ => Ok(()),
    }
}

/// Options of the program, with commands that they mean nothing to.
pub fn everywhere(cli: &Cli) -> Result<()> {
    let one_document = match &cli.command {
        Command::Completions(_) => Some("penstock completions"),
        Command::Report(a) if a.to.as_deref() == Some(Path::new("-")) => Some("--to -"),
        _ => None,
    };
    if let Some(what) = one_document.filter(|_| cli.json) {
        return refuse(
            format!("{what} writes one text to standard output, and --json does not change it"),
            "leave --json out",
        );
    }
    // Of a file that the environment names, or the usual one, nothing is expected here.
    let without = match &cli.command {
        Command::Completions(_) => "penstock completions",
        Command::Init(_) => "penstock init",
        Command::Bench(_) => "penstock bench",
        _ => return Ok(()),
    };
    match &cli.config {
        Some(_) => refuse(
            format!("--config names a configuration, and {without} takes nothing from one"),
            "leave it out",
        ),
        None => Ok(()),
    }
}

/// Backups one after the other: what only one of them can have.
pub fn several<'a>(all: impl Iterator<Item = &'a Cli>) -> Result<()> {
    let mut records = std::collections::BTreeSet::new();
    for cli in all {
        if let Command::Backup(a) = &cli.command
            && let Some(record) = &a.how.recording.record
            && !records.insert(record)
        {
            return refuse(
                format!(
                    "--record {} is one file, and several servers are backed up: the last one would replace the others",
                    record.display()
                ),
                "name a file for each server in its table of the configuration, [servers.NAME.backup], or back up one server: penstock backup NAME",
            );
        }
    }
    Ok(())
}

/// Values that are wrong whatever is done with them.
pub fn values(command: &Command) -> Result<()> {
    match command {
        Command::Dump(a) => sizes(&a.how),
        Command::Backup(a) => {
            let uri = a.source.as_deref();
            uri.map_or(Ok(()), super::connection::check_uri)?;
            sizes(&a.how)
        }
        Command::Load(a) => a_command(&a.how),
        Command::Restore(a) => a_command(&a.how),
        _ => Ok(()),
    }
}

fn a_command(a: &Loading) -> Result<()> {
    match &a.settings.server_command {
        Some(command) if command.trim().is_empty() => refuse(
            "--server-command is empty",
            "give the shell line that restarts the server: 'systemctl \"$1\" mysql'",
        ),
        _ => Ok(()),
    }
}

fn sizes(a: &Dumping) -> Result<()> {
    if a.chunk_size < LEAST_CHUNK {
        return refuse(
            format!(
                "--chunk-size is {} bytes, and the least is 64k",
                a.chunk_size
            ),
            "add --chunk-size 64k, or more",
        );
    }
    if let (Some(floor), Some(most)) = (a.throttle.min_rate, a.limits.max_rate)
        && most < floor
    {
        return refuse(
            format!("--min-rate is {floor} bytes per second, and --max-rate allows {most}"),
            "lower --min-rate, or raise --max-rate",
        );
    }
    Ok(())
}

/// `penstock dump`.
pub fn dump(a: &Dumping) -> Result<()> {
    sizes(a)?;
    if a.lock_wait.is_some() && a.consistency == Consistency::None {
        return refuse(
            "--lock-wait limits the wait for the read lock, and --consistency none takes no lock",
            "leave one of the two out",
        );
    }
    limits(&a.throttle)
}

/// A record is no file of the archive.
pub fn record_outside(a: &Dump) -> Result<()> {
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    if let Some(record) = &a.how.recording.record
        && absolute(record).starts_with(absolute(&a.to))
    {
        return refuse(
            format!(
                "--record {} is inside the archive directory, where it would not be part of the archive",
                record.display()
            ),
            "name a file outside of it",
        );
    }
    Ok(())
}

/// Whether there is a limit on the impact of a dump.
fn is_limited(a: &Throttle) -> bool {
    a.max_impact.is_some()
        || a.max_lag.is_some()
        || a.max_threads_running.is_some()
        || a.max_history_list.is_some()
        || !a.abort_if.is_empty()
}

/// Limits on the impact of a dump.
fn limits(a: &Throttle) -> Result<()> {
    let limited = is_limited(a);
    if a.limit_timeout.is_some() && !limited {
        return refuse(
            "--limit-timeout is the longest pause for a limit, but no limit is set",
            "add --max-threads-running 32, --max-lag 2s or another limit; for the read lock use --lock-wait",
        );
    }
    let of_lag = |l: &throttle::Limit| l.what == throttle::LimitKind::Lag;
    let lag = a.max_lag.is_some() || a.abort_if.iter().any(of_lag);
    if !a.replica.is_empty() && !lag {
        return refuse(
            "--replica names replicas, but no limit on their lag is set",
            "add --max-lag 2s, or --abort-if lag=60s",
        );
    }
    Ok(())
}

/// `penstock load`.
pub fn load(a: &Loading) -> Result<()> {
    let sql = a.import.import_mode == ImportMode::Sql;
    if sql && a.import.sort_memory.is_some() {
        return refuse(
            "--sort-memory is for tables imported as tablespaces, and --import-mode sql imports none",
            "leave one of the two out",
        );
    }
    if a.new_server.datadir.is_some() {
        return new_server(a);
    }
    // clap does not ask for a --datadir that another option excludes.
    for (given, option) in [
        (a.new_server.mysqld.is_some(), "--mysqld"),
        (!a.new_server.mysqld_option.is_empty(), "--mysqld-option"),
    ] {
        if given {
            return refuse(
                format!(
                    "{option} is for the temporary server of --datadir, and the load is into a server that runs"
                ),
                "leave it out, or load into a new data directory: --datadir DIR",
            );
        }
    }
    restarts(a)
}

/// What a load is given, as far as that is seen without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// An archive.
    Archive,
    /// An archive that has no manifest: MySQL Shell or MariaDB Shell wrote it.
    WithoutManifest,
    /// A dump of another tool.
    OtherDump,
}

/// What is there to be loaded.
pub fn loaded(from: &Location) -> Result<Loaded> {
    if !load::is_archive(from)? {
        return Ok(Loaded::OtherDump);
    }
    // Of an encrypted archive, and of one elsewhere, no name is seen.
    let has = |name: &str| from.path().is_some_and(|path| path.join(name).is_file());
    Ok(match has("@.json") && !has("penstock.json") {
        true => Loaded::WithoutManifest,
        false => Loaded::Archive,
    })
}

/// What needs a manifest in the archive.
fn without_manifest(a: &Loading, from: &str) -> Result<()> {
    let tablespaces = match a.import.import_mode {
        ImportMode::Offline => Some("--import-mode offline"),
        ImportMode::Tablespace => Some("--import-mode tablespace"),
        _ if a.import.sort_memory.is_some() => Some("--sort-memory"),
        _ => None,
    };
    if let Some(option) = tablespaces {
        return refuse(
            format!(
                "{option} is for tables imported as tablespaces, and {from} has no digests to verify them with: penstock did not write it"
            ),
            "leave it out: its tables are loaded by SQL",
        );
    }
    if a.allow_same_server {
        return refuse(
            format!(
                "--allow-same-server does not apply: {from} does not say from which server it is, for penstock did not write it"
            ),
            "leave it out",
        );
    }
    Ok(())
}

/// What does not apply to what is loaded: an archive, or a dump of another tool.
pub fn load_of(a: &Load, loaded: Loaded) -> Result<()> {
    let archive = loaded != Loaded::OtherDump;
    let from = a.from.display();
    let stream = a.from.as_os_str() == "-";
    if a.how.resume && stream {
        return refuse(
            "standard input cannot be read again, so there is nothing to resume",
            "load it from a file or directory; penstock copy - DIR unpacks an archive",
        );
    }
    unpacks(a.scratch.as_deref(), archive && stream)?;
    if archive {
        if let Some(name) = &a.other_dumps.schema {
            return refuse(
                format!(
                    "--schema {name} is for names without a schema, and every name in the archive {from} has one: nothing would be renamed"
                ),
                "leave it out: schemas of an archive cannot be renamed; to keep the original, load into another server, or a new one with --datadir",
            );
        }
        if a.other_dumps.skip_unsupported {
            return refuse(
                format!(
                    "--skip-unsupported is for statements in dumps of other tools, and {from} is an archive"
                ),
                "leave it out",
            );
        }
        if loaded == Loaded::WithoutManifest {
            return without_manifest(&a.how, &from.to_string());
        }
        return Ok(());
    }
    if !a.how.selection.is_empty() {
        // A part of a script is not a smaller dump: its statements depend on each other.
        return refuse(
            "dumps of other tools are loaded completely: schemas and tables cannot be selected",
            "omit the selection, or load the dump into another server and dump the selection from there with penstock",
        );
    }
    if !a.how.encryption.is_empty() {
        return refuse(
            format!(
                "--identity and --passphrase-file open an encrypted archive, and {from} is none"
            ),
            "leave them out; a script that is encrypted is decrypted first: age -d FILE | penstock load -",
        );
    }
    if let mode @ (ImportMode::Tablespace | ImportMode::Offline) = a.how.import.import_mode {
        let mode = match mode {
            ImportMode::Offline => "offline",
            _ => "tablespace",
        };
        return refuse(
            format!(
                "--import-mode {mode} does not apply to {from}: dumps of other tools have no digests to verify a tablespace with"
            ),
            "leave it out: they are loaded by SQL",
        );
    }
    if a.how.import.sort_memory.is_some() {
        return refuse(
            format!(
                "--sort-memory is for tables imported as tablespaces, and {from} is a dump of another tool, which is loaded by SQL"
            ),
            "leave it out",
        );
    }
    if a.how.skip_damaged {
        return refuse(
            format!(
                "--skip-damaged is for archives, and {from} is a dump of another tool, which has no digests to find damage with"
            ),
            "leave it out",
        );
    }
    if a.how.strip_tablespaces {
        return refuse(
            format!(
                "--strip-tablespaces is for archives, and {from} is a dump of another tool, whose statements run as they are"
            ),
            "leave it out",
        );
    }
    if a.how.allow_same_server {
        return refuse(
            format!(
                "--allow-same-server does not apply: {from} is a dump of another tool, which does not say from which server it is"
            ),
            "leave it out",
        );
    }
    Ok(())
}

/// A scratch directory is for an archive that is unpacked.
fn unpacks(scratch: Option<&Path>, applies: bool) -> Result<()> {
    match scratch {
        Some(scratch) if applies => place::local("--scratch", scratch),
        Some(_) => refuse(
            "--scratch is for an archive on standard input, which is unpacked there",
            "leave it out",
        ),
        None => Ok(()),
    }
}

/// What is written to standard output leaves no room for anything else there, and is not for a screen.
pub fn to_stdout(option: &str, json: bool) -> Result<()> {
    if json {
        return refuse(
            format!("{option} writes the archive to standard output, and --json its lines"),
            "leave --json out; the summary goes to standard error, and --record FILE writes all figures",
        );
    }
    if std::io::stdout().is_terminal() {
        return refuse(
            format!("{option} writes the archive to standard output, which is a terminal"),
            format!("{option} … | ssh HOST penstock copy - DIR; a directory is named without -"),
        );
    }
    Ok(())
}

/// `penstock list`: the page, and lines, on one output.
pub fn list(a: &List, json: bool) -> Result<()> {
    let Some(file) = &a.html else { return Ok(()) };
    place::local_or_stream("--html", file)?;
    if json && file.as_os_str() == "-" {
        return refuse(
            "--html - writes the page to standard output, and --json its lines",
            "leave one of the two out, or name a file for the page",
        );
    }
    Ok(())
}

/// `penstock copy`.
pub fn copy(a: &Copy) -> Result<()> {
    if a.threads.is_some() && a.from.as_os_str() == "-" {
        return refuse(
            "--threads is for files at the same time, and a stream is read from its beginning to its end",
            "leave it out",
        );
    }
    Ok(())
}

/// `penstock rekey`.
pub fn rekey(a: &Rekey) -> Result<()> {
    if a.server_name.is_some() && a.repository.is_none() {
        return refuse(
            "--server-name is for the backups of a repository, and an archive is named",
            "leave it out, or name the repository: --repository REPO",
        );
    }
    Ok(())
}

/// `penstock check`.
pub fn check(a: &Check) -> Result<()> {
    if a.files_only && !a.encryption.is_empty() {
        return refuse(
            "--files-only compares files as they are stored: --identity and --passphrase-file are not used",
            "leave --files-only out to decode the rows, or the keys",
        );
    }
    Ok(())
}

/// The places of a copy.
pub fn two_places(from: &Location, to: &Location) -> Result<()> {
    if from == to {
        return refuse(
            format!("{from} would be copied onto itself"),
            "name another place",
        );
    }
    Ok(())
}

/// What does not apply to a data directory that the load initializes.
fn new_server(a: &Loading) -> Result<()> {
    if a.settings.tune == Tune::Max {
        return refuse(
            "--tune=max is for a server that has settings to change",
            "leave it out: the temporary server of --datadir is configured for the load",
        );
    }
    if a.skip_binlog {
        return refuse(
            "--skip-binlog does not apply: the temporary server of --datadir writes no binary log",
            "leave it out",
        );
    }
    if a.allow_same_server {
        return refuse(
            "--allow-same-server does not apply: a new data directory is never the server that the archive is from",
            "leave it out",
        );
    }
    if a.connection.says_how() || a.connection.ssl_mode.is_some() || a.connection.ssl_ca.is_some() {
        return refuse(
            "options on how to connect do not apply to the temporary server of --datadir",
            "leave out --ssl-…, --get-server-public-key and --connect-timeout",
        );
    }
    Ok(())
}

/// Who may restart the target server, and for what.
fn restarts(a: &Loading) -> Result<()> {
    let offline = a.import.import_mode == ImportMode::Offline;
    let max = a.settings.tune == Tune::Max;
    let config = a.settings.server_config.is_some();
    let Some(_) = &a.settings.server_command else {
        // clap has refused --server-config alone.
        if offline && max {
            return both();
        }
        if offline {
            return refuse(
                "--import-mode offline stops and starts the server: --server-command is required",
                "add --server-command 'systemctl \"$1\" mysql', or use --import-mode tablespace, which needs no stop",
            );
        }
        return Ok(());
    };
    a_command(a)?;
    match (offline, max) {
        (true, true) => both(),
        (true, false) if config => refuse(
            "--server-config is for settings of --tune=max, and --import-mode offline changes none",
            "leave it out",
        ),
        (false, false) => refuse(
            "--server-command restarts the server, which only --tune=max and --import-mode offline may do",
            "add --tune=max, or --import-mode offline, if the server is not in service",
        ),
        (false, true) if !config => refuse(
            "--server-command restarts the server for settings: --server-config is required",
            "add --server-config with the directory of which the server reads every .cnf file",
        ),
        _ => Ok(()),
    }
}

fn both() -> Result<()> {
    refuse(
        "--import-mode offline restarts the server, which forgets what --tune=max sets",
        "leave --tune=max out: tables imported as tablespaces do not need it",
    )
}

/// A comparison of servers: options beside URIs that say it all.
fn said_twice(a: &Verify) -> Result<()> {
    let uris = a.server.iter().map(|uri| super::connection::said_by(uri));
    let said: Vec<_> = uris.collect::<Result<_>>()?;
    for (typed, by_uri, option) in [
        (
            a.connection.user.is_some(),
            said.iter().all(|s| s.user),
            "--user",
        ),
        (
            a.connection.ssl_mode.is_some(),
            said.iter().all(|s| s.ssl_mode),
            "--ssl-mode",
        ),
    ] {
        if typed && by_uri {
            return refuse(
                format!("{option} does not apply: both URIs say it themselves"),
                "use one of the two",
            );
        }
    }
    Ok(())
}

/// `penstock verify`.
pub fn verify(a: &Verify) -> Result<()> {
    let stream = a.archive.as_deref().is_some_and(|a| a.as_os_str() == "-");
    unpacks(a.scratch.as_deref(), stream)?;
    let server = a.connection.names_a_server();
    let how = a.connection.says_how();
    if a.archive.is_none() && !a.encryption.is_empty() {
        return refuse(
            "--identity and --passphrase-file open an archive, and none is named",
            "leave them out",
        );
    }
    if !a.tablespace.is_empty() {
        if !a.selection.is_empty() || server || how || a.limits.max_rate.is_some() {
            return refuse(
                "--tablespace checks files as they are: no server, no selection and no rate goes with it",
                "penstock verify --tablespace FILE.ibd",
            );
        }
        return Ok(());
    }
    if a.archive.is_none() {
        if a.server.len() != 2 {
            return refuse(
                "a comparison of servers needs two of them",
                "penstock verify --server A --server B",
            );
        }
        return said_twice(a);
    }
    if a.against.is_some() || server {
        if a.files_only {
            return refuse(
                "--files-only is for an offline check, and a server is named",
                "leave one of the two out",
            );
        }
        return Ok(());
    }
    if !a.selection.is_empty() {
        return refuse(
            "an offline check covers the whole archive; a selection needs a server to compare with",
            "add --against SERVER, or leave the selection out",
        );
    }
    if how || a.limits.max_rate.is_some() {
        return refuse(
            "an offline check reads no server: options on a connection and its rate do not apply",
            "add --against SERVER, or leave them out",
        );
    }
    Ok(())
}

/// `penstock doctor`.
pub fn doctor(a: &Doctor) -> Result<()> {
    let named = a.server.is_some() || a.connection.names_a_server();
    if a.revert && !named {
        return refuse(
            "--revert puts settings of a server back, and no server is named",
            "penstock doctor --revert SERVER",
        );
    }
    if a.connection.says_how() && !named {
        return refuse(
            "options on how to connect do not apply: no server is named, so only the journals of this host are read",
            "name the server, or leave out --ssl-cert, --ssl-key, --get-server-public-key and --connect-timeout",
        );
    }
    Ok(())
}

/// `penstock report`.
pub fn report(a: &Report) -> Result<()> {
    for run in &a.runs {
        place::local("RUN", run)?;
    }
    let Some(to) = &a.to else { return Ok(()) };
    place::local_or_stream("--to", to)?;
    if a.force && to.as_os_str() == "-" {
        return refuse(
            "--force is for a file that exists, and --to - writes to standard output",
            "leave one of the two out",
        );
    }
    Ok(())
}

/// `penstock bench impact`: programs and servers of methods that are not measured.
pub fn impact(a: &Impact, methods: &[Method]) -> Result<()> {
    let measured = |wanted: fn(&Method) -> bool| methods.iter().any(wanted);
    for (given, used, option, method) in [
        (
            a.mysqldump.is_some(),
            measured(|m| matches!(m, Method::Mysqldump)),
            "--mysqldump",
            "mysqldump",
        ),
        (
            a.mydumper.is_some(),
            measured(|m| matches!(m, Method::Mydumper)),
            "--mydumper",
            "mydumper",
        ),
        (
            a.replica.is_some(),
            measured(|m| matches!(m, Method::Replica { .. })),
            "--replica",
            "replica",
        ),
    ] {
        if given && !used {
            return refuse(
                format!("{option} is given, and no --method uses it"),
                format!("add --method {method}, or leave it out"),
            );
        }
    }
    let taken = measured(|m| !matches!(m, Method::Alone));
    let threads = measured(|m| {
        matches!(
            m,
            Method::Mydumper | Method::Penstock(_) | Method::Replica { .. }
        )
    });
    for (given, used, option, method) in [
        (a.scratch.is_some(), taken, "--scratch", "penstock"),
        (a.longest.is_some(), taken, "--longest", "penstock"),
        (a.threads.is_some(), threads, "--threads", "penstock"),
    ] {
        if given && !used {
            return refuse(
                format!("{option} is for backups, and no --method uses it"),
                format!("add --method {method}, or leave it out"),
            );
        }
    }
    Ok(())
}

/// A time that is measured must not be 0; `options` names the options that say it.
pub fn measured(options: &str, times: &[std::time::Duration]) -> Result<()> {
    if times.iter().any(std::time::Duration::is_zero) {
        let what = format!("there is nothing to measure: {options} is 0");
        return Err(Error::new(Kind::Usage, what));
    }
    Ok(())
}

#[cfg(test)]
mod considered;
#[cfg(test)]
mod tests;

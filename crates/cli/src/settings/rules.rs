//! All rules between options: which ones exclude each other, need each other, or do not apply. Pairs
//! that clap can check by name are declared at the option itself (`requires`, `conflicts_with`).
//!
//! Invariant: an option that would have no effect is an error, never ignored.

use super::place;
use crate::args::Command;
use crate::args::bench::Impact;
use crate::args::doctor::Doctor;
use crate::args::dump::{Dump, Dumping};
use crate::args::load::{Load, Loading};
use crate::args::report::Report;
use crate::args::repository::List;
use crate::args::snapshot::{Method as SnapshotMethod, Take};
use crate::args::throttle::Throttle;
use crate::args::values::{Consistency, ImportMode, Tune};
use crate::args::verify::Verify;
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
        Command::Backup(a) => dump(&a.how),
        Command::Load(a) => {
            load(&a.how)?;
            let from = place::location_or_stream("FROM", &a.from)?;
            match load::is_archive(&from) {
                Ok(archive) => load_of(a, archive),
                Err(_) => Ok(()),
            }
        }
        Command::Restore(a) => load(&a.how),
        Command::Verify(a) => verify(a),
        Command::Doctor(a) => doctor(a),
        Command::Report(a) => report(a),
        _ => Ok(()),
    }
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

/// `penstock snapshot take`.
pub fn snapshot(a: &Take) -> Result<()> {
    let method = a.method;
    if a.datadir.is_some() && method != SnapshotMethod::Copy {
        return refuse(
            "--datadir is for a server that does not run, whose files are copied",
            "name the running server, or use --method copy",
        );
    }
    if a.datadir.is_some() && (a.keep || a.at.is_some() || a.lock_wait.is_some()) {
        return refuse(
            "--keep, --at and --lock-wait are for a server that runs",
            "leave them out, and name a place with --to",
        );
    }
    if a.datadir.is_some() && a.connection.names_a_server() {
        return refuse(
            "--datadir names the files of a server that does not run, and the connection options one that runs",
            "leave one of the two out",
        );
    }
    if a.snapshot_size.is_some() && method != SnapshotMethod::Lvm {
        return refuse(
            "--snapshot-size is the room of an LVM snapshot that has room of its own",
            "leave it out, or use --method lvm",
        );
    }
    let by_server = matches!(method, SnapshotMethod::Clone | SnapshotMethod::Copy);
    if by_server && a.lock_wait.is_some() {
        return refuse(
            "--lock-wait does not apply: the server, or mariadb-backup, locks by itself",
            "leave it out",
        );
    }
    let stores = a.max_rate.is_some()
        || a.store_limits.max_rate_disk.is_some()
        || !a.encryption.encrypt_to.is_empty()
        || a.encryption.passphrase_file.is_some();
    if a.keep && stores {
        return refuse(
            "--keep stores nothing, so no rate and no key applies",
            "leave them out, or name a place with --to",
        );
    }
    Ok(())
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

/// Limits on the impact of a dump.
fn limits(a: &Throttle) -> Result<()> {
    let limited = a.max_impact.is_some()
        || a.max_lag.is_some()
        || a.max_threads_running.is_some()
        || a.max_history_list.is_some()
        || !a.abort_if.is_empty();
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
    restarts(a)
}

/// What does not apply to what is loaded: an archive, or a dump of another tool.
pub fn load_of(a: &Load, archive: bool) -> Result<()> {
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
pub fn copy(from: &Location, to: &Location) -> Result<()> {
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
        return Ok(());
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
mod tests {
    use crate::args::bench::Bench;
    use crate::args::{Cli, Command};
    use bench::impact::Method;
    use clap::Parser;

    /// What the rules say to a command line that clap accepts.
    fn ruled(line: &str) -> Result<(), String> {
        let words = std::iter::once("penstock").chain(line.split(' '));
        let cli = Cli::try_parse_from(words).expect("a command line");
        let said = match &cli.command {
            Command::Dump(a) => super::record_outside(a).and_then(|()| super::dump(&a.how)),
            Command::Load(a) => super::load(&a.how),
            Command::Verify(a) => super::verify(a),
            Command::Doctor(a) => super::doctor(a),
            Command::Report(a) => super::report(a),
            Command::Bench(Bench::Impact(a)) => {
                let methods = a.method.iter().map(|m| Method::parse(m).unwrap());
                super::impact(a, &methods.collect::<Vec<_>>())
            }
            _ => Ok(()),
        };
        said.map_err(|e| e.what)
    }

    /// The same for a load, of which it is known what it loads.
    fn ruled_load(line: &str, archive: bool) -> Result<(), String> {
        let words = std::iter::once("penstock").chain(line.split(' '));
        let Command::Load(a) = Cli::try_parse_from(words).expect(line).command else {
            panic!("{line}");
        };
        super::load_of(&a, archive).map_err(|e| e.what)
    }

    /// Each option of a load that only one kind of input knows.
    #[test]
    fn what_goes_with_what_is_loaded() {
        let (archives, others) = ([true].as_slice(), [false].as_slice());
        let both = [true, false].as_slice();
        for (options, applies_to) in [
            ("--schema x", others),
            ("--skip-unsupported", others),
            ("--schemas a", archives),
            ("--exclude-schemas a", archives),
            ("--tables a.b", archives),
            ("--exclude-tables a.b", archives),
            ("--import-mode tablespace", archives),
            ("--import-mode offline", archives),
            ("--sort-memory 1M", archives),
            ("--allow-same-server", archives),
            ("--skip-damaged", archives),
            ("--import-mode auto", both),
            ("--import-mode sql", both),
            ("--defer-indexes all", both),
            ("--no-verify", both),
            ("--resume", both),
            ("--skip-binlog", both),
            ("--max-rate 1M", both),
            ("--threads 2", both),
            ("--tune off", both),
            ("--record r.json", both),
            ("--datadir d", both),
        ] {
            for archive in [true, false] {
                let said = ruled_load(&format!("load a {options}"), archive);
                let applies = applies_to.contains(&archive);
                assert_eq!(said.is_ok(), applies, "{options}, {archive}: {said:?}");
                if let Err(said) = said {
                    let option = options.split(' ').next().unwrap();
                    let named = said.contains(option) || said.contains("cannot be selected");
                    assert!(named, "{options}: {said}");
                }
            }
        }
        assert!(ruled_load("load - --resume", false).is_err());
    }

    #[test]
    fn what_goes_together() {
        for line in [
            "dump --to d",
            "dump --to d --max-lag 2s --replica mysql://r/ --limit-timeout 1m",
            "dump --to d --max-impact 5% --min-rate 1M --max-rate 2M",
            "load a --tune max",
            "load a --tune max --server-command x --server-config /c",
            "load a --import-mode offline --server-command x",
            "load a --datadir d --sort-memory 1M",
            "verify a",
            "verify a --files-only --threads 2",
            "verify a -h db --max-rate 1M",
            "verify --server mysql://a/ --server mysql://b/",
            "verify --tablespace t.ibd",
            "doctor",
            "doctor -h db --connect-timeout 5",
            "doctor --revert mysql://a/ --ssl-key k",
            "report a.json --to b.html --force",
            "report a.json --to -",
            "bench impact --method mydumper --mydumper x",
            "bench impact --method replica --replica mysql://r/",
        ] {
            assert_eq!(ruled(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn what_does_not() {
        for (line, part) in [
            (
                "dump --to d --lock-wait 5 --consistency none",
                "takes no lock",
            ),
            (
                "dump --to d --record d/r.json",
                "inside the archive directory",
            ),
            ("dump --to d --limit-timeout 5s", "no limit is set"),
            ("dump --to d --replica mysql://r/", "no limit on their lag"),
            (
                "dump --to d --max-impact 5% --min-rate 2M --max-rate 1M",
                "--max-rate allows 1048576",
            ),
            ("load a --import-mode sql --sort-memory 1M", "imports none"),
            (
                "load a --import-mode offline",
                "--server-command is required",
            ),
            (
                "load a --import-mode offline --tune max",
                "forgets what --tune=max sets",
            ),
            (
                "load a --import-mode offline --server-command x --server-config /c",
                "offline changes none",
            ),
            (
                "load a --server-command x",
                "only --tune=max and --import-mode offline",
            ),
            (
                "load a --server-command x --server-config /c",
                "only --tune=max and --import-mode offline",
            ),
            (
                "load a --tune max --server-command x",
                "--server-config is required",
            ),
            ("load a --datadir d --tune max", "settings to change"),
            ("load a --datadir d --skip-binlog", "no binary log"),
            ("load a --datadir d --ssl-mode required", "do not apply"),
            ("verify a --tables x.y", "covers the whole archive"),
            ("verify a --max-rate 1M", "do not apply"),
            ("verify a --files-only -h db", "a server is named"),
            ("verify --server mysql://a/", "needs two"),
            ("verify --tablespace t.ibd -h db", "as they are"),
            ("dump --to d --chunk-size 1k", "the least is 64k"),
            ("doctor --connect-timeout 5", "no server is named"),
            ("doctor --ssl-key k", "no server is named"),
            ("report a.json --to - --force", "standard output"),
            ("report s3://a/r.json", "only a path of this host"),
            (
                "bench impact --method alone --mysqldump x",
                "no --method uses it",
            ),
            (
                "bench impact --method alone --mydumper x",
                "no --method uses it",
            ),
            (
                "bench impact --method alone --replica mysql://r/",
                "no --method uses it",
            ),
        ] {
            let said = ruled(line).expect_err(line);
            assert!(said.contains(part), "{line}: {said}");
        }
    }
}

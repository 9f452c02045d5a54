//! All rules between options: which ones exclude each other, need each other, or do not apply. Pairs
//! that clap can check by name are declared at the option itself (`requires`, `conflicts_with`).
//!
//! Invariant: an option that would have no effect is an error, never ignored.

use crate::args::dump::Dump;
use crate::args::load::Load;
use crate::args::throttle::Throttle;
use crate::args::values::{Consistency, ImportMode, Tune};
use crate::args::verify::Verify;
use base::{Error, Kind, Result};
use run::throttle;
use std::path::Path;

fn refuse(what: impl Into<String>, hint: impl Into<String>) -> Result<()> {
    Err(Error::new(Kind::Usage, what).hint(hint))
}

/// `penstock dump`.
pub fn dump(a: &Dump) -> Result<()> {
    if a.lock_wait.is_some() && a.consistency == Consistency::None {
        return refuse(
            "--lock-wait limits the wait for the read lock, and --consistency none takes no lock",
            "leave one of the two out",
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
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    if let Some(record) = &a.recording.record
        && absolute(record).starts_with(absolute(&a.to))
    {
        return refuse(
            format!(
                "--record {} is inside the archive directory, where an extra file counts as damage",
                record.display()
            ),
            "name a file outside of it",
        );
    }
    limits(&a.throttle)
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
pub fn load(a: &Load) -> Result<()> {
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

/// What does not apply to a data directory that the load initializes.
fn new_server(a: &Load) -> Result<()> {
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
fn restarts(a: &Load) -> Result<()> {
    let offline = a.import.import_mode == ImportMode::Offline;
    let max = a.settings.tune == Tune::Max;
    let config = a.settings.server_config.is_some();
    let Some(command) = &a.settings.server_command else {
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
    if command.trim().is_empty() {
        return refuse(
            "--server-command is empty",
            "give the shell line that restarts the server: 'systemctl \"$1\" mysql'",
        );
    }
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
    let server = a.connection.names_a_server();
    let how = a.connection.says_how();
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
    use crate::args::{Cli, Command};
    use clap::Parser;

    /// What the rules say to a command line that clap accepts.
    fn ruled(line: &str) -> Result<(), String> {
        let words = std::iter::once("penstock").chain(line.split(' '));
        let cli = Cli::try_parse_from(words).expect("a command line");
        let said = match &cli.command {
            Command::Dump(a) => super::dump(a),
            Command::Load(a) => super::load(a),
            Command::Verify(a) => super::verify(a),
            _ => Ok(()),
        };
        said.map_err(|e| e.what)
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
        ] {
            let said = ruled(line).expect_err(line);
            assert!(said.contains(part), "{line}: {said}");
        }
    }
}

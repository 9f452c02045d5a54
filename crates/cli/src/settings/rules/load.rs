//! `load` and `restore`: what fits what is loaded, and the server that it is loaded into.

use super::refused::refuse;
use crate::args::load::{Load, Loading};
use crate::args::values::{Existing, GtidPurged, ImportMode, Only, Tune};
use crate::settings::place;
use base::Result;
use std::path::Path;
use store::Location;

/// A command that is none.
pub fn a_command(a: &Loading) -> Result<()> {
    match &a.settings.server_command {
        Some(command) if command.trim().is_empty() => refuse(
            "--server-command is empty",
            "give the shell line that restarts the server: 'systemctl \"$1\" mysql'",
        ),
        _ => Ok(()),
    }
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
    if let (Some(names), Some(accounts)) = (a.names.given(), a.accounts.asks()) {
        return refuse(
            format!(
                "{accounts} does not apply with {names}: grants name schemas and tables as they are on the source"
            ),
            "leave it out, and create the accounts that are needed; their statements are in @.users.sql",
        );
    }
    if let (Some(rows), Some(gtids)) = (a.rows.given(), gtids(a)) {
        return refuse(
            format!(
                "{gtids} does not go with {rows}: a replica would lack the rows that are left out"
            ),
            "leave one of the two out",
        );
    }
    only(a)?;
    existing(a)?;
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

/// What a part that is added does not go with.
fn only(a: &Loading) -> Result<()> {
    let Some(only) = a.parts.only else {
        return Ok(());
    };
    let kinds = [
        (a.parts.no_views, "--no-views"),
        (a.parts.no_triggers, "--no-triggers"),
        (a.parts.no_routines, "--no-routines"),
        (a.parts.no_events, "--no-events"),
        (!a.definer.is_empty(), "--definer"),
    ];
    let kinds = kinds.into_iter().filter(|(given, _)| *given);
    let mut of_objects = kinds.map(|(_, option)| option);
    let of_objects = of_objects.next().or_else(|| a.programs.given());
    let of_tables = [
        (!a.selection.is_empty(), "a selection of tables"),
        (a.resume, "--resume"),
        (a.threads.is_some(), "--threads"),
        (a.skip_damaged, "--skip-damaged"),
        (a.settings.tune != Tune::Safe, "--tune"),
        (a.settings.server_command.is_some(), "--server-command"),
    ];
    let of_tables = of_tables.into_iter().find(|(given, _)| *given);
    let of_tables = of_tables.map(|(_, option)| option);
    let names = a.names.given();
    let (option, other, what) = match only {
        Only::Objects => (
            "--only objects",
            (a.existing == Existing::Truncate)
                .then_some("--existing truncate")
                .or(a.accounts.asks()),
            "views, triggers, routines and events",
        ),
        Only::Indexes => (
            "--only indexes",
            of_objects.or(existing_given(a)).or(a.accounts.asks()),
            "indexes and foreign keys",
        ),
        Only::Users => (
            "--only users",
            of_objects.or(existing_given(a)).or(of_tables).or(names),
            "accounts",
        ),
    };
    match other {
        None => Ok(()),
        Some(other) => refuse(
            format!("{other} does not apply with {option}, which is about {what}"),
            "leave one of the two out",
        ),
    }
}

/// What is done with objects that are there.
fn existing(a: &Loading) -> Result<()> {
    let destroys = matches!(a.existing, Existing::Replace | Existing::Truncate);
    if a.yes && !destroys {
        return refuse(
            "--yes is for what --existing replace or truncate may drop or empty, and nothing is",
            "leave it out",
        );
    }
    if destroys && a.parts.ddl_only {
        return refuse(
            "--existing replace and truncate drop or empty tables, and --ddl-only loads no rows into them",
            "leave one of the two out; --existing skip loads the definitions that are missing",
        );
    }
    if a.parts.data_only {
        let tablespaces = matches!(
            a.import.import_mode,
            ImportMode::Tablespace | ImportMode::Offline
        );
        let without = [
            (
                a.existing == Existing::Skip,
                "--existing skip leaves tables as they are, and --data-only fills them",
                "leave one of the two out",
            ),
            (
                a.existing == Existing::Replace,
                "--existing replace makes new tables, and --data-only creates none",
                "--existing truncate empties them first",
            ),
            (
                tablespaces,
                "tablespaces are imported into tables that the load creates, and --data-only creates none",
                "leave --import-mode out: rows are loaded by SQL",
            ),
            (
                a.new_server.datadir.is_some(),
                "--data-only is for tables that are there, and a new data directory (--datadir) has none",
                "leave one of the two out",
            ),
        ];
        if let Some((_, what, hint)) = without.into_iter().find(|(given, ..)| *given) {
            return refuse(what, hint);
        }
    }
    if let (Existing::Skip, Some(option)) = (a.existing, gtids(a)) {
        return refuse(
            format!(
                "{option} does not go with --existing skip: what is left as it is may lack transactions that the archive holds"
            ),
            "leave one of the two out",
        );
    }
    Ok(())
}

/// The option on objects that are there, if it is given.
pub fn existing_given(a: &Loading) -> Option<&'static str> {
    match a.existing {
        Existing::Refuse => None,
        Existing::Skip => Some("--existing skip"),
        Existing::Replace => Some("--existing replace"),
        Existing::Truncate => Some("--existing truncate"),
    }
}

/// What a preview does not go with.
pub fn preview(a: &Loading) -> Result<()> {
    let without = [
        (
            a.new_server.datadir.is_some(),
            "--dry-run looks at the target server, and --datadir makes a new one",
            "leave one of the two out",
        ),
        (
            a.resume,
            "--dry-run shows a load from its beginning, and --resume continues one",
            "leave one of the two out; --dry-run alone names an interrupted load",
        ),
        (
            a.recording.record.is_some(),
            "--record is for a load that is measured, and --dry-run loads nothing",
            "leave one of the two out",
        ),
        (
            a.yes,
            "--yes is for a load that asks, and --dry-run drops and empties nothing",
            "leave it out",
        ),
    ];
    match without.into_iter().find(|(given, ..)| *given) {
        Some((_, what, hint)) => refuse(what, hint),
        None => Ok(()),
    }
}

/// The option that makes GTIDs known, if it is given.
pub fn gtids(a: &Loading) -> Option<&'static str> {
    match a.gtid_purged {
        GtidPurged::None => None,
        GtidPurged::Set => Some("--gtid-purged set"),
        GtidPurged::Append => Some("--gtid-purged append"),
    }
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
    // What is not there is no dump of another tool.
    if let Some(path) = from.path()
        && let Err(e) = path.metadata()
    {
        return Err(
            run::state::storage("read", path, &e).hint("check the path and the permissions")
        );
    }
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
    if a.dry_run {
        if stream {
            return refuse(
                "standard input can be read once, and --dry-run would use it up",
                "load from a file or directory; penstock copy - DIR unpacks an archive",
            );
        }
        if !archive {
            return refuse(
                format!(
                    "--dry-run is for archives, and {from} is a dump of another tool, whose statements show what they do when they run"
                ),
                "leave it out, or load it into a new data directory first (--datadir)",
            );
        }
        preview(&a.how)?;
    }
    if archive {
        if let Some(name) = &a.other_dumps.schema {
            return refuse(
                format!(
                    "--schema {name} is for names without a schema, and every name in the archive {from} has one: nothing would be renamed"
                ),
                format!("leave it out; a schema gets another name with --map-schema OLD={name}"),
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
    let chosen = a.how.selection.given().or(a.how.programs.given());
    if stream && let Some(option) = chosen.or(a.how.names.given()) {
        return refuse(
            format!(
                "{option} needs two passes over a dump of another tool, and standard input can be read once"
            ),
            "load it from a file, which may be compressed (.gz, .zst, .bz2, .xz)",
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
    if !a.how.definer.is_empty() {
        return refuse(
            format!(
                "--definer is for archives, and {from} is a dump of another tool, whose statements run as they are"
            ),
            "leave it out, or load it into a new data directory (--datadir), dump that with penstock, and load the archive with --definer",
        );
    }
    if let Some(option) = existing_given(&a.how) {
        return refuse(
            format!(
                "{option} is for archives, and {from} is a dump of another tool, whose statements run as they are"
            ),
            "leave it out, and drop what is there; or load it into a new data directory (--datadir), and dump from there with penstock",
        );
    }
    if let Some(option) = a.how.parts.given() {
        return refuse(
            format!(
                "{option} is for archives, and {from} is a dump of another tool, whose statements depend on each other"
            ),
            "leave it out, or load it into a new data directory (--datadir), and dump from there with penstock",
        );
    }
    if let Some(option) = a.how.rows.given() {
        return refuse(
            format!(
                "{option} is for archives, and {from} is a dump of another tool, whose statements run as they are"
            ),
            "leave it out, or load it into a new data directory (--datadir), and dump the rows from there with penstock dump --where",
        );
    }
    if a.how.analyze {
        return refuse(
            format!("--analyze is for archives, and {from} is a dump of another tool"),
            "leave it out, and run ANALYZE TABLE when it is loaded",
        );
    }
    if a.how.history.no_history {
        return refuse(
            format!(
                "--no-history is for forecasts, and there is none for {from}: a dump of another tool does not say how much it holds"
            ),
            "leave it out",
        );
    }
    if let Some(option) = gtids(&a.how) {
        return refuse(
            format!(
                "{option} is for archives, and {from} is a dump of another tool, whose statements say themselves what they set"
            ),
            "leave it out; a SET of gtid_purged in it is passed over: run it yourself when all is loaded",
        );
    }
    if let Some(option) = a.how.accounts.asks() {
        return refuse(
            format!(
                "{option} is for the accounts of an archive, and {from} is a dump of another tool"
            ),
            "leave it out: statements on accounts in it are refused, or skipped with --skip-unsupported",
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
pub fn unpacks(scratch: Option<&Path>, applies: bool) -> Result<()> {
    match scratch {
        Some(scratch) if applies => place::local("--scratch", scratch),
        Some(_) => refuse(
            "--scratch is for an archive on standard input, which is unpacked there",
            "leave it out",
        ),
        None => Ok(()),
    }
}

/// What does not apply to a data directory that the load initializes.
fn new_server(a: &Loading) -> Result<()> {
    if a.settings.tune == Tune::Max {
        return refuse(
            "--tune=max is for a server that has settings to change",
            "leave it out: the temporary server of --datadir is configured for the load",
        );
    }
    if let Some(option) = existing_given(a) {
        return refuse(
            format!("{option} does not apply: a new data directory holds nothing"),
            "leave it out",
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

//! What goes with files of a server: a dump of them, and snapshots.

use super::connection::connects;
use super::refused::{first_given, refuse};
use crate::args::dump::{Dump, FromFiles};
use crate::args::repository::{Backup, Restore};
use crate::args::snapshot::{Method as SnapshotMethod, Take};
use crate::args::values::{Consistency, DeferIndexes, GtidPurged, ImportMode, Tune, VerifyMode};
use base::{Error, Kind, Result};
use std::path::Path;

/// What does not apply to a dump of a data directory, or to any other.
pub fn from_files(a: &Dump) -> Result<()> {
    let f = &a.files;
    let only_of_snapshots = first_given(&[
        ("--at", f.at.is_some()),
        ("--keep-free", f.keep_free.is_some()),
        ("--snapshot-size", f.snapshot_size.is_some()),
    ]);
    if let Some(option) = only_of_snapshots.filter(|_| f.from_snapshot.is_none()) {
        return refuse(
            format!("{option} is for the snapshot of --from-snapshot"),
            "leave it out, or add --from-snapshot METHOD",
        );
    }
    let option = match (&f.from_files, f.from_snapshot) {
        (Some(_), _) => "--from-files",
        (None, Some(method)) => {
            from_snapshot(f, method)?;
            "--from-snapshot"
        }
        (None, None) => {
            let only_there = first_given(&[
                ("--recover", f.recover),
                ("--scratch", f.scratch.is_some()),
                ("--mysqld", f.mysqld.is_some()),
                ("--mysqld-option", !f.mysqld_option.is_empty()),
            ]);
            return match only_there {
                Some(option) => refuse(
                    format!(
                        "{option} is for the temporary server of --from-files or --from-snapshot"
                    ),
                    "leave it out, or add --from-files DATADIR or --from-snapshot METHOD",
                ),
                None => from_replica_files(a),
            };
        }
    };
    if f.datadir.is_some() {
        return refuse(
            match f.from_files {
                Some(_) => {
                    "--datadir is for --from-replica-files: --from-files names the directory itself"
                }
                None => {
                    "--datadir is for --from-replica-files: the server says where a snapshot is taken"
                }
            },
            "leave it out",
        );
    }
    if let Some(given) = connects(&a.how.connection).filter(|_| f.from_files.is_some()) {
        return refuse(
            format!("{given} does not apply to the temporary server of --from-files"),
            "leave it out",
        );
    }
    let locks = [
        ("--consistency", a.how.consistency != Consistency::Auto),
        ("--no-backup-lock", a.how.no_backup_lock),
        (
            "--lock-wait",
            a.how.lock_wait.is_some() && f.from_files.is_some(),
        ),
    ];
    if let Some(given) = first_given(&locks) {
        return refuse(
            format!(
                "{given} does not apply to {option}: no server writes to the files that are read"
            ),
            "leave it out",
        );
    }
    if let Some(given) = a.how.accounts.asks() {
        return refuse(
            format!(
                "{given} does not apply to {option}: its temporary server runs without accounts, so they cannot be dumped"
            ),
            "leave it out; penstock snapshot restore gives back the accounts that are in files",
        );
    }
    let t = &a.how.throttle;
    let impact = [
        ("--max-impact", t.max_impact.is_some()),
        ("--max-lag", t.max_lag.is_some()),
        ("--max-threads-running", t.max_threads_running.is_some()),
        ("--max-history-list", t.max_history_list.is_some()),
        ("--abort-if", !t.abort_if.is_empty()),
    ];
    if let Some(given) = first_given(&impact) {
        return refuse(
            format!(
                "{given} does not apply to {option}: rows are read from files, and not by sessions of a server"
            ),
            "leave it out; --max-rate limits how fast files are read, --max-rate-disk how fast the archive is written",
        );
    }
    Ok(())
}

/// The ways to a snapshot whose place in the binary log is known at once.
fn from_snapshot(f: &FromFiles, method: SnapshotMethod) -> Result<()> {
    if f.recover {
        return refuse(
            "--recover is for --from-files; what is read of a snapshot is always recovered first",
            "leave it out",
        );
    }
    if f.snapshot_size.is_some() {
        room_of_lvm(method)?;
    }
    match method.copies() {
        true => refuse(
            "--from-snapshot takes reflink, btrfs, lvm, lvm-thin or zfs: clone and copy write all files once more",
            "penstock snapshot take --keep, and then penstock dump --from-files, does it in two steps",
        ),
        false => Ok(()),
    }
}

/// What does not apply to a dump from the files of a replica.
fn from_replica_files(a: &Dump) -> Result<()> {
    let locks = [
        ("--consistency", a.how.consistency != Consistency::Auto),
        ("--no-backup-lock", a.how.no_backup_lock),
    ];
    let t = &a.how.throttle;
    if a.files.from_replica_files && t.max_lag.is_some() && t.replica.is_empty() {
        return refuse(
            "--max-lag does not apply to --from-replica-files: the applier of this replica stands still",
            "leave it out, or name the replica that counts with --replica",
        );
    }
    match first_given(&locks).filter(|_| a.files.from_replica_files) {
        Some(option) => refuse(
            format!(
                "{option} does not apply to --from-replica-files: its tables are locked until they are read"
            ),
            "leave it out",
        ),
        None => Ok(()),
    }
}

/// `--snapshot-size`.
fn room_of_lvm(method: SnapshotMethod) -> Result<()> {
    match method {
        SnapshotMethod::Lvm => Ok(()),
        _ => refuse(
            "--snapshot-size is the room of an LVM snapshot that has room of its own",
            "leave it out, or use the method lvm",
        ),
    }
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
    let c = &a.connection;
    let files = [
        ("--defaults-file", c.defaults_file.is_some()),
        ("--defaults-extra-file", c.defaults_extra_file.is_some()),
        ("--defaults-group-suffix", c.defaults_group_suffix.is_some()),
    ];
    if a.datadir.is_some()
        && let Some(option) = connects(c).or_else(|| first_given(&files))
    {
        return refuse(
            format!(
                "{option} is for a server that runs, and --datadir names the files of one that does not"
            ),
            "leave one of the two out",
        );
    }
    if a.snapshot_size.is_some() {
        room_of_lvm(method)?;
    }
    if method.copies() && a.lock_wait.is_some() {
        return refuse(
            "--lock-wait does not apply: the server, or mariadb-backup, locks by itself",
            "leave it out",
        );
    }
    let stores = [
        ("--compression", a.compression.is_some()),
        ("--threads", a.threads.is_some()),
        ("--max-rate", a.max_rate.is_some()),
        ("--max-rate-disk", a.store_limits.max_rate_disk.is_some()),
        ("--encrypt-to", !a.encryption.encrypt_to.is_empty()),
        ("--passphrase-file", a.encryption.passphrase_file.is_some()),
    ];
    if a.keep
        && let Some(option) = first_given(&stores)
    {
        return refuse(
            format!("--keep stores nothing, so {option} does not apply"),
            "leave it out, or name a place with --to",
        );
    }
    Ok(())
}

/// `penstock backup`: clap does not ask for a --snapshot that another option excludes.
pub fn backup(a: &Backup) -> Result<()> {
    let more = &a.incremental;
    // clap does not look at what an option requires where that conflicts with another one.
    let only_there = first_given(&[
        ("--paranoid", more.paranoid),
        ("--identity", !more.identity.is_empty()),
    ]);
    if let Some(option) = only_there.filter(|_| !more.incremental) {
        return refuse(
            format!("{option} is for an incremental backup"),
            "leave it out, or add --incremental",
        );
    }
    if a.incremental.incremental && a.how.consistency == Consistency::None {
        return refuse(
            "--incremental does not apply with --consistency none: a backup that is of no moment proves nothing",
            "leave one of them out",
        );
    }
    let of = &a.snapshot;
    let given = first_given(&[
        ("--at", of.at.is_some()),
        ("--datadir", of.datadir.is_some()),
        ("--keep-free", of.keep_free.is_some()),
        ("--snapshot-size", of.snapshot_size.is_some()),
    ]);
    match given.filter(|_| of.snapshot.is_none()) {
        Some(option) => refuse(
            format!("{option} is for a snapshot, and the backup is a dump"),
            "leave it out, or add --snapshot METHOD",
        ),
        None => Ok(()),
    }
}

/// A backup that turned out to be a snapshot: what is for rows does not apply to it. Returns its data directory.
pub fn restored_snapshot(a: &Restore) -> Result<&Path> {
    let how = &a.how;
    let Some(datadir) = &how.new_server.datadir else {
        return Err(Error::new(
            Kind::Usage,
            "the backup is a snapshot: files, which are restored into a new data directory, and not into a server",
        )
        .hint(
            "add --datadir DIR, and name no server; for a server that runs use a logical backup (--kind logical), or dump the restored files: penstock dump --from-files DIR",
        ));
    };
    let s = &how.selection;
    let c = &how.connection;
    let of_parts = how.parts.given().or_else(|| how.programs.given());
    let of_rows = [
        (of_parts.unwrap_or_default(), of_parts.is_some()),
        ("--existing", super::load::existing_given(how).is_some()),
        ("--yes", how.yes),
        ("--resume", how.resume),
        ("--dry-run", a.moment.dry_run && !a.moment.is_given()),
        ("--verify", how.verify != VerifyMode::Auto),
        ("--where", !how.rows.conditions.is_empty()),
        ("--partitions", !how.rows.partitions.is_empty()),
        ("--skip-damaged", how.skip_damaged),
        ("--strip-tablespaces", how.strip_tablespaces),
        ("--definer", !how.definer.is_empty()),
        ("--analyze", how.analyze),
        ("--gtid-purged", how.gtid_purged != GtidPurged::None),
        ("--users", how.accounts.users),
        (
            "--include-users",
            !how.accounts.which.include_users.is_empty(),
        ),
        (
            "--exclude-users",
            !how.accounts.which.exclude_users.is_empty(),
        ),
        ("--record", how.recording.record.is_some()),
        (
            "--no-history",
            how.history.no_history && !a.moment.is_given(),
        ),
        ("--import-mode", how.import.import_mode != ImportMode::Auto),
        ("--sort-memory", how.import.sort_memory.is_some()),
        (
            "--defer-indexes",
            how.import.defer_indexes != DeferIndexes::Auto,
        ),
        ("--tune", how.settings.tune != Tune::Safe),
        ("--map-schema", !how.names.map_schema.is_empty()),
        ("--map-table", !how.names.map_table.is_empty()),
        ("--include-schemas", !s.include_schemas.is_empty()),
        ("--exclude-schemas", !s.exclude_schemas.is_empty()),
        ("--include-tables", !s.include_tables.is_empty()),
        ("--exclude-tables", !s.exclude_tables.is_empty()),
        ("--password", c.password.is_some()),
        ("--password-fd", c.password_fd.is_some()),
    ];
    match first_given(&of_rows) {
        Some(option) => Err(Error::new(
            Kind::Usage,
            format!("{option} does not apply: the backup is a snapshot, whose files are restored as they are, with the accounts in them"),
        )
        .hint("leave it out, or restore a logical backup: --kind logical")),
        None => Ok(datadir),
    }
}

/// A backup that turned out to be an archive.
pub fn restored_archive(a: &Restore) -> Result<()> {
    match a.prove {
        Some(_) => refuse(
            "--prove is for a snapshot, and the backup is a logical one, whose rows are compared",
            "leave it out, or restore a snapshot: --kind snapshot",
        ),
        None => Ok(()),
    }
}

//! Copies that are made by the server itself, or by its own tool, into a directory of this host.
//!
//! `--method clone`: MySQL's CLONE plugin writes a copy (`CLONE LOCAL DATA DIRECTORY`). Its position in the binary log is
//! in the copied files, and shown by the server that recovers them (`performance_schema.clone_status`).
//! `--method copy` of a running MariaDB: `mariadb-backup`, which is prepared at once, so that a restore needs nothing
//! but the server.
//!
//! Invariant: no setting of the server is changed, and no plugin installed.

use crate::manifest::Position;
use crate::program;
use base::units::printable;
use base::{Error, Kind, Result};
use run::state::storage;
use run::{Run, failure};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use wire::{Conn, Endpoint};

/// Names of the files in which mariadb-backup notes the position; the second one since 11.1.
const BINLOG_INFO: [&str; 2] = ["xtrabackup_binlog_info", "mariadb_backup_binlog_info"];

/// Refuses a server without the plugin.
pub(crate) fn can_clone(conn: &mut Conn, id: &server::Identity) -> Result<()> {
    if !id.mysql_at_least(8, 0, 17) {
        let what = format!("--method clone is for MySQL since 8.0.17, and this is {id}");
        return Err(Error::new(Kind::Usage, what).hint("for MariaDB there is --method copy"));
    }
    let sql = "SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'clone'";
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for the CLONE plugin", e))?;
    let active = rows
        .first()
        .and_then(|r| r.first())
        .and_then(Option::as_deref);
    if active != Some(b"ACTIVE") {
        return Err(Error::new(
            Kind::Privilege,
            "the server has not loaded the CLONE plugin",
        )
        .hint("INSTALL PLUGIN clone SONAME 'mysql_clone.so'"));
    }
    Ok(())
}

/// Tables whose rows the plugin does not copy: it knows InnoDB alone.
pub(crate) fn not_cloned(conn: &mut Conn) -> Result<Vec<String>> {
    let why = "the CLONE plugin copies it without rows";
    named(conn, "engine <> 'InnoDB'", why)
}

/// Tables that mariadb-backup may copy while a session writes to them, so that what is restored is corrupt: those of engines
/// without a log. Seen with 10.11: under writes, two of some twenty copies of a MyISAM table had more rows than their index.
pub(crate) fn copied_without_log(conn: &mut Conn) -> Result<Vec<String>> {
    let why = "if it was written to meanwhile, its copy may be corrupt";
    named(
        conn,
        "engine IN ('MyISAM', 'MRG_MyISAM', 'CSV', 'ARCHIVE')",
        why,
    )
}

/// Names tables of users by their engine.
fn named(conn: &mut Conn, engines: &str, why: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT table_schema, table_name, engine FROM information_schema.tables \
         WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND {engines} \
         AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for tables of other engines", e))?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let named = |r: &Vec<Option<Vec<u8>>>| {
        let table = server::quote::qualified(&text(r.first()), &text(r.get(1)));
        printable(&format!("table {table} uses {}: {why}", text(r.get(2))))
    };
    Ok(rows.iter().map(named).collect())
}

/// Has the server write a copy to `directory/data`.
pub(crate) fn clone(conn: &mut Conn, id: &server::Identity, directory: &Path) -> Result<()> {
    let owner =
        fs::metadata(&id.datadir).map_err(|e| storage("read", Path::new(&id.datadir), &e))?;
    if rustix::process::geteuid().is_root() {
        chown(directory, Some(owner.uid()), Some(owner.gid()))
            .map_err(|e| storage("give to the server's account", directory, &e))?;
    }
    let data = directory.join("data");
    let Some(text) = data.to_str() else {
        return Err(Error::new(
            Kind::Usage,
            "the path of the snapshot is not UTF-8",
        ));
    };
    let sql = format!("CLONE LOCAL DATA DIRECTORY = {}", server::quote::text(text));
    conn.execute(sql).map(drop).map_err(|e| {
        let hint = match e.code() {
            Some(1227) => "GRANT BACKUP_ADMIN",
            _ => "the server's account must be able to write there: name a directory with --at",
        };
        failure::wire("the server cannot clone itself", e).hint(hint)
    })
}

/// Runs mariadb-backup into `directory/data`, and prepares the copy. Returns the position.
pub(crate) fn mariadb_backup(
    run: &Run,
    server: &wire::Options,
    directory: &Path,
    threads: usize,
) -> Result<Position> {
    const PROGRAM: (&str, &str) = ("mariadb-backup", "mariadb-backup");
    let tool = program::find(PROGRAM.0, PROGRAM.1)?;
    let data = directory.join("data");
    let mut options = tempfile::Builder::new()
        .prefix("login-")
        .permissions(fs::Permissions::from_mode(0o600))
        .tempfile_in(directory)
        .map_err(|e| storage("write", directory, &e))?;
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = format!("[mariadb-backup]\nuser={}\n", quoted(&server.user));
    match &server.endpoint {
        // The tool works in another directory.
        Endpoint::Unix(path) => {
            let path = std::path::absolute(path).map_err(|e| storage("use", path, &e))?;
            text += &format!("socket={}\n", quoted(&path.to_string_lossy()));
        }
        Endpoint::Tcp(host, port) => text += &format!("host={}\nport={port}\n", quoted(host)),
    }
    if let Some(password) = &server.password {
        text += &format!("password={}\n", quoted(password.reveal()));
    }
    options
        .write_all(text.as_bytes())
        .map_err(|e| storage("write", directory, &e))?;
    let mut defaults = std::ffi::OsString::from("--defaults-file=");
    defaults.push(options.path());
    let target = |word: &str| {
        let mut target = std::ffi::OsString::from(word);
        target.push(&data);
        target
    };
    let mut command = Command::new(&tool);
    command
        .arg(&defaults)
        .arg("--backup")
        .arg(format!("--parallel={threads}"))
        .arg(target("--target-dir="));
    program::output(command, Some(run))?;
    run.check()?;
    let mut command = Command::new(&tool);
    command
        .arg(&defaults)
        .arg("--prepare")
        .arg(target("--target-dir="));
    program::output(command, Some(run))?;
    let info = BINLOG_INFO
        .iter()
        .find_map(|name| fs::read_to_string(data.join(name)).ok());
    let position = info.as_deref().map(binlog_info).unwrap_or_default();
    for entry in fs::read_dir(&data)
        .map_err(|e| storage("read", &data, &e))?
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of_tool = name.starts_with("xtrabackup_") || name.starts_with("mariadb_backup_");
        if of_tool || name == "backup-my.cnf" {
            fs::remove_file(entry.path()).map_err(|e| storage("remove", &entry.path(), &e))?;
        }
    }
    Ok(position)
}

/// File, position and GTID position, separated by tabs.
fn binlog_info(text: &str) -> Position {
    let mut words = text.trim().split('\t').map(|w| printable(w.trim()));
    Position {
        binlog_file: words.next().filter(|w| !w.is_empty()),
        binlog_position: words.next().and_then(|w| w.parse().ok()),
        gtid_binlog_pos: words.next().filter(|w| !w.is_empty()),
        ..Position::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_notes_the_position() {
        let p = binlog_info("binlog.000002\t330\t0-1-5\n");
        assert_eq!(p.binlog_file.as_deref(), Some("binlog.000002"));
        assert_eq!(p.binlog_position, Some(330));
        assert_eq!(p.gtid_binlog_pos.as_deref(), Some("0-1-5"));
        assert_eq!(binlog_info("").binlog_file, None);
    }
}

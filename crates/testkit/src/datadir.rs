//! New data directories. Initializing one takes seconds, so it is done once for each build of a
//! server, kept in the cache directory, and copied.

use crate::install::{cache_directory, option};
use crate::{Error, Install, Kind, Result};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

/// Makes `target` (which must not exist) a data directory with an account `root` without a password
/// and nothing else. InnoDB's pages have this many bytes, or the server's own choice of them.
pub(crate) fn create(install: &Install, target: &Path, page_size: Option<u32>) -> Result<()> {
    let template = template(install, page_size)?;
    copy(&template, target)?;
    // Two servers must not have the same UUID: replication and penstock's own
    // "is this the source itself" rely on it.
    match std::fs::remove_file(target.join("auto.cnf")) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
        _ => Ok(()),
    }
}

/// Arguments that decide how the redo log and the system tablespace look on disk. They are the same
/// when initializing and when running, so that a start has nothing to rebuild.
pub(crate) fn layout(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::MySql => &["--innodb-redo-log-capacity=128M"],
        Kind::MariaDb | Kind::MariaDb118 => &["--innodb-log-file-size=64M"],
        Kind::MySql55 => &["--innodb-log-file-size=16M"],
    }
}

/// The account that the server must run as; only root has to say so.
pub(crate) fn user_argument() -> Option<OsString> {
    rustix::process::getuid()
        .is_root()
        .then(|| "--user=root".into())
}

/// The argument for pages of this size, when a directory is initialized and when a server runs on it.
pub(crate) fn page_size_argument(bytes: u32) -> OsString {
    format!("--innodb-page-size={bytes}").into()
}

fn template(install: &Install, page_size: Option<u32>) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let meta =
        std::fs::metadata(&install.binary).map_err(Error::doing(install.binary.display()))?;
    let modified = meta
        .modified()?
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let build = format!(
        "{}-{:x}-{:x}-{modified:x}{}",
        install.kind.name(),
        meta.len(),
        meta.ino(),
        page_size.map_or(String::new(), |bytes| format!("-{bytes}"))
    );
    let ready = cache_directory().join("datadir").join(build);
    if ready.is_dir() {
        return Ok(ready);
    }
    // Another process may do the same now. Each works in its own directory, the first rename wins,
    // and the work of the other is thrown away.
    let part = ready.with_extension(format!("{}.part", std::process::id()));
    let _ = std::fs::remove_dir_all(&part);
    std::fs::create_dir_all(part.parent().unwrap_or(&part))?;
    let made = initialize(install, &part, page_size);
    if made.is_err() || std::fs::rename(&part, &ready).is_err() {
        let _ = std::fs::remove_dir_all(&part);
    }
    made?;
    if ready.is_dir() {
        Ok(ready)
    } else {
        Err(Error(format!("cannot create {}", ready.display())))
    }
}

fn initialize(install: &Install, target: &Path, page_size: Option<u32>) -> Result<()> {
    let mut command = match install.kind {
        Kind::MySql55 => {
            let shipped = install.binary.with_file_name("data");
            return copy(&shipped, target);
        }
        Kind::MySql => {
            let mut command = Command::new(&install.server[0]);
            command.args(&install.server[1..]);
            command.args(["--initialize-insecure", "--innodb-use-native-aio=0"]);
            command
        }
        Kind::MariaDb | Kind::MariaDb118 => {
            let mut command = install.command("install-db")?;
            command.args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ]);
            command
        }
    };
    command.arg(option("--datadir=", target));
    command.args(layout(install.kind));
    command.args(page_size.map(page_size_argument));
    command.args(user_argument());
    let out = command
        .output()
        .map_err(Error::doing("initialize a data directory"))?;
    if !out.status.success() {
        let text = [out.stdout, out.stderr].concat();
        return Err(Error(format!(
            "initialize a data directory: {}",
            last_lines(&String::from_utf8_lossy(&text), 12)
        )));
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let out = Command::new("cp")
        .args(["-a", "--reflink=auto", "--sparse=always", "--"])
        .args([from, to])
        .output()
        .map_err(Error::doing("cp"))?;
    if out.status.success() {
        Ok(())
    } else {
        Err(Error(String::from_utf8_lossy(&out.stderr).into_owned()))
    }
}

/// The end of a log, where the reason usually is.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

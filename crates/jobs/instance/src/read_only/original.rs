//! The data directory that is read.

use super::binary_logs::BinaryLogs;
use base::units::printable;
use base::{Error, Kind, Result};
use run::state::storage;
use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The system tablespace: every server that writes holds a lock on it.
const SYSTEM: &str = "ibdata1";

/// The way out where the server was killed.
pub const RECOVER: &str = "--recover has a copy of it recovered in the scratch directory, and reads that; or start the server once and shut it down";

/// The way out where XA transactions are prepared.
pub const END_PREPARED: &str = "only the application knows whether they count: start the server, see XA RECOVER, end them with XA COMMIT or XA ROLLBACK, and shut it down";

/// A data directory that no server uses, and that none starts on while this value lives.
#[derive(Debug)]
pub struct Original {
    /// Absolute, without links.
    path: PathBuf,
    mariadb: bool,
    /// The system tablespace, locked.
    system: File,
}

impl Original {
    /// Refuses what is no data directory, and one that a server uses.
    pub fn open(datadir: &Path) -> Result<Original> {
        let shown = printable(&datadir.display().to_string());
        let path = fs::canonicalize(datadir).map_err(|e| storage("read", datadir, &e))?;
        let system = match File::open(path.join(SYSTEM)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::new(
                    Kind::Usage,
                    format!("{shown} is no data directory of MySQL or MariaDB: it has no {SYSTEM}"),
                )
                .hint("name the directory that the server's variable datadir names"));
            }
            opened => opened.map_err(|e| storage("read", &path.join(SYSTEM), &e))?,
        };
        let mariadb = !path.join("mysql.ibd").exists();
        if mariadb && !path.join("mysql").is_dir() {
            return Err(Error::new(
                Kind::Usage,
                format!("{shown} has neither mysql.ibd (MySQL) nor a directory mysql (MariaDB)"),
            )
            .hint("name a whole data directory; files without one are read by penstock rescue"));
        }
        lock(&system, &path)?;
        Ok(Original {
            path,
            mariadb,
            system,
        })
    }

    /// Refuses one that was not shut down cleanly: a server would have to write to it.
    pub fn check_shut_down(&self) -> Result<()> {
        let ended = innodb::redo::has_ended(&self.path);
        if ended.map_err(|e| storage("read", &self.path, &e))? != Some(false) {
            return Ok(());
        }
        let what = format!("{} was not shut down cleanly", self.path.display());
        Err(Error::new(Kind::Failed, printable(&what)).hint(RECOVER))
    }

    /// Where it is: absolute, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is MariaDB's.
    pub fn is_mariadb(&self) -> bool {
        self.mariadb
    }

    /// Bytes of its pages, as its system tablespace says.
    pub(super) fn page_size(&self) -> Option<usize> {
        innodb::read::page_size(&self.system)
    }

    /// The last binary log and its size: where a server that is started on it, or a replica of it, goes on. `None` if the
    /// directory has no index of binary logs (there are none, or they are in another directory).
    pub fn binary_log_end(&self) -> Result<Option<(String, u64)>> {
        match self.binary_logs()? {
            Some(logs) => logs.end(),
            None => Ok(None),
        }
    }

    /// Those that an index in it lists.
    pub(super) fn binary_logs(&self) -> Result<Option<BinaryLogs>> {
        BinaryLogs::of(&self.path)
    }

    /// MariaDB: the last transaction of each domain in the binary log, which a server that shuts down cleanly leaves in a
    /// file beside the index.
    pub fn gtid_binlog_pos(&self) -> Result<Option<String>> {
        if !self.mariadb {
            return Ok(None);
        }
        let logs = self.binary_logs()?;
        let Some(state) = logs.map(|l| l.index.with_extension("state")) else {
            return Ok(None);
        };
        match fs::read_to_string(&state) {
            Ok(text) => Ok(last_of_each_domain(&text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(storage("read", &state, &e)),
        }
    }
}

/// Refuses a directory that a server uses; as long as what is returned is open, none starts on it. `None`: it has no system
/// tablespace.
pub fn lock_unused(directory: &Path) -> Result<Option<File>> {
    let path = directory.join(SYSTEM);
    match File::open(&path) {
        Ok(system) => lock(&system, directory).map(|()| Some(system)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(storage("read", &path, &e)),
    }
}

/// Locks the system tablespace of a data directory, unless a server has.
fn lock(system: &File, directory: &Path) -> Result<()> {
    // A lock for reading needs no file that is open for writing, and no server starts beside it.
    match rustix::fs::fcntl_lock(system, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
            let owner = rustix::process::fcntl_getlk(system, &Flock::from(FlockType::ReadLock));
            let pid = owner.ok().flatten().and_then(|lock| lock.pid);
            let who = pid.map(|pid| format!(": process {}", pid.as_raw_nonzero()));
            let shown = printable(&directory.display().to_string());
            Err(Error::new(
                Kind::Lock,
                format!(
                    "a server uses the data directory {shown}{}",
                    who.unwrap_or_default()
                ),
            )
            .hint(
                "shut the server down cleanly first, or name a snapshot or a copy of its directory",
            ))
        }
        Err(e) => Err(storage("lock", &directory.join(SYSTEM), &e.into())),
    }
}

/// From a line for each domain and server, of which the last of a domain is the one that was written last.
fn last_of_each_domain(text: &str) -> Option<String> {
    let mut last = std::collections::BTreeMap::new();
    for line in text.lines() {
        let domain = line.split('-').next()?.parse::<u32>().ok()?;
        last.insert(domain, line.to_owned());
    }
    let all: Vec<String> = last.into_values().collect();
    Some(all.join(",")).filter(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_domain_counts() {
        assert_eq!(
            last_of_each_domain("0-2-7\n0-1-9\n3-1-4\n").as_deref(),
            Some("0-1-9,3-1-4")
        );
        assert_eq!(last_of_each_domain(""), None);
    }

    #[test]
    fn what_is_no_data_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refused = Original::open(dir.path()).unwrap_err();
        assert_eq!(refused.kind, Kind::Usage);
        fs::write(dir.path().join(SYSTEM), "").unwrap();
        assert_eq!(Original::open(dir.path()).unwrap_err().kind, Kind::Usage);
        fs::create_dir(dir.path().join("mysql")).unwrap();
        assert!(Original::open(dir.path()).unwrap().is_mariadb());
        assert!(Original::open(&dir.path().join("x")).is_err());
    }
}

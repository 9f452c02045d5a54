//! The server's data directory, accessed from this host: where the tablespace of a table can be built,
//! which user has to own it, and where the server looks for it.

use crate::Target;
use archive::FileRecord;
use base::units::printable;
use base::{Error, Kind};
use innodb::names::file_name;
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Suffix of a file that is being built. It does not look like a tablespace, so that no server opens it.
const BUILDING: &str = ".penstock-building";

/// A data directory in which files can be created.
#[derive(Clone, Debug)]
pub struct Datadir {
    path: PathBuf,
    /// The directory, open. All loads that have files in it hold a shared lock, so that none takes
    /// another's files for abandoned ones. There is no lock for each file: there may be more of them than a
    /// process may have open.
    shared: Arc<File>,
    /// User and group that own the server's files.
    owner: (u32, u32),
    device: u64,
    /// Whether the server reads its tablespaces with O_DIRECT.
    direct: bool,
}

/// Where the server has the files of a table.
pub struct TablePaths {
    /// The tablespace (`.ibd`).
    pub tablespace: PathBuf,
    /// What `FLUSH TABLES … FOR EXPORT` writes beside it (`.cfg`).
    pub description: PathBuf,
}

impl Datadir {
    /// Opens the data directory, and removes what killed loads have left in it. An error says why no
    /// tablespace can be imported from it.
    pub fn find(t: &Target<'_>) -> Result<Datadir, String> {
        let path = PathBuf::from(&t.id.datadir);
        let system = path.join("ibdata1");
        let meta = std::fs::metadata(&system).or_else(|_| std::fs::metadata(&path));
        let (Ok(meta), Ok(directory)) = (meta, std::fs::metadata(&path)) else {
            return Err(format!(
                "the data directory {} is not accessible from this host (the server runs elsewhere or in a container)",
                path.display()
            ));
        };
        let open = File::open(&path)
            .map_err(|e| format!("cannot open the data directory {}: {e}", path.display()))?;
        let datadir = Datadir {
            path,
            shared: Arc::new(open),
            owner: (meta.uid(), meta.gid()),
            device: directory.dev(),
            direct: reads_direct(&t.id.variables),
        };
        let denied = |e: io::Error| {
            format!(
                "cannot create files in the data directory {}: {e}",
                datadir.path.display()
            )
        };
        // A file without a name: nothing of it is ever left.
        let trial = tempfile::tempfile_in(&datadir.path).map_err(denied)?;
        datadir.remove_abandoned().map_err(denied)?;
        datadir.set_owner(&trial, 0o640).map_err(|e| {
            format!(
                "the server's files belong to user {}, and a file created here cannot be given to that user: {e}",
                datadir.owner.0
            )
        })?;
        Ok(datadir)
    }

    /// Where the server has a table, if it is known how its names are written in file names.
    pub fn paths(&self, lower_case: bool, schema: &str, table: &str) -> Option<TablePaths> {
        let directory = self.path.join(file_name(schema, lower_case)?);
        let table = file_name(table, lower_case)?;
        Some(TablePaths {
            tablespace: directory.join(format!("{table}.ibd")),
            description: directory.join(format!("{table}.cfg")),
        })
    }

    /// Where the tablespace of a table is built: beside the directories of the schemas, so that a schema
    /// can be dropped whatever happens here.
    pub fn build_path(&self, table: &str) -> PathBuf {
        let digest = FileRecord::of(table.as_bytes()).blake3;
        self.path
            .join(format!("penstock-{}{BUILDING}", &digest[..24]))
    }

    /// Whether a path is one that [`Datadir::build_path`] returns.
    pub fn is_build_path(&self, path: &Path) -> bool {
        let named = |n: &str| n.starts_with("penstock-") && n.ends_with(BUILDING);
        path.parent() == Some(&self.path)
            && path.file_name().and_then(|n| n.to_str()).is_some_and(named)
    }

    /// Where a sort may write what does not fit into memory.
    pub fn scratch(&self) -> PathBuf {
        self.path.clone()
    }

    /// Whether a file can be moved from the data directory to this table's place.
    pub fn is_on_same_device(&self, paths: &TablePaths) -> io::Result<bool> {
        Ok(std::fs::metadata(&paths.tablespace)?.dev() == self.device)
    }

    /// Removes the files of loads that were killed and never resumed, unless another load is running here.
    fn remove_abandoned(&self) -> io::Result<()> {
        if self.shared.try_lock().is_ok() {
            for entry in std::fs::read_dir(&self.path)?.flatten() {
                if self.is_build_path(&entry.path()) {
                    let _ = remove_if_exists(&entry.path());
                }
            }
        }
        self.shared.lock_shared()
    }

    /// Creates a file that the server may open.
    pub fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(path)?;
        self.set_owner(&file, mode & 0o777)?;
        Ok(file)
    }

    /// Whether the server reads its tablespaces with O_DIRECT, so that new ones need not be in the page
    /// cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Syncs a complete file to the disk. If the server reads with O_DIRECT, no process needs what of the
    /// file is in the page cache, and the server can use that memory for its own reads.
    pub fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        if self.direct {
            // Advice only.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
        Ok(())
    }

    /// Makes the server's user the owner of a file. This takes the open file, not its name: the directory
    /// is not ours, and another file may take a name in it.
    fn set_owner(&self, file: &File, mode: u32) -> io::Result<()> {
        let meta = file.metadata()?;
        if (meta.uid(), meta.gid()) != self.owner {
            let changed = fchown(file, Some(self.owner.0), Some(self.owner.1));
            // A server opens the files of its user whatever their group is.
            if meta.uid() != self.owner.0 {
                changed?;
            }
        }
        file.set_permissions(Permissions::from_mode(mode))
    }
}

/// Whether a server with these variables reads its tablespaces with O_DIRECT. From MariaDB 11.0 on the
/// second variable decides.
fn reads_direct(variables: &BTreeMap<String, String>) -> bool {
    let value = |name: &str| variables.get(name).map_or("", String::as_str);
    value("innodb_flush_method").starts_with("O_DIRECT")
        && value("innodb_data_file_buffering") != "ON"
}

/// Removes a file that may not exist.
pub fn remove_if_exists(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// An error of the disk that holds the data directory.
pub fn storage_error(action: &str, path: &Path, e: &io::Error) -> Error {
    let what = format!("cannot {action} {}: {e}", path.display());
    let error = Error::new(Kind::Storage, printable(&what));
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            error.hint("free space on the disk of the server's data directory")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_servers_read_with_o_direct() {
        let of = |pairs: &[(&str, &str)]| {
            let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
            reads_direct(&pairs.iter().map(own).collect())
        };
        assert!(of(&[("innodb_flush_method", "O_DIRECT")]));
        assert!(of(&[("innodb_flush_method", "O_DIRECT_NO_FSYNC")]));
        assert!(!of(&[("innodb_flush_method", "fsync")]));
        let (method, buffering) = ("innodb_flush_method", "innodb_data_file_buffering");
        assert!(of(&[(method, "O_DIRECT"), (buffering, "OFF")]));
        assert!(!of(&[(method, "O_DIRECT"), (buffering, "ON")]));
        assert!(!of(&[]));
    }
}

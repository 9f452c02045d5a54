//! The server's data folder, seen from here: where a file of a table can be
//! built, whom it has to belong to, and where the server looks for it.

use super::super::Target;
use archive::FileRecord;
use innodb::names::file_name;
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// End of the name of a file that is being built. It does not look like a tablespace,
/// so that no server opens it.
const BUILDING: &str = ".penstock-building";

/// A data folder in which files can be made.
#[derive(Clone, Debug)]
pub struct Datadir {
    folder: PathBuf,
    /// The folder, open: shared by all loads that have files in it, so that none takes another's for forgotten.
    /// Not a lock for each file: there may be more of them than a process may have open.
    shared: Arc<File>,
    /// Whom the server's files belong to.
    owner: (u32, u32),
    device: u64,
    /// Whether the server reads its files around the system's cache.
    direct: bool,
}

/// Where the server has a table.
pub struct TablePaths {
    /// Its rows.
    pub file: PathBuf,
    /// What `FLUSH TABLES … FOR EXPORT` writes beside it.
    pub description: PathBuf,
}

impl Datadir {
    /// Looks at the folder, and removes what killed loads have left in it; an error says why no file can be
    /// handed over in it.
    pub fn find(t: &Target<'_>) -> Result<Datadir, String> {
        let folder = PathBuf::from(&t.id.datadir);
        let system = folder.join("ibdata1");
        let meta = std::fs::metadata(&system).or_else(|_| std::fs::metadata(&folder));
        let (Ok(meta), Ok(of_folder)) = (meta, std::fs::metadata(&folder)) else {
            return Err(format!(
                "the server's data folder ({}) is not to be seen from here: it runs on another host, or in a container",
                folder.display()
            ));
        };
        let open = File::open(&folder).map_err(|e| {
            format!(
                "the server's data folder ({}) cannot be read: {e}",
                folder.display()
            )
        })?;
        let site = Datadir {
            folder,
            shared: Arc::new(open),
            owner: (meta.uid(), meta.gid()),
            device: of_folder.dev(),
            direct: reads_direct(&t.id.variables),
        };
        let denied = |e: io::Error| {
            format!(
                "the server's data folder ({}) does not take files from here: {e}",
                site.folder.display()
            )
        };
        // Without a name: nothing of it is ever left.
        let trial = tempfile::tempfile_in(&site.folder).map_err(denied)?;
        site.sweep().map_err(denied)?;
        site.give(&trial, 0o640)
            .map_err(|e| {
                format!(
                    "the server's files belong to user {}, and a file made here cannot be given to it: {e}",
                    site.owner.0
                )
            })?;
        Ok(site)
    }

    /// Where the server has a table, if it is known how the names are written in file names.
    pub fn place(&self, lower_case: bool, schema: &str, table: &str) -> Option<TablePaths> {
        let folder = self.folder.join(file_name(schema, lower_case)?);
        let table = file_name(table, lower_case)?;
        Some(TablePaths {
            file: folder.join(format!("{table}.ibd")),
            description: folder.join(format!("{table}.cfg")),
        })
    }

    /// Where the file of a table is built: beside the schemas' folders, so that they can be
    /// dropped whatever happens here.
    pub fn building(&self, table: &str) -> PathBuf {
        let digest = FileRecord::of(table.as_bytes()).blake3;
        self.folder
            .join(format!("penstock-{}{BUILDING}", &digest[..24]))
    }

    /// Whether a path is one that [`Site::building`] gives out.
    pub fn is_building(&self, path: &Path) -> bool {
        let named = |n: &str| n.starts_with("penstock-") && n.ends_with(BUILDING);
        path.parent() == Some(&self.folder)
            && path.file_name().and_then(|n| n.to_str()).is_some_and(named)
    }

    /// Where sorting may write what does not fit into memory.
    pub fn scratch(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Whether a file can be moved from the folder to this place.
    pub fn is_near(&self, place: &TablePaths) -> io::Result<bool> {
        Ok(std::fs::metadata(&place.file)?.dev() == self.device)
    }

    /// Removes files of loads that were killed and never taken up again, unless one goes on here.
    fn sweep(&self) -> io::Result<()> {
        if self.shared.try_lock().is_ok() {
            for entry in std::fs::read_dir(&self.folder)?.flatten() {
                if self.is_building(&entry.path()) {
                    let _ = remove(&entry.path());
                }
            }
        }
        self.shared.lock_shared()
    }

    /// A new file that the server may open.
    pub fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(path)?;
        self.give(&file, mode & 0o777)?;
        Ok(file)
    }

    /// Whether the server reads its files around the system's cache, so that new ones need not be there.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Has a file that is complete be on the disk. What of it went through the system's cache nobody needs there if the
    /// server does not look for it: what it is going to read it with can have the room.
    pub fn settled(&self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        if self.direct {
            // Advice only.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
        Ok(())
    }

    /// Makes a file the server's. By the open file: the folder is not ours, and a name in it may become another's.
    fn give(&self, file: &File, mode: u32) -> io::Result<()> {
        let meta = file.metadata()?;
        if (meta.uid(), meta.gid()) != self.owner {
            let given = fchown(file, Some(self.owner.0), Some(self.owner.1));
            // Its own files a server opens whatever their group.
            if meta.uid() != self.owner.0 {
                given?;
            }
        }
        file.set_permissions(Permissions::from_mode(mode))
    }
}

/// Whether a server with these variables reads its tablespaces around the system's cache. From MariaDB 11.0 on the second one
/// decides.
fn reads_direct(variables: &BTreeMap<String, String>) -> bool {
    let says = |name: &str| variables.get(name).map_or("", String::as_str);
    says("innodb_flush_method").starts_with("O_DIRECT")
        && says("innodb_data_file_buffering") != "ON"
}

/// Removes a file that may not be there.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_around_the_cache() {
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

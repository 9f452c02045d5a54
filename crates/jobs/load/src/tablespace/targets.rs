//! The tables that get a new tablespace, and the files that are built for them.
//!
//! Types only: `template` makes an [`ImportTarget`], `partitions` one for each partition, `import` builds
//! its [`BuiltTablespace`]. Invariant: a file that was built is removed unless it was moved into the
//! server's place.

use super::datadir::{TablePaths, remove_if_exists};
use super::outcome::{Rejection, Verdict};
use archive::open::{Chunk, Table};
use innodb::Exported;
use innodb::bulk::Template;
use innodb::value::Kind as Column;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// The server's empty tablespace of a table, and the server's description of it.
pub struct EmptyTablespace {
    /// The template of the new tablespace.
    pub template: Template,
    /// Its indexes and columns.
    pub exported: Exported,
    /// The same as the server wrote it.
    pub description: Vec<u8>,
    /// Permissions of the server's file.
    pub mode: u32,
}

/// A table that gets a new tablespace.
pub struct ImportTarget<'p> {
    /// The table in the archive.
    pub table: &'p Table,
    /// Quoted, qualified.
    pub name: String,
    /// Where the server has its tablespace.
    pub paths: TablePaths,
    /// Where the new one is built.
    pub build_path: PathBuf,
    /// The template of the new one.
    pub empty: EmptyTablespace,
    /// The columns of the archive, in its order.
    pub columns: Vec<(String, Column)>,
    /// The same for the reader of tablespaces.
    pub read: Vec<innodb::read::Column>,
    /// Whether the running server imports the tablespace; otherwise it is stopped for it.
    pub online: bool,
    /// Whether a row id has to be used up after the import, because the server would give the last row's
    /// again.
    pub uses_up_row_id: bool,
    /// Set if this is a table that takes the rows of a partition first.
    pub partition: Option<PartitionImport>,
}

impl ImportTarget<'_> {
    /// The whole table, quoted, qualified, also if this is one of its partitions.
    pub fn whole(&self) -> &str {
        self.partition.as_ref().map_or(&self.name, |p| &p.whole)
    }

    /// The chunks of the archive that belong to it.
    pub fn chunks(&self) -> Vec<&Chunk> {
        let partition = self.partition.as_ref().map(|p| &p.partition);
        let all = self.table.chunks.iter();
        all.filter(|c| partition.is_none() || c.partition.as_ref() == partition)
            .collect()
    }
}

/// A partition that is being imported.
pub struct PartitionImport {
    /// The whole table, quoted, qualified.
    pub whole: String,
    /// Its name in the archive.
    pub partition: String,
    /// Shared by the partitions of the table.
    group: PartitionGroup,
}

/// The partitions of one table that are imported at the same time.
#[derive(Clone)]
pub struct PartitionGroup(Arc<Mutex<GroupState>>);

struct GroupState {
    /// How many are not finished yet.
    left: usize,
    /// Bytes of the tablespaces that the server has imported.
    bytes: u64,
    /// Why the first one that failed was rejected.
    failed: Option<Rejection>,
}

impl PartitionGroup {
    /// A group of this many partitions.
    pub fn new(count: usize) -> PartitionGroup {
        PartitionGroup(Arc::new(Mutex::new(GroupState {
            left: count,
            bytes: 0,
            failed: None,
        })))
    }

    /// One of them.
    pub fn member(&self, whole: &str, partition: &str) -> PartitionImport {
        PartitionImport {
            whole: whole.to_owned(),
            partition: partition.to_owned(),
            group: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        base::lock(&self.0)
    }
}

impl PartitionImport {
    /// Whether another partition of the table has failed, so that this one is not needed.
    pub fn is_cancelled(&self) -> bool {
        self.group.lock().failed.is_some()
    }

    /// Records what this partition came to: the bytes of its tablespace, a rejection, or `None` if it was
    /// cancelled. The last partition gets `Some`: the bytes of all, or the first rejection.
    pub fn finish(&self, verdict: Option<Verdict<u64>>) -> Option<Verdict<u64>> {
        let mut group = self.group.lock();
        group.left -= 1;
        match verdict {
            Some(Verdict::Ready(bytes)) => group.bytes += bytes,
            Some(Verdict::Rejected(why)) if group.failed.is_none() => group.failed = Some(why),
            Some(Verdict::Rejected(_)) | None => {}
        }
        (group.left == 0).then(|| match group.failed.take() {
            Some(why) => Verdict::Rejected(why),
            None => Verdict::Ready(group.bytes),
        })
    }
}

/// A file that is being built. It is removed when dropped, unless it was moved to the server's place.
pub struct BuildFile(Option<PathBuf>);

impl BuildFile {
    /// The file at this path, which need not exist yet.
    pub fn new(path: PathBuf) -> BuildFile {
        BuildFile(Some(path))
    }

    /// Moves the file over the server's.
    pub fn move_to(&mut self, place: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            std::fs::rename(path, place)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for BuildFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = remove_if_exists(path);
        }
    }
}

/// A tablespace that is built, and complete by the checks.
pub struct BuiltTablespace {
    /// Its file.
    pub file: BuildFile,
    /// Its size.
    pub bytes: u64,
}

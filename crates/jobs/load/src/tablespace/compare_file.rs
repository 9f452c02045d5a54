//! Compares a tablespace that was built with the archive, from the file itself.
//!
//! The rows are decoded by the reader of tablespaces, which shares nothing with what built them, and their digest is
//! compared with the archive's. Every secondary index must have an entry for each row and no other: the number and the
//! digest of its entries are compared with those that the rows should have. The file is read as it is on the disk:
//! what is in the page cache is dropped first, once the file is synced.
//!
//! What it does not do: ask the server. A sample of the rows is read from it when it has the table.

use super::cpu_slots::CpuSlots;
use super::datadir::storage_error;
use super::targets::ImportTarget;
use archive::RowDigest;
use base::Result;
use base::units::count;
use innodb::read::{Bytes, Entries, Error, Index, Leaf, Leaves, Rows, Table, Tablespace, exported};
use run::Stop;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Leaves that a thread reads before it looks for other work.
const LEAVES: usize = 1024;

/// Leaves after which it is looked whether to stop.
const STOP_AFTER: usize = 64;

/// Bytes from which a read goes around the page cache. Pages of long values are read one by one, and the kernel reads ahead.
const DIRECT_READ: usize = 128 << 10;

/// How a file is compared.
pub struct FileComparison<'a> {
    /// Threads at most.
    pub threads: usize,
    /// Shared with the tables that are built.
    pub cpu_slots: &'a CpuSlots<'a>,
    /// The rank of this table among them.
    pub rank: usize,
    /// Whether to continue.
    pub stop: &'a Stop<'a>,
}

/// What one thread reads.
struct Work<'w> {
    /// A secondary index; `None`: the rows.
    index: Option<&'w Index>,
    id: u64,
    leaves: &'w [Leaf],
}

/// What was read of a file.
struct Found<'w> {
    rows: RowDigest,
    /// By secondary index: the entries that the rows should have, and those that are there.
    indexes: Vec<(&'w Index, Entries, Entries)>,
}

/// Why a file is not compared.
enum Ended {
    Load(base::Error),
    File(Error),
}

impl From<Error> for Ended {
    fn from(e: Error) -> Ended {
        Ended::File(e)
    }
}

/// A file that is read around the page cache where that can be: its pages are needed once. While the disk reads, the
/// reader's CPU slot is another's.
struct Synced<'a> {
    file: File,
    direct: Option<File>,
    cpu_slots: &'a CpuSlots<'a>,
}

impl Bytes for Synced<'_> {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        if let Some(direct) = &self.direct
            && to.len() >= DIRECT_READ
            && store::direct::is_aligned(at, to)
        {
            let read = || direct.read_exact_at(to, at);
            match self.cpu_slots.lend(read) {
                Err(e) if store::direct::is_refused(direct, &e) => {}
                outcome => return outcome,
            }
        }
        self.file.read_exact_at(to, at)
    }
}

impl FileComparison<'_> {
    /// Compares the file at `path`; the inner error says how it differs.
    pub fn run(
        &self,
        target: &ImportTarget<'_>,
        path: &Path,
        synced: bool,
    ) -> Result<std::result::Result<u64, String>> {
        let open = || File::open(path).map_err(|e| storage_error("read", path, &e));
        let mut file = Synced {
            file: open()?,
            direct: None,
            cpu_slots: self.cpu_slots,
        };
        if synced {
            // What was written is in the page cache, and would say nothing about the disk.
            let _ = rustix::fs::fadvise(&file.file, 0, None, rustix::fs::Advice::DontNeed);
            let direct = open()?;
            file.direct = store::direct::set(&direct, true).is_ok().then_some(direct);
        }
        match self.compare(target, &file) {
            Ok(outcome) => Ok(outcome),
            Err(Ended::Load(e)) => Err(e),
            Err(Ended::File(Error::Io(e))) => Err(storage_error("read", path, &e)),
            Err(Ended::File(e)) => Ok(Err(e.to_string())),
        }
    }

    fn compare(
        &self,
        target: &ImportTarget<'_>,
        file: &Synced<'_>,
    ) -> std::result::Result<std::result::Result<u64, String>, Ended> {
        let space = {
            let _slot = self.cpu_slots.take(self.rank);
            Tablespace::open(file)?
        };
        let table = exported::table(&target.empty.exported, target.read.clone())?;
        let columns: Vec<usize> = (0..target.columns.len()).collect();
        let found = self.read(&space, &table, &columns, file.direct.is_some())?;
        let mut wanted = RowDigest::new();
        for chunk in target.chunks() {
            match &chunk.row_digest {
                Some(digest) => wanted.merge(digest),
                None => return Ok(Err(format!("{} has no digest", chunk.file))),
            }
        }
        if found.rows != wanted {
            return Ok(Err(match (found.rows.rows(), wanted.rows()) {
                (there, wanted) if there != wanted => {
                    format!("it has {} rows instead of {}", count(there), count(wanted))
                }
                _ => "its rows have another digest than the archive's".to_owned(),
            }));
        }
        for (index, derived, there) in &found.indexes {
            if derived != there {
                return Ok(Err(format!(
                    "index {} has other entries than the rows: {} instead of {}",
                    index.name,
                    count(there.count),
                    count(derived.count)
                )));
            }
        }
        Ok(Ok(found.rows.rows()))
    }

    fn read<'w>(
        &self,
        space: &Tablespace<'_>,
        table: &'w Table,
        columns: &[usize],
        lends: bool,
    ) -> std::result::Result<Found<'w>, Ended> {
        let slot = self.cpu_slots.take(self.rank);
        let clustered = Leaves::of(space, &table.clustered, table.redundant)?;
        let mut derived: Vec<&Index> = Vec::new();
        let mut leaves = Vec::new();
        for index in &table.secondary {
            // Of an index whose entries do not follow from the rows only the number is compared.
            if Rows::new(space, table, clustered.id, columns)?
                .deriving([index])
                .is_ok()
            {
                derived.push(index);
            }
            leaves.push((index, Leaves::of(space, index, table.redundant)?));
        }
        drop(slot);
        let mut work: Vec<Work<'_>> = Vec::new();
        let of =
            |index, all: &'_ Leaves| -> Vec<(Option<&'w Index>, u64, std::ops::Range<usize>)> {
                (0..all.all.len())
                    .step_by(LEAVES)
                    .map(|n| (index, all.id, n..(n + LEAVES).min(all.all.len())))
                    .collect()
            };
        for (index, id, range) in of(None, &clustered) {
            let leaves = &clustered.all[range];
            work.push(Work { index, id, leaves });
        }
        for (index, all) in &leaves {
            for (index, id, range) in of(Some(*index), all) {
                let leaves = &all.all[range];
                work.push(Work { index, id, leaves });
            }
        }
        let next = AtomicUsize::new(0);
        let none = |i: &'w Index| (i, Entries::default(), Entries::default());
        let found = Mutex::new(Found {
            rows: RowDigest::new(),
            indexes: table.secondary.iter().map(none).collect(),
        });
        let job = || -> std::result::Result<(), Ended> {
            while let Some(work) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                let _slot = self.cpu_slots.take(self.rank);
                let outcome = self.piece(space, table, columns, &derived, work, &found);
                if outcome.is_err() {
                    next.store(usize::MAX / 2, Ordering::Relaxed);
                }
                outcome?;
            }
            Ok(())
        };
        // Half of them wait for the disk while the others read what it brought.
        let each = if lends { 2 } else { 1 };
        let threads = (each * self.threads).clamp(1, work.len().max(1));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(job)).collect();
            workers.into_iter().try_for_each(|w| {
                w.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        let mut found = base::lock::into_inner(found);
        for (index, derived_entries, there) in &mut found.indexes {
            let is_derived = derived.iter().any(|d| std::ptr::eq(*d, *index));
            if !is_derived && there.count == found.rows.rows() {
                *derived_entries = *there;
            } else if !is_derived {
                derived_entries.count = found.rows.rows();
            }
        }
        Ok(found)
    }

    fn piece<'w>(
        &self,
        space: &Tablespace<'_>,
        table: &'w Table,
        columns: &[usize],
        derived: &[&'w Index],
        work: &Work<'_>,
        found: &Mutex<Found<'w>>,
    ) -> std::result::Result<(), Ended> {
        if let Some(index) = work.index {
            for leaves in work.leaves.chunks(STOP_AFTER) {
                self.stop.check().map_err(Ended::Load)?;
                let entries = Entries::of_index(space, table, index, work.id, leaves)?;
                let mut found = base::lock(found);
                let place = found
                    .indexes
                    .iter_mut()
                    .find(|(i, _, _)| std::ptr::eq(*i, index));
                if let Some((_, _, there)) = place {
                    there.merge(&entries);
                }
            }
            return Ok(());
        }
        let mut rows =
            Rows::new(space, table, work.id, columns)?.deriving(derived.iter().copied())?;
        let mut digest = RowDigest::new();
        for leaves in work.leaves.chunks(STOP_AFTER) {
            self.stop.check().map_err(Ended::Load)?;
            rows.scan(leaves, |payload| {
                digest.add(payload);
                Ok::<(), Error>(())
            })?;
        }
        let mut found = base::lock(found);
        found.rows.merge(&digest);
        for (index, entries) in rows.derived() {
            let place = found
                .indexes
                .iter_mut()
                .find(|(i, _, _)| std::ptr::eq(*i, index));
            if let Some((_, derived, _)) = place {
                derived.merge(&entries);
            }
        }
        Ok(())
    }
}

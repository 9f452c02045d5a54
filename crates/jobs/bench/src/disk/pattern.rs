//! The patterns: what each is called, what it counts, and which files it needs.

use std::fmt;

/// A way in which a server uses its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A new file, from its beginning: a binary log, a dump.
    Append,
    /// The same with its blocks allocated before: a tablespace that grows, a redo log.
    Preallocated,
    /// An existing file, from its beginning: a redo log that goes round.
    Rewrite,
    /// An existing file, from its beginning: a backup, a scan.
    Read,
    /// Pages, that many at a time: misses of the buffer pool.
    RandomRead(usize),
    /// Pages, that many at a time: a page cleaner without doublewrite.
    RandomWrite(usize),
    /// Blocks of a log, each synced by fdatasync before the next, by that many sessions with group commit.
    Commit(usize),
    /// The same by one session, with fsync.
    CommitFsync,
    /// A batch of pages to one file, synced, then to their places, synced.
    Doublewrite,
    /// Files that are made, synced and removed, with their directory.
    SmallFiles,
    /// Reads, commits and pages in the proportions of TPC-C, all at the same time.
    Mixed,
}

/// Queue depths of random reads and writes: one session, a few, many, and what no single query causes.
pub const DEPTHS: [usize; 4] = [1, 4, 16, 64];

/// Sessions that commit.
pub const SESSIONS: [usize; 3] = [1, 4, 16];

impl Pattern {
    /// All of them, in the order in which they are measured.
    pub fn all() -> Vec<Pattern> {
        let mut all = vec![
            Pattern::Append,
            Pattern::Preallocated,
            Pattern::Rewrite,
            Pattern::Read,
        ];
        all.extend(DEPTHS.map(Pattern::RandomRead));
        all.extend(DEPTHS.map(Pattern::RandomWrite));
        all.extend(SESSIONS.map(Pattern::Commit));
        all.extend([
            Pattern::CommitFsync,
            Pattern::Doublewrite,
            Pattern::SmallFiles,
            Pattern::Mixed,
        ]);
        all
    }

    /// Groups of them, as `--pattern` takes them.
    pub const GROUPS: [&'static str; 7] = [
        "sequential",
        "random-read",
        "random-write",
        "commit",
        "doublewrite",
        "small-files",
        "mixed",
    ];

    /// The group.
    pub fn group(self) -> &'static str {
        match self {
            Pattern::Append | Pattern::Preallocated | Pattern::Rewrite | Pattern::Read => {
                "sequential"
            }
            Pattern::RandomRead(_) => "random-read",
            Pattern::RandomWrite(_) => "random-write",
            Pattern::Commit(_) | Pattern::CommitFsync => "commit",
            Pattern::Doublewrite => "doublewrite",
            Pattern::SmallFiles => "small-files",
            Pattern::Mixed => "mixed",
        }
    }

    /// For programs.
    pub fn key(self) -> String {
        match self {
            Pattern::Append => "write".to_owned(),
            Pattern::Preallocated => "write_preallocated".to_owned(),
            Pattern::Rewrite => "rewrite".to_owned(),
            Pattern::Read => "read".to_owned(),
            Pattern::RandomRead(n) => format!("random_read_{n}"),
            Pattern::RandomWrite(n) => format!("random_write_{n}"),
            Pattern::Commit(n) => format!("commit_{n}"),
            Pattern::CommitFsync => "commit_fsync_1".to_owned(),
            Pattern::Doublewrite => "doublewrite".to_owned(),
            Pattern::SmallFiles => "small_files".to_owned(),
            Pattern::Mixed => "mixed".to_owned(),
        }
    }

    /// What is counted in a second: the unit of its rate.
    pub fn unit(self) -> &'static str {
        match self {
            Pattern::Append | Pattern::Preallocated | Pattern::Rewrite | Pattern::Read => "B/s",
            Pattern::RandomRead(_) | Pattern::RandomWrite(_) | Pattern::Doublewrite => "pages/s",
            Pattern::Commit(_) | Pattern::CommitFsync => "commits/s",
            Pattern::SmallFiles => "files/s",
            Pattern::Mixed => "new-orders/s",
        }
    }

    /// What a latency is of.
    pub fn operation(self) -> &'static str {
        match self {
            Pattern::Append | Pattern::Preallocated | Pattern::Rewrite | Pattern::Read => {
                "block of 1 MiB"
            }
            Pattern::RandomRead(_) | Pattern::RandomWrite(_) => "page",
            Pattern::Commit(_) | Pattern::CommitFsync | Pattern::Mixed => "commit",
            Pattern::Doublewrite => "batch",
            Pattern::SmallFiles => "file",
        }
    }

    /// Whether it reads or writes the large file.
    pub fn needs_data(self) -> bool {
        !matches!(
            self,
            Pattern::Append
                | Pattern::Preallocated
                | Pattern::Commit(_)
                | Pattern::CommitFsync
                | Pattern::SmallFiles
        )
    }

    /// Whether it makes a second file of that size.
    pub fn needs_new(self) -> bool {
        matches!(self, Pattern::Append | Pattern::Preallocated)
    }

    /// Whether it writes a log.
    pub fn needs_log(self) -> bool {
        matches!(
            self,
            Pattern::Commit(_) | Pattern::CommitFsync | Pattern::Mixed
        )
    }

    /// Whether it writes a doublewrite file.
    pub fn needs_doublewrite(self) -> bool {
        matches!(self, Pattern::Doublewrite | Pattern::Mixed)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Append => f.write_str("sequential write, new file"),
            Pattern::Preallocated => f.write_str("sequential write, preallocated"),
            Pattern::Rewrite => f.write_str("sequential rewrite"),
            Pattern::Read => f.write_str("sequential read"),
            Pattern::RandomRead(n) => write!(f, "random read, queue depth {n}"),
            Pattern::RandomWrite(n) => write!(f, "random write, queue depth {n}"),
            Pattern::Commit(1) => f.write_str("commit, 1 session"),
            Pattern::Commit(n) => write!(f, "commit, {n} sessions"),
            Pattern::CommitFsync => f.write_str("commit, 1 session, fsync"),
            Pattern::Doublewrite => f.write_str("doublewrite"),
            Pattern::SmallFiles => f.write_str("small files"),
            Pattern::Mixed => f.write_str("mixed as TPC-C"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_groups_are_complete() {
        let all = Pattern::all();
        let keys: BTreeSet<String> = all.iter().map(|p| p.key()).collect();
        let names: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!((keys.len(), names.len()), (all.len(), all.len()));
        let groups: BTreeSet<&str> = all.iter().map(|p| p.group()).collect();
        assert_eq!(groups, Pattern::GROUPS.into_iter().collect());
    }
}

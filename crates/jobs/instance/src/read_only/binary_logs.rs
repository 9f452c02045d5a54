//! The binary logs of a data directory, by their index: where a server goes on, and which of them recovery asks.
//!
//! Which transactions that were prepared are committed stands in the binary log: for MySQL in the last file; for MariaDB in
//! those from the one on that the last checkpoint in it names (`Binlog_checkpoint`).

use base::Result;
use binlog::kind;
use run::state::storage;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What an index lists.
#[derive(Clone, Debug)]
pub(super) struct BinaryLogs {
    /// The index.
    pub index: PathBuf,
    /// The files, the oldest first.
    files: Vec<PathBuf>,
}

impl BinaryLogs {
    /// Those of a data directory; `None` if no index is in it: there are none, or they are elsewhere.
    pub fn of(datadir: &Path) -> Result<Option<BinaryLogs>> {
        let unread = |e: &std::io::Error| storage("read", datadir, e);
        for entry in fs::read_dir(datadir).map_err(|e| unread(&e))? {
            let path = entry.map_err(|e| unread(&e))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Those of relay logs are called so on both, unless somebody names them otherwise.
            let relay = ["relay-bin", "relay-log", "relay_log"]
                .iter()
                .any(|r| name.contains(r));
            if name.ends_with(".index") && !relay {
                return Self::listed_in(&path, datadir).map(Some);
            }
        }
        Ok(None)
    }

    /// Those that an index lists: absolute, or as the server sees them from its data directory.
    pub fn listed_in(index: &Path, datadir: &Path) -> Result<BinaryLogs> {
        let list = fs::read_to_string(index).map_err(|e| storage("read", index, &e))?;
        let beside = index.parent().unwrap_or(datadir);
        let place = |line: &str| {
            let listed = datadir.join(line);
            // The index may have been copied with its logs: the server may still write to those that it lists.
            let copied = beside.join(listed.file_name().unwrap_or_default());
            match copied.exists() {
                true => copied,
                false => listed,
            }
        };
        let files = list.lines().map(str::trim).filter(|l| !l.is_empty());
        Ok(BinaryLogs {
            index: index.to_owned(),
            files: files.map(place).collect(),
        })
    }

    /// The name of the last one, and its size.
    pub fn end(&self) -> Result<Option<(String, u64)>> {
        let Some(last) = self.files.last() else {
            return Ok(None);
        };
        let meta = fs::metadata(last).map_err(|e| storage("read", last, &e))?;
        Ok(Some((
            name(last).to_string_lossy().into_owned(),
            meta.len(),
        )))
    }

    /// What they are called.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let text = |f: &PathBuf| name(f).to_string_lossy().into_owned();
        self.files.iter().map(text)
    }

    /// Whether a server asks them when it recovers: it does not where the last one was closed.
    pub fn are_asked(&self) -> bool {
        let last = self.files.last();
        last.is_some_and(|log| binlog::file::is_in_use(log).unwrap_or(false))
    }

    /// How many bytes of those that recovery reads are on other devices than this one.
    pub fn bytes_elsewhere(&self, mariadb: bool, device: u64) -> Result<u64> {
        let mut bytes = 0;
        for log in self.for_recovery(mariadb)? {
            let meta = fs::metadata(log).map_err(|e| storage("read", log, &e))?;
            if meta.dev() != device {
                bytes += meta.len();
            }
        }
        Ok(bytes)
    }

    /// Those that recovery reads.
    pub fn for_recovery(&self, mariadb: bool) -> Result<&[PathBuf]> {
        let Some(last) = self.files.last() else {
            return Ok(&[]);
        };
        let from = match mariadb {
            true => match checkpoint(last)? {
                Checkpoint::At(first) => self.files.iter().position(|f| name(f) == first),
                Checkpoint::Unknown => Some(0),
            },
            false => None,
        };
        Ok(&self.files[from.unwrap_or(self.files.len() - 1)..])
    }
}

/// Whether the binary log in a data directory was not closed: its server was killed.
pub fn has_open_binary_log(datadir: &Path) -> Result<bool> {
    Ok(BinaryLogs::of(datadir)?.is_some_and(|logs| logs.are_asked()))
}

pub(super) fn name(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

/// Which log recovery begins with.
enum Checkpoint {
    At(OsString),
    /// The log does not say it to us: it is encrypted.
    Unknown,
}

/// The last checkpoint in a log of MariaDB. A log ends where the server was killed.
fn checkpoint(log: &Path) -> Result<Checkpoint> {
    let unread = |e: &std::io::Error| storage("read", log, e);
    let file = File::open(log).map_err(|e| unread(&e))?;
    let mut found = Checkpoint::At(name(log));
    let mut events = match binlog::file::File::open(BufReader::with_capacity(1 << 20, file)) {
        Ok(events) => events,
        Err(binlog::Error::Io(e)) => return Err(unread(&e)),
        Err(binlog::Error::Encrypted) => return Ok(Checkpoint::Unknown),
        Err(_) => return Ok(found),
    };
    loop {
        match events.next() {
            Ok(Some((_, event))) if event.header.kind == kind::START_ENCRYPTION => {
                return Ok(Checkpoint::Unknown);
            }
            Ok(Some((_, event))) if event.header.kind == kind::BINLOG_CHECKPOINT => {
                // The length of the name, and the name.
                let text = event.body().get(4..).unwrap_or_default();
                found = Checkpoint::At(OsStr::from_bytes(text).to_owned());
            }
            Ok(Some(_)) => {}
            Err(binlog::Error::Io(e)) => return Err(unread(&e)),
            Ok(None) | Err(_) => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of nothing but its first header, with these flags.
    fn log(path: &Path, flags: u8) {
        let mut bytes = b"\xfebin".to_vec();
        bytes.extend([
            0, 0, 0, 0, 15, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, flags, 0,
        ]);
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn only_a_log_that_was_not_closed_is_asked() {
        let data = tempfile::tempdir().unwrap();
        let at = |name: &str| data.path().join(name);
        assert!(BinaryLogs::of(data.path()).unwrap().is_none());
        fs::write(at("binlog.index"), "./binlog.000001\n./binlog.000002\n").unwrap();
        log(&at("binlog.000001"), 0);
        log(&at("binlog.000002"), 1);
        // The logs of a replica are closed by nobody.
        fs::write(at("host-relay-bin.index"), "./host-relay-bin.000001\n").unwrap();
        log(&at("host-relay-bin.000001"), 1);
        assert!(has_open_binary_log(data.path()).unwrap());
        log(&at("binlog.000002"), 0);
        assert!(!has_open_binary_log(data.path()).unwrap());
    }

    #[test]
    fn logs_beside_the_index_are_those_that_were_copied_with_it() {
        let (data, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let original = data.path().join("b.000001");
        log(&original, 1);
        let index = away.path().join("b.index");
        fs::write(&index, format!("{}\n", original.display())).unwrap();
        let listed = || BinaryLogs::listed_in(&index, data.path()).unwrap();
        assert_eq!(listed().for_recovery(false).unwrap(), [original]);
        let copied = away.path().join("b.000001");
        log(&copied, 1);
        assert_eq!(listed().for_recovery(true).unwrap(), [copied]);
    }
}

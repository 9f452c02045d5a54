//! The temporary server's own data directory: links to InnoDB's files, copies of the rest.

use super::binary_logs::{self, BinaryLogs};
use super::original::Original;
use base::Result;
use run::Run;
use run::file_system::FileSystem;
use run::state::storage;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, lchown, symlink};
use std::path::Path;

/// Bytes that are copied before it is looked whether the run has ended.
const PIECE: u64 = 256 << 20;

/// What is done with an entry of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treat {
    /// A server that only reads opens it for reading only.
    Link,
    /// As it is.
    Copy,
    /// An empty directory, or an empty file.
    Empty,
    /// Not needed.
    LeaveOut,
}

impl Treat {
    /// How often a file is copied when a copy is recovered and then read: what the server that reads has links to, once.
    fn copies(self) -> u64 {
        match self {
            Treat::Link => 1,
            Treat::Copy => 2,
            Treat::Empty | Treat::LeaveOut => 0,
        }
    }
}

/// By name, at the top of a data directory. `logs` are the binary logs and relay logs.
fn at_top(name: &str, is_directory: bool, logs: &[String]) -> Treat {
    let begins = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    let ends = |list: &[&str]| list.iter().any(|p| name.ends_with(p));
    if name == "#innodb_temp" {
        Treat::Empty
    } else if name == "#innodb_redo" {
        Treat::Link
    } else if begins(&["#", ".", "lost+found", "ibtmp", "ib_buffer_pool", "tc.log"])
        || logs.iter().any(|l| l == name)
        || !is_directory
            && ends(&[
                ".pid", ".err", ".log", ".index", ".pem", ".lock", ".state", ".info", ".cnf~",
            ])
    {
        Treat::LeaveOut
    } else if !is_directory
        && (begins(&["ibdata", "ib_logfile", "undo"]) || ends(&[".ibd", ".ibu"]))
    {
        Treat::Link
    } else {
        Treat::Copy
    }
}

/// What recovery needs besides: pages that were written twice, and the list of prepared transactions.
fn is_for_recovery(name: &str) -> bool {
    name.starts_with("#ib_") || name == "tc.log"
}

/// By name, in the directory of a schema.
fn in_schema(schema: &str, name: &str) -> Treat {
    if name.ends_with(".ibd") {
        Treat::Link
    } else if schema == "mysql" && name.ends_with(".CSV") {
        // The logs of statements: nobody reads them here, and they may be large.
        Treat::Empty
    } else {
        Treat::Copy
    }
}

/// Makes the directory `to` for a server that runs as `user` and only reads. Returns how many bytes were copied.
pub(super) fn create(run: &Run, original: &Original, to: &Path, user: Option<u32>) -> Result<u64> {
    make(run, original, to, user, false, None)
}

fn make(
    run: &Run,
    original: &Original,
    to: &Path,
    user: Option<u32>,
    recovers: bool,
    binary_logs: Option<&BinaryLogs>,
) -> Result<u64> {
    let from = original.path();
    let logs = logs(from, binary_logs)?;
    let mut made = Maker {
        run,
        user,
        links: !recovers,
        bytes: 0,
    };
    made.directory(to)?;
    for (name, path, is_directory) in entries(from)? {
        let there = to.join(&name);
        let shown = name.to_string_lossy();
        let needed = recovers && is_for_recovery(&shown);
        match at_top(&shown, is_directory, &logs) {
            Treat::LeaveOut if !needed => {}
            Treat::Link if made.links => made.link(&path, &there)?,
            Treat::Empty => made.directory(&there)?,
            _ if is_directory => made.schema(&shown, &path, &there)?,
            _ => made.copy(&path, &there)?,
        }
    }
    Ok(made.bytes)
}

/// Names of the files that indexes of logs list: those in the data directory, and that of the binary logs.
fn logs(datadir: &Path, binary_logs: Option<&BinaryLogs>) -> Result<Vec<String>> {
    let listed = listed_logs(datadir).map_err(|e| storage("read", datadir, &e))?;
    let named = binary_logs.into_iter().flat_map(BinaryLogs::names);
    Ok(listed.into_iter().chain(named).collect())
}

fn listed_logs(datadir: &Path) -> io::Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(datadir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "index") && path.is_file() {
            for line in io::BufReader::new(File::open(&path)?).lines() {
                let line = line?;
                let name = Path::new(&line).file_name().unwrap_or_default();
                all.push(name.to_string_lossy().into_owned());
            }
        }
    }
    Ok(all)
}

/// Files and directories, without sockets and pipes: name, path, whether it is a directory.
fn entries(directory: &Path) -> Result<Vec<(std::ffi::OsString, std::path::PathBuf, bool)>> {
    let unread = |e: &io::Error| storage("read", directory, e);
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).map_err(|e| unread(&e))? {
        let entry = entry.map_err(|e| unread(&e))?;
        let path = entry.path();
        // Through links: a schema or a file may lie on another disk.
        let meta = fs::metadata(&path).map_err(|e| storage("read", &path, &e))?;
        let kind = meta.file_type();
        if !kind.is_socket() && !kind.is_fifo() {
            all.push((entry.file_name(), path, meta.is_dir()));
        }
    }
    all.sort();
    Ok(all)
}

struct Maker<'a> {
    run: &'a Run,
    user: Option<u32>,
    /// Whether InnoDB's files are links.
    links: bool,
    bytes: u64,
}

impl Maker<'_> {
    fn own(&self, path: &Path) -> Result<()> {
        match self.user {
            Some(uid) => lchown(path, Some(uid), None).map_err(|e| storage("create", path, &e)),
            None => Ok(()),
        }
    }

    fn directory(&self, path: &Path) -> Result<()> {
        let made = DirBuilder::new().mode(0o700).create(path);
        made.map_err(|e| storage("create", path, &e))?;
        self.own(path)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        symlink(from, to).map_err(|e| storage("create", to, &e))?;
        self.own(to)
    }

    /// The file system may share the blocks: then it costs nothing.
    fn copy(&mut self, from: &Path, to: &Path) -> Result<()> {
        let failed = |e: io::Error| storage("create", to, &e);
        let mut source = File::open(from).map_err(|e| storage("read", from, &e))?;
        let mut copy = File::create_new(to).map_err(failed)?;
        let mode = source.metadata().map_err(failed)?.permissions();
        copy.set_permissions(mode).map_err(failed)?;
        loop {
            self.run.check()?;
            // The kernel moves them, or shares them.
            let n = io::copy(&mut (&mut source).take(PIECE), &mut copy).map_err(failed)?;
            self.bytes += n;
            if n == 0 {
                return self.own(to);
            }
        }
    }

    fn schema(&mut self, schema: &str, from: &Path, to: &Path) -> Result<()> {
        self.directory(to)?;
        for (name, path, is_directory) in entries(from)? {
            let there = to.join(&name);
            let shown = name.to_string_lossy();
            match in_schema(schema, &shown) {
                // No server has directories here; whatever it is, it is not needed.
                _ if is_directory => {}
                Treat::Link if self.links => self.link(&path, &there)?,
                Treat::Empty => {
                    File::create_new(&there).map_err(|e| storage("create", &there, &e))?;
                    self.own(&there)?;
                }
                _ => self.copy(&path, &there)?,
            }
        }
        Ok(())
    }
}

/// How many bytes [`copy_all`] and [`create`] after it will write where no blocks are shared. Holes are written as zeros.
pub(super) fn bytes_of_copies(
    original: &Original,
    binary_logs: Option<&BinaryLogs>,
) -> Result<u64> {
    let from = original.path();
    let logs = logs(from, binary_logs)?;
    let size = |path: &Path| {
        let meta = fs::metadata(path).map_err(|e| storage("read", path, &e))?;
        Ok(meta.len())
    };
    let mut bytes = 0;
    for (name, path, is_directory) in entries(from)? {
        let shown = name.to_string_lossy();
        let treat = match at_top(&shown, is_directory, &logs) {
            Treat::LeaveOut if is_for_recovery(&shown) => Treat::Link,
            treat => treat,
        };
        if !is_directory {
            bytes += size(&path)? * treat.copies();
            continue;
        }
        for (name, path, is_directory) in entries(&path)? {
            // What is in the redo log's directory is copied once, as its files are.
            let treat = match treat {
                Treat::Copy => in_schema(&shown, &name.to_string_lossy()),
                treat => treat,
            };
            if !is_directory {
                bytes += size(&path)? * treat.copies();
            }
        }
    }
    if let Some(logs) = binary_logs {
        for log in logs.for_recovery(original.is_mariadb())? {
            bytes += size(log)?;
        }
    }
    Ok(bytes)
}

/// Whether a copy of InnoDB's files in that directory shares their blocks, or may.
pub(super) fn shares_blocks(original: &Original, directory: &Path) -> bool {
    let all = entries(original.path()).unwrap_or_default();
    let linked =
        |name: &std::ffi::OsStr| at_top(&name.to_string_lossy(), false, &[]) == Treat::Link;
    let file = all
        .iter()
        .find(|(name, _, is_directory)| !is_directory && linked(name));
    let Some((_, file, _)) = file else {
        return false;
    };
    let trial = directory.join("clone");
    let mut private = File::options();
    private.write(true).create_new(true).mode(0o600);
    let cloned = File::open(file).and_then(|from| {
        let to = private.open(&trial)?;
        rustix::fs::ioctl_ficlone(&to, &from).map_err(io::Error::from)
    });
    let _ = fs::remove_file(&trial);
    match cloned {
        Ok(()) => true,
        // Kernels before 5.18 refuse this between two mounts of one btrfs, and share blocks in a copy.
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
            let is_btrfs = |path| FileSystem::at(path).is_ok_and(|f| f.kind == "btrfs");
            is_btrfs(original.path()) && is_btrfs(directory)
        }
        Err(_) => false,
    }
}

/// Copies all of a data directory, for a server that will recover it. Of the binary logs it gets those that recovery asks:
/// which transactions that were prepared are to be committed stands there.
pub(super) fn copy_all(
    run: &Run,
    original: &Original,
    to: &Path,
    user: Option<u32>,
    binary_logs: Option<&BinaryLogs>,
) -> Result<u64> {
    let bytes = make(run, original, to, user, true, binary_logs)?;
    let mut made = Maker {
        run,
        user,
        links: false,
        bytes,
    };
    let Some(logs) = binary_logs else {
        return Ok(made.bytes);
    };
    let mut list = Vec::new();
    for log in logs.for_recovery(original.is_mariadb())? {
        let name = binary_logs::name(log);
        made.copy(log, &to.join(&name))?;
        list.extend([b"./", name.as_bytes(), b"\n"].concat());
    }
    let index = to.join(binary_logs::name(&logs.index));
    fs::write(&index, list).map_err(|e| storage("create", &index, &e))?;
    made.own(&index)?;
    Ok(made.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innodb_is_linked_logs_stay_and_the_rest_is_copied() {
        let logs = ["binlog.000007".to_owned()];
        let top = |name: &str, directory: bool| at_top(name, directory, &logs);
        for name in [
            "ibdata1",
            "ibdata2",
            "undo_001",
            "undo001",
            "ib_logfile0",
            "mysql.ibd",
            "ts.ibd",
            "more.ibu",
        ] {
            assert_eq!(top(name, false), Treat::Link, "{name}");
        }
        for name in [
            "binlog.000007",
            "binlog.index",
            "ib_buffer_pool",
            "ibtmp1",
            "x.pid",
            "x.err",
            "#ib_16384_0.dblwr",
            ".penstock-load",
        ] {
            assert_eq!(top(name, false), Treat::LeaveOut, "{name}");
        }
        assert_eq!(top("#innodb_temp", true), Treat::Empty);
        assert_eq!(top("#innodb_redo", true), Treat::Link);
        for name in ["shop", "undo", "a.err", "ibdata_of_us"] {
            assert_eq!(top(name, true), Treat::Copy, "{name}");
        }
        for name in ["aria_log_control", "aria_log.00000001", "auto.cnf"] {
            assert_eq!(top(name, false), Treat::Copy, "{name}");
        }
        assert_eq!(in_schema("shop", "t.ibd"), Treat::Link);
        assert_eq!(in_schema("shop", "t.CSV"), Treat::Copy);
        assert_eq!(in_schema("mysql", "general_log.CSV"), Treat::Empty);
        assert_eq!(in_schema("mysql", "general_log.CSM"), Treat::Copy);
    }
}

//! The files of a data directory: which belong to a snapshot, and when each of them may be cloned.
//!
//! Invariants: nothing is opened for writing; a part of the data that lies elsewhere is refused by name, never passed
//! over. What is left out is what a server makes again (temporary tablespaces), what belongs to this one server alone
//! (its UUID, sockets, logs for people, the state of a replica in files), and binary and relay logs: no transaction is
//! prepared and not committed in a snapshot, so recovery asks none of them.

use base::units::printable;
use base::{Error, Kind, Result};
use innodb::redo::MYSQL_DIRECTORY;
use run::state::storage;
use server::Identity;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file is to a snapshot that clones one file after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A tablespace of InnoDB: the redo log says what changed since it was cloned.
    Data,
    /// The redo log.
    Redo,
    /// A definition: constant while changes of definitions are kept out.
    Definition,
    /// Anything else: constant while commits are kept out.
    Rest,
}

/// A file of the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFile {
    /// Relative to the data directory, parts separated by `/`.
    pub(crate) path: String,
    pub(crate) class: Class,
    pub(crate) inode: u64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<DataFile>,
    pub(crate) directories: Vec<String>,
}

/// Which files are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// Files of these paths.
    skipped: BTreeSet<PathBuf>,
    /// Logs: files of these paths with a number behind.
    series: Vec<PathBuf>,
    /// The files of InnoDB's system tablespace.
    system: Vec<String>,
    /// What is left out, in words.
    pub(crate) words: Vec<String>,
}

/// Names that are left out wherever the server is.
const OWN: [&str; 10] = [
    // MariaDB's BACKUP STAGE writes it, for the tool that has locked.
    "ddl.log",
    "auto.cnf",
    "ibtmp1",
    "#innodb_temp",
    "master.info",
    "relay-log.info",
    "multi-master.info",
    "lost+found",
    // The snapshots of a dataset of ZFS, where they are visible.
    ".zfs",
    // Those that snapper takes of a subvolume.
    ".snapshots",
];

impl Rules {
    /// For a server that runs; `root` is its data directory without links, which its variables may name by one.
    pub(crate) fn of(id: &Identity, root: &Path) -> Rules {
        let mut rules = Rules::of_files();
        let path = |name: &str| {
            let value = Path::new(id.variable(name).filter(|v| !v.is_empty())?);
            let below = value.strip_prefix(&id.datadir).unwrap_or(value);
            Some(root.join(below))
        };
        let single = [
            "pid_file",
            "socket",
            "log_error",
            "general_log_file",
            "slow_query_log_file",
            "log_bin_index",
            "relay_log_index",
        ];
        rules
            .skipped
            .extend(single.iter().filter_map(|name| path(name)));
        rules.series.extend(
            ["log_bin_basename", "relay_log_basename"]
                .iter()
                .filter_map(|n| path(n)),
        );
        if let Some(list) = id.variable("innodb_data_file_path") {
            let names = list.split(';').filter_map(|f| f.split(':').next());
            rules.system = names.map(|n| n.trim().to_owned()).collect();
        }
        rules
    }

    /// For files of a server that cannot be asked.
    pub(crate) fn of_files() -> Rules {
        Rules {
            words: [
                "binary logs and relay logs",
                "error, general and slow query logs",
                "temporary tablespaces",
                "auto.cnf, and the state of a replica that is kept in files (master.info, relay-log.info)",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Rules::default()
        }
    }

    /// Binary logs of a server that cannot be asked: every series that an index in its data directory lists.
    pub(crate) fn with_logs(mut self, series: impl IntoIterator<Item = PathBuf>) -> Rules {
        for base in series {
            let mut index = base.clone().into_os_string();
            index.push(".index");
            self.skipped.insert(index.into());
            self.series.push(base);
        }
        self
    }

    /// The same for a copy of the files at another place.
    pub(crate) fn moved(&self, from: &Path, to: &Path) -> Rules {
        let moved = |p: &PathBuf| {
            p.strip_prefix(from)
                .map_or_else(|_| p.clone(), |below| to.join(below))
        };
        Rules {
            skipped: self.skipped.iter().map(moved).collect(),
            series: self.series.iter().map(moved).collect(),
            ..self.clone()
        }
    }

    /// Whether what is mounted at `point` would be missed: it lies below the data directory, in nothing that is left out. `sees`: where
    /// a path of the server's is for us.
    pub(crate) fn misses(
        &self,
        datadir: &Path,
        point: &Path,
        sees: impl Fn(&Path) -> PathBuf,
    ) -> bool {
        let Ok(below) = point.strip_prefix(datadir) else {
            return false;
        };
        let mut at = datadir.to_owned();
        for (depth, name) in below.components().enumerate() {
            at.push(name);
            let name = name.as_os_str().to_string_lossy();
            if self.leaves_out(&at, &name, depth == 0) || self.has_logs_alone(&at, &sees(&at)) {
                return false;
            }
        }
        at != datadir
    }

    /// Whether there is nothing but binary logs or relay logs in a directory, which is seen at another path.
    fn has_logs_alone(&self, directory: &Path, seen: &Path) -> bool {
        let bases: Vec<&str> = (self.series.iter())
            .filter(|base| base.parent() == Some(directory))
            .filter_map(|base| base.file_name()?.to_str())
            .collect();
        let is_of_logs = |name: &str| {
            let numbered = |n: &str| n.bytes().all(|b| b.is_ascii_digit() || b == b'~');
            let rest = |base: &&str| name.strip_prefix(*base)?.strip_prefix('.');
            let mut rest = bases.iter().filter_map(rest);
            name == "lost+found" || rest.any(|r| numbered(r) || ["index", "state"].contains(&r))
        };
        // An empty one has no log of a server that runs: what is mounted there for it is not seen.
        let names = fs::read_dir(seen).into_iter().flatten().flatten();
        let names: Vec<_> = names.map(|e| e.file_name()).collect();
        let all_are = names.iter().all(|n| n.to_str().is_some_and(is_of_logs));
        !bases.is_empty() && !names.is_empty() && all_are
    }

    fn leaves_out(&self, full: &Path, name: &str, top: bool) -> bool {
        let ours = name.starts_with(".penstock-") || name.starts_with("penstock-snapshot-");
        let replica = |prefix: &str| name.starts_with(prefix) && name.ends_with(".info");
        let ending = [".pid", ".sock", ".sock.lock", ".err"];
        let own = top
            && (OWN.contains(&name)
                || ours
                || replica("master-")
                || replica("relay-log-")
                || ending.iter().any(|e| name.ends_with(e)));
        let in_series = self.series.iter().any(|base| {
            full.parent() == base.parent()
                && base
                    .file_name()
                    .and_then(|b| name.strip_prefix(b.to_str()?)?.strip_prefix('.'))
                    .is_some_and(|n| {
                        !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit() || b == b'~')
                    })
        });
        own || in_series || self.skipped.contains(full)
    }

    fn class(&self, path: &str) -> Class {
        let name = path.rsplit('/').next().unwrap_or(path);
        let top = !path.contains('/');
        let is = |ending: &[&str]| ending.iter().any(|e| name.ends_with(e));
        if path.starts_with(MYSQL_DIRECTORY) || top && name.starts_with("ib_logfile") {
            Class::Redo
        } else if is(&[".ibd", ".ibu", ".dblwr", ".bdblwr"])
            || top && (name.starts_with("ibdata") || name.starts_with("undo"))
            || top && self.system.iter().any(|s| s == name)
        {
            Class::Data
        } else if is(&[".frm", ".par", ".opt", ".TRG", ".TRN", ".sdi"]) {
            Class::Definition
        } else {
            Class::Rest
        }
    }

    /// Lists a data directory. A link in it is refused: what it leads to is somewhere else.
    pub(crate) fn list(&self, root: &Path) -> Result<Listing> {
        let mut found = Listing::default();
        let device = fs::metadata(root).map_err(|e| unreadable(root, &e))?.dev();
        let mut below = vec![String::new()];
        while let Some(directory) = below.pop() {
            let full = root.join(&directory);
            let entries = match fs::read_dir(&full) {
                Ok(entries) => entries,
                // A schema that was dropped since its parent was read.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound && !directory.is_empty() => {
                    continue;
                }
                Err(e) => return Err(unreadable(&full, &e)),
            };
            for entry in entries {
                let entry = entry.map_err(|e| unreadable(&full, &e))?;
                let at = entry.path();
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    return Err(elsewhere(&at, "its name is not UTF-8"));
                };
                if self.leaves_out(&at, &name, directory.is_empty()) {
                    continue;
                }
                let meta = match entry.metadata() {
                    Ok(meta) => meta,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(e) => return Err(unreadable(&at, &e)),
                };
                let path = match directory.is_empty() {
                    true => name,
                    false => format!("{directory}/{name}"),
                };
                if path.contains('\\') {
                    return Err(elsewhere(&at, "its name has a backslash"));
                }
                if meta.is_symlink() {
                    return Err(elsewhere(&at, "it is a link to files elsewhere"));
                } else if meta.dev() != device && meta.is_dir() && self.has_logs_alone(&at, &at) {
                    // On a disk of their own; the server wants the directory.
                    found.directories.push(path);
                } else if meta.dev() != device {
                    return Err(elsewhere(&at, "it is on another file system or subvolume"));
                } else if meta.is_dir() {
                    found.directories.push(path.clone());
                    below.push(path);
                } else if meta.is_file()
                    && !(path.starts_with(MYSQL_DIRECTORY) && path.ends_with("_tmp"))
                {
                    if path.ends_with(".isl") {
                        return Err(elsewhere(
                            &at,
                            "a tablespace lies outside of the data directory",
                        ));
                    }
                    let (class, inode) = (self.class(&path), meta.ino());
                    found.files.push(DataFile { path, class, inode });
                }
            }
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.directories.sort();
        Ok(found)
    }
}

/// The error of a part that a snapshot would not have.
pub(crate) fn elsewhere(path: &Path, why: &str) -> Error {
    let what = format!("{} cannot be part of a snapshot: {why}", path.display());
    Error::new(Kind::Target, printable(&what))
        .hint("a snapshot holds one data directory on one file system: use penstock dump, or --method clone (MySQL) or copy (MariaDB), which ask the server for its files")
}

fn unreadable(path: &Path, e: &std::io::Error) -> Error {
    let error = storage("read", path, e);
    match e.kind() {
        std::io::ErrorKind::PermissionDenied => {
            error.hint("run penstock as root, or as the account that the server runs as")
        }
        _ => error,
    }
}

/// Refuses a server with data outside of its data directory.
pub(crate) fn all_inside(id: &Identity, outside: &[String]) -> Result<()> {
    let root = Path::new(&id.datadir);
    for name in [
        "innodb_data_home_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "innodb_doublewrite_dir",
        "aria_log_dir_path",
    ] {
        let Some(value) = id.variable(name).filter(|v| !v.is_empty()) else {
            continue;
        };
        let same = |p: &Path| p == root || fs::canonicalize(p).ok() == fs::canonicalize(root).ok();
        if !same(&root.join(value)) {
            return Err(elsewhere(
                &root.join(value),
                &format!("{name} names another directory than datadir"),
            ));
        }
    }
    match outside.first() {
        Some(file) => Err(elsewhere(
            Path::new(file),
            "the server has a tablespace there, outside of its data directory",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let rules = Rules {
            system: vec!["sys1".into()],
            ..Rules::default()
        };
        for (path, class) in [
            ("a/t.ibd", Class::Data),
            ("mysql.ibd", Class::Data),
            ("undo_001", Class::Data),
            ("sys1", Class::Data),
            ("#ib_16384_0.dblwr", Class::Data),
            ("#innodb_redo/#ib_redo5", Class::Redo),
            ("ib_logfile0", Class::Redo),
            ("a/t.frm", Class::Definition),
            ("a/db.opt", Class::Definition),
            ("a/t.MYD", Class::Rest),
            ("a/undo.MYD", Class::Rest),
            ("aria_log_control", Class::Rest),
        ] {
            assert_eq!(rules.class(path), class, "{path}");
        }
    }

    #[test]
    fn mounts_are_missed_where_data_is() {
        let dir = tempfile::tempdir().unwrap();
        let datadir = dir.path();
        let rules = Rules {
            series: ["logs/binlog", "shop/binlog", "empty/binlog"]
                .map(|base| datadir.join(base))
                .to_vec(),
            ..Rules::default()
        };
        for logs in ["logs", "shop", "empty"] {
            fs::create_dir(datadir.join(logs)).unwrap();
        }
        for name in ["binlog.000001", "binlog.index", "binlog.state"] {
            fs::write(datadir.join("logs").join(name), "").unwrap();
            fs::write(datadir.join("shop").join(name), "").unwrap();
        }
        // Rows beside the logs.
        fs::write(datadir.join("shop/t.ibd"), "").unwrap();
        for (point, missed) in [
            ("shop", true),
            ("empty", true),
            ("other", true),
            ("#innodb_redo", true),
            ("other/t.ibd", true),
            ("a/#innodb_temp", true),
            ("", false),
            ("..", false),
            ("#innodb_temp", false),
            ("logs", false),
            (".zfs/snapshot/daily", false),
            ("mysqld.pid", false),
        ] {
            let at = match point {
                ".." => datadir.parent().unwrap().to_owned(),
                _ => datadir.join(point).components().collect(),
            };
            let found = rules.misses(datadir, &at, Path::to_path_buf);
            assert_eq!(found, missed, "{point}");
        }
        // As the server sees it, and not as it looks from here.
        let seen = |_: &Path| datadir.join("logs");
        assert!(!rules.misses(datadir, &datadir.join("empty"), seen));
    }

    #[test]
    fn logs_and_what_belongs_to_one_server_are_left_out_and_links_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("a")).unwrap();
        for name in [
            "binlog.000001",
            "binlog.index",
            "binlog.txt",
            "auto.cnf",
            "a/auto.cnf",
            "x.pid",
            "master-c1.info",
            "ibdata1",
        ] {
            fs::write(root.join(name), name).unwrap();
        }
        let rules = Rules::of_files().with_logs([root.join("binlog")]);
        let found = rules.list(root).unwrap();
        let paths: Vec<&str> = found.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["a/auto.cnf", "binlog.txt", "ibdata1"]);
        assert_eq!(found.directories, ["a"]);
        std::os::unix::fs::symlink("/tmp", root.join("b")).unwrap();
        let e = rules.list(root).expect_err("a link");
        assert!(e.kind == Kind::Target && e.what.contains("/b"), "{e:?}");
    }
}

//! Which servers this machine can run, and how each is called.
//!
//! A binary named in the environment comes first, then what `./dev` put into the cache directory,
//! then what is installed. An [`Install`] is argument vectors only: nothing goes through a shell.

use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The servers that tests run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MySQL, the current LTS series.
    MySql,
    /// MariaDB, as Debian ships it.
    MariaDb,
    /// MariaDB of a later LTS series, for what depends on it.
    MariaDb118,
    /// MySQL 5.5: an old source, only ever read from.
    MySql55,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::MySql, Kind::MariaDb, Kind::MariaDb118, Kind::MySql55];

    /// The name used on command lines and for directories.
    pub fn name(self) -> &'static str {
        match self {
            Kind::MySql => "mysql",
            Kind::MariaDb => "mariadb",
            Kind::MariaDb118 => "mariadb118",
            Kind::MySql55 => "mysql55",
        }
    }

    /// The kind that stands for its flavour: whichever series current tests run against.
    pub fn flavour(self) -> Kind {
        match self {
            Kind::MySql | Kind::MySql55 => Kind::MySql,
            Kind::MariaDb | Kind::MariaDb118 => Kind::MariaDb,
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Result<Kind> {
        let found = Kind::ALL.into_iter().find(|k| k.name() == name);
        found.ok_or_else(|| {
            Error(format!(
                "no server kind {name:?}: mysql, mariadb, mariadb118 or mysql55"
            ))
        })
    }
}

/// The directory for what is worth keeping between runs: `PENSTOCK_CACHE`, else
/// `XDG_CACHE_HOME/penstock`, else `~/.cache/penstock`.
pub fn cache_directory() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    set("PENSTOCK_CACHE").unwrap_or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")));
        cache.unwrap_or_else(std::env::temp_dir).join("penstock")
    })
}

/// Whether a server of this kind can be started here. If not, the test is skipped: see
/// [`crate::skip`].
#[track_caller]
pub fn available(kind: Kind) -> bool {
    match Install::find(kind) {
        Ok(_) => true,
        Err(e) => {
            crate::skip(kind.name(), e);
            false
        }
    }
}

/// A server on this machine: how to call it, its clients and its set-up program.
#[derive(Clone, Debug)]
pub struct Install {
    /// Which server.
    pub kind: Kind,
    /// The server program and the arguments it needs because of where it is installed.
    pub server: Vec<OsString>,
    /// The server's own binary, to tell builds apart.
    pub binary: PathBuf,
    clients: Clients,
}

/// Where the stock clients of a server are, and what must come before their path.
#[derive(Clone, Debug)]
struct Clients {
    before: Vec<OsString>,
    directories: Vec<PathBuf>,
}

impl Install {
    /// Finds the server of this kind; the error says where it was looked for.
    pub fn find(kind: Kind) -> Result<Install> {
        match kind {
            Kind::MySql => Self::mysql(),
            Kind::MariaDb => Self::mariadb(),
            Kind::MariaDb118 => Self::mariadb118(),
            Kind::MySql55 => Self::mysql55(),
        }
    }

    fn mysql() -> Result<Install> {
        if let Some(binary) = named_binary("PENSTOCK_MYSQLD")? {
            return Ok(Self::plain(Kind::MySql, binary));
        }
        let root = cache_directory().join("mysql-sid");
        let binary = root.join("usr/sbin/mysqld");
        if binary.is_file() {
            return Self::debian_tree(Kind::MySql, &root, binary);
        }
        Err(Error(format!(
            "no MySQL server: PENSTOCK_MYSQLD is not set and {} does not exist (./dev servers up mysql fetches one)",
            binary.display()
        )))
    }

    fn mariadb() -> Result<Install> {
        if let Some(binary) = named_binary("PENSTOCK_MARIADBD")? {
            return Ok(Self::plain(Kind::MariaDb, binary));
        }
        match in_directories(&search_directories(), "mariadbd") {
            Some(binary) => Ok(Self::plain(Kind::MariaDb, binary)),
            None => Err(Error::new(
                "no MariaDB server: PENSTOCK_MARIADBD is not set and mariadbd is not on PATH (Debian's mariadb-server-core)",
            )),
        }
    }

    fn mariadb118() -> Result<Install> {
        if let Some(binary) = named_binary("PENSTOCK_MARIADBD118")? {
            return Ok(Self::plain(Kind::MariaDb118, binary));
        }
        // A script that calls it; the one that makes data directories is next to it.
        let binary = cache_directory().join("mariadb-11.8/mariadbd");
        if binary.is_file() {
            return Ok(Self::plain(Kind::MariaDb118, binary));
        }
        Err(Error(format!(
            "no MariaDB 11.8 server: PENSTOCK_MARIADBD118 is not set and {} does not exist (./dev servers up mariadb118 fetches one)",
            binary.display()
        )))
    }

    fn mysql55() -> Result<Install> {
        let root = cache_directory().join("mysql-5.5");
        let binary = root.join("mysqld");
        if !binary.is_file() {
            return Err(Error(format!(
                "no MySQL 5.5 server: {} does not exist (./dev servers up mysql55 fetches one)",
                binary.display()
            )));
        }
        let server = vec![
            binary.clone().into(),
            "--no-defaults".into(),
            option("--basedir=", &root),
            option("--lc-messages-dir=", root.join("share")),
            option("--character-sets-dir=", root.join("share/charsets")),
        ];
        // Its own client needs a terminal library that no longer exists, and MySQL 9's cannot log
        // in to it; MariaDB's can.
        let clients = Clients {
            before: Vec::new(),
            directories: search_directories(),
        };
        Ok(Install {
            kind: Kind::MySql55,
            server,
            binary,
            clients,
        })
    }

    /// A binary of this machine, with its clients next to it or on PATH.
    fn plain(kind: Kind, binary: PathBuf) -> Install {
        let mut directories = Vec::new();
        if let Some(here) = binary.parent() {
            directories.extend([
                here.to_path_buf(),
                here.join("../bin"),
                here.join("../scripts"),
            ]);
        }
        directories.extend(search_directories());
        Install {
            kind,
            server: vec![binary.clone().into(), "--no-defaults".into()],
            binary,
            clients: Clients {
                before: Vec::new(),
                directories,
            },
        }
    }

    /// A Debian package tree unpacked into a directory, made for a newer C library than this
    /// machine's: it runs with its own loader.
    fn debian_tree(kind: Kind, root: &Path, binary: PathBuf) -> Result<Install> {
        let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
        let lib = root.join("usr/lib").join(&triplet);
        let loader = std::fs::read_dir(&lib)
            .map_err(Error::doing(lib.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|p| {
                p.file_name()
                    .is_some_and(|n| n.as_encoded_bytes().starts_with(b"ld-linux-"))
            })
            .ok_or_else(|| Error(format!("no loader in {}", lib.display())))?;
        let mut path = lib.into_os_string();
        path.push(":");
        path.push(root.join("usr/lib/mysql/private"));
        let before = vec![loader.into(), "--library-path".into(), path];
        let mut server = before.clone();
        server.extend([
            binary.clone().into(),
            "--no-defaults".into(),
            option("--basedir=", root.join("usr")),
            option("--lc-messages-dir=", root.join("usr/share/mysql")),
            option("--plugin-dir=", root.join("usr/lib/mysql/plugin")),
        ]);
        let directories = vec![root.join("usr/bin")];
        Ok(Install {
            kind,
            server,
            binary,
            clients: Clients {
                before,
                directories,
            },
        })
    }

    /// One program that is the server, for tools that start servers themselves: its binary, or,
    /// where that needs a loader and arguments, a script of this name that calls it.
    pub fn one_program(&self, script: &Path) -> Result<PathBuf> {
        if self.server[0] == self.binary {
            return Ok(self.binary.clone());
        }
        let at = self.server.iter().position(|a| *a == *self.binary);
        let (before, after) = self.server.split_at(at.map_or(1, |at| at + 1));
        let quoted = |list: &[OsString]| -> String {
            let one = |a: &OsString| format!(" '{}'", a.to_string_lossy().replace('\'', r"'\''"));
            // Which option files it reads is the caller's choice, and has to come first.
            let list = list.iter().filter(|a| *a != "--no-defaults");
            list.map(one).collect()
        };
        let text = format!(
            "#!/bin/sh\nexec{} \"$@\"{}\n",
            quoted(before),
            quoted(after)
        );
        std::fs::write(script, text).map_err(Error::doing(script.display()))?;
        std::fs::set_permissions(script, Permissions::from_mode(0o755))?;
        Ok(script.to_owned())
    }

    /// How to call a stock program of this server. `role` is `client`, `dump`,
    /// `import`, `binlog` or `install-db`, or else a program's own name.
    pub fn program(&self, role: &str) -> Result<Vec<OsString>> {
        let names: &[&str] = match (self.kind, role) {
            (Kind::MariaDb | Kind::MariaDb118 | Kind::MySql55, "client") => &["mariadb", "mysql"],
            (Kind::MariaDb | Kind::MariaDb118 | Kind::MySql55, "dump") => {
                &["mariadb-dump", "mysqldump"]
            }
            (Kind::MariaDb | Kind::MariaDb118 | Kind::MySql55, "import") => {
                &["mariadb-import", "mysqlimport"]
            }
            (Kind::MariaDb | Kind::MariaDb118, "install-db") => {
                &["mariadb-install-db", "mysql_install_db"]
            }
            (Kind::MariaDb | Kind::MariaDb118, "binlog") => &["mariadb-binlog", "mysqlbinlog"],
            (Kind::MySql, "binlog") => &["mysqlbinlog"],
            (Kind::MySql, "client") => &["mysql"],
            (Kind::MySql, "dump") => &["mysqldump"],
            (Kind::MySql, "import") => &["mysqlimport"],
            _ => &[role],
        };
        let found = names
            .iter()
            .find_map(|name| in_directories(&self.clients.directories, name));
        let found = found
            .ok_or_else(|| Error(format!("no program {} for {}", names[0], self.kind.name())))?;
        let mut argv = self.clients.before.clone();
        argv.push(found.into());
        Ok(argv)
    }

    /// [`Install::program`] as a command that can take further arguments.
    pub fn command(&self, role: &str) -> Result<Command> {
        let argv = self.program(role)?;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]);
        Ok(command)
    }

    /// The version that the server binary prints.
    pub fn version(&self) -> Result<String> {
        let out = Command::new(&self.server[0])
            .args(&self.server[1..])
            .arg("--version")
            .output()
            .map_err(Error::doing(self.binary.display()))?;
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text
            .split_once("Ver ")
            .map_or(&*text, |(_, rest)| rest)
            .trim()
            .to_owned())
    }
}

/// `--name=` and a path as one argument.
pub(crate) fn option(name: &str, path: impl AsRef<OsStr>) -> OsString {
    let mut text = OsString::from(name);
    text.push(path);
    text
}

fn named_binary(variable: &str) -> Result<Option<PathBuf>> {
    match std::env::var_os(variable)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
    {
        Some(path) if !path.is_file() => Err(Error(format!(
            "{variable} names {}, which is not a file",
            path.display()
        ))),
        found => Ok(found),
    }
}

/// PATH, and the directories of servers that are not on a plain user's PATH.
fn search_directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<_> = std::env::split_paths(&path).collect();
    directories
        .extend(["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from));
    directories
}

fn in_directories(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    directories
        .iter()
        .map(|f| f.join(name))
        .find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_distinct_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Ok(kind));
        }
        assert!(Kind::named("oracle").is_err());
    }
}

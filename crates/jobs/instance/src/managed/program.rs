//! Which program is the server, and which one initializes its data directory. It is found by running
//! `--version`, never by its name alone.

use super::mysqld::Mysqld;
use base::units::printable;
use base::{Error, Kind, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where servers are installed besides the directories of PATH, which usually lacks these.
const DIRECTORIES: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
];

/// The names of the programs; `mariadb` says which server it must be, if that is known.
fn names(mariadb: Option<bool>) -> &'static [&'static str] {
    match mariadb {
        Some(true) => &["mariadbd", "mysqld"],
        Some(false) => &["mysqld"],
        None => &["mysqld", "mariadbd"],
    }
}

/// The program, and whether it is MariaDB's.
pub(crate) fn find(given: Option<&Path>, mariadb: Option<bool>) -> Result<(PathBuf, bool)> {
    let what = "--mysqld names the server's program: mysqld or mariadbd";
    if let Some(given) = given {
        // A name without a slash is searched for, as a shell does.
        let named = match given.components().count() {
            1 if !given.is_file() => given.to_str().and_then(on_path),
            _ => std::path::absolute(given).ok(),
        };
        let path = named.unwrap_or_else(|| given.to_owned());
        let is = is_mariadb(&path).map_err(|why| {
            error(format!("{} is not a server: {why}", path.display())).hint(what)
        })?;
        return Ok((path, is));
    }
    let mut seen = Vec::new();
    for name in names(mariadb) {
        let Some(path) = on_path(name) else {
            continue;
        };
        let Ok(is) = is_mariadb(&path) else {
            continue;
        };
        // Two names of one kind of server count once.
        if mariadb.is_none_or(|wanted| wanted == is) && !seen.iter().any(|(_, of)| *of == is) {
            seen.push((path, is));
        }
    }
    match (seen.pop(), seen.pop()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(error(
            "this host has programs of MySQL and of MariaDB, and the dump does not say which it is for".to_owned(),
        )
        .hint(what)),
        _ => {
            let of = match mariadb {
                Some(true) => "MariaDB, which the dump is from,",
                Some(false) => "MySQL, which the dump is from,",
                None => "a server",
            };
            Err(error(format!("no program of {of} was found on this host")).hint(what))
        }
    }
}

fn error(what: String) -> Error {
    Error::new(Kind::Usage, printable(&what))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(DIRECTORIES.map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|p| p.is_file())
}

/// Whether a server's program is MariaDB's; the error says why it is not a server.
fn is_mariadb(program: &Path) -> std::result::Result<bool, String> {
    let out = Command::new(program)
        .args(["--no-defaults", "--version"])
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let has_word = |what: &str| {
        text.to_ascii_lowercase()
            .split_whitespace()
            .any(|w| w == what)
    };
    if !out.status.success() || !has_word("ver") {
        let errors = String::from_utf8_lossy(&out.stderr);
        let first = errors.lines().next().unwrap_or_default();
        return Err(format!("--version prints {:?}{first}", text.trim()));
    }
    Ok(text.contains("MariaDB"))
}

/// The command that initializes a data directory of this path, relative to where it is run.
pub(super) fn initializer(server: &Mysqld, datadir: &Path) -> Result<Command> {
    if !server.mariadb {
        let mut command = Command::new(&server.program);
        command
            .args(server.first_arguments(datadir))
            .arg("--initialize-insecure")
            .args(server.more_arguments());
        return Ok(command);
    }
    const NAMES: [&str; 2] = ["mariadb-install-db", "mysql_install_db"];
    let directory = server.program.parent().unwrap_or(Path::new("/"));
    let beside = ["", "../bin", "../scripts"].map(|d| directory.join(d));
    let beside = NAMES
        .iter()
        .flat_map(|name| beside.iter().map(move |d| d.join(name)))
        .find(|p| p.is_file());
    let script = beside
        .or_else(|| NAMES.iter().find_map(|name| on_path(name)))
        .ok_or_else(|| {
            error(format!(
                "{}, which initializes a data directory of MariaDB, was not found on this host",
                NAMES[0]
            ))
            .hint("install it (Debian's mariadb-server-core has it), or add its directory to PATH")
        })?;
    let mut command = Command::new(script);
    command
        .args(server.first_arguments(datadir))
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        // Also on a host whose own name cannot be looked up: the server listens on a socket only.
        .arg("--force")
        .args(server.more_arguments());
    Ok(command)
}

//! The account that a managed instance runs as, and that its files belong to.
//!
//! A server that root starts needs an account (`--user`): the owner of the data directory. A data
//! directory that the load creates as root is given to the account `mysql`, which the servers' own
//! packages create. The account is looked up as the system does it (`getent`, which asks nsswitch: files,
//! LDAP, systemd-userdb), not in `/etc/passwd` alone. Invariant: an account that cannot be looked up is
//! an error, and one that does not exist is reported; neither is passed over in silence.

use base::units::printable;
use base::{Error, Kind, Result};
use run::Run;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;
use std::process::Command;

/// The account that the servers' packages create.
const NAME: &str = "mysql";

/// User and group of the account that a new data directory should belong to; `None` if that is the
/// account that runs us.
pub(super) fn of_new_datadir(run: &Run) -> Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let found = look_up(NAME).map_err(|why| {
        let text = format!("cannot look up the account {NAME}: {why}");
        Error::new(Kind::Target, printable(&text))
            .hint("create an empty data directory that belongs to the account of the server, and load into that")
    })?;
    if found.is_none() {
        run.observer.note(format!(
            "this host has no account {NAME}: the data directory belongs to root, and the temporary server instance runs as root"
        ));
    }
    Ok(found)
}

/// User and group of an account; `None` if it does not exist.
fn look_up(name: &str) -> std::result::Result<Option<(u32, u32)>, String> {
    /// The exit code of `getent` if the entry does not exist.
    const NOT_FOUND: i32 = 2;
    let text = match Command::new("getent").args(["passwd", name]).output() {
        Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).into_owned(),
        Ok(out) if out.status.code() == Some(NOT_FOUND) => return Ok(None),
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr);
            return Err(format!("getent: {}: {}", out.status, said.trim()));
        }
        // A system without getent has no other source of accounts than this file.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            fs::read_to_string("/etc/passwd").map_err(|e| format!("/etc/passwd: {e}"))?
        }
        Err(e) => return Err(format!("getent: {e}")),
    };
    parse(&text, name)
}

/// Finds an account among lines as in passwd(5).
fn parse(text: &str, name: &str) -> std::result::Result<Option<(u32, u32)>, String> {
    let Some(line) = text.lines().find(|l| l.split(':').next() == Some(name)) else {
        return Ok(None);
    };
    let mut numbers = line.split(':').skip(2).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(uid)), Some(Ok(gid))) => Ok(Some((uid, gid))),
        _ => Err(format!("its entry has no user and group: {line}")),
    }
}

/// The account for `--user`: only a server that root starts needs that option.
pub(crate) fn of_server(datadir: &Path) -> io::Result<Option<u32>> {
    let owner = fs::metadata(datadir)?.uid();
    Ok(rustix::process::geteuid().is_root().then_some(owner))
}

/// Makes a file belong to the server's account.
pub(super) fn give(file: &File, user: Option<u32>) -> io::Result<()> {
    match user {
        Some(uid) if file.metadata()?.uid() != uid => fchown(file, Some(uid), None),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let text = "root:x:0:0::/root:/bin/sh\nmysqlx:x:5:6::/:/bin/false\nmysql:x:27:28:MySQL:/var/lib/mysql:/bin/false\n";
        assert_eq!(parse(text, "mysql"), Ok(Some((27, 28))));
        assert_eq!(parse(text, "mariadb"), Ok(None));
        parse("mysql:x:27", "mysql").expect_err("no group");
        parse("mysql:x::28:", "mysql").expect_err("no user");
    }

    #[test]
    fn the_system_is_asked() {
        assert_eq!(look_up("root"), Ok(Some((0, 0))));
        assert_eq!(look_up("no-such-account-here"), Ok(None));
    }
}

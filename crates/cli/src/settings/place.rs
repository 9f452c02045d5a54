//! Places that options name: where an archive is, which may be on another host, and files of this host.
//!
//! Invariant: what reads as another host or another service never becomes a local path of that name. A
//! local path that only looks remote is written with `./` in front. What this does not do: look whether
//! the place exists.

use base::units::printable;
use base::{Error, Kind, Result};
use std::path::{Path, PathBuf};
use store::Location;

/// Refuses what is not a path of this host, for files that are never anywhere else; `option` is how the user named it.
pub fn local(option: &str, path: &Path) -> Result<()> {
    match location(option, path)? {
        Location::Directory(_) => Ok(()),
        Location::Stream | Location::Ssh(_) | Location::Object(_) | Location::Memory(_) => {
            let named = printable(&path.to_string_lossy());
            let what = format!("{option} {named}: only a path of this host is possible here");
            let mut hint = "name a file or directory of this host".to_owned();
            // Nobody has a directory of that name.
            if !named.contains("://") {
                hint.push_str(&format!("; a local path of this name is ./{named}"));
            }
            Err(Error::new(Kind::Usage, what).hint(hint))
        }
    }
}

/// The same for a file that may also be `-`, a stream.
pub fn local_or_stream(option: &str, path: &Path) -> Result<()> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    local(option, path)
}

/// The place of an archive that an option or argument names.
pub fn location(option: &str, path: &Path) -> Result<Location> {
    Location::parse(path.as_os_str()).map_err(|e| {
        let what = format!("{option} {}: {e}", shown(&path.to_string_lossy()));
        Error::new(Kind::Usage, what).hint(e.hint)
    })
}

/// A place in a message, without a password that stands in its URL.
fn shown(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://")
        && let Some((user, at)) = rest.rsplit_once('@')
        && let Some((user, _)) = user.split_once(':')
    {
        return printable(&format!("{scheme}://{user}:***@{at}"));
    }
    printable(text)
}

/// A URL in a message that may be a secret: scheme and host alone.
pub fn host_of_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/…")
}

/// The repository of a command that can do without one: where none is typed, the environment may name it.
pub fn repository(typed: Option<&Path>) -> Result<PathBuf> {
    let named = typed.map(Path::to_owned).or_else(named_by_environment);
    named.ok_or_else(|| {
        Error::new(Kind::Usage, "no repository and no archive is named")
            .hint("penstock list --repository REPO lists backups; penstock list ARCHIVE says what an archive has; PENSTOCK_REPOSITORY, or repository in the configuration, names a repository for all commands")
    })
}

/// The repository that the environment names.
pub fn named_by_environment() -> Option<PathBuf> {
    let named = std::env::var_os("PENSTOCK_REPOSITORY");
    named.filter(|n| !n.is_empty()).map(PathBuf::from)
}

/// The same where `-` stands for a stream.
pub fn location_or_stream(option: &str, path: &Path) -> Result<Location> {
    if path.as_os_str() == "-" {
        return Ok(Location::Stream);
    }
    location(option, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_remote_is_refused() {
        for name in [
            "s3://bucket/monday",
            "sftp://u@h/x",
            "ssh://h/x",
            "file:///backup",
            "u@host:/backup",
            "host:/backup",
            "host:backup",
            "~x/backup",
            "~/backup",
            "-",
        ] {
            let e = local("--to", Path::new(name)).expect_err(name);
            assert_eq!(e.kind, Kind::Usage);
            assert!(e.what.starts_with(&format!("--to {name}: ")), "{e}");
        }
        for name in ["s3://k:secret@b/x", "ssh://u:secret@h/x"] {
            let e = location("--to", Path::new(name)).expect_err(name);
            assert!(
                e.what.contains(":***@") && !e.what.contains("secret"),
                "{e}"
            );
        }
        for name in ["s3://bucket/monday", "ssh://h/x"] {
            assert!(location("--to", Path::new(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn of_a_secret_url_the_host_is_shown() {
        for url in [
            "https://u:secret@h:8/secret/{server}?secret=1",
            "https://h:8?secret",
            "https://h:8",
        ] {
            assert_eq!(host_of_url(url), "https://h:8/…");
        }
    }

    #[test]
    fn paths_of_this_host_are_not() {
        for name in [
            "/backup/monday",
            "monday",
            "./host:/backup",
            "./-",
            "./~x",
            "/mnt/a:b/c",
            "day/10:30",
            "a@b",
            ":x",
            "..",
        ] {
            assert!(local("--to", Path::new(name)).is_ok(), "{name}");
        }
        assert!(local_or_stream("FROM", Path::new("-")).is_ok());
    }
}

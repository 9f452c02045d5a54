//! Places that options name: today each is on this host.
//!
//! Invariant: what reads as another host or another service never becomes a local path of that name. A
//! local path that only looks remote is written with `./` in front. Stores with URLs have their place in
//! [`remote`]: it says what a name means before anything is opened. What this does not do: look whether
//! the path exists.

use base::units::printable;
use base::{Error, Kind, Result};
use std::path::Path;

/// Refuses a place that is not a path of this host; `option` is how the user named it.
pub fn local(option: &str, path: &Path) -> Result<()> {
    let text = path.to_string_lossy();
    let Some(what) = remote(&text) else {
        return Ok(());
    };
    let named = printable(&text);
    let what = format!("{option} {named}: {what}, and only paths of this host are supported");
    let here = match text.strip_prefix("file://") {
        Some(path) => format!("leave out file:// and write {}", printable(path)),
        None => format!("a local path of this name is ./{named}"),
    };
    Err(Error::new(Kind::Usage, what).hint(format!(
        "mount the other place and name the path where it is mounted, or use a local directory and copy it; {here}"
    )))
}

/// The same for a place that may also be `-`, a stream.
pub fn local_or_stream(option: &str, path: &Path) -> Result<()> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    local(option, path)
}

/// What a name is, if it is not a path of this host.
fn remote(text: &str) -> Option<&'static str> {
    if text == "-" {
        return Some("- is a stream, not a directory");
    }
    if let Some((scheme, _)) = text.split_once("://")
        && is_scheme(scheme)
    {
        return Some("this is a URL");
    }
    // A shell replaces ~ and ~name where it stands alone; quoted or after = it arrives as it is.
    if text.starts_with('~') {
        return Some("the shell has not replaced the ~, which stands for a home directory");
    }
    // As scp and rsync: a colon before the first slash ends the name of a host.
    let host = text.split('/').next().unwrap_or_default();
    match host.split_once(':') {
        Some((host, _)) if !host.is_empty() => Some("this is a path on another host"),
        _ => None,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
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

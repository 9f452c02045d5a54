//! What a user names as the place of an archive: a directory, or the URL of a directory on another host or of
//! a prefix in an object store.
//!
//! Invariant: parsing opens nothing and contacts nobody, and what is shown of a place never holds a secret,
//! because a URL with one is refused. What this does not do: look whether the place exists.

use crate::invalid::Invalid;
use crate::memory::Memory;
use crate::object::{ObjectPlace, Objects};
use crate::ssh::SshPlace;
use crate::stream::Sending;
use crate::{Directory, Error, Result, Store};
use base::RateLimiter;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place where the files of an archive are, or will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Standard input or output, where a job takes one: it can be filled, and not opened.
    Stream,
    /// A directory of this host.
    Directory(PathBuf),
    /// A directory of another host, by ssh.
    Ssh(SshPlace),
    /// A prefix in a bucket or container.
    Object(ObjectPlace),
    /// Memory of this process, for what one job hands to another.
    Memory(Memory),
}

/// The forms of URL that are understood, for hints.
const FORMS: &str = "a place is a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX";

impl Location {
    /// What a text names. A local path that only looks like something else is written with `./` in front.
    pub fn parse(text: &OsStr) -> Result<Location, Invalid> {
        let directory = || Location::Directory(PathBuf::from(text));
        let Some(name) = text.to_str() else {
            return Ok(directory());
        };
        if name.is_empty() {
            return Err(Invalid::new("an empty name", FORMS));
        }
        let here = format!(
            "{FORMS}; a local path of this name is ./{}",
            base::units::printable(name)
        );
        if name == "-" {
            return Err(Invalid::new("- is a stream, not a directory", here));
        }
        if let Some((scheme, rest)) = name.split_once("://")
            && is_scheme(scheme)
        {
            return match scheme {
                "ssh" | "sftp" => SshPlace::parse(scheme, rest).map(Location::Ssh),
                "s3" | "gs" | "az" => ObjectPlace::parse(scheme, rest).map(Location::Object),
                "file" => Err(Invalid::new(
                    "a directory of this host is named without file://",
                    format!("write {}", base::units::printable(rest)),
                )),
                _ => Err(Invalid::new(format!("{scheme}:// is not supported"), here)),
            };
        }
        // A shell replaces ~ and ~name where it stands alone; quoted or after = it arrives as it is.
        if name.starts_with('~') {
            return Err(Invalid::new(
                "the shell has not replaced the ~, which stands for a home directory",
                here,
            ));
        }
        // As scp and rsync: a colon before the first slash ends the name of a host.
        let host = name.split('/').next().unwrap_or_default();
        if let Some((host, _)) = host.split_once(':')
            && !host.is_empty()
        {
            let path = &name[host.len() + 1..];
            let slash = if path.starts_with('/') { "" } else { "/~/" };
            let url = format!("ssh://{host}{slash}{path}");
            return Err(Invalid::new(
                "this reads as a path on another host",
                format!(
                    "write {} for that; a local path of this name is ./{}",
                    base::units::printable(&url),
                    base::units::printable(name)
                ),
            ));
        }
        Ok(directory())
    }

    /// The path, if it is a directory of this host.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Directory(path) => Some(path),
            Location::Stream | Location::Ssh(_) | Location::Object(_) | Location::Memory(_) => None,
        }
    }

    /// The place in words that mean the same from everywhere: a URL, or an absolute path.
    pub fn absolute(&self) -> String {
        match self {
            Location::Directory(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                path.display().to_string()
            }
            Location::Stream | Location::Ssh(_) | Location::Object(_) | Location::Memory(_) => {
                self.to_string()
            }
        }
    }

    /// The place of this name within this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Location {
        match self {
            Location::Stream => Location::Stream,
            // It has no places within.
            Location::Memory(memory) => Location::Memory(memory.clone()),
            Location::Directory(path) => Location::Directory(path.join(name)),
            Location::Ssh(place) => Location::Ssh(place.join(name)),
            Location::Object(place) => Location::Object(place.join(name)),
        }
    }

    /// The place of this name beside this one; `None` where nothing is above it.
    pub fn beside(&self, name: &str) -> Option<Location> {
        match self {
            Location::Stream | Location::Memory(_) => None,
            Location::Directory(path) => {
                let absolute = std::path::absolute(path).ok()?;
                Some(Location::Directory(absolute.parent()?.join(name)))
            }
            Location::Ssh(place) => Some(Location::Ssh(place.beside(name)?)),
            Location::Object(place) => Some(Location::Object(place.beside(name)?)),
        }
    }

    /// The same as [`Location::open`]; while it is open no other process can fill a directory of this host.
    pub fn open_alone(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        let Location::Directory(path) = self else {
            return self.open(limiter);
        };
        let directory = Directory::open_alone(path)?;
        Ok(match limiter {
            Some(limiter) => Arc::new(directory.through(limiter)),
            None => Arc::new(directory),
        })
    }

    /// Opens what is there, to read from or add to. A prefix of an object store is always there.
    pub fn open(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Location::Stream => return Err(no_place()),
            Location::Directory(path) => {
                let directory = Directory::open(path)?;
                match limiter {
                    Some(limiter) => Arc::new(directory.through(limiter)),
                    None => Arc::new(directory),
                }
            }
            Location::Ssh(place) => Arc::new(place.open(limiter)?),
            Location::Object(place) => Arc::new(Objects::open(place, limiter)?),
            Location::Memory(memory) => Arc::new(memory.clone()),
        })
    }

    /// A place to fill: created with what is missing above it, and refused if it holds anything
    /// (the error is then of the kind `DirectoryNotEmpty`).
    pub fn create(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        let store: Arc<dyn Store> = match self {
            Location::Stream => {
                let sending = Sending::to_stdout(limiter);
                let sending = sending.map_err(|e| Error::new("write to", "standard output", e))?;
                return Ok(Arc::new(sending));
            }
            Location::Directory(path) => {
                let directory = Directory::create(path)?;
                return Ok(match limiter {
                    Some(limiter) => Arc::new(directory.through(limiter)),
                    None => Arc::new(directory),
                });
            }
            Location::Ssh(place) => Arc::new(place.create(limiter)?),
            Location::Object(place) => Arc::new(Objects::open(place, limiter)?),
            Location::Memory(memory) => Arc::new(memory.clone()),
        };
        if store.list()?.is_empty() {
            return Ok(store);
        }
        let why = std::io::Error::new(
            std::io::ErrorKind::DirectoryNotEmpty,
            "it is not empty, and nothing in it will be overwritten",
        );
        Err(Error::new("fill", &self.to_string(), why))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Stream => f.write_str("-"),
            Location::Directory(path) => {
                f.write_str(&base::units::printable(&path.to_string_lossy()))
            }
            Location::Ssh(place) => place.fmt(f),
            Location::Object(place) => place.fmt(f),
            Location::Memory(memory) => memory.fmt(f),
        }
    }
}

fn no_place() -> Error {
    let why = "a stream is read once, from its beginning to its end";
    let why = std::io::Error::new(std::io::ErrorKind::Unsupported, why);
    Error::new("open", "-", why)
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

    fn parse(text: &str) -> Result<Location, Invalid> {
        Location::parse(OsStr::new(text))
    }

    #[test]
    fn what_looks_remote_and_is_not_supported_is_refused() {
        for (name, way_out) in [
            ("ftp://h/x", "ssh://USER@HOST/PATH"),
            ("file:///backup", "write /backup"),
            ("u@host:/backup", "ssh://u@host/backup"),
            ("host:/backup", "ssh://host/backup"),
            ("host:backup", "ssh://host/~/backup"),
            ("~x/backup", "./~x/backup"),
            ("~/backup", "./~/backup"),
            ("-", "./-"),
            ("", "a place is"),
            ("s3://", "s3://BUCKET/PREFIX"),
            ("s3:///x", "s3://BUCKET/PREFIX"),
            ("s3://b/a//b", "without an empty part"),
            ("s3://b/../c", "without"),
            ("s3://key:secret@b/x", "AWS_ACCESS_KEY_ID"),
            ("s3://b/x?secret_access_key=1", "AWS_ACCESS_KEY_ID"),
            ("s3://b/x?endpont=http://h", "endpoint"),
            ("s3://b/x?endpoint=h:9000", "http"),
            ("ssh://h", "ssh://USER@HOST/PATH"),
            ("ssh://u:secret@h/x", "key"),
            ("ssh://-oProxyCommand=x/x", "ssh://USER@HOST/PATH"),
            ("ssh://h:port/x", "port"),
            ("ssh://h/x?y=z", "ssh"),
        ] {
            let e = parse(name).expect_err(name);
            let text = format!("{} {}", e.what, e.hint);
            assert!(text.contains(way_out), "{name}: {text}");
            assert!(!text.contains("secret@"), "{name}: {text}");
        }
    }

    #[test]
    fn paths_of_this_host_are_directories() {
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
            assert_eq!(parse(name), Ok(Location::Directory(name.into())), "{name}");
        }
    }

    #[test]
    fn urls_are_shown_as_they_were_written_and_can_be_joined() {
        for (name, joined) in [
            ("s3://bucket", "s3://bucket/x"),
            (
                "s3://bucket/a b/%41?endpoint=http://127.0.0.1:9000&region=eu-1",
                "s3://bucket/a b/%41/x?endpoint=http://127.0.0.1:9000&region=eu-1",
            ),
            ("gs://bucket/a", "gs://bucket/a/x"),
            (
                "az://container/a?account=me",
                "az://container/a/x?account=me",
            ),
            ("ssh://u@h:2222/a/b", "ssh://u@h:2222/a/b/x"),
            ("ssh://[::1]/a", "ssh://[::1]/a/x"),
            ("sftp://h/~/a", "sftp://h/~/a/x"),
        ] {
            let place = parse(name).expect(name);
            assert_eq!(place.to_string(), name);
            assert_eq!(place.path(), None);
            assert_eq!(place.join("x").to_string(), joined);
            assert_eq!(parse(joined).expect(joined), place.join("x"));
        }
        assert_eq!(
            parse("s3://bucket/a/").map(|p| p.to_string()),
            Ok("s3://bucket/a".to_owned())
        );
    }
}

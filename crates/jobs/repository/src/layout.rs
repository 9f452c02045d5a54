//! Names in a repository. The page docs/repository.md describes the same layout for people.
//!
//! ```text
//! repository.json                    what this is; written last by init
//! catalog/SERVER@ID.json             one entry for each backup that is whole
//! catalog.json                       copies of entries, so that a list reads one file; may be old or missing
//! locks/SERVER@ID@PURPOSE@RUN.json   what is in use, and by whom
//! locks/catalog@RUN.json             one run at a time removes backups or lists them again
//! drills/SERVER@ID@TIME@OUTCOME.json what came of restoring a backup for proof
//! backups/SERVER/ID/                 the archive
//! binlogs/SERVER/                    the binary log: see binlog_archive::layout
//! ```
//!
//! Invariant: a name that is parsed here can be a file name, a key and a part of a URL, and is shown as it is.

use base::{Error, Kind, Result};
use std::fmt;
use store::Location;

/// Name of the file that says that a place is a repository.
pub(crate) const REPOSITORY: &str = "repository.json";
/// Copies of the catalog's entries.
pub(crate) const COPIES: &str = "catalog.json";
/// Where the entries are.
pub(crate) const CATALOG: &str = "catalog";
/// Where the locks are.
pub(crate) const LOCKS: &str = "locks";
/// What came of drills.
pub(crate) const DRILLS: &str = "drills";
/// Where the archives are.
pub(crate) const BACKUPS: &str = "backups";
/// Where the binary logs are.
pub(crate) const BINLOGS: &str = "binlogs";

/// Under which name a server's backups are kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

impl ServerName {
    /// A name of letters, digits, dots, dashes and underscores.
    pub fn parse(text: &str) -> Result<ServerName> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if text.is_empty()
            || text.len() > 64
            || text.starts_with(['.', '-'])
            || !text.chars().all(plain)
        {
            let shown = base::units::printable(text);
            return Err(Error::new(Kind::Usage, format!("'{shown}' cannot be the name of a server")).hint(
                "at most 64 letters, digits, dots, dashes and underscores, not beginning with a dot or dash",
            ));
        }
        Ok(ServerName(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One backup of a server: when it began (UTC), and a few random digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackupId(String);

impl BackupId {
    /// The identifier of a backup that begins now.
    pub(crate) fn new(now: jiff::Timestamp, random: u16) -> BackupId {
        BackupId(format!("{}-{random:04x}", now.strftime("%Y%m%dT%H%M%SZ")))
    }

    /// Reads one; `None` if it is none.
    pub fn parse(text: &str) -> Option<BackupId> {
        let (time, random) = text.split_once('-')?;
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let (date, time) = time.strip_suffix('Z')?.split_once('T')?;
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let is = date.len() == 8
            && digits(date)
            && time.len() == 6
            && digits(time)
            && random.len() == 4
            && random.bytes().all(hex);
        is.then(|| BackupId(text.to_owned()))
    }

    /// When it began, to the second.
    pub fn time(&self) -> jiff::Timestamp {
        let digits = self.0.get(..16).unwrap_or_default();
        parse_time(digits).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BackupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a time as it stands in names: UTC, to the second.
pub(crate) fn parse_time(digits: &str) -> Option<jiff::Timestamp> {
    jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", digits)
        .and_then(|t| t.to_zoned(jiff::tz::TimeZone::UTC))
        .ok()
        .map(|t| t.timestamp())
}

/// Where a backup's archive is.
pub(crate) fn backup_place(repository: &Location, server: &ServerName, id: &BackupId) -> Location {
    let of_server = repository.join(BACKUPS).join(server.as_str());
    of_server.join(id.as_str())
}

/// The file name of a backup's entry in the catalog.
pub(crate) fn entry_name(server: &ServerName, id: &BackupId) -> String {
    format!("{server}@{id}.json")
}

/// Reads the name of an entry.
pub(crate) fn parse_entry_name(name: &str) -> Option<(ServerName, BackupId)> {
    let (server, id) = name.strip_suffix(".json")?.split_once('@')?;
    Some((ServerName::parse(server).ok()?, BackupId::parse(id)?))
}

/// Four hexadecimal digits that nobody else uses at this moment.
pub(crate) fn random() -> u16 {
    use std::hash::{BuildHasher, Hasher};
    // Seeded by the system for every map; enough to tell two runs apart.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    (hasher.finish() & 0xffff) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let server = ServerName::parse("db-1.example").unwrap();
        let id = BackupId::new(jiff::Timestamp::UNIX_EPOCH, 0xab);
        assert_eq!(id.as_str(), "19700101T000000Z-00ab");
        let later = BackupId::parse("20261125T021500Z-00ab").unwrap();
        assert_eq!(later.time().to_string(), "2026-11-25T02:15:00Z");
        let name = entry_name(&server, &id);
        assert_eq!(parse_entry_name(&name), Some((server, id)));
    }

    #[test]
    fn what_could_be_a_path_or_an_option_is_refused() {
        for name in [
            "",
            ".",
            "..",
            ".x",
            "-x",
            "a/b",
            "a@b",
            "a b",
            "é",
            &"x".repeat(65),
        ] {
            assert!(ServerName::parse(name).is_err(), "{name}");
        }
        for id in [
            "",
            "20260101T000000Z",
            "20260101T000000Z-00AB",
            "2026-01-01",
            "20260101T000000Z-00ab/..",
        ] {
            assert_eq!(BackupId::parse(id), None, "{id}");
        }
    }
}

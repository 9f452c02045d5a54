//! Which server this is: flavour, version, and the settings that decide how it
//! must be spoken to.
//!
//! One `SHOW GLOBAL VARIABLES` answers everything, because naming a variable
//! that an old server does not have (`@@server_uuid` on 5.5) is an error. The
//! whole list is kept: an archive records it, and [`crate::session`] looks up
//! there which variables exist.

use crate::ask::ask;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use wire::Conn;

/// Which of the two families of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// MySQL and what is built from it (Percona Server, Aurora, …).
    MySql,
    /// MariaDB.
    MariaDb,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::MySql => "MySQL",
            Flavour::MariaDb => "MariaDB",
        })
    }
}

/// A version as three numbers; what follows them in the text is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 9 in 9.7.4.
    pub major: u16,
    /// 7 in 9.7.4.
    pub minor: u16,
    /// 4 in 9.7.4.
    pub patch: u16,
}

impl Version {
    /// A version from its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Reads `9.7.4-2`, `10.11.19-MariaDB-log`, or `5.5.5-10.11.19-MariaDB`
    /// (the prefix with which MariaDB pacified old replicas).
    pub fn parse(text: &str) -> Option<Self> {
        let mut text = text.trim();
        if let Some(rest) = text.strip_prefix("5.5.5-")
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            text = rest;
        }
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut parts = text[..end].split('.').map(str::parse);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self::new(major, minor, patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A server, as it described itself when asked.
#[derive(Clone, Debug)]
pub struct Identity {
    /// MySQL or MariaDB.
    pub flavour: Flavour,
    /// The version as numbers.
    pub version: Version,
    /// The version as the server writes it.
    pub version_text: String,
    /// `server_uuid` (MySQL 5.6 and later) or `server_uid` (some MariaDB versions).
    pub uuid: Option<String>,
    /// `server_id`; 0 when never set.
    pub server_id: u64,
    /// The server's own idea of its host name.
    pub hostname: String,
    /// TCP port; 0 without networking.
    pub port: u16,
    /// Path of its socket.
    pub socket: String,
    /// Path of its data.
    pub datadir: String,
    /// 0 names are case-sensitive, 1 stored in lower case, 2 compared in lower case.
    pub lower_case_table_names: u8,
    /// Whether LOAD DATA LOCAL is allowed.
    pub local_infile: bool,
    /// Whether the binary log is on.
    pub log_bin: bool,
    /// Largest packet, in bytes.
    pub max_allowed_packet: u64,
    /// Whether ordinary accounts are kept from writing.
    pub read_only: bool,
    /// Whether all accounts are kept from writing (MySQL 5.7 and later).
    pub super_read_only: bool,
    /// The global `sql_mode`.
    pub sql_mode: String,
    /// InnoDB page size in bytes; 16384 where the server does not say.
    pub innodb_page_size: u64,
    /// All global variables, names in lower case.
    pub variables: BTreeMap<String, String>,
}

impl Identity {
    /// Asks the server; works from MySQL 5.5 on.
    pub fn read(conn: &mut Conn) -> Result<Identity> {
        let what = "server variables";
        let answer = ask(conn, what, "SHOW GLOBAL VARIABLES")?;
        let mut variables: BTreeMap<String, String> = answer
            .rows
            .iter()
            .map(|r| (r.text_or_empty(0).to_ascii_lowercase(), r.text_or_empty(1)))
            .collect();
        // A MariaDB account may be refused some; the version always answers.
        if !variables.contains_key("version") {
            let version = ask(conn, what, "SELECT VERSION()")?;
            let text = version.first().map(|r| r.text_or_empty(0));
            variables.insert("version".into(), text.unwrap_or_default());
        }
        Self::from_variables(variables).ok_or_else(|| Error::Answer {
            what: what.into(),
            why: "the server gives no version that can be read".into(),
        })
    }

    /// The identity described by a list of global variables (names in lower
    /// case), as an archive keeps it; `None` without a readable version.
    pub fn from_variables(variables: BTreeMap<String, String>) -> Option<Identity> {
        let get = |name: &str| variables.get(name).map(String::as_str).unwrap_or_default();
        let on = |name: &str| matches!(get(name), "ON" | "1" | "YES" | "on");
        let version_text = get("version").to_owned();
        let version = Version::parse(&version_text)?;
        let says_maria = |text: &str| text.to_ascii_lowercase().contains("mariadb");
        // `--version=…` can hide the name; the version of the Aria engine cannot be MySQL's.
        let flavour = if says_maria(&version_text)
            || says_maria(get("version_comment"))
            || variables.contains_key("aria_page_checksum")
        {
            Flavour::MariaDb
        } else {
            Flavour::MySql
        };
        let uuid = ["server_uuid", "server_uid"]
            .iter()
            .find_map(|n| variables.get(*n))
            .filter(|v| !v.is_empty())
            .cloned();
        Some(Identity {
            flavour,
            version,
            uuid,
            server_id: get("server_id").parse().unwrap_or(0),
            hostname: get("hostname").to_owned(),
            port: get("port").parse().unwrap_or(0),
            socket: get("socket").to_owned(),
            datadir: get("datadir").to_owned(),
            lower_case_table_names: get("lower_case_table_names").parse().unwrap_or(0),
            local_infile: on("local_infile"),
            log_bin: on("log_bin"),
            max_allowed_packet: get("max_allowed_packet").parse().unwrap_or(1 << 20),
            // MariaDB 12 has more words than OFF and ON here (NO_LOCK, NO_LOCK_NO_ADMIN).
            read_only: !matches!(get("read_only"), "" | "OFF" | "0"),
            super_read_only: on("super_read_only"),
            sql_mode: get("sql_mode").to_owned(),
            innodb_page_size: get("innodb_page_size").parse().unwrap_or(16384),
            version_text,
            variables,
        })
    }

    /// Whether both describe one running server. An id alone is not proof: a
    /// copied data directory carries the uuid along, and MariaDB computes
    /// `server_uid` from the network card. So ids must not differ, and host,
    /// port, socket and data directory must all agree; each is the server's own
    /// word, the same however one connected.
    pub fn same_server(&self, other: &Identity) -> bool {
        let ids_agree = match (&self.uuid, &other.uuid) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        ids_agree
            && self.flavour == other.flavour
            && self.hostname == other.hostname
            && self.port == other.port
            && self.socket == other.socket
            && self.datadir == other.datadir
    }

    /// Whether this is MySQL.
    pub fn is_mysql(&self) -> bool {
        self.flavour == Flavour::MySql
    }

    /// Whether this is MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.flavour == Flavour::MariaDb
    }

    /// Whether the version is this one or later, whatever the flavour.
    pub fn at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.version >= Version::new(major, minor, patch)
    }

    /// Whether this is MySQL of this version or later.
    pub fn mysql_at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.is_mysql() && self.at_least(major, minor, patch)
    }

    /// Whether it has transactions that may only read (`START TRANSACTION READ ONLY`).
    pub fn has_read_only_transactions(&self) -> bool {
        self.mysql_at_least(5, 6, 5) || self.mariadb_at_least(10, 0, 0)
    }

    /// Whether this is MariaDB of this version or later.
    pub fn mariadb_at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.is_mariadb() && self.at_least(major, minor, patch)
    }

    /// The value of a global variable, if the server has it.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Whether a global variable that is on or off is on.
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.variable(name), Some("ON" | "1"))
    }

    /// Whether the server has a global variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavour, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pairs: &[(&str, &str)]) -> Identity {
        let variables = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Identity::from_variables(variables).expect("a version")
    }

    #[test]
    fn versions_are_read_from_all_spellings() {
        for (text, v) in [
            ("9.7.4-2", (9, 7, 4)),
            ("5.5.9-log", (5, 5, 9)),
            ("10.11.19-MariaDB-0+deb12u1-log", (10, 11, 19)),
            ("5.5.5-10.6.1-MariaDB", (10, 6, 1)),
            ("8.0.mysql_aurora.3.04.0", (8, 0, 0)),
        ] {
            assert_eq!(Version::parse(text), Some(Version::new(v.0, v.1, v.2)));
        }
        assert_eq!(Version::parse("unknown"), None);
        assert!(Version::new(10, 6, 1) > Version::new(8, 4, 10));
    }

    #[test]
    fn flavour_survives_a_changed_version_text() {
        let maria = server(&[("version", "10.11.1"), ("aria_page_checksum", "ON")]);
        assert!(maria.mariadb_at_least(10, 6, 0) && !maria.mysql_at_least(5, 5, 0));
        let old = server(&[("version", "5.5.9-log")]);
        assert_eq!(old.uuid, None);
        assert_eq!(old.to_string(), "MySQL 5.5.9");
    }

    #[test]
    fn a_copied_data_folder_is_another_server() {
        let base = [
            ("version", "9.7.4"),
            ("server_uuid", "u"),
            ("datadir", "/a/"),
        ];
        let copy = [
            ("version", "9.7.4"),
            ("server_uuid", "u"),
            ("datadir", "/b/"),
        ];
        assert!(server(&base).same_server(&server(&base)));
        assert!(!server(&base).same_server(&server(&copy)));
    }
}

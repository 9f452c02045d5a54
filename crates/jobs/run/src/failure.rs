//! Turns the typed errors of the parts into the one error of a job, with the
//! kind that decides the exit code and, where there is one, the way out.

use archive::ArchiveError;
use base::{Error, Kind};

/// What a wire error means for a user of `doing`.
pub fn wire(doing: impl std::fmt::Display, error: wire::Error) -> Error {
    let (kind, hint) = match &error {
        wire::Error::Server(e) => server_kind(e),
        wire::Error::Connect { .. } => (
            Kind::Connection,
            Some("check that the server runs and that host, port or socket are right".to_owned()),
        ),
        wire::Error::Untrusted(_) => (
            Kind::Connection,
            Some("name the certificate of the authority that signed the server's with --ssl-ca FILE (MySQL keeps one as ca.pem in its data folder); --ssl-mode=required encrypts without asking who answers".to_owned()),
        ),
        wire::Error::Auth(_) | wire::Error::Tls(_) => (Kind::Connection, None),
        wire::Error::Io(_) | wire::Error::Timeout(_) => (Kind::Connection, None),
        wire::Error::Protocol(_) | wire::Error::LocalFile => (
            Kind::Connection,
            Some("this is not how a MySQL or MariaDB server behaves: make sure that you reach the right host".to_owned()),
        ),
        wire::Error::Source(_) => (Kind::Archive, None),
        _ => (Kind::Failed, None),
    };
    let what = format!("{doing}: {error}");
    Error {
        kind,
        what: base::units::printable(&what),
        hint,
    }
}

/// What an error of the server crate means.
pub fn server(doing: impl std::fmt::Display, error: server::Error) -> Error {
    match error {
        server::Error::Wire { what, source } => wire(format_args!("{doing}: {what}"), source),
        server::Error::Privilege { what, grant } => Error::new(
            Kind::Privilege,
            format!("{doing}: {what}: the account lacks a privilege"),
        )
        .hint(format!("{grant};")),
        server::Error::Pattern { .. } => Error::new(Kind::Usage, error.to_string()),
        other => Error::new(
            Kind::Failed,
            base::units::printable(&format!("{doing}: {other}")),
        ),
    }
}

/// What an error of a store means.
pub fn store(doing: impl std::fmt::Display, error: &store::Error) -> Error {
    let e = Error::new(
        Kind::Storage,
        base::units::printable(&format!("{doing}: {error}")),
    );
    if error.full() {
        e.hint("make room, or choose another place; nothing that looks like a finished dump is left behind")
    } else if error.source.kind() == std::io::ErrorKind::PermissionDenied {
        e.hint("run as the user that owns it, or give this one the right to it")
    } else {
        e
    }
}

/// What an error of the archive crate means.
pub fn archive(doing: impl std::fmt::Display, error: &ArchiveError) -> Error {
    let text = base::units::printable(&format!("{doing}: {error}"));
    match error {
        ArchiveError::Store(e) if e.not_found() => Error::new(Kind::Archive, text),
        ArchiveError::Store(e) => store(doing, e),
        ArchiveError::Interrupted => Error::new(Kind::Interrupted, "stopped on request"),
        ArchiveError::Incomplete { .. } => Error::new(Kind::Archive, text)
            .hint("take the dump again; an incomplete archive is never loaded"),
        ArchiveError::NewerVersion { .. } | ArchiveError::UnknownCapability { .. } => {
            Error::new(Kind::Archive, text).hint("use a penstock that knows it")
        }
        _ => Error::new(Kind::Archive, text)
            .hint("penstock verify DIR lists everything that is wrong with an archive"),
    }
}

/// A stream of ours that failed in the middle of a LOAD: an archive that is damaged, or a disk.
pub fn source(doing: impl std::fmt::Display, file: &str, error: std::io::Error) -> Error {
    archive(doing, &ArchiveError::from_io(file, error))
}

/// Whether a server's words are about a disk without room; they number it in many ways.
pub fn says_full(said: &str) -> bool {
    const NO_ROOM: [&str; 6] = [
        "No space left",
        "Errcode: 28",
        "OS errno 28",
        "error number 28",
        "Error number 28",
        "error 28",
    ];
    NO_ROOM.iter().any(|words| said.contains(words))
}

/// Error numbers of the servers' manuals that deserve a kind of their own.
fn server_kind(e: &wire::ServerError) -> (Kind, Option<String>) {
    let hint = |s: &str| Some(s.to_owned());
    let room = || hint("make room on the target server's disk, then start over");
    // Of any statement that writes a file. Messages of higher numbers may quote values of the user's.
    const LAST_OF_FILES: u16 = 1030;
    if e.code <= LAST_OF_FILES && says_full(&e.message) {
        return (Kind::Storage, room());
    }
    match e.code {
        1045 | 1698 => (
            Kind::Connection,
            hint(
                "check the user name and the password (-p to be asked, an option file, PENSTOCK_PASSWORD, --password-fd)",
            ),
        ),
        1820 | 1862 => (
            Kind::Connection,
            hint(
                "the account's password has expired: set a new one with the server's own client first",
            ),
        ),
        1040 | 1203 | 1226 => (
            Kind::Connection,
            hint(
                "the server has no connection left for us: use fewer threads or connections, or raise its limit",
            ),
        ),
        1053 | 1077 | 2006 | 2013 | 1927 => (Kind::Connection, None),
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => (
            Kind::Privilege,
            hint("grant the account the privilege named above"),
        ),
        1290 | 1836 | 3024 | 1969 => (Kind::Privilege, None),
        1205 | 3572 => (Kind::Lock, None),
        1050 => (
            Kind::Target,
            hint("somebody else created it while this load ran; nothing of it was touched"),
        ),
        // MariaDB's bulk insert into an empty table hides a duplicate key behind this.
        1180 => (
            Kind::Failed,
            hint("on MariaDB this is most likely a duplicate key under the target's collation"),
        ),
        1419 => (
            Kind::Privilege,
            hint(
                "with the binary log on, SET GLOBAL log_bin_trust_function_creators = ON, or GRANT SUPER",
            ),
        ),
        1412 => (
            Kind::Failed,
            hint(
                "a table was altered after the snapshot was taken, so its old rows are gone: run the dump again",
            ),
        ),
        1317 => (
            Kind::Interrupted,
            hint("somebody killed the statement on the server"),
        ),
        3948 | 4166 => (
            Kind::Privilege,
            hint(
                "LOAD DATA LOCAL is off on the target: SET GLOBAL local_infile = ON for the time of the load",
            ),
        ),
        1148 => (
            Kind::Privilege,
            hint(
                "LOAD DATA LOCAL may be off on the target: SET GLOBAL local_infile = ON for the time of the load",
            ),
        ),
        1114 | 1021 | 3675 => (Kind::Storage, room()),
        1153 => (
            Kind::Privilege,
            hint("raise max_allowed_packet on the server; 1 GiB is its largest value"),
        ),
        _ => (Kind::Failed, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_trusted_names_the_option() {
        let e = wire("x", wire::Error::Untrusted("no authority".into()));
        assert_eq!(e.kind, Kind::Connection);
        assert!(e.hint.is_some_and(|h| h.contains("--ssl-ca")));
    }

    #[test]
    fn a_full_disk_is_one_whatever_its_number() {
        let of = |code: u16, message: &str| {
            let (state, message) = ("HY000".to_owned(), message.to_owned());
            wire(
                "x",
                wire::Error::Server(wire::ServerError {
                    code,
                    state,
                    message,
                }),
            )
            .kind
        };
        for (code, message) in [
            (
                3,
                "Error writing file './ddl_recovery.log' (Errcode: 28 \"No space left on device\")",
            ),
            (
                3,
                "Error writing file '/tmp/MLfd' (OS errno 28 - No space left on device)",
            ),
            (
                1030,
                "Got error 28 - 'No space left on device' from storage engine",
            ),
            (1114, "The table 't' is full"),
        ] {
            assert_eq!(of(code, message), Kind::Storage, "{message}");
        }
        let quoted = "Duplicate entry 'No space left' for key 'PRIMARY'";
        assert_eq!(of(1062, quoted), Kind::Failed);
        assert_eq!(of(3, "Error writing file 'x' (Errcode: 5)"), Kind::Failed);
    }

    #[test]
    fn a_file_that_may_not_be_read_is_a_storage_error() {
        let denied = store::Error::new("open", "a@b@@0.tsv", std::io::ErrorKind::PermissionDenied);
        let e = archive("cannot check a", &ArchiveError::Store(denied));
        assert_eq!(e.kind, Kind::Storage);
        assert!(e.what.contains("a@b@@0.tsv") && e.hint.is_some(), "{e:?}");
    }
}

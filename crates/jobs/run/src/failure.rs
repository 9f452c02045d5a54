//! Turns the typed errors of the parts into the one error of a job, with the kind that decides the exit
//! code and, where there is one, a hint that says what to do.

use archive::ArchiveError;
use base::{Error, Kind};

/// The servers' error for a table that is not there.
pub const NO_SUCH_TABLE: u16 = 1146;

/// The error of a job whose action `doing` failed with a wire error.
pub fn wire(doing: impl std::fmt::Display, error: wire::Error) -> Error {
    let (kind, hint) = match &error {
        wire::Error::Server(e) => server_kind(e),
        wire::Error::Connect { .. } => (
            Kind::Connection,
            Some("check that the server runs and that host, port or socket are right".to_owned()),
        ),
        wire::Error::Untrusted(_) => (
            Kind::Connection,
            Some("name the certificate of the authority that signed the server's with --ssl-ca FILE (MySQL keeps one as ca.pem in its data directory); --ssl-mode=required encrypts without verifying the server's identity".to_owned()),
        ),
        wire::Error::Auth(_) | wire::Error::Tls(_) => (Kind::Connection, None),
        wire::Error::Io(_) | wire::Error::Timeout(_) => (Kind::Connection, None),
        wire::Error::Protocol(_) | wire::Error::LocalFile => (
            Kind::Connection,
            Some("the answer is not that of a MySQL or MariaDB server: check that host and port are right".to_owned()),
        ),
        wire::Error::Source(_) => (Kind::Archive, None),
        _ => (Kind::Failed, None),
    };
    let what = format!("{doing}: {error}");
    Error {
        server_error: match &error {
            wire::Error::Server(e) => Some(e.code),
            _ => None,
        },
        kind,
        what: base::units::printable(&what),
        hint,
    }
}

/// The error of a job for an error of the server crate.
pub fn server(doing: impl std::fmt::Display, error: server::Error) -> Error {
    match error {
        server::Error::Wire { what, source } => wire(format_args!("{doing}: {what}"), source),
        server::Error::Privilege { what, grant } => Error::new(
            Kind::Privilege,
            format!("{doing}: {what}: the account lacks a privilege"),
        )
        .hint(format!("{grant};")),
        server::Error::Gone { .. } => Error {
            // As a server says it when a table is asked for.
            server_error: Some(NO_SUCH_TABLE),
            ..Error::new(
                Kind::Failed,
                base::units::printable(&format!("{doing}: {error}")),
            )
        }
        .hint("it was dropped or renamed meanwhile: run it again, or leave out what comes and goes (--exclude-tables, --exclude-schemas)"),
        server::Error::Pattern { .. } => Error::new(Kind::Usage, error.to_string()),
        other => Error::new(
            Kind::Failed,
            base::units::printable(&format!("{doing}: {other}")),
        ),
    }
}

/// Says which of several servers it was, where an error is of a connection, an account or a lock.
pub fn of_server(who: impl std::fmt::Display, error: Error) -> Error {
    match error.kind {
        Kind::Connection | Kind::Privilege | Kind::Lock => error.context(who),
        _ => error,
    }
}

/// The error of a job for an error of a store.
pub fn store(doing: impl std::fmt::Display, error: &store::Error) -> Error {
    let e = Error::new(
        Kind::Storage,
        base::units::printable(&format!("{doing}: {error}")),
    );
    if error.full() {
        e.hint("make room, or choose another directory; nothing that looks like a finished dump remains")
    } else if error.is_far() {
        e.hint(match error.source.kind() {
            std::io::ErrorKind::PermissionDenied => "check the credentials, and what they may do there; docs/stores.md says where they are looked for",
            _ => "check that the place can be reached from here, and its settings; docs/stores.md describes them",
        })
    } else if error.source.kind() == std::io::ErrorKind::PermissionDenied {
        e.hint("run as the user that owns it, or give this user access to it")
    } else if error.not_found() {
        e.hint("check the name of the place, and whether it is on this host")
    } else {
        e
    }
}

/// The error of a job for an archive's encryption.
pub fn encryption(doing: impl std::fmt::Display, error: &encryption::Error) -> Error {
    use encryption::Error as E;
    let said = base::units::printable(&format!("{doing}: {error}"));
    match error {
        E::Store(e) => store(doing, e),
        E::Locked { passphrase: true } => Error::new(Kind::Usage, said)
            .hint("name the file with the passphrase with --passphrase-file"),
        E::Locked { passphrase: false } => Error::new(Kind::Usage, said)
            .hint("name the file with your key (AGE-SECRET-KEY-1…) with --identity"),
        E::NotEncrypted => {
            Error::new(Kind::Usage, said).hint("leave out --identity and --passphrase-file")
        }
        E::WrongKey { .. } => Error::new(Kind::Usage, said)
            .hint("nothing was changed; name the key that it was encrypted for"),
        E::Damaged { .. } => Error::new(Kind::Archive, said).hint(
            "without this file the archive cannot be opened: copy it again from another copy",
        ),
        E::NotBeside(_) => Error::new(Kind::Archive, said).hint(
            "an incremental backup is read where it was made: penstock copy makes an archive of it there that is whole by itself",
        ),
        _ => Error::new(Kind::Usage, said),
    }
}

/// The error of a job for an error of the archive crate.
pub fn archive(doing: impl std::fmt::Display, error: &ArchiveError) -> Error {
    let text = base::units::printable(&format!("{doing}: {error}"));
    match error {
        ArchiveError::Store(e) if e.not_found() => Error::new(Kind::Archive, text),
        ArchiveError::Store(e) => store(doing, e),
        ArchiveError::Interrupted => Error::new(Kind::Interrupted, "stopped on request"),
        ArchiveError::Incomplete { .. } => Error::new(Kind::Archive, text)
            .hint("dump again (a dump by SQL is continued by penstock dump … --resume), or take the snapshot again; what is incomplete is never loaded"),
        ArchiveError::NewerVersion { .. } | ArchiveError::UnknownCapability { .. } => {
            Error::new(Kind::Archive, text).hint("use a newer version of penstock")
        }
        _ => Error::new(Kind::Archive, text)
            .hint("penstock verify DIR lists everything that is wrong with an archive"),
    }
}

/// A stream of ours failed in the middle of a LOAD DATA: the archive is damaged, or a disk failed.
pub fn source(doing: impl std::fmt::Display, file: &str, error: std::io::Error) -> Error {
    archive(doing, &ArchiveError::from_io(file, error))
}

/// Whether a server's message is about a full disk; servers number that error in many ways.
pub fn says_full(said: &str) -> bool {
    const NO_ROOM: [&str; 7] = [
        "No space left",
        // ZFS.
        "out of space",
        "Errcode: 28",
        "OS errno 28",
        "error number 28",
        "Error number 28",
        "error 28",
    ];
    NO_ROOM.iter().any(|words| said.contains(words))
}

/// The kind and hint of the error numbers (from the servers' manuals) that need a specific one.
fn server_kind(e: &wire::ServerError) -> (Kind, Option<String>) {
    let hint = |s: &str| Some(s.to_owned());
    let room = || hint("make room on the target server's disk, then start again");
    // Errors of any statement that writes a file. Messages with higher numbers may quote the user's
    // values.
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
                "the server has no connection left: use fewer threads or connections, or raise its limit (max_connections)",
            ),
        ),
        1053 | 1077 | 2006 | 2013 | 1927 => (Kind::Connection, None),
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => (
            Kind::Privilege,
            hint("grant the account the privilege named above"),
        ),
        1290 | 1836
            if e.code == 1836
                || e.message.contains("read-only")
                || e.message.contains("read_only") =>
        {
            (
                Kind::Target,
                hint(
                    "the server is read only (a replica?): SET GLOBAL read_only = OFF, if this server is meant",
                ),
            )
        }
        1290 | 3024 | 1969 => (Kind::Privilege, None),
        1205 | 3572 => (Kind::Lock, None),
        1050 => (
            Kind::Target,
            hint("another session created it while this load ran; penstock did not touch it"),
        ),
        // MariaDB's bulk insert into an empty table reports a duplicate key as this error.
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
                "a table was altered after the snapshot was taken, so the snapshot cannot read it any more: run the dump again",
            ),
        ),
        1317 => (
            Kind::Interrupted,
            hint("another session killed the statement on the server"),
        ),
        3948 | 4166 => (
            Kind::Privilege,
            hint(
                "LOAD DATA LOCAL is off on the target: SET GLOBAL local_infile = ON while the load runs",
            ),
        ),
        1148 => (
            Kind::Privilege,
            hint(
                "LOAD DATA LOCAL may be off on the target: SET GLOBAL local_infile = ON while the load runs",
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
    fn an_untrusted_server_certificate_names_the_option() {
        let e = wire("x", wire::Error::Untrusted("no authority".into()));
        assert_eq!(e.kind, Kind::Connection);
        assert!(e.hint.is_some_and(|h| h.contains("--ssl-ca")));
    }

    #[test]
    fn a_full_disk_is_recognized_whatever_the_error_number() {
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
    fn a_read_only_server_is_the_wrong_target() {
        let of = |message: &str| {
            let (code, state, message) = (1290, "HY000".to_owned(), message.to_owned());
            let e = wire::ServerError {
                code,
                state,
                message,
            };
            wire("x", wire::Error::Server(e))
        };
        let said = "The MariaDB server is running with the --read-only option so it cannot execute this statement";
        let e = of(said);
        assert_eq!(e.kind, Kind::Target);
        assert!(e.hint.is_some_and(|h| h.contains("read_only = OFF")));
        let e = of("The MySQL server is running with the --secure-file-priv option so it cannot");
        assert_eq!(e.kind, Kind::Privilege);
    }

    #[test]
    fn a_file_without_read_permission_is_a_storage_error() {
        let denied = store::Error::new("open", "a@b@@0.tsv", std::io::ErrorKind::PermissionDenied);
        let e = archive("cannot check a", &ArchiveError::Store(denied));
        assert_eq!(e.kind, Kind::Storage);
        assert!(e.what.contains("a@b@@0.tsv") && e.hint.is_some(), "{e:?}");
    }
}

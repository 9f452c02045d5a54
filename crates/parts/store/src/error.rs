//! How a store says what failed: the operation, the name, and the system's
//! own reason, kept so that a caller can tell a full disk from a missing file.

use std::io;

/// A store's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One operation on one name failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} {name}: {source}")]
pub struct Error {
    /// The operation, as a verb: "create", "write", "sync", …
    pub op: &'static str,
    /// The object's name, or the store's path where no single object is concerned;
    /// safe to show in a terminal.
    pub name: String,
    /// The system's reason.
    pub source: io::Error,
}

impl Error {
    /// An operation on `name` failed for this reason.
    pub fn new(op: &'static str, name: &str, source: impl Into<io::Error>) -> Self {
        Self {
            op,
            name: base::units::printable(name),
            source: source.into(),
        }
    }

    /// Whether there is no room left: disk or quota.
    pub fn full(&self) -> bool {
        is_full(&self.source)
    }

    /// Whether another host or a service said it, not the system of this host.
    pub fn is_far(&self) -> bool {
        self.source.get_ref().is_some_and(|e| e.is::<Far>())
    }

    /// Whether the system refused, rather than that the object is not there or
    /// is something else (a link, a directory): nothing is then known about the object.
    pub fn refused(&self) -> bool {
        use rustix::io::Errno;
        let shape = [Errno::NOENT, Errno::LOOP, Errno::ISDIR, Errno::NOTDIR];
        let code = self.source.raw_os_error();
        if self.is_far() {
            return !matches!(
                self.source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
            );
        }
        code.is_some() && !shape.iter().any(|e| Some(e.raw_os_error()) == code)
    }

    /// Whether another process is writing there now.
    pub fn busy(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::AlreadyExists
        )
    }

    /// Whether the object does not exist.
    pub fn not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// What another host or a service said; the system of this host has no number for it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Far(String);

impl Far {
    pub(crate) fn error(kind: io::ErrorKind, text: impl Into<String>) -> io::Error {
        io::Error::new(kind, Far(text.into()))
    }
}

/// Whether this is the system's way of saying that disk or quota are used up.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

//! The error of a job: the kind (which decides the exit code and whether a retry
//! can help), what happened, and a hint.
//!
//! Messages are lower case, name the object, and have no full stop; the hint
//! says what to do. Parts have their own small typed errors; jobs turn them into
//! this one where they know which object was concerned.

use std::fmt;

/// A job's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure. The number is the process exit code, and part
/// of the public interface (docs/messages.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A server refused a statement, or something not listed below.
    Failed = 1,
    /// The command line, an option file or a filter makes no sense.
    Usage = 2,
    /// Everything asked for was done, except for the objects named.
    Exceptions = 3,
    /// A comparison found differences.
    Differs = 4,
    /// An archive is incomplete, damaged, or of a version not known here.
    Archive = 5,
    /// No connection, no login, or the server went away.
    Connection = 6,
    /// A privilege or a server setting is missing.
    Privilege = 7,
    /// A disk or another store refused: full, read only, I/O error.
    Storage = 8,
    /// Stopped on request.
    Interrupted = 9,
    /// The target must not be written to: it holds the objects, or is the source.
    Target = 10,
    /// A lock was not available within the allowed time.
    Lock = 11,
    /// A limit that was set for the run ended it.
    Limit = 12,
    /// A bug in penstock.
    Internal = 70,
}

impl Kind {
    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        self as u8
    }

    /// The word used for it in `--json` events and the documentation.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Failed => "failed",
            Kind::Usage => "usage",
            Kind::Exceptions => "exceptions",
            Kind::Differs => "differs",
            Kind::Archive => "archive",
            Kind::Connection => "connection",
            Kind::Privilege => "privilege",
            Kind::Storage => "storage",
            Kind::Interrupted => "interrupted",
            Kind::Target => "target",
            Kind::Lock => "lock",
            Kind::Limit => "limit",
            Kind::Internal => "internal",
        }
    }
}

/// A failure of a job, ready to be shown.
#[derive(Clone, Debug)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened, naming the object; one line unless several objects are listed.
    pub what: String,
    /// What to do, if that is known.
    pub hint: Option<String>,
    /// The server's number of the error, if a server said it.
    pub server_error: Option<u16>,
}

impl Error {
    /// A failure of this kind.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            hint: None,
            server_error: None,
        }
    }

    /// Adds the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a line to the hint.
    #[must_use]
    pub fn also(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(match self.hint.take() {
            Some(before) => format!("{before}\n{}", hint.as_ref()),
            None => hint.as_ref().to_owned(),
        });
        self
    }

    /// What happened and what helps, for a list.
    pub fn in_one_line(&self) -> String {
        let hints = self.hint.iter().flat_map(|h| h.lines());
        let all: Vec<&str> = std::iter::once(self.what.as_str()).chain(hints).collect();
        all.join("; ")
    }

    /// Puts what was being done in front of what happened.
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.what = format!("{doing}: {}", self.what);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

//! What can go wrong while asking a server about itself: always with what was
//! being read, because "access denied" alone does not say what to do.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a question to a server, or a text about a server, could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statement failed or the connection broke.
    #[error("{what}: {source}")]
    Wire {
        /// What was being read or set, e.g. "definition of view `a`.`b`".
        what: String,
        /// The driver's reason.
        source: wire::Error,
    },
    /// The account may not see it; the statement named would allow it.
    #[error("{what}: the account lacks a privilege ({grant})")]
    Privilege {
        /// What was being read.
        what: String,
        /// A complete GRANT statement without the final semicolon.
        grant: String,
    },
    /// The object is not there (any more).
    #[error("{what}: no such object")]
    Gone {
        /// What was being read.
        what: String,
    },
    /// The server answered with something that this crate does not understand.
    #[error("{what}: {why}")]
    Answer {
        /// What was being read.
        what: String,
        /// What was wrong with the answer.
        why: String,
    },
    /// A filter pattern that cannot be read.
    #[error("pattern {pattern:?}: {why}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// The server's error number, if the server said one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Wire { source, .. } => source.code(),
            _ => None,
        }
    }

    /// Whether a privilege is what was missing.
    pub fn is_privilege(&self) -> bool {
        // 1044 database, 1045 login, 1142 table, 1143 column, 1227 global privilege, 1370 routine, 1419 trigger/function with log_bin
        matches!(self, Error::Privilege { .. })
            || matches!(
                self.code(),
                Some(1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1419)
            )
    }
}

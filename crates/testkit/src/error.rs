//! One error for all of testkit: a text for the person who reads a failed test.

use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A function for `map_err` that puts what was being done before the reason.
    pub fn doing<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |reason| Self(format!("{what}: {reason}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<wire::Error> for Error {
    fn from(e: wire::Error) -> Self {
        Self(e.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Self(e.to_string())
    }
}

impl From<base::Error> for Error {
    fn from(e: base::Error) -> Self {
        match e.hint {
            Some(hint) => Self(format!("{} ({hint})", e.what)),
            None => Self(e.what),
        }
    }
}

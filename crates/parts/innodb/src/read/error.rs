//! Why a tablespace cannot be read.

use std::io;

/// Why a tablespace, a page, or a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has something that is not read here; named.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A page is not as it should be.
    #[error("page {page}: {what}")]
    Damaged {
        /// Its number.
        page: u32,
        /// What is wrong with it.
        what: String,
    },
    /// The definition of the table contradicts itself or the file.
    #[error("{0}")]
    Definition(String),
}

/// What an encrypted tablespace is called.
const ENCRYPTED: &str = "an encrypted tablespace";

impl Error {
    /// An encrypted tablespace, or a page of one.
    pub fn encrypted() -> Error {
        Error::Unsupported(ENCRYPTED.to_owned())
    }

    /// Whether that is what is not supported.
    pub fn is_of_encryption(&self) -> bool {
        matches!(self, Error::Unsupported(what) if what == ENCRYPTED)
    }

    /// What is wrong with the file; that it cannot be read at all stays an error.
    pub fn not_io(self) -> Result<Error, Error> {
        match self {
            Error::Io(e) => Err(Error::Io(e)),
            other => Ok(other),
        }
    }

    /// A page that is not as it should be.
    pub fn damaged(page: u32, what: impl Into<String>) -> Error {
        Error::Damaged {
            page,
            what: what.into(),
        }
    }
}

//! How a column's values are stored, and the cell that the server sends for them.
//!
//! A [`Type`] comes from the type in words (`COLUMN_TYPE` of `information_schema.columns`, or `column_type_utf8` of the
//! serialized dictionary information) and the column's character set. Its cells are those of the canonical
//! SELECT: the text protocol without character set conversion, in UTC, FLOAT widened to DOUBLE.
//! NULL is the caller's: records say it, not values.

pub use super::text::Broken;

/// Whose types these are: some names mean something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// Why the values of a column cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The type.
    #[error("type {0}")]
    Type(String),
    /// Its character set.
    #[error("character set {0}")]
    Charset(String),
}

/// How a column's values are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    fixed: Option<usize>,
    redundant: Option<usize>,
    big: bool,
}

impl Type {
    /// From the type in words, its character set, and the members of ENUM or SET in that set where their bytes differ from
    /// the words.
    pub fn of(
        column_type: &str,
        _charset: Option<&str>,
        _members: Option<Vec<Vec<u8>>>,
        _server: Server,
    ) -> Result<Type, Unsupported> {
        Err(Unsupported::Type(column_type.to_owned()))
    }

    /// Bytes of a value in records of COMPACT and DYNAMIC; `None` where the record says.
    pub fn fixed(&self) -> Option<usize> {
        self.fixed
    }

    /// Bytes of a value, also of NULL, in records of REDUNDANT; `None` where it depends on the value.
    pub fn fixed_redundant(&self) -> Option<usize> {
        self.redundant
    }

    /// Whether its length may take two bytes in the record, and the value may be off-page: more than 255 bytes long, or a BLOB.
    pub fn is_big(&self) -> bool {
        self.big
    }

    /// Appends a value that is not NULL as one length-encoded cell of the text protocol.
    pub fn cell(&self, _stored: &[u8], _out: &mut Vec<u8>) -> Result<(), Broken> {
        Err(Broken("value"))
    }
}

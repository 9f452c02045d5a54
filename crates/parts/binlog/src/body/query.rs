//! QUERY: a statement, as text.

use crate::event::Event;
use crate::fields::Fields;
use crate::{Error, Result, kind};
use std::borrow::Cow;
use std::io::Read;

/// Longer statements are refused when they are decompressed: no server takes packets above 1 GiB.
const LONGEST: u64 = 1 << 30;

/// Of a LOAD DATA: the number of the file that events before it hold, two offsets in the text, and what is done with
/// duplicates.
const LOADED_FILE: usize = 13;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The session that ran it.
    pub thread: u32,
    /// Error number that it ended with.
    pub error: u16,
    /// Default schema.
    pub schema: &'a [u8],
    /// The text, in the session's character set.
    pub statement: Cow<'a, [u8]>,
}

impl<'a> Query<'a> {
    /// Reads an event; `None` if it is of another kind.
    pub fn parse(event: &Event<'a>) -> Result<Option<Query<'a>>> {
        let (compressed, loads) = match event.header.kind {
            kind::QUERY => (false, false),
            kind::QUERY_COMPRESSED => (true, false),
            kind::EXECUTE_LOAD_QUERY => (false, true),
            _ => return Ok(None),
        };
        let mut fields = Fields::new(event.body(), "Query event");
        let thread = fields.u32()?;
        fields.u32()?; // seconds it took
        let schema = usize::from(fields.u8()?);
        let error = fields.u16()?;
        let status = usize::from(fields.u16()?);
        if loads {
            fields.take(LOADED_FILE)?;
        }
        fields.take(status)?;
        let schema = fields.take(schema)?;
        fields.u8()?; // NUL
        let statement = match compressed {
            false => Cow::Borrowed(fields.rest()),
            true => Cow::Owned(decompress(fields.rest())?),
        };
        Ok(Some(Query {
            thread,
            error,
            schema,
            statement,
        }))
    }

    /// What the statement does to the transaction that it stands in.
    pub fn role(&self) -> Role {
        role(&self.statement)
    }
}

/// Reads what MariaDB compresses: a byte with the way and the length of the length, the length with its highest
/// byte first, and a zlib stream.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut fields = Fields::new(bytes, "compressed event");
    let head = fields.u8()?;
    let (method, width) = (head >> 4 & 7, usize::from(head & 7));
    if head & 0x80 == 0 || method != 0 || !(1..=4).contains(&width) {
        return Err(fields.wrong(format!("an unknown way of compression {head:#04x}")));
    }
    let length = fields.take(width)?;
    let length = length.iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
    if length > LONGEST {
        return Err(fields.wrong(format!("a length of {length} bytes")));
    }
    let mut out = Vec::new();
    let mut stream = flate2::read::ZlibDecoder::new(fields.rest()).take(length + 1);
    stream
        .read_to_end(&mut out)
        .map_err(|e| Error::malformed("compressed event", e.to_string()))?;
    if out.len() as u64 != length {
        return Err(fields.wrong(format!("{} bytes for {length}", out.len())));
    }
    Ok(out)
}

/// What a statement does to the transaction that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Begins one that another event ends.
    Begin,
    /// Ends it.
    End,
    /// Is a part of it; alone, it is all of it.
    Part,
}

/// Servers write these statements themselves, always in the same words. The text of a user's statement comes as the
/// user wrote it, but `BEGIN` or `COMMIT` of a user is never written.
fn role(statement: &[u8]) -> Role {
    let starts = |word: &str| {
        let head = statement.get(..word.len());
        head.is_some_and(|h| h.eq_ignore_ascii_case(word.as_bytes()))
    };
    let is = |word: &str| starts(word) && statement.len() == word.len();
    if is("BEGIN") || starts("XA START") {
        Role::Begin
    } else if is("COMMIT") || is("ROLLBACK") || starts("XA COMMIT") || starts("XA ROLLBACK") {
        Role::End
    } else {
        Role::Part
    }
}

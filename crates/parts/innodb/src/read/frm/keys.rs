//! Keys of a `.frm` file.

use super::bytes::{Part, damaged, utf8};
use super::columns::Column;
use crate::read::Error;
use values::charset::Charset;

/// Flags of a key (`HA_*`, my_base.h).
mod flag {
    pub const UNIQUE: u16 = 1;
    pub const FULLTEXT: u16 = 128;
    pub const SPATIAL: u16 = 1024;
    pub const COMMENT: u16 = 4096;
    pub const PARSER: u16 = 16384;
}

/// A unique key of values of any length: a hidden column of their hash (`HA_KEY_ALG_LONG_HASH`).
const LONG_HASH: u8 = 5;
/// A key on vectors (`HA_KEY_ALG_VECTOR`).
const VECTOR: u8 = 6;
/// The part is in descending order (`HA_REVERSE_SORT`).
const DESCENDING: u8 = 128;

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: KeyKind,
    /// Its columns in order.
    pub parts: Vec<KeyPart>,
    /// Whether the optimizer ignores it.
    pub ignored: bool,
    /// Its comment.
    pub comment: String,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The primary key.
    Primary,
    /// Unique.
    Unique,
    /// Unique over a hash that a hidden column has.
    UniqueHash,
    /// Neither.
    Plain,
    /// A full text key, which is not in the tablespace.
    FullText,
    /// A spatial key.
    Spatial,
    /// A key on vectors, which is a table of its own.
    Vector,
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The place of the column among all.
    pub column: usize,
    /// Characters (bytes of binary types) from its beginning; `None`: all.
    pub prefix: Option<usize>,
    /// Whether it is in descending order.
    pub descending: bool,
}

/// Reads them; how many have parsers whose names follow elsewhere.
pub fn read(from: Part<'_>, flags: &[u8], columns: &[Column]) -> Result<(Vec<Key>, usize), Error> {
    let count = from.u8(0)?;
    let count = if count < 128 {
        usize::from(count)
    } else {
        usize::from(count & 127) | usize::from(from.u8(1)?) << 7
    };
    let mut rest = from.from(6)?;
    let mut keys = Vec::new();
    let mut commented = Vec::new();
    let mut parsers = 0;
    for n in 0..count {
        let entry = Part(rest.take(8)?);
        // Unique is the default, and written turned round.
        let kind = entry.u16(0)? ^ flag::UNIQUE;
        let algorithm = entry.u8(5)?;
        let mut parts = Vec::new();
        for _ in 0..entry.u8(4)? {
            parts.push(part(Part(rest.take(9)?), columns)?);
        }
        commented.push(kind & flag::COMMENT != 0);
        parsers += usize::from(kind & flag::PARSER != 0);
        keys.push(Key {
            name: String::new(),
            kind: if kind & flag::FULLTEXT != 0 {
                KeyKind::FullText
            } else if kind & flag::SPATIAL != 0 {
                KeyKind::Spatial
            } else if algorithm == VECTOR {
                KeyKind::Vector
            } else if algorithm == LONG_HASH {
                KeyKind::UniqueHash
            } else if kind & flag::UNIQUE != 0 {
                KeyKind::Unique
            } else {
                KeyKind::Plain
            },
            parts,
            ignored: flags.get(n) == Some(&1),
            comment: String::new(),
        });
    }
    let Some(separator) = rest.0.first().copied() else {
        return Ok((keys, parsers));
    };
    rest.take(1)?;
    for key in &mut keys {
        key.name = utf8(rest.take_until(separator)?);
        if key.kind == KeyKind::Unique && key.name == "PRIMARY" {
            key.kind = KeyKind::Primary;
        }
    }
    if commented.contains(&true) {
        rest.take_until(0)?;
    }
    for (key, commented) in keys.iter_mut().zip(commented) {
        if commented {
            let length = rest.take_u16()?;
            key.comment = utf8(rest.take(length.into())?);
        }
    }
    Ok((keys, parsers))
}

fn part(entry: Part<'_>, columns: &[Column]) -> Result<KeyPart, Error> {
    const COLUMN: u16 = 0x3fff;
    let column = usize::from(entry.u16(0)? & COLUMN).checked_sub(1);
    let missing = || damaged("a key on a column that is not there");
    let of = column.and_then(|n| columns.get(n)).ok_or_else(missing)?;
    let length = usize::from(entry.u16(7)?);
    let widest = of
        .charset()
        .and_then(Charset::of)
        .map_or(1, |set| set.most.into());
    // Only these have prefixes; a long one is 0 long in a key that hashes it.
    let whole = match of.number {
        // UUID and addresses are kept shorter than they are written.
        254 if ["uuid", "inet"]
            .iter()
            .any(|t| of.column_type.starts_with(t)) =>
        {
            true
        }
        15 | 254 => length == of.length || length == 0,
        249..=252 => length == 0,
        _ => true,
    };
    Ok(KeyPart {
        column: column.unwrap_or(0),
        prefix: (!whole).then_some(length / widest),
        descending: entry.u8(4)? & DESCENDING != 0,
    })
}

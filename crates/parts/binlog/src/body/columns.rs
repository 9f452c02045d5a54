//! The columns of a table, as TABLE_MAP describes them, and how long their values are in row events.
//!
//! Types are those of the client protocol, with a few that only servers know. What the lengths depend on stands in the
//! metadata: the length of a length, a precision, a number of bits.

use crate::Result;
use crate::fields::Fields;

/// More columns no server allows.
const MOST: u64 = 4096;

/// A column, as far as row events need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Type of its values, the real one of ENUM and SET.
    pub kind: u8,
    /// What stands in the metadata, for a CHAR, ENUM or SET its length in bytes.
    pub meta: u16,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Its name, where the log has it (`binlog_row_metadata=FULL`).
    pub name: Option<String>,
    /// Whether a number has no sign, where the log has that.
    pub unsigned: Option<bool>,
    /// The character set of text, `binary` of bytes, where the log has that.
    pub charset: Option<String>,
    /// The members of ENUM or SET, in that character set, where the log has them (`binlog_row_metadata=FULL`).
    pub members: Option<Vec<Vec<u8>>>,
    /// Whether it is a part of the primary key, where the log has that.
    pub primary: bool,
    /// MariaDB: what the bytes of a fixed length are. No log has it, only a definition.
    pub address: Option<Address>,
}

/// Types of MariaDB that a log has as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// UUID.
    Uuid,
    /// INET4.
    Inet4,
    /// INET6.
    Inet6,
}

/// Types, by their numbers.
pub mod kind {
    #![allow(missing_docs)]
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    /// MariaDB: COLUMN_FORMAT or `COMPRESSED`.
    pub const BLOB_COMPRESSED: u8 = 140;
    pub const VARCHAR_COMPRESSED: u8 = 141;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Reads what follows the names in a TABLE_MAP event; `mariadb`: of such a server, which counts more columns as text.
pub fn parse(bytes: &[u8], mariadb: bool) -> Result<Vec<Column>> {
    let mut fields = Fields::new(bytes, "Table_map event");
    let count = fields.packed()?;
    if count > MOST {
        return Err(fields.wrong(format!("{count} columns")));
    }
    let count = count as usize;
    let kinds = fields.take(count)?;
    let mut meta = Fields::new(fields.packed_bytes()?, "Table_map event");
    let mut columns = Vec::with_capacity(count);
    for &kind in kinds {
        columns.push(column(kind, &mut meta)?);
    }
    let nullable = fields.take(count.div_ceil(8))?;
    for (i, column) in columns.iter_mut().enumerate() {
        column.nullable = nullable[i / 8] >> (i % 8) & 1 == 1;
    }
    optional(&mut fields, &mut columns, mariadb)?;
    Ok(columns)
}

fn column(kind: u8, meta: &mut Fields<'_>) -> Result<Column> {
    let (kind, meta) = match kind {
        kind::FLOAT
        | kind::DOUBLE
        | kind::TINY_BLOB
        | kind::MEDIUM_BLOB
        | kind::LONG_BLOB
        | kind::BLOB
        | kind::BLOB_COMPRESSED
        | kind::JSON
        | kind::GEOMETRY
        | kind::VECTOR
        | kind::TIMESTAMP2
        | kind::DATETIME2
        | kind::TIME2 => (kind, u16::from(meta.u8()?)),
        kind::VARCHAR | kind::VAR_STRING | kind::VARCHAR_COMPRESSED => (kind, meta.u16()?),
        // Bits beyond whole bytes, and bytes.
        kind::BIT => {
            let (bits, bytes) = (meta.u8()?, meta.u8()?);
            (kind, u16::from(bytes) + u16::from(bits > 0))
        }
        // Precision, and digits behind the point.
        kind::NEWDECIMAL => {
            let (precision, scale) = (meta.u8()?, meta.u8()?);
            (kind, u16::from(precision) << 8 | u16::from(scale))
        }
        // The real type and the length; two bits of a long length are kept, inverted, in the type.
        kind::STRING | kind::ENUM | kind::SET => {
            let (real, length) = (meta.u8()?, u16::from(meta.u8()?));
            match real & 0x30 == 0x30 {
                true => (real, length),
                false => (real | 0x30, length | u16::from((real & 0x30) ^ 0x30) << 4),
            }
        }
        _ => (kind, 0),
    };
    Ok(Column {
        kind,
        meta,
        nullable: false,
        name: None,
        unsigned: None,
        charset: None,
        members: None,
        primary: false,
        address: None,
    })
}

/// What MySQL since 8.0 and MariaDB since 10.5 add, as far as they are asked to (`binlog_row_metadata`).
fn optional(fields: &mut Fields<'_>, columns: &mut [Column], mariadb: bool) -> Result<()> {
    const SIGNS: u8 = 1;
    const DEFAULT_CHARSET: u8 = 2;
    const CHARSETS: u8 = 3;
    const NAMES: u8 = 4;
    const SET_MEMBERS: u8 = 5;
    const ENUM_MEMBERS: u8 = 6;
    const PRIMARY_KEY: u8 = 8;
    const PRIMARY_KEY_WITH_PREFIXES: u8 = 9;
    const DEFAULT_CHARSET_OF_LISTS: u8 = 10;
    const CHARSETS_OF_LISTS: u8 = 11;
    while !fields.is_empty() {
        let what = fields.u8()?;
        let mut value = Fields::new(fields.packed_bytes()?, "Table_map event");
        match what {
            SIGNS => {
                let bits = value.rest();
                let numbers = columns.iter_mut().filter(|c| c.is_number());
                for (i, column) in numbers.enumerate() {
                    let byte = bits.get(i / 8).copied().unwrap_or(0);
                    column.unsigned = Some(byte << (i % 8) & 0x80 != 0);
                }
            }
            DEFAULT_CHARSET | CHARSETS => {
                let text = columns.iter_mut().filter(|c| c.is_text(mariadb));
                charsets(&mut value, text.collect(), what == DEFAULT_CHARSET)?;
            }
            DEFAULT_CHARSET_OF_LISTS | CHARSETS_OF_LISTS => {
                let lists = columns.iter_mut().filter(|c| c.is_list());
                charsets(
                    &mut value,
                    lists.collect(),
                    what == DEFAULT_CHARSET_OF_LISTS,
                )?;
            }
            NAMES => {
                for column in columns.iter_mut() {
                    let name = value.packed_bytes()?;
                    column.name = Some(String::from_utf8_lossy(name).into_owned());
                }
            }
            SET_MEMBERS | ENUM_MEMBERS => {
                let kind = match what {
                    SET_MEMBERS => kind::SET,
                    _ => kind::ENUM,
                };
                for column in columns.iter_mut().filter(|c| c.kind == kind) {
                    let mut members = Vec::new();
                    for _ in 0..value.packed()? {
                        members.push(value.packed_bytes()?.to_vec());
                    }
                    column.members = Some(members);
                }
            }
            PRIMARY_KEY | PRIMARY_KEY_WITH_PREFIXES => {
                while !value.is_empty() {
                    let at = usize::try_from(value.packed()?).unwrap_or(usize::MAX);
                    if what == PRIMARY_KEY_WITH_PREFIXES {
                        value.packed()?;
                    }
                    let column = columns.get_mut(at);
                    column
                        .ok_or_else(|| value.wrong("a key of a column that is not there"))?
                        .primary = true;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The collations of columns, by number: one for each, or that of most and those of the others.
fn charsets(value: &mut Fields<'_>, mut columns: Vec<&mut Column>, default: bool) -> Result<()> {
    let named = |number: u64| {
        let number = u32::try_from(number).ok()?;
        values::collations::charset(number).map(str::to_owned)
    };
    if !default {
        for column in columns {
            column.charset = named(value.packed()?);
        }
        return Ok(());
    }
    let most = named(value.packed()?);
    for column in &mut columns {
        column.charset.clone_from(&most);
    }
    while !value.is_empty() {
        let at = usize::try_from(value.packed()?).unwrap_or(usize::MAX);
        let charset = named(value.packed()?);
        let column = columns.get_mut(at);
        column
            .ok_or_else(|| value.wrong("a character set of a column that is not there"))?
            .charset = charset;
    }
    Ok(())
}

impl Column {
    fn is_number(&self) -> bool {
        matches!(
            self.kind,
            kind::DECIMAL
                | kind::TINY
                | kind::SHORT
                | kind::LONG
                | kind::FLOAT
                | kind::DOUBLE
                | kind::LONGLONG
                | kind::INT24
                | kind::NEWDECIMAL
                | kind::YEAR
        )
    }

    fn is_text(&self, mariadb: bool) -> bool {
        match self.kind {
            kind::STRING | kind::VAR_STRING | kind::VARCHAR | kind::BLOB => true,
            // As servers see them, they are of the same family as BLOB.
            kind::GEOMETRY | kind::BLOB_COMPRESSED | kind::VARCHAR_COMPRESSED => mariadb,
            _ => false,
        }
    }

    /// Whether it is an ENUM or a SET.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, kind::ENUM | kind::SET)
    }

    /// Whether it is a whole number whose sign decides what its bytes mean.
    pub fn is_integer(&self) -> bool {
        matches!(
            self.kind,
            kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG
        )
    }

    /// Takes a value; without the length in front of it.
    pub(crate) fn value<'a>(&self, fields: &mut Fields<'a>) -> Result<&'a [u8]> {
        // Each two digits behind the point of a second take a byte.
        let fraction = usize::from(self.meta.div_ceil(2));
        let length = match self.kind {
            kind::NULL => 0,
            kind::TINY | kind::YEAR => 1,
            kind::SHORT => 2,
            kind::INT24 | kind::DATE | kind::NEWDATE | kind::TIME => 3,
            kind::LONG | kind::FLOAT | kind::TIMESTAMP => 4,
            kind::LONGLONG | kind::DOUBLE | kind::DATETIME => 8,
            kind::TIMESTAMP2 => 4 + fraction,
            kind::DATETIME2 => 5 + fraction,
            kind::TIME2 => 3 + fraction,
            kind::NEWDECIMAL => decimal_length(self.meta),
            kind::BIT | kind::ENUM | kind::SET => usize::from(self.meta),
            kind::VARCHAR | kind::VAR_STRING | kind::STRING | kind::VARCHAR_COMPRESSED => {
                match self.meta {
                    0..=255 => usize::from(fields.u8()?),
                    _ => usize::from(fields.u16()?),
                }
            }
            kind::TINY_BLOB
            | kind::MEDIUM_BLOB
            | kind::LONG_BLOB
            | kind::BLOB
            | kind::BLOB_COMPRESSED
            | kind::JSON
            | kind::GEOMETRY
            | kind::VECTOR => match self.meta {
                1 => usize::from(fields.u8()?),
                2 => usize::from(fields.u16()?),
                3 => fields.u24()? as usize,
                4 => fields.u32()? as usize,
                other => return Err(fields.wrong(format!("lengths of {other} bytes"))),
            },
            other => return Err(fields.wrong(format!("a column of an unknown type {other}"))),
        };
        fields.take(length)
    }
}

/// Bytes of a DECIMAL: nine digits take four, what is left over less.
fn decimal_length(meta: u16) -> usize {
    const LEFT_OVER: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let (precision, scale) = (usize::from(meta >> 8), usize::from(meta & 0xff));
    let digits = |n: usize| n / 9 * 4 + LEFT_OVER[n % 9];
    digits(precision.saturating_sub(scale)) + digits(scale)
}

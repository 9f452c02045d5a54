//! `.frm` files of MariaDB: what a table is, without the server.
//!
//! Written by MariaDB 10.2 to 11.8 (`build_frm_image` in its sql/unireg.cc, where the parts are described); views,
//! files of MySQL, and of older MariaDB, are refused by name. What a `.frm` does not say: foreign keys, which only InnoDB's
//! dictionary has, and where in the `.ibd` the indexes begin.
//! Invariant: bytes are taken to be hostile; lengths are checked before they are followed.

mod bytes;
mod collation;
mod columns;
mod create;
mod defaults;
mod keys;
mod layout;

#[cfg(test)]
mod tests;

use crate::read::Error;
use bytes::{Part, damaged, utf8};

pub use columns::{Column, Default, Generated, Visible};
pub use keys::{Key, KeyKind, KeyPart};

/// The header before all other parts (`FRM_HEADER_SIZE`).
const HEADER: usize = 64;
/// What is said of the columns as a whole, before them (`FRM_FORMINFO_SIZE`).
const FORM: usize = 288;
/// The oldest server whose files are read: before, virtual columns were written in another way.
const OLDEST: u32 = 100_200;

/// Parts of the second segment (`extra2_frm_value_type`).
mod extra {
    pub const PARTITION_ENGINE: u8 = 1;
    pub const APPLICATION_PERIOD: u8 = 3;
    pub const SYSTEM_TIME: u8 = 4;
    pub const INDEX_FLAGS: u8 = 5;
    /// Unknown ones from here on forbid to read the file.
    pub const IMPORTANT: u8 = 128;
    pub const OPTIONS: u8 = 128;
    pub const COLUMN_FLAGS: u8 = 129;
    pub const TYPES: u8 = 130;
    pub const WITHOUT_OVERLAPS: u8 = 131;
}

/// A table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frm {
    /// The server that wrote it: 101119 is 10.11.19.
    pub version: u32,
    /// The engine: `InnoDB`. Of a partitioned table, that of its partitions.
    pub engine: String,
    /// Of a partitioned table: `PARTITION BY …`.
    pub partitions: Option<String>,
    /// The default collation.
    pub collation: String,
    /// The row format as it was asked for: `DYNAMIC`; `None`: the server's default.
    pub row_format: Option<&'static str>,
    /// KEY_BLOCK_SIZE in KiB; 0: none.
    pub key_block_size: u16,
    /// Options of the engine by name, as they were written: `PAGE_COMPRESSED`, `encrypted` ([`Frm::option`]).
    pub options: Vec<(String, String)>,
    /// The comment.
    pub comment: String,
    /// All columns in the table's order, those included that the server added and a statement does not see.
    pub columns: Vec<Column>,
    /// Keys; the primary key is the first where there is one.
    pub keys: Vec<Key>,
    /// Of a system-versioned table: the places of the columns of row start and row end.
    pub system_time: Option<(usize, usize)>,
    /// Conditions of the table: name and expression.
    pub checks: Vec<(String, String)>,
    /// What the table has and this does not say.
    pub not_told: Vec<String>,
}

/// Options of the table as a whole, and what it says of columns by number.
#[derive(Default)]
struct Extra<'f> {
    engine: Option<&'f [u8]>,
    system_time: Option<(usize, usize)>,
    period: bool,
    index_flags: &'f [u8],
    options: Vec<(String, String)>,
    column_flags: &'f [u8],
    /// Names of types of plug-ins, by column.
    types: Vec<(usize, String)>,
}

impl Frm {
    /// An option of the engine, in whatever case it was written.
    pub fn option(&self, name: &str) -> Option<&str> {
        let named = self
            .options
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Reads a file.
    pub fn read(file: &[u8]) -> Result<Frm, Error> {
        let file = Part(file);
        if file.0.starts_with(b"TYPE=") {
            let what = "the .frm file of a view or a sequence in text";
            return Err(Error::Unsupported(what.into()));
        }
        if !file.0.starts_with(&[0xfe, 0x01]) {
            return Err(Error::Definition("not a .frm file".into()));
        }
        let header = file.part(0, HEADER)?;
        let version = header.u32(51)?;
        if version < OLDEST {
            let (a, b, c) = (version / 10_000, version / 100 % 100, version % 100);
            return Err(Error::Unsupported(format!(
                "a .frm file of version {a}.{b}.{c}"
            )));
        }
        let file = file.part(0, header.u32(10)? as usize)?;
        let extra_length = usize::from(header.u16(4)?);
        let extra = Extra::read(file.part(HEADER, extra_length)?)?;
        let keys_at = usize::from(header.u16(6)?);
        let keys_length = match header.u16(14)? {
            u16::MAX => header.u32(47)? as usize,
            length => length.into(),
        };
        let row_length = usize::from(header.u16(16)?);
        let row_at = keys_at + keys_length;
        let row = file.part(row_at, row_length)?;
        let mut tail = file.part(row_at + row_length, header.u32(55)? as usize & 0xffff)?;
        let form_at = file.u32(HEADER + extra_length)? as usize;
        let form = file.part(form_at, FORM)?;
        let collation = |id: u16| {
            collation::name(id).ok_or_else(|| Error::Unsupported(format!("collation number {id}")))
        };
        let table_collation = u16::from(header.u8(38)?) | u16::from(header.u8(41)?) << 8;
        let mut read = columns::read(file.from(form_at + FORM)?, form, &extra, version)?;
        // The first bit of a row says that it is there, unless rows are packed.
        let packed = header.u16(30)? & 1 == 1;
        let mut not_told = Vec::new();
        defaults::read(row, packed, &mut read.columns, &mut not_told);
        let (keys, parsers) = keys::read(
            file.part(keys_at, keys_length)?,
            extra.index_flags,
            &read.columns,
        )?;
        let connect = tail.take_u16()?;
        tail.take(connect.into())?;
        let length = tail.take_u16()?;
        let mut engine = utf8(tail.take(length.into())?);
        let length = tail.part(0, 4)?.u32(0)? as usize;
        tail.take(4)?;
        let partitions = utf8(tail.take(length)?);
        // A zero after it, and whether the server chose the partitions.
        tail.take(2)?;
        for _ in 0..parsers {
            tail.take_until(0)?;
            not_told.push("the parser of a full text key".to_owned());
        }
        let comment = match form.u8(46)? {
            255 => {
                let length = tail.take_u16()?;
                utf8(tail.take(length.into())?)
            }
            length => utf8(form.part(47, length.into())?.0),
        };
        if let Some(of_partitions) = extra.engine {
            engine = utf8(of_partitions);
        }
        if extra.period {
            not_told.push("an application-time period".to_owned());
        }
        if let Some((start, end)) = extra.system_time
            && start.max(end) >= read.columns.len()
        {
            return Err(damaged("system versioning of a column that is not there"));
        }
        Ok(Frm {
            version,
            engine,
            partitions: (length > 0).then(|| partitions.trim().to_owned()),
            collation: collation(table_collation)?,
            row_format: match header.u8(40)? {
                2 => Some("DYNAMIC"),
                3 => Some("COMPRESSED"),
                4 => Some("REDUNDANT"),
                5 => Some("COMPACT"),
                _ => None,
            },
            key_block_size: header.u16(62)?,
            options: extra.options,
            comment,
            columns: read.columns,
            keys,
            system_time: extra.system_time,
            checks: read.checks,
            not_told,
        })
    }
}

impl<'f> Extra<'f> {
    fn read(mut from: Part<'f>) -> Result<Extra<'f>, Error> {
        let mut all = Extra::default();
        while !from.0.is_empty() {
            let kind = from.take_u8()?;
            let length = match from.take_u8()? {
                0 => from.take_u16()?.into(),
                length => usize::from(length),
            };
            let mut part = Part(from.take(length)?);
            match kind {
                extra::PARTITION_ENGINE => all.engine = Some(part.0),
                extra::APPLICATION_PERIOD | extra::WITHOUT_OVERLAPS => all.period = true,
                extra::SYSTEM_TIME => {
                    all.system_time = Some((part.u16(0)?.into(), part.u16(2)?.into()));
                }
                extra::INDEX_FLAGS => all.index_flags = part.0,
                extra::COLUMN_FLAGS => all.column_flags = part.0,
                extra::OPTIONS => all.options = options(&mut part)?,
                extra::TYPES => {
                    while !part.0.is_empty() {
                        let column = part.take_length()?;
                        let length = part.take_length()?;
                        all.types.push((column, utf8(part.take(length)?)));
                    }
                }
                unknown if unknown >= extra::IMPORTANT => {
                    return Err(Error::Unsupported(format!("a .frm file with part {kind}")));
                }
                _ => {}
            }
        }
        Ok(all)
    }
}

/// Options of the table; those of columns and keys follow and are none of InnoDB's.
fn options(from: &mut Part<'_>) -> Result<Vec<(String, String)>, Error> {
    /// The value was in quotes (`FRM_QUOTED_VALUE`).
    const QUOTED: u16 = 0x8000;
    let mut all = Vec::new();
    while !from.0.is_empty() {
        let length = from.take_u8()?;
        if length == 0 {
            break;
        }
        let name = utf8(from.take(length.into())?);
        let length = from.take_u16()? & !QUOTED;
        all.push((name, utf8(from.take(length.into())?)));
    }
    Ok(all)
}

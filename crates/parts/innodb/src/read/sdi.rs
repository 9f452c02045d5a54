//! A table from the serialized dictionary information that MySQL keeps in its file (since 8.0).
//!
//! The information is in a B-tree of its own: JSON, compressed with zlib, a record for each table and one for the
//! tablespace (dict0sdi.h). Page 0 names its root. A partitioned table's is in the file of its first partition
//! only, and describes them all.

pub mod create;
mod definition;
mod kinds;
mod options;
mod partitions;
mod words;

use super::chain::{Chain, info};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves::Leaves;
use super::outside::Outside;
use super::record::{Found, Records};
use super::table::{Field, History, Index, Table};
use crate::page::index::LEVEL;
use crate::page::{fil, kind, u16_at, u32_at};
use serde_json::Value;
use std::io::Read;

/// Bytes of page 0 before the place of the root's number (`fsp_header_get_sdi_offset`): the header, extent descriptors (a
/// head, and two bits for each page), what is kept for encryption.
const HEAD: usize = 150;
const DESCRIPTOR: usize = 24;
const ENCRYPTION: usize = 115;

/// What records are of (`SDI` types: 1 a table, 2 a tablespace).
const OF_TABLE: u32 = 1;

/// Bytes of a description at most: a table of 4,096 columns with 65,535 members has less.
const LONGEST: u64 = 256 << 20;

/// The dictionary information of a file.
pub struct Sdi {
    tables: Vec<Value>,
}

impl Sdi {
    /// Reads it; empty where the file has none.
    pub fn read(space: &Tablespace<'_>) -> Result<Sdi, Error> {
        let mut tables = Vec::new();
        let Some(root) = root(space)? else {
            return Ok(Sdi { tables });
        };
        let index = index(root);
        let leaves = Leaves::of(space, &index, false)?;
        let mut window = Window::default();
        for leaf in &leaves.all {
            let page = space.page(&mut window, leaf.page)?;
            of_page(space, &index, leaf.page, page, &mut tables)?;
        }
        Ok(Sdi { tables })
    }

    /// The information that these descriptions are.
    pub fn of(tables: Vec<Value>) -> Sdi {
        Sdi { tables }
    }

    /// Reads what whole pages have of it, for a file whose first page or whose tree is damaged.
    pub fn salvage(space: &Tablespace<'_>) -> Result<Sdi, Error> {
        let mut tables = Vec::new();
        let index = index(0);
        let mut window = Window::default();
        for number in 0..space.pages() {
            let page = match space.page(&mut window, number) {
                Ok(page) => page,
                Err(Error::Io(e)) => return Err(e.into()),
                Err(_) => continue,
            };
            let is_leaf = u16_at(page, fil::TYPE) == kind::SDI && u16_at(page, LEVEL) == 0;
            if is_leaf && let Err(Error::Io(e)) = of_page(space, &index, number, page, &mut tables)
            {
                return Err(e.into());
            }
        }
        Ok(Sdi { tables })
    }

    /// The descriptions as they are in the file, of tables only.
    pub fn json(&self) -> &[Value] {
        &self.tables
    }

    /// What each description is of, with the statement that makes the table again, in the order of [`Sdi::json`].
    pub fn created(&self) -> Vec<create::Created> {
        self.tables.iter().map(create::table).collect()
    }

    /// The table of one description, or the partition of it, that the tablespace with this number holds.
    pub fn nth(&self, n: usize, space: u32) -> Option<Result<Table, Error>> {
        definition::table(self.tables.get(n)?, space).transpose()
    }

    /// The number of the index that holds its rows there.
    pub fn index_id(&self, n: usize, space: u32) -> Option<u64> {
        definition::index_id(self.tables.get(n)?, space)
    }

    /// The table, or the partition of it, that the tablespace with this number holds; `None`: another file's.
    pub fn table(&self, space: u32) -> Option<Result<Table, Error>> {
        self.tables
            .iter()
            .find_map(|json| definition::table(json, space).transpose())
    }
}

/// Adds the descriptions of tables on a leaf.
fn of_page(
    space: &Tablespace<'_>,
    index: &Index,
    number: u32,
    page: &[u8],
    tables: &mut Vec<Value>,
) -> Result<(), Error> {
    let records = Records::of(index, false);
    let mut spans = records.spans();
    let mut packed = Vec::new();
    let damaged = |why| Error::damaged(number, why);
    let mut chain = Chain::of(page);
    while let Some(at) = chain.next().map_err(damaged)? {
        if chain.info(at) & info::DELETED != 0 {
            continue;
        }
        records.leaf(page, at, &mut spans).map_err(damaged)?;
        if at + 4 > page.len() || u32_at(page, at) != OF_TABLE {
            continue;
        }
        let Found::Whole(length) = spans[4].of(page) else {
            return Err(damaged("a table's description has no length"));
        };
        let length = u64::from(u32_at(length, 0));
        if length > LONGEST {
            return Err(damaged("a table's description is longer than any"));
        }
        packed.clear();
        match spans[6].of(page) {
            Found::Whole(bytes) => packed.extend_from_slice(bytes),
            Found::Outside(local) => Outside::default().value(space, number, local, &mut packed)?,
            _ => return Err(damaged("a table's description is missing")),
        }
        let mut json = Vec::new();
        // zlib makes at most 1032 bytes of one.
        let most = length.min(packed.len() as u64 * 1032);
        let read = flate2::read::ZlibDecoder::new(&packed[..])
            .take(most)
            .read_to_end(&mut json);
        let value = match read {
            Ok(_) if json.len() as u64 == length => serde_json::from_slice(&json).ok(),
            _ => None,
        };
        tables.push(value.ok_or_else(|| damaged("a table's description is no JSON"))?);
    }
    Ok(())
}

/// The page that page 0 names as root.
fn root(space: &Tablespace<'_>) -> Result<Option<u32>, Error> {
    if space.flags & 0x4000 == 0 || space.server() != Some(super::types::Server::MySql) {
        return Ok(None);
    }
    // As many extent descriptors as a page of this size has.
    let size = space.page_size();
    let in_extent = (1 << 20) / size.min(1 << 14);
    let descriptor = DESCRIPTOR + in_extent / 4;
    let at = HEAD + descriptor * (size / in_extent) + ENCRYPTION;
    let mut window = Window::default();
    let page = space.page(&mut window, 0)?;
    // A version, and the page.
    Ok((u32_at(page, at) == 1).then(|| u32_at(page, at + 4)))
}

/// The records (dict0dict.cc, `dict_sdi_create_idx_in_mem`): type, id, lengths of the text and of its compressed form, that.
fn index(root: u32) -> Index {
    let fixed = |n| Field {
        fixed: Some(n),
        ..Field::default()
    };
    let data = Field {
        big: true,
        ..Field::default()
    };
    Index {
        name: "SDI".into(),
        root,
        fields: vec![
            fixed(4),
            fixed(8),
            fixed(6),
            fixed(7),
            fixed(4),
            fixed(4),
            data,
        ],
        branch: 2,
        history: History::Same,
    }
}

/// The number of a `key=value;` list, as the dictionary writes options and private data.
fn private<'j>(text: &'j str, key: &str) -> Option<&'j str> {
    let mut pairs = text.split(';').filter_map(|p| p.split_once('='));
    pairs.find(|(k, _)| *k == key).map(|(_, v)| v)
}

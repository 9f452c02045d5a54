//! A table of MariaDB from its definition alone: columns and keys in the order of the `.frm` file or of CREATE TABLE.
//!
//! The order of fields in records is derived as InnoDB derives it (`dict_index_build_internal_clust`, dict0dict.cc):
//! the key, the columns of the system, all other columns that are in rows. What an instant ALTER changed is in
//! the file. Where the other indexes have their roots is in MariaDB's dictionary only, so they are not read.

use super::error::Error;
use super::file::Tablespace;
use super::instant;
use super::prefix::Cut;
use super::secondary;
use super::table::{Column, Field, History, Index, Table, Values};
use super::types::Server;
use crate::page::index;

/// Where the first index of a file has its root, which is the one of the rows.
pub const ROOT: u32 = 3;

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The table's name.
    pub name: String,
    /// All columns in their order, virtual and invisible ones too.
    pub columns: Vec<Defined>,
    /// All keys in their order; of those that are not unique only the kind and the name matter.
    pub keys: Vec<Key>,
}

/// A column of a definition.
#[derive(Clone, Debug)]
pub struct Defined {
    /// Its name and type.
    pub column: Column,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Its character set; `None`: no text.
    pub charset: Option<String>,
}

/// A key of a definition.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name; that of the primary key is `PRIMARY`.
    pub name: String,
    /// What it is.
    pub kind: KeyKind,
    /// The places of its columns, and for each how many bytes of it are in the key; 0: all.
    pub parts: Vec<(usize, u32)>,
}

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The primary key.
    Primary,
    /// A unique one.
    Unique,
    /// Any other one, but for those that follow.
    Plain,
    /// FULLTEXT.
    FullText,
    /// SPATIAL.
    Spatial,
}

/// Makes the table, and completes it by what its file says of instant ALTERs.
pub fn table(space: &Tablespace<'_>, of: &Definition) -> Result<Table, Error> {
    let mut window = Default::default();
    let redundant = index::is_redundant(space.page(&mut window, ROOT)?);
    let mut table = layout(of, ROOT, redundant)?;
    instant::apply(space, &mut table)?;
    Ok(table)
}

/// The table as it is where no ALTER was instant; `root` is the page where the index of its rows begins.
pub fn layout(of: &Definition, root: u32, redundant: bool) -> Result<Table, Error> {
    let name = &of.name;
    // Columns in rows, numbered as InnoDB does.
    let mut fields: Vec<Option<Field>> = Vec::new();
    let mut stored = 0;
    for (place, defined) in of.columns.iter().enumerate() {
        let column = &defined.column;
        let of = match &column.values {
            Values::Virtual => {
                fields.push(None);
                continue;
            }
            Values::Unread(why) => {
                return Err(Error::Unsupported(format!(
                    "column {}, {why},",
                    column.name
                )));
            }
            Values::Stored(of) => of,
        };
        fields.push(Some(Field {
            column: Some(place),
            stored: Some(stored),
            fixed: of.fixed(),
            nullable: defined.nullable,
            big: of.is_big(),
            cut: Cut::of(defined.charset.as_deref()),
            ..Field::default()
        }));
        stored += 1;
    }
    let fixed = |stored: usize, bytes| Field {
        stored: Some(stored),
        fixed: Some(bytes),
        ..Field::default()
    };
    // A full text index needs a number of each row, a column that is made where it is not there.
    let is_full_text = |k: &Key| k.kind == KeyKind::FullText;
    let has_number = of.columns.iter().any(|c| c.column.name == "FTS_DOC_ID");
    if of.keys.iter().any(is_full_text) && !has_number {
        fields.push(Some(fixed(stored, 8)));
        stored += 1;
    }
    let key = key_of_rows(of);
    let mut all = Vec::new();
    match key {
        Some(key) => {
            for (place, prefix) in &key.parts {
                let field = fields.get(*place).cloned().flatten();
                let field = field.ok_or_else(|| {
                    Error::Definition(format!(
                        "the key of table {name} is on a column that rows lack"
                    ))
                })?;
                all.push(secondary::cut(field, *prefix));
            }
        }
        None => all.push(fixed(stored, 6)),
    }
    let branch = all.len();
    all.extend([fixed(stored + 1, 6), fixed(stored + 2, 7)]);
    for field in fields.into_iter().flatten() {
        let is_whole = |f: &Field| f.prefix == 0 && f.stored == field.stored;
        if !all[..branch].iter().any(is_whole) {
            all.push(field);
        }
    }
    let others = of
        .keys
        .iter()
        .filter(|k| !key.is_some_and(|key| std::ptr::eq(key, *k)));
    let unread = others.map(|k| {
        let why = match k.kind {
            KeyKind::FullText => "a full text index",
            KeyKind::Spatial => "a spatial index",
            _ => "its root page is not known",
        };
        (k.name.clone(), why.to_owned())
    });
    Ok(Table {
        name: name.clone(),
        server: Server::MariaDb,
        redundant,
        clustered: Index {
            name: key.map_or("GEN_CLUST_INDEX", |k| &k.name).to_owned(),
            root,
            fields: all,
            branch,
            history: History::Same,
        },
        secondary: Vec::new(),
        unread: unread.collect(),
        columns: of.columns.iter().map(|c| c.column.clone()).collect(),
    })
}

/// Another index of a table, whose root page is known from the server's dictionary; the error says why it is not read.
pub fn secondary(table: &Table, key: &Key, root: u32) -> Result<Index, Error> {
    let part = |(place, prefix): &(usize, u32)| {
        let field = table
            .field(*place)
            .map(|n| table.clustered.fields[n].clone());
        let field = field.ok_or_else(|| {
            Error::Unsupported(format!("index {}, on a column that rows lack,", key.name))
        })?;
        Ok(secondary::cut(field, *prefix))
    };
    let fields = key.parts.iter().map(part).collect::<Result<_, Error>>()?;
    let name = key.name.clone();
    Ok(secondary::index(name, root, fields, &table.clustered))
}

/// The primary key, or the first unique one of whole columns that are never NULL, which takes its place.
fn key_of_rows(of: &Definition) -> Option<&Key> {
    let can = |k: &&Key| {
        let never_null = |(place, prefix): &(usize, u32)| {
            let column = of.columns.get(*place);
            *prefix == 0
                && column
                    .is_some_and(|c| !c.nullable && !matches!(c.column.values, Values::Virtual))
        };
        k.kind == KeyKind::Unique && k.parts.iter().all(never_null)
    };
    let primary = of.keys.iter().find(|k| k.kind == KeyKind::Primary);
    primary.or_else(|| of.keys.iter().find(can))
}

//! A table's description in JSON, made into what the reader needs.

use super::kinds::{self, Storage, is_of_system};
use super::private;
use crate::read::error::Error;
use crate::read::prefix::Cut;
use crate::read::secondary::{self, Key};
use crate::read::table::{Absent, Column, Field, History, Index, Table, Values};
use crate::read::types::{Server, Type};
use serde_json::Value;
use values::collations;

/// `dd::Table::RF_REDUNDANT`.
const REDUNDANT: u64 = 4;

/// Types of an index (`dd::Index::enum_index_type`).
const FULL_TEXT: u64 = 4;
const SPATIAL: u64 = 5;

/// Columns of the engine that are not counted.
const SYSTEM: [&str; 3] = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"];

/// What an element says whose index holds all of the column.
const WHOLE: u64 = u32::MAX as u64;

/// More versions of rows than MySQL makes (`MAX_ROW_VERSION`).
const MOST_VERSIONS: u8 = 64;

/// Makes it for the part of the table that a tablespace holds; `None`: it holds none.
pub(super) fn table(json: &Value, space: u32) -> Result<Option<Table>, Error> {
    let object = &json["dd_object"];
    let name = object["name"].as_str().unwrap_or("");
    let broken = |what: &str| Error::Definition(format!("the description of table {name}: {what}"));
    let list = |key: &str| object[key].as_array().map_or(&[][..], Vec::as_slice);
    let Some(places) = roots(object, space) else {
        return Ok(None);
    };
    let all = list("columns");
    let storages: Vec<Option<Storage>> = all.iter().map(kinds::storage).collect();
    let columns: Vec<(usize, Column)> = (0..)
        .zip(all)
        .filter(|(_, c)| !is_of_system(c))
        .map(|(n, c)| (n, column(c)))
        .collect();
    let place = |n: usize| columns.iter().position(|c| c.0 == n);
    let field = |n: usize| -> Result<Field, Error> {
        let json = all
            .get(n)
            .ok_or_else(|| broken("an index has a column that is not there"))?;
        let storage = storages[n].ok_or_else(|| broken("the type of a column is not known"))?;
        let data = json["se_private_data"].as_str().unwrap_or("");
        let version = |key: &str| -> Result<Option<u8>, Error> {
            let number = private(data, key).map(|v| v.parse().ok().filter(|v| *v <= MOST_VERSIONS));
            number
                .map(|v| v.ok_or_else(|| broken("a version of its rows is no number")))
                .transpose()
        };
        let absent = match private(data, "default") {
            Some(hex) => {
                Absent::Bytes(bytes(hex).ok_or_else(|| broken("a default is not hexadecimal"))?)
            }
            None if private(data, "default_null").is_some() => Absent::Null,
            None => Absent::Never,
        };
        Ok(Field {
            column: place(n),
            stored: Some(n),
            fixed: storage.fixed,
            nullable: json["is_nullable"] == true,
            big: storage.big,
            prefix: 0,
            cut: Cut::of(collations::charset(
                json["collation_id"].as_u64().unwrap_or(0) as u32,
            )),
            added: version("version_added")?.unwrap_or(0),
            dropped: version("version_dropped")?,
            absent,
        })
    };
    let indexes = list("indexes");
    let (first, others) = indexes
        .split_first()
        .ok_or_else(|| broken("it has no index"))?;
    let root = |n: usize| places.get(n).copied().flatten();
    let is_virtual = |n: usize| all.get(n).is_some_and(|c| c["is_virtual"] == true);
    // The key, by its elements that are not hidden; where all are, the row's own number, the first one.
    let key = |index: &Value| -> Result<Vec<Key>, Error> {
        let of = index["elements"].as_array().map_or(&[][..], Vec::as_slice);
        let shown: Vec<&Value> = of.iter().filter(|e| e["hidden"] != true).collect();
        let shown = if shown.is_empty() {
            of.iter().take(1).collect()
        } else {
            shown
        };
        let key = shown.into_iter().map(|e| {
            let n = e["column_opx"].as_u64().unwrap_or(u64::MAX) as usize;
            let storage = storages.get(n).copied().flatten();
            let storage =
                storage.ok_or_else(|| broken("an index has a column that is not there"))?;
            let length = e["length"].as_u64().unwrap_or(WHOLE);
            let whole = length == WHOLE || !storage.cut || length == u64::from(storage.length);
            Ok(Key {
                column: n,
                prefix: if whole { 0 } else { length as u32 },
            })
        });
        key.collect()
    };
    let key_of_rows = key(first)?;
    let mut fields: Vec<Field> = Vec::new();
    for k in &key_of_rows {
        fields.push(secondary::cut(field(k.column)?, k.prefix));
    }
    // Behind the key: the system's columns, then the others; where columns came or went, each says its place.
    let in_key = |n: usize| key_of_rows.iter().any(|k| k.column == n && k.prefix == 0);
    let mut rest: Vec<(u64, usize)> = Vec::new();
    let elements = first["elements"].as_array().map_or(&[][..], Vec::as_slice);
    let of_elements = elements.iter().filter_map(|e| e["column_opx"].as_u64());
    let is_dropped = |c: &Value| {
        let data = c["se_private_data"].as_str().unwrap_or("");
        private(data, "version_dropped").is_some()
    };
    let dropped = (0..all.len()).filter(|n| is_dropped(&all[*n]));
    for (order, n) in (0u64..).zip(
        of_elements
            .map(|n| n as usize)
            .skip(key_of_rows.len())
            .chain(dropped),
    ) {
        if in_key(n) || rest.iter().any(|r| r.1 == n) {
            continue;
        }
        let data = all
            .get(n)
            .and_then(|c| c["se_private_data"].as_str())
            .unwrap_or("");
        let place = private(data, "physical_pos").and_then(|p| p.parse().ok());
        rest.push((place.unwrap_or(order), n));
    }
    rest.sort_unstable();
    for (_, n) in rest {
        fields.push(field(n)?);
    }
    let versions = fields
        .iter()
        .flat_map(|f| [Some(f.added), f.dropped])
        .flatten()
        .max();
    let data = object["se_private_data"].as_str().unwrap_or("");
    // 8.0.12 to 8.0.28: how many columns there were before the first one that was added instantly, of those in rows
    // and not of the system.
    let counted = private(data, "instant_col").and_then(|n| n.parse::<usize>().ok());
    let is_counted = |c: &&Value| {
        let data = c["se_private_data"].as_str().unwrap_or("");
        let name = c["name"].as_str().unwrap_or("");
        c["is_virtual"] != true
            && private(data, "version_added").is_none()
            && !(is_of_system(c) && SYSTEM.contains(&name))
    };
    let countable = all.iter().filter(is_counted).count();
    let history = match (versions.unwrap_or(0), counted) {
        (0, None) => History::Same,
        (versions, counted) => {
            let at_first = fields.iter().filter(|f| f.added == 0).count();
            let first = counted.map_or(at_first, |n| {
                at_first.saturating_sub(countable.saturating_sub(n))
            });
            History::MySql { first, versions }
        }
    };
    let clustered = Index {
        name: first["name"].as_str().unwrap_or("").to_owned(),
        root: root(0).ok_or_else(|| broken("the index of its rows has no root"))?,
        branch: key_of_rows.len(),
        fields,
        history,
    };
    let mut others_read = Vec::new();
    let mut unread = Vec::new();
    for (n, index) in (1..).zip(others) {
        let name = index["name"].as_str().unwrap_or("").to_owned();
        let key = key(index)?;
        match (index["type"].as_u64(), root(n)) {
            (Some(FULL_TEXT), _) => unread.push((name, "a full text index".into())),
            (Some(SPATIAL), _) => unread.push((name, "a spatial index".into())),
            _ if key.iter().any(|k| is_virtual(k.column)) => {
                unread.push((name, "an index on virtual columns".into()));
            }
            (_, None) => unread.push((name, "an index without a root".into())),
            (_, Some(root)) => {
                let own = key
                    .iter()
                    .map(|k| Ok(secondary::cut(field(k.column)?, k.prefix)));
                let own = own.collect::<Result<Vec<Field>, Error>>()?;
                others_read.push(secondary::index(name, root, own, &clustered));
            }
        }
    }
    Ok(Some(Table {
        name: name.to_owned(),
        server: Server::MySql,
        redundant: object["row_format"].as_u64() == Some(REDUNDANT),
        columns: columns.into_iter().map(|c| c.1).collect(),
        clustered,
        secondary: others_read,
        unread,
    }))
}

/// The number of the first index in this tablespace, which holds the rows.
pub(super) fn index_id(json: &Value, space: u32) -> Option<u64> {
    places(&json["dd_object"], space, "id")?
        .first()
        .copied()
        .flatten()
}

/// The roots of the indexes in this tablespace, by their place in the table's list.
fn roots(object: &Value, space: u32) -> Option<Vec<Option<u32>>> {
    let all = places(object, space, "root")?.into_iter();
    let root = |r: Option<u64>| r.and_then(|r| u32::try_from(r).ok());
    Some(all.map(|r| root(r).filter(|r| *r != u32::MAX)).collect())
}

/// A number of each index in this tablespace, by their place in the table's list.
fn places(object: &Value, space: u32, key: &str) -> Option<Vec<Option<u64>>> {
    let of = |owner: &Value, by_place: bool| {
        let mut roots = Vec::new();
        let mut is_here = false;
        for (n, index) in owner["indexes"].as_array()?.iter().enumerate() {
            let data = index["se_private_data"].as_str().unwrap_or("");
            let number = |key| private(data, key).and_then(|v| v.parse::<u64>().ok());
            let here = number("space_id") == Some(space.into());
            is_here |= here;
            let place = if by_place {
                index["index_opx"].as_u64()? as usize
            } else {
                n
            };
            if place > 100 {
                return None;
            }
            roots.resize(roots.len().max(place + 1), None);
            roots[place] = number(key).filter(|_| here);
        }
        is_here.then_some(roots)
    };
    of(object, false).or_else(|| {
        let partitions = object["partitions"].as_array()?;
        partitions.iter().find_map(|p| {
            let parts = p["subpartitions"].as_array();
            of(p, true).or_else(|| parts?.iter().find_map(|s| of(s, true)))
        })
    })
}

fn column(json: &Value) -> Column {
    let text = |key: &str| json[key].as_str().unwrap_or("");
    let collation = json["collation_id"].as_u64().unwrap_or(0) as u32;
    let charset = collations::charset(collation);
    let values = if json["is_virtual"] == true {
        Values::Virtual
    } else {
        match Type::of(
            text("column_type_utf8"),
            charset,
            members(json),
            Server::MySql,
        ) {
            Ok(of) => Values::Stored(of),
            Err(why) => Values::Unread(why.to_string()),
        }
    };
    Column {
        name: text("name").to_owned(),
        values,
        // Of the engine or of the server (`HT_HIDDEN_SE`, `HT_HIDDEN_SQL`); 1 is visible, 4 invisible by the user.
        hidden: matches!(json["hidden"].as_u64(), Some(2 | 3)),
    }
}

/// Members of ENUM and SET as they are stored in the dictionary: in the column's character set.
fn members(json: &Value) -> Option<Vec<Vec<u8>>> {
    let elements = json["elements"].as_array().filter(|e| !e.is_empty())?;
    let one = |e: &Value| super::kinds::base64(e["name"].as_str()?);
    elements.iter().map(one).collect()
}

/// Bytes in hexadecimal.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |d: u8| (d as char).to_digit(16).map(|d| d as u8);
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|p| Some(digit(p[0])? << 4 | digit(*p.get(1)?)?))
        .collect()
}

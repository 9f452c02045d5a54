//! What MariaDB's instant ALTER TABLE left in a file: which fields old records have, the values of those they lack, and
//! where columns are that were dropped or moved.
//!
//! The root page says how many fields there were at first (`PAGE_INSTANT`, page0page.h). The first record of the
//! first leaf has the values of the columns that were added since (MariaDB 10.3), and a BLOB that lists the fields
//! where columns were dropped or moved (10.4; `dict_table_t::deserialise_columns`, dict0mem.cc).

use super::chain::{Chain, info};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves::Leaves;
use super::outside::Outside;
use super::record::{Found, REFERENCE, Records, old_end};
use super::table::{Absent, Field, History, Index, Table};
use super::types::Server;
use crate::page::{fil, index, kind, u16_at, u32_at};

/// `DB_TRX_ID` and `DB_ROLL_PTR`, in number and in bytes; they follow the key.
const SYSTEM: usize = 2;
const SYSTEM_BYTES: usize = 13;

/// Where infimum and supremum have their names: COMPACT, REDUNDANT.
const FRAMES: [[usize; 2]; 2] = [[index::INFIMUM, index::SUPREMUM], [101, 116]];

/// A file whose first record was not written: the ALTER was not committed.
const UNDONE: &str = "the table was being altered";

/// Completes a table of MariaDB by what its file says; one that was never altered instantly stays as it is.
pub fn apply(space: &Tablespace<'_>, table: &mut Table) -> Result<(), Error> {
    if table.server != Server::MariaDb {
        return Ok(());
    }
    let clustered = &table.clustered;
    let number = clustered.root;
    let mut window = Window::default();
    let root = space.page(&mut window, number)?;
    if u16_at(root, fil::TYPE) != kind::INSTANT {
        return Ok(());
    }
    let damaged = |what: &str| Error::damaged(number, what);
    let core = usize::from(u16_at(root, index::DIRECTION) >> 3);
    if core < clustered.branch + SYSTEM {
        return Err(damaged("it says that rows had no fields at first"));
    }
    let nullable = |fields: &[Field]| {
        let first = &fields[..core.min(fields.len())];
        first.iter().filter(|f| f.nullable).count().div_ceil(8)
    };
    let [infimum, supremum] = FRAMES[usize::from(table.redundant)];
    let has_names =
        &root[infimum..infimum + 8] == b"infimum\0" && &root[supremum..supremum + 8] == b"supremum";
    // Else the names are overwritten, and the last byte of the second one is the number.
    let core_nulls = if has_names {
        nullable(&clustered.fields)
    } else {
        usize::from(root[supremum + 7])
    };
    let mut known = Index {
        history: History::MariaDb { core, core_nulls },
        ..clustered.clone()
    };
    let number = Leaves::first(space, &known, table.redundant)?;
    let page = space.page(&mut window, number)?.to_vec();
    let damaged = |what: &str| Error::damaged(number, what);
    let mut chain = Chain::of(&page);
    let first = chain.next().map_err(damaged)?;
    let flags = first.map_or(0, |at| chain.info(at));
    let Some(at) = first.filter(|_| flags & info::LEAST != 0) else {
        // The header was changed, the transaction never finished.
        return if core == known.fields.len() {
            Ok(())
        } else {
            Err(damaged(UNDONE))
        };
    };
    let mut outside = Outside::default();
    let has_list = flags & info::DELETED != 0;
    let first_user = clustered.branch + SYSTEM;
    if has_list {
        let at = if table.redundant {
            at + old_end(&page, at, 6, first_user - 1).map_err(damaged)?.0
        } else {
            // Fields of the key that have no fixed length have none at all here.
            let key = &clustered.fields[..clustered.branch];
            at + key.iter().filter_map(|f| f.fixed).sum::<usize>() + SYSTEM_BYTES
        };
        let reference = page.get(at..at + REFERENCE);
        let reference = reference.ok_or_else(|| damaged("the list of its fields is not there"))?;
        let mut list = Vec::new();
        outside.value(space, number, reference, &mut list)?;
        known.fields = reorder(&clustered.fields, first_user, &list)
            .ok_or_else(|| damaged("the list of its fields is not one of this table"))?;
        known.history = History::MariaDb {
            core,
            core_nulls: nullable(&known.fields),
        };
    }
    if core > known.fields.len() {
        return Err(damaged("rows had more fields at first than the table has"));
    }
    // The record has the list's reference as a field besides.
    let mut with_list = known.clone();
    if has_list {
        let reference = Field {
            fixed: Some(REFERENCE),
            ..Field::default()
        };
        with_list.fields.insert(first_user, reference);
    }
    let records = Records::of(&with_list, table.redundant);
    let mut spans = records.spans();
    records
        .leaf(&page, at, &mut spans)
        .map_err(|why| damaged(&format!("what it says of an instant ALTER {why}")))?;
    for n in core..known.fields.len() {
        known.fields[n].absent = match spans[n + usize::from(has_list)].of(&page) {
            Found::Null => Absent::Null,
            Found::Whole(bytes) => Absent::Bytes(bytes.to_vec()),
            Found::Outside(local) => {
                let mut value = Vec::new();
                outside.value(space, number, local, &mut value)?;
                Absent::Bytes(value)
            }
            Found::Absent => return Err(damaged(UNDONE)),
        };
    }
    table.clustered = known;
    Ok(())
}

/// The fields after the key in the order of the list: numbers of columns, or what is left of a dropped one.
fn reorder(fields: &[Field], first_user: usize, list: &[u8]) -> Option<Vec<Field>> {
    let (count, list) = list.split_at_checked(4)?;
    let count = u32_at(count, 0) as usize;
    if list.len() != count.checked_mul(2)? || fields.len() < first_user {
        return None;
    }
    let mut all = fields[..first_user].to_vec();
    for entry in list.chunks_exact(2) {
        let entry = u16_at(entry, 0);
        let number = usize::from(entry & 0x3fff);
        all.push(if entry & 0x8000 != 0 {
            Field {
                // One more than the length; 1: none, and long values.
                fixed: (number > 1).then(|| number - 1),
                big: number == 1,
                nullable: entry & 0x4000 == 0,
                dropped: Some(0),
                ..Field::default()
            }
        } else {
            let is = |f: &&Field| f.stored == Some(number) && f.prefix == 0;
            fields[first_user..].iter().find(is)?.clone()
        });
    }
    Some(all)
}

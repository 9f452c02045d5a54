//! How the rows of a `.frm` file's table lie.

use super::Frm;
use super::columns::{Column, Visible};
use super::keys::{Key, KeyKind};
use crate::read::mariadb::{self, Defined, Definition};
use crate::read::{self, Values};
use values::charset::Charset;

impl Frm {
    /// The definition for [`mariadb::table`].
    pub fn definition(&self, table: &str) -> Definition {
        Definition {
            name: table.to_owned(),
            columns: self.columns.iter().map(defined).collect(),
            keys: self.keys.iter().map(|k| self.key_of(k)).collect(),
        }
    }

    fn key_of(&self, key: &Key) -> mariadb::Key {
        let parts = key.parts.iter().map(|p| {
            let column = self.columns.get(p.column);
            let set = column.and_then(Column::charset).and_then(Charset::of);
            let widest = set.map_or(1, |set| usize::from(set.most));
            (p.column, p.prefix.map_or(0, |n| (n * widest) as u32))
        });
        mariadb::Key {
            name: key.name.clone(),
            kind: match key.kind {
                KeyKind::Primary => mariadb::KeyKind::Primary,
                KeyKind::Unique => mariadb::KeyKind::Unique,
                KeyKind::FullText => mariadb::KeyKind::FullText,
                KeyKind::Spatial => mariadb::KeyKind::Spatial,
                KeyKind::Plain | KeyKind::UniqueHash | KeyKind::Vector => mariadb::KeyKind::Plain,
            },
            parts: parts.collect(),
        }
    }
}

fn defined(column: &Column) -> Defined {
    let is_virtual = column.generated.as_ref().is_some_and(|g| !g.stored);
    let values = if is_virtual {
        Values::Virtual
    } else {
        match column.stored_as() {
            Ok(of) => Values::Stored(of),
            Err(why) => Values::Unread(why.to_string()),
        }
    };
    Defined {
        column: read::Column {
            name: column.name.clone(),
            values,
            hidden: matches!(column.visible, Visible::System | Visible::No),
        },
        nullable: column.nullable,
        charset: column.charset().map(str::to_owned),
    }
}

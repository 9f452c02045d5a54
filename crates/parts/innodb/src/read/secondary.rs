//! The fields of a secondary index: its key, then what it lacks of the key of rows (`dict_index_build_internal_non_clust`).

use super::table::{Field, History, Index};

/// A part of a key, as a table's definition has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The place of the column.
    pub(super) column: usize,
    /// Bytes at most that the index holds; 0: all.
    pub(super) prefix: u32,
}

/// A field that holds only so many bytes of its column; 0: all.
pub(super) fn cut(field: Field, prefix: u32) -> Field {
    match prefix {
        0 => field,
        prefix => Field {
            fixed: field.fixed.map(|n| n.min(prefix as usize)),
            prefix,
            ..field
        },
    }
}

/// An index with this key, beside the rows' own.
pub(super) fn index(name: String, root: u32, key: Vec<Field>, clustered: &Index) -> Index {
    let strip = |f: Field| Field {
        added: 0,
        dropped: None,
        absent: Default::default(),
        ..f
    };
    let mut fields: Vec<Field> = key.into_iter().map(strip).collect();
    let own = fields.len();
    for f in &clustered.fields[..clustered.branch] {
        let has = |o: &Field| o.prefix == 0 && o.stored == f.stored;
        if !fields[..own].iter().any(has) {
            fields.push(strip(f.clone()));
        }
    }
    Index {
        name,
        root,
        branch: fields.len(),
        fields,
        history: History::Same,
    }
}

//! Keys, and which of them a table can be walked along in pieces.

use super::Table;

/// An index of any sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Its name; `PRIMARY` for the primary key.
    pub name: String,
    /// Whether no two rows may have the same values (NULLs apart).
    pub unique: bool,
    /// Whether it is the primary key.
    pub primary: bool,
    /// Whether the optimiser may use it.
    pub visible: bool,
    /// `BTREE`, `HASH`, `FULLTEXT`, `SPATIAL`, …
    pub index_type: String,
    /// In order.
    pub parts: Vec<KeyPart>,
}

/// One part of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPart {
    /// The column; `None` for an expression.
    pub column: Option<String>,
    /// Only so many characters or bytes of it are indexed.
    pub prefix: Option<u32>,
    /// Whether it runs downwards.
    pub descending: bool,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it is an expression.
    pub expression: bool,
}

impl Key {
    /// Names of its columns; expressions are left out.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|p| p.column.as_deref())
    }

    /// Whether a part may be NULL.
    pub fn nullable(&self) -> bool {
        self.parts.iter().any(|p| p.nullable)
    }
}

/// The key along which a table can be read in ranges that meet each row once:
/// the primary key, else a unique key that forbids NULL, else a unique key that
/// allows it (rows with NULL then need a range of their own).
///
/// Left out are keys that order or compare otherwise than a range condition
/// would: prefixes and expressions; hash, full-text and spatial indexes; keys
/// the optimiser may not use. ENUM and SET are ordered by number and FLOAT is
/// not equal to its own decimal text, so whoever cuts by them has to ask for
/// the number, and for the widened value.
/// Among keys of one rank the one with fewest columns that are not integers
/// wins, then the one with fewest columns, then the first by name.
pub fn chunk_key(table: &Table) -> Option<&Key> {
    table
        .keys
        .iter()
        .filter(|k| k.unique && usable(table, k))
        .min_by_key(|k| {
            let rank = match (k.primary, k.nullable()) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => 2,
            };
            let awkward = k
                .columns()
                .filter(|c| !table.column(c).is_some_and(super::Column::is_integer))
                .count();
            (rank, awkward, k.parts.len(), &k.name)
        })
}

fn usable(table: &Table, key: &Key) -> bool {
    key.index_type.eq_ignore_ascii_case("BTREE")
        && (key.visible || key.primary)
        && !key.parts.is_empty()
        && key.parts.iter().all(|part| {
            let column = part.column.as_deref().and_then(|c| table.column(c));
            part.prefix.is_none() && !part.expression && column.is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    fn table(columns: &[(&str, &str, bool)], keys: &[(&str, &[&str])]) -> Table {
        let columns: Vec<Column> = columns
            .iter()
            .map(|(name, data_type, nullable)| Column {
                name: (*name).into(),
                data_type: (*data_type).into(),
                nullable: *nullable,
                ..Column::default()
            })
            .collect();
        let keys = keys
            .iter()
            .map(|(name, parts)| Key {
                name: (*name).into(),
                unique: true,
                primary: *name == "PRIMARY",
                visible: true,
                index_type: "BTREE".into(),
                parts: parts
                    .iter()
                    .map(|p| KeyPart {
                        column: Some((*p).into()),
                        nullable: columns.iter().any(|c| c.name == *p && c.nullable),
                        ..KeyPart::default()
                    })
                    .collect(),
            })
            .collect();
        Table {
            columns,
            keys,
            ..Table::default()
        }
    }

    const COLUMNS: &[(&str, &str, bool)] = &[
        ("i", "int", false),
        ("j", "bigint", false),
        ("n", "int", true),
        ("s", "varchar", false),
        ("e", "enum", false),
        ("f", "float", false),
    ];

    fn chosen(keys: &[(&str, &[&str])]) -> Option<String> {
        chunk_key(&table(COLUMNS, keys)).map(|k| k.name.clone())
    }

    #[test]
    fn the_best_key_is_chosen() {
        assert_eq!(
            chosen(&[("a", &["i"]), ("PRIMARY", &["s", "i"])]).as_deref(),
            Some("PRIMARY")
        );
        assert_eq!(
            chosen(&[("a", &["n"]), ("b", &["s"])]).as_deref(),
            Some("b")
        );
        assert_eq!(
            chosen(&[("a", &["s"]), ("b", &["i", "j"])]).as_deref(),
            Some("b")
        );
        assert_eq!(
            chosen(&[("a", &["i", "j"]), ("b", &["j"])]).as_deref(),
            Some("b")
        );
        assert_eq!(chosen(&[("a", &["n"])]).as_deref(), Some("a"));
        assert_eq!(
            chosen(&[("PRIMARY", &["e"]), ("b", &["f"])]).as_deref(),
            Some("PRIMARY")
        );
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn what_cannot_be_walked_is_passed_over() {
        let mut t = table(COLUMNS, &[("a", &["i"])]);
        t.keys[0].parts[0].prefix = Some(3);
        assert!(chunk_key(&t).is_none());
        let mut t = table(COLUMNS, &[("a", &["i"])]);
        t.keys[0].visible = false;
        assert!(chunk_key(&t).is_none());
        let mut t = table(COLUMNS, &[("a", &["i"])]);
        t.keys[0].index_type = "HASH".into();
        assert!(chunk_key(&t).is_none());
        let mut t = table(COLUMNS, &[("a", &["i"])]);
        t.keys[0].unique = false;
        assert!(chunk_key(&t).is_none());
    }
}

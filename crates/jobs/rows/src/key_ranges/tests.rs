//! What must hold for keys of any kind: bounds survive the record in the
//! manifest, no value becomes SQL, guesses never panic, and neighbouring ranges
//! share one bound.

use super::range::{KeyRange, Nulls};
use super::{ChunkKey, KeyColumn, Kind, middle};
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    let text = |charset: &str, folds| Kind::Text {
        charset: charset.to_owned(),
        ignores_case: folds,
    };
    prop_oneof![
        Just(Kind::Integer),
        Just(Kind::Decimal),
        Just(Kind::Float),
        Just(Kind::Binary),
        Just(Kind::Temporal),
        Just(Kind::Other),
        Just(text("utf8mb4", true)),
        Just(text("utf8mb4", false)),
        Just(text("latin1", true)),
        Just(text("utf16", false)),
    ]
}

fn key(kinds: Vec<Kind>, nullable: bool) -> ChunkKey {
    let columns = kinds
        .into_iter()
        .enumerate()
        .map(|(i, kind)| KeyColumn {
            name: format!("c`{i}"),
            kind,
            nullable,
            select: String::new(),
        })
        .collect();
    ChunkKey {
        index: "PRIMARY".to_owned(),
        columns,
        descending: false,
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        any::<i128>().prop_map(|n| n.to_string().into_bytes()),
        any::<f64>().prop_map(|n| format!("{n:e}").into_bytes()),
        "[0-9]{1,30}\\.[0-9]{0,30}".prop_map(String::into_bytes),
        "[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?)?"
            .prop_map(String::into_bytes),
        "-?[0-9]{1,3}:[0-9]{2}:[0-9]{2}".prop_map(String::into_bytes),
        "\\PC{0,12}".prop_map(String::into_bytes),
    ]
}

/// Whether a clause holds nothing but what such a clause is made of: quoted
/// names, numbers, hexadecimal and plain quoted literals, and the operators.
fn harmless(clause: &str) -> bool {
    let mut rest = clause;
    while let Some(c) = rest.chars().next() {
        rest = if c == '`' {
            match rest[1..].find('`') {
                Some(i) => &rest[i + 2..],
                None => return false,
            }
        } else if c == '\'' {
            match rest[1..].find('\'') {
                Some(i)
                    if rest[1..=i]
                        .chars()
                        .all(|c| c.is_ascii_graphic() || c == ' ') =>
                {
                    &rest[i + 2..]
                }
                _ => return false,
            }
        } else if c.is_ascii_alphanumeric() || " _()<>=.+-".contains(c) {
            &rest[1..]
        } else {
            return false;
        };
    }
    true
}

proptest! {
    #[test]
    fn bounds_survive_the_record(
        columns in prop::collection::vec(kinds(), 1..4),
        from in prop::option::of(prop::collection::vec(bytes(), 1..4)),
        to in prop::option::of(prop::collection::vec(bytes(), 1..4)),
        nullable in any::<bool>(),
    ) {
        let n = columns.len();
        let key = key(columns, nullable);
        let cut = |b: Option<Vec<Vec<u8>>>| b.map(|b| b.into_iter().take(n).collect::<Vec<_>>());
        let whole = from.is_none() && to.is_none();
        let nulls = if nullable && !whole { Nulls::Excluded } else { Nulls::Included };
        let range = KeyRange { from: cut(from), to: cut(to), nulls };
        let (f, t) = range.record();
        prop_assert_eq!(KeyRange::of_record(f.as_deref(), t.as_deref(), &key), Some(range));
    }

    #[test]
    fn no_value_becomes_sql(
        columns in prop::collection::vec(kinds(), 1..4),
        from in prop::collection::vec(bytes(), 3),
        to in prop::collection::vec(bytes(), 3),
    ) {
        let n = columns.len();
        let key = key(columns, false);
        let range = KeyRange { from: Some(from[..n].to_vec()), to: Some(to[..n].to_vec()), nulls: Nulls::Included };
        // The names of this key hold a backtick each, doubled by quoting: taken out before the look.
        let clause = range.where_clause(&key).replace("``", "");
        prop_assert!(harmless(&clause), "{}", clause);
    }

    #[test]
    fn guesses_never_panic_and_never_repeat_the_low_end(kind in kinds(), low in bytes(), high in bytes()) {
        for guess in middle::guesses(&kind, &low, &high) {
            prop_assert_ne!(&guess, &low);
        }
    }
}

#[test]
fn a_table_cut_in_two_shares_one_bound() {
    let key = key(vec![Kind::Integer, Kind::Binary], false);
    let at = vec![b"5".to_vec(), vec![0xff]];
    let left = KeyRange {
        to: Some(at.clone()),
        ..KeyRange::default()
    };
    let right = KeyRange {
        from: Some(at),
        ..KeyRange::default()
    };
    assert_eq!(
        left.where_clause(&key),
        " WHERE (`c``0` < 5 OR (`c``0` = 5 AND `c``1` < x'FF'))"
    );
    assert_eq!(
        right.where_clause(&key),
        " WHERE (`c``0` > 5 OR (`c``0` = 5 AND `c``1` >= x'FF'))"
    );
}

#[test]
fn a_short_bound_begins_with_the_first_of_its_keys() {
    let key = key(vec![Kind::Integer, Kind::Integer, Kind::Integer], false);
    let bound = |values: &[&str]| Some(values.iter().map(|v| v.as_bytes().to_vec()).collect());
    let clause = |from: &[&str], to: &[&str]| {
        let range = KeyRange {
            from: bound(from),
            to: bound(to),
            nulls: Nulls::Included,
        };
        range.where_clause(&key).replace("``", "")
    };
    assert_eq!(clause(&["2"], &["4"]), " WHERE `c0` >= 2 AND `c0` < 4");
    // Of whole numbers, none lies between.
    assert_eq!(clause(&["2"], &["3"]), " WHERE `c0` = 2");
    assert_eq!(
        clause(&["-1", "5"], &["0"]),
        " WHERE `c0` = -1 AND `c1` >= 5"
    );
    assert_eq!(clause(&["2"], &["2", "5"]), " WHERE `c0` = 2 AND `c1` < 5");
    assert_eq!(
        clause(&["2", "5"], &["2", "5", "1"]),
        " WHERE `c0` = 2 AND `c1` = 5 AND `c2` < 1"
    );
    assert_eq!(
        clause(&["1", "5"], &["3"]),
        " WHERE (`c0` > 1 OR (`c0` = 1 AND `c1` >= 5)) AND `c0` < 3"
    );
    // Nothing lies between them.
    assert_eq!(
        clause(&["2", "5"], &["2"]),
        " WHERE (`c0` > 2 OR (`c0` = 2 AND `c1` >= 5)) AND `c0` < 2"
    );
}

#[test]
fn ranges_of_one_key_cover_another_of_the_same_kinds() {
    let number = key(vec![Kind::Integer, Kind::Integer], false);
    assert!(number.covers(&number));
    // 1.5 lies between whole numbers.
    let other = key(vec![Kind::Float, Kind::Integer], false);
    assert!(!number.covers(&other) && !other.covers(&number));
    let nullable = key(vec![Kind::Integer, Kind::Integer], true);
    assert!(nullable.covers(&number) && !number.covers(&nullable));
    let text = |charset: &str| {
        let charset = charset.to_owned();
        key(
            vec![Kind::Text {
                charset,
                ignores_case: true,
            }],
            false,
        )
    };
    assert!(text("latin1").covers(&text("utf8mb4")));
}

#[test]
fn rows_with_nulls_have_a_range_of_their_own() {
    let key = key(vec![Kind::Integer], true);
    let only = KeyRange {
        nulls: Nulls::Only,
        ..KeyRange::default()
    };
    let rest = KeyRange {
        nulls: Nulls::Excluded,
        ..KeyRange::default()
    };
    assert_eq!(only.where_clause(&key), " WHERE (`c``0` IS NULL)");
    assert_eq!(rest.where_clause(&key), " WHERE `c``0` IS NOT NULL");
    assert_eq!(
        KeyRange::of_record(only.record().0.as_deref(), None, &key),
        Some(only)
    );
    assert_eq!(
        KeyRange::of_record(rest.record().0.as_deref(), None, &key),
        Some(rest)
    );
}

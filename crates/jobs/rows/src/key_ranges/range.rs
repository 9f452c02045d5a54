//! One range of a key and the WHERE clause that selects it.

use super::{ChunkKey, KeyColumn};

/// Values of the key's first columns, as the server printed them. A bound shorter than the key sorts
/// before every key that begins with it.
pub type Bound = Vec<Vec<u8>>;

/// Rows from `from` (inclusive) to `to` (exclusive).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// First key; `None` begins at the table's start.
    pub from: Option<Bound>,
    /// First key that is not part of it; `None` runs to the table's end.
    pub to: Option<Bound>,
    /// Whether rows with a NULL in the key belong to it.
    pub nulls: Nulls,
}

/// Rows with a NULL in the key match no comparison, so a table divided by a nullable key has a separate
/// range for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// No condition: the key has no NULLs, or the range is the whole table.
    #[default]
    Included,
    /// Only the rows with a NULL in the key.
    Only,
    /// Only the rows without a NULL in the key.
    Excluded,
}

impl KeyRange {
    /// Every row.
    pub fn whole() -> KeyRange {
        KeyRange::default()
    }

    /// Whether it is the whole table.
    pub fn is_whole(&self) -> bool {
        *self == KeyRange::default()
    }

    /// ` WHERE …`, or nothing for the whole table.
    pub fn where_clause(&self, key: &ChunkKey) -> String {
        let nullable = || key.columns.iter().filter(|c| c.nullable);
        if self.nulls == Nulls::Only {
            let any: Vec<String> = nullable()
                .map(|c| format!("{} IS NULL", c.quoted()))
                .collect();
            return format!(" WHERE ({})", any.join(" OR "));
        }
        let mut terms = Vec::new();
        let (mut from, mut to) = (self.from.as_deref(), self.to.as_deref());
        let mut columns = &key.columns[..];
        // What both bounds share is an equality: the optimizer sees a narrow range, and the server compares less with each
        // row, which is a sixth of its work for short ones.
        while let (Some([f, frest @ ..]), Some([t, trest @ ..])) = (from, to) {
            let ends = trest.is_empty();
            let equal = if ends {
                columns[0].follows(f, t)
            } else {
                f == t && columns.len() > 1
            };
            if !equal {
                break;
            }
            terms.push(format!(
                "{} = {}",
                columns[0].quoted(),
                columns[0].literal(f)
            ));
            // A bound that ends here begins with the first of these keys.
            (from, to) = (
                Some(frest).filter(|rest| !rest.is_empty()),
                Some(trest).filter(|_| !ends),
            );
            columns = &columns[1..];
        }
        if let Some(from) = from {
            terms.push(compare(columns, from, ">", ">="));
        }
        if let Some(to) = to {
            terms.push(compare(columns, to, "<", "<"));
        }
        if self.nulls == Nulls::Excluded {
            terms.extend(nullable().map(|c| format!("{} IS NOT NULL", c.quoted())));
        }
        if terms.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", terms.join(" AND "))
        }
    }

    /// For people: `(1,'a') ≤ (k1, k2) < (5,'x')`, shortened.
    pub fn describe(&self, key: &ChunkKey) -> String {
        let names = key.names().join(", ");
        let tuple = |b: &Bound| {
            let values: Vec<String> = b
                .iter()
                .zip(&key.columns)
                .map(|(v, c)| match c.kind {
                    super::Kind::Binary => shorten(&c.literal(v)),
                    _ => shown(v),
                })
                .collect();
            format!("({})", values.join(", "))
        };
        match (&self.from, &self.to, self.nulls) {
            (_, _, Nulls::Only) => format!("({names}) with a NULL"),
            (None, None, _) => "all rows".to_owned(),
            (Some(f), None, _) => format!("({names}) from {}", tuple(f)),
            (None, Some(t), _) => format!("({names}) before {}", tuple(t)),
            (Some(f), Some(t), _) => format!("({names}) from {} to before {}", tuple(f), tuple(t)),
        }
    }
}

/// `(a > 1 OR (a = 1 AND b >= 2))`: the tuple comparison spelled out, because
/// the range optimizers do not use an index for row constructors.
fn compare(columns: &[KeyColumn], bound: &[Vec<u8>], strict: &str, last: &str) -> String {
    let (c, v) = (&columns[0], &bound[0]);
    let (name, value) = (c.quoted(), c.literal(v));
    if bound.len() == 1 || columns.len() == 1 {
        return format!("{name} {last} {value}");
    }
    let rest = compare(&columns[1..], &bound[1..], strict, last);
    format!("({name} {strict} {value} OR ({name} = {value} AND {rest}))")
}

/// A value for people, shortened; bytes that are no text as a literal.
pub fn shown(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => shorten(&base::units::printable(text)),
        Err(_) => shorten(&server::quote::hex(value)),
    }
}

fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain(['…']).collect()
    }
}

/// How a range is written in `penstock.json`: the bound's values in hexadecimal, with commas between
/// them; `null` and `not null` for rows with and without a NULL in the key. Hexadecimal, so that no
/// text of an archive ever becomes SQL.
impl KeyRange {
    /// The texts for `from` and `to`.
    pub fn record(&self) -> (Option<String>, Option<String>) {
        let text = |b: &Bound| {
            let values: Vec<String> = b
                .iter()
                .map(|v| v.iter().map(|b| format!("{b:02x}")).collect())
                .collect();
            values.join(",")
        };
        match (self.nulls, &self.from) {
            (Nulls::Only, _) => (Some("null".to_owned()), None),
            (Nulls::Excluded, None) => (Some("not null".to_owned()), self.to.as_ref().map(text)),
            (_, from) => (from.as_ref().map(text), self.to.as_ref().map(text)),
        }
    }

    /// The range that [`Range::record`] wrote; `None` if the texts are something else.
    pub fn of_record(from: Option<&str>, to: Option<&str>, key: &ChunkKey) -> Option<KeyRange> {
        let bound = |text: &str| -> Option<Bound> {
            let values: Option<Bound> = text.split(',').map(unhex).collect();
            values.filter(|v| v.len() <= key.columns.len())
        };
        let to = match to {
            Some(t) => Some(bound(t)?),
            None => None,
        };
        let nulls = if key.nullable() {
            Nulls::Excluded
        } else {
            Nulls::Included
        };
        Some(match from {
            Some("null") => KeyRange {
                nulls: Nulls::Only,
                ..KeyRange::default()
            },
            Some("not null") => KeyRange {
                from: None,
                to,
                nulls: Nulls::Excluded,
            },
            None if to.is_none() => KeyRange::whole(),
            None => KeyRange {
                from: None,
                to,
                nulls,
            },
            Some(text) => KeyRange {
                from: Some(bound(text)?),
                to,
                nulls,
            },
        })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok())
        .collect()
}

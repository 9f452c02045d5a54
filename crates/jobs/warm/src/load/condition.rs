//! A range of an index as a condition of SQL.
//!
//! Comparisons follow the order of the index: NULL before all values, or after them where a column runs downwards. They
//! are spelled out column by column, because the range optimizers do not use an index for row constructors. Where a
//! bound cannot say a place exactly (a prefix, a key that is cut), the condition includes the keys that have the bound:
//! a range is never smaller than the pages that it was made of.

use crate::file::{IndexColumn, Value};
use rows::key_ranges::KeyColumn;

/// A column of an index on this server, and how the index has it.
#[derive(Clone, Debug)]
pub struct Part {
    column: KeyColumn,
    prefix: bool,
    desc: bool,
}

impl Part {
    /// The column as the file describes it, and as this server has it.
    pub fn new(column: KeyColumn, of: &IndexColumn) -> Part {
        Part {
            column,
            prefix: of.prefix,
            desc: of.desc,
        }
    }

    /// Whether the index holds only the beginning of its values.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    fn equal(&self, value: &Value) -> String {
        match value {
            None => format!("{} IS NULL", self.column.quoted()),
            Some(v) => format!("{} = {}", self.column.quoted(), self.column.literal(v)),
        }
    }

    /// Keys with more than this value, or with less; `None`: there are none.
    fn beyond(&self, value: &Value, more: bool, or_equal: bool) -> Option<String> {
        let name = self.column.quoted();
        let nullable = self.column.nullable;
        let upwards = more != self.desc;
        let sign = match (upwards, or_equal) {
            (true, true) => ">=",
            (true, false) => ">",
            (false, true) => "<=",
            (false, false) => "<",
        };
        match value {
            Some(v) => {
                let compared = format!("{name} {sign} {}", self.column.literal(v));
                Some(match nullable && !upwards {
                    true => format!("({compared} OR {name} IS NULL)"),
                    false => compared,
                })
            }
            // NULL is less than everything.
            None if upwards && or_equal => Some("TRUE".to_owned()),
            None if upwards => Some(format!("{name} IS NOT NULL")),
            None if or_equal => Some(format!("{name} IS NULL")),
            None => None,
        }
    }
}

/// The condition for the keys from `from` on and before `to`, in the order of the index; `loose`: the keys with `to` too.
/// Empty for all keys.
pub fn condition(
    parts: &[Part],
    from: Option<&[Value]>,
    to: Option<&[Value]>,
    loose: bool,
) -> String {
    let mut terms = Vec::new();
    let (mut parts, mut from, mut to) = (parts, from, to);
    // What both bounds share is an equality, which lets the optimizer see a narrow range.
    while let (Some([f, from_rest @ ..]), Some([t, to_rest @ ..]), [part, more @ ..]) =
        (from, to, parts)
    {
        if f != t || part.prefix || more.is_empty() || from_rest.is_empty() || to_rest.is_empty() {
            break;
        }
        terms.push(part.equal(f));
        (parts, from, to) = (more, Some(from_rest), Some(to_rest));
    }
    if let ([part], Some([f]), Some([t])) = (parts, from, to)
        && loose
        && f == t
        && !part.prefix
    {
        terms.push(part.equal(f));
        return terms.join(" AND ");
    }
    if let Some(from) = from {
        terms.extend(compare(parts, from, true, true));
    }
    if let Some(to) = to {
        // No key is before the least one.
        terms.push(compare(parts, to, false, loose).unwrap_or_else(|| "FALSE".to_owned()));
    }
    terms.retain(|t| t != "TRUE");
    terms.join(" AND ")
}

/// `(a > 1 OR (a = 1 AND b >= 2))`, or the other way.
fn compare(parts: &[Part], bound: &[Value], more: bool, or_equal: bool) -> Option<String> {
    let ([part, parts @ ..], [value, bound @ ..]) = (parts, bound) else {
        return None;
    };
    if part.prefix {
        // Of the values that begin so, it is not known which are meant.
        return part.beyond(value, more, true);
    }
    if parts.is_empty() || bound.is_empty() {
        return part.beyond(value, more, or_equal);
    }
    let beyond = part.beyond(value, more, false);
    let rest = compare(parts, bound, more, or_equal);
    match (beyond, rest) {
        (Some(beyond), Some(rest)) => {
            Some(format!("({beyond} OR ({} AND {rest}))", part.equal(value)))
        }
        (None, Some(rest)) => Some(format!("({} AND {rest})", part.equal(value))),
        (beyond, None) => beyond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::catalog::Column;

    fn part(name: &str, nullable: bool, desc: bool, prefix: bool) -> Part {
        let column = Column {
            name: name.into(),
            data_type: if prefix { "varchar" } else { "int" }.into(),
            charset: prefix.then(|| "latin1".into()),
            nullable,
            ..Column::default()
        };
        let of = IndexColumn {
            name: name.into(),
            data_type: column.data_type.clone(),
            collation: None,
            prefix,
            desc,
        };
        Part::new(KeyColumn::of(&column).expect("a key column"), &of)
    }

    fn key(values: &[&str]) -> Vec<Value> {
        let one = |v: &&str| (*v != "NULL").then(|| v.as_bytes().to_vec());
        values.iter().map(one).collect()
    }

    fn of(parts: &[Part], from: &[&str], to: &[&str], loose: bool) -> String {
        let (from, to) = (key(from), key(to));
        let some = |k: &'static str, v: &[Value]| (!v.is_empty()).then_some(()).map(|()| k);
        let from = some("", &from).map(|_| from.as_slice());
        let to = some("", &to).map(|_| to.as_slice());
        condition(parts, from, to, loose)
    }

    #[test]
    fn a_key_of_one_column() {
        let id = [part("id", false, false, false)];
        assert_eq!(of(&id, &["-5"], &["7"], false), "`id` >= -5 AND `id` < 7");
        assert_eq!(of(&id, &[], &["7"], true), "`id` <= 7");
        assert_eq!(of(&id, &["3"], &[], false), "`id` >= 3");
        assert_eq!(of(&id, &[], &[], false), "");
        let down = [part("id", false, true, false)];
        assert_eq!(of(&down, &["7"], &["-5"], false), "`id` <= 7 AND `id` > -5");
    }

    #[test]
    fn null_has_its_place() {
        let two = [
            part("s", true, false, false),
            part("id", false, false, false),
        ];
        assert_eq!(
            of(&two, &["NULL", "3"], &["NULL", "9"], false),
            "`s` IS NULL AND `id` >= 3 AND `id` < 9"
        );
        assert_eq!(
            of(&two, &["NULL", "3"], &["4", "1"], false),
            "(`s` IS NOT NULL OR (`s` IS NULL AND `id` >= 3)) AND ((`s` < 4 OR `s` IS NULL) OR (`s` = 4 AND `id` < 1))"
        );
        let down = [
            part("s", true, true, false),
            part("id", false, false, false),
        ];
        assert_eq!(
            of(&down, &["4", "1"], &["NULL", "3"], false),
            "((`s` < 4 OR `s` IS NULL) OR (`s` = 4 AND `id` >= 1)) AND (`s` IS NOT NULL OR (`s` IS NULL AND `id` < 3))"
        );
        assert_eq!(of(&two[..1], &[], &["NULL"], false), "FALSE");
        assert_eq!(of(&two[..1], &["NULL"], &[], false), "");
        assert_eq!(of(&down[..1], &["NULL"], &[], false), "`s` IS NULL");
    }

    #[test]
    fn one_key_is_an_equality() {
        let two = [
            part("s", true, false, false),
            part("id", false, true, false),
        ];
        assert_eq!(
            of(&two, &["4", "1"], &["4", "1"], true),
            "`s` = 4 AND `id` = 1"
        );
        assert_eq!(of(&two[..1], &["NULL"], &["NULL"], true), "`s` IS NULL");
    }

    #[test]
    fn a_prefix_includes_its_bound() {
        let parts = [
            part("c", false, false, true),
            part("id", false, false, false),
        ];
        assert_eq!(
            of(&parts, &["ab", "3"], &["ab", "9"], false),
            "`c` >= _latin1 x'6162' AND `c` <= _latin1 x'6162'"
        );
    }
}

//! Names that objects get where they are loaded: a schema under another name, a table under another name.
//!
//! A pair is `old=new`, of schemas or of `schema.table`; a name in backticks is taken as it is, a backtick in it is
//! doubled. Names are compared exactly, as the archive spells them.
//!
//! Invariant: no two pairs have one source, and no two have one target; no target is a schema of the system. Whether a
//! source exists, and whether a target is taken by something that keeps its name, is for the job to find out.

use crate::filter::is_system_schema;
use crate::{Error, Result, quote};

/// Most characters of a name.
const LONGEST: usize = 64;

/// Schema and name of a table or view.
pub type TableName = (String, String);

/// Which names change, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMap {
    schemas: Vec<(String, String)>,
    tables: Vec<(TableName, TableName)>,
}

impl NameMap {
    /// A map of pairs `old=new`, of schemas and of tables.
    pub fn new<S: AsRef<str>>(schemas: &[S], tables: &[S]) -> Result<NameMap> {
        let mut map = NameMap::default();
        for text in schemas {
            let text = text.as_ref();
            let pair = match &pair(text)?[..] {
                [old, new] => match (&old[..], &new[..]) {
                    ([old], [new]) => (old.clone(), new.clone()),
                    _ => {
                        return Err(wrong(
                            text,
                            "a schema is mapped as old=new; put a name with a dot in backticks",
                        ));
                    }
                },
                _ => return Err(wrong(text, "a schema is mapped as old=new")),
            };
            check(text, &[&pair.1])?;
            if pair.0 == pair.1 {
                return Err(wrong(text, "both names are the same"));
            }
            if map.schemas.iter().any(|(old, _)| *old == pair.0) {
                return Err(wrong(text, "this schema is mapped twice"));
            }
            if map.schemas.iter().any(|(_, new)| *new == pair.1) {
                return Err(wrong(text, "another schema is mapped to this name"));
            }
            map.schemas.push(pair);
        }
        for text in tables {
            let text = text.as_ref();
            const SHAPE: &str = "a table is mapped as schema.table=schema.table";
            let pair = match &pair(text)?[..] {
                [old, new] => match (&old[..], &new[..]) {
                    ([s, t], [s2, t2]) => ((s.clone(), t.clone()), (s2.clone(), t2.clone())),
                    _ => return Err(wrong(text, SHAPE)),
                },
                _ => return Err(wrong(text, SHAPE)),
            };
            check(text, &[&pair.1.0, &pair.1.1])?;
            if pair.0 == pair.1 {
                return Err(wrong(text, "both names are the same"));
            }
            if map.tables.iter().any(|(old, _)| *old == pair.0) {
                return Err(wrong(text, "this table is mapped twice"));
            }
            if map.tables.iter().any(|(_, new)| *new == pair.1) {
                return Err(wrong(text, "another table is mapped to this name"));
            }
            map.tables.push(pair);
        }
        Ok(map)
    }

    /// Whether every name stays.
    pub fn is_empty(&self) -> bool {
        self.schemas.is_empty() && self.tables.is_empty()
    }

    /// What a schema is called there.
    pub fn schema<'a>(&'a self, schema: &'a str) -> &'a str {
        let found = self.schemas.iter().find(|(old, _)| old == schema);
        found.map_or(schema, |(_, new)| new)
    }

    /// What a table or view is called there: its own pair counts more than that of its schema.
    pub fn table(&self, schema: &str, table: &str) -> TableName {
        let found = self
            .tables
            .iter()
            .find(|((s, t), _)| s == schema && t == table);
        match found {
            Some((_, new)) => new.clone(),
            None => (self.schema(schema).to_owned(), table.to_owned()),
        }
    }

    /// What a constraint or trigger of a table is called there, if it has to change: such names exist once in a schema, and
    /// a table that gets another name in its schema may come beside its original.
    pub fn inner(&self, schema: &str, table: &str, name: &str) -> Option<String> {
        let (to, new) = self.table(schema, table);
        if to != schema || new == table {
            return None;
        }
        // Servers call constraints `orders_ibfk_1` and `orders_chk_1` themselves.
        let own = name
            .strip_prefix(table)
            .filter(|rest| rest.starts_with('_'));
        let long = match own {
            Some(rest) => format!("{new}{rest}"),
            None => format!("{new}_{name}"),
        };
        Some(shortened(long))
    }

    /// The pairs of schemas.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, &str)> {
        self.schemas.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// The pairs of tables.
    pub fn tables(&self) -> impl Iterator<Item = (&TableName, &TableName)> {
        self.tables.iter().map(|(a, b)| (a, b))
    }

    /// The options that say the same, sorted.
    pub fn options(&self) -> Vec<String> {
        let schemas = self
            .schemas()
            .map(|(old, new)| format!("--map-schema {}={}", quote::ident(old), quote::ident(new)));
        let name = |n: &TableName| quote::qualified(&n.0, &n.1);
        let tables = self
            .tables()
            .map(|(old, new)| format!("--map-table {}={}", name(old), name(new)));
        let mut all: Vec<String> = schemas.chain(tables).collect();
        all.sort();
        all
    }
}

/// A name that servers take, of one that may be too long: its end is replaced by a number made of all of it.
fn shortened(name: String) -> String {
    if name.chars().count() <= LONGEST {
        return name;
    }
    // FNV-1a: the same number in every version, so that a load can be resumed by a newer one.
    let digest = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let kept: String = name.chars().take(LONGEST - 9).collect();
    format!("{kept}_{digest:08x}")
}

fn wrong(text: &str, why: &'static str) -> Error {
    Error::Pattern {
        pattern: text.to_owned(),
        why: why.to_owned(),
    }
}

/// Refuses a target that no server takes, or that is the server's own.
fn check(text: &str, names: &[&String]) -> Result<()> {
    for name in names {
        if name.chars().count() > LONGEST {
            return Err(wrong(text, "a name has at most 64 characters"));
        }
        if name.ends_with(' ') || name.chars().any(|c| c == '\0' || c > '\u{ffff}') {
            return Err(wrong(text, "no server takes this name"));
        }
    }
    if names.first().is_some_and(|schema| is_system_schema(schema)) {
        return Err(wrong(
            text,
            "the new name is that of a schema of the server itself",
        ));
    }
    Ok(())
}

/// The table of `schema.table=…`, and what follows the sign.
pub fn table_and_rest(text: &str) -> Result<(TableName, &str)> {
    match side(text, text.trim_start())? {
        (parts, Some(rest)) => match &parts[..] {
            // No name ends in a blank: it is one before the sign.
            [schema, table] => Ok(((schema.clone(), table.trim_end().to_owned()), rest)),
            _ => Err(wrong(
                text,
                "a table is named as schema.table; put a name with a dot in backticks",
            )),
        },
        (_, None) => Err(wrong(text, "schema.table= is expected")),
    }
}

/// Takes `a.b=c.d` apart, outside of backticks.
fn pair(text: &str) -> Result<Vec<Vec<String>>> {
    let mut sides = Vec::new();
    let mut rest = Some(text);
    while let Some(there) = rest {
        let (parts, more) = side(text, there)?;
        sides.push(parts);
        rest = more;
    }
    Ok(sides)
}

/// The parts of the name at the beginning of `there`, a part of `text`, and what follows its `=`.
fn side<'t>(text: &str, there: &'t str) -> Result<(Vec<String>, Option<&'t str>)> {
    let (mut parts, mut rest) = (vec![String::new()], None);
    let mut chars = there.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let part = parts.last_mut().expect("never empty");
        match c {
            '=' => {
                rest = Some(&there[at + 1..]);
                break;
            }
            '.' => parts.push(String::new()),
            '`' => loop {
                match chars.next() {
                    None => return Err(wrong(text, "a backtick is not closed")),
                    Some((_, '`')) if chars.peek().is_some_and(|(_, c)| *c == '`') => {
                        chars.next();
                        part.push('`');
                    }
                    Some((_, '`')) => break,
                    Some((_, c)) => part.push(c),
                }
            },
            '*' | '?' => {
                return Err(wrong(
                    text,
                    "one name is meant here: * and ? stand for themselves in backticks only",
                ));
            }
            c => part.push(c),
        }
    }
    match parts.iter().any(String::is_empty) {
        true => Err(wrong(text, "a name is empty")),
        false => Ok((parts, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(schemas: &[&str], tables: &[&str]) -> Result<NameMap> {
        NameMap::new(schemas, tables)
    }

    #[test]
    fn a_table_has_its_own_pair_or_that_of_its_schema() {
        let map = map(&["shop=shop2"], &["shop.a=crm.b", "`x.y`.`t=1`=z.`?`"]).expect("a map");
        let name = |s: &str, t: &str| map.table(s, t);
        assert_eq!(name("shop", "a"), ("crm".into(), "b".into()));
        assert_eq!(name("shop", "c"), ("shop2".into(), "c".into()));
        assert_eq!(name("x.y", "t=1"), ("z".into(), "?".into()));
        assert_eq!(name("other", "a"), ("other".into(), "a".into()));
        assert_eq!(
            map.options(),
            [
                "--map-schema `shop`=`shop2`",
                "--map-table `shop`.`a`=`crm`.`b`",
                "--map-table `x.y`.`t=1`=`z`.`?`"
            ]
        );
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for bad in [
            "a", "a=", "=b", "a=b=c", "a.b=c", "a=a", "a=mysql", "a=`b", "a*=b", "a=b ",
        ] {
            assert!(map(&[bad], &[]).is_err(), "{bad}");
        }
        for bad in [
            "a.b=c",
            "a=b",
            "a.b=a.b",
            "a.b=sys.c",
            "a.b.c=a.b.d",
            "a.b=c.d=e.f",
        ] {
            assert!(map(&[], &[bad]).is_err(), "{bad}");
        }
        assert!(map(&["a=b", "a=c"], &[]).is_err() && map(&["a=c", "b=c"], &[]).is_err());
        assert!(map(&["a=b", "b=a"], &[]).is_ok());
        assert!(map(&[], &["a.t=a.u", "a.v=a.u"]).is_err());
        let long = format!("a={}", "x".repeat(65));
        assert!(map(&[&long], &[]).is_err() && map(&[&long[..66]], &[]).is_ok());
    }

    #[test]
    fn names_that_exist_once_in_a_schema_change_with_the_table() {
        let map = map(&[], &["s.orders=s.monday", "s.a=other.b"]).expect("a map");
        let inner = |t: &str, n: &str| map.inner("s", t, n);
        assert_eq!(
            inner("orders", "orders_ibfk_1").as_deref(),
            Some("monday_ibfk_1")
        );
        assert_eq!(
            inner("orders", "ordersfk").as_deref(),
            Some("monday_ordersfk")
        );
        assert_eq!(inner("a", "x"), None);
        assert_eq!(inner("kept", "x"), None);
        let (one, two) = ("x".repeat(64), format!("{}y", "x".repeat(63)));
        let (one, two) = (inner("orders", &one), inner("orders", &two));
        assert_ne!(one, two);
        assert_eq!(one.expect("another name").chars().count(), 64);
    }
}

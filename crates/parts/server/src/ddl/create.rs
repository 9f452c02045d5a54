//! The text of a `CREATE TABLE` taken apart as far as needed: head, elements
//! (columns, keys, constraints), tail.
//!
//! Only the shape that `SHOW CREATE TABLE` writes is understood; anything else
//! is left alone. What is not asked to change comes back byte for byte.

use std::collections::BTreeMap;

/// A `CREATE TABLE` statement in three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTable<'a> {
    /// Up to and with the opening parenthesis.
    pub head: &'a str,
    /// Columns, keys, constraints, periods; trimmed, without commas.
    pub elements: Vec<&'a str>,
    /// From the closing parenthesis on.
    pub tail: &'a str,
}

impl<'a> CreateTable<'a> {
    /// Takes a statement apart; `None` when it has no list in parentheses.
    pub fn parse(sql: &'a str) -> Option<Self> {
        let bytes = sql.as_bytes();
        let mut at = 0;
        while at < bytes.len() && bytes[at] != b'(' {
            at += step(bytes, at);
        }
        let open = at;
        at = open.checked_add(1).filter(|a| *a <= bytes.len())?;
        let (mut depth, mut from, mut elements) = (1, at, Vec::new());
        while at < bytes.len() {
            match bytes[at] {
                b'(' => depth += 1,
                b')' if depth == 1 => {
                    elements.push(sql[from..at].trim());
                    return Some(Self {
                        head: &sql[..=open],
                        elements,
                        tail: &sql[at..],
                    });
                }
                b')' => depth -= 1,
                b',' if depth == 1 => {
                    elements.push(sql[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            }
            at += step(bytes, at);
        }
        None
    }

    /// The statement again, laid out as the server does.
    pub fn join<S: AsRef<str>>(&self, elements: &[S]) -> String {
        let list: Vec<_> = elements
            .iter()
            .map(|e| format!("  {}", e.as_ref()))
            .collect();
        format!("{}\n{}\n{}", self.head, list.join(",\n"), self.tail)
    }
}

/// Bytes of the token at `at`: a quoted name, a string, a comment, or one byte.
/// Comments of the `/*! … */` kind are walked through, since what is in them counts.
pub(super) fn step(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    if quote == b'/' && bytes[at..].starts_with(b"/*") && !bytes[at + 2..].starts_with(b"!") {
        let end = bytes[at + 2..].windows(2).position(|w| w == b"*/");
        return end.map_or(bytes.len() - at, |p| p + 4);
    }
    if !matches!(quote, b'`' | b'\'' | b'"') {
        return 1;
    }
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if quote != b'`' => end += 2,
            b if b == quote && bytes.get(end + 1) == Some(&quote) => end += 2,
            b if b == quote => return end + 1 - at,
            _ => end += 1,
        }
    }
    bytes.len() - at
}

/// The words of an element with quoted names whole, until `limit` of them.
pub(super) fn words(text: &str, limit: usize) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut at, mut list) = (0, Vec::new());
    while at < bytes.len() && list.len() < limit {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let from = at;
        if matches!(bytes[at], b'`' | b'\'' | b'"') {
            at += step(bytes, at);
        } else {
            while at < bytes.len()
                && !bytes[at].is_ascii_whitespace()
                && !matches!(bytes[at], b'`' | b'\'' | b'"' | b'(')
            {
                at += 1;
            }
            if at == from {
                at += 1;
            }
        }
        list.push(&text[from..at]);
    }
    list
}

/// Types that have a character set.
const WITH_CHARSET: [&str; 8] = [
    "CHAR",
    "VARCHAR",
    "TINYTEXT",
    "TEXT",
    "MEDIUMTEXT",
    "LONGTEXT",
    "ENUM",
    "SET",
];

/// The character sets of a table's columns, as far as its definition says them.
pub fn column_charsets(create: &str) -> BTreeMap<String, String> {
    let Some(table) = CreateTable::parse(create) else {
        return BTreeMap::new();
    };
    let of_collation = |c: &str| c.split('_').next().unwrap_or(c).to_ascii_lowercase();
    let own = |words: &[&str]| {
        let after = |first: &str, n: usize| {
            let at = words.iter().position(|w| w.eq_ignore_ascii_case(first))?;
            words.get(at + n).copied()
        };
        after("CHARACTER", 2)
            .map(str::to_ascii_lowercase)
            .or_else(|| after("COLLATE", 1).map(of_collation))
    };
    let tail = table.tail.to_ascii_uppercase();
    let default = tail.find("CHARSET=").map(|at| {
        let rest = &table.tail[at + "CHARSET=".len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        rest[..end.unwrap_or(rest.len())].to_ascii_lowercase()
    });
    let mut found = BTreeMap::new();
    for element in table.elements {
        let words = words(element, usize::MAX);
        let (Some(name), Some(kind)) = (words.first(), words.get(1)) else {
            continue;
        };
        let name = name.strip_prefix('`').and_then(|n| n.strip_suffix('`'));
        let with = WITH_CHARSET.iter().any(|k| kind.eq_ignore_ascii_case(k));
        if let (Some(name), true) = (name, with)
            && let Some(charset) = own(&words[2..]).or_else(|| default.clone())
        {
            found.insert(name.replace("``", "`"), charset);
        }
    }
    found
}

/// The columns of a table that have this type.
pub fn columns_of_type(create: &str, kind: &str) -> Vec<String> {
    let elements = CreateTable::parse(create).map(|t| t.elements);
    let of = |element: &&str| {
        let words = words(element, 2);
        let name = words.first()?.strip_prefix('`')?.strip_suffix('`')?;
        let is_it = words.get(1)?.eq_ignore_ascii_case(kind);
        is_it.then(|| name.replace("``", "`"))
    };
    elements.iter().flatten().filter_map(of).collect()
}

fn is_foreign_key(element: &str) -> bool {
    let words: Vec<String> = words(element, 4)
        .iter()
        .map(|w| w.to_ascii_uppercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(
        words.as_slice(),
        ["FOREIGN", "KEY", ..]
            | ["CONSTRAINT", "FOREIGN", "KEY", ..]
            | ["CONSTRAINT", _, "FOREIGN", "KEY"]
    )
}

/// Takes the foreign keys out of a `CREATE TABLE`. The second part holds them
/// as they stood, each fit to follow `ALTER TABLE t ADD`. Without any, the
/// statement comes back unchanged.
pub fn strip_foreign_keys(create: &str) -> (String, Vec<String>) {
    let Some(table) = CreateTable::parse(create) else {
        return (create.to_owned(), Vec::new());
    };
    let (keys, rest): (Vec<&str>, Vec<&str>) =
        table.elements.iter().partition(|e| is_foreign_key(e));
    if keys.is_empty() {
        return (create.to_owned(), Vec::new());
    }
    (
        table.join(&rest),
        keys.into_iter().map(str::to_owned).collect(),
    )
}

/// `CREATE TABLE x` becomes `CREATE TABLE IF NOT EXISTS x`; the same for
/// databases, sequences, events, and the sorts of routine. A statement that has
/// the words already, or none of these, is left alone.
pub fn add_if_not_exists(create: &str) -> String {
    const SORTS: [&str; 6] = [
        "TABLE",
        "DATABASE",
        "SEQUENCE",
        "EVENT",
        "PROCEDURE",
        "FUNCTION",
    ];
    let bytes = create.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_alphabetic() && (at == 0 || !is_word(bytes[at - 1])) {
            let end = at + bytes[at..].iter().take_while(|b| is_word(**b)).count();
            let word = create[at..end].to_ascii_uppercase();
            if SORTS.contains(&word.as_str()) {
                let rest = create[end..].trim_start();
                let has = rest.len() >= 2
                    && (rest[..2].eq_ignore_ascii_case("IF") || rest.starts_with("/*"));
                if has {
                    return create.to_owned();
                }
                return format!("{} IF NOT EXISTS{}", &create[..end], &create[end..]);
            }
            at = end;
            continue;
        }
        at += step(bytes, at);
    }
    create.to_owned()
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "CREATE TABLE `a(,b` (\n  `id` int NOT NULL COMMENT 'a), (''b\\',',\n  \
        `p` decimal(10,2) DEFAULT NULL /*!80023 INVISIBLE */,\n  PRIMARY KEY (`id`,`p`),\n  \
        CONSTRAINT `FOREIGN` CHECK (`p` > 0),\n  \
        CONSTRAINT `fk,1\n)` FOREIGN KEY (`id`) REFERENCES `x` (`y`) ON DELETE CASCADE\n\
        ) ENGINE=InnoDB COMMENT=')'\n/*!50100 PARTITION BY HASH (`id`)\nPARTITIONS 2 */";

    #[test]
    fn foreign_keys_come_out_whole() {
        let (create, keys) = strip_foreign_keys(TABLE);
        assert_eq!(
            keys,
            ["CONSTRAINT `fk,1\n)` FOREIGN KEY (`id`) REFERENCES `x` (`y`) ON DELETE CASCADE"]
        );
        let gone =
            ",\n  CONSTRAINT `fk,1\n)` FOREIGN KEY (`id`) REFERENCES `x` (`y`) ON DELETE CASCADE";
        assert_eq!(create, TABLE.replace(gone, ""));
        assert_eq!(strip_foreign_keys(&create), (create.clone(), vec![]));
    }

    #[test]
    fn parts_join_to_the_same_text() {
        let table = CreateTable::parse(TABLE).expect("a table");
        assert_eq!(table.elements.len(), 5);
        assert_eq!(table.join(&table.elements), TABLE);
        assert!(CreateTable::parse("CREATE TABLE `x(`").is_none());
        assert!(CreateTable::parse("").is_none());
    }

    #[test]
    fn if_not_exists_is_added_once() {
        assert_eq!(
            add_if_not_exists("CREATE TABLE `t` (a int)"),
            "CREATE TABLE IF NOT EXISTS `t` (a int)"
        );
        let done = "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d`";
        assert_eq!(add_if_not_exists(done), done);
        assert_eq!(
            add_if_not_exists("CREATE DEFINER=`TABLE`@`%` EVENT `e` ON SCHEDULE"),
            "CREATE DEFINER=`TABLE`@`%` EVENT IF NOT EXISTS `e` ON SCHEDULE"
        );
        assert_eq!(
            add_if_not_exists("CREATE VIEW `v` AS SELECT 1"),
            "CREATE VIEW `v` AS SELECT 1"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fall_over(sql in "(?s).{0,80}") {
            if let Some(t) = CreateTable::parse(&sql) {
                prop_assert!(t.head.len() + t.tail.len() <= sql.len());
            }
            let _ = (strip_foreign_keys(&sql), add_if_not_exists(&sql));
        }

        #[test]
        fn any_names_and_comments_survive(name in "[^\\x00]{1,12}", comment in "[^\\\\]{0,12}") {
            let q = crate::quote::ident(&name);
            let c = comment.replace('\'', "''");
            let fk = format!("CONSTRAINT {q} FOREIGN KEY ({q}) REFERENCES {q} ({q})");
            let create = format!("CREATE TABLE {q} (\n  {q} int COMMENT '{c}',\n  {fk},\n  KEY {q} ({q})\n) COMMENT='{c}'");
            let (rest, keys) = strip_foreign_keys(&create);
            prop_assert_eq!(keys, [fk.as_str()]);
            prop_assert_eq!(rest, create.replacen(&format!("  {fk},\n"), "", 1));
        }
    }

    #[test]
    fn columns_have_character_sets() {
        let create = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `a``b` varchar(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'CHARACTER SET x',\n  \
            `c` text,\n  `d` enum('a','b') COLLATE utf16_bin,\n  `e` blob,\n  `j` json DEFAULT NULL,\n  KEY `c` (`c`(5))\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";
        let found = super::column_charsets(create);
        let pairs = [("a`b", "latin1"), ("c", "utf8mb4"), ("d", "utf16")];
        let wanted = pairs.map(|(c, s)| (c.to_owned(), s.to_owned()));
        assert_eq!(found, wanted.into());
    }
}

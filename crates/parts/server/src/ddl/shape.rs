//! What a definition says of how a table is stored, as far as that decides
//! whether its file can be built away from the server.

use super::create::{CreateTable, words};

/// The words after the columns and keys: options, and partitions.
fn tail(create: &str) -> Vec<&str> {
    CreateTable::parse(create).map_or_else(Vec::new, |table| words(table.tail, usize::MAX))
}

/// Whether a word is among them, other than as the name of a partition.
fn has_word(tail: &[&str], word: &str) -> bool {
    let is = |w: &str, what: &str| w.eq_ignore_ascii_case(what);
    let is_name = |before: &str| is(before, "PARTITION") || is(before, "SUBPARTITION");
    let found = |n: usize| is(tail[n], word) && !n.checked_sub(1).is_some_and(|n| is_name(tail[n]));
    (0..tail.len()).any(found)
}

/// Whether a table is made of partitions.
pub fn has_partitions(create: &str) -> bool {
    has_word(&tail(create), "PARTITION")
}

/// Whether a table, or a partition of it, has its own directory.
pub fn has_data_directory(create: &str) -> bool {
    has_word(&tail(create), "DATA")
}

/// The general tablespace that a table, or a partition of it, is in; none for InnoDB's own ones.
pub fn general_tablespace(create: &str) -> Option<String> {
    let list = tail(create);
    let at = list
        .iter()
        .position(|w| w.eq_ignore_ascii_case("TABLESPACE"))?;
    let name = list.get(at + 1)?.trim_end_matches("*/").trim_end();
    let name = name
        .strip_prefix('`')?
        .strip_suffix('`')?
        .replace("``", "`");
    (!name.starts_with("innodb_")).then_some(name)
}

/// The definition without the tablespaces that it names.
pub fn without_tablespaces(create: &str) -> Option<String> {
    let table = CreateTable::parse(create)?;
    let list = words(table.tail, usize::MAX);
    let offset = |w: &str| w.as_ptr() as usize - table.tail.as_ptr() as usize;
    let (mut tail, mut from) = (String::new(), 0);
    for pair in list.windows(2) {
        let (word, name) = (pair[0], pair[1]);
        if word.eq_ignore_ascii_case("TABLESPACE") && name.starts_with('`') {
            tail += &table.tail[from..offset(word)];
            from = offset(name) + name.trim_end_matches("*/").trim_end().len();
        }
    }
    tail += &table.tail[from..];
    let table = CreateTable {
        tail: &tail,
        ..table
    };
    Some(table.join(&table.elements))
}

/// Whether a table keeps the history of its rows (MariaDB, system versioning).
pub fn keeps_history(create: &str) -> bool {
    has_word(&tail(create), "VERSIONING")
}

/// Whether partitions or subpartitions are by KEY: which rows belong into which one the server decides as it likes,
/// also by the collation.
pub fn has_partitions_by_key(create: &str) -> bool {
    let is = |w: &str, what: &str| w.eq_ignore_ascii_case(what);
    let by_key = |w: &[&str]| (is(w[0], "BY") || is(w[0], "LINEAR")) && is(w[1], "KEY");
    tail(create).windows(2).any(by_key)
}

/// The definition of a table like this one, as the server gives it, but without partitions and under another name.
/// `None`: it has none.
pub fn without_partitions(create: &str, name: &str) -> Option<String> {
    let table = CreateTable::parse(create)?;
    let list = words(table.tail, usize::MAX);
    let at = list
        .iter()
        .position(|w| w.eq_ignore_ascii_case("PARTITION"))?;
    // MySQL writes it as a comment that servers read.
    let first = match at.checked_sub(1).map(|before| list[before]) {
        Some(before) if before.starts_with("/*!") => before,
        _ => list[at],
    };
    let end = first.as_ptr() as usize - table.tail.as_ptr() as usize;
    let like = CreateTable {
        head: &format!("CREATE TABLE {name} ("),
        tail: table.tail[..end].trim_end(),
        elements: table.elements,
    };
    Some(like.join(&like.elements))
}

/// Why the files of such tables cannot be built, as far as a definition tells.
pub fn no_file(create: &str) -> Option<&'static str> {
    let Some(table) = CreateTable::parse(create) else {
        return Some("their definition is not understood");
    };
    let list = words(table.tail, usize::MAX);
    let upper: Vec<String> = list.iter().map(|w| w.to_ascii_uppercase()).collect();
    let tail_has = |what: &str| upper.iter().any(|w| w.starts_with(what));
    if !tail_has("ENGINE=INNODB") {
        return Some("their engine is not InnoDB");
    }
    if tail_has("VERSIONING") {
        return Some("they keep their history");
    }
    for (option, why) in [
        ("ROW_FORMAT=COMPRESSED", "their rows are compressed"),
        ("ROW_FORMAT=REDUNDANT", "their row format is REDUNDANT"),
        ("ROW_FORMAT=COMPACT", "their row format is COMPACT"),
        ("COMPRESSION=", "their pages are compressed"),
        ("PAGE_COMPRESSED=", "their pages are compressed"),
        ("`PAGE_COMPRESSED", "their pages are compressed"),
        ("ENCRYPTION=", "they may be encrypted"),
        ("ENCRYPTED=", "they may be encrypted"),
        ("`ENCRYPT", "they may be encrypted"),
    ] {
        if tail_has(option) {
            return Some(why);
        }
    }
    for (word, why) in [
        ("DATA", "they have DATA DIRECTORY"),
        ("TABLESPACE", "they lie in a tablespace with others"),
    ] {
        if has_word(&list, word) {
            return Some(why);
        }
    }
    for element in &table.elements {
        let list = words(element, usize::MAX);
        let is = |n: usize, what: &str| list.get(n).is_some_and(|w| w.eq_ignore_ascii_case(what));
        if is(0, "PERIOD") {
            return Some("they have a period");
        }
        if generated(element) == Some(Generated::Stored) {
            return Some("they have generated columns that are stored");
        }
    }
    None
}

/// How a generated column is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generated {
    /// In the row.
    Stored,
    /// Nowhere; it is worked out when it is read.
    Virtual,
}

/// Whether an element of a definition is a generated column.
pub(super) fn generated(element: &str) -> Option<Generated> {
    let list = words(element, usize::MAX);
    let is = |w: &&str, any: &[&str]| any.iter().any(|a| w.eq_ignore_ascii_case(a));
    let at = list
        .windows(2)
        .position(|w| is(&w[0], &["GENERATED"]) && is(&w[1], &["ALWAYS", "AS"]))?;
    let stored = list[at..].iter().any(|w| is(w, &["STORED", "PERSISTENT"]));
    Some(if stored {
        Generated::Stored
    } else {
        Generated::Virtual
    })
}

/// The next number of a table's AUTO_INCREMENT column by its definition: 1 where
/// that says nothing; `None` without such a column.
pub fn auto_increment(create: &str) -> Option<u64> {
    let table = CreateTable::parse(create)?;
    auto_increment_of(&table)?;
    let tail = words(table.tail, usize::MAX);
    let option = tail.iter().find_map(|w| {
        let (name, value) = w.split_once('=')?;
        name.eq_ignore_ascii_case("AUTO_INCREMENT")
            .then(|| value.parse().ok())?
    });
    Some(option.unwrap_or(1))
}

/// The name of a table's AUTO_INCREMENT column by its definition.
pub fn auto_increment_column(create: &str) -> Option<String> {
    let table = CreateTable::parse(create)?;
    let name = auto_increment_of(&table)?;
    let inner = name.strip_prefix('`')?.strip_suffix('`')?;
    Some(inner.replace("``", "`"))
}

/// The same, quoted.
fn auto_increment_of<'a>(table: &CreateTable<'a>) -> Option<&'a str> {
    table.elements.iter().find_map(|e| {
        let list = words(e, usize::MAX);
        let name = list.first().filter(|w| w.starts_with('`'))?;
        let counts = |w: &&str| w.eq_ignore_ascii_case("AUTO_INCREMENT");
        list.iter().any(|w| counts(&&**w)).then_some(*name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(elements: &str, tail: &str) -> Option<&'static str> {
        no_file(&format!("CREATE TABLE `t` (\n  {elements}\n) {tail}"))
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let plain = "`a` int NOT NULL COMMENT 'GENERATED ALWAYS AS',\n  PRIMARY KEY (`a`)";
        let usual = "ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COMMENT='PARTITION BY, ENCRYPTION='";
        assert_eq!(of(plain, usual), None);
        let made = "`a` int,\n  `STORED` int GENERATED ALWAYS AS (concat(`PERSISTENT`,'STORED')) VIRTUAL COMMENT 'STORED',\n  PRIMARY KEY (`a`)";
        assert_eq!(of(made, usual), None);
        assert_eq!(of("`a` int", usual), None);
        for (tail, by_key) in [
            (
                "ENGINE=InnoDB COMMENT='BY KEY'\n PARTITION BY HASH (`key`)",
                false,
            ),
            (
                "ENGINE=InnoDB\n/*!50100 PARTITION BY LINEAR KEY ALGORITHM = 2 (a) */",
                true,
            ),
            (
                "ENGINE=InnoDB\n PARTITION BY LIST (`a`)\nSUBPARTITION BY KEY (`b`)",
                true,
            ),
        ] {
            let create = format!("CREATE TABLE `t` (\n  {plain}\n) {tail}");
            assert_eq!(has_partitions_by_key(&create), by_key, "{tail}");
        }
        assert!(!has_partitions(&format!(
            "CREATE TABLE `t` (\n  {plain}\n) {usual}"
        )));
        for tail in [
            "ENGINE=InnoDB\n/*!50100 PARTITION BY HASH (`a`)\nPARTITIONS 4 */",
            "ENGINE=InnoDB\n PARTITION BY LIST (`a`)\n(PARTITION DATA VALUES IN (1) ENGINE = InnoDB,\n PARTITION tablespace VALUES IN (3) ENGINE = InnoDB,\n PARTITION `DATA` VALUES IN (2) ENGINE = InnoDB)",
        ] {
            assert_eq!(of(plain, tail), None);
            let create = format!("CREATE TABLE `t` (\n  {plain}\n) {tail}");
            assert!(has_partitions(&create) && !has_data_directory(&create));
            let like = without_partitions(&create, "`s`.`a (b`");
            let wanted = format!("CREATE TABLE `s`.`a (b` (\n  {plain}\n) ENGINE=InnoDB");
            assert_eq!(like.as_ref(), Some(&wanted));
        }
        for (elements, tail, word) in [
            (plain, "ENGINE=MyISAM", "engine"),
            (
                "`a` int,\n  `b` int GENERATED ALWAYS AS (`a` + 1) STORED,\n  PRIMARY KEY (`a`)",
                usual,
                "generated",
            ),
            (
                plain,
                "ENGINE=InnoDB\n/*!50100 PARTITION BY LIST (`a`)\n(PARTITION p VALUES IN (1) DATA DIRECTORY = '/x' ENGINE = InnoDB) */",
                "DATA DIRECTORY",
            ),
            (plain, "ENGINE=InnoDB ROW_FORMAT=COMPRESSED", "compressed"),
            (plain, "ENGINE=InnoDB `PAGE_COMPRESSED`='ON'", "compressed"),
            (
                plain,
                "ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */",
                "encrypted",
            ),
            (plain, "ENGINE=InnoDB `ENCRYPTED`=YES", "encrypted"),
            (
                plain,
                "ENGINE=InnoDB DATA DIRECTORY='/x/'",
                "DATA DIRECTORY",
            ),
            (
                plain,
                "/*!50100 TABLESPACE `ts` */ ENGINE=InnoDB",
                "with others",
            ),
            (plain, "ENGINE=InnoDB WITH SYSTEM VERSIONING", "history"),
        ] {
            let why = of(elements, tail);
            assert!(why.is_some_and(|w| w.contains(word)), "{word}: {why:?}");
        }
    }

    #[test]
    fn the_next_number_is_read() {
        let of = |column: &str, tail: &str| {
            auto_increment(&format!(
                "CREATE TABLE `t` (\n  {column},\n  PRIMARY KEY (`a`)\n) {tail}"
            ))
        };
        let counts = "`a` int NOT NULL AUTO_INCREMENT";
        assert_eq!(of(counts, "ENGINE=InnoDB AUTO_INCREMENT=70 X"), Some(70));
        assert_eq!(
            of(counts, "ENGINE=InnoDB COMMENT='AUTO_INCREMENT=3'"),
            Some(1)
        );
        assert_eq!(
            of("`a` int COMMENT 'AUTO_INCREMENT'", "ENGINE=InnoDB"),
            None
        );
    }
}

//! What in a table's definition may reject rows that a table of another definition holds: keys that are unique, conditions,
//! partitions that not every row has one in.
//!
//! Only what `SHOW CREATE TABLE` writes is understood. What this does not look at: types of columns.

use super::create::{CreateTable, words};
use std::collections::BTreeSet;

/// What of the definition `there` may reject rows of a table that was created as `from`, in words.
pub fn rejects(there: &str, from: &str) -> Option<String> {
    let (there, from) = (CreateTable::parse(there)?, CreateTable::parse(from)?);
    let unique_there = unique_keys(&from);
    // Rows that differ in some columns differ in more columns, too.
    let new = |(_, columns): &(String, BTreeSet<String>)| {
        !unique_there.iter().any(|(_, held)| held.is_subset(columns))
    };
    if let Some((name, _)) = unique_keys(&there).into_iter().find(new) {
        return Some(format!(
            "its {name} is unique, and no key of the archive's table is so"
        ));
    }
    if let Some(why) = columns(&there, &from) {
        return Some(why);
    }
    let held: BTreeSet<String> = from.elements.iter().map(|e| plain(e)).collect();
    let condition = there.elements.iter().find(|e| {
        let is = words(e, 3)
            .get(2)
            .is_some_and(|w| w.eq_ignore_ascii_case("CHECK"));
        is && !held.contains(&plain(e))
    });
    if let Some(condition) = condition {
        let name = words(condition, 2).get(1).copied().unwrap_or_default();
        return Some(format!(
            "its condition {name} is not that of the archive's table"
        ));
    }
    // MariaDB writes a column's own condition behind its type.
    let column = there.elements.iter().find(|e| {
        let all = words(e, usize::MAX);
        let has = all.iter().any(|w| w.eq_ignore_ascii_case("CHECK"));
        e.starts_with('`') && has && !held.contains(&plain(e))
    });
    if let Some(column) = column {
        let name = words(column, 1).first().copied().unwrap_or_default();
        return Some(format!(
            "its column {name} has a condition, and another definition in the archive"
        ));
    }
    let (there, from) = (partitions(&there), partitions(&from));
    let takes_all = |p: &String| {
        let begin = p.trim_start_matches("partition by ");
        let begin = begin.trim_start_matches("linear");
        begin.starts_with("hash") || begin.starts_with("key")
    };
    match there {
        Some(p) if !takes_all(&p) && from.as_ref() != Some(&p) => {
            Some("its partitions are not those of the archive's table".to_owned())
        }
        _ => None,
    }
}

/// Columns that take no NULL, or compare otherwise in a unique key.
fn columns(there: &CreateTable<'_>, from: &CreateTable<'_>) -> Option<String> {
    let unique: BTreeSet<String> = unique_keys(there).into_iter().flat_map(|k| k.1).collect();
    let usual = |table: &CreateTable<'_>| {
        let tail = plain(table.tail);
        let at = tail.find(" collate=")? + " collate=".len();
        let end = tail[at..].find(' ').map_or(tail.len(), |n| at + n);
        Some(tail[at..end].to_owned())
    };
    let (usual_there, usual_from) = (usual(there), usual(from));
    let own = |all: &[&str]| {
        let at = all.iter().position(|w| w.eq_ignore_ascii_case("COLLATE"))?;
        Some(all.get(at + 1)?.to_lowercase())
    };
    let refuses_null = |all: &[&str]| {
        let is = |w: &[&str]| w[0].eq_ignore_ascii_case("NOT") && w[1].eq_ignore_ascii_case("NULL");
        all.windows(2).any(is)
    };
    for element in there.elements.iter().filter(|e| e.starts_with('`')) {
        let all = words(element, usize::MAX);
        let name = all.first().copied().unwrap_or_default();
        let same = |e: &&&str| words(e, 1).first().copied() == Some(name);
        let Some(other) = from.elements.iter().find(same) else {
            continue;
        };
        let other = words(other, usize::MAX);
        if refuses_null(&all) && !refuses_null(&other) {
            return Some(format!("its column {name} takes no NULL"));
        }
        // Of columns without characters neither is said.
        let of_text = plain(element).contains("char") || plain(element).contains("text");
        let collation = own(&all).or_else(|| usual_there.clone());
        let held = own(&other).or_else(|| usual_from.clone());
        let differ = collation.zip(held).is_some_and(|(a, b)| a != b);
        if of_text && differ && unique.contains(&plain(name)) {
            return Some(format!(
                "its column {name} is unique under another collation"
            ));
        }
    }
    None
}

/// The keys that no two rows may share, with their names in words and the parts of their lists.
fn unique_keys(table: &CreateTable<'_>) -> Vec<(String, BTreeSet<String>)> {
    let mut keys = Vec::new();
    for element in &table.elements {
        let first = words(element, 3);
        let name = match first.first() {
            Some(word) if word.eq_ignore_ascii_case("PRIMARY") => "primary key".to_owned(),
            Some(word) if word.eq_ignore_ascii_case("UNIQUE") => {
                let name = first.iter().find(|w| w.starts_with('`'));
                format!("key {}", name.copied().unwrap_or_default())
            }
            _ => continue,
        };
        let Some(list) = CreateTable::parse(element) else {
            continue;
        };
        let part = |e: &&str| plain(e).trim_end_matches(" desc").to_owned();
        keys.push((name, list.elements.iter().map(part).collect()));
    }
    keys
}

/// The partitions of a table, as both flavours write them.
fn partitions(table: &CreateTable<'_>) -> Option<String> {
    let list = words(table.tail, usize::MAX);
    let at = list
        .windows(2)
        .position(|w| w[0].eq_ignore_ascii_case("PARTITION") && w[1].eq_ignore_ascii_case("BY"))?;
    let begin = list[at].as_ptr() as usize - table.tail.as_ptr() as usize;
    let text = table.tail[begin..].replace("*/", "").replace('`', "");
    Some(plain(&text).replace("engine = innodb", "")).map(|text| {
        text.replace(' ', "")
            .replace("partitionby", "partition by ")
    })
}

/// In small letters, with one blank between words.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(there: &str, from: &str) -> Option<String> {
        let table = |rest: &str| {
            let (keys, tail) = rest.split_once('|').unwrap_or((rest, ""));
            format!(
                "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  `b` varchar(9) DEFAULT NULL{keys}\n) ENGINE=InnoDB{tail}"
            )
        };
        rejects(&table(there), &table(from))
    }

    #[test]
    fn keys_that_are_unique() {
        let primary = ",\n  PRIMARY KEY (`a`)";
        assert_eq!(of(primary, primary), None);
        assert_eq!(of("", primary), None);
        assert!(of(primary, "").is_some_and(|why| why.contains("primary key")));
        // Rows that differ in a differ in a and b.
        assert_eq!(of(",\n  UNIQUE KEY `u` (`b`,`a`)", primary), None);
        let of_part = of(",\n  UNIQUE KEY `u` (`b`(3))", ",\n  UNIQUE KEY `b` (`b`)");
        assert!(of_part.is_some_and(|why| why.contains("key `u`")));
        assert_eq!(of(",\n  KEY `k` (`b`)", ""), None);
        // The order of a key's list decides nothing.
        assert_eq!(of(",\n  UNIQUE KEY `u` (`a` DESC)", primary), None);
    }

    #[test]
    fn columns_that_compare_otherwise_or_take_no_null() {
        let table = |column: &str, tail: &str| {
            format!(
                "CREATE TABLE `t` (\n  `v` {column},\n  UNIQUE KEY `v` (`v`)\n) ENGINE=InnoDB {tail}"
            )
        };
        let utf8 = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci";
        let own = table(
            "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL",
            utf8,
        );
        let usual = table("varchar(20) DEFAULT NULL", utf8);
        assert_eq!(rejects(&own, &own), None);
        assert_eq!(rejects(&usual, &usual), None);
        let why = rejects(&usual, &own);
        assert!(why.is_some_and(|why| why.contains("another collation")));
        let must = table("varchar(20) NOT NULL", utf8);
        assert_eq!(rejects(&must, &must), None);
        assert_eq!(rejects(&usual, &must), None);
        let why = rejects(&must, &usual);
        assert!(why.is_some_and(|why| why.contains("no NULL")));
    }

    #[test]
    fn conditions() {
        let condition = ",\n  CONSTRAINT `c` CHECK (`a` > 0)";
        assert_eq!(of(condition, condition), None);
        assert!(of(condition, "").is_some_and(|why| why.contains("condition `c`")));
        assert_eq!(of("", condition), None);
    }

    #[test]
    fn partitions_that_lack_some_rows() {
        let mysql = "|\n/*!50100 PARTITION BY RANGE (`a`)\n(PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB) */";
        let mariadb =
            "|\n PARTITION BY RANGE (`a`)\n(PARTITION `p0` VALUES LESS THAN (10) ENGINE = InnoDB)";
        let more =
            "|\n PARTITION BY RANGE (`a`)\n(PARTITION `p0` VALUES LESS THAN (99) ENGINE = InnoDB)";
        assert_eq!(of(mysql, mariadb), None);
        assert!(of(mysql, more).is_some_and(|why| why.contains("partitions")));
        assert!(of(mysql, "").is_some());
        assert_eq!(of("", mysql), None);
        assert_eq!(of("|\n PARTITION BY HASH (`a`)\nPARTITIONS 4", ""), None);
        assert_eq!(
            of(
                "|\n/*!50100 PARTITION BY LINEAR KEY (a)\nPARTITIONS 4 */",
                ""
            ),
            None
        );
    }
}

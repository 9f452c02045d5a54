//! What in a table's definition may reject rows that a table of another definition holds: keys that are unique, conditions,
//! partitions that not every row has one in.
//!
//! Only what `SHOW CREATE TABLE` writes is understood. What this does not look at: columns, their types and collations.

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

//! Changes that make a definition of one server acceptable to another.
//!
//! Each rule changes only what the target would refuse or does not know, and
//! every change is named, so nothing differs silently (promise: exact, or
//! listed). What has no honest counterpart is left as it is; the target
//! refuses it in its own words.

use super::collate::{replace_unknown, spell_out};
use super::create::{CreateTable, step, words};
use crate::Identity;

/// Rewrites a `CREATE TABLE` or `CREATE DATABASE` of `from` for `to`. The notes
/// name each change of meaning; without one the object is the same. (A collation
/// that the source left out because it is the default there is spelled out, as
/// the target may have another default.)
pub fn adapt(create: &str, from: &Identity, to: &Identity) -> (String, Vec<String>) {
    let mut notes = Vec::new();
    if from.flavour == to.flavour && from.version == to.version {
        return (create.to_owned(), notes);
    }
    let whole = spell_out(create, from);
    let whole = replace_unknown(&whole, from, to, &mut notes);
    let whole = super::versioned::for_target(&whole, from, to, &mut notes);
    let Some(table) = CreateTable::parse(&whole) else {
        return (whole, notes);
    };
    let before = notes.len();
    let elements: Vec<String> = table
        .elements
        .iter()
        .map(|e| year_two(e, to, &mut notes))
        .collect();
    let tail = options(table.tail, from, to, &mut notes);
    if notes.len() == before {
        return (whole, notes);
    }
    let table = CreateTable {
        tail: &tail,
        ..table
    };
    (table.join(&elements), notes)
}

/// `YEAR(2)` was taken out in MySQL 5.7 (8.0 refuses it); MariaDB still has it.
fn year_two(element: &str, to: &Identity, notes: &mut Vec<String>) -> String {
    if !to.mysql_at_least(5, 7, 5) {
        return element.to_owned();
    }
    let [name, kind] = words(element, 2)[..] else {
        return element.to_owned();
    };
    if !name.starts_with('`') || !kind.eq_ignore_ascii_case("year") {
        return element.to_owned();
    }
    let after = offset(element, kind) + kind.len();
    let Some(rest) = element[after..].strip_prefix("(2)") else {
        return element.to_owned();
    };
    notes.push(format!("column {name}: YEAR(2) becomes YEAR"));
    format!("{}{rest}", &element[..after])
}

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// Options after the column list.
fn options(tail: &str, from: &Identity, to: &Identity, notes: &mut Vec<String>) -> String {
    let mut out = tail.to_owned();
    if let Some(engine) = value(&out, "ENGINE") {
        let known =
            to.is_mariadb() || !matches!(engine.to_ascii_lowercase().as_str(), "aria" | "maria");
        if !known {
            notes.push(format!("engine {engine} becomes InnoDB"));
            out = replace(&out, "ENGINE", Some("InnoDB"));
        }
    }
    let innodb = value(&out, "ENGINE").is_some_and(|e| e.eq_ignore_ascii_case("innodb"));
    if let Some(format) = value(&out, "ROW_FORMAT") {
        let upper = format.to_ascii_uppercase();
        // InnoDB never had these; old servers took them and used COMPACT.
        let refused = (innodb && matches!(upper.as_str(), "FIXED" | "PAGE"))
            || (upper == "PAGE" && to.is_mysql());
        if refused {
            notes.push(format!("ROW_FORMAT={format} is left out"));
            out = replace(&out, "ROW_FORMAT", None);
        }
    }
    if from.is_mariadb() && to.is_mysql() {
        for option in [
            "PAGE_CHECKSUM",
            "TRANSACTIONAL",
            "PAGE_COMPRESSED",
            "PAGE_COMPRESSION_LEVEL",
            "ENCRYPTED",
            "ENCRYPTION_KEY_ID",
            "IETF_QUOTES",
            "SEQUENCE",
        ] {
            for spelled in [option.to_owned(), format!("`{option}`")] {
                if let Some(given) = value(&out, &spelled) {
                    notes.push(format!("{option}={given} is left out"));
                    out = replace(&out, &spelled, None);
                }
            }
        }
    }
    out
}

/// The places of `NAME=value` outside quotes: start of the name, start and end of the value.
fn find(text: &str, name: &str) -> Option<(usize, usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let fits = bytes.len() - at > name.len()
            && bytes[at..at + name.len()].eq_ignore_ascii_case(name.as_bytes())
            && bytes[at + name.len()] == b'='
            && (at == 0 || bytes[at - 1].is_ascii_whitespace() || bytes[at - 1] == b')');
        if fits {
            let from = at + name.len() + 1;
            let end = if from < bytes.len() && matches!(bytes[from], b'\'' | b'"') {
                from + step(bytes, from)
            } else {
                from + bytes[from..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                    .count()
            };
            return Some((at, from, end));
        }
        at += step(bytes, at);
    }
    None
}

fn value(text: &str, name: &str) -> Option<String> {
    find(text, name).map(|(_, from, end)| text[from..end].to_owned())
}

/// Changes the value of an option, or takes the option out.
fn replace(text: &str, name: &str, new: Option<&str>) -> String {
    match (find(text, name), new) {
        (Some((_, from, end)), Some(new)) => format!("{}{new}{}", &text[..from], &text[end..]),
        (Some((at, _, end)), None) => {
            format!("{}{}", text[..at].trim_end_matches(' '), &text[end..])
        }
        (None, _) => text.to_owned(),
    }
}

/// The modes of `mode` that the target knows, and those it does not.
///
/// Combined names (`ANSI`, `ORACLE`, `TRADITIONAL`, …) are how old servers
/// report a set of modes; the parts are beside them in the list.
pub fn sql_mode_for(to: &Identity, mode: &str) -> (String, Vec<String>) {
    const COMMON: [&str; 14] = [
        "REAL_AS_FLOAT",
        "PIPES_AS_CONCAT",
        "ANSI_QUOTES",
        "IGNORE_SPACE",
        "ONLY_FULL_GROUP_BY",
        "NO_UNSIGNED_SUBTRACTION",
        "NO_DIR_IN_CREATE",
        "NO_AUTO_VALUE_ON_ZERO",
        "NO_BACKSLASH_ESCAPES",
        "STRICT_TRANS_TABLES",
        "STRICT_ALL_TABLES",
        "NO_ZERO_IN_DATE",
        "NO_ZERO_DATE",
        "ALLOW_INVALID_DATES",
    ];
    const MORE: [&str; 6] = [
        "ERROR_FOR_DIVISION_BY_ZERO",
        "TRADITIONAL",
        "ANSI",
        "HIGH_NOT_PRECEDENCE",
        "NO_ENGINE_SUBSTITUTION",
        "PAD_CHAR_TO_FULL_LENGTH",
    ];
    // Gone with MySQL 8.0, still there in MariaDB.
    const OLD: [&str; 10] = [
        "NO_AUTO_CREATE_USER",
        "MYSQL323",
        "MYSQL40",
        "DB2",
        "MAXDB",
        "MSSQL",
        "ORACLE",
        "POSTGRESQL",
        "NO_KEY_OPTIONS",
        "NO_TABLE_OPTIONS",
    ];
    const MARIADB: [&str; 3] = [
        "EMPTY_STRING_IS_NULL",
        "SIMULTANEOUS_ASSIGNMENT",
        "TIME_ROUND_FRACTIONAL",
    ];
    let knows = |m: &str| {
        COMMON.contains(&m)
            || MORE.contains(&m)
            || ((OLD.contains(&m) || m == "NO_FIELD_OPTIONS")
                && (to.is_mariadb() || !to.at_least(8, 0, 0)))
            || (m == "TIME_TRUNCATE_FRACTIONAL" && to.mysql_at_least(8, 0, 0))
            || (MARIADB.contains(&m) && to.is_mariadb())
    };
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for m in mode.split(',').map(str::trim).filter(|m| !m.is_empty()) {
        let upper = m.to_ascii_uppercase();
        if knows(&upper) {
            kept.push(upper);
        } else {
            dropped.push(upper);
        }
    }
    (kept.join(","), dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str) -> Identity {
        Identity::from_variables([("version".to_owned(), version.to_owned())].into())
            .expect("a version")
    }

    #[test]
    fn an_old_table_fits_a_new_server() {
        let old = "CREATE TABLE `t` (\n  `year(2)` int(11) DEFAULT NULL,\n  `y` year(2) DEFAULT '70' COMMENT 'year(2)',\n  \
            KEY `y` (`y`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=FIXED COMMENT='ROW_FORMAT=FIXED'";
        let (new, notes) = adapt(old, &server("5.5.9"), &server("9.7.4"));
        assert_eq!(
            new,
            old.replace("`y` year(2)", "`y` year")
                .replace(" ROW_FORMAT=FIXED C", " C")
        );
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(
            adapt(old, &server("5.5.9"), &server("10.11.1-MariaDB"))
                .0
                .contains("`y` year(2)")
        );
    }

    #[test]
    fn collations_cross_the_flavours_with_a_note() {
        let my = "CREATE TABLE `t` (\n  `a` char(1) COLLATE utf8mb4_0900_as_cs DEFAULT 'COLLATE utf8mb4_0900_as_cs'\n) ENGINE=InnoDB COLLATE=utf8mb4_0900_ai_ci";
        let (out, notes) = adapt(my, &server("9.7.4"), &server("10.11.19-MariaDB"));
        assert!(
            out.contains(
                "COLLATE utf8mb4_uca1400_nopad_as_cs DEFAULT 'COLLATE utf8mb4_0900_as_cs'"
            )
        );
        assert!(out.ends_with("COLLATE=utf8mb4_uca1400_nopad_ai_ci"));
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn default_collations_are_spelled_out_across_versions() {
        let create = "CREATE TABLE `t` (\n  `a` char(1) CHARACTER SET utf8mb4 DEFAULT 'CHARSET=utf8mb4',\n  `b` text CHARACTER SET utf8 COLLATE utf8_bin\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        let (out, notes) = adapt(create, &server("5.7.40"), &server("9.7.4"));
        assert_eq!(
            out,
            create
                .replace("utf8mb4 DEF", "utf8mb4 COLLATE utf8mb4_general_ci DEF")
                .replace(
                    "CHARSET=utf8mb4",
                    "CHARSET=utf8mb4 COLLATE utf8mb4_general_ci"
                )
                .replace(
                    "'CHARSET=utf8mb4 COLLATE utf8mb4_general_ci'",
                    "'CHARSET=utf8mb4'"
                )
        );
        assert!(notes.is_empty());
        let schema = "CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 */";
        assert_eq!(
            adapt(schema, &server("5.5.9"), &server("10.11.1-MariaDB")).0,
            "CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci */"
        );
        assert_eq!(adapt(schema, &server("5.5.9"), &server("5.5.9")).0, schema);
    }

    #[test]
    fn what_mariadb_would_skip_is_translated_or_named() {
        let create = "CREATE TABLE `t` (\n  `c` int DEFAULT '4' /*!80023 INVISIBLE */,\n  `p` point /*!80003 SRID 4326 */,\n  \
            KEY `k` (`c`) /*!80000 INVISIBLE */,\n  CONSTRAINT `x` CHECK ((`c` > 0)) /*!80016 NOT ENFORCED */\n) ENGINE=InnoDB /*!80016 ENCRYPTION='N' */\n/*!50100 PARTITION BY HASH (`c`) */";
        let (out, notes) = adapt(create, &server("9.7.4"), &server("10.11.1-MariaDB"));
        assert!(
            out.contains("DEFAULT '4' INVISIBLE,") && out.contains("KEY `k` (`c`) IGNORED,"),
            "{out}"
        );
        assert!(
            out.contains("/*!50100 PARTITION") && !out.contains("80023") && !out.contains("80000")
        );
        assert_eq!(notes, ["SRID 4326 is left out", "NOT ENFORCED is left out"]);
        assert_eq!(
            adapt(create, &server("8.4.1"), &server("9.7.4")),
            (create.to_owned(), vec![])
        );
    }

    #[test]
    fn mariadb_options_are_left_out_on_mysql() {
        let create = "CREATE TABLE `t` (\n  `a` int(11) DEFAULT NULL\n) ENGINE=Aria DEFAULT CHARSET=latin1 PAGE_CHECKSUM=1 ROW_FORMAT=PAGE TRANSACTIONAL=1";
        let (out, notes) = adapt(create, &server("10.11.1-MariaDB"), &server("9.7.4"));
        assert!(
            out.ends_with(") ENGINE=InnoDB DEFAULT CHARSET=latin1"),
            "{out}"
        );
        assert_eq!(notes.len(), 4);
        let same = adapt(
            create,
            &server("10.11.1-MariaDB"),
            &server("11.8.1-MariaDB"),
        );
        assert_eq!(same, (create.to_owned(), vec![]));
    }

    #[test]
    fn modes_that_the_target_lacks_are_named() {
        let mode = "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION";
        assert_eq!(
            sql_mode_for(&server("9.7.4"), mode),
            (
                "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION".into(),
                vec!["NO_AUTO_CREATE_USER".into()]
            )
        );
        assert_eq!(
            sql_mode_for(&server("10.11.1-MariaDB"), mode).1,
            Vec::<String>::new()
        );
        assert_eq!(sql_mode_for(&server("9.7.4"), "").0, "");
    }
}

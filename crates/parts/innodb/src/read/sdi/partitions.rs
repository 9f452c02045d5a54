//! `PARTITION BY` of a table's description.

use super::words::{list, name, quoted, text};
use serde_json::Value;

/// `dd::Partition`: names and number were given, only the number, or neither.
const NAMED: u64 = 1;
const NUMBER: u64 = 3;

/// Kinds of partitions (`dd::Table::enum_partition_type`) that have values.
const RANGE: u64 = 7;
const LIST: u64 = 8;
const RANGE_COLUMNS: u64 = 9;
const LIST_COLUMNS: u64 = 10;

/// The clause as a comment that servers read; `None`: no partitions. The error says what is not known.
pub(super) fn clause(object: &Value) -> Option<Result<String, String>> {
    let kind = object["partition_type"].as_u64().filter(|k| *k > 0)?;
    let Some(by) = by(kind, text(object, "partition_expression_utf8")) else {
        return Some(Err(format!("its partitions, of kind {kind}")));
    };
    let mut sql = format!("PARTITION BY {by}");
    let all = list(object, "partitions");
    if object["default_partitioning"] == NUMBER {
        sql += &format!("\nPARTITIONS {}", all.len());
    }
    if let Some(below) = object["subpartition_type"].as_u64().filter(|k| *k > 0) {
        let Some(by) = self::by(below, text(object, "subpartition_expression_utf8")) else {
            return Some(Err(format!("its subpartitions, of kind {below}")));
        };
        sql += &format!("\nSUBPARTITION BY {by}");
        if object["default_subpartitioning"] == NUMBER {
            let count = all.first().map_or(0, |p| list(p, "subpartitions").len());
            sql += &format!("\nSUBPARTITIONS {count}");
        }
    }
    if object["default_partitioning"] == NAMED {
        let named = object["default_subpartitioning"] == NAMED;
        let parts: Vec<String> = all.iter().map(|p| partition(p, kind, named)).collect();
        sql += &format!("\n({})", parts.join(",\n "));
    }
    Some(Ok(format!("\n/*!50100 {sql} */")))
}

/// What rows are divided by.
fn by(kind: u64, expression: &str) -> Option<String> {
    Some(match kind {
        1 => format!("HASH ({expression})"),
        4 => format!("LINEAR HASH ({expression})"),
        // The algorithm of MySQL 5.1 and that of today.
        2 => format!("KEY ALGORITHM = 1 ({expression})"),
        3 => format!("KEY ({expression})"),
        5 => format!("LINEAR KEY ALGORITHM = 1 ({expression})"),
        6 => format!("LINEAR KEY ({expression})"),
        RANGE => format!("RANGE ({expression})"),
        LIST => format!("LIST ({expression})"),
        RANGE_COLUMNS => format!("RANGE COLUMNS({expression})"),
        LIST_COLUMNS => format!("LIST COLUMNS({expression})"),
        _ => return None,
    })
}

fn partition(json: &Value, kind: u64, named: bool) -> String {
    let mut sql = format!("PARTITION {}", name(text(json, "name")));
    let values = text(json, "description_utf8");
    match kind {
        RANGE if values == "MAXVALUE" => sql += " VALUES LESS THAN MAXVALUE",
        RANGE | RANGE_COLUMNS => sql += &format!(" VALUES LESS THAN ({values})"),
        LIST | LIST_COLUMNS => sql += &format!(" VALUES IN ({values})"),
        _ => {}
    }
    let below = list(json, "subpartitions");
    if named && !below.is_empty() {
        let parts: Vec<String> = below
            .iter()
            .map(|s| format!("SUBPARTITION {}{}", name(text(s, "name")), tail(s)))
            .collect();
        return format!("{sql}\n ({})", parts.join(",\n  "));
    }
    sql + &tail(json)
}

fn tail(json: &Value) -> String {
    let comment = match text(json, "comment") {
        "" => String::new(),
        comment => format!(" COMMENT = {}", quoted(comment)),
    };
    format!("{comment} ENGINE = {}", text(json, "engine"))
}

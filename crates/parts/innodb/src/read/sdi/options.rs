//! Options of a table in its description: engine, collation, row format, comment, and what statistics are kept.

use super::private;
use super::words::{quoted, text};
use serde_json::Value;
use std::fmt::Write;

/// They begin with a blank.
pub(super) fn of(object: &Value, collation: &str, charset: &str) -> String {
    let set = text(object, "options");
    let number = |key: &str| private(set, key).filter(|v| *v != "0" && !v.is_empty());
    let mut sql = format!(
        " ENGINE={} DEFAULT CHARSET={} COLLATE={collation}",
        text(object, "engine"),
        charset
    );
    for (key, option) in [
        ("min_rows", "MIN_ROWS"),
        ("max_rows", "MAX_ROWS"),
        ("avg_row_length", "AVG_ROW_LENGTH"),
    ] {
        if let Some(value) = number(key) {
            let _ = write!(sql, " {option}={value}");
        }
    }
    // The value is the flag of an option, or 0 where it was switched off.
    for (key, option) in [
        ("pack_keys", "PACK_KEYS"),
        ("stats_persistent", "STATS_PERSISTENT"),
    ] {
        if let Some(value) = private(set, key) {
            let _ = write!(sql, " {option}={}", u8::from(value != "0"));
        }
    }
    match private(set, "stats_auto_recalc") {
        Some("1") => sql += " STATS_AUTO_RECALC=1",
        Some("2") => sql += " STATS_AUTO_RECALC=0",
        _ => {}
    }
    if let Some(pages) = number("stats_sample_pages") {
        let _ = write!(sql, " STATS_SAMPLE_PAGES={pages}");
    }
    for (key, option) in [
        ("checksum", "CHECKSUM"),
        ("delay_key_write", "DELAY_KEY_WRITE"),
    ] {
        if number(key).is_some() {
            let _ = write!(sql, " {option}=1");
        }
    }
    match private(set, "row_type") {
        Some("2") => sql += " ROW_FORMAT=DYNAMIC",
        Some("3") => sql += " ROW_FORMAT=COMPRESSED",
        Some("4") => sql += " ROW_FORMAT=REDUNDANT",
        Some("5") => sql += " ROW_FORMAT=COMPACT",
        _ => {}
    }
    if let Some(size) = number("key_block_size") {
        let _ = write!(sql, " KEY_BLOCK_SIZE={size}");
    }
    let comment = text(object, "comment");
    if !comment.is_empty() {
        let _ = write!(sql, " COMMENT={}", quoted(comment));
    }
    sql
}

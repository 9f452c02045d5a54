//! Values of columns, as SQL text: to store them, and to find the row that has them.
//!
//! A value is what the canonical SELECT gives ([`Column::select_expression`]). Text comes out with its character set, so that it means the
//! same whatever the session's is; plain ASCII needs a session with `SET NAMES utf8mb4`.

use crate::catalog::Column;
use crate::quote;

/// The condition that a column still has the value that was seen; none for values that do not compare as they are.
pub fn was(column: &Column, value: Option<&[u8]>) -> Option<String> {
    let name = quote::ident(&column.name);
    let Some(bytes) = value else {
        return Some(format!("{name} IS NULL"));
    };
    if column.is_spatial() || column.data_type == "vector" {
        return None;
    }
    let exact = |expression: String| {
        let value = match column.charset.as_deref() {
            Some(charset) if is_plain(charset, bytes) => {
                format!("'{}'", String::from_utf8_lossy(bytes))
            }
            _ => quote::hex(bytes),
        };
        format!("CAST({expression} AS BINARY) <=> {value}")
    };
    Some(match column.data_type.as_str() {
        "bit" => format!("{name} = {}", bits(bytes)),
        "float" | "double" => {
            let value = literal(column, value);
            format!("{} <=> {value}", column.select_expression())
        }
        "json" => exact(format!("CAST({name} AS CHAR)")),
        // A collation may take other values for equal.
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => exact(name),
        _ => format!("{name} <=> {}", literal(column, value)),
    })
}

/// A value as it was read, for a column.
pub fn literal(column: &Column, value: Option<&[u8]>) -> String {
    let Some(bytes) = value else {
        return "NULL".to_owned();
    };
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let of = |more: &[u8]| {
        !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_digit() || more.contains(b))
    };
    match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" | "decimal"
            if of(b"-.") =>
        {
            text()
        }
        // With an exponent it is no DECIMAL.
        "float" | "double" if of(b"-+.eE") => match text() {
            t if t.contains(['e', 'E']) => t,
            t => format!("{t}e0"),
        },
        // The value that is no member.
        "enum" if bytes == b"0" && !column.column_type.contains("'0'") => "0".to_owned(),
        _ if column.is_binary_unsafe() => quote::hex(bytes),
        "json" => format!("_utf8mb4 {}", quote::hex(bytes)),
        _ => match &column.charset {
            Some(charset) if is_plain(charset, bytes) => format!("'{}'", text()),
            Some(charset) if charset != "binary" => quote::hex_in(charset, bytes),
            Some(_) => quote::hex(bytes),
            None => quote::text(&text()),
        },
    }
}

/// The number of BIT.
pub fn bits(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Whether text is the same bytes in any session, and needs no escape.
fn is_plain(charset: &str, bytes: &[u8]) -> bool {
    let same = matches!(charset, "utf8mb4" | "utf8mb3" | "utf8" | "latin1" | "ascii");
    same && bytes
        .iter()
        .all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'\\' | b'\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_text_is_written_as_it_is() {
        let column = |charset: &str| Column {
            name: "v".to_owned(),
            data_type: "varchar".to_owned(),
            charset: Some(charset.to_owned()),
            ..Column::default()
        };
        let of = |charset: &str, value: &str| literal(&column(charset), Some(value.as_bytes()));
        assert_eq!(of("latin1", "a b"), "'a b'");
        assert_eq!(of("latin1", "a\\"), "_latin1 x'615C'");
        assert_eq!(of("utf8mb4", "it's"), "_utf8mb4 x'69742773'");
        assert_eq!(of("utf8mb4", "\n"), "_utf8mb4 x'0A'");
        assert_eq!(of("sjis", "a"), "_sjis x'61'");
        assert_eq!(of("binary", "a"), "x'61'");
        let found = was(&column("utf8mb3"), Some(b"a"));
        assert_eq!(found.as_deref(), Some("CAST(`v` AS BINARY) <=> 'a'"));
    }
}

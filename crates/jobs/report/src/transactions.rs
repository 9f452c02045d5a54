//! Transactions of a binary log, with their statements and rows: text for people, one object a line for programs.
//!
//! Nothing from a log controls a terminal: text is escaped, bytes are hexadecimal. Long values are cut in the text, and whole in
//! the objects.

use crate::summary::things;
use base::units::{count, printable};
use binlog::body::Change;
use binlog::body::columns::{Column, kind};
use binlog::value::{Decoded, Sort};
use binlog_archive::show::{Ended, Row, Shown, Value};
use binlog_archive::{Found, shown_time};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;

/// Longer values are cut in the text, in characters.
const LONGEST: usize = 200;

/// A transaction in one line.
pub fn title(found: &Found) -> String {
    let t = &found.transaction;
    let name = t.gtid.as_ref();
    let name = name.map_or_else(String::new, |g| format!("  {g}"));
    let session = found.thread;
    let session = session.map_or_else(String::new, |t| format!("  session {t}"));
    format!(
        "{}{name}  {}:{} to {}{session}",
        shown_time(t.time),
        found.file,
        t.start,
        t.end
    )
}

/// A statement in one line, cut if it is long.
pub(crate) fn one_line(statement: &str) -> String {
    const LONGEST: usize = 300;
    let words: Vec<&str> = statement.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// For people: one or more lines, or none.
pub fn text(shown: &Shown<'_>) -> String {
    match shown {
        Shown::Transaction(found) => format!("\n{}\n", printable(&title(found))),
        Shown::Statement {
            schema,
            text,
            of_rows,
        } => statement(schema, text, *of_rows),
        Shown::Row(r) => format!("  {}\n", printable(&row(r))),
        Shown::End(ended) => end(ended),
    }
}

fn statement(schema: &str, text: &str, of_rows: bool) -> String {
    let mark = if of_rows { "# " } else { "" };
    let mut out = String::new();
    for line in text.lines() {
        out += &format!("  {mark}{}\n", printable(line));
    }
    if !schema.is_empty() && !of_rows {
        out.truncate(out.trim_end().len());
        out += &format!("  (schema {})\n", printable(schema));
    }
    out
}

fn row(r: &Row<'_>) -> String {
    let verb = verb(r.change);
    let mut parts = Vec::new();
    for (i, column) in r.columns.iter().enumerate() {
        let before = r.before.as_ref().and_then(|v| short(column, v.get(i)?));
        let after = r.after.as_ref().and_then(|v| short(column, v.get(i)?));
        let value = match (before, after) {
            (Some(before), Some(after)) if before.0 == after.0 => before.1,
            (Some(before), Some(after)) => format!("{} -> {}", before.1, after.1),
            (Some(only), None) => only.1,
            (None, Some(only)) if r.change == Change::Update => format!("-> {}", only.1),
            (None, Some(only)) => only.1,
            (None, None) => continue,
        };
        parts.push(format!("{}={value}", label(i, column)));
    }
    format!("{verb} {}.{}: {}", r.schema, r.table, parts.join(", "))
}

fn verb(change: Change) -> &'static str {
    match change {
        Change::Insert => "insert",
        Change::Update => "update",
        Change::Delete => "delete",
    }
}

/// The name of a column, or its number.
fn label(i: usize, column: &Column) -> Cow<'_, str> {
    match &column.name {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("@{}", i + 1)),
    }
}

/// The value itself, to be compared, and its text, perhaps cut; `None` if the log does not have it.
fn short<'v>(column: &Column, value: &'v Value) -> Option<(Option<&'v Decoded>, String)> {
    match value {
        Value::Absent => None,
        Value::Null => Some((None, "NULL".to_owned())),
        Value::Is(decoded) => Some((Some(decoded), of_column(column, decoded))),
    }
}

fn of_column(column: &Column, decoded: &Decoded) -> String {
    let plain = || String::from_utf8_lossy(&decoded.text).into_owned();
    let quoted = |text: &str| {
        cut(text, text.chars().count(), |t| {
            format!("'{}'", t.replace('\'', "''"))
        })
    };
    match decoded.sort {
        Sort::Integer | Sort::Decimal | Sort::Float => plain(),
        Sort::Ambiguous => format!("{} (or {})", plain(), unsigned(column, decoded)),
        Sort::Time | Sort::Address => format!("'{}'", plain()),
        Sort::Json | Sort::JsonOfDecimals | Sort::JsonChanges => {
            let text = plain();
            cut(&text, text.chars().count(), str::to_owned)
        }
        Sort::Ordinal => format!("#{}", plain()),
        Sort::NoMember => "''".to_owned(),
        Sort::Bits => format!("b'{:b}'", bits(&decoded.text)),
        Sort::Text | Sort::TextOrBytes => match exact(column, decoded) {
            Some(text) => quoted(&text),
            None => hexadecimal(&decoded.text),
        },
        Sort::Bytes => hexadecimal(&decoded.text),
        Sort::Broken => format!("{} (no value of its type)", hexadecimal(&decoded.text)),
    }
}

/// A text, or its beginning and how long it is.
fn cut(text: &str, length: usize, shown: impl Fn(&str) -> String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!(
            "{}… ({} characters)",
            shown(&text[..end]),
            count(length as u64)
        ),
        None => shown(text),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    match bytes.get(..LONGEST / 2) {
        Some(head) if bytes.len() > LONGEST / 2 => {
            format!(
                "{}… ({} bytes)",
                server::quote::hex(head),
                count(bytes.len() as u64)
            )
        }
        _ => server::quote::hex(bytes),
    }
}

/// Text as Unicode, if that loses nothing.
fn exact<'t>(column: &Column, decoded: &'t Decoded) -> Option<Cow<'t, str>> {
    let bytes = &decoded.text;
    let utf8 = || std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
    let Some(charset) = &column.charset else {
        // Bytes that are no text have control characters.
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        return utf8().filter(|t| !t.contains(control));
    };
    if matches!(charset.as_str(), "utf8mb4" | "utf8mb3" | "utf8" | "binary") {
        return utf8();
    }
    let text = values::charset::Charset::of(charset)?.decode(bytes);
    (!text.contains('\u{fffd}')).then_some(Cow::Owned(text))
}

/// What an integer is without a sign.
fn unsigned(column: &Column, decoded: &Decoded) -> String {
    let signed: i128 = String::from_utf8_lossy(&decoded.text).parse().unwrap_or(0);
    let bits = match column.kind {
        kind::TINY => 8,
        kind::SHORT => 16,
        kind::INT24 => 24,
        kind::LONG => 32,
        _ => 64,
    };
    (signed + (1i128 << bits)).to_string()
}

fn bits(bytes: &[u8]) -> u64 {
    server::literal::bits(bytes)
}

fn end(ended: &Ended) -> String {
    let mut out = String::new();
    if ended.above_limit > 0 {
        out += &format!("  … {} more\n", things(ended.above_limit, "row"));
    }
    if ended.others > 0 {
        out += &format!(
            "  … {} of other tables or kinds\n",
            things(ended.others, "row")
        );
    }
    if ended.rolled_back {
        out += "  (rolled back: only tables without transactions have kept it)\n";
    }
    out
}

/// For programs.
pub fn json(shown: &Shown<'_>) -> Json {
    match shown {
        Shown::Transaction(f) => json!({
            "event": "transaction",
            "gtid": f.transaction.gtid.as_ref().map(ToString::to_string),
            "time": shown_time(f.transaction.time),
            "timeline": f.timeline,
            "file": f.file,
            "start": f.transaction.start,
            "end": f.transaction.end,
            "session": f.thread,
        }),
        Shown::Statement {
            schema,
            text,
            of_rows,
        } => json!({
            "event": "statement", "schema": schema, "statement": text, "of_rows": of_rows,
        }),
        Shown::Row(r) => {
            let mut object = json!({
                "event": "row", "change": verb(r.change), "schema": r.schema, "table": r.table,
            });
            for (key, image) in [("before", &r.before), ("after", &r.after)] {
                if let Some(image) = image {
                    object[key] = Json::Object(image_json(r.columns, image));
                }
            }
            object
        }
        Shown::End(e) => json!({
            "event": "end", "rows": e.rows, "rows_above_limit": e.above_limit,
            "rows_of_others": e.others, "rolled_back": e.rolled_back,
        }),
    }
}

/// A row by the names of its columns, without those that the log does not have.
fn image_json(columns: &[Column], image: &[Value]) -> Map<String, Json> {
    let mut object = Map::new();
    for (i, (column, value)) in columns.iter().zip(image).enumerate() {
        let value = match value {
            Value::Absent => continue,
            Value::Null => Json::Null,
            Value::Is(decoded) => value_json(column, decoded),
        };
        object.insert(label(i, column).into_owned(), value);
    }
    object
}

fn value_json(column: &Column, decoded: &Decoded) -> Json {
    let plain = || String::from_utf8_lossy(&decoded.text).into_owned();
    let number = || {
        serde_json::from_str::<serde_json::Number>(&plain())
            .map_or_else(|_| plain().into(), Json::Number)
    };
    let hex = || {
        let digits = decoded.text.iter().map(|b| format!("{b:02x}"));
        digits.collect::<String>()
    };
    match decoded.sort {
        Sort::Integer | Sort::Float => number(),
        Sort::Ambiguous => {
            json!({"signed": number(), "unsigned": unsigned(column, decoded).parse::<u64>().ok()})
        }
        Sort::Decimal | Sort::Time | Sort::Address | Sort::Json | Sort::JsonOfDecimals => {
            plain().into()
        }
        Sort::JsonChanges => json!({"json_changes": plain()}),
        Sort::NoMember => "".into(),
        Sort::Ordinal if column.kind == kind::ENUM => json!({"member": number()}),
        Sort::Ordinal => json!({"members": number()}),
        Sort::Bits => bits(&decoded.text).into(),
        Sort::Text | Sort::TextOrBytes => match exact(column, decoded) {
            Some(text) => text.into_owned().into(),
            None => json!({"charset": column.charset, "hex": hex()}),
        },
        Sort::Bytes => json!({"hex": hex()}),
        Sort::Broken => json!({"broken": hex()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, charset: Option<&str>) -> Column {
        Column {
            kind,
            meta: 0,
            nullable: true,
            name: Some("c".to_owned()),
            unsigned: None,
            charset: charset.map(str::to_owned),
            members: None,
            primary: false,
            address: None,
        }
    }

    fn value(sort: Sort, text: &[u8]) -> Decoded {
        Decoded {
            sort,
            text: text.to_vec(),
        }
    }

    #[test]
    fn values_are_safe_and_say_what_they_are() {
        let latin = column(kind::VARCHAR, Some("latin1"));
        let of = |sort, text: &[u8]| of_column(&latin, &value(sort, text));
        assert_eq!(of(Sort::Text, b"it's \xe9"), "'it''s é'");
        assert_eq!(of(Sort::Bytes, b"\x00\xff"), "x'00FF'");
        assert_eq!(of(Sort::Bits, &[1, 2]), "b'100000010'");
        let long = "x".repeat(1000);
        let shown = of(Sort::Text, long.as_bytes());
        assert!(shown.ends_with("x'… (1,000 characters)"), "{shown}");
        let czech = column(kind::VARCHAR, Some("latin2"));
        let text = value(Sort::Text, b"\xe9");
        assert_eq!(of_column(&czech, &text), "x'E9'");
        assert_eq!(
            value_json(&czech, &text),
            json!({"charset": "latin2", "hex": "e9"})
        );
        let unknown = column(kind::BLOB, None);
        assert_eq!(
            of_column(&unknown, &value(Sort::TextOrBytes, b"a\x00")),
            "x'6100'"
        );
        assert_eq!(
            of_column(&unknown, &value(Sort::TextOrBytes, b"a\n")),
            "'a\n'"
        );
    }

    #[test]
    fn a_sign_that_is_not_known_shows_both() {
        let tiny = column(kind::TINY, None);
        let one = value(Sort::Ambiguous, b"-1");
        assert_eq!(of_column(&tiny, &one), "-1 (or 255)");
        assert_eq!(
            value_json(&tiny, &one),
            json!({"signed": -1, "unsigned": 255})
        );
    }

    #[test]
    fn an_update_shows_both_values() {
        let columns = [column(kind::LONG, None), column(kind::LONG, None)];
        let of = |text: &str| Value::Is(value(Sort::Integer, text.as_bytes()));
        let shown = Row {
            schema: "d",
            table: "t\x1b",
            change: Change::Update,
            columns: &columns,
            before: Some(vec![of("1"), of("2")]),
            after: Some(vec![of("1"), Value::Null]),
        };
        assert_eq!(
            text(&Shown::Row(&shown)),
            "  update d.t\\u{1b}: c=1, c=2 -> NULL\n"
        );
        let object = json(&Shown::Row(&shown));
        assert_eq!(object["after"], json!({"c": null}));
    }
}

//! Tables with awkward values of every type, and a comparison of what `binlog show --json` says of them with what the
//! server's SELECT gives.

use crate::kit::Done;
use crate::kit::fixtures::fixture;
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{Kind, Server};

/// The point of the scripts, as this server writes it.
fn point(kind: Kind) -> &'static str {
    match kind {
        Kind::MySql55 => "GeomFromText('POINT(1 2)')",
        _ => "ST_GeomFromText('POINT(1 2)')",
    }
}

/// The tables.
pub fn tables(kind: Kind) -> String {
    let more = match kind.flavour() {
        Kind::MySql if kind == Kind::MySql55 => String::new(),
        Kind::MySql => fixture!("binlog_values_mysql"),
        _ => fixture!("binlog_values_mariadb"),
    };
    format!("{}{more}", fixture!("binlog_values"))
}

/// Rows with ids from this one on.
pub fn rows(kind: Kind, id: u32) -> String {
    let more = match kind.flavour() {
        Kind::MySql if kind == Kind::MySql55 => String::new(),
        Kind::MySql => fixture!("binlog_values_mysql_rows"),
        _ => fixture!("binlog_values_mariadb_rows"),
    };
    let all = format!(
        "{}SET NAMES utf8;\n{}",
        fixture!("binlog_values_rows"),
        if more.is_empty() {
            more
        } else {
            format!("SET NAMES utf8mb4;\n{more}")
        }
    );
    all.replace("{ID}", &id.to_string())
        .replace("{POINT}", point(kind))
}

/// A column: its name, type, and whether a log by itself can say what it is.
struct Column {
    name: String,
    data_type: String,
}

impl Column {
    /// Whether only a definition says what it is.
    fn is_address(&self) -> bool {
        matches!(self.data_type.as_str(), "uuid" | "inet4" | "inet6")
    }
}

fn columns(server: &Server, table: &str) -> Vec<Column> {
    let sql = format!(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' \
         AND TABLE_NAME = '{table}' ORDER BY ORDINAL_POSITION"
    );
    let rows = server.client(&sql).expect("columns");
    let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
    rows.iter()
        .map(|r| Column {
            name: text(&r[0]),
            data_type: text(&r[1]).to_lowercase(),
        })
        .collect()
}

/// What the server says of a column: its text, and its bytes.
fn expressions(column: &Column) -> [String; 2] {
    let c = format!("`{}`", column.name);
    let text = match column.data_type.as_str() {
        "float" | "double" => format!("({c} * 1E0)"),
        "bit" => format!("CAST({c} AS UNSIGNED)"),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" => {
            format!("HEX(CONVERT({c} USING utf8mb4))")
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "geometry"
        | "point" | "vector" => format!("HEX({c})"),
        _ => format!("CAST({c} AS CHAR)"),
    };
    let other = match column.data_type.as_str() {
        "enum" | "set" => format!("CAST({c} AS UNSIGNED)"),
        _ => format!("HEX({c})"),
    };
    [text, other]
}

/// Compares the rows that were inserted into a table with the server's: returns how many.
#[track_caller]
pub fn assert_same(server: &Server, done: &Done, table: &str) -> usize {
    let columns = columns(server, table);
    let list: Vec<String> = columns.iter().flat_map(expressions).collect();
    // In one session, whose times are UTC.
    let mut conn = server.conn().expect("a connection");
    for sql in ["SET time_zone = '+00:00'", "SET NAMES utf8mb4"] {
        conn.execute(sql).expect("a setting");
    }
    let sql = format!("SELECT id, {} FROM d.{table}", list.join(", "));
    let text = |cell: Option<Vec<u8>>| cell.map(|c| String::from_utf8_lossy(&c).into_owned());
    let mut theirs: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for row in conn.fetch(&sql).expect("rows") {
        let mut cells = row.into_iter().map(text);
        theirs.insert(cells.next().flatten().expect("an id"), cells.collect());
    }
    let mut compared = 0;
    for event in done.json() {
        if event["event"] != "row" || event["table"] != table || event["change"] != "insert" {
            continue;
        }
        let ours: Vec<(&String, &Value)> =
            event["after"].as_object().expect("values").iter().collect();
        let id = ours[0].1.to_string();
        let theirs = &theirs[&id];
        let mut seen = 0;
        for (name, value) in ours {
            let at = match name.strip_prefix('@') {
                Some(number) => number.parse::<usize>().expect("a number") - 1,
                None => columns
                    .iter()
                    .position(|c| c.name == *name)
                    .expect("a column"),
            };
            let of = &columns[at];
            seen += 1;
            // What a log without any metadata has of these is bytes, without the zeros at their end.
            if name.starts_with('@') && of.is_address() {
                continue;
            }
            let (text, bytes) = (&theirs[2 * at], &theirs[2 * at + 1]);
            let same = same(value, of, text.as_deref(), bytes.as_deref());
            assert!(
                same,
                "{table} {id}, {} ({}): {value} is not {text:?} or {bytes:?}",
                of.name, of.data_type
            );
        }
        // A virtual column is in no log of MariaDB.
        assert!(seen + 1 >= columns.len(), "{seen} columns of {table}");
        compared += 1;
    }
    compared
}

fn same(ours: &Value, of: &Column, text: Option<&str>, bytes: Option<&str>) -> bool {
    let is_text = matches!(
        of.data_type.as_str(),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set"
    );
    let Some(text) = text else {
        return ours.is_null();
    };
    match ours {
        Value::String(ours)
            if is_text || of.data_type.ends_with("blob") || of.data_type.ends_with("binary") =>
        {
            let hex: String = ours.bytes().map(|b| format!("{b:02X}")).collect();
            // Of a BINARY, a log without its character set lacks the zeros at the end.
            hex == text || of.data_type == "binary" && text.trim_end_matches("00") == hex
        }
        Value::String(ours) => ours == text,
        Value::Number(ours) if matches!(of.data_type.as_str(), "float" | "double") => {
            ours.as_f64() == text.parse().ok()
        }
        Value::Number(ours) => ours.to_string() == text,
        Value::Object(object) => {
            let is = |key: &str, to: &str| {
                object
                    .get(key)
                    .is_some_and(|v| v.to_string().trim_matches('"') == to)
            };
            let bytes = bytes.unwrap_or_default();
            let hex = bytes.to_lowercase();
            let of_text = object.contains_key("charset");
            // The bytes of a UUID are stored in another order, and a log alone does not say what they are.
            if of.is_address() {
                return object.contains_key("hex");
            }
            is("hex", &hex)
                || !of_text && is("hex", &text.to_lowercase())
                || of.data_type == "binary" && is("hex", hex.trim_end_matches("00"))
                || is("signed", text)
                || is("unsigned", text)
                || is("member", bytes)
                || is("members", bytes)
        }
        _ => false,
    }
}

//! Parts of a description in JSON, and words of SQL.

use serde_json::Value;

/// A text; empty where there is none.
pub(super) fn text<'v>(of: &'v Value, key: &str) -> &'v str {
    of[key].as_str().unwrap_or("")
}

/// A list; empty where there is none.
pub(super) fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of[key].as_array().map_or(&[][..], Vec::as_slice)
}

/// A name in backticks.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Text in quotes, for a session in which a backslash escapes.
pub(super) fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    let text = text.replace('\0', "\\0").replace('\n', "\\n");
    format!("'{}'", text.replace('\r', "\\r"))
}

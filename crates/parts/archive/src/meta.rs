//! The JSON files of MySQL Shell's dump format: one of the whole archive, one
//! of each schema, one of each table, and the one that says it is done.
//!
//! Written with the format's keys in the format's order. Read with tolerance:
//! unknown keys are ignored and what older versions (1.0.0 to 2.0.1) lack has
//! its documented default; but text that is not JSON, or of other types, is
//! damage. `options` of a table are checked by MySQL Shell, so nothing of our
//! own may ever go in there.

mod root;
mod schema;
mod table;
#[cfg(test)]
mod tests;

pub use root::{Capability, Done, Root};
pub use schema::SchemaMeta;
pub use table::{Dialect, Histogram, TableMeta, TableOptions};

use crate::{ArchiveError, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::Store;

/// Name of the archive's own metadata.
pub const ROOT: &str = "@.json";
/// Name of the file whose presence says that the dump is complete.
pub const DONE: &str = "@.done.json";

/// What `dumper` of an archive written by penstock begins with; such an
/// archive without a manifest was never finished.
pub const DUMPER: &str = "penstock ";

/// Metadata files larger than this are refused, in bytes.
const LIMIT: u64 = 512 << 20;

/// A value as JSON, indented by four blanks, without a newline at its end.
pub fn to_json<T: Serialize>(value: &T) -> String {
    let mut out = Vec::new();
    let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut to = serde_json::Serializer::with_formatter(&mut out, indent);
    // Neither step can fail: the types have string keys, and serde_json writes UTF-8 to memory.
    if value.serialize(&mut to).is_err() {
        return String::new();
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Reads a value from the content of `file`.
pub fn parse<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| ArchiveError::damaged(file, e.to_string()))
}

/// Reads a metadata file; a missing one is damage, since something named it.
pub fn read<T: DeserializeOwned>(store: &dyn Store, file: &str) -> Result<T> {
    parse(file, &read_bytes(store, file)?)
}

pub(crate) fn read_bytes(store: &dyn Store, file: &str) -> Result<Vec<u8>> {
    match store.read_all(file, LIMIT) {
        Err(e) if e.not_found() => Err(ArchiveError::damaged(file, "missing")),
        other => Ok(other?),
    }
}

/// A moment as the format writes it: `YYYY-MM-DD hh:mm:ss`, in UTC.
pub fn time_text(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

pub(crate) fn yes() -> bool {
    true
}

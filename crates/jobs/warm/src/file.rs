//! The file of hot ranges: lines of JSON, compressed with zstd (docs/warm.md has the format).
//!
//! Invariant: a file is written whole or not at all, and one that is cut off is not read: its last line says how many
//! ranges there are. It holds values of keys, so only its owner may read it.

use crate::lines::{self, Lines, line};
use base::units::printable;
use base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;

/// Version of the format.
const VERSION: u32 = 1;

/// Sizes of InnoDB's pages.
const PAGE_SIZES: std::ops::RangeInclusive<u64> = 1024..=65_536;

/// What is known of the server and of the pages that its list had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub warm: u32,
    /// When it was made, in UTC.
    pub at: String,
    /// Flavour and version, for people.
    pub server: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// Bytes of the buffer pool.
    pub pool: u64,
    /// Counts of pages.
    pub pages: Counts,
}

/// Pages of the list, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub listed: u64,
    /// Leaves that have a range in the file.
    pub placed: u64,
    /// Pages of the levels above the leaves, which reading the leaves brings in.
    pub above: u64,
    /// Pages of tables' files that are no pages of an index: off-page values, and what describes the file.
    pub off_page: u64,
    /// Leaves, or what may be leaves, of tables whose files or indexes were not read.
    pub not_placed: u64,
    /// Undo logs, system and temporary tablespaces, schemas of the server, tables that were not selected.
    pub left_out: u64,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// Its name.
    pub name: String,
    /// Its bare type: `varchar`.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Its collation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// Whether the index holds only the beginning of its values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
    /// Whether it runs downwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub desc: bool,
}

/// An index of a table or of a partition, and its hot ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexRanges {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Partition, or subpartition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Index name.
    pub index: String,
    /// Whether it holds the rows.
    pub clustered: bool,
    /// How many of the columns are its own; those of the clustered index follow.
    pub own: usize,
    /// The columns that bounds have values of.
    pub columns: Vec<IndexColumn>,
    /// Whether more follows in the index that a bound cannot say, so that a range includes its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loose: bool,
    /// Leaves that it has.
    pub leaves: u64,
    /// In the order of keys.
    #[serde(skip)]
    pub ranges: Vec<Range>,
}

impl IndexRanges {
    /// Hot leaves.
    pub fn hot(&self) -> u64 {
        self.ranges.iter().map(|r| u64::from(r.leaves)).sum()
    }

    /// Hot pages, those of off-page values included.
    pub fn pages(&self) -> u64 {
        self.hot()
            + self
                .ranges
                .iter()
                .map(|r| u64::from(r.off_page))
                .sum::<u64>()
    }
}

/// A value of a key column, as the server prints it; NULL is `None`.
pub type Value = Option<Vec<u8>>;

/// Consecutive hot leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// From 0, the hottest, to 1000.
    pub heat: u16,
    /// How many leaves.
    pub leaves: u32,
    /// How many pages of off-page values are hot with them.
    pub off_page: u32,
    /// The first key; `None`: from the index's begin.
    pub from: Option<Vec<Value>>,
    /// The first key behind it; `None`: to the end.
    pub to: Option<Vec<Value>>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotSet {
    /// Where it is from.
    pub header: Header,
    /// Its indexes.
    pub indexes: Vec<IndexRanges>,
}

/// A value in JSON: text, or bytes that are no UTF-8 in hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Hex { hex: String },
}

/// A range in JSON: heat, leaves, off-page pages, from, to.
type WrittenRange = (
    u16,
    u32,
    u32,
    Option<Vec<Option<Written>>>,
    Option<Vec<Option<Written>>>,
);

/// The last line.
#[derive(Serialize, Deserialize)]
struct End {
    ranges: u64,
}

fn written(key: &Option<Vec<Value>>) -> Option<Vec<Option<Written>>> {
    let one = |value: &Value| {
        value.as_ref().map(|v| match std::str::from_utf8(v) {
            Ok(text) => Written::Text(text.to_owned()),
            Err(_) => Written::Hex {
                hex: v.iter().map(|b| format!("{b:02x}")).collect(),
            },
        })
    };
    key.as_ref().map(|key| key.iter().map(one).collect())
}

fn read_key(key: Option<Vec<Option<Written>>>) -> Option<Option<Vec<Value>>> {
    let one = |value: Option<Written>| match value {
        None => Some(None),
        Some(Written::Text(text)) => Some(Some(text.into_bytes())),
        Some(Written::Hex { hex }) => {
            let pairs = hex.as_bytes().chunks(2);
            let byte = |p: &[u8]| {
                let pair = (p.len() == 2).then(|| std::str::from_utf8(p).ok())??;
                u8::from_str_radix(pair, 16).ok()
            };
            Some(Some(pairs.map(byte).collect::<Option<_>>()?))
        }
    };
    match key {
        None => Some(None),
        Some(key) => Some(Some(key.into_iter().map(one).collect::<Option<_>>()?)),
    }
}

impl HotSet {
    /// Ranges of all indexes.
    pub fn ranges(&self) -> u64 {
        self.indexes.iter().map(|i| i.ranges.len() as u64).sum()
    }

    /// Writes it to a file, which appears complete; returns its bytes.
    pub fn write(&self, path: &Path) -> Result<u64> {
        lines::write(path, 9, |to| self.write_to(to))
    }

    fn write_to(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let header = Header {
            warm: VERSION,
            ..self.header.clone()
        };
        line(to, &header)?;
        for index in &self.indexes {
            line(to, index)?;
            for r in &index.ranges {
                let range: WrittenRange = (
                    r.heat,
                    r.leaves,
                    r.off_page,
                    written(&r.from),
                    written(&r.to),
                );
                line(to, &range)?;
            }
        }
        let ranges = self.ranges();
        line(to, &End { ranges })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<HotSet> {
        let shown = printable(&path.display().to_string());
        HotSet::read_from(lines::open(path)?).map_err(|why| {
            Error::new(Kind::Archive, format!("{shown}: {why}"))
                .hint("name a file that penstock warm save wrote; one of warm save --pages is loaded with --pages")
        })
    }

    fn read_from(file: impl Read) -> std::result::Result<HotSet, String> {
        let wrong = |what: &str| format!("it is no file of hot ranges, or damaged: {what}");
        let mut lines = Lines::new(file).map_err(|e| wrong(&e))?;
        let text = lines.next().map_err(|e| wrong(&e))?;
        let text = text.ok_or_else(|| wrong("it is empty"))?;
        let header: Header = serde_json::from_slice(text).map_err(|e| wrong(&e.to_string()))?;
        if header.warm != VERSION {
            return Err(format!(
                "its format is version {}, and this penstock reads {VERSION}",
                header.warm
            ));
        }
        if !PAGE_SIZES.contains(&header.page_size) {
            return Err(wrong("its pages have a size that InnoDB does not have"));
        }
        let mut set = HotSet {
            header,
            indexes: Vec::new(),
        };
        while let Some(text) = lines.next().map_err(|e| wrong(&e))? {
            if text.starts_with(b"[") {
                let (heat, leaves, off_page, from, to): WrittenRange =
                    serde_json::from_slice(text).map_err(|e| wrong(&e.to_string()))?;
                let index = set
                    .indexes
                    .last_mut()
                    .ok_or_else(|| wrong("a range is of no index"))?;
                let bound = |key| {
                    let key = read_key(key).ok_or_else(|| wrong("a value is not hexadecimal"))?;
                    let fits = |k: &Vec<Value>| k.len() == index.columns.len() && !k.is_empty();
                    match key.as_ref().is_none_or(fits) {
                        true => Ok(key),
                        false => Err(wrong("a key has another number of values than columns")),
                    }
                };
                let (from, to) = (bound(from)?, bound(to)?);
                index.ranges.push(Range {
                    heat,
                    leaves,
                    off_page,
                    from,
                    to,
                });
            } else if let Ok(end) = serde_json::from_slice::<End>(text) {
                return match end.ranges == set.ranges() {
                    true => Ok(set),
                    false => Err(wrong("it has another number of ranges than it says")),
                };
            } else {
                let index: IndexRanges =
                    serde_json::from_slice(text).map_err(|e| wrong(&e.to_string()))?;
                if index.own > index.columns.len() {
                    return Err(wrong("an index has fewer columns than it says"));
                }
                set.indexes.push(index);
            }
        }
        Err(wrong("its end is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> HotSet {
        let column = |name: &str, prefix| IndexColumn {
            name: name.into(),
            data_type: "varchar".into(),
            collation: Some("latin1_bin".into()),
            prefix,
            desc: prefix,
        };
        let range = |from, to| Range {
            heat: 12,
            leaves: 3,
            off_page: 1,
            from,
            to,
        };
        let odd = Some(b"a\"\\\n".to_vec());
        HotSet {
            header: Header {
                warm: VERSION,
                server: "MySQL 9.7.4".into(),
                page_size: 16_384,
                ..Header::default()
            },
            indexes: vec![IndexRanges {
                schema: "s".into(),
                table: "a`b".into(),
                partition: None,
                index: "k".into(),
                clustered: false,
                own: 1,
                columns: vec![column("x", false), column("y", true)],
                loose: true,
                leaves: 100,
                ranges: vec![
                    range(None, Some(vec![None, odd])),
                    range(Some(vec![Some(b"\xff\x00".to_vec()), Some(vec![])]), None),
                ],
            }],
        }
    }

    #[test]
    fn a_file_comes_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("hot");
        let set = some();
        set.write(&path).expect("written");
        assert_eq!(HotSet::read(&path).expect("read"), set);
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        let mut plain = Vec::new();
        some().write_to(&mut plain).expect("written");
        let bytes = zstd::encode_all(&plain[..], 9).expect("packed");
        assert!(HotSet::read_from(&bytes[..]).is_ok());
        for cut in [0, 10, plain.len() / 2, plain.len() - 1, plain.len() - 14] {
            let packed = zstd::encode_all(&plain[..cut], 1).expect("packed");
            assert!(HotSet::read_from(&packed[..]).is_err(), "{cut}");
        }
        assert!(HotSet::read_from(&bytes[..bytes.len() / 2]).is_err());
        assert!(HotSet::read_from(&b"hello"[..]).is_err());
        let other = String::from_utf8(plain).expect("text");
        let other = other.replacen("\"warm\":1", "\"warm\":2", 1);
        let packed = zstd::encode_all(other.as_bytes(), 1).expect("packed");
        let e = HotSet::read_from(&packed[..]).expect_err("another version");
        assert!(e.contains("version 2"), "{e}");
    }
}

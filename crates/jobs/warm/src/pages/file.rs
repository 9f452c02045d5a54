//! The file of hot pages: lines of JSON, compressed with zstd (docs/warm.md has the format).
//!
//! Invariant: a file is written whole or not at all, and one that is cut off is not read. It holds numbers of pages and
//! marks of some of them, no data.

use crate::lines::{self, Lines, line};
use base::units::printable;
use base::{Error, Kind, Result};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;

/// Version of the format.
const VERSION: u32 = 1;

/// Pages of one line.
const TOGETHER: usize = 4096;

/// What is known of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub warm_pages: u32,
    /// When it was made, in UTC.
    pub at: String,
    /// Flavour and version, for people.
    pub server: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// Pages of the list.
    pub listed: u64,
}

/// A page as it was on disk: its number, and of its header the sequence number and the checksum.
pub type Mark = (u32, u64, u32);

/// The hot pages of one tablespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// Its number.
    pub space: u32,
    /// The table or partition in it: `schema/table`.
    pub name: String,
    /// Pages of its file.
    pub pages: u64,
    /// Some of its pages, hot or not.
    pub marks: Vec<Mark>,
    /// Hot pages: number, and heat from 0 (hottest) to 1000.
    #[serde(skip)]
    pub hot: Vec<(u32, u16)>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotPages {
    /// Where it is from.
    pub header: Header,
    /// By tablespace.
    pub spaces: Vec<Space>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct End {
    hot: u64,
}

impl HotPages {
    /// Hot pages of all tablespaces.
    pub fn hot(&self) -> u64 {
        self.spaces.iter().map(|s| s.hot.len() as u64).sum()
    }

    /// Writes it to a file, which appears complete; returns its bytes.
    pub fn write(&self, path: &Path) -> Result<u64> {
        lines::write(path, 3, |to| self.write_to(to))
    }

    fn write_to(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let header = Header {
            warm_pages: VERSION,
            ..self.header.clone()
        };
        line(to, &header)?;
        for space in &self.spaces {
            line(to, space)?;
            for some in space.hot.chunks(TOGETHER) {
                line(to, &some)?;
            }
        }
        line(to, &End { hot: self.hot() })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<HotPages> {
        let shown = printable(&path.display().to_string());
        HotPages::read_from(lines::open(path)?).map_err(|why| {
            Error::new(Kind::Archive, format!("{shown} is no file of hot pages, or damaged: {why}"))
                .hint("name a file that penstock warm save --pages wrote; one without --pages is loaded without it")
        })
    }

    fn read_from(file: impl Read) -> std::result::Result<HotPages, String> {
        let mut lines = Lines::new(file)?;
        const CUT: &str = "its end is missing";
        let text = lines.next()?.ok_or(CUT)?;
        let header: Header = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if header.warm_pages != VERSION {
            let found = header.warm_pages;
            return Err(format!(
                "its format is version {found}, and this penstock reads {VERSION}"
            ));
        }
        let mut set = HotPages {
            header,
            spaces: Vec::new(),
        };
        loop {
            let text = lines.next()?.ok_or(CUT)?;
            if text.starts_with(b"[") {
                let some: Vec<(u32, u16)> =
                    serde_json::from_slice(text).map_err(|e| e.to_string())?;
                let space = set.spaces.last_mut().ok_or("a page is of no tablespace")?;
                space.hot.extend(some);
            } else if let Ok(end) = serde_json::from_slice::<End>(text) {
                return match end.hot == set.hot() {
                    true => Ok(set),
                    false => Err("it has another number of pages than it says".to_owned()),
                };
            } else {
                let space = serde_json::from_slice(text).map_err(|e| e.to_string())?;
                set.spaces.push(space);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back_whole_or_not_at_all() {
        let space = |space, hot: u32| Space {
            space,
            name: format!("s/t{space}"),
            pages: 20_000,
            marks: vec![(3, u64::MAX, 7), (9, 1, u32::MAX)],
            hot: (0..hot).map(|n| (n, (n % 1001) as u16)).collect(),
        };
        let set = HotPages {
            header: Header {
                warm_pages: VERSION,
                server: "MySQL 9.7.4".into(),
                page_size: 16_384,
                listed: 12_000,
                ..Header::default()
            },
            spaces: vec![space(5, 10_000), space(6, 0), space(7, 1)],
        };
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pages");
        set.write(&path).expect("written");
        assert_eq!(HotPages::read(&path).expect("read"), set);
        let packed = std::fs::read(&path).expect("a file");
        let plain = zstd::decode_all(&packed[..]).expect("unpacked");
        for cut in [0, 10, plain.len() / 2, plain.len() - 1, plain.len() - 14] {
            let packed = zstd::encode_all(&plain[..cut], 1).expect("packed");
            assert!(HotPages::read_from(&packed[..]).is_err(), "{cut}");
        }
        assert!(HotPages::read_from(&b"hello"[..]).is_err());
    }
}

//! The two formats: lines of `path   section/package,section/package`, and
//! paragraphs of `Field: value` with continuation lines.

use super::Pieces;
use crate::Result;
use std::io::Write;

/// Reads the file index.
#[derive(Debug, Default)]
pub(super) struct Contents(u64);

impl Contents {
    /// Paths so far.
    pub(super) fn count(&self) -> u64 {
        self.0
    }

    /// One line; a path may contain blanks, the list of packages cannot.
    pub(super) fn line(&mut self, line: &[u8], out: &mut Pieces<'_>) -> Result<()> {
        let Some((path, packages)) = split(line) else {
            return Ok(());
        };
        self.0 += 1;
        out.row("file_index", |row| {
            text(row, path);
            row.push(b'\t');
            text(row, packages);
        })?;
        for place in packages.split(|b| *b == b',') {
            let (section, package) = match place.iter().rposition(|b| *b == b'/') {
                Some(at) => (&place[..at], &place[at + 1..]),
                None => (&b""[..], place),
            };
            out.row("file_owner", |row| {
                for (n, cell) in [path, package, section].into_iter().enumerate() {
                    if n > 0 {
                        row.push(b'\t');
                    }
                    text(row, cell);
                }
            })?;
        }
        Ok(())
    }
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().rposition(|b| matches!(b, b' ' | b'\t'))?;
    let path = line[..at].trim_ascii_end();
    let packages = &line[at + 1..];
    (!path.is_empty() && !packages.is_empty()).then_some((path, packages))
}

/// The fields that have a column; the rest is in `stanza`.
const FIELDS: [&str; 11] = [
    "Package",
    "Version",
    "Architecture",
    "Section",
    "Priority",
    "Installed-Size",
    "Size",
    "Maintainer",
    "Homepage",
    "Description",
    "Tag",
];

/// The fields that name other packages.
const RELATIONS: [&str; 9] = [
    "Pre-Depends",
    "Depends",
    "Recommends",
    "Suggests",
    "Enhances",
    "Breaks",
    "Conflicts",
    "Replaces",
    "Provides",
];

/// Reads the package index.
#[derive(Debug)]
pub(super) struct Packages {
    count: u64,
    stanza: Vec<u8>,
}

impl Packages {
    pub(super) fn new() -> Self {
        Self {
            count: 0,
            stanza: Vec::new(),
        }
    }

    /// Packages so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// One line; true when it ended a paragraph.
    pub(super) fn line(&mut self, line: &[u8], out: &mut Pieces<'_>) -> Result<bool> {
        if !line.is_empty() {
            self.stanza.extend_from_slice(line);
            self.stanza.push(b'\n');
            return Ok(false);
        }
        if self.stanza.is_empty() {
            return Ok(false);
        }
        let stanza = std::mem::take(&mut self.stanza);
        self.count += 1;
        out.row("package", |row| {
            for name in FIELDS {
                match field(&stanza, name) {
                    Some(value) => text(row, value),
                    None => row.extend_from_slice(b"\\N"),
                }
                row.push(b'\t');
            }
            text(row, &stanza);
        })?;
        for kind in RELATIONS {
            let Some(list) = field(&stanza, kind) else {
                continue;
            };
            for (position, wants) in (1..).zip(list.split(|b| *b == b',')) {
                out.row("dependency", |row| {
                    for key in &FIELDS[..3] {
                        text(row, field(&stanza, key).unwrap_or_default());
                        row.push(b'\t');
                    }
                    row.extend_from_slice(kind.as_bytes());
                    row.push(b'\t');
                    let _ = write!(row, "{position}");
                    row.push(b'\t');
                    text(row, wants.trim_ascii());
                })?;
            }
        }
        Ok(true)
    }
}

/// The value of a field of a paragraph, continuation lines and all.
fn field<'a>(stanza: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut start = 0;
    while start < stanza.len() {
        let rest = &stanza[start..];
        let value = rest
            .strip_prefix(name.as_bytes())
            .and_then(|r| r.strip_prefix(b":"));
        // A field continues as long as lines begin with a blank.
        let mut end = 0;
        loop {
            end += rest[end..]
                .iter()
                .position(|b| *b == b'\n')
                .map_or(rest.len() - end, |n| n + 1);
            if !matches!(rest.get(end), Some(b' ' | b'\t')) {
                break;
            }
        }
        if let Some(value) = value {
            let end = end - (rest.len() - value.len());
            return Some(value[..end].trim_ascii());
        }
        start += end;
    }
    None
}

/// A cell as LOAD DATA wants it.
fn text(row: &mut Vec<u8>, cell: &[u8]) {
    for byte in cell {
        match byte {
            b'\\' => row.extend_from_slice(b"\\\\"),
            b'\t' => row.extend_from_slice(b"\\t"),
            b'\n' => row.extend_from_slice(b"\\n"),
            other => row.push(*other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_contain_blanks() {
        let (path, packages) =
            split(b"usr/share/a b/c   misc/x,non-free/games/y").expect("both parts");
        assert_eq!(path, b"usr/share/a b/c");
        assert_eq!(packages, b"misc/x,non-free/games/y");
        assert_eq!(split(b""), None);
        assert_eq!(split(b"nothing"), None);
    }

    #[test]
    fn fields_are_found_whole() {
        let stanza = b"Package: a\nTag: one,\n two\nSize: 5\n";
        assert_eq!(field(stanza, "Package"), Some(&b"a"[..]));
        assert_eq!(field(stanza, "Tag"), Some(&b"one,\n two"[..]));
        assert_eq!(field(stanza, "Size"), Some(&b"5"[..]));
        assert_eq!(field(stanza, "two"), None);
        assert_eq!(field(stanza, "Pack"), None);
    }

    #[test]
    fn what_load_data_would_misread_is_escaped() {
        let mut row = Vec::new();
        text(&mut row, b"a\\b\tc\nd");
        assert_eq!(row, b"a\\\\b\\tc\\nd");
    }
}

//! Lines of JSON, compressed with zstd: how hot ranges and hot pages are kept in files.
//!
//! Invariant: a file is written whole or not at all, and reading takes bounded memory for each line.

use base::units::printable;
use base::{Error, Kind, Result};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

/// Most bytes of a line: a range has two keys of at most 3072 bytes, written in hexadecimal.
const LONGEST: u64 = 1 << 20;

/// Most bytes of all lines: many times what a pool of a terabyte has.
const MOST: u64 = 8 << 30;

/// Writes a file, which appears complete; returns its bytes.
pub(crate) fn write(
    path: &Path,
    level: i32,
    lines: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<u64> {
    let named = |e: io::Error| {
        let shown = printable(&path.display().to_string());
        Error::new(Kind::Storage, format!("cannot write {shown}: {e}"))
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(named)?;
    let mut to = Encoder::new(&mut file, level).map_err(named)?;
    lines(&mut to).map_err(named)?;
    to.finish().map_err(named)?;
    file.as_file().sync_all().map_err(named)?;
    let bytes = file.as_file().metadata().map_err(named)?.len();
    file.persist(path).map_err(|e| named(e.error))?;
    Ok(bytes)
}

/// Writes one line.
pub(crate) fn line(to: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    to.write_all(&text)
}

/// Opens a file to read; the error names it.
pub(crate) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| {
        let shown = printable(&path.display().to_string());
        Error::new(Kind::Archive, format!("cannot read {shown}: {e}"))
    })
}

/// Reads line by line.
pub(crate) struct Lines<R: Read> {
    from: BufReader<io::Take<Decoder<'static, BufReader<R>>>>,
    text: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(file: R) -> std::result::Result<Self, String> {
        let decoder = Decoder::new(file).map_err(|e| e.to_string())?;
        Ok(Lines {
            from: BufReader::new(decoder.take(MOST)),
            text: Vec::new(),
        })
    }

    /// The next line; none at the end.
    pub(crate) fn next(&mut self) -> std::result::Result<Option<&[u8]>, String> {
        self.text.clear();
        let line = self.from.by_ref().take(LONGEST);
        match { line }.read_until(b'\n', &mut self.text) {
            Ok(0) => Ok(None),
            Ok(_) if self.text.last() == Some(&b'\n') => Ok(Some(&self.text)),
            Ok(_) => Err("a line is cut off".to_owned()),
            Err(e) => Err(e.to_string()),
        }
    }
}

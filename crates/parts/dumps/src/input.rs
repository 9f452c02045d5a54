//! Opens a file that may be compressed, whatever its name is.
//!
//! The first bytes decide the format, never the name: dumps get renamed, and
//! `mysqldump | gzip > x.sql` is common. Members, frames and streams that follow
//! one another in one file are read as one, as the formats require.
//!
//! Invariant: the end of the data is only reported after the end mark of the
//! format. A truncated file is [`Error::Truncated`], never a short read. [`Read`]
//! returns errors as [`io::Error`] with an [`Error`] inside, which
//! [`crate::script::Script`] unwraps.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compressed bytes read from the file in one call.
const READ: usize = 256 * 1024;

/// The memory limit of an xz stream in KiB; `xz -9` needs 64 MiB.
const XZ_MEMORY: u32 = 1024 * 1024;

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip, also pigz and bgzip: one or more members.
    Gzip,
    /// Zstandard, also pzstd: one or more frames.
    Zstd,
    /// bzip2, also pbzip2: one or more streams.
    Bzip2,
    /// xz, also pixz: one or more streams.
    Xz,
}

impl Compression {
    /// Detects it from the first bytes of a stream; six are enough.
    pub fn detect(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, or a skippable frame, which pzstd writes first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }

    /// The format's name; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }
}

/// An open dump file; reading it gives the uncompressed text.
pub struct Input {
    reader: Box<dyn Read + Send>,
    compression: Compression,
    consumed: Arc<AtomicU64>,
    size: Option<u64>,
}

/// Opens a file.
pub fn open(path: &Path) -> Result<Input> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::io(&name, e))?;
    let meta = file.metadata().map_err(|e| Error::io(&name, e))?;
    if meta.is_dir() {
        let e = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(Error::io(name, e));
    }
    // The size of a pipe or a device means nothing.
    let size = meta.is_file().then_some(meta.len());
    let mut input = Input::new(file).map_err(|e| match e {
        Error::Io { source, .. } => Error::io(&name, source),
        other => other,
    })?;
    input.size = size;
    Ok(input)
}

/// Standard input.
pub fn stdin() -> Result<Input> {
    Input::new(io::stdin())
}

impl Input {
    /// Any stream. Reads its first bytes immediately.
    pub fn new(source: impl Read + Send + 'static) -> Result<Self> {
        let consumed = Arc::new(AtomicU64::new(0));
        let mut source = Counted {
            source,
            count: Arc::clone(&consumed),
        };
        let mut start = Vec::with_capacity(8);
        source
            .by_ref()
            .take(6)
            .read_to_end(&mut start)
            .map_err(|e| Error::io("reading the first bytes", e))?;
        let compression = Compression::detect(&start);
        let all = Cursor::new(start).chain(source);
        let compressed = |source| BufReader::with_capacity(READ, source);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(all),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(compressed(all))),
            Compression::Zstd => Box::new(
                zstd::Decoder::with_buffer(compressed(all))
                    .map_err(|e| Error::io("starting zstd", e))?,
            ),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(compressed(all))),
            Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(
                compressed(all),
                true,
                XZ_MEMORY,
            )),
        };
        Ok(Input {
            reader,
            compression,
            consumed,
            size: None,
        })
    }

    /// The compression of the stream.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Compressed bytes read from the file so far; grows while it is read.
    pub fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.consumed)
    }

    /// Compressed size of the file; `None` for streams.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
}

/// What an input with this beginning is, if it is not an SQL script: no tool writes a zero byte
/// into a script. `None` if it may be one.
pub fn not_sql(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 7] = [
        (b"PK\x03\x04", "a zip archive: unpack it first"),
        (b"7z\xbc\xaf", "a 7-Zip archive: unpack it first"),
        (
            b"XBSTCK01",
            "a stream of xtrabackup or mariadb-backup, which contains server files and no dump",
        ),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PGDMP", "a PostgreSQL dump"),
        (b"\xfebin", "a binary log"),
        (b"%PDF", "a PDF document"),
    ];
    if let Some((_, what)) = known.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(what);
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some("a tar archive: unpack it first");
    }
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Some(
            "text in UTF-16, as PowerShell writes it: convert it to UTF-8, or let the tool write the file itself (--result-file)",
        );
    }
    start.contains(&0).then_some("binary data")
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf).map_err(|e| {
            // An error with a system error number comes from the file, not from the decoder.
            if self.compression == Compression::None
                || e.raw_os_error().is_some()
                || e.kind() == io::ErrorKind::Interrupted
            {
                return e;
            }
            let format = self.compression.name();
            let ours = if e.kind() == io::ErrorKind::UnexpectedEof {
                Error::Truncated { format }
            } else {
                let why = e.to_string();
                Error::Damaged { format, why }
            };
            io::Error::new(e.kind(), ours)
        })
    }
}

/// Counts the bytes read.
struct Counted<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text() -> Vec<u8> {
        (0..20_000u32)
            .flat_map(|i| {
                format!("INSERT INTO t VALUES ({});\n", i.wrapping_mul(2654435761)).into_bytes()
            })
            .collect()
    }

    fn packed(compression: Compression, data: &[u8]) -> Vec<u8> {
        match compression {
            Compression::None => data.to_vec(),
            Compression::Gzip => {
                let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                w.write_all(data).unwrap();
                w.finish().unwrap()
            }
            Compression::Zstd => zstd::encode_all(data, 1).unwrap(),
            Compression::Bzip2 => {
                let mut w = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                w.write_all(data).unwrap();
                w.finish().unwrap()
            }
            Compression::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(0);
                let mut w = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                w.write_all(data).unwrap();
                w.finish().unwrap()
            }
        }
    }

    const ALL: [Compression; 5] = [
        Compression::None,
        Compression::Gzip,
        Compression::Zstd,
        Compression::Bzip2,
        Compression::Xz,
    ];

    #[test]
    fn every_format_is_read_also_from_several_members() {
        let text = text();
        for format in ALL {
            let (a, b) = text.split_at(text.len() / 3);
            let both = [packed(format, a), packed(format, b)].concat();
            let size = both.len() as u64;
            let mut input = Input::new(Cursor::new(both)).unwrap();
            assert_eq!(input.compression(), format);
            let mut got = Vec::new();
            input.read_to_end(&mut got).unwrap();
            assert!(got == text, "{format:?}");
            assert_eq!(input.consumed().load(Ordering::Relaxed), size);
        }
    }

    #[test]
    fn a_truncated_file_is_reported() {
        let text = text();
        for format in &ALL[1..] {
            let whole = packed(*format, &text);
            for keep in [whole.len() - 1, whole.len() - 9, whole.len() / 2, 20] {
                let mut input = Input::new(Cursor::new(whole[..keep].to_vec())).unwrap();
                let e = input.read_to_end(&mut Vec::new()).unwrap_err();
                assert!(
                    matches!(Error::from_read(e), Error::Truncated { format: f } if f == format.name()),
                    "{format:?} {keep} of {}",
                    whole.len()
                );
            }
        }
    }

    #[test]
    fn input_that_is_not_sql_is_named() {
        for text in [
            "",
            "-- MySQL dump",
            "\u{feff}-- x",
            "INSERT INTO t VALUES ('\u{1}\x7f')",
        ] {
            assert_eq!(not_sql(text.as_bytes()), None, "{text}");
        }
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (start, says) in [
            (&b"PK\x03\x04x"[..], "zip"),
            (&tar, "tar"),
            (b"\xff\xfe-\0", "UTF-16"),
            (b"\x7fELF\x02\x01\0", "binary"),
        ] {
            assert!(not_sql(start).is_some_and(|w| w.contains(says)), "{says}");
        }
    }

    #[test]
    fn damage_is_reported() {
        let text = text();
        for format in &ALL[1..] {
            let mut whole = packed(*format, &text);
            let middle = whole.len() / 2;
            for b in &mut whole[middle..middle + 8] {
                *b ^= 0x55;
            }
            let mut input = Input::new(Cursor::new(whole)).unwrap();
            match input.read_to_end(&mut Vec::new()) {
                Err(e) => assert!(matches!(Error::from_read(e), Error::Damaged { .. })),
                // Without a content checksum zstd may not notice.
                Ok(_) => assert_eq!(*format, Compression::Zstd),
            }
        }
    }

    #[test]
    fn short_and_empty_files_are_plain_text() {
        for text in ["", "a", "BZ", "\x1f"] {
            let mut input = Input::new(Cursor::new(text)).unwrap();
            let mut got = String::new();
            input.read_to_string(&mut got).unwrap();
            assert_eq!(got, text);
        }
        assert!(matches!(
            open(Path::new("/nonexistent/x.sql")),
            Err(Error::Io { .. })
        ));
        assert!(matches!(open(Path::new("/")), Err(Error::Io { .. })));
    }
}

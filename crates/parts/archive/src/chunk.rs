//! Data files: rows in, one compressed and accounted-for file out, and back.
//!
//! Each data file is one zstd frame with a checksum (or plain bytes) and has
//! an index beside it ([`index`]). What was written is described by a
//! [`ChunkRecord`]; reading is done against such a record, and bytes that
//! differ from it end in an error, never in fewer rows.

pub mod index;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{ChunkReader, Expected};
pub use writer::{ChunkRecord, ChunkWriter, Scratch, WriteOptions};

/// How a data file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Plain bytes.
    None,
    /// zstd, with the level used for writing.
    Zstd(i32),
    /// gzip: read from archives of others, never written.
    Gzip,
}

/// As `--compression` takes it.
impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            other => f.write_str(other.name()),
        }
    }
}

impl Compression {
    /// The compression that a data file's name tells.
    pub fn of_file(name: &str) -> Self {
        if name.ends_with(".zst") {
            Self::Zstd(1)
        } else if name.ends_with(".gz") {
            Self::Gzip
        } else {
            Self::None
        }
    }

    /// What it adds to a file name, with its dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Zstd(_) => ".zst",
            Self::Gzip => ".gz",
        }
    }

    /// The `compression` value of a table's metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd(_) => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The `extension` value of a table's metadata, for the default dialect.
    pub fn extension(self) -> &'static str {
        match self {
            Self::None => "tsv",
            Self::Zstd(_) => "tsv.zst",
            Self::Gzip => "tsv.gz",
        }
    }
}

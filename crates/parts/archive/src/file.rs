//! What is recorded of every file of an archive, and writing and proving
//! files as a whole. Data files are written by [`crate::chunk`].

use crate::{ArchiveError, Result};
use base::Cancel;
use serde::{Deserialize, Serialize};
use std::io::Read;
use store::Store;

/// Files are read and hashed in pieces of this many bytes.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// Size and digest of a file as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3 of the bytes: 64 lower-case hexadecimal digits.
    pub blake3: String,
}

impl FileRecord {
    /// The record of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }

    pub(crate) fn from_hasher(hasher: &blake3::Hasher) -> Self {
        Self {
            bytes: hasher.count(),
            blake3: hasher.finalize().to_hex().to_string(),
        }
    }
}

/// Writes a metadata or SQL file whole and gives the record for the manifest.
/// Without `durable`, [`Store::sync`] has to follow before anything relies on it.
pub fn put(store: &dyn Store, name: &str, bytes: &[u8], durable: bool) -> Result<FileRecord> {
    let mut writer = store.create(name)?;
    std::io::Write::write_all(&mut writer, bytes)
        .map_err(|e| store::Error::new("write", name, e))?;
    writer.finish(durable)?;
    Ok(FileRecord::of(bytes))
}

/// Compares the size of a file, `None` if it is missing, with its record.
pub fn verify_size(name: &str, size: Option<u64>, record: &FileRecord) -> Result<()> {
    let what = match size {
        Some(n) if n == record.bytes => return Ok(()),
        Some(n) => format!("has {n} bytes instead of {}", record.bytes),
        None => "missing".to_owned(),
    };
    Err(ArchiveError::damaged(name, what))
}

/// Reads a file through and compares it with its record; call it before a
/// file's contents are sent anywhere. `progress` receives the bytes of each piece.
pub fn verify(
    store: &dyn Store,
    name: &str,
    record: &FileRecord,
    cancel: &Cancel,
    mut progress: impl FnMut(u64),
) -> Result<()> {
    verify_size(name, store.size(name)?, record)?;
    let mut reader = store.open(name)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        if cancel.is_raised() {
            return Err(ArchiveError::Interrupted);
        }
        let n =
            read_full(&mut reader, &mut buffer).map_err(|e| store::Error::new("read", name, e))?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        progress(n as u64);
        if hasher.count() > record.bytes {
            break;
        }
    }
    compare(name, &FileRecord::from_hasher(&hasher), record)
}

/// The error that says how `found` differs from what is recorded of `name`.
pub(crate) fn compare(name: &str, found: &FileRecord, recorded: &FileRecord) -> Result<()> {
    if found.bytes != recorded.bytes {
        let what = format!("has {} bytes instead of {}", found.bytes, recorded.bytes);
        return Err(ArchiveError::damaged(name, what));
    }
    if found.blake3 != recorded.blake3 {
        return Err(ArchiveError::damaged(
            name,
            "its contents differ from the recorded digest",
        ));
    }
    Ok(())
}

/// Fills `buffer` as far as there are bytes: large pieces are what BLAKE3 is fast on.
pub(crate) fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match reader.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(n)
}

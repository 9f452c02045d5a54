//! Marks of pages: what shows that two files come from one.
//!
//! A page carries the sequence number of its last change and a checksum. A file that was copied has the same ones in every
//! page that was not changed since; a table that was loaded has none of them, even if all its rows are equal.

use super::file::Mark;
use innodb::page::fil;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pages of a file that are marked.
const MARKS: u64 = 16;

/// The pages of a file.
pub fn pages(path: &Path, page_size: u64) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.len() / page_size.max(1))
}

/// Marks pages all over a file; empty ones have none.
pub fn take(path: &Path, page_size: u64) -> io::Result<Vec<Mark>> {
    let count = pages(path, page_size)?;
    let file = File::open(path)?;
    let mut found = Vec::new();
    let mut before = None;
    for n in 0..MARKS {
        let page = count * n / MARKS;
        if before == Some(page) || page >= count {
            continue;
        }
        before = Some(page);
        if let Some((lsn, checksum)) = mark(&file, page, page_size)? {
            found.push((page as u32, lsn, checksum));
        }
    }
    Ok(found)
}

fn mark(file: &File, page: u64, page_size: u64) -> io::Result<Option<(u64, u32)>> {
    let mut head = [0; fil::BODY];
    file.read_exact_at(&mut head, page * page_size)?;
    let lsn = head[fil::LSN..]
        .first_chunk()
        .copied()
        .map(u64::from_be_bytes);
    let checksum = head.first_chunk().copied().map(u32::from_be_bytes);
    Ok(match (lsn, checksum) {
        (Some(lsn), Some(checksum)) if lsn != 0 => Some((lsn, checksum)),
        _ => None,
    })
}

/// How many of these marks a file has.
pub fn equal(path: &Path, page_size: u64, marks: &[Mark]) -> io::Result<usize> {
    let file = File::open(path)?;
    let mut equal = 0;
    for (page, lsn, checksum) in marks {
        match mark(&file, u64::from(*page), page_size) {
            Ok(found) => equal += usize::from(found == Some((*lsn, *checksum))),
            // The file is shorter here.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(e) => return Err(e),
        }
    }
    Ok(equal)
}

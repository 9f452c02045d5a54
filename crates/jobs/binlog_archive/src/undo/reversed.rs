//! A file of texts in the reverse of the order in which they came.
//!
//! They are first written to a file without a name, each with its length behind it, and then read from its end. The file appears under
//! its name when it is complete and on the disk.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Texts that are being collected.
pub(super) struct Reversed {
    directory: PathBuf,
    forward: BufWriter<File>,
    bytes: u64,
}

/// Bytes of a length.
const LENGTH: u64 = 8;

impl Reversed {
    /// In this directory, where the file will be.
    pub(super) fn new(directory: &Path) -> io::Result<Reversed> {
        Ok(Reversed {
            directory: directory.to_owned(),
            forward: BufWriter::new(tempfile::tempfile_in(directory)?),
            bytes: 0,
        })
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &[u8]) -> io::Result<()> {
        let length = text.len() as u64;
        self.forward.write_all(text)?;
        self.forward.write_all(&length.to_le_bytes())?;
        self.bytes += length + LENGTH;
        Ok(())
    }

    /// Writes the file: `head`, and the texts from the last to the first, each on lines of its own. Empty ones are left out. It has rows, so
    /// only this user may read it.
    pub(super) fn finish(self, file: &Path, head: &[u8]) -> io::Result<()> {
        let forward = self
            .forward
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        let mut named = tempfile::Builder::new()
            .prefix(".penstock-undo-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.directory)?;
        let mut out = BufWriter::new(named.as_file_mut());
        out.write_all(head)?;
        let mut at = self.bytes;
        let mut text = Vec::new();
        while at > 0 {
            let mut length = [0; LENGTH as usize];
            forward.read_exact_at(&mut length, at - LENGTH)?;
            let length = u64::from_le_bytes(length);
            at -= LENGTH + length;
            text.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
            forward.read_exact_at(&mut text, at)?;
            if !text.is_empty() {
                out.write_all(&text)?;
                out.write_all(b"\n")?;
            }
        }
        out.flush()?;
        drop(out);
        named.as_file().sync_all()?;
        named.persist_noclobber(file).map_err(|e| e.error)?;
        File::open(&self.directory)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_comes_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("f");
        let filled = || {
            let mut all = Reversed::new(directory.path()).expect("a file");
            for text in ["one", "", "two\nlines", "three"] {
                all.push(text.as_bytes()).expect("a text");
            }
            all
        };
        filled().finish(&file, b"head\n").expect("a file");
        let text = std::fs::read_to_string(&file).expect("a text");
        assert_eq!(text, "head\nthree\ntwo\nlines\none\n");
        let again = filled().finish(&file, b"").expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let names = std::fs::read_dir(directory.path()).expect("a list");
        assert_eq!(names.count(), 1);
    }
}

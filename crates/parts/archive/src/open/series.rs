//! The data files of a table or partition, in order.

use super::{Chunk, Reading};
use crate::meta::TableMeta;
use crate::{ArchiveError, Result, chunk::index};

impl Reading<'_> {
    /// Finds a series that begins with `base` and adds its files to `chunks`.
    pub(super) fn series(
        &mut self,
        meta: &TableMeta,
        base: &str,
        partition: Option<&String>,
        chunks: &mut Vec<Chunk>,
    ) -> Result<()> {
        let extension = &meta.extension;
        let whole = format!("{base}.{extension}");
        if self.sizes.contains_key(&whole) {
            chunks.push(self.chunk(whole, 0, partition)?);
            return Ok(());
        }
        for number in 0.. {
            let file = format!("{base}@{number}.{extension}");
            if self.sizes.contains_key(&file) {
                chunks.push(self.chunk(file, number, partition)?);
                continue;
            }
            let last = format!("{base}@@{number}.{extension}");
            if !self.sizes.contains_key(&last) {
                // Either this one is missing or the series was never finished.
                let listed = |f: &String| self.manifest.is_some_and(|m| m.files.contains_key(f));
                return Err(match [last, file].into_iter().find(listed) {
                    Some(listed) => ArchiveError::damaged(&listed, "missing"),
                    None => {
                        let file = format!("{base}@{number}.{extension}");
                        let what = format!("missing, as is {base}@@{number}.{extension}");
                        ArchiveError::damaged(&file, what)
                    }
                });
            }
            chunks.push(self.chunk(last, number, partition)?);
            break;
        }
        Ok(())
    }

    fn chunk(&self, file: String, number: u64, partition: Option<&String>) -> Result<Chunk> {
        self.present(&file)?;
        let entry = self.entries.get(file.as_str());
        if let (None, Some(_)) = (entry, self.manifest) {
            return Err(ArchiveError::damaged(&file, "not listed in the manifest"));
        }
        let record = self.manifest.and_then(|m| m.files.get(&file)).cloned();
        let raw_bytes = match entry {
            Some(entry) => Some(entry.raw_bytes),
            None => match self.done.chunk_file_bytes.get(&file) {
                Some(&bytes) => Some(bytes),
                None => self.indexed(&file)?,
            },
        };
        Ok(Chunk {
            partition: partition.cloned(),
            number,
            stored_bytes: self.sizes.get(&file).copied().unwrap_or_default(),
            raw_bytes,
            rows: entry.map(|e| e.rows),
            row_digest: entry.and_then(|e| e.digest()),
            record,
            file,
        })
    }

    /// What the index beside a data file says of its size, for archives of 1.0.0.
    fn indexed(&self, file: &str) -> Result<Option<u64>> {
        let name = index::name_of(file);
        if !self.sizes.contains_key(&name) {
            return Ok(None);
        }
        let bytes = self.store.read_all(&name, 64 << 20)?;
        Ok(index::last_entry(&bytes))
    }
}

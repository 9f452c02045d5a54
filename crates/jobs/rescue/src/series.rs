//! The data files of a table, one after another.

use crate::Options;
use archive::chunk::{ChunkRecord, ChunkWriter, Scratch, WriteOptions};
use base::Result;
use run::failure;
use store::Store;

/// The files of one table.
pub struct Series<'a> {
    store: &'a dyn Store,
    options: &'a Options,
    base: &'a str,
    records: Vec<ChunkRecord>,
}

impl<'a> Series<'a> {
    /// Nothing written yet; the files begin with `base`.
    pub fn new(store: &'a dyn Store, options: &'a Options, base: &'a str) -> Series<'a> {
        Series {
            store,
            options,
            base,
            records: Vec::new(),
        }
    }

    /// The next file.
    pub fn create<'s>(&self, scratch: &'s mut Scratch) -> Result<ChunkWriter<'s>>
    where
        'a: 's,
    {
        self.open(&self.file("@"), scratch)
    }

    fn open<'s>(&self, file: &str, scratch: &'s mut Scratch) -> Result<ChunkWriter<'s>>
    where
        'a: 's,
    {
        let options = WriteOptions::default();
        let created =
            ChunkWriter::create(self.store, file, self.options.compression, options, scratch);
        created.map_err(|e| failure::archive(format_args!("cannot write {file}"), &e))
    }

    fn file(&self, mark: &str) -> String {
        let extension = self.options.compression.extension();
        format!("{}{mark}{}.{extension}", self.base, self.records.len())
    }

    /// Whether a file is full.
    pub fn is_full(&self, chunk: &ChunkWriter<'_>) -> bool {
        chunk.raw_bytes() >= self.options.chunk_bytes
    }

    /// Keeps a file; one without rows goes.
    pub fn finish(&mut self, chunk: ChunkWriter<'_>) -> Result<()> {
        if chunk.rows() > 0 {
            let record = chunk.finish();
            let record = record.map_err(|e| failure::archive("cannot finish a data file", &e))?;
            self.records.push(record);
        }
        Ok(())
    }

    /// Removes what was written; what follows takes the same names.
    pub fn remove(self) {
        for record in &self.records {
            let index = record.index.as_ref().map(|i| &i.0);
            for file in std::iter::once(&record.file).chain(index) {
                let _ = self.store.remove(file);
            }
        }
    }

    /// The last file carries the mark that ends the series; it has no rows.
    pub fn end(mut self, scratch: &mut Scratch) -> Result<Vec<ChunkRecord>> {
        let last = self.open(&self.file("@@"), scratch)?.finish();
        let last = last.map_err(|e| failure::archive("cannot finish a data file", &e))?;
        self.records.push(last);
        Ok(self.records)
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.records.iter().map(|r| r.rows).sum()
    }
}

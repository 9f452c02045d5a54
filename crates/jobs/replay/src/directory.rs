//! A log whose files are in a directory, as a server left them.

use crate::log::{LogFile, LogFiles};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    files: Vec<LogFile>,
}

impl Directory {
    /// These files of a directory, in this order.
    pub fn open(path: &Path, names: &[String]) -> io::Result<Directory> {
        let mut files = Vec::new();
        for name in names {
            files.push(LogFile {
                name: name.clone(),
                length: Some(path.join(name).metadata()?.len()),
            });
        }
        Ok(Directory {
            path: path.to_owned(),
            files,
        })
    }
}

impl LogFiles for Directory {
    fn files(&self) -> &[LogFile] {
        &self.files
    }

    fn open(&self, file: usize, offset: u64) -> io::Result<Box<dyn Read + Send + '_>> {
        let file = self.files.get(file).ok_or(io::ErrorKind::NotFound)?;
        let mut opened = File::open(self.path.join(&file.name))?;
        opened.seek(SeekFrom::Start(offset))?;
        Ok(Box::new(opened))
    }
}

//! Reading a stream: its files go into a store.
//!
//! The stream may be cut or hostile: names are checked by the store, lengths are bounded, and what is not whole is
//! not kept. Files that were whole before a cut are there; the caller removes them.

use super::{HEAD, Kind, MAGIC, MOST, VERSION};
use crate::name::check_new_name;
use crate::{Error, Store, Writer};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read, Write};

/// Files that may be written at the same time.
const OPEN: usize = 4096;

/// What arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// How many files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Why a stream gave no archive.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It begins as something else.
    #[error("it is not a stream that penstock wrote")]
    NotOne,
    /// A later version.
    #[error("it has version {0}; this penstock reads version {VERSION}")]
    Version(u8),
    /// It ends before its end.
    #[error("it ends before its end marker: what wrote it has failed, or the pipe was cut")]
    Cut,
    /// It is not what was sent.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It cannot be read.
    #[error("{0}")]
    Read(io::Error),
    /// What arrived cannot be stored.
    #[error("{0}")]
    Store(#[from] Error),
}

/// Reads a stream to its end.
pub fn receive(input: &mut dyn Read, into: &dyn Store) -> Result<Received, Broken> {
    let mut all = Receiving {
        input,
        hasher: blake3::Hasher::new(),
        into,
        open: HashMap::new(),
        files: BTreeSet::new(),
        bytes: 0,
    };
    all.start()?;
    let mut buffer = Vec::new();
    while all.frame(&mut buffer)? {}
    match all.input.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => return Err(damaged("something follows its end")),
        Err(e) => return Err(Broken::Read(e)),
    }
    Ok(Received {
        files: all.files.len() as u64,
        bytes: all.bytes,
    })
}

struct Receiving<'a> {
    input: &'a mut dyn Read,
    hasher: blake3::Hasher,
    into: &'a dyn Store,
    open: HashMap<u32, (String, Box<dyn Writer>)>,
    files: BTreeSet<String>,
    bytes: u64,
}

fn damaged(what: impl Into<String>) -> Broken {
    Broken::Damaged(what.into())
}

impl Receiving<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Broken> {
        self.input.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => Broken::Cut,
            _ => Broken::Read(e),
        })
    }

    fn start(&mut self) -> Result<(), Broken> {
        let mut start = [0; MAGIC.len() + 1];
        match self.read(&mut start) {
            Err(Broken::Cut) if start[0] != MAGIC[0] => return Err(Broken::NotOne),
            done => done?,
        }
        if start[..MAGIC.len()] != MAGIC[..] {
            return Err(Broken::NotOne);
        }
        let version = start[MAGIC.len()];
        if version != VERSION {
            return Err(Broken::Version(version));
        }
        self.hasher.update(&start);
        Ok(())
    }

    /// Takes one frame; `false` after the last one.
    fn frame(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Broken> {
        let mut head = [0; HEAD];
        self.read(&mut head)?;
        let number = |at: usize| {
            let bytes = head[at..at + 4].try_into().unwrap_or_default();
            u32::from_le_bytes(bytes)
        };
        let (file, bytes) = (number(1), number(5) as usize);
        let Some(kind) = Kind::of(head[0]) else {
            return Err(damaged("a frame of an unknown kind"));
        };
        if bytes > MOST {
            return Err(damaged("a frame that is too long"));
        }
        if file != 0 && matches!(kind, Kind::Remove | Kind::End) {
            return Err(damaged("a frame of no file with the number of one"));
        }
        buffer.resize(bytes, 0);
        self.read(buffer)?;
        if kind == Kind::End {
            self.end(buffer)?;
            return Ok(false);
        }
        self.hasher.update(&head);
        self.hasher.update(buffer);
        match kind {
            Kind::Begin => self.begin(file, buffer)?,
            Kind::Data => {
                let (name, writer) = self.opened(file)?;
                let done = writer.write_all(buffer);
                done.map_err(|e| Error::new("write", name, e))?;
            }
            Kind::Finish => {
                let (name, writer) = self.taken(file)?;
                self.bytes += writer.finish(false)?;
                self.files.insert(name);
            }
            Kind::Abandon => drop(self.taken(file)?),
            Kind::Remove => {
                let name = name(buffer)?;
                if !self.files.remove(name) {
                    return Err(damaged("a file is removed that is not there"));
                }
                self.bytes -= self.into.size(name)?.unwrap_or_default();
                self.into.remove(name)?;
            }
            Kind::End => {}
        }
        Ok(true)
    }

    fn begin(&mut self, file: u32, bytes: &[u8]) -> Result<(), Broken> {
        let name = name(bytes)?;
        check_new_name("create", name).map_err(|e| damaged(e.to_string()))?;
        let taken = self.files.contains(name) || self.open.values().any(|(open, _)| open == name);
        if taken || self.open.contains_key(&file) {
            return Err(damaged("a file that begins twice"));
        }
        if self.open.len() >= OPEN {
            return Err(damaged("too many files at the same time"));
        }
        let writer = self.into.create(name)?;
        self.open.insert(file, (name.to_owned(), writer));
        Ok(())
    }

    fn opened(&mut self, file: u32) -> Result<&mut (String, Box<dyn Writer>), Broken> {
        let open = self.open.get_mut(&file);
        open.ok_or_else(|| damaged("bytes of a file that has not begun"))
    }

    fn taken(&mut self, file: u32) -> Result<(String, Box<dyn Writer>), Broken> {
        let open = self.open.remove(&file);
        open.ok_or_else(|| damaged("the end of a file that has not begun"))
    }

    fn end(&self, bytes: &[u8]) -> Result<(), Broken> {
        let digest = self.hasher.finalize();
        let files = (self.files.len() as u64).to_le_bytes();
        if bytes != [&files[..], digest.as_bytes()].concat() || !self.open.is_empty() {
            return Err(damaged("its bytes differ from what was sent"));
        }
        Ok(())
    }
}

fn name(bytes: &[u8]) -> Result<&str, Broken> {
    std::str::from_utf8(bytes).map_err(|_| damaged("a name that is not UTF-8"))
}

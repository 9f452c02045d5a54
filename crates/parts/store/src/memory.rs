//! Objects in this process's memory: what is handed from one job to another and never lies on a disk.

use crate::name::{check_name, check_new_name};
use crate::{Entry, EntryKind, Error, Result, Store, Writer};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex};

type Object = Arc<Vec<u8>>;

/// A place in memory; its clones are the same place.
#[derive(Clone)]
pub struct Memory {
    name: Arc<str>,
    objects: Arc<Mutex<BTreeMap<String, Object>>>,
}

impl Memory {
    /// An empty place that is called this for the user.
    pub fn new(name: &str) -> Memory {
        Memory {
            name: name.into(),
            objects: Arc::default(),
        }
    }

    fn get(&self, op: &'static str, name: &str) -> Result<Object> {
        check_name(op, name)?;
        let object = base::lock(&self.objects).get(name).cloned();
        object.ok_or_else(|| Error::new(op, name, io::ErrorKind::NotFound))
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Memory) -> bool {
        Arc::ptr_eq(&self.objects, &other.objects)
    }
}

impl Eq for Memory {}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&base::units::printable(&self.name))
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memory")
    }
}

/// Bytes of an object that keep it until they are read.
struct Bytes(Object);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Store for Memory {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        check_new_name("create", name)?;
        Ok(Box::new(Writing {
            memory: self.clone(),
            name: name.to_owned(),
            bytes: Vec::new(),
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(Cursor::new(Bytes(self.get("open", name)?))))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        check_name("look at", name)?;
        Ok(base::lock(&self.objects).get(name).map(|o| o.len() as u64))
    }

    fn list(&self) -> Result<Vec<Entry>> {
        let objects = base::lock(&self.objects);
        let entry = |(name, object): (&String, &Object)| Entry {
            name: name.clone(),
            size: object.len() as u64,
            kind: EntryKind::File,
            modified: None,
        };
        Ok(objects.iter().map(entry).collect())
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name("remove", name)?;
        match base::lock(&self.objects).remove(name) {
            Some(_) => Ok(()),
            None => Err(Error::new("remove", name, io::ErrorKind::NotFound)),
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        self.name.to_string()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_new_name("create", name)?;
        let mut objects = base::lock(&self.objects);
        if objects.contains_key(name) {
            return Err(Error::new("create", name, io::ErrorKind::AlreadyExists));
        }
        objects.insert(name.to_owned(), Arc::new(bytes.to_vec()));
        Ok(())
    }
}

/// An object that is not there yet.
struct Writing {
    memory: Memory,
    name: String,
    bytes: Vec<u8>,
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer for Writing {
    fn finish(self: Box<Self>, _durable: bool) -> Result<u64> {
        let length = self.bytes.len() as u64;
        let mut objects = base::lock(&self.memory.objects);
        objects.insert(self.name, Arc::new(self.bytes));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_conforms() {
        crate::conformance(|| Arc::new(Memory::new("memory")));
    }

    #[test]
    fn a_reader_keeps_what_is_removed() {
        let memory = Memory::new("memory");
        memory.put("a", b"bytes").expect("an object");
        let mut reader = memory.clone().open("a").expect("it is there");
        memory.remove("a").expect("a removal");
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("its bytes");
        assert_eq!(read, b"bytes");
        assert_eq!(memory.size("a").expect("no error"), None);
    }
}

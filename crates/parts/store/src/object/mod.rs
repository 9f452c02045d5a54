//! An object store as a store: S3 and what speaks its protocol, Google Cloud Storage, Azure.
//!
//! An object appears when its upload is completed, and not before: what the other stores do with a partial
//! name, the service does itself. An upload that was cut off leaves nothing that can be listed; its parts
//! stay with the service until its own rule for unfinished uploads removes them.
//!
//! Uploads are proven by the service: every request of S3 is signed over the SHA-256 of its body, and the
//! size of an upload in parts is compared at its end. Reads ask for ranges of one version of an object (its
//! entity tag), so that nobody reads half of an old and half of a new one; what the bytes mean, and whether
//! they are the right ones, the digests of the archive prove.
//!
//! What it does not do: list or remove versions, or set the service's own rules.

mod connect;
mod error;
mod place;
mod profile;

pub use place::ObjectPlace;

use error::{conditions_unknown, io_error, was_cut};

use crate::name::{check_name, check_new_name};
use crate::remote::{Finishing, Link, ReadAhead, Task, WriteBehind, wait};
use crate::{Entry, EntryKind, Error, Result, Store, Writer};
use base::RateLimiter;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    GetOptions, MultipartUpload, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a part of an upload, and of a range that is read: the least that S3 allows is 5 MiB.
const PART: usize = 8 << 20;

/// Parts on their way for each file. With the one that is filled, each writer holds three.
const DEPTH: usize = 2;

/// A service takes at most 10,000 parts; after so many of them they become larger.
const LARGER_AFTER: usize = 4_000;

/// Bytes of a part of a file that has many.
const LARGE_PART: usize = 64 << 20;

/// A prefix of a bucket.
pub struct Objects(Arc<Inner>);

struct Inner {
    client: Arc<dyn ObjectStore>,
    /// The names of objects begin with this and a slash, if it is not empty.
    prefix: String,
    shown: String,
    limiter: Option<Arc<RateLimiter>>,
    link: Arc<Link>,
    finishing: Finishing,
}

impl Inner {
    fn path(&self, op: &'static str, name: &str) -> Result<Path> {
        let key = match self.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        // Not `Path::from`, which would replace characters that a key can hold: others read these objects by name.
        Path::parse(key).map_err(|e| {
            let why = io::Error::new(io::ErrorKind::InvalidInput, e.to_string());
            Error::new(op, name, why)
        })
    }
}

/// Tries a request again whose answer was cut; the pauses grow.
async fn repeated<T, F>(mut request: impl FnMut() -> F) -> object_store::Result<T>
where
    F: Future<Output = object_store::Result<T>>,
{
    let mut pause = Duration::from_millis(100);
    for _ in 0..6 {
        match request().await {
            Err(e) if was_cut(&e) => tokio::time::sleep(pause).await,
            done => return done,
        }
        pause *= 2;
    }
    request().await
}

fn fail(op: &'static str, name: &str, e: &object_store::Error) -> Error {
    Error::new(op, name, io_error(e))
}

impl Objects {
    /// Whether objects of this prefix have parts of names below them: what a directory would be.
    fn listed(&self) -> Result<object_store::ListResult> {
        let prefix = (!self.0.prefix.is_empty()).then(|| self.0.path("list", ""));
        let prefix =
            match prefix {
                Some(_) => Some(Path::parse(&self.0.prefix).map_err(|e| {
                    Error::new("list", &self.0.shown, io::Error::other(e.to_string()))
                })?),
                None => None,
            };
        wait(repeated(|| {
            self.0.client.list_with_delimiter(prefix.as_ref())
        }))
        .map_err(|e| fail("list", &self.0.shown, &e))
    }

    /// Fails if the bucket is not there, or the credentials are none: one request for an object that is not there.
    fn probe(&self) -> Result<()> {
        let path = self.0.path("reach", "penstock.probe")?;
        let options = GetOptions::new().with_range(Some(0..1));
        match wait(self.0.client.get_opts(&path, options)) {
            Err(e) if error::is_about_the_place(&e) => Err(fail("reach", &self.0.shown, &e)),
            _ => Ok(()),
        }
    }

    fn head(&self, op: &'static str, name: &str) -> Result<Option<u64>> {
        let path = self.0.path(op, name)?;
        match wait(self.0.client.head(&path)) {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            // An answer to this kind of request has no body, so it does not say why: another one does.
            Err(e) => {
                let options = GetOptions::new().with_range(Some(0..1));
                let said = wait(self.0.client.get_opts(&path, options)).err();
                Err(fail(op, name, &said.unwrap_or(e)))
            }
        }
    }
}

impl Store for Objects {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        check_new_name("create", name)?;
        self.0.finishing.failed()?;
        Ok(Box::new(Upload {
            path: self.0.path("create", name)?,
            name: name.to_owned(),
            bytes: WriteBehind::new(&self.0.link, self.0.limiter.clone(), (PART, DEPTH)),
            parts: None,
            sent: 0,
            inner: Arc::clone(&self.0),
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        check_name("open", name)?;
        self.0.finishing.wait();
        let path = self.0.path("open", name)?;
        let client = Arc::clone(&self.0.client);
        // The first range answers how large the object is: small ones take one request.
        let first = self.0.link.waiting(|| {
            wait(repeated(async || {
                let options = GetOptions::new().with_range(Some(0..PART as u64));
                let got = client.get_opts(&path, options).await?;
                let meta = got.meta.clone();
                Ok((got.bytes().await?, meta))
            }))
        });
        let (first, meta) = match first {
            Ok(read) => read,
            Err(e @ object_store::Error::NotFound { .. }) => return Err(fail("open", name, &e)),
            // An empty object has no range.
            Err(e) => match self.head("open", name)? {
                Some(0) => return Ok(Box::new(io::empty())),
                _ => return Err(fail("open", name, &e)),
            },
        };
        let expected = meta.size.min(PART as u64);
        if first.len() as u64 != expected {
            let what = format!(
                "{} bytes arrived where {expected} were asked for",
                first.len()
            );
            let why = io::Error::new(io::ErrorKind::UnexpectedEof, what);
            return Err(Error::new("read", name, why));
        }
        let request = move |range| -> Task<Bytes> {
            let (client, path, tag) = (Arc::clone(&client), path.clone(), meta.e_tag.clone());
            Box::pin(async move {
                let options = GetOptions::new().with_range(Some(range)).with_if_match(tag);
                let read = async { client.get_opts(&path, options).await?.bytes().await };
                read.await.map_err(|e| match e {
                    object_store::Error::Precondition { .. } => {
                        io::Error::other("it was replaced while it was read")
                    }
                    e => io_error(&e),
                })
            })
        };
        let pieces = (PART as u64, DEPTH);
        Ok(Box::new(ReadAhead::new(
            (&self.0.link, meta.size),
            first,
            pieces,
            request,
        )))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        check_name("look at", name)?;
        self.0.finishing.wait();
        self.head("look at", name)
    }

    fn list(&self) -> Result<Vec<Entry>> {
        self.0.finishing.wait();
        let found = self.listed()?;
        let name = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let files = found.objects.iter().map(|o| Entry {
            name: name(&o.location),
            size: o.size,
            kind: EntryKind::File,
            modified: Some(o.last_modified.into()),
        });
        let below = found.common_prefixes.iter().map(|p| Entry {
            name: name(p),
            size: 0,
            kind: EntryKind::Other,
            modified: None,
        });
        Ok(files.chain(below).collect())
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name("remove", name)?;
        self.0.finishing.wait();
        // The service itself is content to remove what is not there.
        if self.head("remove", name)?.is_none() {
            return Err(Error::new(
                "remove",
                name,
                io::Error::from(io::ErrorKind::NotFound),
            ));
        }
        let path = self.0.path("remove", name)?;
        wait(self.0.client.delete(&path)).map_err(|e| fail("remove", name, &e))
    }

    /// What a service has acknowledged it keeps.
    fn sync(&self) -> Result<()> {
        self.0.finishing.wait();
        self.0.finishing.failed()
    }

    fn link(&self) -> Option<Arc<Link>> {
        Some(Arc::clone(&self.0.link))
    }

    fn describe(&self) -> String {
        self.0.shown.clone()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_new_name("create", name)?;
        let path = self.0.path("create", name)?;
        let put = |mode: PutMode| {
            let options = PutOptions::from(mode);
            let payload = PutPayload::from(bytes.to_vec());
            wait(self.0.client.put_opts(&path, payload, options))
        };
        let done = match put(PutMode::Create) {
            // A service without conditional writes: two that come at the same moment are not kept apart.
            Err(e) if conditions_unknown(&e) => {
                if self.head("create", name)?.is_some() {
                    let why = io::Error::from(io::ErrorKind::AlreadyExists);
                    return Err(Error::new("create", name, why));
                }
                put(PutMode::Overwrite)
            }
            done => done,
        };
        match done {
            // The answer to an earlier try may have been lost: then what is there is ours.
            Err(object_store::Error::AlreadyExists { .. })
                if self
                    .read_all(name, bytes.len() as u64)
                    .is_ok_and(|there| there == bytes) =>
            {
                Ok(())
            }
            done => done.map(drop).map_err(|e| fail("create", name, &e)),
        }
    }
}

/// An object on its way.
struct Upload {
    inner: Arc<Inner>,
    path: Path,
    name: String,
    bytes: WriteBehind,
    /// Once there is more than one part.
    parts: Option<Box<dyn MultipartUpload>>,
    sent: usize,
}

impl Upload {
    fn send(
        (inner, path): (&Inner, &Path),
        parts: &mut Option<Box<dyn MultipartUpload>>,
        part: Bytes,
    ) -> io::Result<Task<()>> {
        let upload = match parts {
            Some(upload) => upload,
            None => {
                let begun = wait(inner.client.put_multipart(path)).map_err(|e| io_error(&e))?;
                parts.insert(begun)
            }
        };
        let sent = upload.put_part(PutPayload::from(part));
        Ok(Box::pin(
            async move { sent.await.map_err(|e| io_error(&e)) },
        ))
    }

    fn complete(&mut self) -> io::Result<()> {
        let (last, _) = self.bytes.finish()?;
        if self.parts.is_none() {
            // One request: it is whole or not there.
            let put = self.inner.client.put(&self.path, PutPayload::from(last));
            return self
                .bytes
                .link()
                .waiting(|| wait(put))
                .map(drop)
                .map_err(|e| io_error(&e));
        }
        wait(Self::send(
            (&self.inner, &self.path),
            &mut self.parts,
            last,
        )?)?;
        let Some(upload) = &mut self.parts else {
            return Ok(());
        };
        self.bytes
            .link()
            .waiting(|| wait(upload.complete()))
            .map_err(|e| io_error(&e))?;
        self.parts = None;
        self.compare()
    }

    /// A service can have lost a part without saying so.
    fn compare(&self) -> io::Result<()> {
        let meta = wait(self.inner.client.head(&self.path)).map_err(|e| io_error(&e))?;
        if meta.size != self.bytes.taken() {
            let what = format!(
                "the store holds {} bytes of the {} that were sent",
                meta.size,
                self.bytes.taken()
            );
            return Err(io::Error::other(what));
        }
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (parts, sent, at) = (&mut self.parts, &mut self.sent, (&*self.inner, &self.path));
        let before = *sent;
        let n = self.bytes.write(bytes, |part, _| {
            *sent += 1;
            Upload::send(at, parts, part)
        })?;
        if before < LARGER_AFTER && self.sent >= LARGER_AFTER {
            self.bytes.set_piece(LARGE_PART);
        }
        Ok(n)
    }

    /// Does nothing: parts go when they are full, the rest with `finish`.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer for Upload {
    fn finish(mut self: Box<Self>, durable: bool) -> Result<u64> {
        let taken = self.bytes.taken();
        let inner = Arc::clone(&self.inner);
        if !durable {
            self.bytes.uncounted();
        }
        let mut finish = move || {
            let done = self.complete();
            done.map_err(|e| Error::new("write", &self.name, e))
        };
        if durable {
            finish()?;
        } else {
            inner.finishing.begin(&inner.link, taken, finish);
        }
        Ok(taken)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.bytes.abort();
        if let Some(upload) = &mut self.parts {
            // Best effort: the caller that dropped it is already failing for a better reason.
            let _ = wait(upload.abort());
        }
    }
}

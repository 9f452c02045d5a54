//! A directory of another host as a store, through ssh and SFTP.
//!
//! The order of a write is that of a local directory (`partial`): a file under its partial name, its bytes made
//! durable where the far side can (`fsync@openssh.com`), then renamed. Partial names are created exclusively, so two
//! writers never share one.
//!
//! The connection is one, shared by all threads and by all directories of the same host; requests of all files
//! are on their way at the same time, so distance costs no time. A connection that breaks is not made again: what was being written is then left
//! under its partial name.
//!
//! What it does not do: follow links in names (the far side decides; SFTP cannot forbid it), or lock.

mod partial;
mod place;
mod session;

pub use place::SshPlace;

use partial::{Partial, Unsettled};

use crate::error::Far;
use crate::name::{check_name, check_new_name};
use crate::remote::{Finishing, Link, ReadAhead, Task, wait};
use crate::{Entry, EntryKind, Error, Result, Store, Writer};
use base::RateLimiter;
use bytes::{Bytes, BytesMut};
use openssh_sftp_client::error::{Error as SftpError, SftpErrorKind};
use openssh_sftp_client::file::File;
use openssh_sftp_client::fs::DirEntry;
use std::io::{self, Read, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::AsyncSeekExt as _;

/// Bytes of a request: OpenSSH takes 255 KiB, and the library splits for others.
const PIECE: usize = 255 * 1024;

/// Requests on their way for each file: 4 MiB, more than ssh itself keeps on its way.
const DEPTH: usize = 16;

/// A directory of another host.
pub struct SshDirectory(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// Whether the directory was made when it was opened.
    made: bool,
    shown: String,
    host: String,
    limiter: Option<Arc<RateLimiter>>,
    link: Arc<Link>,
    finishing: Finishing,
    /// Small files that are there and not yet durable.
    unsettled: Unsettled,
    session: Arc<session::Session>,
}

/// What the far side said, with the kind that callers act on.
fn io_error(e: &SftpError) -> io::Error {
    use io::ErrorKind::{ConnectionAborted, NotFound, Other, PermissionDenied, Unsupported};
    let kind = match e {
        SftpError::SftpError(SftpErrorKind::NoSuchFile, _) => NotFound,
        SftpError::SftpError(SftpErrorKind::PermDenied, _) => PermissionDenied,
        SftpError::SftpError(SftpErrorKind::OpUnsupported, _)
        | SftpError::UnsupportedExtension(_) => Unsupported,
        SftpError::SftpError(..) => Other,
        SftpError::IOError(e) => e.kind(),
        _ => ConnectionAborted,
    };
    let text = match e {
        SftpError::SftpError(_, said) => said.to_string(),
        e => e.to_string(),
    };
    Far::error(kind, text)
}

impl Inner {
    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// An error with what only a further question can tell: the protocol has no word for a full disk or a name
    /// that exists.
    fn explained(&self, e: io::Error) -> io::Error {
        match e.kind() {
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => {
                let why = self.session.said().unwrap_or_else(|| e.to_string());
                Far::error(
                    io::ErrorKind::ConnectionAborted,
                    format!("the connection to {} ended: {why}", self.host),
                )
            }
            io::ErrorKind::Other => match wait(self.session.sftp.fs().statvfs(&self.path)) {
                Ok(room) if room.bavail.saturating_mul(room.frsize) < 1 << 20 => io::Error::new(
                    io::ErrorKind::StorageFull,
                    format!("no room is left on {}", self.host),
                ),
                _ => e,
            },
            _ => e,
        }
    }

    fn fail(&self, op: &'static str, name: &str, e: &SftpError) -> Error {
        Error::new(op, name, self.explained(io_error(e)))
    }

    /// Opens a file that must not exist yet, under this name.
    fn open_new(&self, name: &str) -> Result<File> {
        let path = self.at(name);
        // Reading too: its size is asked for at the end, and the library allows that only so.
        let mut options = self.session.sftp.options();
        let opened = wait(options.read(true).write(true).create_new(true).open(&path));
        opened.map_err(|e| {
            let mut e = io_error(&e);
            if e.kind() == io::ErrorKind::Other
                && wait(self.session.sftp.fs().symlink_metadata(&path)).is_ok()
            {
                e = io::Error::new(io::ErrorKind::AlreadyExists, "it exists already");
            }
            Error::new("create", name, self.explained(e))
        })
    }

    async fn synced(&self, file: &mut File) -> std::result::Result<(), SftpError> {
        synced(file, self.session.sftp.support_fsync()).await
    }
}

/// Makes what was written to a file durable, if the far side can.
async fn synced(file: &mut File, can: bool) -> std::result::Result<(), SftpError> {
    match can {
        true => file.sync_all().await,
        false => Ok(()),
    }
}

impl Store for SshDirectory {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        check_new_name("create", name)?;
        self.0.finishing.failed()?;
        Ok(Box::new(Partial::create(&self.0, name)?))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        check_name("open", name)?;
        self.0.finishing.wait();
        let (file, size) = wait(async {
            let mut file = self
                .0
                .session
                .sftp
                .options()
                .read(true)
                .open(self.0.at(name))
                .await?;
            let meta = file.metadata().await?;
            Ok((file, meta))
        })
        .map_err(|e: SftpError| self.0.fail("open", name, &e))
        .and_then(|(file, meta)| match (meta.file_type(), meta.len()) {
            (Some(kind), _) if !kind.is_file() => Err(not_regular("open", name)),
            (_, Some(size)) => Ok((file, size)),
            (_, None) => Err(Error::new(
                "open",
                name,
                io::Error::other("the far side does not say its size"),
            )),
        })?;
        let request = move |range: std::ops::Range<u64>| -> Task<Bytes> {
            let mut file = file.clone();
            Box::pin(async move {
                let wanted = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
                let mut got = BytesMut::with_capacity(wanted);
                while got.len() < wanted {
                    let left = u32::try_from(wanted - got.len()).unwrap_or(u32::MAX);
                    let at = range.start + got.len() as u64;
                    // The library moves on by what was asked for, not by what came.
                    file.seek(SeekFrom::Start(at)).await?;
                    match file
                        .read(left, BytesMut::new())
                        .await
                        .map_err(|e| io_error(&e))?
                    {
                        Some(more) if !more.is_empty() => got.extend_from_slice(&more),
                        _ => break,
                    }
                }
                Ok(got.freeze())
            })
        };
        let pieces = (PIECE as u64, DEPTH);
        let ahead = ReadAhead::new((&self.0.link, size), Bytes::new(), pieces, request);
        Ok(Box::new(Explained(ahead, Arc::clone(&self.0))))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        check_name("look at", name)?;
        self.0.finishing.wait();
        match wait(self.0.session.sftp.fs().symlink_metadata(self.0.at(name))) {
            Ok(meta) if meta.file_type().is_some_and(|t| !t.is_file()) => {
                Err(not_regular("look at", name))
            }
            Ok(meta) => Ok(Some(meta.len().unwrap_or_default())),
            Err(SftpError::SftpError(SftpErrorKind::NoSuchFile, _)) => Ok(None),
            Err(e) => Err(self.0.fail("look at", name, &e)),
        }
    }

    fn list(&self) -> Result<Vec<Entry>> {
        self.0.finishing.wait();
        let read = async {
            use futures_util::StreamExt as _;
            let dir = self.0.session.sftp.fs().open_dir(&self.0.path).await?;
            let entries = std::pin::pin!(dir.read_dir());
            let all: Vec<std::result::Result<DirEntry, SftpError>> = entries.collect().await;
            all.into_iter()
                .collect::<std::result::Result<Vec<DirEntry>, SftpError>>()
        };
        let found = wait(read).map_err(|e| self.0.fail("list", &self.0.shown, &e))?;
        let entry = |found: &DirEntry| {
            let (name, meta) = (found.filename(), found.metadata());
            let file = meta.file_type().is_some_and(|t| t.is_file()) && name.to_str().is_some();
            Entry {
                name: name.to_string_lossy().into_owned(),
                size: if file {
                    meta.len().unwrap_or_default()
                } else {
                    0
                },
                modified: meta.modified().map(|t| t.as_system_time()),
                kind: if file {
                    EntryKind::File
                } else {
                    EntryKind::Other
                },
            }
        };
        let all = found.iter().map(entry);
        Ok(all.filter(|e| e.name != "." && e.name != "..").collect())
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name("remove", name)?;
        self.0.finishing.wait();
        wait(self.0.session.sftp.fs().remove_file(self.0.at(name)))
            .map_err(|e| self.0.fail("remove", name, &e))
    }

    /// SFTP cannot make names durable: for that the far side's file system is trusted.
    fn sync(&self) -> Result<()> {
        self.0.finishing.wait();
        self.0.finishing.failed()?;
        let settled = self.0.unsettled.settle(&self.0);
        settled.inspect_err(|e| self.0.finishing.fail(e))
    }

    fn made_place(&self) -> bool {
        self.0.made
    }

    fn remove_place(&self) -> Result<()> {
        wait(self.0.session.sftp.fs().remove_dir(&self.0.path))
            .map_err(|e| self.0.fail("remove", &self.0.shown, &e))
    }

    fn link(&self) -> Option<Arc<Link>> {
        Some(Arc::clone(&self.0.link))
    }

    fn describe(&self) -> String {
        self.0.shown.clone()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_new_name("create", name)?;
        // Under its own name from the start: exclusive everywhere, at the price that a reader may see a part of it.
        let mut file = self.0.open_new(name)?;
        let written = wait(async {
            file.write_all(bytes).await?;
            self.0.synced(&mut file).await?;
            file.close().await
        });
        written.map_err(|e| {
            let e = self.0.fail("write", name, &e);
            // Begun and not written, as on a full disk: it would count as there.
            let _ = wait(self.0.session.sftp.fs().remove_file(self.0.at(name)));
            e
        })
    }
}

/// A reader whose errors say what became of the connection.
struct Explained(ReadAhead, Arc<Inner>);

impl Read for Explained {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|e| self.1.explained(e))
    }
}

fn not_regular(op: &'static str, name: &str) -> Error {
    let why = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    Error::new(op, name, why)
}

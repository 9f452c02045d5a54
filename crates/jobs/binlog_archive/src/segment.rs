//! A segment: some bytes of one file of the log, compressed, behind a line that describes them.
//!
//! The first line of the object is a JSON text, the rest is zstd: `tail -n +2 SEGMENT | zstd -d` gives the server's own bytes.
//! All segments of a file, one after the other, are that file.
//!
//! Of an encrypted one what follows the line is an age file. It holds the line again, with the digest of the bytes, and the zstd: so a
//! line that was changed is noticed by whoever has the key, and bytes that were changed by everybody.

use base::{Error, Kind, Result};
use binlog::event::IN_USE;
use binlog::gtid::{Executed, Gtid};
use binlog::{Boundaries, Description, Header, MAGIC, Transaction};
use encryption::{Opening, Sealing};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use store::Store;

use crate::layout::Name;

const VERSION: u32 = 1;
/// The line that describes a segment is no longer than this, in bytes.
const HEAD_LIMIT: u64 = 16 << 20;
/// What is fast enough to follow any server, and as small as the levels above it nearly are.
const LEVEL: i32 = 1;

/// What is known of a segment without its bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Of this format.
    pub version: u32,
    /// Number of its timeline.
    pub timeline: u32,
    /// File of the log.
    pub file: String,
    /// Offset of its first byte in that file.
    pub start: u64,
    /// Offset behind its last byte.
    pub end: u64,
    /// When the server began the file: seconds since 1970. It tells a file from another of the same name.
    pub created: u32,
    /// Version of the server that wrote the file.
    pub server_version: String,
    /// Offset behind the last event of it that ends a transaction, or stands between two. `start` if there is none.
    pub whole_to: u64,
    /// Transactions that end here.
    pub transactions: u64,
    /// Commit of the first of them, microseconds since 1970.
    pub first_time: Option<u64>,
    /// The latest commit among them.
    pub last_time: Option<u64>,
    /// Their GTIDs: a set, or of MariaDB the last one of each domain.
    pub gtids: String,
    /// What was executed before the file began, as the file itself says; in its first segment only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_before: Option<String>,
    /// The transaction that has begun and not ended where this segment ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    /// The file ends here, and the log goes on in this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// BLAKE3 of the bytes; empty where they are encrypted.
    pub blake3: String,
    /// BLAKE3 of what is stored behind this line, where it is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// Length of the object.
    #[serde(default)]
    pub stored: u64,
}

/// A transaction that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    start: u64,
    gtid: Option<String>,
    time: u64,
    exact: bool,
    until_end: bool,
}

impl Open {
    fn of(boundaries: &Boundaries) -> Option<Open> {
        let (transaction, until_end) = boundaries.open()?;
        Some(Open {
            start: transaction.start,
            gtid: transaction.gtid.as_ref().map(Gtid::to_string),
            time: transaction.time,
            exact: transaction.exact,
            until_end,
        })
    }

    /// Offset of its first event.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn boundaries(&self) -> Boundaries {
        let transaction = Transaction {
            start: self.start,
            end: self.start,
            gtid: self.gtid.as_deref().and_then(Gtid::parse),
            time: self.time,
            exact: self.exact,
        };
        Boundaries::resume(transaction, self.until_end)
    }
}

impl Head {
    /// Its name in the store.
    pub(crate) fn name(&self) -> String {
        let name = Name::Segment {
            timeline: self.timeline,
            file: self.file.clone(),
            start: self.start,
        };
        name.to_string()
    }

    /// As it stands in front of encrypted bytes.
    fn outer(self, sealed: String) -> Head {
        Head {
            blake3: String::new(),
            sealed: Some(sealed),
            ..self
        }
    }

    fn parse(line: &[u8]) -> Option<Head> {
        let head: Head = serde_json::from_slice(line).ok()?;
        (head.version == VERSION && head.start <= head.whole_to && head.whole_to <= head.end)
            .then_some(head)
    }
}

/// Events are a few hundred bytes each; so many bytes together are digested and compressed for a quarter less.
const TOGETHER: usize = 128 << 10;

/// A segment that is being filled.
pub struct Segment {
    head: Head,
    gtids: Executed,
    /// What is neither digested nor compressed yet.
    fresh: Vec<u8>,
    bytes: zstd::stream::write::Encoder<'static, Vec<u8>>,
    hasher: blake3::Hasher,
    /// When its first byte came.
    pub(crate) since: std::time::Instant,
}

impl Segment {
    /// An empty one, which goes on where `before` says: its timeline, file, offset, and what is known of the file.
    pub(crate) fn new(before: &Head, mariadb: bool) -> Result<Segment> {
        let encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL);
        let bytes = encoder.map_err(|e| Error::new(Kind::Internal, e.to_string()))?;
        Ok(Segment {
            head: Head {
                version: VERSION,
                start: before.end,
                end: before.end,
                whole_to: before.end,
                timeline: before.timeline,
                file: before.file.clone(),
                created: before.created,
                server_version: before.server_version.clone(),
                ..Head::default()
            },
            gtids: Executed::empty(mariadb),
            fresh: Vec::new(),
            bytes,
            hasher: blake3::Hasher::new(),
            since: std::time::Instant::now(),
        })
    }

    /// Adds bytes of the log.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_empty() {
            self.since = std::time::Instant::now();
        }
        self.head.end += bytes.len() as u64;
        self.fresh.extend_from_slice(bytes);
        if self.fresh.len() >= TOGETHER {
            self.compress()?;
        }
        Ok(())
    }

    fn compress(&mut self) -> Result<()> {
        self.hasher.update(&self.fresh);
        let written = self.bytes.write_all(&self.fresh);
        self.fresh.clear();
        written.map_err(|e| Error::new(Kind::Internal, e.to_string()))
    }

    /// Everything before this offset is whole: no transaction is open there.
    pub(crate) fn whole(&mut self) {
        self.head.whole_to = self.head.end;
    }

    /// A transaction has ended.
    pub(crate) fn add(&mut self, transaction: &Transaction) {
        self.whole();
        let head = &mut self.head;
        head.transactions += 1;
        head.first_time.get_or_insert(transaction.time);
        head.last_time = head.last_time.max(Some(transaction.time));
        if let Some(gtid) = &transaction.gtid {
            self.gtids.add(gtid);
        }
    }

    /// Adds the first bytes of a file, `bytes` its description, as they are once the server has closed it; returns how many
    /// that are.
    pub(crate) fn begin_file(
        &mut self,
        description: &Description,
        header: &Header,
        bytes: &[u8],
    ) -> Result<u64> {
        self.head.created = header.timestamp;
        self.head
            .server_version
            .clone_from(&description.server_version);
        let mut bytes = bytes.to_vec();
        // The flags of an open file; the checksum is that of a closed one.
        let flags = (header.flags & !IN_USE).to_le_bytes();
        bytes[17..19].copy_from_slice(&flags);
        self.push(&MAGIC)?;
        self.push(&bytes)?;
        self.whole();
        Ok((MAGIC.len() + bytes.len()) as u64)
    }

    /// What was executed before the file.
    pub(crate) fn executed_before(&mut self, executed: &Executed) {
        self.head.executed_before = Some(executed.to_string());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.start == self.head.end
    }

    /// Bytes of the log in it.
    pub(crate) fn len(&self) -> u64 {
        self.head.end - self.head.start
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Writes it, durably. `next`: the file ends, and the log goes on in that one.
    pub(crate) fn finish(
        mut self,
        store: &dyn Store,
        sealing: Option<&Sealing>,
        boundaries: &Boundaries,
        next: Option<&str>,
    ) -> Result<Head> {
        self.compress()?;
        let mut head = self.head;
        head.gtids = self.gtids.to_string();
        head.open = Open::of(boundaries);
        head.next = next.map(str::to_owned);
        head.blake3 = self.hasher.finalize().to_hex().to_string();
        let bytes = self.bytes.finish();
        let mut bytes = bytes.map_err(|e| Error::new(Kind::Internal, e.to_string()))?;
        if let Some(sealing) = sealing {
            let sealed = sealing.seal(&behind(&head, &bytes));
            let doing = "cannot encrypt the binary log";
            bytes = sealed.map_err(|e| run::failure::encryption(doing, &e))?;
            head = head.outer(blake3::hash(&bytes).to_hex().to_string());
        }
        let object = behind(&head, &bytes);
        head.stored = object.len() as u64;
        let name = head.name();
        base::failpoint::reached("a segment of the binary log is complete");
        store
            .put(&name, &object)
            .and_then(|()| store.sync())
            .map_err(|e| match e.full() {
                true => run::failure::store("cannot store the binary log", &e)
                    .hint("make room, and start it again: it goes on where it ended, as long as the server keeps the files of its log"),
                false => run::failure::store("cannot store the binary log", &e),
            })?;
        base::failpoint::reached("a segment of the binary log is stored");
        Ok(head)
    }
}

/// A line that describes bytes, and the bytes.
fn behind(head: &Head, bytes: &[u8]) -> Vec<u8> {
    let mut all = serde_json::to_vec(head).unwrap_or_default();
    all.push(b'\n');
    all.extend_from_slice(bytes);
    all
}

/// Reads what stands in front of a segment's bytes; `None` if there is no such segment any more.
pub(crate) fn read_head(store: &dyn Store, name: &str, stored: u64) -> Result<Option<Head>> {
    let object = match store.open(name) {
        Err(e) if e.not_found() => return Ok(None),
        opened => opened.map_err(|e| run::failure::store("cannot read the binary log", &e))?,
    };
    let (head, _) = begun(object, name)?;
    Ok(Some(Head { stored, ..head }))
}

/// A segment as it is stored: its line, and what follows.
fn stored_segment(store: &dyn Store, name: &str) -> Result<(Head, Box<dyn BufRead + Send>)> {
    let object = store
        .open(name)
        .map_err(|e| run::failure::store("cannot read the binary log", &e))?;
    begun(object, name)
}

/// The line of an opened object, and what follows.
fn begun(object: Box<dyn Read + Send>, name: &str) -> Result<(Head, Box<dyn BufRead + Send>)> {
    let mut object = BufReader::new(object);
    let head = line(&mut object).map_err(|e| damaged(name, &e.to_string()))?;
    let head = head.filter(|h| h.name() == name);
    let head = head.ok_or_else(|| damaged(name, "it does not begin as a segment does"))?;
    Ok((head, Box::new(object)))
}

fn line(from: &mut impl BufRead) -> std::io::Result<Option<Head>> {
    let mut line = Vec::new();
    from.take(HEAD_LIMIT).read_until(b'\n', &mut line)?;
    Ok(Head::parse(&line))
}

/// Opens a segment: its head, with the digest of its bytes, and its bytes.
pub(crate) fn open(
    store: &dyn Store,
    name: &str,
    key: Option<&Opening>,
) -> Result<(Head, Box<dyn Read + Send>)> {
    let (mut head, mut object) = stored_segment(store, name)?;
    if head.sealed.is_some() {
        let wrong = |e: &std::io::Error| {
            damaged(
                name,
                &format!("its encrypted bytes differ from what was written ({e})"),
            )
        };
        let key = key.ok_or_else(|| locked("the binary log"))?;
        let mut opened = BufReader::new(key.read(Box::new(object)).map_err(|e| wrong(&e))?);
        let inner = line(&mut opened).map_err(|e| wrong(&e))?;
        // Behind another line the bytes would be another part of the log.
        let sealed = head.sealed.clone().unwrap_or_default();
        let inner = inner.filter(|inner| inner.clone().outer(sealed) == head);
        head = inner.ok_or_else(|| {
            damaged(
                name,
                "its line is not the one that was written with its bytes",
            )
        })?;
        object = Box::new(opened);
    }
    let bytes = zstd::stream::read::Decoder::with_buffer(object);
    let bytes = bytes.map_err(|e| damaged(name, &e.to_string()))?;
    Ok((head, Box::new(bytes)))
}

/// The error of a log that cannot be read without a key.
pub(crate) fn locked(what: &str) -> Error {
    Error::new(
        Kind::Usage,
        format!("{what} is encrypted, and no key is named"),
    )
    .hint("add --identity FILE or --passphrase-file FILE")
}

/// Reads a segment to its end, and compares its digest; of an encrypted one that of what is stored, which needs no key.
pub(crate) fn verify(store: &dyn Store, head: &Head) -> Result<()> {
    let name = head.name();
    let (head, mut object) = stored_segment(store, &name)?;
    let mut hasher = blake3::Hasher::new();
    let (wanted, copied) = match &head.sealed {
        Some(sealed) => (sealed, std::io::copy(&mut object, &mut hasher)),
        None => {
            let bytes = zstd::stream::read::Decoder::with_buffer(object);
            let mut bytes = bytes.map_err(|e| damaged(&name, &e.to_string()))?;
            (&head.blake3, std::io::copy(&mut bytes, &mut hasher))
        }
    };
    copied.map_err(|e| damaged(&name, &e.to_string()))?;
    match hasher.finalize().to_hex().as_str() == wanted {
        true => Ok(()),
        false => Err(damaged(&name, "its bytes are not those that were written")),
    }
}

/// A segment that is not what was written.
pub(crate) fn damaged(name: &str, why: &str) -> Error {
    let what = format!("the segment {name} of the binary log is damaged: {why}");
    Error::new(Kind::Archive, base::units::printable(&what))
        .hint("penstock binlog archive --repair archives it again, as long as the server has that file; or restore it from a copy of the repository")
}

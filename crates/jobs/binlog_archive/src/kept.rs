//! What is kept of a server's binary log.

use crate::layout::{Name, order};
use crate::segment::{self, Head};
use crate::timeline::Timeline;
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use encryption::{Keys, Opening, Sealing};
use run::failure;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{EntryKind, PARTIAL_SUFFIX, Store};

/// The heads of a whole file are at most this long, in bytes.
const HEADS_LIMIT: u64 = 1 << 30;

/// Everything in a place.
#[derive(Clone)]
pub struct Kept {
    pub(crate) store: Arc<dyn Store>,
    /// What its segments are encrypted to, if they are.
    pub(crate) sealing: Option<Arc<Sealing>>,
    /// What opens them.
    pub(crate) key: Option<Arc<Opening>>,
    /// In their order.
    pub timelines: Vec<KeptTimeline>,
    /// Names that mean nothing here, and segments whose timeline is not there.
    pub others: Vec<String>,
    /// What killed runs were writing.
    unfinished: Vec<String>,
}

/// A timeline with its files.
#[derive(Clone, Debug)]
pub struct KeptTimeline {
    /// What was written down when it began.
    pub timeline: Timeline,
    /// In the order of the log.
    pub files: Vec<KeptFile>,
}

/// A file of a log.
#[derive(Clone, Debug)]
pub struct KeptFile {
    /// Its name.
    pub name: String,
    /// Its segments, in their order; their offsets follow each other.
    pub segments: Vec<Head>,
    /// An offset at which bytes are missing.
    pub gap: Option<u64>,
    /// Segments behind the first gap.
    pub behind: Vec<Head>,
    /// Segments that cannot be read, in words; they count as missing.
    pub unreadable: Vec<String>,
    /// Segments whose bytes others have as well: parts of one that was stored when a run was killed.
    pub(crate) covered: Vec<Head>,
}

/// Bytes of a file that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// From this offset on.
    pub(crate) start: u64,
    /// Up to this one; `None`: to the file's end.
    pub(crate) end: Option<u64>,
}

/// Heads by the names of their segments.
type ReadHeads = BTreeMap<String, Head>;

/// An error of keys.
pub(crate) fn of_keys(e: &encryption::Error) -> Error {
    failure::encryption("cannot read the binary log", e)
}

impl KeptFile {
    /// Offset behind the last byte that is kept without a gap.
    pub fn end(&self) -> u64 {
        self.segments.last().map_or(0, |s| s.end)
    }

    /// Whether it is kept to its end.
    pub fn is_complete(&self) -> bool {
        self.gap.is_none() && self.segments.last().is_some_and(|s| s.next.is_some())
    }

    /// What is missing, if the file is kept to its end or, with `ends`, should be.
    pub(crate) fn holes(&self, ends: bool) -> Vec<Hole> {
        let mut holes = Vec::new();
        let mut at = 0;
        for head in self.segments.iter().chain(&self.behind) {
            if head.start > at {
                holes.push(Hole {
                    start: at,
                    end: Some(head.start),
                });
            }
            at = at.max(head.end);
        }
        let last = self.segments.iter().chain(&self.behind).next_back();
        if ends && last.is_none_or(|h| h.next.is_none()) {
            holes.push(Hole {
                start: at,
                end: None,
            });
        }
        holes
    }

    /// Takes a segment out that is of no use.
    pub(crate) fn lose(&mut self, start: u64, why: String) {
        let mut all = std::mem::take(&mut self.segments);
        all.append(&mut self.behind);
        // What the lost one covered is needed now.
        all.append(&mut self.covered);
        all.sort_by_key(|h| h.start);
        all.retain(|h| h.start != start);
        self.unreadable.push(why);
        self.arrange(all);
    }

    /// Sorts segments by whether they are in front of the first gap.
    fn arrange(&mut self, all: Vec<Head>) {
        self.gap = None;
        for head in all {
            let end = self.end();
            match self.gap {
                None if head.start == end => self.segments.push(head),
                // What was archived twice is here already.
                None if head.end <= end => self.covered.push(head),
                None if head.start < end => {}
                _ => {
                    self.gap.get_or_insert(end);
                    self.behind.push(head);
                }
            }
        }
        if self.segments.is_empty() {
            self.gap.get_or_insert(0);
        }
    }

    /// Bytes of its objects.
    pub fn stored(&self) -> u64 {
        self.segments.iter().map(|s| s.stored).sum()
    }
}

impl KeptTimeline {
    /// The newest segment.
    pub fn last(&self) -> Option<&Head> {
        self.files.last().and_then(|f| f.segments.last())
    }

    /// The GTIDs of all of its transactions.
    pub fn gtids(&self) -> Executed {
        let mariadb = self.timeline.is_mariadb();
        let mut all = Executed::empty(mariadb);
        for head in self.files.iter().flat_map(|f| &f.segments) {
            if let Some(gtids) = Executed::parse(mariadb, &head.gtids) {
                all.add_all(&gtids);
            }
        }
        all
    }

    /// The first segment.
    pub fn first(&self) -> Option<&Head> {
        self.files.iter().find_map(|f| f.segments.first())
    }
}

impl Kept {
    /// Reads what lies in this place.
    pub fn open(store: Arc<dyn Store>) -> Result<Kept> {
        /// An archiver replaces segments every few seconds; heads that were read are not read again.
        const TRIES: usize = 20;
        let mut read = ReadHeads::new();
        for _ in 0..TRIES {
            if let Some(kept) = Kept::look(Arc::clone(&store), &mut read)? {
                return Ok(kept);
            }
        }
        let what = "the binary logs change faster than they can be listed";
        Err(Error::new(Kind::Storage, what).hint("try again"))
    }

    /// Reads it once; `None` if something was replaced meanwhile.
    fn look(store: Arc<dyn Store>, read: &mut ReadHeads) -> Result<Option<Kept>> {
        let cannot = |e: store::Error| failure::store("cannot read the binary logs", &e);
        let mut timelines: BTreeMap<u32, Timeline> = BTreeMap::new();
        let mut segments: BTreeMap<(u32, String), BTreeMap<u64, u64>> = BTreeMap::new();
        let mut joined: BTreeSet<(u32, String)> = BTreeSet::new();
        let (mut others, mut unfinished) = (Vec::new(), Vec::new());
        for entry in store.list().map_err(cannot)? {
            if let Some(whole) = entry.name.strip_suffix(PARTIAL_SUFFIX) {
                if Name::parse(whole).is_some() {
                    unfinished.push(entry.name);
                }
                continue;
            }
            let name = match entry.kind {
                EntryKind::File => Name::parse(&entry.name),
                EntryKind::Other => None,
            };
            match name {
                Some(Name::Timeline(number)) => {
                    let bytes = store.read_all(&entry.name, 1 << 20).map_err(cannot)?;
                    let timeline = Timeline::parse(&bytes).filter(|t| t.number == number);
                    let timeline = timeline.ok_or_else(|| {
                        let what = format!("{} of the binary logs cannot be read", entry.name);
                        Error::new(Kind::Archive, what)
                            .hint("restore it from a copy of the repository, or use a newer version of penstock")
                    })?;
                    timelines.insert(number, timeline);
                }
                Some(Name::Segment {
                    timeline,
                    file,
                    start,
                }) => {
                    let of_file = segments.entry((timeline, file)).or_default();
                    of_file.insert(start, entry.size);
                }
                Some(Name::Heads { timeline, file }) => {
                    joined.insert((timeline, file));
                }
                None if matches!(&*entry.name, encryption::KEY | encryption::RECIPIENT) => {}
                None => others.push(entry.name),
            }
        }
        let lost = segments.keys().find(|(t, _)| !timelines.contains_key(t));
        if let Some((timeline, file)) = lost {
            let what = format!(
                "{} of the binary logs is missing, and segments of that timeline are there ({file})",
                Name::Timeline(*timeline)
            );
            return Err(Error::new(Kind::Archive, base::units::printable(&what))
                .hint("restore it from a copy of the repository; without it nothing says which server they are of"));
        }
        let sealing = Sealing::open(&*store).map_err(|e| of_keys(&e))?;
        let mut kept = Kept {
            store,
            sealing: sealing.map(Arc::new),
            key: None,
            timelines: Vec::new(),
            unfinished,
            others,
        };
        for (number, timeline) in timelines {
            let of_this = segments.iter().filter(|((t, _), _)| *t == number);
            let mut files = Vec::new();
            for ((_, file), found) in of_this {
                let is_joined = joined.contains(&(number, file.clone()));
                match kept.file(number, file, found, is_joined, read)? {
                    Some(file) => files.push(file),
                    None => return Ok(None),
                }
            }
            files.sort_by(|a, b| order(&a.name).cmp(&order(&b.name)));
            kept.timelines.push(KeptTimeline { timeline, files });
        }
        Ok(Some(kept))
    }

    fn file(
        &self,
        timeline: u32,
        file: &str,
        found: &BTreeMap<u64, u64>,
        joined: bool,
        read: &mut ReadHeads,
    ) -> Result<Option<KeptFile>> {
        let mut known: BTreeMap<u64, Head> = BTreeMap::new();
        if joined {
            let name = Name::Heads {
                timeline,
                file: file.to_owned(),
            };
            // They can all be read again from the segments.
            if let Ok(bytes) = self.store.read_all(&name.to_string(), HEADS_LIMIT) {
                let heads: Vec<Head> = serde_json::from_slice(&bytes).unwrap_or_default();
                known = heads.into_iter().map(|h| (h.start, h)).collect();
            }
        }
        let mut kept = KeptFile {
            name: file.to_owned(),
            segments: Vec::new(),
            gap: None,
            behind: Vec::new(),
            unreadable: Vec::new(),
            covered: Vec::new(),
        };
        let mut all: Vec<Head> = Vec::new();
        for (&start, &stored) in found {
            let name = Name::Segment {
                timeline,
                file: kept.name.clone(),
                start,
            };
            let name = name.to_string();
            let known = known.remove(&start);
            let before = read.get(&name).filter(|head| head.stored == stored);
            let head = match known
                .as_ref()
                .filter(|head| head.stored == stored)
                .or(before)
            {
                Some(head) => Ok(head.clone()),
                None => match segment::read_head(&*self.store, &name, stored) {
                    Ok(Some(head)) => {
                        read.insert(name.clone(), head.clone());
                        Ok(head)
                    }
                    Ok(None) => return Ok(None),
                    Err(e) => Err(e),
                },
            };
            // One of another size than was written is looked at: it may have been archived again since.
            let head = head.and_then(|head| match known {
                Some(known) if known.stored != stored => {
                    segment::verify(&*self.store, &head)?;
                    Ok(head)
                }
                _ => Ok(head),
            });
            match head {
                Ok(head) => all.push(head),
                Err(e) if e.kind == Kind::Archive => kept.unreadable.push(e.what),
                Err(e) => return Err(e),
            }
        }
        kept.arrange(all);
        Ok(Some(kept))
    }

    /// Whether its segments are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.sealing.is_some() || self.holds_sealed()
    }

    /// Whether a segment is, although what they are encrypted to may be lost.
    pub(crate) fn holds_sealed(&self) -> bool {
        let files = self.timelines.iter().flat_map(|t| &t.files);
        let mut heads = files.flat_map(|f| f.segments.iter().chain(&f.behind));
        heads.any(|h| h.sealed.is_some())
    }

    /// Opens what is encrypted with these keys, which are not needed where nothing is.
    pub fn unlock(&mut self, keys: &Keys) -> Result<()> {
        if !self.is_encrypted() {
            return Ok(());
        }
        if !keys.can_open() {
            return Err(segment::locked("the binary log"));
        }
        let key = Opening::open(&*self.store, keys).map_err(|e| of_keys(&e))?;
        self.key = Some(Arc::new(key));
        Ok(())
    }

    /// Removes what killed runs were writing; only the one run that writes may do that.
    pub(crate) fn remove_unfinished(&mut self) -> Result<()> {
        for name in self.unfinished.drain(..) {
            self.store
                .remove(&name)
                .map_err(|e| failure::store("cannot store the binary log", &e))?;
        }
        Ok(())
    }

    /// Removes segments whose bytes others have as well, once those are seen to be whole; only the one run that writes may do
    /// that.
    pub(crate) fn remove_covered(&mut self) {
        for file in self.timelines.iter_mut().flat_map(|t| &mut t.files) {
            let mut whole: BTreeMap<u64, bool> = BTreeMap::new();
            for part in std::mem::take(&mut file.covered) {
                let holds = |h: &&Head| h.start <= part.start && h.end >= part.end;
                let is_whole = file.segments.iter().find(holds).is_some_and(|head| {
                    let verify = || segment::verify(&*self.store, head).is_ok();
                    *whole.entry(head.start).or_insert_with(verify)
                });
                // Of no use, and no harm: where nothing can be removed, they stay.
                if is_whole {
                    let _ = self.store.remove(&part.name());
                }
            }
        }
    }

    /// Writes the heads of files together again that have ended.
    pub(crate) fn join_ended(&self) -> Result<()> {
        let files = self.timelines.iter().flat_map(|t| &t.files);
        for file in files.filter(|f| f.is_complete()) {
            Kept::join(&*self.store, &file.segments)
                .map_err(|e| failure::store("cannot store the binary log", &e))?;
        }
        Ok(())
    }

    /// The newest timeline.
    pub fn newest(&self) -> Option<&KeptTimeline> {
        self.timelines.last()
    }

    /// Writes the heads of a file that has ended into one object, so that they are read at once.
    pub(crate) fn join(store: &dyn Store, heads: &[Head]) -> store::Result<()> {
        let Some(first) = heads.first() else {
            return Ok(());
        };
        let name = Name::Heads {
            timeline: first.timeline,
            file: first.file.clone(),
        };
        let text = serde_json::to_vec(heads).unwrap_or_default();
        store.put(&name.to_string(), &text)
    }
}

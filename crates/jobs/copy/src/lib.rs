//! Copies an archive from one place to another, or out of a stream; and a server's data into other servers: through memory
//! (`servers`), or through an archive of this host (`via`).
//!
//! Invariants: the source is never written to; the copy is marked incomplete until all of it is there; a file whose
//! bytes are not those that the archive has recorded ends the copy. Encrypted archives are copied as they are
//! stored, without a key. What this does not do: decode rows, which is for `verify`.

mod files;
pub mod servers;
mod stream;
mod targets;
pub mod via;

pub use stream::unpack;

use base::{Error, Kind, Result};
use rows::{archives, new_archive};
use run::{Run, failure};
use std::sync::Arc;
use std::time::Instant;
use store::{Location, Store};

/// What to copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive.
    pub from: Location,
    /// Where to; nothing may be there yet.
    pub to: Location,
    /// Files at the same time.
    pub threads: usize,
}

/// What was copied.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The archive.
    pub from: String,
    /// The copy.
    pub to: String,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the bytes were compared with.
    pub compared: Compared,
    /// Seconds it took.
    pub seconds: f64,
    /// Time that all threads together waited for the network to either place, if there is one.
    pub link_seconds: Option<f64>,
}

/// What the bytes of a copy were compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The digest that the archive has of each file.
    Digests,
    /// The digest at the end of the stream.
    Stream,
    /// The sizes in the listing alone: the archive has no digests.
    Sizes,
}

/// Copies an archive.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let Options { from, to, threads } = options;
    if let Some(file) = from.path().filter(|path| store::stream::is_in(path)) {
        let shown = file.display();
        let what = format!("{shown} is an archive as one stream");
        let hint = format!("read it from standard input: penstock copy - {to} < {shown}");
        let e = Error::new(Kind::Usage, base::units::printable(&what));
        return Err(e.hint(base::units::printable(&hint)));
    }
    let source = match from {
        Location::Stream => {
            stream::expected()?;
            None
        }
        _ => Some(files::Source::open(from)?),
    };
    if let Some(path) = to.path() {
        run::places::not_in_a_data_directory(path)?;
    }
    let store = to
        .create(Some(&run.disk_limiter))
        .map_err(|e| new_archive::create_error(to, &e.into()))?;
    match archive::marker::set(&*store, env!("CARGO_PKG_VERSION")) {
        Err(archive::ArchiveError::Store(e)) if e.busy() => return Err(new_archive::busy(to)),
        Err(e) => {
            new_archive::clear(&*store);
            return Err(failure::archive("cannot begin the copy", &e));
        }
        Ok(()) => {}
    }
    let phase = run.phase("copying", *threads);
    let moved = match &source {
        None => stream::receive(run, &*store, &phase.counters),
        Some(source) => source.copy(run, &*store, *threads, &phase.counters),
    };
    let done = moved.and_then(|moved| {
        run.check()?;
        end(&*store)?;
        Ok(moved)
    });
    drop(phase);
    let (files, bytes) = match done {
        Ok(done) => done,
        Err(e) => {
            new_archive::clear(&*store);
            return Err(named(to, e));
        }
    };
    let links = [source.as_ref().and_then(|s| s.store.link()), store.link()];
    let waited = links.iter().flatten().map(|l| l.waited().as_secs_f64());
    Ok(Summary {
        from: match from {
            Location::Stream => "standard input".to_owned(),
            from => from.absolute(),
        },
        to: match to {
            Location::Stream => "standard output".to_owned(),
            to => to.absolute(),
        },
        files,
        bytes,
        compared: match &source {
            None => Compared::Stream,
            Some(source) if source.has_digests() => Compared::Digests,
            Some(_) => Compared::Sizes,
        },
        seconds: start.elapsed().as_secs_f64(),
        link_seconds: links.iter().any(Option::is_some).then(|| waited.sum()),
    })
}

/// Everything is there: it is made durable, and the marker goes.
fn end(store: &dyn Store) -> Result<()> {
    let wrong = |e: archive::ArchiveError| failure::archive("cannot finish the copy", &e);
    store.sync().map_err(|e| wrong(e.into()))?;
    archive::marker::clear(store).map_err(wrong)
}

/// The error of a copy, with the place that could not be written.
fn named(to: &Location, e: Error) -> Error {
    if e.kind != Kind::Storage {
        return e;
    }
    Error {
        what: base::units::printable(&format!("the copy into {to} failed: {}", e.what)),
        ..e
    }
}

/// Opens the place of an archive as it is stored; with the files that it refers to, so that the copy is whole by itself.
fn opened(from: &Location) -> Result<Arc<dyn Store>> {
    let failed = |e: store::Error| archives::open_error(from, &e);
    let stored = from.open(None).map_err(failed)?;
    let refers = stored.size(archive::references::REFERENCES);
    if refers.map_err(failed)?.is_none() {
        return Ok(stored);
    }
    if stored.size(encryption::KEY).map_err(failed)?.is_some() {
        let what = format!(
            "{from} is an incremental backup, whose files are encrypted for several archives"
        );
        return Err(Error::new(Kind::Usage, what)
            .hint("copy the directory that holds the backups of the server, with the other means of the place"));
    }
    archives::store(&from.clone().into())
}

//! The log of a server that runs, read as a replica reads it: from a place on, to where it ended when it was opened.
//!
//! Nothing is stored, so its bytes need not be the server's own: a log that MariaDB encrypts is read, too.

use crate::layout::order;
use crate::source::{LogFile, Source, is_made_for_stream, of_log, privileges};
use crate::walk::{Place, Walked};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog::body::Rotate;
use binlog::gtid::Gtid;
use binlog::{Boundaries, Description, Event, Header, MAGIC, kind};
use run::{Run, failure};
use std::ops::ControlFlow;
use std::time::Duration;
use wire::replication::LogRequest;

/// A source that sends neither events nor heartbeats for this long is lost.
const SILENCE: Duration = Duration::from_secs(60);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What a log is read for: each says in which file that may begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct First<'s> {
    /// A place.
    pub place: Option<&'s Place>,
    /// A transaction.
    pub gtid: Option<&'s Gtid>,
    /// A time, in microseconds since 1970.
    pub after: Option<u64>,
}

/// A server's log, as it was when this was opened.
pub struct Live {
    run: Run,
    options: wire::Options,
    /// As which replica the log is read.
    server_id: u32,
    mariadb: bool,
    files: Vec<LogFile>,
    /// The first of them that may hold what is looked for.
    first: usize,
}

impl Live {
    /// Connects, and finds the file in which what is looked for may begin.
    pub fn open(
        run: &Run,
        options: &wire::Options,
        server_id: u32,
        first: First<'_>,
    ) -> Result<Live> {
        let source = Source::open(run, options)?;
        let mut live = Live {
            run: run.clone(),
            options: options.clone(),
            server_id,
            mariadb: source.identity.is_mariadb(),
            files: source.files,
            first: 0,
        };
        if live.files.is_empty() {
            return Err(Error::new(Kind::Failed, "the server's log has no files"));
        }
        live.first = live.first_of(first)?;
        Ok(live)
    }

    /// Whether the server is MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.mariadb
    }

    /// Bytes of the files that are read.
    pub(crate) fn bytes(&self) -> u64 {
        self.files[self.first..].iter().map(|f| f.size).sum()
    }

    /// Bytes of the files that are read, in front of a place.
    pub(crate) fn bytes_before(&self, place: &Place) -> u64 {
        let before = self.files[self.first..].iter();
        let before = before.take_while(|f| f.name != place.file);
        before.map(|f| f.size).sum::<u64>() + place.offset
    }

    /// Where it is read from.
    pub(crate) fn begin(&self) -> Option<Place> {
        let first = self.files.get(self.first)?;
        Some(Place {
            file: first.name.clone(),
            offset: MAGIC.len() as u64,
        })
    }

    /// Where it ends.
    pub(crate) fn end(&self) -> Option<Place> {
        let last = self.files.last()?;
        Some(Place {
            file: last.name.clone(),
            offset: last.size,
        })
    }

    /// The names of its files, in their order.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|f| f.name.as_str())
    }

    fn first_of(&self, first: First<'_>) -> Result<usize> {
        if let Some(place) = first.place {
            let found = self.files.iter().position(|f| f.name == place.file);
            return found.ok_or_else(|| {
                let (first, last) = (&self.files[0], &self.files[self.files.len() - 1]);
                let what = format!("the server's log has no file {}", place.file);
                let hint = format!("it has {} to {}", first.name, last.name);
                Error::new(Kind::Usage, printable(&what)).hint(printable(&hint))
            });
        }
        let First { gtid, after, .. } = first;
        // The last file that was begun before, or which the transaction had not been executed before: one opens as few as possible.
        let (mut low, mut high) = (0, self.files.len());
        if gtid.is_none() && after.is_none() {
            return Ok(0);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let mut source = Source::open(&self.run, &self.options)?;
            let name = &self.files[middle].name;
            let begun = source.beginning(&self.run, &self.options, self.server_id, name)?;
            let before = gtid.is_none_or(|gtid| !begun.executed.contains(gtid))
                // Whole seconds, and 0 where the server does not say it.
                && after.is_none_or(|after| {
                    begun.created != 0 && (u64::from(begun.created) + 1) * 1_000_000 <= after
                });
            match before {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Calls `each` with the events from a place on, which is the beginning of a transaction or of a file; returns whether it said that
    /// it has enough.
    pub(crate) fn walk(
        &self,
        from: &Place,
        each: &mut dyn FnMut(&Walked<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<bool> {
        let Some(end) = self.end() else {
            return Ok(false);
        };
        let mut source = Source::open(&self.run, &self.options)?;
        source.prepare(HEARTBEAT)?;
        // The protocol has no larger offsets; what comes before is passed over then.
        let position = u32::try_from(from.offset).unwrap_or(MAGIC.len() as u32);
        let request = LogRequest {
            server_id: self.server_id,
            file: from.file.clone(),
            position,
            follow: false,
            silence: Some(SILENCE),
            semi_sync: false,
        };
        let mut events = source.conn.binary_log(&request).map_err(privileges)?;
        let mut description = Description::of_stream(source.checksum);
        let mut boundaries = Boundaries::new();
        let (mut file, mut at) = (from.file.clone(), u64::from(position));
        loop {
            self.run.check()?;
            let Some(bytes) = events.next().map_err(privileges)? else {
                return Ok(false);
            };
            let wrong = |e: &binlog::Error| of_log(&file, e);
            let header = Header::parse(bytes).map_err(|e| wrong(&e))?;
            let event = Event::parse(bytes, &description).map_err(|e| wrong(&e))?;
            if header.kind == kind::FORMAT_DESCRIPTION {
                description = Description::parse(bytes).map_err(|e| wrong(&e))?;
                // In front of a stream from the middle of a file it is sent once more.
                if at > MAGIC.len() as u64 {
                    continue;
                }
            } else if is_made_for_stream(&header) {
                if header.kind == kind::ROTATE {
                    let rotate = Rotate::parse(event.body()).map_err(|e| wrong(&e))?;
                    (file, at) = (rotate.file, rotate.position);
                }
                continue;
            }
            // MariaDB says of some events where they end, and of others not.
            let length = bytes.len() as u64;
            if let (Ok(_), 1..) = (u32::try_from(at + length), header.end) {
                at = u64::from(header.end).saturating_sub(length);
            }
            if (order(&file), at) >= (order(&end.file), end.offset) {
                return Ok(true);
            }
            let mark = boundaries.take(at, &event).map_err(|e| wrong(&e))?;
            let begin = at;
            at += length;
            if file == from.file && at <= from.offset {
                continue;
            }
            let walked = Walked {
                file: &file,
                at: begin,
                event: &event,
                mark,
                boundaries: &boundaries,
            };
            if each(&walked)?.is_break() {
                return Ok(true);
            }
        }
    }

    /// A connection for questions about definitions.
    pub(crate) fn catalog(&self) -> Result<(wire::Conn, server::Identity)> {
        let (mut conn, identity) = run::connect::open(&self.run, &self.options)?;
        server::session::for_catalog(&mut conn, &identity)
            .map_err(|e| failure::server("cannot prepare a session", e))?;
        Ok((conn, identity))
    }
}

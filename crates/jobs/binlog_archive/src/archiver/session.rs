//! One connection: where the archive and the server's log fit together, and the stream from there.

use super::pace::Pace;
use super::semi_sync::SemiSync;
use super::state::State;
use super::{Start, words};
use crate::layout::order;
use crate::source::{Source, is_made_for_stream, of_log, privileges, stated};
use crate::timeline::{Follows, Timeline};
use base::{Error, Kind, Result};
use binlog::body::Rotate;
use binlog::{Description, Event, Header, MAGIC, Mark, kind};
use run::Run;
use std::time::{Duration, Instant};
use wire::replication::LogRequest;

/// How often a source shows that it lives while it has nothing to send.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A source that sends neither events nor heartbeats for this long is lost.
const SILENCE: Duration = Duration::from_secs(30);

/// A part is stored once it is this long, although more has come already: commits wait for it.
const LONGEST_PART: u64 = 1 << 20;

/// Events that are taken at most before the clock is looked at, and bytes.
const MOST_UNSEEN: (u32, usize) = (64, 256 << 10);

/// A stop waits so long at most for what has come already.
const LAST_READ: Duration = Duration::from_millis(500);

/// How a session ended, if not by an error.
pub(crate) enum Ended {
    /// A stop was requested.
    Stopped,
    /// All that the server has is here.
    AtEnd,
    /// The server's log is not the one that was followed.
    Changed,
}

pub(crate) struct Session<'o> {
    source: Source,
    options: &'o wire::Options,
    /// Its commits wait for the archive.
    semi_sync: Option<SemiSync>,
}

/// Where to go on.
enum Plan {
    /// Behind the last byte.
    Resume(String, u64),
    /// In another timeline.
    Begin(Box<Timeline>),
}

impl<'o> Session<'o> {
    pub(crate) fn open(run: &Run, options: &'o wire::Options, state: &State<'_>) -> Result<Self> {
        let mut source = Source::open(run, options)?;
        source.prepare(heartbeat(state))?;
        let semi_sync = match state.options.semi_sync {
            true => SemiSync::begin(run, options, &mut source, state.is_first())?,
            false => None,
        };
        Ok(Session {
            source,
            options,
            semi_sync,
        })
    }

    /// Takes events until something ends it.
    pub(crate) fn follow(mut self, run: &Run, state: &mut State<'_>) -> Result<Ended> {
        state.summary.source = self.options.endpoint.to_string();
        let (mut file, position) = match self.plan(run, state)? {
            Plan::Resume(file, position) => (file, position),
            Plan::Begin(timeline) => {
                let file = timeline.file.clone();
                state.begin_timeline(*timeline)?;
                (file, 0)
            }
        };
        if position == 0 {
            state.begin_file(&file)?;
        }
        let asked = u32::try_from(position.max(MAGIC.len() as u64)).map_err(|_| {
            let what = format!("{file} is longer than 4 GiB, and cannot be read on from offset {position}");
            Error::new(Kind::Failed, what).hint(
                "the protocol has no larger offsets; remove that file's segments from the repository: it is then archived from its beginning",
            )
        })?;
        let request = LogRequest {
            server_id: state.options.server_id,
            file: file.clone(),
            position: asked,
            follow: !state.options.once,
            silence: Some(SILENCE),
            semi_sync: self.semi_sync.is_some(),
        };
        // A source takes everything before the place that is asked for as stored here, so it must be the file that is.
        let of_file = state.place().filter(|p| p.0 == file && position > 0);
        if let (Some(_), Some((_, _, created))) = (&self.semi_sync, of_file) {
            let id = state.options.server_id;
            let found = self.source.beginning(run, self.options, id, &file)?;
            if found.created != created {
                return Ok(Ended::Changed);
            }
        }
        state.sessions += 1;
        let mut description = Description::of_stream(self.source.checksum);
        let doing = format!("the stream of the binary log ended in {file}");
        let conn = &mut self.source.conn;
        conn.register_replica(request.server_id, "penstock")
            .map_err(privileges)?;
        let mut events = conn.binary_log(&request).map_err(privileges)?;
        // Where the last transaction ends that waits for the archive.
        let mut waiting: Option<(String, u64)> = None;
        // Nothing waits for the bytes but the archive itself.
        let mut pace = (self.semi_sync.is_none() && !state.options.once)
            .then(|| Pace::new(state.options.max_age));
        let mut unseen = (0, 0);
        let mut stopping: Option<Instant> = None;
        let margin = heartbeat(state) + pace.as_ref().map_or(Duration::ZERO, Pace::longest);
        loop {
            // Nothing of what the server has sent is left unread.
            let stops = run.cancel.is_raised()
                && (stopping.get_or_insert_with(Instant::now).elapsed() > LAST_READ
                    || !events.has_next());
            if stops {
                state.flush()?;
                if let Some((file, end)) = waiting {
                    // It would wait for its time limit.
                    let _ = events.acknowledge(&file, end);
                }
                return Ok(Ended::Stopped);
            }
            let bytes = match events.next() {
                Ok(Some(bytes)) => bytes,
                Ok(None) if state.options.once => {
                    state.flush()?;
                    return Ok(Ended::AtEnd);
                }
                // A log that is followed has no end: so a server ends the stream when it shuts down.
                Ok(None) => {
                    let what =
                        format!("{doing}: the server ended it, as it does when it shuts down");
                    return Err(Error::new(Kind::Connection, what));
                }
                Err(e) => return Err(privileges(e).context(&doing)),
            };
            let len = bytes.len();
            if let Some(pace) = &mut pace {
                pace.took(len);
            }
            if !take(state, &mut file, &mut description, bytes)? {
                return Ok(Ended::Changed);
            }
            if events.wants_reply() {
                waiting = state.place().map(|(file, end, _)| (file.to_owned(), end));
            }
            let at_end = !events.has_next();
            // Everything that has come is stored at once: many commits wait for one part.
            let due = at_end || state.part_len() >= LONGEST_PART;
            if let Some((file, end)) = waiting.take_if(|_| due) {
                state.store_part()?;
                events
                    .acknowledge(&file, end)
                    .map_err(|e| privileges(e).context(&doing))?;
                state.summary.acknowledged += 1;
            }
            // The clock costs more than an event does.
            unseen = (unseen.0 + 1, unseen.1 + len);
            let few = unseen.0 < MOST_UNSEEN.0 && unseen.1 < MOST_UNSEEN.1;
            if !at_end && few && !state.is_large() {
                continue;
            }
            unseen = (0, 0);
            state.flush_if_due(margin)?;
            if let Some(semi_sync) = &mut self.semi_sync {
                semi_sync.look(run, state);
            }
            state.report();
            let near = at_end && state.standings.is_near();
            if let Some(pace) = pace.as_mut().filter(|_| near)
                && let Some(rest) = pace.at_end(Instant::now())
            {
                run.cancel.sleep(rest);
            }
        }
    }

    /// Compares what is archived with what the server has.
    fn plan(&mut self, run: &Run, state: &State<'_>) -> Result<Plan> {
        let Some(timeline) = &state.timeline else {
            return self.first(run, state);
        };
        if self.source.identity.is_mariadb() != timeline.is_mariadb() {
            let what = format!(
                "the archive holds the log of a {} server, and {} is none",
                timeline.flavour, self.options.endpoint
            );
            return Err(Error::new(Kind::Usage, what).hint("archive it under another NAME"));
        }
        let place = state.place().map(|(file, end, _)| (file.to_owned(), end));
        let Some((file, position)) = place else {
            // A run was killed between the timeline and its first segment.
            let there = self.source.file(&timeline.file).is_some();
            return match there && self.is_same_server(timeline) {
                true => Ok(Plan::Resume(timeline.file.clone(), 0)),
                false => self.first(run, state),
            };
        };
        if !self.is_same_server(timeline) {
            return self.other_server(run, state);
        }
        if state.changed {
            let first = self.source.files.first().map(|f| f.name.clone());
            return self.reset(run, state, first.unwrap_or_default(), &file, position);
        }
        if let Some(found) = self.source.file(&file) {
            if found.size >= position {
                if position == 0 && !self.continues(run, state, &file)? {
                    let first = self.source.files.first().map(|f| f.name.clone());
                    return self.reset(run, state, first.unwrap_or_default(), &file, position);
                }
                return Ok(Plan::Resume(file, position));
            }
            // It was begun again under the same name, or a crash has taken its end.
            let size = found.size;
            return self.shorter(run, state, &file, position, size);
        }
        let first = self.source.files.first().map(|f| f.name.clone());
        match first {
            Some(first) if order(&first) > order(&file) => {
                let missing = format!("from {file}:{position} to {first}:0");
                let reason = "the server removed files that were not archived yet";
                self.begin(run, state, first, reason, None, Some(missing))
            }
            // Names that count from the beginning again.
            Some(first) => self.reset(run, state, first, &file, position),
            None => Err(Error::new(Kind::Failed, "the server's log has no files")),
        }
    }

    /// Whether a file that is new to the archive is the one that its last file named. After a reset there may be one of that name,
    /// and nothing of the file itself is archived that could show the difference.
    fn continues(&mut self, run: &Run, state: &State<'_>, file: &str) -> Result<bool> {
        let Some((before, created)) = state.ended() else {
            return Ok(true);
        };
        if self.source.file(&before).is_some() {
            let id = state.options.server_id;
            let found = self.source.beginning(run, self.options, id, &before)?;
            return Ok(found.created == created);
        }
        let Some(archived) = state.archived.clone().filter(|a| !a.is_empty()) else {
            return Ok(true);
        };
        Ok(archived.is_within(&self.before(run, state, file)?))
    }

    fn is_same_server(&self, timeline: &Timeline) -> bool {
        self.source.is_of(timeline)
    }

    /// The first timeline of all.
    fn first(&mut self, run: &Run, state: &State<'_>) -> Result<Plan> {
        let files = &self.source.files;
        let none = || Error::new(Kind::Failed, "the server's log has no files");
        let oldest = files.first().ok_or_else(none)?.name.clone();
        let newest = files.last().ok_or_else(none)?.name.clone();
        let file = match &state.options.start {
            Start::Oldest => oldest,
            Start::Newest => newest,
            Start::File(file) => match self.source.file(file) {
                Some(found) => found.name.clone(),
                None => {
                    let what = format!("the server's log has no file {file}");
                    let hint = format!("it has {oldest} to {newest}");
                    return Err(Error::new(Kind::Usage, base::units::printable(&what))
                        .hint(base::units::printable(&hint)));
                }
            },
            Start::Backup(file) => {
                let there = files.iter().find(|f| order(&f.name) >= order(file));
                there.map_or(newest, |f| f.name.clone())
            }
        };
        let missing = match &state.options.start {
            Start::Backup(needed) if *needed != file => Some(format!(
                "from {needed}, where the oldest backup begins, to {file}:0"
            )),
            _ => None,
        };
        self.begin(run, state, file, "the first", None, missing)
    }

    fn reset(
        &mut self,
        run: &Run,
        state: &State<'_>,
        first: String,
        file: &str,
        position: u64,
    ) -> Result<Plan> {
        let missing =
            format!("whatever came behind {file}:{position} before the server's log was reset");
        let reason = "the server's log was reset";
        self.begin(run, state, first, reason, None, Some(missing))
    }

    /// The server's file is shorter than what is archived of it.
    fn shorter(
        &mut self,
        run: &Run,
        state: &State<'_>,
        file: &str,
        position: u64,
        size: u64,
    ) -> Result<Plan> {
        let names: Vec<String> = self.source.files.iter().map(|f| f.name.clone()).collect();
        let next = names.iter().find(|n| order(n) > order(file)).cloned();
        let number = state.timeline.as_ref().map_or(0, |t| t.number);
        // Numbers of files begin again with a reset, and by now the log may have as many as before.
        let id = state.options.server_id;
        let created = self.source.beginning(run, self.options, id, file)?.created;
        let is_same = state.place().is_some_and(|(_, _, known)| known == created);
        if let Some(next) = next.filter(|_| is_same) {
            let before = self.before(run, state, &next)?;
            // What the archive has, the server after its crash has not.
            let ahead = state.archived.as_ref().map(|a| a.without(&before));
            let ahead = ahead.filter(|a| !a.is_empty());
            let reason = format!(
                "the server lost the end of {file} in a crash: it has {size} bytes of it, the archive {position}{}",
                ahead.map_or_else(String::new, |a| format!("; only the archive has {a}"))
            );
            run.observer.warn(reason.clone());
            let follows = Follows {
                timeline: number,
                file: file.to_owned(),
                position: Some(size),
            };
            return self.begin(run, state, next, &reason, Some(follows), None);
        }
        let first = names.first().cloned().unwrap_or_else(|| file.to_owned());
        self.reset(run, state, first, file, position)
    }

    /// Another server of the same replication: where its log goes on, by GTIDs.
    fn other_server(&mut self, run: &Run, state: &State<'_>) -> Result<Plan> {
        let names: Vec<String> = self.source.files.iter().map(|f| f.name.clone()).collect();
        let reason = format!("another server is followed: {}", self.options.endpoint);
        let Some(archived) = state.archived.clone().filter(|a| !a.is_empty()) else {
            let first = names.first().cloned().unwrap_or_default();
            let missing =
                "what came between the two servers' logs is not known: they have no GTIDs"
                    .to_owned();
            return self.begin(run, state, first, &reason, None, Some(missing));
        };
        // A server that never had them, or lost them, does not carry on what is archived.
        let executed = self.source.executed()?;
        let lacks = archived.without(&executed);
        if !lacks.is_empty() {
            let first = names.first().cloned().unwrap_or_default();
            let missing = format!(
                "whatever came behind {lacks}: this server has not executed these, so its log is not their continuation"
            );
            return self.begin(run, state, first, &reason, None, Some(missing));
        }
        for name in names.iter().rev() {
            let before = self.before(run, state, name)?;
            if before.is_within(&archived) {
                let follows = Follows {
                    timeline: state.timeline.as_ref().map_or(0, |t| t.number),
                    file: state.place().map_or_else(String::new, |p| p.0.to_owned()),
                    position: None,
                };
                return self.begin(run, state, name.clone(), &reason, Some(follows), None);
            }
        }
        let first = names.first().cloned().unwrap_or_default();
        let before = self.before(run, state, &first)?;
        let missing = format!("the transactions {}", before.without(&archived));
        self.begin(run, state, first, &reason, None, Some(missing))
    }

    fn before(
        &mut self,
        run: &Run,
        state: &State<'_>,
        file: &str,
    ) -> Result<binlog::gtid::Executed> {
        let number = state.options.server_id;
        let beginning = self.source.beginning(run, self.options, number, file)?;
        Ok(beginning.executed)
    }

    fn begin(
        &mut self,
        run: &Run,
        state: &State<'_>,
        file: String,
        reason: &str,
        follows: Option<Follows>,
        missing: Option<String>,
    ) -> Result<Plan> {
        let before = self.before(run, state, &file)?;
        let identity = &self.source.identity;
        run.observer.note(base::units::printable(&format!(
            "a timeline begins with {file} ({reason}); executed before it: {}",
            words(&before)
        )));
        Ok(Plan::Begin(Box::new(Timeline {
            version: Timeline::VERSION,
            number: 0,
            flavour: self.source.flavour().to_owned(),
            server_version: identity.version_text.clone(),
            server_uuid: identity.uuid.clone(),
            server_id: identity.server_id,
            file,
            began: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            reason: reason.to_owned(),
            executed_before: Some(before.to_string()),
            follows,
            missing,
        })))
    }
}

fn heartbeat(state: &State<'_>) -> Duration {
    HEARTBEAT
        .min(state.options.max_age / 2)
        .max(Duration::from_millis(10))
}

/// Takes one event of the stream; `false` if the server's file is not the one that is archived under its name.
fn take(
    state: &mut State<'_>,
    file: &mut String,
    description: &mut Description,
    bytes: &[u8],
) -> Result<bool> {
    let wrong = |e: &binlog::Error, file: &str| of_log(file, e);
    let header = Header::parse(bytes).map_err(|e| wrong(&e, file))?;
    let event = Event::parse(bytes, description).map_err(|e| wrong(&e, file))?;
    let at = state.place().filter(|p| p.0 == file.as_str());
    let (at, created) = at.map_or((0, 0), |p| (p.1, p.2));
    if header.kind == kind::FORMAT_DESCRIPTION {
        *description = Description::parse(bytes).map_err(|e| wrong(&e, file))?;
        if at == 0 {
            return begin_file(state, file, description, &header, bytes).map(|()| true);
        }
        // Sent again in front of a stream from the middle of a file.
        return Ok(created == header.timestamp);
    }
    if is_made_for_stream(&header) {
        if matches!(header.kind, kind::HEARTBEAT | kind::HEARTBEAT_V2) {
            state.standings.idle();
        }
        if header.kind == kind::ROTATE {
            let rotate = Rotate::parse(event.body()).map_err(|e| wrong(&e, file))?;
            if rotate.file != *file {
                state.begin_file(&rotate.file)?;
                *file = rotate.file;
            }
        }
        return Ok(true);
    }
    state.standings.event(header.timestamp);
    let end = at + bytes.len() as u64;
    // MariaDB since 11 does not say where the events inside a transaction end, only where the transaction does.
    if header.end != 0 && header.end != end as u32 {
        let what = format!(
            "the stream of {file} has a {} event that ends at {}, and what came before it ends at {at}: bytes are missing",
            event.kind_name(),
            header.end
        );
        return Err(Error::new(Kind::Failed, base::units::printable(&what))
            .hint("the server does not send its log as it is; a proxy or an encrypted log may be the reason"));
    }
    match header.kind {
        kind::START_ENCRYPTION => return Err(wrong(&binlog::Error::Encrypted, file)
            .hint("MariaDB sends an encrypted log changed, so it cannot be archived byte for byte; set encrypt_binlog=OFF")),
        kind::INCIDENT => state.run.observer.warn(format!(
            "the server noted an incident at {file}:{at}: its log lacks something there"
        )),
        _ => {}
    }
    let mark = state
        .boundaries
        .take(at, &event)
        .map_err(|e| wrong(&e, file))?;
    let ended = (mark == Mark::End).then(|| state.boundaries.ended().clone());
    let before = stated(&event).map_err(|e| wrong(&e, file))?;
    state.count(bytes.len());
    let segment = state.segment(file)?;
    segment.push(bytes)?;
    if let Some(before) = before {
        segment.executed_before(&before);
    }
    if mark == Mark::Between {
        segment.whole();
    }
    if let Some(ended) = ended {
        state.add(&ended);
    }
    Ok(true)
}

/// The first bytes of a file.
fn begin_file(
    state: &mut State<'_>,
    file: &str,
    description: &Description,
    header: &Header,
    bytes: &[u8],
) -> Result<()> {
    let segment = state.segment(file)?;
    let n = segment.begin_file(description, header, bytes)?;
    state.count(n as usize);
    Ok(())
}

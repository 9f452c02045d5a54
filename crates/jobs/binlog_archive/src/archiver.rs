//! Follows a server's log, and stores it.

mod growing;
mod mend;
mod pace;
mod remover;
mod semi_sync;
mod session;
pub mod standing;
mod state;

use crate::kept::{Kept, of_keys};
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use encryption::{Keys, Sealing};
use run::Run;
use session::{Ended, Session};
use state::State;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Store;

/// Longest wait before another try to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What to follow, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Servers with the same transactions; the first that answers is followed as long as it does.
    pub sources: Vec<wire::Options>,
    /// Where to begin if nothing is kept yet.
    pub start: Start,
    /// What came is stored at least this often: what could be lost with the server.
    pub max_age: Duration,
    /// A segment that is this long is stored at once, in bytes of the log.
    pub max_segment: u64,
    /// End when everything that the server has is stored.
    pub once: bool,
    /// Commits on the source wait until they are stored here: semi-synchronous replication.
    pub semi_sync: bool,
    /// Read everything that is archived through first, and archive again what is damaged. What is seen to be missing is in any case.
    pub repair: bool,
    /// What a new log is encrypted with. Of one that is encrypted already they must be the same; none are needed to go on with it.
    pub keys: Keys,
    /// Whether a log that is not encrypted is refused.
    pub encrypted_only: bool,
    /// Number as a replica; no other replica may have it.
    pub server_id: u32,
}

/// Where a first timeline begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the oldest file that the server has.
    Oldest,
    /// With the file that the server writes now.
    Newest,
    /// With this file.
    File(String),
    /// With this file, or the oldest one after it: a backup needs it.
    Backup(String),
}

/// What was stored.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The last source.
    pub source: String,
    /// The last timeline.
    pub timeline: u32,
    /// Segments that were stored.
    pub segments: u64,
    /// Bytes of the log in them.
    pub bytes: u64,
    /// Bytes of the objects.
    pub stored: u64,
    /// Transactions.
    pub transactions: u64,
    /// Where the first byte came from.
    pub from: Option<(String, u64)>,
    /// Where the archive ends now.
    pub to: Option<(String, u64)>,
    /// When the last transaction was committed: microseconds since 1970.
    pub last_time: Option<u64>,
    /// What was lost or damaged in the repository, and was archived again.
    pub mended: Vec<String>,
    /// How often a source that waited was told that its commits are stored.
    pub acknowledged: u64,
    /// Commits that a source confirmed without waiting, while they should wait for the archive.
    pub not_waited: u64,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// What is missing, and what the archive holds that the server lost.
    pub exceptions: Vec<String>,
    /// Seconds it ran.
    pub seconds: f64,
}

/// Follows the log until a stop is requested, or with [`Options::once`] until its end. A stop is no failure: everything that
/// came is stored then.
pub fn archive(run: &Run, store: &Arc<dyn Store>, options: &Options) -> Result<Summary> {
    let begin = Instant::now();
    let mut kept = Kept::open(Arc::clone(store))?;
    kept.remove_unfinished()?;
    for name in &kept.others {
        let name = base::units::printable(name);
        run.observer.warn(format!(
            "{name} is nothing of the binary logs, and left alone"
        ));
    }
    encrypt(&mut kept, options)?;
    if options.repair {
        mend::read_through(run, &mut kept)?;
    }
    let mended = mend::mend(run, &kept, options)?;
    if !mended.mended.is_empty() {
        kept = Kept::open(Arc::clone(store))?;
        kept.join_ended()?;
        // What could not be archived again is still there, and no place to go on from.
        if options.repair {
            mend::read_through(run, &mut kept)?;
        }
    }
    kept.remove_covered();
    let phase = run.phase("binary log", 1);
    let mut state = State::new(run, Arc::clone(store), options, &phase.counters, kept)?;
    state.summary.mended = mended.mended;
    state.summary.exceptions = mended.missing;
    let mut at = 0;
    let mut pause = Duration::ZERO;
    let mut replanned = false;
    loop {
        let ended = Session::open(run, &options.sources[at], &state)
            .and_then(|session| session.follow(run, &mut state));
        if state.took_something() {
            pause = Duration::ZERO;
        }
        // The log is not what it was: purged or reset. The next session finds out which.
        const NO_SUCH_LOG: u16 = 1236;
        let changed = ended
            .as_ref()
            .is_err_and(|e| e.server_error == Some(NO_SUCH_LOG));
        if changed && !replanned {
            replanned = true;
            state.flush()?;
            continue;
        }
        replanned = false;
        let e = match ended {
            Ok(Ended::Stopped | Ended::AtEnd) => break,
            // The next session decides what that means.
            Ok(Ended::Changed) => {
                state.changed = true;
                continue;
            }
            _ if run.cancel.is_raised() => break,
            Err(e) => e,
        };
        let first = state.is_first();
        if options.once || !can_pass(&e) || first && options.sources.len() == 1 && !state.resumed {
            state.flush()?;
            return Err(e);
        }
        state.flush()?;
        state.lost += 1;
        at = (at + 1) % options.sources.len();
        if state.lost == 1 || pause.is_zero() {
            run.observer.warn(format!("{}; trying again", e.what));
        }
        run.observer
            .event(base::Event::Waiting(Some("the server".to_owned())));
        state.standings.lost();
        state.report();
        pause = (pause * 2).clamp(Duration::from_millis(250), LONGEST_PAUSE);
        // Nothing is lost by waiting: the server keeps what was not read.
        if wait(run, pause) {
            break;
        }
        run.observer.event(base::Event::Waiting(None));
    }
    state.flush()?;
    if state.lost > 0 {
        state.summary.reconnects = state.sessions.saturating_sub(1);
    }
    let mut summary = state.summary;
    summary.seconds = begin.elapsed().as_secs_f64();
    Ok(summary)
}

/// Makes the key of a new log, and compares that of another with what is named.
fn encrypt(kept: &mut Kept, options: &Options) -> Result<()> {
    let store = Arc::clone(&kept.store);
    let refuse = |what: &str, hint: &str| Err(Error::new(Kind::Usage, what).hint(hint));
    match &kept.sealing {
        Some(sealing) => match sealing.fits(&*store, &options.keys) {
            Ok(true) => Ok(()),
            Ok(false) => refuse(
                "the archived log is encrypted with other keys than those that are named",
                "leave --encrypt-to and --passphrase-file out to go on as it is; penstock rekey --repository changes the keys",
            ),
            Err(e) => Err(of_keys(&e)),
        },
        None if kept.holds_sealed() => {
            let what = format!(
                "{} is missing, and the archived log is encrypted",
                encryption::RECIPIENT
            );
            Err(Error::new(Kind::Archive, what).hint(
                "restore it from a copy of the repository, or archive the log under another NAME",
            ))
        }
        None if options.keys.can_encrypt() && !kept.timelines.is_empty() => refuse(
            "a log is archived there already, and it is not encrypted",
            "archive it under another NAME or into another repository, or go on without encryption",
        ),
        None if options.keys.can_encrypt() => {
            let made = Sealing::create(&*store, &options.keys);
            kept.sealing = Some(Arc::new(made.map_err(|e| of_keys(&e))?));
            base::failpoint::reached("the key of a binary log is made");
            Ok(())
        }
        None if options.encrypted_only => refuse(
            "the repository takes nothing that is not encrypted",
            "add --encrypt-to RECIPIENT or --passphrase-file FILE",
        ),
        None => Ok(()),
    }
}

/// A number that other replicas hardly have, and that is the same for the same text each time.
pub fn replica_number(text: &str) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..4]);
    0x4000_0000 | u32::from_le_bytes(bytes) >> 2
}

/// Whether the same may go well the next time.
fn can_pass(e: &Error) -> bool {
    // Shutdown in progress, too many connections, aborted.
    const PASSING: [u16; 6] = [1040, 1053, 1077, 1152, 1158, 1927];
    match e.server_error {
        Some(code) => PASSING.contains(&code),
        None => e.kind == Kind::Connection,
    }
}

/// Waits; whether a stop was requested meanwhile.
fn wait(run: &Run, time: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if run.cancel.is_raised() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20).min(time));
    }
    run.cancel.is_raised()
}

/// Whether anything of `executed` is known.
fn words(executed: &Executed) -> String {
    match executed.is_empty() {
        true => "nothing".to_owned(),
        false => executed.to_string(),
    }
}

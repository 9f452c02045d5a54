//! Files without an import: the server is stopped, the new files take the
//! places of its empty ones, and it is started again.
//!
//! What is built on the server's own empty file has its number of tablespace
//! and of indexes, and their roots where the dictionary has them, so nothing
//! else has to change. Invariants: only a server that has ended gets files, and
//! none can start meanwhile; a place is never empty, and holds the server's
//! empty file or the whole new one; a server that does not come up with the new
//! files gets its own back; the files are on the disk before it is started.

use super::ImportSummary;
use super::datadir::{Datadir, remove};
use super::import::{Built, Outcome};
use super::template::ImportTarget;
use crate::Target;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::tune::stopped::{self, NotStopped};
use instance::tune::{ServerCommand, restart};
use run::Run;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long a server may take to stop or to start until somebody is told.
const LONG: Duration = Duration::from_secs(60);

/// The server's empty files, kept until it has come up with the new ones: where one is, and where it belongs.
#[derive(Default)]
struct Kept {
    files: Vec<(PathBuf, PathBuf)>,
}

impl Kept {
    fn copy(&mut self, site: &Datadir, ready: &ImportTarget<'_>) -> io::Result<()> {
        let place = &ready.place.file;
        let path = site.building(&format!("{} as it was", ready.name));
        let mut file = site.create(&path, ready.blank.mode)?;
        if let Err(e) = std::fs::read(place).and_then(|bytes| file.write_all(&bytes)) {
            // Half of a file, on a full disk, must never get into the place of a whole one.
            let _ = remove(&path);
            return Err(e);
        }
        self.files.push((path, place.clone()));
        Ok(())
    }

    /// Puts all back that is not in its place any more.
    fn back(&mut self) -> io::Result<()> {
        for (path, place) in self.files.drain(..) {
            std::fs::rename(path, place)?;
        }
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (path, _) in &self.files {
            let _ = remove(path);
        }
    }
}

/// Has a server that runs give way to files, and comes back with it. `Some` says why it has none of
/// them, and whether they are to be doubted.
pub fn swap(
    t: &mut Target<'_>,
    taken: &mut ImportSummary,
    site: &Datadir,
    built: &mut [(ImportTarget<'_>, Built)],
) -> Result<Option<Outcome>> {
    let (Some(command), Some(state)) = (&t.options.server_command, &t.options.tune.state) else {
        return Ok(Some(Outcome::Unfit("the server cannot be stopped".into())));
    };
    let _phase = t.run.phase("stopping the server for its files", 1);
    // Those of this load that have ended may not be forgotten yet.
    let mut ours = t.run.sessions();
    ours.push(t.conn.id());
    let others = restart::others(&mut t.conn, &ours);
    if !others.is_empty() {
        t.run.observer.warn(printable(&format!(
            "the server is stopped, which ends the sessions of {}",
            others.join(", ")
        )));
    }
    t.run.check()?;
    let _held = t
        .run
        .cancel
        .delay_exit("the server is stopped, and started first; it takes seconds");
    let (run, conn) = (t.run, &mut t.conn);
    let stopped = patiently(run, command, "stop", || {
        stopped::stop(conn, &t.id, &t.options.target, command, state)
    });
    let (noted, mut down) = match stopped {
        Ok(stopped) => stopped,
        Err(NotStopped::Runs(e, noted)) => {
            let again = t.again();
            noted.forget()?;
            again?;
            t.prepare()?;
            // Asked for, and not done: a script should notice.
            t.run.observer.warn(e.what.clone());
            t.report.exceptions.push(e.what.clone());
            return Ok(Some(Outcome::Unfit(e.what)));
        }
        Err(NotStopped::Error(e)) => return Err(e),
    };
    // Whatever happens from here on, the server is started.
    let mut kept = Kept::default();
    let put = put(site, built, &mut kept);
    if put.is_err() {
        kept.back().map_err(|e| unclear(&e))?;
    }
    let mut refused = None;
    if let Err(why) = patiently(run, command, "start", || down.start()) {
        // One that is still on its way up has these files open.
        if put.is_err() || !down.has_ended() {
            return Err(down.lost(&why));
        }
        kept.back().map_err(|e| unclear(&e))?;
        patiently(run, command, "start", || down.start()).map_err(|why| down.lost(&why))?;
        refused = Some(why);
    }
    taken.downtime_seconds = Some(down.seconds());
    let left = down.restored()?;
    drop(down);
    drop(kept);
    // Somebody may want us to end: no other load keeps the note then, and the server needs nothing of it.
    let again = t.again();
    noted.forget()?;
    again?;
    t.prepare()?;
    for line in left {
        let line = printable(&line);
        t.run.observer.warn(line.clone());
        t.report.exceptions.push(line);
    }
    Ok(match (put, refused) {
        (Err(e), _) => Some(Outcome::Unfit(format!(
            "files cannot be put into the places of the server's: {e}"
        ))),
        (_, Some(why)) => Some(Outcome::Doubted(format!(
            "the server did not come up with the files that were built: {why}"
        ))),
        _ => None,
    })
}

/// Says what can be done if this takes long: a command of the user's may hang, and is never ended by us.
fn patiently<T>(run: &Run, command: &ServerCommand, word: &str, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (over, is_over) = mpsc::channel::<()>();
        scope.spawn(move || {
            if is_over.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                run.observer.warn(printable(&format!(
                    "the server takes more than {} s to {word}: {command} {word}; if that hangs, end it: it is a child of process {}",
                    LONG.as_secs(),
                    std::process::id()
                )));
            }
        });
        let done = work();
        drop(over);
        done
    })
}

fn unclear(e: &io::Error) -> Error {
    Error::new(
        Kind::Storage,
        printable(&format!(
            "cannot put the server's own empty files back: {e}"
        )),
    )
    .hint("go on with --resume, which drops these tables and loads them again")
}

/// Puts every file into its place.
fn put(site: &Datadir, built: &mut [(ImportTarget<'_>, Built)], kept: &mut Kept) -> io::Result<()> {
    let mut folders = BTreeSet::new();
    for (ready, _) in built.iter() {
        kept.copy(site, ready)?;
        folders.extend(ready.place.file.parent().map(Path::to_owned));
    }
    for (ready, file) in built {
        file.building.put(&ready.place.file)?;
        failpoint::reached("a file is in its place");
    }
    for folder in folders {
        File::open(folder)?.sync_all()?;
    }
    failpoint::reached("all files are in their places");
    Ok(())
}

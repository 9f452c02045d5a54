//! The offline import: the server is stopped, the new tablespaces replace its empty ones, and it is started
//! again.
//!
//! A tablespace that is built on the server's own empty one has that one's tablespace id and index ids, and
//! its root pages where the data dictionary expects them, so nothing else has to change. Invariants: only a
//! server that has ended gets tablespaces, and none can start meanwhile; the path of a table always has a
//! file, either the server's empty tablespace or the complete new one; a server that does not come up with
//! the new tablespaces gets its own back; the tablespaces are synced to the disk before the server is
//! started.

use super::ImportSummary;
use super::datadir::{Datadir, remove_if_exists};
use super::outcome::Verdict;
use super::targets::{BuiltTablespace, ImportTarget};
use crate::Target;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::stopped::{self, NotStopped};
use instance::{ServerCommand, restart};
use run::Run;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long a server may take to stop or to start before there is a warning.
const SLOW: Duration = Duration::from_secs(60);

/// Copies of the server's empty tablespaces, kept until it has come up with the new ones: the path of the
/// copy, and the path where the original belongs.
#[derive(Default)]
struct Originals {
    files: Vec<(PathBuf, PathBuf)>,
}

impl Originals {
    fn copy(&mut self, datadir: &Datadir, target: &ImportTarget<'_>) -> io::Result<()> {
        let original = &target.paths.tablespace;
        let path = datadir.build_path(&format!("{} as it was", target.name));
        let mut file = datadir.create(&path, target.empty.mode)?;
        if let Err(e) = std::fs::read(original).and_then(|bytes| file.write_all(&bytes)) {
            // Half of a file, from a full disk, must never replace a complete one.
            let _ = remove_if_exists(&path);
            return Err(e);
        }
        self.files.push((path, original.clone()));
        Ok(())
    }

    /// Moves all of them back to their paths.
    fn restore(&mut self) -> io::Result<()> {
        for (path, original) in self.files.drain(..) {
            std::fs::rename(path, original)?;
        }
        Ok(())
    }
}

impl Drop for Originals {
    fn drop(&mut self) {
        for (path, _) in &self.files {
            let _ = remove_if_exists(path);
        }
    }
}

/// Stops the server, puts the tablespaces in place, and starts it again. A rejection concerns all of them:
/// the server has none.
pub fn import(
    t: &mut Target<'_>,
    summary: &mut ImportSummary,
    datadir: &Datadir,
    built: &mut [(ImportTarget<'_>, BuiltTablespace)],
) -> Result<Verdict<()>> {
    let (Some(command), Some(state)) = (&t.options.server_command, &t.options.tune.state) else {
        return Ok(Verdict::use_sql("the server cannot be stopped"));
    };
    let _phase = t.run.phase("stopping the server for the offline import", 1);
    // The server may not have forgotten those of this load that have ended.
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
    let _exit_delayed = t
        .run
        .cancel
        .delay_exit("the server is stopped, and started first; it takes seconds");
    let (run, conn) = (t.run, &mut t.conn);
    let stopped = with_slow_warning(run, command, "stop", || {
        stopped::stop(conn, &t.id, &t.options.target, command, state)
    });
    let (notice, mut server) = match stopped {
        Ok(stopped) => stopped,
        Err(NotStopped::Runs(e, notice)) => {
            let connected = t.again();
            notice.forget()?;
            connected?;
            t.prepare()?;
            // The user asked for it, and it was not done: a script should notice.
            t.run.observer.warn(e.what.clone());
            t.report.exceptions.push(e.what.clone());
            return Ok(Verdict::use_sql(e.what));
        }
        Err(NotStopped::Error(e)) => return Err(e),
    };
    // Whatever happens from here on, the server is started.
    let mut originals = Originals::default();
    let placed = put_in_place(datadir, built, &mut originals);
    if placed.is_err() {
        originals.restore().map_err(|e| not_restored(&e))?;
    }
    let mut refused = None;
    if let Err(why) = with_slow_warning(run, command, "start", || server.start()) {
        // A server that is still starting has these files open.
        if placed.is_err() || !server.has_ended() {
            return Err(server.lost(&why));
        }
        originals.restore().map_err(|e| not_restored(&e))?;
        with_slow_warning(run, command, "start", || server.start())
            .map_err(|why| server.lost(&why))?;
        refused = Some(why);
    }
    summary.downtime_seconds = Some(server.seconds());
    let not_set_again = server.restored()?;
    drop(server);
    drop(originals);
    // The load may be cancelled by now: no other load keeps the notice then, and the server does not need it.
    let connected = t.again();
    notice.forget()?;
    connected?;
    t.prepare()?;
    for line in not_set_again {
        let line = printable(&line);
        t.run.observer.warn(line.clone());
        t.report.exceptions.push(line);
    }
    Ok(match (placed, refused) {
        (Err(e), _) => Verdict::use_sql(format!(
            "the new tablespaces cannot be moved over the server's: {e}"
        )),
        (_, Some(why)) => Verdict::suspect(format!(
            "the server did not start with the tablespaces that were built: {why}"
        )),
        _ => Verdict::Ready(()),
    })
}

/// Warns if this takes long, and says what can be done: a command of the user may hang, and penstock never
/// ends it.
fn with_slow_warning<T>(
    run: &Run,
    command: &ServerCommand,
    word: &str,
    work: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (finished, is_finished) = mpsc::channel::<()>();
        scope.spawn(move || {
            if is_finished.recv_timeout(SLOW) == Err(RecvTimeoutError::Timeout) {
                run.observer.warn(printable(&format!(
                    "the server takes more than {} s to {word}: {command} {word}; if that hangs, end it: it is a child of process {}",
                    SLOW.as_secs(),
                    std::process::id()
                )));
            }
        });
        let result = work();
        drop(finished);
        result
    })
}

fn not_restored(e: &io::Error) -> Error {
    Error::new(
        Kind::Storage,
        printable(&format!(
            "cannot put the server's own empty tablespaces back: {e}"
        )),
    )
    .hint("resume with --resume, which drops these tables and loads them again")
}

/// Moves every new tablespace to its place, and syncs the directories.
fn put_in_place(
    datadir: &Datadir,
    built: &mut [(ImportTarget<'_>, BuiltTablespace)],
    originals: &mut Originals,
) -> io::Result<()> {
    let mut directories = BTreeSet::new();
    for (target, _) in built.iter() {
        originals.copy(datadir, target)?;
        directories.extend(target.paths.tablespace.parent().map(Path::to_owned));
    }
    for (target, tablespace) in built {
        tablespace.file.move_to(&target.paths.tablespace)?;
        failpoint::reached("a file is in its place");
    }
    for directory in directories {
        File::open(directory)?.sync_all()?;
    }
    failpoint::reached("all files are in their places");
    Ok(())
}

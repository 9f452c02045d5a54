//! `penstock dump --from-snapshot`: a snapshot of the server's files, its rows, and no snapshot any more.

use crate::args::dump::FromFiles;
use crate::settings;
use crate::settings::scratch::Scratch;
use base::Result;
use dump::from_files::{self, DataDirectory, Readable};
use run::Run;
use snapshot::{Method, TakeOptions, Used, with_snapshot};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How far a dump is when its snapshot goes.
enum Read {
    All(Box<dump::Summary>),
    /// The files are copied, and nothing reads the snapshot any more.
    Copied(Box<(Scratch, DataDirectory, Readable)>),
}

/// Dumps a server from a snapshot of its files.
pub fn dump(
    run: &Run,
    a: &FromFiles,
    take: &TakeOptions,
    options: &dump::Options,
) -> Result<dump::Summary> {
    let begin = Instant::now();
    rows::new_archive::check(&options.to)?;
    if let Some(scratch) = &a.scratch {
        run::places::no_data_directory(scratch)?;
    }
    let taken = with_snapshot(run, take, |used| {
        dump::not_within(&options.to, used.id)?;
        let beside = beside(take.method, used);
        let scratch = Scratch::of_files(a.scratch.as_deref().or(beside))?;
        let directory = directory(a, take.method, used, scratch.path());
        let readable = from_files::readable(run, &directory, options)?;
        // A copy that shares blocks costs room as long as it is there: that is watched while the snapshot is there, too.
        let shares = beside.is_some_and(|beside| is_on_one_device(beside, scratch.path()));
        Ok(match shares {
            true => {
                let done = from_files::dump(run, &directory, readable, options)?;
                Read::All(Box::new(done))
            }
            false => Read::Copied(Box::new((scratch, directory, readable))),
        })
    });
    let (read, not_removed) = taken.map_err(settings::snapshot::in_words_of_dump)?;
    let mut done = match read {
        Read::All(done) => *done,
        Read::Copied(copied) => {
            let (_scratch, directory, readable) = *copied;
            from_files::dump(run, &directory, readable, options)?
        }
    };
    if let Some(e) = not_removed {
        done.exceptions.push(format!(
            "{}: penstock snapshot clean removes what is left",
            e.what
        ));
    }
    done.seconds = begin.elapsed().as_secs_f64();
    Ok(done)
}

/// The directory that the snapshot lies in, where a copy there shares its blocks.
fn beside<'u>(method: Method, used: &Used<'u>) -> Option<&'u Path> {
    match method {
        Method::Reflink | Method::Btrfs => used.root.ancestors().nth(2),
        _ => None,
    }
}

fn is_on_one_device(a: &Path, b: &Path) -> bool {
    let device = |path: &Path| path.metadata().ok().map(|m| m.dev());
    device(a).is_some_and(|a| Some(a) == device(b))
}

/// The snapshot as a data directory that is recovered, and read as the server would.
fn directory(a: &FromFiles, method: Method, used: &Used<'_>, scratch: &Path) -> DataDirectory {
    let mut directory = DataDirectory {
        recover: true,
        snapshot_of: Some(Arc::new(dump::SnapshotOf {
            id: used.id.clone(),
            name: format!("{}, a snapshot of its files", used.from),
            position: used.position.clone(),
            mode: format!(
                "a snapshot of the files ({}), under {}",
                method.name(),
                used.locked.mode
            ),
            lock_ms: used.locked.commits_ms,
            wait_ms: used.locked.waited_ms,
        })),
        ..settings::data_directory(a, used.root, scratch)
    };
    directory.of_snapshot(used.id, &used.options);
    directory
}

//! A snapshot that this run makes: its record, its directory, and what the file system or volume manager made.
//!
//! Invariant: it is removed on every way out of the run, unless it is kept; what a killed run leaves has its record.

use crate::Method;
use crate::clone::remove;
use crate::local;
use crate::record::{Content, Record};
use crate::volume::Volume;
use base::{Error, Kind, Result, failpoint};
use instance::managed::end_within;
use run::Run;
use run::state::storage;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What directories of snapshots are called, before the identifier.
pub(crate) const PREFIX: &str = "penstock-snapshot-";

/// A snapshot that is being made or used.
pub(crate) struct Made<'a> {
    run: &'a Run,
    record: Option<Record>,
}

/// What is known before it is made.
pub(crate) struct Plan<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: Method,
    pub(crate) begin: &'a str,
    pub(crate) server: String,
    pub(crate) datadir: &'a Path,
    pub(crate) state: &'a Path,
    pub(crate) at: Option<&'a Path>,
}

impl Plan<'_> {
    /// The directory that it gets.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        let at = match (self.at, self.method) {
            (Some(at), _) => at,
            // Only a mount point.
            (None, Method::Lvm | Method::LvmThin | Method::Zfs) => self.state,
            (None, _) => self.datadir.parent().unwrap_or(Path::new("/")),
        };
        let at = match std::fs::canonicalize(at) {
            Ok(at) => at,
            Err(_) if at == self.state => at.to_owned(),
            Err(e) => return Err(storage("use", at, &e).hint("--at names a directory that exists")),
        };
        if at.starts_with(self.datadir) {
            let what = format!("{} is in the data directory", at.display());
            return Err(Error::new(Kind::Usage, base::units::printable(&what)).hint(
                "the data directory of a server is never written to: name a directory beside it with --at",
            ));
        }
        run::places::no_data_directory(&at)?;
        Ok(at.join(format!("{PREFIX}{}", self.id)))
    }
}

impl<'a> Made<'a> {
    /// Writes the record, and makes the directory.
    pub(crate) fn begin(
        run: &'a Run,
        plan: &Plan<'_>,
        volume: Option<Volume>,
        root: PathBuf,
    ) -> Result<Made<'a>> {
        let directory = plan.directory()?;
        let content = Content {
            version: 1,
            id: plan.id.to_owned(),
            method: plan.method,
            begin: plan.begin.to_owned(),
            server: plan.server.clone(),
            datadir: plan.datadir.to_owned(),
            directory: directory.clone(),
            root,
            volume,
            kept: false,
        };
        let record = Record::create(plan.state, content)?;
        let made = Made {
            run,
            record: Some(record),
        };
        failpoint::reached("a snapshot is recorded");
        let created = DirBuilder::new().mode(0o700).create(&directory);
        created.map_err(|e| {
            storage("create", &directory, &e).hint("name another directory with --at")
        })?;
        failpoint::reached("the directory of a snapshot is made");
        Ok(made)
    }

    fn content(&self) -> Option<&Content> {
        self.record.as_ref().map(|r| &r.content)
    }

    /// The volume or file system snapshot.
    pub(crate) fn volume(&self) -> Option<&Volume> {
        self.content()?.volume.as_ref()
    }

    /// Where the files are.
    pub(crate) fn root(&self) -> PathBuf {
        self.content().map(|c| c.root.clone()).unwrap_or_default()
    }

    /// The directory that was made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.content()
            .map(|c| c.directory.clone())
            .unwrap_or_default()
    }

    /// It stays.
    pub(crate) fn keep(mut self) -> Result<()> {
        let Some(mut record) = self.record.take() else {
            return Ok(());
        };
        record.content.kept = true;
        let written = record.write();
        if written.is_err() {
            self.record = Some(record);
        }
        written
    }

    /// It goes.
    pub(crate) fn remove(mut self) -> Result<()> {
        failpoint::reached("a snapshot is about to be removed");
        self.undo()
    }

    fn undo(&mut self) -> Result<()> {
        let Some(record) = self.record.take() else {
            return Ok(());
        };
        let _kept = self.run.cancel.delay_exit("the snapshot is being removed");
        undo(&record.content).map_err(|e| {
            e.context(format_args!(
                "the snapshot {} is not removed",
                record.content.id
            ))
            .also("penstock snapshot clean tries again")
        })?;
        failpoint::reached("a snapshot is removed");
        record.forget()
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if let Err(e) = self.undo() {
            self.run.observer.warn(e.in_one_line());
        }
    }
}

/// Removes all that a record speaks of.
pub(crate) fn undo(content: &Content) -> Result<()> {
    let is_ours = content
        .directory
        .file_name()
        .and_then(|n| n.to_str())
        .is_some_and(|n| n.starts_with(PREFIX));
    if !is_ours {
        let what = format!(
            "the record of {} names {}",
            content.id,
            content.directory.display()
        );
        return Err(Error::new(Kind::Failed, base::units::printable(&what)));
    }
    if let Some(volume) = &content.volume {
        volume.remove()?;
    }
    match content.method {
        Method::Clone => remove_cloned(&content.directory),
        // What a killed run began goes on copying, and makes directories again.
        Method::Copy if !content.kept && !end_within(&content.directory) => {
            let what = format!(
                "mariadb-backup still writes to {}",
                content.directory.display()
            );
            Err(Error::new(Kind::Failed, base::units::printable(&what))
                .hint("end that process, then run penstock snapshot clean again"))
        }
        _ => remove(&content.directory),
    }
}

/// How long a server may go on cloning after its client has gone.
const CLONES: Duration = Duration::from_secs(20);

/// Removes what a server clones itself to: it does not notice at once that its client has gone, and makes directories again.
fn remove_cloned(directory: &Path) -> Result<()> {
    let end = Instant::now() + CLONES;
    loop {
        let removed = remove(directory);
        // Between two files it has none open.
        let gone = (0..4).all(|_| {
            std::thread::sleep(Duration::from_millis(100));
            !directory.exists() && local::used_by(directory).is_none()
        });
        if gone {
            return Ok(());
        }
        if Instant::now() > end {
            let Some(_) = local::used_by(directory) else {
                return removed;
            };
            let what = format!("the server still clones itself to {}", directory.display());
            return Err(Error::new(Kind::Storage, base::units::printable(&what)).hint(
                "KILL its session (SELECT state, pid FROM performance_schema.clone_status), then run penstock snapshot clean again",
            ));
        }
    }
}

//! The binary logs of servers, in a place of their own beside the backups.

use crate::layout::{BINLOGS, ServerName};
use crate::lock::Lock;
use crate::repo::{Repository, storage};
use base::{Error, Kind, Result};
use binlog_archive::{CheckedLog, Kept, Options, Start, Summary};
use run::Run;
use std::sync::Arc;
use store::{Location, Store};

impl Repository {
    fn binlogs_of(&self, server: &ServerName) -> Location {
        self.place.join(BINLOGS).join(server.as_str())
    }

    /// The binary log that is kept of a server; `None` if there is none.
    pub fn binlogs(&self, server: &ServerName) -> Result<Option<Kept>> {
        let place = self.binlogs_of(server);
        let kept = match place.open(None) {
            Ok(store) => Kept::open(store)?,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(storage("cannot read the binary logs", &e)),
        };
        Ok((!kept.timelines.is_empty()).then_some(kept))
    }

    /// Reads the binary logs through that are kept, of one server or of all.
    pub fn check_logs(&self, run: &Run, server: Option<&ServerName>) -> Result<Vec<CheckedLog>> {
        let mut all = Vec::new();
        for of in self.servers_with_logs()? {
            if server.is_some_and(|s| *s != of) {
                continue;
            }
            let phase = run.phase("checking binary logs", 1);
            let checked = self.binlogs(&of).and_then(|kept| match kept {
                Some(kept) => kept.check(run, &phase.counters).map(Some),
                None => Ok(None),
            });
            match checked {
                Ok(None) => {}
                Ok(Some(checked)) => all.push(CheckedLog {
                    server: of.to_string(),
                    ..checked
                }),
                // One that cannot be read at all does not hide the others.
                Err(e) if e.kind == Kind::Archive => all.push(CheckedLog {
                    server: of.to_string(),
                    damage: vec![e.what],
                    ..CheckedLog::default()
                }),
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    }

    /// Where archiving begins if nothing is kept of a server's log yet and nothing else was asked for: with the file that the oldest
    /// backup needs, or else with the newest.
    pub fn binlog_start(&self, server: &ServerName) -> Result<Start> {
        let (entries, _) = self.entries(Some(server))?;
        let oldest = entries.iter().min_by(|a, b| a.order().cmp(&b.order()));
        let file = oldest.and_then(|e| e.position.binlog_file.clone());
        Ok(file.map_or(Start::Newest, Start::Backup))
    }
}

/// Archives a server's binary log into the repository.
pub fn archive_binlog(
    run: &Run,
    repository: &Repository,
    server: &ServerName,
    options: &Options,
) -> Result<Summary> {
    if repository.encrypted {
        let what = format!(
            "the repository {} takes encrypted backups only, and binary logs are stored as they are",
            repository.place()
        );
        return Err(Error::new(Kind::Usage, what)
            .hint("archive them into another repository, on an encrypted disk"));
    }
    let _lock = Lock::binlog(&repository.locks, server)?;
    let place = repository.binlogs_of(server);
    let cannot = |e| storage(&format!("cannot store binary logs in {place}"), &e);
    let store: Arc<dyn Store> = match place.open(Some(&run.disk_limiter)) {
        Err(e) if e.not_found() => place.create(Some(&run.disk_limiter)).map_err(cannot)?,
        opened => opened.map_err(cannot)?,
    };
    binlog_archive::archive(run, &store, options)
}

//! The binary logs of servers, in a place of their own beside the backups.

use crate::layout::{BINLOGS, ServerName};
use crate::lock::Lock;
use crate::repo::{Repository, storage};
use base::{Kind, Result};
use binlog_archive::{CheckedLog, Kept, Options, Start, Summary};
use encryption::Keys;
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

    /// The same, to be read: with these keys, if it is encrypted.
    pub fn readable_binlogs(&self, server: &ServerName, keys: &Keys) -> Result<Option<Kept>> {
        let mut kept = self.binlogs(server)?;
        if let Some(kept) = &mut kept {
            kept.unlock(keys)?;
        }
        Ok(kept)
    }

    /// Encrypts the keys of encrypted binary logs with others. Returns whose.
    pub fn rekey_logs(
        &self,
        server: Option<&ServerName>,
        old: &Keys,
        new: &Keys,
    ) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for of in self.servers_with_logs()? {
            if server.is_some_and(|s| *s != of) {
                continue;
            }
            let place = self.binlogs_of(&of);
            let cannot = |e| storage("cannot read the binary logs", &e);
            let store = place.open(None).map_err(cannot)?;
            let changed = encryption::rekey_sealing(&*store, old, new).map_err(|e| {
                let doing = format!("cannot change the key of the binary log of {of}");
                run::failure::encryption(doing, &e)
            })?;
            if changed {
                done.push(format!("the binary log of {of}"));
            }
        }
        Ok(done)
    }

    /// Reads the binary logs through that are kept, of one server or of all; of an encrypted one with `files_only` what is stored.
    pub fn check_logs(
        &self,
        run: &Run,
        server: Option<&ServerName>,
        (keys, files_only): (&Keys, bool),
    ) -> Result<Vec<CheckedLog>> {
        let mut all = Vec::new();
        for of in self.servers_with_logs()? {
            if server.is_some_and(|s| *s != of) {
                continue;
            }
            let phase = run.phase("checking binary logs", 1);
            let kept = match files_only {
                true => self.binlogs(&of),
                false => self.readable_binlogs(&of, keys),
            };
            let checked = kept.and_then(|kept| match kept {
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
    /// backup needs, or else with the newest. Which one that is is not known of an encrypted backup: then with the oldest.
    pub fn binlog_start(&self, server: &ServerName) -> Result<Start> {
        let (entries, _) = self.entries(Some(server))?;
        let oldest = entries.iter().min_by(|a, b| a.order().cmp(&b.order()));
        if oldest.is_some_and(|e| e.encrypted) {
            return Ok(Start::Oldest);
        }
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
    let _lock = Lock::binlog(&repository.locks, server)?;
    let place = repository.binlogs_of(server);
    let cannot = |e| storage(&format!("cannot store binary logs in {place}"), &e);
    let store: Arc<dyn Store> = match place.open(Some(&run.disk_limiter)) {
        Err(e) if e.not_found() => place.create(Some(&run.disk_limiter)).map_err(cannot)?,
        opened => opened.map_err(cannot)?,
    };
    let options = Options {
        encrypted_only: repository.encrypted,
        ..options.clone()
    };
    binlog_archive::archive(run, &store, &options)
}

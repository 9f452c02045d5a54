//! What came of drills, written down: one file for each, whose name says what a list needs.
//!
//! Invariant: a drill counts only if its file says what its name says. A name is easily changed, or left by
//! something that broke off; so each file is read once, and which were is kept with the copies of the catalog. What
//! this does not do: tell a file that was forged as a whole.

use crate::catalog::{Copies, Entry, Seen};
use crate::layout::{self, BackupId, DRILLS, ServerName};
use crate::repo::{Repository, storage};
use crate::small_files::read_each;
use base::Result;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use store::{EntryKind, Store};

/// Version of a drill's file.
const VERSION: u32 = 1;

/// A drill's file larger than this is none, in bytes.
const LIMIT: u64 = 16 << 20;

/// What the name of a drill's file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The server.
    pub server: ServerName,
    /// The backup.
    pub id: BackupId,
    /// When the drill began.
    pub at: Timestamp,
    /// Whether the backup was restored, equal, and every check was true.
    pub proven: bool,
}

impl Proof {
    fn file(&self) -> String {
        let word = if self.proven { "proven" } else { "failed" };
        let at = self.at.strftime("%Y%m%dT%H%M%SZ");
        format!("{}@{}@{at}@{word}.json", self.server, self.id)
    }

    fn parse(name: &str) -> Option<Proof> {
        let mut parts = name.strip_suffix(".json")?.split('@');
        let proof = Proof {
            server: ServerName::parse(parts.next()?).ok()?,
            id: BackupId::parse(parts.next()?)?,
            at: layout::parse_time(parts.next()?)?,
            proven: match parts.next()? {
                "proven" => true,
                "failed" => false,
                _ => return None,
            },
        };
        parts.next().is_none().then_some(proof)
    }
}

/// What came of a drill.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CameOf {
    /// Seconds to recover.
    pub(crate) seconds: f64,
    /// Rows that were restored.
    pub(crate) rows: u64,
    /// Tables of a snapshot that the server has checked.
    #[serde(default)]
    pub(crate) tables: u64,
    /// Why it could not be restored.
    pub(crate) error: Option<String>,
    /// Exceptions of the restore.
    pub(crate) exceptions: Vec<String>,
    /// Where the log behind the backup was applied to, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_to: Option<String>,
    /// Transactions of it.
    #[serde(default)]
    pub(crate) transactions: u64,
    /// What was asked.
    pub(crate) checks: Vec<Check>,
}

/// A statement, and why it is not true.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) sql: String,
    pub(crate) wrong: Option<String>,
}

impl CameOf {
    fn is_proof(&self) -> bool {
        self.error.is_none() && self.checks.iter().all(|c| c.wrong.is_none())
    }
}

/// The file of a drill.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    server: String,
    id: String,
    at: String,
    host: String,
    proven: bool,
    #[serde(flatten)]
    came_of: CameOf,
}

impl Record {
    /// Whether this is the drill that the name tells of, and it came to that.
    fn says(&self, proof: &Proof) -> bool {
        self.version == VERSION
            && (self.server.as_str(), self.id.as_str())
                == (proof.server.as_str(), proof.id.as_str())
            && self.at == time_text(proof.at)
            && self.proven == proof.proven
            && self.proven == self.came_of.is_proof()
    }
}

fn time_text(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Writes down what came of a drill of this backup.
pub(crate) fn write_down(
    repository: &Repository,
    (server, id): (ServerName, BackupId),
    at: Timestamp,
    came_of: CameOf,
) -> Result<()> {
    let host = rustix::system::uname();
    let record = Record {
        version: VERSION,
        server: server.to_string(),
        id: id.to_string(),
        at: time_text(at),
        host: host.nodename().to_string_lossy().into_owned(),
        proven: came_of.is_proof(),
        came_of,
    };
    let proof = Proof {
        server,
        id,
        at,
        proven: record.proven,
    };
    let text = serde_json::to_string_pretty(&record).unwrap_or_default() + "\n";
    let drills = repository.drills()?;
    drills
        .put(&proof.file(), text.as_bytes())
        .and_then(|()| drills.sync())
        .map_err(|e| storage("cannot write down the drill", &e))
}

/// The files of drills.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    /// The drills that count, the oldest first.
    pub(crate) counted: Vec<Proof>,
    /// Names of files that say something else than their names.
    pub(crate) damaged: Vec<String>,
    /// The files of those that count.
    pub(crate) seen: Vec<Seen>,
}

impl Repository {
    fn drills(&self) -> Result<Arc<dyn Store>> {
        let place = self.place.join(DRILLS);
        match place.open(None) {
            // Of before there were drills.
            Err(e) if e.not_found() => place.create(None),
            opened => opened,
        }
        .map_err(|e| storage("cannot open the drills of the repository", &e))
    }

    /// The drills of one server or of all. `copies`: those whose files have been read before are not read again.
    pub(crate) fn proofs(&self, server: Option<&ServerName>, copies: &Copies) -> Result<Proofs> {
        let cannot = |e| storage("cannot list the drills", &e);
        let listed = self.place.join(DRILLS).open(None);
        let (drills, listed) = match listed.and_then(|s| s.list().map(|listed| (s, listed))) {
            Ok(found) => found,
            Err(e) if e.not_found() => return Ok(Proofs::default()),
            Err(e) => return Err(cannot(e)),
        };
        let files = listed.into_iter().filter(|e| e.kind == EntryKind::File);
        let named = files.filter_map(|e| Proof::parse(&e.name).map(|p| (p, e)));
        let (seen, new): (Vec<_>, Vec<_>) = named
            .filter(|(p, _)| server.is_none_or(|s| *s == p.server))
            .partition(|(_, e)| copies.has_seen(e));
        let found = Mutex::new(Proofs::default());
        let count = |proof: Proof, file: &store::Entry| {
            let mut found = base::lock(&found);
            found.counted.push(proof);
            found.seen.push(Seen::new(file));
        };
        for (proof, file) in seen {
            count(proof, &file);
        }
        let new = new.into_iter().map(|(_, file)| file).collect();
        let read = read_each(&*drills, new, LIMIT, |file, bytes| {
            let proof = Proof::parse(&file.name);
            let record = serde_json::from_slice::<Record>(&bytes).ok();
            match proof.zip(record) {
                Some((proof, record)) if record.says(&proof) => count(proof, file),
                _ => base::lock(&found).damaged.push(file.name.clone()),
            }
        });
        read.map_err(|e| storage("cannot read the drills", &e))?;
        let mut found = base::lock::into_inner(found);
        let order = |p: &Proof| (p.at, p.server.clone(), p.id.clone());
        found.counted.sort_by_cached_key(order);
        found.damaged.sort();
        Ok(found)
    }

    /// Removes the drills of backups that are gone, but for the last proof of each server: how old that is
    /// stays known. A failure is none: they are looked at again by the next prune.
    pub(crate) fn forget_drills(&self, entries: &[Entry]) {
        let Ok(proofs) = self.proofs(None, &self.copies()) else {
            return;
        };
        let listed: BTreeSet<(&str, &str)> = entries
            .iter()
            .map(|e| (e.server.as_str(), e.id.as_str()))
            .collect();
        let is_listed = |p: &Proof| listed.contains(&(p.server.as_str(), p.id.as_str()));
        let Ok(drills) = self.drills() else { return };
        for (n, proof) in proofs.counted.iter().enumerate() {
            let later = &proofs.counted[n + 1..];
            let last = proof.proven && !later.iter().any(|p| p.proven && p.server == proof.server);
            if !last && !is_listed(proof) {
                let _ = drills.remove(&proof.file());
            }
        }
        for name in &proofs.damaged {
            if Proof::parse(name).is_some_and(|p| !is_listed(&p)) {
                let _ = drills.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_drill_says_what_came_of_it() {
        let proof = Proof {
            server: ServerName::parse("db-1").unwrap(),
            id: BackupId::parse("20261125T021500Z-00ab").unwrap(),
            at: layout::parse_time("20261126T091500Z").unwrap(),
            proven: true,
        };
        assert_eq!(
            proof.file(),
            "db-1@20261125T021500Z-00ab@20261126T091500Z@proven.json"
        );
        assert_eq!(Proof::parse(&proof.file()), Some(proof));
        for name in ["x", "a@20261125T021500Z-00ab@20261126T091500Z@perhaps.json"] {
            assert_eq!(Proof::parse(name), None, "{name}");
        }
    }
}

//! A drill: a backup is restored into a temporary server, compared, and asked questions; then the server is
//! removed. What came of it is written into the repository: that a backup can be restored is proven by
//! restoring it.
//!
//! Each drill is a file of its own, and its name says what a list needs. A drill that could not be held (no
//! room, no server program) says nothing about the backup, and is not written down.

use crate::catalog::Entry;
use crate::layout::{BackupId, DRILLS, ServerName};
use crate::lock::Purpose;
use crate::repo::{Repository, names, storage};
use base::{Error, Kind, Result};
use jiff::Timestamp;
use run::{Run, connect};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use store::{EntryKind, Store};

/// How a drill is held.
#[derive(Clone, Debug)]
pub struct Options {
    /// The restore, into a managed instance.
    pub load: load::Options,
    /// Statements that must be true of what was restored.
    pub checks: Vec<String>,
}

/// A drill that was held.
#[derive(Debug)]
pub struct Drilled {
    /// The backup.
    pub entry: Entry,
    /// When it began.
    pub at: Timestamp,
    /// The restore, or why it failed.
    pub restored: Result<load::Summary>,
    /// Seconds until the server had all of it, and it was compared.
    pub seconds: f64,
    /// Each statement, and why it is not true.
    pub checks: Vec<(String, Option<String>)>,
}

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

impl Drilled {
    /// Whether the backup was restored, equal, and every check was true.
    pub fn is_proven(&self) -> bool {
        self.restored.is_ok() && self.checks.iter().all(|(_, wrong)| wrong.is_none())
    }
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
            at: crate::layout::parse_time(parts.next()?)?,
            proven: match parts.next()? {
                "proven" => true,
                "failed" => false,
                _ => return None,
            },
        };
        parts.next().is_none().then_some(proof)
    }
}

/// What came of the server that was restored into.
#[derive(Default)]
struct Loaded {
    /// Seconds until it had all of it, and it was compared.
    seconds: Option<f64>,
    /// The statements that were asked.
    checks: Vec<(String, Option<String>)>,
    /// Why not all of them were.
    not_asked: Option<Error>,
}

/// Restores a backup into a temporary server, and writes down what came of it.
pub fn drill(
    run: &Run,
    repository: &Repository,
    entry: &Entry,
    options: &Options,
) -> Result<Drilled> {
    let _lock = repository.lock(entry, Purpose::Drill)?;
    let start = Instant::now();
    let at = Timestamp::now();
    let loaded = Arc::new(Mutex::new(Loaded::default()));
    let load = load::Options {
        when_loaded: Some(load::WhenLoaded(Arc::new({
            let (loaded, checks) = (Arc::clone(&loaded), options.checks.clone());
            let run = run.clone();
            move |server| {
                base::lock(&loaded).seconds = Some(start.elapsed().as_secs_f64());
                // A worker, so that a stop closes its connection.
                let asked = run.workers(vec![()], |_, (), stop| {
                    for sql in &checks {
                        stop.check()?;
                        let wrong = ask(&run, server, sql);
                        base::lock(&loaded).checks.push((sql.clone(), wrong));
                    }
                    Ok(())
                });
                base::lock(&loaded).not_asked = asked.err();
            }
        }))),
        ..options.load.clone()
    };
    let restored = load::run(run, &load).map_err(|e| Error {
        // Its directory is removed: there is nothing to resume.
        hint: e.hint.filter(|hint| !hint.contains("--resume")),
        ..e
    });
    if let Err(e) = &restored
        && !matches!(e.kind, Kind::Archive | Kind::Differs | Kind::Failed)
    {
        return Err(e.clone());
    }
    let loaded = std::mem::take(&mut *base::lock(&loaded));
    // A stop in the middle of the checks: nothing is said of the backup.
    if let (Ok(_), Some(e)) = (&restored, loaded.not_asked) {
        return Err(e);
    }
    let drilled = Drilled {
        entry: entry.clone(),
        at,
        restored,
        seconds: loaded
            .seconds
            .unwrap_or_else(|| start.elapsed().as_secs_f64()),
        checks: loaded.checks,
    };
    repository.write_down(&drilled)?;
    Ok(drilled)
}

/// Why a statement is not true of a server; `None` if it is: it returns rows, and none of their first columns is
/// 0, NULL or empty.
fn ask(run: &Run, server: &wire::Options, sql: &str) -> Option<String> {
    let mut conn = match connect::connection(run, server) {
        Ok(conn) => conn,
        Err(e) => return Some(e.what),
    };
    let rows = match conn.fetch(sql) {
        Ok(rows) => rows,
        Err(e) => return Some(e.to_string()),
    };
    if rows.is_empty() {
        return Some("it returns no row".to_owned());
    }
    for row in rows {
        let Some(first) = row.into_iter().next().flatten() else {
            return Some("it returns NULL".to_owned());
        };
        let text = String::from_utf8_lossy(&first);
        let is_zero = text.trim().parse::<f64>().is_ok_and(|n| n == 0.0);
        if text.trim().is_empty() || is_zero {
            return Some(format!("it returns '{}'", base::units::printable(&text)));
        }
    }
    None
}

/// The file of a drill.
#[derive(Serialize)]
struct Record<'a> {
    version: u32,
    server: &'a str,
    id: &'a str,
    at: String,
    host: String,
    proven: bool,
    seconds: f64,
    rows: u64,
    error: Option<&'a str>,
    exceptions: &'a [String],
    checks: Vec<Check<'a>>,
}

#[derive(Serialize)]
struct Check<'a> {
    sql: &'a str,
    wrong: Option<&'a str>,
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

    fn write_down(&self, drilled: &Drilled) -> Result<()> {
        let (server, id) = names(&drilled.entry)?;
        let proof = Proof {
            server,
            id,
            at: drilled.at,
            proven: drilled.is_proven(),
        };
        let done = drilled.restored.as_ref();
        let record = Record {
            version: 1,
            server: &drilled.entry.server,
            id: &drilled.entry.id,
            at: drilled.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            proven: proof.proven,
            seconds: base::units::rounded(drilled.seconds),
            rows: done.map_or(0, |d| d.rows),
            error: done.err().map(|e| e.what.as_str()),
            exceptions: done.map_or(&[], |d| &d.exceptions),
            checks: drilled
                .checks
                .iter()
                .map(|(sql, wrong)| Check {
                    sql,
                    wrong: wrong.as_deref(),
                })
                .collect(),
        };
        let text = serde_json::to_string_pretty(&record).unwrap_or_default() + "\n";
        let drills = self.drills()?;
        drills
            .put(&proof.file(), text.as_bytes())
            .and_then(|()| drills.sync())
            .map_err(|e| storage("cannot write down the drill", &e))
    }

    /// All drills, of one server or of all, the oldest first.
    pub(crate) fn proofs(&self, server: Option<&ServerName>) -> Result<Vec<Proof>> {
        let listed = match self.place.join(DRILLS).open(None).and_then(|s| s.list()) {
            Ok(listed) => listed,
            Err(e) if e.not_found() => return Ok(Vec::new()),
            Err(e) => return Err(storage("cannot list the drills", &e)),
        };
        let mut proofs: Vec<Proof> = listed
            .into_iter()
            .filter(|e| e.kind == EntryKind::File)
            .filter_map(|e| Proof::parse(&e.name))
            .filter(|p| server.is_none_or(|s| *s == p.server))
            .collect();
        proofs.sort_by(|a, b| (a.at, &a.server, &a.id).cmp(&(b.at, &b.server, &b.id)));
        Ok(proofs)
    }

    /// Removes the drills of backups that are gone, but for the last proof of each server: how old that is
    /// stays known. A failure is none: they are looked at again by the next prune.
    pub(crate) fn forget_drills(&self, entries: &[Entry]) {
        let Ok(proofs) = self.proofs(None) else {
            return;
        };
        let listed: BTreeSet<(&str, &str)> = entries
            .iter()
            .map(|e| (e.server.as_str(), e.id.as_str()))
            .collect();
        let Ok(drills) = self.drills() else { return };
        for (n, proof) in proofs.iter().enumerate() {
            let later = &proofs[n + 1..];
            let last = proof.proven && !later.iter().any(|p| p.proven && p.server == proof.server);
            if !last && !listed.contains(&(proof.server.as_str(), proof.id.as_str())) {
                let _ = drills.remove(&proof.file());
            }
        }
    }
}

/// The backup that a drill takes of each server: the newest, or a random one.
pub fn candidates(entries: &[Entry], random: bool) -> Vec<Entry> {
    let servers: BTreeSet<&str> = entries.iter().map(|e| e.server.as_str()).collect();
    let of = |server: &str| {
        let all: Vec<&Entry> = entries.iter().filter(|e| e.server == server).collect();
        let at = match random {
            true => usize::from(crate::layout::random()) % all.len().max(1),
            false => all.len().saturating_sub(1),
        };
        all.get(at).map(|e| (*e).clone())
    };
    servers.into_iter().filter_map(of).collect()
}

/// A drill failed: what its exit code says.
pub fn failure(drilled: &Drilled) -> Option<Error> {
    if let Err(e) = &drilled.restored {
        return Some(e.clone());
    }
    let (sql, wrong) = drilled
        .checks
        .iter()
        .find_map(|(sql, wrong)| Some((sql, wrong.as_ref()?)))?;
    let what = format!(
        "a check of {}@{} is not true: {wrong}: {sql}",
        drilled.entry.server, drilled.entry.id
    );
    Some(Error::new(Kind::Differs, base::units::printable(&what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_drill_says_what_came_of_it() {
        let proof = Proof {
            server: ServerName::parse("db-1").unwrap(),
            id: BackupId::parse("20261125T021500Z-00ab").unwrap(),
            at: crate::layout::parse_time("20261126T091500Z").unwrap(),
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

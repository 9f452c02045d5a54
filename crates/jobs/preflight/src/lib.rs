//! What stands in the way of a server, of its host, and of the jobs on it: a report that changes nothing.
//!
//! `facts` are gathered first (`gather` asks the server, `host` and `device` read `/proc` and `/sys`), so that each file of
//! `checks` is a function of facts alone, and its test makes them up. `stripe` writes down how devices would be
//! striped.
//!
//! Invariants: nothing is written on the server or its host, and nothing is locked; what could not be looked at is named
//! with the reason and never counts as fine. What this does not do: mend anything.

mod check;
mod checks;
mod device;
mod facts;
mod gather;
mod host;
#[cfg(test)]
mod made_up;
mod options;
pub mod stripe;

pub use check::{Check, Finding, Group, Job, Needs, Seen, Severity};
pub use checks::all;
pub use options::{Backups, Options};

use base::{Error, Kind, Result};
use facts::Known;
use run::Run;

/// What came of one check.
#[derive(Debug)]
pub struct Looked {
    /// The check.
    pub check: &'static Check,
    /// What it saw, or why it could not be made.
    pub seen: Known<Seen>,
}

/// What was found out.
#[derive(Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// Its process on this host, or why its host is not looked at.
    pub host: Known<String>,
    /// The checks that were wanted, in their order.
    pub looked: Vec<Looked>,
    /// Those that were silenced.
    pub silenced: Vec<&'static str>,
    /// Those about something that was not named, with the option that names it.
    pub not_asked: Vec<(&'static str, &'static str)>,
}

impl Summary {
    /// Findings of this severity, with their checks.
    pub fn findings(&self, severity: Severity) -> impl Iterator<Item = (&'static Check, &Finding)> {
        let seen = self
            .looked
            .iter()
            .filter_map(|l| Some((l.check, l.seen.as_ref().ok()?)));
        seen.flat_map(|(check, seen)| seen.findings.iter().map(move |f| (check, f)))
            .filter(move |(_, f)| f.severity == severity)
    }

    /// What could not be looked at: checks, or parts of them, each with the reason.
    pub fn not_run(&self) -> Vec<(&'static str, &str)> {
        let mut all = Vec::new();
        for l in &self.looked {
            match &l.seen {
                Err(why) => all.push((l.check.name, why.as_str())),
                Ok(seen) => all.extend(seen.unseen.iter().map(|why| (l.check.name, why.as_str()))),
            }
        }
        all
    }
}

/// The check of this name, which `--silence` gives.
pub fn named(name: &str) -> Result<&'static Check> {
    all().find(|c| c.name == name).ok_or_else(|| {
        let what = format!(
            "--silence {}: there is no check of this name",
            base::units::printable(name)
        );
        Error::new(Kind::Usage, what).hint("penstock preflight --list names all checks")
    })
}

/// Looks.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let wanted = |check: &&'static Check| options.wants(check);
    let silent = |check: &&'static Check| options.silenced.iter().any(|s| s.name == check.name);
    let (silenced, others): (Vec<_>, Vec<_>) = all().filter(wanted).partition(silent);
    let (not_asked, made): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|c| options.not_named(c).is_some());
    let gathered = gather::gather(run, options)?;
    let mut looked = Vec::new();
    for check in made {
        run.check()?;
        let seen = (check.look)(&gathered.facts);
        looked.push(Looked { check, seen });
    }
    Ok(Summary {
        server: gathered.server,
        host: gathered.host,
        looked,
        silenced: silenced.into_iter().map(|c| c.name).collect(),
        not_asked: not_asked
            .into_iter()
            .filter_map(|c| Some((c.name, options.not_named(c)?)))
            .collect(),
    })
}

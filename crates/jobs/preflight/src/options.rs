//! What a preflight shall look at: resolved options.

use crate::check::{Check, Group, Job, Needs};
use encryption::Place;
use repository::ServerName;
use std::path::PathBuf;
use std::time::Duration;
use store::Location;

/// What to look at.
#[derive(Clone)]
pub struct Options {
    /// The server.
    pub server: wire::Options,
    /// Only checks of these groups; all if none is named.
    pub groups: Vec<Group>,
    /// The jobs that are wanted; all if none is named. What one of these lacks is serious.
    pub jobs: Vec<Job>,
    /// Checks that are not made.
    pub silenced: Vec<&'static Check>,
    /// Where a dump would be written, if that is known.
    pub to: Option<Place>,
    /// Where its backups are, if that is known.
    pub backups: Option<Backups>,
    /// The directory of settings journals.
    pub state: Option<PathBuf>,
}

/// The backups of the server.
#[derive(Clone)]
pub struct Backups {
    /// The repository that they are in.
    pub repository: Location,
    /// Under which name; without one, they are found by the server's UUID.
    pub name: Option<ServerName>,
    /// How old the last one may be.
    pub oldest: Duration,
}

impl Options {
    /// Whether a check is wanted.
    pub(crate) fn wants(&self, check: &Check) -> bool {
        let group = self.groups.is_empty() || self.groups.contains(&check.group);
        let job = match check.job {
            Some(job) => self.jobs.is_empty() || self.jobs.contains(&job),
            None => true,
        };
        group && job
    }

    /// What would have to be named for a check that is about it, if it was not.
    pub(crate) fn not_named(&self, check: &Check) -> Option<&'static str> {
        match check.needs {
            Some(Needs::Place) if self.to.is_none() => Some("--to DIR"),
            Some(Needs::Repository) if self.backups.is_none() => Some("--repository REPO"),
            _ => None,
        }
    }
}

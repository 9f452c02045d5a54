//! What a preflight shall look at.

use super::{place, recorded, rules, state};
use crate::args::preflight::{For, Only, Preflight};
use ::preflight::{Backups, Group, Job, Options};
use base::Result;
use encryption::{Keys, Place};
use repository::ServerName;
use std::path::PathBuf;
use std::time::Duration;

/// A day, and two hours for the backup itself.
const OLDEST: Duration = Duration::from_secs(26 * 3600);

/// What was asked for.
pub enum Asked {
    /// A report about a server.
    Server(Box<Options>),
    /// The list of checks.
    List,
    /// How these devices are striped.
    Stripe(Vec<PathBuf>),
}

/// What a preflight shall look at.
pub fn preflight(a: &Preflight) -> Result<Asked> {
    rules::preflight(a)?;
    if a.list {
        return Ok(Asked::List);
    }
    if !a.stripe.is_empty() {
        return Ok(Asked::Stripe(a.stripe.clone()));
    }
    recorded(a.recording.record.as_deref())?;
    let silenced = a.silence.iter().map(|name| ::preflight::named(name));
    let to = a.to.as_deref().map(|to| place::location("--to", to));
    let to = to.transpose()?.map(|to| Place::new(to, Keys::default()));
    let repository = a.repository.clone().or_else(place::named_by_environment);
    let name = a.server_name.as_deref().map(ServerName::parse);
    let name = name.transpose()?;
    let backups = match repository {
        None => None,
        Some(repository) => Some(Backups {
            repository: place::location("--repository", &repository)?,
            name,
            oldest: a.max_backup_age.unwrap_or(OLDEST),
        }),
    };
    Ok(Asked::Server(Box::new(Options {
        silenced: silenced.collect::<Result<_>>()?,
        server: a.connection.resolve(a.server.as_deref())?,
        groups: a.only.iter().map(group).collect(),
        jobs: a.job.iter().map(job).collect(),
        to,
        backups,
        state: state::directory(),
    })))
}

fn group(only: &Only) -> Group {
    match only {
        Only::Host => Group::Host,
        Only::Server => Group::Server,
        Only::Jobs => Group::Jobs,
    }
}

fn job(job: &For) -> Job {
    match job {
        For::Dump => Job::Dump,
        For::Load => Job::Load,
        For::Replica => Job::Replica,
        For::Binlog => Job::Binlog,
    }
}

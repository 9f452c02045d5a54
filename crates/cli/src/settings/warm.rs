//! What `penstock warm` shall do.

use super::{filter, place, state, threads};
use crate::args::warm::{Load, Save};
use base::{Error, Kind, Result};
use std::path::PathBuf;
use std::sync::Arc;
use warm::{load, save};

/// The share of the pool that a load may fill, where nothing else was said.
const SHARE: f64 = 0.9;

/// What to save.
pub fn save(a: &Save) -> Result<save::Options> {
    place::local("--to", &a.to)?;
    for (option, path) in [("--datadir", &a.datadir), ("--list", &a.list)] {
        if let Some(path) = path {
            place::local(option, path)?;
        }
    }
    Ok(save::Options {
        source: a.connection.resolve(a.source.as_deref())?,
        to: a.to.clone(),
        datadir: a.datadir.clone(),
        list: a.list.clone(),
        state: journals()?,
        threads: threads(a.threads),
        filter: Arc::new(filter(&a.selection)?),
    })
}

/// Where settings are journalled.
fn journals() -> Result<PathBuf> {
    state::directory().ok_or_else(|| {
        Error::new(Kind::Usage, "no directory is known for settings journals")
            .hint("set PENSTOCK_STATE, or HOME")
    })
}

/// What to load.
pub fn load(a: &Load) -> Result<load::Options> {
    if let Some(from) = &a.from {
        place::local("--from", from)?;
    }
    if a.whole_indexes && a.budget.is_some() {
        return Err(Error::new(
            Kind::Usage,
            "--budget chooses ranges of a file, and --whole-indexes reads everything",
        )
        .hint("leave one of them out"));
    }
    Ok(load::Options {
        target: a.connection.resolve(a.target.as_deref())?,
        from: match &a.from {
            Some(from) => load::Source::File(from.clone()),
            None => load::Source::WholeIndexes,
        },
        one_reading: match a.one_reading {
            true => Some(journals()?),
            false => None,
        },
        threads: threads(a.threads),
        share: a.budget.unwrap_or(SHARE),
        filter: Arc::new(filter(&a.selection)?),
    })
}

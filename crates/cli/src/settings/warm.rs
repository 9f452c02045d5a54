//! What `penstock warm` shall do.

use super::copy::of_targets;
use super::rules;
use super::scratch::Scratch;
use super::{filter, place, state, threads};
use crate::args::throttle::Impact;
use crate::args::warm::{Check, Copy, Load, Queries, Ramp, Save, Status};
use base::{Error, Kind, Result};
use run::throttle;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use warm::{check, load, pages, ramp, save, status};

/// The share of the pool that a load may fill, where nothing else was said.
const SHARE: f64 = 0.9;

/// Queries that are replayed at most, where nothing else was said.
const MOST: usize = 10_000;

/// How long a query may take, where nothing else was said.
const LONGEST: Duration = Duration::from_secs(60);

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
    rules::warm_load(a)?;
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
        throttle: throttle(&a.impact),
    })
}

/// The limit on what the reading costs others.
fn throttle(a: &Impact) -> throttle::Options {
    let usual = throttle::Options::default();
    throttle::Options {
        impact: a.max_impact,
        floor: a.min_rate.unwrap_or(usual.floor),
        ..usual
    }
}

/// What is looked at.
#[derive(Debug)]
pub enum Shown {
    /// A file.
    File(PathBuf),
    /// A server.
    Server(Box<status::Options>),
}

/// What to look at.
pub fn status(a: &Status) -> Result<Shown> {
    let file = a.what.as_ref().filter(|w| rules::server(w).is_none());
    let Some(file) = file else {
        if let Some(from) = &a.from {
            place::local("--from", from)?;
        }
        let uri = a.what.as_deref().and_then(rules::server);
        return Ok(Shown::Server(Box::new(status::Options {
            server: a.connection.resolve(uri)?,
            from: a.from.clone(),
        })));
    };
    rules::warm_file(a)?;
    place::local("FILE", file)?;
    Ok(Shown::File(file.clone()))
}

/// What is saved and loaded, and where it is between the two.
pub struct Copied {
    pub save: save::Options,
    pub load: load::Options,
    _scratch: Scratch,
}

/// What to copy.
pub fn copy(a: &Copy) -> Result<Copied> {
    rules::warm_copy(a)?;
    for (option, path) in [("--datadir", &a.datadir), ("--list", &a.list)] {
        if let Some(path) = path {
            place::local(option, path)?;
        }
    }
    let source = a.connection.one_of_several(&a.source)?;
    let targets = of_targets(&a.connection, a.target_defaults_file.as_ref());
    let target = targets.one_of_several(&a.target)?;
    let filter = Arc::new(filter(&a.selection)?);
    let scratch = Scratch::new(None, "penstock-warm-", 0o700)?;
    let file = scratch.path().join("hot");
    Ok(Copied {
        save: save::Options {
            source,
            to: file.clone(),
            datadir: a.datadir.clone(),
            list: a.list.clone(),
            state: journals()?,
            threads: threads(a.threads),
            filter: Arc::clone(&filter),
        },
        load: load::Options {
            target,
            from: load::Source::File(file),
            one_reading: match a.one_reading {
                true => Some(journals()?),
                false => None,
            },
            threads: threads(a.threads),
            share: a.budget.unwrap_or(SHARE),
            filter,
            throttle: throttle(&a.impact),
        },
        _scratch: scratch,
    })
}

/// Of which pages a server shall load the numbers.
pub fn load_pages(a: &Load) -> Result<pages::load::Options> {
    rules::warm_load(a)?;
    let Some(from) = &a.from else {
        return Err(Error::new(
            Kind::Usage,
            "--pages has no file: --from is missing",
        ));
    };
    place::local("--from", from)?;
    if let Some(datadir) = &a.datadir {
        place::local("--datadir", datadir)?;
    }
    Ok(pages::load::Options {
        target: a.connection.resolve(a.target.as_deref())?,
        from: from.clone(),
        datadir: a.datadir.clone(),
        share: a.budget.unwrap_or(SHARE),
        state: journals()?,
        filter: Arc::new(filter(&a.selection)?),
    })
}

/// What to replay, and where.
pub fn check(a: &Check) -> Result<check::Options> {
    rules::warm_check(a)?;
    let from = queries(&a.from)?;
    let servers = match (&a.server, &a.new) {
        (Some(live), Some(new)) => {
            let targets = of_targets(&a.connection, a.target_defaults_file.as_ref());
            vec![
                a.connection.one_of_several(live)?,
                targets.one_of_several(new)?,
            ]
        }
        (server, _) => vec![a.connection.resolve(server.as_deref())?],
    };
    Ok(check::Options {
        servers,
        from,
        schema: a.how.schema.clone(),
        most: a.how.most.map_or(MOST, |n| n as usize),
        longest: a.how.query_timeout.unwrap_or(LONGEST),
    })
}

fn queries(a: &Queries) -> Result<check::Source> {
    let files = [
        (
            "--queries",
            &a.queries,
            check::Source::Queries as fn(PathBuf) -> _,
        ),
        ("--slow-log", &a.slow_log, check::Source::SlowLog),
        ("--general-log", &a.general_log, check::Source::GeneralLog),
    ];
    for (option, path, source) in files {
        if let Some(path) = path {
            place::local(option, path)?;
            return Ok(source(path.clone()));
        }
    }
    Ok(check::Source::Samples)
}

/// How a ramp is done.
pub fn ramp(a: &Ramp) -> Result<ramp::Options> {
    if let Some(queries) = &a.queries {
        place::local("--queries", queries)?;
    }
    let seconds = |s: u64| Duration::from_secs(s);
    Ok(ramp::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        hook: a.hook.clone(),
        hook_timeout: a.hook_timeout.unwrap_or(seconds(60)),
        queries: a.queries.clone(),
        schema: a.schema.clone(),
        longest: a.query_timeout.unwrap_or(LONGEST),
        max_latency: a.allowed.max_latency.map(|t| t.as_secs_f64()),
        max_reads: a.allowed.max_reads.map(f64::from),
        interval: a.interval.unwrap_or(seconds(5)),
        steady: a.steady.unwrap_or(seconds(30)),
        give_up: a.give_up.unwrap_or(seconds(3600)),
    })
}

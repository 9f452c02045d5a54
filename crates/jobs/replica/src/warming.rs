//! What is hot on the source, into the memory of the new server: the last step before it takes queries.

use crate::check::Side;
use crate::options::{Hot, Options};
use crate::refused;
use base::{Error, Kind, Result};
use run::Run;
use std::path::Path;

/// The part of the buffer pool that is filled.
const SHARE: f64 = 0.9;

/// Refuses before anything is changed what could not be done at the end.
pub(crate) fn check(source: &Side, options: &Options) -> Result<()> {
    match &options.warm {
        None => Ok(()),
        Some(Hot::File(file)) => warm::file::HotSet::read(file).map(drop),
        Some(Hot::OfSource) if Path::new(&source.id.datadir).is_dir() => Ok(()),
        Some(Hot::OfSource) => Err(refused(
            format!(
                "the files of the source are not on this host ({}), and without them nothing says what is hot",
                source.id.datadir
            ),
            "run penstock warm save there, and name its file: --warm=FILE",
        )),
    }
}

/// Fills the new server's memory.
pub(crate) fn fill(run: &Run, options: &Options, hot: &Hot) -> Result<warm::load::Summary> {
    let load = options
        .copy
        .loads
        .first()
        .ok_or_else(|| Error::new(Kind::Internal, "no new server is named"))?;
    let read = |file: &Path| {
        let options = warm::load::Options {
            target: load.target.clone(),
            from: warm::load::Source::File(file.to_owned()),
            threads: load.threads,
            share: SHARE,
            one_reading: None,
            filter: load.filter.clone(),
            // Nobody uses it yet.
            throttle: run::throttle::Options::default(),
        };
        warm::load::run(run, &options)
    };
    match hot {
        Hot::File(file) => read(file),
        Hot::OfSource => {
            let file = options
                .state
                .join(format!("replica-{}.warm", std::process::id()));
            let saved = warm::save::run(
                run,
                &warm::save::Options {
                    source: options.source.clone(),
                    to: file.clone(),
                    datadir: None,
                    list: None,
                    state: options.state.clone(),
                    threads: load.threads,
                    filter: load.filter.clone(),
                },
            );
            let done = saved.and_then(|_| read(&file));
            // It is of this moment, and of no use later.
            let _ = std::fs::remove_file(&file);
            done
        }
    }
}

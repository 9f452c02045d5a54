//! `penstock report`, and what a lost record means to the verbs that keep one.

use crate::args::report::Report;
use crate::screen::{Screen, report as shown};
use ::report::html;
use ::run::Run;
use base::{Kind, Result};
use report::record::Kept;
use std::path::Path;

/// Makes the page, and shows the same in short.
pub fn report(a: &Report, screen: &Screen) -> Result<u8> {
    let to = match &a.to {
        None => html::To::Beside,
        Some(path) if path == Path::new("-") => html::To::Caller,
        Some(path) => html::To::File(path.clone()),
    };
    let options = html::Options {
        runs: a.runs.clone(),
        to,
        force: a.force,
    };
    let done = html::run(&options)?;
    match &done.html {
        Some(html) => screen.document(html)?,
        None => screen.summary(&shown::text(&done), shown::json(&done)),
    }
    Ok(0)
}

/// The exit code of a job that is done, by its own list and by its record.
pub fn code<T>(kept: &Kept<T>, own: u8, run: &Run) -> u8 {
    match &kept.lost {
        None => own,
        Some(e) => {
            run.observer
                .warn(format!("there is no record of this run: {e}"));
            own.max(Kind::Exceptions.exit_code())
        }
    }
}

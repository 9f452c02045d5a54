//! `penstock report`, and the exit code of a verb whose record was lost.

use crate::args::report::Report;
use crate::screen::{Screen, report as shown};
use crate::settings::rules;
use ::report::html;
use ::run::Run;
use base::{Kind, Result};
use report::record::Kept;
use std::path::Path;

/// Makes the page, and shows a short form of it.
pub fn report(a: &Report, screen: &Screen) -> Result<u8> {
    rules::report(a)?;
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
        None => screen.result(&shown::text(&done), shown::json(&done)),
    }
    Ok(0)
}

/// The exit code of a completed job, by its own exceptions and by its record.
pub fn code<T>(kept: &Kept<T>, own: u8, run: &Run) -> u8 {
    match &kept.lost {
        None => own,
        Some(e) => {
            run.observer
                .warn(format!("the record of this run was not written: {e}"));
            own.max(Kind::Exceptions.exit_code())
        }
    }
}

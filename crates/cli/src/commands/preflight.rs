//! `penstock preflight`.

use super::exceptions;
use crate::args::preflight::Preflight;
use crate::screen::Screen;
use crate::settings::preflight::{self as settings, Asked};
use ::preflight as job;
use ::report::record::{self, settings as recorded};
use ::report::summary;
use ::run::Run;
use base::Result;

/// Looks, and shows what was found; or the list of checks, or how devices are striped.
pub fn preflight(a: &Preflight, run: &Run, screen: &Screen) -> Result<u8> {
    let options = match settings::preflight(a)? {
        Asked::List => {
            screen.summary(&summary::preflight_list());
            return Ok(0);
        }
        Asked::Stripe(devices) => {
            screen.summary(&summary::stripe(&job::stripe::plan(&devices)?));
            return Ok(0);
        }
        Asked::Server(options) => options,
    };
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::preflight(&options),
        |run| job::run(run, &options),
        summary::preflight,
    )?;
    screen.summary(&kept.summary);
    let code = exceptions(&kept.summary.exceptions);
    Ok(super::report::code(&kept, code, run))
}

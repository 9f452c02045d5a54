//! `penstock rescue`.

use super::{control, exceptions, report, show};
use crate::args;
use crate::screen::Screen;
use crate::settings;
use ::report::record::{self, settings as recorded};
use ::report::summary;
use base::Result;
use run::Run;
use std::sync::Arc;

/// Runs it.
pub fn rescue(a: &args::rescue::Rescue, run: &Run, screen: &Arc<Screen>) -> Result<u8> {
    let options = settings::rescue::rescue(a)?;
    settings::limit_disk(run, &a.store_limits);
    let _listens = control::listen(run, "rescue", settings::about("into", &options.to));
    let mut kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::rescue(&options),
        |run| rescue::run(run, &options),
        summary::rescue,
    )?;
    show(run, screen, &mut kept.summary);
    Ok(report::code(&kept, exceptions(&kept.done.exceptions), run))
}

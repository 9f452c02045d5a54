//! `penstock snapshot`.

use super::around::Outcome;
use super::{After, control, exceptions, show};
use crate::args::snapshot::{Restore, Snapshot, Take};
use crate::screen::Screen;
use crate::settings::{self, scratch};
use ::report::summary;
use ::snapshot::RestoreOptions;
use base::{Kind, Result};
use run::Run;

/// Runs one of its commands.
pub fn snapshot(command: &Snapshot, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Snapshot::Take(a) => take(a, run, screen),
        Snapshot::Restore(a) => restore(a, run, screen),
        Snapshot::List(_) => {
            let found = snapshot::list(&settings::snapshot::records()?)?;
            screen.summary(&summary::snapshots(&found));
            Ok(0)
        }
        Snapshot::Clean(a) => {
            let options = settings::snapshot::clean(a);
            let records = settings::snapshot::records()?;
            let done = snapshot::clean(run, &records, &options)?;
            if !options.dry_run {
                // Copies of dumps that were killed, and the servers on them.
                scratch::sweep_of_files();
            }
            screen.summary(&summary::snapshot_clean(&done));
            Ok(exceptions(&done.left))
        }
    }
}

fn take(a: &Take, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::snapshot::take(a)?;
    run.limiter.set_rate(a.max_rate);
    settings::limit_disk(run, &a.store_limits);
    let about = match &options.to {
        Some(to) => settings::about("into", to),
        None => "which is kept".to_owned(),
    };
    let _listens = control::listen(run, "snapshot take", about);
    let done = snapshot::take(run, &options)?;
    show(run, screen, &mut summary::snapshot_take(&done));
    Ok(exceptions(&done.manifest.exceptions))
}

fn restore(a: &Restore, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::snapshot::restore(a)?;
    run.limiter.set_rate(a.max_rate);
    let _listens = control::listen(
        run,
        "snapshot restore",
        settings::about("of", &options.from),
    );
    restored(run, screen, &options, After::Nothing).map(|done| done.code)
}

/// Restores, and shows what was done.
pub(super) fn restored(
    run: &Run,
    screen: &Screen,
    options: &RestoreOptions,
    after: After,
) -> Result<Outcome> {
    let done = snapshot::restore(run, options)?;
    let mut shown = summary::snapshot_restore(&done);
    if after == After::Log {
        shown.goes_on();
    }
    show(run, screen, &mut shown);
    let unchecked = done.proof.as_ref().is_some_and(|p| !p.unchecked.is_empty());
    Ok(Outcome {
        code: match unchecked {
            true => Kind::Exceptions.exit_code(),
            false => 0,
        },
        summary: shown.json(),
    })
}

//! `penstock warm`.

use super::{control, exceptions, report, show};
use crate::args::warm::{Check, Copy, Load, Ramp, Save, Status, Warm};
use crate::screen::Screen;
use crate::settings;
use ::report::record::{self, settings as recorded};
use ::report::summary;
use base::Result;
use run::Run;

/// Runs one of its commands.
pub fn warm(command: &Warm, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Warm::Save(a) => save(a, run, screen),
        Warm::Load(a) => load(a, run, screen),
        Warm::Check(a) => check(a, run, screen),
        Warm::Ramp(a) => ramp(a, run, screen),
        Warm::Copy(a) => copy(a, run, screen),
        Warm::Status(a) => status(a, run, screen),
    }
}

fn status(a: &Status, run: &Run, screen: &Screen) -> Result<u8> {
    match settings::warm::status(a)? {
        settings::warm::Shown::File(file) => {
            let set = warm::file::HotSet::read(&file)?;
            screen.summary(&summary::warm_status(&set));
            Ok(0)
        }
        settings::warm::Shown::Server(options) => {
            let done = warm::status::run(run, &options)?;
            screen.summary(&summary::warm_server(&done));
            let missing = done.hot.as_ref().map(|h| h.exceptions.as_slice());
            Ok(exceptions(missing.unwrap_or_default()))
        }
    }
}

fn copy(a: &Copy, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::warm::copy(a)?;
    run.limiter.set_rate(a.max_rate);
    let about = format!("of {}", options.save.source.endpoint);
    let _listens = control::listen(run, "warm copy", about);
    let saved = warm::save::run(run, &options.save)?;
    let loaded = warm::load::run(run, &options.load)?;
    show(run, screen, &mut summary::warm_copy(&saved, &loaded));
    let left = [saved.exceptions, loaded.exceptions].concat();
    Ok(exceptions(&left))
}

fn save(a: &Save, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::warm::save(a)?;
    let _listens = control::listen(run, "warm save", format!("into {}", options.to.display()));
    if a.pages {
        let done = warm::pages::save::run(run, &options)?;
        show(run, screen, &mut summary::warm_save_pages(&done));
        return Ok(exceptions(&done.exceptions));
    }
    let done = warm::save::run(run, &options)?;
    show(run, screen, &mut summary::warm_save(&done));
    Ok(exceptions(&done.exceptions))
}

fn load(a: &Load, run: &Run, screen: &Screen) -> Result<u8> {
    if a.pages {
        let options = settings::warm::load_pages(a)?;
        let about = format!("of {}", options.from.display());
        let _listens = control::listen(run, "warm load", about);
        let done = warm::pages::load::run(run, &options)?;
        show(run, screen, &mut summary::warm_load_pages(&done));
        return Ok(exceptions(&done.exceptions));
    }
    let options = settings::warm::load(a)?;
    run.limiter.set_rate(a.max_rate);
    let about = match &a.from {
        Some(from) => format!("of {}", from.display()),
        None => "of whole indexes".to_owned(),
    };
    let _listens = control::listen(run, "warm load", about);
    let done = warm::load::run(run, &options)?;
    show(run, screen, &mut summary::warm_load(&done));
    Ok(exceptions(&done.exceptions))
}

fn check(a: &Check, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::warm::check(a)?;
    let about = match options.servers.len() {
        1 => "of one server".to_owned(),
        _ => "of two servers".to_owned(),
    };
    let _listens = control::listen(run, "warm check", about);
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::warm_check(&options),
        |run| warm::check::run(run, &options),
        summary::warm_check,
    )?;
    screen.summary(&kept.summary);
    Ok(report::code(&kept, exceptions(&kept.done.exceptions), run))
}

fn ramp(a: &Ramp, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::warm::ramp(a)?;
    let about = format!("of {}", options.server.endpoint);
    let _listens = control::listen(run, "warm ramp", about);
    let done = warm::ramp::run(run, &options)?;
    screen.summary(&summary::warm_ramp(&done));
    Ok(done.code())
}

//! `penstock warm`.

use super::{control, exceptions, show};
use crate::args::warm::{Load, Save, Warm};
use crate::screen::Screen;
use crate::settings;
use ::report::summary;
use base::Result;
use run::Run;

/// Runs one of its commands.
pub fn warm(command: &Warm, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Warm::Save(a) => save(a, run, screen),
        Warm::Load(a) => load(a, run, screen),
        Warm::Status(a) => {
            settings::place::local("FILE", &a.file)?;
            let set = warm::file::HotSet::read(&a.file)?;
            screen.summary(&summary::warm_status(&set));
            Ok(0)
        }
    }
}

fn save(a: &Save, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::warm::save(a)?;
    let _listens = control::listen(run, "warm save", format!("into {}", options.to.display()));
    let done = warm::save::run(run, &options)?;
    show(run, screen, &mut summary::warm_save(&done));
    Ok(exceptions(&done.exceptions))
}

fn load(a: &Load, run: &Run, screen: &Screen) -> Result<u8> {
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

//! `penstock replica`.

use super::{control, exceptions, show};
use crate::args::replica::{Abort, Create, Replica, Status, Verify};
use crate::screen::Screen;
use crate::settings;
use ::report::summary;
use base::{Kind, Result};
use run::Run;

/// The command.
pub fn replica(command: &Replica, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Replica::Create(a) => create(a, run, screen),
        Replica::Status(a) => status(a, run, screen),
        Replica::Verify(a) => verify(a, run, screen),
        Replica::Abort(a) => abort(a, run, screen),
    }
}

fn create(a: &Create, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::replica::create(a)?;
    settings::limit(run, &a.limits, None);
    let about = format!("of {}", options.source.endpoint);
    let _listens = control::listen(run, "replica", about);
    let done = replica::create(run, &options)?;
    show(run, screen, &mut summary::replica(&done));
    Ok(exceptions(&done.exceptions))
}

fn status(a: &Status, run: &Run, screen: &Screen) -> Result<u8> {
    let done = replica::status(run, &settings::replica::status(a)?)?;
    screen.summary(&summary::replica_status(&done));
    let runs =
        |c: &server::replication::Channel| c.applies && c.is_connected() && c.apply_error.is_none();
    Ok(match done.channels.iter().all(runs) {
        true => 0,
        false => Kind::Failed.exit_code(),
    })
}

fn verify(a: &Verify, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::replica::verify(a)?;
    settings::limit(run, &a.limits, None);
    let about = format!("of {}", options.replica.endpoint);
    let _listens = control::listen(run, "verify", about);
    let (dump, limit) = (&options.dump, options.limit);
    let done = replica::compare(run, dump, &options.replica, &options.channel, limit)?;
    show(run, screen, &mut summary::compared(&done));
    Ok(0)
}

fn abort(a: &Abort, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::replica::abort(a)?;
    let source = options.source.as_ref();
    let done = replica::abort(run, &options.server, source, a.drop_data, &options.state)?;
    screen.summary(&summary::replica_abort(&done));
    Ok(exceptions(&done.left))
}

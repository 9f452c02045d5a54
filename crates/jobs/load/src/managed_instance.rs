//! A load into a temporary server instance that penstock initializes, starts and shuts down.

use crate::options::Options;
use crate::summary::Summary;
use crate::tablespace::ImportMode;
use base::{Error, Kind, Result};
use instance::ServerCommand;
use instance::managed;
use run::Run;
use server::Flavour;
use std::sync::mpsc;

/// Runs `load` against the managed instance of the options, or directly if there is none. The instance gets
/// `bytes` of rows, dumped from `source`. `meanwhile` runs while its data directory is initialized; if it
/// fails before the directory is in its place, nothing is left.
pub fn with_managed_instance(
    run: &Run,
    options: &Options,
    bytes: u64,
    source: Option<Flavour>,
    meanwhile: impl FnOnce() -> Result<()>,
    load: impl FnOnce(&Options) -> Result<Summary>,
) -> Result<Summary> {
    let Some(wanted) = &options.managed else {
        return load(options);
    };
    let password = options.target.password.clone();
    let what = managed::Purpose {
        source,
        bytes,
        tablespaces: source.is_some() && options.import_mode != ImportMode::Sql,
        resume: options.resume,
    };
    let _delay = run
        .cancel
        .delay_exit("the temporary server instance is shut down first");
    let instance = managed::begin(run, wanted, password, what)?;
    let (instance, done) = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // If `meanwhile` fails, the start is not completed.
        let start = move || {
            let proceed = || receiver.recv().unwrap_or(false);
            instance
                .start(run, proceed)
                .inspect_err(|e| run.abort(e.clone()))
        };
        let starting = std::thread::Builder::new().spawn_scoped(scope, start);
        let starting = starting.map_err(|e| {
            let what = format!("cannot start a thread: {e}");
            Error::new(Kind::Failed, what).hint("repeat the command with --resume")
        })?;
        let done = meanwhile();
        // The thread may have ended already, and not receive it.
        let _ = sender.send(done.is_ok());
        let _phase =
            (!starting.is_finished()).then(|| run.phase("initializing the data directory", 1));
        let instance = starting.join();
        Ok((
            instance.unwrap_or_else(|p| std::panic::resume_unwind(p)),
            done,
        ))
    })?;
    let instance = match (instance, done) {
        (Ok(instance), Ok(())) => instance,
        (Ok(instance), Err(e)) => return Err(instance.abandoned(e)),
        // If both failed, the second error repeats the first.
        (Err(_), Err(e)) | (Err(e), Ok(())) => return Err(e),
    };
    let mut inner = Options {
        target: instance.wire(),
        server_command: Some(ServerCommand::Managed(instance.mysqld().clone())),
        ..options.clone()
    };
    // The state files about the instance are beside it, and are removed with it.
    inner.tune.state = Some(instance.mysqld().state_directory());
    inner.state.clone_from(&inner.tune.state);
    match load(&inner) {
        Ok(mut done) => {
            if let Some(then) = &options.when_loaded {
                then.0(&inner.target);
            }
            done.managed = Some(instance.finish(run)?);
            Ok(done)
        }
        Err(e) => Err(instance.abandoned(e)),
    }
}

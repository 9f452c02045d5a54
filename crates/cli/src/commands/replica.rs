//! `penstock replica`.

use super::{control, exceptions, show};
use crate::args::replica::{Abort, Create, Replica, Status, Verify};
use crate::screen::Screen;
use crate::settings;
use ::replica::Found;
use ::report::summary;
use base::units::{count, printable};
use base::{Error, Kind, Result};
use run::Run;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The command.
pub fn replica(command: &Replica, json: bool, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Replica::Create(a) => create(a, run, screen),
        Replica::Status(a) => status(a, run, screen),
        Replica::Verify(a) => verify(a, json, run, screen),
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
    let state = settings::state::if_at_home();
    let done = replica::status(run, &settings::replica::status(a)?, state.as_deref())?;
    screen.summary(&summary::replica_status(&done));
    let runs =
        |c: &server::replication::Channel| c.applies && c.is_connected() && c.apply_error.is_none();
    Ok(match done.channels.iter().all(runs) {
        true => 0,
        false => Kind::Failed.exit_code(),
    })
}

fn verify(a: &Verify, json: bool, run: &Run, screen: &Screen) -> Result<u8> {
    settings::rules::repair_sql(a.repair_sql.as_deref(), json)?;
    let options = settings::replica::verify(a)?;
    let (source, replica) = (&options.dump.source, &options.replica);
    if options
        .repair
        .as_deref()
        .is_some_and(|f| f.as_os_str() == "-")
    {
        screen.leave_stdout();
    }
    settings::limit(run, &a.limits, None);
    let about = format!("of {}", replica.endpoint);
    let _listens = control::listen(run, "verify", about);
    let (dump, limit, state) = (&options.dump, options.limit, options.state.as_deref());
    let mut found = Found::default();
    let done = replica::compare(
        run,
        dump,
        replica,
        &options.channel,
        limit,
        state,
        &mut found,
    );
    let done = match (done, &options.repair) {
        (Err(e), Some(file)) if e.kind == Kind::Differs => {
            let ends = (replica.endpoint.to_string(), source.endpoint.to_string());
            let script = found.repair.script(&ends.0, &ends.1, &found.place);
            return Err(match written(file, &script, &found, screen) {
                Ok(what) => e.also(what),
                Err(not) => Error {
                    what: format!("{}\n{}", not.what, e.what),
                    ..not
                },
            });
        }
        (Err(e), None) if e.kind == Kind::Differs => {
            return Err(e.also(found.repair.offer("--repair-sql")));
        }
        (done, _) => done?,
    };
    show(run, screen, &mut summary::compared(&done));
    Ok(0)
}

/// Writes the SQL, and says what it is.
fn written(file: &Path, script: &str, found: &Found, screen: &Screen) -> Result<String> {
    let name = match file.as_os_str() == "-" {
        true => {
            screen.document(script)?;
            "the SQL on standard output".to_owned()
        }
        false => {
            new_file(file, script)?;
            printable(&file.display().to_string())
        }
    };
    let (rows, left) = (found.repair.rows, found.repair.left.len());
    let left = match left {
        0 => String::new(),
        n => format!("; {n} of the differences it does not repair, and names"),
    };
    Ok(match rows {
        0 => format!("{name} repairs nothing, and says why"),
        _ => format!(
            "{name} makes {} rows equal: read it, and run it on the replica{left}",
            count(rows)
        ),
    })
}

/// It has rows, so only this user may read it.
fn new_file(file: &Path, text: &str) -> Result<()> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut open| {
            open.write_all(text.as_bytes())
                .and_then(|()| open.sync_all())
        });
    written.map_err(|e| {
        let what = format!("cannot write --repair-sql {}: {e}", file.display());
        Error::new(Kind::Storage, printable(&what))
    })
}

fn abort(a: &Abort, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::replica::abort(a)?;
    let source = options.source.as_ref();
    let done = replica::abort(run, &options.server, source, a.drop_data, &options.state)?;
    screen.summary(&summary::replica_abort(&done));
    Ok(exceptions(&done.left))
}

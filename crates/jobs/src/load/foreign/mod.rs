//! Dumps of other tools: mysqldump and mariadb-dump scripts, mydumper's,
//! `--tab`, `--dir` and CSV folders.
//!
//! Steps, each a file: `parts` (which files, in which order), `survey` (one
//! pass over all of them before the target is touched: is the dump whole, what
//! does it create, may all of it run), `stream` (statements in their order;
//! the rows of INSERTs go to the loaders in batches), `batch` (rows as lines
//! for LOAD DATA, several tables and several batches of one at a time), `shape`
//! (what a column's literals become).
//!
//! Such a dump has no digests. What holds instead: every statement is
//! understood or sent as it is, where its order matters; every row that was
//! sent is counted by the server, without a warning.

mod batch;
mod begin;
mod parts;
mod settings;
mod shape;
mod stream;
mod survey;

use super::ending::Ending;
use super::journal::Journal;
use super::{Options, Summary, Target, precheck, refused, road};
use crate::{Run, tune};
use base::units::printable;
use base::{Error, Kind, Result};
use server::quote;
use std::path::Path;
use std::time::Instant;

/// Bytes of statements that a batch takes together, one transaction each.
const BATCH: usize = 8 << 20;

/// Whether a path is an archive, which is not for here.
pub fn is_archive(from: &Path) -> Result<bool> {
    if from.as_os_str() == "-" || !from.is_dir() {
        return Ok(false);
    }
    match dumps::directory::detect(from) {
        Ok(dumps::directory::Detected::Archive) => Ok(true),
        Ok(dumps::directory::Detected::Dump(_)) => Ok(false),
        Err(dumps::Error::Unknown { .. }) if is_empty(from) => Err(Error::new(
            Kind::Archive,
            printable(&format!("{} is an empty folder", from.display())),
        )
        .hint("name the folder that holds the dump")),
        // Let the archive's own messages say what is wrong with it.
        Err(dumps::Error::Unknown { .. }) => Ok(true),
        Err(e) => Err(dump_error(from, &e)),
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut list| list.next().is_none())
}

/// Loads a dump that another tool wrote.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    if matches!(options.road, road::Road::Tablespace | road::Road::Cold) {
        run.observer.warn(format!(
            "--road {}: what another tool wrote has no digests to prove a file with, and comes as rows",
            options.road.name()
        ));
    }
    let start = Instant::now();
    if !options.filter.is_empty() {
        // Half of a script is not a smaller dump: its statements need one another.
        return Err(Error::new(
            Kind::Usage,
            "what another tool wrote is loaded whole: it cannot be selected from by schema or table",
        )
        .hint("leave the selection out, or load it elsewhere and dump the part from there with penstock"));
    }
    let parts = parts::of(options)?;
    let survey = if parts.again {
        Some(survey::survey(run, options, &parts)?)
    } else {
        None
    };
    if survey.is_none() && options.resume {
        return Err(Error::new(
            Kind::Usage,
            "standard input cannot be read again, so there is nothing to resume",
        )
        .hint("load it from a file"));
    }
    let bytes = survey.as_ref().map_or(0, |s| s.bytes);
    let nothing = || Ok(());
    let mut done = super::housed(run, options, bytes, None, nothing, |options| {
        surveyed(run, options, &parts, survey.as_ref())
    })?;
    done.seconds = start.elapsed().as_secs_f64();
    Ok(done)
}

/// Loads what is known to be whole, or a stream of which nothing is known.
fn surveyed(
    run: &Run,
    options: &Options,
    parts: &parts::Parts,
    survey: Option<&survey::Survey>,
) -> Result<Summary> {
    let mut target = Target::open(run, options)?;
    precheck::writable(&mut target.conn, &target.id, target.options.tune.level)?;
    let found = match survey {
        Some(survey) => interrupted(&mut target, survey)?,
        None => Found::Nothing,
    };
    let journal = match found {
        Found::Nothing => None,
        Found::Journal(journal) => Some(journal),
        Found::Ending(ending) => {
            run.observer.note(super::ENDED.to_owned());
            return Ok(Summary {
                archive: super::named(&options.from),
                target: target.described(),
                there_bytes: survey.map_or(0, |s| s.bytes),
                threads: options.threads,
                exceptions: ending.exceptions,
                was_complete: true,
                ..Summary::default()
            });
        }
    };
    // Whatever ends this function from here on, `tuning` puts the server's settings back.
    let work = tune::Work {
        bytes: survey.map_or(0, |s| s.bytes),
        split: true,
        binlog: !options.skip_binlog,
        redo: false,
        session: target.conn.id(),
    };
    let tuning = tune::begin(run, &options.tune, &options.target, &target.id, &work)?;
    if tuning.restarted() {
        target.again()?;
    }
    target.prepare()?;
    let done = stream::load(&mut target, parts, survey, journal);
    let done = done.map_err(|e| left_behind(e, &target))?;
    let tuning = tuning.finish();
    target.exceptions.extend(tuning.left.iter().cloned());
    target.notes.sort();
    target.notes.dedup();
    Ok(Summary {
        ending: None,
        there_bytes: 0,
        left_out: done.left_out,
        archive: super::named(&options.from),
        target: target.described(),
        schemas: done.schemas,
        tables: done.tables,
        views: done.views,
        rows: done.rows,
        raw_bytes: done.bytes,
        // Whoever began knows when all is over.
        seconds: 0.0,
        rows_seconds: done.seconds,
        threads: options.threads,
        verified: None,
        held: done.held,
        sizes: Vec::new(),
        road: road::Taken::default(),
        digests: false,
        tuning,
        notes: target.notes,
        exceptions: target.exceptions,
        own: None,
        was_complete: false,
    })
}

/// What a target has of an earlier load.
enum Found {
    /// Nothing, and nothing of the dump either.
    Nothing,
    /// The journal of one that was interrupted, and is gone on with.
    Journal(Journal),
    /// A note that the load which is to be gone on with had come to its end.
    Ending(Ending),
}

/// Finds the journal of an interrupted load of this dump, or makes sure that
/// the target holds nothing of it.
fn interrupted(t: &mut Target<'_>, survey: &survey::Survey) -> Result<Found> {
    let Some(home) = survey.home() else {
        return Ok(Found::Nothing);
    };
    let Some(journal) = t.interrupted(home, &survey.identity)? else {
        // Rows cannot be compared, but nobody else gets at a server of the load's own.
        if t.options.resume
            && t.options.own.is_some()
            && let Some(ending) = Ending::find(t, &survey.identity)
        {
            return Ok(Found::Ending(ending));
        }
        survey::nothing_there(t, survey)?;
        t.nothing_to_resume();
        return Ok(Found::Nothing);
    };
    if !t.resuming {
        let e = refused("a load of this dump into this target was interrupted");
        return Err(left_behind(e, t));
    }
    t.run.observer.note(format!(
        "going on with the interrupted load: {} batches are there",
        journal.chunks()
    ));
    Ok(Found::Journal(journal))
}

/// What a load that failed in the middle has left, and how to go on.
fn left_behind(e: Error, t: &Target<'_>) -> Error {
    if !t.touched {
        return e;
    }
    let mut hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default();
    hint += "the target holds a part of the dump: ";
    if e.kind == Kind::Differs {
        hint = "somebody changed rows on the target while the load was interrupted, or something on it changes them; ".to_owned();
    } else if t.options.from.as_os_str() != "-" {
        hint += "penstock load --resume goes on from there; ";
    }
    hint += "to begin anew, drop ";
    if t.created.is_empty() {
        hint += "what this load created";
    } else {
        let names: Vec<String> = t
            .created
            .iter()
            .map(|c| printable(&quote::ident(c)))
            .collect();
        hint += &format!("the schemas that this load created ({})", names.join(", "));
    }
    Error {
        hint: Some(hint),
        ..e
    }
}

/// What an error of a dump means.
fn dump_error(from: &Path, e: &dumps::Error) -> Error {
    let text = printable(&format!("cannot read {}: {e}", from.display()));
    match e {
        // It names the file by itself.
        dumps::Error::Io { what, source } if *what == from.display().to_string() => Error::new(
            Kind::Storage,
            printable(&format!("cannot read {what}: {source}")),
        )
        .hint("check the path and the permissions"),
        dumps::Error::Io { .. } => Error::new(Kind::Storage, text).hint("check the path and the permissions"),
        dumps::Error::Binary { .. } => Error::new(
            Kind::Archive,
            printable(&format!("{} is no SQL script: {e}", from.display())),
        )
        .hint("nothing of it was loaded; penstock load --help lists what can be"),
        dumps::Error::Unknown { .. } => Error::new(Kind::Archive, text).hint(
            "known are folders of penstock, MySQL Shell, mydumper, mysqldump --tab, mariadb-dump --dir, CSV and TSV beside .sql files; and .sql files",
        ),
        _ => Error::new(Kind::Archive, text)
            .hint("the dump is not whole: fetch it again, or take it again"),
    }
}

//! Dumps of other tools: scripts of mysqldump and mariadb-dump; directories of mydumper, `--tab`, `--dir`
//! and CSV.
//!
//! Steps, each a file: `files` (which files, in which order), `chosen` (which part of it, under which names), `survey` (one pass over all of them before
//! the target is touched: is the dump complete, what does it create, may all of it run by
//! `statement_policy`), `replay` (statements in their order; the rows of INSERTs go to the loaders in
//! batches), `batch` (rows as lines for LOAD DATA, several tables and several batches of one table at a
//! time), `target_table` (how a column's literals are written), `header_row` and `settings` (what the first
//! line of a file, and the script's SETs, mean for rows).
//!
//! Such a dump has no digests. What holds instead: every statement is understood, or sent unchanged in its
//! order; the server counts every row that was sent, without a warning.

mod batch;
mod chosen;
mod files;
mod header_row;
mod replay;
mod settings;
mod statement_policy;
mod survey;
mod target_table;

use crate::managed_instance::with_managed_instance;
use crate::previous_load::{Input, PreviousLoad};
use crate::{Options, Summary, Target, check_writable};
use base::units::printable;
use base::{Error, Kind, Result};
use chosen::Chosen;
use instance::tune;
use run::Run;
use std::path::Path;
use std::time::Instant;
use store::Location;

/// Bytes of statements in a batch, which is one transaction.
const BATCH: usize = 8 << 20;

/// Whether a path is an archive, which this module does not load.
pub fn is_archive(from: &Location) -> Result<bool> {
    let from = match from {
        Location::Stream => {
            return store::stream::is_on_stdin().map_err(|e| {
                Error::new(Kind::Storage, format!("cannot read standard input: {e}"))
            });
        }
        Location::Directory(path) => path,
        // What other tools wrote is read from files of this host.
        Location::Ssh(_) | Location::Object(_) | Location::Memory(_) => return Ok(true),
    };
    if !from.is_dir() {
        if store::stream::is_in(from) {
            let shown = from.display();
            let what = format!("{shown} is an archive as one stream");
            let hint = format!("read it from standard input: penstock load - < {shown}");
            return Err(Error::new(Kind::Usage, printable(&what)).hint(printable(&hint)));
        }
        return part_of_archive(from).map_or(Ok(false), Err);
    }
    // Opening it says what it is.
    if from.join(archive::SNAPSHOT).is_file() {
        return Ok(true);
    }
    match dumps::directory::detect(from) {
        Ok(dumps::directory::Detected::Archive) => Ok(true),
        Ok(dumps::directory::Detected::Dump(_)) => Ok(false),
        Err(dumps::Error::Unknown { .. }) if is_empty(from) => Err(Error::new(
            Kind::Archive,
            printable(&format!("{} is an empty directory", from.display())),
        )
        .hint("name the directory that holds the dump")),
        Err(e @ dumps::Error::Unknown { .. }) => unknown(from, &e),
        Err(e) => Err(dump_error(from, &e)),
    }
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut list| list.next().is_none())
}

/// The error of a file that is only a part of an archive.
fn part_of_archive(file: &Path) -> Option<Error> {
    let directory = file.parent()?;
    let is_part = |name: &str| directory.join(name).is_file();
    let name = file.file_name()?.to_string_lossy();
    // A script that lies beside an archive is none of its files: each of those has one of metadata, or a name with an @.
    let beside = is_script(&name)
        && !name.contains('@')
        && !name
            .strip_suffix(".sql")
            .is_some_and(|base| is_part(&format!("{base}.json")));
    if beside || !["@.json", "penstock.json"].iter().any(|n| is_part(n)) || !file.is_file() {
        return None;
    }
    let what = format!(
        "{} is one file of the archive {}",
        file.display(),
        directory.display()
    );
    let hint = format!("name the archive: penstock load {}", directory.display());
    Some(Error::new(Kind::Usage, printable(&what)).hint(printable(&hint)))
}

fn is_script(name: &str) -> bool {
    let ends = [".sql", ".sql.gz", ".sql.zst", ".sql.bz2", ".sql.xz"];
    ends.iter().any(|end| name.ends_with(end))
}

/// Whether a directory without the first file of an archive is one nevertheless: opening it as an archive then
/// reports what is wrong with it.
fn unknown(from: &Path, e: &dumps::Error) -> Result<bool> {
    let entries = std::fs::read_dir(from).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    if names.iter().any(|n| n.contains('@')) {
        return Ok(true);
    }
    names.retain(|n| is_script(n));
    names.sort();
    let Some(first) = names.first() else {
        return Err(dump_error(from, e));
    };
    let more = if names.len() > 1 { " and others" } else { "" };
    Err(Error::new(
        Kind::Usage,
        printable(&format!(
            "{} is no dump: it holds the script {first}{more}",
            from.display()
        )),
    )
    .hint(printable(&format!(
        "a script is loaded by its own name: penstock load {}",
        from.join(first).display()
    ))))
}

/// Loads a dump that another tool wrote.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let chosen = Chosen::of(options);
    let mut files = files::of(options)?;
    if !chosen.is_whole() && !files.rereadable {
        return Err(Error::new(
            Kind::Usage,
            "a selection, or other names, need two passes over a dump, and a pipe can be read once",
        )
        .hint("load it from a file, which may be compressed (.gz, .zst, .bz2, .xz)"));
    }
    let passed_over = chosen.files(&mut files);
    let survey = if files.rereadable {
        Some(survey::survey(run, options, &files, &chosen, passed_over)?)
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
    let mut done = with_managed_instance(run, options, bytes, None, nothing, |options| {
        load_surveyed(run, options, &files, survey.as_ref(), &chosen)
    })?;
    done.seconds = start.elapsed().as_secs_f64();
    Ok(done)
}

/// Loads what the survey has read, or standard input, of which nothing is known.
fn load_surveyed(
    run: &Run,
    options: &Options,
    files: &files::InputFiles,
    survey: Option<&survey::Survey>,
    chosen: &Chosen<'_>,
) -> Result<Summary> {
    let bytes = survey.map_or(0, |s| s.bytes);
    let input = Input {
        word: "dump",
        schemas: survey.map(|s| s.schemas.len()),
        pieces: "batches".to_owned(),
        journal: survey
            .and_then(survey::Survey::home)
            .map(|home| server::quote::qualified(home, crate::journal::TABLE)),
    };
    let mut target = Target::open(run, options)?;
    check_writable(&mut target.conn, &target.id, Some(options.tune.level))?;
    let journal = match previous_load(&mut target, &input, survey)? {
        PreviousLoad::None => None,
        PreviousLoad::Interrupted(journal) => Some(*journal),
        PreviousLoad::Completed(completion) => {
            return Ok(Summary {
                already_loaded_bytes: bytes,
                exceptions: completion.exceptions,
                already_complete: true,
                ..Summary::of(target, tune::Report::default())
            });
        }
    };
    let profile = tune::LoadProfile {
        bytes,
        split: true,
        binlog: !options.skip_binlog,
        redo: false,
        session: target.conn.id(),
    };
    let tuning = target.tuned(&profile)?;
    target
        .report
        .notes
        .extend(crate::rename::in_words(&options.names));
    let done = replay::load(&mut target, files, survey, chosen, journal);
    let done = done.map_err(|e| input.partial_load_hint(e, &target))?;
    Ok(Summary {
        schemas: done.schemas,
        tables: done.tables,
        views: done.views,
        rows: done.rows,
        raw_bytes: done.bytes,
        rows_seconds: done.seconds,
        bottleneck: done.bottleneck,
        skipped_statements: done.skipped,
        ..Summary::of(target, tuning.finish())
    })
}

/// Finds an earlier load of this dump, or makes sure that the target holds nothing of it.
fn previous_load(
    t: &mut Target<'_>,
    input: &Input,
    survey: Option<&survey::Survey>,
) -> Result<PreviousLoad> {
    let Some((home, survey)) = survey.and_then(|s| Some((s.home()?, s))) else {
        return Ok(PreviousLoad::None);
    };
    let key = (home, survey.identity.as_str());
    // Without digests, rows cannot be compared.
    PreviousLoad::find(t, input, key, false, |t, completion| {
        if completion.is_some() {
            return Ok(true);
        }
        survey::nothing_there(t, survey)?;
        Ok(false)
    })
}

/// An error of a dump, with its kind and a hint.
fn dump_error(from: &Path, e: &dumps::Error) -> Error {
    let text = printable(&format!("cannot read {}: {e}", from.display()));
    match e {
        // The error names the file.
        dumps::Error::Io { what, source } if *what == from.display().to_string() => Error::new(
            Kind::Storage,
            printable(&format!("cannot read {what}: {source}")),
        )
        .hint("check the path and the permissions"),
        dumps::Error::Io { .. } => Error::new(Kind::Storage, text).hint("check the path and the permissions"),
        dumps::Error::Binary { .. } => Error::new(
            Kind::Archive,
            printable(&format!("{} is not an SQL script: {e}", from.display())),
        )
        .hint("nothing was loaded; penstock load --help lists what can be loaded"),
        dumps::Error::Parent { path, names } => {
            let first = names.first().map(String::as_str).unwrap_or_default();
            let example = path.join(first).display().to_string();
            Error::new(Kind::Usage, printable(&e.to_string())).hint(printable(&format!(
                "name one of them: penstock load {example}"
            )))
        }
        dumps::Error::Unknown { .. } => Error::new(Kind::Archive, text).hint(
            "supported are directories of penstock, MySQL Shell, mydumper, mysqldump --tab, mariadb-dump --dir, CSV and TSV with .sql files; and .sql files",
        ),
        _ => Error::new(Kind::Archive, text)
            .hint("the dump is incomplete: copy it again, or take it again"),
    }
}

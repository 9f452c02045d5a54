//! From a server into others by way of an archive: its tables can become tablespaces on the target's host, and what was
//! interrupted can be resumed. The archive is removed when all of it is on every target.
//!
//! Invariant: only an archive that a copy has made is removed; its manifest says so. It is removed when all of its loads have
//! succeeded, and that was said.

use crate::targets::{Targets, all_complete, joined, reached};
use archive::manifest::{MANIFEST, Manifest};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use dump::complete::{Earlier, find, is_in_between};
use run::{Run, connect, failure};
use serde::{Deserialize, Serialize};
use server::filter::is_system_schema;
use server::quote;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use store::{Location, Store};

/// What to copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source, and the place of the archive.
    pub dump: dump::Options,
    /// The targets, and how they are loaded from there.
    pub loads: Vec<load::Options>,
}

/// How the archive came to be.
#[derive(Clone, Debug)]
pub enum Dumped {
    /// This run has made it, or the rest of it.
    Now(Box<dump::Summary>),
    /// An earlier run had.
    Earlier(Earlier),
    /// An earlier run had completed the copy, and was killed before all of the archive was removed: what it lacked.
    Over(Vec<String>),
}

impl Dumped {
    fn exceptions(&self) -> &[String] {
        match self {
            Dumped::Now(dump) => &dump.exceptions,
            Dumped::Earlier(earlier) => &earlier.exceptions,
            Dumped::Over(lacking) => lacking,
        }
    }
}

/// What was copied.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The archive.
    pub dumped: Dumped,
    /// The targets.
    pub loads: Vec<load::Summary>,
    /// Where the archive is, for [`Summary::end`].
    place: Location,
    /// Tells this copy from another one by way of the same place.
    command: String,
    /// Keeps other copies from the archive.
    _held: Held,
    /// Whether this run has made that place.
    made_place: bool,
    /// Whether a part of the source was left out: its log changes more than that.
    pub partial: bool,
    /// The whole run, in seconds.
    pub seconds: f64,
}

impl Summary {
    /// What is not as on the source, by name.
    pub fn exceptions(&self) -> Vec<String> {
        super::servers::exceptions(self.dumped.exceptions().to_vec(), &self.loads)
    }

    /// The user knows that the copy is complete: what it could be resumed with is removed.
    pub fn end(&self) -> Result<()> {
        for load in &self.loads {
            load.acknowledged();
        }
        let copied = Copied {
            command: self.command.clone(),
            lacking: self.exceptions(),
        };
        remove(&self.place, self.made_place, &copied)
    }
}

/// Copies from one server into others.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let place = options.dump.to.location();
    let made_place = is_new(place);
    let command = command(options);
    let summary = |dumped, loads, held| Summary {
        dumped,
        loads,
        place: place.clone(),
        command: command.clone(),
        _held: held,
        made_place,
        partial: super::servers::leaves_out(&options.dump),
        seconds: start.elapsed().as_secs_f64(),
    };
    if options.dump.resume
        && let Some(copied) = over(place)?
    {
        let held = hold(place)?;
        if copied.command == command {
            return Ok(summary(Dumped::Over(copied.lacking), Vec::new(), held));
        }
        // Of another copy, which was complete: this one begins.
        remove(place, false, &copied)?;
    }
    reached(run, &options.loads)?;
    for load in &options.loads {
        fit(run, &options.dump, load)?;
    }
    let dumped = dump(run, &options.dump)?;
    let held = hold(place)?;
    let targets = Targets::new(options.loads.len());
    targets.source_is_read(&*run.observer);
    // What was limited was the reading; `pause` and `status` go on with the loads.
    run.limiter.set_rate(None);
    let of = |observer| run.below().with_observer(observer);
    let loads = options.loads.clone();
    let loaded = std::thread::scope(|scope| joined(targets.load(scope, run, loads, of)));
    let kept = |e: Error| {
        e.also(format!(
            "the archive is kept in {place}: the same command with --resume continues with it"
        ))
    };
    run.check().map_err(kept)?;
    let loads = all_complete(loaded, targets.failed()).map_err(kept)?;
    Ok(summary(dumped, loads, held))
}

/// What is copied, from where and to where.
fn command(options: &Options) -> String {
    let mut all = blake3::Hasher::new();
    let mut add = |text: String| {
        all.update(text.as_bytes());
        all.update(&[0]);
    };
    add(options.dump.source.endpoint.to_string());
    add(format!("{:?}", dump::complete::part(&options.dump)));
    let of = |load: &load::Options| format!("{} {:?}", load.target.endpoint, load.names);
    let mut targets: Vec<String> = options.loads.iter().map(of).collect();
    targets.sort();
    targets.into_iter().for_each(add);
    all.finalize().to_hex().to_string()
}

/// Refuses, before hours of dumping, a target that no load could use.
fn fit(run: &Run, dump: &dump::Options, load: &load::Options) -> Result<()> {
    let (mut source, of) = connect::open(run, &dump.source)?;
    let (mut target, id) = connect::open(run, &load.target)?;
    let name = &load.target.endpoint;
    let refused = |kind, what: String, hint: &str| Err(Error::new(kind, what).hint(hint));
    if of.same_server(&id) {
        let what = format!("{name} is the source itself");
        return refused(Kind::Target, what, "name another server");
    }
    dump::not_within(&dump.to, &id)?;
    if id.variable("local_infile") == Some("OFF") {
        let what = format!("LOAD DATA LOCAL is off on {name} (local_infile = OFF)");
        let hint = "SET GLOBAL local_infile = ON while the copy runs, and OFF afterwards";
        return refused(Kind::Privilege, what, hint);
    }
    if dump.resume || !load.names.is_empty() {
        return Ok(());
    }
    let there = tables(&mut target)?;
    if there.is_empty() {
        return Ok(());
    }
    let wanted = tables(&mut source)?;
    let taken = |t: &&(String, String)| wanted.contains(*t) && load.filter.table(&t.0, &t.1);
    match there.iter().find(taken) {
        None => Ok(()),
        Some((schema, table)) => {
            let table = printable(&quote::qualified(schema, table));
            let what = format!("the target already holds table {table} ({name})");
            let hint = "nothing is ever overwritten: drop it, choose others with --include-tables or --exclude-tables, or another server; if an earlier copy with --via was interrupted, --resume continues it";
            refused(Kind::Target, what, hint)
        }
    }
}

/// The tables and views of users, by schema and name.
fn tables(conn: &mut wire::Conn) -> Result<BTreeSet<(String, String)>> {
    let sql = "SELECT table_schema, table_name FROM information_schema.tables";
    let rows = conn.fetch(sql);
    let rows = rows.map_err(|e| failure::wire("cannot list tables", e))?;
    let text = |cell: Option<Vec<u8>>| cell.map(|c| String::from_utf8_lossy(&c).into_owned());
    let name = |row: Vec<Option<Vec<u8>>>| {
        let mut cells = row.into_iter();
        Some((text(cells.next()?)?, text(cells.next()?)?))
    };
    let all = rows.into_iter().filter_map(name);
    Ok(all
        .filter(|(schema, _)| !is_system_schema(schema))
        .collect())
}

/// An archive in between that is used.
#[derive(Clone)]
pub struct Held {
    _store: Arc<dyn Store>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

/// Keeps other copies from the archive, where its place can do that: whoever has it is the one that removes it.
pub fn hold(place: &Location) -> Result<Held> {
    let opened = place.open_alone(None);
    let opened = opened.map_err(|e| match e.busy() {
        true => Error::new(
            Kind::Target,
            format!("another copy is using the archive in {place}"),
        )
        .hint("wait for it, or name another place"),
        false => failure::store(format_args!("cannot open {place}"), &e),
    });
    opened.map(|store| Held { _store: store })
}

/// Whether nothing is there.
pub fn is_new(place: &Location) -> bool {
    place.path().is_some_and(|path| !path.exists())
}

/// Makes the archive, or what an interrupted run has not made of it.
pub fn dump(run: &Run, options: &dump::Options) -> Result<Dumped> {
    if options.resume
        && let Some(earlier) = find(run, options)?
    {
        run.observer.note(format!(
            "the archive in {} is complete, of {}: going on behind it",
            options.to, earlier.moment
        ));
        return Ok(Dumped::Earlier(earlier));
    }
    let dumped = dump::run(run, options);
    let dumped = dumped.map_err(|e| match e.kind {
        Kind::Target if !options.resume => e.also(
            "--resume continues a copy by way of an archive that was interrupted, with the same selection",
        ),
        _ => failure::of_server("the source", e),
    });
    dumped.map(|dumped| Dumped::Now(Box::new(dumped)))
}

/// A copy that is complete.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Copied {
    /// Tells it from others by way of the same place; nothing where something else does.
    command: String,
    /// What it lacked, by name.
    lacking: Vec<String>,
}

/// In the place of an archive whose copy is complete, until all of it is removed: JSON of [`Copied`].
const OVER: &str = "penstock.copied.json";

/// Most bytes of that file.
const LIMIT: u64 = 16 << 20;

/// The copy whose archive was there, if that was being removed.
fn over(place: &Location) -> Result<Option<Copied>> {
    let store = match place.open(None) {
        Err(e) if e.not_found() => return Ok(None),
        store => store.map_err(|e| cannot_remove(place, &e))?,
    };
    match store.read_all(OVER, LIMIT) {
        Err(e) if e.not_found() => Ok(None),
        Err(e) => Err(cannot_remove(place, &e)),
        // What was cut off was not written to its end.
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).unwrap_or_default())),
    }
}

fn cannot_remove(place: &Location, e: &store::Error) -> Error {
    failure::store(format_args!("cannot remove {place}"), e)
}

/// Goes on with the removal of an archive that was loaded, if a run was killed meanwhile.
pub fn end_removal(place: &Location) -> Result<()> {
    match over(place)? {
        Some(copied) => remove(place, false, &copied),
        None => Ok(()),
    }
}

/// Removes the archive, when all of it is where it was to go; `made`: with its directory.
pub fn remove(place: &Location, made: bool, copied: &Copied) -> Result<()> {
    let cannot = |e: store::Error| cannot_remove(place, &e);
    let store = place.open(None).map_err(cannot)?;
    let unread = |e| failure::archive(format_args!("cannot remove {place}"), &e);
    let manifest = Manifest::read(&*store).map_err(unread)?;
    if manifest.as_ref().is_some_and(|m| !is_in_between(m)) {
        let what = format!("the archive in {place} was made for keeps");
        return Err(Error::new(Kind::Internal, what));
    }
    store
        .put(OVER, archive::meta::to_json(copied).as_bytes())
        .map_err(cannot)?;
    let files = manifest.iter().flat_map(|m| m.files.keys());
    // The manifest says what else is to go.
    for name in files.map(String::as_str).chain([MANIFEST, OVER]) {
        match store.remove(name) {
            Err(e) if !e.not_found() => return Err(cannot(e)),
            _ => {}
        }
        failpoint::reached("a file of the archive is removed");
    }
    if made && let Some(path) = place.path() {
        // Files of others stay, and so does it then.
        let _ = std::fs::remove_dir(path);
    }
    Ok(())
}

//! `warm load --pages`: the list of one server is loaded by another one, whose files are physically the same.
//!
//! Invariant: only pages of tablespaces are loaded that have the same number and name here, and whose pages have the marks
//! that they had there. The server's settings and its own list are as before at the end; a stop aborts the load.

use super::file::{HotPages, Space};
use super::marks;
use crate::load::room;
use crate::{datadir, dictionary};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::tune;
use run::{Run, failure};
use server::{Filter, Identity};
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::Conn;

/// Our list, where the server can be told its name.
const NAME: &str = "ib_buffer_pool.penstock";

/// What is added to the name of the server's own list while ours is in its place.
const KEPT: &str = ".penstock-kept";

/// The share of all marks that has to be found for the files to be of one origin. Loaded tables have none of them.
const LEAST: f64 = 0.1;

/// A tablespace with so many marks of which none is found was made again since.
const ENOUGH: usize = 8;

/// How often the server is asked how far it is.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// How long the server may take to begin, and to abort.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub target: wire::Options,
    /// The file of hot pages.
    pub from: PathBuf,
    /// Its data directory as it is seen from here; `None`: as the server names it.
    pub datadir: Option<PathBuf>,
    /// The share of the buffer pool that may be filled, from 0 to 1.
    pub share: f64,
    /// The directory of journals.
    pub state: PathBuf,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server.
    pub target: String,
    /// Tablespaces of which pages were loaded.
    pub spaces: u64,
    /// Pages of the list that the server loaded.
    pub pages: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Marks that were looked for, and those that were found.
    pub marks: (u64, u64),
    /// Pages that there was no room for.
    pub no_room: u64,
    /// Pages that the files here do not have.
    pub beyond: u64,
    /// Bytes that the server read from its files meanwhile, for others too.
    pub bytes_read: u64,
    /// What the server said at the end.
    pub said: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Tablespaces that are not the same here.
    pub exceptions: Vec<String>,
}

/// Loads.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let set = HotPages::read(&options.from)?;
    let (mut conn, id) = run::connect::open(run, &options.target)?;
    let size = id.innodb_page_size;
    if size != set.header.page_size {
        return Err(other_files(format!(
            "its pages have {size} bytes, those of the list {}",
            set.header.page_size
        )));
    }
    let datadir = datadir::of(&id, options.datadir.as_deref())?;
    let phase = run.phase("comparing files", 1);
    let mut parts = HashMap::new();
    for part in dictionary::read(&mut conn, &id, &datadir)? {
        parts.insert((part.space, super::save::name(&part)), part);
    }
    let mut found = Found::default();
    for space in &set.spaces {
        run.check()?;
        let named = space.name.split_once('/').unwrap_or_default();
        let table = named.1.split(" partition ").next().unwrap_or_default();
        if !options.filter.table(named.0, table) {
            continue;
        }
        let part = parts.get(&(space.space, space.name.clone()));
        found.compare(space, part.map(|p| p.path.as_path()), size);
    }
    drop(phase);
    if found.spaces.is_empty() || (found.equal as f64) < found.marks as f64 * LEAST {
        return Err(other_files(format!(
            "of {} marks of pages, {} are found in its files",
            found.marks, found.equal
        )));
    }
    let most = (room(&id, options.share) / size.max(1)) as usize;
    found.hot.sort_by_key(|(heat, ..)| *heat);
    let no_room = found.hot.len().saturating_sub(most);
    found.hot.truncate(most);
    let before = bytes_read(&mut conn)?;
    let phase = run.phase("pages", 1);
    phase
        .counters
        .bytes_expected
        .set(found.hot.len() as u64 * size);
    let list = List::put(run, &mut conn, &id, options, &datadir, &found.hot)?;
    let said = supervise(run, &mut conn, |done| phase.counters.bytes.set(done * size));
    list.remove()?;
    let said = said?;
    drop(phase);
    Ok(Summary {
        target: id.to_string(),
        spaces: found.spaces.len() as u64,
        pages: found.hot.len() as u64,
        page_size: size,
        marks: (found.marks as u64, found.equal as u64),
        no_room: no_room as u64,
        beyond: found.beyond,
        bytes_read: bytes_read(&mut conn)?.saturating_sub(before),
        said,
        seconds: start.elapsed().as_secs_f64(),
        exceptions: found.exceptions,
    })
}

fn other_files(why: String) -> Error {
    Error::new(
        Kind::Target,
        format!("the server's files are not those of the list: {why}"),
    )
    .hint("a list of pages fits physical copies only (a snapshot, a clone, mariadb-backup); save and load key ranges instead: without --pages")
}

/// What the files of this server have of the list.
#[derive(Default)]
struct Found {
    spaces: Vec<u32>,
    /// Heat, tablespace, page.
    hot: Vec<(u16, u32, u32)>,
    marks: usize,
    equal: usize,
    beyond: u64,
    exceptions: Vec<String>,
}

impl Found {
    fn compare(&mut self, space: &Space, path: Option<&Path>, size: u64) {
        let mut left_out = |why: String| {
            let what = format!("{}, tablespace {}: {why}", space.name, space.space);
            self.exceptions.push(printable(&what));
        };
        let Some(path) = path else {
            self.marks += space.marks.len();
            return left_out("there is no such tablespace here".to_owned());
        };
        let looked = marks::pages(path, size)
            .and_then(|pages| Ok((pages, marks::equal(path, size, &space.marks)?)));
        let (pages, equal) = match looked {
            Ok(looked) => looked,
            Err(e) => return left_out(format!("{}: {e}", path.display())),
        };
        self.marks += space.marks.len();
        self.equal += equal;
        if equal == 0 && space.marks.len() >= ENOUGH {
            let here = format!("it has {} pages there and {pages} here", space.pages);
            return left_out(format!("its file is another one here ({here})"));
        }
        self.spaces.push(space.space);
        for (page, heat) in &space.hot {
            match u64::from(*page) < pages {
                true => self.hot.push((*heat, space.space, *page)),
                false => self.beyond += 1,
            }
        }
    }
}

/// Our list in the server's data directory, until it is removed.
struct List<'r> {
    path: PathBuf,
    /// The server's own list, which ours has replaced.
    kept: Option<PathBuf>,
    tuning: Option<tune::Tuning<'r>>,
    is_removed: bool,
}

impl<'r> List<'r> {
    fn put(
        run: &'r Run,
        conn: &mut Conn,
        id: &Identity,
        options: &Options,
        datadir: &Path,
        hot: &[(u16, u32, u32)],
    ) -> Result<List<'r>> {
        let own = id
            .variable("innodb_buffer_pool_filename")
            .unwrap_or("ib_buffer_pool");
        let mut list = List {
            path: datadir.join(if id.is_mariadb() { own } else { NAME }),
            kept: None,
            tuning: None,
            is_removed: false,
        };
        let failed = |path: &Path, e: &io::Error| {
            let shown = printable(&path.display().to_string());
            Error::new(Kind::Storage, format!("cannot write {shown}: {e}"))
                .hint("run as the account of the server or as root, on its host")
        };
        if id.is_mariadb() {
            // It cannot be told another name while it runs.
            let kept = datadir.join(format!("{own}{KEPT}"));
            let moved = match kept.exists() {
                // A run was killed: its own list is that one.
                true => Ok(()),
                false => std::fs::rename(&list.path, &kept),
            };
            match moved {
                Ok(()) => list.kept = Some(kept),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(failed(&list.path, &e)),
            }
        }
        write(&list.path, datadir, hot).map_err(|e| failed(&list.path, &e))?;
        failpoint::reached("a list of pages is there");
        if !id.is_mariadb() {
            let changes = vec![("innodb_buffer_pool_filename", NAME.to_owned())];
            let tuning = tune::begin_with(run, &options.state, &options.target, id, changes)?;
            let rows = conn
                .fetch("SELECT @@GLOBAL.innodb_buffer_pool_filename")
                .map_err(|e| failure::wire("cannot read the server's settings", e))?;
            if rows.first().and_then(|r| r.first()?.as_deref()) != Some(NAME.as_bytes()) {
                let why = tuning.finish().not_changed.into_iter().next();
                let why = why.unwrap_or_else(|| "another session has changed it".to_owned());
                let what = format!("innodb_buffer_pool_filename cannot be set: {why}");
                return Err(Error::new(Kind::Privilege, what).hint("grant what is missing"));
            }
            list.tuning = Some(tuning);
        }
        Ok(list)
    }

    /// Puts back what was there; the error names what is left.
    fn remove(mut self) -> Result<()> {
        if let Some(tuning) = self.tuning.take() {
            tuning.finish();
        }
        self.put_back().map_err(|e| {
            let shown = printable(&self.path.display().to_string());
            Error::new(Kind::Storage, format!("cannot put {shown} back: {e}")).hint(
                "it holds numbers of pages only; the server writes it again when it is shut down",
            )
        })
    }

    fn put_back(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_removed, true) {
            return Ok(());
        }
        match &self.kept {
            Some(kept) => std::fs::rename(kept, &self.path),
            None => std::fs::remove_file(&self.path),
        }
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        // What cannot be put back was reported, or another error is.
        let _ = self.put_back();
    }
}

/// Writes a list that the server can read; it appears complete.
fn write(path: &Path, datadir: &Path, hot: &[(u16, u32, u32)]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(datadir)?;
    let mut text = io::BufWriter::new(&mut file);
    for (_, space, page) in hot {
        writeln!(text, "{space},{page}")?;
    }
    text.flush()?;
    drop(text);
    let owner = std::fs::metadata(datadir)?;
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::fchown(file.as_file(), Some(owner.uid()), Some(owner.gid()))?;
    }
    file.as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o640))?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

fn status(conn: &mut Conn, name: &str) -> Result<String> {
    let rows = conn
        .fetch(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .map_err(|e| failure::wire("cannot read the server's counters", e))?;
    let cell = rows.first().and_then(|r| r.get(1)?.as_deref());
    Ok(String::from_utf8_lossy(cell.unwrap_or_default()).into_owned())
}

fn bytes_read(conn: &mut Conn) -> Result<u64> {
    Ok(status(conn, "Innodb_data_read")?.parse().unwrap_or(0))
}

/// From when on a load that has not begun is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(3);

const STATUS: &str = "Innodb_buffer_pool_load_status";

/// Has the server load its list, and waits for the end; returns what it said.
fn supervise(run: &Run, conn: &mut Conn, progress: impl Fn(u64)) -> Result<String> {
    let before = a_second_later(run, conn)?;
    run.check()?;
    set(conn, "innodb_buffer_pool_load_now")?;
    failpoint::reached("a load of a list has begun");
    let begin = Instant::now();
    let (mut has_begun, mut asked) = (false, begin);
    loop {
        if run.check().is_err() {
            return Err(abort(run, conn, &before));
        }
        // MariaDB may forget what it was asked for while its thread ends an earlier load.
        if !has_begun && asked.elapsed() > ASK_AGAIN {
            set(conn, "innodb_buffer_pool_load_now")?;
            asked = Instant::now();
        }
        let said = status(conn, STATUS)?;
        has_begun |= said != before;
        if has_begun && said.contains("completed") {
            return Ok(said);
        }
        if has_begun && said.contains("aborted") {
            return Err(Error::new(
                Kind::Target,
                format!("another session has aborted the load: {said}"),
            )
            .hint("start again"));
        }
        if has_begun && ["annot", "rror"].iter().any(|w| said.contains(w)) {
            return Err(Error::new(Kind::Target, format!("the server: {said}"))
                .hint("its error log says more"));
        }
        if let Some(done) = loaded(&said).filter(|_| has_begun) {
            progress(done);
        }
        if !has_begun && begin.elapsed() > PATIENCE {
            return Err(Error::new(
                Kind::Target,
                format!(
                    "the server did not begin to load the list within {} s",
                    PATIENCE.as_secs()
                ),
            )
            .hint("its error log says why"));
        }
        std::thread::sleep(ASK_EVERY);
    }
}

/// What the server says of its last load, which was not within this second: two ends within one second look the same.
fn a_second_later(run: &Run, conn: &mut Conn) -> Result<String> {
    let now = "SELECT DATE_FORMAT(NOW(), '%H:%i:%s')";
    loop {
        let said = status(conn, STATUS)?;
        let rows = conn
            .fetch(now)
            .map_err(|e| failure::wire("cannot read the server's clock", e))?;
        let cell = rows.first().and_then(|r| r.first()?.clone());
        let clock = String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
        if clock.is_empty() || !said.contains(&clock) {
            return Ok(said);
        }
        run.check()?;
        std::thread::sleep(ASK_EVERY);
    }
}

/// Pages in `Loaded 123/456 pages`.
fn loaded(said: &str) -> Option<u64> {
    let (_, rest) = said.split_once("Loaded ")?;
    rest.split('/').next()?.trim().parse().ok()
}

fn set(conn: &mut Conn, variable: &str) -> Result<()> {
    conn.execute(format!("SET GLOBAL {variable} = ON"))
        .map(drop)
        .map_err(|e| failure::wire(format_args!("cannot set {variable}"), e))
}

/// Aborts the load, if it has not ended; the error of a run that was stopped.
fn abort(run: &Run, conn: &mut Conn, before: &str) -> Error {
    if let Err(e) = set(conn, "innodb_buffer_pool_load_abort") {
        return e;
    }
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match status(conn, STATUS) {
            Ok(said) if said == before => std::thread::sleep(ASK_EVERY),
            Ok(said) if said.contains("aborted") || said.contains("completed") => break,
            Ok(_) => std::thread::sleep(ASK_EVERY),
            Err(e) => return e,
        }
    }
    run.interrupted()
        .hint("the server no longer loads; what was read stays in memory")
}

#[cfg(test)]
mod tests {
    use super::loaded;

    #[test]
    fn progress_is_read() {
        assert_eq!(loaded("Loaded 123/456 pages"), Some(123));
        assert_eq!(
            loaded("Buffer pool(s) load completed at 261126 10:00:00"),
            None
        );
    }
}

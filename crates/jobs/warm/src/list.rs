//! Has a server write the list of all pages of its buffer pool into a file in its data directory.
//!
//! Two settings say how: the name of the file, and the share of the pool that is listed. Both are changed for a moment,
//! journalled before (`instance::tune`) and put back: the server's own list stays as it is, and a run that is killed
//! leaves a journal for `penstock doctor --revert`. MariaDB cannot change the name while it runs: its own list is written
//! again, which is what it does at each shutdown; a server that does not do that is refused.

use crate::page_list::PageList;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::tune;
use run::{Run, failure};
use server::Identity;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::Conn;

/// Our file. A fixed name: what cannot be removed is overwritten by the next run, and does not pile up.
const NAME: &str = "ib_buffer_pool.penstock";

/// How long the server may take to write it: it holds the pool's latch only while it copies page numbers.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pages of a server: of the file `list`, or as the server lists them now.
pub fn read(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    list: Option<&Path>,
    state: &Path,
    datadir: &Path,
) -> Result<PageList> {
    let text = match list {
        Some(path) => of_file(path)?,
        None => of_server(run, conn, id, wire, state, datadir)?,
    };
    let instances = id.variable("innodb_buffer_pool_instances");
    let instances = instances.and_then(|n| n.parse().ok()).unwrap_or(1);
    PageList::parse(&text, instances)
        .map_err(|why| Error::new(Kind::Archive, format!("the list of pages: {why}")))
}

/// The list's text.
fn of_server(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    state: &Path,
    datadir: &Path,
) -> Result<String> {
    let own = id
        .variable("innodb_buffer_pool_filename")
        .unwrap_or("ib_buffer_pool");
    let mut changes = vec![("innodb_buffer_pool_dump_pct", "100".to_owned())];
    let name = match id.is_mariadb() {
        true => {
            replaceable(run, id, own)?;
            own
        }
        false => {
            changes.push(("innodb_buffer_pool_filename", NAME.to_owned()));
            NAME
        }
    };
    let path = datadir.join(name);
    let before = mark(&path).map_err(|e| unreadable(datadir, &e))?;
    let tuning = tune::begin_with(run, state, wire, id, changes)?;
    failpoint::reached("settings of a list are made");
    let is_set = name_is(conn, name)?;
    let outcome = match is_set {
        true => write(run, conn, &path, before),
        // Asking now would replace the server's own list.
        false => Ok(String::new()),
    };
    let report = tuning.finish();
    if let Some(why) = report.not_changed.first() {
        return Err(Error::new(
            Kind::Privilege,
            format!("the server cannot be asked for the list of its pages: {why}"),
        )
        .hint("grant what is missing, or let the server write its list and name that file with --list"));
    }
    if !is_set {
        return Err(Error::new(
            Kind::Target,
            "another session has changed innodb_buffer_pool_filename meanwhile",
        )
        .hint("start again"));
    }
    let text = outcome?;
    if !id.is_mariadb()
        && let Err(e) = std::fs::remove_file(&path)
    {
        let shown = printable(&path.display().to_string());
        run.observer.warn(format!(
            "cannot remove {shown}: {e}; it holds numbers of pages only, and the next run overwrites it"
        ));
    }
    Ok(text)
}

/// Whether MariaDB's own list may be written again.
fn replaceable(run: &Run, id: &Identity, own: &str) -> Result<()> {
    let at_shutdown = id.variable("innodb_buffer_pool_dump_at_shutdown");
    if at_shutdown.is_some_and(|v| !v.eq_ignore_ascii_case("ON")) {
        return Err(Error::new(
            Kind::Target,
            format!(
                "the list of pages would replace {}, which this server does not write by itself (innodb_buffer_pool_dump_at_shutdown is off)",
                printable(own)
            ),
        )
        .hint("SET GLOBAL innodb_buffer_pool_dump_now = ON if that file may be replaced, then name it with --list"));
    }
    run.observer.note(format!(
        "the server writes its list {} again, as it does at each shutdown: MariaDB cannot write it under another name",
        printable(own)
    ));
    Ok(())
}

/// Whether the server would write its list to this file.
fn name_is(conn: &mut Conn, name: &str) -> Result<bool> {
    let rows = conn
        .fetch("SELECT @@GLOBAL.innodb_buffer_pool_filename")
        .map_err(|e| failure::wire("cannot read the server's settings", e))?;
    let cell = rows.first().and_then(|r| r.first()?.as_deref());
    Ok(cell == Some(name.as_bytes()))
}

/// A list that the server wrote before.
fn of_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| {
        let shown = printable(&path.display().to_string());
        Error::new(Kind::Archive, format!("cannot read the list {shown}: {e}"))
            .hint("name the file that innodb_buffer_pool_filename says, in the data directory")
    })
}

/// What changes when the server replaces a file.
type Mark = Option<(u64, i64, i64)>;

fn mark(path: &PathBuf) -> io::Result<Mark> {
    let of = |m: Metadata| (m.ino(), m.ctime(), m.ctime_nsec());
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(of(metadata))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Asks for the list, and waits until its file is there: it appears complete, by a rename.
fn write(run: &Run, conn: &mut Conn, path: &PathBuf, before: Mark) -> Result<String> {
    conn.execute("SET GLOBAL innodb_buffer_pool_dump_now = ON")
        .map_err(|e| failure::wire("cannot ask for the list of the buffer pool's pages", e))?;
    let begin = Instant::now();
    loop {
        let now = mark(path).map_err(|e| unreadable(path, &e))?;
        if now.is_some() && now != before {
            return of_file(path);
        }
        if begin.elapsed() > PATIENCE {
            let shown = printable(&path.display().to_string());
            return Err(Error::new(
                Kind::Target,
                format!("the server did not write {shown} within {} s", PATIENCE.as_secs()),
            )
            .hint("check that this is its data directory, seen from here; its error log says what became of the list"));
        }
        run.check()?;
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn unreadable(path: &Path, e: &io::Error) -> Error {
    let shown = printable(&path.display().to_string());
    Error::new(Kind::Storage, format!("cannot read {shown}: {e}")).hint(
        "run as the account of the server or as root, on its host; --datadir names the directory where that is another one from here",
    )
}

//! A table's file from the first byte to the server: the server's own empty
//! file as a template, the new one built beside it and checked, then DISCARD,
//! the file in its place, IMPORT; or, where the server is stopped for it
//! (`swap`), the file in its place.

use super::build::{Failed, Out, Source};
use super::parts::{self, Part};
use super::site::{Place, Site, remove};
use super::turns::Turns;
use super::{Road, Roads};
use crate::load::Target;
use crate::load::journal::{self, Journal};
use crate::run::Stop;
use crate::verify::Compared;
use crate::verify::archived::Proofs;
use crate::{connect, failure};
use archive::open::{Chunk, Table};
use base::units::printable;
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use innodb::build::{self, Builder, Options, Template};
use innodb::layout::Order;
use innodb::page::SIZE;
use innodb::value::Kind as Column;
use innodb::{Exported, Layout};
use server::{quote, session};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Store;
use wire::Conn;

/// The column by which a server keeps rows that have no key.
const NUMBER: &str = "DB_ROW_ID";

/// What became of a table.
#[derive(Clone)]
pub enum Outcome {
    /// The server has taken its file, and its rows are the archive's.
    Taken {
        /// Of so many bytes.
        bytes: u64,
        /// The comparison.
        compared: Compared,
    },
    /// The server has taken its file, but its rows are not the archive's.
    Differs(String),
    /// These keys are to be left to the server, and the rest done again.
    Keys(Vec<String>),
    /// It cannot come as a file, for this reason.
    Unfit(String),
    /// Something was not as it has to be.
    Doubted(String),
}

/// What all tables share.
pub struct Works<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// Compares what was taken.
    pub proofs: &'a Proofs<'a>,
    /// Told of every file.
    pub journal: &'a Journal,
    /// Where the server's files are.
    pub roads: &'a Roads,
    /// At the processor.
    pub turns: Turns,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Threads that build at once.
    pub threads: usize,
    /// For sorting, of each table.
    pub memory: usize,
    /// Told when a table is done.
    pub observer: &'a dyn Observer,
}

/// A connection that hands files over.
pub fn connection(t: &Target<'_>) -> Result<Conn> {
    let mut conn = connect::connection(t.run, &t.options.target)?;
    let prepared = |e| failure::server("cannot prepare a session", e);
    session::for_ddl(&mut conn, &t.id).map_err(prepared)?;
    if t.options.skip_binlog {
        session::skip_binlog(&mut conn, &t.id).map_err(prepared)?;
    }
    Ok(conn)
}

/// The data folder, if it is this server's without a doubt: the description of the journal
/// comes and goes in it as the server is told. Elsewhere a folder of the same name may be another server's.
pub fn proven_site(t: &mut Target<'_>, home: &str) -> Result<Option<Site>> {
    let Ok(site) = Site::find(t) else {
        return Ok(None);
    };
    let lower = t.id.lower_case_table_names != 0;
    let Some(place) = site.place(lower, home, journal::TABLE) else {
        return Ok(None);
    };
    let asked = format!(
        "FLUSH TABLES {} FOR EXPORT",
        quote::qualified(home, journal::TABLE)
    );
    let during = t.conn.execute(asked).is_ok() && place.description.exists();
    t.execute("UNLOCK TABLES", "cannot unlock tables")?;
    let proven = during && !place.description.exists();
    Ok(proven.then_some(site))
}

/// Removes a file that may not be there.
pub fn removed(path: &Path) -> Result<()> {
    remove(path).map_err(|e| storage("remove", path, &e))
}

/// Drops a table, and what is left of its files.
pub fn drop_table(t: &mut Target<'_>, name: &str, place: Option<Place>) -> Result<()> {
    t.execute(
        &format!("DROP TABLE IF EXISTS {name}"),
        &format!(
            "cannot drop table {name}, whose file was on its way when the load was interrupted"
        ),
    )?;
    place
        .iter()
        .flat_map(|p| [&p.file, &p.description])
        .try_for_each(|path| removed(path))
}

fn storage(doing: &str, path: &Path, e: &io::Error) -> Error {
    let what = format!("cannot {doing} {}: {e}", path.display());
    let error = Error::new(Kind::Storage, printable(&what));
    if e.kind() == io::ErrorKind::StorageFull || e.kind() == io::ErrorKind::QuotaExceeded {
        error.hint("make room on the disk of the server's data folder")
    } else {
        error
    }
}

/// The file that is being built; gone unless the server has it.
pub struct Building(Option<PathBuf>);

impl Building {
    /// Moves the file into the place of the server's.
    pub fn put(&mut self, place: &Path) -> io::Result<()> {
        if let Some(path) = &self.0 {
            std::fs::rename(path, place)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = remove(path);
        }
    }
}

/// The server's empty file, and what it says of the table.
struct Blank {
    template: Template,
    exported: Exported,
    description: Vec<u8>,
    /// Of the server's file.
    mode: u32,
}

/// A table that is to get a new file.
pub struct Ready<'p> {
    /// What it is in the archive.
    pub table: &'p Table,
    /// Quoted, qualified.
    pub name: String,
    /// Where the server has its file.
    pub place: Place,
    /// Where the new file is built.
    path: PathBuf,
    blank: Blank,
    columns: Vec<(String, Column)>,
    /// Whether the server imports its file, and need not be stopped for it.
    pub imported: bool,
    /// If it is a partition only: this is the table that takes its rows first.
    pub part: Option<Part>,
}

impl Ready<'_> {
    /// The whole table, quoted, qualified.
    fn whole(&self) -> &str {
        self.part.as_ref().map_or(&self.name, |p| &p.whole)
    }

    /// What the archive has of it.
    fn chunks(&self) -> Vec<&Chunk> {
        let partition = self.part.as_ref().map(|p| &p.partition);
        let all = self.table.chunks.iter();
        all.filter(|c| partition.is_none() || c.partition.as_ref() == partition)
            .collect()
    }

    /// Permissions of the server's file.
    pub fn mode(&self) -> u32 {
        self.blank.mode
    }
}

/// A file that is built and found whole.
pub struct Built {
    /// Where it is.
    pub building: Building,
    /// Its size.
    pub bytes: u64,
}

/// Takes the server's empty files of these tables as templates, and discards them unless the server is going
/// to be stopped; several of a table whose partitions come by themselves. The inner outcome is that of a table
/// which cannot come as a file.
pub fn ready<'p>(
    t: &mut Target<'_>,
    roads: &Roads,
    journal: &Journal,
    tables: &[&'p Table],
) -> Result<Vec<std::result::Result<Vec<Ready<'p>>, Outcome>>> {
    let mut all = Vec::new();
    for table in tables {
        t.run.check()?;
        all.push(if parts::has(table) {
            parts::ready(t, roads, journal, table)?
        } else {
            one_ready(t, roads, journal, table, None)?.map(|ready| vec![ready])
        });
    }
    if t.id.is_mariadb() && all.iter().any(std::result::Result::is_ok) {
        // Its recovery takes a space whose file was discarded since the last checkpoint for deleted, and
        // leaves out whatever was changed in it since, whether a file was imported or not. And of pages that
        // were made since then it does not even look at what the file has, which may be another by then.
        checkpoint(&mut t.conn)?;
    }
    failpoint::reached("empty files are discarded");
    Ok(all)
}

/// The same of one table, or of the one that takes the rows of a partition first.
pub fn one_ready<'p>(
    t: &mut Target<'_>,
    roads: &Roads,
    journal: &Journal,
    table: &'p Table,
    part: Option<(Part, &str)>,
) -> Result<std::result::Result<Ready<'p>, Outcome>> {
    let unfit = |why: String| Ok(Err(Outcome::Unfit(why)));
    let own = part.as_ref().map_or(table.name.as_str(), |p| p.1);
    let name = quote::qualified(&table.schema, own);
    let place = roads.place(&table.schema, own);
    let (Some(site), Some(place)) = (roads.site(), place) else {
        return unfit("the server's files are not known".to_owned());
    };
    let blank = match blank(&mut t.conn, &name, site, &place)? {
        Ok(blank) => blank,
        Err(why) => return unfit(why),
    };
    let columns = match columns(&mut t.conn, table, &name)? {
        Ok(columns) => columns,
        Err(why) => return unfit(why),
    };
    let unknown = |layout: &Layout| {
        let keys = &layout.fields[..layout.keys];
        keys.iter().any(|f| f.order == Order::Unknown)
    };
    let layouts = blank.template.targets.iter().map(|t| &t.layout);
    let unknown: Vec<String> = layouts
        .filter(|l| unknown(l))
        .map(|l| l.name.clone())
        .collect();
    if !unknown.is_empty() {
        return Ok(Err(Outcome::Keys(unknown)));
    }
    // Rows without a key have numbers of the server's. It counts on behind those that it finds in a file only when it imports one.
    let numbered = blank.exported.indexes[0].fields[0].name == NUMBER;
    let imported = t.options.road != Road::Cold || numbered || part.is_some();
    let path = site.building(&name);
    journal.begin_file(&mut t.conn, &name, &path.display().to_string())?;
    failpoint::reached("a file is announced");
    if imported {
        match t
            .conn
            .execute(format!("ALTER TABLE {name} DISCARD TABLESPACE"))
        {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => {
                return unfit(format!(
                    "the server does not let go of their empty files: {e}"
                ));
            }
            Err(e) => return Err(lost(&name, e)),
        }
    }
    Ok(Ok(Ready {
        table,
        name,
        place,
        path,
        blank,
        columns,
        imported,
        part: part.map(|p| p.0),
    }))
}

pub fn lost(name: &str, e: wire::Error) -> Error {
    failure::wire(format_args!("cannot hand {name} over"), e)
}

/// Bytes that a checkpoint itself adds to the log, 16, or 24 with encryption: where nothing else was written since the
/// last one no other is made, and that one stays as far behind.
const OF_CHECKPOINT: u64 = 24;

/// Has MariaDB write a checkpoint.
pub fn checkpoint(conn: &mut Conn) -> Result<()> {
    let failed = |e| failure::wire("cannot have the server write a checkpoint", e);
    let before = lsn(conn, "Innodb_lsn_current")?;
    // While others write, the first one may stop short of what was current.
    for _ in 0..20 {
        conn.execute("SET GLOBAL innodb_log_checkpoint_now = 1")
            .map_err(failed)?;
        if before > 0 && lsn(conn, "Innodb_lsn_last_checkpoint")? + OF_CHECKPOINT >= before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Error::new(
        Kind::Failed,
        "the server did not write a checkpoint when it was asked to",
    )
    .hint("load with --road rows"))
}

fn lsn(conn: &mut Conn, name: &str) -> Result<u64> {
    let rows = conn
        .fetch(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .map_err(|e| failure::wire("cannot read the server's log position", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().nth(1));
    let text = cell.flatten().unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).parse().unwrap_or(0))
}

/// Exports the empty table. The inner error says why it does not do as a template.
fn blank(
    conn: &mut Conn,
    name: &str,
    site: &Site,
    place: &Place,
) -> Result<std::result::Result<Blank, String>> {
    match conn.execute(format!("FLUSH TABLES {name} FOR EXPORT")) {
        Ok(_) => {}
        Err(wire::Error::Server(e)) => {
            return Ok(Err(format!("the server does not export them empty: {e}")));
        }
        Err(e) => return Err(failure::wire(format_args!("cannot export {name}"), e)),
    }
    let read = || -> io::Result<(bool, Vec<u8>, Vec<u8>, u32)> {
        use std::os::unix::fs::PermissionsExt;
        let description = std::fs::read(&place.description)?;
        Ok((
            site.is_near(place)?,
            std::fs::read(&place.file)?,
            description,
            std::fs::metadata(&place.file)?.permissions().mode(),
        ))
    };
    let read = read();
    conn.execute("UNLOCK TABLES")
        .map_err(|e| failure::wire("cannot unlock tables", e))?;
    let (near, file, description, mode) = match read {
        Ok(read) => read,
        Err(e) => {
            return Ok(Err(format!(
                "the server's files of them are not to be read here ({}: {e})",
                place.file.display()
            )));
        }
    };
    if place.description.exists() {
        return Ok(Err(format!(
            "{} is not this server's data folder",
            site.scratch().display()
        )));
    }
    if !near {
        return Ok(Err(
            "their schema's folder is on another device than the data folder".to_owned(),
        ));
    }
    let blank = || -> Result<Blank, String> {
        let exported = Exported::read(&description).map_err(|e| e.to_string())?;
        let template = Template::read(&file, &exported).map_err(|e| e.to_string())?;
        Ok(Blank {
            template,
            exported,
            description: description.clone(),
            mode,
        })
    };
    Ok(blank())
}

impl Works<'_> {
    /// One table, from its chunks to a server that takes its file while it runs. `None` of a partition while others of its
    /// table are on their way.
    pub fn table(
        &self,
        conn: &mut Conn,
        rank: usize,
        ready: &Ready<'_>,
        stop: &Stop<'_>,
    ) -> Result<Option<Outcome>> {
        if let Some(part) = &ready.part {
            return self.part(conn, rank, ready, part, stop);
        }
        let outcome = match self.imported(conn, rank, ready, stop)? {
            Ok(bytes) => {
                self.enter(conn, ready)?;
                self.prove(conn, ready, bytes)?
            }
            Err(outcome) => self.given_up(conn, ready, outcome)?,
        };
        Ok(Some(outcome))
    }

    fn part(
        &self,
        conn: &mut Conn,
        rank: usize,
        ready: &Ready<'_>,
        part: &Part,
        stop: &Stop<'_>,
    ) -> Result<Option<Outcome>> {
        let outcome = if part.is_in_vain() {
            Err(None)
        } else {
            match self.imported(conn, rank, ready, stop)? {
                Ok(bytes) => {
                    // The whole table takes it from its partitions. Told by itself it would be altered, and a MariaDB that is
                    // killed while it alters a table with partitions keeps a file of it for ever.
                    self.number(conn, ready, &ready.name)?;
                    match parts::exchange(conn, part, &ready.name)? {
                        None => Ok(bytes),
                        Some(why) => Err(Some(Outcome::Doubted(why))),
                    }
                }
                Err(outcome) => Err(Some(outcome)),
            }
        };
        parts::remove(conn, self.journal, ready)?;
        Ok(match part.ended(outcome) {
            Some(Ok(bytes)) => {
                self.enter(conn, ready)?;
                Some(self.prove(conn, ready, bytes)?)
            }
            Some(Err(outcome)) => Some(outcome),
            None => None,
        })
    }

    /// Builds the file of a table, and has the server take it; how many bytes it has.
    fn imported(
        &self,
        conn: &mut Conn,
        rank: usize,
        ready: &Ready<'_>,
        stop: &Stop<'_>,
    ) -> Result<std::result::Result<u64, Outcome>> {
        let mut built = match self.built(rank, ready, stop)? {
            Ok(built) => built,
            Err(outcome) => return Ok(Err(outcome)),
        };
        Ok(match self.hand_over(conn, ready, &mut built)? {
            None => Ok(built.bytes),
            Some(why) => Err(Outcome::Doubted(why)),
        })
    }

    /// Builds the file of a table, and checks it. The inner outcome is that of one which is not to be had,
    /// and of which nothing is left.
    pub fn built(
        &self,
        rank: usize,
        ready: &Ready<'_>,
        stop: &Stop<'_>,
    ) -> Result<std::result::Result<Built, Outcome>> {
        let path = &ready.path;
        failpoint::reached("a file is about to be built");
        let building = Building(Some(path.clone()));
        let Some(site) = self.roads.site() else {
            return Ok(Err(Outcome::Unfit(
                "the server's files are not known".into(),
            )));
        };
        let file = site
            .create(path, ready.blank.mode)
            .map_err(|e| storage("create", path, &e))?;
        let out = Out {
            file: &file,
            stop,
            counters: self.counters,
        };
        let pages = match self.build(rank, ready, &out, site) {
            Ok(pages) => pages,
            Err(Failed::Load(e)) => return Err(e),
            Err(Failed::Road(build::Error::Io(e))) => {
                stop.check()?;
                return Err(storage("build", path, &e));
            }
            Err(Failed::Road(e)) => {
                return Ok(Err(match e {
                    build::Error::Unknown(key) => Outcome::Keys(vec![key]),
                    build::Error::Builder(_) => {
                        Outcome::Doubted(format!("its file was not built: {e}"))
                    }
                    e => Outcome::Unfit(e.to_string()),
                }));
            }
        };
        let bytes = u64::from(pages) * SIZE as u64;
        file.set_len(bytes)
            .map_err(|e| storage("build", path, &e))?;
        failpoint::reached("a file is built");
        let turn = self.turns.take(rank);
        self.counters.busy.add(1);
        let doubt = match whole(&out, &ready.blank.exported, self.threads) {
            Ok(doubt) => doubt,
            Err(e) => {
                stop.check()?;
                return Err(storage("read", path, &e));
            }
        };
        self.counters.busy.sub(1);
        // The server spends a good part of an import on waiting for the disk, and on one core.
        drop(turn);
        if let Some(why) = doubt {
            let why = format!("the file that was built for it {why}");
            return Ok(Err(Outcome::Doubted(why)));
        }
        if !ready.imported {
            // A server that imports a file writes all of it; here nobody else does.
            file.sync_all().map_err(|e| storage("write", path, &e))?;
        }
        Ok(Ok(Built { building, bytes }))
    }

    /// A table whose file the server does not get, or has refused.
    fn given_up(&self, conn: &mut Conn, ready: &Ready<'_>, outcome: Outcome) -> Result<Outcome> {
        if matches!(outcome, Outcome::Doubted(_)) {
            // At once: some servers fall over a table whose import failed.
            let name = &ready.name;
            conn.execute(format!("DROP TABLE IF EXISTS {name}"))
                .map_err(|e| failure::wire(format_args!("cannot drop table {name}"), e))?;
            for path in [&ready.place.file, &ready.place.description] {
                removed(path)?;
            }
        }
        Ok(outcome)
    }

    fn build(
        &self,
        rank: usize,
        ready: &Ready<'_>,
        out: &Out<'_>,
        site: &Site,
    ) -> Result<u32, Failed> {
        let (blank, columns) = (&ready.blank, ready.columns.clone());
        let options = Options {
            memory: self.memory,
            folder: site.scratch(),
            threads: self.threads,
        };
        let builder = Builder::new(&blank.template, &blank.exported, columns, out, &options)?;
        let source = Source {
            store: self.store,
            table: ready.table,
            chunks: ready.chunks(),
            counters: self.counters,
            stop: out.stop,
            threads: self.threads,
            turns: &self.turns,
            rank,
        };
        source.build(builder)
    }

    /// Reads the table back.
    pub fn prove(&self, conn: &mut Conn, ready: &Ready<'_>, bytes: u64) -> Result<Outcome> {
        let (compared, what) = self.proofs.table(ready.table)?;
        if let Some(what) = what {
            return Ok(Outcome::Differs(what));
        }
        self.journal.proven(conn, ready.whole())?;
        failpoint::reached("a file is proven");
        Ok(Outcome::Taken { bytes, compared })
    }

    /// Gives the file to the server. `Some` says why it was not taken; the table is to be dropped then.
    fn hand_over(
        &self,
        conn: &mut Conn,
        ready: &Ready<'_>,
        built: &mut Built,
    ) -> Result<Option<String>> {
        let Ready {
            name, place, blank, ..
        } = ready;
        let Some(site) = self.roads.site() else {
            return Ok(Some("the server's files are not known".to_owned()));
        };
        failpoint::reached("a file is about to be handed over");
        let mut placed = || -> io::Result<()> {
            remove(&place.description)?;
            let mut description = site.create(&place.description, blank.mode)?;
            io::Write::write_all(&mut description, &blank.description)?;
            built.building.put(&place.file)
        };
        if let Err(e) = placed() {
            return Ok(Some(format!(
                "its file cannot be put into the place of the server's ({}): {e}",
                place.file.display()
            )));
        }
        failpoint::reached("a file is in its place");
        match conn.execute(format!("ALTER TABLE {name} IMPORT TABLESPACE")) {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => return Ok(Some(format!("its file was not taken: {e}"))),
            Err(e) => return Err(lost(name, e)),
        }
        failpoint::reached("a file is imported");
        // The server does not need it any more, and some leave it.
        let _ = remove(&place.description);
        Ok(None)
    }

    /// Tells of a table that is there.
    pub fn told(&self, ready: &Ready<'_>, outcome: Outcome) -> Outcome {
        if matches!(outcome, Outcome::Taken { .. }) {
            let table = ready.table;
            self.counters.tables.add(1);
            self.observer.event(Event::Table {
                schema: table.schema.clone(),
                table: table.name.clone(),
                rows: table.rows.unwrap_or(0),
                bytes: crate::load::raw_bytes(table),
            });
        }
        outcome
    }

    /// Has AUTO_INCREMENT count on as it did in the source.
    fn number(&self, conn: &mut Conn, ready: &Ready<'_>, name: &str) -> Result<()> {
        if let Some(next) = self.roads.next_number(ready.whole()) {
            // Never below what the rows have: the server looks.
            conn.execute(format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"))
                .map_err(|e| lost(name, e))?;
        }
        Ok(())
    }

    /// The server has the file: what it has to know of it, and the journal.
    pub fn enter(&self, conn: &mut Conn, ready: &Ready<'_>) -> Result<()> {
        let (table, name) = (ready.table, ready.whole());
        if ready.part.is_none() {
            self.number(conn, ready, name)?;
        }
        // The server's own would only come when rows change.
        conn.fetch(format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"))
            .map_err(|e| lost(name, e))?;
        let files = super::files(table);
        self.journal.enter_file(conn, name, &files)?;
        failpoint::reached("a file is entered");
        Ok(())
    }
}

/// What is wrong with a file that was built, if anything.
fn whole(file: &Out<'_>, exported: &Exported, threads: usize) -> io::Result<Option<String>> {
    let mut layouts = Vec::new();
    for i in &exported.indexes {
        match Layout::of(exported, i) {
            Ok(layout) => layouts.push(layout),
            Err(e) => return Ok(Some(format!("is not understood: {e}"))),
        }
    }
    match innodb::check(file, &layouts, threads) {
        Ok(report) if report.is_whole() && report.indexes.iter().all(|i| i.unordered == 0) => {
            Ok(None)
        }
        Ok(report) => Ok(Some(match report.problems.first() {
            Some((page, what)) => format!("is not whole: page {page}: {what}"),
            None => "has records whose order is not known".to_owned(),
        })),
        Err(innodb::check::Error::Io(e)) => Err(e),
        Err(e) => Ok(Some(format!("is not whole: {e}"))),
    }
}

/// The kinds of the columns that the archive has, in its order.
fn columns(
    conn: &mut Conn,
    table: &Table,
    name: &str,
) -> Result<std::result::Result<Vec<(String, Column)>, String>> {
    let sql = format!(
        "SELECT column_name, column_type, character_set_name FROM information_schema.columns \
         WHERE table_schema = {} AND table_name = {} AND extra NOT LIKE '%VIRTUAL%'",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire(format_args!("cannot read the columns of {name}"), e))?;
    let text = |c: Option<&Option<Vec<u8>>>| {
        let cell = c.and_then(Option::as_ref)?;
        Some(String::from_utf8_lossy(cell).into_owned())
    };
    let mut types: HashMap<String, (String, Option<String>)> = rows
        .iter()
        .filter_map(|r| Some((text(r.first())?, (text(r.get(1))?, text(r.get(2))))))
        .collect();
    let mut list = Vec::new();
    for column in &table.meta.options.columns {
        let Some((column_type, charset)) = types.remove(column) else {
            return Ok(Err(
                "the archive has columns that the server's tables lack".into()
            ));
        };
        match Column::of(&column_type, charset.as_deref()) {
            Ok(kind) => list.push((column.clone(), kind)),
            Err(why) => {
                // A list of members would be a reason of its own for each table.
                let why: String = why.to_string().chars().take(40).collect();
                return Ok(Err(format!(
                    "they have columns of a type that is not built ({why})"
                )));
            }
        }
    }
    Ok(if types.is_empty() {
        Ok(list)
    } else {
        Err("they have columns that the archive has no values of".to_owned())
    })
}

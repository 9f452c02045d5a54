//! A table's file from its first byte to a server that has taken it: built beside
//! the server's folders on what `ready` has found, checked, put into its place,
//! imported (or, where the server is stopped for it, left there: `swap`), entered
//! into the journal, and its rows compared.

use super::MethodPlan;
use super::build::{Failed, Source};
use super::cpu_slots::CpuSlots;
use super::datadir::{Datadir, TablePaths, remove};
use super::page_writer::PageWriter;
use super::partitions::{self, PartitionImport};
use super::template::ImportTarget;
use crate::Target;
use crate::journal::{self, Journal};
use base::units::printable;
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use innodb::Layout;
use innodb::build::{self, Builder, Options};
use innodb::check::Written;
use innodb::page::SIZE;
use run::Stop;
use run::connect;
use run::failure;
use server::{quote, session};
use std::io;
use std::path::{Path, PathBuf};
use store::Store;
use verify::Comparison;
use verify::against_archive::TableVerifier;
use wire::Conn;

/// Bytes of rows from which on a file is written around the cache: most of what is smaller is written page by page, and
/// each would have to wait for the disk.
const AROUND_CACHE: u64 = store::direct::BLOCK as u64;

/// What became of a table.
#[derive(Clone)]
pub enum Outcome {
    /// The server has taken its file, and its rows are the archive's.
    Taken {
        /// Of so many bytes.
        bytes: u64,
        /// The comparison.
        compared: Comparison,
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
pub struct Importer<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// Compares what was taken.
    pub proofs: &'a TableVerifier<'a>,
    /// Told of every file.
    pub journal: &'a Journal,
    /// Where the server's files are.
    pub roads: &'a MethodPlan,
    /// At the processor.
    pub turns: CpuSlots,
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
pub fn proven_site(t: &mut Target<'_>, home: &str) -> Result<Option<Datadir>> {
    let Ok(site) = Datadir::find(t) else {
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
pub fn drop_table(t: &mut Target<'_>, name: &str, place: Option<TablePaths>) -> Result<()> {
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

/// The same, of a table whose file was built in this load.
pub fn dropped(conn: &mut Conn, ready: &ImportTarget<'_>) -> Result<()> {
    let name = &ready.name;
    conn.execute(format!("DROP TABLE IF EXISTS {name}"))
        .map_err(|e| failure::wire(format_args!("cannot drop table {name}"), e))?;
    [&ready.place.file, &ready.place.description]
        .into_iter()
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

/// A file that is built and found whole.
pub struct Built {
    /// Where it is.
    pub building: Building,
    /// Its size.
    pub bytes: u64,
}

/// The connection was lost, or something like it, while a file was handed over.
pub fn lost(name: &str, e: wire::Error) -> Error {
    failure::wire(format_args!("cannot hand {name} over"), e)
}

impl Importer<'_> {
    /// One table, from its chunks to a server that takes its file while it runs. `None` of a partition while others of its
    /// table are on their way.
    pub fn table(
        &self,
        conn: &mut Conn,
        rank: usize,
        ready: &ImportTarget<'_>,
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
        ready: &ImportTarget<'_>,
        part: &PartitionImport,
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
                    match partitions::exchange(conn, part, &ready.name)? {
                        None => Ok(bytes),
                        Some(why) => Err(Some(Outcome::Doubted(why))),
                    }
                }
                Err(outcome) => Err(Some(outcome)),
            }
        };
        partitions::remove(conn, self.journal, ready)?;
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
        ready: &ImportTarget<'_>,
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
        ready: &ImportTarget<'_>,
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
        let blank = &ready.blank;
        let targets = &blank.template.targets;
        let layouts: Vec<Layout> = targets.iter().map(|t| t.layout.clone()).collect();
        let check = Written::new(blank.template.format, blank.template.space, &layouts);
        let file = site
            .create(path, blank.mode)
            .map_err(|e| storage("create", path, &e))?;
        let chunks = ready.chunks();
        let rows: u64 = chunks.iter().filter_map(|c| c.raw_bytes).sum();
        // An import reads each page once more and writes it: from the cache, often before the disk has had it.
        let direct = site.is_direct() && !ready.imported && rows >= AROUND_CACHE;
        let out = PageWriter::new(file, direct, check, stop, self.counters);
        let pages = match self.build(rank, ready, &out, stop, site) {
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
        let ended = out.end(pages).map_err(|e| storage("build", path, &e));
        let (file, doubt) = ended?;
        failpoint::reached("a file is built");
        if let Some(why) = doubt {
            let why = format!("the file that was built for it {why}");
            return Ok(Err(Outcome::Doubted(why)));
        }
        if !ready.imported {
            // A server that imports a file writes all of it; here nobody else does.
            site.settled(&file)
                .map_err(|e| storage("write", path, &e))?;
        }
        Ok(Ok(Built { building, bytes }))
    }

    /// A table whose file the server does not get, or has refused.
    fn given_up(
        &self,
        conn: &mut Conn,
        ready: &ImportTarget<'_>,
        outcome: Outcome,
    ) -> Result<Outcome> {
        if matches!(outcome, Outcome::Doubted(_)) {
            // At once: some servers fall over a table whose import failed.
            dropped(conn, ready)?;
        }
        Ok(outcome)
    }

    fn build(
        &self,
        rank: usize,
        ready: &ImportTarget<'_>,
        out: &PageWriter<'_>,
        stop: &Stop<'_>,
        site: &Datadir,
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
            stop,
            threads: self.threads,
            turns: &self.turns,
            rank,
        };
        source.build(builder)
    }

    /// Reads the table back.
    pub fn prove(&self, conn: &mut Conn, ready: &ImportTarget<'_>, bytes: u64) -> Result<Outcome> {
        // Those of what is under way count what is built, unless that is behind it.
        let own = Counters::default();
        let counters = if ready.imported { &own } else { self.counters };
        let (compared, what) = self.proofs.table(ready.table, counters)?;
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
        ready: &ImportTarget<'_>,
        built: &mut Built,
    ) -> Result<Option<String>> {
        let ImportTarget {
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
        if ready.takes_number {
            super::row_id::take(conn, &ready.table.schema).map_err(|e| lost(name, e))?;
        }
        failpoint::reached("a file is imported");
        // The server does not need it any more, and some leave it.
        let _ = remove(&place.description);
        Ok(None)
    }

    /// Tells of a table that is there.
    pub fn told(&self, ready: &ImportTarget<'_>, outcome: Outcome) -> Outcome {
        if matches!(outcome, Outcome::Taken { .. }) {
            let table = ready.table;
            self.counters.tables.add(1);
            self.observer.event(Event::Table {
                schema: table.schema.clone(),
                table: table.name.clone(),
                rows: table.rows.unwrap_or(0),
                bytes: crate::raw_bytes(table),
            });
        }
        outcome
    }

    /// Has AUTO_INCREMENT count on as it did in the source.
    fn number(&self, conn: &mut Conn, ready: &ImportTarget<'_>, name: &str) -> Result<()> {
        if let Some(next) = self.roads.next_number(ready.whole()) {
            // Never below what the rows have: the server looks.
            conn.execute(format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"))
                .map_err(|e| lost(name, e))?;
        }
        Ok(())
    }

    /// The server has the file: what it has to know of it, and the journal.
    pub fn enter(&self, conn: &mut Conn, ready: &ImportTarget<'_>) -> Result<()> {
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

//! One table on its way from the chunks of the archive to a tablespace that the server uses.
//!
//! The tablespace is built in the data directory on the template of `template`, checked, moved to its place
//! and imported (or, for a server that is stopped, left for `offline`). Then it is entered into the
//! journal, and its rows are compared with the archive's.

use super::MethodPlan;
use super::build::{BuildError, Source};
use super::compare_file::FileComparison;
use super::cpu_slots::CpuSlots;
use super::datadir::{Datadir, remove_if_exists, storage_error};
use super::drop_table::drop_target;
use super::outcome::{Imported, Rejection, UNKNOWN_PLACE, Verdict, import_error};
use super::page_writer::PageWriter;
use super::partitions;
use super::row_id;
use super::targets::{BuildFile, BuiltTablespace, ImportTarget, PartitionImport};
use crate::journal::Journal;
use base::{Counters, Event, Observer, Result, failpoint};
use innodb::Layout;
use innodb::bulk::{self, Builder, Options};
use innodb::check::Written;
use innodb::page::SIZE;
use run::Stop;
use std::io::{self, Write};
use store::Store;
use verify::against_archive::TableVerifier;
use wire::Conn;

/// Bytes of rows from which on a tablespace is written with O_DIRECT: most of a smaller one is written page
/// by page, and each page would have to wait for the disk.
const DIRECT_FROM: u64 = store::direct::BLOCK as u64;

/// What the imports of all tables share.
pub struct Importer<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// Compares the tables that were imported.
    pub verifier: &'a TableVerifier<'a>,
    /// Has an entry of every tablespace.
    pub journal: &'a Journal,
    /// Where the server's files are.
    pub methods: &'a MethodPlan,
    /// Limits the threads that build.
    pub cpu_slots: CpuSlots<'a>,
    /// Counters of the phase.
    pub counters: &'a Counters,
    /// Threads that build a table at once.
    pub threads: usize,
    /// Whether tables are compared in their files.
    pub reads_files: bool,
    /// Memory for sorting, for each table.
    pub memory: usize,
    /// Gets an event when a table is done.
    pub observer: &'a dyn Observer,
}

impl Importer<'_> {
    /// Imports one table into a server that runs. `None` for a partition while others of its table are not
    /// finished.
    pub fn import(
        &self,
        conn: &mut Conn,
        rank: usize,
        target: &ImportTarget<'_>,
        stop: &Stop<'_>,
    ) -> Result<Option<Verdict<Imported>>> {
        if let Some(partition) = &target.partition {
            return self.import_partition(conn, rank, target, partition, stop);
        }
        let verdict = match self.build_and_import(conn, rank, target, stop)? {
            Verdict::Ready(bytes) => {
                self.enter(conn, target)?;
                self.verify(conn, target, bytes)?
            }
            Verdict::Rejected(why) => {
                if matches!(why, Rejection::Suspect(_)) {
                    // At once: some servers crash on a table whose import failed.
                    drop_target(conn, target)?;
                }
                Verdict::Rejected(why)
            }
        };
        Ok(Some(verdict))
    }

    fn import_partition(
        &self,
        conn: &mut Conn,
        rank: usize,
        target: &ImportTarget<'_>,
        partition: &PartitionImport,
        stop: &Stop<'_>,
    ) -> Result<Option<Verdict<Imported>>> {
        let verdict = if partition.is_cancelled() {
            None
        } else {
            Some(match self.build_and_import(conn, rank, target, stop)? {
                Verdict::Ready(bytes) => {
                    // The whole table takes it from its partitions. Setting it there would be an ALTER
                    // TABLE, and a MariaDB that is killed while it alters a table with partitions keeps a
                    // file of it for ever.
                    self.set_auto_increment(conn, target, &target.name)?;
                    partitions::exchange(conn, partition, &target.name)?.map(|()| bytes)
                }
                rejected => rejected,
            })
        };
        partitions::remove(conn, self.journal, target)?;
        Ok(match partition.finish(verdict) {
            Some(Verdict::Ready(bytes)) => {
                self.enter(conn, target)?;
                Some(self.verify(conn, target, bytes)?)
            }
            Some(Verdict::Rejected(why)) => Some(Verdict::Rejected(why)),
            None => None,
        })
    }

    /// Builds the tablespace of a table, and has the server import it; its size in bytes.
    fn build_and_import(
        &self,
        conn: &mut Conn,
        rank: usize,
        target: &ImportTarget<'_>,
        stop: &Stop<'_>,
    ) -> Result<Verdict<u64>> {
        match self.build(rank, target, stop)? {
            Verdict::Ready(mut built) => {
                let imported = self.import_tablespace(conn, target, &mut built)?;
                Ok(imported.map(|()| built.bytes))
            }
            Verdict::Rejected(why) => Ok(Verdict::Rejected(why)),
        }
    }

    /// Builds the tablespace of a table, and checks it. Nothing is left of one that is rejected.
    pub fn build(
        &self,
        rank: usize,
        target: &ImportTarget<'_>,
        stop: &Stop<'_>,
    ) -> Result<Verdict<BuiltTablespace>> {
        let path = &target.build_path;
        failpoint::reached("a file is about to be built");
        let build_file = BuildFile::new(path.clone());
        let Some(datadir) = self.methods.datadir() else {
            return Ok(Verdict::use_sql(UNKNOWN_PLACE));
        };
        let template = &target.empty.template;
        let layouts: Vec<Layout> = template.targets.iter().map(|t| t.layout.clone()).collect();
        let check = Written::new(template.format, template.space, &layouts);
        let file = datadir
            .create(path, target.empty.mode)
            .map_err(|e| storage_error("create", path, &e))?;
        let chunks = target.chunks();
        let rows: u64 = chunks.iter().filter_map(|c| c.raw_bytes).sum();
        // An import reads each page once more and writes it: from the page cache, often before the disk has
        // had it.
        let direct = datadir.is_direct() && !target.online && rows >= DIRECT_FROM;
        let pages = PageWriter::new(file, direct, check, stop, self.counters);
        let count = match self.build_pages(rank, target, &pages, stop, datadir) {
            Ok(count) => count,
            Err(BuildError::Load(e)) => return Err(e),
            Err(BuildError::Tablespace(bulk::Error::Io(e))) => {
                stop.check()?;
                return Err(storage_error("build", path, &e));
            }
            Err(BuildError::Tablespace(e)) => {
                return Ok(match e {
                    bulk::Error::Unknown(key) => Verdict::Rejected(Rejection::Indexes(vec![key])),
                    bulk::Error::Builder(_) => {
                        Verdict::suspect(format!("its tablespace was not built: {e}"))
                    }
                    e => Verdict::use_sql(e.to_string()),
                });
            }
        };
        let bytes = u64::from(count) * SIZE as u64;
        let ended = pages.end(count);
        let (file, problem) = ended.map_err(|e| storage_error("build", path, &e))?;
        failpoint::reached("a file is built");
        if let Some(problem) = problem {
            let what = format!("the tablespace that was built for it {problem}");
            return Ok(Verdict::suspect(what));
        }
        if !target.online {
            // A server that imports a tablespace writes all of it; this one does not.
            datadir
                .sync(&file)
                .map_err(|e| storage_error("write", path, &e))?;
        }
        if self.reads_files {
            let comparison = FileComparison {
                threads: self.threads,
                cpu_slots: &self.cpu_slots,
                rank,
                stop,
            };
            if let Err(what) = comparison.run(target, path, !target.online)? {
                let what = format!("the tablespace that was built for it differs: {what}");
                return Ok(Verdict::suspect(what));
            }
            failpoint::reached("a file is compared");
        }
        Ok(Verdict::Ready(BuiltTablespace {
            file: build_file,
            bytes,
        }))
    }

    fn build_pages(
        &self,
        rank: usize,
        target: &ImportTarget<'_>,
        pages: &PageWriter<'_>,
        stop: &Stop<'_>,
        datadir: &Datadir,
    ) -> Result<u32, BuildError> {
        let (empty, columns) = (&target.empty, target.columns.clone());
        let options = Options {
            memory: self.memory,
            folder: datadir.scratch(),
            threads: self.threads,
        };
        let builder = Builder::new(&empty.template, &empty.exported, columns, pages, &options)?;
        let source = Source {
            store: self.store,
            table: target.table,
            chunks: target.chunks(),
            counters: self.counters,
            stop,
            threads: self.threads,
            cpu_slots: &self.cpu_slots,
            rank,
        };
        source.build(builder)
    }

    /// Moves the tablespace over the server's, and has the server import it. A table that is rejected has
    /// to be dropped.
    fn import_tablespace(
        &self,
        conn: &mut Conn,
        target: &ImportTarget<'_>,
        built: &mut BuiltTablespace,
    ) -> Result<Verdict<()>> {
        let ImportTarget {
            name, paths, empty, ..
        } = target;
        let Some(datadir) = self.methods.datadir() else {
            return Ok(Verdict::suspect(UNKNOWN_PLACE));
        };
        failpoint::reached("a file is about to be handed over");
        let mut put_in_place = || -> io::Result<()> {
            remove_if_exists(&paths.description)?;
            let mut description = datadir.create(&paths.description, empty.mode)?;
            description.write_all(&empty.description)?;
            built.file.move_to(&paths.tablespace)
        };
        if let Err(e) = put_in_place() {
            return Ok(Verdict::suspect(format!(
                "its tablespace cannot be moved over the server's ({}): {e}",
                paths.tablespace.display()
            )));
        }
        failpoint::reached("a file is in its place");
        match conn.execute(format!("ALTER TABLE {name} IMPORT TABLESPACE")) {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => {
                return Ok(Verdict::suspect(format!("IMPORT TABLESPACE failed: {e}")));
            }
            Err(e) => return Err(import_error(name, e)),
        }
        if target.uses_up_row_id {
            row_id::take(conn, &target.table.schema).map_err(|e| import_error(name, e))?;
        }
        failpoint::reached("a file is imported");
        // The server does not need it any more, and some servers leave it.
        let _ = remove_if_exists(&paths.description);
        Ok(Verdict::Ready(()))
    }

    /// After the import: sets what the tablespace does not carry, and enters the table into the journal.
    pub fn enter(&self, conn: &mut Conn, target: &ImportTarget<'_>) -> Result<()> {
        let (table, name) = (target.table, target.whole());
        if target.partition.is_none() {
            self.set_auto_increment(conn, target, name)?;
        }
        // The server would only collect statistics by itself when rows change.
        conn.fetch(format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"))
            .map_err(|e| import_error(name, e))?;
        let chunks: Vec<&str> = table.chunks.iter().map(|c| c.file.as_str()).collect();
        self.journal.enter_tablespace(conn, name, &chunks)?;
        failpoint::reached("a file is entered");
        Ok(())
    }

    /// Has AUTO_INCREMENT continue as it did in the source.
    fn set_auto_increment(
        &self,
        conn: &mut Conn,
        target: &ImportTarget<'_>,
        name: &str,
    ) -> Result<()> {
        if let Some(next) = self.methods.next_auto_increment(target.whole()) {
            // The server never sets it below the values of the rows.
            conn.execute(format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"))
                .map_err(|e| import_error(name, e))?;
        }
        Ok(())
    }

    /// Compares the rows of an imported table with the archive's: all of them, or a sample where all were compared in its
    /// files.
    pub fn verify(
        &self,
        conn: &mut Conn,
        target: &ImportTarget<'_>,
        bytes: u64,
    ) -> Result<Verdict<Imported>> {
        // The counters of a phase that builds count what is built; only after an offline import has the
        // comparison a phase to itself.
        let own = Counters::default();
        let counters = if target.online { &own } else { self.counters };
        let (compared, difference) = if self.reads_files {
            self.verifier.sample(target.table, counters)?
        } else {
            self.verifier.table(target.table, counters)?
        };
        if let Some(difference) = difference {
            return Ok(Verdict::Rejected(Rejection::Differs(difference)));
        }
        self.journal.mark_verified(conn, target.whole())?;
        failpoint::reached("a file is proven");
        Ok(Verdict::Ready(Imported { bytes, compared }))
    }

    /// Counts a table that was imported, and emits its event.
    pub fn report(&self, target: &ImportTarget<'_>, verdict: &Verdict<Imported>) {
        if verdict.is_ready() {
            let table = target.table;
            self.counters.tables.add(1);
            self.observer.event(Event::Table {
                schema: table.schema.clone(),
                table: table.name.clone(),
                rows: table.rows.unwrap_or(0),
                bytes: crate::raw_bytes(table),
            });
        }
    }
}

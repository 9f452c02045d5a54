//! A dump of a live replica whose rows are read from its files: the applier is stopped, the tables are locked and written to
//! their files (`FLUSH TABLES … FOR EXPORT`), and both end when the rows are read.
//!
//! Everything else is asked of the server, under `LOCK TABLES` for the moment of the snapshot: definitions, the position, rows
//! of tables that are not in files of their own.
//!
//! Invariants: no file of the server is opened for writing. A file is read only if the server's `.cfg` file lies beside it,
//! which it writes when it locks the table. The archive is complete only if the connection that has the locks has lived until
//! the rows were read. The applier goes on on every way out; of a run that was killed see `run::applier`.

use crate::from_files::paths;
use crate::open_changes::{self, OpenChanges};
use crate::{Consistency, Options, SourceFiles, Summary, read_catalog};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use rows::new_archive;
use run::applier::{self, Stopped};
use run::state::storage;
use run::{Run, connect, failure, places, read_lock};
use server::catalog::Table;
use server::{Identity, Privileges, quote, replication, session};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use wire::Conn;

/// The replica, besides what every dump is told.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Its data directory, where it has another path here than the server says.
    pub datadir: Option<PathBuf>,
    /// Where it is noted that its applier is stopped.
    pub state: Option<PathBuf>,
}

/// Dumps the replica that is the source in `options`.
pub fn run(run: &Run, replica: &Replica, options: &Options) -> Result<Summary> {
    new_archive::check(&options.to)?;
    if let Some(state) = &replica.state {
        applier::start_left(run, state, &options.source)?;
    }
    let (mut conn, id) = connect::open(run, &options.source)?;
    let datadir = looked_at(&mut conn, &id, replica)?;
    let channels = replication::channels(&mut conn, &id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    if channels.is_empty() {
        return Err(Error::new(
            Kind::Target,
            format!("{} is no replica", options.source.endpoint),
        )
        .hint("the tables stay locked until their rows are read, which only a replica can afford; leave --from-replica-files out, or take a snapshot: penstock snapshot take"));
    }
    if !id.read_only {
        run.observer.warn(
            "read_only is off: sessions that write to the tables of the dump wait until it has read them"
                .into(),
        );
    }
    let (running, still): (Vec<_>, Vec<_>) = channels.iter().partition(|c| c.applies);
    let running: Vec<&str> = running.iter().map(|c| c.name.as_str()).collect();
    if !still.is_empty() {
        let names: Vec<String> = still.iter().map(|c| quote::text(&c.name)).collect();
        run.observer.warn(printable(&format!(
            "the applier does not run, and will not be started: channel {}",
            names.join(", ")
        )));
    }
    if replica.state.is_none() && !running.is_empty() {
        run.observer.warn(
            "there is no home directory to note in that the applier is stopped (PENSTOCK_STATE): if this run is killed, start it by hand"
                .into(),
        );
    }
    let phase = run.phase("locking the tables", 1);
    let stopped = match running.is_empty() {
        true => None,
        false => {
            let state = replica.state.as_deref();
            let stopped = Stopped::noted(run, state, &options.source, &id, &running)?;
            stopped.stop(&mut conn)?;
            Some(stopped)
        }
    };
    failpoint::reached("the applier is stopped");
    let lock = ExportLock::take(run, conn, &id, &datadir, stopped, options)?;
    drop(phase);
    failpoint::reached("the tables are locked");
    let files = SourceFiles {
        read_from: datadir.clone(),
        datadir,
        binary_log: None,
        gtid_binlog_pos: None,
        lock: Some(Arc::new(lock)),
        snapshot_of: None,
    };
    let options = Options {
        consistency: Consistency::Tables,
        files: Some(files),
        ..options.clone()
    };
    crate::run(run, &options)
}

/// Whether it can be done with this server and account, from here; the data directory.
fn looked_at(conn: &mut Conn, id: &Identity, replica: &Replica) -> Result<PathBuf> {
    if !id.mysql_at_least(8, 0, 22) && !id.mariadb_at_least(10, 4, 0) {
        return Err(Error::new(
            Kind::Usage,
            format!("--from-replica-files is for MySQL from 8.0.22 on and MariaDB from 10.4 on, and this is {id}"),
        )
        .hint("leave it out"));
    }
    let here = "run penstock on the replica's host, or name the directory with --datadir where it has another path here";
    let datadir = places::data_directory(id, replica.datadir.as_deref(), here)?;
    std::fs::read_dir(&datadir).map_err(|e| storage("read", &datadir, &e))?;
    let granted = Privileges::read(conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let missing = granted.missing_for_replica_files(id);
    if !missing.is_empty() {
        let what = format!(
            "account {} may not stop the applier and lock tables for reading their files",
            granted.account
        );
        return Err(Error::new(Kind::Privilege, what).hint(missing.join(";\n") + ";"));
    }
    no_open_changes(conn)?;
    Ok(datadir)
}

/// Refuses transactions without a session: their rows are in the files, and no lock waits for their end.
fn no_open_changes(conn: &mut Conn) -> Result<()> {
    let what = match open_changes::of(conn)? {
        None => return Ok(()),
        Some(OpenChanges::Prepared) => "the server has prepared XA transactions",
        Some(OpenChanges::NotRolledBack) => {
            "InnoDB still rolls back transactions of an earlier run of the server"
        }
    };
    let what = format!("{what}, and files do not say whether their rows count");
    Err(Error::new(Kind::Target, what).hint(
        "wait for their end (XA RECOVER, information_schema.innodb_trx), or leave --from-replica-files out",
    ))
}

/// Tables that stay as they are in their files, and the appliers that wait for that.
pub struct ExportLock {
    tables: HashSet<(String, String)>,
    /// No file of the lock is older.
    since: SystemTime,
    held: Mutex<Option<Held>>,
}

/// File systems note times a little coarser than clocks show them.
const CLOCK: Duration = Duration::from_secs(2);

struct Held {
    conn: Conn,
    stopped: Option<Stopped>,
}

impl std::fmt::Debug for ExportLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tables", self.tables.len())
    }
}

impl ExportLock {
    fn take(
        run: &Run,
        mut conn: Conn,
        id: &Identity,
        datadir: &Path,
        stopped: Option<Stopped>,
        options: &Options,
    ) -> Result<ExportLock> {
        connect::prepared(session::for_catalog(&mut conn, id))?;
        let catalog = read_catalog(&mut conn, id, options)?;
        let in_files: Vec<&Table> = catalog
            .tables()
            .filter(|t| t.engine.eq_ignore_ascii_case("InnoDB") && t.problem.is_none())
            .filter(|t| paths::of_table(datadir, &t.schema, &t.name, None).is_ok())
            .collect();
        // It is idle while the rows are read, and must not be closed for that.
        connect::prepared(session::for_rows(&mut conn, id))?;
        let since = SystemTime::now() - CLOCK;
        if !in_files.is_empty() {
            let names: Vec<String> = in_files
                .iter()
                .map(|t| quote::qualified(&t.schema, &t.name))
                .collect();
            let sql = format!("FLUSH TABLES {} FOR EXPORT", names.join(", "));
            // Only the wait for other sessions is bounded: writing the pages takes its time.
            let attempt = |conn: &mut Conn, _| conn.execute(sql.clone()).map(drop);
            let what = ("the locks on the tables", "dump");
            let waits = read_lock::Waits::WithWriters;
            read_lock::attempts(run, &mut conn, options.lock_wait, waits, what, attempt)?;
        }
        // One may have been prepared, or come to light, until the applier stood.
        no_open_changes(&mut conn)?;
        Ok(ExportLock {
            tables: in_files
                .iter()
                .map(|t| (t.schema.clone(), t.name.clone()))
                .collect(),
            since,
            held: Mutex::new(Some(Held { conn, stopped })),
        })
    }

    /// Whether this table stays as it is.
    pub fn covers(&self, table: &Table) -> bool {
        let name = (table.schema.clone(), table.name.clone());
        self.tables.contains(&name)
    }

    /// Whether the server has locked this file: it leaves another one beside it then.
    pub fn has_locked(&self, file: &Path) -> bool {
        let beside = std::fs::metadata(file.with_extension("cfg"));
        let written = beside.and_then(|m| m.modified());
        written.is_ok_and(|at| at >= self.since)
    }

    /// Ends it, and has the appliers go on. The error is that the locks were lost; the text is an exception of a dump that is
    /// complete.
    pub fn release(&self) -> Result<Option<String>> {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(Held { mut conn, stopped }) = held else {
            return Ok(None);
        };
        conn.execute("UNLOCK TABLES").map_err(|e| {
            failure::wire(
                "the locks on the tables were lost while their files were read",
                e,
            )
        })?;
        let goes_on = stopped.map_or(Ok(()), Stopped::goes_on);
        Ok(goes_on.err().map(|e| {
            let hint = e.hint.unwrap_or_default();
            format!("the applier of the replica is stopped: {}; {hint}", e.what)
        }))
    }
}

//! One consistent snapshot for all workers, by the best way that server and account allow.
//!
//! `ways` says which there are; `compare` proves snapshots equal that were opened without a lock; `open` opens them. The
//! locks are held only while every connection opens its snapshot and the binary log position is read. How they are waited
//! for is `run::read_lock`'s.
//!
//! What it does not do: protect tables without transactions after the lock is released. Those are
//! listed as exceptions.

mod compare;
mod open;
mod ways;

pub use ways::{Way, for_the_lock, ways};

use crate::Options;
use base::{Error, Kind, Result};
use run::failure;
use run::{Run, read_lock};
use server::{Catalog, Identity, Position, quote};
use std::time::{Duration, Instant};
use wire::Conn;

/// With other ways left, snapshots are not compared for longer.
const COMPARED_FOR: Duration = Duration::from_secs(10);

/// The position of one reader's snapshot is not sought for longer.
const POSITION_SOUGHT: Duration = Duration::from_secs(3);

/// What was achieved, for the manifest and the summary.
#[derive(Clone, Debug, Default)]
pub struct Achieved {
    /// As a text, e.g. `one snapshot for all workers, under FLUSH TABLES WITH READ LOCK`.
    pub mode: String,
    /// How long the read lock was held, in milliseconds.
    pub lock_ms: f64,
    /// How long it was waited for.
    pub wait_ms: f64,
    /// The binary log position of the snapshot.
    pub position: Position,
    /// Why there is no position, or no file and offset in it, although the server has a binary log.
    pub no_position: Option<String>,
    /// Whether definitions are locked.
    pub definitions_locked: bool,
}

/// The connections of a dump.
pub struct Connections<'a> {
    /// Locks definitions and reads them.
    pub control: &'a mut Conn,
    /// Takes the read lock.
    pub planner: &'a mut Conn,
    /// Each opens the snapshot; only one is left where only one can have it.
    pub readers: &'a mut Vec<Conn>,
}

/// Opens a snapshot on each reader, all of the same moment, by the first of `ways` that works, and has the control
/// connection keep definitions still from then on where that way does. `unlocked` is called before a way is tried that does not.
pub fn take(
    run: &Run,
    conns: &mut Connections<'_>,
    ways: &[Way],
    options: &Options,
    id: &Identity,
    catalog: &Catalog,
    unlocked: &mut dyn FnMut(&mut Conn) -> Result<()>,
) -> Result<Achieved> {
    open::prepare(conns.readers)?;
    let mut refused: Option<Error> = None;
    for (i, way) in ways.iter().enumerate() {
        // A lock that was waited for in vain is not waited for again.
        let lock = |w: &Way| matches!(w, Way::Lock { .. });
        if refused.as_ref().is_some_and(|e| e.kind == Kind::Lock) && lock(way) {
            continue;
        }
        if !way.locks_definitions() {
            unlocked(conns.control)?;
        }
        let more = i + 1 < ways.len();
        let attempt = Attempt {
            run,
            options,
            id,
            catalog,
            alone: ways.len() == 1,
        };
        match attempt.take(*way, conns) {
            Ok(achieved) => return Ok(achieved),
            Err(e) if more && matches!(e.kind, Kind::Lock | Kind::Privilege) => {
                run.observer.warn(format!("{}: trying another way", e.what));
                refused = Some(e);
            }
            Err(e) => return Err(e),
        }
    }
    Err(refused.unwrap_or_else(|| Error::new(Kind::Internal, "no way to a snapshot is left")))
}

/// The same, under the global read lock and in no other way.
pub fn locked(
    run: &Run,
    conns: &mut Connections<'_>,
    options: &Options,
    id: &Identity,
) -> Result<Achieved> {
    let definitions = options.backup_lock && id.mysql_at_least(8, 0, 0);
    let (ways, nothing) = ([Way::Lock { definitions }], Catalog::default());
    take(run, conns, &ways, options, id, &nothing, &mut |_| Ok(()))
}

/// What an attempt needs besides its connections.
struct Attempt<'a> {
    run: &'a Run,
    options: &'a Options,
    id: &'a Identity,
    catalog: &'a Catalog,
    /// Whether this way was asked for, so that no other one is tried.
    alone: bool,
}

impl Attempt<'_> {
    fn take(&self, way: Way, conns: &mut Connections<'_>) -> Result<Achieved> {
        match way {
            Way::Unused => self.unused(conns),
            Way::None => {
                open::each(conns.readers, self.id)?;
                Ok(self.achieved(way, Position::default()))
            }
            Way::Lock { definitions } => self.locked(way, definitions, conns),
            Way::Tables => self.tables(way, conns),
            Way::Compare => {
                let most = match self.alone {
                    true => self.options.lock_wait,
                    false => self.options.lock_wait.min(COMPARED_FOR),
                };
                let position = self.compared(conns, most)?;
                Ok(self.achieved(way, position))
            }
            Way::Transaction => self.transaction(way, conns),
        }
    }

    fn achieved(&self, way: Way, position: Position) -> Achieved {
        let no_position = position.log_hidden.as_ref().map(|grant| {
            format!("file and offset are unknown: to see them the account needs {grant}")
        });
        Achieved {
            mode: way.words(self.id),
            position,
            no_position,
            definitions_locked: way.locks_definitions(),
            ..Achieved::default()
        }
    }

    fn compared(&self, conns: &mut Connections<'_>, most: Duration) -> Result<Position> {
        let other = (&mut *conns.planner, &mut *conns.control);
        compare::take(self.run, other, conns.readers, self.id, most)
    }

    fn unused(&self, conns: &mut Connections<'_>) -> Result<Achieved> {
        if let Some(of) = self.options.snapshot_of() {
            return Ok(Achieved {
                mode: of.mode.clone(),
                lock_ms: of.lock_ms,
                wait_ms: of.wait_ms,
                ..self.achieved(Way::Unused, of.position.clone())
            });
        }
        let mut position = Position::read(conns.planner, self.id)
            .map_err(|e| failure::server("cannot read the binary log position", e))?;
        // The temporary server writes no binary log; its own position is none.
        if let Some(files) = &self.options.files {
            let (file, end) = files.binary_log.clone().unzip();
            (position.binlog_file, position.binlog_position) = (file, end);
            position.server_time = None;
            position.gtid_binlog_pos.clone_from(&files.gtid_binlog_pos);
        }
        Ok(self.achieved(Way::Unused, position))
    }

    fn transaction(&self, way: Way, conns: &mut Connections<'_>) -> Result<Achieved> {
        conns.readers.truncate(1);
        let unknown = match compare::obstacle(self.id) {
            Some(why) => why,
            None => match self.compared(conns, POSITION_SOUGHT.min(self.options.lock_wait)) {
                Ok(position) => return Ok(self.achieved(way, position)),
                Err(e) if e.kind == Kind::Lock => {
                    "there was no moment without commits to read it at".to_owned()
                }
                Err(e) => return Err(e),
            },
        };
        open::each(conns.readers, self.id)?;
        let no_position = self.id.log_bin.then(|| {
            format!(
                "unknown: the snapshot was taken without a lock, and {unknown}; binary logs cannot carry this archive on"
            )
        });
        Ok(Achieved {
            no_position,
            ..self.achieved(way, Position::default())
        })
    }

    /// Under the global read lock.
    fn locked(&self, way: Way, definitions: bool, conns: &mut Connections<'_>) -> Result<Achieved> {
        let (id, most) = (self.id, self.options.lock_wait);
        let staged = ways::staged(id);
        let asked = Instant::now();
        read_lock::acquire(self.run, conns.planner, conns.control, most, staged, "dump")?;
        let wait = asked.elapsed();
        let release = if staged {
            "BACKUP STAGE END"
        } else {
            "UNLOCK TABLES"
        };
        self.under(way, release, wait, conns, |conns| {
            if definitions {
                lock_definitions(conns.control)?;
            }
            open::each(conns.readers, id)?;
            Position::read(conns.planner, id)
                .map_err(|e| failure::server("cannot read the binary log position", e))
        })
    }

    /// Under locks on all tables that are dumped: what is committed meanwhile is in none of them.
    fn tables(&self, way: Way, conns: &mut Connections<'_>) -> Result<Achieved> {
        let names: Vec<String> = self
            .catalog
            .tables()
            .map(|t| format!("{} READ", quote::qualified(&t.schema, &t.name)))
            .collect();
        let asked = Instant::now();
        if !names.is_empty() {
            let sql = format!("LOCK TABLES {}", names.join(", "));
            let (run, most) = (self.run, self.options.lock_wait);
            read_lock::acquire_tables(run, conns.planner, conns.control, most, &sql, "dump")?;
        }
        let wait = asked.elapsed();
        self.under(way, "UNLOCK TABLES", wait, conns, |conns| {
            open::each(conns.readers, self.id)?;
            let files = self.options.files.as_ref();
            if files.is_some_and(|f| f.lock.is_some()) {
                // The appliers stand still, so their places are exact.
                return Position::read(conns.control, self.id)
                    .map_err(|e| failure::server("cannot read the binary log position", e));
            }
            // The session with the locks may read nothing else.
            let position = Position::read_log(conns.control, self.id);
            let mut position =
                position.map_err(|e| failure::server("cannot read the binary log position", e))?;
            position
                .add_sources(conns.control, self.id)
                .map_err(|e| failure::server("cannot read the place of the replica", e))?;
            Ok(position)
        })
    }

    /// Does `work` while the planner's connection holds a lock, and has `release` end that, whatever happens.
    fn under(
        &self,
        way: Way,
        release: &str,
        wait: Duration,
        conns: &mut Connections<'_>,
        work: impl FnOnce(&mut Connections<'_>) -> Result<Position>,
    ) -> Result<Achieved> {
        let held = Instant::now();
        let outcome = work(conns);
        let released = conns
            .planner
            .execute(release)
            .map_err(|e| failure::wire(release, e));
        let lock_ms = held.elapsed().as_secs_f64() * 1000.0;
        let position = outcome?;
        released?;
        Ok(Achieved {
            lock_ms,
            wait_ms: wait.as_secs_f64() * 1000.0,
            ..self.achieved(way, position)
        })
    }
}

/// Keeps definitions from changing until `conn` closes.
///
/// MySQL only: MariaDB's equivalent would have to be held as a stage that also
/// keeps MyISAM writers out, so there a changed table is found out afterwards.
///
/// Taken under the read lock, when no change of definitions can be under way:
/// held while the read lock is still waited for, it would make a statement wait
/// that the read lock in turn waits for.
fn lock_definitions(conn: &mut Conn) -> Result<()> {
    read_lock::set_wait(conn, read_lock::ATTEMPT)?;
    conn.execute("LOCK INSTANCE FOR BACKUP")
        .map(drop)
        .map_err(|e| failure::wire("LOCK INSTANCE FOR BACKUP", e))
}

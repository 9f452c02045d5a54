//! Semi-synchronous replication, from the replica's side: the source's commits wait until this one has acknowledged them.
//!
//! Whether they do is the source's to decide: it may be switched off, or have given up for a while because an
//! acknowledgement took too long. So its counters are looked at over a connection of their own. What this does not do: store or
//! acknowledge; see `session`.

use super::state::State;
use crate::source::Source;
use base::{Error, Kind, Result};
use run::{Run, failure};
use std::time::{Duration, Instant};
use wire::Conn;

/// How often the source's counters are looked at.
const EVERY: Duration = Duration::from_secs(5);

/// A source whose commits wait.
pub(crate) struct SemiSync {
    /// How its settings and counters begin: the newer names, or those of MariaDB and of MySQL before 8.0.26.
    prefix: &'static str,
    conn: Conn,
    looked: Instant,
    /// Whether its commits waited when it was last asked.
    on: Option<bool>,
    /// Whether it was asked: it begins to wait with the first acknowledgement.
    asked: bool,
    /// Its counter of commits that did not wait.
    without: Option<u64>,
}

impl SemiSync {
    /// Says to the source that this replica acknowledges; to be said before the stream begins. The first source of a run must
    /// have that, and have it switched on. Behind a lost connection, to go on without it loses less than to end.
    pub(crate) fn begin(
        run: &Run,
        options: &wire::Options,
        source: &mut Source,
        first: bool,
    ) -> Result<Option<SemiSync>> {
        let warn = |what: &str| {
            let what = format!("{what}: its commits do not wait for the archive");
            run.observer.warn(what);
        };
        let has = |prefix: &&str| source.identity.has_variable(&format!("{prefix}_enabled"));
        let names = ["rpl_semi_sync_source", "rpl_semi_sync_master"];
        let Some(prefix) = names.into_iter().find(has) else {
            let what = "the source has no semi-synchronous replication";
            if !first {
                warn(what);
                return Ok(None);
            }
            return Err(Error::new(Kind::Privilege, what).hint(
                "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; SET GLOBAL rpl_semi_sync_source_enabled = ON; or leave --semisync out",
            ));
        };
        let enabled = source.identity.variable(&format!("{prefix}_enabled"));
        let on = enabled.is_some_and(|v| v == "1" || v.eq_ignore_ascii_case("ON"));
        if !on && first {
            let what =
                format!("{prefix}_enabled is off, so commits on the source wait for no replica");
            return Err(Error::new(Kind::Privilege, what).hint(format!(
                "SET GLOBAL {prefix}_enabled = ON; or leave --semisync out"
            )));
        }
        if !on {
            // This replica is ready for it all the same: it may be switched on while the stream runs.
            warn(&format!("{prefix}_enabled is off"));
        }
        SemiSync::ask(run, options, source, prefix).map(Some)
    }

    fn ask(
        run: &Run,
        options: &wire::Options,
        source: &mut Source,
        prefix: &'static str,
    ) -> Result<SemiSync> {
        let sql = "SET @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1";
        source
            .conn
            .execute(sql)
            .map_err(|e| failure::wire("cannot prepare the stream of the binary log", e))?;
        let (conn, _) = run::connect::open(run, options)?;
        Ok(SemiSync {
            prefix,
            conn,
            looked: Instant::now(),
            on: None,
            asked: false,
            without: None,
        })
    }

    /// Looks whether commits wait, if that is due, and says so if it has changed.
    pub(crate) fn look(&mut self, run: &Run, state: &mut State<'_>) {
        if self.asked && self.looked.elapsed() < EVERY {
            return;
        }
        let first = !std::mem::replace(&mut self.asked, true);
        self.looked = Instant::now();
        let sql = format!("SHOW GLOBAL STATUS LIKE '{}\\_%'", self.prefix);
        // The stream itself says when the connection is lost.
        let Ok(rows) = self.conn.fetch(sql) else {
            return;
        };
        let text = |cell: Option<&Option<Vec<u8>>>| {
            let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
            String::from_utf8_lossy(bytes).to_lowercase()
        };
        let value = |of: &str| {
            let name = format!("{}_{of}", self.prefix);
            let row = rows.iter().find(|row| text(row.first()) == name)?;
            Some(text(row.get(1)))
        };
        let on = value("status")
            .map(|v| v == "on")
            .filter(|on| *on || !first);
        let without: Option<u64> = value("no_tx").and_then(|v| v.parse().ok());
        if let (Some(before), Some(now)) = (self.without, without) {
            state.summary.not_waited += now.saturating_sub(before);
        }
        self.without = without.or(self.without);
        if let (Some(on), changed) = (on, on != self.on) {
            if changed && !on {
                run.observer.warn(format!(
                    "commits on the source do not wait for the archive now ({}_status is off): it was switched off, or waited longer than {0}_timeout",
                    self.prefix
                ));
            } else if changed && self.on.is_some() {
                run.observer
                    .note("commits on the source wait for the archive again".to_owned());
            }
            state.standings.waits(on);
            self.on = Some(on);
        }
    }
}

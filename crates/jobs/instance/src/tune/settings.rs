//! Which settings `--tune=max` changes on which server, why, and what it takes.
//!
//! A setting is here only if it was measured to help, or saves disk writes (docs/tuning.md has the
//! figures). Values are chosen so that the server takes them as they are: a value that it rounded would
//! look like another session's when it is reverted. Nothing is lowered that correctness or a replica
//! depends on, and nothing is persisted.

use super::journal::Line;
use super::options::LoadProfile;
use crate::variables::{BUFFER_POOL, REDO_LOG, same};
use server::{Identity, Privileges};

const MIB: u64 = 1 << 20;

/// MariaDB takes some ten seconds to enlarge its log and shrink it again: only a load that takes minutes
/// gains more.
const LONG: u64 = 4 << 30;

/// A change that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The variable, or [`REDO_LOG`].
    pub name: &'static str,
    /// The value it is to get.
    pub wanted: String,
}

/// What `--tune=max` would do to a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In this order; reverted in reverse.
    pub changes: Vec<Change>,
    /// Changes that are not made, with the reason.
    pub not_changed: Vec<String>,
    /// Lines of a `my.cnf` that would help after a restart.
    pub restart: Vec<String>,
}

/// The privileges of which one is needed to change a setting; the message asks for the first.
pub fn privileges(id: &Identity, name: &str) -> Vec<&'static str> {
    match name {
        REDO_LOG => vec!["INNODB_REDO_LOG_ENABLE"],
        "sync_binlog" if id.mariadb_at_least(10, 5, 2) => vec!["BINLOG ADMIN", "SUPER"],
        _ if id.mysql_at_least(8, 0, 0) => vec!["SYSTEM_VARIABLES_ADMIN", "SUPER"],
        _ => vec!["SUPER"],
    }
}

/// The reason why a setting is not changed when a privilege is missing.
pub fn denied(id: &Identity, name: &str, account: &str) -> String {
    let needs = privileges(id, name)[0];
    format!("{name}: needs {needs} (GRANT {needs} ON *.* TO {account})")
}

/// Decides what to change. `spare` is the memory that the server's host has to spare, if that is known;
/// `redo_log` is whether MySQL's redo log is on now.
pub fn plan(
    id: &Identity,
    granted: &Privileges,
    work: &LoadProfile,
    spare: Option<u64>,
    redo_log: Option<bool>,
) -> Plan {
    let mut plan = Plan::default();
    let mut p = Planner {
        id,
        granted,
        plan: &mut plan,
    };
    // Rows cannot be loaded without it.
    p.want("local_infile", "ON");
    if work.binlog && id.log_bin {
        p.want("sync_binlog", "0");
    }
    buffer_pool(&mut p, work, spare);
    let number = |name: &str| id.variable(name).and_then(|v| v.parse::<u64>().ok());
    let redo_off = redo_log == Some(true) && !work.redo && p.may(REDO_LOG);
    if redo_log != Some(false) && !redo_off {
        p.want("innodb_flush_log_at_trx_commit", "0");
        let log = (work.bytes / 2).clamp(512 * MIB, 4096 * MIB) / MIB * MIB;
        for name in ["innodb_redo_log_capacity", "innodb_log_file_size"] {
            if number(name).is_none_or(|now| now >= log) {
                continue;
            }
            if name == "innodb_redo_log_capacity" {
                p.want(name, &log.to_string());
            } else if !id.mariadb_at_least(10, 9, 0) {
                let line = format!("innodb_log_file_size = {}M", log / MIB);
                p.plan.restart.push(line);
            } else if work.bytes >= LONG {
                p.want(name, &log.to_string());
            }
        }
    }
    // Last, so that it is the first to be reverted: until it is on again, a crash loses the server.
    if redo_log == Some(true) && !work.redo {
        p.want(REDO_LOG, "OFF");
    }
    restart(id, work, redo_off, &mut plan.restart);
    plan
}

struct Planner<'a> {
    id: &'a Identity,
    granted: &'a Privileges,
    plan: &'a mut Plan,
}

impl Planner<'_> {
    fn may(&self, name: &str) -> bool {
        privileges(self.id, name)
            .iter()
            .any(|p| self.granted.has(p))
    }

    /// Plans a value, if the server has the setting and another value.
    fn want(&mut self, name: &'static str, wanted: &str) {
        let now = if name == REDO_LOG {
            Some("ON")
        } else {
            self.id.variable(name)
        };
        if now.is_none_or(|now| same(now, wanted)) {
            return;
        }
        if self.may(name) {
            self.plan.changes.push(Change {
                name,
                wanted: wanted.to_owned(),
            });
        } else {
            let why = denied(self.id, name, &self.granted.account);
            self.plan.not_changed.push(why);
        }
    }
}

/// A pool that has room for what is loaded saves writing and reading each page many times. It takes at
/// most half of the spare memory.
fn buffer_pool(p: &mut Planner<'_>, work: &LoadProfile, spare: Option<u64>) {
    let number = |name: &str| p.id.variable(name).and_then(|v| v.parse::<u64>().ok());
    let Some(now) = number(BUFFER_POOL) else {
        return;
    };
    // Rows in pages, with indexes, take about twice the text.
    let wanted = work.bytes.saturating_mul(2);
    if wanted < now.saturating_add(now / 2) {
        return;
    }
    let Some(spare) = spare else {
        p.plan.not_changed.push(format!(
            "{BUFFER_POOL}: the memory of the server's host is known only over its unix socket"
        ));
        return;
    };
    let mut size = wanted.min(now.saturating_add(spare / 2));
    if let Some(most) = number("innodb_buffer_pool_size_max") {
        size = size.min(most);
    }
    // Servers round to whole chunks for each instance.
    let chunk = number("innodb_buffer_pool_chunk_size")
        .unwrap_or(0)
        .max(8 * MIB);
    let unit = chunk.saturating_mul(number("innodb_buffer_pool_instances").unwrap_or(1).max(1));
    size = size / unit * unit;
    if size < now.saturating_add(now / 2) {
        p.plan.not_changed.push(format!(
            "{BUFFER_POOL}: no memory to spare on the server's host"
        ));
        return;
    }
    p.want(BUFFER_POOL, &size.to_string());
}

/// Those of the lines for which a server is restarted: not `skip-log-bin`, because a gap in the binary
/// log would stay, and `--skip-binlog` asks for one explicitly.
pub fn lines(id: &Identity, restart: &[String]) -> Vec<Line> {
    restart
        .iter()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, wanted)| Line {
            setting: name.to_owned(),
            before: id.variable(name).unwrap_or_default().to_owned(),
            wanted: bytes(wanted),
        })
        .collect()
}

/// `512M` as the server shows it.
fn bytes(value: &str) -> String {
    let number = value.strip_suffix('M').and_then(|n| n.parse::<u64>().ok());
    number.map_or_else(|| value.to_owned(), |n| (n * MIB).to_string())
}

/// The settings for which the server would need a restart.
fn restart(id: &Identity, work: &LoadProfile, redo_off: bool, lines: &mut Vec<String>) {
    // Without a redo log nothing is written twice.
    let doublewrite = id.variable("innodb_doublewrite");
    if !redo_off && doublewrite.is_some_and(|v| !same(v, "OFF")) {
        lines.push("innodb_doublewrite = OFF".to_owned());
    }
    if work.split
        && id
            .variable("innodb_autoinc_lock_mode")
            .is_some_and(|v| v != "2")
    {
        lines.push("innodb_autoinc_lock_mode = 2".to_owned());
    }
    if id.log_bin && work.binlog {
        lines.push("skip-log-bin".to_owned());
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;

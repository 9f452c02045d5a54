//! Which settings `--tune=max` changes on which server, why, and what it takes.
//!
//! A setting is here only if it was measured to help, or keeps the disk out of
//! the way (docs/tuning.md has the figures). Values are chosen so that the
//! server takes them as they are: a value that it rounded would look like
//! somebody else's when it is to be put back. Nothing is lowered that
//! correctness or a replica depends on, and nothing is persisted.

use super::LoadProfile;
use super::journal::Line;
use server::{Identity, Privileges};

/// The one setting that is no variable.
pub const REDO_LOG: &str = "innodb_redo_log";
/// The buffer pool changes its size in the background.
pub const BUFFER_POOL: &str = "innodb_buffer_pool_size";

const MIB: u64 = 1 << 20;

/// MariaDB takes some ten seconds to make its log larger and small again: only a load that takes
/// minutes gets them back.
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
    /// In this order; put back in reverse.
    pub changes: Vec<Change>,
    /// Changes that are left out, with the reason.
    pub not_changed: Vec<String>,
    /// Lines of a `my.cnf` that would help after a restart.
    pub restart: Vec<String>,
}

/// The privileges of which one is needed to change a setting; the first is the one to ask for.
pub fn privileges(id: &Identity, name: &str) -> Vec<&'static str> {
    match name {
        REDO_LOG => vec!["INNODB_REDO_LOG_ENABLE"],
        "sync_binlog" if id.mariadb_at_least(10, 5, 2) => vec!["BINLOG ADMIN", "SUPER"],
        _ if id.mysql_at_least(8, 0, 0) => vec!["SYSTEM_VARIABLES_ADMIN", "SUPER"],
        _ => vec!["SUPER"],
    }
}

/// The reason why a setting is not changed for want of a privilege.
pub fn denied(id: &Identity, name: &str, account: &str) -> String {
    let needs = privileges(id, name)[0];
    format!("{name}: needs {needs} (GRANT {needs} ON *.* TO {account})")
}

/// Whether two spellings are one value.
pub fn same(a: &str, b: &str) -> bool {
    fn plain(v: &str) -> &str {
        match v {
            v if v.eq_ignore_ascii_case("ON") => "1",
            v if v.eq_ignore_ascii_case("OFF") => "0",
            v => v,
        }
    }
    plain(a).eq_ignore_ascii_case(plain(b))
}

/// Works out what to change. `room` is the memory that the server's host has to
/// spare, if that is known; `redo_log` whether MySQL's redo log is on now.
pub fn plan(
    id: &Identity,
    held: &Privileges,
    work: &LoadProfile,
    room: Option<u64>,
    redo_log: Option<bool>,
) -> Plan {
    let mut plan = Plan::default();
    let mut p = Planner {
        id,
        held,
        plan: &mut plan,
    };
    // Rows cannot be loaded without it.
    p.want("local_infile", "ON");
    if work.binlog && id.log_bin {
        p.want("sync_binlog", "0");
    }
    buffer_pool(&mut p, work, room);
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
    // Last, so that it is the first to be put back: until it is on again, a crash loses the server.
    if redo_log == Some(true) && !work.redo {
        p.want(REDO_LOG, "OFF");
    }
    restart(id, work, redo_off, &mut plan.restart);
    plan
}

struct Planner<'a> {
    id: &'a Identity,
    held: &'a Privileges,
    plan: &'a mut Plan,
}

impl Planner<'_> {
    fn may(&self, name: &str) -> bool {
        privileges(self.id, name).iter().any(|p| self.held.has(p))
    }

    /// Wants a value, if the server knows the setting and has another.
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
            let why = denied(self.id, name, &self.held.account);
            self.plan.not_changed.push(why);
        }
    }
}

/// A pool that holds what is loaded spares writing and reading each page many
/// times. It takes half of what memory there is to spare at most.
fn buffer_pool(p: &mut Planner<'_>, work: &LoadProfile, room: Option<u64>) {
    let number = |name: &str| p.id.variable(name).and_then(|v| v.parse::<u64>().ok());
    let Some(now) = number(BUFFER_POOL) else {
        return;
    };
    // As rows in pages, with indexes, it is about twice the text.
    let wanted = work.bytes.saturating_mul(2);
    if wanted < now.saturating_add(now / 2) {
        return;
    }
    let Some(room) = room else {
        p.plan.not_changed.push(format!(
            "{BUFFER_POOL}: the memory of the server's host is known only over its unix socket"
        ));
        return;
    };
    let mut size = wanted.min(now.saturating_add(room / 2));
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

/// Those of the lines for which a server is restarted: not `skip-log-bin`, for
/// a gap in the binary log would stay, and `--skip-binlog` asks for one in so many words.
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

/// What the server would need a restart for.
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

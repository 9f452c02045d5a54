//! Reverts what a journal says was changed, in reverse order.
//!
//! A value is reverted only where the server still has the one that we set. What another session has
//! changed meanwhile stays, and is reported. A server that was started again has forgotten its variables
//! by itself, and must not be given old values; only MySQL's redo log stays off over a restart.

use super::journal::{Entry, Journal, Record};
use crate::variables::{self, REDO_LOG, same};
use base::Result;
use base::units::printable;
use run::failure;
use wire::Conn;

/// What to do about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It has its old value.
    AsBefore,
    /// It has ours: set its old one.
    Revert,
    /// The server was started again and has the value of its own configuration.
    Restarted,
    /// It has neither: another session changed it.
    ChangedByOthers,
}

/// Decides from what the server says now.
pub(crate) fn decide(entry: &Entry, found: &str, restarted: bool) -> Decision {
    if same(found, &entry.before) {
        Decision::AsBefore
    } else if restarted && entry.setting != REDO_LOG {
        Decision::Restarted
    } else if same(found, &entry.wanted) || entry.during.as_deref().is_some_and(|d| same(found, d))
    {
        Decision::Revert
    } else {
        Decision::ChangedByOthers
    }
}

/// What came of reverting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Settings with the value that they have again.
    pub reverted: Vec<(String, String)>,
    /// Settings that other sessions changed: name, our value, the value found.
    pub changed_by_others: Vec<(String, String, String)>,
    /// Settings that could not be reverted, with the server's reason.
    pub failed: Vec<(String, String)>,
}

impl Outcome {
    pub(super) fn reverted_line(&self) -> String {
        let list: Vec<String> = self
            .reverted
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        format!("reverted: {}", list.join(", "))
    }

    pub(super) fn changed_by_others_line((name, ours, found): &(String, String, String)) -> String {
        format!(
            "{name} is {found}, which is neither the value before the load nor the load's ({ours}): another session changed it, so it stays"
        )
    }

    /// All of it, for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.reverted.is_empty() {
            lines.push(self.reverted_line());
        }
        lines.extend(
            self.changed_by_others
                .iter()
                .map(Self::changed_by_others_line),
        );
        lines.extend(
            self.failed
                .iter()
                .map(|(n, e)| format!("{n} could not be reverted: {e}")),
        );
        lines.iter().map(|l| printable(l)).collect()
    }
}

/// Reverts everything in the journal. An error means that the connection is gone or the journal cannot be
/// written; calling this again continues.
pub(crate) fn revert(conn: &mut Conn, journal: &mut Journal, outcome: &mut Outcome) -> Result<()> {
    outcome.failed.clear();
    let restarted = restarted(conn, journal)?;
    for entry in journal.entries.clone().into_iter().rev() {
        let name = &entry.setting;
        let Some(found) = variables::read(conn, name)? else {
            // A server that no longer has the setting has been replaced by another version.
            settle(journal, name, "")?;
            continue;
        };
        let decision = decide(&entry, &found, restarted);
        let settled = match decision {
            Decision::AsBefore | Decision::Restarted => found,
            Decision::ChangedByOthers => {
                let ours = entry.during.clone().unwrap_or_else(|| entry.wanted.clone());
                let line = (name.clone(), ours, found.clone());
                outcome.changed_by_others.push(line);
                found
            }
            Decision::Revert => match variables::set(conn, name, &entry.before) {
                Ok(()) => variables::settled_value(conn, name, &entry.before)?,
                Err(e) if e.code().is_some() => {
                    outcome
                        .failed
                        .push((name.clone(), printable(&e.to_string())));
                    continue;
                }
                Err(e) => return Err(failure::wire(format_args!("cannot revert {name}"), e)),
            },
        };
        settle(journal, name, &settled)?;
        if decision != Decision::ChangedByOthers {
            outcome.reverted.push((entry.setting, settled));
        }
    }
    Ok(())
}

fn settle(journal: &mut Journal, name: &str, found: &str) -> Result<()> {
    journal.add(Record::Settled {
        setting: name.to_owned(),
        found: found.to_owned(),
    })
}

/// Whether the server was started again since the journal began.
pub(crate) fn restarted(conn: &mut Conn, journal: &Journal) -> Result<bool> {
    let now = variables::server_start(conn)?;
    // The two readings of the clock may be a second apart.
    Ok(journal
        .begin
        .as_ref()
        .is_some_and(|(s, _)| (now - s.started).abs() > 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, before: &str, wanted: &str, during: Option<&str>) -> Entry {
        Entry {
            setting: name.into(),
            before: before.into(),
            wanted: wanted.into(),
            during: during.map(str::to_owned),
        }
    }

    #[test]
    fn only_our_own_value_is_reverted() {
        let e = entry("sync_binlog", "1", "0", Some("0"));
        assert_eq!(decide(&e, "0", false), Decision::Revert);
        assert_eq!(decide(&e, "1", false), Decision::AsBefore);
        assert_eq!(decide(&e, "100", false), Decision::ChangedByOthers);
        // The process ended before it could look: what was wanted is still our value.
        assert_eq!(
            decide(&entry("sync_binlog", "1", "0", None), "0", false),
            Decision::Revert
        );
        // What the server made of it is our value, too.
        let rounded = entry("innodb_io_capacity", "200", "999", Some("1000"));
        assert_eq!(decide(&rounded, "1000", false), Decision::Revert);
        let word = entry("local_infile", "OFF", "ON", None);
        assert_eq!(decide(&word, "1", false), Decision::Revert);
        assert_eq!(decide(&word, "0", false), Decision::AsBefore);
    }

    #[test]
    fn a_restart_settles_variables_but_not_the_redo_log() {
        let e = entry("sync_binlog", "1", "0", Some("0"));
        assert_eq!(decide(&e, "0", true), Decision::Restarted);
        assert_eq!(decide(&e, "100", true), Decision::Restarted);
        let redo = entry(REDO_LOG, "ON", "OFF", None);
        assert_eq!(decide(&redo, "OFF", true), Decision::Revert);
        assert_eq!(decide(&redo, "ON", true), Decision::AsBefore);
    }
}

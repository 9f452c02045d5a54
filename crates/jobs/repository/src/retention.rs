//! Which backups a policy keeps.
//!
//! For each rule the newest backups of the newest hours, days, weeks, months or years that have one are kept,
//! up to its number; calendar days and weeks are those of UTC, weeks begin on Monday. A backup that any rule
//! keeps stays, and the newest one stays in any case.
//!
//! A clock that jumped must not decide: no backup counts as later than one that was taken after it, so a
//! future time is cut down as soon as the next backup has a true one. The rest of that protection, a
//! comparison with the clock of the store, is in `prune`.
//!
//! What this does not do: look whether a backup is in use.

use crate::catalog::Entry;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// The rules; a rule without a number keeps nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The newest of all.
    pub last: Option<u32>,
    /// One of each hour that has one.
    pub hourly: Option<u32>,
    /// Of each day.
    pub daily: Option<u32>,
    /// Of each week.
    pub weekly: Option<u32>,
    /// Of each month.
    pub monthly: Option<u32>,
    /// Of each year.
    pub yearly: Option<u32>,
    /// All that are not older than this, counted from the newest.
    pub within: Option<std::time::Duration>,
}

impl Policy {
    /// Whether no rule is set.
    pub fn is_empty(&self) -> bool {
        *self == Policy::default()
    }
}

/// The policies of a repository.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// Of servers that have none of their own.
    pub usual: Policy,
    /// Of servers, by name.
    pub of_server: BTreeMap<String, Policy>,
}

impl Policies {
    /// The policy of a server.
    pub fn of(&self, server: &str) -> &Policy {
        self.of_server.get(server).unwrap_or(&self.usual)
    }

    /// Whether no rule is set for any server.
    pub fn is_empty(&self) -> bool {
        self.usual.is_empty() && self.of_server.values().all(Policy::is_empty)
    }
}

/// What a policy says of one backup.
#[derive(Clone, Debug, PartialEq)]
pub struct Keep {
    /// The backup.
    pub entry: Entry,
    /// Which rules keep it: "daily 3". Nothing: it goes.
    pub reasons: Vec<String>,
}

/// Names the hour, day, week, month or year that a time is in.
type PeriodOf = fn(DateTime) -> String;

/// Judges the backups of one server; returns them in the order they were taken, the newest first.
pub fn judge(policy: &Policy, mut entries: Vec<Entry>) -> Vec<Keep> {
    entries.sort_by(|a, b| b.order().cmp(&a.order()));
    let mut latest = Timestamp::MAX;
    let mut all: Vec<(Keep, Timestamp)> = entries
        .into_iter()
        .map(|entry| {
            latest = latest.min(entry.begin().unwrap_or(Timestamp::MIN));
            let reasons = Vec::new();
            (Keep { entry, reasons }, latest)
        })
        .collect();
    let civil = |t: &Timestamp| t.to_zoned(TimeZone::UTC).datetime();
    let rules: [(&str, Option<u32>, PeriodOf); 5] = [
        ("hourly", policy.hourly, |t| {
            format!("{} {}", t.date(), t.hour())
        }),
        ("daily", policy.daily, |t| t.date().to_string()),
        ("weekly", policy.weekly, |t| {
            let week = t.date().iso_week_date();
            format!("{} {}", week.year(), week.week())
        }),
        ("monthly", policy.monthly, |t| {
            format!("{} {}", t.year(), t.month())
        }),
        ("yearly", policy.yearly, |t| t.year().to_string()),
    ];
    for (n, (keep, _)) in (1..).zip(&mut all) {
        if policy.last.is_some_and(|last| n <= last) {
            keep.reasons.push(format!("last {n}"));
        }
    }
    for (name, most, period) in rules {
        let mut seen = BTreeSet::new();
        for (keep, time) in &mut all {
            if seen.len() < most.unwrap_or(0) as usize && seen.insert(period(civil(time))) {
                keep.reasons.push(format!("{name} {}", seen.len()));
            }
        }
    }
    let newest = all.first().map(|(_, time)| *time);
    if let (Some(within), Some(newest)) = (policy.within, newest) {
        for (keep, time) in &mut all {
            if newest.duration_since(*time).unsigned_abs() <= within {
                keep.reasons.push("within".to_owned());
            }
        }
    }
    if let Some((keep, _)) = all.first_mut().filter(|(keep, _)| keep.reasons.is_empty()) {
        keep.reasons.push("newest".to_owned());
    }
    all.into_iter().map(|(keep, _)| keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn entry(sequence: u64, begin: &str) -> Entry {
        let text = format!(
            r#"{{"version":1,"server":"s","id":"20260101T000000Z-{sequence:04x}","sequence":{sequence},
            "flavour":"mysql","server_version":"9","begin":"{begin}","end":"{begin}","tables":0,"rows":0,
            "raw_bytes":0,"stored_bytes":0,"files":1,"position":{{}},"manifest":{{"bytes":0,"blake3":""}}}}"#
        );
        Entry::parse(text.as_bytes()).unwrap()
    }

    fn kept(policy: &Policy, begins: &[&str]) -> Vec<String> {
        let entries = (1..).zip(begins).map(|(n, b)| entry(n, b)).collect();
        let judged = judge(policy, entries);
        let kept = judged.iter().filter(|k| !k.reasons.is_empty());
        kept.map(|k| format!("{}: {}", k.entry.sequence, k.reasons.join(", ")))
            .collect()
    }

    const DAYS: [&str; 6] = [
        "2026-01-01T01:00:00Z",
        "2026-01-02T01:00:00Z",
        "2026-01-02T23:00:00Z",
        "2026-02-01T01:00:00Z",
        "2026-02-02T01:00:00Z",
        "2026-02-02T01:30:00Z",
    ];

    #[test]
    fn each_rule_keeps_the_newest_of_its_period() {
        let policy = Policy {
            daily: Some(3),
            monthly: Some(2),
            ..Policy::default()
        };
        assert_eq!(
            kept(&policy, &DAYS),
            [
                "6: daily 1, monthly 1",
                "4: daily 2",
                "3: daily 3, monthly 2"
            ]
        );
        let policy = Policy {
            last: Some(2),
            yearly: Some(5),
            ..Policy::default()
        };
        assert_eq!(kept(&policy, &DAYS), ["6: last 1, yearly 1", "5: last 2"]);
        let policy = Policy {
            hourly: Some(2),
            weekly: Some(9),
            ..Policy::default()
        };
        assert_eq!(
            kept(&policy, &DAYS),
            [
                "6: hourly 1, weekly 1",
                "4: hourly 2, weekly 2",
                "3: weekly 3"
            ]
        );
        let policy = Policy {
            within: Some(Duration::from_secs(25 * 3600)),
            ..Policy::default()
        };
        assert_eq!(
            kept(&policy, &DAYS),
            ["6: within", "5: within", "4: within"]
        );
        assert_eq!(kept(&Policy::default(), &DAYS), ["6: newest"]);
    }

    /// A backup of the year 2036 in between: it counts as taken with its successor, and its time makes nothing old.
    #[test]
    fn a_clock_that_jumped_decides_nothing() {
        let begins = [
            "2026-01-01T01:00:00Z",
            "2036-01-01T01:00:00Z",
            "2026-01-02T01:00:00Z",
        ];
        let policy = Policy {
            within: Some(Duration::from_secs(25 * 3600)),
            ..Policy::default()
        };
        assert_eq!(
            kept(&policy, &begins),
            ["3: within", "2: within", "1: within"]
        );
        let policy = Policy {
            yearly: Some(2),
            ..Policy::default()
        };
        assert_eq!(kept(&policy, &begins), ["3: yearly 1"]);
    }

    proptest! {
        /// More of any rule never keeps less, and the newest always stays.
        #[test]
        fn a_wider_policy_keeps_no_less(times in prop::collection::vec(0u32..200_000, 1..40), n in 0u32..9, more in 0u32..9) {
            let begin = |m: &u32| Timestamp::from_second(1_700_000_000 + i64::from(*m) * 600).unwrap().to_string();
            let begins: Vec<String> = times.iter().map(begin).collect();
            let begins: Vec<&str> = begins.iter().map(String::as_str).collect();
            let policy = |n| Policy { daily: Some(n), weekly: Some(n), last: Some(n), ..Policy::default() };
            let number = |k: &String| k.split(':').next().unwrap().to_owned();
            let fewer: BTreeSet<String> = kept(&policy(n), &begins).iter().map(number).collect();
            let wider: BTreeSet<String> = kept(&policy(n + more), &begins).iter().map(number).collect();
            prop_assert!(fewer.is_subset(&wider));
            prop_assert!(fewer.contains(&begins.len().to_string()));
        }
    }
}

//! What can be changed while a job runs, by name: each tunable has the name of the command-line flag
//! that it changes, without the dashes.
//!
//! A new tunable is one more entry in [`TUNABLES`]; the socket, the command line and the status need no
//! change.

use crate::Run;
use crate::throttle::limits;
use base::{limiter, units};

/// Applies a parsed value.
pub type Change = Box<dyn FnOnce(&Run)>;

/// A limit that can be changed.
pub struct Tunable {
    /// Its name in `penstock set NAME=VALUE`.
    pub name: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// Why this run does not have it; `None` if it has it.
    pub unavailable: fn(&Run) -> Option<&'static str>,
    /// Parses a value; `none` removes the limit.
    pub parse: fn(&str) -> Result<Change, String>,
    /// The current value; `None`: no limit.
    pub get: fn(&Run) -> Option<String>,
}

/// All of them.
pub const TUNABLES: &[Tunable] = &[
    Tunable {
        name: "max-rate",
        example: "20M",
        unavailable: |_| None,
        parse: |text| {
            let rate = optional_rate(text)?;
            Ok(Box::new(move |run| run.limiter.set_rate(rate)))
        },
        get: |run| run.limiter.rate().map(units::rate),
    },
    Tunable {
        name: "max-rate-disk",
        example: "20M",
        unavailable: |_| None,
        parse: |text| {
            let rate = optional_rate(text)?;
            Ok(Box::new(move |run| run.disk_limiter.set_rate(rate)))
        },
        get: |run| run.disk_limiter.rate().map(units::rate),
    },
    Tunable {
        name: "max-impact",
        example: "5%",
        unavailable: unwatched,
        parse: |text| {
            let share = match text {
                "none" => None,
                _ => Some(
                    limits::percent(text)
                        .filter(|p| *p < 1.0)
                        .ok_or_else(|| format!("{text:?} is not a percentage, e.g. 5%"))?,
                ),
            };
            Ok(Box::new(move |run| run.setpoints.set_impact(share)))
        },
        get: |run| run.setpoints.impact().map(|p| format!("{} %", p * 100.0)),
    },
    Tunable {
        name: "max-threads-running",
        example: "32",
        unavailable: unwatched,
        parse: |text| {
            let most = match text {
                "none" => None,
                _ => Some(
                    text.parse()
                        .map_err(|_| format!("{text:?} is not a number"))?,
                ),
            };
            Ok(Box::new(move |run| {
                run.setpoints.set_max_threads_running(most)
            }))
        },
        get: |run| run.setpoints.max_threads_running().map(|n| n.to_string()),
    },
];

/// A throttle measures the baseline before a run begins, so it cannot be started later.
fn unwatched(run: &Run) -> Option<&'static str> {
    (!run.setpoints.is_watched()).then_some(
        "this job does not measure its impact; start it with --max-impact or --max-threads-running",
    )
}

/// The requested changes, or what is wrong with one of them.
pub(super) fn changes(run: &Run, wanted: &[(String, String)]) -> Result<Vec<Change>, String> {
    if wanted.is_empty() {
        return Err("nothing to set".to_owned());
    }
    wanted
        .iter()
        .map(|(name, value)| {
            let known = || {
                TUNABLES
                    .iter()
                    .map(|t| t.name)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let tunable = TUNABLES.iter().find(|t| t.name == name);
            let tunable = tunable
                .ok_or_else(|| format!("{name:?} cannot be set; the names are: {}", known()))?;
            if let Some(why) = (tunable.unavailable)(run) {
                return Err(format!("{name}: {why}"));
            }
            (tunable.parse)(value).map_err(|why| format!("{name}: {why}"))
        })
        .collect()
}

fn optional_rate(text: &str) -> Result<Option<u64>, String> {
    match text {
        "none" => Ok(None),
        _ => rate(text).map(Some),
    }
}

/// Parses `40M`, `40M/s`, `1.5G`: bytes per second, in binary multiples as everywhere.
pub fn rate(text: &str) -> Result<u64, String> {
    let typed = text.trim();
    let number = typed.strip_suffix("/s").unwrap_or(typed);
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = base::typed::multiple(&number[digits.len()..]);
    // Without signs, exponents and words (`inf`), which a float parser accepts.
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = digits.parse::<f64>().ok().filter(|_| plain);
    let value = value.zip(factor).map(|(n, factor)| n * factor as f64);
    match value {
        Some(n) if n < limiter::LOWEST as f64 => Err(format!(
            "{text:?} is too low: the minimum is {}",
            units::rate(limiter::LOWEST)
        )),
        // Up to this rate counts of bytes and nanoseconds stay exact, and no network is as fast.
        Some(n) if n <= (1u64 << 50) as f64 => Ok(n as u64),
        Some(_) => Err(format!("{text:?} is more than any network can carry")),
        None => Err(format!("{text:?} is not a rate")),
    }
}

//! What can be set while a run goes on, by name.
//!
//! Something new to set is one entry more in [`KNOBS`]; the socket, the command
//! line and the status know of nothing else.

use crate::Run;
use crate::throttle::limits;
use base::{limiter, units};

/// Sets what was read.
pub type Change = Box<dyn FnOnce(&Run)>;

/// Something that can be set.
pub struct Tunable {
    /// As it is typed in `penstock set NAME=VALUE`.
    pub name: &'static str,
    /// What a value looks like.
    pub example: &'static str,
    /// Why this run does not have it, if it does not.
    pub unavailable: fn(&Run) -> Option<&'static str>,
    /// Makes sense of a value; `none` lifts a limit.
    pub parse: fn(&str) -> Result<Change, String>,
    /// The value now; `None`: no limit.
    pub get: fn(&Run) -> Option<String>,
}

/// All of them.
pub const TUNABLES: &[Tunable] = &[
    Tunable {
        name: "rate",
        example: "20M",
        unavailable: |_| None,
        parse: |text| {
            let rate = optional_rate(text)?;
            Ok(Box::new(move |run| run.limiter.set_rate(rate)))
        },
        get: |run| run.limiter.rate().map(units::rate),
    },
    Tunable {
        name: "rate-disk",
        example: "20M",
        unavailable: |_| None,
        parse: |text| {
            let rate = optional_rate(text)?;
            Ok(Box::new(move |run| run.disk_limiter.set_rate(rate)))
        },
        get: |run| run.disk_limiter.rate().map(units::rate),
    },
    Tunable {
        name: "impact",
        example: "5%",
        unavailable: unwatched,
        parse: |text| {
            let share = match text {
                "none" => None,
                _ => Some(
                    limits::percent(text)
                        .filter(|p| *p < 1.0)
                        .ok_or_else(|| format!("{text:?} is no share, e.g. 5%"))?,
                ),
            };
            Ok(Box::new(move |run| run.setpoints.set_impact(share)))
        },
        get: |run| run.setpoints.impact().map(|p| format!("{} %", p * 100.0)),
    },
    Tunable {
        name: "max-running",
        example: "32",
        unavailable: unwatched,
        parse: |text| {
            let most = match text {
                "none" => None,
                _ => Some(text.parse().map_err(|_| format!("{text:?} is no number"))?),
            };
            Ok(Box::new(move |run| {
                run.setpoints.set_max_threads_running(most)
            }))
        },
        get: |run| run.setpoints.max_threads_running().map(|n| n.to_string()),
    },
];

/// Who watches what a run costs does so from its beginning.
fn unwatched(run: &Run) -> Option<&'static str> {
    (!run.setpoints.is_watched()).then_some(
        "this run does not watch the server; begin it with --max-impact or --max-running",
    )
}

/// The changes that are meant, or what is wrong with one of them.
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
                    .map(|k| k.name)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let knob = TUNABLES.iter().find(|k| k.name == name);
            let knob = knob.ok_or_else(|| {
                format!("there is no {name:?} to set; this run knows {}", known())
            })?;
            if let Some(why) = (knob.unavailable)(run) {
                return Err(format!("{name}: {why}"));
            }
            (knob.parse)(value).map_err(|why| format!("{name}: {why}"))
        })
        .collect()
}

fn optional_rate(text: &str) -> Result<Option<u64>, String> {
    match text {
        "none" => Ok(None),
        _ => rate(text).map(Some),
    }
}

/// `40M`, `40M/s`, `1.5G`: bytes per second, in binary multiples as everywhere.
pub fn rate(text: &str) -> Result<u64, String> {
    let typed = text.trim();
    let number = typed.strip_suffix("/s").unwrap_or(typed);
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = base::typed::multiple(&number[digits.len()..]);
    // No signs, exponents or words that a parser of numbers would take.
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = digits.parse::<f64>().ok().filter(|_| plain);
    let value = value.zip(factor).map(|(n, factor)| n * factor as f64);
    match value {
        Some(n) if n < limiter::LOWEST as f64 => Err(format!(
            "{text:?} is too low: {} is the least",
            units::rate(limiter::LOWEST)
        )),
        // Counts of bytes and nanoseconds stay exact, and no network is as fast.
        Some(n) if n <= (1u64 << 50) as f64 => Ok(n as u64),
        Some(_) => Err(format!("{text:?} is more than any network carries")),
        None => Err(format!("{text:?} is not a rate")),
    }
}

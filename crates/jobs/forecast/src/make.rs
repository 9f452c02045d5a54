//! Makes a forecast: the stages of the model, corrected by earlier runs, and never faster than a disk or a limit that is
//! known; and how far off it may be.
//!
//! The range is a factor. Without runs it is [`UNKNOWN`], for each stage that a run of like size has shown it is narrower, and
//! after [`ENOUGH`] forecasts it is what those were off by, but for what no run of like size has shown.

use crate::fit::{self, Seen};
use crate::history::{self, History, MOST_RUNS};
use crate::model::{self, Part};
use crate::stage::Stage;
use crate::work::{Amount, Job, Work};

/// The range of a stage that was never seen: a third of the forecast to three times.
const UNKNOWN: f64 = 3.0;

/// The range after one run, which may have had other tables, and after more of them, until there are [`ENOUGH`]
/// forecasts.
const ONCE: f64 = 2.0;
/// See [`ONCE`].
const OFTEN: f64 = 1.5;

/// From so many forecasts on, their errors are the range.
const ENOUGH: usize = 3;

/// No range is narrower: two runs of the same thing differ by more.
const NARROWEST: f64 = 1.08;

/// Nine of ten errors are below so many times their root mean square, if they are distributed normally.
const NINE_OF_TEN: f64 = 1.645;

/// The size of an archive as a share of its rows, where none was made here.
const COMPRESSED: f64 = 0.35;

/// What the run is given, besides its work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Bytes per second between a server and penstock (`--max-rate`).
    pub rate: Option<u64>,
    /// Bytes per second that are written (`--max-rate-disk`).
    pub disk_rate: Option<u64>,
    /// Bytes per second that the archive's disk takes, as measured.
    pub write: Option<f64>,
    /// Bytes per second that it gives.
    pub read: Option<f64>,
    /// Whether a limit on impact can make it longer than anything here knows.
    pub impact: bool,
}

/// What a forecast is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// So many earlier runs of its longest stage, on this host.
    Runs(usize),
    /// The built-in rates.
    Defaults,
}

/// Where the range is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The errors of so many earlier forecasts.
    Measured(usize),
    /// Assumed.
    Assumed,
}

/// How long a run will take.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Seconds.
    pub seconds: f64,
    /// The least that is likely.
    pub low: f64,
    /// The most that is likely.
    pub high: f64,
    /// What it is based on.
    pub basis: Basis,
    /// Stages by built-in rates, although there are runs.
    pub by_default: Vec<Stage>,
    /// Where the range is from.
    pub spread: Spread,
    /// The stages and their seconds, in order.
    pub stages: Vec<(Stage, f64)>,
    /// What the longest of them is limited by, in words.
    pub limited_by: String,
    /// Bytes of the archive that a dump would write: least, likely, most.
    pub archive: Option<[u64; 3]>,
    /// Whether a limit on impact can make it longer.
    pub without_impact: bool,
}

impl Forecast {
    /// The stage that takes the longest.
    pub fn longest(&self) -> (Stage, f64) {
        let longest = self.stages.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        longest.copied().unwrap_or((Stage::Rest, 0.0))
    }
}

/// A stage with its forecast.
struct Made {
    stage: Stage,
    seconds: f64,
    runs: usize,
    /// How well it is known, from 0 to 1: a run at least half as large as this one knows it, smaller ones less.
    known: f64,
    limit: Option<&'static str>,
}

impl History {
    /// How long this work will take.
    pub fn forecast(&mut self, work: &Work, limits: &Limits) -> Forecast {
        let speed = self.speed();
        let archive = self.archive(work);
        let made: Vec<Made> = model::parts(work)
            .into_iter()
            .map(|part| self.part(part, work, limits, (speed, archive)))
            .collect();
        let seconds: f64 = made.iter().map(|m| m.seconds).sum();
        let Some(longest) = made.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else {
            return Forecast::nothing();
        };
        let (factor, spread) = self.range(work, &made, seconds);
        let seen = made.iter().any(|m| m.runs > 0);
        let matters = |m: &&Made| m.runs == 0 && m.seconds > 0.1 * seconds;
        Forecast {
            seconds,
            low: seconds / factor,
            high: seconds * factor,
            basis: match longest.runs {
                0 => Basis::Defaults,
                n => Basis::Runs(n),
            },
            by_default: match seen {
                true => made.iter().filter(matters).map(|m| m.stage).collect(),
                false => Vec::new(),
            },
            spread,
            limited_by: limited_by(longest, work),
            stages: made.iter().map(|m| (m.stage, m.seconds)).collect(),
            archive: archive.filter(|_| work.job == Job::Dump),
            without_impact: limits.impact,
        }
    }

    /// A stage: what its terms add up to, corrected by runs that had the same stage.
    fn part(
        &self,
        part: Part,
        work: &Work,
        limits: &Limits,
        (speed, archive): (f64, Option<[u64; 3]>),
    ) -> Made {
        let newest = self.runs().iter().rev();
        let alike = newest.filter_map(|ran| {
            let took = *ran.stages.get(&part.stage)?;
            let parts = model::parts(&ran.work);
            let same = parts.into_iter().find(|p| p.stage == part.stage)?;
            let far = (work.size() / ran.work.size()).ln().abs();
            (same.key == part.key).then_some((same.terms, took, far))
        });
        let seen: Vec<Seen> = alike
            .take(MOST_RUNS)
            .enumerate()
            .map(|(age, (terms, took, far))| Seen {
                terms: terms.iter().map(|t| t / speed).collect(),
                took,
                weight: 0.9f64.powi(age as i32) / (1.0 + far),
            })
            .collect();
        let factors = fit::factors(part.terms.len(), &seen);
        let fitted = part.terms.iter().zip(&factors).map(|(t, f)| t / speed * f);
        let now: f64 = part.terms.iter().sum::<f64>() / speed;
        let known = seen.iter().map(|s| {
            let then: f64 = s.terms.iter().sum();
            (2.0 * then.min(now) / then.max(now).max(1e-9)).min(1.0)
        });
        let mut made = Made {
            stage: part.stage,
            seconds: fitted.sum(),
            runs: seen.len(),
            known: known.fold(0.0, f64::max),
            limit: None,
        };
        for (bytes, rate, what) in floors(part.stage, work, limits, archive) {
            let least = bytes as f64 / rate.max(1.0);
            if least > made.seconds {
                made.seconds = least;
                made.limit = Some(what);
            }
        }
        made
    }

    /// By which factor the forecast may be off.
    fn range(&self, work: &Work, made: &[Made], seconds: f64) -> (f64, Spread) {
        let share = |m: &Made| m.seconds / seconds.max(1e-9);
        let of_stage = |m: &Made| match m.runs {
            0 | 1 => ONCE.ln(),
            _ => OFTEN.ln(),
        };
        // What no run of this size has shown may be anything.
        let unseen = |m: &Made| share(m) * (1.0 - m.known) * UNKNOWN.ln();
        let seen = |m: &Made| share(m) * m.known * of_stage(m);
        let unseen: f64 = made.iter().map(unseen).sum();
        let assumed: f64 = unseen + made.iter().map(seen).sum::<f64>();
        let errors: Vec<f64> = history::earlier(self.runs(), work)
            .map(|(f, took)| (took / f.seconds.max(1e-3)).ln())
            .collect();
        let (factor, spread) = match errors.len() {
            n if n >= ENOUGH => {
                let mean = errors.iter().map(|e| e * e).sum::<f64>() / n as f64;
                ((NINE_OF_TEN * mean.sqrt()).max(unseen), Spread::Measured(n))
            }
            _ => (assumed, Spread::Assumed),
        };
        let factor = factor.clamp(NARROWEST.ln(), UNKNOWN.ln());
        (factor.exp(), spread)
    }

    /// Bytes of the archive that a dump would write: by the ratio of those that were written here.
    fn archive(&self, work: &Work) -> Option<[u64; 3]> {
        if work.job != Job::Dump {
            return None;
        }
        let compressed = work.how.starts_with("zstd");
        let like = self.runs().iter().rev().filter(|r| {
            let w = &r.work;
            w.job == Job::Dump && w.how == work.how && w.rows.bytes > 1 << 20 && r.written > 0
        });
        let ratios: Vec<f64> = like
            .take(MOST_RUNS)
            .map(|r| r.written as f64 / r.work.rows.bytes as f64)
            .collect();
        let (ratio, factor) = match (ratios.is_empty(), compressed) {
            (false, _) => (ratios.iter().sum::<f64>() / ratios.len() as f64, 1.5),
            (true, true) => (COMPRESSED, UNKNOWN),
            (true, false) => (1.0, 1.5),
        };
        let bytes = work.rows.bytes as f64 * ratio;
        Some([bytes / factor, bytes, bytes * factor].map(|b| b as u64))
    }
}

/// What a stage cannot be faster than: bytes, bytes per second, and what allows no more.
fn floors(
    stage: Stage,
    work: &Work,
    limits: &Limits,
    archive: Option<[u64; 3]>,
) -> Vec<(u64, f64, &'static str)> {
    let written = archive.map_or(0, |[_, likely, _]| likely);
    let rate = limits.rate.map(|r| (r as f64, "--max-rate"));
    let of = |bytes: u64, limit: Option<(f64, &'static str)>| {
        limit.map(|(rate, what)| (bytes, rate, what))
    };
    // The archive is read once for each way of loading it, in the share of the rows that take it.
    let read = |part: Amount| {
        let all = (work.all().bytes as f64).max(1.0);
        let bytes = (work.stored as f64 * part.bytes as f64 / all) as u64;
        of(bytes, limits.read.map(|r| (r, "the archive's disk")))
    };
    let known = match stage {
        Stage::DumpRows => vec![
            of(work.rows.bytes, rate),
            of(
                written,
                limits.disk_rate.map(|r| (r as f64, "--max-rate-disk")),
            ),
            of(written, limits.write.map(|r| (r, "the archive's disk"))),
        ],
        Stage::LoadRows => vec![of(work.rows.bytes, rate), read(work.rows)],
        Stage::Compare => vec![of(work.rows.bytes, rate)],
        Stage::Tablespaces => vec![read(work.tablespaces)],
        Stage::CheckArchive => vec![read(work.all())],
        _ => Vec::new(),
    };
    known.into_iter().flatten().collect()
}

/// What the longest stage is limited by, in words.
fn limited_by(longest: &Made, work: &Work) -> String {
    if let Some(limit) = longest.limit {
        return limit.to_owned();
    }
    let moves_rows = matches!(
        longest.stage,
        Stage::DumpRows
            | Stage::LoadRows
            | Stage::Tablespaces
            | Stage::Compare
            | Stage::CheckArchive
    );
    let of = |n: u64, one: &str, many: &str| match n {
        1 => one.to_owned(),
        n => format!("the {n} {many}"),
    };
    match moves_rows {
        false => "the server".to_owned(),
        true if !work.place.starts_with("directory") => {
            "the cores, the server, or the link to the archive's place".to_owned()
        }
        true if !work.is_here() => "the server, or the network to it".to_owned(),
        true if work.workers < work.cores => of(work.workers, "the one worker", "workers"),
        true => of(
            work.cores,
            "the one core of this host",
            "cores of this host",
        ),
    }
}

impl Forecast {
    /// One run after the other. Each is as uncertain as it is, and both may be off in the same direction.
    #[must_use]
    pub fn and(mut self, other: Forecast) -> Forecast {
        let (_, ours) = self.longest();
        let (_, theirs) = other.longest();
        if theirs > ours {
            self.limited_by = other.limited_by;
            self.basis = other.basis;
            self.spread = other.spread;
        }
        self.seconds += other.seconds;
        self.low += other.low;
        self.high += other.high;
        for stage in other.by_default {
            if !self.by_default.contains(&stage) {
                self.by_default.push(stage);
            }
        }
        for (stage, seconds) in other.stages {
            match self.stages.iter_mut().find(|(s, _)| *s == stage) {
                Some((_, all)) => *all += seconds,
                None => self.stages.push((stage, seconds)),
            }
        }
        self.without_impact |= other.without_impact;
        self
    }

    fn nothing() -> Forecast {
        Forecast {
            seconds: 0.0,
            low: 0.0,
            high: 0.0,
            basis: Basis::Defaults,
            by_default: Vec::new(),
            spread: Spread::Assumed,
            stages: Vec::new(),
            limited_by: String::new(),
            archive: None,
            without_impact: false,
        }
    }
}

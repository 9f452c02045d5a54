//! Decides the rate for each interval. Pure: samples in, actions out.
//!
//! Time is cut into intervals. In most of them rows move (work); now and then nothing moves for one
//! interval (a rest), and what the application saw in the work between two rests is compared with what
//! it saw in the rests ([`Effect`]). The rate that fits the budget follows from that. Three things make
//! it react quickly where comparisons alone are slow: pulses at full speed, at the start and now and
//! then (a byte costs the same at any rate, but only a large effect stands out from the noise: the cost
//! of a pulse grows with the rate, its information with the square of the rate); a cut by half as soon
//! as an interval is far above the rests on both sides; and no limit while the application is idle.
//!
//! Invariant: the rate never falls below the floor, so that a run ends.

use super::effect::{Effect, Estimate};

/// What the application saw in one interval, without the run's own statements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// Statements that ended in the interval.
    pub statements: f64,
    /// Their mean latency in seconds, if the server reports it.
    pub mean: Option<f64>,
    /// Their 95th percentile in seconds, if the server reports it.
    pub p95: Option<f64>,
    /// Statements that were running at its end.
    pub under_way: u64,
    /// Bytes of the run that passed the rate limiter.
    pub bytes: u64,
}

impl Sample {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-3)
    }

    fn per_second(&self) -> f64 {
        self.statements / self.seconds.max(1e-3)
    }

    /// Whether the application sends almost no statements, or is stalled.
    pub fn is_quiet(&self) -> bool {
        self.per_second() < MIN_STATEMENT_RATE
    }
}

/// What the run may do in the next interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// No limit.
    Open,
    /// At most this many bytes per second.
    Rate(u64),
    /// Nothing moves: a rest.
    Rest,
}

/// What the controller is doing; reported to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Pulses at full speed, to measure what a byte costs.
    Calibrate,
    /// Keeping the budget.
    Hold,
    /// No application, so no limit.
    Idle,
    /// Other sessions' statements are running, and none of them ends.
    Stalled,
}

/// Fewer statements per second than this count as no application.
const MIN_STATEMENT_RATE: f64 = 10.0;

/// How long an application whose statements run and do not end counts as stalled, in seconds, and not
/// as gone: a flush of the whole log may take that long. A statement that runs longer is not an
/// application but a report.
const MAX_STALL_SECONDS: f64 = 30.0;

/// Share of the budget that the controller aims at, so that the estimate's error stays inside the
/// budget.
const TARGET_SHARE: f64 = 0.7;

/// The same without a statement histogram. Part of the cost is then invisible in an interval: measured
/// at a target of 5 %, the estimate missed 2 % (docs/impact.md).
const TARGET_SHARE_COARSE: f64 = 0.35;

/// Standard errors that the target keeps below the budget.
const TARGET_ERRORS: f64 = 0.7;

/// Pulses of a calibration.
const CALIBRATION_PULSES: u32 = 3;

/// Intervals with fewer bytes say nothing about the cost of a byte.
const MIN_BYTES: u64 = 64 << 10;

/// Seconds between two pulses while the budget is kept.
const PULSE_EVERY_SECONDS: f64 = 12.0;

/// The three figures that are compared: throughput, mean, 95th percentile.
const SIGNALS: usize = 3;

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    budget: f64,
    /// Share of the budget that the controller aims at.
    target_share: f64,
    floor: f64,
    mode: Mode,
    pulses: u32,
    /// The target rate; infinite without a limit.
    rate: f64,
    /// The highest rate of recent intervals.
    peak_rate: f64,
    effects: [Effect; SIGNALS],
    last_rest: Option<Sample>,
    work_samples: Vec<Sample>,
    /// Work intervals between two rests.
    work_intervals: usize,
    /// How much consecutive rests differ, as a logarithm.
    noise: f64,
    resting: bool,
    /// A work interval far above the rest before it; the rest after it tells whether the run caused it.
    spike: Option<Sample>,
    /// Seconds since the last comparison.
    since_comparison: f64,
    /// Seconds since the last pulse.
    since_pulse: f64,
    /// The current interval is a pulse.
    pulse: bool,
    /// Statements of an application have been seen.
    application_seen: bool,
    /// The last interval had statements again after an idle time.
    returning: bool,
    /// Seconds without a statement that ended, while some run.
    stalled: f64,
}

impl Controller {
    /// Keeps the effect within `budget` (0.05: five per cent), at a rate never below `floor` bytes per
    /// second.
    pub fn new(budget: f64, floor: u64) -> Controller {
        Controller {
            budget,
            target_share: TARGET_SHARE,
            floor: floor.max(1) as f64,
            mode: Mode::Calibrate,
            pulses: CALIBRATION_PULSES,
            rate: f64::INFINITY,
            peak_rate: 0.0,
            effects: Default::default(),
            last_rest: None,
            work_samples: Vec::new(),
            work_intervals: 1,
            noise: 0.05,
            resting: true,
            spike: None,
            since_comparison: 0.0,
            since_pulse: 0.0,
            pulse: false,
            application_seen: false,
            returning: false,
            stalled: 0.0,
        }
    }

    /// Aims lower, for samples that do not show the whole cost.
    pub fn use_coarse_target(&mut self) {
        self.target_share = TARGET_SHARE_COARSE;
    }

    /// Changes the budget.
    pub fn set_budget(&mut self, budget: f64) {
        self.budget = budget;
    }

    /// The highest rate of recent intervals, in bytes per second.
    pub fn peak_rate(&self) -> f64 {
        self.peak_rate
    }

    /// The current mode.
    pub fn mode(&self) -> Mode {
        if self.stalled > 0.0 && self.mode != Mode::Idle {
            Mode::Stalled
        } else {
            self.mode
        }
    }

    /// The largest of the estimates, as an effect at the current rate, averaged over rests and work,
    /// with its error.
    pub fn effect(&self) -> Option<(f64, f64)> {
        let share = self.work_intervals as f64 / (self.work_intervals + 1) as f64;
        let rate = self.rate.min(self.peak_rate.max(self.floor));
        let worst = self
            .estimates()
            .max_by(|a, b| a.slope.total_cmp(&b.slope))?;
        Some((share * worst.at(rate), share * worst.error_at(rate)))
    }

    fn estimates(&self) -> impl Iterator<Item = Estimate> + '_ {
        self.effects.iter().filter_map(Effect::estimate)
    }

    /// Takes the sample of a finished interval; returns the action for the next one.
    pub fn step(&mut self, sample: Sample) -> Action {
        self.since_comparison += sample.seconds;
        self.since_pulse += sample.seconds;
        if sample.is_quiet() {
            if self.application_seen
                && sample.under_way > 0
                && self.mode != Mode::Idle
                && self.stalled < MAX_STALL_SECONDS
            {
                // The server is stalled; anything the run does now would prolong the stall.
                self.stalled += sample.seconds;
                self.last_rest = None;
                self.spike = None;
                self.pulse = false;
                self.work_samples.clear();
                return self.rest();
            }
            self.returning = false;
            // No application to protect; the estimates are kept for its return.
            self.mode = Mode::Idle;
            self.last_rest = None;
            self.spike = None;
            self.work_samples.clear();
            self.resting = false;
            return Action::Open;
        }
        self.application_seen = true;
        self.stalled = 0.0;
        if self.mode == Mode::Idle && !std::mem::replace(&mut self.returning, true) {
            // A few statements at once, as monitoring sends them, are not an application.
            return Action::Open;
        }
        if self.mode == Mode::Idle {
            // An application is back. A rest first, then short pulses.
            self.mode = Mode::Calibrate;
            self.pulses = CALIBRATION_PULSES;
            self.work_intervals = 1;
            return self.rest();
        }
        if self.resting {
            self.end_rest(sample);
            return self.work();
        }
        self.peak_rate = (self.peak_rate * 0.98).max(sample.rate());
        self.work_samples.push(sample);
        if let Some(rest) = self.last_rest
            && self.is_spike(sample, rest)
        {
            self.spike = Some(sample);
            return self.rest();
        }
        if self.work_samples.len() >= self.work_intervals || self.pulse {
            return self.rest();
        }
        self.work()
    }

    fn rest(&mut self) -> Action {
        self.resting = true;
        Action::Rest
    }

    fn work(&mut self) -> Action {
        self.resting = false;
        if self.mode == Mode::Calibrate || self.rate.is_infinite() {
            return Action::Open;
        }
        // A pulse is the only work interval between two rests.
        if self.since_pulse > PULSE_EVERY_SECONDS
            && self.work_samples.is_empty()
            && self.rate < self.peak_rate / 3.0
        {
            self.pulse = true;
            return Action::Open;
        }
        // Work intervals make up for the rests.
        let share = self.work_intervals as f64 / (self.work_intervals + 1) as f64;
        Action::Rate((self.rate / share).max(self.floor) as u64)
    }

    /// Whether a work interval is far above a rest.
    fn is_spike(&self, sample: Sample, rest: Sample) -> bool {
        // At the floor there is nothing to cut, and pulses are expected to have an effect.
        if self.mode == Mode::Calibrate
            || self.pulse
            || sample.bytes < MIN_BYTES
            || self.rate <= self.floor
        {
            return false;
        }
        let limit = (1.0 + self.budget).ln() + (3.0 * self.noise).max(0.2);
        ratios(&sample, &rest, &rest)
            .iter()
            .take(2)
            .flatten()
            .any(|r| r.ln() > limit)
    }

    /// Ends a rest: compares the work since the last rest with both rests, and adjusts the rate.
    fn end_rest(&mut self, sample: Sample) {
        if std::mem::take(&mut self.pulse) {
            self.since_pulse = 0.0;
        }
        if let Some(spike) = self.spike.take()
            && self.is_spike(spike, sample)
        {
            // The spike ended when nothing moved, so the run caused it: what a byte cost until now says
            // little about what it costs now.
            self.rate = (self.rate.min(spike.rate()) / 2.0).max(self.floor);
            self.effects.iter_mut().for_each(Effect::forget_most);
            self.since_pulse = 0.0;
            self.work_intervals = 1;
        }
        let work = merge(&self.work_samples);
        self.work_samples.clear();
        if let (Some(before), Some(work)) = (self.last_rest, work)
            && work.bytes >= MIN_BYTES
        {
            let seconds = std::mem::take(&mut self.since_comparison);
            let found = ratios(&work, &before, &sample);
            for (effect, ratio) in self.effects.iter_mut().zip(found) {
                if let Some(ratio) = ratio {
                    effect.push(work.rate(), ratio, seconds);
                }
            }
            if let Some(r) =
                ratios(&sample, &before, &before)[1].or(ratios(&sample, &before, &before)[0])
            {
                let moved = r.ln().abs();
                // The application's load has changed: a byte now costs something else.
                if moved > 0.35 && moved > 4.0 * self.noise {
                    self.effects.iter_mut().for_each(Effect::forget_most);
                }
                self.noise = 0.9 * self.noise + 0.1 * moved.min(0.5);
            }
            if self.mode == Mode::Calibrate {
                self.pulses -= 1;
                if self.pulses == 0 {
                    self.mode = Mode::Hold;
                    self.rate = self.fitting_rate().max(self.floor);
                }
            } else {
                self.adjust_rate();
            }
        }
        self.last_rest = Some(sample);
        if self.mode == Mode::Hold {
            self.work_intervals = self.wanted_work_intervals();
        }
    }

    /// The rate that the estimates allow, averaged over work and rests.
    fn fitting_rate(&self) -> f64 {
        self.estimates()
            .map(|e| e.rate_for(self.budget * self.target_share, TARGET_ERRORS))
            .fold(f64::INFINITY, f64::min)
    }

    /// Moves the rate towards the fitting rate, not all at once: the estimate has an error.
    fn adjust_rate(&mut self) {
        let fits = self.fitting_rate();
        let from = if self.rate.is_infinite() {
            self.peak_rate
        } else {
            self.rate
        };
        let to = fits.clamp(from * 0.5, from * 1.4).max(self.floor);
        // A limit above what the run can use is no limit.
        self.rate = if fits > to && to > 1.5 * self.peak_rate.max(self.floor) {
            f64::INFINITY
        } else {
            to
        };
    }

    /// Rests measure what the work costs; the less it costs, the fewer rests are needed.
    fn wanted_work_intervals(&self) -> usize {
        match self.effect() {
            Some((e, error)) if e + 2.0 * error < self.budget / 4.0 => 15,
            Some((e, error)) if e + error < self.budget / 2.0 => 7,
            _ => 3,
        }
    }
}

/// Latency of `work` as a multiple of the latency in the rests before and after it: by throughput, by
/// mean, by 95th percentile.
fn ratios(work: &Sample, before: &Sample, after: &Sample) -> [Option<f64>; SIGNALS] {
    let middle = |f: fn(&Sample) -> Option<f64>| {
        let (a, b) = (f(before)?, f(after)?);
        (a > 0.0 && b > 0.0).then(|| (a * b).sqrt())
    };
    let over = |f: fn(&Sample) -> Option<f64>| {
        let (now, then) = (f(work)?, middle(f)?);
        (now > 0.0).then(|| now / then)
    };
    [
        over(|l| Some(1.0 / l.per_second().max(1e-9))),
        over(|l| l.mean),
        over(|l| l.p95),
    ]
}

/// Merges several samples into one.
fn merge(list: &[Sample]) -> Option<Sample> {
    let statements: f64 = list.iter().map(|l| l.statements).sum();
    let weighed = |f: fn(&Sample) -> Option<f64>| {
        let sum: Option<f64> = list.iter().map(|l| Some(f(l)? * l.statements)).sum();
        sum.filter(|_| statements > 0.0).map(|s| s / statements)
    };
    (!list.is_empty()).then(|| Sample {
        seconds: list.iter().map(|l| l.seconds).sum(),
        statements,
        mean: weighed(|l| l.mean),
        p95: weighed(|l| l.p95),
        under_way: list.iter().map(|l| l.under_way).max().unwrap_or(0),
        bytes: list.iter().map(|l| l.bytes).sum(),
    })
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;

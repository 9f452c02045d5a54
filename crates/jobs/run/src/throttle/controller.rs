//! Decides how far the gate is open, slot by slot. Pure: figures in, orders out.
//!
//! Time is cut into slots. In most of them rows move; now and then one is a
//! rest, and what the application saw in the slots between two rests is
//! compared with what it saw in the rests ([`Effect`]). The rate that fits the
//! budget follows from that. Three things make it quick where that is slow:
//! pulses at full speed, at the start and now and then (what a byte costs is
//! the same at any rate, but only a large effect stands out from the noise: the
//! cost of a pulse grows with the rate, what it tells with its square), a cut by
//! half as soon as a slot is far above the rests on both sides, and an open gate
//! while the application is idle.
//! Invariant: the rate never falls below the floor, so that a run ends.

use super::effect::{Effect, Estimate};

/// What the application saw in one slot, without what the run itself did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// How long the slot was, in seconds.
    pub seconds: f64,
    /// Statements that ended in it.
    pub statements: f64,
    /// Their mean latency in seconds, where the server tells.
    pub mean: Option<f64>,
    /// Their 95th percentile in seconds, where the server tells.
    pub p95: Option<f64>,
    /// Statements that were under way at its end.
    pub under_way: u64,
    /// Bytes of the run that passed the gate.
    pub bytes: u64,
}

impl Sample {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-3)
    }

    fn per_second(&self) -> f64 {
        self.statements / self.seconds.max(1e-3)
    }

    /// Whether there is no application to speak of, or one that stands still.
    pub fn is_quiet(&self) -> bool {
        self.per_second() < MIN_STATEMENT_RATE
    }
}

/// How far the gate is to be open in the next slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// As far as it goes.
    Open,
    /// So many bytes per second.
    Rate(u64),
    /// Shut: a rest.
    Rest,
}

/// What the controller is doing, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Pulses at full speed, to learn what a byte costs.
    Calibrate,
    /// Holding the budget.
    Hold,
    /// Nothing to hold back for.
    Idle,
    /// Others' statements are under way, and none of them ends.
    Stalled,
}

/// Statements per second below which there is no application to speak of.
const MIN_STATEMENT_RATE: f64 = 10.0;

/// Seconds for which an application whose statements are under way and do not end counts as one that
/// stands still, and not as one that is gone: a flush of the whole log may take that long. What is under
/// way for longer is no application but a report.
const MAX_STALL_SECONDS: f64 = 30.0;

/// Share of the budget that is aimed at, so that what the estimate does not know stays inside it.
const TARGET_SHARE: f64 = 0.7;

/// The same where there is no histogram of statements. Part of the cost is then not seen in a slot
/// at all: measured at a goal of 5 %, what the estimate left out was 2 % (docs/impact.md).
const TARGET_SHARE_COARSE: f64 = 0.35;

/// Standard errors that the aim keeps away from the budget.
const TARGET_ERRORS: f64 = 0.7;

/// Pulses of a trial.
const CALIBRATION_PULSES: u32 = 3;

/// The least bytes in a slot that tell something about their cost.
const MIN_BYTES: u64 = 64 << 10;

/// Seconds from one pulse to the next while the budget is held.
const PULSE_EVERY_SECONDS: f64 = 12.0;

/// The three figures that are compared.
const SIGNALS: usize = 3;

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    budget: f64,
    /// Share of the budget that is aimed at.
    target_share: f64,
    floor: f64,
    mode: Mode,
    pulses: u32,
    /// The rate aimed at; infinite for an open gate.
    rate: f64,
    /// The most that moved in a slot lately.
    peak_rate: f64,
    effects: [Effect; SIGNALS],
    last_rest: Option<Sample>,
    work_samples: Vec<Sample>,
    /// Slots of work before the next rest.
    work_intervals: usize,
    /// How much one rest differs from the one before, as a logarithm.
    noise: f64,
    resting: bool,
    /// A slot that was far above the rest before it; the rest behind it tells whose doing it was.
    spike: Option<Sample>,
    /// Seconds since the last comparison.
    since_comparison: f64,
    /// Seconds since the last pulse.
    since_pulse: f64,
    /// The slot is a pulse.
    pulse: bool,
    /// Somebody's statements have ended at some time.
    application_seen: bool,
    /// The last slot had some again, after there had been nobody.
    returning: bool,
    /// Seconds for which none has.
    stalled: f64,
}

impl Controller {
    /// Holds the effect to `budget` (0.05: five per cent), but never below `floor` bytes per second.
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

    /// Aims lower, for figures that do not show the whole cost.
    pub fn use_coarse_target(&mut self) {
        self.target_share = TARGET_SHARE_COARSE;
    }

    /// Another budget from now on.
    pub fn set_budget(&mut self, budget: f64) {
        self.budget = budget;
    }

    /// The most that moved in a slot lately, in bytes per second.
    pub fn peak_rate(&self) -> f64 {
        self.peak_rate
    }

    /// What is being done.
    pub fn mode(&self) -> Mode {
        if self.stalled > 0.0 && self.mode != Mode::Idle {
            Mode::Stalled
        } else {
            self.mode
        }
    }

    /// The worst of the estimates, as an effect at the rate that moves now, averaged over
    /// rests and work, with its error.
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

    /// A slot is over: this is what was seen in it. Says what the next one is to be.
    pub fn step(&mut self, look: Sample) -> Action {
        self.since_comparison += look.seconds;
        self.since_pulse += look.seconds;
        if look.is_quiet() {
            if self.application_seen
                && look.under_way > 0
                && self.mode != Mode::Idle
                && self.stalled < MAX_STALL_SECONDS
            {
                // The server stands still; whatever the run did now would make it longer.
                self.stalled += look.seconds;
                self.last_rest = None;
                self.spike = None;
                self.pulse = false;
                self.work_samples.clear();
                return self.rest();
            }
            self.returning = false;
            // Nobody to hold back for; what is known of the cost stays for when they come back.
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
            // A few statements at once, as those who watch the server send them, are no application.
            return Action::Open;
        }
        if self.mode == Mode::Idle {
            // Somebody is there again. A rest first, then short pulses.
            self.mode = Mode::Calibrate;
            self.pulses = CALIBRATION_PULSES;
            self.work_intervals = 1;
            return self.rest();
        }
        if self.resting {
            self.end_rest(look);
            return self.work();
        }
        self.peak_rate = (self.peak_rate * 0.98).max(look.rate());
        self.work_samples.push(look);
        if let Some(rest) = self.last_rest
            && self.is_spike(look, rest)
        {
            self.spike = Some(look);
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
        // A pulse stands alone between two rests.
        if self.since_pulse > PULSE_EVERY_SECONDS
            && self.work_samples.is_empty()
            && self.rate < self.peak_rate / 3.0
        {
            self.pulse = true;
            return Action::Open;
        }
        // What a rest keeps back is caught up in the slots of work.
        let share = self.work_intervals as f64 / (self.work_intervals + 1) as f64;
        Action::Rate((self.rate / share).max(self.floor) as u64)
    }

    /// Whether a slot of work is far worse than a rest.
    fn is_spike(&self, look: Sample, rest: Sample) -> bool {
        // At the floor there is nothing to cut, and pulses are meant to be felt.
        if self.mode == Mode::Calibrate
            || self.pulse
            || look.bytes < MIN_BYTES
            || self.rate <= self.floor
        {
            return false;
        }
        let limit = (1.0 + self.budget).ln() + (3.0 * self.noise).max(0.2);
        ratios(&look, &rest, &rest)
            .iter()
            .take(2)
            .flatten()
            .any(|r| r.ln() > limit)
    }

    /// A rest is over: the work since the last one is compared, and the rate follows.
    fn end_rest(&mut self, look: Sample) {
        if std::mem::take(&mut self.pulse) {
            self.since_pulse = 0.0;
        }
        if let Some(alarmed) = self.spike.take()
            && self.is_spike(alarmed, look)
        {
            // It is over now that nothing moves, so it was the run's doing: what a byte cost
            // until now says little about what it costs now.
            self.rate = (self.rate.min(alarmed.rate()) / 2.0).max(self.floor);
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
            let found = ratios(&work, &before, &look);
            for (effect, ratio) in self.effects.iter_mut().zip(found) {
                if let Some(ratio) = ratio {
                    effect.push(work.rate(), ratio, seconds);
                }
            }
            if let Some(r) =
                ratios(&look, &before, &before)[1].or(ratios(&look, &before, &before)[0])
            {
                let moved = r.ln().abs();
                // The load itself has changed: what a byte costs now is not what it cost.
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
        self.last_rest = Some(look);
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

    /// Moves the rate towards what fits, not all at once: an estimate has an error.
    fn adjust_rate(&mut self) {
        let fits = self.fitting_rate();
        let from = if self.rate.is_infinite() {
            self.peak_rate
        } else {
            self.rate
        };
        let to = fits.clamp(from * 0.5, from * 1.4).max(self.floor);
        // More than can be used is as good as open.
        self.rate = if fits > to && to > 1.5 * self.peak_rate.max(self.floor) {
            f64::INFINITY
        } else {
            to
        };
    }

    /// Rests tell what the work costs; the less it costs, the fewer are needed.
    fn wanted_work_intervals(&self) -> usize {
        match self.effect() {
            Some((e, error)) if e + 2.0 * error < self.budget / 4.0 => 15,
            Some((e, error)) if e + error < self.budget / 2.0 => 7,
            _ => 3,
        }
    }
}

/// Latency of `look` as a multiple of that in the rests before and after it:
/// by throughput, by mean, by 95th percentile.
fn ratios(look: &Sample, before: &Sample, after: &Sample) -> [Option<f64>; SIGNALS] {
    let middle = |f: fn(&Sample) -> Option<f64>| {
        let (a, b) = (f(before)?, f(after)?);
        (a > 0.0 && b > 0.0).then(|| (a * b).sqrt())
    };
    let over = |f: fn(&Sample) -> Option<f64>| {
        let (now, then) = (f(look)?, middle(f)?);
        (now > 0.0).then(|| now / then)
    };
    [
        over(|l| Some(1.0 / l.per_second().max(1e-9))),
        over(|l| l.mean),
        over(|l| l.p95),
    ]
}

/// Several slots as one.
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

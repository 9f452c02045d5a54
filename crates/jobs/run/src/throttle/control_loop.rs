//! The thread that keeps a run to what it may cost: slot after slot it looks,
//! judges, and moves the gate.

use super::controller::{Action, Controller, Mode};
use super::limits::{Lag, Limit, LimitKind, Replica};
use super::probe::{Probe, Reading};
use super::timeline::Interval;
use super::{Options, STALLED, Shared};
use crate::Run;
use base::limiter::RateLimiter;
use base::{Error, Event, Kind, Result};
use server::Identity;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the server is watched before the run begins.
const BASELINE_TIME: Duration = Duration::from_secs(4);

/// Shortest slot: the server's figures are read so often.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// Longest slot, for applications that send few statements.
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// Statements that a slot should have at least, so that its figures mean something.
const MIN_STATEMENTS: f64 = 200.0;

/// The thread's own.
pub(super) struct ControlLoop {
    pub(super) run: Run,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) options: Options,
    pub(super) server: wire::Options,
    pub(super) id: Identity,
    pub(super) controller: Controller,
    /// Gone while the server does not answer.
    pub(super) probe: Option<Probe>,
    pub(super) replicas: Vec<Replica>,
    /// The worst lag when last looked at.
    pub(super) lag: Option<Lag>,
    pub(super) lag_measured: Option<Instant>,
    /// What the controller was last said to be doing.
    pub(super) reported_mode: Option<Mode>,
    pub(super) shared: Arc<Shared>,
    pub(super) interval: Duration,
    pub(super) workers: usize,
    /// Since when a limit holds the run, for which patience runs out.
    pub(super) paused_since: Option<Instant>,
}

impl ControlLoop {
    /// Watches the server as it is without the run.
    pub(super) fn measure_baseline(&mut self) -> Result<()> {
        if !self.options.wants_impact() {
            return Ok(());
        }
        let run = self.run.clone();
        let _phase = run.phase("learning what is usual", 1);
        let end = Instant::now() + BASELINE_TIME;
        while Instant::now() < end {
            self.run.check()?;
            let Some(seen) = self.measure_interval() else {
                return Err(Error::new(
                    Kind::Connection,
                    "the server stopped answering while its usual latency was being learned",
                ));
            };
            self.shared.timeline().add_baseline(&seen);
            self.adapt_interval(&seen);
        }
        let story = self.shared.timeline().baseline_text();
        self.run.observer.note(story);
        Ok(())
    }

    /// Waits, before anything is locked, until no limit is broken.
    pub(super) fn wait_for_limits(&mut self) -> Result<()> {
        let run = self.run.clone();
        let mut phase = None;
        loop {
            run.check()?;
            let seen = self.measure_interval();
            let Some(why) = self.check_limits(seen.as_ref())? else {
                return Ok(());
            };
            phase.get_or_insert_with(|| run.phase("waiting to begin", 1));
            run.observer.event(Event::Waiting(Some(why)));
        }
    }

    /// Until the run is through.
    pub(super) fn run(mut self) {
        let mut order = Action::Rest;
        while !self.is_finished() {
            self.apply(order);
            let seen = self.measure_interval();
            let held = match self.check_limits(seen.as_ref()) {
                Ok(held) => held,
                Err(e) => {
                    self.run.abort(e);
                    break;
                }
            };
            self.limiter.suspend(held.clone());
            if let Some(seen) = &seen {
                self.adapt_interval(seen);
                let drawn = self.shared.timeline().add_interval(&Interval {
                    reading: seen,
                    action: order,
                    rate: self.limiter.allowed(),
                    paused: held.is_some(),
                    effect: self.controller.effect(),
                    lag: self.lag.as_ref(),
                });
                self.run.observer.event(Event::Measured(drawn));
            }
            order = match (self.run.setpoints.impact(), seen, held) {
                (Some(budget), Some(seen), None) => {
                    self.controller.set_budget(budget);
                    self.controller.step(seen.sample)
                }
                // The effect is wanted as a figure only: the gate stays open but for the rests that it takes.
                (None, Some(seen), None) if self.options.wants_impact() => {
                    self.controller.set_budget(f64::INFINITY);
                    self.controller.step(seen.sample)
                }
                _ => Action::Open,
            };
            self.report_activity();
        }
        // However it ends: nothing of ours holds anybody back.
        self.limiter.suspend(None);
        self.limiter.set_ceiling(None);
        self.limiter.set_workers(None);
        self.run.setpoints.set_watched(false);
        self.run.setpoints.set_activity(None);
        self.run.observer.event(Event::Steering(None));
    }

    fn is_finished(&self) -> bool {
        self.shared.end.load(Ordering::SeqCst) || self.run.check().is_err()
    }

    /// One slot of watching; `None` while the server does not answer.
    fn measure_interval(&mut self) -> Option<Reading> {
        if self.probe.is_none() {
            // A server that is stalled must not be asked without pause.
            self.run.cancel.sleep(Duration::from_millis(200));
            self.probe = Probe::open(&self.server, &self.id).ok();
        }
        let (shared, gate, run) = (&self.shared, &self.limiter, &self.run);
        let stop = || shared.end.load(Ordering::SeqCst) || run.check().is_err();
        let seen =
            self.probe
                .as_mut()?
                .measure(self.interval, || shared.busy(), || gate.passed(), stop);
        if seen.is_none() {
            self.probe = None;
        }
        seen
    }

    /// Slots long enough that the application's statements in them mean something.
    fn adapt_interval(&mut self, seen: &Reading) {
        let each = seen.sample.statements / seen.sample.seconds.max(1e-3);
        let wanted = Duration::from_secs_f64((MIN_STATEMENTS / each.max(1.0)).min(10.0));
        // An idle server is looked at often, so that an application that begins is noticed.
        self.interval = if each < 10.0 {
            MIN_INTERVAL
        } else {
            wanted.clamp(MIN_INTERVAL, MAX_INTERVAL)
        };
    }

    /// Compares with all limits: why the run is to be held, or why it is to end.
    fn check_limits(&mut self, seen: Option<&Reading>) -> Result<Option<String>> {
        self.measure_lag();
        for limit in &self.options.abort_if {
            let figure = match limit.what {
                LimitKind::ThreadsRunning => seen.map(|s| s.threads_running as f64),
                LimitKind::HistoryList => seen.and_then(|s| s.history_list).map(|n| n as f64),
                LimitKind::Lag => match self.lag {
                    Some(Lag::Seconds(s)) => Some(s),
                    _ => None,
                },
                // What is more than its own error above nothing.
                LimitKind::Impact => self.controller.effect().map(|(e, error)| e - error),
            };
            if let Some(over) = figure.and_then(|f| limit.over(f)) {
                return Err(limit_error(&over).hint(format!("--abort-if {limit} was asked for")));
            }
        }
        if let (Some(most), Some(now)) = (
            self.options.max_history_list,
            seen.and_then(|s| s.history_list),
        ) && let Some(over) = (Limit {
            what: LimitKind::HistoryList,
            most: most as f64,
        })
        .over(now as f64)
        {
            return Err(limit_error(&over).hint(
                "only the end of the snapshot lets the server clean up; dump at a quieter time, faster, or from a replica",
            ));
        }
        let held = self.broken_limit(seen);
        let Some(why) = &held else {
            self.paused_since = None;
            return Ok(None);
        };
        let since = *self.paused_since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.options.limit_timeout {
            return Err(limit_error(&format!(
                "held for {} by a limit: {why}",
                base::units::seconds(since.elapsed().as_secs_f64())
            ))
            .hint("raise the limit, or allow a longer wait (--max-wait)"));
        }
        Ok(held)
    }

    fn broken_limit(&self, seen: Option<&Reading>) -> Option<String> {
        let Some(seen) = seen else {
            return Some(format!(
                "the server, which has not answered for {} s",
                STALLED.as_secs()
            ));
        };
        let limit = |what, most| Limit { what, most };
        if let Some(most) = self.run.setpoints.max_threads_running()
            && let Some(over) =
                limit(LimitKind::ThreadsRunning, most as f64).over(seen.threads_running as f64)
        {
            return Some(over);
        }
        match (&self.lag, self.options.max_lag) {
            (Some(Lag::Seconds(s)), Some(most)) => limit(LimitKind::Lag, most).over(*s),
            (Some(Lag::Unknown(why)), Some(_)) => Some(format!("a replica: {why}")),
            _ => None,
        }
    }

    /// Asks every replica once a second.
    fn measure_lag(&mut self) {
        if self.replicas.is_empty()
            || self
                .lag_measured
                .is_some_and(|t| t.elapsed() < Duration::from_secs(1))
        {
            return;
        }
        self.lag_measured = Some(Instant::now());
        let mut worst: Option<Lag> = None;
        for r in &mut self.replicas {
            let lag = match r.lag() {
                Ok(Some(lag)) => lag,
                Ok(None) => Lag::Unknown(format!("{} is a replica no more", r.name())),
                Err(e) => Lag::Unknown(format!("{} does not answer ({e})", r.name())),
            };
            worst = Some(Lag::worse(worst, lag));
        }
        self.lag = worst;
    }

    fn apply(&self, order: Action) {
        let (ceiling, workers) = match order {
            Action::Open => (None, None),
            Action::Rest => (Some(base::limiter::LOWEST), Some(1)),
            Action::Rate(rate) => {
                // Few workers suffice for a low rate, and each one less is one statement less on the server.
                let most = self.controller.peak_rate().max(1.0);
                let share = (rate as f64 / most * 1.5).min(1.0);
                let n = (share * self.workers as f64).ceil().max(1.0);
                (Some(rate), Some(n as usize))
            }
        };
        self.limiter.set_ceiling(ceiling);
        self.limiter.set_workers(workers);
    }

    /// One line for people: what is held, at what cost.
    fn report_activity(&mut self) {
        let Some(most) = self.run.setpoints.impact() else {
            // A budget that was taken back has nothing more to say.
            if self.run.setpoints.activity().is_some() {
                self.run.setpoints.set_activity(None);
                self.run.observer.event(Event::Steering(None));
            }
            return;
        };
        let budget = format!("{:.0} %", most * 100.0);
        let text = match (self.controller.mode(), self.controller.effect()) {
            (Mode::Idle, _) => format!("budget {budget}: nobody else is there, the gate is open"),
            (Mode::Stalled, _) => {
                format!("budget {budget}: statements are under way and none ends; waiting for them")
            }
            (Mode::Calibrate, _) | (_, None) => {
                format!("budget {budget}: finding out what a byte costs")
            }
            (Mode::Hold, Some((effect, error))) => {
                // Slowing down does not help against this, so it is no part of the budget; it is said.
                let standing = self.shared.timeline().recent_baseline_shift();
                let standing = standing.filter(|s| *s > most).map_or(String::new(), |s| {
                    format!(
                        "; statements are {:.0} % slower than before it even in rests",
                        s * 100.0
                    )
                });
                format!(
                    "budget {budget}: costs {:.1} % (± {:.1}){standing}",
                    effect.max(0.0) * 100.0,
                    error * 100.0
                )
            }
        };
        let mode = self.controller.mode();
        if self.reported_mode.replace(mode) != Some(mode) {
            self.run.observer.event(Event::Decision(text.clone()));
        }
        self.run.setpoints.set_activity(Some(text.clone()));
        self.run.observer.event(Event::Steering(Some(text)));
    }
}

/// The error of a run that a limit ended.
fn limit_error(over: &str) -> Error {
    Error::new(Kind::Limit, format!("ended by a limit: {over}"))
}

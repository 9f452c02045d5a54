//! The thread that keeps a run within its limits: in each interval it takes a sample, checks the
//! limits, and moves the rate limiter.

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

/// How long the baseline is measured before the run begins.
const BASELINE_TIME: Duration = Duration::from_secs(4);

/// Shortest interval between two readings of the server's counters.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// Longest interval, for applications that send few statements.
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// Statements that an interval should have at least, so that its figures mean something.
const MIN_STATEMENTS: f64 = 200.0;

/// The state of the thread.
pub(super) struct ControlLoop {
    pub(super) run: Run,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) options: Options,
    pub(super) server: wire::Options,
    pub(super) id: Identity,
    pub(super) controller: Controller,
    /// `None` while the server does not answer.
    pub(super) probe: Option<Probe>,
    pub(super) replicas: Vec<Replica>,
    /// The greatest lag of the last measurement.
    pub(super) lag: Option<Lag>,
    pub(super) lag_measured: Option<Instant>,
    /// The mode that was last reported.
    pub(super) reported_mode: Option<Mode>,
    pub(super) shared: Arc<Shared>,
    pub(super) interval: Duration,
    pub(super) workers: usize,
    /// Since when a limit pauses the run; ends the run after `limit_timeout`.
    pub(super) paused_since: Option<Instant>,
}

impl ControlLoop {
    /// Measures the server without the run.
    pub(super) fn measure_baseline(&mut self) -> Result<()> {
        if !self.options.wants_impact() {
            return Ok(());
        }
        let run = self.run.clone();
        let _phase = run.phase("measuring baseline", 1);
        let end = Instant::now() + BASELINE_TIME;
        while Instant::now() < end {
            self.run.check()?;
            let Some(reading) = self.measure_interval() else {
                return Err(Error::new(
                    Kind::Connection,
                    "the server stopped answering while its baseline was measured",
                ));
            };
            self.shared.timeline().add_baseline(&reading);
            self.adapt_interval(&reading);
        }
        let text = self.shared.timeline().baseline_text();
        self.run.observer.note(text);
        Ok(())
    }

    /// Waits, before anything is locked, until no limit is broken.
    pub(super) fn wait_for_limits(&mut self) -> Result<()> {
        let run = self.run.clone();
        let mut phase = None;
        loop {
            run.check()?;
            let reading = self.measure_interval();
            let Some(why) = self.check_limits(reading.as_ref())? else {
                return Ok(());
            };
            phase.get_or_insert_with(|| run.phase("waiting for limits", 1));
            run.observer.event(Event::Waiting(Some(why)));
        }
    }

    /// Runs until the job ends.
    pub(super) fn run(mut self) {
        let mut action = Action::Rest;
        while !self.is_finished() {
            self.apply(action);
            let reading = self.measure_interval();
            let broken = match self.check_limits(reading.as_ref()) {
                Ok(broken) => broken,
                Err(e) => {
                    self.run.abort(e);
                    break;
                }
            };
            self.limiter.suspend(broken.clone());
            if let Some(reading) = &reading {
                self.adapt_interval(reading);
                let measures = self.shared.timeline().add_interval(&Interval {
                    reading,
                    action,
                    rate: self.limiter.allowed(),
                    paused: broken.is_some(),
                    effect: self.controller.effect(),
                    lag: self.lag.as_ref(),
                });
                self.run.observer.event(Event::Measured(measures));
            }
            action = match (self.run.setpoints.impact(), reading, broken) {
                (Some(budget), Some(reading), None) => {
                    self.controller.set_budget(budget);
                    self.controller.step(reading.sample)
                }
                // Only the figure is wanted (`--abort-if impact=…`): no rate limit, but rest intervals
                // to compare with.
                (None, Some(reading), None) if self.options.wants_impact() => {
                    self.controller.set_budget(f64::INFINITY);
                    self.controller.step(reading.sample)
                }
                _ => Action::Open,
            };
            self.report_activity();
        }
        // However the loop ends, the rate limiter is left open.
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

    /// Measures one interval; `None` while the server does not answer.
    fn measure_interval(&mut self) -> Option<Reading> {
        if self.probe.is_none() {
            // Do not reconnect to a stalled server in a tight loop.
            self.run.cancel.sleep(Duration::from_millis(200));
            self.probe = Probe::open(&self.server, &self.id).ok();
        }
        let (shared, limiter, run) = (&self.shared, &self.limiter, &self.run);
        let stop = || shared.end.load(Ordering::SeqCst) || run.check().is_err();
        let reading = self.probe.as_mut()?.measure(
            self.interval,
            || shared.busy(),
            || limiter.passed(),
            stop,
        );
        if reading.is_none() {
            self.probe = None;
        }
        reading
    }

    /// Chooses an interval long enough for the application's statements in it to mean something.
    fn adapt_interval(&mut self, reading: &Reading) {
        let each = reading.sample.statements / reading.sample.seconds.max(1e-3);
        let wanted = Duration::from_secs_f64((MIN_STATEMENTS / each.max(1.0)).min(10.0));
        // An idle server is read often, so that a starting application is noticed.
        self.interval = if each < 10.0 {
            MIN_INTERVAL
        } else {
            wanted.clamp(MIN_INTERVAL, MAX_INTERVAL)
        };
    }

    /// Compares the figures with all limits: `Some` says why the run must pause, an error why it must
    /// end.
    fn check_limits(&mut self, reading: Option<&Reading>) -> Result<Option<String>> {
        self.measure_lag();
        for limit in &self.options.abort_if {
            let figure = match limit.what {
                LimitKind::ThreadsRunning => reading.map(|s| s.threads_running as f64),
                LimitKind::HistoryList => reading.and_then(|s| s.history_list).map(|n| n as f64),
                LimitKind::Lag => match self.lag {
                    Some(Lag::Seconds(s)) => Some(s),
                    _ => None,
                },
                // Only what exceeds the estimate's error counts.
                LimitKind::Impact => self.controller.effect().map(|(e, error)| e - error),
            };
            if let Some(over) = figure.and_then(|f| limit.over(f)) {
                return Err(limit_error(&over).hint(format!("--abort-if {limit} was asked for")));
            }
        }
        if let (Some(most), Some(now)) = (
            self.options.max_history_list,
            reading.and_then(|s| s.history_list),
        ) && let Some(over) = (Limit {
            what: LimitKind::HistoryList,
            most: most as f64,
        })
        .over(now as f64)
        {
            return Err(limit_error(&over).hint(
                "only the end of the snapshot lets the server purge; dump at a quieter time, faster, or from a replica",
            ));
        }
        let broken = self.broken_limit(reading);
        let Some(why) = &broken else {
            self.paused_since = None;
            return Ok(None);
        };
        let since = *self.paused_since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.options.limit_timeout {
            return Err(limit_error(&format!(
                "paused for {} by a limit: {why}",
                base::units::seconds(since.elapsed().as_secs_f64())
            ))
            .hint("raise the limit, or allow a longer wait (--limit-timeout)"));
        }
        Ok(broken)
    }

    fn broken_limit(&self, reading: Option<&Reading>) -> Option<String> {
        let Some(reading) = reading else {
            return Some(format!(
                "the server, which has not answered for {} s",
                STALLED.as_secs()
            ));
        };
        let limit = |what, most| Limit { what, most };
        if let Some(most) = self.run.setpoints.max_threads_running()
            && let Some(over) =
                limit(LimitKind::ThreadsRunning, most as f64).over(reading.threads_running as f64)
        {
            return Some(over);
        }
        match (&self.lag, self.options.max_lag) {
            (Some(Lag::Seconds(s)), Some(most)) => limit(LimitKind::Lag, most).over(*s),
            (Some(Lag::Unknown(why)), Some(_)) => Some(format!("a replica: {why}")),
            _ => None,
        }
    }

    /// Measures the lag of every replica once a second.
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
                Ok(None) => Lag::Unknown(format!("{} is no longer a replica", r.name())),
                Err(e) => Lag::Unknown(format!("{} does not answer ({e})", r.name())),
            };
            worst = Some(Lag::worse(worst, lag));
        }
        self.lag = worst;
    }

    fn apply(&self, action: Action) {
        let (ceiling, workers) = match action {
            Action::Open => (None, None),
            Action::Rest => (Some(base::limiter::LOWEST), Some(1)),
            Action::Rate(rate) => {
                // A few workers suffice for a low rate, and each worker less is one statement less on
                // the server.
                let most = self.controller.peak_rate().max(1.0);
                let share = (rate as f64 / most * 1.5).min(1.0);
                let n = (share * self.workers as f64).ceil().max(1.0);
                (Some(rate), Some(n as usize))
            }
        };
        self.limiter.set_ceiling(ceiling);
        self.limiter.set_workers(workers);
    }

    /// Reports in one line what the controller does, and the impact.
    fn report_activity(&mut self) {
        let Some(most) = self.run.setpoints.impact() else {
            // The budget was removed: clear the last line.
            if self.run.setpoints.activity().is_some() {
                self.run.setpoints.set_activity(None);
                self.run.observer.event(Event::Steering(None));
            }
            return;
        };
        let budget = format!("{:.0} %", most * 100.0);
        let text = match (self.controller.mode(), self.controller.effect()) {
            (Mode::Idle, _) => format!("budget {budget}: no other sessions, no rate limit"),
            (Mode::Stalled, _) => {
                format!("budget {budget}: statements are running but none ends; waiting for them")
            }
            (Mode::Calibrate, _) | (_, None) => {
                format!("budget {budget}: calibrating")
            }
            (Mode::Hold, Some((effect, error))) => {
                // Slowing down does not reduce this part, so it does not count against the budget; it
                // is only reported.
                let shift = self.shared.timeline().recent_baseline_shift();
                let shift = shift.filter(|s| *s > most).map_or(String::new(), |s| {
                    format!(
                        "; latency {:.0} % above the baseline even while nothing is read",
                        s * 100.0
                    )
                });
                format!(
                    "budget {budget}: impact {:.1} % (± {:.1}){shift}",
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

/// The error of a run that was ended by a limit.
fn limit_error(over: &str) -> Error {
    Error::new(Kind::Limit, format!("ended by a limit: {over}"))
}

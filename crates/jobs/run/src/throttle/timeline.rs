//! What the throttle measured and did: totals for the summary, and values over time for the record of
//! the run.

use super::controller::Action;
use super::limits::Lag;
use super::probe::Reading;
use base::events::Measure;

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How latency was measured.
    pub source: String,
    /// The baseline, from before the run.
    pub baseline: Option<Baseline>,
    /// The effect over the whole run, weighted by time, as a share.
    pub effect: Option<f64>,
    /// The budget for it at the end of the run, as a share.
    pub budget: Option<f64>,
    /// How much longer other sessions' statements took in rests than before the run, as a share. The
    /// cost of an open snapshot is in here and not in `effect`; so is an application load that grew.
    pub baseline_shift: Option<f64>,
    /// Seconds that limits paused the run.
    pub paused: f64,
    /// Seconds of rests.
    pub rested: f64,
    /// The longest history list.
    pub history: Option<u64>,
    /// The greatest lag, in seconds.
    pub lag: Option<f64>,
}

impl Report {
    /// The budget, if the effect is above it.
    pub fn over_budget(&self) -> Option<f64> {
        let effect = self.effect?;
        self.budget.filter(|budget| effect > *budget)
    }
}

/// The application's figures before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baseline {
    /// Statements per second.
    pub statements: f64,
    /// Mean latency, in seconds.
    pub mean: Option<f64>,
    /// 95th percentile, in seconds.
    pub p95: Option<f64>,
}

/// One interval of the run.
pub struct Interval<'a> {
    /// What was measured.
    pub reading: &'a Reading,
    /// The action that applied.
    pub action: Action,
    /// The rate limit, if there was one.
    pub rate: Option<u64>,
    /// Whether a limit paused the run.
    pub paused: bool,
    /// The estimated effect and its error.
    pub effect: Option<(f64, f64)>,
    /// The slowest replica.
    pub lag: Option<&'a Lag>,
}

/// Collects the totals while the run is going on.
#[derive(Debug, Default)]
pub struct Timeline {
    report: Report,
    baseline_readings: Vec<Reading>,
    effect_sum: f64,
    effect_seconds: f64,
    /// Sum of the logarithms of latency in rests over the baseline, weighted by time, and that time.
    shift_sum: (f64, f64),
    /// The weighted mean of the same over recent rests only.
    recent_shift: f64,
}

/// Seconds of rests from which on the baseline shift is reported.
const MIN_REST_SECONDS: f64 = 2.0;

impl Timeline {
    /// An empty timeline; `source` says how latency is measured.
    pub fn new(source: String) -> Timeline {
        Timeline {
            report: Report {
                source,
                ..Report::default()
            },
            ..Timeline::default()
        }
    }

    /// Adds an interval before the run.
    pub fn add_baseline(&mut self, reading: &Reading) {
        self.baseline_readings.push(*reading);
        let n = self.baseline_readings.len() as f64;
        let seconds: f64 = self
            .baseline_readings
            .iter()
            .map(|s| s.sample.seconds)
            .sum();
        let statements: f64 = self
            .baseline_readings
            .iter()
            .map(|s| s.sample.statements)
            .sum();
        let middle = |f: fn(&Reading) -> Option<f64>| {
            let sum: Option<f64> = self.baseline_readings.iter().map(f).sum();
            sum.map(|s| s / n)
        };
        self.report.baseline = Some(Baseline {
            statements: statements / seconds.max(1e-3),
            mean: middle(|s| s.sample.mean),
            p95: middle(|s| s.sample.p95),
        });
    }

    /// The baseline in one line.
    pub fn baseline_text(&self) -> String {
        let ms = |s: f64| format!("{:.2} ms", s * 1e3);
        match self.report.baseline {
            Some(Baseline {
                statements,
                mean: Some(mean),
                p95: Some(p95),
            }) if statements >= 1.0 => format!(
                "baseline: {statements:.0} statements per second, {} on average, 95 % within {}",
                ms(mean),
                ms(p95)
            ),
            Some(b) => format!("baseline: {:.0} statements per second", b.statements),
            None => "the baseline is not known".to_owned(),
        }
    }

    /// Adds an interval of the run; returns the values to record.
    pub fn add_interval(&mut self, interval: &Interval<'_>) -> Vec<Measure> {
        let sample = &interval.reading.sample;
        let r = &mut self.report;
        if interval.paused {
            r.paused += sample.seconds;
        } else if interval.action == Action::Rest {
            r.rested += sample.seconds;
            if let (Some(now), Some(usual)) = (sample.mean, r.baseline.and_then(|u| u.mean))
                && now > 0.0
                && usual > 0.0
                && !sample.is_quiet()
            {
                let over = (now / usual).ln().clamp(-1.0, 1.0);
                self.shift_sum.0 += over * sample.seconds;
                self.shift_sum.1 += sample.seconds;
                let weight =
                    (sample.seconds / self.shift_sum.1.min(3.0 * MIN_REST_SECONDS)).min(1.0);
                self.recent_shift += weight * (over - self.recent_shift);
                if self.shift_sum.1 >= MIN_REST_SECONDS {
                    r.baseline_shift = Some((self.shift_sum.0 / self.shift_sum.1).exp() - 1.0);
                }
            }
        }
        if let Some((e, _)) = interval.effect {
            self.effect_sum += e * sample.seconds;
            self.effect_seconds += sample.seconds;
            r.effect = Some(self.effect_sum / self.effect_seconds);
        }
        let lag = match interval.lag {
            Some(Lag::Seconds(s)) => Some(*s),
            _ => None,
        };
        r.history = r.history.max(interval.reading.history_list);
        r.lag = match (r.lag, lag) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let mut list = Vec::new();
        let mut add = |chart, name, unit, value: Option<f64>, steps| {
            if let Some(value) = value {
                list.push(Measure {
                    chart,
                    name,
                    unit,
                    value,
                    steps,
                });
            }
        };
        let ms = |s: f64| s * 1e3;
        add(
            "Rate",
            "passed",
            "B/s",
            Some(sample.bytes as f64 / sample.seconds.max(1e-3)),
            false,
        );
        add(
            "Rate",
            "allowed",
            "B/s",
            interval.rate.map(|r| r as f64),
            true,
        );
        add(
            "Latency of other sessions' statements",
            "mean",
            "ms",
            sample.mean.map(ms),
            false,
        );
        add(
            "Latency of other sessions' statements",
            "95th percentile",
            "ms",
            sample.p95.map(ms),
            false,
        );
        add(
            "Statements of other sessions",
            "statements",
            "per second",
            Some(sample.statements / sample.seconds.max(1e-3)),
            false,
        );
        add(
            "Impact",
            "estimate",
            "%",
            interval.effect.map(|(e, _)| e * 100.0),
            false,
        );
        add(
            "History list",
            "length",
            "",
            interval.reading.history_list.map(|n| n as f64),
            false,
        );
        add("Replica lag", "lag", "s", lag, false);
        list
    }

    /// How much longer other sessions' statements take in recent rests than before the run, as a share.
    pub fn recent_baseline_shift(&self) -> Option<f64> {
        (self.shift_sum.1 >= MIN_REST_SECONDS).then(|| self.recent_shift.exp() - 1.0)
    }

    /// The totals so far.
    pub fn report(&self) -> Report {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_above_the_budget_is_over_it() {
        let of = |effect, budget| Report {
            effect,
            budget,
            ..Report::default()
        };
        assert_eq!(of(Some(0.146), Some(0.05)).over_budget(), Some(0.05));
        assert_eq!(of(Some(0.05), Some(0.05)).over_budget(), None);
        assert_eq!(of(Some(0.9), None).over_budget(), None);
        assert_eq!(of(None, Some(0.05)).over_budget(), None);
    }

    #[test]
    fn totals_add_up() {
        let mut timeline = Timeline::new("x".to_owned());
        let mut reading = Reading::default();
        reading.sample.seconds = 0.5;
        reading.sample.bytes = 100;
        reading.history_list = Some(7);
        for i in 0..80 {
            let action = if i % 4 == 0 {
                Action::Rest
            } else {
                Action::Rate(5)
            };
            let measures = timeline.add_interval(&Interval {
                reading: &reading,
                action,
                rate: Some(5),
                paused: i % 8 == 7,
                effect: Some((0.03, 0.01)),
                lag: Some(&Lag::Seconds(2.0)),
            });
            let rate = measures.iter().find(|m| m.name == "passed").unwrap();
            assert_eq!(rate.value, 200.0);
            assert!(
                measures
                    .iter()
                    .all(|m| m.chart != "Latency of other sessions' statements")
            );
        }
        let report = timeline.report();
        assert!((report.effect.unwrap() - 0.03).abs() < 1e-6);
        assert_eq!((report.rested, report.paused), (10.0, 5.0));
        // Nobody knew what is usual.
        assert_eq!(
            (report.baseline_shift, timeline.recent_baseline_shift()),
            (None, None)
        );
        assert_eq!((report.history, report.lag), (Some(7), Some(2.0)));
    }

    #[test]
    fn the_baseline_shift_counts_rests_only() {
        let mut timeline = Timeline::new("x".to_owned());
        let mut reading = Reading::default();
        (
            reading.sample.seconds,
            reading.sample.statements,
            reading.sample.mean,
        ) = (0.5, 900.0, Some(0.001));
        timeline.add_baseline(&reading);
        let mut intervals = |n, action, mean| {
            reading.sample.mean = Some(mean);
            // The few statements that end while the server is stalled say nothing about the snapshot.
            reading.sample.statements = if mean < 1.0 { 900.0 } else { 2.0 };
            for _ in 0..n {
                timeline.add_interval(&Interval {
                    reading: &reading,
                    action,
                    rate: None,
                    paused: false,
                    effect: Some((0.03, 0.01)),
                    lag: None,
                });
            }
            (
                timeline.report().baseline_shift,
                timeline.recent_baseline_shift(),
            )
        };
        let about = |v: Option<f64>, to: f64| (v.unwrap() - to).abs() < 0.005;
        assert_eq!(intervals(3, Action::Rest, 0.001).0, None);
        // Work does not count, however slow.
        let (all, _) = intervals(20, Action::Rate(5), 0.005);
        assert_eq!(all, None);
        let (all, lately) = intervals(17, Action::Rest, 0.001);
        assert!(about(all, 0.0) && about(lately, 0.0), "{all:?} {lately:?}");
        let (all, lately) = intervals(40, Action::Rest, 1.5);
        assert!(about(all, 0.0) && about(lately, 0.0), "{all:?} {lately:?}");
        let (all, lately) = intervals(60, Action::Rest, 0.0012);
        assert!(
            about(all, 0.147) && about(lately, 0.2),
            "{all:?} {lately:?}"
        );
    }

    #[test]
    fn the_baseline_is_one_line() {
        let mut timeline = Timeline::new("x".to_owned());
        let mut reading = Reading::default();
        reading.sample.seconds = 1.0;
        reading.sample.statements = 1000.0;
        (reading.sample.mean, reading.sample.p95) = (Some(0.001), Some(0.004));
        timeline.add_baseline(&reading);
        assert_eq!(
            timeline.baseline_text(),
            "baseline: 1000 statements per second, 1.00 ms on average, 95 % within 4.00 ms"
        );
    }
}

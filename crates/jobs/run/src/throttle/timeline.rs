//! What the throttle saw and did: sums for the summary, and figures over time
//! for the record of the run.

use super::controller::Action;
use super::limits::Lag;
use super::probe::Reading;
use base::events::Measure;

/// What it came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Where the latency comes from, in words.
    pub source: String,
    /// What is usual, from before the run.
    pub baseline: Option<Baseline>,
    /// The effect over the whole run, weighed by time, as a share.
    pub effect: Option<f64>,
    /// How much longer others' statements took while the run rested than before it began, as a
    /// share. What an open snapshot costs is in here and not in `effect`; so is a load that grew.
    pub baseline_shift: Option<f64>,
    /// Seconds that limits held the run.
    pub paused: f64,
    /// Seconds of rests.
    pub rested: f64,
    /// The longest history list.
    pub history: Option<u64>,
    /// The greatest lag, in seconds.
    pub lag: Option<f64>,
}

/// The application before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baseline {
    /// Statements per second.
    pub statements: f64,
    /// Mean latency, in seconds.
    pub mean: Option<f64>,
    /// 95th percentile, in seconds.
    pub p95: Option<f64>,
}

/// One slot of the run.
pub struct Interval<'a> {
    /// What was seen.
    pub reading: &'a Reading,
    /// What it was for.
    pub action: Action,
    /// The gate's rate, if it had one.
    pub rate: Option<u64>,
    /// Whether a limit held the run.
    pub paused: bool,
    /// The estimated effect and its error.
    pub effect: Option<(f64, f64)>,
    /// The slowest replica.
    pub lag: Option<&'a Lag>,
}

/// The story while it happens.
#[derive(Debug, Default)]
pub struct Timeline {
    report: Report,
    baseline_readings: Vec<Reading>,
    effect_sum: f64,
    effect_seconds: f64,
    /// Sum of the logarithms of rests over what is usual, by time, and that time.
    shift_sum: (f64, f64),
    /// The same of the last rests only, the mean.
    recent_shift: f64,
}

/// Seconds of rests that say something about what the run costs even then.
const MIN_REST_SECONDS: f64 = 2.0;

impl Timeline {
    /// With the place that latencies come from.
    pub fn new(source: String) -> Timeline {
        Timeline {
            report: Report {
                source,
                ..Report::default()
            },
            ..Timeline::default()
        }
    }

    /// A slot before the run.
    pub fn add_baseline(&mut self, seen: &Reading) {
        self.baseline_readings.push(*seen);
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

    /// What is usual, in one line.
    pub fn baseline_text(&self) -> String {
        let ms = |s: f64| format!("{:.2} ms", s * 1e3);
        match self.report.baseline {
            Some(Baseline {
                statements,
                mean: Some(mean),
                p95: Some(p95),
            }) if statements >= 1.0 => format!(
                "usual: {statements:.0} statements a second, {} on average, 95 % within {}",
                ms(mean),
                ms(p95)
            ),
            Some(usual) => format!("usual: {:.0} statements a second", usual.statements),
            None => "nothing is known of what is usual".to_owned(),
        }
    }

    /// A slot of the run; what is to be drawn of it.
    pub fn add_interval(&mut self, slot: &Interval<'_>) -> Vec<Measure> {
        let look = &slot.reading.sample;
        let r = &mut self.report;
        if slot.paused {
            r.paused += look.seconds;
        } else if slot.action == Action::Rest {
            r.rested += look.seconds;
            if let (Some(now), Some(usual)) = (look.mean, r.baseline.and_then(|u| u.mean))
                && now > 0.0
                && usual > 0.0
                && !look.is_quiet()
            {
                let over = (now / usual).ln().clamp(-1.0, 1.0);
                self.shift_sum.0 += over * look.seconds;
                self.shift_sum.1 += look.seconds;
                let weight = (look.seconds / self.shift_sum.1.min(3.0 * MIN_REST_SECONDS)).min(1.0);
                self.recent_shift += weight * (over - self.recent_shift);
                if self.shift_sum.1 >= MIN_REST_SECONDS {
                    r.baseline_shift = Some((self.shift_sum.0 / self.shift_sum.1).exp() - 1.0);
                }
            }
        }
        if let Some((e, _)) = slot.effect {
            self.effect_sum += e * look.seconds;
            self.effect_seconds += look.seconds;
            r.effect = Some(self.effect_sum / self.effect_seconds);
        }
        let lag = match slot.lag {
            Some(Lag::Seconds(s)) => Some(*s),
            _ => None,
        };
        r.history = r.history.max(slot.reading.history_list);
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
            Some(look.bytes as f64 / look.seconds.max(1e-3)),
            false,
        );
        add("Rate", "allowed", "B/s", slot.rate.map(|r| r as f64), true);
        add(
            "Latency of everybody's statements",
            "mean",
            "ms",
            look.mean.map(ms),
            false,
        );
        add(
            "Latency of everybody's statements",
            "95th percentile",
            "ms",
            look.p95.map(ms),
            false,
        );
        add(
            "Statements of everybody",
            "statements",
            "per second",
            Some(look.statements / look.seconds.max(1e-3)),
            false,
        );
        add(
            "Effect on others",
            "estimate",
            "%",
            slot.effect.map(|(e, _)| e * 100.0),
            false,
        );
        add(
            "History list",
            "length",
            "",
            slot.reading.history_list.map(|n| n as f64),
            false,
        );
        add("Replica lag", "lag", "s", lag, false);
        list
    }

    /// How much longer others' statements take of late even while the run rests, as a share.
    pub fn recent_baseline_shift(&self) -> Option<f64> {
        (self.shift_sum.1 >= MIN_REST_SECONDS).then(|| self.recent_shift.exp() - 1.0)
    }

    /// The story so far.
    pub fn report(&self) -> Report {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_adds_up() {
        let mut story = Timeline::new("x".to_owned());
        let mut seen = Reading::default();
        seen.sample.seconds = 0.5;
        seen.sample.bytes = 100;
        seen.history_list = Some(7);
        for i in 0..80 {
            let order = if i % 4 == 0 {
                Action::Rest
            } else {
                Action::Rate(5)
            };
            let drawn = story.add_interval(&Interval {
                reading: &seen,
                action: order,
                rate: Some(5),
                paused: i % 8 == 7,
                effect: Some((0.03, 0.01)),
                lag: Some(&Lag::Seconds(2.0)),
            });
            let rate = drawn.iter().find(|m| m.name == "passed").unwrap();
            assert_eq!(rate.value, 200.0);
            assert!(
                drawn
                    .iter()
                    .all(|m| m.chart != "Latency of everybody's statements")
            );
        }
        let report = story.report();
        assert!((report.effect.unwrap() - 0.03).abs() < 1e-6);
        assert_eq!((report.rested, report.paused), (10.0, 5.0));
        // Nobody knew what is usual.
        assert_eq!(
            (report.baseline_shift, story.recent_baseline_shift()),
            (None, None)
        );
        assert_eq!((report.history, report.lag), (Some(7), Some(2.0)));
    }

    #[test]
    fn what_stays_while_nothing_moves_is_told_apart() {
        let mut story = Timeline::new("x".to_owned());
        let mut seen = Reading::default();
        (
            seen.sample.seconds,
            seen.sample.statements,
            seen.sample.mean,
        ) = (0.5, 900.0, Some(0.001));
        story.add_baseline(&seen);
        let mut slots = |n, order, mean| {
            seen.sample.mean = Some(mean);
            // The few that end while the server stands still say nothing of the snapshot.
            seen.sample.statements = if mean < 1.0 { 900.0 } else { 2.0 };
            for _ in 0..n {
                story.add_interval(&Interval {
                    reading: &seen,
                    action: order,
                    rate: None,
                    paused: false,
                    effect: Some((0.03, 0.01)),
                    lag: None,
                });
            }
            (story.report().baseline_shift, story.recent_baseline_shift())
        };
        let about = |v: Option<f64>, to: f64| (v.unwrap() - to).abs() < 0.005;
        assert_eq!(slots(3, Action::Rest, 0.001).0, None);
        // Work is no rest, however slow.
        let (all, _) = slots(20, Action::Rate(5), 0.005);
        assert_eq!(all, None);
        let (all, lately) = slots(17, Action::Rest, 0.001);
        assert!(about(all, 0.0) && about(lately, 0.0), "{all:?} {lately:?}");
        let (all, lately) = slots(40, Action::Rest, 1.5);
        assert!(about(all, 0.0) && about(lately, 0.0), "{all:?} {lately:?}");
        let (all, lately) = slots(60, Action::Rest, 0.0012);
        assert!(
            about(all, 0.147) && about(lately, 0.2),
            "{all:?} {lately:?}"
        );
    }

    #[test]
    fn what_is_usual_is_said_in_one_line() {
        let mut story = Timeline::new("x".to_owned());
        let mut seen = Reading::default();
        seen.sample.seconds = 1.0;
        seen.sample.statements = 1000.0;
        (seen.sample.mean, seen.sample.p95) = (Some(0.001), Some(0.004));
        story.add_baseline(&seen);
        assert_eq!(
            story.baseline_text(),
            "usual: 1000 statements a second, 1.00 ms on average, 95 % within 4.00 ms"
        );
    }
}

//! What the recorder samples while a job runs, and the charts made of it.
//!
//! Samples hold sums since the start, so dropping every other one averages over a longer time and
//! loses nothing. Invariant: a run of any length keeps a bounded number of them.

use super::{Chart, Series};
use run::host::{self, Disks, Host};

/// Time between samples at first, in seconds: short runs want a curve too.
pub(super) const FIRST: f64 = 0.25;

/// Time between samples once a run is no longer short.
const THEN: f64 = 1.0;

/// How long a run is short, in samples of [`FIRST`].
const SHORT: usize = 120;

/// Samples that are kept: an hour of seconds.
const MOST: usize = 3600;

/// Shorter times give no rate: the kernel counts processor time in hundredths of a second.
const SHORTEST: f64 = 0.15;

/// The sums at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Seconds since the beginning.
    pub at: f64,
    /// Number of the phase that ran, and its figures; `None` between phases.
    pub phase: Option<(usize, Moved)>,
    /// Processor seconds of penstock.
    pub own_cpu: f64,
    /// Counters of the host.
    pub host: Option<Host>,
    /// Counters of its disks.
    pub disks: Option<Disks>,
}

/// Figures of a phase since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moved {
    /// Bytes of row data.
    pub bytes: u64,
    /// Bytes as stored.
    pub stored: u64,
    /// Rows.
    pub rows: u64,
    /// Workers that move data now.
    pub busy: u64,
}

impl Sample {
    /// The counters of this process and host now.
    pub fn of_host(at: f64) -> Sample {
        Sample {
            at,
            own_cpu: host::own_cpu(),
            host: host::host(),
            disks: host::disks(),
            ..Sample::default()
        }
    }
}

/// A bounded number of samples.
#[derive(Debug)]
pub(super) struct Samples {
    list: Vec<Sample>,
    every: f64,
}

impl Samples {
    /// With the sample of the beginning.
    pub fn new(first: Sample) -> Samples {
        Samples {
            list: vec![first],
            every: FIRST,
        }
    }

    /// Whether it is time for another.
    pub fn due(&self, at: f64) -> bool {
        // Half a tick early is on time.
        let last = self.list.last().map_or(0.0, |s| s.at);
        at >= last + self.every - FIRST / 2.0
    }

    /// Adds one.
    pub fn push(&mut self, sample: Sample) {
        self.list.push(sample);
        if self.every < THEN && self.list.len() > SHORT {
            self.every = THEN;
            self.thin(4);
        } else if self.list.len() > MOST {
            self.every *= 2.0;
            self.thin(2);
        }
    }

    /// Keeps the first of each `of`, and the last of all.
    fn thin(&mut self, of: usize) {
        let last = self.list.len() - 1;
        let mut at = 0;
        self.list.retain(|_| {
            at += 1;
            (at - 1) % of == 0 || at - 1 == last
        });
    }

    /// The charts, of throughput only in phase number `main`; those without values are left out.
    pub fn charts(&self, main: Option<usize>) -> Vec<Chart> {
        let of = |s: &Sample| s.phase.filter(|p| Some(p.0) == main).map(|p| p.1);
        let throughput = self.rate(|s| Some(of(s)?.bytes as f64));
        // Stored bytes are counted when a chunk is complete, so their rate would be spikes only.
        let far = [
            ("row data", self.values(|s| Some(of(s)?.bytes))),
            ("as stored", self.values(|s| Some(of(s)?.stored))),
        ];
        let rows = self.values(|s| Some(of(s)?.rows));
        let busy = self.values(|s| Some(s.phase?.1.busy));
        let cpu = [
            ("penstock", self.rate(|s| Some(s.own_cpu))),
            ("whole host", self.rate(|s| Some(s.host?.busy))),
        ];
        let disk = [
            ("written", self.rate(|s| Some(s.disks?.written as f64))),
            ("read", self.rate(|s| Some(s.disks?.read as f64))),
        ];
        let mut list = [
            chart("Throughput", "B/s", [("row data", throughput)]),
            chart("Data so far", "B", far),
            chart("Rows so far", "rows", [("rows", rows)]),
            chart("Busy workers", "workers", [("busy", busy)]),
            chart("Processors", "cores", cpu),
            chart("Disks of this host", "B/s", disk),
        ];
        for steps in &mut list[1..4] {
            for s in &mut steps.series {
                s.steps = true;
            }
        }
        list[4].note = format!("This host has {} cores.", host::cores());
        list[5].note = "All programs on this host together.".to_owned();
        list.into_iter().filter(|c| !c.series.is_empty()).collect()
    }

    fn values(&self, of: impl Fn(&Sample) -> Option<u64>) -> Points {
        let all = self.list.iter();
        all.map(|s| (millis(s.at), of(s).map(|v| v as f64)))
            .collect()
    }

    /// What a sum grew by in each second, between samples that both have it.
    fn rate(&self, of: impl Fn(&Sample) -> Option<f64>) -> Points {
        let mut points = Vec::new();
        let mut from: Option<(f64, f64)> = None;
        for s in &self.list {
            let Some(v) = of(s) else {
                if from.take().is_some() {
                    points.push((millis(s.at), None));
                }
                continue;
            };
            match from {
                None => from = Some((s.at, v)),
                Some((at, _)) if s.at - at < SHORTEST => {}
                Some((at, before)) => {
                    let rate = (v >= before).then(|| digits((v - before) / (s.at - at)));
                    points.push((millis(f64::midpoint(at, s.at)), rate));
                    from = Some((s.at, v));
                }
            }
        }
        points
    }
}

fn chart<const N: usize>(title: &str, unit: &str, lines: [(&str, Points); N]) -> Chart {
    let moves = |points: &Points| points.iter().any(|p| p.1.is_some_and(|v| v > 0.0));
    Chart {
        title: title.to_owned(),
        unit: unit.to_owned(),
        series: lines
            .into_iter()
            .filter(|(_, points)| moves(points))
            .map(|(name, points)| Series::line(name, points))
            .collect(),
        ..Chart::default()
    }
}

type Points = Vec<(f64, Option<f64>)>;

/// To the millisecond.
pub(super) fn millis(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

/// Four digits are more than a chart can show.
pub(super) fn digits(v: f64) -> f64 {
    if v == 0.0 || !v.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - v.abs().log10().floor() as i32);
    (v * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at: f64, bytes: u64) -> Sample {
        let moved = Moved {
            bytes,
            ..Moved::default()
        };
        Sample {
            at,
            phase: Some((0, moved)),
            ..Sample::default()
        }
    }

    fn bytes(s: &Sample) -> Option<f64> {
        Some(s.phase?.1.bytes as f64)
    }

    #[test]
    fn a_long_run_keeps_few_samples_and_its_mean() {
        let mut samples = Samples::new(at(0.0, 0));
        let mut t = 0.0;
        // Three days.
        while t < 260_000.0 {
            t += FIRST;
            if samples.due(t) {
                samples.push(at(t, (t * 1000.0) as u64));
            }
        }
        assert!((900..=MOST).contains(&samples.list.len()));
        let rate = samples.rate(bytes);
        assert!(rate.iter().all(|p| (p.1.unwrap() - 1000.0).abs() < 1.0));
        assert_eq!(samples.list[0].at, 0.0);
    }

    #[test]
    fn what_never_moved_or_is_not_known_is_no_line() {
        let mut samples = Samples::new(at(0.0, 0));
        samples.push(at(1.0, 5000));
        let charts = samples.charts(Some(0));
        let titles: Vec<_> = charts.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["Throughput", "Data so far"]);
        assert_eq!(charts[1].series.len(), 1);
        assert_eq!(charts[0].series[0].points, [(0.5, Some(5000.0))]);
        assert!(Samples::new(at(0.0, 0)).charts(None).is_empty());
        // Another phase is another matter.
        assert!(samples.charts(Some(1)).is_empty());
    }

    #[test]
    fn a_rate_is_of_one_phase_and_of_some_time() {
        let mut samples = Samples::new(at(0.0, 0));
        samples.push(at(0.01, 1_000_000));
        samples.push(at(0.5, 1_000_000));
        samples.push(Sample {
            at: 0.6,
            ..Sample::default()
        });
        samples.push(at(0.7, 0));
        samples.push(at(1.7, 50));
        let known = samples.rate(bytes).into_iter().filter_map(|p| p.1);
        assert_eq!(known.collect::<Vec<_>>(), [2_000_000.0, 50.0]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(digits(123_456.0), 123_500.0);
        assert_eq!(digits(0.000_123_456), 0.000_123_5);
        assert_eq!(digits(0.0), 0.0);
    }
}

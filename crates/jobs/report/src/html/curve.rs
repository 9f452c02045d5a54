//! Reduces lines of any length to a bounded number of points, each with the mean, the least and the
//! most of its values.

use super::quantity::sane;
use crate::record::Series;

/// Points that a chart has at most.
pub const MOST: usize = 240;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds.
    pub at: f64,
    /// What is drawn.
    pub mean: f64,
    /// Least of its values.
    pub low: f64,
    /// Most of its values.
    pub high: f64,
}

/// A line, in pieces where there are gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Unbroken pieces, none empty.
    pub pieces: Vec<Vec<Point>>,
    /// Whether points have several values each.
    pub thinned: bool,
}

impl Curve {
    /// The curve between 0 and `seconds`.
    pub fn new(series: &Series, seconds: f64) -> Curve {
        let mut points: Vec<(f64, Option<f64>)> = series
            .points
            .iter()
            .filter(|(t, v)| sane(*t) && *t >= 0.0 && *t <= seconds && v.is_none_or(sane))
            .copied()
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let thinned = points.len() > MOST;
        let mut curve = Curve {
            pieces: vec![Vec::new()],
            thinned,
        };
        let width = seconds / MOST as f64;
        let bucket = |t: f64| if thinned { (t / width) as usize } else { 0 };
        let mut i = 0;
        while i < points.len() {
            // Without thinning each point is its own group.
            let mut end = i + 1;
            if thinned {
                let here = bucket(points[i].0);
                while end < points.len() && bucket(points[end].0) == here {
                    end += 1;
                }
            }
            curve.group(&points[i..end]);
            i = end;
        }
        curve.pieces.retain(|p| !p.is_empty());
        curve
    }

    fn group(&mut self, points: &[(f64, Option<f64>)]) {
        let known: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|(t, v)| Some((*t, (*v)?)))
            .collect();
        let Some(first) = known.first() else {
            // A gap.
            if self.pieces.last().is_some_and(|p| !p.is_empty()) {
                self.pieces.push(Vec::new());
            }
            return;
        };
        let n = known.len() as f64;
        let (mut low, mut high, mut sum, mut at) = (first.1, first.1, 0.0, 0.0);
        for (t, v) in &known {
            low = low.min(*v);
            high = high.max(*v);
            sum += v / n;
            at += t / n;
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(Point {
                at,
                mean: sum,
                low,
                high,
            });
        }
    }

    /// All its points.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.pieces.iter().flatten()
    }

    /// The greatest value.
    pub fn most(&self) -> f64 {
        self.points().map(|p| p.high).fold(0.0, f64::max)
    }

    /// The value between two points in time: the mean of the points there; if there are none, for steps
    /// the last one before.
    pub fn between(&self, from: f64, to: f64, steps: bool) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0.0);
        let mut before = None;
        for p in self.points() {
            if p.at < from {
                before = Some(p.mean);
            } else if p.at < to {
                sum += p.mean;
                n += 1.0;
            }
        }
        if n > 0.0 {
            Some(sum / n)
        } else if steps {
            before
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_thinned_and_keep_their_peaks() {
        let points = (0..100_000).map(|i| {
            let v = if i == 77_777 { 500.0 } else { 10.0 };
            (f64::from(i), Some(v))
        });
        let curve = Curve::new(&Series::line("x", points.collect()), 100_000.0);
        assert!(curve.thinned && curve.points().count() <= MOST + 1);
        assert_eq!(curve.most(), 500.0);
        assert!(curve.points().all(|p| p.mean < 12.0 && p.low == 10.0));
    }

    #[test]
    fn gaps_and_nonsense_break_a_line() {
        let points = vec![
            (3.0, Some(4.0)),
            (0.0, Some(1.0)),
            (1.0, Some(2.0)),
            (2.0, None),
            (f64::NAN, Some(1.0)),
            (-1.0, Some(1.0)),
            (99.0, Some(1.0)),
            (2.5, Some(f64::INFINITY)),
        ];
        let curve = Curve::new(&Series::line("x", points), 10.0);
        assert_eq!(curve.pieces.len(), 2);
        assert_eq!(curve.points().count(), 3);
        assert_eq!(curve.between(0.5, 1.5, false), Some(2.0));
        assert_eq!(curve.between(5.0, 6.0, false), None);
        assert_eq!(curve.between(5.0, 6.0, true), Some(4.0));
        assert!(Curve::new(&Series::default(), 1.0).pieces.is_empty());
    }
}

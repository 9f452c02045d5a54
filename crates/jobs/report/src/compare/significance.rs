//! Whether two lists of runs differ by more than chance.
//!
//! With four runs or more on both sides: the rank-sum test of Wilcoxon, Mann and Whitney, exact and two-sided, at 5 %. It
//! asks nothing of the distribution, which is not known. With three on a side it can never reach 5 %, and where only
//! least and most are recorded it cannot be done; then ranges that do not overlap count as a difference. With fewer than
//! three runs on a side nothing can be said.

use super::Sample;

/// Runs without which nothing can be said.
pub const FEWEST: usize = 3;

/// Runs on each side from which on the test is done.
const FOR_TEST: usize = 4;

/// The share of chance that is accepted.
const LEVEL: f64 = 0.05;

/// More runs than this on a side are compared by their ranges.
const MOST: usize = 60;

/// What a difference means.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// More than chance by the test, with its p.
    Differs(f64),
    /// The ranges do not overlap; with so few runs the test cannot say it.
    Apart,
    /// No more than chance, with the p of the test if it was done.
    Noise(Option<f64>),
    /// Too few runs: on the side with the fewest.
    Undecided(usize),
}

impl Verdict {
    /// Whether it is a difference.
    pub fn is_a_difference(&self) -> bool {
        matches!(self, Verdict::Differs(_) | Verdict::Apart)
    }

    /// In one word, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Differs(_) => "differs",
            Verdict::Apart => "ranges-apart",
            Verdict::Noise(_) => "noise",
            Verdict::Undecided(_) => "undecided",
        }
    }

    /// The p of the test.
    pub fn p(&self) -> Option<f64> {
        match self {
            Verdict::Differs(p) => Some(*p),
            Verdict::Noise(p) => *p,
            Verdict::Apart | Verdict::Undecided(_) => None,
        }
    }
}

/// Judges.
pub fn judge(a: &Sample, b: &Sample) -> Verdict {
    let fewest = a.n.min(b.n);
    if fewest < FEWEST {
        return Verdict::Undecided(fewest);
    }
    let testable = |s: &Sample| (FOR_TEST..=MOST).contains(&s.runs.len());
    if testable(a) && testable(b) {
        let p = rank_sum(&a.runs, &b.runs);
        return match p <= LEVEL {
            true => Verdict::Differs(p),
            false => Verdict::Noise(Some(p)),
        };
    }
    match a.high < b.low || b.high < a.low {
        true => Verdict::Apart,
        false => Verdict::Noise(None),
    }
}

/// The two-sided p of the rank-sum test, by counting all ways to choose the first list's ranks. Equal values share the
/// mean of their ranks.
fn rank_sum(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = a.iter().map(|v| (*v, true)).collect();
    all.extend(b.iter().map(|v| (*v, false)));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    // Twice the rank, which is whole also for a mean of two.
    let mut ranks = vec![0usize; all.len()];
    let mut i = 0;
    while i < all.len() {
        let equal = all[i..].iter().take_while(|v| v.0 == all[i].0).count();
        for rank in &mut ranks[i..i + equal] {
            *rank = 2 * i + equal + 1;
        }
        i += equal;
    }
    let of_a = ranks.iter().zip(&all).filter(|(_, v)| v.1);
    let sum: usize = of_a.map(|(rank, _)| rank).sum();
    // ways[n][s]: how many choices of n ranks have the sum s.
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0_f64; most + 1]; a.len() + 1];
    ways[0][0] = 1.0;
    for rank in &ranks {
        for n in (1..=a.len()).rev() {
            for s in (*rank..=most).rev() {
                ways[n][s] += ways[n - 1][s - rank];
            }
        }
    }
    let choices = &ways[a.len()];
    let total: f64 = choices.iter().sum();
    // Both tails: all sums at least as far from the middle.
    let middle = a.len() * (all.len() + 1);
    let far = sum.abs_diff(middle);
    let tail = choices.iter().enumerate();
    let tail: f64 = tail
        .filter(|(s, _)| s.abs_diff(middle) >= far)
        .map(|(_, n)| n)
        .sum();
    (tail / total).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(runs: &[f64]) -> Sample {
        Sample::of("x", "s", crate::record::Better::Lower, runs)
    }

    fn close(p: f64, wanted: f64) {
        assert!((p - wanted).abs() < 1e-9, "{p} {wanted}");
    }

    #[test]
    fn p_is_that_of_the_tables() {
        // All of one list below the other: 2 of all choices.
        close(rank_sum(&[1., 2., 3.], &[4., 5., 6.]), 2.0 / 20.0);
        close(rank_sum(&[1., 2., 3., 4.], &[5., 6., 7., 8.]), 2.0 / 70.0);
        close(
            rank_sum(&[5., 6., 7., 8., 9.], &[0., 1., 2., 3., 4.]),
            2.0 / 252.0,
        );
        // U = 1 of 5 and 5: P(U <= 1) = 2 / 252 on each side.
        close(
            rank_sum(&[1., 2., 3., 4., 6.], &[5., 7., 8., 9., 10.]),
            4.0 / 252.0,
        );
        // Equal lists.
        close(rank_sum(&[1., 1., 1., 1.], &[1., 1., 1., 1.]), 1.0);
        close(rank_sum(&[1., 2., 3., 4.], &[1., 2., 3., 4.]), 1.0);
    }

    #[test]
    fn few_runs_say_little() {
        let verdict = |a: &[f64], b: &[f64]| judge(&sample(a), &sample(b));
        assert_eq!(
            verdict(&[1.0, 2.0], &[8.0, 9.0, 10.0]),
            Verdict::Undecided(2)
        );
        assert_eq!(verdict(&[1., 2., 3.], &[4., 5., 6.]), Verdict::Apart);
        assert_eq!(verdict(&[1., 2., 5.], &[4., 5., 6.]), Verdict::Noise(None));
        assert!(verdict(&[1., 2., 3., 4.], &[5., 6., 7., 8.]).is_a_difference());
        assert!(matches!(
            verdict(&[1., 2., 3., 9.], &[5., 6., 7., 8.]),
            Verdict::Noise(Some(_))
        ));
        // Only least and most are known.
        let known = Sample {
            runs: Vec::new(),
            ..sample(&[1.0, 2.0, 3.0, 4.0])
        };
        assert_eq!(
            judge(&known, &sample(&[5.0, 6.0, 7.0, 8.0])),
            Verdict::Apart
        );
    }
}

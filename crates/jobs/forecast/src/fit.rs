//! Corrects the terms of a stage by what it took in earlier runs: a least-squares fit of one factor for each term, drawn
//! towards one factor for all of them, which is 1 (the built-in rates) without runs that moved much.
//!
//! The first term of a stage is its fixed cost, the others grow with amounts. A run teaches the terms that made up most
//! of its time: a short one says what the fixed cost is, and little about rows. One run is enough to move a factor as far
//! as it has to; many make it their mean. Newer runs and runs of a similar size count more.

/// What a stage took in an earlier run.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its terms there.
    pub terms: Vec<f64>,
    /// Seconds.
    pub took: f64,
    /// How much it counts, above 0.
    pub weight: f64,
}

/// A run may be off by this share of its time …
const NOISE: f64 = 0.1;

/// … and by this many seconds, whatever it is like.
const LEAST_NOISE: f64 = 0.02;

/// How far a factor is expected from the common one, as a share of that: of the fixed cost, which differs most between
/// hosts, and of the others.
const FIXED: f64 = 3.0;
/// See [`FIXED`].
const OTHERS: f64 = 0.5;

/// How sure it is without runs that the common factor is 1: one over the square of its usual logarithm.
const DOUBT: f64 = 0.5;

/// No term costs nothing.
const LEAST: f64 = 0.02;

/// The factors of the terms; all 1 without runs.
pub fn factors(terms: usize, seen: &[Seen]) -> Vec<f64> {
    let seen: Vec<&Seen> = seen.iter().filter(|s| s.terms.len() == terms).collect();
    let common = common(&seen);
    let mut known = vec![None; terms];
    // A factor that would be negative is held at the least, and the others are fitted again.
    for _ in 0..=terms {
        let Some(found) = solve(terms, &seen, &known, common) else {
            break;
        };
        let lowest = (0..terms)
            .filter(|i| known[*i].is_none() && found[*i] < LEAST)
            .min_by(|a, b| found[*a].total_cmp(&found[*b]));
        match lowest {
            Some(i) => known[i] = Some(LEAST),
            None => return found,
        }
    }
    vec![common; terms]
}

/// By what factor the runs were slower than the built-in rates, as far as amounts decided it: a run whose time was mostly
/// fixed cost says next to nothing.
fn common(seen: &[&Seen]) -> f64 {
    let (mut sum, mut weights) = (0.0, DOUBT);
    for s in seen {
        let all: f64 = s.terms.iter().sum();
        let grows: f64 = s.terms.iter().skip(1).sum();
        if all > 0.0 && s.took > 0.0 {
            // What a run says of its rows is no surer than what is known of the rest of its time.
            let noise = NOISE * s.took + LEAST_NOISE;
            let fixed = FIXED * s.terms[0];
            let weight = s.weight * grows * grows / (noise * noise + fixed * fixed);
            sum += weight * (s.took / all).ln();
            weights += weight;
        }
    }
    (sum / weights).exp().clamp(LEAST, 1.0 / LEAST)
}

/// The normal equations of the terms that are not known yet, by elimination.
fn solve(terms: usize, seen: &[&Seen], known: &[Option<f64>], common: f64) -> Option<Vec<f64>> {
    let free: Vec<usize> = (0..terms).filter(|i| known[*i].is_none()).collect();
    let n = free.len();
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for (r, row) in matrix.iter_mut().enumerate() {
        let far = common * if free[r] == 0 { FIXED } else { OTHERS };
        row[r] = 1.0 / (far * far);
        row[n] = common / (far * far);
    }
    for s in seen {
        let noise = NOISE * s.took + LEAST_NOISE;
        let weight = s.weight / (noise * noise);
        let fixed: f64 = (0..terms)
            .filter_map(|i| Some(known[i]? * s.terms[i]))
            .sum();
        for r in 0..n {
            let a = s.terms[free[r]] * weight;
            for c in 0..n {
                matrix[r][c] += a * s.terms[free[c]];
            }
            matrix[r][n] += a * (s.took - fixed);
        }
    }
    for p in 0..n {
        // The prior keeps the diagonal positive: the matrix is positive definite.
        let pivot = matrix[p][p];
        if !pivot.is_finite() || pivot <= 0.0 {
            return None;
        }
        let (above, below) = matrix.split_at_mut(p + 1);
        for row in below {
            let factor = row[p] / pivot;
            for (cell, of) in row.iter_mut().zip(&above[p]).skip(p) {
                *cell -= factor * of;
            }
        }
    }
    let mut found = vec![0.0; n];
    for p in (0..n).rev() {
        let rest: f64 = (p + 1..n).map(|c| matrix[p][c] * found[c]).sum();
        found[p] = (matrix[p][n] - rest) / matrix[p][p];
    }
    let mut all: Vec<f64> = known.iter().map(|k| k.unwrap_or(0.0)).collect();
    for (value, at) in found.into_iter().zip(free) {
        if !value.is_finite() {
            return None;
        }
        all[at] = value;
    }
    Some(all)
}

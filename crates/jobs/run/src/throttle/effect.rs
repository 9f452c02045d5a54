//! Estimates what a run costs the application by comparison: intervals in which rows move against
//! neighbouring intervals in which none do.
//!
//! A server's latency drifts for its own reasons (checkpoints, the application's day), so a figure from
//! before the run says little a minute later. Neighbouring intervals share the drift; the difference
//! between them is caused by the run. The cost is assumed to be proportional to the rate, so that
//! intervals at different rates contribute to one estimate. Logarithms, so that ratios add.

/// Seconds after which a comparison counts half.
const HALF_LIFE: f64 = 20.0;

/// Prior spread of one comparison, as a logarithm: a tenth.
const PRIOR_SPREAD: f64 = 0.1;

/// Weight of the prior spread, in comparisons.
const PRIOR_WEIGHT: f64 = 3.0;

/// A regression of effect over rate, through the origin, with exponential decay.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    xx: f64,
    xy: f64,
    yy: f64,
    weight: f64,
}

/// The estimate from the comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Effect (logarithm of the ratio of latencies) for each byte per second.
    pub slope: f64,
    /// Its standard error.
    pub error: f64,
}

impl Estimate {
    /// The effect at this rate, as a share: 0.05 is five per cent more latency.
    pub fn at(&self, rate: f64) -> f64 {
        (self.slope * rate).exp() - 1.0
    }

    /// The error of [`Estimate::at`].
    pub fn error_at(&self, rate: f64) -> f64 {
        self.error * rate
    }

    /// The rate at which the effect stays within `budget` even if the slope is
    /// `errors` standard errors steeper; infinite when nothing speaks against any rate.
    pub fn rate_for(&self, budget: f64, errors: f64) -> f64 {
        let slope = self.slope + errors * self.error;
        if slope <= 0.0 {
            f64::INFINITY
        } else {
            (1.0 + budget).ln() / slope
        }
    }
}

impl Effect {
    /// Adds a comparison: at `rate` bytes per second latency was `ratio` times that of the rests;
    /// `seconds` have passed since the comparison before.
    pub fn push(&mut self, rate: f64, ratio: f64, seconds: f64) {
        if !(rate > 0.0 && ratio > 0.0 && ratio.is_finite()) {
            return;
        }
        let keep = 0.5f64.powf(seconds / HALF_LIFE);
        // One stall of the server must not decide for a minute.
        let y = ratio.ln().clamp(-1.0, 1.0);
        self.xx = self.xx * keep + rate * rate;
        self.xy = self.xy * keep + rate * y;
        self.yy = self.yy * keep + y * y;
        self.weight = self.weight * keep + 1.0;
    }

    /// The estimate; `None` before the first comparison.
    pub fn estimate(&self) -> Option<Estimate> {
        if self.xx <= 0.0 {
            return None;
        }
        let slope = self.xy / self.xx;
        let rest = (self.yy - slope * self.xy).max(0.0);
        let variance = (rest + PRIOR_WEIGHT * PRIOR_SPREAD * PRIOR_SPREAD)
            / (self.weight + PRIOR_WEIGHT - 1.0).max(1.0);
        Some(Estimate {
            slope,
            error: (variance / self.xx).sqrt(),
        })
    }

    /// Forgets most of the comparisons, because the application's load has changed.
    pub fn forget_most(&mut self) {
        for v in [&mut self.xx, &mut self.xy, &mut self.yy, &mut self.weight] {
            *v *= 0.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_slope_is_found_at_any_mix_of_rates() {
        let mut e = Effect::default();
        assert_eq!(e.estimate(), None);
        for i in 0..60 {
            let rate = [5e6, 10e6, 40e6][i % 3];
            // One per cent for each megabyte, with an error of two per cent that cancels out.
            let noise = if i % 2 == 0 { 0.02 } else { -0.02 };
            e.push(rate, (rate / 1e6 * 0.01 + noise).exp(), 1.0);
        }
        let found = e.estimate().unwrap();
        assert!((found.slope * 1e6 - 0.01).abs() < 0.001, "{found:?}");
        assert!(found.error * 1e6 < 0.001, "{found:?}");
        let rate = found.rate_for(0.05, 0.0);
        assert!((4.5e6..5.5e6).contains(&rate), "{rate}");
        assert!((found.at(rate) - 0.05).abs() < 1e-9);
        assert!(found.rate_for(0.05, 2.0) < rate);
    }

    #[test]
    fn without_an_effect_any_rate_is_allowed_and_invalid_ratios_are_ignored() {
        let mut e = Effect::default();
        e.push(0.0, 1.5, 1.0);
        e.push(1e6, 0.0, 1.0);
        e.push(1e6, f64::INFINITY, 1.0);
        assert_eq!(e.estimate(), None);
        for _ in 0..50 {
            e.push(100e6, 0.99, 1.0);
        }
        let found = e.estimate().unwrap();
        assert_eq!(found.rate_for(0.05, 0.0), f64::INFINITY);
    }

    #[test]
    fn old_comparisons_count_little() {
        let mut e = Effect::default();
        for _ in 0..30 {
            e.push(10e6, 2.0, 1.0);
        }
        for _ in 0..80 {
            e.push(10e6, 1.0, 1.0);
        }
        let found = e.estimate().unwrap();
        assert!(found.at(10e6) < 0.06, "{found:?}");
        e.push(10e6, 2.0, 1.0);
        e.forget_most();
        e.push(10e6, 2.0, 1.0);
        assert!(e.estimate().unwrap().at(10e6) > found.at(10e6));
    }
}

//! Forecasts in words.

use crate::make::{Basis, Forecast, Spread};
use crate::{Judged, Stage};

/// `about 12 min (9–16)`.
pub fn about(seconds: f64, low: f64, high: f64) -> String {
    let (each, unit) = match seconds {
        s if s < 90.0 => (1.0, "s"),
        s if s < 5400.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    };
    let shown = |s: f64| digits(s / each);
    format!(
        "about {} {unit} ({}–{})",
        shown(seconds),
        shown(low),
        shown(high)
    )
}

/// Two digits that count, and no point from 10 on.
fn digits(n: f64) -> String {
    match n {
        n if n < 9.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

/// How long, and what the longest part of it is.
pub fn forecast(f: &Forecast) -> String {
    let (stage, seconds) = f.longest();
    let mut text = about(f.seconds, f.low, f.high);
    let share = 100.0 * seconds / f.seconds.max(1e-9);
    if !f.limited_by.is_empty() {
        text += &format!(
            "; {share:.0} % of it {}, limited by {}",
            stage.words(),
            f.limited_by
        );
    }
    if f.without_impact {
        text += "; longer if the limit on impact holds it back";
    }
    text
}

/// What it is based on.
pub fn basis(f: &Forecast) -> String {
    let mut text = match f.basis {
        Basis::Runs(1) => "1 earlier run here".to_owned(),
        Basis::Runs(n) => format!("{n} earlier runs here"),
        Basis::Defaults => "built-in rates: no run like it on this host yet".to_owned(),
    };
    if let (Basis::Runs(_), false) = (f.basis, f.by_default.is_empty()) {
        let words: Vec<&str> = f.by_default.iter().map(|s: &Stage| s.words()).collect();
        text += &format!("; built-in rates for {}", words.join(", "));
    }
    text += &match f.spread {
        Spread::Measured(n) => format!("; the range is what {n} forecasts were off by"),
        Spread::Assumed => "; the range is assumed".to_owned(),
    };
    text
}

/// `forecast 11 s, took 12 s (9 % longer)`, as the value of a line labelled `forecast`.
pub fn judged(j: &Judged) -> String {
    let share = (j.error.abs() * 100.0).round();
    let than = match (share, j.error > 0.0) {
        (s, _) if s < 1.0 => "as forecast".to_owned(),
        (s, true) => format!("{s:.0} % longer"),
        (s, false) => format!("{s:.0} % shorter"),
    };
    let f = &j.forecast;
    let from = match f.basis {
        Basis::Runs(1) => "from 1 earlier run",
        Basis::Runs(_) => "from earlier runs",
        Basis::Defaults => "from built-in rates",
    };
    let mut text = format!(
        "{}, {from}; took {} s ({than})",
        about(f.seconds, f.low, f.high),
        digits(j.took)
    );
    if let Some(why) = &j.not_learned {
        text += &format!("; not learned from: {why}");
    }
    text
}

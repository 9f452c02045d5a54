//! The display of numbers with a unit, and the ticks of an axis.

use base::units;

/// Larger numbers are errors in a record, and are left out.
const ABSURD: f64 = 1e18;

/// Units that have no fractions.
const COUNTED: [&str; 6] = [
    "workers",
    "rows",
    "connections",
    "threads",
    "statements",
    "tables",
];

/// Whether a number can be drawn.
pub fn sane(v: f64) -> bool {
    v.is_finite() && v.abs() < ABSURD
}

/// `91.4 MB/s`, `0.39 s`, `2,099 tpmC`: with its unit, as a person would write it.
pub fn show(v: f64, unit: &str) -> String {
    if !sane(v) {
        return "–".to_owned();
    }
    match unit {
        "" => short(v),
        "B" | "B/s" => {
            let sign = if v < 0.0 { "−" } else { "" };
            let per = unit.trim_start_matches('B');
            format!("{sign}{}{per}", units::bytes(v.abs().round() as u64))
        }
        "s" if v.abs() >= 60.0 => units::seconds(v),
        "s" if v.abs() < 0.1 && v != 0.0 => show(v * 1000.0, "ms"),
        "ms" if v.abs() >= 1000.0 => show(v / 1000.0, "s"),
        "s" => format!("{v:.2} s"),
        _ => format!("{} {unit}", short(v)),
    }
}

/// Three digits where there are fewer than that before the point, thousands set apart.
pub fn short(v: f64) -> String {
    if !sane(v) {
        return "–".to_owned();
    }
    let a = v.abs();
    let sign = if v < 0.0 { "−" } else { "" };
    if a >= 100.0 || a == a.round() {
        return format!("{sign}{}", units::count(a.round() as u64));
    }
    let digits = if a >= 10.0 {
        1
    } else if a >= 0.1 {
        2
    } else {
        3
    };
    let text = format!("{a:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}{text}")
}

/// `+3.1 %`, `−36 %`: what `v` is more or less than `base`.
pub fn change(v: f64, base: f64) -> Option<String> {
    if base == 0.0 || !sane(v) || !sane(base) {
        return None;
    }
    let percent = (v - base) / base.abs() * 100.0;
    let digits = usize::from(percent.abs() < 10.0);
    let text = format!("{:.digits$}", percent.abs());
    let nothing = text.trim_matches(['0', '.']).is_empty();
    let sign = match percent {
        _ if nothing => "±",
        p if p < 0.0 => "−",
        _ => "+",
    };
    Some(format!("{sign}{text} %"))
}

/// A vertical axis from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Where it ends, in the unit of the data.
    pub top: f64,
    /// Positions of the ticks, and their labels.
    pub ticks: Vec<(f64, String)>,
    /// The unit of the labels.
    pub unit: String,
}

impl Axis {
    /// An axis that holds `most`, with about `ticks` ticks at round numbers.
    ///
    /// Units without fractions get no ticks between whole numbers.
    pub fn new(most: f64, unit: &str, ticks: usize) -> Axis {
        let most = if most > 0.0 && sane(most) { most } else { 1.0 };
        let (factor, unit) = prefix(most, unit);
        let mut step = round_up(most / factor / ticks.max(1) as f64);
        if COUNTED.contains(&unit.as_str()) {
            step = step.max(1.0);
        }
        let count = (most / factor / step - 1e-9).ceil().max(1.0);
        let tick = |i: u32| {
            let at = step * f64::from(i);
            (at * factor, short((at * 1e6).round() / 1e6))
        };
        Axis {
            top: step * count * factor,
            ticks: (0..=count as u32).map(tick).collect(),
            unit,
        }
    }
}

/// What to divide by so that the numbers of an axis are short.
fn prefix(most: f64, unit: &str) -> (f64, String) {
    match unit {
        "B" | "B/s" => {
            let mut factor = 1.0;
            let mut names = ["kB", "MB", "GB", "TB", "PB"].into_iter();
            let mut name = "B";
            while most >= factor * 1000.0
                && let Some(next) = names.next()
            {
                factor *= 1000.0;
                name = next;
            }
            (factor, name.to_owned() + unit.trim_start_matches('B'))
        }
        "s" if most < 0.5 => (0.001, "ms".to_owned()),
        "ms" if most >= 5000.0 => (1000.0, "s".to_owned()),
        _ if most >= 1e9 => (1e9, format!("billion {unit}")),
        _ if most >= 1e6 => (1e6, format!("million {unit}")),
        _ if most >= 1e5 => (1e3, format!("thousand {unit}")),
        _ => (1.0, unit.to_owned()),
    }
}

/// The next of 1, 2, 5 × 10ⁿ.
fn round_up(v: f64) -> f64 {
    let power = 10f64.powf(v.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|s| v <= s * power * (1.0 + 1e-9));
    step.unwrap_or(10.0) * power
}

/// Ticks of a time axis of this many seconds, at most `most` of them, and the unit of their labels, in
/// full and in short.
pub fn time_ticks(seconds: f64, most: usize) -> (Vec<(f64, String)>, [&'static str; 2]) {
    const STEPS: [f64; 22] = [
        1.0,
        2.0,
        5.0,
        10.0,
        15.0,
        30.0,
        60.0,
        120.0,
        300.0,
        600.0,
        900.0,
        1800.0,
        3600.0,
        7200.0,
        10_800.0,
        21_600.0,
        43_200.0,
        86_400.0,
        172_800.0,
        604_800.0,
        1_209_600.0,
        2_419_200.0,
    ];
    let wanted = seconds / most.max(1) as f64;
    let step = if wanted <= 0.5 {
        round_up(wanted.max(1e-6))
    } else {
        let found = STEPS.into_iter().find(|s| *s >= wanted);
        found.unwrap_or_else(|| (wanted / 2_419_200.0).ceil() * 2_419_200.0)
    };
    let (label, words): (fn(f64) -> String, _) = if seconds < 90.0 {
        (|t| short((t * 1e6).round() / 1e6), ["seconds", "s"])
    } else if seconds < 5400.0 {
        (|t| clock(t, 60), ["minutes:seconds", "m:ss"])
    } else {
        (|t| clock((t / 60.0).round(), 60), ["hours:minutes", "h:mm"])
    };
    let count = (seconds / step + 1e-9).floor() as u32;
    let ticks = (0..=count.min(100)).map(|i| step * f64::from(i));
    (ticks.map(|t| (t, label(t))).collect(), words)
}

fn clock(v: f64, per: u64) -> String {
    let v = v.round() as u64;
    format!("{}:{:02}", v / per, v % per)
}

/// A point in time of a run: `12.3 s`, `1:20`, `2:03:20`.
pub fn moment(t: f64) -> String {
    if t < 60.0 {
        return format!("{t:.1} s");
    }
    let v = t.round() as u64;
    if v < 3600 {
        clock(t, 60)
    } else {
        format!("{}:{:02}:{:02}", v / 3600, v / 60 % 60, v % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(show(91_440_000.0, "B/s"), "91.44 MB/s");
        assert_eq!(show(2099.4, "tpmC"), "2,099 tpmC");
        assert_eq!(show(0.012, "s"), "12 ms");
        assert_eq!(show(1500.0, "ms"), "1.50 s");
        assert_eq!(show(184.0, "s"), "3m04s");
        assert_eq!(show(-3.25, "%"), "−3.25 %");
        assert_eq!(show(f64::NAN, "%"), "–");
        assert_eq!(change(1420.0, 2216.0).unwrap(), "−36 %");
        assert_eq!(change(2099.0, 2216.0).unwrap(), "−5.3 %");
        assert_eq!(change(5.0, 5.0).unwrap(), "±0.0 %");
        assert_eq!(change(5.0, 0.0), None);
        assert_eq!(moment(7.25), "7.2 s");
        assert_eq!(moment(3725.0), "1:02:05");
    }

    #[test]
    fn ticks_are_round() {
        let a = Axis::new(93.2e6, "B/s", 5);
        assert_eq!((a.top, a.unit.as_str()), (100e6, "MB/s"));
        let labels: Vec<_> = a.ticks.iter().map(|t| t.1.as_str()).collect();
        assert_eq!(labels, ["0", "20", "40", "60", "80", "100"]);
        let (ticks, words) = time_ticks(185.0, 7);
        assert_eq!(words[0], "minutes:seconds");
        assert_eq!(ticks[1], (30.0, "0:30".to_owned()));
        let (ticks, _) = time_ticks(0.4, 6);
        assert_eq!(ticks[1].1, "0.1");
        let (ticks, words) = time_ticks(90_000.0, 7);
        assert_eq!((ticks[1].1.as_str(), words[1]), ("6:00", "h:mm"));
    }

    proptest! {
        #[test]
        fn an_axis_holds_its_data(most in 1e-9f64..1e17, n in 1usize..12) {
            for unit in ["B/s", "s", "ms", "tpmC"] {
                let a = Axis::new(most, unit, n);
                prop_assert!(a.top >= most * (1.0 - 1e-6) && a.ticks.len() <= n + 2, "{a:?}");
            }
        }

        #[test]
        fn a_time_axis_has_few_ticks(seconds in 1e-3f64..1e9, n in 1usize..12) {
            let (ticks, _) = time_ticks(seconds, n);
            prop_assert!(!ticks.is_empty() && ticks.len() <= n + 2);
            prop_assert!(ticks.iter().all(|t| t.0 <= seconds * 1.001));
        }
    }
}

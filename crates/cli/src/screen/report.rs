//! `penstock report` on a terminal: the outcome, the main figures, and the first curve in one line.

use base::units::{printable, rounded};
use report::html::{Summary, show};
use report::record::{Record, Series, State};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;

/// How many characters a curve may take.
const WIDTH: usize = 48;

/// How many characters a name may take.
const WIDEST: usize = 40;

/// Curves that are shown of one run.
const CURVES: usize = 12;

/// Heights of a curve in one line.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The curve of a series in at most `width` characters, the highest at `top`; nothing if there is none to see.
fn sparkline(series: &Series, width: usize, top: f64) -> String {
    let known = |p: &(f64, Option<f64>)| p.1.filter(|v| v.is_finite()).map(|v| (p.0, v));
    let points: Vec<(f64, f64)> = series.points.iter().filter_map(known).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    if points.len() < 3 || last.0 <= first.0 {
        return String::new();
    }
    let width = width.min(points.len());
    let cell = |t: f64| ((t - first.0) / (last.0 - first.0) * (width - 1) as f64).round() as usize;
    let mut cells = vec![(0.0, 0u32); width];
    for (t, v) in &points {
        if let Some((sum, n)) = cells.get_mut(cell(*t)) {
            *sum += v.max(0.0);
            *n += 1;
        }
    }
    let means: Vec<Option<f64>> = cells
        .iter()
        .map(|(sum, n)| (*n > 0).then(|| sum / f64::from(*n)))
        .collect();
    let top = means
        .iter()
        .flatten()
        .copied()
        .fold(top.max(f64::MIN_POSITIVE), f64::max);
    means
        .iter()
        .map(|m| match m {
            None => ' ',
            Some(v) => LEVELS[((v / top * 7.0).round() as usize).min(7)],
        })
        .collect()
}

/// Colours and bold type, on a terminal of a user who has not asked for plain text.
struct Ink(bool);

impl Ink {
    fn choose() -> Ink {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Ink(std::io::stdout().is_terminal() && !plain && !dumb)
    }

    fn bold(&self, text: &str) -> String {
        self.mark("1", text)
    }

    fn curve(&self, text: &str) -> String {
        self.mark("36", text)
    }

    fn mark(&self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

fn state(s: State) -> &'static str {
    match s {
        State::Complete => "complete",
        State::Exceptions => "complete, with exceptions",
        State::Interrupted => "interrupted",
        State::Failed => "failed",
    }
}

/// For people.
pub fn text(d: &Summary) -> String {
    let ink = Ink::choose();
    let mut out = String::new();
    for r in &d.records {
        let _ = writeln!(out, "\n{}", ink.bold(&printable(&r.title)));
        let width = names(r).map(|n| printable(n).chars().count()).max();
        let width = width.unwrap_or(0).clamp(18, WIDEST);
        let mut line = |name: &str, value: &str| {
            let name = printable(name);
            let _ = writeln!(out, "  {name:<width$}  {}", printable(value));
        };
        line("outcome", state(r.outcome.state));
        if !r.outcome.message.is_empty() {
            line("error", &r.outcome.message);
        }
        for f in &r.figures {
            let note = if f.note.is_empty() {
                String::new()
            } else {
                format!(" ({})", f.note)
            };
            line(&f.name, &format!("{}{note}", show(f.value, &f.unit)));
        }
        curves(&mut out, r, &ink, width);
        bars(&mut out, r);
    }
    if let Some(path) = &d.path {
        let _ = writeln!(
            out,
            "  {:<20}{}",
            "page",
            printable(&path.display().to_string())
        );
    }
    out
}

/// The labels of the lines about a run.
fn names(r: &Record) -> impl Iterator<Item = &str> {
    let timelines = r.sections.iter().flat_map(|s| &s.timelines);
    let titles = timelines.map(|t| t.title.as_str());
    r.figures.iter().map(|f| f.name.as_str()).chain(titles)
}

/// The greatest value of a series.
fn most(s: &Series) -> f64 {
    let values = s.points.iter().filter_map(|p| p.1);
    values.filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// The first chart of each timeline, in one line each, those of one title on one scale.
fn curves(out: &mut String, r: &Record, ink: &Ink, width: usize) {
    let timelines = || r.sections.iter().flat_map(|s| &s.timelines);
    for t in timelines().take(CURVES) {
        let Some(chart) = t.charts.first() else {
            continue;
        };
        let Some(series) = chart.series.first() else {
            continue;
        };
        let alike = timelines().filter_map(|t| t.charts.first());
        let alike = alike.filter(|c| c.title == chart.title && c.unit == chart.unit);
        let top = alike.filter_map(|c| c.series.first()).map(most);
        let curve = sparkline(series, WIDTH, top.fold(0.0, f64::max));
        if curve.is_empty() {
            continue;
        }
        let name = if t.title.is_empty() {
            chart.title.to_lowercase()
        } else {
            t.title.clone()
        };
        let name: String = printable(&name).chars().take(WIDEST).collect();
        let _ = writeln!(
            out,
            "  {name:<width$}  {} up to {}",
            ink.curve(&curve),
            printable(&show(most(series), &chart.unit))
        );
    }
}

/// The first bars, as a small table.
fn bars(out: &mut String, r: &Record) {
    let mut all = r.sections.iter().flat_map(|s| &s.bars);
    let Some(b) = all.find(|b| !b.title.is_empty()) else {
        return;
    };
    let _ = writeln!(out, "  {}:", printable(&b.title));
    let base = b
        .items
        .first()
        .and_then(|i| i.mean)
        .filter(|v| b.to_first && *v != 0.0);
    for (i, item) in b.items.iter().take(30).enumerate() {
        let value = item
            .mean
            .map_or("not measured".to_owned(), |v| show(v, &b.unit));
        let change = match (i, base, item.mean) {
            (1.., Some(base), Some(v)) => format!("{:+.1} %", (v - base) / base.abs() * 100.0),
            _ => String::new(),
        };
        let label: String = printable(&item.label).chars().take(60).collect();
        let _ = writeln!(out, "    {label:<32}{:>16}  {change}", printable(&value));
    }
}

/// For programs.
pub fn json(d: &Summary) -> Value {
    let run = |r: &Record| {
        json!({
            "title": r.title, "kind": r.kind, "begin": r.begin, "duration": rounded(r.seconds),
            "outcome": r.outcome.state, "exit_code": r.outcome.code, "story": r.story,
            "figures": r.figures.iter().map(|f| json!({"name": f.name, "value": f.value, "unit": f.unit})).collect::<Vec<_>>(),
        })
    };
    json!({
        "event": "summary", "job": "report", "page": d.path,
        "runs": d.records.iter().map(run).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[f64]) -> Series {
        let points = values.iter().enumerate().map(|(i, v)| (i as f64, Some(*v)));
        Series::line("x", points.collect())
    }

    #[test]
    fn a_curve_in_one_line() {
        assert_eq!(sparkline(&line(&[0.0, 5.0, 10.0]), 48, 0.0), "▁▅█");
        assert_eq!(sparkline(&line(&[0.0, 5.0, 10.0]), 48, 20.0), "▁▃▅");
        assert_eq!(sparkline(&line(&[1.0, 1.0]), 48, 0.0), "");
        assert_eq!(sparkline(&line(&[0.0; 3]), 48, 0.0), "▁▁▁");
        let long: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert_eq!(sparkline(&line(&long), 48, 0.0).chars().count(), 48);
        let odd = line(&[f64::NAN, -5.0, f64::INFINITY, 3.0, 1.0]);
        assert_eq!(sparkline(&odd, 48, 0.0).chars().count(), 3);
    }
}

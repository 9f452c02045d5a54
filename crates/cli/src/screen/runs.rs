//! Running jobs from outside: `penstock status`, and the answer to a change.

use ::report::summary::{Item, Summary, lines};
use base::units::{bytes, count, printable, rounded, seconds};
use run::control::Status;
use serde_json::{Value, json};

/// One run on one line.
pub fn run_line(s: &Status) -> String {
    let mut line = format!("{}  {} {}", s.pid, printable(&s.job), printable(&s.about));
    let state = match (s.stopping, s.paused) {
        (true, _) => "stopping",
        (_, true) => "paused",
        _ => return line,
    };
    line += &format!(" ({state})");
    line
}

/// Runs in full.
pub fn runs(list: &[Status], silent: &[u32]) -> String {
    if list.is_empty() && silent.is_empty() {
        return "no dump, load or verification of this user is running\n".to_owned();
    }
    let silent = silent.iter().map(|pid| silent_line(*pid) + "\n");
    list.iter().map(one).chain(silent).collect()
}

/// A run that listens and does not answer.
pub fn silent_line(pid: u32) -> String {
    format!("process {pid}: does not answer (a signal stopped it, or its host is very busy)")
}

fn one(s: &Status) -> String {
    let mut all = Summary::new("status", run_line(s));
    let mut add = |label, text: String| all.add(Item::new(label).line(text));
    add("running for", seconds(s.seconds));
    if !s.phase.is_empty() {
        add(
            "phase",
            format!("{} ({})", s.phase, seconds(s.phase_seconds)),
        );
    }
    if s.bytes > 0 {
        let mut text = format!("{} rows, {}", count(s.rows), bytes(s.bytes));
        if s.bytes_expected > 0 {
            let share = (s.bytes as f64 / s.bytes_expected as f64 * 100.0).min(99.0);
            text += &format!(" ({share:.0} %)");
        }
        if let Some(rate) = s.bytes_per_second {
            text += &format!(", {}/s", bytes(rate as u64));
        }
        if let Some(eta) = s.seconds_to_go.filter(|_| !s.paused) {
            text += &format!(", {} to go", seconds(eta));
        }
        add("moved", text);
        add("workers", format!("{} of {} busy", s.busy, s.workers));
    }
    if let Some(waiting) = &s.waiting {
        add("waiting for", waiting.clone());
    }
    if let Some(steering) = &s.steering {
        add("impact", steering.clone());
    }
    let settings: Vec<String> = s
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("none")))
        .collect();
    add("limits", settings.join(" "));
    lines(&all)
}

/// The same for programs.
pub fn runs_json(list: &[Status], silent: &[u32]) -> Value {
    let one = |s: &Status| {
        let settings: serde_json::Map<String, Value> = s
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        json!({
            "pid": s.pid, "job": s.job, "about": s.about, "running_seconds": rounded(s.seconds),
            "phase": s.phase, "phase_seconds": rounded(s.phase_seconds),
            "rows": s.rows, "bytes": s.bytes, "bytes_expected": s.bytes_expected,
            "bytes_per_second": s.bytes_per_second.map(rounded), "seconds_to_go": s.seconds_to_go.map(rounded),
            "busy": s.busy, "workers": s.workers, "passed": s.passed,
            "paused": s.paused, "stopping": s.stopping, "waiting": s.waiting, "impact": s.steering, "limits": settings,
        })
    };
    json!({"event": "status", "runs": list.iter().map(one).collect::<Vec<_>>(), "silent": silent})
}

/// After `penstock stop`.
pub fn stopped(s: &Status, gone: bool) -> String {
    let end = if gone {
        "has ended"
    } else {
        "was asked to stop and has not ended yet"
    };
    format!(
        "{}  {} {} {end}\n",
        s.pid,
        printable(&s.job),
        printable(&s.about)
    )
}

/// The same for programs.
pub fn stopped_json(s: &Status, gone: bool) -> Value {
    json!({"event": "stopped", "pid": s.pid, "job": s.job, "about": s.about, "ended": gone})
}

//! Running jobs from outside: `penstock status`, and the answer to a change.

use super::super::round;
use super::Lines;
use base::units::{bytes, count, printable, seconds};
use run::PhaseTraffic;
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
    let mut l = Lines::new(&run_line(s));
    l.add("running for", seconds(s.seconds));
    if !s.phase.is_empty() {
        l.add(
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
        l.add("moved", text);
        l.add("workers", format!("{} of {} busy", s.busy, s.workers));
    }
    if let Some(waiting) = &s.waiting {
        l.add("waiting for", waiting);
    }
    if let Some(steering) = &s.steering {
        l.add("impact", steering);
    }
    let settings: Vec<String> = s
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("none")))
        .collect();
    l.add("limits", settings.join(" "));
    l.0
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
            "pid": s.pid, "job": s.job, "about": s.about, "running_seconds": round(s.seconds),
            "phase": s.phase, "phase_seconds": round(s.phase_seconds),
            "rows": s.rows, "bytes": s.bytes, "bytes_expected": s.bytes_expected,
            "bytes_per_second": s.bytes_per_second.map(round), "seconds_to_go": s.seconds_to_go.map(round),
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

/// The limits, and what was measured under them: lines below a summary, without the phases that moved
/// next to nothing.
pub fn limits(flows: &[(PhaseTraffic, PhaseTraffic)]) -> String {
    let mut l = Lines(String::new());
    let limiters: [(&str, Vec<&PhaseTraffic>); 2] = [
        ("rate limit", flows.iter().map(|(g, _)| g).collect()),
        ("disk rate limit", flows.iter().map(|(_, d)| d).collect()),
    ];
    for (name, flows) in limiters {
        let most = flows.iter().map(|f| f.bytes).max().unwrap_or(0);
        for f in flows.iter().filter(|f| f.bytes * 20 > most) {
            let limit = match f.limit {
                Some(limit) => base::units::rate(limit),
                None if f.changed => "removed".to_owned(),
                None => continue,
            };
            let changed = if f.changed && f.limit.is_some() {
                " (changed during the run)"
            } else {
                ""
            };
            let mean = (f.bytes as f64 / f.seconds.max(0.001)) as u64;
            l.add(
                name,
                format!(
                    "{limit}{changed}; {}: {}/s on average",
                    f.phase,
                    bytes(mean)
                ),
            );
        }
    }
    l.0
}

/// The same for programs.
pub fn limits_json(flows: &[(PhaseTraffic, PhaseTraffic)]) -> Value {
    let one =
        |f: &PhaseTraffic| json!({"bytes": f.bytes, "limit": f.limit, "limit_changed": f.changed});
    let list = flows.iter().filter(|(g, d)| g.bytes + d.bytes > 0).map(|(g, d)| {
        json!({"phase": g.phase, "seconds": round(g.seconds), "server": one(g), "disk": one(d)})
    });
    Value::Array(list.collect())
}

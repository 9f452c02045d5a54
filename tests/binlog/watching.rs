//! How the archive stands is said while it runs: on progress lines, in --json, in the metrics.

use super::kit::{Logged, write};
use crate::kit::each_kind;
use crate::kit::waiting::until;
use rustix::process::Signal;
use testkit::Kind;

fn how_it_stands_is_said(kind: Kind) {
    let Some(mut logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    let metrics = logged.path("log.prom");
    let running = logged
        .archiving(&["--start", "oldest", "--max-age", "500ms", "--json"])
        .arg("--metrics-file")
        .arg(&metrics)
        .start();
    let has = |text: &str| {
        let there = std::fs::read_to_string(&metrics).unwrap_or_default();
        there.lines().any(|l| l.starts_with(text))
    };
    let metric = |name: &str| format!("penstock_binlog_{name}{{server=\"shop\"}} ");
    let connected = metric("connected");
    until("metrics of a log that is followed", || {
        has(&format!("{connected}1"))
    });
    running.until_it_says("\"lag_seconds\":");
    running.until_it_says("\"at_risk_seconds\":");
    running.until_it_says("\"last_event_time\":");
    logged.server.kill9().expect("a kill");
    until("metrics of a lost connection", || {
        has(&format!("{connected}0"))
    });
    assert!(!has(&metric("lag_seconds")) && has(&metric("at_risk_seconds")));
    logged.server.restart().expect("a start");
    until("metrics of a log that is followed again", || {
        has(&format!("{connected}1")) && has(&metric("lag_seconds"))
    });
    assert!(has("penstock_metrics_timestamp_seconds"));
    running.signal(Signal::INT);
    running.wait().ok();
    assert!(has(&format!("{connected}0")) && has(&metric("last_event_timestamp_seconds")));
}
each_kind!(how_it_stands_is_said; mysql, mariadb);

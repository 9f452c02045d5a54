//! The record of the impact of backups: bars, tables, and the workload second by second.

use super::costly;
use crate::record::{
    Bar, Bars, Better, Cell, Chart, Column, Section, Series, Span, SpanKind, Table, Timeline,
};
use base::units::seconds;
use bench::impact::{Measured, Method, MethodResult, Summary, Window};
use bench::tpcc::{Second, Transaction};
use std::time::Duration;

/// The sections of the record.
pub(super) fn sections(d: &Summary) -> Vec<Section> {
    vec![
        Section {
            title: "Impact of each method".to_owned(),
            text: vec![format!(
                "Each run starts from the same rows. The workload is measured alone for {}, then for {} or longer during one backup after the other, then alone again; \"alone\" is the mean of the two. The method \"alone\" takes no backups: it shows how much the machine varies by itself.",
                seconds(d.windows.0.as_secs_f64()),
                seconds(d.windows.1.as_secs_f64()),
            )],
            bars: bars(d),
            tables: vec![costs(d), backups(d)],
            ..Section::default()
        },
        Section {
            title: "The workload second by second".to_owned(),
            text: vec![
                "The first run of each method; backups were taken in the shaded time.".to_owned(),
            ],
            timelines: d.methods.iter().filter_map(timeline).collect(),
            ..Section::default()
        },
        Section {
            title: "Latencies".to_owned(),
            tables: vec![latencies(d), constraints(d)],
            ..Section::default()
        },
    ]
}

/// Unit of the throughput that a backup costs.
const LOST: &str = "tpmC·s/GB";

fn bars(d: &Summary) -> Vec<Bars> {
    let bar = |m: &MethodResult, values: &[f64]| Bar {
        strong: matches!(m.method, Method::Penstock(_) | Method::Snapshot(_)),
        ..Bar::of(&m.method.to_string(), values)
    };
    vec![
        Bars {
            title: "Throughput during a backup, as a share of that alone".to_owned(),
            unit: "%".to_owned(),
            note: "mean of the runs, with least and most".to_owned(),
            better: Better::Higher,
            to_first: false,
            median: false,
            items: d
                .methods
                .iter()
                .map(|m| {
                    let kept: Vec<f64> = m.loss().iter().map(|l| (1.0 - l) * 100.0).collect();
                    bar(m, &kept)
                })
                .collect(),
        },
        Bars {
            title: "Throughput lost per gigabyte of backup".to_owned(),
            unit: LOST.to_owned(),
            note:
                "independent of the speed of the backup: tpmC lost, times seconds, per GB of rows"
                    .to_owned(),
            better: Better::Lower,
            to_first: false,
            median: false,
            items: costly(d).map(|m| bar(m, &m.price())).collect(),
        },
    ]
}

fn percent(values: &[f64]) -> Cell {
    let values: Vec<f64> = values.iter().map(|v| v * 100.0).collect();
    Cell::spread(&values)
}

fn costs(d: &Summary) -> Table {
    let windows = |m: &MethodResult, f: &dyn Fn(&Window) -> Option<f64>| {
        [
            Cell::spread(&m.each(|r| f(&r.alone))),
            Cell::spread(&m.each(|r| f(&r.during))),
        ]
    };
    let rows = d.methods.iter().map(|m| {
        let mut row = vec![
            Cell::text(m.method.to_string()),
            Cell::spread(&m.alone()),
            Cell::spread(&m.during()),
            percent(&m.loss()),
            Cell::spread(&m.price()),
        ];
        row.extend(windows(m, &|w| w.cores));
        row.extend(windows(m, &|w| w.hits.map(|h| h * 100.0)));
        row.push(Cell::spread(&m.each(|r| r.during.disks.map(|d| d.1))));
        row.push(Cell::spread(
            &m.each(|r| r.during.history.map(|n| n as f64)),
        ));
        row
    });
    Table {
        title: "Impact".to_owned(),
        note: "Mean of the runs with the least and the most. Cores and disks: of everything on this host, backups included. Memory: page requests that the server answered without disk reads.".to_owned(),
        columns: vec![
            Column::new("method", ""),
            Column::new("alone", "tpmC"),
            Column::new("during", "tpmC"),
            Column::new("loss", "%"),
            Column::new("lost per GB", LOST),
            Column::new("cores alone", "cores"),
            Column::new("cores during", "cores"),
            Column::new("memory alone", "%"),
            Column::new("memory during", "%"),
            Column::new("written", "B/s"),
            Column::new("history list", ""),
        ],
        rows: rows.collect(),
    }
}

fn backups(d: &Summary) -> Table {
    let rows = costly(d).map(|m| {
        vec![
            Cell::text(m.method.to_string()),
            Cell::spread(&m.duration()),
            Cell::spread(&m.size()),
            Cell::spread(&m.each(|r| r.taken.count())),
            Cell::spread(&m.each(|r| Some(r.during.figures.length.as_secs_f64()))),
        ]
    });
    Table {
        title: "The backups".to_owned(),
        note:
            "A backup that was not complete when the window ended counts by its share of the time."
                .to_owned(),
        columns: vec![
            Column::new("method", ""),
            Column::new("duration", "s"),
            Column::new("size", "B"),
            Column::new("backups in the window", ""),
            Column::new("window", "s"),
        ],
        rows: rows.collect(),
    }
}

fn ms(d: Option<Duration>) -> Option<f64> {
    d.map(|d| d.as_secs_f64() * 1e3)
}

fn latencies(d: &Summary) -> Table {
    let mut rows = Vec::new();
    for m in &d.methods {
        for t in Transaction::ALL {
            let at = |share: f64, window: fn(&Measured) -> &Window| {
                Cell::spread(&m.each(|r| ms(window(r).figures.of(t).quantile(share))))
            };
            rows.push(vec![
                Cell::text(m.method.to_string()),
                Cell::text(t.name()),
                at(0.50, |r| &r.alone),
                at(0.50, |r| &r.during),
                at(0.95, |r| &r.alone),
                at(0.95, |r| &r.during),
                at(0.99, |r| &r.alone),
                at(0.99, |r| &r.during),
            ]);
        }
    }
    Table {
        title: "Response times of each transaction".to_owned(),
        note: "Alone and during the backups; mean of the runs with the least and the most."
            .to_owned(),
        columns: vec![
            Column::new("method", ""),
            Column::new("transaction", ""),
            Column::new("p50 alone", "ms"),
            Column::new("p50 during", "ms"),
            Column::new("p95 alone", "ms"),
            Column::new("p95 during", "ms"),
            Column::new("p99 alone", "ms"),
            Column::new("p99 during", "ms"),
        ],
        rows,
    }
}

/// The check of the article: whether the workload still met the limits of its users.
fn constraints(d: &Summary) -> Table {
    let verdict = |m: &MethodResult, response_time: bool| {
        let missed: Vec<&str> = m
            .runs
            .iter()
            .flat_map(|r| r.during.figures.constraints())
            .filter(|c| c.response_time == response_time && !c.is_kept())
            .map(|c| c.transaction.name())
            .collect();
        if missed.is_empty() {
            Cell::text("[OK]")
        } else {
            let mut names = missed;
            names.sort_unstable();
            names.dedup();
            Cell::text(format!("[NG] {}", names.join(", ")))
        }
    };
    Table {
        title: "Constraints of the specification during the backups".to_owned(),
        note: "90 % of each transaction within its time limit, and its share of the mix."
            .to_owned(),
        columns: vec![
            Column::new("method", ""),
            Column::new("response times", ""),
            Column::new("mix", ""),
        ],
        rows: d
            .methods
            .iter()
            .map(|m| {
                vec![
                    Cell::text(m.method.to_string()),
                    verdict(m, true),
                    verdict(m, false),
                ]
            })
            .collect(),
    }
}

fn timeline(m: &MethodResult) -> Option<Timeline> {
    let run = m.runs.first()?;
    let line = |f: &dyn Fn(&Second) -> Option<f64>| {
        run.seconds.iter().map(|s| (s.at as f64, f(s))).collect()
    };
    let spans = run.span.map(|(from, to)| Span {
        name: "backups".to_owned(),
        kind: SpanKind::Backup,
        from,
        to,
    });
    Some(Timeline {
        title: m.method.to_string(),
        charts: vec![
            Chart {
                title: "Throughput".to_owned(),
                unit: "tpmC".to_owned(),
                series: vec![Series::line(
                    "tpmC",
                    line(&|s| Some(s.new_orders as f64 * 60.0)),
                )],
                ..Chart::default()
            },
            Chart {
                title: "95th percentile of New-Order".to_owned(),
                unit: "ms".to_owned(),
                series: vec![Series::line("p95", line(&|s| ms(s.p95_new_order)))],
                ..Chart::default()
            },
        ],
        spans: spans.into_iter().collect(),
        ..Timeline::default()
    })
}

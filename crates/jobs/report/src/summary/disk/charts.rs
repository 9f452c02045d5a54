//! The record of the benchmark of disks: bars with spread for each volume, histograms of latencies, the rate over time.

use super::{patterns, unit};
use crate::html::show;
use crate::record::{Bar, Bars, Better, Cell, Chart, Column, Section, Series, Table, Timeline};
use bench::disk::{Bucket, Pattern, Volume};

/// The sections of the record.
pub(super) fn sections(d: &bench::disk::Summary, doubts: &[String]) -> Vec<Section> {
    let mut sections = vec![
        Section {
            title: "What each pattern reaches".to_owned(),
            text: vec![
                "The last sync counts: what is only in a cache is not written.".to_owned(),
            ],
            bars: patterns(d).into_iter().map(|p| bars(d, p)).collect(),
            ..Section::default()
        },
        Section {
            title: "Latencies".to_owned(),
            text: vec!["Of all runs together; each row is up to twice as long as the one above it.".to_owned()],
            bars: histograms(d),
            tables: d.volumes.iter().map(latencies).collect(),
            ..Section::default()
        },
        Section {
            title: "The rate over time".to_owned(),
            text: vec![
                "One run after the other; what was measured between two is left out. A volume with burst credits falls, and stays low.".to_owned(),
            ],
            timelines: d.volumes.iter().map(timeline).collect(),
            ..Section::default()
        },
    ];
    if !doubts.is_empty() {
        sections.push(Section {
            title: "Doubts".to_owned(),
            text: doubts.to_vec(),
            ..Section::default()
        });
    }
    sections
}

fn bars(d: &bench::disk::Summary, p: Pattern) -> Bars {
    let bar = |v: &Volume| Bar {
        mean: v.spread(p).map(|s| s.median),
        ..Bar::of(&v.name, &v.rates(p))
    };
    Bars {
        title: p.to_string(),
        unit: p.unit().to_owned(),
        better: Better::Higher,
        to_first: d.volumes.len() > 1,
        median: true,
        items: d.volumes.iter().map(bar).collect(),
        ..Bars::default()
    }
}

/// Of the patterns whose tails users feel.
fn histograms(d: &bench::disk::Summary) -> Vec<Bars> {
    let shown = [
        Pattern::Commit(1),
        Pattern::Commit(16),
        Pattern::RandomRead(1),
    ];
    let mut all = Vec::new();
    for p in shown {
        for v in &d.volumes {
            let buckets = v.buckets(p);
            if buckets.is_empty() {
                continue;
            }
            let bar = |b: &Bucket| Bar {
                label: format!("{} to {}", show(b.from * 1e3, "ms"), show(b.to * 1e3, "ms")),
                mean: Some(b.share * 100.0),
                ..Bar::default()
            };
            all.push(Bars {
                title: format!("{p}: how long a {} takes, {}", p.operation(), v.name),
                unit: "%".to_owned(),
                items: buckets.iter().map(bar).collect(),
                ..Bars::default()
            });
        }
    }
    all
}

fn latencies(v: &Volume) -> Table {
    let row = |p: Pattern| {
        let l = v.latency(p);
        let cell = |f: fn(&bench::disk::Latency) -> f64| {
            l.as_ref().map_or(Cell::None, |l| Cell::Number(f(l) * 1e3))
        };
        vec![
            Cell::text(p.to_string()),
            Cell::text(p.operation()),
            cell(|l| l.mean),
            cell(|l| l.p50),
            cell(|l| l.p95),
            cell(|l| l.p99),
            cell(|l| l.max),
        ]
    };
    let mut columns = vec![Column::new("pattern", ""), Column::new("of a", "")];
    columns.extend(["mean", "p50", "p95", "p99", "longest"].map(|n| Column::new(n, "ms")));
    Table {
        title: v.name.clone(),
        columns,
        rows: v.patterns().map(row).collect(),
        ..Table::default()
    }
}

fn timeline(v: &Volume) -> Timeline {
    let shown = [
        Pattern::Append,
        Pattern::Read,
        Pattern::RandomRead(16),
        Pattern::RandomWrite(16),
        Pattern::Commit(16),
        Pattern::Mixed,
    ];
    let chart = |p: &Pattern| {
        let points = v.curve(*p);
        let (unit, _) = unit(*p);
        (!points.is_empty()).then(|| Chart {
            title: p.to_string(),
            unit: match unit {
                "MB/s" => "B/s".to_owned(),
                unit => unit.to_owned(),
            },
            series: vec![Series::line(&v.name, points)],
            ..Chart::default()
        })
    };
    Timeline {
        title: v.name.clone(),
        charts: shown.iter().filter_map(chart).collect(),
        ..Timeline::default()
    }
}

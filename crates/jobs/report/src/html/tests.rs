//! Pages of records that mean harm, that hold nothing, and that hold too much.

use super::page;
use crate::record::{
    Bar, Bars, Better, Cell, Chart, Column, Figure, Kind, Limit, Mark, Record, Section, Series,
    Span, SpanKind, State, Table, Timeline,
};
use serde_json::Value;

/// One of everything.
fn full(points: u32, parts: usize) -> Record {
    let line = |steps| Series {
        name: "line".into(),
        points: (0..points)
            .map(|i| (f64::from(i), Some(f64::from(i % 97))))
            .collect(),
        steps,
    };
    let chart = Chart {
        title: "Throughput".into(),
        unit: "B/s".into(),
        note: "note".into(),
        series: vec![line(false), line(true), line(false)],
        limits: vec![Limit {
            label: "budget".into(),
            value: 50.0,
        }],
    };
    let span = |kind| Span {
        name: "span".into(),
        kind,
        from: 1.0,
        to: 3.0,
    };
    let timeline = Timeline {
        title: "method".into(),
        seconds: 0.0,
        charts: vec![chart; 2],
        spans: (0..parts)
            .flat_map(|_| [SpanKind::Phase, SpanKind::Waiting, SpanKind::Backup].map(span))
            .collect(),
        marks: vec![
            Mark {
                at: 2.0,
                text: "mark".into()
            };
            parts
        ],
    };
    let bars = Bars {
        title: "bars".into(),
        unit: "tpmC".into(),
        note: "note".into(),
        to_first: true,
        items: vec![
            Bar::of("alone", &[2200.0, 2216.0]),
            Bar::of("during", &[1420.0]),
            Bar::of("never", &[]),
        ],
        ..Bars::default()
    };
    let table = Table {
        title: "table".into(),
        note: "note".into(),
        columns: vec![
            Column::new("a", ""),
            Column::new("b", "ms"),
            Column::new("c", "%"),
        ],
        rows: vec![
            vec![
                Cell::text("x\ny"),
                Cell::Number(1.5),
                Cell::Spread(2.0, 1.0, 3.0)
            ];
            parts
        ],
    };
    let section = |n| Section {
        title: "section".into(),
        text: vec!["text".into()],
        bars: vec![bars.clone()],
        timelines: vec![timeline.clone(); n],
        tables: vec![table.clone()],
    };
    let mut r = Record::new(Kind::Impact, "title");
    r.story = vec!["story".into()];
    r.outcome.state = State::Exceptions;
    r.outcome.message = "message".into();
    r.outcome.hint = "hint\nin two lines".into();
    r.outcome.exceptions = vec!["exception".into(); parts];
    r.figures = vec![Figure::new("figure", 5.0, "s", Better::Lower).note("note")];
    r.sections = vec![section(1), section(3)];
    r.facts = vec![("fact".into(), "value".into())];
    r.settings = vec![("setting".into(), "value".into())];
    r
}

/// The record with this in place of every text.
fn spoiled(record: &Record, text: &str) -> Record {
    fn walk(v: &mut Value, key: &str, text: &str) {
        match v {
            Value::String(s) if !["format", "kind", "state", "better"].contains(&key) => {
                text.clone_into(s);
            }
            Value::Array(list) => list.iter_mut().for_each(|v| walk(v, "", text)),
            Value::Object(map) => map.iter_mut().for_each(|(k, v)| walk(v, k, text)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(record).unwrap();
    walk(&mut value, "", text);
    serde_json::from_value(value).unwrap()
}

#[test]
fn no_text_becomes_markup() {
    let clean = full(50, 3);
    let spoil = "'\"></title></style></script><img src=x onerror=alert(1)>\u{202e}\u{0}&lt;";
    let dirty = spoiled(&clean, spoil);
    for records in [vec![dirty.clone()], vec![dirty.clone(), dirty]] {
        let html = page(&records);
        assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;\\u{202e}\\u{0}&amp;lt;"));
        assert!(!html.contains("<img") && !html.contains("<script"));
        assert!(!html.chars().any(|c| c == '\u{202e}' || c == '\u{0}'));
        // As many tags as with harmless texts: none was added, none ended early.
        let harmless = "x".repeat(spoil.chars().count());
        let plain = page(
            &records
                .iter()
                .map(|r| spoiled(r, &harmless))
                .collect::<Vec<_>>(),
        );
        let tags = |h: &str| (h.matches('<').count(), h.matches("</style>").count());
        assert_eq!(tags(&html), tags(&plain));
    }
}

#[test]
fn every_part_is_on_the_page() {
    let html = page(&[full(50, 3)]);
    for text in [
        "title",
        "story",
        "message",
        "in two lines",
        "figure",
        "exception",
        "budget 50 bytes/s",
        "method",
        "−36 %",
        "not measured",
        "1.5 ms",
        "1 to 3",
    ] {
        assert!(html.contains(text), "{text}");
    }
    // One policy, one style, and nothing from elsewhere.
    assert!(
        html.contains(
            "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
        )
    );
    for word in [
        "http:", "https:", "src=", "href=", "url(", "@import", " style=",
    ] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn a_page_is_of_bounded_size() {
    let html = page(&[full(200_000, 5000)]);
    assert!(html.len() < 3 << 20, "{}", html.len());
}

#[test]
fn little_is_a_page_too() {
    let empty = page(&[Record::default()]);
    assert!(empty.contains("✕ failed") && !empty.contains("NaN"));
    let short = page(&[full(2, 1)]);
    assert!(short.contains("Too short for curves"));
    page(&[full(1, 0), Record::default()]);
}

#[test]
fn absurd_numbers_draw_nothing_absurd() {
    let mut r = full(20, 2);
    for s in r.sections.iter_mut().flat_map(|s| &mut s.timelines) {
        s.seconds = f64::MAX;
        s.spans[0].to = -1e300;
        s.marks[0].at = 1e300;
        for c in &mut s.charts {
            c.limits[0].value = f64::MAX;
            c.series[0]
                .points
                .extend([(1e300, Some(1.0)), (2.5, Some(-1e300)), (3.5, Some(1e17))]);
        }
    }
    r.sections[0].bars[0].items[0].mean = Some(1e300);
    r.seconds = -1.0;
    r.figures[0].value = 1e300;
    let html = page(&[r]);
    for word in ["NaN", "inf", "e300"] {
        assert!(!html.contains(word), "{word}");
    }
}

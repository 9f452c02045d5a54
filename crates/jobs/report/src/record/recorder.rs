//! Records the events of a job and passes them on.
//!
//! A recorder is an observer between a job and the screen: jobs do not know of it. It samples from a
//! thread that ends with it. Invariants: it never delays a job by more than a few microseconds, never
//! fails one, and keeps a bounded amount of a run of any length.

use super::samples::{FIRST, Moved, Sample, Samples, digits, millis};
use super::{Cell, Chart, Column, Mark, Section, Series, Span, SpanKind, Table, Timeline};
use base::events::Measure;
use base::{Counters, Event, Observer};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Marks and spans that are kept; more would say nothing new.
const MOST_MARKS: usize = 500;

/// Measured values of one name that are kept before every other is dropped.
const MOST_MEASURED: usize = 4096;

/// Lines of measured values.
const MOST_LINES: usize = 64;

/// Tables that the record names, the largest first.
const MOST_TABLES: usize = 25;

/// Records a run.
pub struct Recorder {
    inner: Arc<dyn Observer>,
    start: Instant,
    seen: Mutex<Seen>,
}

/// The phase that runs.
struct Phase {
    name: &'static str,
    counters: Arc<Counters>,
    from: f64,
}

impl Phase {
    fn moved(&self) -> Moved {
        Moved {
            bytes: self.counters.bytes.get(),
            stored: self.counters.stored.get(),
            rows: self.counters.rows.get(),
            busy: self.counters.busy.get(),
        }
    }
}

/// A completed phase.
struct Step {
    name: &'static str,
    from: f64,
    to: f64,
    moved: Moved,
}

/// A completed table.
struct Done {
    name: String,
    rows: u64,
    bytes: u64,
}

struct Seen {
    phase: Option<Phase>,
    steps: Vec<Step>,
    samples: Samples,
    spans: Vec<Span>,
    marks: Vec<Mark>,
    dropped: usize,
    /// What is waited for, and since when.
    waiting: Option<(f64, String)>,
    measured: Vec<Line>,
    tables: Vec<Done>,
    all_tables: usize,
}

/// Values of one name.
struct Line {
    measure: Measure,
    points: Vec<(f64, f64)>,
    /// One of this many values is kept.
    each: usize,
    received: usize,
}

impl Recorder {
    /// Starts to record; all events go on to `inner`.
    pub fn start(inner: Arc<dyn Observer>) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder {
            inner,
            start: Instant::now(),
            seen: Mutex::new(Seen {
                phase: None,
                steps: Vec::new(),
                samples: Samples::new(Sample::of_host(0.0)),
                spans: Vec::new(),
                marks: Vec::new(),
                dropped: 0,
                waiting: None,
                measured: Vec::new(),
                tables: Vec::new(),
                all_tables: 0,
            }),
        });
        let weak = Arc::downgrade(&recorder);
        let look = move || {
            loop {
                std::thread::sleep(Duration::from_secs_f64(FIRST));
                let Some(recorder) = weak.upgrade() else {
                    return;
                };
                recorder.sample(false);
            }
        };
        // Without the thread the record has no curves, but everything else.
        let _ = std::thread::Builder::new()
            .name("recorder".into())
            .spawn(look);
        recorder
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        base::lock(&self.seen)
    }

    fn sample(&self, last: bool) {
        let at = self.seconds();
        let due = last || self.seen().samples.due(at);
        if due {
            // Files in /proc are read without a lock held.
            let sample = Sample::of_host(at);
            self.seen().sample(sample);
        }
    }

    /// The section of a completed run: charts, steps and the largest tables.
    pub fn section(&self) -> Section {
        self.sample(true);
        let at = self.seconds();
        let mut seen = self.seen();
        seen.end_phase(at);
        let spans = seen
            .steps
            .iter()
            .map(|s| span(s.name, SpanKind::Phase, s.from, s.to));
        let mut timeline = Timeline {
            title: String::new(),
            seconds: millis(at),
            charts: seen.samples.charts(seen.main()),
            spans: spans.chain(seen.spans.iter().cloned()).collect(),
            marks: seen.marks.clone(),
        };
        if seen.dropped > 0 {
            timeline.marks.push(Mark {
                at: millis(at),
                text: format!("and {} more, which are not recorded", seen.dropped),
            });
        }
        for line in seen.measured.iter().filter(|l| l.matters()) {
            line.draw(&mut timeline.charts);
        }
        let tables = [seen.step_table(at), seen.tables()];
        Section {
            timelines: vec![timeline],
            tables: tables.into_iter().flatten().collect(),
            ..Section::default()
        }
    }
}

impl Observer for Recorder {
    fn event(&self, event: Event) {
        let at = self.seconds();
        match &event {
            Event::Phase { name, counters, .. } => {
                // Curves begin and end where phases do.
                let sample = Sample::of_host(at);
                let mut seen = self.seen();
                seen.end_phase(at);
                seen.phase = Some(Phase {
                    name,
                    counters: counters.clone(),
                    from: at,
                });
                seen.sample(sample);
            }
            Event::PhaseEnd { .. } => {
                let sample = Sample::of_host(at);
                let mut seen = self.seen();
                seen.sample(sample);
                seen.end_phase(at);
            }
            Event::Warning(text) | Event::Decision(text) => self.seen().mark(at, text.clone()),
            Event::Waiting(what) => self.seen().wait(at, what.as_deref()),
            Event::Measured(list) => self.seen().measured(at, list),
            Event::Table {
                schema,
                table,
                rows,
                bytes,
            } => self.seen().table(schema, table, *rows, *bytes),
            _ => {}
        }
        self.inner.event(event);
    }
}

fn span(name: &str, kind: SpanKind, from: f64, to: f64) -> Span {
    Span {
        name: name.to_owned(),
        kind,
        from: millis(from),
        to: millis(to),
    }
}

impl Seen {
    fn sample(&mut self, mut sample: Sample) {
        sample.phase = self.phase.as_ref().map(|p| (self.steps.len(), p.moved()));
        self.samples.push(sample);
    }

    fn end_phase(&mut self, at: f64) {
        self.end_wait(at);
        let Some(p) = self.phase.take() else { return };
        if self.steps.len() < MOST_MARKS {
            self.steps.push(Step {
                name: p.name,
                from: p.from,
                to: at,
                moved: p.moved(),
            });
        } else {
            self.dropped += 1;
        }
    }

    /// The longest of the phases that moved something.
    fn main(&self) -> Option<usize> {
        let moved = self.steps.iter().enumerate();
        let moved = moved.filter(|(_, s)| s.moved.bytes > 0);
        let longest = moved.max_by(|a, b| (a.1.to - a.1.from).total_cmp(&(b.1.to - b.1.from)));
        longest.map(|(i, _)| i)
    }

    fn step_table(&self, all: f64) -> Option<Table> {
        let row = |s: &Step| {
            let took = s.to - s.from;
            let some = |n: f64| if n > 0.0 { Cell::Number(n) } else { Cell::None };
            let bytes = s.moved.bytes as f64;
            vec![
                Cell::text(s.name),
                Cell::Number(millis(took)),
                Cell::Number((took / all.max(1e-6) * 100.0).round()),
                some(s.moved.rows as f64),
                some(bytes),
                some(digits(bytes / took.max(0.001))),
            ]
        };
        let mut columns = vec![
            Column::new("step", ""),
            Column::new("took", "s"),
            Column::new("share", "%"),
        ];
        // A run that ended earlier has no figures on rows.
        if self.main().is_some() {
            columns.extend([
                Column::new("rows", ""),
                Column::new("data", "B"),
                Column::new("rate", "B/s"),
            ]);
        }
        let rows = self.steps.iter().map(|s| {
            let mut cells = row(s);
            cells.truncate(columns.len());
            cells
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then_some(Table {
            title: "Steps".to_owned(),
            columns,
            rows,
            ..Table::default()
        })
    }

    fn keep(&mut self, span: Span) {
        if self.spans.len() < MOST_MARKS {
            self.spans.push(span);
        } else {
            self.dropped += 1;
        }
    }

    fn mark(&mut self, at: f64, text: String) {
        if self.marks.len() < MOST_MARKS {
            self.marks.push(Mark {
                at: millis(at),
                text,
            });
        } else {
            self.dropped += 1;
        }
    }

    /// Figures in the text change during one wait; the last are kept.
    fn wait(&mut self, at: f64, what: Option<&str>) {
        match (what, &mut self.waiting) {
            (Some(what), Some((_, text))) => what.clone_into(text),
            (Some(what), None) => self.waiting = Some((at, what.to_owned())),
            (None, _) => self.end_wait(at),
        }
    }

    fn end_wait(&mut self, at: f64) {
        if let Some((from, what)) = self.waiting.take() {
            self.keep(span(
                &format!("waiting for {what}"),
                SpanKind::Waiting,
                from,
                at,
            ));
        }
    }

    fn measured(&mut self, at: f64, list: &[Measure]) {
        for m in list.iter().filter(|m| m.value.is_finite()) {
            let same = |l: &&mut Line| l.measure.chart == m.chart && l.measure.name == m.name;
            if let Some(line) = self.measured.iter_mut().find(same) {
                line.push(at, m.value);
            } else if self.measured.len() < MOST_LINES {
                self.measured.push(Line {
                    measure: m.clone(),
                    points: vec![(at, m.value)],
                    each: 1,
                    received: 1,
                });
            }
        }
    }

    fn table(&mut self, schema: &str, table: &str, rows: u64, bytes: u64) {
        self.all_tables += 1;
        self.tables.push(Done {
            name: server::quote::qualified(schema, table),
            rows,
            bytes,
        });
        if self.tables.len() >= 4 * MOST_TABLES {
            self.largest();
        }
    }

    fn largest(&mut self) {
        self.tables.sort_by_key(|t| std::cmp::Reverse(t.bytes));
        self.tables.truncate(MOST_TABLES);
    }

    fn tables(&mut self) -> Option<Table> {
        self.largest();
        let row = |t: &Done| {
            let number = |n: u64| Cell::Number(n as f64);
            vec![Cell::text(&t.name), number(t.rows), number(t.bytes)]
        };
        let left = self.all_tables.saturating_sub(self.tables.len());
        (!self.tables.is_empty()).then(|| Table {
            title: "Largest tables".to_owned(),
            note: match left {
                0 => String::new(),
                1 => "One more is smaller.".to_owned(),
                n => format!("{n} more are smaller."),
            },
            columns: vec![
                Column::new("table", ""),
                Column::new("rows", ""),
                Column::new("row data", "B"),
            ],
            rows: self.tables.iter().map(row).collect(),
        })
    }
}

impl Line {
    fn push(&mut self, at: f64, value: f64) {
        self.received += 1;
        if !self.received.is_multiple_of(self.each) {
            return;
        }
        self.points.push((at, value));
        if self.points.len() >= MOST_MEASURED {
            self.each *= 2;
            let mut odd = false;
            self.points.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// A share that stayed near zero gets no chart.
    fn matters(&self) -> bool {
        self.measure.unit != "%" || self.points.iter().any(|p| p.1 >= 1.0)
    }

    /// Adds the line to the chart of its name.
    fn draw(&self, charts: &mut Vec<Chart>) {
        let m = &self.measure;
        let points = self
            .points
            .iter()
            .map(|(t, v)| (millis(*t), Some(digits(*v))));
        let series = Series {
            name: m.name.to_owned(),
            points: points.collect(),
            steps: m.steps,
        };
        match charts
            .iter_mut()
            .find(|c| c.title == m.chart && c.unit == m.unit)
        {
            Some(chart) => chart.series.push(series),
            None => charts.push(Chart {
                title: m.chart.to_owned(),
                unit: m.unit.to_owned(),
                series: vec![series],
                ..Chart::default()
            }),
        }
    }
}

//! What a recorder makes of a job's words, and what becomes of its record.

use super::{Kind as Job, Record, Recorder, SpanKind, State, keep, read};
use crate::summary::Summary;
use base::events::Measure;
use base::{Cancel, Error, Event, Kind, Observer};
use run::Run;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Counts what comes through.
#[derive(Default)]
struct Seen(AtomicUsize);

impl Observer for Seen {
    fn event(&self, _: Event) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn measured(name: &'static str, unit: &'static str, value: f64) -> Event {
    Event::Measured(vec![Measure {
        chart: "Limits",
        name,
        unit,
        value,
        steps: true,
    }])
}

#[test]
fn a_recorder_remembers_and_passes_on() {
    let seen = Arc::new(Seen::default());
    let recorder = Recorder::start(seen.clone());
    let run = Run::new(recorder.clone(), Cancel::new());
    let phase = run.phase("moving", 2);
    phase.counters.bytes.add(1000);
    phase.counters.rows.add(10);
    // One wait, whose figure changes, and a second one that the phase ends.
    for text in [Some("lag 3 s"), Some("lag 2 s"), None, Some("a lock")] {
        run.observer.event(Event::Waiting(text.map(str::to_owned)));
    }
    run.observer
        .event(Event::Decision("1 worker instead of 2".into()));
    run.observer.warn("careful".into());
    for event in [
        measured("ceiling", "B/s", 4e7),
        measured("ceiling", "B/s", f64::NAN),
        measured("redo", "%", 0.1),
    ] {
        run.observer.event(event);
    }
    for i in 0..200u64 {
        run.observer.event(Event::Table {
            schema: "s".into(),
            table: format!("t{i}"),
            rows: i,
            bytes: i,
        });
    }
    drop(phase);
    assert_eq!(seen.0.load(Ordering::SeqCst), 1 + 4 + 1 + 1 + 3 + 200 + 1);

    let section = recorder.section();
    let t = &section.timelines[0];
    let of = |kind| {
        let spans = t.spans.iter().filter(move |s| s.kind == kind);
        spans.map(|s| s.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(SpanKind::Phase), ["moving"]);
    assert_eq!(
        of(SpanKind::Waiting),
        ["waiting for lag 2 s", "waiting for a lock"]
    );
    let marks: Vec<_> = t.marks.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(marks, ["1 worker instead of 2", "careful"]);
    let limits: Vec<_> = t.charts.iter().filter(|c| c.title == "Limits").collect();
    assert_eq!(limits.len(), 1, "a share of zero gets no chart");
    assert_eq!(limits[0].series[0].points.len(), 1);
    let largest = &section.tables[1];
    assert_eq!(largest.rows[0][0], super::Cell::text("`s`.`t199`"));
    assert!(largest.rows.len() == 25 && largest.note.contains("175"));
}

#[test]
fn a_record_is_kept_whatever_becomes_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let said = Arc::new(Mutex::new(Vec::new()));
    struct Ear(Arc<Mutex<Vec<String>>>);
    impl Observer for Ear {
        fn event(&self, event: Event) {
            if let Event::Warning(text) = event {
                self.0.lock().unwrap().push(text);
            }
        }
    }
    let run = Run::new(Arc::new(Ear(said.clone())), Cancel::new());
    let begins = || Record::new(Job::Dump, "x");
    let file = dir.path().join("a.json");
    let fail = |kind| {
        let job = |_: &Run| Err::<(), _>(Error::new(kind, "broken").hint("mend it"));
        keep(&run, Some(&file), begins, job, |()| Summary::default()).unwrap_err()
    };
    assert_eq!(fail(Kind::Lock).kind, Kind::Lock);
    let o = read(&file).unwrap().outcome;
    assert_eq!(
        (o.state, o.code, o.message.as_str()),
        (State::Failed, 11, "broken")
    );
    fail(Kind::Interrupted);
    assert_eq!(read(&file).unwrap().outcome.state, State::Interrupted);
    let completed = |n: &i32| Summary {
        exceptions: vec![n.to_string()],
        ..Summary::default()
    };
    let kept = keep(&run, Some(&file), begins, |_| Ok(7), completed).unwrap();
    assert!(kept.done == 7 && kept.lost.is_none());
    let o = read(&file).unwrap().outcome;
    assert_eq!((o.state, o.code), (State::Exceptions, 3));
    // The directory is removed while the job runs: the job keeps its own outcome.
    let gone = dir.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let file = gone.join("b.json");
    let job = |_: &Run| {
        std::fs::remove_dir_all(&gone).unwrap();
        Ok(7)
    };
    let kept = keep(&run, Some(&file), begins, job, completed).unwrap();
    assert_eq!(kept.lost.unwrap().kind, Kind::Storage);
    assert!(said.lock().unwrap().is_empty());
    assert_eq!(
        keep(&run, None, begins, |_| Ok(7), completed).unwrap().done,
        7
    );
}

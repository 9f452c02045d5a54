//! The model, the fit, the history and what they make together.

use crate::fit::{Seen, factors};
use crate::history::Ran;
use crate::judge::Ended;
use crate::model::parts;
use crate::stage::Stage;
use crate::text;
use crate::work::{Amount, Job, Work};
use crate::{Basis, Disk, History, Limits, Spread};
use proptest::prelude::*;
use run::PhaseTraffic;
use std::path::Path;

fn dump(megabytes: u64) -> Work {
    Work {
        job: Job::Dump,
        flavour: "mysql".into(),
        server: "here".into(),
        place: "directory".into(),
        how: "zstd:1".into(),
        workers: 2,
        cores: 2,
        tables: 9,
        rows: Amount {
            tables: 9,
            rows: megabytes * 7000,
            values: megabytes * 70_000,
            bytes: megabytes << 20,
        },
        ..Work::default()
    }
}

fn load(megabytes: u64, built: u64) -> Work {
    let amount = |megabytes: u64| Amount {
        tables: u64::from(megabytes > 0),
        rows: megabytes * 7000,
        values: megabytes * 70_000,
        bytes: megabytes << 20,
    };
    Work {
        job: Job::Load,
        rows: amount(megabytes),
        tablespaces: amount(built),
        stored: (megabytes + built) << 19,
        compares: true,
        ..dump(0)
    }
}

fn model(work: &Work) -> f64 {
    parts(work).iter().flat_map(|p| &p.terms).sum()
}

fn traffic(phase: &'static str, seconds: f64, limit: Option<u64>) -> PhaseTraffic {
    PhaseTraffic {
        phase,
        seconds,
        bytes: 0,
        limit,
        changed: false,
    }
}

/// A dump that took so many seconds, all but a tenth of a second for its rows.
fn ended(work: &Work, seconds: f64) -> Ended {
    let rows = traffic("dumping rows", seconds - 0.1, None);
    Ended {
        work: work.clone(),
        seconds,
        phases: vec![(rows.clone(), rows)],
        written: work.rows.bytes / 4,
        ..Ended::default()
    }
}

/// A history on a processor as fast as the built-in rates.
fn fresh() -> History {
    History::open(None).with_speed(1.0)
}

/// A dump whose rows took a multiple of the built-in rates.
fn slower(work: &Work, factor: f64) -> Ended {
    let rows = parts(work).into_iter().find(|p| p.stage == Stage::DumpRows);
    let rows: f64 = rows.expect("rows").terms.iter().sum();
    ended(work, 0.1 + factor * rows)
}

fn no_limits() -> Limits {
    Limits::default()
}

fn file(state: &Path) -> std::path::PathBuf {
    state.join("forecast/history.jsonl")
}

proptest! {
    #[test]
    fn more_work_never_takes_less(a in 0u64..5000, more in 0u64..5000, workers in 1u64..16, cores in 1u64..16) {
        let with = |mut w: Work| { w.workers = workers; w.cores = cores; w };
        prop_assert!(model(&with(dump(a))) <= model(&with(dump(a + more))));
        prop_assert!(model(&with(load(a, a))) <= model(&with(load(a + more, a))));
        prop_assert!(model(&with(load(a, a))) <= model(&with(load(a, a + more))));
        let tables = |n| Work { tables: n, ..with(load(a, 0)) };
        prop_assert!(model(&tables(a)) <= model(&tables(a + more)));
    }

    #[test]
    fn more_workers_and_cores_never_take_longer(size in 0u64..5000, workers in 1u64..64, cores in 1u64..64) {
        for work in [dump(size), load(size, size)] {
            let with = |workers, cores| Work { workers, cores, ..work.clone() };
            prop_assert!(model(&with(workers + 1, cores)) <= model(&with(workers, cores)));
            prop_assert!(model(&with(workers, cores + 1)) <= model(&with(workers, cores)));
        }
    }

    #[test]
    fn a_range_contains_its_forecast(size in 1u64..100_000, took in proptest::collection::vec(0.2f64..1000.0, 0..6)) {
        let mut history = fresh();
        for (n, seconds) in took.iter().enumerate() {
            history.learn(&ended(&dump(1 + 40 * n as u64), *seconds));
        }
        let f = history.forecast(&dump(size), &no_limits());
        prop_assert!(f.seconds.is_finite() && f.seconds > 0.0);
        prop_assert!(f.low < f.seconds && f.seconds < f.high);
        let sum: f64 = f.stages.iter().map(|s| s.1).sum();
        prop_assert!((sum - f.seconds).abs() < 1e-6 * f.seconds);
    }

    #[test]
    fn factors_are_positive(took in proptest::collection::vec((0.0f64..100.0, 0.0f64..100.0, 0.001f64..1e6), 0..8)) {
        let seen: Vec<Seen> = took
            .iter()
            .map(|(a, b, took)| Seen { terms: vec![*a, *b, a + b], took: *took, weight: 1.0 })
            .collect();
        for factor in factors(3, &seen) {
            prop_assert!(factor.is_finite() && factor > 0.0);
        }
    }
}

#[test]
fn rows_of_many_columns_take_longer() {
    for narrow in [dump(100), load(100, 0), load(0, 100)] {
        let mut wide = narrow.clone();
        wide.rows.values *= 30;
        wide.tablespaces.values *= 30;
        assert!(model(&wide) > 1.5 * model(&narrow), "{wide:?}");
    }
}

#[test]
fn a_run_that_was_kept_without_values_counts_as_one_of_usual_tables() {
    let kept = r#"{"tables": 9, "rows": 700000, "bytes": 104857600}"#;
    let mut work = dump(100);
    let known = model(&work);
    work.rows = serde_json::from_str(kept).expect("an amount");
    assert_eq!(model(&work), known);
}

#[test]
fn a_table_that_only_one_worker_can_read_takes_its_time() {
    let cut = Work {
        workers: 8,
        cores: 8,
        ..dump(800)
    };
    let whole = Work {
        alone: 700 << 20,
        ..cut.clone()
    };
    assert!(model(&whole) > 3.0 * model(&cut));
}

#[test]
fn a_run_teaches_what_made_up_its_time() {
    // Ten seconds by built-in rates, thirty in truth.
    let long = Seen {
        terms: vec![0.05, 10.0],
        took: 30.0,
        weight: 1.0,
    };
    let found = factors(2, &[long]);
    assert!((found[1] - 3.0).abs() < 0.2, "{found:?}");
    assert!(found[0] < found[1], "{found:?}");
    // A short run is made of fixed costs.
    let short = Seen {
        terms: vec![1.0, 0.01],
        took: 3.0,
        weight: 1.0,
    };
    let found = factors(2, &[short]);
    assert!(found[0] > 2.5 && (found[1] - 1.0).abs() < 0.2, "{found:?}");
    assert_eq!(factors(2, &[]), [1.0, 1.0]);
}

#[test]
fn an_earlier_run_of_another_size_makes_the_forecast() {
    let mut history = fresh();
    let before = history.forecast(&dump(400), &no_limits());
    assert_eq!(before.basis, Basis::Defaults);
    assert!(text::basis(&before).contains("built-in rates: no run like it"));
    history.learn(&slower(&dump(1000), 5.0));
    let after = history.forecast(&dump(400), &no_limits());
    assert_eq!(after.basis, Basis::Runs(1));
    let off = after.seconds / slower(&dump(400), 5.0).seconds - 1.0;
    assert!(off.abs() < 0.25, "{off} {after:?}");
    assert!(after.high / after.low < before.high / before.low);
    // Another flavour, another host, another way: none of them is taught by that.
    for other in [
        Work {
            flavour: "mariadb".into(),
            ..dump(400)
        },
        Work {
            server: "1234abcd".into(),
            ..dump(400)
        },
        Work {
            how: "zstd:9".into(),
            ..dump(400)
        },
    ] {
        let f = history.forecast(&other, &no_limits());
        assert_eq!(f.basis, Basis::Defaults, "{other:?}");
    }
}

#[test]
fn a_range_becomes_what_forecasts_were_off_by() {
    let mut history = fresh();
    for (n, noise) in [1.0, 1.02, 0.97, 1.01, 0.99, 1.0].into_iter().enumerate() {
        let work = dump(200 + 10 * n as u64);
        history.learn(&slower(&work, 2.0 * noise));
    }
    let f = history.forecast(&dump(230), &no_limits());
    assert_eq!(f.spread, Spread::Measured(5));
    assert!(f.high / f.seconds < 1.3, "{f:?}");
    // Much larger than any of them, it is less certain.
    let far = history.forecast(&dump(23_000), &no_limits());
    assert!(far.high / far.seconds > f.high / f.seconds, "{far:?}");
}

#[test]
fn what_is_slower_than_the_rows_decides() {
    let mut history = fresh();
    let free = history.forecast(&dump(1000), &no_limits());
    let by = |limits: Limits| fresh().forecast(&dump(1000), &limits);
    let limited = by(Limits {
        rate: Some(1 << 20),
        ..no_limits()
    });
    assert!(limited.seconds > 1000.0 && limited.limited_by == "--max-rate");
    let slow = |write: f64| {
        by(Limits {
            write: Some(write),
            ..no_limits()
        })
    };
    assert_eq!(slow(1e6).limited_by, "the archive's disk");
    assert!(slow(1e6).seconds > slow(1e7).seconds);
    let (slow, free) = (slow(1e12).seconds, free.seconds);
    assert!((slow / free - 1.0).abs() < 1e-9, "{slow} {free}");
}

#[test]
fn tiny_runs_say_little_of_a_large_one() {
    let mut history = fresh();
    let large = dump(5000);
    let truth = model(&large);
    for _ in 0..10 {
        // Five megabytes in 15 ms: less than the fixed cost that is built in.
        history.learn(&ended(&dump(5), 0.115));
    }
    let f = history.forecast(&large, &no_limits());
    assert!(f.low < truth && truth < f.high, "{truth} {f:?}");
    assert!((f.seconds / truth - 1.0).abs() < 0.5, "{truth} {f:?}");
}

#[test]
fn an_archive_is_read_once_for_its_rows() {
    // A disk that gives a megabyte a second: the check reads the archive, and the tablespaces do once more.
    let slow = Limits {
        read: Some((1 << 20) as f64),
        ..no_limits()
    };
    let work = load(0, 400);
    let f = fresh().forecast(&work, &slow);
    let read = work.stored as f64 / (1 << 20) as f64;
    assert!(f.seconds > 2.0 * read && f.seconds < 2.2 * read, "{f:?}");
    assert!(f.stages.iter().all(|(s, _)| *s != Stage::LoadRows), "{f:?}");
}

#[test]
fn runs_that_were_held_back_do_not_teach() {
    let mut history = fresh();
    let work = dump(100);
    let limited = |limit| {
        let rows = traffic("dumping rows", 5.0, limit);
        Ended {
            phases: vec![(rows, traffic("dumping rows", 5.0, None))],
            ..ended(&work, 5.5)
        }
    };
    for (run, why) in [
        (limited(Some(1 << 20)), "rate limit"),
        (
            Ended {
                limited: 3.0,
                ..limited(None)
            },
            "paused",
        ),
        (
            Ended {
                unusual: Some("it continued another"),
                ..limited(None)
            },
            "continued",
        ),
    ] {
        let judged = history.judge(&run, &no_limits());
        let said = judged.not_learned.as_deref().unwrap_or_default();
        assert!(said.contains(why), "{said}");
        assert!(text::judged(&judged).contains("not learned from"));
    }
    assert!(history.runs().is_empty());
}

#[test]
fn a_run_is_judged_by_what_was_known_before_it() {
    let state = tempfile::tempdir().expect("a directory");
    let mut history = History::open(Some(state.path()));
    let work = dump(100);
    let foreseen = history.forecast(&work, &no_limits());
    let judged = history.judge(&ended(&work, 2.0 * foreseen.seconds), &no_limits());
    assert_eq!(judged.forecast, foreseen);
    assert!((judged.error - 1.0).abs() < 1e-6);
    assert_eq!(judged.not_learned, None);
    assert!(text::judged(&judged).contains("100 % longer"));
    // Another process learns from it, too, and from nothing else.
    let again = History::open(Some(state.path()));
    assert_eq!(again.runs().len(), 1);
    let kept = again.runs()[0].forecast.expect("a forecast");
    assert_eq!(kept.runs, 0);
    let stages = &again.runs()[0].stages;
    assert!(stages[&Stage::DumpRows] > 0.0 && stages[&Stage::Rest] > 0.09);
}

#[test]
fn lines_that_cannot_be_read_are_passed_over() {
    let state = tempfile::tempdir().expect("a directory");
    let mut history = History::open(Some(state.path()));
    history.learn(&ended(&dump(100), 3.0));
    history.learn(&ended(&dump(200), 5.0));
    let path = file(state.path());
    let good = std::fs::read_to_string(&path).expect("lines");
    let runs: Vec<&str> = good.lines().filter(|l| l.contains("\"run\"")).collect();
    let odd = [
        "".to_owned(),
        "not a line".to_owned(),
        "{\"at\":1}".to_owned(),
        "[1,2]".to_owned(),
        "\u{0}\u{1}\u{fffd}".to_owned(),
        runs[0][..runs[0].len() / 2].to_owned(),
        runs[0].replace("\"seconds\":", "\"seconds\":-"),
        runs[0].replace("dump_rows", "another_stage"),
        runs[0]
            .replace("debug", "other")
            .replace("release", "other"),
    ];
    // The last one was cut by a kill.
    let text = format!("{}\n{good}{}", odd.join("\n"), &runs[1][..40]);
    std::fs::write(&path, text).expect("written");
    let mut read = History::open(Some(state.path()));
    assert_eq!(read.runs().len(), 2);
    // What follows the cut one is whole.
    read.learn(&ended(&dump(300), 7.0));
    assert_eq!(History::open(Some(state.path())).runs().len(), 3);
}

#[test]
fn the_file_is_bounded_and_keeps_the_newest() {
    let state = tempfile::tempdir().expect("a directory");
    let mut history = History::open(Some(state.path()));
    for n in 0..900 {
        history.learn(&ended(&dump(100 + n), 3.0));
    }
    let size = std::fs::metadata(file(state.path())).expect("a file").len();
    assert!(size <= 256 << 10, "{size}");
    let runs = History::open(Some(state.path()));
    let newest = runs.runs().last().expect("runs");
    assert_eq!(newest.work, dump(999));
    // A file that something else filled is begun again.
    std::fs::write(file(state.path()), vec![b'x'; 3 << 20]).expect("written");
    history.learn(&ended(&dump(7), 3.0));
    assert_eq!(History::open(Some(state.path())).runs().len(), 1);
}

#[test]
fn runs_that_end_at_the_same_time_keep_their_lines() {
    let state = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let state = state.path();
            scope.spawn(move || {
                let mut history = History::open(Some(state));
                for k in 0..5 {
                    let done = history.judge(&ended(&dump(n * 10 + k + 1), 3.0), &no_limits());
                    assert_eq!(done.not_learned, None);
                }
            });
        }
    });
    assert_eq!(History::open(Some(state.path())).runs().len(), 40);
}

#[test]
fn a_directory_that_cannot_be_written_fails_nothing() {
    let mut history = History::open(Some(Path::new("/dev/null/x")));
    let judged = history.judge(&ended(&dump(100), 3.0), &no_limits());
    let why = judged.not_learned.expect("a reason");
    assert!(why.contains("/dev/null/x"), "{why}");
    let mut none = fresh();
    let judged = none.judge(&ended(&dump(100), 3.0), &no_limits());
    assert!(judged.not_learned.is_some());
}

#[test]
fn a_run_that_cannot_have_been_teaches_nothing() {
    let can = |change: fn(&mut Ran)| {
        let state = tempfile::tempdir().expect("a directory");
        let mut ran = Ran {
            work: dump(100),
            seconds: 3.0,
            ..Ran::default()
        };
        change(&mut ran);
        let mut history = History::open(Some(state.path()));
        history.keep(ran).expect("kept");
        History::open(Some(state.path())).runs().len() == 1
    };
    assert!(can(|_| ()));
    assert!(!can(|r| r.seconds = 1e300));
    assert!(!can(|r| r.seconds = -1.0));
    assert!(!can(|r| r.work.rows.bytes = u64::MAX));
    assert!(!can(|r| r.written = u64::MAX));
    assert!(!can(|r| {
        r.stages.insert(Stage::Rest, -5.0);
    }));
}

#[test]
fn a_disk_is_known_by_its_device() {
    let state = tempfile::tempdir().expect("a directory");
    let mut history = History::open(Some(state.path()));
    let on = run::file_system::FileSystem::at(state.path()).expect("a file system");
    for write in [1e8, 2e8] {
        history.keep_disk(Disk::of(&on, write, 3e8)).expect("kept");
    }
    // Another volume, which the kernel gave the same number after a restart; and what no disk can do.
    let mut other = on.clone();
    other.source = "/dev/another".to_owned();
    history.keep_disk(Disk::of(&other, 5e8, 5e8)).expect("kept");
    history.keep_disk(Disk::of(&on, 1e300, 3e8)).expect("kept");
    let read = History::open(Some(state.path()));
    let of = read
        .disk(&state.path().join("not/yet/there"))
        .expect("a disk");
    assert_eq!(of.write, 2e8);
    assert_eq!(read.disk(Path::new("/proc/self")), None);
}

#[test]
fn words() {
    assert_eq!(text::about(4.21, 2.0, 9.97), "about 4.2 s (2.0–10)");
    assert_eq!(text::about(720.0, 540.0, 960.0), "about 12 min (9.0–16)");
    assert_eq!(
        text::about(9000.0, 7200.0, 12_000.0),
        "about 2.5 h (2.0–3.3)"
    );
}

#[test]
fn the_processor_has_a_speed() {
    let speed = crate::cpu::speed();
    assert!((0.02..=50.0).contains(&speed), "{speed}");
    // On a processor half as fast, a forecast without runs is twice as long.
    let on = |speed: f64| {
        let mut history = History::open(None).with_speed(speed);
        history.forecast(&dump(100), &no_limits()).seconds
    };
    assert!((on(0.5) / on(1.0) - 2.0).abs() < 1e-9);
}

//! Figures in, verdict out; and counters that make no sense.

use super::*;
use std::collections::BTreeMap;

const LOAD: Job = Job::Load { skip_binlog: false };

/// Ten seconds of two workers on two cores, all of it spent waiting for a server here.
fn base(job: Job) -> Figures {
    Figures {
        job: Some(job),
        wall: 10.0,
        workers: 2,
        cores: 2,
        busy: 20.0,
        waited: 20.0,
        own_cpu: 0.5,
        server_cpu: Some(2.0),
        host_busy: Some(2.6),
        iowait: Some(0.0),
        pressure: Some(0.0),
        same_host: true,
        traffic: Some(Traffic::default()),
        ..Figures::default()
    }
}

fn set(f: &mut Figures, list: &[(&str, &str)]) {
    for (k, v) in list {
        f.settings.insert((*k).to_owned(), (*v).to_owned());
    }
}

fn share(r: &Report, cause: WaitClass) -> f64 {
    r.shares
        .iter()
        .find(|s| s.class == cause)
        .map_or(0.0, |s| s.share)
}

/// The verdict, after what must hold of every verdict.
#[track_caller]
fn verdict(f: &Figures) -> Report {
    let r = evaluate(f);
    let sum: f64 = r.shares.iter().map(|s| s.share).sum();
    assert!(sum <= 1.0 + 1e-9, "{r:?}");
    assert!(
        r.shares
            .iter()
            .all(|s| s.share.is_finite() && s.share > 0.0),
        "{r:?}"
    );
    assert!(r.suggestions.len() <= 2, "{r:?}");
    for a in &r.suggestions {
        assert!((0.05..=1.0).contains(&a.gain), "{r:?}");
        assert!(!a.why.contains("NaN") && !a.why.contains("inf"), "{r:?}");
    }
    assert!(
        !r.sentence.is_empty() && !r.sentence.contains("NaN"),
        "{r:?}"
    );
    r
}

type Change = fn(&mut Figures);

#[test]
fn each_class_is_named_with_its_suggestion() {
    let full_redo: Change = |f| {
        f.redo = Some(Redo {
            age: 7 << 20,
            max_age: 8 << 20,
            full_share: 0.9,
        });
        f.traffic = Some(Traffic {
            redo_bytes: 1 << 30,
            ..Traffic::default()
        });
        set(f, &[("innodb_redo_log_capacity", "8388608")]);
    };
    let maria_redo: Change = |f| {
        f.redo = Some(Redo {
            age: 70,
            max_age: 80,
            full_share: 1.0,
        });
        set(f, &[("innodb_log_file_size", "100")]);
    };
    let commits: Change = |f| {
        f.commit = 12.0;
        set(
            f,
            &[
                ("log_bin", "ON"),
                ("sync_binlog", "1"),
                ("innodb_flush_log_at_trx_commit", "1"),
            ],
        );
    };
    let only_redo_synced: Change = |f| {
        f.commit = 12.0;
        set(
            f,
            &[("log_bin", "OFF"), ("innodb_flush_log_at_trx_commit", "1")],
        );
    };
    let disk: Change = |f| {
        f.iowait = Some(8.0);
        f.traffic = Some(Traffic {
            pages_written: 1000,
            doublewrites: 1000,
            wait_free: 7,
            ..Traffic::default()
        });
        set(f, &[("innodb_buffer_pool_size", "134217728")]);
    };
    let locks: Change = |f| {
        f.traffic = Some(Traffic {
            row_locks: 15.0,
            ..Traffic::default()
        });
    };
    let metadata: Change = |f| f.metadata_wait = Some(14.0);
    let auto_inc: Change = |f| {
        f.auto_inc_wait = Some(12.0);
        set(f, &[("innodb_autoinc_lock_mode", "1")]);
    };
    let interleaved: Change = |f| {
        f.auto_inc_wait = Some(11.0);
        set(f, &[("innodb_autoinc_lock_mode", "2")]);
    };
    let both_busy: Change = |f| {
        f.server_cpu = Some(12.0);
        f.own_cpu = 7.0;
        f.host_busy = Some(19.5);
        f.waited = 10.0;
    };
    let others: Change = |f| {
        f.host_busy = Some(19.5);
    };
    let one_worker: Change = |f| {
        f.workers = 1;
        (f.busy, f.waited, f.server_cpu) = (10.0, 8.0, Some(8.0));
        (f.own_cpu, f.host_busy) = (2.0, Some(10.0));
    };
    let level: Change = |f| {
        f.waited = 2.0;
        f.own_cpu = 18.0;
        f.host_busy = Some(19.9);
    };
    let tail: Change = |f| {
        f.set_worker_ends(
            [(10.0, "`s`.`big`".to_owned()), (2.0, "`s`.`b`".to_owned())].into_iter(),
        );
        f.busy = 12.0;
        f.waited = 12.0;
    };
    let archive: Change = |f| {
        f.waited = 2.0;
        f.own_cpu = 1.0;
    };
    let dump = |level| Job::Dump { level: Some(level) };
    let cases: Vec<(Job, Change, WaitClass, &str, &[&str])> = vec![
        (
            LOAD,
            full_redo,
            WaitClass::Redo,
            "full redo log",
            &["innodb_redo_log_capacity = 2G"],
        ),
        (
            LOAD,
            maria_redo,
            WaitClass::Redo,
            "full redo log",
            &["innodb_log_file_size = 64M"],
        ),
        (
            LOAD,
            commits,
            WaitClass::Commit,
            "commits",
            &["--skip-binlog", "sync_binlog = 0"],
        ),
        (
            LOAD,
            only_redo_synced,
            WaitClass::Commit,
            "commits",
            &["innodb_flush_log_at_trx_commit = 0, for"],
        ),
        (
            LOAD,
            disk,
            WaitClass::ServerDisk,
            "server's disk",
            &["innodb_buffer_pool_size = 256M", "innodb_doublewrite"],
        ),
        (LOAD, locks, WaitClass::RowLocks, "row locks", &[]),
        (
            LOAD,
            metadata,
            WaitClass::MetadataLocks,
            "metadata locks",
            &[],
        ),
        (
            LOAD,
            auto_inc,
            WaitClass::AutoInc,
            "AUTO_INCREMENT locks: 60 %",
            &["innodb_autoinc_lock_mode = 2"],
        ),
        (LOAD, interleaved, WaitClass::AutoInc, "AUTO_INCREMENT", &[]),
        (
            LOAD,
            both_busy,
            WaitClass::ServerCpu,
            "server CPU: the 2 cores",
            &[],
        ),
        (
            LOAD,
            others,
            WaitClass::Others,
            "other programs",
            &["a quieter time"],
        ),
        (
            dump(1),
            one_worker,
            WaitClass::ServerCpu,
            "server CPU",
            &["--threads 2"],
        ),
        (
            dump(9),
            level,
            WaitClass::Client,
            "client CPU: the 2 cores",
            &["zstd:1"],
        ),
        (
            dump(1),
            level,
            WaitClass::Client,
            "client CPU: the 2 cores",
            &[],
        ),
        (
            dump(1),
            tail,
            WaitClass::Stragglers,
            "`s`.`big`",
            &["--chunk-size"],
        ),
        (LOAD, archive, WaitClass::ArchiveDisk, "archive's disk", &[]),
        (
            LOAD,
            |_| {},
            WaitClass::ServerWait,
            "inside the server",
            &[],
        ),
    ];
    for (i, (job, change, cause, words, advice)) in cases.into_iter().enumerate() {
        let mut f = base(job);
        change(&mut f);
        let r = verdict(&f);
        assert_eq!(r.dominant, cause, "case {i}: {r:?}");
        assert!(r.sentence.contains(words), "case {i}: {r:?}");
        assert_eq!(r.suggestions.len(), advice.len(), "case {i}: {r:?}");
        for a in advice {
            assert!(
                r.suggestions.iter().any(|x| x.what.contains(a)),
                "case {i}: {a}: {r:?}"
            );
        }
    }
}

#[test]
fn a_gain_is_bounded_by_its_share_and_by_the_cores() {
    let mut f = base(LOAD);
    f.same_host = false;
    f.commit = 10.0;
    set(&mut f, &[("innodb_flush_log_at_trx_commit", "1")]);
    let gain = |f: &Figures| verdict(f).suggestions.first().map_or(0.0, |a| a.gain);
    assert!((gain(&f) - 0.5).abs() < 1e-9);
    f.server_cpu = Some(15.5);
    assert!((gain(&f) - 0.2).abs() < 1e-9);
    f.server_cpu = Some(19.5);
    assert!(gain(&f).abs() < 1e-9);
    // What others had may be free the next time.
    f.server_cpu = Some(1.0);
    f.host_busy = Some(20.0);
    assert!((gain(&f) - 0.5).abs() < 1e-9);
}

#[test]
fn a_wait_for_a_core_differs_from_other_waits() {
    let mut f = base(LOAD);
    f.host_busy = Some(19.9);
    f.connection_threads = Some((2.0, 3.0));
    f.redo = Some(Redo {
        age: 9,
        max_age: 10,
        full_share: 0.8,
    });
    let r = verdict(&f);
    let parts = [WaitClass::ServerCpu, WaitClass::CoreWait, WaitClass::Redo].map(|c| share(&r, c));
    for (part, wanted) in parts.iter().zip([0.1, 0.15, 0.6]) {
        assert!((part - wanted).abs() < 1e-9, "{r:?}");
    }
    // All cores were in use, but not by us, and not what we waited for.
    assert_eq!(r.dominant, WaitClass::Redo);
    // What the server does to make room is not needed any more once there is room.
    f.server_cpu = Some(14.0);
    f.traffic = Some(Traffic::default());
    let gain = verdict(&f).suggestions[0].gain;
    assert!((gain - 0.75).abs() < 1e-9, "{gain}");
    f.server_cpu = Some(2.0);
    f.connection_threads = Some((2.0, 15.0));
    assert_eq!(verdict(&f).dominant, WaitClass::Others);
}

#[test]
fn without_counters_there_are_client_figures() {
    let f = Figures {
        job: Some(LOAD),
        wall: 10.0,
        workers: 2,
        cores: 2,
        busy: 20.0,
        waited: 15.0,
        own_cpu: 4.0,
        not_measured: vec!["x".into()],
        ..Figures::default()
    };
    let r = verdict(&f);
    assert!((share(&r, WaitClass::Remote) - 0.75).abs() < 1e-9, "{r:?}");
    assert!(r.sentence.contains("network") && r.server_cpu.is_none());
    assert_eq!(r.not_measured, ["x"]);
}

#[test]
fn invalid_figures_do_no_harm() {
    for (wall, n) in [(0.0, 0.0), (1.0, 1e12), (1e-9, 5.0), (10.0, -3.0)] {
        for job in [LOAD, Job::Dump { level: None }] {
            let mut f = base(job);
            (f.wall, f.busy, f.waited, f.commit) = (wall, n, n * 2.0, n);
            (f.own_cpu, f.server_cpu, f.host_busy) = (n, Some(n), Some(0.0));
            (f.iowait, f.straggler_wait, f.workers, f.cores) = (Some(n), n, 0, 0);
            f.redo = Some(Redo {
                age: u64::MAX,
                max_age: u64::MAX,
                full_share: 1.0,
            });
            f.traffic = Some(Traffic {
                fsyncs: u64::MAX,
                redo_bytes: u64::MAX,
                pages_written: u64::MAX / 2,
                doublewrites: u64::MAX / 2,
                wait_free: u64::MAX,
                row_locks: n,
                ..Traffic::default()
            });
            set(
                &mut f,
                &[
                    ("innodb_buffer_pool_size", "-1"),
                    ("log_bin", "maybe"),
                    ("sync_binlog", "x"),
                ],
            );
            verdict(&f);
        }
    }
    verdict(&Figures::default());
}

fn sample(list: &[(&str, u64)], cpu: Option<f64>) -> Sample {
    Sample {
        status: list.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
        files: BTreeMap::from([("wait/io/file/sql/binlog".to_owned(), cpu.unwrap_or(0.0))]),
        cpu,
        waiting: BTreeMap::new(),
    }
}

fn seen(samples: Vec<Sample>) -> Figures {
    let mut f = base(LOAD);
    (f.traffic, f.redo, f.server_cpu) = (None, None, None);
    f.server(&ServerSamples {
        settings: BTreeMap::new(),
        same_host: true,
        connection_threads: None,
        samples,
    });
    f
}

#[test]
fn counters_of_a_restarted_server_are_not_used() {
    let a = sample(&[("uptime", 100), ("innodb_data_fsyncs", 9)], Some(5.0));
    let b = sample(&[("uptime", 3), ("innodb_data_fsyncs", 99)], Some(1.0));
    let f = seen(vec![a.clone(), b]);
    assert!(f.traffic.is_none() && f.server_cpu.is_none());
    assert!(
        f.not_measured[0].contains("was restarted"),
        "{:?}",
        f.not_measured
    );
    verdict(&f);
    // One counter that goes backwards (FLUSH STATUS) costs only itself.
    let c = sample(&[("uptime", 101), ("innodb_data_fsyncs", 2)], Some(6.0));
    let f = seen(vec![a, c]);
    assert_eq!(f.traffic.map(|t| t.fsyncs), Some(0));
    assert_eq!(f.server_cpu, Some(1.0));
    for samples in [vec![], vec![Sample::default()], vec![Sample::default(); 2]] {
        let f = seen(samples);
        assert!(f.traffic.is_none() && !f.not_measured.is_empty());
        verdict(&f);
    }
}

#[test]
fn the_redo_log_is_evaluated_by_samples_during_the_rows() {
    let at = |age, t| {
        sample(
            &[
                ("uptime", t),
                ("innodb_checkpoint_age", age),
                ("innodb_checkpoint_max_age", 100),
            ],
            None,
        )
    };
    // What was there before the first row is not ours.
    let f = seen(vec![at(99, 1), at(10, 2), at(80, 3)]);
    let r = f.redo.expect("ages");
    assert_eq!((r.age, r.max_age), (80, 100));
    assert!((r.full_share - 0.5).abs() < 1e-9);
}

#[test]
fn workers_without_a_task_wait_for_the_last_one() {
    let mut f = base(LOAD);
    f.workers = 3;
    f.set_worker_ends([(4.0, "a".to_owned()), (10.0, "b".to_owned())].into_iter());
    assert!((f.straggler_wait - 16.0).abs() < 1e-9);
    assert_eq!(f.last_worker, Some((6.0, "b".to_owned())));
    let mut f = base(LOAD);
    f.set_worker_ends(std::iter::empty());
    assert_eq!((f.straggler_wait, f.last_worker), (0.0, None));
}

#[test]
fn waiting_sessions_count_as_time() {
    let at = |t, waiting: &[(&str, u64)]| Sample {
        waiting: waiting.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
        ..sample(&[("uptime", t)], None)
    };
    // Two sessions in one of four looks; what was there before the first row is not ours.
    let mut samples = vec![at(1, &[("metadata", 9), ("auto_inc", 9)])];
    samples.extend([2, 0, 0, 0].map(|n| at(2, &[("metadata", n)])));
    let f = seen(samples);
    assert_eq!((f.metadata_wait, f.auto_inc_wait), (Some(5.0), None));
    let r = verdict(&f);
    assert!(
        (share(&r, WaitClass::MetadataLocks) - 0.25).abs() < 1e-9,
        "{r:?}"
    );
    // More found waiting than there were workers' waits: never more than those.
    let f = seen(vec![at(1, &[]), at(2, &[("metadata", u64::MAX >> 11)])]);
    assert!(share(&verdict(&f), WaitClass::MetadataLocks) <= 1.0);
}

#[test]
fn a_limited_run_says_so() {
    let mut f = base(Job::Dump { level: None });
    (f.waited, f.limited) = (2.0, 17.5);
    let r = verdict(&f);
    assert_eq!(r.dominant, WaitClass::Limit);
    assert!((share(&r, WaitClass::Limit) - 0.875).abs() < 1e-9, "{r:?}");
    assert!(
        r.sentence.starts_with("the configured limits: 88 %"),
        "{}",
        r.sentence
    );
    // The disk's limit takes no more than what looks like the disk's.
    let mut f = base(Job::Dump { level: None });
    (f.waited, f.limited_disk) = (2.0, 60.0);
    let r = verdict(&f);
    assert_eq!(r.dominant, WaitClass::Limit);
    assert_eq!(share(&r, WaitClass::ArchiveDisk), 0.0);
}

/// The wait for the network to an archive is measured: it is no disk's, and counts with busy cores too.
#[test]
fn the_link_to_an_archive_is_named() {
    let mut f = base(Job::Dump { level: Some(1) });
    f.waited = 4.0;
    f.link = Some(14.0);
    f.limited_disk = 1.0;
    for host_busy in [2.6, 19.0] {
        f.host_busy = Some(host_busy);
        let r = verdict(&f);
        assert_eq!(share(&r, WaitClass::ArchiveDisk), 0.0);
        assert!(
            (share(&r, WaitClass::ArchiveLink) - 0.7).abs() < 1e-9,
            "{r:?}"
        );
        assert!((share(&r, WaitClass::Limit) - 0.05).abs() < 1e-9, "{r:?}");
        assert_eq!(r.dominant, WaitClass::ArchiveLink);
        assert!(
            r.sentence.contains("the link to the archive's place"),
            "{r:?}"
        );
    }
    // A fast one is none.
    f.link = Some(0.1);
    f.waited = 19.0;
    assert_ne!(verdict(&f).dominant, WaitClass::ArchiveLink);
}

//! The control socket of a run that does nothing: what it answers, to whom, and which input it
//! survives.

use super::*;
use crate::Run;
use base::events::Silent;
use base::{Cancel, Counters};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

fn run() -> Run {
    let run = Run::new(Arc::new(Silent), Cancel::new());
    run.status.job("dump", "into /backup/monday".to_owned());
    run
}

fn scene() -> (tempfile::TempDir, Run, Control) {
    let directory = tempfile::tempdir().unwrap();
    let run = run();
    let control = open(&directory.path().join("a/run"), &run).unwrap();
    (directory, run, control)
}

fn only(directory: &tempfile::TempDir) -> Running {
    let mut all = running(&directory.path().join("a/run")).unwrap().answering;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn set(pairs: &[(&str, &str)]) -> Request {
    let pair = |(n, v): &(&str, &str)| ((*n).to_owned(), (*v).to_owned());
    Request::Set {
        set: pairs.iter().map(pair).collect(),
    }
}

#[test]
fn a_job_reports_its_status_and_obeys_requests() {
    let (directory, run, control) = scene();
    let counters = Arc::new(Counters::default());
    run.status.begin_phase("dumping rows", &counters, 3);
    counters.bytes.add(1000);
    counters.rows.add(10);
    let there = only(&directory);
    let s = &there.status;
    assert_eq!(
        (s.job.as_str(), s.about.as_str()),
        ("dump", "into /backup/monday")
    );
    assert_eq!(
        (s.phase.as_str(), s.rows, s.bytes, s.workers),
        ("dumping rows", 10, 1000, 3)
    );
    assert_eq!(
        (s.pid, s.paused, s.stopping),
        (std::process::id(), false, false)
    );
    assert!(s.settings.contains(&("max-rate".to_owned(), None)), "{s:?}");

    let s = there
        .ask(&set(&[("max-rate", "20M"), ("max-rate-disk", "1.5G")]))
        .unwrap();
    assert!(
        s.settings
            .contains(&("max-rate".to_owned(), Some("20 MiB/s".to_owned())))
    );
    assert_eq!(
        (run.limiter.rate(), run.disk_limiter.rate()),
        (Some(20 << 20), Some(3 << 29))
    );
    there.ask(&set(&[("max-rate", "none")])).unwrap();
    assert_eq!(
        (run.limiter.rate(), run.disk_limiter.rate()),
        (None, Some(3 << 29))
    );

    let s = there.ask(&Request::Pause).unwrap();
    assert!(s.paused && s.waiting.unwrap().contains("paused by the operator"));
    assert!(run.limiter.paused());
    assert!(!there.ask(&Request::Resume).unwrap().paused);
    assert!(!run.limiter.paused());

    assert!(there.ask(&Request::Stop).unwrap().stopping);
    assert!(run.cancel.is_raised());
    drop(control);
    assert!(!there.is_there());
    assert!(
        running(&directory.path().join("a/run"))
            .unwrap()
            .answering
            .is_empty()
    );
    assert_eq!(
        std::fs::read_dir(directory.path().join("a/run"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_set_changes_all_values_or_none() {
    let (directory, run, _control) = scene();
    let there = only(&directory);
    for (pairs, why) in [
        (
            vec![("max-rate", "20M"), ("max-rate-disk", "much")],
            "max-rate-disk: \"much\" is not a rate",
        ),
        (
            vec![("max-rate", "20M"), ("speed", "1M")],
            "\"speed\" cannot be set; the names are: max-rate",
        ),
        (vec![("max-rate", "0")], "too low"),
        (vec![], "nothing to set"),
    ] {
        let e = there.ask(&set(&pairs)).unwrap_err();
        assert!(e.what.contains(why), "{e}");
    }
    assert_eq!((run.limiter.rate(), run.disk_limiter.rate()), (None, None));
}

#[test]
fn only_the_same_user_has_access() {
    let (directory, run, _control) = scene();
    let run_directory = directory.path().join("a/run");
    let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&run_directory), 0o700);
    for entry in std::fs::read_dir(&run_directory).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    // A directory that others can enter is not used, and neither is a link to a private one.
    let open_to_all = directory.path().join("open");
    std::fs::create_dir(&open_to_all).unwrap();
    std::fs::set_permissions(&open_to_all, std::fs::Permissions::from_mode(0o755)).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&run_directory, &link).unwrap();
    for bad in [&open_to_all, &link] {
        let e = open(bad, &run).unwrap_err();
        assert!(e.to_string().contains("this user alone"), "{e}");
        assert!(running(bad).unwrap_err().what.contains("this user alone"));
    }
    assert!(
        running(&directory.path().join("none"))
            .unwrap()
            .answering
            .is_empty()
    );
}

#[test]
fn dead_sockets_are_removed_and_other_files_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/run");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    drop(UnixListener::bind(path.join("1.sock")).unwrap());
    // A live socket of the same process id, as from another container, stays.
    let other = UnixListener::bind(path.join(format!("{}.sock", std::process::id()))).unwrap();
    std::fs::write(path.join("2.sock"), "text").unwrap();
    let run = run();
    let _control = open(&path, &run).unwrap();
    assert!(!path.join("1.sock").exists());
    assert!(path.join("2.sock").exists());
    assert!(path.join(format!("{}-1.sock", std::process::id())).exists());
    // It answers nonsense, so it is not listed as a job.
    let nonsense = std::thread::spawn(move || {
        while let Ok((mut socket, _)) = other.accept() {
            let mut byte = [0];
            if socket.read(&mut byte).unwrap_or(0) > 0 {
                let _ = socket.write_all(b"{\"status\": 5}\n");
                return;
            }
        }
    });
    assert_eq!(running(&path).unwrap().answering.len(), 1);
    nonsense.join().unwrap();
}

#[test]
fn garbage_does_not_stop_the_listener() {
    let (directory, run, _control) = scene();
    let path = directory
        .path()
        .join(format!("a/run/{}.sock", std::process::id()));
    let talk = |bytes: &[u8], close: bool| {
        let mut socket = UnixStream::connect(&path).unwrap();
        let _ = socket.write_all(bytes);
        if close {
            return String::new();
        }
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        answer
    };
    let deep = [b"[".repeat(60_000), b"\n".to_vec()].concat();
    for garbage in [
        &b""[..],
        b"\n",
        b"\0\0\0\0\n",
        b"\xff\xfe\n",
        b"{\"do\":\"reboot\"}\n",
        b"{\"do\":\"set\"}\n",
        b"{\"do\":\"status\"}", // no end of line
        b"GET / HTTP/1.1\r\n\r\n",
        &deep,
        &vec![b'x'; 1 << 20],
    ] {
        let answer = talk(garbage, false);
        assert!(
            answer.is_empty() || answer.starts_with("{\"error\":"),
            "{answer}"
        );
        talk(garbage, true);
    }
    // The listener still answers.
    assert!(!only(&directory).ask(&Request::Status).unwrap().paused);
    assert!(!run.cancel.is_raised() && run.limiter.is_open());
}

#[test]
fn a_directory_with_a_long_name_works() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x".repeat(120)).join("run");
    let run = run();
    let _control = open(&path, &run).unwrap();
    let there = running(&path).unwrap().answering;
    assert_eq!(there.len(), 1);
    assert!(there[0].is_there());
}

#[test]
fn rates_are_parsed_strictly() {
    assert_eq!(rate("40M"), Ok(40 << 20));
    assert_eq!(rate("40M/s"), Ok(40 << 20));
    assert_eq!(rate("1.5G"), Ok(3 << 29));
    assert_eq!(rate("1k"), Ok(1024));
    assert_eq!(rate("123456"), Ok(123_456));
    for bad in [
        "", "M", "fast", "-5M", "1e9", "nan", "inf", "4 M", "5X", "1.2.3M", "/s", "40M/h",
    ] {
        assert!(rate(bad).unwrap_err().contains("is not a rate"), "{bad}");
    }
    for low in ["0", "1", "0.5k", "1023"] {
        assert!(rate(low).unwrap_err().contains("too low"), "{low}");
    }
    assert!(rate("99999999999G").unwrap_err().contains("more than"));
}

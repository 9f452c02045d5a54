//! `penstock bench disk` and files: whatever happens, nothing is left and nothing of others is touched; file systems of all
//! kinds work, or it is said why not.

use crate::bench_disk::{WORK, commits, directory, disk, nothing_left, pattern, small};
use crate::kit::Tool;
use crate::kit::mounted::Mounted;
use crate::kit::waiting::until;
use rustix::process::Signal;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = directory();
    let own = dir.path().join("own");
    std::fs::create_dir(&own).expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").expect("a file");
    commits(&dir.path().join("none"))
        .run()
        .code(8)
        .says(&["cannot open"]);
    for no_directory in [file.as_path(), Path::new("/dev/null")] {
        commits(no_directory)
            .run()
            .code(2)
            .says(&["is not a directory", "never touched"]);
    }
    Tool::new(["bench", "disk"]).run().code(2);
    disk(&own)
        .args(["--size", "1M"])
        .run()
        .code(2)
        .says(&["at least 4M"]);
    disk(&own)
        .args(["--measure", "0"])
        .run()
        .code(2)
        .says(&["--measure is 0"]);
    disk(&own)
        .args(["--socket", "/s"])
        .run()
        .code(2)
        .says(&["--socket", "--of"]);
    // Both figures, and nothing was written.
    let huge = disk(&own).args([
        "--size",
        "900000G",
        "--pattern",
        "commit",
        "--pattern",
        "sequential",
    ]);
    huge.run().code(8).says(&[
        "are needed",
        "are usable",
        "stays free",
        "nothing was written",
    ]);
    nothing_left(&own);

    // What is not of this benchmark stays as it is.
    let work = own.join(WORK);
    std::fs::create_dir(&work).expect("a directory");
    std::fs::write(work.join("data"), "mine").expect("a file");
    commits(&own)
        .run()
        .code(10)
        .says(&["not of this benchmark"]);
    assert_eq!(
        std::fs::read_to_string(work.join("data")).expect("a file"),
        "mine"
    );
    std::fs::remove_dir_all(&work).expect("removed");
    std::os::unix::fs::symlink(dir.path(), &work).expect("a link");
    commits(&own)
        .run()
        .code(10)
        .says(&["no directory of this benchmark"]);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
    std::fs::remove_file(&work).expect("removed");
    std::fs::write(&work, "mine").expect("a file");
    commits(&own).run().code(10);
    assert_eq!(std::fs::read_to_string(&work).expect("a file"), "mine");
}

/// A run that measures for an hour, once it has written its files.
fn long(directory: &Path) -> crate::kit::binary::Running {
    let running = disk(directory)
        .args([
            "--size",
            "8M",
            "--pattern",
            "random-write",
            "--measure",
            "1h",
        ])
        .start();
    let data = directory.join(WORK).join("data");
    until("the file is full", || {
        std::fs::metadata(&data).is_ok_and(|m| m.len() == 8 << 20)
    });
    running
}

#[test]
fn signals_leave_nothing() {
    let dir = directory();
    for signal in [Signal::INT, Signal::TERM] {
        let running = long(dir.path());
        running.signal(signal);
        running.wait().code(9);
        nothing_left(dir.path());
    }
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let dir = directory();
    let running = long(dir.path());
    // While it lives, it is alone.
    commits(dir.path())
        .run()
        .code(11)
        .says(&["another penstock bench disk"]);
    running.signal(Signal::KILL);
    running.wait().code(128 + 9);
    assert!(dir.path().join(WORK).join("data").exists());
    commits(dir.path())
        .run()
        .ok()
        .says(&["that a killed run left"]);
    nothing_left(dir.path());
}

#[test]
fn figures_are_not_lost_with_what_cannot_be_removed() {
    let dir = directory();
    let running = disk(dir.path())
        .args(["--size", "8M", "--pattern", "random-write", "--runs", "1"])
        .args(["--ramp", "0", "--measure", "1s", "--json"])
        .start();
    let foreign = dir.path().join(WORK).join("mine");
    until("the file is there", || {
        std::fs::write(&foreign, "mine").is_ok()
    });
    let done = running.wait().code(3);
    let summary = done.summary();
    for depth in [1, 4, 16, 64] {
        let p = pattern(&summary, 0, &format!("random_write_{depth}"));
        assert!(p["rate"]["median"].as_f64() > Some(0.0), "{p:#}");
    }
    let left = summary["not_removed"][0].as_str().expect("a reason");
    assert!(left.contains("cannot remove"), "{left}");
    assert_eq!(std::fs::read_to_string(&foreign).expect("a file"), "mine");
    let rest: Vec<_> = std::fs::read_dir(dir.path().join(WORK))
        .expect("a directory")
        .collect();
    assert_eq!(rest.len(), 1);
}

/// Descriptors run out at one step after the other.
#[test]
fn too_few_open_files_leave_nothing() {
    let dir = directory();
    let mut failed = 0;
    for most in 6..24 {
        let line = format!(
            "ulimit -n {most}; exec '{}' bench disk '{}' --size 8M --runs 1 --ramp 0 --measure 20ms --pattern commit --pattern small-files",
            crate::kit::binary::path().display(),
            dir.path().display()
        );
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", &line]).output().expect("a shell");
        failed += usize::from(!done.status.success());
        nothing_left(dir.path());
    }
    assert!((1..18).contains(&failed), "{failed}");
}

#[test]
fn a_full_disk_ends_it_and_is_freed() {
    let Some(mounted) = Mounted::without_device("tmpfs", "size=128m") else {
        return;
    };
    let mut running = disk(mounted.path())
        .args([
            "--size",
            "48M",
            "--pattern",
            "sequential",
            "--measure",
            "100ms",
            "--runs",
            "100",
        ])
        .start();
    let data = mounted.path().join(WORK).join("data");
    until("the file is full", || {
        std::fs::metadata(&data).is_ok_and(|m| m.len() == 48 << 20)
    });
    // Takes all room, again and again: a new file of the run finds none. One may come in between, the next is not far.
    let filler = mounted.path().join("filler");
    let mut file = std::fs::File::create(&filler).expect("a file");
    let block = vec![7; 1 << 16];
    until("the run ends", || {
        // Without a pause: the run frees its room only for a moment.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(300) {
            let _ = file.write_all(&block);
        }
        running.ended()
    });
    running
        .wait()
        .code(8)
        .says(&["No space left", "free some space"]);
    drop(file);
    std::fs::remove_file(&filler).expect("removed");
    nothing_left(mounted.path());
}

#[test]
fn file_systems_of_all_kinds_work_or_say_why_not() {
    if let Some(read_only) = Mounted::without_device("tmpfs", "ro") {
        commits(read_only.path()).run().code(8).says(&["read only"]);
    }
    if let Some(memory) = Mounted::without_device("tmpfs", "size=64m") {
        small(memory.path())
            .args(["--pattern", "random-read"])
            .run()
            .ok()
            .says(&["memory, not a disk"]);
        nothing_left(memory.path());
    }
    // It has no O_DIRECT, and does not say how large it is.
    if let Some(memory) = Mounted::without_device("ramfs", "mode=700") {
        let reads = || {
            disk(memory.path()).args([
                "--runs",
                "1",
                "--ramp",
                "0",
                "--measure",
                "50ms",
                "--pattern",
                "random-read",
            ])
        };
        reads().run().code(8).says(&["--size"]);
        reads()
            .args(["--size", "8M"])
            .run()
            .ok()
            .says(&["has no O_DIRECT", "page cache"]);
        nothing_left(memory.path());
    }
    if let Some(xfs) = Mounted::new("xfs") {
        let done = small(xfs.path())
            .args(["--pattern", "doublewrite"])
            .run()
            .ok();
        done.says(&["xfs on /dev/loop", "O_DIRECT"]);
        nothing_left(xfs.path());
    }
    let overlay = "lowerdir={}/lower,upperdir={}/upper,workdir={}/work";
    if let Some(overlay) = Mounted::without_device("overlay", overlay) {
        commits(overlay.path())
            .run()
            .ok()
            .says(&["overlay", "volume of its own"]);
        nothing_left(overlay.path());
    }
}

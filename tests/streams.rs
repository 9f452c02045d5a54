//! An archive as one stream on standard input and output, and copies of archives.

use crate::kit::pair::schemas;
use crate::kit::{Done, Pair, Tool, both};
use crate::stores::{sshd, tool};
use rustix::process::Signal;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const ROWS: &str = "CREATE DATABASE t_a; CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), w BLOB) CHARSET utf8mb4; \
    INSERT INTO t_a.t (v, w) VALUES ('a', NULL), ('b', x'00FF0A'), ('é🙂', ''); CREATE TABLE t_a.empty (id INT); \
    CREATE TABLE t_a.big (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    INSERT INTO t_a.big (v) VALUES (SHA2(1, 512)), (SHA2(2, 512)), (SHA2(3, 512)), (SHA2(4, 512)); \
    INSERT INTO t_a.big (v) SELECT SHA2(CONCAT_WS('-', a.id, b.id, c.id, d.id, e.id, f.id), 512) FROM t_a.big a, t_a.big b, t_a.big c, t_a.big d, t_a.big e, t_a.big f; \
    CREATE VIEW t_a.v AS SELECT id FROM t_a.t";

/// A dump of the source to standard output.
fn streaming(pair: &Pair, more: &[&str]) -> Tool {
    let tool = Tool::new(["dump", &pair.source().uri(), "--to", "-"]);
    tool.args(["--threads", "3", "--chunk-size", "64k"])
        .args(more.iter().copied())
}

/// A command that reads the stream.
fn reading(words: &[&str], stream: &[u8]) -> Tool {
    Tool::new(words.iter().copied()).input(stream)
}

fn entries(directory: &Path) -> Vec<String> {
    let all = std::fs::read_dir(directory).expect("a directory");
    all.map(|e| {
        e.expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    })
    .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

both!(an_archive_goes_through_a_pipe);
fn an_archive_goes_through_a_pipe(pair: &Pair) {
    pair.fill(ROWS);
    let done = streaming(pair, &[]).run().ok().says(&["Dump complete"]);
    assert!(done.err.contains("Dump complete"), "{}", done.err);
    let stream = &done.bytes;
    assert!(stream.starts_with(b"\x89penstock\r\n"));
    let (copy, scratch) = (pair.path("copy"), pair.path("scratch"));
    std::fs::create_dir(&scratch).expect("made");
    reading(&["copy", "-", text(&copy)], stream)
        .run()
        .ok()
        .says(&["the stream has its digest", "standard input"]);
    pair.verify("copy").ok();
    pair.verify_against("copy", pair.source()).ok();
    let within = ["--scratch", text(&scratch)];
    reading(&[&["verify", "-"][..], &within].concat(), stream)
        .run()
        .ok()
        .says(&["Archive is intact", "standard input"]);
    let against = ["--against", &pair.source().uri()];
    reading(&[&["verify", "-"][..], &against, &within].concat(), stream)
        .run()
        .ok();
    let into = ["load", "-", "--into", &pair.target().uri()];
    let loaded = reading(&[&into[..], &within].concat(), stream).run();
    assert!(
        !loaded.said().contains("penstock-stream-"),
        "{}",
        loaded.said()
    );
    loaded
        .ok()
        .says(&["Load complete", "equal:", "standard input"]);
    pair.same_checksums();
    // Where it was unpacked is nothing that anybody could look at.
    let again = reading(&[&into[..], &within, &["--json"]].concat(), stream).run();
    let again = again.code(10);
    assert!(
        !again.said().contains("penstock-stream-"),
        "{}",
        again.said()
    );
    assert_eq!(entries(&scratch), [""; 0]);
    // What is in a directory becomes a stream as well.
    let again = Tool::new(["copy", text(&copy), "-"]).run().ok();
    let copied = pair.path("again");
    reading(&["copy", "-", text(&copied)], &again.bytes)
        .run()
        .ok();
    same_files(&copy, &copied);
}

fn same_files(one: &Path, other: &Path) {
    let (mut a, mut b) = (entries(one), entries(other));
    a.sort();
    b.sort();
    assert_eq!(a, b);
    assert!(a.len() > 5, "{a:?}");
    for name in a {
        let read = |dir: &Path| std::fs::read(dir.join(&name)).expect("a file");
        assert!(read(one) == read(other), "{name}");
    }
}

both!(an_encrypted_stream);
fn an_encrypted_stream(pair: &Pair) {
    pair.fill(ROWS);
    let key = pair.path("key");
    std::fs::write(&key, "a passphrase\n").expect("written");
    let with = ["--passphrase-file", text(&key)];
    let stream = streaming(pair, &with).run().ok().bytes;
    assert!(!stream.windows(4).any(|w| w == b"t_a@"));
    let copy = pair.path("copy");
    reading(&["copy", "-", text(&copy)], &stream).run().ok();
    reading(&[&["verify", "-"][..], &with].concat(), &stream)
        .run()
        .ok();
    reading(&["verify", "-"], &stream)
        .run()
        .code(2)
        .says(&["--passphrase-file"]);
    // A copy needs no key.
    let other = pair.path("other");
    Tool::new(["copy", text(&copy), text(&other)])
        .run()
        .ok()
        .says(&["every file has its digest"]);
    Tool::new([&["verify", text(&other)][..], &with].concat())
        .run()
        .ok();
    std::fs::write(copy.join("penstock.key.age"), "no key").expect("written");
    Tool::new(["copy", text(&copy), text(&pair.path("bad"))])
        .run()
        .code(5)
        .says(&["penstock.key.age"]);
}

both!(a_stream_that_is_cut);
fn a_stream_that_is_cut(pair: &Pair) {
    pair.fill(ROWS);
    let stream = streaming(pair, &[]).run().ok().bytes;
    let (copy, scratch) = (pair.path("copy"), pair.path("scratch"));
    std::fs::create_dir(&scratch).expect("made");
    let within = ["--scratch", text(&scratch)];
    let into = ["load", "-", "--into", &pair.target().uri()];
    for cut in [20, stream.len() / 2, stream.len() - 1] {
        let part = &stream[..cut];
        reading(&["copy", "-", text(&copy)], part)
            .run()
            .code(5)
            .says(&["ends before its end marker"]);
        assert!(!copy.exists());
        reading(&[&into[..], &within].concat(), part).run().code(5);
        reading(&[&["verify", "-"][..], &within].concat(), part)
            .run()
            .code(5);
    }
    let mut bad = stream.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    reading(&[&into[..], &within].concat(), &bad)
        .run()
        .code(5)
        .says(&["damaged"]);
    assert_eq!(entries(&scratch), [""; 0]);
    assert_eq!(schemas(pair.target()), [""; 0]);
}

both!(what_was_begun_on_another_host_is_removed);
/// The directory too, if it was made for the copy.
fn what_was_begun_on_another_host_is_removed(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    pair.fill(ROWS);
    let access = vec![("PENSTOCK_SSH", sshd.ssh())];
    let stream = streaming(pair, &[]).run().ok().bytes;
    let (new, there) = (pair.path("far/new"), pair.path("far/there"));
    std::fs::create_dir_all(&there).expect("made");
    let cut = &stream[..stream.len() / 2];
    for place in [&new, &there] {
        tool(&["copy", "-", &sshd.url(place)], &access)
            .input(cut)
            .run()
            .code(5);
    }
    assert!(!new.exists());
    assert_eq!(entries(&there), [""; 0]);
    pair.dump("one", &["--chunk-size", "64k"]).ok();
    let (one, source, url) = (pair.path("one"), pair.source().uri(), sshd.url(&new));
    for words in [
        &["copy", text(&one), &url, "--max-rate-disk", "1k"][..],
        &["dump", &source, "--to", &url, "--max-rate-disk", "1k"],
    ] {
        let writing = tool(words, &access).start();
        let began = Instant::now();
        while !new.join("penstock.incomplete").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "{words:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        writing.signal(Signal::TERM);
        writing.wait().code(9);
        assert!(!new.exists(), "{words:?}");
    }
}

both!(what_a_stream_cannot_do_is_refused);
fn what_a_stream_cannot_do_is_refused(pair: &Pair) {
    pair.fill(ROWS);
    streaming(pair, &["--json"])
        .run()
        .code(2)
        .says(&["--to - writes the archive to standard output"]);
    let into = ["load", "-", "--into", &pair.target().uri()];
    let script = b"CREATE DATABASE t_b;\n";
    reading(&[&into[..], &["--scratch", "/tmp"]].concat(), script)
        .run()
        .code(2)
        .says(&["--scratch is for an archive on standard input"]);
    reading(&["verify", "-"], script)
        .run()
        .code(2)
        .says(&["standard input is not an archive"]);
    let copy = pair.path("copy");
    reading(&["copy", "-", text(&copy)], script)
        .run()
        .code(2)
        .says(&["standard input is not an archive"]);
    reading(&["copy", "-", text(&copy)], b"").run().code(5);
    assert!(!copy.exists());
    reading(&["copy", "-", "-"], script).run().code(2);
    let stream = streaming(pair, &[]).run().ok().bytes;
    reading(&[&into[..], &["--resume"]].concat(), &stream)
        .run()
        .code(2)
        .says(&["nothing to resume"]);
    // A script is still a script.
    reading(&into, script).run().ok();
    assert_eq!(schemas(pair.target()), ["t_b"]);
}

both!(a_reader_that_ends_or_stops_reading);
fn a_reader_that_ends_or_stops_reading(pair: &Pair) {
    pair.fill(ROWS);
    let gone = streaming(pair, &[]).start_unheard().wait();
    gone.code(8);
    // A closed standard output is none.
    let to = pair.path("done");
    pair.dump("done", &[]).ok();
    let line = format!(
        "exec {} copy {} - >&-",
        crate::kit::binary::path().display(),
        to.display()
    );
    let closed = std::process::Command::new("sh")
        .args(["-c", &line])
        .output();
    let closed = closed.expect("sh");
    assert_eq!(closed.status.code(), Some(8), "{closed:?}");
    // Nobody reads: the pipe is full, and the dump can be stopped all the same.
    let mut command = std::process::Command::new(crate::kit::binary::path());
    command.args([
        "dump",
        &pair.source().uri(),
        "--to",
        "-",
        "--compression",
        "none",
    ]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().expect("a child").is_none());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).expect("sent");
    let end = Instant::now() + Duration::from_secs(20);
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status.code();
        }
        if Instant::now() > end {
            let _ = child.kill();
            panic!("it does not stop");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(9));
}

both!(an_archive_is_copied);
fn an_archive_is_copied(pair: &Pair) {
    pair.fill(ROWS);
    pair.dump("one", &["--chunk-size", "64k"]).ok();
    let (one, two) = (pair.path("one"), pair.path("two"));
    let copy = |to: &Path| -> Done { Tool::new(["copy", text(&one), text(to)]).run() };
    let summary = Tool::new(["copy", text(&one), text(&two), "--json"])
        .run()
        .ok()
        .summary();
    assert_eq!(summary["files"], entries(&one).len());
    assert_eq!(summary["compared"], "digests");
    same_files(&one, &two);
    copy(&two).code(10).says(&["is not empty"]);
    copy(&one).code(2).says(&["onto itself"]);
    same_files(&one, &two);
    // What is no file of the archive is not copied, also not the stream itself.
    std::fs::write(one.join("stray"), "mine").expect("written");
    let four = pair.path("four");
    copy(&four)
        .ok()
        .says(&["stray is no file of the archive, and not copied"]);
    same_files(&two, &four);
    std::fs::remove_file(one.join("stray")).expect("removed");
    let stream = Tool::new(["copy", text(&one), "-"]).run().ok().bytes;
    let saved = pair.path("saved");
    std::fs::write(&saved, &stream).expect("written");
    for verb in ["load", "verify", "copy"] {
        let more = (verb == "copy").then(|| pair.path("five"));
        let words = [verb.into(), saved.clone()].into_iter().chain(more);
        Tool::new(words)
            .run()
            .code(2)
            .says(&["is an archive as one stream", " < "]);
    }
    // Without its manifest it is not whole.
    std::fs::remove_file(two.join("penstock.json")).expect("removed");
    Tool::new(["copy", text(&two), text(&pair.path("six"))])
        .run()
        .code(5);
    // Of a damaged archive there is no copy.
    let names = entries(&one);
    let chunk = names.iter().find(|n| n.ends_with(".zst"));
    let chunk = one.join(chunk.expect("a chunk"));
    let bytes = std::fs::read(&chunk).expect("read");
    let mut bad = bytes.clone();
    bad[bytes.len() / 2] ^= 1;
    std::fs::write(&chunk, &bad).expect("written");
    let three = pair.path("three");
    copy(&three).code(5).says(&["the archive is damaged"]);
    assert!(!three.exists());
    std::fs::remove_file(&chunk).expect("removed");
    copy(&three).code(5).says(&["missing"]);
    assert!(!three.exists());
    std::fs::write(&chunk, &bytes).expect("written");
    // Nor of one that is being written, or of none.
    std::fs::write(one.join("penstock.incomplete"), "{}").expect("written");
    copy(&three).code(5).says(&["has not finished"]);
    let empty = pair.path("empty");
    std::fs::create_dir(&empty).expect("made");
    Tool::new(["copy", text(&empty), text(&three)])
        .run()
        .code(5)
        .says(&["it is empty"]);
    Tool::new(["copy", "/nonexistent", text(&three)])
        .run()
        .code(8);
    assert!(!three.exists());
}

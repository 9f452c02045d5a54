//! Connections that are cut, archivers and servers that are killed, a full disk: what is stored stays right.

use super::kit::{Logged, write};
use crate::kit::waiting::until;
use crate::kit::{each_kind, few};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::Kind;

/// Passes connections on, and cuts each after so many bytes from the server.
struct Cutter {
    socket: PathBuf,
    ends: Arc<AtomicBool>,
}

impl Cutter {
    fn new(at: &Path, server: PathBuf, mut after: Vec<usize>) -> Cutter {
        let listener = UnixListener::bind(at).expect("a socket");
        let ends = Arc::new(AtomicBool::new(false));
        let ended = ends.clone();
        after.reverse();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(server) = UnixStream::connect(&server) else {
                    continue;
                };
                let limit = after.pop().unwrap_or(usize::MAX);
                pass(&client, &server, usize::MAX);
                pass(&server, &client, limit);
            }
        });
        Cutter {
            socket: at.to_owned(),
            ends,
        }
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.socket);
    }
}

fn pass(from: &UnixStream, to: &UnixStream, limit: usize) {
    let (mut from, mut to) = (
        from.try_clone().expect("a socket"),
        to.try_clone().expect("a socket"),
    );
    std::thread::spawn(move || {
        let (mut left, mut buffer) = (limit, [0; 4096]);
        while left > 0 {
            let want = left.min(buffer.len());
            match from.read(&mut buffer[..want]) {
                Ok(n @ 1..) if to.write_all(&buffer[..n]).is_ok() => left -= n,
                _ => break,
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

/// Whether everything that the server has is stored.
fn caught_up(logged: &Logged) -> bool {
    let files = logged.files();
    let stored = match logged.place().exists() {
        true => logged.stored(1),
        false => return false,
    };
    files
        .iter()
        .all(|(name, bytes)| stored.get(name).is_some_and(|s| s.len() == bytes.len()))
}

/// The connection is cut at random bytes: in the login, between events, within one.
fn cuts(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 60);
    logged
        .server
        .client("FLUSH BINARY LOGS")
        .expect("another file");
    let mut at: Vec<usize> = (0..100).map(|i| 20_000 + i * i * 37 % 150_000).collect();
    at.extend([30, 90, 500]);
    let cutter = Cutter::new(
        &logged.path("cut"),
        logged.server.socket(),
        few(kind, 12, &at),
    );
    // The first connection is not made again where nothing was ever reached: one run lays the ground.
    logged
        .archiving(&["--once", "--start", "binlog.000001"])
        .run()
        .ok();
    let running = super::kit::archiving(&logged.repository(), &["--max-age", "100ms"])
        .arg("--socket")
        .arg(&cutter.socket)
        .start();
    for i in 0..6 {
        write(&logged.server, 20 + i);
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
    }
    until("everything to be stored", || caught_up(&logged));
    running.signal(Signal::INT);
    running.wait().ok();
    logged.assert_equal(1);
}
each_kind!(cuts; mysql, mariadb);

/// The archiver is killed at every step of storing, and at random moments.
fn archivers_are_killed(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 20);
    let steps = [
        "a timeline of the binary log is begun",
        "a segment of the binary log is complete",
        "a segment of the binary log is stored",
    ];
    for step in steps {
        let running = logged
            .archiving(&["--start", "oldest", "--max-age", "50ms"])
            .env("PENSTOCK_STOP_AT", format!("{step}#1"))
            .start();
        running.until_stopped();
        running.signal(Signal::KILL);
        running.wait();
        write(&logged.server, 7);
    }
    for wait in few(kind, 4, &(0..20).collect::<Vec<u64>>()) {
        let running = logged.archiving(&["--max-age", "20ms"]).start();
        running.until_it_says("binary log");
        write(&logged.server, 3);
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
        std::thread::sleep(std::time::Duration::from_millis(wait * 9));
        running.signal(Signal::KILL);
        running.wait();
    }
    logged.once().ok();
    logged.assert_equal(1);
}
each_kind!(archivers_are_killed; mysql, mariadb);

/// The server is killed while its log is followed; the archiver waits for it and goes on.
fn servers_are_killed(kind: Kind) {
    let Some(mut logged) = Logged::new(kind, &["--sync-binlog=1"]) else {
        return;
    };
    write(&logged.server, 10);
    let running = logged
        .archiving(&["--start", "oldest", "--max-age", "100ms"])
        .start();
    for _ in 0..2 {
        write(&logged.server, 15);
        until("everything to be stored", || caught_up(&logged));
        logged.server.kill9().expect("a kill");
        logged.server.restart().expect("a start");
    }
    // A server that is shut down ends the stream in order, as at the end of a log that is not followed.
    write(&logged.server, 5);
    logged.server.stop().expect("a stop");
    logged.server.restart().expect("a start");
    write(&logged.server, 5);
    until("everything to be stored", || caught_up(&logged));
    running.signal(Signal::INT);
    running.wait().ok();
    // A killed server leaves the flag of an open file; `assert_equal` passes over that byte alone.
    logged.assert_equal(1);
    let timelines = std::fs::read_dir(logged.place()).expect("a directory");
    let names = timelines.map(|e| {
        e.expect("an entry")
            .file_name()
            .into_string()
            .expect("a name")
    });
    assert_eq!(names.filter(|n| n.len() == "0001.json".len()).count(), 1);
}
each_kind!(servers_are_killed; mysql, mariadb);

/// A repository without room: an error, and after room is made everything is stored.
#[test]
fn a_full_disk_loses_nothing() {
    let Some(logged) = Logged::new(Kind::MariaDb, &[]) else {
        return;
    };
    let Some(pair) = crate::kit::Pair::take(Kind::MariaDb) else {
        return;
    };
    let Some(_small) = crate::kit::Small::mount(&pair, "300k") else {
        return;
    };
    let repository = pair.path("small").join("r");
    crate::kit::Tool::new(["init"]).arg(&repository).run().ok();
    let random = "INSERT INTO d.t (v) SELECT SHA2(RAND(), 512) FROM d.seq_1_to_2000";
    write(&logged.server, 3);
    let archive = || {
        super::kit::archiving(&repository, &["--once", "--start", "oldest"])
            .arg("--socket")
            .arg(logged.server.socket())
            .run()
    };
    archive().ok();
    for _ in 0..3 {
        logged.server.client(random).expect("writes");
    }
    archive().code(8);
    let remount = |size: &str| {
        let options = format!("remount,size={size}");
        let done = std::process::Command::new("mount")
            .args(["-o", &options])
            .arg(pair.path("small"))
            .status();
        assert!(done.expect("mount").success());
    };
    remount("10M");
    archive().ok();
    let stored = super::kit::stored(&repository.join("binlogs/shop"), 1);
    super::kit::assert_same(&stored, &logged.files());
}

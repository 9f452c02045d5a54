//! What only a folder has: links, pipes, modes, left-overs.

use super::*;
use crate::conformance;
use std::os::unix::fs::{PermissionsExt, symlink};

fn fresh() -> (tempfile::TempDir, Directory) {
    let tmp = tempfile::tempdir().unwrap();
    let dir = Directory::create(tmp.path().join("a/b")).unwrap();
    (tmp, dir)
}

#[test]
fn conforms() {
    let tmp = tempfile::tempdir().unwrap();
    let n = std::cell::Cell::new(0);
    conformance(|| {
        n.set(n.get() + 1);
        std::sync::Arc::new(Directory::create(tmp.path().join(n.get().to_string())).unwrap())
    });
}

#[test]
fn new_folders_and_files_are_private() {
    let (_tmp, dir) = fresh();
    dir.put("x", b"1").unwrap();
    let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(dir.path()), 0o700);
    assert_eq!(mode(dir.path().parent().unwrap()), 0o700);
    assert_eq!(mode(&dir.path().join("x")), 0o600);
}

#[test]
fn refuses_a_folder_that_holds_something() {
    let (_tmp, dir) = fresh();
    let path = dir.path().to_owned();
    drop(dir);
    Directory::create(&path).unwrap().put("x", b"1").unwrap();
    let err = Directory::create(&path).unwrap_err();
    assert!(err.to_string().contains("not empty"), "{err}");
}

#[test]
fn a_folder_is_filled_by_one() {
    let (_tmp, dir) = fresh();
    let again = dir.clone();
    let path = dir.path().to_owned();
    drop(dir);
    let err = Directory::create(&path).unwrap_err();
    assert!(err.busy() && err.to_string().contains("b"), "{err}");
    Directory::open(&path).unwrap();
    drop(again);
    Directory::create(&path).unwrap();
}

#[test]
fn never_follows_links_nor_opens_pipes_and_devices() {
    let (tmp, dir) = fresh();
    std::fs::write(tmp.path().join("secret"), b"s").unwrap();
    symlink(tmp.path().join("secret"), dir.path().join("link")).unwrap();
    symlink("/dev/zero", dir.path().join("device")).unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    rfs::mknodat(
        &dir.0.fd,
        "pipe",
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    for name in ["link", "device", "folder", "pipe"] {
        assert!(dir.open(name).is_err(), "{name}");
        assert!(dir.size(name).is_err(), "{name}");
    }
    assert!(
        dir.list()
            .unwrap()
            .iter()
            .all(|e| e.kind == EntryKind::Other)
    );
    // A link waiting at the partial name is not written through.
    symlink(tmp.path().join("secret"), dir.path().join("x.dumping")).unwrap();
    assert!(dir.create("x").is_err());
    // A link at the final name is replaced, not written through.
    dir.put("link", b"mine").unwrap();
    assert_eq!(std::fs::read(tmp.path().join("secret")).unwrap(), b"s");
    assert_eq!(dir.read_all("link", 10).unwrap(), b"mine");
}

#[test]
fn a_full_disk_is_told_apart() {
    let e = Error::new("write", "x", rustix::io::Errno::NOSPC);
    assert!(e.full() && !e.not_found());
    assert!(Error::new("write", "x", rustix::io::Errno::DQUOT).full());
    assert!(Error::new("open", "x", rustix::io::Errno::NOENT).not_found());
}

#[test]
fn files_of_any_length_come_back() {
    let (_tmp, dir) = fresh();
    let block = crate::direct::BLOCK;
    let bytes: Vec<u8> = (0..3 * block + 5).map(|n| (n / 7) as u8).collect();
    for len in [0, 1, block - 1, block, block + 1, 2 * block, 3 * block + 5] {
        // Pieces that never fit the block evenly, and one bigger than it.
        for piece in [4093, block + 4093] {
            let mut file = dir.create("x").unwrap();
            for part in bytes[..len].chunks(piece) {
                file.write_all(part).unwrap();
            }
            assert_eq!(file.finish(false).unwrap(), len as u64);
            assert!(dir.read_all("x", 1 << 30).unwrap() == bytes[..len], "{len}");
        }
    }
    dir.sync().unwrap();
}

#[test]
fn a_limited_disk_gets_every_byte_and_counts_it() {
    let tmp = tempfile::tempdir().unwrap();
    let gate = RateLimiter::named("the disk rate limit");
    gate.set_rate(Some(64 << 20));
    let dir = Directory::create(tmp.path().join("d"))
        .unwrap()
        .through(&gate);
    let mut all = 0;
    for size in [
        0usize,
        1,
        4095,
        70_000,
        crate::direct::BLOCK,
        3 * crate::direct::BLOCK + 12_345,
    ] {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        dir.put("x", &bytes).unwrap();
        assert!(dir.read_all("x", 1 << 30).unwrap() == bytes, "{size}");
        all += size as u64;
        assert_eq!(gate.passed(), all);
    }
}

#[test]
fn the_end_of_a_run_fails_what_waits_for_the_disk() {
    let tmp = tempfile::tempdir().unwrap();
    let gate = RateLimiter::named("the disk rate limit");
    gate.set_paused(true);
    let dir = Directory::create(tmp.path().join("d"))
        .unwrap()
        .through(&gate);
    let writing = {
        let dir = dir.clone();
        std::thread::spawn(move || dir.put("x", &vec![1; 5 * crate::direct::BLOCK]))
    };
    gate.end();
    let e = writing.join().unwrap().unwrap_err();
    assert!(e.to_string().contains("the run was stopped"), "{e}");
    assert_eq!(dir.list().unwrap(), vec![], "nothing is left behind");
}

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

fn ours(opened: Opened) -> LockedFile {
    match opened {
        Opened::Ours(file) => file,
        other => panic!("not ours: {other:?}"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("exists").permissions().mode() & 0o777
}

#[test]
fn only_the_user_may_read_what_is_created() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("a/state");
    StateDir(&state).create().expect("created");
    StateDir(&state).create().expect("exists");
    assert_eq!(mode(&state), 0o700);
    let locked = ours(create(&state.join("locked")).expect("created"));
    assert_eq!(mode(locked.path()), 0o600);
    let note = state.join("note");
    put_json(StateDir(&state), &note, &1).expect("written");
    assert_eq!(mode(&note), 0o600);
}

#[test]
fn a_link_is_refused_and_its_target_is_not_touched() {
    let dir = tempfile::tempdir().expect("a directory");
    let (target, link) = (dir.path().join("target"), dir.path().join("link"));
    fs::write(&target, "3").expect("written");
    symlink(&target, &link).expect("linked");
    open(&link).expect_err("a link");
    create(&link).expect_err("a link");
    create_exclusive(&link).expect_err("a link");
    read_json::<u32>(&link, 100).expect_err("a link");
    // The link is replaced, not followed.
    put_json(StateDir(dir.path()), &link, &4).expect("written");
    assert_eq!(read_json::<u32>(&link, 100).expect("a number"), 4);
    assert_eq!(fs::read_to_string(&target).expect("text"), "3");
    // A link to nothing would have it created elsewhere.
    let dangling = dir.path().join("dangling");
    symlink(dir.path().join("nothing"), &dangling).expect("linked");
    create(&dangling).expect_err("a link");
    assert!(!dir.path().join("nothing").exists());
}

#[test]
fn a_fifo_is_refused_without_waiting_for_its_other_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let fifo = dir.path().join("fifo");
    let made = Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
    for failure in [
        open(&fifo).expect_err("a FIFO"),
        create(&fifo).expect_err("a FIFO"),
        read_json::<u32>(&fifo, 100).expect_err("a FIFO"),
    ] {
        assert!(
            failure.to_string().contains("not a regular file"),
            "{failure}"
        );
    }
}

#[test]
fn what_is_too_large_is_an_error_and_not_a_shortened_text() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    fs::write(&path, "12345").expect("written");
    assert_eq!(read_json::<u32>(&path, 5).expect("a number"), 12345);
    let failure = read_json::<u32>(&path, 4).expect_err("too large");
    assert!(
        failure.to_string().contains("larger than 4 bytes"),
        "{failure}"
    );
    let mut file = ours(create(&path).expect("locked"));
    assert_eq!(file.read_json::<u32>(5).expect("a number"), 12345);
    file.read_json::<u32>(4).expect_err("too large");
    file.overwrite(&"a long text", 5).expect_err("too large");
    assert_eq!(fs::read_to_string(&path).expect("text"), "12345");
}

#[test]
fn one_process_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    assert!(open(&path).expect("an answer").is_none());
    let mut first = ours(create(&path).expect("created"));
    first.put_json(&7).expect("written");
    // The lock belongs to the open file, so another open is as good as another process.
    match create(&path).expect("an answer") {
        Opened::Busy(file) => assert_eq!(read_all(&file, 10).expect("readable"), b"7"),
        other => panic!("{other:?}"),
    }
    // A process that inherits the file keeps the lock.
    let shared = first.share().expect("shared");
    drop(first);
    assert!(matches!(
        open(&path).expect("an answer"),
        Some(Opened::Busy(_))
    ));
    drop(shared);
    let second = ours(open(&path).expect("an answer").expect("exists"));
    second.remove().expect("removed");
    assert!(open_current(&path).expect("an answer").is_none());
}

/// A child of another thread has a copy of every open file until it executes its program.
#[test]
fn a_lock_ends_although_a_copy_of_the_file_is_open() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    let first = ours(create(&path).expect("created"));
    let copy = first.file.try_clone().expect("a copy");
    drop(first);
    ours(open(&path).expect("an answer").expect("exists"));
    drop(copy);
}

/// The owner removes the file, and perhaps another process has created it again, between our open and our lock.
#[test]
fn a_lost_race_with_a_removal_is_noticed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    let file = options(true).open(&path).expect("opened");
    fs::remove_file(&path).expect("removed");
    assert!(matches!(
        lock(&path, file).expect("an answer"),
        Opened::Removed
    ));
    let file = options(true).open(&path).expect("opened");
    fs::rename(&path, dir.path().join("away")).expect("moved");
    fs::write(&path, "another").expect("written");
    assert!(matches!(
        lock(&path, file).expect("an answer"),
        Opened::Removed
    ));
}

#[test]
fn a_record_is_replaced_whole_or_overwritten_at_one_length() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    let mut file = ours(create(&path).expect("created"));
    file.put_json(&"a long text").expect("written");
    file.put_json(&1).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("text"), "1");
    file.overwrite(&22, 8).expect("written");
    file.overwrite(&3, 8).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("text"), "3       ");
    assert_eq!(file.read_json::<u32>(8).expect("a number"), 3);
    file.keep(1).expect("shortened");
    file.append(b"\n4\n").expect("written");
    file.append(b"5\n").expect("written");
    assert_eq!(file.read(100).expect("text"), b"3\n4\n5\n");
    file.append(b"6\n").expect("written");
    assert_eq!(fs::read(&path).expect("text"), b"3\n4\n5\n6\n");
}

#[test]
fn names_are_hashes_and_files_are_found_by_their_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = StateDir(dir.path());
    let path = state.hashed("stopped-", "../../etc/x", 16, ".json");
    assert_eq!(path.parent(), Some(dir.path()));
    let name = path.file_name().expect("a name").to_string_lossy();
    assert_eq!(name.len(), "stopped-".len() + 16 + ".json".len());
    fs::write(&path, "").expect("written");
    fs::write(dir.path().join("stopped-x.jsonl"), "").expect("written");
    assert_eq!(state.files("stopped-", ".json").expect("a list"), [path]);
    let none = dir.path().join("none");
    assert!(StateDir(&none).files("", "").expect("a list").is_empty());
}

#[test]
fn a_file_is_replaced_in_one_step_and_its_lock_with_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("note");
    let mut first = ours(create(&path).expect("created"));
    first.append(b"old").expect("written");
    // Left by a process that was killed.
    fs::write(dir.path().join("note.new"), "half").expect("written");
    first.replace(b"new").expect("replaced");
    assert_eq!(fs::read_to_string(&path).expect("text"), "new");
    assert_eq!(mode(&path), 0o600);
    assert!(!dir.path().join("note.new").exists());
    assert_eq!(
        ours(create(&path).expect("opened")).read(9).expect("text"),
        b"new"
    );
}

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn about(id: &str) -> Server {
    Server {
        id: id.to_owned(),
        name: "MySQL 9.7.4".to_owned(),
        endpoint: "/s".to_owned(),
        started: 1000,
    }
}

fn ours(opened: Opened) -> Journal {
    match opened {
        Opened::Ours(journal) => journal,
        Opened::Busy(pid) => panic!("locked by {pid:?}"),
    }
}

fn change(setting: &str) -> Record {
    Record::Change {
        setting: setting.to_owned(),
        before: "1".to_owned(),
        wanted: "0".to_owned(),
    }
}

fn names(journal: &Journal) -> Vec<&str> {
    journal.entries.iter().map(|e| e.setting.as_str()).collect()
}

#[test]
fn what_is_not_settled_is_found_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("a/state");
    let mut journal = ours(create(&state, "x").expect("a journal"));
    journal.add(begin(about("x"))).expect("written");
    for name in ["one", "two", "three"] {
        journal.add(change(name)).expect("written");
    }
    let during = Record::Set {
        setting: "one".into(),
        during: "7".into(),
    };
    journal.add(during).expect("written");
    let settled = Record::Settled {
        setting: "two".into(),
        found: "1".into(),
    };
    journal.add(settled).expect("written");
    let at = journal.path().to_owned();
    drop(journal);
    assert_eq!(all(&state).expect("a list"), std::slice::from_ref(&at));
    let again = ours(existing(&at).expect("readable").expect("there"));
    assert_eq!(names(&again), ["one", "three"]);
    assert_eq!(again.entries[0].during.as_deref(), Some("7"));
    assert_eq!(again.begin, Some((about("x"), std::process::id())));
    again.remove().expect("removed");
    assert!(existing(&at).expect("readable").is_none());
}

#[test]
fn only_the_user_may_read_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let journal = ours(create(&state, "x").expect("a journal"));
    let mode = |p: &Path| fs::metadata(p).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(journal.path()), 0o600);
}

#[test]
fn one_process_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = ours(create(dir.path(), "x").expect("a journal"));
    first.add(begin(about("x"))).expect("written");
    let second = create(dir.path(), "x").expect("an answer");
    assert!(matches!(second, Opened::Busy(Some(pid)) if pid == std::process::id()));
    drop(first);
    ours(create(dir.path(), "x").expect("free again"));
}

/// The last line may end anywhere: its statement was never sent, and what comes next is readable.
#[test]
fn a_torn_last_line_is_ignored() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut journal = ours(create(dir.path(), "x").expect("a journal"));
    journal.add(begin(about("x"))).expect("written");
    journal.add(change("one")).expect("written");
    journal.add(change("two")).expect("written");
    let at = journal.path().to_owned();
    drop(journal);
    let text = fs::read(&at).expect("bytes");
    let second = text[..text.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .expect("lines")
        + 1;
    for cut in second..text.len() {
        fs::write(&at, &text[..cut]).expect("cut");
        let mut journal = ours(existing(&at).expect("readable").expect("there"));
        assert_eq!(names(&journal), ["one"], "cut at {cut}");
        journal.add(change("three")).expect("written");
        drop(journal);
        let journal = ours(existing(&at).expect("readable").expect("there"));
        assert_eq!(names(&journal), ["one", "three"], "cut at {cut}");
    }
    // Zeros where the line should be, as some file systems leave them after a power cut.
    let mut zeros = text[..second].to_vec();
    zeros.extend([0; 20]);
    fs::write(&at, &zeros).expect("zeros");
    assert_eq!(
        names(&ours(existing(&at).expect("readable").expect("there"))),
        ["one"]
    );
}

#[test]
fn damage_in_the_middle_and_other_versions_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut journal = ours(create(dir.path(), "x").expect("a journal"));
    journal.add(begin(about("x"))).expect("written");
    journal.add(change("one")).expect("written");
    let at = journal.path().to_owned();
    drop(journal);
    let text = fs::read_to_string(&at).expect("text");
    for bad in [
        text.replacen("\"event\"", "\"evnt\"", 1),
        text.replacen("\"version\":1", "\"version\":2", 1),
        text.lines()
            .skip(1)
            .map(|l| format!("{l}\n"))
            .collect::<String>()
            + &text,
    ] {
        assert_ne!(bad, text);
        fs::write(&at, &bad).expect("written");
        let e = existing(&at).expect_err("damaged");
        assert!(e.what.contains("line 1"), "{}", e.what);
        assert_eq!(
            fs::read_to_string(&at).expect("text"),
            bad,
            "it is left as it is"
        );
    }
}

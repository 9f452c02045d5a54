//! What every store must do, whatever it is made of. Each new store runs this
//! suite; a behaviour that callers rely on and that is not here is a gap here.

use crate::{EntryKind, Store};
use std::io::{Read, Write};
use std::sync::Arc;

/// Runs the suite; `make` gives an empty store each time it is called.
///
/// # Panics
/// On the first behaviour that does not conform.
pub fn conformance(make: impl Fn() -> Arc<dyn Store>) {
    visible_only_when_finished(&*make());
    dropped_leaves_nothing(&*make());
    round_trips(&*make());
    refuses_bad_names(&*make());
    missing_is_missing(&*make());
    one_writer_per_name(&*make());
    one_of_several_creates_it(&*make());
    many_names_are_all_listed(&*make());
    assert!(!make().describe().is_empty());
}

fn names(store: &dyn Store) -> Vec<String> {
    let mut names: Vec<_> = store.list().unwrap().into_iter().map(|e| e.name).collect();
    names.sort();
    names
}

fn visible_only_when_finished(store: &dyn Store) {
    let mut w = store.create("a@b@@0.tsv.zst").unwrap();
    w.write_all(b"half").unwrap();
    assert_eq!(store.size("a@b@@0.tsv.zst").unwrap(), None);
    assert!(store.open("a@b@@0.tsv.zst").err().unwrap().not_found());
    assert!(!names(store).contains(&"a@b@@0.tsv.zst".to_owned()));
    w.write_all(b" whole").unwrap();
    assert_eq!(w.finish(false).unwrap(), 10);
    assert_eq!(store.size("a@b@@0.tsv.zst").unwrap(), Some(10));
    assert_eq!(names(store), ["a@b@@0.tsv.zst"]);
    store.sync().unwrap();
    assert_eq!(store.read_all("a@b@@0.tsv.zst", 10).unwrap(), b"half whole");
}

fn dropped_leaves_nothing(store: &dyn Store) {
    store.put("kept", b"old").unwrap();
    for name in ["gone", "kept"] {
        let mut w = store.create(name).unwrap();
        w.write_all(b"x").unwrap();
        drop(w);
    }
    assert_eq!(names(store), ["kept"]);
    assert_eq!(store.read_all("kept", 100).unwrap(), b"old");
}

fn round_trips(store: &dyn Store) {
    let big: Vec<u8> = (0..20_000_000u32).map(|i| (i ^ (i >> 9)) as u8).collect();
    let mut w = store.create("big").unwrap();
    for piece in big.chunks(300_000) {
        w.write_all(piece).unwrap();
    }
    assert_eq!(w.finish(true).unwrap(), big.len() as u64);
    let mut back = Vec::new();
    store.open("big").unwrap().read_to_end(&mut back).unwrap();
    assert!(back == big, "contents differ");
    for time in ["the first time", "once more"] {
        back.clear();
        let mut once = store.open_once("big").unwrap();
        once.read_to_end(&mut back).unwrap();
        assert!(back == big, "contents differ {time}");
    }

    store.put("empty", b"").unwrap();
    assert_eq!(store.size("empty").unwrap(), Some(0));
    for name in ["@.json", "%40 x", "émoji 🙂", "CON", "-rf", "~", "a..b"] {
        store.put(name, name.as_bytes()).unwrap();
        assert_eq!(store.read_all(name, 100).unwrap(), name.as_bytes());
    }
    store.put("@.json", b"replaced").unwrap();
    assert_eq!(store.read_all("@.json", 8).unwrap(), b"replaced");
    assert!(store.read_all("@.json", 7).is_err(), "limit not kept");
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 9);
    assert!(listed.iter().all(|e| e.kind == EntryKind::File));
    assert!(
        listed
            .iter()
            .any(|e| e.name == "big" && e.size == 20_000_000)
    );
    store.sync().unwrap();
}

fn refuses_bad_names(store: &dyn Store) {
    let long = "x".repeat(256);
    for name in [
        "", ".", "..", "/", "/etc/x", "a/b", "../x", "a\0b", "a\\b", &long,
    ] {
        assert!(store.create(name).is_err(), "create {name:?}");
        assert!(store.open(name).is_err(), "open {name:?}");
        assert!(store.open_once(name).is_err(), "open {name:?} once");
        assert!(store.size(name).is_err(), "size {name:?}");
        assert!(store.remove(name).is_err(), "remove {name:?}");
        assert!(store.put(name, b"x").is_err(), "put {name:?}");
    }
    assert!(store.create("x.dumping").is_err());
    assert!(names(store).is_empty());
}

fn missing_is_missing(store: &dyn Store) {
    assert_eq!(store.size("nothing").unwrap(), None);
    assert!(store.open("nothing").err().unwrap().not_found());
    assert!(store.read_all("nothing", 1).err().unwrap().not_found());
    assert!(store.remove("nothing").err().unwrap().not_found());
    store.put("x", b"1").unwrap();
    store.remove("x").unwrap();
    assert_eq!(store.size("x").unwrap(), None);
}

fn one_writer_per_name(store: &dyn Store) {
    let first = store.create("x").unwrap();
    // A second writer may be refused, or be independent; it must not disturb the first.
    if let Ok(mut second) = store.create("x") {
        second.write_all(b"second").unwrap();
        drop(second);
    }
    assert_eq!(first.finish(true).unwrap(), 0);
    assert_eq!(store.size("x").unwrap(), Some(0));
}

fn one_of_several_creates_it(store: &dyn Store) {
    let done: Vec<_> = std::thread::scope(|scope| {
        let put = |n: usize| move || store.put_new("lock", format!("{n}").as_bytes());
        let all: Vec<_> = (0..4).map(|n| scope.spawn(put(n))).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let winner = done.iter().position(Result::is_ok).expect("one succeeds");
    assert_eq!(done.iter().filter(|d| d.is_ok()).count(), 1, "{done:?}");
    for lost in done.iter().filter_map(|d| d.as_ref().err()) {
        assert!(lost.busy(), "{lost}");
    }
    assert_eq!(
        store.read_all("lock", 9).unwrap(),
        format!("{winner}").as_bytes()
    );
    store.remove("lock").unwrap();
    store.put_new("lock", b"again").unwrap();
}

/// More than the services give in one answer, and written by several threads.
fn many_names_are_all_listed(store: &dyn Store) {
    let all: Vec<String> = (0..1_100).map(|n| format!("n{n:04}")).collect();
    std::thread::scope(|scope| {
        for part in all.chunks(275) {
            scope.spawn(move || {
                part.iter()
                    .for_each(|n| store.put(n, n.as_bytes()).unwrap())
            });
        }
    });
    assert_eq!(names(store), all);
    assert_eq!(store.read_all("n0917", 9).unwrap(), b"n0917");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, Failure, Fault};

    #[test]
    fn the_failing_store_conforms_while_it_does_not_fail() {
        let tmp = tempfile::tempdir().unwrap();
        let n = std::cell::Cell::new(0);
        conformance(|| {
            n.set(n.get() + 1);
            let dir = Directory::create(tmp.path().join(n.get().to_string())).unwrap();
            Arc::new(Fault::counting(Arc::new(dir)))
        });
    }

    #[test]
    fn fails_each_operation_of_a_put_and_never_shows_a_half() {
        for n in 1.. {
            let tmp = tempfile::tempdir().unwrap();
            let dir = Directory::open(tmp.path()).unwrap();
            let fault = Fault::failing(Arc::new(dir.clone()), n, Failure::Full, false);
            match fault.put("x", b"0123456789") {
                Ok(()) => {
                    assert_eq!(n, 4, "create, write, finish");
                    break;
                }
                Err(e) => assert!(e.full()),
            }
            assert!(dir.list().unwrap().is_empty());
        }
        let tmp = tempfile::tempdir().unwrap();
        let dir = Directory::open(tmp.path()).unwrap();
        let short = Fault::counting(Arc::new(dir)).short_transfers();
        short.put("x", b"0123456789").unwrap();
        assert_eq!(short.read_all("x", 10).unwrap(), b"0123456789");
    }
}

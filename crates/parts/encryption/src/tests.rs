//! Archives through the store, and what somebody without a key, or with a grudge, can do to them.

use crate::{Encrypted, Error, KEY, Keys, Place, check_files, listed};
use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use archive::{ArchiveError, marker};
use base::{Cancel, Secret};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::{Directory, Location, Store};

fn to(identity: &Identity) -> Keys {
    let mut keys = Keys::default();
    keys.add_recipient(&identity.to_public().to_string())
        .unwrap();
    keys
}

fn with(identity: &Identity) -> Keys {
    Keys {
        identities: vec![Secret::new(identity.to_string().expose_secret())],
        ..Keys::default()
    }
}

fn passphrase(text: &str) -> Keys {
    Keys {
        passphrase: Some(Secret::new(text)),
        ..Keys::default()
    }
}

fn place(dir: &Path, keys: Keys) -> Place {
    Place::new(Location::Directory(dir.to_owned()), keys)
}

fn contents() -> BTreeMap<String, Vec<u8>> {
    let long: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    [
        ("empty", Vec::new()),
        ("@.json", b"{\"a secret table\": 1}".to_vec()),
        ("shop@customers@@0.tsv.zst", long),
    ]
    .into_iter()
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .collect()
}

fn write(place: &Place) {
    let store = place.create(None).unwrap();
    marker::set(&*store, "1").unwrap();
    for (name, bytes) in contents() {
        store.put(&name, &bytes).unwrap();
    }
    marker::clear(&*store).unwrap();
}

fn read(place: &Place) -> Result<BTreeMap<String, Vec<u8>>, ArchiveError> {
    let store = place.open(None).map_err(|e| match e {
        Error::Store(e) => ArchiveError::from(e),
        e => ArchiveError::damaged("-", e.to_string()),
    })?;
    let mut all = BTreeMap::new();
    for entry in store.list()? {
        let bytes = store.read_all(&entry.name, 1 << 30)?;
        if bytes.len() as u64 != entry.size {
            return Err(ArchiveError::damaged(&entry.name, "its size"));
        }
        all.insert(entry.name, bytes);
    }
    Ok(all)
}

#[test]
fn conforms() {
    let identity = Identity::generate();
    let dirs = std::cell::RefCell::new(Vec::new());
    store::conformance(|| {
        let dir = tempfile::tempdir().unwrap();
        let inner: Arc<dyn Store> = Arc::new(Directory::open(dir.path()).unwrap());
        dirs.borrow_mut().push(dir);
        Arc::new(Encrypted::new(inner, &to(&identity)).unwrap())
    });
}

#[test]
fn what_was_written_is_read_with_a_key_and_names_are_not_visible() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, yours, other) = (
        Identity::generate(),
        Identity::generate(),
        Identity::generate(),
    );
    let mut both = to(&mine);
    both.add_recipient(&yours.to_public().to_string()).unwrap();
    let at = dir.path().join("a");
    write(&place(&at, both));
    for key in [&mine, &yours] {
        assert_eq!(read(&place(&at, with(key))).unwrap(), contents());
    }
    assert!(matches!(
        place(&at, with(&other)).open(None).err(),
        Some(Error::WrongKey { passphrase: false })
    ));
    assert!(matches!(
        place(&at, passphrase("x")).open(None).err(),
        Some(Error::Locked { passphrase: false })
    ));
    assert!(matches!(
        place(&at, Keys::default()).open(None).err(),
        Some(Error::Locked { passphrase: false })
    ));
    let secret = mine.to_string();
    for file in std::fs::read_dir(&at).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        for word in [
            "shop",
            "customers",
            "secret table",
            secret.expose_secret(),
            "AGE-SECRET-KEY",
        ] {
            assert!(!name.contains(word), "{name}");
            assert!(
                !bytes.windows(word.len()).any(|w| w == word.as_bytes()),
                "{name}: {word}"
            );
        }
    }
}

#[test]
fn a_passphrase_opens_it_and_another_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a");
    write(&place(&at, passphrase("correct horse")));
    assert_eq!(
        read(&place(&at, passphrase("correct horse"))).unwrap(),
        contents()
    );
    assert!(matches!(
        place(&at, passphrase("Correct horse")).open(None).err(),
        Some(Error::WrongKey { passphrase: true })
    ));
    let identity = with(&Identity::generate());
    assert!(matches!(
        place(&at, identity).open(None).err(),
        Some(Error::Locked { passphrase: true })
    ));
}

#[test]
fn another_key_is_a_new_key_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a");
    let (old, new) = (Identity::generate(), Identity::generate());
    write(&place(&at, to(&old)));
    let files = || -> BTreeMap<String, Vec<u8>> {
        let all = std::fs::read_dir(&at).unwrap().flatten();
        all.map(|f| {
            (
                f.file_name().into_string().unwrap(),
                std::fs::read(f.path()).unwrap(),
            )
        })
        .collect()
    };
    let before = files();
    assert!(matches!(
        place(&at, with(&new)).rekey(&to(&new)),
        Err(Error::WrongKey { .. })
    ));
    assert_eq!(files(), before);
    place(&at, with(&old)).rekey(&to(&new)).unwrap();
    let mut after = files();
    assert_ne!(
        after.insert(KEY.to_owned(), before[KEY].clone()).as_ref(),
        Some(&before[KEY])
    );
    assert_eq!(after, before);
    assert_eq!(read(&place(&at, with(&new))).unwrap(), contents());
    assert!(matches!(
        place(&at, with(&old)).open(None).err(),
        Some(Error::WrongKey { .. })
    ));
}

#[test]
fn what_is_changed_cut_exchanged_or_taken_away_is_found_with_a_key_and_without() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::generate();
    let at = dir.path().join("a");
    write(&place(&at, to(&identity)));
    let plain = Directory::open(&at).unwrap();
    let found = check_files(&plain, None, 2, &|_| (), &Cancel::default()).unwrap();
    assert_eq!(
        (found.problems.len(), found.strays.len(), found.files),
        (0, 0, 5),
        "{found:?}"
    );
    let names: Vec<String> = plain.list().unwrap().into_iter().map(|e| e.name).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    let harm = |name: &str, what: &str, bytes: Option<Vec<u8>>| {
        let path = at.join(name);
        let before = std::fs::read(&path).unwrap();
        match bytes {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        // The index is for those without a key; who has one does not need it.
        let with_key = read(&place(&at, with(&identity)));
        if name != "penstock.encrypted.json" {
            let lost = with_key.is_ok_and(|all| all == contents());
            assert!(!lost, "{name} {what}: not noticed with a key");
        }
        let without = check_files(&plain, None, 1, &|_| (), &Cancel::default());
        // The key file has no digest; only an age file it must be.
        if name != KEY || bytes_differ_in_head(what) {
            let clean = without.is_ok_and(|found| found.problems.is_empty());
            assert!(!clean, "{name} {what}: not noticed without a key");
        }
        std::fs::write(&path, before).unwrap();
    };
    for name in &names {
        let bytes = std::fs::read(at.join(name)).unwrap();
        harm(name, "gone", None);
        harm(name, "empty", Some(Vec::new()));
        harm(name, "cut", Some(bytes[..bytes.len() - 1].to_vec()));
        harm(name, "longer", Some([&bytes[..], b"x"].concat()));
        let step = (bytes.len() / 40).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            harm(name, &format!("flipped at {at}"), Some(flipped));
        }
    }
    // Two whole files in each other's place.
    let read_file = |name: &str| std::fs::read(at.join(name)).unwrap();
    harm("000001.age", "exchanged", Some(read_file("000003.age")));
    assert_eq!(read(&place(&at, with(&identity))).unwrap(), contents());
}

/// Whether this harm to the key file can be seen without a key.
fn bytes_differ_in_head(what: &str) -> bool {
    matches!(what, "gone" | "empty" | "flipped at 0")
}

#[test]
fn an_archive_that_was_not_finished_opens_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::generate();
    let at = dir.path().join("a");
    let store = place(&at, to(&identity)).create(None).unwrap();
    marker::set(&*store, "1").unwrap();
    store.put("a", b"x").unwrap();
    let opened = place(&at, Keys::default()).open(None).unwrap();
    assert!(marker::get(&*opened).unwrap().is_some());
    assert!(listed(&*opened).unwrap().is_none());
    // A dump that fails removes what it wrote, and then the marker.
    for entry in store.list().unwrap() {
        store.remove(&entry.name).unwrap();
    }
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0);
}

#[test]
fn a_failure_after_names_were_written_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a");
    let store = place(&at, to(&Identity::generate())).create(None).unwrap();
    store.put("a", b"x").unwrap();
    store.put("a", b"replaced").unwrap();
    store.complete().unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    store.remove("a").unwrap();
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0);
}

#[test]
fn an_archive_that_is_not_encrypted_needs_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a");
    write(&place(&at, Keys::default()));
    assert_eq!(read(&place(&at, Keys::default())).unwrap(), contents());
    assert!(matches!(
        place(&at, passphrase("x")).open(None).err(),
        Some(Error::NotEncrypted)
    ));
    assert!(matches!(
        place(&at, passphrase("x")).rekey(&passphrase("y")),
        Err(Error::NotEncrypted)
    ));
}

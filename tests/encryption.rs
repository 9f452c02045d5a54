//! Encrypted archives: what others' programs make of them, and what somebody without the key can see.

use crate::kit::{Done, Pair, Tool, both};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROWS: &str = "CREATE DATABASE secretive; CREATE TABLE secretive.customers (id INT AUTO_INCREMENT PRIMARY KEY, \
    name VARCHAR(200)); INSERT INTO secretive.customers (name) VALUES ('Ada Lovelace'), ('Grace Hopper'); \
    CREATE VIEW secretive.names AS SELECT name FROM secretive.customers";

/// An identity file of age-keygen, and its recipient; `None` counts as a skip.
fn age_key(pair: &Pair, name: &str) -> Option<(String, String)> {
    let path = pair.path(name);
    let made = Command::new("age-keygen").arg("-o").arg(&path).output();
    let Ok(made) = made else {
        testkit::skip("age", "the program age is not on this machine");
        return None;
    };
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    let recipient = said
        .split_whitespace()
        .last()
        .expect("a recipient")
        .to_owned();
    Some((path.display().to_string(), recipient))
}

/// What the program `age` decrypts, with this identity file.
#[track_caller]
fn age_decrypts(identity: &Path, file: &Path) -> Vec<u8> {
    let mut age = Command::new("age");
    age.arg("-d")
        .arg("-i")
        .arg(identity)
        .arg(file)
        .stdin(Stdio::null());
    let done = age.output().expect("age runs");
    assert!(done.status.success(), "{}: {done:?}", file.display());
    done.stdout
}

fn verify(pair: &Pair, name: &str, more: &[&str]) -> Done {
    Tool::new(["verify"])
        .arg(pair.path(name))
        .args(more.iter().copied())
        .run()
}

fn restored(pair: &Pair, name: &str, more: &[&str]) {
    let _ = pair.target().script(b"DROP DATABASE IF EXISTS secretive");
    pair.load(name, more).ok().says(&["equal:"]);
    pair.same_checksums();
}

both!(the_program_age_opens_what_was_encrypted);
/// Two steps with the program of the format: its key opens the archive's key, which opens every file.
fn the_program_age_opens_what_was_encrypted(pair: &Pair) {
    let (Some(mine), Some(yours)) = (age_key(pair, "mine"), age_key(pair, "yours")) else {
        return;
    };
    pair.fill(ROWS);
    let to = [
        "--encrypt-to",
        &mine.1,
        "--encrypt-to",
        &yours.1,
        "--compression",
        "none",
    ];
    pair.dump("a", &to).ok();
    let at = pair.path("a");
    for identity in [&mine.0, &yours.0] {
        let key = age_decrypts(Path::new(identity), &at.join("penstock.key.age"));
        let key_file = pair.path("archive-key");
        std::fs::write(&key_file, key).expect("written");
        let names = age_decrypts(&key_file, &at.join("penstock.names.age"));
        let names: serde_json::Value = serde_json::from_slice(&names).expect("JSON");
        let files = names["files"].as_object().expect("files");
        let chunk = files
            .iter()
            .find(|(name, _)| name.ends_with(".tsv"))
            .expect("a chunk");
        let object = chunk.1["object"].as_str().expect("a name");
        let rows = age_decrypts(&key_file, &at.join(object));
        assert_eq!(rows, b"1\tAda Lovelace\n2\tGrace Hopper\n", "{chunk:?}");
        for (name, file) in files {
            let bytes = age_decrypts(
                &key_file,
                &at.join(file["object"].as_str().expect("a name")),
            );
            assert_eq!(
                bytes.len() as u64,
                file["bytes"].as_u64().expect("a size"),
                "{name}"
            );
        }
        verify(pair, "a", &["--identity", identity])
            .ok()
            .says(&["Archive is intact"]);
        restored(pair, "a", &["--identity", identity]);
    }
}

both!(what_is_visible_without_the_key);
fn what_is_visible_without_the_key(pair: &Pair) {
    let Some((identity, recipient)) = age_key(pair, "mine") else {
        return;
    };
    let Some((other, _)) = age_key(pair, "other") else {
        return;
    };
    pair.fill(ROWS);
    pair.dump("a", &["--encrypt-to", &recipient, "--compression", "none"])
        .ok();
    let secret = std::fs::read_to_string(&identity).expect("the identity");
    let secret = secret.lines().last().expect("a key").to_owned();
    for file in std::fs::read_dir(pair.path("a"))
        .expect("the archive")
        .flatten()
    {
        let name = file.file_name().into_string().expect("a name");
        let bytes = std::fs::read(file.path()).expect("read");
        for word in [
            "secretive",
            "customers",
            "Lovelace",
            "AGE-SECRET-KEY",
            &secret,
            &recipient,
        ] {
            let seen = bytes.windows(word.len()).any(|w| w == word.as_bytes());
            assert!(!seen && !name.contains(word), "{name}: {word}");
        }
    }
    // Without a key: the files can be checked, and nothing else.
    verify(pair, "a", &["--files-only"])
        .ok()
        .says(&["not checked", "encrypted"]);
    for done in [verify(pair, "a", &[]), pair.load("a", &[])] {
        done.code(2).says(&["it is encrypted", "--identity"]);
    }
    let against = ["--against", &pair.source().uri()];
    verify(pair, "a", &against)
        .code(2)
        .says(&["it is encrypted"]);
    // With a wrong one nothing happens either.
    let wrong = ["--identity", &other];
    for done in [verify(pair, "a", &wrong), pair.load("a", &wrong)] {
        done.code(2).says(&["no identity that was named opens it"]);
    }
    assert_eq!(pair.target_schemas(), [""; 0]);
    let phrase = written(pair, "phrase", "a passphrase\n");
    verify(pair, "a", &["--passphrase-file", &phrase])
        .code(2)
        .says(&["--identity"]);
    let right = ["--identity", &identity, "--against", &pair.source().uri()];
    verify(pair, "a", &right).ok().says(&["Equal"]);
}

fn written(pair: &Pair, name: &str, text: &str) -> String {
    let path: PathBuf = pair.path(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

both!(a_passphrase_and_another_key);
fn a_passphrase_and_another_key(pair: &Pair) {
    pair.fill(ROWS);
    let right = written(pair, "right", "correct horse battery\n");
    let wrong = written(pair, "wrong", "Correct horse battery\n");
    let by = |file: &str| ["--passphrase-file".to_owned(), file.to_owned()];
    let args = by(&right);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    pair.dump("a", &args).ok();
    restored(pair, "a", &args);
    verify(pair, "a", &["--passphrase-file", &wrong])
        .code(2)
        .says(&["the passphrase does not open it"]);
    let Some((identity, recipient)) = age_key(pair, "mine") else {
        return;
    };
    let at = pair.path("a").display().to_string();
    let data = || std::fs::read(pair.path("a").join("000001.age")).expect("a file");
    let before = data();
    Tool::new([
        "rekey",
        &at,
        "--passphrase-file",
        &wrong,
        "--encrypt-to",
        &recipient,
    ])
    .run()
    .code(2)
    .says(&["the passphrase does not open it", "nothing was changed"]);
    Tool::new([
        "rekey",
        &at,
        "--passphrase-file",
        &right,
        "--encrypt-to",
        &recipient,
    ])
    .run()
    .ok()
    .says(&["Key changed"]);
    assert_eq!(data(), before);
    verify(pair, "a", &args).code(2).says(&["--identity"]);
    restored(pair, "a", &["--identity", &identity]);
    // And back to a passphrase, which age asks for on a terminal only.
    Tool::new([
        "rekey",
        &at,
        "--identity",
        &identity,
        "--new-passphrase-file",
        &right,
    ])
    .run()
    .ok();
    verify(pair, "a", &args).ok();
}

both!(harm_to_an_encrypted_archive_is_found);
fn harm_to_an_encrypted_archive_is_found(pair: &Pair) {
    let Some((identity, recipient)) = age_key(pair, "mine") else {
        return;
    };
    pair.fill(ROWS);
    pair.dump("a", &["--encrypt-to", &recipient]).ok();
    let key = ["--identity", &identity];
    let all = std::fs::read_dir(pair.path("a"))
        .expect("the archive")
        .flatten();
    let mut seen = 0;
    for file in all.map(|f| f.path()).collect::<Vec<_>>() {
        let bytes = std::fs::read(&file).expect("read");
        let name = file
            .file_name()
            .and_then(|n| n.to_str())
            .expect("a name")
            .to_owned();
        let mut flipped = bytes.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        for harmed in [Some(flipped), Some(bytes[..bytes.len() - 1].to_vec()), None] {
            match harmed {
                Some(bytes) => std::fs::write(&file, bytes).expect("written"),
                None => std::fs::remove_file(&file).expect("removed"),
            }
            let missing_key = name == "penstock.key.age" && !file.exists();
            let list = name == "penstock.encrypted.json";
            // The key file has no digest that could be checked without a key.
            if name != "penstock.key.age" || missing_key {
                let done = verify(pair, "a", &["--files-only"]);
                assert_ne!(done.code, 0, "{name}: {}", done.said());
            }
            let done = verify(pair, "a", &key);
            // Who has a key needs no list.
            let code = if list { 0 } else { 5 };
            assert_eq!(done.code, code, "{name}: {}", done.said());
            if !list {
                let loaded = pair.load("a", &key);
                assert_ne!(loaded.code, 0, "{name}: {}", loaded.said());
                let _ = pair.target().script(b"DROP DATABASE IF EXISTS secretive");
            }
            seen += 1;
        }
        std::fs::write(&file, &bytes).expect("written");
    }
    assert!(seen > 20, "{seen}");
    verify(pair, "a", &key).ok();
}

both!(encrypted_backups_in_a_repository);
fn encrypted_backups_in_a_repository(pair: &Pair) {
    let Some((identity, recipient)) = age_key(pair, "mine") else {
        return;
    };
    let Some((other, other_recipient)) = age_key(pair, "other") else {
        return;
    };
    pair.fill(ROWS);
    let repo = pair.path("repo").display().to_string();
    let verb = |words: &[&str]| {
        Tool::new(words.iter().copied())
            .args(["--repository", &repo])
            .run()
    };
    Tool::new(["init", &repo, "--encrypted"]).run().ok();
    let from = pair.source().uri();
    verb(&["backup", "shop", &from])
        .code(2)
        .says(&["encrypted backups only", "--encrypt-to"]);
    verb(&["backup", "shop", &from, "--encrypt-to", &recipient]).ok();
    let catalog = std::fs::read_dir(pair.path("repo/catalog"))
        .expect("the catalog")
        .flatten();
    for entry in catalog {
        let text = std::fs::read_to_string(entry.path()).expect("an entry");
        assert!(
            !text.contains("customers") && !text.contains("gtid"),
            "{text}"
        );
    }
    verb(&["list"]).ok().says(&["1 backup", "encrypted"]);
    verb(&["check"])
        .code(2)
        .says(&["is encrypted", "--files-only"]);
    verb(&["check", "--files-only"]).ok().says(&["intact"]);
    verb(&["check", "--identity", &other])
        .code(2)
        .says(&["no identity"]);
    verb(&["check", "--identity", &identity])
        .ok()
        .says(&["intact"]);
    let into = pair.target().uri();
    verb(&["restore", "--into", &into])
        .code(2)
        .says(&["--identity"]);
    verb(&["restore", "--into", &into, "--identity", &identity])
        .ok()
        .says(&["equal:"]);
    pair.same_checksums();
    // A backup whose run was killed before it was listed is listed by the next, without a key.
    Tool::new([
        "backup",
        "shop",
        &from,
        "--encrypt-to",
        &recipient,
        "--repository",
        &repo,
    ])
    .env("PENSTOCK_KILL_AT", "the backup is whole#1")
    .run()
    .code(137);
    verb(&["list"]).ok().says(&["1 backup"]);
    verb(&["prune", "--keep-last", "9"]).ok();
    verb(&["list"]).ok().says(&["2 backups"]);
    verb(&["check", "--identity", &identity])
        .ok()
        .says(&["2 backups: intact"]);
    // Another key for all of them.
    verb(&[
        "rekey",
        "--identity",
        &identity,
        "--encrypt-to",
        &other_recipient,
    ])
    .ok();
    verb(&["check", "--identity", &identity]).code(2);
    verb(&["check", "--identity", &other])
        .ok()
        .says(&["2 backups: intact"]);
    verb(&["prune", "--keep-last", "1", "--force"]).ok();
    verb(&["list"]).ok().says(&["1 backup"]);
}

both!(options_of_encryption_that_do_not_apply);
fn options_of_encryption_that_do_not_apply(pair: &Pair) {
    pair.fill(ROWS);
    pair.dump("plain", &[]).ok();
    let phrase = written(pair, "phrase", "a passphrase\n");
    let by = ["--passphrase-file", &phrase];
    for done in [verify(pair, "plain", &by), pair.load("plain", &by)] {
        done.code(2).says(&["it is not encrypted", "leave out"]);
    }
    let script = written(pair, "a.sql", "SELECT 1;\n");
    Tool::new(["load", &script, "--into", &pair.target().uri()])
        .args(by)
        .run()
        .code(2)
        .says(&["--passphrase-file", "archive"]);
    Tool::new(["verify", "--server", "mysql://a/", "--server", "mysql://b/"])
        .args(by)
        .run()
        .code(2);
    for recipient in ["age1nonsense", "ssh-ed25519 AAAA", "AGE-SECRET-KEY-1XYZ"] {
        let done = pair
            .dump("b", &["--encrypt-to", recipient])
            .code(2)
            .says(&["--encrypt-to"]);
        assert!(!done.said().contains("XYZ"), "{}", done.said());
    }
    pair.dump("b", &["--passphrase-file", "/nonexistent"])
        .code(2)
        .says(&["/nonexistent"]);
    assert!(!pair.path("b").exists());
}

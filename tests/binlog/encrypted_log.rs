//! Logs that the server itself encrypts: MySQL sends them decrypted, and MariaDB sends them changed.

use super::kit::{Logged, assert_same, server_with, write};
use crate::kit::Tool;
use testkit::{Kind, Server, Setup};

fn encrypting(kind: Kind, keys: &tempfile::TempDir, option: &str) -> Option<Server> {
    if !testkit::available(kind) {
        return None;
    }
    let setup = Setup::new(kind).expect("a set-up");
    let setup = setup.with_keyring(keys.path()).expect("a keyring")?;
    Some(server_with(setup, kind, 1, &[option]))
}

/// What is stored is what the server decrypts; nothing of it can be read in the server's own files.
#[test]
fn mysql_sends_what_it_decrypts() {
    let keys = tempfile::tempdir().expect("a directory");
    let Some(server) = encrypting(Kind::MySql, &keys, "--binlog-encryption=ON") else {
        return;
    };
    let logged = Logged::of(server);
    write(&logged.server, 5);
    logged
        .server
        .script(b"INSERT INTO d.t (v) VALUES ('in-plain-text'); FLUSH BINARY LOGS")
        .expect("a row");
    write(&logged.server, 5);
    logged.once().ok();
    let holds = |bytes: &[u8]| bytes.windows(13).any(|w| w == b"in-plain-text");
    let (stored, files) = (logged.stored(1), logged.files());
    assert!(!files.values().any(|f| holds(f)));
    assert!(stored.values().any(|f| holds(f)));
    // A header comes before what is encrypted byte for byte.
    for (name, bytes) in &stored {
        assert_eq!(bytes.len() + 512, files[name].len(), "{name}");
    }
    logged.on(&["check"]).ok().says(&["shop: intact"]);
    logged.once().ok().says(&["nothing new"]);
    // The same files, once they are not encrypted any more, are these bytes.
    logged
        .server
        .script(b"SET GLOBAL binlog_encryption = OFF; FLUSH BINARY LOGS")
        .expect("it is off");
    write(&logged.server, 3);
    logged.once().ok();
    let plain = |all: std::collections::BTreeMap<String, Vec<u8>>| {
        all.into_iter()
            .filter(|(name, _)| !stored.contains_key(name))
            .collect()
    };
    assert_same(&plain(logged.stored(1)), &plain(logged.files()));
    logged.on(&["check"]).ok();
}

/// It is refused by name.
#[test]
fn mariadb_is_refused() {
    let keys = tempfile::tempdir().expect("a directory");
    let Some(server) = encrypting(Kind::MariaDb, &keys, "--encrypt-binlog=ON") else {
        return;
    };
    let logged = Logged::of(server);
    logged
        .server
        .client("SET GLOBAL binlog_format = ROW")
        .expect("a setting");
    write(&logged.server, 5);
    logged
        .once()
        .code(1)
        .says(&["the file is encrypted by the server", "encrypt_binlog=OFF"]);
    logged
        .on(&["binlog", "find", "shop"])
        .ok()
        .says(&["No transaction found"]);
    // What the server sends is changed, and can be read.
    Tool::new([
        "binlog",
        "show",
        "--no-defaults",
        "--user",
        "root",
        "--socket",
    ])
    .arg(logged.server.socket())
    .run()
    .ok()
    .says(&["insert d.t: id=9, v='4'"]);
}

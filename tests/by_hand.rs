//! docs/format.md says how a table is restored without penstock: that recipe, as it stands on the page,
//! gives the same rows, on a server whose time zone is not UTC.

use crate::kit::{Pair, both, own_server};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The shell commands of the page.
fn recipe() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, part) = page.split_once("### Restoring by hand").expect("a section");
    let (_, code) = part.split_once("```sh\n").expect("commands");
    code.split_once("```").expect("their end").0.to_owned()
}

both!(the_recipe_for_restoring_by_hand);
fn the_recipe_for_restoring_by_hand(pair: &Pair) {
    let Some(target) = own_server(pair.kind, &["--default-time-zone=+02:00"]) else {
        return;
    };
    if Command::new("zstd").arg("--version").output().is_err() {
        testkit::skip("zstd", "no program zstd");
        return;
    }
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.z (id INT PRIMARY KEY); INSERT INTO shop.z VALUES (0), (7); \
        CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, \
        at TIMESTAMP NULL, b BLOB, FOREIGN KEY (id) REFERENCES shop.z (id)); \
        SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; \
        INSERT INTO shop.t VALUES (0, 'ä\\t\\\\😀', '2024-06-01 12:00:00', 0x00FF0A5C), \
        (7, NULL, '2024-12-31 23:30:00', REPEAT('x', 200)); \
        CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.name = 'from the trigger';",
    );
    pair.dump("shop", &[]).ok();
    // `mysql`, as the page calls it, is the client of this server.
    let bin = pair.path("bin");
    fs::create_dir(&bin).expect("a directory");
    let mut script = "#!/bin/sh\nexec".to_owned();
    for word in target.install().program("client").expect("a client") {
        write!(script, " '{}'", word.to_str().expect("text")).expect("text");
    }
    let socket = target.socket();
    writeln!(
        script,
        " --no-defaults --user=root --socket='{}' \"$@\"",
        socket.display()
    )
    .expect("text");
    let client = bin.join("mysql");
    fs::write(&client, script).expect("written");
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).expect("executable");
    let path = std::env::var("PATH").expect("a PATH");
    let out = Command::new("bash")
        .args(["-euc", &recipe()])
        .current_dir(pair.path("."))
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .expect("bash starts");
    let said = [out.stdout, out.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        out.status.success() && !said.contains("Warning (Code"),
        "{said}"
    );
    let sql = "SELECT id, HEX(name), UNIX_TIMESTAMP(at), HEX(b) FROM shop.t ORDER BY id";
    let rows = target.client(sql).expect("rows");
    assert_eq!(rows, pair.source().client(sql).expect("rows"), "{said}");
    assert_eq!(rows.len(), 2);
    let triggers = "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'shop'";
    assert_eq!(target.value(triggers).expect("a count"), "1");
    let zone = target.value("SELECT @@global.time_zone").expect("a zone");
    assert_eq!(zone, "+02:00");
}

//! The one archive at hand that MySQL Shell itself has written (8.0.21, from a MySQL 5.7): geometry and BLOBs
//! whose base64 is broken into lines, odd names, old definitions, accounts. Its rows are compared with what the server
//! makes of the same files by itself.

use crate::kit::{Pair, both};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::sample::shared_data;

/// Unpacks the archive; `None` where it is not there, which counts as a skip.
fn unpacked(pair: &Pair) -> Option<PathBuf> {
    let packed = shared_data().join("mysqlshell-8.0.21/dump_instance_8.0.21.tar.gz");
    if !packed.is_file() {
        let reason = format!("no {} (PENSTOCK_SHARED)", packed.display());
        testkit::skip("samples", reason);
        return None;
    }
    let into = pair.path("shell");
    fs::create_dir(&into).expect("a directory");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&packed).arg("-C").arg(&into);
    assert!(tar.status().expect("tar starts").success());
    Some(into.join("dump_instance_8.0.21"))
}

both!(an_archive_of_mysql_shell_loads);
fn an_archive_of_mysql_shell_loads(pair: &Pair) {
    let Some(archive) = unpacked(pair) else {
        return;
    };
    let from = archive.to_str().expect("a path").to_owned();
    pair.verify(&from).ok();
    let load = pair.load(&from, &[]);
    // Named, with the server's reason: its binary log takes only functions that say what they are.
    load.code(3).says(&[
        "bug9056_func1",
        "error 1418",
        "equal: 5,453 rows in 62 tables",
        "9 accounts of the archive",
        "'root'@'localhost'",
        "@.users.sql",
    ]);
    assert_eq!(pair.target_schemas().len(), 8);
    let tables = by_hand(pair, &archive);
    assert_eq!(tables, 62);
    let accounts = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'testusr%'";
    assert_eq!(pair.target().value(accounts).expect("a count"), "0");
}

/// Has the server itself read each data file into a second table, and compares the checksums; how many
/// tables that were.
fn by_hand(pair: &Pair, archive: &Path) -> usize {
    let mut conn = pair.target().conn().expect("a session");
    for sql in [
        "CREATE DATABASE t_byhand",
        "SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0",
    ] {
        conn.execute(sql).expect(sql);
    }
    let mut compared = 0;
    for entry in fs::read_dir(archive).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        if !name.ends_with(".json") || !name[1..].contains('@') {
            continue;
        }
        let meta = fs::read(&path).expect("metadata");
        let meta: Value = serde_json::from_slice(&meta).expect("JSON");
        let o = &meta["options"];
        let quoted = |v: &Value| format!("`{}`", v.as_str().expect("a name").replace('`', "``"));
        let original = format!("{}.{}", quoted(&o["schema"]), quoted(&o["table"]));
        let copy = format!("t_byhand.t{compared}");
        conn.execute(format!("CREATE TABLE {copy} LIKE {original}"))
            .expect("a table");
        let (mut columns, mut sets) = (Vec::new(), Vec::new());
        for (i, column) in o["columns"].as_array().expect("columns").iter().enumerate() {
            match o["decodeColumns"][column.as_str().expect("a name")].as_str() {
                Some(function) => {
                    columns.push(format!("@c{i}"));
                    sets.push(format!("{} = {function}(@c{i})", quoted(column)));
                }
                None => columns.push(quoted(column)),
            }
        }
        let set = match sets.len() {
            0 => String::new(),
            _ => format!(" SET {}", sets.join(", ")),
        };
        let load = format!(
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE {copy} CHARACTER SET utf8mb4 ({}){set}",
            columns.join(", ")
        );
        let base = name.strip_suffix(".json").expect("JSON");
        // Small tables: each is one file.
        let file = ["", "@@0"].map(|n| archive.join(format!("{base}{n}.tsv.zst")));
        let file = file.iter().find(|f| f.is_file()).expect("a data file");
        let rows = zstd::decode_all(fs::File::open(file).expect("a file")).expect("rows");
        conn.load(&load, &mut &rows[..]).expect("rows stored");
        let mut checksum = |table: &str| {
            let rows = conn
                .fetch(format!("CHECKSUM TABLE {table}"))
                .expect("a checksum");
            rows[0][1].clone().expect("a number")
        };
        assert_eq!(checksum(&original), checksum(&copy), "{original}");
        compared += 1;
    }
    compared
}

both!(the_accounts_of_mysql_shell_are_made);
fn the_accounts_of_mysql_shell_are_made(pair: &Pair) {
    let Some(archive) = unpacked(pair) else {
        return;
    };
    let from = archive.to_str().expect("a path").to_owned();
    let listed = crate::kit::Tool::new(["list", "--json"])
        .arg(&archive)
        .run()
        .ok();
    let accounts = listed.summary()["accounts"].clone();
    assert_eq!(accounts.as_array().map(Vec::len), Some(9), "{accounts}");
    let some = ["--include-schemas", "world", "--include-users", "testusr*"];
    let load = pair
        .load(&from, &some)
        .code(if pair.is_mysql() { 3 } else { 0 });
    let ask = |sql: &str| pair.target().value(sql).expect("an answer");
    let hash = "'*196BDEDE2AE4F84CA44C47D54D78478C7E2BD7B7'";
    if pair.is_mysql() {
        // MySQL 9 has no plugin for such hashes.
        load.says(&[
            "account 'testusr1'@'localhost' is locked",
            "mysql_native_password",
        ]);
        let locked = "SELECT account_locked FROM mysql.user WHERE user = 'testusr1'";
        assert_eq!(ask(locked), "Y");
    } else {
        load.says(&["made: 6 accounts"]);
        let same = format!(
            "SELECT authentication_string = {hash} FROM mysql.user WHERE user = 'testusr1'"
        );
        assert_eq!(ask(&same), "1");
    }
    let granted = "SELECT COUNT(*) FROM mysql.db WHERE user = 'testusr6' AND db = 'mysqlaas_compat' AND select_priv = 'Y'";
    assert_eq!(ask(granted), "1");
    for n in 1..=6 {
        let sql = format!("DROP USER testusr{n}@localhost");
        pair.target().script(sql.as_bytes()).expect("nothing left");
    }
}

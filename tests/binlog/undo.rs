//! Changes taken back by the file that `binlog show --undo` writes: the tables are what they were.

use super::kit::Logged;
use super::values::{rows, tables};
use crate::kit::{Done, Tool, each_kind};
use std::path::Path;
use testkit::{Kind, Server};

fn undo(logged: &Logged, file: &Path, more: &[&str]) -> Done {
    let file = file.to_str().expect("a path");
    logged.on(&[&["binlog", "show", "shop", "--undo", file], more].concat())
}

/// The checksums of the tables.
fn checksums(server: &Server, tables: &[&str]) -> Vec<String> {
    let of = |table: &&str| {
        // Of all values, in no order; the server's own sum of a table of MariaDB leaves out what is NULL.
        let rows = server
            .client(&format!("CHECKSUM TABLE {table} EXTENDED"))
            .expect("a sum");
        let sum = rows[0][1].clone().expect("a sum");
        let count = server
            .value(&format!("SELECT COUNT(*) FROM {table}"))
            .expect("a count");
        format!("{table} {count} {sum}")
    };
    tables.iter().map(of).collect()
}

/// Changes of all kinds, chosen by a number.
fn change(n: u64, kind: Kind) -> String {
    let odd = "`odd ``name`";
    let mut all = vec![
        format!(
            "UPDATE v SET i = i + 1, vc = CONCAT(vc, '{n}'), f = f / 3, ts = '2001-01-0{} 00:00:00' WHERE id % 3 = {}",
            n % 9 + 1,
            n % 3
        ),
        format!(
            "UPDATE v SET lb = REVERSE(lb), e = 'x,y', st = 'p,q', b2 = b'101', bi = x'6100', v2 = 'й', da = '0000-00-00' WHERE id % 4 = {}",
            n % 4
        ),
        format!("UPDATE v SET id = id + 5000 WHERE id = {}", n % 5),
        format!("DELETE FROM v WHERE id % 7 = {}", n % 7),
        format!(
            "UPDATE v SET tx = NULL, c = 'ä''\\\\', ge = {} WHERE id % 2 = {}",
            "ST_GeomFromText('POINT(3 4)')",
            n % 2
        ),
        format!(
            "INSERT INTO nokey VALUES ({n}, 'x''\\\\\\n', x'2700', 0.7), ({n}, NULL, NULL, 1e-7)"
        ),
        "DELETE FROM nokey WHERE v = 'same' LIMIT 1".to_owned(),
        format!(
            "UPDATE nokey SET f = f * 1.1, v = UPPER(v) WHERE a % 2 = {}",
            n % 2
        ),
        "UPDATE nokey SET v = 'SAME' WHERE v = 'same'".to_owned(),
        format!(
            "UPDATE {odd} SET `a``b` = CONCAT(`a``b`, 'é') WHERE `from` = {}",
            n % 2
        ),
        format!("DELETE FROM {odd} WHERE `from` = {}", n % 3),
        format!("INSERT IGNORE INTO {odd} VALUES ({n}, 'новый')"),
    ];
    if kind != Kind::MySql55 {
        all.push(format!("UPDATE more SET id = id + 1000, t6 = '01:02:03.000004', w = 'ё', uc = 4294967295 WHERE id = {}", n % 3));
        all.push(format!("DELETE FROM more WHERE id % 5 = {}", n % 5));
        all.push(format!(
            "UPDATE more SET j = JSON_SET(j, '$.z', {n}) WHERE j LIKE '{{%'"
        ));
    }
    let sql = all[(n / 7 % all.len() as u64) as usize].clone();
    match kind {
        Kind::MySql55 => sql.replace("ST_GeomFromText", "GeomFromText"),
        _ => sql,
    }
}

/// The rows without JSON of types that JSON itself does not have: they come back as their text says, and a checksum is of more than that.
fn plain_rows(kind: Kind, id: u32) -> String {
    let time = "CAST(CAST('2024-01-01 10:11:12.5' AS DATETIME(6)) AS JSON)";
    rows(kind, id)
        .replace(time, "'\"text\"'")
        .replace("CAST(1.50 AS JSON)", "'1.5'")
}

fn changes_are_taken_back(kind: Kind) {
    let Some(logged) = Logged::new(kind, &["--binlog-format=ROW"]) else {
        return;
    };
    let server = &logged.server;
    let mut names = vec!["d.v", "d.nokey", "d.`odd ``name`"];
    if kind != Kind::MySql55 {
        names.push("d.more");
    }
    server.script(tables(kind).as_bytes()).expect("tables");
    server.script(plain_rows(kind, 0).as_bytes()).expect("rows");
    logged.backup();
    let before = checksums(server, &names);
    let from = server.field(
        match kind {
            Kind::MySql => "SHOW BINARY LOG STATUS",
            _ => "SHOW MASTER STATUS",
        },
        "Position",
    );
    let from = format!("binlog.000001:{}", from.expect("a place").expect("a place"));
    let file_now = server
        .client("SHOW BINARY LOGS")
        .expect("files")
        .last()
        .and_then(|r| r[0].clone());
    let from = from.replace("binlog.000001", &file_now.expect("a file"));
    // A fixed sequence of changes, with transactions of several.
    let mut n = crate::kit::sampling::seed() % 1000;
    let mut script = String::from(
        "USE d; SET NAMES utf8; SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'; SET SESSION time_zone = '+05:00';\n",
    );
    for round in 0..40 {
        n = (n * 6_364_136_223 + 1_442_695) % 1_000_003;
        match round % 5 {
            0 => script += "BEGIN;\n",
            4 => script += "COMMIT;\n",
            _ => {}
        }
        script += &format!("{};\n", change(n, kind));
    }
    script += "COMMIT;\n";
    server.script(script.as_bytes()).expect("changes");
    server
        .script(plain_rows(kind, 700).as_bytes())
        .expect("rows");
    let after = checksums(server, &names);
    assert_ne!(before, after);
    logged.once().ok();
    let file = logged.path("back.sql");
    let done = undo(&logged, &file, &["--from", &from]).ok();
    let done = done.says(&["Statements written, and none of them run", "d.v"]);
    let text = std::fs::read(&file).expect("a file");
    assert_eq!(checksums(server, &names), after, "it was run");
    // Never over a file, and nothing else is left beside it.
    undo(&logged, &file, &["--from", &from])
        .code(10)
        .says(&["exists"]);
    assert_eq!(std::fs::read(&file).expect("a file"), text);
    server
        .script(&text)
        .unwrap_or_else(|e| panic!("{e:?}\n{}", done.out));
    assert_eq!(checksums(server, &names), before);
    // The same from the server's own log and definitions: taken back once more, it is what it was then.
    let again = logged.path("again.sql");
    crate::kit::Tool::new([
        "binlog",
        "show",
        "--no-defaults",
        "--user",
        "root",
        "--socket",
    ])
    .arg(server.socket())
    .arg("--undo")
    .arg(&again)
    .args(["--from", &from])
    .run()
    .ok();
    let text = std::fs::read(&again).expect("a file");
    server.script(&text).expect("statements");
    assert_eq!(checksums(server, &names), before);
    let left: Vec<_> = std::fs::read_dir(file.parent().expect("a directory"))
        .expect("a list")
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}
each_kind!(changes_are_taken_back; mysql, mariadb, mariadb118, mysql55);

/// What cannot be taken back is named, and then there is no file.
fn what_cannot_be_taken_back_is_refused(kind: Kind) {
    let Some(logged) = Logged::new(kind, &["--binlog-row-metadata=FULL", "--binlog-format=ROW"])
    else {
        return;
    };
    let server = &logged.server;
    server
        .script(
            b"CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, g INT AS (id + 1) STORED, v INT);
              CREATE TABLE u (id INT PRIMARY KEY); CREATE TABLE w (id INT PRIMARY KEY);
              CREATE TRIGGER tr AFTER INSERT ON w FOR EACH ROW INSERT INTO u VALUES (NEW.id + 100);",
        )
        .expect("tables");
    logged.backup();
    server
        .script(
            b"USE d; INSERT INTO t (id, v) VALUES (1, 1), (2, 2); INSERT INTO u VALUES (1);
              CREATE TABLE other (a INT); SET SESSION binlog_format = STATEMENT; UPDATE u SET id = 7; SET SESSION binlog_format = ROW;
              INSERT INTO w VALUES (5); UPDATE t SET v = 3 WHERE id = 1;",
        )
        .expect("writes");
    logged.once().ok();
    let file = logged.path("back.sql");
    let undo = |more: &[&str]| undo(&logged, &file, more);
    undo(&[]).code(2).says(&["the whole log"]);
    // An empty variable of a shell is no selection.
    undo(&["--table", ""]).code(2).says(&["--table is empty"]);
    // A place that the log does not have, and an end before the beginning.
    undo(&["--table", "d.t", "--to", "mysql-bin.999999:4"])
        .code(2)
        .says(&["the log has no file mysql-bin.999999"]);
    undo(&["--schema", "d", "--limit", "3"])
        .code(2)
        .says(&["--limit"]);
    undo(&["--schema", "d"]).code(2).says(&[
        "CREATE TABLE other (a INT)",
        "UPDATE u SET id = 7",
        "rows of d.w",
        "triggers",
        "nothing was written",
    ]);
    undo(&["--table", "d.u"])
        .code(2)
        .says(&["UPDATE u SET id = 7"]);
    assert!(!file.exists());
    // Other tables, and statements that are not about this one, are left out and counted.
    let after = server.value("SELECT MAX(id) FROM d.u").expect("a value");
    undo(&["--table", "d.t"])
        .code(2)
        .says(&["CREATE TABLE t (id INT PRIMARY KEY"]);
    let inserts = ["--table", "d.t", "--kind", "insert", "--json", "--quiet"];
    let first = logged.on(&[&["binlog", "show", "shop"][..], &inserts].concat());
    let first = first.ok().json()[0]["gtid"]
        .as_str()
        .expect("a name")
        .to_owned();
    undo(&["--table", "d.t", "--from", &first])
        .ok()
        .says(&["d.t: 3 changes", "left out"]);
    let text = std::fs::read_to_string(&file).expect("a file");
    assert!(!text.contains("`g`"), "{text}");
    // Triggers that an account may not see are not taken for none.
    server
        .script(
            b"CREATE USER t_log@localhost; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO t_log@localhost;
              GRANT SELECT ON d.* TO t_log@localhost;",
        )
        .expect("an account");
    let uri = server.uri().replace("root@", "t_log@");
    let unseen = logged.path("unseen.sql");
    Tool::new([
        "binlog",
        "show",
        "--no-defaults",
        &uri,
        "--table",
        "d.w",
        "--from",
        &first,
        "--undo",
    ])
    .arg(&unseen)
    .run()
    .code(2)
    .says(&["lacks TRIGGER"]);
    assert!(!unseen.exists());
    assert!(
        text.contains(
            "UPDATE `d`.`t` SET `id` = 1, `v` = 1 WHERE `id` <=> 1 AND `v` <=> 3 LIMIT 1;"
        ),
        "{text}"
    );
    server.script(text.as_bytes()).expect("statements");
    assert_eq!(
        server.value("SELECT COUNT(*) FROM d.t").expect("a value"),
        "0"
    );
    assert_eq!(
        server.value("SELECT MAX(id) FROM d.u").expect("a value"),
        after
    );
    let nothing = logged.path("nothing.sql");
    let nothing_said = logged.on(&[
        "binlog",
        "show",
        "shop",
        "--undo",
        nothing.to_str().expect("a path"),
        "--table",
        "d.absent",
    ]);
    nothing_said
        .ok()
        .says(&["No change of a row found, and no file written"]);
    assert!(!nothing.exists());
}
each_kind!(what_cannot_be_taken_back_is_refused; mysql, mariadb);

/// An undo file has all of what was asked for, or is not there: nothing that may have changed the rows is passed over.
fn what_may_be_missing_is_refused(kind: Kind) {
    let more = [
        "--binlog-row-metadata=FULL",
        "--binlog-format=ROW",
        "--secure-file-priv=",
    ];
    let Some(logged) = Logged::new(kind, &more) else {
        return;
    };
    let server = &logged.server;
    let script = |sql: &str| server.script(sql.as_bytes()).expect("done");
    script(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT, e ENUM('a','b')); \
        INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b');",
    );
    logged.backup();
    script("DELETE FROM d.t WHERE id = 1;");
    // A statement in the log instead of the rows; what it deletes is not known.
    script("SET SESSION binlog_format = STATEMENT; DELETE FROM d.t WHERE v = 2;");
    script("SET sql_mode = ''; INSERT INTO d.t VALUES (3, 3, 'none of them');");
    let rows = logged.path("rows.csv");
    std::fs::write(&rows, "7\t7\ta\n").expect("a file");
    script(&format!(
        "SET SESSION binlog_format = STATEMENT; LOAD DATA INFILE '{}' INTO TABLE d.t;",
        rows.display()
    ));
    script("FLUSH BINARY LOGS;");
    script("INSERT INTO d.t VALUES (4, 4, 'a');");
    script("FLUSH BINARY LOGS;");
    script("INSERT INTO d.t VALUES (5, 5, 'a');");
    logged.once().ok();
    let file = logged.path("back.sql");
    let undo = |more: &[&str]| undo(&logged, &file, more);
    let found = |more: &[&str]| {
        let words = [
            "binlog", "show", "shop", "--table", "d.t", "--json", "--quiet",
        ];
        logged.on(&[&words[..], more].concat()).ok().json()
    };
    let named = |more: &[&str]| -> Vec<String> {
        let all = found(more);
        let names = all.iter().filter(|e| e["event"] == "transaction");
        names
            .map(|t| t["gtid"].as_str().expect("a name").to_owned())
            .collect()
    };
    let deleted = &named(&["--kind", "delete"])[0];
    // Asked for deletes alone, the statement may have been one.
    undo(&["--table", "d.t", "--kind", "delete", "--from", deleted])
        .code(2)
        .says(&["DELETE FROM d.t WHERE v = 2", "LOAD DATA"]);
    // SELECT gives an empty text for it, and no statement in strict mode stores it.
    let lines = found(&["--kind", "insert", "--from", deleted]);
    let row = lines.iter().find(|e| e["event"] == "row").expect("a row");
    assert!(row.to_string().contains(r#""e":"""#), "{row}");
    let inserts = named(&["--kind", "insert", "--from", deleted]);
    let odd = &inserts[0];
    undo(&["--table", "d.t", "--gtid", odd])
        .code(2)
        .says(&["column e has ENUM's value that is no member"]);
    let (first, last) = (&inserts[1], inserts.last().expect("a transaction"));
    // A name that the log does not have, and an end before the beginning.
    let unknown = match kind == Kind::MySql {
        true => "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7".to_owned(),
        false => "7-7-7".to_owned(),
    };
    for option in ["--from", "--to"] {
        undo(&["--table", "d.t", option, &unknown])
            .code(2)
            .says(&["the log has no transaction"]);
    }
    undo(&["--table", "d.t", "--from", last, "--to", first])
        .code(2)
        .says(&["--to"]);
    assert!(!file.exists());
    // A lost segment: whatever was in it is not taken back.
    let names = logged.files();
    let names: Vec<&String> = names.keys().collect();
    let (middle, after) = (names[names.len() - 2], names[names.len() - 1]);
    let mut removed = 0;
    for entry in std::fs::read_dir(logged.place())
        .expect("a directory")
        .flatten()
    {
        if entry
            .file_name()
            .to_string_lossy()
            .contains(&format!("@{middle}@"))
        {
            std::fs::remove_file(entry.path()).expect("removed");
            removed += 1;
        }
    }
    assert!(removed > 0, "{middle}");
    undo(&["--table", "d.t", "--from", odd, "--to", last])
        .code(2)
        .says(&["a part of the log is missing", &format!("to {after}:0")]);
    assert!(!file.exists());
    undo(&["--table", "d.t", "--gtid", last]).ok();
    assert!(file.exists());
}
each_kind!(what_may_be_missing_is_refused; mysql, mariadb);

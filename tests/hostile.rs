//! Hostile names, archives and servers can make a run fail. They cannot make it execute anything,
//! read other files, or write control sequences to a terminal.

use crate::kit::{Pair, Tool, both};
use std::fs;
use wire::Endpoint;
use wire::rogue::{Reply, Rogue, Script};

/// Names that elsewhere are paths, code, patterns or devices.
fn names() -> Vec<String> {
    let mut all: Vec<String> = [
        "../../x",
        "a/b",
        "a\\b",
        "..",
        ".",
        "it's",
        "q\"q",
        "back`tick",
        "new\nline",
        "tab\tx",
        "cr\rx",
        "%",
        "%41",
        "@",
        "a@b",
        "sp ace",
        "x.json",
        "x.sql",
        "a.triggers",
        "a.pre",
        "CON",
        "nul",
        "-- x",
        "/*x*/",
        "*",
        "?",
        "$(id)",
        "; DROP TABLE t; --",
        "\u{1b}[31mred\u{1b}]0;title\u{7}",
        "\u{202e}rtl",
        "日本語",
        "Case",
        "case",
        "CASE",
        "#sql-1",
        "@@0",
        "x@@0",
        "été",
        "penstock",
        "~",
    ]
    .map(str::to_owned)
    .to_vec();
    // Servers name files after tables, and that makes some characters longer.
    all.push("é".repeat(64));
    all.push("語".repeat(40));
    all.push("@".repeat(40));
    all
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

both!(hostile_names_are_loaded_and_escaped_on_the_terminal);
fn hostile_names_are_loaded_and_escaped_on_the_terminal(pair: &Pair) {
    let mut conn = pair.source().conn().expect("a connection");
    conn.execute("SET NAMES utf8mb4").expect("a setting");
    let names = names();
    conn.execute("CREATE DATABASE `h o/s..t'@%`")
        .expect("a schema");
    for (n, name) in names.iter().enumerate() {
        let table = format!("`h o/s..t'@%`.{}", quoted(name));
        conn.execute(format!(
            "CREATE TABLE {table} ({} INT PRIMARY KEY, v VARCHAR(80))",
            quoted(name)
        ))
        .unwrap_or_else(|e| panic!("{name:?}: {e}"));
        conn.execute(format!(
            "INSERT INTO {table} VALUES ({n}, {:?})",
            n.to_string()
        ))
        .expect("a row");
    }
    // The same names for schemas.
    for name in names.iter().filter(|n| !n.starts_with('#')) {
        conn.execute(format!("CREATE DATABASE {}", quoted(name)))
            .unwrap_or_else(|e| panic!("{name:?}: {e}"));
        conn.execute(format!(
            "CREATE TABLE {}.t (id INT PRIMARY KEY)",
            quoted(name)
        ))
        .expect("a table");
        conn.execute(format!("INSERT INTO {}.t VALUES (1)", quoted(name)))
            .expect("a row");
        conn.execute(format!(
            "CREATE VIEW {}.`v\u{1b}[7m` AS SELECT 1 AS `c\u{1b}[7m`",
            quoted(name)
        ))
        .expect("a view");
    }
    drop(conn);
    let dump = pair.dump("deep/a", &[]).ok();
    let load = pair.load("deep/a", &[]).ok().says(&["equal:"]);
    pair.same_checksums();
    let again = pair.load("deep/a", &[]).code(10);
    pair.target()
        .client("UPDATE `h o/s..t'@%`.`\u{1b}[31mred\u{1b}]0;title\u{7}` SET v = 'x'")
        .expect("an update");
    let differs = pair.verify_against("deep/a", pair.target()).code(4);
    for said in [dump.said(), load.said(), again.said(), differs.said()] {
        assert!(
            !said.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']),
            "{said:?}"
        );
    }
    // All files are in the one directory.
    let around: Vec<_> = fs::read_dir(pair.path("deep"))
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(around, ["a"]);
    assert!(
        fs::read_dir(pair.path("deep/a"))
            .expect("the archive")
            .flatten()
            .all(|e| e.file_type().is_ok_and(|t| t.is_file()))
    );
}

fn small(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE hs; CREATE TABLE hs.t (id INT PRIMARY KEY, v TEXT); \
        INSERT INTO hs.t VALUES (1, 'one'); CREATE PROCEDURE hs.p() SELECT 1; \
        CREATE VIEW hs.v AS SELECT 1 AS x;",
    );
    pair.target()
        .script(
            b"CREATE DATABASE keep; CREATE TABLE keep.t (id INT); INSERT INTO keep.t VALUES (1);",
        )
        .expect("a table");
}

/// The archive as if MySQL Shell had written it: it has no digests that would protect it.
fn unsealed(pair: &Pair, name: &str) {
    pair.dump(name, &["--compression", "none"]).ok();
    let directory = pair.path(name);
    fs::remove_file(directory.join("penstock.json")).expect("removed");
    edit(pair, name, "@.json", |text| {
        let mut root: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        root["dumper"] = "mysqlsh Ver 9.6.0".into();
        root.to_string()
    });
}

fn edit(pair: &Pair, name: &str, file: &str, change: impl Fn(String) -> String) {
    let path = pair.path(name).join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"));
    fs::write(&path, change(text)).expect("written");
}

both!(unexpected_statements_are_not_run);
fn unexpected_statements_are_not_run(pair: &Pair) {
    small(pair);
    let bad = [
        "INSTALL PLUGIN evil SONAME 'evil.so'",
        "SET GLOBAL max_connections = 77",
        "CREATE FUNCTION evil RETURNS STRING SONAME 'evil.so'",
        "DROP TABLE keep.t",
        "DROP DATABASE keep",
        "DELETE FROM keep.t",
        "INSERT INTO keep.t VALUES (2)",
        "GRANT ALL ON *.* TO root@localhost",
        "CREATE USER t_evil@localhost",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE keep.t",
        "SELECT 'x' INTO OUTFILE '/tmp/penstock-evil'",
        "/*!50000 SET GLOBAL max_connections = 77 */",
        "/*M!100000 SET GLOBAL max_connections = 77 */",
        "SET @@global.max_connections = 77",
        "SET PERSIST max_connections = 77",
        "ALTER TABLE keep.t ADD x INT",
        "RENAME TABLE keep.t TO keep.u",
        "TRUNCATE keep.t",
        "CALL hs.p()",
        "CREATE TABLE keep.evil (id INT)",
        "CREATE TRIGGER keep.evil BEFORE INSERT ON keep.t FOR EACH ROW SET @a = 1",
    ];
    for (n, statement) in bad.iter().enumerate() {
        for file in ["hs@t.sql", "hs.sql"] {
            let name = format!("{n}{file}");
            unsealed(pair, &name);
            edit(pair, &name, file, |text| format!("{text}\n{statement};\n"));
            let done = pair.load(&name, &[]);
            // Dumps of MySQL Shell do have DROP statements, which penstock never runs.
            if !statement.starts_with("DROP") {
                assert_ne!(
                    done.code,
                    0,
                    "{statement} in {file} was passed over in silence\n{}",
                    done.said()
                );
            }
            let keep = pair
                .target()
                .client("SELECT * FROM keep.t")
                .unwrap_or_else(|e| panic!("{statement} in {file}: {e:?}"));
            assert_eq!(keep, [[Some("1".to_owned())]], "{statement} in {file}");
            assert_eq!(
                pair.target()
                    .value(
                        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'keep'"
                    )
                    .expect("a count"),
                "1",
                "{statement} in {file}"
            );
            assert_eq!(
                pair.target()
                    .value(
                        "SELECT COUNT(*) FROM information_schema.triggers \
                        WHERE trigger_schema = 'keep'"
                    )
                    .expect("a count"),
                "0",
                "{statement} in {file}"
            );
            assert_eq!(
                pair.target()
                    .value("SELECT @@global.max_connections")
                    .expect("a number"),
                "100",
                "{statement} in {file}"
            );
            assert_eq!(
                pair.target()
                    .value("SELECT COUNT(*) FROM mysql.user WHERE user = 't_evil'")
                    .expect("a count"),
                "0"
            );
            assert!(!std::path::Path::new("/tmp/penstock-evil").exists());
            pair.target()
                .client("DROP DATABASE IF EXISTS hs")
                .expect("dropped");
        }
    }
}

both!(paths_and_links_in_an_archive_are_not_followed);
fn paths_and_links_in_an_archive_are_not_followed(pair: &Pair) {
    small(pair);
    let before = pair.target_schemas();
    for (n, base) in ["../a", "/etc/passwd", "..", "a/b", "x\u{0}y", ""]
        .iter()
        .enumerate()
    {
        let name = format!("base{n}");
        unsealed(pair, &name);
        edit(pair, &name, "@.json", |text| {
            let mut root: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            root["basenames"]["hs"] = (*base).into();
            root.to_string()
        });
        pair.load(&name, &[]).code(5);
        pair.verify(&name).code(5);
    }
    // A symbolic link instead of a chunk, to a file whose content would fit.
    for sealed in [true, false] {
        let name = format!("link{sealed}");
        if sealed {
            pair.dump(&name, &["--compression", "none"]).ok();
        } else {
            unsealed(pair, &name);
        }
        let chunk = pair.path(&name).join("hs@t@@0.tsv");
        let elsewhere = pair.path(&format!("elsewhere{sealed}"));
        fs::rename(&chunk, &elsewhere)
            .and_then(|()| std::os::unix::fs::symlink(&elsewhere, &chunk))
            .expect("a link");
        pair.verify(&name).code(5).says(&["hs@t@@0.tsv"]);
        pair.load(&name, &[]).code(5).says(&["hs@t@@0.tsv"]);
    }
    assert_eq!(pair.target_schemas(), before);
}

both!(a_rogue_server_cannot_read_local_files);
fn a_rogue_server_cannot_read_local_files(pair: &Pair) {
    small(pair);
    let dump = |rogue: &Rogue, to: &str| {
        let Endpoint::Unix(socket) = rogue.endpoint() else {
            panic!("a unix socket")
        };
        Tool::new(["dump", "-S"])
            .arg(socket)
            .args(["-u", "root", "--ssl-mode", "disabled", "--to"])
            .arg(pair.path(to))
            .run()
    };
    let nothing_sent = |rogue: &Rogue| {
        let heard = rogue.heard();
        assert!(
            !heard.windows(7).any(|w| w == b"root:x:"),
            "the file was sent"
        );
    };
    let file = || Reply::File("/etc/passwd".into());
    let on_login = Rogue::unix(
        &pair.path("s1"),
        Script::new(|_| Reply::Ok(0, String::new())).login(file()),
    )
    .expect("a server");
    dump(&on_login, "r1").code(6);
    nothing_sent(&on_login);
    let at_once = Rogue::unix(&pair.path("s2"), Script::new(move |_| file())).expect("a server");
    dump(&at_once, "r2").code(6).says(&["local file"]);
    nothing_sent(&at_once);
    // Honest until the SELECT that reads the rows.
    let script = Script::new(|sql| {
        let text = String::from_utf8_lossy(sql);
        if text.starts_with("SELECT") && text.contains("FROM `hs`.`t`") {
            Reply::File("/etc/passwd".into())
        } else {
            Reply::Forward
        }
    });
    let late = Rogue::unix(
        &pair.path("s3"),
        script.upstream(Endpoint::Unix(pair.source().socket())),
    )
    .expect("a server");
    dump(&late, "r3").code(6).says(&["local file"]);
    nothing_sent(&late);
    assert!(!pair.path("r3").exists());
    // And a server that asks for another file than the chunk during a load.
    pair.dump("a", &[]).ok();
    let script = Script::new(|sql| {
        if sql.starts_with(b"LOAD DATA") {
            Reply::File("/etc/passwd".into())
        } else {
            Reply::Forward
        }
    });
    let target = Rogue::unix(
        &pair.path("s4"),
        script.upstream(Endpoint::Unix(pair.target().socket())),
    )
    .expect("a server");
    let Endpoint::Unix(socket) = target.endpoint() else {
        panic!("a unix socket")
    };
    Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("-S")
        .arg(socket)
        .args(["-u", "root", "--ssl-mode", "disabled"])
        .run()
        .code(6)
        .says(&["local file"]);
    nothing_sent(&target);
}

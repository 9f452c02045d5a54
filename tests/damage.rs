//! Any damage to an archive at rest is found: by `verify` without a server, and by `load` before it
//! creates anything.

use crate::kit::{COUNT, Pair, Tool, both};
use std::fs;
use std::path::{Path, PathBuf};

fn archive(pair: &Pair, compression: &str) {
    pair.fill(&format!(
        "CREATE DATABASE dmg; USE dmg; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100)); \
        CREATE TABLE u (id INT PRIMARY KEY); \
        INSERT INTO t SELECT n, CONCAT('row ', n, REPEAT('x', 40)) FROM {COUNT} ORDER BY n; \
        INSERT INTO u VALUES (1), (2); ANALYZE TABLE t;"
    ));
    pair.dump("a", &["--chunk-size", "64k", "--compression", compression])
        .ok();
}

/// A copy of the archive to damage.
fn copy(pair: &Pair, name: &str) -> PathBuf {
    let to = pair.path(name);
    fs::create_dir(&to).expect("a directory");
    for entry in fs::read_dir(pair.path("a")).expect("the archive").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
    to
}

fn names(directory: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(directory)
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    all.sort();
    all
}

fn chunks(directory: &Path) -> Vec<String> {
    names(directory)
        .into_iter()
        .filter(|n| n.starts_with("dmg@t@") && (n.ends_with(".tsv") || n.ends_with(".zst")))
        .collect()
}

/// Both refuse with exit code 5 and name the file; the target stays empty.
#[track_caller]
fn refused(pair: &Pair, name: &str, says: &[&str]) {
    pair.verify(name).code(5).says(says);
    pair.load(name, &[]).code(5).says(says);
    assert_eq!(
        pair.target_schemas(),
        Vec::<String>::new(),
        "nothing was created on the target"
    );
    fs::remove_dir_all(pair.path(name)).expect("removed");
}

both!(damaged_chunks_are_named);
fn damaged_chunks_are_named(pair: &Pair) {
    for compression in ["zstd:1", "none"] {
        let _ = fs::remove_dir_all(pair.path("a"));
        if compression == "none" {
            pair.source().client("DROP DATABASE dmg").expect("dropped");
        }
        archive(pair, compression);
        let list = chunks(&pair.path("a"));
        assert!(list.len() > 4, "{list:?}");
        let victim = &list[1];

        let file = copy(pair, "flip").join(victim);
        let mut bytes = fs::read(&file).expect("a chunk");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&file, &bytes).expect("written");
        refused(pair, "flip", &[victim]);

        for keep in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let file = copy(pair, "short").join(victim);
            fs::File::options()
                .write(true)
                .open(&file)
                .and_then(|f| f.set_len(keep as u64))
                .expect("cut");
            refused(pair, "short", &[victim]);
        }

        let file = copy(pair, "long").join(victim);
        bytes[middle] ^= 0x10;
        bytes.push(0);
        fs::write(&file, &bytes).expect("written");
        refused(pair, "long", &[victim]);

        fs::remove_file(copy(pair, "gone").join(victim)).expect("removed");
        let said = pair.verify("gone").said();
        let times = said.lines().filter(|l| l.contains(&format!("{victim}:")));
        assert_eq!(times.count(), 1, "named once:\n{said}");
        refused(pair, "gone", &[victim]);

        let directory = copy(pair, "swapped");
        let (a, b) = (directory.join(&list[0]), directory.join(&list[2]));
        fs::rename(&a, directory.join("x"))
            .and_then(|()| fs::rename(&b, &a))
            .and_then(|()| fs::rename(directory.join("x"), &b))
            .expect("swapped");
        refused(pair, "swapped", &[&list[0]]);
    }
}

both!(one_flipped_bit_in_any_file_is_found);
fn one_flipped_bit_in_any_file_is_found(pair: &Pair) {
    archive(pair, "zstd:1");
    let directory = pair.path("a");
    // All kinds of files, and a few of the many chunks.
    let some = chunks(&directory)
        .into_iter()
        .skip(3)
        .flat_map(|c| [format!("{c}.idx"), c])
        .collect::<Vec<_>>();
    for name in names(&directory).into_iter().filter(|n| !some.contains(n)) {
        let file = directory.join(&name);
        let whole = fs::read(&file).expect("a file");
        let mut bytes = whole.clone();
        bytes[whole.len() * 2 / 3] ^= 1;
        for damaged in [Some(bytes), None] {
            match damaged {
                Some(bytes) => fs::write(&file, bytes).expect("written"),
                None => fs::remove_file(&file).expect("removed"),
            }
            pair.verify("a").code(5).says(&[&name]);
            pair.load("a", &[]).code(5).says(&[&name]);
            assert_eq!(pair.target_schemas(), Vec::<String>::new(), "{name}");
        }
        fs::write(&file, whole).expect("written");
    }
    pair.verify("a").ok();
}

both!(an_unfinished_archive_is_refused);
fn an_unfinished_archive_is_refused(pair: &Pair) {
    archive(pair, "zstd:1");
    fs::write(copy(pair, "marked").join("penstock.incomplete"), "{}").expect("written");
    refused(pair, "marked", &["incomplete"]);
    let done = copy(pair, "no-done").join("@.done.json");
    fs::remove_file(done).expect("removed");
    refused(pair, "no-done", &["@.done.json"]);
    // Like the directory of a MySQL Shell dump that is still running.
    let directory = copy(pair, "shell");
    fs::remove_file(directory.join("@.done.json"))
        .and_then(|()| fs::remove_file(directory.join("penstock.json")))
        .expect("removed");
    refused(pair, "shell", &["incomplete"]);
    // Our own archive without its manifest: nothing else would show that it is incomplete.
    fs::remove_file(copy(pair, "no-manifest").join("penstock.json")).expect("removed");
    refused(pair, "no-manifest", &["penstock.json"]);
    refused_directory(pair);
}

fn refused_directory(pair: &Pair) {
    fs::create_dir(pair.path("empty")).expect("a directory");
    pair.verify("empty").code(5);
    pair.load("empty", &[]).code(5);
    pair.load("nowhere", &[])
        .code(8)
        .says(&["nowhere", "check the path"]);
}

both!(archives_of_later_versions_are_refused);
fn archives_of_later_versions_are_refused(pair: &Pair) {
    archive(pair, "zstd:1");
    let edit = |name: &str, file: &str, from: &str, to: &str| {
        let path = copy(pair, name).join(file);
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.contains(from), "{file} has no {from}\n{text}");
        fs::write(&path, text.replacen(from, to, 1)).expect("written");
    };
    edit(
        "major",
        "@.json",
        "\"version\": \"2.0.1\"",
        "\"version\": \"3.0.0\"",
    );
    fs::remove_file(pair.path("major").join("penstock.json")).expect("removed");
    refused(pair, "major", &["3.0.0"]);
    edit(
        "capable",
        "@.json",
        "\"capabilities\": []",
        "\"capabilities\": [{\"id\": \"time_travel\", \"description\": \"d\", \"versionRequired\": \
        \"11.0.0\"}]",
    );
    fs::remove_file(pair.path("capable").join("penstock.json")).expect("removed");
    refused(pair, "capable", &["time_travel", "11.0.0"]);
    edit(
        "manifest",
        "penstock.json",
        "\"version\": 1",
        "\"version\": 2",
    );
    refused(pair, "manifest", &["penstock.json"]);
}

both!(an_extra_file_is_reported_and_not_loaded);
fn an_extra_file_is_reported_and_not_loaded(pair: &Pair) {
    archive(pair, "zstd:1");
    let directory = copy(pair, "extra");
    fs::write(directory.join("notes.txt"), "hello").expect("written");
    fs::write(directory.join("dmg@t@99.tsv.zst"), "nonsense").expect("written");
    let strays = [
        "WARNING: notes.txt is not part",
        "WARNING: dmg@t@99.tsv.zst",
    ];
    pair.verify("extra").ok().says(&strays);
    pair.load("extra", &[]).ok().says(&["equal:"]).says(&strays);
    pair.same_checksums();
}

both!(damage_to_a_table_that_is_not_selected_does_not_stop_the_others);
fn damage_to_a_table_that_is_not_selected_does_not_stop_the_others(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE two; CREATE TABLE two.a (id INT PRIMARY KEY); \
        CREATE TABLE two.b (id INT PRIMARY KEY); \
        INSERT INTO two.a VALUES (1), (2); INSERT INTO two.b VALUES (3);",
    );
    pair.dump("full", &[]).ok();
    for file in ["two@b.sql", "two@b@@0.tsv.zst", "two@b@@0.tsv.zst.idx"] {
        let path = pair.path("full").join(file);
        let mut bytes = fs::read(&path).expect("a file of the archive");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::write(&path, bytes).expect("written");
    }
    pair.verify("full").code(5).says(&["two@b.sql"]);
    pair.load("full", &[]).code(5).says(&["two@b"]);
    assert_eq!(pair.target_schemas(), [""; 0]);
    pair.load("full", &["--tables", "two.a"])
        .ok()
        .says(&["equal: 2 rows in 1 table"]);
}

both!(damaged_tables_do_not_keep_the_others);
/// A table with a missing file, one with a damaged chunk, one that is whole.
fn damaged_tables_do_not_keep_the_others(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE sd; USE sd; CREATE TABLE gone (id INT PRIMARY KEY); INSERT INTO gone VALUES (1); \
        CREATE TABLE flipped (id INT PRIMARY KEY, v TEXT); INSERT INTO flipped VALUES (1, 'one'), (2, 'two'); \
        CREATE TABLE whole (id INT PRIMARY KEY); INSERT INTO whole VALUES (1), (2); \
        CREATE VIEW v AS SELECT COUNT(*) AS n FROM whole; \
        CREATE VIEW v_gone AS SELECT 1 AS n; CREATE VIEW v_flipped AS SELECT 2 AS n; \
        CREATE TRIGGER tr AFTER INSERT ON gone FOR EACH ROW SET @a = 1;",
    );
    pair.dump("a", &[]).ok();
    std::fs::remove_file(pair.path("a/sd@v_gone.pre.sql")).expect("removed");
    let view = pair.path("a/sd@v_flipped.sql");
    let mut text = std::fs::read(&view).expect("a view");
    *text.last_mut().expect("a byte") ^= 1;
    std::fs::write(&view, text).expect("written");
    let file = |begin: &str| {
        let entries = std::fs::read_dir(pair.path("a")).expect("an archive");
        entries
            .flatten()
            .map(|e| e.path())
            .find(|p| {
                let name = p.file_name().expect("a name").to_string_lossy();
                name.starts_with(begin) && name.ends_with(".tsv.zst")
            })
            .expect("a chunk")
    };
    std::fs::remove_file(file("sd@gone")).expect("removed");
    let chunk = file("sd@flipped");
    let mut bytes = std::fs::read(&chunk).expect("a chunk");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&chunk, bytes).expect("written");
    let nothing = || assert_eq!(pair.target_schemas(), [""; 0]);
    pair.load("a", &[])
        .code(5)
        .says(&["sd@gone", "--skip-damaged"]);
    nothing();
    // A selected table that is damaged is an error; one that is not selected is a warning.
    pair.load("a", &["--exclude-tables", "sd.gone,sd.v_gone,sd.v_flipped"])
        .code(5)
        .says(&["sd@flipped"]);
    pair.load("a", &["--exclude-tables", "sd.gone,sd.flipped,sd.v_gone"])
        .code(5)
        .says(&["sd@v_flipped"]);
    nothing();
    pair.load("a", &["--tables", "sd.whole"])
        .ok()
        .says(&["table `sd`.`gone`, which is not selected, is damaged"]);
    pair.same("SELECT * FROM sd.whole ORDER BY id");
    pair.target().client("DROP DATABASE sd").expect("dropped");
    let load = pair.load("a", &["--skip-damaged", "--json"]).code(3);
    let load = load.says(&[
        "table `sd`.`gone` is not loaded",
        "table `sd`.`flipped` is not loaded",
        "view `sd`.`v_gone` is not loaded",
        "view `sd`.`v_flipped` is not loaded",
    ]);
    pair.verify("a").code(5).says(&[
        "sd@gone",
        "sd@flipped",
        "sd@v_gone.pre.sql",
        "sd@v_flipped.sql",
    ]);
    assert_eq!(load.summary()["tables"], 1);
    // With tables missing it is no beginning of a replica.
    assert_eq!(load.summary()["continue"], serde_json::Value::Null);
    pair.same("SELECT * FROM sd.whole ORDER BY id");
    pair.same("SELECT * FROM sd.v");
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'sd'";
    assert_eq!(pair.target().value(tables).expect("a number"), "2");
}

both!(damaged_definitions_do_not_keep_the_rest);
/// The list of a schema's objects, its definition with the routines, the triggers of a table: what is whole is loaded,
/// what is missing is named, and created by the same command when the file is whole again.
fn damaged_definitions_do_not_keep_the_rest(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE dd; USE dd; CREATE TABLE `a b` (id INT PRIMARY KEY); INSERT INTO `a b` VALUES (1), (2); \
        CREATE TABLE none (id INT PRIMARY KEY); CREATE VIEW `v w` AS SELECT COUNT(*) AS n FROM `a b`; \
        CREATE TRIGGER tr AFTER INSERT ON `a b` FOR EACH ROW SET @a = 1; CREATE PROCEDURE p() SELECT 1; \
        CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DISABLE DO SELECT 1; \
        CREATE DATABASE other; CREATE TABLE other.t (id INT PRIMARY KEY); INSERT INTO other.t VALUES (7);",
    );
    pair.dump("a", &[]).ok();
    let state = pair.path("state");
    let load = |more: &[&str]| {
        let tool = Tool::new(["load"]).arg(pair.path("a")).arg("-S");
        let tool = tool.arg(pair.target().socket()).args(["-u", "root"]);
        let tool = tool.args(more.iter().copied());
        tool.env("PENSTOCK_STATE", state.as_os_str()).run()
    };
    let number = |sql: &str| pair.target().value(sql).expect("a number");
    let there = || {
        let count = |view: &str, of: &str| {
            number(&format!(
                "SELECT COUNT(*) FROM information_schema.{view} WHERE {of}_schema = 'dd'"
            ))
        };
        [
            count("triggers", "trigger"),
            count("routines", "routine"),
            count("events", "event"),
        ]
    };
    let empty = || {
        let drop = b"DROP DATABASE IF EXISTS dd; DROP DATABASE IF EXISTS other";
        pair.target().script(drop).expect("dropped");
    };
    for (file, says, left) in [
        (
            "dd.json",
            "the list of objects of schema `dd` is damaged",
            ["1", "1", "1"],
        ),
        (
            "dd.sql",
            "schema `dd` has no routines and events from the archive",
            ["1", "0", "0"],
        ),
        (
            "dd@a%20b.triggers.sql",
            "the triggers of table `dd`.`a b` are not loaded",
            ["0", "1", "1"],
        ),
    ] {
        let path = pair.path("a").join(file);
        let whole = fs::read(&path).expect("a file of the archive");
        for gone in [true, false] {
            let mut bytes = whole.clone();
            bytes[whole.len() / 2] ^= 1;
            match gone {
                true => fs::remove_file(&path).expect("removed"),
                false => fs::write(&path, bytes).expect("written"),
            }
            pair.verify("a").code(5).says(&[file]);
            load(&[]).code(5).says(&[file, "--skip-damaged"]);
            assert_eq!(pair.target_schemas(), [""; 0]);
            load(&["--include-schemas", "other"]).ok();
            empty();
            let done = load(&["--skip-damaged"]).code(3);
            done.says(&[says, "equal: 3 rows in 3 tables", "the same command"]);
            pair.same("SELECT * FROM dd.`v w`");
            pair.same("SELECT * FROM other.t");
            assert_eq!(there(), left, "{file}");
            fs::write(&path, &whole).expect("written");
            load(&["--skip-damaged"]).ok();
            assert_eq!(there(), ["1", "1", "1"], "{file}, repaired");
            empty();
        }
    }
    // The index of a chunk is for MySQL Shell alone.
    let index = names(&pair.path("a"))
        .into_iter()
        .find(|n| n.starts_with("other@t") && n.ends_with(".idx"));
    let index = index.expect("an index");
    fs::write(pair.path("a").join(&index), b"x").expect("written");
    load(&[]).code(5).says(&[&index]);
    load(&["--skip-damaged"]).ok().says(&[
        "nothing but MySQL Shell reads it",
        "equal: 3 rows in 3 tables",
    ]);
    // So are these, and accounts that are not asked for.
    empty();
    for file in ["@.sql", "@.post.sql", "@.users.sql"] {
        fs::remove_file(pair.path("a").join(file)).expect("removed");
    }
    load(&[]).code(5).says(&["@.", "--skip-damaged"]);
    load(&["--skip-damaged"]).ok().says(&[
        "@.post.sql is damaged: missing: this load does not need it",
        "@.users.sql is damaged",
        "equal: 3 rows in 3 tables",
    ]);
    load(&["--skip-damaged", "--users", "--existing", "skip"])
        .code(5)
        .says(&["@.users.sql"]);
}

//! `penstock list ARCHIVE`: what an archive says of itself, whoever wrote it.

use crate::kit::{Done, Pair, Tool, both};
use std::fs;
use std::path::Path;

fn list(place: &Path, more: &[&str]) -> Done {
    let tool = Tool::new(["list"]).arg(place);
    tool.args(more.iter().copied()).run()
}

fn fill(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ls; USE ls; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); \
        INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); CREATE TABLE log (id INT); \
        CREATE VIEW w AS SELECT * FROM t; CREATE PROCEDURE p() SELECT 1; \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1; \
        CREATE DATABASE ls2; CREATE TABLE ls2.empty (id INT PRIMARY KEY); \
        CREATE USER t_l@localhost;",
    );
}

both!(an_archive_says_what_is_in_it);
fn an_archive_says_what_is_in_it(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--include-users", "t_l", "--json"]).ok();
    let place = pair.path("a");
    let flavour = if pair.is_mysql() { "MySQL" } else { "MariaDB" };
    list(&place, &[]).ok().says(&[
        "Archive",
        "penstock ",
        flavour,
        "2 schemas, 3 tables, 1 view",
        "binary log",
        "'t_l'@'localhost'",
        "ls2",
    ]);
    let of_label = |label: &str| {
        let said = list(&place, &[]).out;
        let begins = |line: &&str| line.trim_start().starts_with(&format!("{label} "));
        said.lines().filter(begins).count()
    };
    assert_eq!((of_label("from"), of_label("made")), (1, 1));
    let info = Tool::new(["info"]).arg(&place).run().ok();
    assert_eq!(info.out, list(&place, &[]).out);
    let said = list(&place, &["--json"]).ok().summary();
    assert_eq!(said["rows"], 3, "{said}");
    assert_eq!(said["accounts"][0], "'t_l'@'localhost'");
    assert_eq!(said["digests"], true);
    let ls = &said["schemas"][0];
    assert_eq!((&ls["name"], &ls["views"][0]), (&"ls".into(), &"w".into()));
    assert_eq!((&ls["routines"], &ls["events"]), (&1.into(), &1.into()));
    let tables = ls["tables"].as_array().expect("tables");
    let t = tables.iter().find(|t| t["name"] == "t").expect("the table");
    assert_eq!((&t["rows"], &t["triggers"]), (&3.into(), &1.into()));
    assert!(t["stored_bytes"].as_u64() > Some(0) && t["raw_bytes"].as_u64() > Some(0));
    // Without accounts, of a part, and with an exception.
    pair.dump("b", &["--schemas", "ls2", "--consistency", "none"])
        .code(3);
    let said = list(&pair.path("b"), &["--json"]).ok().summary();
    assert!(said["accounts"].is_null(), "{said}");
    assert!(
        said["dumped_with_exceptions"][0].as_str().is_some(),
        "{said}"
    );
    // Metadata that cannot be read.
    fs::write(place.join("ls@t.json"), "{").expect("written");
    list(&place, &[]).code(5).says(&["damaged", "ls t"]);
}

both!(an_archive_of_mysql_shell_and_other_places);
fn an_archive_of_mysql_shell_and_other_places(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--users"]).ok();
    let archive = pair.path("a");
    fs::remove_file(archive.join("penstock.json")).expect("a manifest");
    let root = archive.join("@.json");
    let text = fs::read_to_string(&root).expect("metadata");
    fs::write(&root, text.replacen("\"penstock ", "\"mysqlsh Ver ", 1)).expect("written");
    let said = list(&archive, &["--json"]).ok().summary();
    assert_eq!(
        (&said["rows"], &said["digests"]),
        (&3.into(), &false.into()),
        "{said}"
    );
    list(&archive, &[])
        .ok()
        .says(&["mysqlsh Ver", "without digests"]);
    // A key is needed where there is one.
    let passphrase = pair.path("passphrase");
    fs::write(&passphrase, "correct horse\n").expect("written");
    let key = ["--passphrase-file", passphrase.to_str().expect("a path")];
    pair.dump("e", &key).ok();
    list(&pair.path("e"), &[])
        .code(2)
        .says(&["--passphrase-file"]);
    list(&pair.path("e"), &key).ok().says(&["2 schemas"]);
    // A repository is listed, however it is named.
    let repository = pair.path("repository");
    Tool::new(["init"]).arg(&repository).run().ok();
    list(&repository, &[]).ok().says(&["No backups"]);
    Tool::new(["list", "--repository"])
        .arg(&repository)
        .run()
        .ok()
        .says(&["No backups"]);
    list(&repository, &["--html", "x.html"]).code(2);
    let named = Tool::new(["list"])
        .env("PENSTOCK_REPOSITORY", &repository)
        .run();
    named.ok().says(&["No backups"]);
    Tool::new(["list"])
        .run()
        .code(2)
        .says(&["no repository and no archive"]);
    list(&pair.path("nothing"), &[]).code(8);
    fs::create_dir(pair.path("empty")).expect("a directory");
    list(&pair.path("empty"), &[])
        .code(5)
        .says(&["is an empty directory"]);
}

both!(what_is_no_archive_is_named);
fn what_is_no_archive_is_named(pair: &Pair) {
    pair.fill("CREATE DATABASE ls; CREATE TABLE ls.t (id INT PRIMARY KEY)");
    std::fs::create_dir(pair.path("all")).expect("a directory");
    pair.dump("all/a", &["--schemas", "ls"]).ok();
    let parent = list(&pair.path("all"), &[]).code(2);
    parent.says(&["holds", "name "]);
    for file in ["@.json", "ls.sql", "ls@t.sql", "ls@t.json"] {
        let file = pair.path("all/a").join(file);
        list(&file, &[])
            .code(2)
            .says(&["is one file of the archive", "penstock list "]);
        // Nor is it another tool's dump.
        let load = Tool::new(["load"]).arg(&file);
        let load = load.arg("--into").arg(pair.target().uri());
        load.run().code(2).says(&["is one file of the archive"]);
    }
    let other = pair.path("other");
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(other.join("x.conf"), "x").expect("a file");
    list(&other, &[])
        .code(5)
        .says(&["holds no dump of a known kind"]);
}

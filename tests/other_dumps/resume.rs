//! A load of a script that was killed at any instruction goes on.

use super::*;
use crate::kit::{few, thorough};

const JOURNAL: &str =
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";

both!(killed_anywhere);
fn killed_anywhere(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE a1; CREATE DATABASE b2; USE a1; \
        CREATE TABLE keyed (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, u VARCHAR(40) NOT NULL, \
          UNIQUE KEY u (u), KEY v (u, id)) ENGINE=InnoDB; \
        INSERT INTO keyed (u) SELECT CONCAT('u', n) FROM {COUNT} WHERE n < 500; \
        CREATE TABLE child (id INT PRIMARY KEY, k INT UNSIGNED NOT NULL, \
          CONSTRAINT child_of FOREIGN KEY (k) REFERENCES keyed (id)) ENGINE=InnoDB; \
        INSERT INTO child SELECT id, id FROM keyed WHERE id < 100; \
        CREATE TABLE m (a INT, b CHAR(10), KEY b (b)) ENGINE=MyISAM; \
        INSERT INTO m SELECT n, 'x' FROM {COUNT} WHERE n < 100; \
        CREATE TABLE no_key (a INT) ENGINE=InnoDB; \
        INSERT INTO no_key SELECT n % 3 FROM {COUNT} WHERE n < 100; \
        CREATE TRIGGER child_in BEFORE INSERT ON child FOR EACH ROW SET NEW.id = NEW.id; \
        CREATE VIEW v AS SELECT id FROM child; CREATE PROCEDURE p() SELECT 1; \
        CREATE TABLE b2.f (a INT, b CHAR(64)) ENGINE=InnoDB; \
        INSERT INTO b2.f VALUES (1, SHA2('x', 256)), (2, 'plain'), (3, SHA2('y', 256)); \
        CREATE TABLE b2.i LIKE a1.no_key; INSERT INTO b2.i VALUES (7);"
    ));
    let mut text = dumped(pair, &["--routines", "--databases", "a1", "b2"]);
    // By hand: rows that are more than literals, alone and among others, and an INSERT of another form.
    let plain = String::from_utf8(text).expect("text");
    let (at, end) = (plain.find("INSERT INTO `f`").expect("rows"), ";\n");
    let behind = at + plain[at..].find(end).expect("an end") + 1;
    let by_hand = "INSERT INTO `f` VALUES (1,SHA2('x', 256));\nINSERT INTO `f` \
        VALUES (2,'plain');\nINSERT INTO `f` VALUES (3,SHA2('y', 256));";
    let other = plain[behind..].replace("INSERT INTO `i` VALUES", "INSERT IGNORE INTO `i` VALUES");
    text = format!("{}{by_hand}{other}", &plain[..at]).into_bytes();
    let script = file(pair, "d.sql", &text);
    let load = || loading(pair, &script, &["--defer-keys", "all"]);
    let list = pair.path("places");
    load().env("PENSTOCK_PLACES", &list).run().ok();
    let count = std::fs::read_to_string(list)
        .expect("names")
        .lines()
        .count();
    assert!(count > 30, "there are more failpoints than {count}");
    forget(pair, &["a1", "b2"]);
    load().env("PENSTOCK_KILL_AT", "20").run().code(137);
    // Without --resume nothing is touched; another dump is another load.
    load().run().code(10).says(&["interrupted", "--resume"]);
    let changed = file(pair, "d.sql", [&text[..], b"-- more\n"].concat());
    loading(pair, &changed, &["--resume", "--defer-keys", "all"])
        .run()
        .code(10)
        .says(&["another load"]);
    file(pair, "d.sql", &text);
    for at in few(pair.kind, 8, &(1..=count + 2).collect::<Vec<_>>()) {
        forget(pair, &["a1", "b2"]);
        let done = load().env("PENSTOCK_KILL_AT", at.to_string()).run();
        if done.code == 0 {
            // It has passed fewer.
            continue;
        }
        done.code(137);
        let complete = pair.target().value(JOURNAL).expect("a count") == "0"
            && pair.target_schemas().contains(&"b2".to_owned());
        if complete {
            loading(pair, &script, &["--resume", "--defer-keys", "all"])
                .run()
                .code(10)
                .says(&["already holds"]);
        } else {
            loading(pair, &script, &["--resume", "--defer-keys", "all"])
                .run()
                .ok();
        }
        pair.same_checksums();
        if at % 5 == 0 || complete || !thorough() {
            pair.same_definitions("a1");
            pair.same_definitions("b2");
        }
        assert_eq!(
            pair.target().value(JOURNAL).expect("a count"),
            "0",
            "killed at {at}"
        );
    }
}

//! Parts of an archive that are added to a target which has the rest (`load --only`).

use crate::kit::{Done, Pair, Tool, both};

const SOURCE: &str = "CREATE DATABASE onl; USE onl; \
    CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (1), (2), (3); \
    CREATE TABLE c (id INT PRIMARY KEY, p INT, v VARCHAR(20), w VARCHAR(20), x TEXT, KEY by_p (p), KEY by_v (v, w DESC), UNIQUE KEY one (w), \
      FULLTEXT KEY words (x), CONSTRAINT `to p` FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) ENGINE=InnoDB; \
    INSERT INTO c VALUES (1, 1, 'a', 'k', 'some words'), (2, 2, 'b', 'l', 'more words'); \
    CREATE TABLE m (a INT, b INT, KEY (b)) ENGINE=MyISAM; INSERT INTO m VALUES (1, 2); \
    CREATE TABLE log (id INT); \
    CREATE VIEW w1 AS SELECT id, v FROM c; CREATE VIEW w2 AS SELECT id FROM w1; \
    CREATE TRIGGER tr AFTER INSERT ON p FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
    CREATE PROCEDURE pr() SELECT 1; CREATE FUNCTION fu() RETURNS INT DETERMINISTIC RETURN 7; \
    CREATE EVENT ev ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1;";

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    pair.loading("a", more)
}

fn load(pair: &Pair, more: &[&str]) -> Done {
    loading(pair, more).run()
}

fn fill(pair: &Pair) {
    pair.fill(SOURCE);
    // MyISAM has no snapshots.
    pair.dump("a", &[]).code(3);
}

fn on_target(pair: &Pair, sql: &str) {
    pair.target().script(sql.as_bytes()).expect("done");
}

fn same(pair: &Pair) {
    pair.same_definitions("onl");
    pair.verify_against("a", pair.target()).ok();
}

both!(objects_are_added_to_tables_that_are_there);
fn objects_are_added_to_tables_that_are_there(pair: &Pair) {
    fill(pair);
    // There is nothing to add it to.
    load(pair, &["--only", "objects"]).code(10).says(&[
        "no schema `onl`",
        "--only objects creates none",
        "nothing was touched",
    ]);
    load(
        pair,
        &[
            "--no-views",
            "--no-triggers",
            "--no-routines",
            "--no-events",
        ],
    )
    .ok();
    on_target(pair, "DELETE FROM onl.m; SET GLOBAL local_infile = OFF");
    let seen = load(pair, &["--only", "objects", "--dry-run"]).ok();
    seen.says(&[
        "would be added",
        "view `onl`.`w2`",
        "trigger `onl`.`tr`",
        "event `onl`.`ev`",
    ]);
    let views = "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 'onl'";
    assert_eq!(pair.target().value(views).expect("a count"), "0");
    let done = load(pair, &["--only", "objects"]).ok();
    on_target(pair, "SET GLOBAL local_infile = ON");
    let done = done.says(&[
        "added",
        "2 views",
        "1 trigger",
        "1 procedure",
        "1 function",
        "1 event",
        "tables and their rows (--only objects)",
    ]);
    assert!(!done.offers_a_replica(), "{}", done.out);
    pair.same_definitions("onl");
    // Rows are left as they are, and nothing of the load stays.
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM onl.m")
            .expect("a count"),
        "0"
    );
    let journal =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE '%penstock%'";
    assert_eq!(pair.target().value(journal).expect("a count"), "0");
    // What is there already is as --existing says.
    on_target(
        pair,
        "USE onl; DROP TRIGGER tr; DROP VIEW w2; CREATE OR REPLACE VIEW w1 AS SELECT 5 AS id, 'mine' AS v",
    );
    load(pair, &["--only", "objects"]).code(10).says(&[
        "already holds",
        "view `onl`.`w1`",
        "--existing",
    ]);
    let skipped = load(pair, &["--only", "objects", "--existing", "skip"]).ok();
    skipped.says(&["1 view", "1 trigger", "left as they are: 4 objects"]);
    assert_eq!(
        pair.target()
            .value("SELECT v FROM onl.w1")
            .expect("a value"),
        "mine"
    );
    let replaced = load(
        pair,
        &["--only", "objects", "--existing", "replace", "--yes"],
    )
    .ok();
    replaced.says(&["replaced: 6 objects", "view `onl`.`w1`"]);
    pair.same_definitions("onl");
    on_target(pair, "INSERT INTO onl.m VALUES (1, 2)");
    same(pair);
}

both!(a_part_of_the_objects_is_chosen);
fn a_part_of_the_objects_is_chosen(pair: &Pair) {
    fill(pair);
    load(
        pair,
        &[
            "--no-views",
            "--no-triggers",
            "--no-routines",
            "--no-events",
        ],
    )
    .ok();
    load(
        pair,
        &["--only", "objects", "--include-tables", "onl.p,onl.w1"],
    )
    .ok()
    .says(&["1 view", "1 trigger"]);
    load(
        pair,
        &[
            "--only",
            "objects",
            "--existing",
            "skip",
            "--no-events",
            "--exclude-routines",
            "onl.pr",
        ],
    )
    .ok()
    .says(&["1 view", "1 function", "1 event (--no-events)"]);
    load(pair, &["--only", "objects", "--existing", "skip"])
        .ok()
        .says(&["1 procedure", "1 event"]);
    load(pair, &["--only", "objects", "--existing", "skip"])
        .ok()
        .says(&["nothing: the target lacked none of it"]);
    same(pair);
    // A table that is gone: its trigger is named, and the rest is made.
    on_target(pair, "USE onl; DROP TABLE c; DROP TABLE p; DROP VIEW w2");
    let done = load(pair, &["--only", "objects", "--existing", "skip"]).code(3);
    done.says(&["trigger `onl`.`tr`", "doesn't exist"]);
    // The same command again creates no table.
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'onl' AND table_type = 'BASE TABLE'";
    for options in [
        &["--only", "objects", "--existing", "skip"][..],
        &["--only", "objects"],
    ] {
        load(pair, options).code(3).says(&["trigger `onl`.`tr`"]);
        assert_eq!(pair.target().value(tables).expect("a count"), "2");
    }
    on_target(pair, "CREATE TABLE onl.p (id INT PRIMARY KEY)");
    load(pair, &["--only", "objects"])
        .code(3)
        .says(&["1 trigger", "view `onl`.`w2`"]);
}

both!(what_has_the_name_of_another_kind_stays);
fn what_has_the_name_of_another_kind_stays(pair: &Pair) {
    fill(pair);
    load(pair, &[]).ok();
    on_target(
        pair,
        "USE onl; DROP VIEW w2; DROP VIEW w1; CREATE TABLE w1 (id INT); RENAME TABLE log TO log_of_2025; CREATE VIEW log AS SELECT * FROM log_of_2025",
    );
    for how in ["skip", "replace"] {
        let yes = (how == "replace").then_some("--yes");
        let options: Vec<&str> = ["--only", "objects", "--existing", how]
            .into_iter()
            .chain(yes)
            .collect();
        let done = load(pair, &options);
        done.code(3)
            .says(&["view `onl`.`w1` is not loaded: the target has a table of that name"]);
        let kinds = "SELECT GROUP_CONCAT(table_name, ' ', table_type ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'onl' AND table_name IN ('w1', 'log')";
        assert_eq!(
            pair.target().value(kinds).expect("kinds"),
            "log VIEW,w1 BASE TABLE",
            "{how}"
        );
    }
}

both!(indexes_are_added_to_tables_that_lack_them);
fn indexes_are_added_to_tables_that_lack_them(pair: &Pair) {
    fill(pair);
    load(pair, &["--only", "indexes"])
        .code(10)
        .says(&["no schema `onl`"]);
    load(pair, &[]).ok();
    load(pair, &["--only", "indexes"])
        .ok()
        .says(&["nothing: the target lacked none of it"]);
    on_target(
        pair,
        "USE onl; ALTER TABLE c DROP FOREIGN KEY `to p`; ALTER TABLE c DROP KEY by_p, DROP KEY by_v, DROP KEY one, DROP KEY words; \
        ALTER TABLE m DROP KEY b",
    );
    let seen = load(pair, &["--only", "indexes", "--dry-run"]).ok();
    seen.says(&[
        "would be added",
        "by_v",
        "words",
        "REFERENCES `p`",
        "of table `onl`.`m`",
    ]);
    let done = load(pair, &["--only", "indexes"]).ok();
    done.says(&[
        "5 indexes",
        "1 foreign key",
        "everything but indexes and foreign keys (--only indexes)",
    ]);
    let again = load(pair, &["--only", "indexes", "--json"]).ok();
    assert_eq!(again.summary()["added"], serde_json::json!({}));
    same(pair);
}

both!(indexes_that_do_not_fit_are_named);
fn indexes_that_do_not_fit_are_named(pair: &Pair) {
    fill(pair);
    load(pair, &[]).ok();
    on_target(
        pair,
        "USE onl; ALTER TABLE c DROP FOREIGN KEY `to p`; ALTER TABLE c DROP KEY by_p, DROP KEY by_v, DROP KEY one, ADD KEY by_v (id); \
        INSERT INTO c VALUES (3, 77, 'c', 'k', ''); DROP TABLE m",
    );
    load(pair, &["--only", "indexes"]).code(3).says(&[
        "1 index",
        "UNIQUE KEY `one` (`w`) of table `onl`.`c` is not added",
        "of table `onl`.`c` is another one there, and left as it is: KEY `by_v` (`id`)",
        "table `onl`.`m` is not there",
        "`to p`",
        "when the reason of the exceptions is gone, the same command",
    ]);
    on_target(
        pair,
        "USE onl; DELETE FROM c WHERE id = 3; ALTER TABLE c DROP KEY by_v; CREATE TABLE m (a INT, b INT) ENGINE=MyISAM; INSERT INTO m VALUES (1, 2)",
    );
    load(pair, &["--only", "indexes"])
        .ok()
        .says(&["3 indexes", "1 foreign key"]);
    same(pair);
}

both!(accounts_are_added_alone);
fn accounts_are_added_alone(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE onl; CREATE TABLE onl.t (id INT); CREATE USER t_one@localhost IDENTIFIED BY 'Secret-1'; \
        CREATE USER t_two@'%' IDENTIFIED BY 'Secret-2'; GRANT SELECT ON onl.* TO t_one@localhost; GRANT INSERT ON onl.t TO t_two@'%'",
    );
    pair.dump(
        "a",
        &[
            "--users",
            "--include-users",
            "t_one,t_two",
            "--schemas",
            "onl",
        ],
    )
    .ok();
    load(pair, &["--only", "users", "--dry-run"])
        .ok()
        .says(&["made: 2 accounts", "t_one"]);
    let grants = |user: &str| {
        let rows = pair
            .target()
            .client(&format!("SHOW GRANTS FOR {user}"))
            .expect("grants");
        rows.into_iter()
            .flatten()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    };
    // The schema need not be there.
    load(pair, &["--only", "users", "--include-users", "t_one"])
        .ok()
        .says(&["t_one", "everything but accounts (--only users)"]);
    assert!(grants("t_one@localhost").contains("SELECT ON `onl`"));
    // One that is killed is repeated.
    for point in [
        "an account is made",
        "accounts are about to get their privileges",
    ] {
        on_target(
            pair,
            "DROP USER t_one@localhost; DROP USER IF EXISTS t_two@'%'",
        );
        let killed = loading(pair, &["--only", "users"])
            .env("PENSTOCK_KILL_AT", point)
            .run();
        assert_ne!(killed.code, 0, "{point}");
        load(pair, &["--only", "users"]).code(3).says(&["INSERT"]);
        assert!(
            grants("t_one@localhost").contains("SELECT ON `onl`"),
            "{point}"
        );
        on_target(
            pair,
            "CREATE DATABASE IF NOT EXISTS onl; CREATE TABLE onl.t (id INT)",
        );
        load(pair, &["--only", "users"]).ok();
        assert!(
            grants("t_two@'%'").contains("INSERT ON `onl`.`t`"),
            "{point}"
        );
        on_target(pair, "DROP DATABASE onl");
    }
    // Who is there is left as he is.
    on_target(
        pair,
        "DROP USER t_two@'%'; CREATE USER t_two@'%'; CREATE DATABASE onl; CREATE TABLE onl.t (id INT)",
    );
    load(pair, &["--only", "users"])
        .ok()
        .says(&["left as they were", "t_two"]);
    assert!(!grants("t_two@'%'").contains("INSERT"));
}

both!(options_about_other_things_are_refused);
fn options_about_other_things_are_refused(pair: &Pair) {
    fill(pair);
    for options in [
        &["--only", "objects", "--existing", "truncate"][..],
        &["--only", "objects", "--include-users", "a"],
        &["--only", "objects", "--users"],
        &["--only", "objects", "--import-mode", "sql"],
        &["--only", "objects", "--verify", "sql"],
        &["--only", "objects", "--data-only"],
        &["--only", "objects", "--datadir", "/nowhere/new"],
        &["--only", "indexes", "--existing", "skip"],
        &["--only", "indexes", "--no-views"],
        &["--only", "indexes", "--definer", "strip"],
        &["--only", "indexes", "--include-triggers", "onl.tr"],
        &["--only", "indexes", "--exclude-users", "a"],
        &["--only", "users", "--include-tables", "onl.c"],
        &["--only", "users", "--resume"],
        &["--only", "users", "--map-schema", "onl=onl2"],
        &["--only", "users", "--existing", "skip"],
        &["--only", "tables"],
    ] {
        let done = Tool::new(["load"])
            .arg(pair.path("a"))
            .args(options.iter().copied());
        let done = match options.contains(&"--datadir") {
            true => done,
            false => done.arg("--socket").arg(pair.target().socket()),
        };
        done.run().code(2);
    }
    // A dump without accounts.
    pair.dump("b", &["--schemas", "onl"]).code(3);
    let users = Tool::new(["load"])
        .arg(pair.path("b"))
        .args(["--only", "users", "--user", "root", "--socket"]);
    users
        .arg(pair.target().socket())
        .run()
        .code(2)
        .says(&["the archive has no accounts"]);
    assert!(!pair.target_schemas().contains(&"onl".to_owned()));
}

both!(a_copy_under_another_name_gets_its_objects);
fn a_copy_under_another_name_gets_its_objects(pair: &Pair) {
    fill(pair);
    let named = ["--map-schema", "onl=onl2"];
    load(
        pair,
        &[
            &named[..],
            &[
                "--no-views",
                "--no-triggers",
                "--no-routines",
                "--no-events",
            ],
        ]
        .concat(),
    )
    .ok();
    load(pair, &[&named[..], &["--only", "objects"]].concat())
        .ok()
        .says(&["2 views", "1 trigger"]);
    on_target(
        pair,
        "ALTER TABLE onl2.c DROP KEY by_v, DROP FOREIGN KEY `to p`",
    );
    load(pair, &[&named[..], &["--only", "indexes"]].concat())
        .ok()
        .says(&["1 index", "1 foreign key"]);
    let of = "SELECT CONCAT(unique_constraint_schema, referenced_table_name) FROM information_schema.referential_constraints WHERE constraint_schema = 'onl2'";
    assert_eq!(pair.target().value(of).expect("a name"), "onl2p");
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM onl2.w2")
            .expect("a count"),
        "2"
    );
}

both!(files_of_rows_are_not_needed);
fn files_of_rows_are_not_needed(pair: &Pair) {
    fill(pair);
    let files = std::fs::read_dir(pair.path("a")).expect("an archive");
    for file in files.flatten().map(|f| f.path()) {
        if file.to_string_lossy().contains(".tsv") {
            std::fs::remove_file(&file).expect("removed");
        }
    }
    load(pair, &[]).code(5).says(&["missing"]);
    let without = [
        "--no-views",
        "--no-triggers",
        "--no-routines",
        "--no-events",
    ];
    load(pair, &[&without[..], &["--ddl-only"]].concat()).ok();
    on_target(pair, "ALTER TABLE onl.c DROP KEY by_v");
    load(pair, &["--only", "objects"])
        .ok()
        .says(&["2 views", "1 trigger"]);
    load(pair, &["--only", "indexes"]).ok().says(&["1 index"]);
    pair.same_definitions("onl");
}

both!(nothing_is_dropped_that_cannot_be_made_again);
fn nothing_is_dropped_that_cannot_be_made_again(pair: &Pair) {
    fill(pair);
    load(pair, &[]).ok();
    on_target(
        pair,
        "CREATE USER t_few@localhost; GRANT ALL ON onl.* TO t_few@localhost",
    );
    // The definers are root's, which this account may not give.
    let options = ["--only", "objects", "--existing", "replace", "--yes"];
    let load = Tool::new(["load"]).arg(pair.path("a")).args(options);
    let load = load.args(["--user", "t_few", "--socket"]);
    let done = load.arg(pair.target().socket()).run().code(7);
    done.says(&["lacks privileges", "GRANT "]);
    pair.same_definitions("onl");
}

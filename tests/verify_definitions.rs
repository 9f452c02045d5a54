//! `verify` with a server compares definitions as well as rows, and says what it did not compare.

use crate::kit::fixtures::fixture;
use crate::kit::{COUNT, Pair, Tool, both, own_server};
use testkit::Kind;

const SHOP: &str = "CREATE DATABASE rich; USE rich; \
    CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(20) DEFAULT 'x', KEY second (v), KEY first (v, id)) ENGINE=InnoDB; \
    CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, p INT, CONSTRAINT of_parent FOREIGN KEY (p) REFERENCES parent (id)) ENGINE=InnoDB; \
    INSERT INTO parent SELECT n, n FROM Q; INSERT INTO child (p) SELECT id FROM parent WHERE id < 100;";

fn fill(pair: &Pair) {
    pair.fill(&SHOP.replace(" Q;", &format!(" {COUNT};")));
    pair.fill(&fixture!("rich_objects"));
}

/// What an administrator may do to the target, and what is said of it.
const CHANGES: &[(&str, &[&str])] = &[
    (
        "ALTER TABLE rich.parent ALTER COLUMN v SET DEFAULT 'y'",
        &[
            "table `rich`.`parent`: another definition",
            "DEFAULT 'x'",
            "DEFAULT 'y'",
        ],
    ),
    (
        "ALTER TABLE rich.parent DROP INDEX first",
        &["table `rich`.`parent`", "- KEY `first`"],
    ),
    (
        "ALTER TABLE rich.child DROP FOREIGN KEY of_parent",
        &["table `rich`.`child`", "- CONSTRAINT `of_parent`"],
    ),
    (
        "CREATE OR REPLACE VIEW rich.second AS SELECT id, rich.twice(id + 1) AS d FROM rich.parent",
        &["view `rich`.`second`: another definition"],
    ),
    ("DROP VIEW rich.first", &["view `rich`.`first`: not on"]),
    (
        "DROP FUNCTION rich.twice; CREATE FUNCTION rich.twice(x INT) RETURNS INT DETERMINISTIC RETURN 3 * x",
        &["function `rich`.`twice`", "2 * x", "3 * x"],
    ),
    ("DROP EVENT rich.later", &["event `rich`.`later`: not on"]),
    (
        "DROP TRIGGER rich.child_after",
        &["trigger `rich`.`child_after`: not on"],
    ),
    (
        "CREATE TRIGGER rich.more BEFORE DELETE ON rich.child FOR EACH ROW SET @a = 1",
        &["trigger `rich`.`more`: not on"],
    ),
    (
        "ALTER DATABASE rich COLLATE latin1_bin",
        &["schema `rich`: another definition", "latin1_bin"],
    ),
];

both!(each_change_of_a_definition_is_found);
fn each_change_of_a_definition_is_found(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    let done = pair.verify_against("a", pair.target()).ok();
    done.says(&["definitions", "objects compared"]);
    pair.verify_servers(&[]).ok().says(&["objects compared"]);
    for (change, says) in CHANGES {
        pair.target().script(change.as_bytes()).expect("a change");
        pair.verify_against("a", pair.target()).code(4).says(says);
        pair.verify_servers(&[]).code(4).says(says);
        // The rows are what they were.
        pair.verify_servers(&["--no-definitions"]).ok();
        let sql = "DROP DATABASE rich; DROP DATABASE `odd ``name`";
        pair.target()
            .client("SET foreign_key_checks = 0")
            .expect("set");
        pair.target().script(sql.as_bytes()).expect("dropped");
        pair.load("a", &["--verify", "none"]).ok();
    }
    // Settings that an object was made with are a part of it.
    let made = "SET sql_mode = 'ANSI_QUOTES'; DROP TRIGGER rich.child_after; CREATE TRIGGER rich.child_after AFTER INSERT ON rich.child FOR EACH ROW INSERT INTO log (what)
  VALUES ('after')";
    pair.target().script(made.as_bytes()).expect("made");
    let done = pair.verify_against("a", pair.target()).code(4);
    done.says(&["trigger `rich`.`child_after`", "+ sql_mode = ANSI_QUOTES"]);
    // Of another part nothing has changed.
    pair.verify_servers(&["--exclude-tables", "rich.child"])
        .ok();
}

both!(what_only_the_server_has_differs_between_servers_alone);
fn what_only_the_server_has_differs_between_servers_alone(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--no-triggers"]).ok();
    pair.load("a", &[]).ok();
    // An archive without triggers says nothing of them.
    pair.verify_against("a", pair.source()).ok();
    pair.verify_against("a", pair.target()).ok();
    pair.verify_servers(&[])
        .code(4)
        .says(&["trigger `rich`.`child_added`: not on"]);
    let more = "CREATE PROCEDURE rich.more() SELECT 1";
    pair.target().script(more.as_bytes()).expect("made");
    pair.verify_against("a", pair.target()).ok();
    pair.verify_servers(&[])
        .code(4)
        .says(&["procedure `rich`.`more`: not on"]);
}

both!(what_the_account_may_not_see_is_named);
fn what_the_account_may_not_see_is_named(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let account = "CREATE USER t_rows@localhost; GRANT SELECT ON rich.* TO t_rows@localhost; GRANT SELECT ON `odd ``name`.* TO t_rows@localhost;";
    pair.fill(account);
    let tool = Tool::new(["verify", "--no-defaults"]).arg(pair.path("a"));
    let tool = tool.arg("-S").arg(pair.source().socket());
    let done = tool.args(["-u", "t_rows"]).run().ok();
    // A trigger, a routine and an event that are not even listed cannot be told from those that are gone.
    done.says(&["not compared", "definitions", "GRANT ", "TRIGGER"]);
    // For one table no more is needed than that table takes, whatever else is in its schema.
    pair.dump("one", &["--include-tables", "rich.parent"]).ok();
    let one = || {
        let tool = Tool::new(["verify", "--no-defaults"]).arg(pair.path("one"));
        let tool = tool.arg("-S").arg(pair.source().socket());
        tool.args(["-u", "t_one", "--json"]).run()
    };
    pair.fill(
        "CREATE USER t_one@localhost; GRANT SELECT, SHOW VIEW, TRIGGER ON rich.parent TO t_one@localhost;",
    );
    let done = one().ok().summary();
    assert!(done["definitions"].as_u64() >= Some(1), "{done}");
    assert_eq!(done["definitions_not_compared"], serde_json::json!([]));
    pair.fill("CREATE TRIGGER rich.new_one BEFORE DELETE ON rich.parent FOR EACH ROW SET @a = 1;");
    one().code(4).says(&["trigger `rich`.`new_one`: not on"]);
}

#[test]
fn between_flavours_objects_are_compared_by_name() {
    let Some(pair) = Pair::take(Kind::MySql) else {
        return;
    };
    let Some(other) = own_server(Kind::MariaDb, &[]) else {
        return;
    };
    fill(&pair);
    pair.dump("a", &[]).ok();
    let tool = Tool::new(["load", "--no-defaults"]).arg(pair.path("a"));
    let tool = tool.arg("-S").arg(other.socket());
    tool.args(["-u", "root"]).run().ok();
    pair.verify_against("a", &other).ok().says(&[
        "definitions, but for the names of objects",
        "print them differently",
    ]);
    other.client("DROP VIEW rich.first").expect("dropped");
    pair.verify_against("a", &other)
        .code(4)
        .says(&["view `rich`.`first`: not on"]);
}

both!(the_order_of_triggers_is_part_of_a_definition);
fn the_order_of_triggers_is_part_of_a_definition(pair: &Pair) {
    let (first, second) = (
        "CREATE TRIGGER o.x1 BEFORE INSERT ON o.t FOR EACH ROW SET NEW.b = 1;",
        "CREATE TRIGGER o.x2 BEFORE INSERT ON o.t FOR EACH ROW SET NEW.b = 2;",
    );
    let table = "CREATE DATABASE o; CREATE TABLE o.t (a INT PRIMARY KEY, b INT) COMMENT='uses AUTO_INCREMENT=5';";
    pair.fill(&format!("{table}{first}{second}"));
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    pair.verify_servers(&[]).ok();
    let other = format!("DROP TRIGGER o.x1; {first}");
    pair.target().script(other.as_bytes()).expect("changed");
    let says = ["its triggers run in another order: x1, x2"];
    pair.verify_servers(&[]).code(4).says(&says);
    pair.verify_against("a", pair.target()).code(4).says(&says);
    let other =
        format!("DROP TRIGGER o.x2; {second} ALTER TABLE o.t COMMENT='uses AUTO_INCREMENT=6'");
    pair.target().script(other.as_bytes()).expect("changed");
    pair.verify_servers(&[])
        .code(4)
        .says(&["table `o`.`t`: another definition", "AUTO_INCREMENT=6"]);
}

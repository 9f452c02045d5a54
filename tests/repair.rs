//! A load that ended with exceptions, because the target refused something, is repaired by the same command.

use crate::kit::{Pair, Tool, both};

both!(a_load_that_lacked_a_privilege_is_repaired_by_the_same_command);
fn a_load_that_lacked_a_privilege_is_repaired_by_the_same_command(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE rp; USE rp; CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v)); \
        INSERT INTO t VALUES (1, 1), (2, 2); CREATE TABLE log (id INT); \
        CREATE SQL SECURITY INVOKER VIEW own AS SELECT 1 AS x; \
        CREATE VIEW theirs AS SELECT * FROM t; \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE PROCEDURE p() SELECT 1;",
    );
    pair.dump("a", &[]).ok();
    let target = pair.target();
    let run = |sql: &str| target.script(sql.as_bytes()).expect("done");
    run(
        "CREATE USER t_few@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, \
        ALTER, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER ON *.* TO t_few@localhost;",
    );
    let trust = "log_bin_trust_function_creators";
    let before = target.value(&format!("SELECT @@{trust}")).expect("a flag");
    run(&format!("SET GLOBAL {trust} = ON"));
    let load = || {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "t_few"])
            .env("PENSTOCK_STATE", pair.path("state").as_os_str())
            .run()
    };
    let first = load();
    // What others write meanwhile stays as it is.
    run("INSERT INTO rp.t VALUES (3, 3); DELETE FROM rp.t WHERE id = 1;");
    let still = load();
    let definers = if pair.is_mysql() {
        "SET_ANY_DEFINER, SYSTEM_USER"
    } else {
        "SET USER"
    };
    run(&format!("GRANT {definers} ON *.* TO t_few@localhost"));
    let repaired = load();
    let again = load();
    run(&format!("SET GLOBAL {trust} = {before}"));
    let refused = [
        "trigger `rp`.`tr`",
        "procedure `rp`.`p`",
        "`rp`.`theirs`",
        "the same command",
    ];
    first.code(3).says(&refused);
    still.code(3).says(&refused).says(&["not compared again"]);
    repaired.ok().says(&["not compared again"]);
    again.code(10).says(&["already holds"]);
    let number = |sql: &str| target.value(sql).expect("a number");
    assert_eq!(
        number("SELECT GROUP_CONCAT(id ORDER BY id) FROM rp.t"),
        "2,3"
    );
    assert_eq!(number("SELECT COUNT(*) FROM rp.log"), "0");
    assert_eq!(number("SELECT COUNT(*) FROM rp.theirs"), "2");
    for (view, schema, name) in [
        ("triggers", "trigger_schema", "trigger_name"),
        ("routines", "routine_schema", "routine_name"),
    ] {
        let sql = format!(
            "SELECT GROUP_CONCAT({name}) FROM information_schema.{view} WHERE {schema} = 'rp'"
        );
        assert_eq!(number(&sql), if view == "triggers" { "tr" } else { "p" });
    }
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'rp'";
    assert_eq!(number(tables), "4", "no journal is left");
}

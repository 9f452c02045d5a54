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

/// A load by an account that may not create what others define, so that `p` and the trigger are left out.
fn half_loaded(pair: &Pair) -> impl Fn(&str) -> crate::kit::Done + '_ {
    pair.fill(
        "CREATE DATABASE rh; USE rh; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); \
        CREATE TABLE log (id INT); CREATE VIEW w AS SELECT * FROM t; \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE PROCEDURE p() SELECT 1;",
    );
    pair.dump("h", &["--include-schemas", "rh"]).ok();
    let target = pair.target();
    target
        .script(
            b"CREATE USER IF NOT EXISTS t_half@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, \
            INDEX, ALTER, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER ON *.* TO t_half@localhost; \
            SET GLOBAL log_bin_trust_function_creators = ON",
        )
        .expect("an account");
    move |state: &str| {
        Tool::new(["load"])
            .arg(pair.path("h"))
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "t_half"])
            .env("PENSTOCK_STATE", pair.path(state).as_os_str())
            .run()
    }
}

fn trust_no_more(pair: &Pair) {
    let sql = b"SET GLOBAL log_bin_trust_function_creators = OFF";
    pair.target().script(sql).expect("set back");
}

both!(what_was_made_again_or_by_others_is_not_taken_for_loaded);
fn what_was_made_again_or_by_others_is_not_taken_for_loaded(pair: &Pair) {
    let load = half_loaded(pair);
    let run = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    load("state")
        .code(3)
        .says(&["trigger `rh`.`tr`", "the same command"]);
    // The server's times have whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    run(
        "CREATE TABLE rh.x (id INT); CREATE TRIGGER rh.tr BEFORE DELETE ON rh.x FOR EACH ROW SET @a = 1",
    );
    load("state")
        .code(10)
        .says(&["trigger `rh`.`tr` was made by another session"]);
    run("DROP TABLE rh.x; DROP TABLE rh.t; CREATE TABLE rh.t (id INT PRIMARY KEY)");
    load("state").code(10).says(&[
        "table `rh`.`t` was altered or made again",
        "drop what is there",
    ]);
    let rows = pair.target().value("SELECT COUNT(*) FROM rh.t");
    assert_eq!(rows.expect("a number"), "0", "nothing was touched");
    trust_no_more(pair);
}

both!(a_trigger_of_a_table_that_is_not_selected_is_named);
/// What somebody does who takes "already holds" for the reason: the same load without the tables that are there.
fn a_trigger_of_a_table_that_is_not_selected_is_named(pair: &Pair) {
    let load = half_loaded(pair);
    load("state").code(3).says(&["trigger `rh`.`tr`"]);
    trust_no_more(pair);
    pair.source()
        .script(b"CREATE TABLE rh.more (id INT PRIMARY KEY); INSERT INTO rh.more VALUES (1)")
        .expect("another table");
    pair.dump("later", &["--include-schemas", "rh"]).ok();
    let done = pair.load("later", &["--exclude-tables", "rh.t,rh.log,rh.w"]);
    done.ok().says(&[
        "trigger `rh`.`tr` is not on the target: its table `rh`.`t` is there, and is not selected",
    ]);
    pair.same("SELECT * FROM rh.more");
}

both!(without_a_record_no_repair_is_promised);
fn without_a_record_no_repair_is_promised(pair: &Pair) {
    let load = half_loaded(pair);
    std::fs::write(pair.path("file"), "no directory").expect("a file");
    let done = load("file").code(3);
    trust_no_more(pair);
    assert!(
        !done.said().contains("the same command creates"),
        "{}",
        done.said()
    );
    assert!(
        done.said().contains("the same command cannot create"),
        "{}",
        done.said()
    );
}

both!(a_function_and_a_procedure_may_have_one_name);
fn a_function_and_a_procedure_may_have_one_name(pair: &Pair) {
    pair.fill("CREATE DATABASE rn; CREATE FUNCTION rn.f() RETURNS INT DETERMINISTIC NO SQL RETURN 1; CREATE TABLE rn.p (id INT)");
    pair.dump("n", &["--include-schemas", "rn"]).ok();
    let target = pair.target();
    let theirs =
        b"CREATE DATABASE rn; CREATE PROCEDURE rn.f() SELECT 2; CREATE PROCEDURE rn.p() SELECT 3";
    target.script(theirs).expect("made");
    pair.load("n", &[]).ok();
    let kinds = "SELECT GROUP_CONCAT(LOWER(routine_type), ' ', routine_name ORDER BY 1) FROM information_schema.routines WHERE routine_schema = 'rn'";
    let there = target.value(kinds).expect("routines");
    for name in ["function f", "procedure f", "procedure p"] {
        assert!(there.contains(name), "{there}");
    }
}

both!(what_an_earlier_load_made_stays_when_it_is_repaired);
fn what_an_earlier_load_made_stays_when_it_is_repaired(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE rv; USE rv; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (5); \
        CREATE VIEW good AS SELECT id FROM t; CREATE TABLE gone (id INT); \
        CREATE VIEW bad AS SELECT id FROM gone; DROP TABLE gone; \
        CREATE VIEW a AS SELECT id FROM good WHERE id > 0 WITH CHECK OPTION;",
    );
    pair.dump("a", &[]).code(3).says(&["bad"]);
    // A view over one that is still a placeholder is tried again: WITH CHECK OPTION refuses those.
    let load = || pair.load("a", &[]);
    let done = load().code(3).says(&["view `rv`.`bad`"]);
    assert!(!done.said().contains("`rv`.`a`"), "{}", done.said());
    let good = || pair.target().value("SELECT id FROM rv.good");
    assert_eq!(good().expect("a row"), "5");
    // Refused once more: what is there stays.
    load().code(3);
    assert_eq!(good().expect("a row"), "5");
    pair.target()
        .client("CREATE TABLE rv.gone (id INT)")
        .expect("a table");
    load().ok();
    assert_eq!(good().expect("a row"), "5");
    let a = pair.target().value("SELECT COUNT(*) FROM rv.a");
    assert_eq!(a.expect("a row"), "1");
    pair.target()
        .client("SELECT * FROM rv.bad")
        .expect("the view");
}

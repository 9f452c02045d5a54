//! Killed, repaired, and disturbed by others: in the end the rows that match, or a clear error and all rows.

use super::*;
use crate::kit::sampling::few;

both!(a_load_of_rows_that_match_is_killed);
fn a_load_of_rows_that_match_is_killed(pair: &Pair) {
    fill_for_choices(pair);
    let wanted = chosen_on_source(pair);
    let loading = |more: &[&str]| {
        pair.loading("a", &[&CHOICES[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    let list = pair.path("places");
    loading(&[]).env("PENSTOCK_PLACES", &list).run().ok();
    let count = std::fs::read_to_string(&list)
        .expect("failpoints")
        .lines()
        .count();
    let numbers: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
    let places = [
        "rows are about to be deleted#1",
        "rows are about to be deleted#3",
        "rows may be deleted for good#1",
        "rows are deleted#1",
        "rows are deleted#4",
        "only wanted rows are left#1",
        "only wanted rows are left#4",
        "the end of the load is noted#1",
        "the journal is gone#1",
    ];
    let places = places.map(str::to_owned).into_iter();
    for place in places.chain(few(pair.kind, 6, &numbers)) {
        pair.target()
            .client("DROP DATABASE IF EXISTS ch")
            .expect("dropped");
        loading(&[]).env("PENSTOCK_KILL_AT", &place).run();
        if place.starts_with("rows") {
            let other = ["--where", "ch.orders=id = 1", "--resume"];
            pair.load("a", &other).code(10).says(&["another load"]);
        }
        let done = loading(&["--resume", "--json"]).run();
        // Of a load that ended there is nothing to resume.
        if done.code == 10 {
            assert!(place.parse() == Ok(count), "{place}: {}", done.said());
            continue;
        }
        let done = done.ok();
        assert_eq!(chosen_there(pair, "ch"), wanted, "{place}");
        let chosen = &done.summary()["rows_that_match"];
        assert_eq!(
            chosen.as_array().map(Vec::len),
            Some(4),
            "{place}: {}",
            done.out
        );
        let numbers = wanted[..4].iter().filter_map(|w| w.split(' ').next());
        let all: u64 = numbers.filter_map(|n| n.parse::<u64>().ok()).sum();
        assert_eq!(done.summary()["rows"], all, "{place}: {}", done.out);
    }
}

both!(rows_of_others_are_not_deleted);
/// Rows that another session inserts while the load runs are found before any row is deleted.
fn rows_of_others_are_not_deleted(pair: &Pair) {
    fill_for_choices(pair);
    let usual = [
        "--tables",
        "ch.orders",
        "--where",
        "ch.orders=id < 10",
        "--threads",
        "1",
    ];
    for (verify, why) in [
        ("auto", "`ch`.`orders`"),
        ("none", "has 3,001 rows, and 3,000 were loaded"),
    ] {
        let usual = [&usual[..], &["--verify", verify]].concat();
        pair.loading("a", &usual)
            .env("PENSTOCK_KILL_AT", "rows are about to be deleted#1")
            .run()
            .code(137);
        let insert = b"INSERT INTO ch.orders (id) VALUES (9999)";
        pair.target().script(insert).expect("inserted");
        let resumed = [&usual[..], &["--resume"]].concat();
        pair.load("a", &resumed).code(4).says(&[why]);
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        assert_eq!(rows.expect("a count"), "3001");
        let delete = b"DELETE FROM ch.orders WHERE id = 9999";
        pair.target().script(delete).expect("deleted");
        pair.load("a", &resumed).ok().says(&["9 of 3,000 rows"]);
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

both!(a_condition_on_a_table_that_has_lost_rows);
/// A table that the target refused at first comes after those that its condition reads, and they have not all of their rows any
/// more: it is not filled with fewer than the condition means.
fn a_condition_on_a_table_that_has_lost_rows(pair: &Pair) {
    fill_for_choices(pair);
    let target = pair.target();
    target
        .script(b"CREATE DATABASE ch; CREATE TABLE ch.x (id INT)")
        .expect("a schema");
    let load = |more: &[&str]| {
        let usual = [
            "--tables",
            "ch.customers,ch.orders",
            "--no-triggers",
            "--where",
            "ch.orders=customer IN (SELECT id FROM customers)",
            "--where",
            "ch.customers=id <= 10",
        ];
        pair.loading("a", &[&usual[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    // In between the table of the condition has lost its rows, and the other one is gone.
    load(&[])
        .env("PENSTOCK_KILL_AT", "only wanted rows are left#2")
        .run()
        .code(137);
    target
        .script(b"SET foreign_key_checks = 0; DROP TABLE ch.orders")
        .expect("dropped");
    load(&["--resume"]).run().code(1).says(&[
        "`ch`.`orders` cannot be chosen",
        "which an earlier run has left rows out of",
        "drop both tables",
    ]);
    target
        .script(b"SET foreign_key_checks = 0; DROP TABLE ch.orders, ch.customers")
        .expect("dropped");
    load(&["--resume"]).run().ok();
    let rows =
        "SELECT CONCAT((SELECT COUNT(*) FROM ch.orders), ' ', (SELECT COUNT(*) FROM ch.customers))";
    assert_eq!(target.value(rows).expect("counts"), "3000 10");
}

both!(a_load_of_rows_that_match_is_repaired);
/// The same command creates what the target refused. Rows are not chosen again: others may have written since.
fn a_load_of_rows_that_match_is_repaired(pair: &Pair) {
    fill_for_choices(pair);
    pair.source()
        .script(
            b"CREATE DATABASE o; CREATE TABLE o.t (id INT); CREATE VIEW ch.x AS SELECT id FROM o.t",
        )
        .expect("a view");
    pair.dump("b", &["--schemas", "ch"]).code(3);
    let loading = |more: &[&str]| {
        let usual = ["--where", "ch.orders=id < 10", "--json"];
        pair.loading("b", &[&usual[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    loading(&[]).run().code(3).says(&["`ch`.`x`"]);
    let run = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    run("INSERT INTO ch.orders (id) VALUES (500); CREATE DATABASE o; CREATE TABLE o.t (id INT)");
    let rows = || {
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        rows.expect("a count")
    };
    loading(&[])
        .env("PENSTOCK_KILL_AT", "an object is created#1")
        .run()
        .code(137);
    assert_eq!(rows(), "10");
    let done = loading(&["--resume"]).run().ok();
    let chosen = done.summary()["rows_that_match"][0].clone();
    assert_eq!(
        (chosen["rows"].clone(), chosen["of"].clone()),
        (10.into(), 3000.into())
    );
    assert_eq!(rows(), "10");
    let views = pair.target().value("SELECT COUNT(*) FROM ch.x");
    assert_eq!(views.expect("a count"), "0");
    run("DROP DATABASE o");
}

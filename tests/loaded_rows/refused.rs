//! What no rows can be chosen of, and conditions that mean nothing: nothing is lost, and nothing is there afterwards.

use super::*;

both!(conditions_that_a_load_cannot_use);
fn conditions_that_a_load_cannot_use(pair: &Pair) {
    fill_for_choices(pair);
    let there = || {
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'ch'";
        pair.target().value(sql).expect("a count")
    };
    let load = |conditions: &[&str], more: &[&str]| {
        let conditions = conditions.iter().flat_map(|c| ["--where", c]);
        let all: Vec<&str> = conditions.chain(more.iter().copied()).collect();
        pair.load("a", &all)
    };
    for (conditions, why) in [
        (&["ch.orders="][..], "the condition is empty"),
        (&["ch.orders=id = 1) OR (1"], "a parenthesis is closed"),
        (&["ch.orders=id = 1; DROP TABLE x"], "no semicolon"),
        (&["orders=id = 1"], "a table is named as schema.table"),
        (&["ch.orders=id = 1", "ch.orders=id = 2"], "given twice"),
        (
            &["ch.Nothing=id = 1"],
            "`ch`.`Nothing` is no table with rows",
        ),
        (&["ch.w=id = 1"], "`ch`.`w` is no table with rows"),
        (&["ch.orders=id = "], "the server does not take it"),
        (&["ch.orders=nothing = 1"], "nothing"),
        (&["ch.orders=COUNT(id) > 1"], "group function"),
        (
            &["ch.orders=customer IN (SELECT id FROM w)"],
            "it may read view `ch`.`w`",
        ),
        (
            &[
                "ch.orders=customer IN (SELECT id FROM customers)",
                "ch.customers=id IN (SELECT customer FROM orders)",
            ],
            "read each other's tables",
        ),
    ] {
        for more in [&["--dry-run"][..], &[], &["--existing", "replace", "--yes"]] {
            load(conditions, more).code(2).says(&["--where", why]);
            assert_eq!(there(), "0", "{conditions:?}");
        }
    }
    load(&["ch.orders=id = 1"], &["--exclude-tables", "ch.orders"])
        .code(2)
        .says(&["`ch`.`orders` is no table with rows that this load takes"]);
    for (option, why) in [
        (&["--ddl-only"][..], "cannot be used with"),
        (&["--only", "objects"], "cannot be used with"),
        (
            &["--gtid-purged", "append"],
            "a replica would lack the rows",
        ),
    ] {
        load(&["ch.orders=id = 1"], option).code(2).says(&[why]);
    }
    assert_eq!(there(), "0");
    // What shows on the table alone: before its rows are loaded.
    for (condition, why) in [
        ("ch.orders=f(id) > 1", "f does not exist"),
        ("ch.orders=id IN (SELECT x FROM customers)", "x"),
        (
            "ch.orders=id IN (SELECT id FROM customers FOR UPDATE)",
            "READ ONLY transaction",
        ),
        (
            "ch.orders=(SELECT id, region FROM customers LIMIT 1) = 3",
            "does not take it",
        ),
    ] {
        load(&[condition], &[])
            .code(2)
            .says(&[why, "no row was loaded"]);
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        assert_eq!(rows.expect("a count"), "0", "{condition}");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
    // MySQL does not delete from what it reads.
    let own = load(&["ch.orders=id = (SELECT MAX(id) FROM orders)"], &[]);
    match pair.is_mysql() {
        true => drop(own.code(2).says(&["for update in FROM clause"])),
        false => drop(own.ok().says(&["1 of 3,000 rows"])),
    }
    pair.target().client("DROP DATABASE ch").expect("dropped");
    // Rows that match only sometimes: none is lost.
    let random = ["ch.orders=RAND() < 0.5"];
    // In one of a hundred runs as many are deleted as were to be.
    let refused = (0..4).any(|_| {
        let done = load(&random, &[]);
        if done.code == 0 {
            pair.target().client("DROP DATABASE ch").expect("dropped");
            return false;
        }
        done.code(4).says(&["nothing was deleted"]);
        true
    });
    assert!(refused);
    let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
    assert_eq!(rows.expect("a count"), "3000");
}

#[test]
fn tables_that_no_rows_can_be_chosen_of() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE wh; USE wh; CREATE TABLE sv (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; INSERT INTO sv VALUES (1), (2); \
        CREATE TABLE m1 (id INT) ENGINE=MyISAM; CREATE TABLE m (id INT) ENGINE=MERGE UNION=(m1); CREATE SEQUENCE sq; \
        CREATE TABLE oracle (`a b` INT, `select` INT); INSERT INTO oracle VALUES (1, 2), (3, 4)",
    );
    pair.dump("a", &[]).code(3);
    for (condition, why) in [
        ("wh.sv=id = 1", "keeps its history"),
        ("wh.m=id = 1", "is no table with rows"),
        ("wh.sq=1", "is no table with rows"),
        ("wh.oracle=`a` = 1", "Unknown column"),
    ] {
        pair.load("a", &["--where", condition]).code(2).says(&[why]);
    }
    pair.load(
        "a",
        &["--where", "wh.oracle=`a b` < `select` and `select` > 3"],
    )
    .says(&["1 of 2 rows of `wh`.`oracle`"]);
}

both!(a_damaged_table_is_not_chosen_from);
fn a_damaged_table_is_not_chosen_from(pair: &Pair) {
    fill_for_choices(pair);
    let list = std::fs::read_dir(pair.path("a")).expect("an archive");
    let mut names = list
        .flatten()
        .map(|f| f.file_name().to_string_lossy().into_owned());
    let rows = names.find(|n| n.starts_with("ch@orders@") && n.ends_with(".tsv.zst"));
    for name in ["ch@orders.json", &rows.expect("a file of rows")] {
        let path = pair.path("a").join(name);
        let before = std::fs::read(&path).expect("a file");
        std::fs::write(&path, b"damaged").expect("written");
        let usual = [
            "--where",
            "ch.orders=id < 10",
            "--where",
            "ch.customers=id < 10",
        ];
        pair.load("a", &usual).code(5);
        let done = pair.load("a", &[&usual[..], &["--skip-damaged"]].concat());
        done.code(3).says(&[
            "table `ch`.`orders` is not loaded",
            "9 of 50 rows of `ch`.`customers`",
        ]);
        std::fs::write(&path, before).expect("written");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

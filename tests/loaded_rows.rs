//! Some rows of a table from a whole archive: those that a condition (`load --where`) or their partition (`load --partitions`)
//! chooses. What is loaded is what the source gives for the same condition, and no other row is touched.

mod interrupted;
mod partitions;
mod refused;

use crate::kit::{COUNT, Pair, Tool, both};

fn fill_for_choices(pair: &Pair) {
    let orders = format!("{COUNT} WHERE n BETWEEN 1 AND 3000");
    let few = format!("{COUNT} WHERE n BETWEEN 1 AND 50");
    pair.fill(&format!(
        "CREATE DATABASE ch; USE ch; \
        CREATE TABLE customers (id INT PRIMARY KEY, region VARCHAR(10)); \
        INSERT INTO customers SELECT n, IF(n % 2 = 0, 'EU', 'US') FROM {few}; \
        CREATE TABLE orders (id INT PRIMARY KEY, customer INT, v VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci, \
            at TIMESTAMP NULL, twice INT AS (id * 2) STORED, half INT AS (id / 2) VIRTUAL, KEY (v), KEY (half), \
            FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE); \
        INSERT INTO orders (id, customer, v, at) SELECT n, 1 + n % 50, IF(n % 7 = 0, NULL, CONCAT('Ordér ', n)), \
            '2026-01-01 12:00:00' + INTERVAL n HOUR FROM {orders}; \
        CREATE TABLE items (orders INT, n INT, FOREIGN KEY (orders) REFERENCES orders (id) ON DELETE CASCADE); \
        INSERT INTO items SELECT n, n % 10 FROM {orders}; \
        CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM; \
        INSERT INTO plain SELECT n, CONCAT('v', n) FROM {few}; \
        CREATE TABLE log (id INT); CREATE VIEW w AS SELECT id FROM customers; \
        CREATE TRIGGER tr AFTER DELETE ON orders FOR EACH ROW INSERT INTO log VALUES (OLD.id); \
        CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1;"
    ));
    // MyISAM has no snapshots.
    pair.dump("a", &["--chunk-size", "64k"]).code(3);
}

/// What the target has of the tables: the number of rows, and the sum of a column.
fn chosen_there(pair: &Pair, schema: &str) -> Vec<String> {
    [
        "customers.id",
        "orders.id",
        "items.orders",
        "plain.id",
        "log.id",
    ]
    .iter()
    .map(|column| {
        let (table, name) = column.split_once('.').expect("two parts");
        let sql =
            format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM({name}), 0)) FROM {schema}.{table}");
        pair.target().value(&sql).expect("a sum")
    })
    .collect()
}

const CHOICES: [&str; 8] = [
    "--where",
    "ch.orders=customer IN (SELECT id FROM customers WHERE region = 'EU') AND v LIKE 'ORDER 2%' -- some",
    "--where",
    "ch.customers=id <= 10",
    "--where",
    "`ch`.`items` = n = 3 AND orders > 5",
    "--where",
    "ch.plain=v > 'v3' or NULL",
];

/// The same of the source.
fn chosen_on_source(pair: &Pair) -> Vec<String> {
    [
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.customers WHERE id <= 10",
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.orders WHERE customer IN (SELECT id FROM ch.customers WHERE region = 'EU') \
         AND v LIKE 'ORDER 2%'",
        "SELECT CONCAT(COUNT(*), ' ', SUM(orders)) FROM ch.items WHERE n = 3 AND orders > 5",
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.plain WHERE v > 'v3'",
        "SELECT '0 0'",
    ]
    .iter()
    .map(|sql| pair.source().value(sql).expect("a sum"))
    .collect()
}

both!(a_load_of_rows_that_match);
fn a_load_of_rows_that_match(pair: &Pair) {
    fill_for_choices(pair);
    let wanted = chosen_on_source(pair);
    assert!(wanted[1].len() > 5, "{wanted:?}");
    let left_out = "the rows of `ch`.`items` that do not match: n = 3 AND orders > 5 (--where)";
    pair.load("a", &[&CHOICES[..], &["--dry-run"]].concat())
        .ok()
        .says(&["left out", left_out]);
    let done = pair.load("a", &[&CHOICES[..], &["--json"]].concat()).ok();
    let summary = done.summary();
    assert_eq!(chosen_there(pair, "ch"), wanted);
    let rows = |n: usize| wanted[n].split(' ').next().expect("a number").to_owned();
    let chosen = summary["rows_that_match"].as_array().expect("a list");
    assert_eq!(chosen.len(), 4, "{}", done.out);
    let orders = chosen.iter().find(|c| c["table"] == "`ch`.`orders`");
    let orders = orders.expect("orders");
    assert_eq!(orders["rows"].to_string(), rows(1));
    assert_eq!(orders["of"], 3000);
    let all: u64 = (0..4)
        .map(|n| rows(n).parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(summary["rows"], all);
    // All of them were compared before rows were deleted.
    assert_eq!(summary["verified"]["rows"], 6100);
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    assert_eq!(
        count("SELECT COUNT(*) FROM ch.orders WHERE twice <> id * 2"),
        "0"
    );
    assert_eq!(count("SELECT COUNT(*) FROM ch.w"), "10");
    assert_eq!(
        count("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'ch'"),
        "1"
    );
    assert_eq!(
        count(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'"
        ),
        "0"
    );
    // A row that is inserted now is the next, as without a condition.
    pair.target().client("DROP DATABASE ch").expect("dropped");
    let done = pair.load("a", &CHOICES).ok().says(&[
        &format!("{} of 3,000 rows of `ch`.`orders` (--where)", rows(1)),
        "table `ch`.`items` has a foreign key to `ch`.`orders`, of which rows were left out",
        left_out,
    ]);
    assert!(!done.offers_a_replica(), "{}", done.err);
    // The rest of the archive is not what the target has.
    pair.verify_against("a", pair.target()).code(4);
    // The same again: all of it is there.
    pair.load("a", &CHOICES).code(10);
    assert_eq!(chosen_there(pair, "ch"), wanted);
}

both!(rows_that_match_go_into_tables_that_are_there);
fn rows_that_match_go_into_tables_that_are_there(pair: &Pair) {
    fill_for_choices(pair);
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    let sql = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    let orders = "SELECT CONCAT(COUNT(*), ' ', IFNULL(MAX(id), 0)) FROM ch.orders";
    pair.load("a", &["--ddl-only", "--no-triggers"]).ok();
    let load = |more: &[&str]| {
        let usual = ["--tables", "ch.orders", "--where", "ch.orders=id < 8"];
        pair.load("a", &[&usual[..], more].concat())
    };
    // Its own rows, which match or not, stay: the load is refused.
    sql("INSERT INTO ch.orders (id) VALUES (1), (5000)");
    load(&["--data-only"]).code(10).says(&["there are rows in"]);
    load(&["--existing", "skip"])
        .code(2)
        .says(&["`ch`.`orders` is there already", "--existing skip"]);
    assert_eq!(count(orders), "2 5000");
    // A trigger of its own would see each row go.
    sql(
        "CREATE TRIGGER ch.mine BEFORE DELETE ON ch.orders FOR EACH ROW INSERT INTO ch.log VALUES (OLD.id)",
    );
    load(&["--existing", "truncate", "--yes", "--no-triggers"])
        .code(2)
        .says(&["trigger `ch`.`mine` would run"]);
    assert_eq!(count(orders), "2 5000");
    sql(
        "DROP TRIGGER ch.mine; SET foreign_key_checks = 0; INSERT INTO ch.items VALUES (8, 0), (3, 0)",
    );
    load(&["--existing", "truncate", "--no-triggers", "--dry-run"]).ok();
    let wrong = [
        "--tables",
        "ch.orders",
        "--where",
        "ch.orders=v = b'1' COLLATE utf8mb4_bin",
        "--data-only",
        "--existing",
        "truncate",
        "--yes",
    ];
    pair.load("a", &wrong)
        .code(2)
        .says(&["nothing was changed"]);
    assert_eq!(count(orders), "2 5000");
    load(&["--existing", "truncate", "--yes", "--no-triggers"])
        .ok()
        .says(&["7 of 3,000 rows of `ch`.`orders` (--where)"]);
    assert_eq!(count(orders), "7 7");
    // ON DELETE CASCADE does not reach rows of a table that is not loaded.
    assert_eq!(count("SELECT COUNT(*) FROM ch.items"), "2");
    assert_eq!(count("SELECT COUNT(*) FROM ch.log"), "0");
    sql("SET foreign_key_checks = 0; TRUNCATE TABLE ch.orders");
    load(&["--data-only"]).ok();
    assert_eq!(count(orders), "7 7");
    // Replaced, and killed in between.
    let replaced = |last: &'static str| {
        let all = "--tables ch.orders --where ch.orders=id<4 --existing replace";
        let all: Vec<&str> = all.split(' ').chain([last]).collect();
        pair.loading("a", &all)
    };
    replaced("--yes")
        .env("PENSTOCK_KILL_AT", "rows are deleted#1")
        .run()
        .code(137);
    replaced("--resume").run().ok();
    assert_eq!(count(orders), "3 3");
    assert_eq!(count("SELECT COUNT(*) FROM ch.items"), "2");
}

both!(rows_that_match_under_another_name);
/// The table is named as in the archive, and the condition is evaluated where it is then.
fn rows_that_match_under_another_name(pair: &Pair) {
    fill_for_choices(pair);
    let choose = |table: &str| {
        let condition = format!(
            "{table}=EXISTS (SELECT 1 FROM customers WHERE customers.id = found.customer AND region = 'EU')"
        );
        let usual = [
            "--tables",
            "ch.orders,ch.customers",
            "--map-schema",
            "ch=other",
            "--map-table",
            "ch.orders=other.found",
        ];
        pair.load("a", &[&usual[..], &["--where", &condition]].concat())
    };
    choose("other.found")
        .code(2)
        .says(&["`other`.`found` is no table with rows"]);
    choose("ch.orders")
        .ok()
        .says(&["1,500 of 3,000 rows of `other`.`found` (--where)"]);
    let count = pair
        .target()
        .value("SELECT SUM(customer % 2) FROM other.found");
    assert_eq!(count.expect("a count"), "0");
}

both!(rows_that_match_besides_other_ways_of_loading);
fn rows_that_match_besides_other_ways_of_loading(pair: &Pair) {
    fill_for_choices(pair);
    let count = || {
        let sql = "SELECT CONCAT(COUNT(*), ' ', MAX(id)) FROM ch.orders";
        pair.target().value(sql).expect("a count")
    };
    let usual = ["--where", "ch.orders=id <= 20"];
    for more in [
        &["--import-mode", "tablespace", "--skip-binlog", "--json"][..],
        &["--verify", "none", "--defer-indexes", "all"],
        &["--threads", "1", "--analyze", "--tune", "off"],
    ] {
        let done = pair.load("a", &[&usual[..], more].concat());
        assert!(matches!(done.code, 0 | 3), "{}", done.said());
        if more.contains(&"--json") {
            let import = done.summary()["import"].to_string();
            assert!(
                import.contains("only some of their rows are wanted"),
                "{import}"
            );
            assert!(
                !done.summary()["import"]["tables"]
                    .to_string()
                    .contains("orders"),
                "{import}"
            );
        }
        assert_eq!(count(), "20 20", "{more:?}");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

both!(a_backup_of_which_rows_are_restored);
fn a_backup_of_which_rows_are_restored(pair: &Pair) {
    fill_for_choices(pair);
    let repository = pair.path("repo").display().to_string();
    Tool::new(["init", &repository]).run().ok();
    let verb = |words: &[&str]| Tool::new(words).args(["--repository", &repository]);
    verb(&["backup", "shop", &pair.source().uri()])
        .run()
        .code(3);
    let usual = ["--where", "ch.orders=id < 10", "--into"];
    let restore = |more: &[&str]| {
        verb(&["restore"])
            .args(usual)
            .arg(pair.target().uri())
            .args(more)
            .run()
    };
    restore(&["--dry-run"])
        .ok()
        .says(&["do not match: id < 10 (--where)"]);
    restore(&["--latest"])
        .code(2)
        .says(&["--where does not apply"]);
    restore(&[])
        .ok()
        .says(&["9 of 3,000 rows of `ch`.`orders` (--where)"]);
}

#[test]
fn rows_that_match_in_a_new_data_directory() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    fill_for_choices(&pair);
    let install = testkit::Install::find(pair.kind).expect("a server");
    let program = install.one_program(&pair.path("mysqld"));
    let done = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--datadir")
        .arg(pair.path("new"))
        .arg("--mysqld")
        .arg(program.expect("a program"))
        .args(["--where", "ch.orders=id < 10"])
        .run();
    done.ok()
        .says(&["9 of 3,000 rows of `ch`.`orders` (--where)"]);
}

//! Archives loaded under other names: rows, constraints, triggers and what refers to them come along, the originals stay as
//! they are, and what cannot be renamed with certainty is named.

use crate::kit::same::definitions;
use crate::kit::{COUNT, Done, Pair, Tool, both, few};
use crate::stores::{Access, tool};
use testkit::{Install, Server, Setup};

/// Two tables that refer to each other's schema by every kind of object.
pub const SHOP: &str = "CREATE DATABASE shop; USE shop; \
    CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB; \
    INSERT INTO people VALUES (1, 'Ada'), (2, 'Grace'); \
    CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, who INT, parent INT, n INT, twice INT AS (n * 2) STORED, \
      note VARCHAR(40), KEY (note), CONSTRAINT plus CHECK (n > 0), CONSTRAINT orders_who FOREIGN KEY (who) REFERENCES people (id), \
      CONSTRAINT up FOREIGN KEY (parent) REFERENCES orders (id)) ENGINE=InnoDB; \
    INSERT INTO orders (who, parent, n, note) VALUES (1, NULL, 3, 'first'), (2, 1, 4, 'second'); \
    CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40)) ENGINE=InnoDB; \
    CREATE TRIGGER orders_ai AFTER INSERT ON orders FOR EACH ROW INSERT INTO log (what) VALUES (NEW.note); \
    CREATE VIEW v AS SELECT orders.id, people.name FROM orders JOIN people ON people.id = orders.who; \
    CREATE FUNCTION total() RETURNS INT READS SQL DATA RETURN (SELECT SUM(n) FROM shop.orders); \
    CREATE PROCEDURE clean() DELETE FROM shop.log; \
    \nDELIMITER ;;\nCREATE PROCEDURE by_text() BEGIN SET @s = 'DELETE FROM shop.log'; PREPARE s FROM @s; EXECUTE s; END;;\nDELIMITER ;\n \
    CREATE EVENT tidy ON SCHEDULE AT '2037-01-01 00:00:00' DO DELETE FROM shop.log; \
    CREATE DATABASE crm; CREATE VIEW crm.w AS SELECT id, n FROM shop.orders";

fn fill(pair: &Pair) {
    pair.fill(SHOP);
}

fn load(pair: &Pair, server: &Server, more: &[&str]) -> Tool {
    Tool::new(["load"])
        .arg(pair.path("a"))
        .args(["--threads", "2", "--into", &server.uri()])
        .args(more.iter().copied())
        .env("PENSTOCK_STATE", pair.path("state"))
}

fn verify(pair: &Pair, server: &Server, more: &[&str]) -> Done {
    Tool::new(["verify"])
        .arg(pair.path("a"))
        .args(["--against", &server.uri()])
        .args(more.iter().copied())
        .run()
}

fn value(server: &Server, sql: &str) -> String {
    server.value(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

const BESIDE: [&str; 4] = [
    "--include-tables",
    "shop.orders",
    "--map-table",
    "shop.orders=shop.orders_monday",
];

both!(one_table_is_restored_beside_its_original);
fn one_table_is_restored_beside_its_original(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    // Into the server that it came from: nothing there has one of these names.
    let server = pair.source();
    server
        .client("UPDATE shop.orders SET n = 99 WHERE id = 1")
        .expect("a change");
    let before = definitions(server, "shop");
    let done = load(pair, server, &BESIDE).run().ok().says(&[
        "`shop`.`orders` of the source is `shop`.`orders_monday` here",
        "foreign key `up` becomes `orders_monday_up`",
        "constraint `plus` becomes `orders_monday_plus`",
        "trigger `orders_ai` of table `shop`.`orders_monday` becomes `orders_monday_ai`",
        "equal: 2 rows in 1 table",
    ]);
    assert!(!done.said().contains("exceptions"), "{}", done.said());
    let rows = "SELECT GROUP_CONCAT(id, ' ', n, ' ', twice ORDER BY id) FROM shop.orders";
    assert_eq!(value(server, &format!("{rows}_monday")), "1 3 6,2 4 8");
    assert_eq!(value(server, rows), "1 99 198,2 4 8");
    let keys = "SELECT GROUP_CONCAT(constraint_name, ' ', referenced_table_schema, '.', referenced_table_name ORDER BY constraint_name) \
        FROM information_schema.key_column_usage WHERE table_schema = 'shop' AND table_name = 'orders_monday' \
        AND referenced_table_name IS NOT NULL";
    assert_eq!(
        value(server, keys),
        "orders_monday_up shop.orders_monday,orders_monday_who shop.people"
    );
    let after = definitions(server, "shop");
    let originals: Vec<_> = after
        .into_iter()
        .filter(|(name, _)| !name.contains("monday"))
        .collect();
    assert_eq!(originals, before, "the originals");
    // Its trigger works, and it is compared again later.
    verify(pair, server, &BESIDE)
        .ok()
        .says(&["1 table, 2 rows"]);
    verify(pair, server, &BESIDE[..2]).code(4);
    server
        .client("INSERT INTO shop.orders_monday (who, n, note) VALUES (1, 1, 'by hand')")
        .expect("a row");
    assert_eq!(value(server, "SELECT MAX(what) FROM shop.log"), "by hand");
    verify(pair, server, &BESIDE)
        .code(4)
        .says(&["`shop`.`orders_monday`"]);
    load(pair, server, &BESIDE)
        .run()
        .code(10)
        .says(&["already holds table `shop`.`orders_monday`"]);
    // With one object under its own name it is still the source.
    load(
        pair,
        server,
        &[
            "--include-tables",
            "shop.orders,shop.log",
            "--map-table",
            "shop.orders=shop.o2",
        ],
    )
    .run()
    .code(10)
    .says(&[
        "is the server that the archive was taken from",
        "--map-schema",
    ]);
    assert_eq!(
        value(
            server,
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop' AND table_name IN ('o2', 'penstock_load_journal')"
        ),
        "0"
    );
}

both!(a_schema_gets_another_name_with_all_that_refers_to_it);
fn a_schema_gets_another_name_with_all_that_refers_to_it(pair: &Pair) {
    fill(pair);
    if !pair.is_mysql() {
        pair.fill("USE shop; CREATE SEQUENCE numbers START WITH 5; ALTER TABLE log ADD c INT DEFAULT (NEXT VALUE FOR numbers)");
    }
    pair.dump("a", &[]).ok();
    let names = ["--map-schema", "shop=shop2", "--map-schema", "crm=`c.r``m`"];
    let server = pair.source();
    let before = (definitions(server, "shop"), definitions(server, "crm"));
    let done = load(pair, server, &names).run().code(3).says(&[
        "procedure `shop2`.`by_text`: a string in it has the name `shop`",
        "procedure `shop2`.`by_text`: it makes statements of strings when it runs",
        "equal: ",
    ]);
    let exceptions = done.out.split("exceptions:\n").nth(1).unwrap_or_default();
    let lines = exceptions.lines().take_while(|l| l.trim().starts_with('-'));
    assert_eq!(lines.count(), 2, "{exceptions}");
    assert_eq!(
        (definitions(server, "shop"), definitions(server, "crm")),
        before
    );
    // All objects, each like its original but for the name of its schema.
    let mut copied = definitions(server, "shop2");
    for (name, text) in &mut copied {
        *name = name.replace("shop2", "shop");
        *text = text.replace("shop2", "shop");
    }
    let plain = |list: &[(String, String)]| -> Vec<(String, String)> {
        // Quoted where they were written without.
        let bare = |s: &String| s.replace('`', "");
        list.iter().map(|(a, b)| (bare(a), bare(b))).collect()
    };
    assert_eq!(plain(&copied), plain(&before.0));
    server
        .client("INSERT INTO shop2.orders (who, n, note) VALUES (2, 30, 'copy')")
        .expect("a row");
    assert_eq!(value(server, "SELECT SUM(n) FROM `c.r``m`.w"), "37");
    assert_eq!(value(server, "SELECT SUM(n) FROM crm.w"), "7");
    assert_eq!(
        value(server, "SELECT CONCAT(shop2.total(), ' ', shop.total())"),
        "37 7"
    );
    assert_eq!(value(server, "SELECT COUNT(*) FROM shop2.v"), "3");
    assert_eq!(value(server, "SELECT COUNT(*) FROM shop.log"), "0");
    server
        .client("INSERT INTO shop.log (what) VALUES ('original')")
        .expect("a row");
    server.client("CALL shop2.clean()").expect("a call");
    assert_eq!(value(server, "SELECT COUNT(*) FROM shop.log"), "1");
    verify(pair, server, &names)
        .code(4)
        .says(&["`shop2`.`orders`"]);
    let journals =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(value(server, journals), "0");
}

both!(references_that_are_not_certain_are_named);
fn references_that_are_not_certain_are_named(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, t INT); INSERT INTO t VALUES (1, 5); \
         CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1); \
         CREATE VIEW good AS SELECT t AS t FROM t; \
         CREATE PROCEDURE doubtful() SELECT t FROM t; CREATE PROCEDURE listed() SELECT u.id FROM u WHERE 1 ORDER BY id, t; \
         CREATE PROCEDURE certain() DELETE a FROM t a WHERE a.t = 5; \
         CREATE TRIGGER moved AFTER INSERT ON u FOR EACH ROW DELETE FROM t WHERE t.id = 7",
    );
    pair.dump("a", &[]).ok();
    let done = load(
        pair,
        pair.target(),
        &["--map-table", "s.t=s.t2", "--map-table", "s.u=x.u"],
    )
    .run()
    .code(3)
    .says(&[
        "procedure `s`.`doubtful` is not created: `t` in it may be the table, or something else",
        "procedure `s`.`listed` is not created",
        "trigger `x`.`moved` is not created: its table goes to schema `x`",
    ]);
    assert!(!done.said().contains("`certain`"), "{}", done.said());
    let target = pair.target();
    assert_eq!(value(target, "SELECT t FROM s.good"), "5");
    assert_eq!(value(target, "SELECT id FROM x.u"), "1");
    assert_eq!(
        value(
            target,
            "SELECT GROUP_CONCAT(routine_name) FROM information_schema.routines WHERE routine_schema = 's'"
        ),
        "certain"
    );
    assert_eq!(
        value(
            target,
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 's' AND table_name = 't'"
        ),
        "0"
    );
    target.client("CALL s.certain()").expect("a call");
    assert_eq!(value(target, "SELECT COUNT(*) FROM s.t2"), "0");
}

both!(names_that_cannot_be_are_refused_before_anything_is_touched);
fn names_that_cannot_be_are_refused_before_anything_is_touched(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--include-schemas", "shop,crm"]).ok();
    let target = pair.target();
    target
        .script(b"CREATE DATABASE there; CREATE TABLE there.people (x INT)")
        .expect("a table");
    for (names, code, why) in [
        (
            "--map-schema shop=mysql",
            2,
            "a schema of the server itself",
        ),
        (
            "--map-table shop.orders=sys.orders",
            2,
            "a schema of the server itself",
        ),
        ("--map-schema shop", 2, "old=new"),
        (
            "--users --map-schema shop=x",
            2,
            "--users does not apply with --map-schema",
        ),
        ("--map-schema sh*=x", 2, "one name is meant here"),
        ("--map-schema shop=a --map-schema shop=b", 2, "mapped twice"),
        (
            "--map-schema shop=x --map-schema crm=x",
            2,
            "another schema is mapped to this name",
        ),
        (
            "--map-schema shop=crm",
            2,
            "two schemas would have the name `crm`",
        ),
        (
            "--map-table shop.orders=shop.people",
            2,
            "two tables would have the name `shop`.`people`",
        ),
        (
            "--map-table shop.orders=shop.v",
            2,
            "two tables would have the name `shop`.`v`",
        ),
        ("--map-schema nothing=x", 2, "there is no such schema"),
        (
            "--map-table shop.ORDERS=shop.x",
            2,
            "there is no such table or view",
        ),
        (
            "--include-tables shop.log --map-table shop.orders=shop.x",
            2,
            "is not selected",
        ),
        (
            "--map-table shop.v=crm.v",
            2,
            "would take a view into another schema",
        ),
        (
            "--map-schema shop=there",
            10,
            "already holds table `there`.`people`",
        ),
        (
            "--include-tables shop.orders --map-table shop.orders=there.people",
            10,
            "already holds table `there`.`people`",
        ),
        (
            "--include-tables shop.orders --map-table shop.orders=there.penstock_load_journal",
            10,
            "penstock's journal table",
        ),
    ] {
        let words: Vec<&str> = names.split(' ').collect();
        load(pair, target, &words).run().code(code).says(&[why]);
    }
    let made = "SELECT GROUP_CONCAT(schema_name) FROM information_schema.schemata WHERE schema_name IN ('shop', 'crm', 'x', 'a', 'b')";
    assert_eq!(target.client(made).expect("a list")[0][0], None);
    for words in [
        &["verify", "--map-schema", "a=b"][..],
        &["copy", "--map-schema", "a=b"],
    ] {
        let to = pair.path("elsewhere");
        let tool = Tool::new(words.iter().copied()).arg(pair.path("a"));
        let tool = match words[0] {
            "copy" => tool.arg(to),
            _ => tool,
        };
        tool.run().code(2).says(&["--map-schema"]);
    }
}

/// Rows enough for tablespaces, and something of everything that is made after rows.
fn many(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE big; USE big; CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (0), (1), (2); \
         CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(400), m INT, KEY (v(20)), CONSTRAINT m CHECK (m >= 0), \
           CONSTRAINT f FOREIGN KEY (m) REFERENCES p (id)) ENGINE=InnoDB; \
         INSERT INTO t SELECT n, REPEAT(CHAR(97 + n % 26), 300), n % 3 FROM {COUNT}; \
         CREATE TABLE parts (id INT PRIMARY KEY, v VARCHAR(40)) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 2; \
         INSERT INTO parts SELECT n, n FROM {COUNT}; \
         CREATE VIEW w AS SELECT id, m FROM t; CREATE PROCEDURE count_t() SELECT COUNT(*) FROM big.t; \
         CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.m = NEW.m",
    ));
    pair.dump("a", &["--chunk-size", "256k"]).ok();
}

const MANY: [&str; 4] = ["--map-schema", "big=small", "--map-table", "big.t=small.t2"];

/// All of [`many`] under its other names.
#[track_caller]
fn many_equal(pair: &Pair, server: &Server, when: &str) {
    for (from, to) in [
        ("big.t", "small.t2"),
        ("big.parts", "small.parts"),
        ("big.p", "small.p"),
    ] {
        let all = |server: &Server, table: &str| {
            server.client(&format!("SELECT * FROM {table} ORDER BY id"))
        };
        let (wanted, found) = (all(pair.source(), from), all(server, to));
        assert!(
            wanted.expect("rows") == found.expect("rows"),
            "{to}, {when}"
        );
        let check = server
            .client(&format!("CHECK TABLE {to} EXTENDED"))
            .expect("a check");
        assert_eq!(
            check.last().expect("a line")[3].as_deref(),
            Some("OK"),
            "{to}, {when}"
        );
    }
    assert_eq!(
        value(server, "SELECT COUNT(*) FROM small.w"),
        "10000",
        "{when}"
    );
    let keys = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'small'";
    assert_eq!(value(server, keys), "1", "{when}");
    assert_eq!(
        value(
            server,
            "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'small'"
        ),
        "b",
        "{when}"
    );
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'small'";
    assert_eq!(value(server, tables), "4", "{when}: nothing else is left");
    let big = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'big'";
    assert_eq!(value(server, big), "0", "{when}");
}

both!(tablespaces_are_imported_under_other_names);
fn tablespaces_are_imported_under_other_names(pair: &Pair) {
    many(pair);
    let target = pair.target();
    let more = [
        &MANY[..],
        &["--import-mode", "tablespace", "--skip-binlog", "--json"],
    ]
    .concat();
    let summary = load(pair, target, &more).run().ok().summary();
    let imported = summary["import"]["tables"].to_string();
    assert!(
        imported.contains("`small`.`t2`") && imported.contains("`small`.`parts`"),
        "{imported}"
    );
    assert_eq!(summary["verified"]["rows"], 20_003, "{summary}");
    many_equal(pair, target, "imported");
    verify(pair, target, &MANY).ok();
}

both!(a_data_directory_is_made_with_other_names);
fn a_data_directory_is_made_with_other_names(pair: &Pair) {
    many(pair);
    let install = Install::find(pair.kind).expect("a server");
    let program = install
        .one_program(&pair.path("mysqld"))
        .expect("a program");
    let summary = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--datadir")
        .arg(pair.path("d"))
        .arg("--mysqld")
        .arg(program)
        .args(["--threads", "2", "--json"])
        .args(MANY)
        .env("PENSTOCK_STATE", pair.path("state"))
        .run()
        .ok()
        .summary();
    let setup = Setup::new(pair.kind).expect("a set-up");
    let server = setup
        .over(&pair.path("d"))
        .start()
        .expect("a server on the directory");
    many_equal(pair, &server, "from files");
    // Which were put in place while the server was stopped.
    let imported = summary["import"].to_string();
    assert!(summary["tables"] == 3, "{summary}: {imported}");
}

both!(an_interrupted_load_continues_under_its_names_only);
fn an_interrupted_load_continues_under_its_names_only(pair: &Pair) {
    many(pair);
    let target = pair.target();
    let list = pair.path("places");
    load(pair, target, &MANY)
        .env("PENSTOCK_PLACES", &list)
        .run()
        .ok();
    let places = std::fs::read_to_string(&list)
        .expect("failpoints")
        .lines()
        .count();
    let numbers: Vec<usize> = (1..=places).collect();
    for at in few(pair.kind, 3, &numbers) {
        target
            .client("DROP DATABASE IF EXISTS small")
            .expect("empty");
        let done = load(pair, target, &MANY)
            .env("PENSTOCK_KILL_AT", at.to_string())
            .run();
        if done.code != 0 {
            load(pair, target, &[&MANY[..], &["--resume"]].concat())
                .run()
                .ok();
        }
        many_equal(pair, target, &format!("killed at {at}"));
    }
    target.client("DROP DATABASE small").expect("empty");
    let killed = load(pair, target, &MANY)
        .env("PENSTOCK_KILL_AT", "a chunk is committed#2")
        .run();
    assert_ne!(killed.code, 0);
    load(pair, target, &["--resume", "--map-schema", "big=small"])
        .run()
        .code(10)
        .says(&["gave --map-schema `big`=`small` --map-table `big`.`t`=`small`.`t2`; this one gives --map-schema `big`=`small`"]);
    load(pair, target, &MANY)
        .run()
        .code(10)
        .says(&["was interrupted"]);
    load(pair, target, &[&MANY[..], &["--resume"]].concat())
        .run()
        .ok();
    many_equal(pair, target, "resumed");
}

both!(a_load_with_exceptions_is_repaired_under_its_names);
fn a_load_with_exceptions_is_repaired_under_its_names(pair: &Pair) {
    many(pair);
    let target = pair.target();
    let run = |sql: &str| target.script(sql.as_bytes()).expect("done");
    run(
        "CREATE USER t_names@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, \
        ALTER, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER ON *.* TO t_names@localhost; \
        SET GLOBAL log_bin_trust_function_creators = ON",
    );
    let load = |names: &[&str]| {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "t_names"])
            .args(names.iter().copied())
            .env("PENSTOCK_STATE", pair.path("state").as_os_str())
            .run()
    };
    load(&MANY).code(3).says(&[
        "trigger `small`.`b`",
        "procedure `small`.`count_t`",
        "the same command",
    ]);
    run("INSERT INTO small.p VALUES (9)");
    let definers = match pair.is_mysql() {
        true => "SET_ANY_DEFINER, SYSTEM_USER",
        false => "SET USER",
    };
    run(&format!("GRANT {definers} ON *.* TO t_names@localhost"));
    // Other names are another load, which finds what is there.
    let other = ["--map-schema", "big=small", "--map-table", "big.t=small.t3"];
    load(&other).code(10).says(&["already holds table `small`"]);
    load(&MANY).ok().says(&["not compared again"]);
    load(&MANY).code(10).says(&["already holds"]);
    run("DELETE FROM small.p WHERE id = 9; SET GLOBAL log_bin_trust_function_creators = OFF");
    many_equal(pair, target, "repaired");
}

both!(servers_are_copied_under_other_names);
fn servers_are_copied_under_other_names(pair: &Pair) {
    many(pair);
    let target = pair.target();
    Tool::new([
        "copy",
        &pair.source().uri(),
        &target.uri(),
        "--schemas",
        "big",
        "--chunk-size",
        "64k",
    ])
    .args(MANY)
    .run()
    .ok()
    .says(&["`big` of the source is `small` here", "equal:"]);
    many_equal(pair, target, "copied");
    Tool::new([
        "copy",
        &pair.source().uri(),
        &target.uri(),
        "--schemas",
        "big",
        "--map-schema",
        "x=y",
    ])
    .run()
    .code(2)
    .says(&["there is no such schema"]);
}

both!(a_backup_is_restored_under_another_name);
fn a_backup_is_restored_under_another_name(pair: &Pair) {
    many(pair);
    let repository = pair.path("repo").display().to_string();
    let access = Access::new();
    tool(&["init", &repository], &access).run().ok();
    let verb = |words: &[&str]| tool(words, &access).args(["--repository", &repository]);
    verb(&["backup", "shop", &pair.source().uri(), "--schemas", "big"])
        .run()
        .ok();
    let restore = |more: &[&str]| {
        let words = ["restore", "--into", &pair.target().uri()];
        verb(&[&words[..], more].concat()).run()
    };
    restore(&["--map-schema", "big=small", "--latest"])
        .code(2)
        .says(&["--map-schema"]);
    restore(&MANY).ok().says(&["equal:"]);
    many_equal(pair, pair.target(), "restored");
}

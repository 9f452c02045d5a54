//! Parts of other tools' dumps, and other names: the same as with an archive of penstock, object by object.

use super::*;
use crate::kit::same::definitions;
use crate::names::SHOP;
use testkit::Server;

fn value(server: &Server, sql: &str) -> String {
    server.value(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

/// All that the target has: each object with its definition, each table with a sum over its rows.
fn held(pair: &Pair) -> Vec<(String, String)> {
    let server = pair.target();
    let mut all = Vec::new();
    for schema in pair.target_schemas() {
        let quoted = schema.replace('`', "``");
        for (name, text) in definitions(server, &schema) {
            if let Some(table) = name.strip_prefix("TABLE ") {
                let sql = format!("CHECKSUM TABLE `{quoted}`.`{}`", table.replace('`', "``"));
                let sum = server
                    .client(&sql)
                    .unwrap_or_else(|e| panic!("{sql}: {e:?}"));
                all.push((format!("{schema}: rows of {table}"), format!("{sum:?}")));
            }
            all.push((format!("{schema}: {name}"), text));
        }
    }
    all
}

/// A dump of both schemas by the flavour's own tool, compressed, as a file.
fn script(pair: &Pair) -> PathBuf {
    let all = ["--routines", "--events", "--databases", "shop", "crm"];
    file(pair, "shop.sql", dumped(pair, &all))
}

/// Ways to choose and to name: each gives the same from the script as from the archive.
const WAYS: [&[&str]; 8] = [
    &["--tables", "shop.people"],
    &["--exclude-tables", "shop.orders,shop.v,crm.w"],
    &["--include-schemas", "shop", "--exclude-routines", "shop.c*"],
    &["--map-schema", "shop=shop2", "--map-schema", "crm=`c.r``m`"],
    &[
        "--tables",
        "shop.people,shop.orders",
        "--map-table",
        "shop.orders=shop.monday",
    ],
    &["--tables", "shop.log", "--map-table", "shop.log=x.`l.o``g`"],
    &[
        "--include-schemas",
        "/^shop$/",
        "--map-table",
        "shop.people=shop.persons",
    ],
    &[
        "--tables",
        "shop.people,shop.orders,shop.log",
        "--exclude-triggers",
        "shop.*",
        "--map-schema",
        "shop=s",
    ],
];

both!(a_part_of_a_script_under_other_names);
fn a_part_of_a_script_under_other_names(pair: &Pair) {
    pair.fill(SHOP);
    if !pair.is_mysql() {
        pair.fill("USE shop; CREATE SEQUENCE numbers START WITH 5; CREATE TABLE counted (n INT DEFAULT (NEXT VALUE FOR numbers))");
    }
    pair.dump("a", &[]).ok();
    let plain = script(pair);
    let packed = pair.path("shop.sql.gz");
    let zipped = Command::new("gzip")
        .arg("-c")
        .arg(&plain)
        .output()
        .expect("gzip");
    std::fs::write(&packed, zipped.stdout).expect("a file");
    for way in WAYS {
        let by_archive = pair.load("a", way);
        let wanted = held(pair);
        let schemas = pair.target_schemas();
        forget_all(pair, &schemas);
        for defer in ["off", "all"] {
            let way = [way, &["--defer-indexes", defer]].concat();
            let done = loading(pair, &packed, &way).run();
            let (said, by) = (done.said(), by_archive.said());
            assert_eq!(done.code, by_archive.code, "{way:?}: {said}\n{by}");
            assert_eq!(held(pair), wanted, "{way:?}: {said}");
            forget_all(pair, &schemas);
            untouched(pair);
        }
    }
}

fn forget_all(pair: &Pair, schemas: &[String]) {
    let quoted: Vec<String> = schemas.iter().map(|s| s.replace('`', "``")).collect();
    let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
    forget(pair, &quoted);
}

both!(one_table_of_a_script_beside_its_original);
fn one_table_of_a_script_beside_its_original(pair: &Pair) {
    pair.fill(SHOP);
    let server = pair.source();
    let change = |sql: &str| drop(server.client(sql).expect("a change"));
    // The trigger has another collation of its database than the schema has now, so the script changes the schema around it.
    change("ALTER DATABASE shop COLLATE utf8mb4_unicode_ci");
    let plain = script(pair);
    let text = std::fs::read_to_string(&plain).expect("a script");
    assert!(text.contains("ALTER DATABASE `shop`"));
    change("ALTER DATABASE shop COLLATE utf8mb4_bin");
    change("UPDATE shop.orders SET n = 99 WHERE id = 1");
    let before = definitions(server, "shop");
    let beside = [
        "--tables",
        "shop.orders",
        "--map-table",
        "shop.orders=shop.monday",
    ];
    let load = || {
        Tool::new(["load"])
            .arg(&plain)
            .args(["--threads", "2", "--into", &server.uri()])
            .args(beside)
            .env("PENSTOCK_STATE", pair.path("state"))
            .run()
    };
    load().ok().says(&[
        "`shop`.`orders` of the source is `shop`.`monday` here",
        "foreign key `up` becomes `monday_up`",
        "trigger `orders_ai` of table `shop`.`monday` becomes `monday_ai`",
        "counted: the server stored every row",
    ]);
    let rows = "SELECT GROUP_CONCAT(id, ' ', n, ' ', twice ORDER BY id) FROM shop.";
    assert_eq!(value(server, &format!("{rows}monday")), "1 3 6,2 4 8");
    assert_eq!(value(server, &format!("{rows}orders")), "1 99 198,2 4 8");
    assert_eq!(value(server, "SELECT COUNT(*) FROM shop.log"), "0");
    let after = definitions(server, "shop");
    let originals: Vec<_> = after
        .into_iter()
        .filter(|(name, _)| !name.contains("monday"))
        .collect();
    assert_eq!(originals, before, "the originals");
    load()
        .code(10)
        .says(&["already holds table `shop`.`monday`"]);
}

both!(what_cannot_be_chosen_is_refused);
fn what_cannot_be_chosen_is_refused(pair: &Pair) {
    pair.fill(SHOP);
    let plain = script(pair);
    for (options, says) in [
        (
            "--tables shop.none",
            "no schema or table matches: shop.none",
        ),
        ("--map-schema none=x", "there is no such schema"),
        ("--map-table shop.none=shop.x", "there is no such table"),
        ("--map-schema shop=crm", "two schemas would have the name"),
        (
            "--map-table shop.v=crm.v",
            "would take a view into another schema",
        ),
        (
            "--tables shop.log --map-table shop.orders=shop.x",
            "is not selected",
        ),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        loading(pair, &plain, &options).run().code(2).says(&[says]);
        loading(pair, "-", &options)
            .input(std::fs::read(&plain).expect("a file"))
            .run()
            .code(2)
            .says(&[
                &options[0].replace("--tables", "--include-tables"),
                "two passes",
            ]);
    }
    // What a statement is about has to be known.
    let head = "CREATE DATABASE a; USE a; CREATE TABLE t (i INT); INSERT INTO t VALUES (1);\n\
        CREATE TABLE u (i INT);\n";
    for (statement, with) in [
        ("DELETE FROM t;\n", "--tables=a.t"),
        ("INSERT INTO t SELECT * FROM u;\n", "--map-table=a.t=a.v"),
        ("CREATE TABLE w LIKE t;\n", "--map-schema=a=b"),
        ("ALTER TABLE t RENAME TO w;\n", "--map-table=a.t=a.v"),
    ] {
        let script = file(pair, "d.sql", format!("{head}{statement}"));
        loading(pair, &script, &[with])
            .run()
            .code(5)
            .says(&["d.sql, line 3", "--skip-unsupported"]);
        untouched(pair);
    }
    // Of another table it does not matter.
    let script = file(
        pair,
        "d.sql",
        format!("{head}INSERT INTO u SELECT * FROM t;\n"),
    );
    loading(
        pair,
        &script,
        &["--tables", "a.t", "--map-table", "a.t=a.v"],
    )
    .run()
    .ok();
    assert_eq!(value(pair.target(), "SELECT COUNT(*) FROM a.v"), "1");
    forget(pair, &["a"]);
    // What the system has is none of the selection.
    let system =
        format!("{head}USE mysql; INSERT INTO user VALUES (1); USE a; INSERT INTO t VALUES (2);\n");
    let script = file(pair, "d.sql", system);
    loading(pair, &script, &[]).run().code(5);
    loading(pair, &script, &["--include-schemas", "a"])
        .run()
        .ok();
    assert_eq!(value(pair.target(), "SELECT COUNT(*) FROM a.t"), "2");
    forget(pair, &["a"]);
}

both!(a_part_of_a_directory_under_other_names);
fn a_part_of_a_directory_under_other_names(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE a1; USE a1; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); \
        INSERT INTO t VALUES (1, 'a\\tb'), (2, NULL); CREATE TABLE u LIKE t; INSERT INTO u SELECT * FROM t;",
    );
    let tab = pair.path("dir/a1");
    std::fs::create_dir_all(&tab).expect("a directory");
    dumped(pair, &[&format!("--tab={}", tab.display()), "a1"]);
    let dir = pair.path("dir");
    let rows = |table: &str| {
        let sql =
            format!("SELECT GROUP_CONCAT(id, '=', COALESCE(v, '-') ORDER BY id) FROM {table}");
        assert_eq!(value(pair.target(), &sql), "1=a\tb,2=-");
    };
    loading(pair, &dir, &["--map-schema", "a1=b2"]).run().ok();
    rows("b2.t");
    rows("b2.u");
    assert_eq!(pair.target_schemas(), ["b2"]);
    forget(pair, &["b2"]);
    // A file of another table is not read.
    std::fs::write(tab.join("u.txt"), "no rows of this table").expect("a file");
    loading(
        pair,
        &dir,
        &["--tables", "a1.t", "--map-table", "a1.t=c3.w"],
    )
    .run()
    .ok();
    rows("c3.w");
    assert_eq!(pair.target_schemas(), ["c3"]);
    forget(pair, &["c3"]);
}

both!(killed_with_other_names);
fn killed_with_other_names(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE a1; USE a1; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(3000)); \
        INSERT INTO t (v) SELECT REPEAT('x', 2500) FROM {COUNT}; CREATE TABLE u LIKE t;"
    ));
    let script = file(pair, "d.sql", dumped(pair, &["--databases", "a1"]));
    let names = ["--tables", "a1.t", "--map-table", "a1.t=b2.w"];
    loading(pair, &script, &names)
        .env("PENSTOCK_KILL_AT", "a batch is stored#2")
        .run()
        .code(137);
    // Another choice is another load.
    loading(pair, &script, &["--map-schema", "a1=b2", "--resume"])
        .run()
        .code(10);
    loading(pair, &script, &[&names[..], &["--resume"]].concat())
        .run()
        .ok();
    assert_eq!(
        value(
            pair.target(),
            "SELECT CONCAT(COUNT(*), ' ', SUM(LENGTH(v))) FROM b2.w"
        ),
        "10000 25000000"
    );
    assert_eq!(pair.target_schemas(), ["b2"]);
    forget(pair, &["b2"]);
}

both!(scripts_of_other_origin);
fn scripts_of_other_origin(pair: &Pair) {
    // Names with their schema, keys and counters that come later, as graphical tools export them.
    // Nothing of this name is dropped on the target: another schema is meant.
    let target = pair.target();
    target
        .script(b"CREATE DATABASE shop; CREATE TABLE shop.mine (i INT)")
        .expect("a table");
    let text = "DROP DATABASE IF EXISTS shop; CREATE DATABASE IF NOT EXISTS shop;\n\
        CREATE TABLE IF NOT EXISTS shop.`items` (`id` int NOT NULL, `parent` int, `items` varchar(20)) ENGINE=InnoDB;\n\
        CREATE TABLE `shop`.`other` (`id` int NOT NULL PRIMARY KEY) ENGINE=InnoDB;\n\
        INSERT IGNORE INTO `shop`.`items` (`id`, `parent`, `items`) VALUES (1, NULL, 'items'), (2, 1, 'two');\n\
        INSERT INTO shop.other VALUES (1);\n\
        ALTER TABLE `shop`.`items` ADD PRIMARY KEY (`id`), ADD KEY `items` (`items`);\n\
        ALTER TABLE `shop`.`items` MODIFY `id` int NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=3;\n\
        REPLACE INTO `shop`.`items` VALUES (2, 1, 'new');\n\
        ALTER TABLE `shop`.`items` ADD CONSTRAINT `up` FOREIGN KEY (`parent`) REFERENCES `shop`.`items` (`id`);\n\
        CREATE INDEX p ON shop.items (parent, id);\n";
    let script = file(pair, "d.sql", text);
    let names = [
        "--tables",
        "shop.items",
        "--map-table",
        "shop.items=x.goods",
    ];
    loading(pair, &script, &names).run().ok();
    let rows = "SELECT GROUP_CONCAT(id, '=', items ORDER BY id) FROM x.goods";
    assert_eq!(value(target, rows), "1=items,2=new");
    let keys = "SELECT GROUP_CONCAT(DISTINCT index_name ORDER BY index_name) FROM information_schema.statistics WHERE table_schema = 'x'";
    assert_eq!(value(target, keys), "items,p,PRIMARY");
    let parent = "SELECT CONCAT(constraint_name, ' ', referenced_table_schema, '.', referenced_table_name) \
        FROM information_schema.key_column_usage WHERE table_schema = 'x' AND referenced_table_name IS NOT NULL";
    assert_eq!(value(target, parent), "up x.goods");
    assert_eq!(pair.target_schemas(), ["shop", "x"]);
    loading(pair, &script, &["--map-schema", "shop=x2"])
        .run()
        .ok();
    assert_eq!(value(target, "SELECT COUNT(*) FROM x2.other"), "1");
    loading(pair, &script, &["--include-schemas", "shop"])
        .run()
        .code(10)
        .says(&["drops schema `shop`"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM shop.mine"), "0");
    forget(pair, &["shop", "x", "x2"]);
    // A trigger before the rows of its table: as a part it does not act on them, as a whole it does.
    target
        .script(b"CREATE DATABASE s; CREATE TABLE s.log (v INT)")
        .expect("a table");
    let text = "CREATE DATABASE IF NOT EXISTS s; USE s; CREATE TABLE t (v INT); SET sql_mode = 'ANSI_QUOTES';\n\
        CREATE TABLE log (v INT); CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO \"log\" VALUES (NEW.v);\n\
        SET sql_mode = ''; INSERT INTO t VALUES (1), (2);\n";
    let script = file(pair, "d.sql", text);
    loading(pair, &script, &["--tables", "s.t"])
        .run()
        .ok()
        .says(&["the trigger is created after all rows", "counted:"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM s.log"), "0");
    target.client("INSERT INTO s.t VALUES (3)").expect("a row");
    assert_eq!(value(target, "SELECT SUM(v) FROM s.log"), "3");
    loading(pair, &script, &["--map-schema", "s=s2"]).run().ok();
    assert_eq!(value(target, "SELECT SUM(v) FROM s2.log"), "3");
    assert_eq!(value(target, "SELECT SUM(v) FROM s.log"), "3");
    forget(pair, &["s", "s2"]);
    // Without any schema: it is the one of --schema that gets another name.
    let text = "CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES a (id));\n\
        INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);\n";
    let script = file(pair, "d.sql", text);
    let given = [
        "--schema",
        "s",
        "--map-table",
        "s.a=s.a2",
        "--map-table",
        "s.b=s.b2",
    ];
    loading(pair, &script, &given).run().ok();
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM s.b2 JOIN s.a2 USING (id)"),
        "1"
    );
    forget(pair, &["s"]);
    loading(pair, &script, &["--schema", "s", "--tables", "s.a"])
        .run()
        .ok();
    let tables =
        "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = 's'";
    assert_eq!(value(target, tables), "a");
    forget(pair, &["s"]);
}

both!(what_a_part_would_read_of_the_target_is_refused);
fn what_a_part_would_read_of_the_target_is_refused(pair: &Pair) {
    let target = pair.target();
    target
        .script(
            b"CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY, v VARCHAR(50)); \
            CREATE TABLE log (id INT PRIMARY KEY, m VARCHAR(50)); INSERT INTO orders VALUES (1000, 'live'); \
            SET GLOBAL log_bin_trust_function_creators = 1;\nDELIMITER ;;\n\
            CREATE FUNCTION f(a INT) RETURNS INT BEGIN UPDATE orders SET v = 'TOUCHED'; RETURN a; END;;\nDELIMITER ;\n",
        )
        .expect("a schema");
    let before = held(pair);
    let renamed: &[&str] = &["--map-schema", "shop=shop2"];
    let beside: &[&str] = &["--tables", "shop.log", "--map-table", "shop.log=shop.log2"];
    for (statement, options) in [
        ("INSERT INTO log VALUES (shop.f(3), 'a')", renamed),
        ("INSERT INTO log VALUES (f(3), 'a')", beside),
        (
            "INSERT INTO log VALUES (1, (SELECT MAX(v) FROM shop.orders))",
            renamed,
        ),
        (
            "INSERT INTO log VALUES (1, (SELECT MAX(v) FROM orders))",
            beside,
        ),
        ("REPLACE INTO log (id) VALUES (f(3))", beside),
        ("INSERT INTO log SET id = f(3)", beside),
        ("SET @b = shop.f(3)", beside),
        ("SET @b = (SELECT MAX(v) FROM orders)", beside),
        (
            "CREATE TABLE o3 AS SELECT * FROM orders",
            &["--tables", "shop.o3"],
        ),
        ("CREATE TABLE o3 LIKE orders", &["--tables", "shop.o3"]),
        (
            "INSERT INTO log SELECT * FROM orders",
            &["--tables", "shop.log", "--map-schema", "shop=x"],
        ),
        ("ROLLBACK", renamed),
        ("DROP TABLE orders", renamed),
    ] {
        let script = file(pair, "d.sql", format!("{TWO}{statement};\n"));
        loading(pair, &script, options)
            .run()
            .code(5)
            .says(&["d.sql, line 4"]);
        assert_eq!(held(pair), before, "{statement}");
    }
    // What computes from nothing but its arguments is run.
    let text = format!("{TWO}INSERT INTO log VALUES (1, CONCAT('a', LENGTH('b')));\n");
    let harmless = text.replace("LENGTH('b')", "UPPER('b')");
    for (text, code) in [(text, 5), (harmless, 0)] {
        let script = file(pair, "d.sql", text);
        loading(pair, &script, renamed).run().code(code);
    }
    assert_eq!(value(target, "SELECT m FROM shop2.log"), "aB");
    // A schema is named without anything in it: by an event, that would be done to the original.
    forget(pair, &["shop2"]);
    for body in ["DROP DATABASE shop", "CREATE DATABASE IF NOT EXISTS `shop`"] {
        let event = format!(
            "{TWO}CREATE EVENT e ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01' DO {body};\n"
        );
        let script = file(pair, "d.sql", event);
        loading(pair, &script, renamed)
            .run()
            .code(3)
            .says(&["it is not created", "`shop` in it may be the schema"]);
        forget(pair, &["shop2"]);
    }
    // A view that is written by hand, and has a table behind a comma where a server prints none.
    for from in [
        "(SELECT 1) d, orders",
        "log USE INDEX (PRIMARY), orders",
        "log a JOIN log b ON a.id = b.id, orders",
    ] {
        let view = format!("{TWO}CREATE VIEW w AS SELECT orders.v FROM {from};\n");
        let script = file(pair, "d.sql", view);
        let names = "--tables shop.orders,shop.w --map-table shop.orders=shop.om --map-table shop.w=shop.wm";
        let names: Vec<&str> = names.split(' ').collect();
        loading(pair, &script, &names)
            .run()
            .code(3)
            .says(&["it is not created", "`orders` in it"]);
        target.client("DROP TABLE shop.om").expect("dropped");
    }
    assert_eq!(held(pair), before);
    target
        .client("SET GLOBAL log_bin_trust_function_creators = DEFAULT")
        .expect("a setting");
    forget(pair, &["shop"]);
}

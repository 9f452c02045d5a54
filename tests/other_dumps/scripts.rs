//! The flavour's own dump tool, called in every usual way.

use super::*;

const OBJECTS: &[&str] = &["--routines", "--events", "--triggers"];

/// Equal in both schemas, which are then dropped from the target.
#[track_caller]
fn same(pair: &Pair) {
    for schema in rich::SCHEMAS {
        pair.same_definitions(schema);
    }
    pair.same_checksums();
    forget(pair, &["rich", "odd ``name"]);
}

fn all(pair: &Pair, more: &[&str]) -> Vec<u8> {
    let args = [OBJECTS, more, &["--databases"], &rich::SCHEMAS].concat();
    dumped(pair, &args)
}

/// The bytes as another program packs them; unpacked where that program is missing.
fn packed(program: &str, plain: &std::path::Path) -> Vec<u8> {
    if program == "zstd" {
        let text = std::fs::read(plain).expect("a file");
        return zstd::encode_all(&*text, 1).expect("packed");
    }
    match Command::new(program).arg("-c").arg(plain).output() {
        Ok(out) if out.status.success() => out.stdout,
        _ => {
            let reason = format!("no {program} on this machine: the file is loaded unpacked");
            testkit::skip(program, reason);
            std::fs::read(plain).expect("a file")
        }
    }
}

both!(every_way_of_calling_the_flavours_own_tool);
fn every_way_of_calling_the_flavours_own_tool(pair: &Pair) {
    rich::fill(pair);
    let ways: &[(&str, &[&str])] = &[
        ("", &[]),
        ("gzip", &["--hex-blob", "--order-by-primary"]),
        ("zstd", &["--skip-extended-insert", "--single-transaction"]),
        (
            "bzip2",
            &["--complete-insert", "--no-autocommit", "--skip-tz-utc"],
        ),
        ("xz", &["--skip-opt", "--create-options"]),
        // Without its header nothing says that 0 is a value.
        ("-", &["--compact"]),
    ];
    for (how, way) in ways {
        if way.contains(&"--compact") {
            pair.source()
                .client("DROP TABLE rich.zero")
                .expect("dropped");
        }
        let plain = file(pair, "d.sql", all(pair, way));
        let load = match *how {
            "" => loading(pair, plain, &["--defer-indexes", "all"]),
            "-" => loading(pair, "-", &[]).input(std::fs::read(plain).expect("a file")),
            program => loading(pair, file(pair, "packed", packed(program, &plain)), &[]),
        };
        let done = load
            .run()
            .ok()
            .says(&["Load complete", "counted: the server stored every row"]);
        assert!(
            !done.said().contains("NOT VERIFIED (--verify none)"),
            "{}",
            done.said()
        );
        same(pair);
    }
}

both!(without_quotes_and_in_another_character_set);
fn without_quotes_and_in_another_character_set(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE a1; USE a1; SET NAMES utf8mb4; \
        CREATE TABLE t (id INT PRIMARY KEY, l VARCHAR(50) CHARACTER SET latin1, \
          u VARCHAR(50) CHARACTER SET utf8mb4, b BLOB); \
        INSERT INTO t VALUES (1, 'Ärger ÿ', 'Größe', 0x00FF5C27), (2, 'x', NULL, 'é');",
    );
    for way in [
        &["--default-character-set=latin1"][..],
        &["--default-character-set=latin1", "--hex-blob"],
        &["--skip-quote-names", "--skip-comments"],
    ] {
        let text = dumped(pair, &[way, &["a1"]].concat());
        let plain = file(pair, "d.sql", text);
        // Such a dump has no CREATE DATABASE and no USE.
        loading(pair, &plain, &[]).run().code(2).says(&[
            "does not name the schema",
            "--schema",
            "d.sql, line",
        ]);
        untouched(pair);
        let done = loading(pair, &plain, &["--schema", "a1", "--json"])
            .run()
            .ok();
        let summary = done.summary();
        assert_eq!(summary["rows"], 2);
        assert_eq!(summary["digests"], false);
        assert!(summary["verified"].is_null());
        pair.same_definitions("a1");
        pair.same_checksums();
        forget(pair, &["a1"]);
    }
}

both!(rows_after_a_trigger_or_an_event_keep_their_settings);
fn rows_after_a_trigger_or_an_event_keep_their_settings(pair: &Pair) {
    // Dumped tables are in the order of their names; the event is before the second schema.
    pair.fill(
        "CREATE DATABASE a1; CREATE DATABASE b2; USE a1; \
        SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; CREATE TABLE a (i INT); \
        CREATE TRIGGER a_in BEFORE INSERT ON a FOR EACH ROW SET NEW.i = 1; \
        CREATE TABLE z (id INT AUTO_INCREMENT PRIMARY KEY, ts TIMESTAMP NULL); \
        INSERT INTO z VALUES (0, '2024-06-01 12:00:00'), (3, NULL); \
        CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DO DELETE FROM a; \
        CREATE TABLE b2.z LIKE a1.z; INSERT INTO b2.z SELECT * FROM a1.z;",
    );
    let text = dumped(pair, &["--events", "--databases", "a1", "b2"]);
    let plain = file(pair, "d.sql", text);
    // On a server with another time zone the script's own must apply.
    pair.target()
        .client("SET GLOBAL time_zone = '+05:00'")
        .expect("a setting");
    let done = loading(pair, plain, &[]).run();
    pair.target()
        .client("SET GLOBAL time_zone = DEFAULT")
        .expect("a setting");
    done.ok();
    for schema in ["a1", "b2"] {
        pair.same_definitions(schema);
    }
    pair.same_checksums();
}

both!(zero_in_an_auto_increment_column_beside_a_blob);
/// The column of the blob makes LOAD DATA a statement with SET, in which MariaDB counts differently.
fn zero_in_an_auto_increment_column_beside_a_blob(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE rich; USE rich; SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; \
        CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b BLOB); \
        INSERT INTO t VALUES (0, 'zero'), (7, 0x00FF);",
    );
    let script = dumped(pair, &["--hex-blob", "--databases", "rich"]);
    loading(pair, file(pair, "d.sql", script), &[]).run().ok();
    pair.same("SELECT * FROM rich.t ORDER BY 1");
}

both!(statements_that_need_what_comes_before);
fn statements_that_need_what_comes_before(pair: &Pair) {
    // Variables of the script, and rows that it has stored, which loaders know nothing of.
    let text = format!(
        "{TWO}SET @a = 'q'; INSERT INTO log VALUES (1, @a), (2, 'a@b');\n\
        INSERT INTO log VALUES (3, (SELECT MAX(v) FROM orders)), (4, 'select');\n\
        CREATE TABLE o3 AS SELECT * FROM orders; DROP TABLE IF EXISTS none;\n"
    );
    let script = file(pair, "d.sql", text);
    for _ in 0..3 {
        loading(pair, &script, &[]).run().ok();
        let target = pair.target();
        let rows = "SELECT GROUP_CONCAT(m ORDER BY id) FROM shop.log";
        assert_eq!(target.value(rows).expect("rows"), "q,a@b,y,select");
        assert_eq!(
            target.value("SELECT COUNT(*) FROM shop.o3").expect("rows"),
            "2"
        );
        forget(pair, &["shop"]);
    }
    // What takes back what is stored already is refused, also where it is read once.
    for (statement, says) in [
        ("ROLLBACK", "ROLLBACK"),
        (
            "DROP TABLE orders",
            "drops a table that the dump has filled",
        ),
    ] {
        let text = format!("{TWO}{statement};\n");
        loading(pair, file(pair, "d.sql", &text), &[])
            .run()
            .code(5)
            .says(&[says]);
        untouched(pair);
        loading(pair, "-", &[])
            .input(text.clone().into_bytes())
            .run()
            .code(5)
            .says(&[says]);
        forget(pair, &["shop"]);
        loading(pair, file(pair, "d.sql", &text), &["--skip-unsupported"])
            .run()
            .code(3)
            .says(&["skipped: ", says]);
        let rows = "SELECT COUNT(*) FROM shop.orders";
        assert_eq!(pair.target().value(rows).expect("a count"), "2");
        forget(pair, &["shop"]);
    }
}

both!(a_table_is_emptied_before_its_rows_once);
/// What a killed load has stored is not sent again, so the TRUNCATE in front of it must not be run again.
fn a_table_is_emptied_before_its_rows_once(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE a1; USE a1; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(3000)); \
        INSERT INTO t (v) SELECT REPEAT('x', 2500) FROM {COUNT};"
    ));
    let text = String::from_utf8(dumped(pair, &["--databases", "a1"])).expect("text");
    let text = text.replacen("LOCK TABLES", "TRUNCATE TABLE `t`;\nLOCK TABLES", 1);
    let script = file(pair, "d.sql", text);
    loading(pair, &script, &[])
        .env("PENSTOCK_KILL_AT", "a batch is committed#2")
        .run()
        .code(137);
    loading(pair, &script, &["--resume"]).run().ok();
    pair.same_checksums();
}

#[test]
fn a_sequence_of_the_target_stays() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE a1; CREATE SEQUENCE a1.numbers START WITH 5; CREATE TABLE a1.t (i INT)",
    );
    let script = file(&pair, "d.sql", dumped(&pair, &["--databases", "a1"]));
    let target = pair.target();
    target
        .script(b"CREATE DATABASE a1; CREATE SEQUENCE a1.numbers START WITH 700")
        .expect("a sequence");
    loading(&pair, &script, &[])
        .run()
        .code(10)
        .says(&["`a1`.`numbers`"]);
    let next = |name: &str| {
        target
            .value(&format!("SELECT NEXTVAL({name})"))
            .expect("a number")
    };
    assert_eq!(next("a1.numbers"), "700");
    loading(&pair, &script, &["--map-schema", "a1=b2"])
        .run()
        .ok();
    assert_eq!(next("b2.numbers"), "5");
    assert_eq!(next("a1.numbers"), "701");
}

both!(a_schema_that_was_there_keeps_its_collation);
fn a_schema_that_was_there_keeps_its_collation(pair: &Pair) {
    let target = pair.target();
    target
        .script(b"CREATE DATABASE a1 CHARACTER SET latin1 COLLATE latin1_german2_ci")
        .expect("a schema");
    let collation = || {
        let sql = "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = 'a1'";
        target.value(sql).expect("a collation")
    };
    // As mysqldump does it around a trigger; the second load fails behind it.
    let text = "USE a1; CREATE TABLE NAME (id INT PRIMARY KEY); INSERT INTO NAME VALUES (1);\n\
        ALTER DATABASE a1 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n\
        CREATE TRIGGER tr_NAME BEFORE INSERT ON NAME FOR EACH ROW SET NEW.id = NEW.id + 1;\n";
    let load = |name: &str, more: &str| {
        let text = text.replace("NAME", name) + more;
        loading(pair, file(pair, "d.sql", text), &[]).run()
    };
    load("t", "").ok();
    assert_eq!(collation(), "latin1_german2_ci");
    load("u", "ALTER TABLE u ADD UNIQUE KEY (nothing);\n").code(1);
    assert_eq!(collation(), "latin1_german2_ci");
    let of_trigger = "SELECT GROUP_CONCAT(DISTINCT database_collation) FROM information_schema.triggers WHERE trigger_schema = 'a1'";
    assert_eq!(
        target.value(of_trigger).expect("a collation"),
        "utf8mb4_bin"
    );
    forget(pair, &["a1"]);
}

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

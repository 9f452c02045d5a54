//! Every row is in exactly one chunk, whatever type its key has. A table whose key can be cut into
//! ranges is cut.

use crate::kit::{COUNT, Pair, both, few};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// Name, column and key, and the value of row `n` (0 to 9999), all different.
const KEYS: &[(&str, &str, &str)] = &[
    ("ints", "k INT, PRIMARY KEY (k)", "n * 7 - 30000"),
    (
        "negative",
        "k BIGINT, PRIMARY KEY (k)",
        "-9223372036854775807 - 1 + n * n",
    ),
    (
        "huge",
        "k BIGINT UNSIGNED, PRIMARY KEY (k)",
        "18446744073709551615 - n * 1000003",
    ),
    (
        "sparse",
        "k BIGINT UNSIGNED, PRIMARY KEY (k)",
        "IF(n < 5000, n, 18446744073709541616 + n)",
    ),
    (
        "decimals",
        "k DECIMAL(40,10), PRIMARY KEY (k)",
        "(n - 5000) * 12345678901234567.0123456789",
    ),
    (
        "doubles",
        "k DOUBLE, PRIMARY KEY (k)",
        "(n - 5000) * 1.1e100",
    ),
    ("floats", "k FLOAT, PRIMARY KEY (k)", "n * 0.1e0"),
    (
        "bits",
        "k BIT(64), PRIMARY KEY (k)",
        "18446744073709551615 - n",
    ),
    (
        "ci",
        "k VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, PRIMARY KEY (k)",
        "CONCAT(ELT(n % 6 + 1, 'a', 'Ä', 'z', 'É', 'ß', '日'), n, '  x')",
    ),
    (
        "unicode",
        "k VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, PRIMARY KEY (k)",
        "CONCAT(n, ELT(n % 5 + 1, 'é', '-', ' ', '😀', 'Ω'), n)",
    ),
    (
        "bin",
        "k VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, PRIMARY KEY (k)",
        "CONCAT(CHAR(65 + n % 60 USING utf8mb4), n, IF(n % 2, ' ', ''))",
    ),
    (
        "latin1",
        "k VARCHAR(60) CHARACTER SET latin1, PRIMARY KEY (k)",
        "CONCAT(n, CHAR(128 + n % 128 USING latin1), 'x')",
    ),
    (
        "paths",
        "k VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin, PRIMARY KEY (k)",
        "CONCAT(REPEAT('usr/share/', 20), n)",
    ),
    (
        "varbinaries",
        "k VARBINARY(40), PRIMARY KEY (k)",
        "CONCAT(UNHEX(LEFT(SHA2(n, 256), 30)), n)",
    ),
    (
        "uuids",
        "k BINARY(16), PRIMARY KEY (k)",
        "UNHEX(LEFT(SHA2(n, 256), 32))",
    ),
    (
        "dates",
        "k DATE, PRIMARY KEY (k)",
        "DATE '1990-01-01' + INTERVAL n DAY",
    ),
    (
        "datetimes",
        "k DATETIME(6), PRIMARY KEY (k)",
        "TIMESTAMP '2020-01-01 00:00:00.000001' + INTERVAL n * 37 MICROSECOND",
    ),
    (
        "times",
        "k TIME(3), PRIMARY KEY (k)",
        "SEC_TO_TIME((n - 5000) * 500)",
    ),
    (
        "timestamps",
        "k TIMESTAMP(6), PRIMARY KEY (k)",
        "FROM_UNIXTIME(1000000000 + n * 3000.5)",
    ),
    (
        "pair_of_numbers",
        "a SMALLINT, k INT, PRIMARY KEY (a, k)",
        "n",
    ),
    (
        "one_giant_group",
        "a VARCHAR(20) DEFAULT 'same', b DATE DEFAULT '2020-02-02', k INT UNSIGNED, PRIMARY KEY \
        (a, b, k)",
        "n",
    ),
    (
        "mixed",
        "b DATETIME DEFAULT '2020-01-01', k VARCHAR(30) CHARACTER SET latin1, c BIGINT DEFAULT 5, \
        PRIMARY KEY (b, k, c)",
        "CONCAT('é', n)",
    ),
    (
        "enum_first",
        "e ENUM('z','y','x') DEFAULT 'y', k INT, PRIMARY KEY (e, k)",
        "n",
    ),
    (
        "set_first",
        "e SET('z','y','x') DEFAULT 'z,x', k INT, PRIMARY KEY (e, k)",
        "n",
    ),
    ("descending", "k INT, PRIMARY KEY (k DESC)", "n"),
    ("unique_only", "k INT NOT NULL, UNIQUE KEY (k)", "n"),
];

/// Tables whose keys have NULLs, or none, or cannot be cut.
const OTHERS: &str = "CREATE TABLE nulls (k INT, pad VARCHAR(200), UNIQUE KEY (k)); \
    INSERT INTO nulls SELECT IF(n % 3 = 0, NULL, n), REPEAT('p', 100) FROM C ORDER BY n; \
    CREATE TABLE null_pairs (a INT, b VARCHAR(9), pad VARCHAR(200), UNIQUE KEY (a, b)); \
    INSERT INTO null_pairs SELECT IF(n % 2, NULL, n % 50), IF(n % 7, n, NULL), REPEAT('p', 100) \
      FROM C ORDER BY n; \
    CREATE TABLE no_key (a INT, pad VARCHAR(200)); \
    INSERT INTO no_key SELECT n % 10, REPEAT('p', 100) FROM C ORDER BY n; \
    CREATE TABLE prefix_key (t TEXT, pad VARCHAR(200), KEY (t(5))); \
    INSERT INTO prefix_key SELECT CONCAT('aaaaaaaa', n), REPEAT('p', 100) FROM C ORDER BY n; \
    CREATE TABLE blanks (k VARBINARY(10) PRIMARY KEY, pad VARCHAR(200)); \
    INSERT INTO blanks VALUES ('a', 1), ('a ', 2), ('a  ', 3), ('A', 4), ('', 5), (' ', 6), \
      (0x00, 7); \
    CREATE TABLE one (k INT PRIMARY KEY); INSERT INTO one VALUES (5); \
    CREATE TABLE none (k INT PRIMARY KEY);";

fn key_tables(pair: &Pair) {
    let mut script =
        String::from("CREATE DATABASE ck; USE ck; SET NAMES utf8mb4; SET time_zone = '+00:00';\n");
    for (name, columns, value) in KEYS {
        let a = if *name == "pair_of_numbers" {
            ", a"
        } else {
            ""
        };
        let b = if a.is_empty() { "" } else { ", n % 3" };
        script += &format!(
            "CREATE TABLE {name} (pad VARCHAR(200), {columns}); \
            INSERT INTO {name} (k, pad{a}) SELECT {value}, REPEAT('p', 100){b} FROM {COUNT} \
              ORDER BY n;\n"
        );
    }
    script += &OTHERS.replace(" FROM C ", &format!(" FROM {COUNT} "));
    for (name, ..) in KEYS {
        script += &format!("ANALYZE TABLE {name};\n");
    }
    script += "ANALYZE TABLE nulls, null_pairs, no_key, prefix_key;\n";
    pair.fill(&script);
}

both!(every_kind_of_key_is_cut_and_covered);
fn every_kind_of_key_is_cut_and_covered(pair: &Pair) {
    key_tables(pair);
    let done = pair
        .dump("a", &["--chunk-size", "64k", "--compression", "none"])
        .ok();
    let chunks = |table: &str| {
        std::fs::read_dir(pair.path("a"))
            .expect("the archive")
            .flatten()
            .filter(|e| {
                e.file_name()
                    .to_string_lossy()
                    .starts_with(&format!("ck@{table}@"))
                    && e.file_name().to_string_lossy().ends_with(".tsv")
            })
            .count()
    };
    for (table, ..) in KEYS {
        assert!(
            chunks(table) > 4,
            "{table} was dumped in {} chunks\n{}",
            chunks(table),
            done.out
        );
    }
    pair.verify("a").ok();
    pair.load("a", &[]).ok().says(&["equal:"]);
    pair.same_checksums();
    // Not by checksums alone: two extra rows that are equal could cancel out.
    for (table, ..) in KEYS {
        assert_eq!(
            pair.target()
                .value(&format!("SELECT COUNT(*) FROM ck.`{table}`"))
                .expect("a count"),
            "10000",
            "{table}"
        );
    }
    for table in [
        "nulls",
        "null_pairs",
        "no_key",
        "prefix_key",
        "blanks",
        "one",
    ] {
        pair.same(&format!("SELECT COUNT(*) FROM ck.{table}"));
    }
    pair.verify_against("a", pair.source()).ok();
    pair.verify_servers(&[]).ok();
    pair.target()
        .client("DELETE FROM ck.uuids WHERE k = UNHEX(LEFT(SHA2(77, 256), 32))")
        .expect("a row gone");
    // The whole table is read first, then range by range; one range differs.
    pair.verify_against("a", pair.target()).code(4).says(&[
        "differ in one place",
        "`ck`.`uuids`: (k) ",
        " to before (",
    ]);
}

fn covered(pair: &Pair, column: &str, keys: &[String], set: u8) {
    let mut script = String::from(
        "SET NAMES utf8mb4; DROP DATABASE IF EXISTS pt; CREATE DATABASE pt; USE pt;\n",
    );
    script += &format!("CREATE TABLE t (k {column} PRIMARY KEY, pad VARCHAR(3000));\n");
    for some in keys.chunks(50) {
        script += &format!(
            "INSERT IGNORE INTO t VALUES {};\n",
            some.iter()
                .map(|k| format!("({k}, REPEAT('x', 3000))"))
                .collect::<Vec<_>>()
                .join(",")
        );
    }
    pair.fill(&(script + "ANALYZE TABLE t;"));
    // The command line of a run that fails shows the archive's name, and so the number of the set.
    let name = format!("set{set}");
    let _ = std::fs::remove_dir_all(pair.path(&name));
    pair.target()
        .client("DROP DATABASE IF EXISTS pt")
        .expect("dropped");
    pair.dump(&name, &["--chunk-size", "64k"]).ok();
    pair.load(&name, &[]).ok();
    pair.same_checksums();
    pair.same("SELECT COUNT(*) FROM pt.t");
}

/// A random value, always the same for the same number.
fn random<S: Strategy>(number: u8, strategy: S) -> S::Value {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    strategy.new_tree(&mut runner).expect("a value").current()
}

both!(random_key_sets_are_covered);
fn random_key_sets_are_covered(pair: &Pair) {
    let sets: Vec<u8> = (0..40).collect();
    for set in few(pair.kind, 6, &sets) {
        let number = prop_oneof![
            any::<u64>(),
            0u64..100,
            (u64::MAX - 50)..=u64::MAX,
            (1u64 << 63) - 20..(1 << 63) + 20
        ];
        let numbers = random(set, prop::collection::vec(number, 1..400));
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        covered(pair, "BIGINT UNSIGNED", &numbers, set);
        let text = "[aAäÄzZ éß😀日0-9_-]{0,6}|\\PC{1,12}";
        let texts = random(set, prop::collection::vec(text, 1..300));
        let hex = |text: &String| {
            let bytes: String = text.bytes().map(|b| format!("{b:02x}")).collect();
            format!("_utf8mb4 0x{bytes}")
        };
        let texts: Vec<String> = texts.iter().filter(|t| !t.is_empty()).map(hex).collect();
        if !texts.is_empty() {
            let column = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
            covered(pair, column, &texts, set);
        }
    }
}

both!(chunks_of_one_table_do_not_deadlock);
fn chunks_of_one_table_do_not_deadlock(pair: &Pair) {
    // Workers that start on one empty table together: a server may see a deadlock and choose a
    // victim.
    let mut script = String::from(
        "CREATE DATABASE dl; USE dl; \
        CREATE TABLE t0 (k BIGINT PRIMARY KEY, u VARCHAR(64) NOT NULL, pad VARCHAR(3000), \
          UNIQUE KEY (u));\n",
    );
    script += &format!(
        "INSERT INTO t0 SELECT n * 7, SHA2(n, 256), REPEAT('x', 3000) FROM {COUNT} WHERE n < 30 \
          ORDER BY n; \
        ANALYZE TABLE t0;\n"
    );
    for n in 1..80 {
        script += &format!(
            "CREATE TABLE t{n} LIKE t0; INSERT INTO t{n} SELECT * FROM t0; ANALYZE TABLE t{n};\n"
        );
    }
    pair.fill(&script);
    pair.dump("a", &["--chunk-size", "64k"]).ok();
    for threads in ["2", "8"] {
        pair.load("a", &["--threads", threads]).ok();
        pair.target().client("DROP DATABASE dl").expect("dropped");
    }
}

both!(batch_sizes_tried_are_in_the_summary);
/// The batch sizes that were tried are in the summary as they were measured.
fn batch_sizes_tried_are_in_the_summary(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE a1; USE a1; \
        CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(600)) ENGINE=InnoDB; \
        INSERT INTO t SELECT n, REPEAT(SHA2(n, 512), 4) FROM {COUNT} WHERE n < 9000; \
        CREATE TABLE small (id INT PRIMARY KEY); INSERT INTO small VALUES (1); ANALYZE TABLE t;"
    ));
    let dumped = pair.dump("a", &["--chunk-size", "64k", "--json"]).ok();
    assert!(
        dumped.summary()["chunks"].as_u64().expect("a count") >= 43,
        "{}",
        dumped.out
    );
    let done = pair.load("a", &["--json"]).ok();
    let list = done.summary()["batch_size"].clone();
    let [found] = list.as_array().expect("a list").as_slice() else {
        panic!("{list}")
    };
    assert_eq!(found["table"], "`a1`.`t`");
    let tried: Vec<(u64, f64)> = found["tried"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|t| {
            (
                t["chunks"].as_u64().expect("a number"),
                t["bytes_per_second"].as_f64().expect("a rate"),
            )
        })
        .collect();
    let sizes: Vec<u64> = tried.iter().map(|t| t.0).collect();
    assert_eq!(sizes, [1, 2, 4]);
    assert!(tried.iter().all(|t| t.1 > 0.0), "{list}");
    let (chunks, gain) = (
        found["chunks"].as_u64().expect("a number"),
        found["gain_percent"].as_u64().expect("a gain"),
    );
    let best = tried.iter().map(|t| t.1).fold(0.0, f64::max);
    let measured = (best / tried[0].1 - 1.0) * 100.0;
    if chunks == 1 {
        assert!(gain == 0 && measured < 6.0, "{list}");
    } else {
        let taken = tried
            .iter()
            .find(|t| t.0 == chunks)
            .expect("one that was tried");
        assert!(
            (taken.1 - best).abs() < 2.0 && (gain as f64 - measured).abs() < 1.0,
            "{list}"
        );
    }
    pair.same_checksums();
    pair.target().client("DROP DATABASE a1").expect("dropped");
    pair.load("a", &[])
        .ok()
        .says(&["batch size ", "`a1`.`t`: ", "(tried 1, 2, 4)"]);
}

both!(rows_between_whole_numbers_are_compared);
/// The ranges are made of whole numbers; the second server's column has others as well.
fn rows_between_whole_numbers_are_compared(pair: &Pair) {
    // Many rows of each id: they are read in several ranges.
    let doubled: String = (0..5)
        .map(|n| format!("INSERT INTO t SELECT id, d + {} FROM t;", 3334 << n))
        .collect();
    let table = |kind: &str| {
        format!(
            "CREATE DATABASE kinds; USE kinds; CREATE TABLE t (id {kind} NOT NULL, d INT NOT NULL, PRIMARY KEY (id, d)); \
             INSERT INTO t SELECT 1 + n % 3, n DIV 3 FROM {COUNT}; {doubled} ANALYZE TABLE t;"
        )
    };
    pair.fill(&table("INT"));
    pair.target()
        .script(table("DOUBLE").as_bytes())
        .expect("a table");
    let verify = || pair.verify_servers(&["--no-definitions", "--schemas", "kinds"]);
    verify().ok().says(&["320,000 rows"]);
    pair.target()
        .client("INSERT INTO kinds.t VALUES (1.5, 0)")
        .expect("a row");
    verify()
        .code(4)
        .says(&["`kinds`.`t`", "320,001 on the second"]);
}

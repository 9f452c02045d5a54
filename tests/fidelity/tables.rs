//! Tables in all their forms: generated and invisible columns, partitions,
//! counters, keys and constraints.

use super::*;

both!(generated_invisible_and_checked_columns);
fn generated_invisible_and_checked_columns(pair: &Pair) {
    let mysql = pair.is_mysql();
    let functional = if mysql { ", KEY f ((lower(name)))" } else { "" };
    let tags = if mysql { "tags JSON" } else { "tags TEXT" };
    pair.fill(&format!(
        "CREATE DATABASE gen; USE gen; \
        CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, \
          price DECIMAL(10,2), hidden INT INVISIBLE DEFAULT 7, \
          gross DECIMAL(12,2) GENERATED ALWAYS AS (price * 1.19) VIRTUAL, \
          upper_name VARCHAR(40) GENERATED ALWAYS AS (UPPER(name)) STORED, {tags}, last INT, \
          CONSTRAINT positive CHECK (price >= 0), CONSTRAINT named CHECK (CHAR_LENGTH(name) > 0), \
          UNIQUE KEY u (upper_name, id), KEY d (price DESC, name), KEY g (gross){functional}); \
        INSERT INTO t (name, price, hidden, tags, last) VALUES ('ab', 10, 1, '[1, 2]', 9), \
          ('Öl', NULL, NULL, NULL, NULL), ('x', 0.01, 3, '[]', 0); \
        INSERT INTO t (name, price) SELECT CONCAT('n', n), n FROM {COUNT} WHERE n < 2000; \
        CREATE TABLE only_generated (a INT GENERATED ALWAYS AS (1) VIRTUAL, b INT); \
        INSERT INTO only_generated (b) VALUES (1), (2), (NULL);"
    ));
    pair.carry("a", &["--chunk-size", "64k"]);
    pair.same_schema("gen");
    pair.same(
        "SELECT id, name, price, hidden, gross, upper_name, tags, last FROM gen.t ORDER BY id",
    );
    pair.same("SELECT a, b FROM gen.only_generated ORDER BY b");
    assert!(
        pair.target()
            .client("INSERT INTO gen.t (name, price) VALUES ('', -1)")
            .is_err(),
        "checks hold on the copy"
    );
    pair.a_change_is_found("a", "`gen`.`t`", "UPDATE gen.t SET hidden = 2 WHERE id = 1");
}

#[test]
fn multi_valued_indexes_arrive() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE mv; USE mv; \
        CREATE TABLE t (id INT PRIMARY KEY, tags JSON, \
          KEY m ((cast(tags->'$' AS UNSIGNED ARRAY)))); \
        INSERT INTO t VALUES (1, '[1, 2]'), (2, NULL), (3, '[]');",
    );
    pair.carry("a", &[]);
    pair.same("SELECT id, tags FROM mv.t ORDER BY id");
    pair.same("SELECT id FROM mv.t WHERE 2 MEMBER OF (tags)");
    pair.same_definitions("mv");
}

both!(counters_and_zeros_stay);
fn counters_and_zeros_stay(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ctr; USE ctr; SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; \
        CREATE TABLE z (id INT AUTO_INCREMENT PRIMARY KEY, v INT); \
        INSERT INTO z VALUES (0, 1), (-5, 2), (7, 3); \
        CREATE TABLE gone (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY); \
        INSERT INTO gone VALUES (4711); DELETE FROM gone; \
        CREATE TABLE last (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY); \
        INSERT INTO last VALUES (254); \
        CREATE TABLE `empty` (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 500; \
        CREATE TABLE nothing (a INT, b TEXT); \
        CREATE TABLE other (a INT NOT NULL, id INT AUTO_INCREMENT, KEY (id)); \
        INSERT INTO other VALUES (1, 0), (1, 9);",
    );
    pair.carry("a", &[]);
    pair.same_schema("ctr");
    pair.same("SELECT * FROM ctr.z ORDER BY id");
    for server in [pair.source(), pair.target()] {
        server
            .script(
                b"USE ctr; INSERT INTO gone VALUES (NULL); INSERT INTO z (v) VALUES (9); \
                INSERT INTO `empty` VALUES (NULL); INSERT INTO other (a) VALUES (3);",
            )
            .expect("rows");
    }
    pair.same(
        "SELECT (SELECT id FROM ctr.gone), (SELECT MAX(id) FROM ctr.z), \
        (SELECT id FROM ctr.`empty`), (SELECT MAX(id) FROM ctr.other)",
    );
}

both!(partitions_of_all_kinds);
fn partitions_of_all_kinds(pair: &Pair) {
    pair.fill(&fixture!("partition_kinds"));
    pair.carry("a", &["--chunk-size", "64k"]);
    pair.same_schema("part");
    pair.same(
        "SELECT table_name, partition_name, subpartition_name FROM information_schema.partitions \
        WHERE table_schema = 'part' ORDER BY 1, 2, 3",
    );
    pair.same("SELECT COUNT(*) FROM part.r PARTITION (`p max`)");
}

both!(circular_foreign_keys);
fn circular_foreign_keys(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE fk1; CREATE DATABASE fk2; USE fk1; SET foreign_key_checks = 0; \
        CREATE TABLE a (id INT PRIMARY KEY, b INT, \
          CONSTRAINT a_b FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL); \
        CREATE TABLE b (id INT PRIMARY KEY, a INT, \
          CONSTRAINT b_a FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE); \
        CREATE TABLE tree (id INT PRIMARY KEY, up INT, \
          CONSTRAINT parent FOREIGN KEY (up) REFERENCES tree (id)); \
        CREATE TABLE fk2.far (id INT PRIMARY KEY, a INT, \
          CONSTRAINT far_a FOREIGN KEY (a) REFERENCES fk1.a (id)); \
        INSERT INTO a VALUES (1, 2), (2, 1); INSERT INTO b VALUES (1, 2), (2, 1); \
        INSERT INTO tree VALUES (1, 3), (2, 1), (3, 2), (4, NULL); \
        INSERT INTO fk2.far VALUES (1, 1);",
    );
    pair.carry("a", &[]);
    pair.same_definitions("fk1");
    pair.same_definitions("fk2");
    assert!(
        pair.target()
            .client("INSERT INTO fk1.tree VALUES (9, 99)")
            .is_err(),
        "foreign keys hold on the copy"
    );
    assert!(
        pair.target()
            .client("DELETE FROM fk1.tree WHERE id = 1")
            .is_err()
    );
    pair.target()
        .client("DELETE FROM fk1.b WHERE id = 1")
        .expect("a delete that sets NULL");
    assert_eq!(
        pair.target()
            .value("SELECT IFNULL(b, 'gone') FROM fk1.a WHERE id = 2")
            .expect("a value"),
        "gone"
    );
}

/// MySQL only: a primary key that the server generated, and indexes that are invisible.
#[test]
fn generated_invisible_primary_keys() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    pair.fill(&format!(
        "CREATE DATABASE gipk; USE gipk; SET sql_generate_invisible_primary_key = ON; \
        CREATE TABLE t (a INT, b VARCHAR(90)); \
        INSERT INTO t SELECT n % 7, CONCAT('r', n, REPEAT('-', 80)) FROM {COUNT} ORDER BY n; \
        DELETE FROM t WHERE b LIKE 'r5-%'; ANALYZE TABLE t; \
        SET sql_generate_invisible_primary_key = OFF; \
        CREATE TABLE k (a INT PRIMARY KEY, b INT, KEY hidden (b) INVISIBLE, \
          KEY plain (b)) COMPRESSION = 'none' STATS_PERSISTENT = 1; \
        CREATE TABLE c (a INT PRIMARY KEY, b INT, CHECK (b > 0) NOT ENFORCED) ROW_FORMAT = \
          COMPRESSED KEY_BLOCK_SIZE = 8; \
        INSERT INTO c VALUES (1, -1); \
        CREATE TABLE e (id BINARY(16) DEFAULT (UUID_TO_BIN(UUID())) PRIMARY KEY, \
          v INT DEFAULT (1 + 1), j JSON DEFAULT (JSON_ARRAY(1)), at DATE DEFAULT (CURRENT_DATE)); \
        INSERT INTO e () VALUES (), ();"
    ));
    let done = pair.dump("a", &["--chunk-size", "64k", "--json"]).ok();
    assert!(
        done.summary()["chunks"].as_u64() > Some(4),
        "cut by the invisible key"
    );
    pair.load("a", &[]).ok();
    pair.same_schema("gipk");
    pair.same("SELECT my_row_id, a, b FROM gipk.t ORDER BY my_row_id");
}

//! Dates and times, bytes, ENUM and SET, JSON, shapes, and each flavour's own types.

use super::*;

both!(dates_and_times_come_back_exactly);
fn dates_and_times_come_back_exactly(pair: &Pair) {
    pair.fill(&fixture!("dates_and_times"));
    pair.carry("a", &[]);
    pair.same_schema("tm");
    pair.same("SELECT *, UNIX_TIMESTAMP(ts6), UNIX_TIMESTAMP(made) FROM tm.t ORDER BY id");
    pair.a_change_is_found(
        "a",
        "`tm`.`t`",
        "UPDATE tm.t SET t6 = '-00:00:00.000002', made = made WHERE id = 3",
    );
}

both!(bytes_come_back_exactly);
fn bytes_come_back_exactly(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE bin; USE bin; \
        CREATE TABLE b (id INT PRIMARY KEY, one BINARY(1), b BINARY(16), v VARBINARY(600), \
          tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB); \
        INSERT INTO b SELECT n, CHAR(n), CONCAT(CHAR(n), REPEAT(CHAR(255 - n), 14)), \
          CONCAT(CHAR(n), '\\\\', CHAR(n)), CHAR(n, 9, 10, n), REPEAT(CHAR(n), n), '', NULL \
          FROM {COUNT} WHERE n < 256; \
        SET @all = ''; \
        SELECT GROUP_CONCAT(CHAR(n) ORDER BY n SEPARATOR '') INTO @all FROM {COUNT} WHERE n < 256; \
        INSERT INTO b VALUES (256, '', '', @all, LEFT(@all, 255), REPEAT(@all, 100), \
          REPEAT(@all, 300), REPEAT(@all, 400)), (257, NULL, NULL, NULL, NULL, NULL, NULL, NULL);"
    ));
    pair.carry("a", &[]);
    pair.same_schema("bin");
    pair.same(
        "SELECT id, HEX(one), HEX(b), HEX(v), HEX(tb), SHA2(bl, 256), SHA2(mb, 256), SHA2(lb, 256) \
        FROM bin.b ORDER BY id",
    );
    pair.a_change_is_found("a", "`bin`.`b`", "UPDATE bin.b SET one = 0x01 WHERE id = 0");
}

both!(enums_and_sets_come_back_exactly);
fn enums_and_sets_come_back_exactly(pair: &Pair) {
    let members: Vec<String> = (0..64).map(|n| format!("'m{n}'")).collect();
    pair.fill(
        &format!(
            "CREATE DATABASE en; USE en; SET sql_mode = '', NAMES utf8mb4; \
            CREATE TABLE e (id INT PRIMARY KEY, e ENUM('', 'a', 'b,c', 'x''y', 'ü', '\\\\N', \
              '7') CHARACTER SET utf8mb4, l ENUM('ä','ß') CHARACTER SET latin1 NOT NULL, \
              s SET({}), t SET('é', 'a b') CHARACTER SET latin1); \
            INSERT INTO e VALUES (1, '', 'ä', '', ''), (2, 'a', 'ß', 'm0,m63', 'é'), \
              (3, 'b,c', 'ß', REPEAT('m1,', 3), 'a b,é'), (4, NULL, 'ä', NULL, NULL), \
              (5, 'x''y', 1, 18446744073709551615, 3), (6, 'ü', 2, 9223372036854775808, 0), \
              (8, '\\\\N', 1, 1, 1), (9, '7', 1, 1, 1), (10, 2, 1, 1, 1);",
            members.join(",")
        )
        .replace(
            "SET sql_mode = '', NAMES utf8mb4;",
            "SET sql_mode = ''; SET NAMES utf8mb4;",
        ),
    );
    pair.carry("a", &[]);
    pair.same_schema("en");
    let rows = pair.same("SELECT id, e + 0, HEX(e), l + 0, s + 0, t + 0 FROM en.e ORDER BY id");
    assert_eq!(rows[0][1].as_deref(), Some("1"));
    pair.a_change_is_found("a", "`en`.`e`", "UPDATE en.e SET s = s - 1 WHERE id = 5");
}

both!(json_comes_back_exactly);
fn json_comes_back_exactly(pair: &Pair) {
    pair.fill(&fixture!("json"));
    if pair.is_mysql() {
        pair.fill(
            "INSERT INTO js.j (id, j) VALUES (7, JSON_OBJECT('dbl', 1.1e0, 'u', \
            CAST(5 AS UNSIGNED)));",
        );
    }
    pair.carry("a", &[]);
    pair.same_schema("js");
    pair.same("SELECT id, HEX(j), HEX(l), HEX(g), HEX(b), HEX(u), f + 0e0 FROM js.j ORDER BY id");
    pair.a_change_is_found(
        "a",
        "`js`.`j`",
        "UPDATE js.j SET j = JSON_SET(j, '$.big', 18446744073709551614) WHERE id = 1",
    );
}

both!(shapes_come_back_with_their_reference_system);
fn shapes_come_back_with_their_reference_system(pair: &Pair) {
    let srid = if pair.is_mysql() { "SRID 4326" } else { "" };
    let shape = |wkt: &str| {
        if pair.is_mysql() {
            format!("ST_GeomFromText('{wkt}', 4326, 'axis-order=long-lat')")
        } else {
            format!("ST_GeomFromText('{wkt}', 4326)")
        }
    };
    let kinds = [
        "POINT(1.5 2.25)",
        "LINESTRING(0 0,1 1,2 0.1)",
        "POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,2 3,3 3,3 2,2 2))",
        "MULTIPOINT(1 1,2 2)",
        "MULTILINESTRING((0 0,1 1),(2 2,3 3))",
        "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))",
        "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))",
    ];
    let mut script = format!(
        "CREATE DATABASE geo; USE geo; \
        CREATE TABLE g (id INT PRIMARY KEY, g GEOMETRY, p POINT, l LINESTRING, o POLYGON, \
          mp MULTIPOINT, ml MULTILINESTRING, mo MULTIPOLYGON, gc GEOMETRYCOLLECTION); \
        CREATE TABLE s (id INT PRIMARY KEY, at POINT NOT NULL {srid}, SPATIAL INDEX (at)); \
        INSERT INTO g (id) VALUES (0);"
    );
    for (n, wkt) in kinds.iter().enumerate() {
        script += &format!(
            "INSERT INTO g (id, g) VALUES ({}, {}), ({}, ST_GeomFromText('{wkt}'));\n",
            n + 1,
            shape(wkt),
            n + 101
        );
    }
    script += &format!(
        "INSERT INTO g VALUES (50, NULL, {});\n",
        kinds.map(shape).join(",")
    );
    script += &format!(
        "INSERT INTO s VALUES (1, {}), (2, {});",
        shape("POINT(10 20)"),
        shape("POINT(-179.999999999 -89.5)")
    );
    pair.fill(&script);
    pair.carry("a", &[]);
    pair.same_schema("geo");
    pair.same(
        "SELECT id, HEX(g), HEX(p), HEX(gc), ST_AsText(g), ST_SRID(g), ST_SRID(p) FROM geo.g \
        ORDER BY id",
    );
    pair.same("SELECT id, HEX(at), ST_SRID(at) FROM geo.s ORDER BY id");
    pair.a_change_is_found(
        "a",
        "`geo`.`g`",
        "UPDATE geo.g SET g = ST_GeomFromText('POINT(1.5 2.25)', 0) WHERE id = 1",
    );
}

both!(types_of_one_flavour_come_back_exactly);
fn types_of_one_flavour_come_back_exactly(pair: &Pair) {
    if pair.is_mysql() {
        pair.fill(&format!(
            "CREATE DATABASE own; USE own; \
            CREATE TABLE v (id INT PRIMARY KEY, e VECTOR(4), big VECTOR(1000), note TEXT); \
            INSERT INTO v VALUES (1, STRING_TO_VECTOR('[1,2.5,-0.125,3.4e38]'), NULL, 'a'), \
              (2, NULL, NULL, NULL), (3, STRING_TO_VECTOR('[0,0,0,2e-38]'), \
              STRING_TO_VECTOR(CONCAT('[', REPEAT('0.1,', 999), '7]')), ''); \
            INSERT INTO v SELECT n + 10, STRING_TO_VECTOR(CONCAT('[', RAND(n), ',', RAND(n + 1), \
              ',', n, ',', -n, ']')), NULL, 'x' FROM {COUNT} WHERE n < 500;"
        ));
    } else {
        pair.fill(
            "CREATE DATABASE own; USE own; \
            CREATE TABLE v (id INT PRIMARY KEY, i6 INET6, i4 INET4, u UUID DEFAULT UUID(), \
              note TEXT COMPRESSED, vb VARBINARY(100) COMPRESSED); \
            INSERT INTO v VALUES (1, '2001:db8::ff00:42:8329', '192.0.2.1', \
              '123e4567-e89b-12d3-a456-426655440000', REPEAT('x', 1000), 0x00FF), \
              (2, '::', '0.0.0.0', '00000000-0000-0000-0000-000000000000', '', ''), \
              (3, '::ffff:1.2.3.4', '255.255.255.255', 'ffffffff-ffff-ffff-ffff-ffffffffffff', \
              NULL, NULL), (4, NULL, NULL, NULL, NULL, NULL); \
            CREATE TABLE k (u UUID PRIMARY KEY, a INET6 NOT NULL, UNIQUE KEY (a)); \
            INSERT INTO k SELECT UUID(), INET6_NTOA(UNHEX(LEFT(SHA2(seq, 256), 32))) \
              FROM seq_1_to_3000;",
        );
    }
    pair.carry("a", &["--chunk-size", "64k"]);
    pair.same_schema("own");
    pair.same(if pair.is_mysql() {
        "SELECT id, HEX(e), HEX(big) FROM own.v ORDER BY id"
    } else {
        "SELECT id, HEX(i6), HEX(i4), HEX(u), note, HEX(vb) FROM own.v ORDER BY id"
    });
    pair.a_change_is_found(
        "a",
        "`own`.`v`",
        if pair.is_mysql() {
            "UPDATE own.v SET e = STRING_TO_VECTOR('[1,2.5,-0.125,3.3e38]') WHERE id = 1"
        } else {
            "UPDATE own.v SET i6 = '::1' WHERE id = 2"
        },
    );
}

both!(values_beyond_one_packet_come_back_exactly);
fn values_beyond_one_packet_come_back_exactly(pair: &Pair) {
    // 2^24 - 1 bytes are a full packet; one less and one more are the edges of the protocol.
    pair.fill(
        "CREATE DATABASE big; USE big; \
        CREATE TABLE l (id INT PRIMARY KEY, t LONGTEXT, b LONGBLOB); \
        INSERT INTO l VALUES (1, REPEAT('abcdefg\\n', 2200000), NULL), \
          (2, NULL, REPEAT(UNHEX('00FF5C0A'), 4300000)), (3, REPEAT('x', 16777214), ''), \
          (4, REPEAT('x', 16777215), ''), (5, REPEAT('x', 16777216), ''), (6, '', ''); \
        INSERT INTO l SELECT 10 + id, REPEAT('y', 16777215 - 9 + id), 'z' FROM l WHERE id < 6;",
    );
    pair.carry("a", &["--compression", "zstd:1"]);
    pair.same_schema("big");
    pair.same("SELECT id, LENGTH(t), SHA2(t, 256), LENGTH(b), SHA2(b, 256) FROM big.l ORDER BY id");
}

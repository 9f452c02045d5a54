//! Numbers: integers to their ends, DECIMAL, and floating point bit for bit.

use super::*;

both!(numbers_come_back_exactly);
fn numbers_come_back_exactly(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE num; USE num; \
        CREATE TABLE ints (id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, \
          d SMALLINT UNSIGNED, e MEDIUMINT, f MEDIUMINT UNSIGNED, g INT, h INT UNSIGNED, i BIGINT, \
          j BIGINT UNSIGNED, k INT(6) ZEROFILL, l BOOL); \
        INSERT INTO ints VALUES (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, \
          -9223372036854775808, 0, 0, FALSE), (2, 127, 255, 32767, 65535, 8388607, 16777215, \
          2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 999999, TRUE), \
          (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
          (4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42, 2); \
        CREATE TABLE decimals (id INT PRIMARY KEY, a DECIMAL(65,30), b DECIMAL(65,0), \
          c DECIMAL(30,30), d DECIMAL(1,0), e DECIMAL(10,2) UNSIGNED ZEROFILL); \
        INSERT INTO decimals VALUES (1, \
          99999999999999999999999999999999999.999999999999999999999999999999, \
          99999999999999999999999999999999999999999999999999999999999999999, \
          0.999999999999999999999999999999, 9, 7.5), \
          (2, -99999999999999999999999999999999999.999999999999999999999999999999, \
          -99999999999999999999999999999999999999999999999999999999999999999, \
          -0.999999999999999999999999999999, -9, 0), (3, 0.000000000000000000000000000001, 0, \
          0.000000000000000000000000000001, 0, 0), (4, NULL, NULL, NULL, NULL, NULL), \
          (5, 0, -0, 0, -0, 99999999.99); \
        CREATE TABLE bits (id INT PRIMARY KEY, a BIT(1), b BIT(7), c BIT(8), d BIT(9), e BIT(31), \
          f BIT(63), g BIT(64), h BIT(10) DEFAULT b'1010101010'); \
        INSERT INTO bits VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0), (2, 1, 127, 255, 511, 2147483647, \
          9223372036854775807, 18446744073709551615, 1023), (3, NULL, NULL, NULL, NULL, NULL, \
          NULL, NULL, NULL), (4, b'1', b'1001001', 0x0A, 0x0109, 0x5C09, 0x0000000A0D00, \
          0x5C5C5C5C09000A1A, 92);",
    );
    pair.carry("a", &[]);
    pair.same_schema("num");
    pair.same(
        "SELECT id, HEX(a), HEX(b), HEX(c), HEX(d), HEX(e), HEX(f), HEX(g), HEX(h) FROM num.bits \
        ORDER BY id",
    );
    pair.a_change_is_found(
        "a",
        "`num`.`bits`",
        "UPDATE num.bits SET g = g - 1 WHERE id = 2",
    );
}

both!(floats_come_back_bit_for_bit);
fn floats_come_back_bit_for_bit(pair: &Pair) {
    // Through text a FLOAT has six digits; these differ in the seventh and beyond.
    pair.fill(&format!(
        "CREATE DATABASE fl; USE fl; \
        CREATE TABLE f (id INT AUTO_INCREMENT PRIMARY KEY, f FLOAT, d DOUBLE, g FLOAT(7,4), \
          h DOUBLE(20,5), u FLOAT UNSIGNED, n FLOAT(30) NOT NULL DEFAULT 1.1); \
        INSERT INTO f (f, d) VALUES (3.402823466e38, 1.7976931348623157e308), \
          (-3.402823466e38, -1.7976931348623157e308), (1.175494351e-38, 2.2250738585072014e-308), \
          (1.4e-45, 5e-324), (7e-45, 1e-323), (-0e0, -0e0), (0, 0), (NULL, NULL), (0.1, 0.1), \
          (0.3333333333, 0.3333333333333333), (16777215, 9007199254740991), \
          (16777216, 9007199254740993), (1.0000001, 1.0000000000000002), \
          (123456.789, 0.30000000000000004), (9.999999e9, 1e23), (8388608.5, 4.35); \
        INSERT INTO f (f, d, g, h, u, n) SELECT (RAND(n) - 0.5) * POW(10, n % 76 - 37), \
          (RAND(n + 1) - 0.5) * POW(10, n % 600 - 300), ROUND(RAND(n) * 999, 4), \
          ROUND(RAND(n) * 1e9, 5), RAND(n) * 1e6, RAND(n) FROM {COUNT} WHERE n < 3000 ORDER BY n;"
    ));
    pair.carry("a", &["--chunk-size", "64k"]);
    pair.same_schema("fl");
    pair.same(
        "SELECT id, f + 0e0, CONCAT(d), CONCAT(f * 1e0), g, h, u * 1e0, n * 1e0 FROM fl.f \
        ORDER BY id",
    );
    // The sign of zero is a bit like any other.
    pair.same("SELECT id, CONCAT(d), CONCAT(f) FROM fl.f WHERE d = 0 ORDER BY id");
    pair.a_change_is_found(
        "a",
        "`fl`.`f`",
        "UPDATE fl.f SET f = 16777214 WHERE f = 16777215",
    );
}

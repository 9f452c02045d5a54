//! Numbers: integers to their limits, DECIMAL, and floating point bit for bit.

use super::*;

both!(numbers_come_back_exactly);
fn numbers_come_back_exactly(pair: &Pair) {
    pair.fill(&fixture!("integers"));
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
    // As text a FLOAT has six digits; these differ in the seventh and beyond.
    pair.fill(&fixture!("floats"));
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

both!(zero_in_an_auto_increment_column_beside_a_blob);
/// The column of the blob makes LOAD DATA a statement with SET, in which MariaDB counts differently.
fn zero_in_an_auto_increment_column_beside_a_blob(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE z; USE z; SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; \
        CREATE TABLE t (`i``d` INT AUTO_INCREMENT PRIMARY KEY, b BLOB); \
        INSERT INTO t VALUES (0, 'zero'), (-3, NULL), (7, 0x00FF);",
    );
    pair.carry("a", &[]);
    pair.same("SELECT * FROM z.t ORDER BY 1");
}

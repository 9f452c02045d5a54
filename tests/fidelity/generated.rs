//! What a server computes itself: values of generated columns that depend on the session which computes
//! them are compared, and named where the copy has others.

use super::*;

/// Rows that were inserted in a session which computes otherwise than that of a load.
const SESSION: &str = "CREATE DATABASE gc; USE gc; SET time_zone = '+05:00';";

both!(stored_values_that_depend_on_the_session_are_named);
fn stored_values_that_depend_on_the_session_are_named(pair: &Pair) {
    pair.fill(&format!(
        "{SESSION}
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NULL, n INT, d DATE AS (DATE(ts)) STORED, \
  hour INT AS (HOUR(ts)) STORED, twice INT AS (n * 2) STORED);
INSERT INTO t (id, ts, n) VALUES (1, '2024-03-01 03:00:00', 10), (2, '2024-03-01 12:00:00', 11), (3, NULL, NULL);
CREATE TABLE same (id INT PRIMARY KEY, n INT, twice INT AS (n * 2) STORED, KEY (twice));
INSERT INTO same (id, n) VALUES (1, 1), (2, NULL);"
    ));
    pair.dump("a", &[]).ok();
    let done = pair.load("a", &[]).code(3).says(&[
        "`gc`.`t`: stored generated column `d` has other values than the source",
        "`gc`.`t`: stored generated column `hour` has other values",
        "time_zone",
    ]);
    assert!(!done.said().contains("`twice`"), "{}", done.said());
    assert!(
        !done.said().contains("`gc`.`same`: stored"),
        "{}",
        done.said()
    );
    pair.verify("a").code(0);
    pair.verify_against("a", pair.target())
        .code(4)
        .says(&["stored generated column `d` has other values"]);
    pair.verify_servers(&[])
        .code(4)
        .says(&["generated column `d`"]);
    // The way that docs/load.md names.
    let again = "SET time_zone = '+05:00'; ALTER TABLE gc.t FORCE, ALGORITHM=COPY";
    pair.target()
        .script(again.as_bytes())
        .expect("values are computed again");
    pair.verify_against("a", pair.target()).ok();
    // Where only the values that do not depend on the session are left, all is equal.
    for server in [pair.source(), pair.target()] {
        server
            .client("ALTER TABLE gc.t DROP COLUMN d, DROP COLUMN hour")
            .expect("columns are dropped");
    }
    pair.verify_servers(&[]).ok();
}

both!(an_index_on_a_virtual_column_is_compared);
fn an_index_on_a_virtual_column_is_compared(pair: &Pair) {
    let script = format!(
        "{SESSION} CREATE TABLE v (id INT PRIMARY KEY, ts TIMESTAMP NULL, d DATE AS (DATE(ts)) VIRTUAL, KEY by_day (d));
INSERT INTO v (id, ts) VALUES (1, '2024-03-01 03:00:00'), (2, '2024-03-01 12:00:00');"
    );
    if let Err(e) = pair.source().script(script.as_bytes()) {
        // MariaDB has no index on an expression that depends on the session.
        assert!(
            !pair.is_mysql() && format!("{e:?}").contains("1901"),
            "{e:?}"
        );
        return;
    }
    pair.dump("a", &[]).ok();
    pair.load("a", &[])
        .code(3)
        .says(&["`gc`.`v`: index `by_day` has other values of the virtual column `d`"]);
}

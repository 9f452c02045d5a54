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

both!(indexes_whose_values_no_statement_reads_are_named);
fn indexes_whose_values_no_statement_reads_are_named(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ie; CREATE TABLE ie.t (id INT PRIMARY KEY, s VARCHAR(20), \
        v VARCHAR(40) AS (CONCAT(s, '-', s)) VIRTUAL, w INT AS (id * 2) VIRTUAL, KEY part (v(5)), KEY whole (w)); \
        INSERT INTO ie.t (id, s) VALUES (1, 'one'), (2, NULL);",
    );
    let mut named = vec!["`part` of `ie`.`t`"];
    if pair.is_mysql() {
        pair.fill("ALTER TABLE ie.t ADD KEY expression ((id + 1))");
        named.push("`expression` of `ie`.`t`");
    }
    pair.dump("a", &[]).ok();
    let load = pair.load("a", &["--json"]).ok();
    let list = |done: &crate::kit::Done| {
        let list = done.summary()["indexes_not_compared"].clone();
        let list = list.as_array().expect("a list").clone();
        let mut list: Vec<String> = list
            .iter()
            .map(|i| i.as_str().expect("a text").to_owned())
            .collect();
        list.sort();
        list
    };
    named.sort_unstable();
    assert_eq!(list(&load), named);
    pair.verify_against("a", pair.target())
        .ok()
        .says(&["not compared"])
        .says(&named);
    assert_eq!(list(&pair.verify_servers(&["--json"]).ok()), named);
}

/// Settings of a server, until this is dropped, also when the test fails.
struct Global<'a> {
    server: &'a testkit::Server,
    before: Vec<String>,
}

impl<'a> Global<'a> {
    fn set(server: &'a testkit::Server, settings: &[(&str, &str)]) -> Global<'a> {
        let mut before = Vec::new();
        for (name, value) in settings {
            let was = server.client(&format!("SELECT QUOTE(@@GLOBAL.{name})"));
            let was = was.expect("a value").remove(0).remove(0).expect("a value");
            before.push(format!("SET GLOBAL {name} = {was}"));
            let set = format!("SET GLOBAL {name} = {value}");
            server.client(&set).expect("a setting");
        }
        // A number is not taken as a text.
        for set in &mut before {
            if set.contains("increment") {
                *set = set.replace('\'', "");
            }
        }
        Global { server, before }
    }
}

impl Drop for Global<'_> {
    fn drop(&mut self) {
        for set in &self.before {
            let _ = self.server.client(set);
        }
    }
}

both!(values_computed_under_the_servers_settings_come_back);
fn values_computed_under_the_servers_settings_come_back(pair: &Pair) {
    let settings = [
        ("time_zone", "'+05:00'"),
        ("div_precision_increment", "8"),
        ("lc_time_names", "'de_DE'"),
    ];
    let global = Global::set(pair.source(), &settings);
    let session: Vec<String> = settings
        .iter()
        .map(|(name, value)| format!("SET SESSION {name} = {value};"))
        .collect();
    // MariaDB takes no name of a month in such a column.
    let month = match pair.is_mysql() {
        true => "DATE_FORMAT(ts, '%M')",
        false => "'März'",
    };
    pair.fill(&format!(
        "SET NAMES utf8mb4; CREATE DATABASE gs; USE gs; {}
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NULL, n INT, d DATE AS (DATE(ts)) STORED, \
  third DECIMAL(30,12) AS (n / 3) STORED, m VARCHAR(20) AS ({month}) STORED, KEY (d)) CHARACTER SET utf8mb4;
INSERT INTO t (id, ts, n) VALUES (1, '2024-03-01 03:00:00', 10), (2, '2024-05-31 23:00:00', 11), (3, NULL, NULL);",
        session.concat()
    ));
    let dump = pair.dump("a", &[]);
    drop(global);
    dump.ok();
    let load = pair.load("a", &[]).ok();
    load.says(&[
        "computed once more under the settings of the source",
        "time_zone = '+05:00'",
    ]);
    let values = pair.same("SELECT id, d, third, m FROM gs.t ORDER BY id");
    assert_eq!(values[0][3].as_deref(), Some("März"), "{values:?}");
    pair.same_checksums();
    pair.verify_against("a", pair.target()).ok();
    pair.verify_servers(&[]).ok();
}

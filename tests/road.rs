//! Tables that come as files: the same in the end as if their rows had been
//! sent, whatever happens on the way.

use crate::kit::{COUNT, Pair, Tool, both, few, own_server};
use crate::resume::stopped;
use rustix::process::Signal;
use std::path::PathBuf;
use testkit::{Kind, Server};

const FILES: &[&str] = &["--road", "tablespace", "--skip-binlog"];

/// Every sort of table that matters here; the last ones can only come as rows.
pub fn everything(pair: &Pair) {
    let own = if pair.is_mysql() {
        "CREATE TABLE functional (id INT PRIMARY KEY, v VARCHAR(60) NOT NULL, \
          KEY f ((LOWER(v)), id), KEY v (v)) ENGINE=InnoDB; \
        INSERT INTO functional SELECT n, SHA2(n, 224) FROM {COUNT}; \
        CREATE TABLE documents (id INT PRIMARY KEY, city VARCHAR(40) AS (j->>'$.city') VIRTUAL, \
          j JSON, n DOUBLE AS (j->'$.n') VIRTUAL, KEY city (city), KEY n (n, id)) ENGINE=InnoDB; \
        INSERT INTO documents (id, j) SELECT n, \
          IF(n % 50 = 0, NULL, JSON_OBJECT('city', CONCAT('M\u{fc}n', n % 70), 'n', n / 4e0, \
          'list', JSON_ARRAY(n, -n, n * 100000000, NULL, TRUE, \
          JSON_OBJECT('k', REPEAT('\u{1f600}', n % 20000))))) FROM {COUNT} WHERE n < 3000;"
    } else {
        "CREATE TABLE of_mariadb (u UUID PRIMARY KEY, j JSON, i INET6 NOT NULL, a INET4, \
          l VARCHAR(20) CHARACTER SET latin1, KEY i (i), KEY a (a, l)) ENGINE=InnoDB; \
        INSERT INTO of_mariadb SELECT CONCAT(SUBSTR(SHA2(n, 256), 1, 8), '-0000-', n % 8, \
          '000-8000-', LPAD(n, 12, '0')), '{\"a\": 1}', INET6_NTOA(UNHEX(MD5(n))), \
          INET_NTOA(n * 999), '\u{e4}' FROM {COUNT} WHERE n < 3000;"
    };
    // More than a row of an answer has columns.
    let members: Vec<String> = (0..5000).map(|n| format!("'m\u{e4}{n}'")).collect();
    let members = members.join(",");
    pair.fill(&format!(
        "CREATE DATABASE f; USE f; \
        CREATE TABLE many (id INT PRIMARY KEY, e ENUM({members}) CHARACTER SET latin1, KEY e (e)) \
          ENGINE=InnoDB; \
        INSERT INTO many SELECT n, 1 + n % 5000 FROM {COUNT}; \
        CREATE TABLE worked_out (l INT AS (LENGTH(a)) VIRTUAL, id INT PRIMARY KEY, a VARCHAR(90), \
          b INT, KEY b (b), KEY l (l, b), UNIQUE KEY u (b, l, id)) ENGINE=InnoDB; \
        INSERT INTO worked_out (id, a, b) SELECT n, REPEAT('x', n % 80), n % 9 FROM {COUNT} \
          WHERE n < 4000; \
        CREATE TABLE keyed (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, u VARCHAR(40) NOT NULL, \
          v VARCHAR(200), n DECIMAL(12,3), at DATETIME(3), UNIQUE KEY u (u), \
          KEY v (v(20) DESC, id), KEY n (n, at)) ENGINE=InnoDB; \
        INSERT INTO keyed (u, v, n, at) SELECT CONCAT('u', n), IF(n % 9 = 0, NULL, SHA2(n, 512)), \
          n / 7, NOW(3) - INTERVAL n SECOND FROM {COUNT}; \
        DELETE FROM keyed WHERE id > 9990; \
        CREATE TABLE worded (id BIGINT AUTO_INCREMENT PRIMARY KEY, t TEXT, b LONGBLOB, \
          FULLTEXT KEY t (t)) ENGINE=InnoDB CHARSET=utf8mb4; \
        INSERT INTO worded (t, b) SELECT CONCAT('word', n, ' and more'), \
          REPEAT(UNHEX(SHA2(n, 256)), IF(n % 100 = 0, 3000, n % 5)) FROM {COUNT} WHERE n < 4000; \
        CREATE TABLE latin (a CHAR(20) CHARACTER SET latin1 PRIMARY KEY, \
          e ENUM('\u{e4}', '\u{20ac}') CHARACTER SET latin1, \
          s SET('x', '\u{f6}') CHARACTER SET latin1) ENGINE=InnoDB; \
        INSERT INTO latin SELECT CONCAT(n, '\u{dc}'), 1 + n % 2, 'x,\u{f6}' FROM {COUNT} \
          WHERE n < 3000; \
        CREATE TABLE sorted_elsewhere (id INT PRIMARY KEY, a VARCHAR(50) CHARACTER SET gbk, \
          b VARCHAR(30) COLLATE utf8mb4_swedish_ci, c VARCHAR(30) CHARACTER SET utf8mb4, \
          KEY c (c), KEY a (a), KEY b (b), KEY id (id, b)) ENGINE=InnoDB; \
        INSERT INTO sorted_elsewhere SELECT n, '\u{4f60}', CONCAT(n, 'stra\u{df}e'), \
          CONCAT('\u{df}\u{2014}\u{410}', n) FROM {COUNT} WHERE n < 3000; \
        CREATE TABLE wide_set (id INT PRIMARY KEY, a CHAR(9) CHARACTER SET gbk, z TIMESTAMP NULL, \
          y YEAR, t TIME(2), bit BIT(13), f FLOAT, d DOUBLE) ENGINE=InnoDB; \
        INSERT INTO wide_set SELECT n, '\u{4f60}', FROM_UNIXTIME(n * 1000), 1990 + n % 90, \
          SEC_TO_TIME(n), n % 8000, n / 3, n / 7 FROM {COUNT} WHERE n > 1000 AND n < 3000; \
        CREATE TABLE child (id INT PRIMARY KEY, k INT UNSIGNED NOT NULL, KEY k (k), \
          CONSTRAINT child_of FOREIGN KEY (k) REFERENCES keyed (id) ON DELETE CASCADE) \
          ENGINE=InnoDB; \
        INSERT INTO child SELECT id, id FROM keyed WHERE id < 3000; \
        CREATE TRIGGER child_added AFTER INSERT ON child FOR EACH ROW SET @added = 1; \
        CREATE TABLE filled (code CHAR(12) PRIMARY KEY, v CHAR(30) NOT NULL, p POINT NOT NULL, \
          KEY v (v(9) DESC), SPATIAL KEY p (p)) ENGINE=InnoDB; \
        INSERT INTO filled SELECT CONCAT(CHAR(97 + n % 26), ' ', n, IF(n % 3 = 0, '!', '')), \
          IF(n % 7 = 0, '', CONCAT('a ', n)), POINT(n, -n) FROM {COUNT} WHERE n < 3000; \
        CREATE TABLE nothing (id INT PRIMARY KEY) ENGINE=InnoDB; \
        CREATE TABLE no_key (a INT, v VARCHAR(80), KEY (v)) ENGINE=InnoDB; \
        INSERT INTO no_key SELECT n % 3, IF(n % 10 = 0, NULL, SHA2(n % 500, 224)) FROM {COUNT} \
          WHERE n < 4000; \
        CREATE TABLE no_primary (a INT NOT NULL, v VARCHAR(80), UNIQUE KEY a (a)) ENGINE=InnoDB; \
        INSERT INTO no_primary SELECT n, SHA2(n, 224) FROM {COUNT} WHERE n < 2000; \
        CREATE TABLE parts (a INT PRIMARY KEY) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3; \
        INSERT INTO parts VALUES (1), (2), (3); \
        CREATE TABLE made (a INT PRIMARY KEY, b INT AS (a + 1) STORED) ENGINE=InnoDB; \
        INSERT INTO made (a) VALUES (1); CREATE TABLE `öd` (a INT PRIMARY KEY) ENGINE=InnoDB; \
        INSERT INTO `öd` VALUES (1); \
        CREATE TABLE down (at DATE NOT NULL, id INT NOT NULL, v VARCHAR(90), \
          PRIMARY KEY (at DESC, id), KEY v (v)) ENGINE=InnoDB; \
        INSERT INTO down SELECT '2000-01-01' + INTERVAL n % 900 DAY, n, SHA2(n, 256) FROM {COUNT}; \
        CREATE TABLE down_all (id INT PRIMARY KEY, n INT NOT NULL, v VARCHAR(90)) ENGINE=InnoDB; \
        ALTER TABLE down_all DROP PRIMARY KEY, ADD PRIMARY KEY (n DESC, id DESC); \
        INSERT INTO down_all SELECT n, n % 70, SHA2(n, 256) FROM {COUNT}; \
        CREATE TABLE beginning (v VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
          id INT NOT NULL, PRIMARY KEY (v(6), id)) ENGINE=InnoDB; \
        INSERT INTO beginning SELECT CONCAT('\u{e4}', SHA2(n, 256)), n FROM {COUNT} \
          WHERE n < 3000; \
        CREATE TABLE scripts (p VARCHAR(30) CHARACTER SET cp1251 PRIMARY KEY, \
          l CHAR(20) COLLATE latin2_hungarian_ci, u CHAR(9) CHARACTER SET ucs2, \
          s VARCHAR(9) CHARACTER SET utf16, e CHAR(5) CHARACTER SET utf16le, \
          t TEXT CHARACTER SET utf32, m ENUM('\u{416}', 'it''s') CHARACTER SET koi8r, KEY l (l), \
          KEY m (m, l)) ENGINE=InnoDB; \
        INSERT INTO scripts SELECT CONCAT('\u{416}', n), CONCAT('\u{151}', n % 700), '\u{6f22}', \
          '\u{1f600}', 'e', REPEAT('\u{1f600}', IF(n % 500 = 0, 3000, n % 9)), 1 + n % 2 \
          FROM {COUNT} WHERE n < 3000; \
        CREATE TABLE con (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO con VALUES (1); \
        CREATE TABLE `odd name-#.$` (a INT PRIMARY KEY) ENGINE=InnoDB; \
        INSERT INTO `odd name-#.$` VALUES (1); \
        CREATE TABLE `受注` (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO `受注` VALUES (1); \
        CREATE TABLE isam (a INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO isam VALUES (1); {}",
        own.replace("{COUNT}", COUNT)
    ));
}

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    load_into(pair, pair.target(), more)
}

fn load_into(pair: &Pair, target: &Server, more: &[&str]) -> Tool {
    let tool = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(target.socket());
    let threads: &[&str] = match more.contains(&"--threads") {
        true => &[],
        false => &["--threads", "2"],
    };
    tool.args(["--user", "root"])
        .args(threads.iter().copied())
        .args(FILES.iter().copied())
        .args(more.iter().copied())
}

/// What a load leaves in the data folder.
pub fn left(server: &Server) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in [server.datadir(), server.datadir().join("f")] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("penstock-") || name.ends_with(".cfg") {
                all.push(path);
            }
        }
    }
    all
}

const TABLES: &str = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'f' \
    AND table_type = 'BASE TABLE' AND engine = 'InnoDB'";

/// Equal in every row and definition; nothing left; the server finds nothing to complain about.
#[track_caller]
pub fn equal(pair: &Pair, target: &Server, when: &str) {
    let sums = testkit::checksum::compare(
        &pair.source().options(),
        &target.options(),
        &["f".to_owned()],
    );
    let sums = sums.expect("checksums");
    assert!(
        sums.differences.is_empty() && sums.compared > 0,
        "{when}: {:#?}",
        sums.differences
    );
    for row in target.client(TABLES).expect("tables") {
        let name = row[0].clone().expect("a name");
        let check = target.client(&format!("CHECK TABLE f.`{name}` EXTENDED"));
        let check = check.expect("a check");
        let last = check.last().expect("an answer");
        assert_eq!(
            last[3].as_deref(),
            Some("OK"),
            "{when}: {check:?}\n{}",
            target.log()
        );
    }
    assert_eq!(left(target), Vec::<PathBuf>::new(), "{when}");
    let journal =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(target.value(journal).expect("a count"), "0", "{when}");
}

/// Those of [`everything`] that come as files.
pub fn as_files(pair: &Pair) -> Vec<&'static str> {
    let mut all = vec![
        "`f`.`beginning`",
        "`f`.`child`",
        "`f`.`con`",
        "`f`.`down`",
        "`f`.`down_all`",
        "`f`.`filled`",
        "`f`.`keyed`",
        "`f`.`latin`",
        "`f`.`many`",
        "`f`.`no_key`",
        "`f`.`no_primary`",
        "`f`.`odd name-#.$`",
        "`f`.`parts`",
        "`f`.`scripts`",
        "`f`.`sorted_elsewhere`",
        "`f`.`wide_set`",
        "`f`.`worded`",
        "`f`.`worked_out`",
        "`f`.`öd`",
        "`f`.`受注`",
    ];
    if pair.is_mysql() {
        all.extend(["`f`.`documents`", "`f`.`functional`"]);
    } else {
        all.push("`f`.`of_mariadb`");
    }
    all.sort_unstable();
    all
}

pub fn names(list: &serde_json::Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    let name = |v: &serde_json::Value| v.as_str().expect("a name").to_owned();
    list.iter().map(name).collect()
}

both!(tables_come_as_files_and_cannot_be_told_from_others);
fn tables_come_as_files_and_cannot_be_told_from_others(pair: &Pair) {
    everything(pair);
    pair.dump("a", &["--chunk-size", "256k"]).code(3);
    let done = loading(pair, &["--json"]).run().ok();
    let summary = done.summary();
    let road = &summary["road"];
    let mut files = names(&road["files"]);
    files.sort();
    let wanted = as_files(pair);
    assert_eq!(files, wanted, "{road:#}");
    let reasons = road["rows"].as_array().expect("reasons");
    for (table, word) in [("made", "are stored"), ("isam", "engine")] {
        let name = format!("`f`.`{table}`");
        let reason = reasons.iter().find(|r| names(&r["tables"]).contains(&name));
        let reason = reason.unwrap_or_else(|| panic!("{table}: {road:#}"))["reason"]
            .as_str()
            .expect("a reason");
        assert!(reason.contains(word), "{table}: {reason}");
    }
    let keys = names(&road["keys_of_server"]);
    for key in [
        "`f`.`sorted_elsewhere`: `a`",
        "`f`.`sorted_elsewhere`: `b`",
        "`f`.`worded`: `t`",
    ] {
        assert!(keys.contains(&key.to_owned()), "{keys:?}");
    }
    equal(pair, pair.target(), "loaded");
    pair.same_definitions("f");
    pair.same("SELECT * FROM f.worked_out ORDER BY id");
    pair.same("SELECT COUNT(*), SUM(l) FROM f.worked_out FORCE INDEX (l) WHERE l > 3");
    if pair.is_mysql() {
        pair.same("SELECT COUNT(*), SUM(n) FROM f.documents FORCE INDEX (n) WHERE n > 3");
        pair.same(
            "SELECT id, city, JSON_TYPE(j->'$.n'), JSON_LENGTH(j), j->'$.list[0]' FROM f.documents \
            FORCE INDEX (city) WHERE city > 'M' ORDER BY id",
        );
        pair.same("SELECT * FROM f.functional ORDER BY id");
        pair.same("SELECT COUNT(*) FROM f.functional FORCE INDEX (f) WHERE LOWER(v) > 'b'");
    }
    // Both count on from the same number, and go on being the same.
    for change in [
        // Its number has to be one that none of the rows has.
        "INSERT INTO f.no_key VALUES (5, 'the next row')",
        "INSERT INTO f.keyed (u) VALUES ('new')",
        "INSERT INTO f.worded (t) VALUES ('new words')",
        "UPDATE f.keyed SET v = CONCAT('zz', v), n = n + 1 WHERE id % 3 = 0",
        "DELETE FROM f.keyed WHERE id % 7 = 0",
        "UPDATE f.worded SET b = NULL WHERE id % 50 = 0",
        "INSERT INTO f.worded (t, b) SELECT t, b FROM f.worded WHERE id % 5 = 0",
        "UPDATE f.latin SET a = CONCAT('x', a) WHERE e = 1",
        "DELETE FROM f.wide_set WHERE id % 3 = 0",
        "UPDATE f.sorted_elsewhere SET b = REVERSE(b)",
        "UPDATE f.down SET at = at + INTERVAL 40 DAY WHERE id % 5 = 0 ORDER BY at DESC",
        "DELETE FROM f.down_all WHERE n < 9",
        "INSERT INTO f.down_all SELECT id, n + 1000, v FROM f.down_all WHERE id % 3 = 0",
        "UPDATE f.beginning SET v = CONCAT('b', v) WHERE id % 4 = 0",
        "UPDATE f.scripts SET p = CONCAT('\u{44f}', p), l = UPPER(l), t = CONCAT(t, t) WHERE m = 1",
        "UPDATE f.filled SET code = CONCAT(code, '~'), v = REVERSE(v) WHERE code > 'm'",
        "DELETE FROM f.filled WHERE code < 'd'",
        "INSERT INTO f.no_key SELECT a, CONCAT(v, 'n') FROM f.no_key WHERE a = 1",
        "UPDATE f.no_key SET v = REVERSE(v) WHERE v > 'c'",
        "DELETE FROM f.no_key WHERE a = 0",
        "REPLACE INTO f.no_primary SELECT a * 2, v FROM f.no_key WHERE a = 2",
        "UPDATE f.worked_out SET a = REVERSE(CONCAT(a, 'y')) WHERE id % 3 = 0",
        "DELETE FROM f.worked_out WHERE l = 7",
    ]
    .into_iter()
    .chain(Some(if pair.is_mysql() {
        "UPDATE f.documents SET j = JSON_SET(j, '$.n', id, '$.new', j->'$.list') WHERE id % 3 = 0"
    } else {
        "UPDATE f.of_mariadb SET u = INSERT(u, 1, 2, 'ff'), i = '::1' WHERE a > '0.1.0.0'"
    })) {
        for server in [pair.source(), pair.target()] {
            server
                .client(change)
                .unwrap_or_else(|e| panic!("{change}: {e:?}"));
        }
        if change.contains("the next row") {
            pair.same("SELECT COUNT(*), SUM(a) FROM f.no_key IGNORE INDEX (v)");
        }
    }
    pair.same("SELECT MAX(id) FROM f.keyed");
    pair.same(
        "SELECT v, COUNT(*) FROM f.filled FORCE INDEX (v) WHERE v >= '' GROUP BY v ORDER BY v",
    );
    pair.same(
        "SELECT COUNT(*) FROM f.filled FORCE INDEX (p) \
        WHERE MBRContains(ST_GeomFromText('POLYGON((0 0, 900 0, 900 -2000, 0 -2000, 0 0))'), p)",
    );
    pair.same(
        "SELECT l, COUNT(*) FROM f.scripts FORCE INDEX (l) WHERE l >= '' GROUP BY l ORDER BY l",
    );
    pair.same("SELECT MAX(id) FROM f.worded");
    pair.same("SELECT COUNT(*) FROM f.worded WHERE MATCH (t) AGAINST ('word17')");
    equal(pair, pair.target(), "changed");
    pair.same("SELECT * FROM f.worked_out ORDER BY id");
    pair.same("SELECT COUNT(*), SUM(l) FROM f.worked_out FORCE INDEX (u) WHERE l > 3");
    let twice = pair
        .target()
        .client("INSERT INTO f.keyed (u) VALUES ('u8')");
    assert!(twice.is_err(), "a unique key is one");
}

both!(auto_takes_what_is_big_and_says_why_not_the_rest);
fn auto_takes_what_is_big_and_says_why_not_the_rest(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE f; USE f; \
        CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(900), KEY (v(30))) ENGINE=InnoDB; \
        INSERT INTO big SELECT n, REPEAT(SHA2(n, 512), 6) FROM {COUNT}; \
        CREATE TABLE small (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO small VALUES (1);"
    ));
    pair.dump("a", &["--chunk-size", "2M"]).ok();
    let load = |more: &[&str]| {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        pair.load("a", more).ok()
    };
    load(&["--skip-binlog"]).says(&[
        "as files",
        "1 table, ",
        "`f`.`small`: they are small",
        "equal: 10,001 rows in 2 tables",
    ]);
    equal(pair, pair.target(), "auto");
    // What does not fit into memory is sorted on disk; --no-verify does not spare a file its proof.
    load(&["--skip-binlog", "--memory", "1M", "--no-verify"])
        .says(&["as files", "equal: 10,000 rows in 1 table"]);
    equal(pair, pair.target(), "little memory");
    let rows = load(&["--skip-binlog", "--road", "rows"]);
    assert!(
        !rows.said().contains("as files") && !rows.said().contains("as rows"),
        "{}",
        rows.said()
    );
    load(&["--skip-binlog", "--road", "tablespace", "--max-rate", "1G"])
        .says(&["as rows", "--max-rate counts"]);
    let binlog = pair.target().value("SELECT @@log_bin").expect("a flag") == "1";
    if binlog {
        load(&[]).says(&["`f`.`big`: the server writes a binary log", "--skip-binlog"]);
    }
    if pair.is_mysql() {
        // Without a redo log a server that falls over takes all its tables along.
        let done = load(&["--skip-binlog", "--tune=max"]).says(&["as files"]);
        assert!(!done.said().contains("innodb_redo_log "), "{}", done.said());
    }
    pair.load("a", &["--memory", "lots"])
        .code(2)
        .says(&["\"lots\" is not a size"]);
    pair.load("a", &["--road", "sea"])
        .code(2)
        .says(&["auto", "rows", "tablespace"]);
}

/// Three tables, which is enough for everything to overlap, and one of rows; before them a schema whose name is another in file
/// names, and which holds the journal.
pub fn three(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE `a-f`; CREATE TABLE `a-f`.x (id INT PRIMARY KEY) ENGINE=InnoDB; \
        INSERT INTO `a-f`.x VALUES (1); CREATE DATABASE f; USE f; \
        CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), KEY v (v)) \
          ENGINE=InnoDB; \
        INSERT INTO a (v) SELECT SHA2(n, 512) FROM {COUNT}; \
        CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(100), UNIQUE KEY v (v, id)) ENGINE=InnoDB; \
        INSERT INTO b SELECT n, SHA2(n, 224) FROM {COUNT} WHERE n < 4000; \
        CREATE TABLE c (id INT PRIMARY KEY, v CHAR(30) CHARACTER SET gbk, KEY back (id DESC), \
          KEY known (id, v), KEY v (v)) ENGINE=InnoDB; \
        INSERT INTO c SELECT n, '\u{4f60}' FROM {COUNT} WHERE n < 2000; \
        CREATE TABLE r (id INT, s INT AS (id + 1) STORED) ENGINE=InnoDB; \
        INSERT INTO r (id) SELECT n FROM {COUNT} WHERE n < 2000;"
    ));
    pair.dump("a", &["--chunk-size", "256k"]).ok();
}

const PLACES: &[&str] = &[
    "a table is created#2",
    "a file is announced#2",
    "empty files are discarded#1",
    "empty files are discarded#2",
    "a file is about to be built#1",
    "a file is built#1",
    "a file is about to be handed over#1",
    "a file is in its place#1",
    "a file is in its place#3",
    "a file is imported#1",
    "a file is imported#3",
    "a file is entered#1",
    "a file is entered#2",
    "a file is proven#1",
    "a file is proven#3",
    "a chunk is stored#1",
];

both!(killed_on_the_road);
fn killed_on_the_road(pair: &Pair) {
    three(pair);
    for place in few(pair.kind, 5, PLACES) {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        loading(pair, &[])
            .env("PENSTOCK_KILL_AT", place)
            .run()
            .code(137);
        loading(pair, &[])
            .run()
            .code(10)
            .says(&["interrupted", "--resume"]);
        // Killed once more while it clears up.
        let second = loading(pair, &["--resume"])
            .env("PENSTOCK_KILL_AT", "what was left of a file is gone#1")
            .run();
        if second.code != 0 {
            second.code(137);
            loading(pair, &["--resume"]).run().ok().says(&["equal:"]);
        }
        equal(pair, pair.target(), place);
        pair.same_definitions("f");
    }
    // Another road may be taken the second time.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a file is in its place#2")
        .run()
        .code(137);
    pair.load("a", &["--resume", "--skip-binlog", "--road", "rows"])
        .ok()
        .says(&["equal:"]);
    equal(pair, pair.target(), "rows the second time");
    pair.same_definitions("f");
    // And the schema can be dropped instead, whatever was left.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a file is built#1")
        .run()
        .code(137);
    pair.target()
        .script(b"DROP DATABASE f; DROP DATABASE `a-f`")
        .expect("dropped");
    assert!(!left(pair.target()).is_empty());
    loading(pair, &[]).run().ok();
    equal(pair, pair.target(), "begun anew");
}

both!(rows_of_others_are_not_dropped);
fn rows_of_others_are_not_dropped(pair: &Pair) {
    three(pair);
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a table is created#3")
        .run()
        .code(137);
    let filled = pair
        .target()
        .client(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'f' \
            AND table_name = 'a'",
        )
        .expect("tables");
    assert_eq!(filled.len(), 1, "the table is there");
    pair.target()
        .client("INSERT INTO f.a VALUES (900000, 'mine')")
        .expect("inserted");
    // The row is one too many, so the load fails; but it is there, and all others are.
    loading(pair, &["--resume"])
        .run()
        .code(4)
        .says(&["`f`.`a`"]);
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM f.a")
            .expect("rows"),
        "10001"
    );
    assert_eq!(
        pair.target()
            .value("SELECT v FROM f.a WHERE id = 900000")
            .expect("a row"),
        "mine"
    );
}

both!(the_grants_of_the_page_are_enough);
fn the_grants_of_the_page_are_enough(pair: &Pair) {
    three(pair);
    let more = if pair.is_mysql() {
        "RELOAD, SESSION_VARIABLES_ADMIN"
    } else {
        "RELOAD, SUPER, BINLOG ADMIN"
    };
    let grants = "DROP USER IF EXISTS restore@localhost; CREATE USER restore@localhost; \
        GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, DELETE, CREATE VIEW, \
          SHOW VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE, EVENT ON f.* TO restore@localhost; \
        GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, DELETE, CREATE VIEW, \
          SHOW VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE, EVENT ON `a-f`.* \
          TO restore@localhost;";
    let load = |more: &[&str]| {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(pair.target().socket())
            .args(["--user", "restore", "--threads", "2"])
            .args(more.iter().copied())
            .run()
            .ok()
    };
    pair.target().script(grants.as_bytes()).expect("granted");
    load(&[]).says(&["equal:"]);
    pair.target()
        .script(
            format!(
                "GRANT {more} ON *.* TO restore@localhost; \
                GRANT LOCK TABLES ON f.* TO restore@localhost; \
                GRANT LOCK TABLES ON `a-f`.* TO restore@localhost;"
            )
            .as_bytes(),
        )
        .expect("granted");
    load(FILES).says(&["as files", "equal:"]);
    equal(pair, pair.target(), "with grants");
    pair.target()
        .script(b"DROP USER restore@localhost")
        .expect("dropped");
}

fn killed_server(source: Kind, kind: Kind) {
    let Some(mut target) = own_server(kind, &["--server-id=79"]) else {
        return;
    };
    let Some(pair) = Pair::take(source) else {
        return;
    };
    three(&pair);
    for place in few(kind, 4, &PLACES[1..]) {
        target
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        let run = load_into(&pair, &target, &[])
            .env("PENSTOCK_STOP_AT", place)
            .start();
        stopped(run.pid());
        target.kill9().expect("killed");
        run.signal(Signal::CONT);
        let done = run.wait();
        assert_eq!(done.code, 6, "{place}: {}", done.said());
        target.restart().expect("a server again");
        load_into(&pair, &target, &["--resume"])
            .run()
            .ok()
            .says(&["equal:"]);
        equal(&pair, &target, place);
        target.restart().expect("a server again");
        equal(&pair, &target, &format!("{place}, restarted"));
    }
    // What is changed right behind a load survives a crash: MariaDB's recovery leaves out changes of a
    // table whose empty file was discarded since the last checkpoint.
    target
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    load_into(&pair, &target, &[]).run().ok();
    // The server counts rows without a key on, and does so after a crash.
    pair.fill(&format!(
        "CREATE TABLE f.n (id INT, KEY (id)) ENGINE=InnoDB; \
        INSERT INTO f.n SELECT n FROM {COUNT} WHERE n < 5000;"
    ));
    pair.dump("n", &["--tables", "f.n"]).ok();
    let done = Tool::new(["load"])
        .arg(pair.path("n"))
        .arg("--socket")
        .arg(target.socket())
        .args(["--user", "root"])
        .args(FILES.iter().copied())
        .run();
    done.ok().says(&["as files            1 table"]);
    let more = "INSERT INTO f.n SELECT id + 5000 FROM f.n";
    for change in [
        "UPDATE f.a SET v = CONCAT('new ', v) WHERE id % 3 = 0",
        "INSERT INTO f.a (v) SELECT v FROM f.b",
        "DELETE FROM f.b WHERE id % 2 = 0",
        "ALTER TABLE f.b ADD KEY later (v)",
        more,
    ] {
        for server in [pair.source(), &target] {
            server.client(change).expect("changed");
        }
    }
    target.kill9().expect("killed");
    target.restart().expect("a server again");
    equal(&pair, &target, "changed, and killed");
    for server in [pair.source(), &target] {
        server.client(more).expect("more rows");
    }
    equal(&pair, &target, "counted on");
}

#[test]
fn a_server_that_is_killed_on_the_road_mysql() {
    killed_server(Kind::MySql, Kind::MySql);
}

#[test]
fn a_server_that_is_killed_on_the_road_mariadb() {
    killed_server(Kind::MariaDb, Kind::MariaDb);
}

#[test]
fn a_server_that_is_killed_on_the_road_mariadb118() {
    killed_server(Kind::MariaDb, Kind::MariaDb118);
}

/// Stops a load at a place, does something there, and lets it go on.
fn meanwhile(pair: &Pair, place: &str, what: impl FnOnce()) -> crate::kit::Done {
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    let run = loading(pair, &["--threads", "1"])
        .env("PENSTOCK_STOP_AT", place)
        .start();
    stopped(run.pid());
    what();
    run.signal(Signal::CONT);
    run.wait()
}

/// Turns one bit of a file over.
fn damage(path: &std::path::Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("the file");
    let Some(byte) = bytes.get_mut(at) else {
        return;
    };
    *byte ^= 1;
    std::fs::write(path, bytes).expect("written");
}

both!(what_is_doubted_comes_as_rows);
fn what_is_doubted_comes_as_rows(pair: &Pair) {
    three(pair);
    // Several may be on their way: what is not finished yet is written over.
    let damage = |at: usize| {
        let all = left(pair.target());
        let built = all
            .iter()
            .filter(|p| p.to_string_lossy().ends_with("-building"));
        for path in built {
            damage(path, at);
        }
    };
    // Found by the check before it is on the disk.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    let run = loading(pair, &["--threads", "1"]).env("PENSTOCK_DAMAGE_AT", "pages are written#1");
    let done = run.run().code(3);
    done.says(&[
        "the file that was built for it is not whole: page ",
        ": its sum is wrong",
        "dropped and loaded as rows",
    ]);
    equal(pair, pair.target(), "a damaged page");
    // Found by the server.
    let done = meanwhile(pair, "a file is about to be handed over#1", || damage(60));
    done.code(3)
        .says(&["its file was not taken", "dropped and loaded as rows"]);
    equal(pair, pair.target(), "a file that was refused");
    // Found by the comparison.
    let done = meanwhile(pair, "a file is entered#1", || {
        // Any of them may be the first, and only that one is sure to be there.
        for change in [
            "f.a SET v = 'other' WHERE id = 77",
            "f.b SET v = 'other' WHERE id = 77",
            "f.c SET v = 'other' WHERE id = 77",
            "`a-f`.x SET id = 2",
        ] {
            let _ = pair.target().client(&format!("UPDATE {change}"));
        }
    });
    done.code(3)
        .says(&["what came as a file differs", "dropped and loaded as rows"]);
    equal(pair, pair.target(), "rows that differ");
    pair.same_definitions("f");
    // Stopped by hand in the middle: nothing of the file is left, and it goes on.
    let run = meanwhile(pair, "a file is built#2", || {});
    run.ok();
    equal(pair, pair.target(), "stopped and let go on");
}

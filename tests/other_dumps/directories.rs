//! Directories: mydumper's, `--tab`, `--dir`, CSV and TSV.

use super::*;

both!(a_dump_of_mydumper);
fn a_dump_of_mydumper(pair: &Pair) {
    let Some(mydumper) = ["/usr/bin/mydumper", "/usr/local/bin/mydumper"]
        .into_iter()
        .find(|p| std::path::Path::new(p).exists())
    else {
        testkit::skip("mydumper", "no mydumper on this machine");
        return;
    };
    pair.fill(&format!(
        "CREATE DATABASE a1 CHARACTER SET utf8mb4; USE a1; SET NAMES utf8mb4; \
        CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(40) NOT NULL, t TEXT, \
          b BLOB, bt BIT(9), ts TIMESTAMP NULL, UNIQUE KEY u (u)) ENGINE=InnoDB; \
        INSERT INTO big (u, t, b, bt, ts) SELECT CONCAT('u', n), CONCAT('ü ''\\\\\\n', n), \
          UNHEX(CONCAT('00FF5C27', HEX(n % 10))), n % 512, '2024-06-01 12:00:00' FROM {COUNT}; \
        CREATE TABLE child (id INT PRIMARY KEY, k INT NOT NULL, v INT AS (k + 1) VIRTUAL, \
          CONSTRAINT c FOREIGN KEY (k) REFERENCES big (id)) ENGINE=InnoDB; \
        INSERT INTO child (id, k) VALUES (1, 1), (2, 9); \
        CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(9)) ENGINE=InnoDB; \
        CREATE TRIGGER child_in BEFORE INSERT ON child FOR EACH ROW INSERT INTO log (w) \
          VALUES ('a;'); \
        CREATE PROCEDURE p() SELECT ';'; CREATE VIEW v AS SELECT id, 2 * id AS d FROM child; \
        CREATE VIEW a_first AS SELECT * FROM v;"
    ));
    let out = pair.path("my");
    let done = Command::new(mydumper)
        .args([
            "--user=root",
            "--database=a1",
            "--triggers",
            "--threads=2",
            "--rows=2500",
            "--compress",
        ])
        // mydumper 0.10 reads the wrong columns of a new MySQL's answers for routines.
        .args(if pair.is_mysql() {
            &[][..]
        } else {
            &["--routines", "--events"]
        })
        .arg("--outputdir")
        .arg(&out)
        .arg("--socket")
        .arg(pair.source().socket())
        .output()
        .expect("it starts");
    if !done.status.success() {
        // An old one may not be able to talk to a new server.
        let said = String::from_utf8_lossy(&done.stderr);
        testkit::skip("mydumper", format!("mydumper fails: {said}"));
        return;
    }
    // Not every version writes the CREATE DATABASE of a named schema with its character set: the
    // test does.
    loading(pair, &out, &["--defer-indexes", "all"])
        .run()
        .ok()
        .says(&["Load complete", "counted:"]);
    pair.same_checksums();
    pair.same("SELECT id, HEX(t), HEX(b), bt + 0, ts FROM a1.big ORDER BY id");
    pair.same("SELECT * FROM a1.a_first ORDER BY id");
    pair.same(
        "SELECT trigger_name, action_statement FROM information_schema.triggers \
        WHERE trigger_schema = 'a1'",
    );
    if !pair.is_mysql() {
        pair.same(
            "SELECT routine_name, routine_definition FROM information_schema.routines \
            WHERE routine_schema = 'a1'",
        );
    }
    // One table under another name, in a schema of its own.
    forget(pair, &["a1"]);
    let names = ["--tables", "a1.big", "--map-table", "a1.big=b2.large"];
    loading(pair, &out, &names).run().ok();
    let held = |server: &testkit::Server, table: &str| {
        let sql = format!(
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, u, t, HEX(b), bt + 0, ts))) FROM {table}"
        );
        server.client(&sql).expect("rows")
    };
    assert_eq!(
        held(pair.target(), "b2.large"),
        held(pair.source(), "a1.big")
    );
    assert_eq!(pair.target_schemas(), ["b2"]);
    forget(pair, &["b2"]);
    // A mydumper that was killed leaves no metadata.
    std::fs::rename(out.join("metadata"), out.join("metadata.partial")).expect("renamed");
    loading(pair, &out, &[]).run().code(5).says(&["incomplete"]);
    untouched(pair);
}

/// A schema for data files: everything that a cell can contain. (MariaDB itself writes a BIT's
/// backslash as it is, and cannot read it again.)
const LINES: &str = "CREATE DATABASE a1 CHARACTER SET utf8mb4; USE a1; SET NAMES utf8mb4; \
    SET sql_mode = ''; \
    CREATE TABLE t (id INT PRIMARY KEY, l VARCHAR(50) CHARACTER SET latin1, u TEXT, b BLOB, \
      d DATETIME(6), e ENUM('ä','b'), j JSON, g POINT, bt BIT(12), KEY l (l)) ENGINE=InnoDB; \
    INSERT INTO t VALUES (1, 'Ärger ÿ', 'tab\\t nl\\n bs\\\\ ü', 0x00FF5C0A09, \
      '2024-06-01 12:00:00.5', 'ä', '{\"a\": \"ü\"}', ST_GeomFromText('POINT(1 10)'), 0x141), \
      (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', '\\\\N', '', '0000-00-00', 'b', \
      '[]', ST_GeomFromText('POINT(92 9)'), 1); \
    CREATE TABLE child (id INT PRIMARY KEY, k INT NOT NULL, v INT AS (k + 1) STORED, \
      CONSTRAINT c FOREIGN KEY (k) REFERENCES t (id)) ENGINE=InnoDB; \
    INSERT INTO child (id, k) VALUES (1, 1), (2, 3); CREATE VIEW v AS SELECT id FROM t;";

both!(directories_of_tab_and_dir);
fn directories_of_tab_and_dir(pair: &Pair) {
    pair.fill(LINES);
    if pair.is_mysql() {
        // MariaDB's tool writes no view into such a directory that could be read again.
        pair.fill(
            "CREATE TABLE a1.w (id INT PRIMARY KEY, v VECTOR(2)); \
            INSERT INTO a1.w VALUES (1, STRING_TO_VECTOR('[1,10]')), (2, NULL);",
        );
    }
    let tab = pair.path("tab");
    std::fs::create_dir_all(&tab).expect("a directory");
    let to = format!("--tab={}", tab.display());
    dumped(pair, &[&to, "a1"]);
    loading(pair, &tab, &[])
        .run()
        .code(2)
        .says(&["--schema NAME"]);
    loading(pair, &tab, &["--schema", "a1"])
        .run()
        .ok()
        .says(&["Load complete"]);
    pair.same_checksums();
    pair.same("SELECT id, HEX(l), HEX(u), HEX(b), d, e, HEX(g), HEX(bt) FROM a1.t ORDER BY id");
    forget(pair, &["a1"]);
    // `--dir` is the same, with a directory for each schema.
    std::fs::create_dir_all(pair.path("dir")).expect("a directory");
    std::fs::rename(&tab, pair.path("dir/a1")).expect("moved");
    loading(pair, pair.path("dir"), &["--defer-indexes", "all"])
        .run()
        .ok();
    pair.same_checksums();
    for sql in [
        "SELECT * FROM a1.v ORDER BY id",
        "SELECT constraint_name FROM information_schema.referential_constraints \
        WHERE constraint_schema = 'a1'",
    ] {
        pair.same(sql);
    }
}

both!(handmade_csv_and_tsv);
fn handmade_csv_and_tsv(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE a1 CHARACTER SET utf8mb4; USE a1; SET NAMES utf8mb4; \
        CREATE TABLE c (id INT PRIMARY KEY, note VARCHAR(100), n DECIMAL(5,2)); \
        INSERT INTO c VALUES (1, 'a, \"b\"\\nc', 1.5), (2, NULL, NULL), (3, '', 0), \
          (4, 'ü \\\\ x', -1); \
        CREATE TABLE w (a INT, b VARCHAR(9)); INSERT INTO w VALUES (1, 'x'), (2, 'y'); \
        CREATE TABLE t (id INT PRIMARY KEY, u TEXT); \
        INSERT INTO t VALUES (1, 'tab\\t nl\\n'), (2, NULL), (3, 'ü');",
    );
    file(
        pair,
        "f/c.sql",
        "CREATE TABLE c (id INT PRIMARY KEY, note VARCHAR(100), n DECIMAL(5,2));",
    );
    file(
        pair,
        "f/c.csv",
        "note,id,n\n\"a, \"\"b\"\"\nc\",1,1.5\nNULL,2,NULL\n\"\",3,0\nü \\ x,4,-1\n",
    );
    file(pair, "f/w.sql", "CREATE TABLE w (a INT, b VARCHAR(9));");
    file(pair, "f/w.csv", "1,\"x\"\r\n2,y\r\n");
    file(
        pair,
        "f/t.sql",
        "CREATE TABLE `t` (id INT PRIMARY KEY, u TEXT);\n",
    );
    file(pair, "f/t.tsv", "ID\tu\n1\ttab\\t nl\\n\n2\t\\N\n3\tü\n");
    let schema = || {
        pair.target()
            .client("CREATE DATABASE a1 CHARACTER SET utf8mb4")
            .expect("a schema")
    };
    schema();
    let done = loading(pair, pair.path("f"), &["--schema", "a1"])
        .run()
        .ok();
    let done = done.says(&[
        "c.csv: the first line has the columns' names",
        "t.tsv: the first line",
    ]);
    assert!(
        !done.said().contains("w.csv: the first line"),
        "{}",
        done.said()
    );
    pair.same_checksums();
    pair.same("SELECT id, HEX(note) FROM a1.c ORDER BY id");
    // A cell that does not fit is reported, and not stored as something else.
    forget(pair, &["a1"]);
    file(pair, "f/c.csv", "1,x,1.5\n2,y,abc\n");
    loading(pair, pair.path("f"), &["--schema", "a1"])
        .run()
        .code(1)
        .says(&["c.csv", "`a1`.`c`", "abc"]);
}

both!(a_directory_of_a_newer_mydumper);
fn a_directory_of_a_newer_mydumper(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE `a-1` CHARACTER SET utf8mb4; USE `a-1`; \
        CREATE TABLE t (id INT PRIMARY KEY, u VARCHAR(20), b BLOB) ENGINE=InnoDB; \
        INSERT INTO t VALUES (1, 'a\\tb', 0x00FF), (2, NULL, NULL), (3, 'c', ''); \
        CREATE TABLE `odd.name` (id INT PRIMARY KEY) ENGINE=InnoDB; \
        INSERT INTO `odd.name` VALUES (7); \
        CREATE TRIGGER t_in BEFORE INSERT ON t FOR EACH ROW SET NEW.id = NEW.id; \
        CREATE VIEW v AS SELECT id FROM t; CREATE PROCEDURE p() SELECT 1;",
    );
    let create = "/*!40101 SET NAMES utf8mb4*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n";
    for (name, text) in [
        (
            "metadata",
            "# Started dump at: 2026-01-01 10:00:00\n[config]\nquote-character = \
            BACKTICK\n[`a-1`.`t`]\nreal_table_name=t\nrows = \
            3\n[`a-1`.`mydumper_0`]\nreal_table_name=odd.name\nrows = 1\n# Finished dump at: \
            2026-01-01 10:00:01\n"
                .to_owned(),
        ),
        (
            "a-1-schema-create.sql",
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a-1` /*!40100 DEFAULT CHARACTER SET utf8mb4 \
            */;\n"
                .to_owned(),
        ),
        (
            "a-1.t-schema.sql",
            format!(
                "{create}CREATE TABLE `t` (`id` INT PRIMARY KEY, `u` VARCHAR(20), `b` BLOB) \
                ENGINE=InnoDB;\n"
            ),
        ),
        (
            "a-1.t.00000.sql",
            format!(
                "{create}LOAD DATA LOCAL INFILE 'a-1.t.00000.dat' REPLACE INTO TABLE `t` CHARACTER \
                SET binary FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES \
                STARTING BY '' TERMINATED BY '\\n' (`id`,`u`,`b`);\n"
            ),
        ),
        (
            "a-1.t.00000.dat",
            "1\ta\\tb\t\\0\u{0}\n2\t\\N\t\\N\n3\tc\t\n".to_owned(),
        ),
        (
            "a-1.mydumper_0-schema.sql",
            format!("{create}CREATE TABLE `odd.name` (`id` INT PRIMARY KEY) ENGINE=InnoDB;\n"),
        ),
        (
            "a-1.mydumper_0.00000.sql",
            format!("{create}INSERT INTO `odd.name` VALUES(7);\n"),
        ),
        (
            "a-1-schema-triggers.sql",
            format!(
                "{create}CREATE TRIGGER t_in BEFORE INSERT ON t FOR EACH ROW SET NEW.id = NEW.id;\n"
            ),
        ),
        (
            "a-1-schema-post.sql",
            format!("{create}CREATE PROCEDURE p() SELECT 1;\n"),
        ),
        (
            "a-1.v-schema.sql",
            "CREATE TABLE IF NOT EXISTS `v` (`id` int);\n".to_owned(),
        ),
        (
            "a-1.v-schema-view.sql",
            "DROP TABLE IF EXISTS `v`;\nCREATE VIEW v AS SELECT id FROM t;\n".to_owned(),
        ),
    ] {
        let bytes: Vec<u8> = text.bytes().collect();
        // The data file has a byte that is not UTF-8.
        let bytes = if name.ends_with(".dat") {
            bytes
                .into_iter()
                .map(|b| if b == 0 { 0xff } else { b })
                .collect()
        } else {
            bytes
        };
        file(pair, &format!("m/{name}"), bytes);
    }
    loading(pair, pair.path("m"), &[]).run().ok();
    pair.same_checksums();
    pair.same("SELECT * FROM `a-1`.v ORDER BY id");
    pair.same(
        "SELECT trigger_name, '' FROM information_schema.triggers WHERE trigger_schema = 'a-1' \
        UNION SELECT routine_name, routine_schema FROM information_schema.routines \
        WHERE routine_schema = 'a-1'",
    );
}

both!(triggers_of_a_directory_do_not_act_on_its_rows);
fn triggers_of_a_directory_do_not_act_on_its_rows(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE a1; USE a1; CREATE TABLE log (v VARCHAR(20)); CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); \
        INSERT INTO t VALUES (1, 'a'), (2, 'b'); \
        CREATE TRIGGER before_t BEFORE INSERT ON t FOR EACH ROW SET NEW.v = CONCAT('T', NEW.v); \
        CREATE TRIGGER after_t AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES ('t');",
    );
    let tab = pair.path("dir/a1");
    std::fs::create_dir_all(&tab).expect("a directory");
    dumped(pair, &[&format!("--tab={}", tab.display()), "a1"]);
    loading(pair, pair.path("dir"), &[])
        .run()
        .ok()
        .says(&["counted:"]);
    pair.same_checksums();
    pair.same("SELECT trigger_name, action_statement, sql_mode FROM information_schema.triggers WHERE trigger_schema = 'a1' ORDER BY 1");
    forget(pair, &["a1"]);
}

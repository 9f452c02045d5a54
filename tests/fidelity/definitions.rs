//! Definitions arrive as they are: with the settings they were made with, whatever their text looks like. What
//! cannot be carried over is named, and stops nothing else.

use super::*;
use crate::kit::Tool;

both!(a_trigger_keeps_the_collation_of_its_time);
fn a_trigger_keeps_the_collation_of_its_time(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE trc CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE trc;
CREATE TABLE t (id INT PRIMARY KEY, r VARCHAR(20));
DELIMITER //
CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN DECLARE v CHAR(1) DEFAULT 'A'; \
            SET NEW.r = IF(v = 'a', 'equal', 'differs'); END//
DELIMITER ;
ALTER DATABASE trc COLLATE utf8mb4_bin;",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    for server in [pair.source(), pair.target()] {
        server
            .client("INSERT INTO trc.t VALUES (1, '')")
            .expect("a row");
    }
    let rows = pair.same("SELECT r FROM trc.t");
    assert_eq!(rows[0][0].as_deref(), Some("equal"));
    pair.same(
        "SELECT database_collation FROM information_schema.triggers WHERE trigger_schema = 'trc'",
    );
    pair.same(
        "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = 'trc'",
    );
}

both!(a_schema_that_was_there_keeps_its_collation);
fn a_schema_that_was_there_keeps_its_collation(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE own CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE own;
CREATE TABLE t (id INT PRIMARY KEY);
CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @a = 1;
ALTER DATABASE own COLLATE utf8mb4_bin;",
    );
    pair.dump("a", &[]).ok();
    pair.target()
        .client("CREATE DATABASE own CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
        .expect("a schema");
    pair.load("a", &[])
        .code(3)
        .says(&["`own` existed already", "utf8mb4_unicode_ci"]);
    let sql =
        "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = 'own'";
    assert_eq!(
        pair.target().value(sql).expect("a collation"),
        "utf8mb4_unicode_ci"
    );
    pair.same(
        "SELECT database_collation FROM information_schema.triggers WHERE trigger_schema = 'own'",
    );
}

both!(bodies_that_end_in_a_line_comment);
fn bodies_that_end_in_a_line_comment(pair: &Pair) {
    pair.fill("CREATE DATABASE lc; CREATE TABLE lc.t (id INT PRIMARY KEY)");
    // The stock client removes comments.
    let mut conn = pair.source().conn().expect("a connection");
    for sql in [
        "USE lc",
        "CREATE PROCEDURE p1() SELECT 1 # it's like this",
        "CREATE PROCEDURE p2() SELECT 2 -- like \"this;",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 3 -- ;; //",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @a = 4 -- it's",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SET @a = 5 # /* this",
        "CREATE VIEW v AS SELECT 6 AS a -- it's",
    ] {
        conn.execute(sql).expect(sql);
    }
    drop(conn);
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    pair.same_definitions("lc");
    pair.same("SELECT lc.f(), a FROM lc.v");
    // The servers' own client reads the files too.
    pair.target().client("DROP DATABASE lc").expect("dropped");
    let text = std::fs::read_to_string(pair.path("a").join("lc.sql")).expect("a file");
    pair.target()
        .script(text.as_bytes())
        .expect("a script that runs");
    pair.same("SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'lc' ORDER BY 1");
}

both!(equal_members_of_an_enum);
fn equal_members_of_an_enum(pair: &Pair) {
    pair.fill(
        "SET sql_mode = ''; CREATE DATABASE en; USE en; \
        CREATE TABLE e (id INT PRIMARY KEY, e ENUM('a', 'b', 'a')); \
        INSERT INTO e VALUES (1, 'a'), (2, 'b'), (3, 3); \
        CREATE TABLE without_rows (e SET('x', 'x')); \
        CREATE TABLE z (id INT PRIMARY KEY); INSERT INTO z VALUES (1);",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[])
        .code(3)
        .says(&["`en`.`e`", "two equal members", "exceptions"]);
    pair.same_definitions("en");
    pair.same("SELECT * FROM en.e ORDER BY id");
    pair.same("SELECT * FROM en.z");
}

/// MariaDB only: MySQL takes directories only where its configuration names them.
#[test]
fn a_refused_table_does_not_stop_the_others() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    let directory = pair.path("elsewhere");
    std::fs::create_dir(&directory).expect("a directory");
    pair.fill(&format!(
        "CREATE DATABASE od; USE od; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1); \
        CREATE TABLE m (id INT PRIMARY KEY) PARTITION BY HASH (id) \
          (PARTITION p0 DATA DIRECTORY = '{0}', PARTITION p1); INSERT INTO m VALUES (1), (2); \
        CREATE TRIGGER tr BEFORE INSERT ON m FOR EACH ROW SET @a = 1; \
        CREATE VIEW v AS SELECT * FROM m; \
        CREATE TABLE z (id INT PRIMARY KEY); INSERT INTO z VALUES (3);",
        directory.display()
    ));
    pair.dump("a", &[]).code(3).says(&["DATA DIRECTORY"]);
    let load = pair.load("a", &[]).code(3);
    load.says(&[
        "table `od`.`m` is not loaded",
        "DATA DIRECTORY",
        "view `od`.`v`",
        "2 tables",
    ]);
    pair.same("SELECT * FROM od.a");
    pair.same("SELECT * FROM od.z");
    let left = pair
        .target()
        .client("SHOW TABLES IN od")
        .expect("tables")
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>();
    assert_eq!(left, ["a", "z"]);
}

both!(a_merge_table_has_its_rows_once);
fn a_merge_table_has_its_rows_once(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE mg; USE mg; \
        CREATE TABLE za (id INT, KEY (id)) ENGINE=MyISAM; \
        CREATE TABLE zb (id INT, KEY (id)) ENGINE=MyISAM; \
        INSERT INTO za VALUES (1), (2); INSERT INTO zb VALUES (3); \
        CREATE TABLE all_of (id INT, KEY (id)) ENGINE=MERGE UNION=(za, zb) INSERT_METHOD=LAST;",
    );
    let dump = pair.dump("a", &[]).code(3);
    assert!(!dump.said().contains("all_of"), "{}", dump.said());
    pair.verify("a").ok();
    pair.load("a", &[]).ok();
    let rows = pair.same("SELECT COUNT(*) FROM mg.all_of");
    assert_eq!(rows[0][0].as_deref(), Some("3"));
    pair.same_definitions("mg");
    pair.verify_against("a", pair.target()).ok();
    pair.dump("b", &["--exclude-tables", "mg.zb"])
        .code(3)
        .says(&["`mg`.`all_of` has its rows in `mg`.`zb`"]);
}

both!(definers_that_the_target_lacks);
fn definers_that_the_target_lacks(pair: &Pair) {
    pair.fill(
        "CREATE USER t_definer@'%'; CREATE DATABASE df; USE df; CREATE TABLE t (id INT PRIMARY KEY); \
        CREATE DEFINER=t_definer@'%' TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @a = 1; \
        CREATE DEFINER=t_definer@'%' VIEW v AS SELECT 1 AS a; \
        CREATE DEFINER=t_definer@'%' SQL SECURITY INVOKER VIEW i AS SELECT 1 AS a; \
        CREATE DEFINER=root@localhost PROCEDURE p() SELECT 1;",
    );
    pair.dump("a", &[]).ok();
    let load = pair.load("a", &[]).code(3);
    let load = load.says(&[
        "definer `t_definer`@`%` does not exist on the target",
        "trigger `df`.`tr`, view `df`.`v` will",
        "CREATE USER `t_definer`@`%`",
    ]);
    let said = load.said();
    let (warned, begun) = (said.find("definer `t_def"), said.find("creating tables"));
    assert!(warned < begun, "it is said before the load begins: {said}");
    pair.target()
        .script(b"DROP DATABASE df; CREATE USER t_definer@'%';")
        .expect("an account");
    pair.load("a", &[]).ok();
}

both!(a_view_that_is_broken_on_the_source);
fn a_view_that_is_broken_on_the_source(pair: &Pair) {
    pair.fill(
        "CREATE USER t_gone@'%'; GRANT ALL ON *.* TO t_gone@'%'; CREATE DATABASE bv; USE bv; \
        CREATE TABLE t (a INT); CREATE VIEW good AS SELECT a FROM t; \
        CREATE TABLE u (a INT); CREATE VIEW lost AS SELECT a FROM u; DROP TABLE u; \
        CREATE DEFINER=t_gone@'%' VIEW orphan AS SELECT a FROM t; DROP USER t_gone@'%';",
    );
    let dump = pair.dump("a", &[]).code(3);
    let dump = dump.says(&[
        "view `bv`.`lost` is broken on the source",
        "view `bv`.`orphan` is broken on the source",
    ]);
    assert!(!dump.said().contains("`good`"), "{}", dump.said());
}

both!(a_table_that_cannot_be_opened_stops_nothing);
fn a_table_that_cannot_be_opened_stops_nothing(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE br; USE br; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1); \
        CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO m VALUES (1); \
        CREATE TRIGGER tr BEFORE INSERT ON m FOR EACH ROW SET @a = 1; \
        CREATE TABLE z (id INT PRIMARY KEY); INSERT INTO z VALUES (2); FLUSH TABLES;",
    );
    let datadir = pair.source().value("SELECT @@datadir").expect("a path");
    let index = std::path::Path::new(&datadir).join("br/m.MYI");
    std::fs::remove_file(&index).expect("a file removed");
    pair.dump("a", &[])
        .code(3)
        .says(&["table `br`.`m` is not dumped"]);
    pair.verify("a").ok();
    pair.load("a", &[]).ok();
    pair.same("SELECT * FROM br.a");
    pair.same("SELECT * FROM br.z");
}

both!(a_table_whose_rows_cannot_be_read_stops_nothing);
/// Rows that the server finds damaged in the middle of the table: none of them is kept, and that is said everywhere.
fn a_table_whose_rows_cannot_be_read_stops_nothing(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE unread; USE unread; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1); \
        CREATE TABLE z (id INT PRIMARY KEY); INSERT INTO z VALUES (2);",
    );
    let datadir = pair.source().value("SELECT @@datadir").expect("a path");
    // Anew for each dump: once a server has met the damage, it may refuse to open the table.
    let damaged = || {
        pair.fill(&format!(
            "USE unread; DROP TABLE IF EXISTS m; \
            CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(500)) ENGINE=MyISAM; \
            INSERT INTO m (v) SELECT REPEAT(SHA2(n, 256), 1 + n % 7) FROM {COUNT}; \
            CREATE TRIGGER tr BEFORE INSERT ON m FOR EACH ROW SET @a = 1; FLUSH TABLES;"
        ));
        let data = std::path::Path::new(&datadir).join("unread/m.MYD");
        let mut bytes = std::fs::read(&data).expect("a file");
        let middle = bytes.len() / 2;
        assert!(middle > 100_000, "{middle}");
        bytes[middle..middle + 5000].fill(0xff);
        std::fs::write(&data, bytes).expect("written");
    };
    for (name, more) in [
        ("a", &["--chunk-size", "64k"][..]),
        ("b", &["--threads", "1"]),
    ] {
        damaged();
        let dump = pair.dump(name, more).code(3);
        let dump = dump.says(&[
            "table `unread`.`m`: the archive has its definition and none of its rows",
            "Dump complete",
        ]);
        assert_eq!(
            dump.said().matches("none of its rows").count(),
            2,
            "{}",
            dump.said()
        );
        pair.verify(name).says(&["none of its rows"]);
        let rows = std::fs::read_dir(pair.path(name)).expect("files").flatten();
        let of_m = rows.filter(|e| e.file_name().to_string_lossy().starts_with("unread@m@"));
        assert_eq!(of_m.count(), 0);
    }
    // The stream has what a directory has.
    damaged();
    let stream = Tool::new([
        "dump",
        &pair.source().uri(),
        "--to",
        "-",
        "--chunk-size",
        "64k",
    ])
    .run();
    let stream = stream.code(3).bytes;
    Tool::new(["verify", "-"]).input(&stream).run().ok();
    pair.load("a", &[]).says(&["none of its rows"]);
    pair.same("SELECT * FROM unread.a");
    pair.same("SELECT * FROM unread.z");
    let ask = |sql: &str| pair.target().value(sql).expect("a value");
    assert_eq!(ask("SELECT COUNT(*) FROM unread.m"), "0");
    let triggers =
        "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'unread'";
    assert_eq!(ask(triggers), "1");
}

both!(events_whose_time_passes);
fn events_whose_time_passes(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ev; USE ev; SET @soon = NOW() + INTERVAL 12 SECOND; \
        CREATE EVENT gone ON SCHEDULE AT @soon DO SET @a = 1; \
        CREATE EVENT kept ON SCHEDULE AT @soon ON COMPLETION PRESERVE DO SET @a = 1; \
        CREATE EVENT ended ON SCHEDULE EVERY 2 SECOND ENDS @soon DO SET @a = 1; \
        CREATE EVENT later ON SCHEDULE AT '2037-05-05 05:05:05' DO SET @a = 1; \
        CREATE EVENT off ON SCHEDULE EVERY 1 DAY STARTS '2001-01-01 00:00:00' \
          ENDS '2002-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE DO SET @a = 1;",
    );
    pair.dump("a", &[]).ok();
    std::thread::sleep(std::time::Duration::from_secs(13));
    let load = pair.load("a", &[]).code(3);
    let load = load.says(&[
        "event `ev`.`gone`: its time has passed, so it does not exist here",
        "event `ev`.`kept`: its time has passed, so it is disabled here",
        "event `ev`.`ended`: its time has passed",
    ]);
    assert!(!load.said().contains("event `ev`.`off`"), "{}", load.said());
    assert!(
        !load.said().contains("event `ev`.`later`"),
        "{}",
        load.said()
    );
}

/// MariaDB only: a sequence that has begun again knows how often.
#[test]
fn a_sequence_keeps_its_rounds() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE sq; USE sq; CREATE SEQUENCE s MINVALUE 1 MAXVALUE 3 CACHE 1 CYCLE; \
        SELECT NEXTVAL(s), NEXTVAL(s), NEXTVAL(s), NEXTVAL(s), NEXTVAL(s);",
    );
    let dump = pair.dump("a", &["--json"]).ok().summary();
    let load = pair.load("a", &["--json"]).ok().summary();
    assert_eq!((&dump["tables"], &load["tables"]), (&1.into(), &1.into()));
    let rows = pair.same("SELECT next_not_cached_value, cycle_count FROM sq.s");
    assert_eq!(rows[0][1].as_deref(), Some("1"));
}

both!(a_view_of_another_character_set);
fn a_view_of_another_character_set(pair: &Pair) {
    // In latin1, the byte is an é.
    let mut script = b"CREATE DATABASE cv; USE cv; SET NAMES latin1; \
        CREATE VIEW plain AS SELECT 'abc' AS c; CREATE VIEW wide AS SELECT '"
        .to_vec();
    script.extend(b"\xe9' AS c;");
    pair.source().script(&script).expect("views");
    pair.dump("a", &[])
        .code(3)
        .says(&["view `cv`.`wide` was created under character_set_client = latin1"]);
    pair.load("a", &[]).ok();
    pair.same("SELECT character_set_client, collation_connection FROM information_schema.views WHERE table_schema = 'cv' AND table_name = 'plain'");
    pair.same("SELECT character_set_name, collation_name FROM information_schema.columns WHERE table_schema = 'cv' ORDER BY table_name");
    pair.same("SELECT HEX(c) FROM cv.wide");
}

/// MySQL only.
#[test]
fn a_read_only_schema_is_named() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE ro; CREATE TABLE ro.t (a INT PRIMARY KEY); INSERT INTO ro.t VALUES (1); \
        ALTER DATABASE ro READ ONLY = 1;",
    );
    let dump = pair.dump("a", &[]);
    let load = pair.load("a", &[]);
    // The next test empties the server.
    pair.fill("ALTER DATABASE ro READ ONLY = 0;");
    dump.code(3).says(&["`ro` is READ ONLY"]);
    load.code(3).says(&["ALTER DATABASE `ro` READ ONLY = 1"]);
}

/// MySQL only.
#[test]
fn general_tablespaces_are_made_again() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    pair.fill(
        "CREATE TABLESPACE `ts 1` ADD DATAFILE 'ts1.ibd' FILE_BLOCK_SIZE = 8192 ENGINE=InnoDB; \
        CREATE TABLESPACE ts2 ADD DATAFILE 'two.ibd' AUTOEXTEND_SIZE = 4M ENGINE=InnoDB; \
        CREATE DATABASE gt; USE gt; \
        CREATE TABLE g (a INT PRIMARY KEY) TABLESPACE `ts 1` ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 COMMENT='TABLESPACE `x`'; \
        CREATE TABLE h (a INT PRIMARY KEY) TABLESPACE ts2; \
        CREATE TABLE p (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 2; \
        INSERT INTO g VALUES (1), (2); INSERT INTO h VALUES (5); INSERT INTO p VALUES (3);",
    );
    let target = pair.target();
    let run = |sql: &str| target.script(sql.as_bytes()).expect("done");
    let left_behind = "DROP TABLESPACE `ts 1`; DROP TABLESPACE ts2;";
    let equal = || {
        for table in ["g", "h", "p"] {
            pair.same(&format!("SELECT * FROM gt.{table} ORDER BY a"));
        }
    };
    let spaces = "SELECT name, zip_page_size, autoextend_size FROM information_schema.innodb_tablespaces \
        WHERE space_type = 'General' AND name <> 'mysql' ORDER BY name";
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    equal();
    pair.same(spaces);
    pair.same_definitions("gt");
    // What is there is used.
    run("DROP DATABASE gt");
    pair.load("a", &[]).ok();
    pair.same_definitions("gt");
    run(&format!("DROP DATABASE gt; {left_behind}"));
    // Only what is selected.
    pair.load("a", &["--tables", "gt.p"]).ok();
    assert_eq!(target.client(spaces).expect("none").len(), 0);
    run("DROP DATABASE gt");
    let stripped = pair.load("a", &["--strip-tablespaces"]).ok();
    stripped.says(&[
        "table `gt`.`h`: has a file of its own",
        "--strip-tablespaces",
    ]);
    equal();
    assert_eq!(target.client(spaces).expect("none").len(), 0);
    run("DROP DATABASE gt");
    // An account that may not make one: the same command moves the tables when it may.
    run(
        "CREATE USER t_space@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, \
        PROCESS, SESSION_VARIABLES_ADMIN ON *.* TO t_space@localhost",
    );
    let load = || {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "t_space"])
            .env("PENSTOCK_STATE", pair.path("state").as_os_str())
            .run()
    };
    load().code(3).says(&[
        "general tablespace `ts2` is not created",
        "CREATE TABLESPACE",
        "table `gt`.`h` has a file of its own",
        "the same command",
    ]);
    equal();
    run("GRANT CREATE TABLESPACE ON *.* TO t_space@localhost");
    load().ok();
    equal();
    pair.same(spaces);
    pair.same_definitions("gt");
    for server in [pair.source(), target] {
        let sql = format!("DROP DATABASE gt; {left_behind}");
        server.script(sql.as_bytes()).expect("nothing left");
    }
}

both!(what_is_in_no_archive_is_said);
fn what_is_in_no_archive_is_said(pair: &Pair) {
    pair.fill("CREATE DATABASE ni; CREATE TABLE ni.t (id INT PRIMARY KEY)");
    let said = ["not included", "accounts"];
    // A dump of everything has accounts, one of a part does not.
    pair.dump("a", &["--schemas", "ni"]).ok().says(&said);
    pair.load("a", &[]).ok().says(&said);
}

both!(histograms_come_along);
fn histograms_come_along(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE hg; USE hg; CREATE TABLE t (id INT PRIMARY KEY, a INT, `b``x` VARCHAR(20), c DOUBLE); \
         INSERT INTO t SELECT n, n % 7, CONCAT('v', n % 5), n / 3 FROM {COUNT} WHERE n < 500; \
         CREATE TABLE plain (id INT PRIMARY KEY)"
    ));
    let (analyze, shown) = match pair.is_mysql() {
        true => (
            "ANALYZE TABLE hg.t UPDATE HISTOGRAM ON a, `b``x` WITH 5 BUCKETS",
            "SELECT column_name, JSON_REMOVE(histogram, '$.\"last-updated\"') FROM information_schema.column_statistics WHERE schema_name = 'hg' ORDER BY 1",
        ),
        false => (
            "ANALYZE TABLE hg.t PERSISTENT FOR COLUMNS (a, `b``x`) INDEXES ()",
            "SELECT column_name, min_value, max_value, nulls_ratio, avg_frequency FROM mysql.column_stats WHERE db_name = 'hg' ORDER BY 1",
        ),
    };
    pair.fill(analyze);
    pair.dump("a", &["--schemas", "hg"])
        .ok()
        .says(&["histograms", "of 2 columns"]);
    let done = pair.load("a", &["--json"]).ok().summary();
    let made = &done["histograms"];
    let exact = pair.is_mysql();
    assert_eq!(made["exact"], if exact { 2 } else { 0 }, "{done}");
    assert_eq!(made["taken_again"], if exact { 0 } else { 2 }, "{done}");
    let rows = pair.same(shown);
    assert_eq!(rows.len(), 2, "{rows:?}");
    // An account that may not read them is told so; on MySQL everybody sees those of tables that they see.
    pair.fill("CREATE USER hg_few@localhost; GRANT SELECT, LOCK TABLES, SHOW VIEW, TRIGGER, EVENT ON hg.* TO hg_few@localhost");
    let few = Tool::new([
        "dump",
        "-u",
        "hg_few",
        "--no-routines",
        "--consistency",
        "transaction",
        "--schemas",
        "hg",
        "--to",
    ])
    .arg(pair.path("few"))
    .arg("-S")
    .arg(pair.source().socket())
    .run();
    pair.fill("DROP USER hg_few@localhost");
    match exact {
        true => few.says(&["of 2 columns"]),
        false => few.says(&["histograms of columns, which the account may not read"]),
    };
}

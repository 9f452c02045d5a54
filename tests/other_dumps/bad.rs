//! What is wrong with a dump is reported with file and line, before anything is created on the
//! target. What only the target can find is reported with the object's name.

use super::*;

const WHOLE: &str = "-- MySQL dump 10.13  Distrib 9.7.0
CREATE DATABASE a1; USE a1;
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20));
INSERT INTO t VALUES (1,'one; two'),(2,'x');
-- Dump completed on 2026-01-01
";

both!(a_truncated_script);
fn a_truncated_script(pair: &Pair) {
    for (what, upto, says) in [
        (
            "in a statement",
            "INSERT INTO t VALUES (1",
            "ends within a statement that begins at line 4",
        ),
        (
            "in a string",
            "(1,'one",
            "ends within a string that begins at line 4",
        ),
        (
            "at a statement's end",
            "(2,'x');\n",
            "is cut: it begins as a dump and does not end",
        ),
    ] {
        let end = WHOLE.find(upto).expect(what) + upto.len();
        let cut = file(pair, "cut.sql", &WHOLE[..end]);
        loading(pair, &cut, &[])
            .run()
            .code(5)
            .says(&["cut.sql", says]);
        untouched(pair);
    }
    let mut packed = zstd::encode_all(WHOLE.as_bytes(), 1).expect("packed");
    packed.truncate(packed.len() - 5);
    loading(pair, file(pair, "cut.zst", &packed), &[])
        .run()
        .code(5)
        .says(&["cut.zst", "zstd data ends too early"]);
    untouched(pair);
    // A gzip member without its last eight bytes.
    if let Ok(out) = Command::new("gzip")
        .arg("-c")
        .arg(file(pair, "w.sql", WHOLE))
        .output()
    {
        loading(
            pair,
            file(pair, "cut.gz", &out.stdout[..out.stdout.len() - 8]),
            &[],
        )
        .run()
        .code(5)
        .says(&["cut.gz", "gzip data ends too early"]);
        untouched(pair);
    }
    // From standard input it is only known at the end, and reported then.
    let end = WHOLE.find("-- Dump completed").expect("a trailer");
    loading(pair, "-", &[])
        .input(&WHOLE[..end])
        .run()
        .code(5)
        .says(&["standard input is cut", "drop the schema"]);
}

/// Statements that are not supported, and what messages call them.
const REFUSED: &[(&str, &str)] = &[
    ("INSTALL PLUGIN p SONAME 'p.so';", "INSTALL PLUGIN"),
    ("SET GLOBAL max_connections = 5;", "SET GLOBAL"),
    (
        "/*!50000 SET @@GLOBAL.max_connections = 5 */;",
        "SET GLOBAL",
    ),
    (
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE t;",
        "LOAD DATA INFILE",
    ),
    (
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t;",
        "LOAD DATA LOCAL INFILE",
    ),
    (
        "CREATE FUNCTION f RETURNS STRING SONAME 'x.so';",
        "CREATE FUNCTION SONAME",
    ),
    (
        "CREATE TABLE d (a INT) DATA DIRECTORY='/tmp';",
        "DATA DIRECTORY",
    ),
    ("GRANT ALL ON *.* TO t_x;", "GRANT"),
    ("CREATE USER t_x;", "CREATE USER"),
    ("SELECT * FROM t INTO OUTFILE '/tmp/x';", "INTO OUTFILE"),
    (
        "INSERT INTO t VALUES (9, LOAD_FILE('/etc/passwd'));",
        "LOAD_FILE",
    ),
    (
        "INSERT INTO t SELECT 9, `load_file`('/etc/passwd');",
        "LOAD_FILE",
    ),
    ("SET @x = load_file('/etc/passwd');", "LOAD_FILE"),
    (
        "INSERT INTO mysql.user (user) VALUES ('t_x');",
        "a system table",
    ),
    ("DELETE FROM `mysql`.`user`;", "a system table"),
    ("CREATE TABLE mysql.t_x (a INT);", "a system table"),
    ("SHUTDOWN;", "SHUTDOWN"),
    ("\\! touch /tmp/x ;", "a command of the mysql client"),
    ("system touch /tmp/x;", "a statement that no dump has"),
];

both!(unsupported_statements);
fn unsupported_statements(pair: &Pair) {
    let mut text = "CREATE DATABASE a1; USE a1; \
        CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(60));\nINSERT INTO t \
          VALUES (1,'load_file() is only a text'),(2,'x');\n"
        .to_owned();
    for (sql, _) in REFUSED {
        text += &format!("{sql}\n");
    }
    text += "INSERT INTO t VALUES (3,'behind');\n";
    let all = file(pair, "all.sql", &text);
    let mut done = loading(pair, &all, &[])
        .run()
        .code(5)
        .says(&["--skip-unsupported", "nothing was run"]);
    untouched(pair);
    for (n, (_, name)) in REFUSED.iter().enumerate() {
        done = done.says(&[&format!("all.sql, line {}: {name}", n + 3)]);
    }
    let mut done = loading(pair, &all, &["--skip-unsupported"])
        .run()
        .code(3)
        .says(&["with exceptions"]);
    for (n, (_, name)) in REFUSED.iter().enumerate() {
        done = done.says(&[&format!("line {}: {name}", n + 3)]);
    }
    assert_eq!(
        pair.target()
            .value("SELECT GROUP_CONCAT(id ORDER BY id) FROM a1.t")
            .expect("rows"),
        "1,2,3"
    );
    // From standard input, each is refused when it is reached.
    forget(pair, &["a1"]);
    loading(pair, "-", &[])
        .input(&text)
        .run()
        .code(5)
        .says(&["standard input, line 3: INSTALL PLUGIN"]);
}

both!(errors_that_only_the_target_finds);
fn errors_that_only_the_target_finds(pair: &Pair) {
    let load = |text: &[u8], more: &[&str]| loading(pair, file(pair, "d.sql", text), more).run();
    let head = "CREATE DATABASE a1; USE a1; \
        CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(5) CHARACTER SET utf8mb4);\n";
    let none = load(
        format!("{head}INSERT INTO t VALUES (1,'a');\nINSERT INTO u VALUES (1);\n").as_bytes(),
        &[],
    );
    none.code(5).says(&["`a1`.`u`", "drop the schema"]);
    forget(pair, &["a1"]);
    load(
        format!("{head}INSERT INTO t VALUES (1,'a'),(1,'b');\n").as_bytes(),
        &[],
    )
    .code(1)
    .says(&["d.sql, from line 2", "Duplicate entry '1'", "--resume"]);
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM a1.t")
            .expect("a count"),
        "0"
    );
    forget(pair, &["a1"]);
    load(
        format!("{head}INSERT INTO t VALUES (1,'too long');\n").as_bytes(),
        &[],
    )
    .code(1)
    .says(&["d.sql, from line 2", "Data truncated for column 's'"]);
    forget(pair, &["a1"]);
    load(format!("{head}INSERT INTO t VALUES (1);\n").as_bytes(), &[])
        .code(1)
        .says(&["d.sql, from line 2", "1136"]);
    forget(pair, &["a1"]);
    // Bytes that are invalid in the declared character set: an error, not a question mark.
    let wrong = [
        b"SET NAMES utf8mb4;\n",
        head.as_bytes(),
        b"INSERT INTO t VALUES (1,'\xff\xfe');\n",
    ]
    .concat();
    load(&wrong, &[])
        .code(1)
        .says(&["d.sql, from line 3", "`a1`.`t`"]);
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM a1.t")
            .expect("a count"),
        "0"
    );
    forget(pair, &["a1"]);
    untouched(pair);
}

both!(existing_objects_of_the_target_stay);
fn existing_objects_of_the_target_stay(pair: &Pair) {
    pair.target()
        .script(
            b"CREATE DATABASE a1; CREATE TABLE a1.t (id INT PRIMARY KEY, mine INT); \
            INSERT INTO a1.t VALUES (5, 5)",
        )
        .expect("a table");
    let text = WHOLE
        .replace("CREATE DATABASE a1;", "CREATE DATABASE IF NOT EXISTS a1;")
        .replace(
            "CREATE TABLE t",
            "DROP TABLE IF EXISTS t; CREATE TABLE IF NOT EXISTS t",
        );
    loading(pair, file(pair, "d.sql", &text), &[])
        .run()
        .code(10)
        .says(&["already holds", "`a1`.`t`"]);
    loading(pair, "-", &[])
        .input(&text)
        .run()
        .code(10)
        .says(&["`a1`.`t`", "nothing is ever overwritten"]);
    assert_eq!(
        pair.target()
            .value("SELECT mine FROM a1.t")
            .expect("the row"),
        "5"
    );
    let drops = text.replace(
        "CREATE DATABASE IF NOT EXISTS a1",
        "DROP DATABASE IF EXISTS a1; CREATE DATABASE a1",
    );
    loading(pair, "-", &[])
        .input(&drops)
        .run()
        .code(10)
        .says(&["drops schema `a1`"]);
    assert_eq!(
        pair.target()
            .value("SELECT mine FROM a1.t")
            .expect("the row"),
        "5"
    );
}

both!(a_dump_of_the_other_flavour);
fn a_dump_of_the_other_flavour(pair: &Pair) {
    let other = if pair.is_mysql() {
        "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib \
            11.8.2-MariaDB, for debian-linux-gnu (x86_64)\n/*!40101 SET NAMES utf8mb4 \
            */;\n/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 \
            */;\n/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, \
            SQL_MODE='NO_AUTO_VALUE_ON_ZERO,NO_AUTO_CREATE_USER' */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a1` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE \
            utf8mb4_uca1400_ai_ci */;\nUSE `a1`;
CREATE TABLE `t` (`id` int(11) NOT NULL, `s` varchar(9) COLLATE utf8mb4_uca1400_ai_ci DEFAULT \
            NULL, PRIMARY KEY (`id`)) ENGINE=Aria DEFAULT CHARSET=utf8mb4 \
            COLLATE=utf8mb4_uca1400_ai_ci PAGE_CHECKSUM=1;
INSERT INTO `t` VALUES (1,'ü');\n/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */;\n-- Dump \
            completed on 2026-01-01\n"
    } else {
        "-- MySQL dump 10.13  Distrib 9.7.0\n--\n-- Server version\t9.7.0\n/*!50503 SET NAMES \
            utf8mb4 */;\nSET @@SESSION.SQL_LOG_BIN= 0;\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ \
            '';\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `a1` /*!40100 DEFAULT CHARACTER SET \
            utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */;\nUSE `a1`;
/*!50503 SET character_set_client = utf8mb4 */;\nCREATE TABLE `t` (`id` int NOT NULL, `s` \
            varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL, PRIMARY KEY \
            (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO `t` VALUES (1,'ü');\n-- Dump completed on 2026-01-01\n"
    };
    loading(pair, file(pair, "d.sql", other), &[])
        .run()
        .ok()
        .says(&["adapted"]);
    assert_eq!(
        pair.target()
            .value("SELECT HEX(s) FROM a1.t")
            .expect("a row"),
        "C3BC"
    );
}

both!(files_that_are_no_dumps_are_named_for_what_they_are);
fn files_that_are_no_dumps_are_named_for_what_they_are(pair: &Pair) {
    std::fs::create_dir(pair.path("empty")).expect("a directory");
    loading(pair, pair.path("empty"), &[])
        .run()
        .code(5)
        .says(&["is an empty directory"]);
    let done = loading(pair, pair.path("nothing.sql"), &[]).run().code(8);
    assert_eq!(
        done.said().matches("nothing.sql").count(),
        1,
        "{}",
        done.said()
    );
    assert_eq!(
        done.said().matches("No such file").count(),
        1,
        "{}",
        done.said()
    );
    let mut tar = vec![b'x'; 600];
    tar[257..262].copy_from_slice(b"ustar");
    for (name, bytes, says) in [
        (
            "b.sql",
            b"\x7fELF\x02\x01\x01\0\0\0".to_vec(),
            "binary data",
        ),
        ("t.sql", tar.clone(), "a tar archive: unpack it first"),
        (
            "t.sql.zst",
            zstd::encode_all(&*tar, 1).expect("packed"),
            "a tar archive",
        ),
        (
            "u.sql",
            "\u{feff}INSERT"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
            "UTF-16",
        ),
    ] {
        let done = loading(pair, file(pair, name, &bytes), &[])
            .run()
            .code(5)
            .says(&["is not an SQL script", says]);
        assert!(!done.said().contains("not whole"), "{}", done.said());
    }
    loading(pair, "-", &[])
        .input(&tar)
        .run()
        .code(5)
        .says(&["standard input is not an SQL script"]);
    untouched(pair);
}

both!(a_script_that_cannot_say_where_it_ends);
fn a_script_that_cannot_say_where_it_ends(pair: &Pair) {
    let bare = WHOLE
        .split_once('\n')
        .expect("a header")
        .1
        .replace("-- Dump completed on 2026-01-01\n", "");
    let done = loading(pair, file(pair, "c.sql", &bare), &["--json"])
        .run()
        .ok();
    let notes = done.summary()["notes"].to_string();
    assert_eq!(
        notes.matches("no line that marks its end").count(),
        1,
        "{notes}"
    );
    forget(pair, &["a1"]);
    let done = loading(pair, file(pair, "w.sql", WHOLE), &[]).run().ok();
    assert!(!done.said().contains("where it ends"), "{}", done.said());
}

both!(a_schema_that_nothing_goes_into);
fn a_schema_that_nothing_goes_into(pair: &Pair) {
    // The script itself names its schema: the flag would contradict it.
    let says = ["--schema `other`", "line 2: USE `a1`", "omit --schema"];
    loading(pair, file(pair, "w.sql", WHOLE), &["--schema", "other"])
        .run()
        .code(2)
        .says(&says);
    untouched(pair);
    loading(pair, "-", &["--schema", "other"])
        .input(WHOLE.replace("CREATE DATABASE a1;", ""))
        .run()
        .code(2)
        .says(&says);
    untouched(pair);
    // Names with a schema need no flag, and the schema is not created.
    let full =
        "CREATE DATABASE a1; CREATE TABLE a1.t (id INT PRIMARY KEY); INSERT INTO a1.t VALUES (1);";
    loading(pair, file(pair, "f.sql", full), &["--schema", "other"])
        .run()
        .ok();
    assert_eq!(pair.target_schemas(), ["a1"]);
    // Some names have a schema, some do not.
    forget(pair, &["a1"]);
    let some = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE DATABASE a1; \
        USE a1; CREATE TABLE u (id INT PRIMARY KEY);";
    loading(pair, file(pair, "s.sql", some), &["--schema", "other"])
        .run()
        .ok();
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM other.t")
            .expect("rows"),
        "1"
    );
    assert_eq!(pair.target_schemas(), ["a1", "other"]);
}

both!(many_statements_of_one_kind_are_one_line);
fn many_statements_of_one_kind_are_one_line(pair: &Pair) {
    let mut text = WHOLE.replace(
        "-- Dump completed",
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `mysql`; USE mysql;\n-- Dump completed",
    );
    let tables: String = (0..30)
        .map(|n| format!("CREATE TABLE x{n} (id INT);\nINSERT INTO x{n} VALUES (1);\n"))
        .collect();
    text = text.replace("-- Dump completed", &format!("{tables}-- Dump completed"));
    let path = file(pair, "all.sql", &text);
    let done = loading(pair, &path, &[])
        .run()
        .code(5)
        .says(&["line 6: a system table, and 59 more like it"]);
    assert_eq!(
        done.said().matches("a system table").count(),
        1,
        "{}",
        done.said()
    );
    let done = loading(pair, &path, &["--skip-unsupported", "--json"])
        .run()
        .code(3);
    let summary = done.summary();
    assert_eq!(
        summary["exceptions"].as_array().expect("a list").len(),
        1,
        "{summary}"
    );
    assert_eq!(
        summary["skipped_statements"]
            .as_array()
            .expect("a list")
            .len(),
        60,
        "{summary}"
    );
}

both!(missing_files_of_mydumper);
fn missing_files_of_mydumper(pair: &Pair) {
    let directory = |counted: &str, files: &[(&str, &str)]| {
        let _ = std::fs::remove_dir_all(pair.path("m"));
        forget(pair, &["a1"]);
        file(
            pair,
            "m/metadata",
            format!(
                "# Started dump at: 2026-01-01 10:00:00\n[config]\nquote-character = \
                BACKTICK\n{counted}# Finished dump at: 2026-01-01 10:00:01\n"
            ),
        );
        file(pair, "m/a1-schema-create.sql", "CREATE DATABASE `a1`;\n");
        file(
            pair,
            "m/a1.t-schema.sql",
            "CREATE TABLE `t` (`id` INT PRIMARY KEY) ENGINE=InnoDB;\n",
        );
        for (name, rows) in files {
            file(
                pair,
                &format!("m/{name}"),
                format!("INSERT INTO `t` VALUES {rows};\n"),
            );
        }
        loading(pair, pair.path("m"), &[])
    };
    let three = [
        ("a1.t.00000.sql", "(1)"),
        ("a1.t.00001.sql", "(2),(3)"),
        ("a1.t.00002.sql", "(4)"),
    ];
    let counted = "[`a1`.`t`]\nreal_table_name=t\nrows = 4\n";
    directory(counted, &three).run().ok();
    directory("", &three).run().ok();
    let gap = [three[0], three[2]];
    directory(counted, &gap)
        .run()
        .code(3)
        .says(&["table `a1`.`t`: the dump records 4 rows, its files have 2"]);
    // Cut at the end of a statement, or without the last file: only the row count shows it.
    directory(counted, &three[..2])
        .run()
        .code(3)
        .says(&["its files have 3"]);
    // Without a count, a gap may be a range without rows.
    directory("", &gap)
        .run()
        .ok()
        .says(&["`a1`.`t`: there is no file 00001"]);
}

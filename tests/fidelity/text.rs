//! Text is dumped and loaded as the bytes that are stored, whatever its character set.

use super::*;

/// Character sets with difficult bytes: trail bytes that look like a backslash, a tab or a letter,
/// wide ones full of zeros.
const SETS: &[(&str, &[&str])] = &[
    (
        "latin1",
        &[
            "80818D8F909DA0E4F6FCFF",
            "C3A4",
            "5C5C",
            "5C4E",
            "090A0D001A08",
        ],
    ),
    ("latin2", &["A1B1C6FF"]),
    ("cp1251", &["80C0FF98"]),
    ("koi8r", &["80C1FF"]),
    ("ascii", &["417E", "5C09"]),
    ("utf8mb3", &["C3A4", "E282AC", "EFBFBF", "5C4E"]),
    (
        "utf8mb4",
        &["F09F9880", "F48FBFBF", "C3A4E282AC", "0041", "E280A8"],
    ),
    ("ucs2", &["0041005C", "00090000", "FFFD", "5C005C5C"]),
    ("utf16", &["0041", "D83DDE00", "005C000A"]),
    ("utf16le", &["4100", "3DD800DE", "5C000A00"]),
    ("utf32", &["00000041", "0001F600", "0000005C"]),
    ("sjis", &["835C", "955C", "B1", "8140", "5C"]),
    ("cp932", &["835C", "FC4B", "8740"]),
    ("ujis", &["A4A2", "8FB0A1", "8EB1"]),
    ("eucjpms", &["A4A2", "8FB0A1"]),
    ("euckr", &["B0A1", "C8FE"]),
    ("big5", &["A55C", "A440", "F9D5"]),
    ("gb2312", &["B0A1", "F7FE"]),
    ("gbk", &["815C", "FE5C", "B0A1", "A840"]),
    ("binary", &["00FF8081", "5C0A"]),
];

both!(text_comes_back_byte_for_byte);
fn text_comes_back_byte_for_byte(pair: &Pair) {
    let mut script =
        String::from("CREATE DATABASE txt CHARACTER SET latin1; USE txt; SET NAMES utf8mb4;\n");
    let mut sets: Vec<_> = SETS.to_vec();
    if pair.is_mysql() {
        sets.push(("gb18030", &["81308130", "815C", "FE39FE39"]));
    }
    let mut wide = (String::from("id INT PRIMARY KEY"), String::new());
    for (set, samples) in &sets {
        script += &format!(
            "CREATE TABLE t_{set} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), c CHAR(20), \
            t TEXT, KEY (v)) DEFAULT CHARSET {set};\n"
        );
        for hex in *samples {
            script += &format!(
                "INSERT INTO t_{set} (v, c, t) VALUES (_{set} 0x{hex}, _{set} 0x{hex}, \
                _{set} 0x{}), ('', '', ''), (NULL, NULL, NULL);\n",
                hex.repeat(3)
            );
        }
        wide.0 += &format!(", `{set}` VARCHAR(60) CHARACTER SET {set}");
        wide.1 += &format!(", _{set} 0x{}", samples[0]);
    }
    script += &format!(
        "CREATE TABLE wide ({}); INSERT INTO wide VALUES (1{});\n",
        wide.0, wide.1
    );
    script += &format!(
        "INSERT INTO t_latin1 (v, c, t) SELECT CHAR(n USING latin1), CHAR(n USING latin1), \
        CHAR(n, 92, n, 9 USING latin1) FROM {COUNT} WHERE n BETWEEN 1 AND 255;\n"
    );
    // UTF-8 stored in a latin1 column, and trailing blanks.
    script += "INSERT INTO t_latin1 (v, c, t) \
        VALUES (CONVERT(CAST('naïve €' AS BINARY) USING latin1), 'x  ', 'x  '), ('x', 'x', 'x'), \
        ('x ', 'x ', 'x\\t'), ('\\\\N', 'NULL', '\\\\\\\\N');\n";
    pair.fill(&script);
    pair.carry("a", &[]);
    pair.same_schema("txt");
    for (set, _) in &sets {
        pair.same(&format!(
            "SELECT id, HEX(v), HEX(c), HEX(t) FROM txt.t_{set} ORDER BY id"
        ));
    }
    pair.a_change_is_found(
        "a",
        "`txt`.`t_sjis`",
        "UPDATE txt.t_sjis SET v = _sjis 0x835B WHERE id = 1",
    );
}

both!(defaults_and_comments_keep_their_bytes);
fn defaults_and_comments_keep_their_bytes(pair: &Pair) {
    pair.fill(
        r"CREATE DATABASE `dc`; USE dc; SET NAMES utf8mb4;
CREATE TABLE t (id INT PRIMARY KEY COMMENT 'a ''quoted'' \\ back\nslash; -- no */ /* comment',
  a VARCHAR(30) NOT NULL DEFAULT 'it''s; \\ \n `x` é', b VARBINARY(8) DEFAULT 0x00FF5C27,
  c VARCHAR(10) CHARACTER SET latin1 DEFAULT 'ÿä',
  d ENUM('a''b', 'c;d') DEFAULT 'a''b', e DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3),
  f BIT(3) DEFAULT b'101', g DOUBLE DEFAULT 1e-10) COMMENT 'tab\t 日本 ''x''; DELIMITER ;;';
INSERT INTO t (id) VALUES (1);
CREATE TABLE `sp ace` (`a``b` INT PRIMARY KEY, `c;d` INT, `é` INT, `%s` INT, KEY `k ``;` (`c;d`));
INSERT INTO `sp ace` VALUES (1, 2, 3, 4);
",
    );
    pair.carry("a", &[]);
    pair.same_schema("dc");
    pair.target()
        .client("INSERT INTO dc.t (id) VALUES (2)")
        .expect("a row of defaults");
    pair.source()
        .client("INSERT INTO dc.t (id) VALUES (2)")
        .expect("a row of defaults");
    pair.same("SELECT id, HEX(a), HEX(b), HEX(c), d, f + 0, g FROM dc.t ORDER BY id");
}

//! Archives as MySQL Shell writes them load, and are compared afterwards though they have no
//! digests. This test writes them by hand from the description of the format, with nothing of
//! penstock's own writer.

mod formats;
mod real;

use crate::kit::{Pair, both};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

struct Shell {
    directory: PathBuf,
    version: &'static str,
}

impl Shell {
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.directory.join(name), bytes).expect("written");
    }

    fn json(&self, name: &str, value: &Value) {
        self.put(name, serde_json::to_string_pretty(value).expect("JSON"));
    }

    fn chunk(&self, name: &str, rows: &[u8], zstd: bool) {
        let stored = if zstd {
            zstd::encode_all(rows, 1).expect("compressed")
        } else {
            rows.to_vec()
        };
        self.put(name, stored);
        self.put(&format!("{name}.idx"), (rows.len() as u64).to_be_bytes());
    }

    fn header(&self) -> String {
        format!(
            "-- MySQLShell dump {}  Distrib Ver 9.6.0 for Linux on x86_64\n--\n-- Host: \
            localhost    Database: shop\n-- \
            ------------------------------------------------------\n-- Server version\t9.6.0\n\n",
            self.version
        )
    }

    fn table(
        &self,
        name: &str,
        create: &str,
        columns: &[&str],
        decode: &Value,
        compression: &str,
        primary: &[&str],
    ) {
        self.put(
            &format!("shop@{name}.sql"),
            format!(
                "{}/*!40101 SET @saved_cs_client     = @@character_set_client */;\n/*!50503 SET \
                character_set_client = utf8mb4 */;\n{create};\n/*!40101 SET character_set_client = \
                @saved_cs_client */;\n",
                self.header()
            ),
        );
        let mut options = json!({
            "schema": "shop", "table": name, "columns": columns,
                "defaultCharacterSet": "utf8mb4", "fieldsTerminatedBy": "\t",
            "fieldsEnclosedBy": "", "fieldsOptionallyEnclosed": false, "fieldsEscapedBy": "\\",
                "linesTerminatedBy": "\n",
        });
        if decode.as_object().is_some_and(|d| !d.is_empty()) {
            options["decodeColumns"] = decode.clone();
        }
        let extension = if compression == "zstd" {
            "tsv.zst"
        } else {
            "tsv"
        };
        let mut meta = json!({
            "options": options, "includesData": true, "includesDdl": true, "extension": extension,
                "chunking": true, "compression": compression,
        });
        if self.version == "1.0.2" {
            // One column, inside the options.
            meta["options"]["primaryIndex"] = json!(primary.first().unwrap_or(&""));
        } else {
            meta["primaryIndex"] = json!(primary);
            meta["partitions"] = json!([]);
            meta["basenames"] = json!({});
        }
        self.json(&format!("shop@{name}.json"), &meta);
    }
}

fn write(directory: &Path, version: &'static str, server: &str) {
    fs::create_dir(directory).expect("a directory");
    let s = Shell {
        directory: directory.to_owned(),
        version,
    };
    let mut root = json!({
        "dumper": "mysqlsh Ver 9.6.0 for Linux on x86_64 - for MySQL 9.6.0 (MySQL Community Server \
            (GPL))", "version": version, "origin": "dumpSchemas",
        "schemas": ["shop"], "basenames": {"shop": "shop"}, "defaultCharacterSet": "utf8mb4",
            "tzUtc": true, "bytesPerChunk": 64000000,
        "user": "root", "hostname": "db1", "server": "db1", "serverVersion": server,
            "gtidExecuted": "", "gtidExecutedInconsistent": false,
        "consistent": true, "compatibilityOptions": [], "begin": "2025-05-05 05:05:05",
    });
    if version != "1.0.2" {
        root["capabilities"] = json!([{"id": "partition_awareness",
            "description": "Partition awareness - dumper treats each partition as a separate table.",
                "versionRequired": "8.0.27"}]);
        root["checksum"] = json!(false);
    }
    s.json("@.json", &root);
    s.put("@.sql", s.header());
    s.put("@.post.sql", s.header());
    s.put(
        "shop.sql",
        format!(
            "{}--\n-- Dumping database 'shop'\n--\n\n-- begin database `shop`\nCREATE DATABASE \
            /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n-- end \
            database `shop`\n\n-- begin function `shop`.`twice`\nUSE `shop`;\nDROP FUNCTION IF \
            EXISTS `twice`;\nDELIMITER ;;\nCREATE DEFINER=`root`@`localhost` FUNCTION `twice`(n \
            INT) RETURNS int DETERMINISTIC\nBEGIN RETURN n * 2; END ;;\nDELIMITER ;\n-- end \
            function `shop`.`twice`\n",
            s.header()
        ),
    );
    s.json(
        "shop.json",
        &json!({
            "schema": "shop", "includesDdl": true, "includesViewsDdl": true, "includesData": true,
                "tables": ["item", "empty"], "views": ["dear"],
            "events": [], "functions": ["twice"], "procedures": [], "basenames": {"item":
                "shop@item", "empty": "shop@empty", "dear": "shop@dear"},
        }),
    );
    s.table(
        "item",
        "CREATE TABLE IF NOT EXISTS `item` (\n  `id` int NOT NULL,\n  `name` varchar(100) \
        CHARACTER SET utf8mb4 DEFAULT NULL,\n  `old` varchar(20) CHARACTER SET latin1 DEFAULT \
        NULL,\n  `raw` varbinary(100) DEFAULT NULL,\n  `flags` bit(9) DEFAULT NULL,\n  `price` \
        decimal(10,2) DEFAULT NULL,\n  `at` timestamp NULL DEFAULT NULL,\n  `twice` decimal(12,2) \
        GENERATED ALWAYS AS ((`price` * 2)) VIRTUAL,\n  PRIMARY KEY (`id`),\n  \
        KEY `name` (`name`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
        &["id", "name", "old", "raw", "flags", "price", "at"],
        &json!({"raw": "FROM_BASE64", "flags": "FROM_BASE64"}),
        "zstd",
        &["id"],
    );
    // 0x00FF0A5C, bit 257, and text with every escape.
    s.chunk(
        "shop@item@0.tsv.zst",
        "1\tplain\té\tAP8KXA==\tAQE=\t1.50\t2024-06-01 12:00:00\n2\ta\\tb\\nc\\\\d\\0e\\Zf\\r\\bg \
        😀\tä€\t\tAAA=\t-0.01\t\\N\n"
            .as_bytes(),
        true,
    );
    s.chunk(
        "shop@item@1.tsv.zst",
        b"3\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n",
        true,
    );
    s.chunk("shop@item@@2.tsv.zst", b"", true);
    s.table(
        "empty",
        "CREATE TABLE IF NOT EXISTS `empty` (\n  `a` int DEFAULT NULL\n) ENGINE=InnoDB",
        &["a"],
        &json!({}),
        "none",
        &[],
    );
    s.chunk("shop@empty@@0.tsv", b"", false);
    s.put(
        "shop@dear.pre.sql",
        format!(
            "{}DROP TABLE IF EXISTS `dear`;\nDROP VIEW IF EXISTS `dear`;\nCREATE VIEW `dear` AS \
            SELECT\n 1 AS `id`,\n 1 AS `n`;\n",
            s.header()
        ),
    );
    s.put(
        "shop@dear.sql",
        format!(
            "{}DROP VIEW IF EXISTS `dear`;\nCREATE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` \
            SQL SECURITY DEFINER VIEW `dear` AS select `item`.`id` AS `id`,`twice`(`item`.`id`) AS \
            `n` from `item` where `item`.`price` > 1;\n",
            s.header()
        ),
    );
    s.json(
        "@.done.json",
        &json!({
            "end": "2025-05-05 05:06:00", "dataBytes": 150, "tableDataBytes": {"shop": {"item": 150,
                "empty": 0}}, "tableRows": {"shop": {"item": 3, "empty": 0}},
        }),
    );
}

both!(a_shell_archive_loads_and_is_compared);
fn a_shell_archive_loads_and_is_compared(pair: &Pair) {
    let server = if pair.is_mysql() {
        "9.6.0"
    } else {
        "10.11.6-MariaDB"
    };
    write(&pair.path("a"), "2.0.1", server);
    pair.verify("a").ok().says(&["penstock did not write it"]);
    pair.load("a", &[])
        .ok()
        .says(&["no digests", "mysqlsh Ver 9.6.0", "equal: 3 rows"]);
    let rows = pair
        .target()
        .client(
            "SELECT id, HEX(name), HEX(old), HEX(raw), flags + 0, price, twice FROM shop.item \
            ORDER BY id",
        )
        .expect("rows");
    let text = |row: usize| {
        rows[row]
            .iter()
            .map(|c| c.as_deref().unwrap_or("NULL"))
            .collect::<Vec<_>>()
            .join("|")
    };
    assert_eq!(text(0), "1|706C61696E|E9|00FF0A5C|257|1.50|3.00");
    assert_eq!(
        text(1),
        "2|6109620A635C6400651A660D0867 20F09F9880|E480||0|-0.01|-0.02".replace(' ', "")
    );
    assert_eq!(text(2), "3|NULL|NULL|NULL|NULL|NULL|NULL");
    assert_eq!(
        pair.target()
            .value("SELECT UNIX_TIMESTAMP(at) FROM shop.item WHERE id = 1")
            .expect("a value"),
        "1717243200"
    );
    assert_eq!(
        pair.target()
            .value("SELECT n FROM shop.dear")
            .expect("a value"),
        "2"
    );
    pair.verify_against("a", pair.target())
        .code(5)
        .says(&["no row digests"]);
    // Beside it, under other names.
    let names = [
        "--map-schema",
        "shop=shop2",
        "--map-table",
        "shop.item=shop2.i",
    ];
    pair.load("a", &names).ok().says(&["equal: 3 rows"]);
    let copied = "SELECT CONCAT(COUNT(*), ' ', SUM(twice)) FROM shop2.i";
    assert_eq!(pair.target().value(copied).expect("a sum"), "3 2.98");
    let view = "SELECT CONCAT(id, ' ', n) FROM shop2.dear";
    assert_eq!(pair.target().value(view).expect("a row"), "1 2");
}

both!(rows_of_a_shell_archive_that_match);
fn rows_of_a_shell_archive_that_match(pair: &Pair) {
    write(
        &pair.path("a"),
        "2.0.1",
        if pair.is_mysql() {
            "9.6.0"
        } else {
            "10.11.6-MariaDB"
        },
    );
    let usual = ["--where", "shop.item=id > 1"];
    for place in ["a chunk is committed#1", "rows are about to be deleted#1"] {
        pair.loading("a", &usual)
            .env("PENSTOCK_KILL_AT", place)
            .run()
            .code(137);
        pair.load("a", &[&usual[..], &["--resume"]].concat())
            .ok()
            .says(&["2 of 3 rows of `shop`.`item` (--where)", "equal: 3 rows"]);
        let ids = "SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.item";
        assert_eq!(pair.target().value(ids).expect("rows"), "2,3", "{place}");
        pair.target().client("DROP DATABASE shop").expect("dropped");
    }
}

both!(an_old_shell_archive_loads);
fn an_old_shell_archive_loads(pair: &Pair) {
    write(
        &pair.path("a"),
        "1.0.2",
        if pair.is_mysql() {
            "8.0.26"
        } else {
            "10.6.1-MariaDB"
        },
    );
    pair.load("a", &[])
        .ok()
        .says(&["no digests", "equal: 3 rows"]);
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM shop.item")
            .expect("a count"),
        "3"
    );
}

both!(a_shell_archive_without_a_chunk_is_refused);
fn a_shell_archive_without_a_chunk_is_refused(pair: &Pair) {
    write(&pair.path("a"), "2.0.1", "9.6.0");
    fs::remove_file(pair.path("a").join("shop@item@@2.tsv.zst")).expect("removed");
    pair.load("a", &[]).code(5).says(&["shop@item"]);
    assert_eq!(pair.target_schemas(), Vec::<String>::new());
    // One row less than the done file says.
    write(&pair.path("b"), "2.0.1", "9.6.0");
    fs::write(
        pair.path("b").join("shop@item@1.tsv.zst"),
        zstd::encode_all(&b""[..], 1).expect("compressed"),
    )
    .expect("written");
    let load = pair.load("b", &[]);
    assert_ne!(load.code, 0, "a row is missing: {}", load.said());
}

both!(partitions_with_separate_files_load);
/// MySQL Shell treats each partition as a table with its own series of files.
fn partitions_with_separate_files_load(pair: &Pair) {
    let server = if pair.is_mysql() {
        "9.6.0"
    } else {
        "10.11.6-MariaDB"
    };
    let directory = pair.path("a");
    write(&directory, "2.0.1", server);
    let s = Shell {
        directory: directory.clone(),
        version: "2.0.1",
    };
    s.table(
        "part",
        "CREATE TABLE IF NOT EXISTS `part` (\n  `id` int NOT NULL,\n  `v` varchar(20) DEFAULT \
        NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB\n PARTITION BY RANGE (`id`) (PARTITION p0 \
        VALUES LESS THAN (10), PARTITION `p 1` VALUES LESS THAN (20), PARTITION last \
        VALUES LESS THAN MAXVALUE)",
        &["id", "v"],
        &json!({}),
        "zstd",
        &["id"],
    );
    let text = fs::read_to_string(directory.join("shop@part.json")).expect("metadata");
    let mut meta: Value = serde_json::from_str(&text).expect("JSON");
    meta["partitions"] = json!(["p0", "p 1", "last"]);
    meta["basenames"] =
        json!({"p0": "shop@part@p0", "p 1": "shop@part@p%201", "last": "shop@part@last"});
    s.json("shop@part.json", &meta);
    s.chunk("shop@part@p0@0.tsv.zst", b"1\ta\n2\tb\n", true);
    s.chunk("shop@part@p0@@1.tsv.zst", b"9\tc\n", true);
    s.chunk("shop@part@p%201@@0.tsv.zst", b"10\td\n19\te\n", true);
    s.chunk("shop@part@last@@0.tsv.zst", b"", true);
    let text = fs::read_to_string(directory.join("shop.json")).expect("metadata");
    let mut meta: Value = serde_json::from_str(&text).expect("JSON");
    meta["tables"] = json!(["item", "empty", "part"]);
    meta["basenames"]["part"] = json!("shop@part");
    s.json("shop.json", &meta);
    let text = fs::read_to_string(directory.join("@.done.json")).expect("metadata");
    let mut meta: Value = serde_json::from_str(&text).expect("JSON");
    meta["tableRows"]["shop"]["part"] = json!(5);
    meta["tableDataBytes"]["shop"]["part"] = json!(22);
    s.json("@.done.json", &meta);
    pair.verify("a").ok();
    pair.load("a", &[])
        .ok()
        .says(&["equal: 8 rows in 3 tables"]);
    let rows = |partition: &str| {
        pair.target()
            .value(&format!(
                "SELECT CONCAT(COUNT(*), ':', COALESCE(SUM(id), 0)) FROM shop.part \
                PARTITION ({partition})"
            ))
            .expect("rows")
    };
    assert_eq!(
        (rows("p0"), rows("`p 1`"), rows("last")),
        ("3:12".into(), "2:29".into(), "0:0".into())
    );
    // Of one of them, which has files of its own.
    pair.target().client("DROP DATABASE shop").expect("dropped");
    pair.load("a", &["--partitions", "shop.part=p 1"])
        .ok()
        .says(&["2 of 5 rows of `shop`.`part` (--partitions)"]);
    assert_eq!((rows("p0"), rows("`p 1`")), ("0:0".into(), "2:29".into()));
    // A partition whose last file is missing must not pass for a smaller table.
    pair.target().client("DROP DATABASE shop").expect("dropped");
    fs::remove_file(directory.join("shop@part@p0@@1.tsv.zst")).expect("removed");
    pair.load("a", &[]).code(5).says(&["shop@part@p0"]);
}

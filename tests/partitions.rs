//! Partitioned tables: each partition has its own chunks in an archive, and is imported by SQL or
//! as a tablespace.

use crate::kit::fixtures::fixture;
use crate::kit::imported::{equal, names};
use crate::kit::{COUNT, Pair, Tool, both, few, own_server};
use rustix::process::Signal;
use testkit::Kind;

fn tables(pair: &Pair) {
    pair.fill(&fixture!("partitioned"));
}

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(pair.target().socket())
        .args(["--user", "root", "--skip-binlog"])
        .args(more.iter().copied())
}

const FILES: &[&str] = &["--import-mode", "tablespace"];

/// How many of the tables that receive single partitions are left.
fn aside(pair: &Pair) -> String {
    let sql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'penstock%'";
    pair.target().value(sql).expect("a count")
}

fn empty(pair: &Pair) {
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f")
        .expect("an empty target");
}

both!(partitions_are_imported_one_by_one);
fn partitions_are_imported_one_by_one(pair: &Pair) {
    tables(pair);
    // So many small partitions are not worth chunks of their own.
    pair.fill(
        "CREATE TABLE f.many (a INT PRIMARY KEY) ENGINE=InnoDB \
          PARTITION BY HASH (a) PARTITIONS 65; \
        INSERT INTO f.many VALUES (1), (66), (3)",
    );
    pair.dump("a", &["--chunk-size", "256k"]).ok();
    for file in [
        "f@many@@",
        "f@cut@of%202020@@",
        "f@cut@DATA@@",
        "f@hashed@p1sp1@@",
        "f@keyed@p2@@",
    ] {
        let mut all = std::fs::read_dir(pair.path("a"))
            .expect("a directory")
            .flatten();
        assert!(
            all.any(|e| e.file_name().to_string_lossy().starts_with(file)),
            "{file}"
        );
    }
    pair.verify("a").ok();
    pair.verify_against("a", pair.source())
        .ok()
        .says(&["4 tables"]);
    pair.load("a", &["--import-mode", "sql"])
        .ok()
        .says(&["equal:"]);
    equal(pair, pair.target(), "by rows");
    // With other partitions, or none: the table is compared as a whole, and an extra row is found
    // in whichever partition it is.
    pair.target()
        .script(
            b"USE f; ALTER TABLE cut REMOVE PARTITIONING; \
            ALTER TABLE keyed ADD PARTITION PARTITIONS 1",
        )
        .expect("changed");
    let tool = Tool::new(["verify", "--no-definitions"]).arg(pair.path("a"));
    tool.args(["--against", &pair.target().uri()]).run().ok();
    pair.verify_against("a", pair.target())
        .code(4)
        .says(&["table `f`.`cut`: another definition", "PARTITION"]);
    pair.target()
        .script(b"USE f; INSERT INTO keyed (k) VALUES ('more')")
        .expect("changed");
    pair.verify_against("a", pair.target())
        .code(4)
        .says(&["`f`.`keyed`: all rows: 2,001 rows on the server"]);
    pair.target()
        .script(b"DELETE FROM f.keyed WHERE k = 'more'; UPDATE f.hashed SET b = 'x' WHERE a = 2001")
        .expect("changed");
    pair.verify_against("a", pair.target())
        .code(4)
        .says(&["`f`.`hashed` PARTITION (`p1sp1`): all rows: 1,000 rows on both sides"]);
    empty(pair);
    let done = loading(pair, FILES).arg("--json").run().ok();
    let import = &done.summary()["import"];
    assert_eq!(
        names(&import["tables"]),
        ["`f`.`cut`", "`f`.`hashed`", "`f`.`keyed`"],
        "{import:#}"
    );
    let reasons = import["by_sql"].as_array().expect("reasons");
    let apart = reasons
        .iter()
        .find(|r| names(&r["tables"]) == ["`f`.`many`"])
        .expect("a reason");
    assert!(
        apart["reason"]
            .as_str()
            .is_some_and(|r| r.contains("does not keep their rows apart")),
        "{apart}"
    );
    equal(pair, pair.target(), "by file");
    pair.same_definitions("f");
    assert_eq!(aside(pair), "0");
    for partition in ["old", "`of 2020`", "nothing", "DATA"] {
        pair.same(&format!(
            "SELECT COUNT(*), MIN(at), MAX(at) FROM f.cut PARTITION ({partition})"
        ));
    }
    for change in [
        "INSERT INTO f.cut (at, v) SELECT '2020-05-05', b FROM f.hashed WHERE a < 500",
        "UPDATE f.cut SET at = '2021-01-01' WHERE id % 7 = 0",
        "DELETE FROM f.cut WHERE id % 5 = 0",
        "INSERT INTO f.hashed SELECT a + 1, b FROM f.hashed WHERE b > '8'",
        "UPDATE f.hashed SET a = 3999 - a WHERE a % 3 = 0",
        "INSERT INTO f.keyed (k, b) SELECT CONCAT('new', a), MAX(b) FROM f.hashed WHERE a < 300 \
        GROUP BY a",
    ] {
        for server in [pair.source(), pair.target()] {
            server
                .client(change)
                .unwrap_or_else(|e| panic!("{change}: {e:?}"));
        }
    }
    equal(pair, pair.target(), "changed");
    pair.same("SELECT COUNT(*), MAX(id) FROM f.cut FORCE INDEX (u) WHERE v > ''");
    pair.same("SELECT COUNT(*) FROM f.hashed PARTITION (p1sp0) FORCE INDEX (b) WHERE b >= ''");
}

#[test]
fn another_flavour_puts_rows_into_other_partitions() {
    let (Some(target), Some(pair)) = (own_server(Kind::MariaDb, &[]), Pair::take(Kind::MySql))
    else {
        return;
    };
    pair.fill(&format!(
        "CREATE DATABASE f; USE f; \
        CREATE TABLE k (a CHAR(10) PRIMARY KEY) ENGINE=InnoDB PARTITION BY KEY (a) PARTITIONS 5; \
        INSERT INTO k SELECT n FROM {COUNT} WHERE n < 2000; \
        CREATE TABLE h (a INT PRIMARY KEY) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3; \
        INSERT INTO h SELECT n FROM {COUNT} WHERE n < 2000;"
    ));
    pair.dump("a", &[]).ok();
    let done = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(target.socket())
        .args(["--user", "root", "--skip-binlog", "--json"])
        .args(FILES.iter().copied())
        .run()
        .ok();
    assert_eq!(names(&done.summary()["import"]["tables"]), ["`f`.`h`"]);
    let first = "SELECT COUNT(*) FROM f.k PARTITION (p0)";
    assert_ne!(
        pair.source().value(first).expect("a count"),
        target.value(first).expect("a count")
    );
    // This is not reported as a difference.
    pair.verify_against("a", &target).ok();
    // A dump that includes what a load would refuse reports it.
    let directory = pair.path("elsewhere");
    std::fs::create_dir(&directory).expect("a directory");
    let create = format!(
        "CREATE TABLE f.d (a INT) ENGINE=InnoDB DATA DIRECTORY='{}'",
        directory.display()
    );
    target.client(&create).expect("a table");
    Tool::new(["dump", "--schemas", "f", "--user", "root", "--socket"])
        .arg(target.socket())
        .arg("--to")
        .arg(pair.path("b"))
        .run()
        .code(3)
        .says(&["table `f`.`d` has its own DATA DIRECTORY"]);
}

const FAILPOINTS: &[&str] = &[
    "a partition has a table aside#2",
    "a file is in its place#2",
    "a partition is exchanged#1",
    "a partition is exchanged#5",
    "a file is entered#1",
];

both!(killed_between_partitions);
fn killed_between_partitions(pair: &Pair) {
    tables(pair);
    pair.dump("a", &["--tables", "f.cut", "--tables", "f.keyed"])
        .ok();
    pair.source()
        .client("DROP TABLE f.hashed")
        .expect("dropped");
    for failpoint in few(pair.kind, 2, FAILPOINTS) {
        empty(pair);
        loading(pair, FILES)
            .env("PENSTOCK_KILL_AT", failpoint)
            .run()
            .code(137);
        let second = loading(pair, FILES)
            .arg("--resume")
            .env("PENSTOCK_KILL_AT", "what was left of a file is gone#2")
            .run();
        if second.code != 0 {
            second.code(137);
            loading(pair, FILES)
                .arg("--resume")
                .run()
                .ok()
                .says(&["equal:"]);
        }
        equal(pair, pair.target(), failpoint);
        assert_eq!(aside(pair), "0", "{failpoint}");
    }
    // By SQL on resume: partitions do not matter then.
    empty(pair);
    loading(pair, FILES)
        .env("PENSTOCK_KILL_AT", "a partition is exchanged#2")
        .run()
        .code(137);
    loading(pair, &["--resume", "--import-mode", "sql"])
        .run()
        .ok()
        .says(&["equal:"]);
    equal(pair, pair.target(), "rows the second time");
    assert_eq!(aside(pair), "0");
    // The server checks what it imports: it rejects a row of another partition.
    empty(pair);
    let run = loading(
        pair,
        &[
            "--import-mode",
            "tablespace",
            "--tables",
            "f.cut",
            "--threads",
            "1",
        ],
    )
    .env("PENSTOCK_STOP_AT", "a file is imported#1")
    .start();
    run.until_stopped();
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'f' \
        AND table_name LIKE 'penstock_part%'";
    let rows = pair.target().client(sql).expect("tables");
    let filled = rows.iter().filter_map(|r| r[0].clone()).filter(|name| {
        // The other tables may have no tablespace yet.
        let insert =
            format!("INSERT INTO f.{name} (at, v) VALUES ('2021-01-01', 'nobody\u{2019}s')");
        pair.target().client(&insert).is_ok()
    });
    assert!(filled.count() > 0);
    run.signal(Signal::CONT);
    run.wait().code(3).says(&[
        "EXCHANGE PARTITION failed for `",
        "dropped and loaded by SQL",
        "equal:",
    ]);
    assert_eq!(aside(pair), "0");
    let check = pair
        .target()
        .client("CHECK TABLE f.cut EXTENDED")
        .expect("a check");
    assert_eq!(
        check.last().expect("an answer")[3].as_deref(),
        Some("OK"),
        "{check:?}"
    );
}

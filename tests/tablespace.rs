//! InnoDB tablespaces: those of servers are found intact, and damage in them is found. Those built
//! from rows are accepted by the server and equal its own.

mod random;
mod read;
mod weights;

use crate::kit::{Tool, each_kind, few, own_server};
use innodb::bulk::{Builder, Options, Sink, Template};
use innodb::check::{Index, Written};
use innodb::value::{self, Kind as Column};
use innodb::{Exported, Layout, Report};
use random::{Made, Random};
use std::path::{Path, PathBuf};
use testkit::{Kind, Server};
use wire::Conn;

/// A row as the server sends it.
type Row = Vec<Option<Vec<u8>>>;

fn session(server: &Server) -> Conn {
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "SET NAMES utf8mb4",
        // Text as it is stored.
        "SET SESSION character_set_results = binary",
        "SET SESSION time_zone = '+00:00'",
        "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    ] {
        conn.execute(sql).expect(sql);
    }
    conn
}

#[track_caller]
fn run(conn: &mut Conn, sql: &str) {
    if let Err(e) = conn.execute(sql) {
        panic!("{e}: {}", &sql[..sql.len().min(3000)]);
    }
}

#[track_caller]
fn text(conn: &mut Conn, sql: &str) -> Vec<Vec<String>> {
    let rows = conn.fetch(sql).unwrap_or_else(|e| panic!("{e}: {sql}"));
    let cell = |c: Option<Vec<u8>>| {
        c.map_or("NULL".to_owned(), |c| {
            String::from_utf8_lossy(&c).into_owned()
        })
    };
    rows.into_iter()
        .map(|r| r.into_iter().map(cell).collect())
        .collect()
}

/// Copies a table's tablespace and its description as they are now.
fn export(server: &Server, table: &str, to: &Path) -> PathBuf {
    let mut conn = session(server);
    run(&mut conn, &format!("FLUSH TABLES t.{table} FOR EXPORT"));
    for extension in ["ibd", "cfg"] {
        let name = format!("{table}.{extension}");
        std::fs::copy(server.datadir().join("t").join(&name), to.join(&name)).expect("a copy");
    }
    run(&mut conn, "UNLOCK TABLES");
    to.join(format!("{table}.ibd"))
}

#[test]
fn files_of_a_server_are_intact_and_damage_is_found() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = own_server(kind, &[]) else {
            continue;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let mut conn = session(&server);
        run(&mut conn, "CREATE DATABASE t");
        run(
            &mut conn,
            "CREATE TABLE t.b (id INT AUTO_INCREMENT PRIMARY KEY, a INT, l LONGTEXT, \
            v VARCHAR(300) CHARACTER SET latin1, u INT UNIQUE, KEY (a), KEY (v(20), a DESC), \
            KEY (u, v)) CHARSET=utf8mb4",
        );
        let count = crate::kit::COUNT;
        run(
            &mut conn,
            &format!(
                "INSERT INTO t.b (id, a, l, v, u) SELECT n + 1, n % 100, \
                REPEAT('x', IF(n % 50 = 0, 70000, n % 300)), SHA2(n, 512), \
                IF(n % 7 = 0, NULL, n * 3) FROM {count} WHERE n < 6000"
            ),
        );
        // The remains of a dropped index are no damage.
        run(&mut conn, "ALTER TABLE t.b ADD KEY gone (a, v(10))");
        run(&mut conn, "ALTER TABLE t.b DROP KEY gone");
        run(
            &mut conn,
            "UPDATE t.b SET a = a + 7, v = CONCAT('zz', v) WHERE id % 3 = 0",
        );
        run(&mut conn, "DELETE FROM t.b WHERE id % 5 = 0");
        run(
            &mut conn,
            "INSERT INTO t.b (a, l, v, u) SELECT a, 'new', v, NULL FROM t.b WHERE id % 11 = 0",
        );
        let rows = &text(&mut conn, "SELECT COUNT(*) FROM t.b")[0][0];
        let file = export(&server, "b", directory.path());
        let done = Tool::new(["verify", "--json", "--tablespace"])
            .arg(&file)
            .run()
            .ok();
        let summary = done.summary();
        let indexes = summary["tablespaces"][0]["indexes"]
            .as_array()
            .expect("indexes")
            .clone();
        let named: Vec<_> = indexes.iter().filter(|i| i["name"].is_string()).collect();
        assert_eq!(named.len(), 5, "{summary:#}");
        for i in named {
            assert_eq!(i["records"].to_string(), *rows, "{i}");
            assert_eq!(i["unordered"], 0, "{i}");
        }
        Tool::new(["verify", "--tablespace"])
            .arg(&file)
            .run()
            .ok()
            .says(&["Tablespace is intact", "PRIMARY: ", "in order"]);
        let bytes = std::fs::read(&file).expect("the file");
        for at in [
            30_000,
            16_384 * 4 + 3000,
            16_384 * 9 + 200,
            bytes.len() - 16_384 * 70 + 50,
        ] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&file, damaged).expect("written");
            let page = format!("page {}: its checksum is wrong", at / 16_384);
            Tool::new(["verify", "--tablespace"])
                .arg(&file)
                .run()
                .code(5)
                .says(&["is damaged in", &page]);
        }
        // Pages in use cannot be all zeros: headers, bitmaps, root pages, on MySQL also the root of
        // the dictionary's index (SDI).
        for page in 0..6 {
            let mut damaged = bytes.clone();
            damaged[page * 16_384..][..16_384].fill(0);
            std::fs::write(&file, damaged).expect("written");
            Tool::new(["verify", "--tablespace"])
                .arg(&file)
                .run()
                .code(5);
        }
        std::fs::write(&file, &bytes[..bytes.len() - 5000]).expect("written");
        Tool::new(["verify", "--tablespace"])
            .arg(&file)
            .run()
            .code(5)
            .says(&["in the middle of a page"]);
        std::fs::write(&file, &bytes).expect("written");
        std::fs::remove_file(file.with_extension("cfg")).expect("removed");
        let done = Tool::new(["verify", "--tablespace"]).arg(&file).run().ok();
        done.says(&["without a description next to it", "Tablespace is intact"]);
        run(
            &mut conn,
            "CREATE TABLE t.old (id INT PRIMARY KEY, v VARCHAR(20), KEY (v)) ROW_FORMAT=REDUNDANT",
        );
        run(
            &mut conn,
            "INSERT INTO t.old SELECT id, LEFT(v, 20) FROM t.b WHERE id < 2000",
        );
        let file = export(&server, "old", directory.path());
        Tool::new(["verify", "--tablespace"])
            .arg(&file)
            .run()
            .code(5)
            .says(&["rows in the REDUNDANT format", "what is checked:"]);
        // A pipe without a writer.
        let pipe = directory.path().join("pipe.ibd");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        Tool::new(["verify", "--tablespace"])
            .arg(&pipe)
            .run()
            .code(2)
            .says(&["is not a file"]);
    }
    for (args, code, says) in [
        (
            &["--tablespace", "/nonexistent.ibd"][..],
            8,
            "/nonexistent.ibd",
        ),
        (&["--tablespace", "/etc/passwd"], 5, "not a tablespace"),
        (&["--tablespace", "/tmp"], 2, "not a file"),
        (
            &["--tablespace", "x.ibd", "--schemas", "x"],
            2,
            "no selection",
        ),
        (&["--tablespace", "x.ibd", "y"], 2, "cannot be used with"),
    ] {
        Tool::new(["verify"])
            .args(args.iter().copied())
            .run()
            .code(code)
            .says(&[says]);
    }
}

/// Members of an ENUM or SET in the bytes that rows have.
fn encoded(conn: &mut Conn, members: &[String], set: &str) -> Vec<Vec<u8>> {
    let mut one = |m: &String| {
        let quoted = m.replace('\\', "\\\\").replace('\'', "''");
        let sql = format!("SELECT CAST(CONVERT('{quoted}' USING {set}) AS BINARY)");
        let rows = conn.fetch(&sql).expect("a member");
        rows[0][0].clone().expect("a member")
    };
    members.iter().map(&mut one).collect()
}

/// A file whose pages are checked as they are written, as in a load.
struct Checked<'a> {
    file: std::fs::File,
    check: Written<'a>,
}

impl Sink for Checked<'_> {
    fn write(&self, page: u32, bytes: &[u8]) -> std::io::Result<()> {
        self.check.pages(page, bytes);
        Sink::write(&self.file, page, bytes)
    }
}

/// Imports a tablespace that is built from these rows into `t.{table}`, which is empty.
fn import(
    server: &Server,
    conn: &mut Conn,
    table: &str,
    rows: &[Row],
    directory: &Path,
) -> Result<(), innodb::bulk::Error> {
    export(server, table, directory);
    let path = directory.join(format!("{table}.ibd"));
    let empty = std::fs::read(&path).expect("the empty file");
    let description = std::fs::read(path.with_extension("cfg")).expect("a description");
    let exported = Exported::read(&description).expect("a description");
    let columns = text(
        conn,
        &format!(
            "SELECT column_name, column_type, character_set_name FROM information_schema.columns \
            WHERE table_schema = 't' AND table_name = '{table}' AND extra NOT LIKE '%VIRTUAL%' \
            ORDER BY ordinal_position"
        ),
    );
    let columns = columns
        .into_iter()
        .map(|c| {
            let charset = Some(c[2].as_str()).filter(|c| *c != "NULL");
            let members = value::to_encode(&c[1], charset).map(|m| encoded(conn, &m, &c[2]));
            let kind = Column::of(&c[1], charset, members).unwrap_or_else(|e| panic!("{e}"));
            (c[0].clone(), kind)
        })
        .collect();
    let template = Template::read(&empty, &exported)?;
    std::fs::remove_file(&path).expect("removed");
    let layouts: Vec<Layout> = exported
        .indexes
        .iter()
        .map(|i| Layout::of(&exported, i).expect("a layout"))
        .collect();
    let out = Checked {
        file: std::fs::File::create(&path).expect("a file"),
        check: Written::new(template.format, template.space, &layouts),
    };
    let options = Options {
        memory: 1 << 20,
        folder: directory.to_owned(),
        threads: 2,
    };
    let builder = Builder::new(&template, &exported, columns, &out, &options)?;
    let mut runs = Vec::new();
    let each = rows.len().div_ceil(3).max(1);
    for (n, part) in rows.chunks(each).enumerate() {
        let mut to = builder.rows((n * each) as u64 + 1);
        for row in part {
            to.push(row.iter().map(Option::as_deref))?;
        }
        runs.push(to.end()?);
    }
    let pages = builder.finish(runs)?;
    out.file
        .set_len(u64::from(pages) * innodb::page::SIZE as u64)
        .expect("a length");
    let written = out.check.end(pages).expect("a file that is written");
    assert!(written.is_whole(), "{:#?}", written.problems);
    let built = std::fs::read(&path).expect("the file");
    let report = innodb::check(&&built[..], &layouts, 2).expect("a file that is read");
    assert!(report.is_whole(), "{:#?}", report.problems);
    let counts = |r: &Report| -> Vec<_> {
        let of = |i: &Index| (i.id, i.levels, i.pages, i.outside, i.records, i.unordered);
        let mut all: Vec<_> = r.indexes.iter().map(of).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(counts(&written), counts(&report), "t.{table}");
    run(conn, &format!("ALTER TABLE t.{table} DISCARD TABLESPACE"));
    for extension in ["ibd", "cfg"] {
        let name = format!("{table}.{extension}");
        std::fs::copy(
            directory.join(&name),
            server.datadir().join("t").join(&name),
        )
        .expect("in place");
    }
    run(conn, &format!("ALTER TABLE t.{table} IMPORT TABLESPACE"));
    Ok(())
}

#[test]
fn tables_with_no_row_or_one_row_are_imported() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = own_server(kind, &[]) else {
            continue;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let mut conn = session(&server);
        for (rows, key) in [(1, ", KEY (a)"), (0, ", KEY (a)"), (0, "")] {
            run(&mut conn, "DROP DATABASE IF EXISTS t");
            run(&mut conn, "CREATE DATABASE t");
            run(
                &mut conn,
                &format!("CREATE TABLE t.b (id INT PRIMARY KEY, a INT{key})"),
            );
            let row: Row = vec![Some(b"7".to_vec()), None];
            import(&server, &mut conn, "b", &vec![row; rows], directory.path()).expect("a file");
            let check = text(&mut conn, "CHECK TABLE t.b EXTENDED");
            assert_eq!(
                check.last().expect("an answer")[3],
                "OK",
                "{rows}: {check:?}"
            );
            run(&mut conn, "INSERT INTO t.b VALUES (1, 2), (8, 9)");
            let count = text(&mut conn, "SELECT COUNT(*) FROM t.b");
            assert_eq!(count[0][0], (rows + 2).to_string());
        }
    }
}

#[track_caller]
fn equal(conn: &mut Conn, made: &Made, when: &str) {
    for table in ["a", "b"] {
        let check = text(conn, &format!("CHECK TABLE t.{table} EXTENDED"));
        assert_eq!(
            check.last().expect("an answer")[3],
            "OK",
            "{when}: {check:?}\n{}",
            made.create
        );
    }
    let read = |conn: &mut Conn, table: &str, order: &str| {
        let more = if made.is_virtual { ", g" } else { "" };
        conn.fetch(format!("SELECT *{more} FROM t.{table} {order}"))
            .expect("rows")
    };
    let by = format!("ORDER BY {}", made.primary);
    let (mut a, mut b) = (read(conn, "a", &by), read(conn, "b", &by));
    if !made.is_keyed {
        // A change may have given several rows the same number: their order does not matter.
        a.sort();
        b.sort();
    }
    assert!(a == b, "{when}: rows differ\n{}", made.create);
    // MariaDB's checksums of equal tables with virtual columns differ.
    if !(made.is_virtual && conn.server_version().contains("MariaDB")) {
        let sums = text(conn, "CHECKSUM TABLE t.a, t.b");
        assert_eq!(sums[0][1], sums[1][1], "{when}\n{}", made.create);
    }
    // Through every index.
    let later = made.later.iter().filter_map(|k| k.split(' ').next());
    for key in made.keys.iter().map(String::as_str).chain(later) {
        let rows = text(
            conn,
            &format!(
                "SELECT COUNT(*) FROM t.b FORCE INDEX ({key}) WHERE {}",
                made.covering
            ),
        );
        assert_eq!(
            rows[0][0],
            a.len().to_string(),
            "{when}: index {key}\n{}",
            made.create
        );
    }
}

/// Seeds of random tables: `PENSTOCK_TABLE` alone, or the first `PENSTOCK_TABLES`, or a sample.
fn table_numbers(kind: Kind) -> Vec<u64> {
    let number = |name| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    if let Some(one) = number("PENSTOCK_TABLE") {
        return vec![one];
    }
    if let Some(count) = number("PENSTOCK_TABLES") {
        return (0..count).collect();
    }
    few(kind, 12, &(0..500).collect::<Vec<_>>())
}

each_kind!(built_files_equal_those_of_the_server; mysql, mariadb, mariadb118);
/// Random tables, filled by SQL and by a built tablespace; then the same changes to both.
fn built_files_equal_those_of_the_server(kind: Kind) {
    let Some(mut server) = own_server(kind, &["--innodb-fast-shutdown=0"]) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let mut conn = session(&server);
    for (n, seed) in table_numbers(kind).into_iter().enumerate() {
        let mut random = Random::new(seed);
        let made = random.table(kind == Kind::MySql);
        run(&mut conn, "DROP DATABASE IF EXISTS t");
        run(&mut conn, "CREATE DATABASE t");
        run(&mut conn, &made.create.replace("TABLE t", "TABLE t.a"));
        run(&mut conn, &made.create.replace("TABLE t", "TABLE t.b"));
        for insert in random.rows(&made) {
            run(&mut conn, &insert.replace("INTO t", "INTO t.a"));
        }
        let rows: Vec<Row> = conn
            .fetch(format!("SELECT * FROM t.a ORDER BY {}", made.primary))
            .expect("rows");
        // Every type and index of these tables is supported: nothing may be left to the server.
        if let Err(e) = import(&server, &mut conn, "b", &rows, directory.path()) {
            panic!("table {seed}: {e}\n{}", made.create);
        }
        for key in &made.later {
            for table in ["a", "b"] {
                run(&mut conn, &format!("ALTER TABLE t.{table} ADD KEY {key}"));
            }
        }
        equal(&mut conn, &made, &format!("table {seed}: imported"));
        for change in random.changes(&made) {
            // Two rows may get the same number; then they do in both tables.
            let mut change = |table: &str| match conn.execute(change.replace("{t}", table)) {
                Ok(_) => 0,
                Err(wire::Error::Server(e)) => e.code,
                Err(e) => panic!("table {seed}: {e}: {change}"),
            };
            assert_eq!(
                change("t.a"),
                change("t.b"),
                "table {seed}: {}",
                made.create
            );
        }
        equal(&mut conn, &made, &format!("table {seed}: changed"));
        if n % 10 == 9 {
            drop(conn);
            server.restart().expect("a server again");
            conn = session(&server);
            equal(&mut conn, &made, &format!("table {seed}: restarted"));
        }
    }
}

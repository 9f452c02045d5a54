//! Values read from a tablespace are those that its server sends, of every type.
//!
//! Records are taken apart here, in the simplest way there is, so that nothing but the types is judged: the lengths that they
//! say, and the cells that they write.

mod cases;

use crate::kit::{each_kind, own_server};
use cases::Case;
use innodb::Exported;
use innodb::page::SIZE;
use innodb::read::sdi::Sdi;
use innodb::read::types::{self, Server as Flavour, Type, Unsupported};
use innodb::read::{Error, Leaves, Rows, Tablespace};
use innodb::record;
use std::path::Path;
use testkit::{Kind, Server};
use wire::Conn;

/// Columns of one table.
const COLUMNS: usize = 12;

fn session(server: &Server) -> Conn {
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "SET NAMES utf8mb4",
        "SET SESSION character_set_results = binary",
        "SET SESSION time_zone = '+00:00'",
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
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
    let cell = |c: Option<Vec<u8>>| String::from_utf8(c.unwrap_or_default()).expect("UTF-8");
    rows.into_iter()
        .map(|r| r.into_iter().map(cell).collect())
        .collect()
}

/// A column as the server describes it.
struct Column {
    name: String,
    words: String,
    of: Type,
}

impl Column {
    fn all(conn: &mut Conn, flavour: Flavour) -> Vec<Column> {
        let all = text(
            conn,
            "SELECT column_name, column_type, character_set_name FROM information_schema.columns \
            WHERE table_schema = 't' AND table_name = 'v' ORDER BY ordinal_position",
        );
        let one = |c: Vec<String>| {
            let set = Some(c[2].as_str()).filter(|c| !c.is_empty());
            let of = match Type::of(&c[1], set, None, flavour) {
                Err(Unsupported::Members(..)) => {
                    let members = types::members(&c[1]).expect("members");
                    let members = encoded(conn, &members, &c[2]);
                    Type::of(&c[1], set, Some(members), flavour)
                }
                other => other,
            };
            Column {
                of: of.unwrap_or_else(|e| panic!("{e}")),
                name: c[0].clone(),
                words: c[1].clone(),
            }
        };
        all.into_iter().map(one).collect()
    }

    /// The item of the canonical SELECT.
    fn item(&self) -> String {
        let (name, words) = (&self.name, &self.words);
        if words.starts_with("float") || words.starts_with("double(") {
            format!("({name} * 1E0)")
        } else if words.starts_with("enum") && !words.contains("'0'") {
            format!("IF({name} = 0, '0', {name})")
        } else if words == "year(2)" {
            format!("(IF({name} < 70, 2000, 1900) + {name})")
        } else {
            name.clone()
        }
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

/// The rows of a record's page as a result has them: cells, or 0xfb for NULL.
///
/// A record of COMPACT, from its origin backwards: five bytes of header, a bit for each column that may be NULL, lengths of one or
/// two bytes. Here all columns but the first may be NULL.
fn rows(page: &[u8], columns: &[Column], into: &mut Vec<Vec<u8>>) {
    let chain = record::chain(page).expect("records");
    assert_eq!(chain.level, 0);
    for r in chain.records {
        let nulls = r.at - 5;
        let mut lengths = nulls - (columns.len() - 1).div_ceil(8);
        let mut at = r.at;
        let mut row = Vec::new();
        for (n, column) in columns.iter().enumerate() {
            // DB_TRX_ID and DB_ROLL_PTR follow the key.
            at += if n == 1 { 6 + 7 } else { 0 };
            if n > 0 && page[nulls - 1 - (n - 1) / 8] >> ((n - 1) % 8) & 1 == 1 {
                row.push(0xfb);
                continue;
            }
            let length = match column.of.fixed() {
                Some(fixed) => fixed,
                None => {
                    lengths -= 1;
                    let mut length = usize::from(page[lengths]);
                    if column.of.is_big() && length & 0x80 != 0 {
                        assert_eq!(length & 0x40, 0, "{}: outside", column.words);
                        lengths -= 1;
                        length = (length & 0x3f) << 8 | usize::from(page[lengths]);
                    }
                    length
                }
            };
            let stored = &page[at..at + length];
            if let Err(e) = column.of.cell(stored, &mut row) {
                panic!("{}: {e}: {stored:x?}", column.words);
            }
            at += length;
        }
        into.push(row);
    }
}

/// Every page of a tablespace that holds rows of the table.
fn read(file: &Path, columns: &[Column]) -> Vec<Vec<u8>> {
    const LEVEL: usize = 64;
    const INDEX: usize = 66;
    let bytes = std::fs::read(file).expect("a file");
    let description = std::fs::read(file.with_extension("cfg")).expect("a description");
    let exported = Exported::read(&description).expect("a description");
    let mut all = Vec::new();
    for page in bytes.chunks(SIZE) {
        let (level, index) = (&page[LEVEL..INDEX], &page[INDEX..INDEX + 8]);
        let is_index = page[24..26] == [0x45, 0xbf];
        if is_index && level == [0, 0] && index == exported.indexes[0].id.to_be_bytes() {
            rows(page, columns, &mut all);
        }
    }
    // The key is a whole number above zero, in its first cell.
    let key = |row: &Vec<u8>| {
        let digits = std::str::from_utf8(&row[1..=usize::from(row[0])]).expect("digits");
        digits.parse::<u64>().expect("a number")
    };
    all.sort_by_key(key);
    all
}

/// A table with these columns, whose rows go through the values of each.
fn compare(server: &Server, conn: &mut Conn, flavour: Flavour, cases: &[Case]) {
    run(conn, "DROP DATABASE IF EXISTS t");
    run(conn, "CREATE DATABASE t");
    let columns: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(n, case)| format!(", c{n} {} NULL", case.declared))
        .collect();
    run(
        conn,
        &format!(
            "CREATE TABLE t.v (id INT PRIMARY KEY{}) ROW_FORMAT=DYNAMIC",
            columns.concat()
        ),
    );
    let count = cases.iter().map(|c| c.values.len()).max().unwrap_or(0) + 1;
    let rows: Vec<_> = (0..count)
        .map(|n| {
            let values = cases.iter().map(|case| match case.values.get(n) {
                Some(value) => format!(", {value}"),
                None => ", NULL".to_owned(),
            });
            format!("({}{})", n + 1, values.collect::<String>())
        })
        .collect();
    for some in rows.chunks(500) {
        run(conn, &format!("INSERT INTO t.v VALUES {}", some.join(",")));
    }
    let columns = Column::all(conn, flavour);
    let items: Vec<_> = columns.iter().map(Column::item).collect();
    let sql = format!("SELECT {} FROM t.v ORDER BY id", items.join(", "));
    let mut wanted = Vec::new();
    let mut answer = conn.query_bulk(sql).expect("rows");
    while let Some(row) = answer.next().expect("a row") {
        wanted.push(row.payload().to_vec());
    }
    assert_eq!(wanted.len(), count);
    let file = export(server, conn);
    let found = read(&file, &columns);
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        if found == wanted {
            continue;
        }
        let cells = |row: &[u8]| -> Vec<Option<Vec<u8>>> {
            let cells = wire::Row(row).cells();
            cells
                .map(|c| c.expect("a cell").map(<[u8]>::to_vec))
                .collect()
        };
        for ((column, found), wanted) in columns.iter().zip(cells(found)).zip(cells(wanted)) {
            let lossy = |c: &Option<Vec<u8>>| {
                let c = c.as_deref().unwrap_or(b"NULL");
                format!(
                    "{} {:x?}",
                    String::from_utf8_lossy(c),
                    &c[..c.len().min(40)]
                )
            };
            if found != wanted {
                panic!(
                    "{}: read {}, sent {}",
                    column.words,
                    lossy(&found),
                    lossy(&wanted)
                );
            }
        }
        panic!("rows differ: {found:x?}, {wanted:x?}");
    }
}

/// Copies the table's file and its description.
fn export(server: &Server, conn: &mut Conn) -> std::path::PathBuf {
    let here = server.datadir().join("t");
    let copy = server.datadir().join("copy.ibd");
    run(conn, "FLUSH TABLES t.v FOR EXPORT");
    for extension in ["ibd", "cfg"] {
        let file = here.join("v").with_extension(extension);
        std::fs::copy(file, copy.with_extension(extension)).expect("a copy");
    }
    run(conn, "UNLOCK TABLES");
    copy
}

fn values_are_those_that_the_server_sends(kind: Kind) {
    let Some(server) = own_server(kind, &[]) else {
        return;
    };
    let mut conn = session(&server);
    let flavour = match kind {
        Kind::MySql | Kind::MySql55 => Flavour::MySql,
        Kind::MariaDb | Kind::MariaDb118 => Flavour::MariaDb,
    };
    for some in cases::all(kind).chunks(COLUMNS) {
        compare(&server, &mut conn, flavour, some);
    }
    if flavour == Flavour::MariaDb {
        run(&mut conn, "SET GLOBAL mysql56_temporal_format = OFF");
        let old = cases::times();
        compare(&server, &mut conn, flavour, &old);
        let types = text(
            &mut conn,
            "SELECT column_type FROM information_schema.columns WHERE table_schema = 't'",
        );
        let old = types.iter().filter(|t| t[0].contains("mariadb-5.3"));
        assert!(old.count() > 20, "{types:?}");
    }
}
each_kind!(values_are_those_that_the_server_sends; mysql, mariadb, mariadb118);

/// Documents beyond what a page holds: numbers and offsets of four bytes, and changes in place.
#[test]
fn long_documents_are_those_that_the_server_sends() {
    let Some(server) = own_server(Kind::MySql, &[]) else {
        return;
    };
    let mut conn = session(&server);
    run(&mut conn, "CREATE DATABASE t");
    run(
        &mut conn,
        "CREATE TABLE t.v (id INT PRIMARY KEY, j JSON NOT NULL)",
    );
    for (n, document) in cases::documents().iter().enumerate() {
        run(
            &mut conn,
            &format!("INSERT INTO t.v VALUES ({}, '{document}')", n + 1),
        );
    }
    // What is shorter than before is changed where it is, and gaps stay.
    run(&mut conn, "INSERT INTO t.v SELECT id + 100, j FROM t.v");
    run(
        &mut conn,
        "UPDATE t.v SET j = JSON_REPLACE(j, '$[3]', 'x', '$[5]', 1) WHERE id > 100",
    );
    run(
        &mut conn,
        "UPDATE t.v SET j = JSON_REMOVE(j, '$[7]', '$.k7') WHERE id > 100",
    );
    run(
        &mut conn,
        "UPDATE t.v SET j = JSON_SET(j, '$.k9', 'short', '$.k11', NULL) WHERE id > 100",
    );
    // NULL where there is none is stored as nothing.
    run(&mut conn, "UPDATE IGNORE t.v SET j = NULL WHERE id = 1");
    let wanted = conn.fetch("SELECT j FROM t.v ORDER BY id").expect("rows");
    let file = std::fs::File::open(export(&server, &mut conn)).expect("the file");
    let space = Tablespace::open(&file).expect("a tablespace");
    let table = Sdi::read(&space)
        .expect("a dictionary")
        .table(space.id)
        .expect("a table")
        .expect("it is read");
    let leaves = Leaves::of(&space, &table.clustered, table.redundant).expect("leaves");
    let mut rows = Rows::new(&space, &table, leaves.id, &[1]).expect("rows");
    let mut found = Vec::new();
    for piece in leaves.pieces(1) {
        let scanned = rows.scan(piece, |row| {
            found.push(
                wire::Row(row)
                    .cells()
                    .next()
                    .expect("a cell")
                    .expect("a cell")
                    .map(<[u8]>::to_vec),
            );
            Ok::<_, Error>(())
        });
        scanned.expect("rows");
    }
    assert_eq!(found.len(), wanted.len());
    for (n, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let (found, wanted) = (
            found.as_ref().expect("a value"),
            wanted[0].as_ref().expect("a value"),
        );
        let at = found.iter().zip(wanted).position(|(a, b)| a != b);
        let near = |all: &[u8]| {
            let from = at.unwrap_or(0).saturating_sub(40);
            String::from_utf8_lossy(&all[from.min(all.len())..all.len().min(from + 80)])
                .into_owned()
        };
        assert!(
            found == wanted,
            "document {n}: read …{}…, sent …{}…",
            near(found),
            near(wanted)
        );
    }
}

//! Rows read from files equal those that the server sends: random tables with random histories, on every kind of server.

use super::random::{Made, Random};
use super::{encoded, export, run, session, table_numbers, text};
use crate::kit::waiting::until;
use crate::kit::{each_kind, own_server};
use innodb::Exported;
use innodb::read::mariadb::{self, Defined, Definition, Key, KeyKind};
use innodb::read::sdi::Sdi;
use innodb::read::types::{Server as Flavour, Type};
use innodb::read::{
    Column, Cut, Entries, Error, Field, Index, Leaves, Rows, Table, Tablespace, Values, exported,
    instant,
};
use std::path::Path;
use std::time::Duration;
use testkit::Kind;
use wire::Conn;

/// Columns of a table as the catalog has them: name, type, character set, whether virtual, digits after the point.
fn catalog(conn: &mut Conn, table: &str) -> Vec<[String; 5]> {
    let sql = format!(
        "SELECT column_name, column_type, character_set_name, extra LIKE '%VIRTUAL%', numeric_scale \
        FROM information_schema.columns WHERE table_schema = 't' AND table_name = '{table}' \
        ORDER BY ordinal_position"
    );
    let rows = text(conn, &sql).into_iter();
    rows.map(|r| r.try_into().expect("five columns")).collect()
}

/// The same for the reader.
fn columns(conn: &mut Conn, table: &str, flavour: Flavour) -> Vec<Column> {
    let all = catalog(conn, table).into_iter();
    all.map(|[name, of, charset, is_virtual, _]| {
        let charset = Some(charset.as_str()).filter(|c| *c != "NULL");
        let members = innodb::value::to_encode(&of, charset);
        let members = members.map(|m| encoded(conn, &m, charset.unwrap_or("binary")));
        let values = if is_virtual == "1" {
            Values::Virtual
        } else {
            let made = Type::of(&of, charset, members, flavour);
            Values::Stored(made.unwrap_or_else(|e| panic!("{name} {of}: {e}")))
        };
        Column {
            name,
            values,
            hidden: false,
        }
    })
    .collect()
}

/// A table of MariaDB as a definition has it.
fn definition(conn: &mut Conn, table: &str) -> Definition {
    let sql = format!(
        "SELECT is_nullable = 'YES' FROM information_schema.columns WHERE table_schema = 't' \
        AND table_name = '{table}' ORDER BY ordinal_position"
    );
    let nullable = text(conn, &sql);
    let charsets = catalog(conn, table);
    let columns = columns(conn, table, Flavour::MariaDb);
    let each = columns.iter().zip(nullable).zip(charsets);
    let defined: Vec<Defined> = each
        .map(|((column, nullable), [_, _, charset, ..])| Defined {
            column: column.clone(),
            nullable: nullable[0] == "1",
            charset: Some(charset).filter(|c| c != "NULL"),
        })
        .collect();
    let sql = format!(
        "SELECT index_name, MIN(non_unique), GROUP_CONCAT(column_name, ' ', IFNULL(sub_part, 0) \
        ORDER BY seq_in_index) FROM information_schema.statistics WHERE table_schema = 't' \
        AND table_name = '{table}' GROUP BY index_name"
    );
    let part = |p: &str| {
        let (name, prefix) = p.split_once(' ').expect("a part of a key");
        let place = columns.iter().position(|c| c.name == name);
        (place.expect("a column"), prefix.parse().expect("a number"))
    };
    let key = |[name, not_unique, parts]: [String; 3]| Key {
        kind: match (name.as_str(), not_unique.as_str()) {
            ("PRIMARY", _) => KeyKind::Primary,
            (_, "0") => KeyKind::Unique,
            _ => KeyKind::Plain,
        },
        parts: parts.split(',').map(part).collect(),
        name,
    };
    let keys = text(conn, &sql).into_iter();
    let keys = keys.map(|k| key(k.try_into().expect("three columns")));
    Definition {
        name: table.to_owned(),
        keys: keys.collect(),
        columns: defined,
    }
}

/// Numbers of the columns that rows have.
fn in_rows(table: &Table) -> Vec<usize> {
    let is_stored = |n: &usize| {
        let column = &table.columns[*n];
        !column.hidden && !matches!(column.values, Values::Virtual)
    };
    (0..table.columns.len()).filter(is_stored).collect()
}

/// The rows of a file, sorted; every secondary index is compared with them.
fn of_file(space: &Tablespace<'_>, table: &Table) -> Result<Vec<Vec<u8>>, Error> {
    let leaves = Leaves::of(space, &table.clustered, table.redundant)?;
    let mut all = Vec::new();
    let mut rows = Rows::new(space, table, leaves.id, &in_rows(table))?;
    let comparable = |i: &&Index| {
        let unknown = |f: &Field| f.prefix > 0 && f.cut == Cut::Unknown;
        !i.fields.iter().any(unknown)
    };
    rows = rows.deriving(table.secondary.iter().filter(comparable))?;
    // In two pieces, as threads would take them.
    for piece in leaves.pieces(2) {
        rows.scan(piece, |row| {
            all.push(row.to_vec());
            Ok::<_, Error>(())
        })?;
    }
    for (index, wanted) in rows.derived() {
        let leaves = Leaves::of(space, index, table.redundant)?;
        let mut found = Entries::default();
        for piece in leaves.pieces(3) {
            let part = Entries::of_index(space, table, index, leaves.id, piece)?;
            found.merge(&part);
        }
        assert_eq!(found, wanted, "index {}", index.name);
        assert_eq!(found.count, all.len() as u64, "index {}", index.name);
    }
    all.sort_unstable();
    Ok(all)
}

/// The rows as the server sends them, sorted.
fn of_server(conn: &mut Conn, table: &str) -> Vec<Vec<u8>> {
    let items = catalog(conn, table).into_iter();
    let items = items
        .filter(|c| c[3] == "0")
        .map(|[name, of, _, _, scale]| {
            let column = server::catalog::Column {
                data_type: of.split(['(', ' ']).next().unwrap_or("").to_owned(),
                column_type: of,
                numeric_scale: scale.parse().ok(),
                name,
                ..Default::default()
            };
            column.select_expression()
        });
    let items: Vec<String> = items.collect();
    let sql = format!("SELECT {} FROM t.{table}", items.join(", "));
    let mut all = Vec::new();
    for row in conn.fetch(&sql).unwrap_or_else(|e| panic!("{e}: {sql}")) {
        let mut payload = Vec::new();
        for cell in row {
            match cell {
                None => payload.push(0xfb),
                Some(bytes) => {
                    match bytes.len() {
                        n @ ..251 => payload.push(n as u8),
                        n @ ..0x1_0000 => {
                            payload.push(0xfc);
                            payload.extend((n as u16).to_le_bytes());
                        }
                        n => {
                            payload.push(0xfd);
                            payload.extend(&(n as u32).to_le_bytes()[..3]);
                        }
                    }
                    payload.extend(bytes);
                }
            }
        }
        all.push(payload);
    }
    all.sort_unstable();
    all
}

/// That the rows in a table's file are those of the server.
#[track_caller]
fn compare(
    server: &testkit::Server,
    conn: &mut Conn,
    kind: Kind,
    table: &str,
    to: &Path,
    when: &str,
) {
    let wanted = of_server(conn, table);
    let path = export(server, table, to);
    let file = std::fs::File::open(&path).expect("the file");
    let space = Tablespace::open(&file).unwrap_or_else(|e| panic!("{when}: {e}"));
    let description = std::fs::read(path.with_extension("cfg")).expect("a description");
    let mut tables = Vec::new();
    if kind == Kind::MySql {
        let sdi = Sdi::read(&space).unwrap_or_else(|e| panic!("{when}: {e}"));
        let of_file = sdi.table(space.id).expect("the table of the file");
        tables.push(of_file.unwrap_or_else(|e| panic!("{when}: {e}")));
        // Without an instant ALTER in its history the other description will do, too.
        if let Ok(e) = Exported::read(&description) {
            let columns = columns(conn, table, Flavour::MySql);
            tables.push(exported::table(&e, columns).unwrap_or_else(|e| panic!("{when}: {e}")));
        }
    } else {
        let e = Exported::read(&description).expect("a description");
        let columns = columns(conn, table, Flavour::MariaDb);
        let mut made = exported::table(&e, columns).unwrap_or_else(|e| panic!("{when}: {e}"));
        instant::apply(&space, &mut made).unwrap_or_else(|e| panic!("{when}: {e}"));
        tables.push(made);
        let defined = definition(conn, table);
        let made = mariadb::table(&space, &defined).unwrap_or_else(|e| panic!("{when}: {e}"));
        tables.push(made);
    }
    for table in tables {
        let found = of_file(&space, &table).unwrap_or_else(|e| panic!("{when}: {e}\n{table:#?}"));
        assert_eq!(found.len(), wanted.len(), "{when}: rows");
        if let Some((a, b)) = found.iter().zip(&wanted).find(|(a, b)| a != b) {
            let show = |row: &[u8]| String::from_utf8_lossy(row).into_owned();
            panic!(
                "{when}:\nfile   {}\n{a:?}\nserver {}\n{b:?}",
                show(a),
                show(b)
            );
        }
    }
}

/// A statement that changes the table without a rebuild where the server can, or else in any way.
fn alteration(random: &mut Random, conn: &mut Conn, made: &Made) -> String {
    let names: Vec<String> = catalog(conn, "a")
        .into_iter()
        .map(|c| c[0].clone())
        .collect();
    let droppable: Vec<&String> = names
        .iter()
        .filter(|n| {
            !matches!(n.as_str(), "id" | "u" | "g" | "s")
                && !made.create.contains(&format!("KEY (`{n}`"))
        })
        .collect();
    let place = match random.number(3) {
        0 => " FIRST".to_owned(),
        1 => format!(
            " AFTER `{}`",
            names[random.number(names.len() as u64) as usize]
        ),
        _ => String::new(),
    };
    let number = random.number(1_000_000);
    match random.number(10) {
        0..=2 if !droppable.is_empty() => {
            format!(
                "DROP COLUMN `{}`",
                droppable[random.number(droppable.len() as u64) as usize]
            )
        }
        3 => format!("ADD COLUMN n{number} INT{place}"),
        4 => format!(
            "ADD COLUMN n{number} VARCHAR(300) CHARACTER SET utf8mb4 DEFAULT 'größer'{place}"
        ),
        5 => format!("ADD COLUMN n{number} DECIMAL(20,3) NOT NULL DEFAULT -17.5{place}"),
        6 => format!(
            "ADD COLUMN n{number} CHAR(20) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'x'{place}"
        ),
        7 => format!("ADD COLUMN n{number} BIT(13) DEFAULT b'1010'{place}"),
        8 => format!(
            "ADD COLUMN n{number} DATETIME(3) NULL DEFAULT '2001-02-03 04:05:06.789'{place}"
        ),
        _ => format!("ADD COLUMN n{number} LONGTEXT CHARACTER SET utf8mb4{place}"),
    }
}

/// More rows, with the values of those that are there.
fn again(conn: &mut Conn, random: &mut Random) -> String {
    let names = text(
        conn,
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 't' AND table_name = 'a' \
        AND generation_expression = '' OR table_schema = 't' AND table_name = 'a' AND generation_expression IS NULL \
        ORDER BY ordinal_position",
    );
    let shift = 1_000_000 * (1 + random.number(1_000_000));
    let names: Vec<String> = names.into_iter().map(|n| n[0].clone()).collect();
    let value = |n: &String| match n.as_str() {
        "id" => format!("`id` + {shift}"),
        "u" => "NULL".to_owned(),
        n if n.starts_with('n') && shift.is_multiple_of(2) => {
            format!("IF(`id` % 2, `{n}`, DEFAULT(`{n}`))")
        }
        n => format!("`{n}`"),
    };
    let values: Vec<String> = names.iter().map(value).collect();
    format!(
        "INSERT INTO t.a (`{}`) SELECT {} FROM t.a WHERE `id` < 1000000 AND `id` % 3 = {} LIMIT 400",
        names.join("`, `"),
        values.join(", "),
        random.number(3)
    )
}

each_kind!(rows_in_files_are_those_of_the_server; mysql, mariadb, mariadb118);
/// Random tables with random histories.
fn rows_in_files_are_those_of_the_server(kind: Kind) {
    let Some(mut server) = own_server(kind, &[]) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let mut conn = session(&server);
    let tables = table_numbers(kind);
    for (n, seed) in tables.iter().copied().enumerate() {
        let mut random = Random::new(seed);
        let mut made = random.table(kind == Kind::MySql);
        match seed % 5 {
            3 => made.create = in_format(&made.create, "COMPACT"),
            4 => made.create = in_format(&made.create, "REDUNDANT"),
            _ => {}
        }
        if seed % 3 == 1 {
            made.create = with_stored(&made.create, seed);
        }
        run(&mut conn, "DROP DATABASE IF EXISTS t");
        run(&mut conn, "CREATE DATABASE t");
        run(&mut conn, &made.create.replace("TABLE t", "TABLE t.a"));
        for insert in random.rows(&made) {
            run(&mut conn, &insert.replace("INTO t", "INTO t.a"));
        }
        let mut when = format!("table {seed}: {}\nfilled", made.create);
        compare(&server, &mut conn, kind, "a", directory.path(), &when);
        for change in random.changes(&made) {
            // Two rows may get the same number.
            let _ = conn.execute(change.replace("{t}", "t.a"));
        }
        compare(
            &server,
            &mut conn,
            kind,
            "a",
            directory.path(),
            &format!("{when}, changed"),
        );
        for _ in 0..random.number(8) {
            let change = alteration(&mut random, &mut conn, &made);
            let sql = format!("ALTER TABLE t.a {change}");
            let instant = conn.execute(format!("{sql}, ALGORITHM=INSTANT")).is_ok();
            if !instant && conn.execute(&sql).is_err() {
                // A column of a key, the last one.
                continue;
            }
            when = format!(
                "{when}\n{sql} ({})",
                if instant { "instant" } else { "rebuilt" }
            );
            if random.number(3) > 0 {
                let sql = again(&mut conn, &mut random);
                if let Err(e) = conn.execute(&sql) {
                    assert!(e.to_string().contains("too large"), "{when}\n{sql}: {e}");
                }
            }
            if random.number(3) == 0 {
                let _ = conn.execute(format!(
                    "DELETE FROM t.a WHERE `id` % 7 = {}",
                    random.number(7)
                ));
            }
            compare(&server, &mut conn, kind, "a", directory.path(), &when);
        }
        // Each crash takes a second or two: after the last table, and some others.
        if n % 10 == 9 || n + 1 == tables.len() {
            conn = crash(&mut server, &mut random, &made, &mut when);
            compare(&server, &mut conn, kind, "a", directory.path(), &when);
        }
    }
}

/// Kills the server while transactions are open, and has it recover.
fn crash(
    server: &mut testkit::Server,
    random: &mut Random,
    made: &Made,
    when: &mut String,
) -> Conn {
    let mut open = session(server);
    run(&mut open, "BEGIN");
    run(&mut open, "DELETE FROM t.a WHERE `id` % 5 = 0");
    for change in random.changes(made) {
        // A column may be gone by now.
        let _ = open.execute(change.replace("{t}", "t.a"));
    }
    let mut other = session(server);
    // A commit makes the log of all that was done before it durable.
    run(
        &mut other,
        "CREATE TABLE t.other (a INT PRIMARY KEY) ENGINE=InnoDB",
    );
    run(&mut other, "INSERT INTO t.other VALUES (1)");
    if random.number(2) == 0 {
        // Pages of changes that are never committed are in the files.
        run(&mut other, "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0");
        run(&mut other, "SET GLOBAL innodb_max_dirty_pages_pct = 0");
        std::thread::sleep(Duration::from_millis(300));
    }
    server.kill9().expect("it is killed");
    server.restart().expect("it starts");
    *when += "\ncrashed with open changes";
    let mut conn = session(server);
    until("open transactions are rolled back", || {
        // The server makes its list again only when no session has read it for a tenth of a second.
        std::thread::sleep(Duration::from_millis(150));
        text(
            &mut conn,
            "SELECT COUNT(*) FROM information_schema.innodb_trx",
        )[0][0]
            == "0"
    });
    conn
}

/// The same table in another row format.
fn in_format(create: &str, format: &str) -> String {
    let at = create.find(" ROW_FORMAT=").unwrap_or(create.len());
    format!("{} ROW_FORMAT={format}", &create[..at])
}

/// The same table with a generated column that rows have, as its first column or behind the others.
fn with_stored(create: &str, seed: u64) -> String {
    let stored = match seed % 2 {
        0 => "`s` BIGINT GENERATED ALWAYS AS (`id` * 7) STORED INVISIBLE",
        _ => {
            "`s` VARCHAR(90) CHARACTER SET utf8mb4 GENERATED ALWAYS AS (CONCAT('s', `id`)) STORED INVISIBLE"
        }
    };
    match seed % 4 {
        0 | 1 => create.replacen("TABLE t (", &format!("TABLE t ({stored}, "), 1),
        _ => create.replacen(") ENGINE=", &format!(", {stored}) ENGINE="), 1),
    }
}

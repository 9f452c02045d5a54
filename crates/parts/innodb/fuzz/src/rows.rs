//! Hostile files for the reader of rows: whatever bytes there are, it ends, and takes no memory that the file does not have.
//!
//! The input is a file as it is, a `.frm` file, a table's description in JSON, a value of some type, or changes to a file
//! that holds together; its checksums are made right again, so that what lies behind them is reached.
#![no_main]

use innodb::Format;
use innodb::page::{NONE, SIZE, fil, index, kind};
use innodb::read::frm::Frm;
use innodb::read::mariadb::{Defined, Definition, Key, KeyKind, layout};
use innodb::read::salvage::Found;
use innodb::read::sdi::Sdi;
use innodb::read::types::{Server, Type};
use innodb::read::{
    Column, Error, Rows, Salvaged, Table, Tablespace, Values, guess, instant, versions,
};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// Types with their character sets.
const TYPES: [(&str, Option<&str>); 30] = [
    ("int", None),
    ("bigint(20) unsigned zerofill", None),
    ("decimal(65,30)", None),
    ("decimal(9,2) unsigned zerofill", None),
    ("float", None),
    ("double(7,3)", None),
    ("date", None),
    ("time(6)", None),
    ("time(2) /* mariadb-5.3 */", None),
    ("datetime(6)", None),
    ("datetime /* mariadb-5.3 */", None),
    ("timestamp(3)", None),
    ("timestamp(6) /* mariadb-5.3 */", None),
    ("year", None),
    ("year(2)", None),
    ("bit(13)", None),
    ("char(9)", Some("utf8mb4")),
    ("char(5)", Some("utf16le")),
    ("varchar(90)", Some("gbk")),
    ("binary(4)", None),
    ("varbinary(900)", None),
    ("longtext", Some("utf8mb4")),
    ("longblob", None),
    ("json", Some("utf8mb4")),
    ("enum('a','b''c')", Some("latin1")),
    ("set('x','y','z')", Some("utf16")),
    ("uuid", None),
    ("inet4", None),
    ("inet6", None),
    ("geometry", None),
];

/// `t (id INT PRIMARY KEY, v VARCHAR(100), l LONGTEXT, j JSON, d DECIMAL(9,2))`.
fn table(server: Server, redundant: bool, root: u32) -> Table {
    let column = |name: &str, of: &str, nullable| {
        let made = Type::of(of, Some("utf8mb4"), None, server).expect("a type");
        Defined {
            column: Column {
                name: name.to_owned(),
                values: Values::Stored(made),
                hidden: false,
            },
            nullable,
            charset: Some("utf8mb4".to_owned()),
        }
    };
    let definition = Definition {
        name: "t".to_owned(),
        columns: vec![
            column("id", "int", false),
            column("v", "varchar(100)", true),
            column("l", "longtext", true),
            column("j", "json", true),
            column("d", "decimal(9,2)", false),
        ],
        keys: vec![Key {
            name: "PRIMARY".to_owned(),
            kind: KeyKind::Primary,
            parts: vec![(0, 0)],
        }],
    };
    let mut table = layout(&definition, root, redundant).expect("a layout");
    table.server = server;
    table
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A leaf with records of the table, some of which have long values; the last one is deleted and free.
fn leaf(page: &mut [u8], previous: u32, next: u32, long: u32, first: u32) {
    put(page, fil::PREV, &previous.to_be_bytes());
    put(page, fil::NEXT, &next.to_be_bytes());
    put(page, fil::TYPE, &kind::INDEX.to_be_bytes());
    put(page, index::ID, &9u64.to_be_bytes());
    put(page, index::INFIMUM - 5, &[1, 0, 2]);
    put(page, index::INFIMUM, b"infimum\0");
    put(page, index::SUPREMUM - 5, &[1, 0, 0xb, 0, 0]);
    put(page, index::SUPREMUM, b"supremum");
    let (mut before, mut at) = (index::INFIMUM, index::RECORDS_BEGIN);
    let mut count = 0u16;
    for n in 0..20u32 {
        let is_long = n % 3 == 0;
        // Lengths from the last field on: j is NULL, l may be outside, v.
        let lengths: &[u8] = if is_long { &[0xc0, 20, 5] } else { &[3, 5] };
        let lengths: Vec<u8> = match is_long {
            true => vec![lengths[1], lengths[0], lengths[2]],
            false => lengths.to_vec(),
        };
        put(page, at, &lengths);
        at += lengths.len();
        page[at] = 0b100;
        at += 1;
        let origin = at + 5;
        put(page, at, &[0, 0, (n as u8 + 2) << 3]);
        put(page, origin, &((first + n) | 1 << 31).to_be_bytes());
        put(
            page,
            origin + 4,
            &[0, 0, 0, 0, 1, 1, 0x80, 0, 0, 0, 0, 0, 1],
        );
        let mut value = origin + 17;
        put(page, value, b"hello");
        value += 5;
        if is_long {
            let mut reference = vec![0, 0, 0, 7];
            reference.extend(long.to_be_bytes());
            reference.extend(38u32.to_be_bytes());
            reference.extend([0, 0, 0, 0, 0, 0, 0, 100]);
            put(page, value, &reference);
            value += 20;
        } else {
            put(page, value, b"abc");
            value += 3;
        }
        put(page, value, &[0x80, 0, 0, 1, 50]);
        at = value + 5;
        if n == 19 {
            page[origin - 5] |= 0x20;
            put(page, index::FREE, &(origin as u16).to_be_bytes());
            break;
        }
        put(page, before - 2, &((origin - before) as u16).to_be_bytes());
        before = origin;
        count += 1;
    }
    let end = index::SUPREMUM.wrapping_sub(before) as u16;
    put(page, before - 2, &end.to_be_bytes());
    put(page, index::RECORDS, &count.to_be_bytes());
    put(page, index::HEAP, &(0x8000 | (count + 3)).to_be_bytes());
}

/// A file: header, root, two leaves, a long value in a chain, one with an index.
fn file(root: u32, mysql: bool) -> Vec<u8> {
    let mut file = vec![0; 10 * SIZE];
    let mut pages: Vec<&mut [u8]> = file.chunks_mut(SIZE).collect();
    put(pages[0], fil::TYPE, &kind::FSP_HEADER.to_be_bytes());
    let flags: u32 = if mysql { 0x4021 } else { 0x15 };
    put(
        pages[0],
        38,
        &[0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 10],
    );
    put(pages[0], 54, &flags.to_be_bytes());
    let root = root as usize;
    leaf(pages[root], NONE, NONE, 7, 0);
    // Two entries that lead to the leaves.
    put(pages[root], index::LEVEL, &1u16.to_be_bytes());
    let mut before = index::INFIMUM;
    for (n, child) in [(0u32, 5u32), (1, 6)] {
        let origin = 200 + n as usize * 20;
        put(pages[root], origin - 5, &[0, 0, 0x11]);
        put(pages[root], origin, &(n * 20 | 1 << 31).to_be_bytes());
        put(pages[root], origin + 4, &child.to_be_bytes());
        put(
            pages[root],
            before - 2,
            &((origin - before) as u16).to_be_bytes(),
        );
        before = origin;
    }
    let end = index::SUPREMUM.wrapping_sub(before) as u16;
    put(pages[root], before - 2, &end.to_be_bytes());
    put(pages[root], index::RECORDS, &2u16.to_be_bytes());
    leaf(pages[5], NONE, 6, 7, 0);
    leaf(pages[6], 5, NONE, 8, 20);
    put(pages[7], fil::TYPE, &kind::BLOB.to_be_bytes());
    put(pages[7], 38, &[0, 0, 0, 100, 0xff, 0xff, 0xff, 0xff]);
    put(pages[8], fil::TYPE, &kind::LOB_FIRST.to_be_bytes());
    // The list of entries, and one of them.
    put(
        pages[8],
        64,
        &[0, 0, 0, 1, 0, 0, 0, 8, 0, 96, 0, 0, 0, 8, 0, 96],
    );
    put(pages[8], 96, &[0xff; 12]);
    put(pages[8], 96 + 48, &[0, 0, 0, 8, 0, 100, 0, 0, 0, 0, 0, 1]);
    for (n, page) in pages.iter_mut().enumerate() {
        put(page, fil::NUMBER, &(n as u32).to_be_bytes());
        put(page, fil::SPACE, &7u32.to_be_bytes());
    }
    file
}

/// All that a rescue does with a file.
fn rescue(space: &Tablespace<'_>, table: &Table) -> u64 {
    let mut rows = 0;
    for id in [None, Some(9)] {
        let Ok(found) = Found::of(space, &table.clustered, table.redundant, id, true) else {
            continue;
        };
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let Ok(mut reader) = Rows::new(space, table, found.id, &columns) else {
            continue;
        };
        let by_pages =
            |broken| Found::by_pages(space, &table.clustered, table.redundant, id, broken);
        let _ = by_pages(String::new());
        let older = versions::older(
            space,
            &table.clustered,
            table.redundant,
            found.id,
            &found.leaves,
        );
        let older = older.unwrap_or_default();
        reader = reader.without(&older);
        for page in found.leaves.iter().chain(&found.old) {
            let _ = reader.salvage(*page, &mut |row| {
                rows += u64::from(matches!(row, Salvaged::Row(_)));
                Ok::<_, Error>(())
            });
            let _ = reader.purged(*page, &mut |_| Ok::<_, Error>(()));
        }
    }
    rows
}

fn whole(bytes: &[u8]) {
    let bytes = bytes.to_vec();
    for space in [Tablespace::open(&bytes), guess::open(&bytes)]
        .into_iter()
        .flatten()
    {
        for sdi in [Sdi::read(&space), Sdi::salvage(&space)]
            .into_iter()
            .flatten()
        {
            described(&sdi, &space);
        }
        for (server, redundant) in [(Server::MySql, false), (Server::MariaDb, true)] {
            let mut table = table(server, redundant, 3);
            let _ = instant::apply(&space, &mut table);
            rescue(&space, &table);
        }
    }
}

fn described(sdi: &Sdi, space: &Tablespace<'_>) {
    for (n, created) in sdi.created().into_iter().enumerate() {
        assert!(created.sql.starts_with("CREATE TABLE "));
        let _ = sdi.index_id(n, space.id);
        if let Some(Ok(table)) = sdi.nth(n, space.id) {
            rescue(space, &table);
        }
    }
}

/// A file that holds together, with its rows; made once for each kind.
fn base(mysql: bool) -> &'static Vec<u8> {
    static FILES: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(mysql)].get_or_init(|| {
        let mut bytes = file(3, mysql);
        seal(&mut bytes, mysql);
        let space = Tablespace::open(&bytes).expect("a file");
        let server = if mysql {
            Server::MySql
        } else {
            Server::MariaDb
        };
        let rows = rescue(&space, &table(server, false, 3));
        // Both leaves, each looked at twice.
        assert_eq!(rows, 2 * 2 * 19, "the file to begin with");
        bytes
    })
}

fn seal(bytes: &mut [u8], mysql: bool) {
    let format = if mysql {
        Format::MySql
    } else {
        Format::MariaDb
    };
    for page in bytes.chunks_exact_mut(SIZE) {
        format.seal(page);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((sort, data)) = data.split_first() else {
        return;
    };
    match sort % 6 {
        0 => {
            let mut file = data.to_vec();
            file.resize(data.len().next_multiple_of(SIZE).min(8 * SIZE), 0);
            whole(&file);
        }
        1 => {
            if let Ok(frm) = Frm::read(data) {
                let _ = frm.create_table("t");
                let bytes = base(false);
                let space = Tablespace::open(bytes).expect("a file");
                if let Ok(mut table) = layout(&frm.definition("t"), 3, sort & 0x80 != 0) {
                    let _ = instant::apply(&space, &mut table);
                    rescue(&space, &table);
                }
            }
        }
        2 => {
            if let Ok(json) = serde_json::from_slice(data) {
                let bytes = base(true);
                let space = Tablespace::open(bytes).expect("a file");
                described(&Sdi::of(vec![json]), &space);
            }
        }
        3 => {
            let Some((of, value)) = data.split_first() else {
                return;
            };
            let (words, set) = TYPES[usize::from(*of) % TYPES.len()];
            for server in [Server::MySql, Server::MariaDb] {
                if let Ok(of) = Type::of(words, set, None, server) {
                    let mut cell = Vec::new();
                    let _ = of.cell(value, &mut cell);
                    // Escapes of JSON are the longest.
                    assert!(cell.len() <= value.len() * 64 + 4096, "{words}");
                }
            }
        }
        _ => {
            let mysql = sort % 6 == 4;
            let mut bytes = base(mysql).clone();
            for change in data.chunks_exact(4) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % SIZE;
                let page = usize::from(change[2]) % 10;
                bytes[page * SIZE + at] = change[3];
            }
            seal(&mut bytes, mysql);
            whole(&bytes);
        }
    }
});

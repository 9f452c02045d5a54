//! Hostile pages: whatever bytes a file has, the reader ends, and says what it found.
//!
//! The input is either a file as it is, or changes to a page of an index that
//! holds together, so that what lies behind the first checks is reached too.
#![no_main]

use innodb::bulk::page::{Belongs, Filling, place};
use innodb::cfg::{Column, Exported, Field, Index};
use innodb::check::Written;
use innodb::page::SIZE;
use innodb::{Exported as Description, Format, Layout, record};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// `t (id BIGINT PRIMARY KEY, v VARCHAR(100))`.
fn layout() -> &'static Layout {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| {
        let column = |name: &str, main, precise, length| Column {
            name: name.to_owned(),
            main,
            precise,
            length,
            character: 1..4,
        };
        let field = |name: &str, fixed| Field {
            name: name.to_owned(),
            prefix: 0,
            fixed,
            ascending: true,
        };
        let table = Exported {
            table: "x/t".to_owned(),
            auto_increment: 0,
            page_size: SIZE as u32,
            flags: 0x21,
            columns: vec![
                column("id", 6, 0x508, 8),
                column("v", 12, 46 << 16 | 0xf, 400),
                column("DB_TRX_ID", 8, 0x101, 6),
                column("DB_ROLL_PTR", 8, 0x102, 7),
            ],
            indexes: vec![Index {
                id: 9,
                name: "PRIMARY".to_owned(),
                root: 3,
                kind: 3,
                unique: 1,
                defined: 1,
                fields: vec![
                    field("id", 8),
                    field("DB_TRX_ID", 6),
                    field("DB_ROLL_PTR", 7),
                    field("v", 0),
                ],
            }],
            dictionary: None,
        };
        Layout::of(&table, &table.indexes[0]).expect("a layout")
    })
}

/// A page that holds together.
fn page(level: u16) -> Vec<u8> {
    let mut filling = Filling::new(Belongs {
        space: 7,
        index: 9,
        level,
        secondary_leaf: false,
        lsn: 5,
    });
    for n in 0..60u8 {
        let text = usize::from(n % 9);
        let mut bytes = vec![text as u8, 0, 0, 0, 0, 0, 0];
        let origin = bytes.len();
        bytes.extend([0x80, 0, 0, 0, 0, 0, 0, n]);
        bytes.extend([0; 6]);
        bytes.extend([0x80, 0, 0, 0, 0, 0, 0]);
        bytes.extend(vec![b'x'; text]);
        filling.push(&bytes, origin, 0);
    }
    let mut page = filling.done();
    place(&mut page, 3, None, None);
    page
}

fn records(page: &[u8]) {
    let Ok(chain) = record::chain(page) else {
        return;
    };
    for r in chain.records {
        if let Ok(fields) = record::fields(page, r, layout(), chain.level) {
            let _ = record::compare(layout(), &fields.values, &fields.values, 1);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((sort, data)) = data.split_first() else {
        return;
    };
    match sort % 4 {
        0 => {
            let mut file = data.to_vec();
            file.resize(data.len().next_multiple_of(SIZE).min(8 * SIZE), 0);
            let _ = innodb::check(&&file[..], std::slice::from_ref(layout()), 2);
            let _ = innodb::check(&&file[..], &[], 1);
            for format in [Format::MySql, Format::MariaDb] {
                let written = Written::new(format, 0, std::slice::from_ref(layout()));
                written.pages(0, &file);
                let _ = written.end((file.len() / SIZE) as u32);
            }
        }
        1 => {
            let _ = Description::read(data);
        }
        2 => {
            let mut page = data.to_vec();
            page.resize(SIZE, 0);
            records(&page);
        }
        _ => {
            let mut page = page(u16::from(sort >> 7));
            for change in data.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % SIZE;
                page[at] = change[2];
            }
            records(&page);
            // As page 0 of a file, too: with a sum that is right.
            for format in [Format::MySql, Format::MariaDb] {
                format.seal(&mut page);
                let _ = innodb::check(&&page[..], std::slice::from_ref(layout()), 1);
                let space = innodb::page::u32_at(&page, innodb::page::fil::SPACE);
                let number = innodb::page::u32_at(&page, innodb::page::fil::NUMBER);
                let written = Written::new(format, space, std::slice::from_ref(layout()));
                written.pages(number % 64, &page);
                let _ = written.end(64);
            }
        }
    }
});

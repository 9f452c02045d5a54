//! Files that are built here and checked here.

mod damage;

use crate::bulk::extents::{Extents, SegmentAt, own_page};
use crate::bulk::page::{Belongs, Filling, place};
use crate::bulk::{Builder, Error, Options, Sink, Template};
use crate::cfg::{Column, Exported, Field, Index};
use crate::check::Written;
use crate::format::{FLAGS, Format};
use crate::page::{NONE, SIZE, fil, index, kind, u16_at};
use crate::space::{Owner, Pages, Space, fsp, inode};
use crate::value::Kind;
use crate::{Layout, Report, check};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

const SPACE: u32 = 77;
const FIRST_ROOT: u32 = 3;

fn column(name: &str, main: u32, precise: u32, length: u32) -> Column {
    Column {
        name: name.to_owned(),
        main,
        precise,
        length,
        character: if main == 12 || main == 5 { 1..4 } else { 0..0 },
    }
}

fn field(name: &str, fixed: u32) -> Field {
    Field {
        name: name.to_owned(),
        prefix: 0,
        fixed,
        ascending: true,
    }
}

/// `t (id BIGINT PRIMARY KEY, a INT, v VARCHAR(100) COLLATE utf8mb4_bin UNIQUE, l LONGTEXT, KEY (a DESC))`.
fn table() -> Exported {
    let index = |n: u32, name: &str, kind, unique, defined, fields| Index {
        id: u64::from(100 + n),
        name: name.to_owned(),
        root: FIRST_ROOT + n,
        kind,
        unique,
        defined,
        fields,
    };
    let mut descending = field("a", 4);
    descending.ascending = false;
    Exported {
        table: "x/t".to_owned(),
        auto_increment: 0,
        page_size: SIZE as u32,
        flags: 0x21,
        columns: vec![
            column("id", 6, 0x508, 8),
            column("a", 6, 0x403, 4),
            column("v", 12, 46 << 16 | 0xf, 400),
            column("l", 5, 46 << 16 | 0xfc, 12),
            column("DB_TRX_ID", 8, 0x101, 6),
            column("DB_ROLL_PTR", 8, 0x102, 7),
        ],
        indexes: vec![
            index(
                0,
                "PRIMARY",
                3,
                1,
                1,
                vec![
                    field("id", 8),
                    field("DB_TRX_ID", 6),
                    field("DB_ROLL_PTR", 7),
                    field("a", 4),
                    field("v", 0),
                    field("l", 0),
                ],
            ),
            index(1, "v", 2, 2, 1, vec![field("v", 0), field("id", 8)]),
            index(2, "a", 0, 2, 1, vec![descending, field("id", 8)]),
        ],
        dictionary: None,
    }
}

fn columns() -> Vec<(String, Kind)> {
    let of = |name: &str, column_type: &str| {
        let kind = Kind::of(column_type, Some("utf8mb4"), None).expect("a type");
        (name.to_owned(), kind)
    };
    vec![
        of("id", "bigint"),
        of("a", "int"),
        of("v", "varchar(100)"),
        of("l", "longtext"),
    ]
}

fn set(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The file of the empty table, as a server lays it out.
fn blank(format: Format, e: &Exported) -> Vec<u8> {
    let n = e.indexes.len() as u32;
    let mut first = vec![0; SIZE];
    set(&mut first, fil::SPACE, &SPACE.to_be_bytes());
    let mut first = own_page(0, &first, kind::FSP_HEADER);
    let flags: u32 = if format == Format::MySql {
        0x4021
    } else {
        0x15
    };
    set(&mut first, FLAGS, &flags.to_be_bytes());
    set(&mut first, fsp::SPACE, &SPACE.to_be_bytes());
    set(
        &mut first,
        fsp::NEXT_SEGMENT,
        &u64::from(2 * n + 1).to_be_bytes(),
    );
    let nowhere = [0xff, 0xff, 0xff, 0xff, 0, 0];
    let of_inodes = [0, 0, 0, 2, 0, fil::BODY as u8];
    for (at, length, place) in [
        (fsp::INODES_FULL, 0u32, nowhere),
        (fsp::INODES_FREE, 1, of_inodes),
    ] {
        set(&mut first, at, &length.to_be_bytes());
        set(&mut first, at + 4, &place);
        set(&mut first, at + 10, &place);
    }
    let mut inodes = own_page(2, &first, kind::INODE);
    set(&mut inodes, fil::BODY, &nowhere);
    set(&mut inodes, fil::BODY + 6, &nowhere);
    let mut file = BTreeMap::from([(1, own_page(1, &first, kind::BITMAP))]);
    let mut extents = Extents::new(FIRST_ROOT + n, 0);
    for (i, of) in e.indexes.iter().enumerate() {
        let belongs = Belongs {
            space: SPACE,
            index: of.id,
            level: 0,
            secondary_leaf: i > 0,
            lsn: 0,
        };
        let mut root = Filling::new(belongs).done();
        place(&mut root, of.root, None, None);
        for (which, header) in [index::LEAVES, index::NON_LEAVES].into_iter().enumerate() {
            let number = 2 * i + which;
            let at = inode::FIRST + number * inode::BYTES;
            set(&mut inodes, at, &(number as u64 + 1).to_be_bytes());
            set(
                &mut inodes,
                at + inode::MAGIC,
                &inode::IS_USED.to_be_bytes(),
            );
            set(&mut root, header, &SPACE.to_be_bytes());
            set(&mut root, header + 4, &2u32.to_be_bytes());
            set(&mut root, header + 8, &(at as u16).to_be_bytes());
            let segment = SegmentAt {
                page: 2,
                at: at as u16,
            };
            if which == 1 {
                extents.held(segment, of.root);
            } else {
                extents.none(segment);
            }
        }
        file.insert(of.root, root);
    }
    file.insert(0, first);
    file.insert(2, inodes);
    extents.write(&mut file);
    let mut all = Vec::new();
    for (_, mut page) in file {
        format.seal(&mut page);
        all.extend_from_slice(&page);
    }
    all
}

/// A file in memory.
#[derive(Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, page: u32, bytes: &[u8]) -> std::io::Result<()> {
        let mut all = self.0.lock().expect("a lock");
        let at = page as usize * SIZE;
        let end = all.len().max(at + bytes.len());
        all.resize(end, 0);
        all[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// A row: id, a, v, l.
type Row = (i64, Option<i32>, Option<String>, Option<String>);

fn build(format: Format, stretches: &[&[Row]]) -> Result<Vec<u8>, Error> {
    let exported = table();
    let template = Template::read(&blank(format, &exported), &exported)?;
    let sink = Memory::default();
    let options = Options {
        memory: 1 << 20,
        folder: std::env::temp_dir(),
        threads: 2,
    };
    let builder = Builder::new(&template, &exported, columns(), &sink, &options)?;
    let mut done = Vec::new();
    for rows in stretches {
        let mut to = builder.rows(1);
        for (id, a, v, l) in *rows {
            let (id, a) = (id.to_string(), a.map(|a| a.to_string()));
            let row = [
                Some(id.as_bytes()),
                a.as_ref().map(String::as_bytes),
                v.as_ref().map(String::as_bytes),
                l.as_ref().map(String::as_bytes),
            ];
            to.push(row)?;
        }
        done.push(to.end()?);
    }
    let size = builder.finish(done)?;
    let mut all = sink.0.into_inner().expect("a lock");
    all.resize(size as usize * SIZE, 0);
    Ok(all)
}

fn layouts() -> Vec<Layout> {
    let e = table();
    let of = |i| Layout::of(&e, i).expect("a layout");
    e.indexes.iter().map(of).collect()
}

fn report(file: &[u8]) -> Report {
    check(&file, &layouts(), 2).expect("a file that is read")
}

/// The same file as the check sees it that looks at pages on their way to the disk, `at_once` of them.
fn written(format: Format, file: &[u8], at_once: usize) -> Result<Report, crate::check::Error> {
    let layouts = layouts();
    let written = Written::new(format, SPACE, &layouts);
    let pages: Vec<&[u8]> = file.chunks(SIZE).collect();
    let mut from = 0;
    while from < pages.len() {
        let is_there = |page: &&&[u8]| page.iter().any(|b| *b != 0);
        let run = pages[from..]
            .iter()
            .take(at_once)
            .take_while(is_there)
            .count();
        written.pages(from as u32, &file[from * SIZE..(from + run) * SIZE]);
        from += run.max(1);
    }
    written.end(pages.len() as u32)
}

/// Whether both checks find that something is wrong.
fn is_found(format: Format, file: &[u8]) -> [bool; 2] {
    let found = |report: Result<Report, _>| report.map_or(true, |r| !r.is_whole());
    [
        found(check(&file, &layouts(), 2)),
        found(written(format, file, 7)),
    ]
}

#[track_caller]
fn whole(file: &[u8], rows: u64) {
    let format = Format::of(&file[..SIZE]).expect("a format");
    let report = report(file);
    assert!(report.is_whole(), "{:#?}", report.problems);
    for at_once in [1, 5, 64] {
        let written = written(format, file, at_once).expect("a file that is written");
        assert!(written.is_whole(), "{:#?}", written.problems);
        let indexes = written.indexes.iter().cloned().map(|mut index| {
            // What is first of its level is told apart by the one and not by the other.
            index.ordered = 0;
            index
        });
        let mut all = report.indexes.clone();
        all.iter_mut().for_each(|index| index.ordered = 0);
        assert_eq!(indexes.collect::<Vec<_>>(), all);
    }
    assert_eq!(report.indexes.len(), 3);
    for i in &report.indexes {
        assert_eq!((i.records, i.unordered), (rows, 0), "{i:?}");
    }
    // Without a description levels are followed one by one.
    let report = check(&file, &[], 1).expect("a file that is read");
    assert!(report.is_whole(), "{:#?}", report.problems);
}

fn rows(n: i64) -> Vec<Row> {
    (0..n)
        .map(|i| {
            let a = (i % 7 != 0).then_some((i * 7919 % 1000) as i32 - 500);
            let v = (i % 5 != 0)
                .then(|| format!("{:05}{}", i * 31 % 100_003, "x".repeat((i % 60) as usize)));
            let l = (i % 3 == 0).then(|| "y".repeat((i * i % 300) as usize));
            (i * 3 - 100, a, v, l)
        })
        .collect()
}

const BOTH: [Format; 2] = [Format::MySql, Format::MariaDb];

#[test]
fn a_blank_file_is_whole() {
    for format in BOTH {
        whole(&blank(format, &table()), 0);
    }
}

#[test]
fn what_is_built_is_whole() {
    for format in BOTH {
        for n in [0, 1, 2, 50, 400, 3000, 20_000] {
            let all = rows(n);
            whole(&build(format, &[&all]).expect("a file"), n as u64);
            let (first, rest) = all.split_at(n as usize / 3);
            let (second, third) = rest.split_at(rest.len() / 9);
            let joined = build(format, &[first, second, &[], third]).expect("a file");
            whole(&joined, n as u64);
        }
    }
}

#[test]
fn long_values_lie_outside() {
    let mut all = rows(200);
    for (n, row) in all.iter_mut().enumerate() {
        row.3 = (n % 4 != 0).then(|| "z".repeat(n * 700));
    }
    for format in BOTH {
        let file = build(format, &[&all]).expect("a file");
        whole(&file, 200);
        assert!(report(&file).indexes[0].outside > 200);
    }
}

/// Pages by number; all others are empty.
struct Sparse(BTreeMap<u32, Vec<u8>>, u32);

impl Pages for Sparse {
    fn count(&self) -> u32 {
        self.1
    }

    fn read(&self, number: u32, page: &mut [u8]) -> std::io::Result<()> {
        match self.0.get(&number) {
            Some(bytes) => page.copy_from_slice(bytes),
            None => page.fill(0),
        }
        Ok(())
    }
}

#[test]
fn extents_are_accounted_for_where_pages_of_descriptors_begin() {
    let exported = table();
    let blank = blank(Format::MySql, &exported);
    let template = Template::read(&blank, &exported).expect("a template");
    for wanted in (1..5).chain(250..262).chain(509..516) {
        let mut extents = template.extents();
        let (leaves, other) = (template.targets[0].leaves, template.targets[1].leaves);
        for n in 0..wanted {
            // Single pages come in between, and some extents are used in part.
            extents.single(if n % 2 == 0 { leaves } else { other });
            let extent = extents.whole(leaves);
            if n % 3 == 0 {
                extents.used(leaves, extent, 1 + n % 64);
            }
        }
        let mut pages = template.kept();
        let first = pages[&0].clone();
        for number in extents.descriptor_pages() {
            pages.insert(number, own_page(number, &first, kind::EXTENTS));
            pages.insert(number + 1, own_page(number + 1, &first, kind::BITMAP));
        }
        extents.write(&mut pages);
        let file = Sparse(pages, extents.size());
        let mut problems = Vec::new();
        let space = Space::read(&file, &mut |page, what| {
            problems.push(format!("{wanted}: page {page}: {what}"));
        })
        .expect("accounts");
        assert_eq!(problems, [] as [String; 0]);
        let second = u32::from(extents.size() > 16_384);
        assert!(extents.descriptor_pages().count() as u32 >= second);
        if second == 1 {
            // Its own two pages are nobody else's.
            assert!(matches!(space.owner(16_384), Owner::Space));
        }
    }
}

#[test]
fn what_is_not_in_order_is_not_built() {
    let mut all = rows(1000);
    all.swap(500, 501);
    assert!(matches!(build(Format::MySql, &[&all]), Err(Error::Order)));
    // Stretches may come in any order, but not overlap.
    let all = rows(1000);
    let (first, second) = all.split_at(600);
    let joined = build(Format::MySql, &[second, first]);
    whole(&joined.expect("a file"), 1000);
    let (first, second) = (&all[..601], &all[600..]);
    assert!(matches!(
        build(Format::MySql, &[first, second]),
        Err(Error::Order)
    ));
    let mut all = rows(1000);
    all[501].0 = all[500].0;
    assert!(matches!(build(Format::MySql, &[&all]), Err(Error::Order)));
    let mut all = rows(1000);
    all[7].2 = all[901].2.clone();
    assert!(matches!(build(Format::MySql, &[&all]), Err(Error::Duplicate(k)) if k == "v"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_rows_are_built_whole(
        values in proptest::collection::btree_map(
            any::<i64>(),
            (any::<Option<i32>>(), proptest::option::of("[a-zA-Z ]{0,90}"), proptest::option::of(0usize..20_000)),
            0..200,
        ),
    ) {
        let mut seen = std::collections::HashSet::new();
        let all: Vec<Row> = values
            .into_iter()
            .map(|(id, (a, v, l))| {
                // Spaces at the end do not tell texts apart here.
                let v = v.filter(|v| seen.insert(v.trim_end().to_owned()));
                (id, a, v, l.map(|n| "l".repeat(n)))
            })
            .collect();
        for format in BOTH {
            whole(&build(format, &[&all]).expect("a file"), all.len() as u64);
        }
    }
}

#[test]
fn a_template_with_rows_or_damage_is_refused() {
    let exported = table();
    let file = build(Format::MySql, &[&rows(10)]).expect("a file");
    assert!(matches!(
        Template::read(&file, &exported),
        Err(Error::Template(_))
    ));
    let mut damaged = blank(Format::MySql, &exported);
    damaged[SIZE * 2 + 60] ^= 1;
    assert!(matches!(
        Template::read(&damaged, &exported),
        Err(Error::Template(_))
    ));
    assert!(matches!(
        Template::read(&[], &exported),
        Err(Error::Template(_))
    ));
    let root = &blank(Format::MySql, &exported)[SIZE * 3..][..SIZE];
    assert_eq!(u16_at(root, index::RECORDS), 0);
    assert_eq!(crate::page::u32_at(root, fil::PREV), NONE);
}

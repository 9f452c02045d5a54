//! Files that are damaged: both checks find it, that of a whole file and that of
//! one which is written.

use super::{BOTH, FIRST_ROOT, Row, SPACE, build, is_found, layouts, report, rows, set, written};
use crate::check;
use crate::check::Written;
use crate::format::Format;
use crate::page::{SIZE, fil, index, kind, u16_at};
use crate::record::Kept;
use crate::space::{fsp, inode};
use proptest::prelude::*;

#[test]
fn every_flipped_byte_is_found() {
    for format in BOTH {
        let file = build(format, &[&rows(220)]).expect("a file");
        let mut damaged = file.clone();
        // Every byte of what pages say of themselves, and a sample of the rest.
        for at in
            (0..file.len()).filter(|at| at % SIZE < 220 || at % SIZE > SIZE - 40 || at % 97 == 0)
        {
            damaged[at] ^= 1 << (at % 8);
            assert_eq!(
                is_found(format, &damaged),
                [true; 2],
                "{format:?}: byte {} of page {}",
                at % SIZE,
                at / SIZE
            );
            damaged[at] = file[at];
        }
    }
}

/// A page of zeroes is one that was never used, which nothing may lead to: not even the last one of a level.
#[test]
fn every_page_of_zeroes_is_found() {
    for format in BOTH {
        let file = build(format, &[&rows(3000)]).expect("a file");
        let mut tried = 0;
        for (n, page) in file.chunks(SIZE).enumerate() {
            if !matches!(u16_at(page, fil::TYPE), kind::INDEX | kind::BLOB) {
                continue;
            }
            let mut damaged = file.clone();
            damaged[n * SIZE..][..SIZE].fill(0);
            assert_eq!(
                is_found(format, &damaged),
                [true; 2],
                "{format:?}: page {n}"
            );
            tried += 1;
        }
        assert!(tried > 20, "{tried}");
    }
}

#[test]
fn every_swapped_pair_of_records_is_found() {
    let format = Format::MySql;
    let all: Vec<Row> = (0..600)
        .map(|i| {
            (
                i,
                Some((i * 7919 % 1000) as i32),
                Some(format!("{i:06}")),
                None,
            )
        })
        .collect();
    let file = build(format, &[&all]).expect("a file");
    let mut tried = 0;
    for number in FIRST_ROOT as usize..file.len() / SIZE {
        let page = &file[number * SIZE..][..SIZE];
        if u16_at(page, fil::TYPE) != kind::INDEX {
            continue;
        }
        let chain = crate::record::chain(page).expect("a page");
        let layouts = layouts();
        let id = crate::page::u64_at(page, index::ID);
        let layout = layouts.iter().find(|l| l.id == id).expect("an index");
        let bytes = |r| {
            let read = crate::record::read(page, r, layout, chain.level, &mut Kept::default());
            read.expect("fields").bytes
        };
        for pair in chain.records.windows(2) {
            let (a, b) = (bytes(pair[0]), bytes(pair[1]));
            if a.len() != b.len() {
                continue;
            }
            let mut damaged = file.clone();
            let own = &mut damaged[number * SIZE..][..SIZE];
            // The fields, not the links.
            let (left, right) = (
                own[pair[0].at..a.end].to_vec(),
                own[pair[1].at..b.end].to_vec(),
            );
            set(own, pair[0].at, &right);
            set(own, pair[1].at, &left);
            format.seal(own);
            assert_eq!(
                is_found(format, &damaged),
                [true; 2],
                "page {number}, byte {}",
                pair[0].at
            );
            tried += 1;
        }
    }
    assert!(tried > 1500, "{tried}");
}

/// Damage whose sum is right: each invariant finds its own.
#[test]
fn damage_with_a_right_sum_is_found() {
    let format = Format::MySql;
    let file = build(format, &[&rows(3000)]).expect("a file");
    let root = FIRST_ROOT as usize;
    let leaf = (root + 3..file.len() / SIZE)
        .find(|n| {
            let page = &file[n * SIZE..][..SIZE];
            crate::page::u64_at(page, index::ID) == 100 && u16_at(page, index::LEVEL) == 0
        })
        .expect("a leaf");
    let chain = crate::record::chain(&file[root * SIZE..][..SIZE]).expect("a root");
    let key = chain.records[1].at;
    let inode = inode::FIRST;
    for (page, at, says) in [
        (leaf, fil::NUMBER + 3, "it says that it is page"),
        (leaf, fil::SPACE + 3, "of tablespace"),
        (leaf, fil::NEXT + 3, "its next page is"),
        (leaf, index::ID + 7, "it is of index"),
        (leaf, index::GARBAGE + 1, "bytes and"),
        (leaf, index::RECORDS + 1, "its header says"),
        (leaf, index::LEAVES + 3, "which only a root does"),
        (leaf, SIZE - fil::TRAILER - 3, "the directory"),
        (root, key + 6, "by which the page above names it"),
        (root, index::LEAVES + 9, "a segment that is not there"),
        (0, fsp::SIZE + 3, "the FSP header says"),
        (0, fsp::FRAGMENTS_USED + 3, "fragment pages"),
        (0, fsp::EXTENTS + 24 + 4, "no owner"),
        (0, fsp::FREE_FRAGMENTS + 3, "the list of extents"),
        (2, inode + inode::FRAGMENTS + 3, "used"),
        (2, inode + inode::MAGIC, "no magic number"),
    ] {
        let mut damaged = file.clone();
        let own = &mut damaged[page * SIZE..][..SIZE];
        own[at] ^= 1;
        format.seal(own);
        assert_eq!(is_found(format, &damaged), [true; 2], "{says}");
        let report = report(&damaged);
        let told = |p: &(u32, String)| p.1.contains(says);
        assert!(
            report.problems.iter().any(told),
            "{says}: {:#?}",
            report.problems
        );
    }
}

/// What a file that is checked while it is written is held to besides, and what lies between two of its writes.
#[test]
fn what_a_new_file_promises_is_checked() {
    let format = Format::MySql;
    let file = build(format, &[&rows(3000)]).expect("a file");
    let pages = || (0..).zip(file.chunks(SIZE));
    let of = |id: u64, level: u16| {
        move |page: &[u8]| {
            u16_at(page, fil::TYPE) == kind::INDEX
                && crate::page::u64_at(page, index::ID) == id
                && u16_at(page, index::LEVEL) == level
        }
    };
    let told = |damaged: &[u8], at_once: usize, says: &str| {
        let report = written(format, damaged, at_once).expect("a file");
        let found = report.problems.iter().any(|p| p.1.contains(says));
        assert!(found, "{says}: {:#?}", report.problems);
    };
    let changed = |page: usize, at: usize, bytes: &[u8]| {
        let mut damaged = file.clone();
        let own = &mut damaged[page * SIZE..][..SIZE];
        set(own, at, bytes);
        format.seal(own);
        damaged
    };
    let (leaf, bytes) = pages()
        .find(|(_, page)| of(101, 0)(page))
        .expect("a leaf of a secondary index");
    let damaged = changed(leaf, index::MAX_TRX, &[0; 8]);
    told(&damaged, 64, "it names no transaction");
    let first = crate::record::chain(bytes).expect("a page").records[0];
    let flags = bytes[first.at - 5];
    let damaged = changed(leaf, first.at - 5, &[flags | 0x20]);
    told(&damaged, 64, "marked as deleted");
    let (root, bytes) = pages()
        .find(|(_, page)| of(100, 1)(page))
        .expect("a page above");
    let first = crate::record::chain(bytes).expect("a page").records[0];
    let damaged = changed(root, first.at - 5, &[bytes[first.at - 5] & !0x10]);
    told(&damaged, 64, "the least of its level");
    // A key that the page above names right, and that is not behind the page before: only their ends tell.
    let leaves: Vec<_> = pages().filter(|(_, page)| of(100, 0)(page)).collect();
    let (before, behind) = (leaves[3], leaves[4]);
    assert_eq!(crate::page::u32_at(before.1, fil::NEXT), behind.0 as u32);
    let key = crate::record::chain(before.1).expect("a page").records[1].at;
    let key = &before.1[key..key + 8];
    let place = crate::record::chain(behind.1).expect("a page").records[0].at;
    let mut damaged = changed(behind.0, place, key);
    let above = crate::record::chain(bytes).expect("a page").records[4].at;
    let own = &mut damaged[root * SIZE..][..SIZE];
    set(own, above, key);
    format.seal(own);
    told(&damaged, 1, "is not behind the last one of page");
    told(&damaged, 64, "is not behind the one before it");
    // Fewer pages than are there, within the last extent.
    let count = (file.len() / SIZE) as u32;
    let damaged = changed(0, fsp::SIZE, &(count - 1).to_be_bytes());
    told(&damaged, 64, &format!("and {count} were built"));
    // Twice, and behind the end.
    let layouts = layouts();
    let twice = Written::new(format, SPACE, &layouts);
    twice.pages(0, &file);
    twice.pages(3, &file[3 * SIZE..4 * SIZE]);
    let report = twice.end(count - 1).expect("a file");
    for says in ["written twice", "behind the end of the file"] {
        let found = report.problems.iter().any(|p| p.1.contains(says));
        assert!(found, "{says}: {:#?}", report.problems);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Damage whose sum is right, too, is told or harmless, and never the end of the program.
    #[test]
    fn no_damage_is_too_much(
        places in proptest::collection::vec((0usize..1 << 20, any::<u8>()), 1..20),
        maria in any::<bool>(),
    ) {
        let format = if maria { Format::MariaDb } else { Format::MySql };
        let mut all = rows(500);
        all[3].3 = Some("z".repeat(50_000));
        let mut file = build(format, &[&all]).expect("a file");
        for (at, byte) in places {
            let at = at % file.len();
            file[at] = byte;
            let page = at / SIZE * SIZE;
            format.seal(&mut file[page..page + SIZE]);
        }
        let [found, by_written] = is_found(format, &file);
        prop_assert!(by_written || !found);
        let _ = check(&&file[..], &[], 1);
    }
}

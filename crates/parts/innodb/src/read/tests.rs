//! Small files that servers wrote, with pages of all sizes and checksums of all kinds, and damage in them.
//!
//! `fixtures/rows`: `my…` of MySQL 9.7, `ma…` of MariaDB 10.11. All but one have a table
//! `f (id INT PRIMARY KEY, v VARCHAR(100), n BIGINT UNSIGNED, l LONGTEXT, KEY k (v(10))) CHARSET latin1` with 300 rows,
//! then instantly a column `a INT DEFAULT 42` and 50 rows, then without `n` and 50 rows; every row with an
//! `id` that ends in 3 is deleted. `myjson` has JSON documents that were updated in part.

use super::chain::{Chain, info};
use super::mariadb::{Defined, Definition, Key, KeyKind};
use super::nodes::{self, Nodes};
use super::record::{Found, Records, Span};
use super::sdi::Sdi;
use super::types::{Server, Type};
use super::{Column, Entries, Error, Leaves, Rows, Table, Tablespace, Values, mariadb};
use crate::Format;
use crate::page::SIZE;
use proptest::prelude::*;
use std::io::Read;

macro_rules! fixture {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("../../fixtures/rows/", $name, ".ibd.gz")) as &[u8],
        )
    };
}

const FILES: [(&str, &[u8]); 10] = [
    fixture!("my4k"),
    fixture!("my8k"),
    fixture!("my32k"),
    fixture!("my64k"),
    fixture!("mynone"),
    fixture!("myinno"),
    fixture!("ma4k"),
    fixture!("ma16"),
    fixture!("ma64k"),
    fixture!("macrc"),
];

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let read = flate2::read::GzDecoder::new(packed).read_to_end(&mut file);
    read.expect("a fixture");
    file
}

/// The table as MariaDB defines it: after the ALTERs.
fn definition() -> Definition {
    let of = |name: &str, words: &str, nullable, text: bool| {
        let charset = text.then_some("latin1");
        let of = Type::of(words, charset, None, Server::MariaDb).expect("a type");
        Defined {
            column: Column {
                name: name.into(),
                values: Values::Stored(of),
                hidden: false,
            },
            nullable,
            charset: charset.map(Into::into),
        }
    };
    let key = |name: &str, kind, parts: &[(usize, u32)]| Key {
        name: name.into(),
        kind,
        parts: parts.to_vec(),
    };
    Definition {
        name: "f".into(),
        columns: vec![
            of("id", "int(11)", false, false),
            of("v", "varchar(100)", true, true),
            of("l", "longtext", true, true),
            of("a", "int(11)", true, false),
        ],
        keys: vec![
            key("PRIMARY", KeyKind::Primary, &[(0, 0)]),
            key("k", KeyKind::Plain, &[(1, 10)]),
        ],
    }
}

fn table(space: &Tablespace<'_>, of_maria: bool) -> Result<Table, Error> {
    if of_maria {
        return mariadb::table(space, &definition());
    }
    let sdi = Sdi::read(space)?;
    let none = || Error::Definition("no table".into());
    sdi.table(space.id).ok_or_else(none)?
}

/// All rows of a file, and every index against them.
fn read(file: &impl super::Bytes, of_maria: bool) -> Result<Vec<Vec<u8>>, Error> {
    let space = Tablespace::open(file)?;
    let table = table(&space, of_maria)?;
    rows(&space, &table)
}

fn rows(space: &Tablespace<'_>, table: &Table) -> Result<Vec<Vec<u8>>, Error> {
    let leaves = Leaves::of(space, &table.clustered, table.redundant)?;
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let mut rows = Rows::new(space, table, leaves.id, &columns)?.deriving(&table.secondary)?;
    let mut all = Vec::new();
    rows.scan(&leaves.all, |row| {
        all.push(row.to_vec());
        Ok::<_, Error>(())
    })?;
    for (index, wanted) in rows.derived() {
        let leaves = Leaves::of(space, index, table.redundant)?;
        let found = Entries::of_index(space, table, index, leaves.id, &leaves.all)?;
        if found != wanted {
            return Err(Error::Definition(format!("index {} differs", index.name)));
        }
    }
    Ok(all)
}

fn cell(text: &[u8], row: &mut Vec<u8>) {
    if text.len() < 251 {
        row.push(text.len() as u8);
    } else {
        row.push(0xfc);
        row.extend((text.len() as u16).to_le_bytes());
    }
    row.extend(text);
}

/// The rows that were put in, in the order of their key.
fn wanted() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for id in (0..400usize).filter(|id| id % 10 != 3) {
        let mut row = Vec::new();
        cell(id.to_string().as_bytes(), &mut row);
        let letter = [b'a' + (id % 26) as u8];
        match id {
            ..300 => cell(&letter.repeat(id % 50), &mut row),
            300..350 => cell(b"later", &mut row),
            _ => cell(b"last", &mut row),
        }
        if id < 300 && id % 50 == 0 {
            // Its spaces at the end are part of the text.
            cell(&b"long ".repeat(1200 + id), &mut row);
        } else {
            row.push(0xfb);
        }
        match id {
            ..300 => cell(b"42", &mut row),
            300..350 => cell((id - 300).to_string().as_bytes(), &mut row),
            _ => row.push(0xfb),
        }
        all.push(row);
    }
    all
}

#[test]
fn files_of_all_page_sizes_and_checksums_are_read() {
    for (name, packed) in FILES {
        let rows = read(&unpacked(packed), name.starts_with("ma"));
        let rows = rows.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(rows.len(), 360, "{name}");
        assert!(rows == wanted(), "{name}");
    }
}

#[test]
fn the_newest_version_of_an_updated_document_is_read() {
    let (_, packed) = fixture!("myjson");
    let rows = read(&unpacked(packed), false).expect("rows");
    let document = |m: &str, a: u8, z: &[u8]| {
        let text = [
            b"{\"a\": \"",
            &[a].repeat(30_000)[..],
            b"\", \"m\": \"",
            m.as_bytes(),
            b"\", \"z\": \"",
            z,
            b"\"}",
        ];
        text.concat()
    };
    for (row, (id, wanted)) in rows.iter().zip([
        (b'1', document("four", b'x', b"short")),
        (b'2', document("fixed", b'v', &[b'w'].repeat(30_000))),
    ]) {
        let mut all = Vec::new();
        cell(&[id], &mut all);
        cell(&wanted, &mut all);
        assert!(*row == all, "{}", id as char);
    }
    assert_eq!(rows.len(), 2);
}

/// A flipped bit in a page that has a checksum is an error, or is where no row and no entry is affected.
#[test]
fn flipped_bits_are_noticed_or_harmless() {
    // A page without a checksum shows nothing.
    let thorough = std::env::var_os("PENSTOCK_THOROUGH").is_some();
    let is_chosen = |name: &str| match thorough {
        true => name != "mynone",
        false => ["my4k", "ma4k", "myinno"].contains(&name),
    };
    for (name, packed) in FILES.into_iter().filter(|(name, _)| is_chosen(name)) {
        let mut file = unpacked(packed);
        let wanted = wanted();
        let of_maria = name.starts_with("ma");
        assert!(read(&file, of_maria).expect("rows") == wanted, "{name}");
        let mut noticed = 0;
        for at in (0..file.len()).step_by(if thorough { 1 } else { 97 }) {
            let bit = 1 << (at % 8);
            file[at] ^= bit;
            match read(&file, of_maria) {
                Ok(rows) => assert!(rows == wanted, "{name}: byte {at}"),
                Err(_) => noticed += 1,
            }
            file[at] ^= bit;
        }
        assert!(noticed > 100, "{name}: {noticed}");
    }
}

/// Whoever reads with direct I/O needs a buffer at an address that is a multiple of 4 KiB.
#[test]
fn pages_are_read_to_where_direct_io_can() {
    struct Aligned {
        bytes: Vec<u8>,
        reads: std::sync::atomic::AtomicUsize,
    }
    impl super::Bytes for Aligned {
        fn length(&self) -> std::io::Result<u64> {
            self.bytes.length()
        }

        fn read_at(&self, at: u64, to: &mut [u8]) -> std::io::Result<()> {
            if to.len() >= 4096 {
                assert_eq!(to.as_ptr().align_offset(4096), 0, "{} bytes", to.len());
                assert_eq!((at % 4096, to.len() % 4096), (0, 0));
                self.reads
                    .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            self.bytes.read_at(at, to)
        }
    }
    for (name, packed) in FILES {
        let file = Aligned {
            bytes: unpacked(packed),
            reads: Default::default(),
        };
        let rows = read(&file, name.starts_with("ma")).expect("rows");
        assert!(rows == wanted(), "{name}");
        assert!(file.reads.into_inner() > 3, "{name}");
    }
}

/// An index is the rows' own if its values are theirs: damage in an entry under a right checksum, as a builder's mistake
/// would leave it, is noticed in every byte of every entry, its length and its NULL flags too.
#[test]
fn an_entry_that_differs_is_noticed_under_a_right_checksum() {
    for (name, format) in [("mynone", Format::MySql), ("ma16", Format::MariaDb)] {
        let (_, packed) = FILES.into_iter().find(|f| f.0 == name).expect("a fixture");
        let mut file = unpacked(packed);
        let table = {
            let space = Tablespace::open(&file).expect("a tablespace");
            let mut table = table(&space, format == Format::MariaDb).expect("a table");
            if format == Format::MariaDb {
                // The server's dictionary has the root; here it is the page behind the clustered index's.
                let (key, root) = (&definition().keys[1], table.clustered.root + 1);
                table.secondary = vec![mariadb::secondary(&table, key, root).expect("an index")];
            }
            assert!(rows(&space, &table).expect("rows") == wanted(), "{name}");
            table
        };
        let index = &table.secondary[0];
        let mut places = Vec::new();
        {
            let space = Tablespace::open(&file).expect("a tablespace");
            let leaves = Leaves::of(&space, index, table.redundant).expect("leaves");
            let records = Records::of(index, table.redundant);
            for leaf in &leaves.all {
                let page = leaf.page as usize * SIZE..(leaf.page as usize + 1) * SIZE;
                let mut chain = Chain::of(&file[page.clone()]);
                while let Some(at) = chain.next().expect("an entry") {
                    if chain.info(at) & info::DELETED != 0 {
                        continue;
                    }
                    let mut spans = records.spans();
                    let read = records.leaf(&file[page.clone()], at, &mut spans);
                    read.expect("an entry");
                    let length = |span: &Span| match span.of(&file[page.clone()]) {
                        Found::Whole(bytes) => bytes.len(),
                        _ => 0,
                    };
                    let values: usize = spans.iter().map(length).sum();
                    places.extend((at..at + values).map(|at| (page.start, page.start + at, 0xff)));
                    // Before the five bytes of the header: the flags of NULL, then the length of `v`.
                    let header = page.start + at - 5;
                    places.push((page.start, header, info::DELETED));
                    places.push((page.start, header - 1, 1));
                    if matches!(spans[0].of(&file[page.clone()]), Found::Whole(_)) {
                        places.push((page.start, header - 2, 0xff));
                    }
                }
            }
        }
        assert!(places.len() > 360 * 6, "{name}: {}", places.len());
        for (n, (page, at, bits)) in places.into_iter().enumerate() {
            let bit = match bits {
                0xff => 1 << (n % 8),
                bit => bit,
            };
            let flip = |file: &mut Vec<u8>| {
                file[at] ^= bit;
                format.seal(&mut file[page..page + SIZE]);
            };
            flip(&mut file);
            let space = Tablespace::open(&file).expect("a tablespace");
            let why = rows(&space, &table).err().map(|e| e.to_string());
            let why = why.unwrap_or_else(|| panic!("{name}: byte {at}, bit {bit:#x}"));
            assert!(!why.contains("checksum"), "{name}: {why}");
            flip(&mut file);
        }
        let space = Tablespace::open(&file).expect("a tablespace");
        assert!(rows(&space, &table).expect("rows") == wanted(), "{name}");
    }
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let file = unpacked(FILES[7].1);
    let flags = crate::format::FLAGS;
    for (value, says) in [
        (0x4029u32, "ROW_FORMAT=COMPRESSED"),
        (0x6021, "an encrypted tablespace"),
        (0x35, "page compression"),
        (0x1_0021, "page compression"),
        (0x12, "flags 0x12"),
        (0x8000_0021, "flags 0x80000021"),
    ] {
        let mut file = file.clone();
        file[flags..flags + 4].copy_from_slice(&value.to_be_bytes());
        let error = Tablespace::open(&file).err().expect("an error");
        assert!(error.to_string().contains(says), "{error}");
    }
    let short = file[..100].to_vec();
    assert!(Tablespace::open(&short).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Damage whose sum is right: told or not, it is never the end of the program.
    #[test]
    fn no_damage_ends_the_program(
        places in proptest::collection::vec((0usize..1 << 20, any::<u8>()), 1..12),
        maria in any::<bool>(),
        near in any::<bool>(),
    ) {
        let (at, format) = if maria { (7, Format::MariaDb) } else { (4, Format::MySql) };
        let mut file = unpacked(FILES[at].1);
        for (at, byte) in places {
            // In the headers of pages, or anywhere.
            let at = if near { at / SIZE * SIZE + at % 300 } else { at };
            let at = at % file.len();
            file[at] = byte;
            let page = at / SIZE * SIZE;
            format.seal(&mut file[page..page + SIZE]);
        }
        let _ = read(&file, maria);
    }
}

/// The leaves of an index as its levels above have them: page, first key, first key behind it.
type Walked = Vec<(u32, Option<nodes::Key>, Option<nodes::Key>)>;

fn walked(
    space: &Tablespace<'_>,
    table: &Table,
    index: &super::Index,
) -> Result<(Walked, Nodes), Error> {
    let mut all = Walked::new();
    let nodes = Nodes::walk(space, index, table.redundant, &mut |leaf, from, to| {
        all.push((leaf, from.cloned(), to.cloned()));
    })?;
    Ok((all, nodes))
}

#[test]
fn leaves_lie_between_their_bounds() {
    let mut with_several = 0;
    for (name, packed) in FILES {
        let file = unpacked(packed);
        let space = Tablespace::open(&file).expect("a tablespace");
        let of_maria = name.starts_with("ma");
        let table = table(&space, of_maria).expect("a table");
        for index in std::iter::once(&table.clustered).chain(&table.secondary) {
            let leaves = Leaves::of(&space, index, table.redundant).expect("leaves");
            let (walked, nodes) = walked(&space, &table, index).expect("a walk");
            assert_eq!(nodes.id, leaves.id);
            assert!(nodes.lost.is_empty(), "{name}: {:?}", nodes.lost);
            let pages: Vec<u32> = walked.iter().map(|w| w.0).collect();
            let known: Vec<u32> = leaves.all.iter().map(|l| l.page).collect();
            assert_eq!(pages, known, "{name}, {}", index.name);
            // From one end of the index to the other, without a gap.
            assert_eq!(walked.first().map(|w| &w.1), Some(&None));
            assert_eq!(walked.last().map(|w| &w.2), Some(&None));
            assert!(
                walked
                    .windows(2)
                    .all(|w| w[0].2 == w[1].1 && w[0].2.is_some())
            );
            with_several += usize::from(walked.len() > 1);
        }
        let leaves = Leaves::of(&space, &table.clustered, table.redundant).expect("leaves");
        let id = table.column("id").expect("a column");
        let mut rows = Rows::new(&space, &table, leaves.id, &[id]).expect("a reader");
        let (walked, _) = walked(&space, &table, &table.clustered).expect("a walk");
        // INT is stored with its sign turned, the high byte first.
        let number = |key: &Option<nodes::Key>| {
            let stored = key.as_ref()?.first()?.as_deref()?;
            Some(i64::from(u32::from_be_bytes(stored.try_into().ok()?)) - (1 << 31))
        };
        for (leaf, (_, from, to)) in leaves.all.iter().zip(&walked) {
            rows.scan(&[*leaf], |row| {
                let text = std::str::from_utf8(&row[1..]).expect("digits");
                let id: i64 = text.parse().expect("a number");
                assert!(number(from).is_none_or(|from| from <= id), "{name}: {id}");
                assert!(number(to).is_none_or(|to| id < to), "{name}: {id}");
                Ok::<_, Error>(())
            })
            .expect("rows");
        }
    }
    assert!(with_several > 5, "{with_several}");
}

#[test]
fn damage_above_the_leaves_costs_what_is_below() {
    let file = unpacked(FILES[0].1);
    let size = Tablespace::open(&file).expect("a tablespace").page_size();
    let whole = {
        let space = Tablespace::open(&file).expect("a tablespace");
        let table = table(&space, false).expect("a table");
        walked(&space, &table, &table.clustered).expect("a walk")
    };
    for page in whole.1.above {
        let mut damaged = file.clone();
        damaged[page as usize * size + 200] ^= 0x55;
        let space = Tablespace::open(&damaged).expect("a tablespace");
        let table = table(&space, false).expect("a table");
        match walked(&space, &table, &table.clustered) {
            Err(Error::Damaged { page: named, .. }) => {
                assert_eq!((named, page), (table.clustered.root, table.clustered.root));
            }
            Err(e) => panic!("{e}"),
            Ok((leaves, nodes)) => {
                assert!(leaves.len() < whole.0.len() && !nodes.lost.is_empty());
                assert!(leaves.iter().all(|l| whole.0.contains(l)));
            }
        }
    }
}

#[test]
fn off_page_values_are_named_by_their_leaf() {
    let mut found = 0;
    for (name, packed) in FILES {
        let file = unpacked(packed);
        let space = Tablespace::open(&file).expect("a tablespace");
        let table = table(&space, name.starts_with("ma")).expect("a table");
        let leaves = Leaves::of(&space, &table.clustered, table.redundant).expect("leaves");
        for leaf in &leaves.all {
            let of = &table.clustered;
            let pages = nodes::off_page(&space, of, table.redundant, leaves.id, leaf.page);
            for page in pages.expect("pages") {
                // A chain, or the first page of a long value (`FIL_PAGE_TYPE_BLOB`, `FIL_PAGE_TYPE_LOB_FIRST`).
                let mut window = Default::default();
                let bytes = space.page(&mut window, page).expect("a page");
                let kind = u16::from_be_bytes([bytes[24], bytes[25]]);
                assert!(
                    matches!(kind, 10 | 24),
                    "{name}: page {page} is of kind {kind}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 0);
}

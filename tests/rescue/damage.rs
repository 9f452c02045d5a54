//! Damaged files: what is lost is what the damaged pages had, and it is named.

use super::scene::Scene;
use crate::kit::each_kind;
use innodb::page::{fil, index, kind, u16_at, u32_at, u64_at};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use testkit::Kind;

const SIZE: usize = 16384;

/// Three kinds of rows: short ones, one in fifty with a long value, and what was deleted.
const TABLE: &str = "CREATE DATABASE d; USE d; \
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300), l LONGTEXT, KEY v (v(20))); \
    INSERT INTO t SELECT n, REPEAT(CHAR(97 + n % 26), 200), IF(n % 500 = 0, REPEAT('long', 20000), NULL) FROM {COUNT} WHERE n < 6000; \
    DELETE FROM t WHERE id BETWEEN 2000 AND 2700;";

/// A file and what is in it.
struct Whole {
    bytes: Vec<u8>,
    /// Keys by leaf, in key order.
    leaves: Vec<(usize, Vec<u64>)>,
    root: usize,
    /// Pages of long values.
    long: Vec<usize>,
}

fn page(bytes: &[u8], n: usize) -> &[u8] {
    &bytes[n * SIZE..(n + 1) * SIZE]
}

/// The keys of a leaf of COMPACT or DYNAMIC, by its chain of records; the deleted ones left out.
fn keys(page: &[u8]) -> Vec<u64> {
    let (mut at, mut all) = (index::INFIMUM, Vec::new());
    loop {
        at = (at + usize::from(u16_at(page, at - 2))) % SIZE;
        if at == index::SUPREMUM {
            return all;
        }
        if page[at - 5] & 0x20 == 0 {
            all.push(u64::from(u32_at(page, at) ^ 1 << 31));
        }
    }
}

impl Whole {
    fn read(scene: &Scene, kind: Kind) -> Whole {
        let bytes = std::fs::read(scene.server.datadir().join("d/t.ibd")).expect("a file");
        let count = bytes.len() / SIZE;
        let root = if kind.flavour() == Kind::MySql { 4 } else { 3 };
        let id = u64_at(page(&bytes, root), index::ID);
        let of_rows = |n: &usize| {
            let page = page(&bytes, *n);
            u16_at(page, fil::TYPE) == kind::INDEX && u64_at(page, index::ID) == id
        };
        // Along the list, from the leaf that has none before it.
        let leaf = |n: &usize| of_rows(n) && u16_at(page(&bytes, *n), index::LEVEL) == 0;
        let first = (0..count)
            .find(|n| leaf(n) && u32_at(page(&bytes, *n), fil::PREV) == u32::MAX && *n != root);
        let mut at = first.expect("a first leaf");
        let mut leaves = Vec::new();
        while at < count {
            leaves.push((at, keys(page(&bytes, at))));
            at = u32_at(page(&bytes, at), fil::NEXT) as usize;
        }
        let is_long = |n: &usize| matches!(u16_at(page(&bytes, *n), fil::TYPE), 10 | 23 | 24);
        let whole = Whole {
            long: (0..count).filter(is_long).collect(),
            root,
            leaves,
            bytes,
        };
        assert!(whole.leaves.len() > 40 && whole.long.len() > 20);
        whole
    }

    fn all(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.leaves.iter().flat_map(|l| l.1.clone()).collect();
        all.sort_unstable();
        all
    }

    /// All keys but those of these leaves.
    fn without(&self, leaves: &[usize]) -> Vec<u64> {
        let kept = self.leaves.iter().filter(|l| !leaves.contains(&l.0));
        let mut all: Vec<u64> = kept.flat_map(|l| l.1.clone()).collect();
        all.sort_unstable();
        all
    }
}

/// Bytes that look like nothing, the same in each run.
fn noise(seed: usize, to: &mut [u8]) {
    let mut state = seed as u64 + 0x9e37_79b9;
    for b in to {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *b = (state >> 33) as u8;
    }
}

struct Bench<'s> {
    scene: &'s Scene,
    whole: Whole,
    file: PathBuf,
}

impl Bench<'_> {
    /// Rescues a file of these bytes; keys, and the summary. `None`: nothing could be read.
    fn rescue(&self, what: &str, bytes: &[u8], code: i32) -> Option<(Vec<u64>, Value)> {
        std::fs::write(&self.file, bytes).expect("it is written");
        self.scene.remove("x");
        let done = self
            .scene
            .rescue(&[&self.file], "x", &["--compression", "none"]);
        // Where nothing that was overwritten had rows, none are lost.
        let fits = done.code == code || done.code == 0 && what == "overwritten";
        assert!(fits, "{what}: {}\n{}", done.out, done.err);
        if code == 5 {
            return None;
        }
        Some((self.scene.ids("x", "t"), done.summary()))
    }

    fn damaged(&self, what: &str, change: impl FnOnce(&mut Vec<u8>)) -> (Vec<u64>, String) {
        let mut bytes = self.whole.bytes.clone();
        change(&mut bytes);
        let (ids, summary) = self.rescue(what, &bytes, 3).expect("rows");
        let exceptions = summary["exceptions"].to_string();
        (ids, exceptions)
    }
}

each_kind!(damage_costs_the_rows_of_its_pages; mysql, mariadb);
fn damage_costs_the_rows_of_its_pages(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(&crate::kit::fixtures::script(TABLE));
    scene.server.stop().expect("it shuts down");
    let whole = Whole::read(&scene, kind);
    let directory = scene.path("d");
    std::fs::create_dir(&directory).expect("a directory");
    let frm = scene.server.datadir().join("d/t.frm");
    if frm.exists() {
        std::fs::copy(&frm, directory.join("t.frm")).expect("a copy");
    }
    let b = Bench {
        scene: &scene,
        whole,
        file: directory.join("t.ibd"),
    };
    let w = &b.whole;
    let all = w.all();
    assert_eq!(all.len(), 6000 - 701);
    let (ids, _) = b.rescue("whole", &w.bytes, 0).expect("rows");
    assert_eq!(ids, all);

    let middle = w.leaves[w.leaves.len() / 2].0;
    let flip = |bytes: &mut Vec<u8>| bytes[middle * SIZE + 5000] ^= 1;
    let root = |bytes: &mut Vec<u8>| noise(1, &mut bytes[w.root * SIZE..(w.root + 1) * SIZE]);
    let named = format!("page {middle}: its checksum is wrong");

    let (ids, said) = b.damaged("a leaf", flip);
    assert_eq!(ids, w.without(&[middle]));
    assert!(said.contains(&named), "{said}");

    let (ids, said) = b.damaged("the root", root);
    assert_eq!(ids, all);
    assert!(said.contains("the index of the rows is damaged"), "{said}");

    let (ids, said) = b.damaged("the root and a leaf", |bytes| {
        root(bytes);
        flip(bytes);
    });
    assert_eq!(ids, w.without(&[middle]));
    assert!(said.contains(&named), "{said}");

    let (ids, said) = b.damaged("page 0", |bytes| bytes[..SIZE].fill(0));
    assert_eq!(ids, all);
    assert!(said.contains("page 0: it is empty"), "{said}");

    let (ids, said) = b.damaged("page 0 in part, the root, a leaf", |bytes| {
        noise(2, &mut bytes[100..9000]);
        root(bytes);
        flip(bytes);
    });
    assert_eq!(ids, w.without(&[middle]));
    assert!(said.contains("page 0") && said.contains(&named), "{said}");

    // Empty ones are known by what the others lead to.
    let some: Vec<usize> = w.leaves[5..9].iter().map(|l| l.0).collect();
    for with_root in [false, true] {
        let (ids, said) = b.damaged("empty leaves", |bytes| {
            for n in &some {
                bytes[n * SIZE..(n + 1) * SIZE].fill(0);
            }
            if with_root {
                root(bytes);
            }
        });
        assert_eq!(ids, w.without(&some));
        assert!(
            said.contains(&format!("page {}: it is empty", some[0])),
            "{said}"
        );
    }

    let end = w.leaves.iter().map(|l| l.0).max().expect("leaves") - 10;
    let (ids, said) = b.damaged("cut", |bytes| bytes.truncate(end * SIZE + 777));
    let gone: Vec<usize> = w.leaves.iter().map(|l| l.0).filter(|n| *n >= end).collect();
    // A long value may lie behind the end; its row is then apart.
    let wanted = w.without(&gone);
    assert!(ids.iter().all(|id| wanted.contains(id)), "{ids:?}");
    let short: Vec<u64> = wanted.into_iter().filter(|id| id % 500 != 0).collect();
    assert!(short.iter().all(|id| ids.contains(id)));
    assert!(
        said.contains(&format!("it ends after page {}", end - 1)),
        "{said}"
    );

    // A row that lacks its long value is not mixed with the others, and not lost.
    let long = w.long[7];
    let (ids, said) = b.damaged("a long value", |bytes| {
        noise(3, &mut bytes[long * SIZE..(long + 1) * SIZE])
    });
    let partial = scene.ids("x", "t__partial");
    assert_eq!(partial.len(), 1, "{said}");
    assert_eq!(partial[0] % 500, 0);
    let rest: Vec<u64> = all.iter().copied().filter(|id| *id != partial[0]).collect();
    assert_eq!(ids, rest);
    assert!(
        said.contains(&format!(
            "the row ({}) lacks values: page {long}",
            partial[0]
        )),
        "{said}"
    );

    // Nothing at all.
    let mut bytes = w.bytes.clone();
    noise(4, &mut bytes);
    b.rescue("noise", &bytes, 5);
    bytes.fill(0);
    b.rescue("zeros", &bytes, 5);
    b.rescue("nothing", &[], 5);
    b.rescue("less than a page", &w.bytes[..3000], 5);

    // Whatever is overwritten: no row is made up, none is there twice, and those of whole leaves are there.
    for round in 0..12 {
        let mut bytes = w.bytes.clone();
        let mut hit = BTreeMap::new();
        for n in 0..=round {
            let mut at = [0; 8];
            noise(round * 100 + n, &mut at);
            let at = usize::from_le_bytes(at) % bytes.len();
            let until = (at + 1 + n * 3000).min(bytes.len());
            noise(n, &mut bytes[at..until]);
            for page in at / SIZE..=(until - 1) / SIZE {
                hit.insert(page, ());
            }
        }
        // Without a description there is nothing to be had.
        if kind.flavour() == Kind::MySql && hit.contains_key(&3) {
            continue;
        }
        let (ids, summary) = b.rescue("overwritten", &bytes, 3).unwrap_or_default();
        let lost: Vec<usize> = w
            .leaves
            .iter()
            .map(|l| l.0)
            .filter(|n| hit.contains_key(n))
            .collect();
        let wanted = w.without(&lost);
        let there: std::collections::BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(there.len(), ids.len(), "round {round}");
        for id in &wanted {
            assert!(
                there.contains(id) || id % 500 == 0,
                "round {round}: {id}: {summary}"
            );
        }
        let made_up: Vec<_> = there.iter().filter(|id| !wanted.contains(id)).collect();
        assert!(made_up.is_empty(), "round {round}: {made_up:?}");
    }
}

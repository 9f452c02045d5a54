use super::*;

struct Nowhere;

impl Sink for Nowhere {
    fn write(&self, _: u32, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

const SHAPES: [Shape; 2] = [
    Shape::Record,
    Shape::Key {
        bytes: 4,
        unique: 4,
    },
];

/// Passes on `n` records whose keys are in no order.
fn fill(sorter: &Sorter<'_>, n: u32) -> Result<(), Error> {
    let mut batch = sorter.batch();
    for i in 0..n {
        let key = (i.wrapping_mul(2_654_435_761)).to_be_bytes();
        let record = Encoded {
            bytes: [&[0; 5][..], &key].concat(),
            origin: 5,
        };
        if batch.push(&key, 4, &record)? {
            sorter.take(&mut batch)?;
        }
    }
    sorter.take(&mut batch)
}

/// Whether that many records come, each after the previous one.
fn come_in_order(sorter: Sorter<'_>, n: u32) {
    let mut last = None;
    let mut count = 0;
    let handed = sorter.drain("k", |r| {
        let key = r.bytes[r.origin..].to_vec();
        assert!(last.as_ref().is_none_or(|last| *last < key));
        last = Some(key);
        count += 1;
        Ok(())
    });
    handed.expect("no key is there twice");
    assert_eq!(count, n);
}

#[test]
fn records_come_in_order_from_memory_and_from_files() {
    for shape in SHAPES {
        for memory in [1 << 30, 1 << 16] {
            let sorter = Sorter::new(shape, memory, std::env::temp_dir(), &Nowhere);
            fill(&sorter, 100_000).expect("taken");
            assert_eq!(sorter.spills() > 3, memory == 1 << 16);
            come_in_order(sorter, 100_000);
        }
    }
}

#[test]
fn however_much_comes_there_are_few_files() {
    for shape in SHAPES {
        let mut sorter = Sorter::new(shape, 1 << 16, std::env::temp_dir(), &Nowhere);
        sorter.fan_in = 3;
        fill(&sorter, 1_000_000).expect("taken");
        assert!(sorter.spills() > 50, "{}", sorter.spills());
        let sizes: Vec<usize> = lock(&sorter.files).sizes.iter().map(Vec::len).collect();
        assert!(sizes.len() > 3 && sizes.iter().all(|n| *n < 3), "{sizes:?}");
        come_in_order(sorter, 1_000_000);
    }
}

#[test]
fn files_are_not_joined_for_nobody() {
    struct Stopped;
    impl Sink for Stopped {
        fn write(&self, _: u32, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn goes_on(&self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::Interrupted.into())
        }
    }
    for shape in SHAPES {
        let mut sorter = Sorter::new(shape, 1 << 16, std::env::temp_dir(), &Stopped);
        sorter.fan_in = 8;
        assert!(fill(&sorter, 1_000_000).is_err());
    }
}

/// Keys that differ only after their stored prefix.
#[test]
fn long_keys_that_begin_alike_come_in_order() {
    for memory in [1 << 30, 1 << 16] {
        let sorter = Sorter::new(Shape::Record, memory, std::env::temp_dir(), &Nowhere);
        let mut batch = sorter.batch();
        for i in 0..20_000u32 {
            let key = format!("{:02}-the same for many-{:05}", i % 7, i * 7919 % 20_000);
            let record = Encoded {
                bytes: [&[0; 5][..], key.as_bytes()].concat(),
                origin: 5,
            };
            if batch.push(key.as_bytes(), 0, &record).expect("a short key") {
                sorter.take(&mut batch).expect("taken");
            }
        }
        sorter.take(&mut batch).expect("taken");
        let mut all = Vec::new();
        let handed = sorter.drain("k", |r| {
            all.push(r.bytes.clone());
            Ok(())
        });
        handed.expect("no key is there twice");
        assert_eq!(all.len(), 20_000);
        assert!(all.windows(2).all(|w| w[0] < w[1]));
    }
}

#[test]
fn what_is_there_twice_is_found() {
    for (unique, second, ok) in [
        (1, b"ab", false),
        (0, b"ab", true),
        (1, b"bb", true),
        (0, b"aa", false),
    ] {
        for shape in [Shape::Record, Shape::Key { bytes: 2, unique }] {
            let sorter = Sorter::new(shape, 1 << 20, std::env::temp_dir(), &Nowhere);
            let record = Encoded {
                bytes: vec![0; 6],
                origin: 5,
            };
            let mut batch = sorter.batch();
            for key in [b"aa", second] {
                batch.push(key, unique, &record).expect("a short key");
            }
            sorter.take(&mut batch).expect("taken");
            assert_eq!(
                sorter.drain("k", |_| Ok(())).is_ok(),
                ok,
                "{unique} {second:?} {shape:?}"
            );
        }
    }
}

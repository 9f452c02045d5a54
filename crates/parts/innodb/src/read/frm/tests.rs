//! Files that MariaDB 10.11.19 wrote for tests/fixtures/definitions_mariadb.sql.

use super::*;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/frm/", $name, ".frm"))
    };
}

const FILES: [&[u8]; 6] = [
    file!("every"),
    file!("named"),
    file!("parts"),
    file!("hashed"),
    file!("compressed"),
    file!("paged"),
];

#[test]
fn tables_are_told() {
    let every = Frm::read(file!("every")).expect("a table");
    assert_eq!((every.version, every.engine.as_str()), (101_119, "InnoDB"));
    assert_eq!(every.row_format, Some("COMPACT"));
    assert_eq!(every.comment, "it's a table");
    let of = |name: &str| {
        every
            .columns
            .iter()
            .find(|c| c.name == name)
            .expect("a column")
    };
    assert_eq!(of("d").column_type, "decimal(10,3) unsigned zerofill");
    assert_eq!(of("e").column_type, r"enum('ä','b','it''s','c\\')");
    assert_eq!(of("e").members.as_ref().expect("members")[0], [0xe4]);
    assert_eq!(of("vu").default, Default::Sql("_utf16 x'00f6'".into()));
    assert_eq!(of("t").default, Default::Sql("'-01:02:03.500'".into()));
    assert_eq!(of("gv").generated.as_ref().map(|g| g.stored), Some(false));
    assert!(of("id").auto_increment && !of("id").nullable);
    let primary = &every.keys[0];
    assert_eq!((primary.kind, primary.parts.len()), (KeyKind::Primary, 2));
    assert!(primary.parts[1].descending);

    let named = Frm::read(file!("named")).expect("a table");
    assert_eq!(named.system_time, Some((1, 2)));
    let parts = Frm::read(file!("parts")).expect("a table");
    assert_eq!(parts.engine, "InnoDB");
    assert!(
        parts
            .partitions
            .expect("partitions")
            .starts_with("PARTITION BY RANGE")
    );
    let hashed = Frm::read(file!("hashed")).expect("a table");
    assert_eq!(hashed.keys[0].kind, KeyKind::UniqueHash);
    let paged = Frm::read(file!("paged")).expect("a table");
    assert_eq!(paged.option("page_compressed"), Some("1"));
    assert_eq!(paged.options[0].0, "PAGE_COMPRESSED");
}

#[test]
fn what_is_no_table_is_refused() {
    for (file, says) in [
        (&b"TYPE=VIEW\nquery=select 1\n"[..], "a view"),
        (b"", "not a .frm file"),
        (b"\xfe\x01\x0a", "ends too early"),
    ] {
        let error = Frm::read(file).expect_err("no table").to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut old = FILES[0].to_vec();
    old[51..55].copy_from_slice(&50_568u32.to_le_bytes());
    let error = Frm::read(&old).expect_err("old").to_string();
    assert!(error.contains("version 5.5.68"), "{error}");
}

/// Every byte of every file changed in some ways, and every length: an answer, and no panic.
#[test]
fn damage_is_survived() {
    for file in FILES {
        let mut damaged = file.to_vec();
        for at in 0..file.len() {
            for change in [0x01, 0x80, 0xff, file[at]] {
                damaged[at] = file[at] ^ change;
                if let Ok(frm) = Frm::read(&damaged) {
                    frm.create_table("t");
                }
            }
            damaged[at] = file[at];
            assert!(Frm::read(&file[..at]).is_err());
        }
    }
}

//! The format's keys as written, and older forms as read.

use super::*;
use crate::ArchiveError;
use crate::chunk::Compression;
use crate::row::Encoding;

#[test]
fn a_table_is_written_with_the_formats_keys() {
    let columns = [
        ("id".to_owned(), Encoding::Text),
        ("photo".to_owned(), Encoding::Base64),
    ];
    let meta = TableMeta::new("s", "t", &columns, &["id".to_owned()], Compression::Zstd(1));
    let expected = r#"{
    "options": {
        "schema": "s",
        "table": "t",
        "columns": [
            "id",
            "photo"
        ],
        "decodeColumns": {
            "photo": "FROM_BASE64"
        },
        "defaultCharacterSet": "utf8mb4",
        "fieldsTerminatedBy": "\t",
        "fieldsEnclosedBy": "",
        "fieldsOptionallyEnclosed": false,
        "fieldsEscapedBy": "\\",
        "linesTerminatedBy": "\n"
    },
    "includesData": true,
    "includesDdl": true,
    "extension": "tsv.zst",
    "chunking": true,
    "compression": "zstd",
    "primaryIndex": [
        "id"
    ]
}"#;
    assert_eq!(to_json(&meta), expected);
    let back: TableMeta = parse("x", expected.as_bytes()).unwrap();
    assert_eq!(back, meta);
    assert_eq!(back.plan().columns(), [Encoding::Text, Encoding::Base64]);
    assert!(back.is_default_dialect());
}

#[test]
fn a_table_of_version_1_is_read() {
    let old = r#"{"options": {"schema": "s", "table": "t", "columns": ["a"],
        "primaryIndex": "a", "fieldsTerminatedBy": "\t"}, "extension": "tsv.zst",
        "chunking": true, "somethingNew": {"x": [1]}}"#;
    let meta: TableMeta = parse("x", old.as_bytes()).unwrap();
    assert_eq!(meta.primary_key(), ["a"]);
    assert_eq!(meta.compression("x").unwrap(), Compression::Zstd(1));
    assert!(meta.is_default_dialect() && meta.includes_data);
    let empty = r#"{"options": {"schema": "s", "table": "t", "primaryIndex": ""}}"#;
    let meta: TableMeta = parse("x", empty.as_bytes()).unwrap();
    assert!(meta.primary_key().is_empty());
    assert_eq!(meta.extension, "tsv");
}

#[test]
fn compression_may_carry_a_level() {
    let text = r#"{"options": {"schema": "s", "table": "t"}, "compression": "zstd;level=9"}"#;
    let meta: TableMeta = parse("x", text.as_bytes()).unwrap();
    assert_eq!(meta.compression("x").unwrap(), Compression::Zstd(1));
    let text = text.replace("zstd", "lzma");
    let meta: TableMeta = parse("x", text.as_bytes()).unwrap();
    assert!(matches!(
        meta.compression("x"),
        Err(ArchiveError::Unsupported { .. })
    ));
}

#[test]
fn versions_and_capabilities_are_checked() {
    let with = |version: &str| Root {
        version: version.to_owned(),
        ..Root::default()
    };
    for fine in ["1.0.0", "1.0.2", "2.0.0", "2.0.1", "2.0.9"] {
        with(fine).check_readable().unwrap();
    }
    for newer in ["2.1.0", "3.0.0"] {
        let e = with(newer).check_readable().unwrap_err();
        assert!(matches!(&e, ArchiveError::NewerVersion { found, .. } if found == newer));
    }
    assert!(matches!(
        with("two").check_readable(),
        Err(ArchiveError::Damaged { .. })
    ));
    let mut root = Root::default();
    root.capabilities.push(Capability {
        id: "time_travel".to_owned(),
        description: "rows of tomorrow\x1b[2J".to_owned(),
        version_required: "12.0.0".to_owned(),
    });
    let e = root.check_readable().unwrap_err().to_string();
    assert!(e.contains("time_travel") && e.contains("12.0.0") && !e.contains('\x1b'));
}

#[test]
fn wrong_types_and_deep_nesting_are_damage() {
    for bad in [
        "",
        "[]",
        "{\"schemas\": 1}",
        "{\"schemas\": [], \"schemas\": []}",
        &format!("{{\"x\": {}", "[".repeat(1 << 20)),
    ] {
        let r: Result<Root> = parse("@.json", bad.as_bytes());
        assert!(matches!(r, Err(ArchiveError::Damaged { .. })));
    }
    let root: Root = parse("@.json", b"{\"schemas\": [\"s\"]}").unwrap();
    assert_eq!(root.version, "1.0.0");
    assert!(root.tz_utc);
}

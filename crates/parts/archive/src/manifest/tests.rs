//! Sealed, bounded, and consistent in itself, or refused.

use super::*;
use crate::{ArchiveError, RowDigest};

fn sample() -> Manifest {
    let mut m = Manifest::new("penstock", "0.1.0");
    let mut digest = RowDigest::new();
    digest.add(b"\x01a");
    let file = "s@t@@0.tsv.zst".to_owned();
    m.files.insert(file.clone(), FileRecord::of(b"abc"));
    m.files.insert("@.json".to_owned(), FileRecord::of(b"{}"));
    m.tables.push(TableRecord {
        schema: "s".to_owned(),
        table: "t\n".to_owned(),
        columns: vec!["a".to_owned()],
        row_expressions: None,
        key: vec![],
        condition: None,
        partitions: Vec::new(),
        rows: 0,
        row_digest: String::new(),
        chunks: vec![ChunkEntry {
            file,
            partition: None,
            rows: 1,
            raw_bytes: 2,
            row_digest: digest.to_hex(),
            from: Some("1".to_owned()),
            to: None,
        }],
        generated: Vec::new(),
        indexes_without_digest: Vec::new(),
        identity: None,
    });
    m.tables[0].sum_up();
    m.sum_up();
    m.position.gtid_binlog_pos = Some("0-1-7".to_owned());
    m
}

fn refused(text: &str) -> String {
    Manifest::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn round_trips_sealed() {
    let m = sample();
    let text = m.to_text();
    assert!(text.ends_with("\"\n}\n") && text.contains("\n    \"manifest_blake3\": \""));
    assert!(serde_json::from_str::<Value>(&text).is_ok());
    assert_eq!(Manifest::parse(text.as_bytes()).unwrap(), m);
    assert_eq!(m.totals.stored_bytes, 3);
}

#[test]
fn edits_are_noticed() {
    let text = sample().to_text();
    let edited = text.replace("\"rows\": 1", "\"rows\": 2");
    assert!(refused(&edited).contains("changed since"));
    assert!(refused(&text.replace("    ", "\t")).contains("changed since"));
    assert!(refused(&format!("{text} ")).contains("changed since"));
    assert!(refused(text.trim_end()).contains("changed since"));
}

#[test]
fn a_newer_version_is_named() {
    let text = sample()
        .to_text()
        .replace("\"version\": 1,", "\"version\": 7,");
    let e = Manifest::parse(text.as_bytes()).unwrap_err();
    assert!(matches!(e, ArchiveError::NewerVersion { found, .. } if found == "7"));
    let text = sample().to_text().replace(FORMAT, "other");
    assert!(refused(&text).contains("not a penstock manifest"));
}

#[test]
fn nonsense_is_refused_even_when_sealed() {
    let sealed = |change: &dyn Fn(&mut Manifest)| {
        let mut m = sample();
        change(&mut m);
        refused(&m.to_text())
    };
    for bad in [
        "../x",
        "/x",
        "a/b",
        "penstock.json",
        "penstock.incomplete",
        "",
    ] {
        let what = sealed(&|m| {
            m.files.insert(bad.to_owned(), FileRecord::of(b""));
        });
        assert!(what.contains("lists the file"), "{what}");
    }
    let what = sealed(&|m| {
        m.files.remove("s@t@@0.tsv.zst");
    });
    assert!(what.contains("not among the files"), "{what}");
    assert!(sealed(&|m| m.tables[0].rows = 9).contains("not the sum"));
    assert!(sealed(&|m| m.totals.raw_bytes = 9).contains("totals"));
    assert!(sealed(&|m| m.tables.push(m.tables[0].clone())).contains("twice"));
    assert!(sealed(&|m| m.row_digest = "crc8".to_owned()).contains("crc8"));
    let what = sealed(&|m| {
        if let Some(f) = m.files.get_mut("@.json") {
            f.blake3 = "AB".to_owned();
        }
    });
    assert!(what.contains("is not one"), "{what}");
}

#[test]
fn malformed_text_is_refused_with_its_place() {
    let json = crate::meta::to_json(&sample());
    let twice = json.replace(
        "\"@.json\": {",
        "\"@.json\": {\"bytes\": 1, \"blake3\": \"\"}, \"@.json\": {",
    );
    assert!(refused(&seal::seal(&twice)).contains("listed twice"));
    assert!(refused("").contains("line 1"));
    assert!(refused("{\"format\": ").contains("column"));
    let deep = format!("{{\"x\": {}", "[".repeat(10_000_000));
    assert!(refused(&deep).contains("EOF"));
    let nested = format!(
        "\"options\": {{\"x\": {}{}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let deep = seal::seal(&json.replace("\"options\": {", &nested));
    assert!(refused(&deep).contains("recursion limit"));
    assert!(refused(&" ".repeat(1 << 20)).contains("EOF"));
}

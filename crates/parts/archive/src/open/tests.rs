//! Forms of archives that penstock does not write itself.

use super::*;
use store::Directory;

fn shell_archive(tables: &str, done: bool) -> (tempfile::TempDir, Arc<dyn Store>) {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(tmp.path().join(name), text).unwrap();
    };
    write(
        "@.json",
        r#"{"dumper": "mysqlsh", "version": "1.0.1", "schemas": ["s"]}"#,
    );
    write("s.sql", "");
    write(
        "s.json",
        r#"{"schema": "s", "tables": ["t"], "includesViewsDdl": false, "views": ["v"]}"#,
    );
    write("s@t.json", tables);
    write("s@t.sql", "");
    if done {
        write("@.done.json", "{}");
    }
    (tmp, Arc::new(store))
}

#[test]
fn partitions_have_series_of_their_own() {
    let (tmp, store) = shell_archive(
        r#"{"options": {"schema": "s", "table": "t", "columns": ["a"]}, "chunking": true,
            "partitions": ["p1", "p0"], "basenames": {"p0": "s@t@p0", "p1": "s@t@p1"}}"#,
        true,
    );
    let write = |name: &str| std::fs::write(tmp.path().join(name), "").unwrap();
    write("s@t@p0@0.tsv");
    write("s@t@p0@@1.tsv");
    write("s@t@p1@@0.tsv");
    let archive = Archive::open(store.clone()).unwrap();
    let chunks: Vec<_> = archive.tables().flat_map(|t| &t.chunks).collect();
    let found: Vec<_> = chunks
        .iter()
        .map(|c| (c.partition.as_deref().unwrap(), c.number, c.file.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("p1", 0, "s@t@p1@@0.tsv"),
            ("p0", 0, "s@t@p0@0.tsv"),
            ("p0", 1, "s@t@p0@@1.tsv")
        ]
    );
    assert_eq!(archive.views().count(), 0);
    store.remove("s@t@p0@@1.tsv").unwrap();
    assert!(matches!(
        Archive::open(store),
        Err(ArchiveError::Damaged { .. })
    ));
}

#[test]
fn an_unchunked_table_is_one_file() {
    let table = r#"{"options": {"schema": "s", "table": "t"}, "extension": "tsv.gz"}"#;
    let (tmp, store) = shell_archive(table, true);
    std::fs::write(tmp.path().join("s@t.tsv.gz"), "x").unwrap();
    std::fs::write(tmp.path().join("s@t.tsv.gz.idx"), 77u64.to_be_bytes()).unwrap();
    let archive = Archive::open(store.clone()).unwrap();
    let t = archive.tables().next().unwrap();
    assert_eq!((t.chunks.len(), t.compression), (1, Compression::Gzip));
    assert_eq!(t.chunks[0].raw_bytes, Some(77));
    let mut reader = crate::ChunkReader::open(
        &*store,
        &t.chunks[0].file,
        t.compression,
        crate::Expected::default(),
    )
    .unwrap();
    let mut text = Vec::new();
    assert!(std::io::Read::read_to_end(&mut reader, &mut text).is_err());
}

#[test]
fn unfinished_and_swapped_metadata_are_refused() {
    let table = r#"{"options": {"schema": "s", "table": "t"}, "includesData": false}"#;
    let (_tmp, store) = shell_archive(table, false);
    assert!(matches!(
        Archive::open(store),
        Err(ArchiveError::Incomplete { .. })
    ));
    let (_tmp, store) = shell_archive(table, true);
    assert!(Archive::open(store.clone()).is_ok());
    marker::set(&*store, "0.1.0").unwrap();
    assert!(matches!(
        Archive::open(store.clone()),
        Err(ArchiveError::Incomplete { .. })
    ));
    let (_tmp, store) = shell_archive(&table.replace("\"t\"", "\"u\""), true);
    assert!(matches!(
        Archive::open(store),
        Err(ArchiveError::Damaged { .. })
    ));
}

//! Seeded damage, and the reports it must give.

use super::*;
use crate::chunk::{ChunkWriter, Compression, Scratch, WriteOptions};
use crate::manifest::{ChunkEntry, MANIFEST, TableRecord};
use crate::meta::{DONE, Done, ROOT, Root, SchemaMeta, TableMeta, to_json};
use crate::row::Encoding;
use crate::sqlfile::{self, Header};
use crate::{Archive, Basenames, FileRecord, file, marker};
use std::sync::Arc;
use store::{Directory, Failure, Fault};

const SCHEMA: &str = "s@1";

/// Writes a small archive the way a dump does: two tables, a view, triggers.
fn build(store: &dyn Store, dumper: &str) -> Result<Manifest> {
    marker::set(store, "0.1.0")?;
    let mut m = Manifest::new("penstock", "0.1.0");
    let mut names = Basenames::new();
    let header = Header::default();
    let base = names.schema(SCHEMA);
    let mut root = Root {
        dumper: dumper.to_owned(),
        schemas: vec![SCHEMA.to_owned()],
        ..Root::default()
    };
    root.basenames.insert(SCHEMA.to_owned(), base.clone());
    let mut schema = SchemaMeta::new(SCHEMA);
    let mut done = Done::default();
    let put = |m: &mut Manifest, name: String, text: String| -> Result<()> {
        let record = file::put(store, &name, text.as_bytes(), false)?;
        m.files.insert(name, record);
        Ok(())
    };
    put(&mut m, ROOT.to_owned(), to_json(&root))?;
    put(&mut m, "@.sql".to_owned(), sqlfile::empty_sql(&header))?;
    let create = sqlfile::schema_sql(&header, SCHEMA, "CREATE DATABASE `s@1`", "", &[], &[]);
    put(&mut m, format!("{base}.sql"), create)?;
    let mut scratch = Scratch::new();
    for (table, chunks) in [("t", 3usize), ("T", 1), ("empty\n", 1)] {
        let base = names.table(SCHEMA, table);
        schema.tables.push(table.to_owned());
        schema.basenames.insert(table.to_owned(), base.clone());
        let columns = [
            ("id".to_owned(), Encoding::Text),
            ("bin".to_owned(), Encoding::Base64),
        ];
        let c = Compression::Zstd(1);
        let mut meta = TableMeta::new(SCHEMA, table, &columns, &["id".to_owned()], c);
        meta.triggers.push("tr".to_owned());
        put(&mut m, format!("{base}.json"), to_json(&meta))?;
        let sql = sqlfile::table_sql(&header, SCHEMA, table, "CREATE TABLE `x` (`id` int)");
        put(&mut m, format!("{base}.sql"), sql)?;
        let sql = sqlfile::triggers_sql(&header, SCHEMA, table, "", &[]);
        put(&mut m, format!("{base}.triggers.sql"), sql)?;
        let mut record = TableRecord {
            schema: SCHEMA.to_owned(),
            table: table.to_owned(),
            columns: meta.options.columns.clone(),
            row_expressions: None,
            key: vec!["id".to_owned()],
            condition: None,
            partitions: Vec::new(),
            rows: 0,
            row_digest: String::new(),
            chunks: Vec::new(),
            generated: Vec::new(),
            indexes_without_digest: Vec::new(),
            identity: None,
        };
        for n in 0..chunks {
            let at = if n + 1 == chunks { "@@" } else { "@" };
            let name = format!("{base}{at}{n}.tsv.zst");
            let options = WriteOptions::default();
            let mut w = ChunkWriter::create(store, &name, c, options, &mut scratch)?;
            let rows = if table.starts_with("empty") { 0 } else { 5 };
            for row in 0..rows {
                let payload = [&[2, b'0' + n as u8, b'0' + row, 3], &[0, row, b'\n'][..]].concat();
                w.push(&meta.plan(), &payload)?;
            }
            let chunk = w.finish()?;
            m.add_files_of(&chunk);
            done.data_bytes += chunk.raw_bytes;
            done.chunk_file_bytes.insert(name, chunk.raw_bytes);
            record.chunks.push(ChunkEntry::of(&chunk));
        }
        record.sum_up();
        let rows = done.table_rows.entry(SCHEMA.to_owned()).or_default();
        rows.insert(table.to_owned(), record.rows);
        m.tables.push(record);
    }
    let view = names.table(SCHEMA, "v");
    schema.views.push("v".to_owned());
    schema.basenames.insert("v".to_owned(), view.clone());
    let sql = sqlfile::view_pre_sql(&header, SCHEMA, "v", &["a".to_owned()]);
    put(&mut m, format!("{view}.pre.sql"), sql)?;
    put(
        &mut m,
        format!("{view}.sql"),
        "CREATE VIEW v AS SELECT 1;\n".to_owned(),
    )?;
    put(&mut m, format!("{base}.json"), to_json(&schema))?;
    put(&mut m, DONE.to_owned(), to_json(&done))?;
    m.sum_up();
    m.write(store)?;
    marker::clear(store)?;
    Ok(m)
}

fn run(store: &dyn Store, rows: bool) -> Result<Report> {
    let options = CheckOptions { threads: 1, rows };
    check(store, &options, &|_| {}, &Cancel::new())
}

fn fresh() -> (tempfile::TempDir, Directory, Manifest) {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    let manifest = build(&store, "penstock 0.1.0").unwrap();
    (tmp, store, manifest)
}

/// Changes a file without the store's knowledge: thousands of synced writes would take minutes.
fn put(store: &Directory, name: &str, bytes: &[u8]) {
    std::fs::write(store.path().join(name), bytes).unwrap();
}

/// Damage found: problems that name `file`, or an error.
fn found(store: &dyn Store, rows: bool, file: &str) -> bool {
    match run(store, rows) {
        Ok(report) => report.problems.iter().any(|p| p.file == file),
        Err(_) => true,
    }
}

#[test]
fn a_sound_archive_is_sound() {
    let (_tmp, store, manifest) = fresh();
    for rows in [false, true] {
        let report = run(&store, rows).unwrap();
        assert!(report.sound(), "{:?}", report.problems);
        assert_eq!(report.rows, 20);
        assert_eq!(report.files, manifest.files.len() as u64);
        assert!(report.has_manifest && report.notes.is_empty());
    }
    let archive = Archive::open(Arc::new(store)).unwrap();
    let names: Vec<_> = archive.tables().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["t", "T", "empty\n"]);
    let t = archive.tables().next().unwrap();
    assert_eq!(t.chunks.len(), 3);
    assert_eq!(t.chunks[2].file, "s%401@t@@2.tsv.zst");
    assert_eq!(t.rows, Some(15));
    assert_eq!(t.row_digest, manifest.tables[0].digest());
    assert_eq!(archive.views().count(), 1);
    assert!(
        archive
            .sql(t.ddl.as_ref().unwrap())
            .unwrap()
            .contains("IF NOT EXISTS")
    );
}

#[test]
fn every_flipped_byte_is_found() {
    let (_tmp, store, _) = fresh();
    let files = store.list().unwrap();
    assert!(files.len() > 20);
    for entry in files {
        let good = store.read_all(&entry.name, 1 << 20).unwrap();
        let name = base::units::printable(&entry.name);
        let json = entry.name.ends_with(".json");
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 1 << (i % 8);
            put(&store, &entry.name, &bad);
            assert!(found(&store, false, &name), "{name}, byte {i}");
            if json {
                let opened = Archive::open(Arc::new(store.clone()));
                assert!(opened.is_err(), "{name} opened, byte {i}");
            } else {
                assert!(found(&store, true, &name), "{name}, byte {i}, with rows");
            }
        }
        put(&store, &entry.name, &good);
    }
    assert!(run(&store, true).unwrap().sound());
}

#[test]
fn every_length_and_every_absence_is_found() {
    let (_tmp, store, _) = fresh();
    for entry in store.list().unwrap() {
        let good = store.read_all(&entry.name, 1 << 20).unwrap();
        let name = base::units::printable(&entry.name);
        for cut in 0..good.len() {
            put(&store, &entry.name, &good[..cut]);
            assert!(found(&store, false, &name), "{name} cut at {cut}");
        }
        for tail in [&b"\0"[..], b"\n", b" ", &good] {
            put(&store, &entry.name, &[&good, tail].concat());
            let longer = good.len() + tail.len() > good.len();
            assert!(!longer || found(&store, false, &name), "{name} extended");
        }
        store.remove(&entry.name).unwrap();
        assert!(found(&store, false, &name), "{name} missing");
        put(&store, &entry.name, &good);
    }
    assert!(run(&store, true).unwrap().sound());
}

#[test]
fn one_run_reports_all_damage_and_names_it() {
    let (_tmp, store, manifest) = fresh();
    for t in &manifest.tables[..2] {
        for chunk in &t.chunks {
            let mut bytes = store.read_all(&chunk.file, 1 << 20).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            store.put(&chunk.file, &bytes).unwrap();
        }
    }
    store.remove("@.sql").unwrap();
    store.put("strange\x1b", b"x").unwrap();
    store.put("load-progress.1234.json", b"{}").unwrap();
    let report = run(&store, false).unwrap();
    assert_eq!(report.problems.len(), 5, "{:#?}", report.problems);
    assert_eq!(report.notes.len(), 1);
    let p = report.problems.iter().find(|p| p.chunk == Some(1)).unwrap();
    assert_eq!(p.file, "s%401@t@1.tsv.zst");
    assert_eq!(p.table.as_deref(), Some("t"));
    // Not damage: nothing reads it.
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].starts_with("strange\\u{1b} is not part"));
    assert!(
        report
            .problems
            .iter()
            .any(|p| p.kind == ProblemKind::Missing)
    );
}

#[test]
fn chunks_that_changed_places_are_found() {
    let (_tmp, store, manifest) = fresh();
    let (a, b) = (
        &manifest.tables[0].chunks[0].file,
        &manifest.tables[0].chunks[1].file,
    );
    let (bytes_a, bytes_b) = (
        store.read_all(a, 1 << 20).unwrap(),
        store.read_all(b, 1 << 20).unwrap(),
    );
    store.put(a, &bytes_b).unwrap();
    store.put(b, &bytes_a).unwrap();
    assert_eq!(run(&store, false).unwrap().problems.len(), 2);
}

#[test]
fn a_manifest_that_lies_about_rows_is_found_by_decoding() {
    let (_tmp, store, manifest) = fresh();
    let mut lying = manifest.clone();
    let mut digest = crate::RowDigest::new();
    (0..5u8).for_each(|i| digest.add(&[1, i, 0xFB]));
    lying.tables[1].chunks[0].row_digest = digest.to_hex();
    lying.tables[1].sum_up();
    lying.write(&store).unwrap();
    assert!(run(&store, false).unwrap().sound());
    let report = run(&store, true).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert_eq!(report.problems[0].table.as_deref(), Some("T"));

    // An index that is well recorded and wrong.
    let mut lying = manifest;
    let name = format!("{}.idx", lying.tables[0].chunks[0].file);
    let wrong = 7u64.to_be_bytes();
    store.put(&name, &wrong).unwrap();
    lying.files.insert(name.clone(), FileRecord::of(&wrong));
    lying.write(&store).unwrap();
    let report = run(&store, true).unwrap();
    assert_eq!(report.problems[0].file, name);
}

#[test]
fn a_dump_that_failed_anywhere_is_incomplete() {
    let mut failures = 0;
    for n in 1.. {
        let tmp = tempfile::tempdir().unwrap();
        let dir = Directory::open(tmp.path()).unwrap();
        let fault = Fault::failing(Arc::new(dir.clone()), n, Failure::Io, true);
        if build(&fault, "penstock 0.1.0").is_ok() {
            break;
        }
        failures += 1;
        let opened = Archive::open(Arc::new(dir.clone()));
        if opened.is_ok() {
            // Only the last sync of the directory may be what failed.
            assert!(run(&dir, true).unwrap().sound());
            assert_eq!(dir.size(marker::INCOMPLETE).unwrap(), None);
        } else {
            assert!(
                matches!(opened, Err(ArchiveError::Incomplete { .. })),
                "{opened:?}"
            );
            assert!(matches!(
                run(&dir, true),
                Err(ArchiveError::Incomplete { .. })
            ));
        }
    }
    assert!(failures > 80, "{failures}");
}

#[test]
fn what_may_not_be_read_is_not_called_damaged() {
    let (_tmp, store, _) = fresh();
    for failure in [Failure::Denied, Failure::Io] {
        for rows in [false, true] {
            let mut refused = 0;
            for n in 1.. {
                let fault = Fault::failing(Arc::new(store.clone()), n, failure, false);
                match run(&fault, rows) {
                    Ok(report) if fault.operations() < n => {
                        assert!(report.sound());
                        break;
                    }
                    Err(ArchiveError::Store(e)) => {
                        assert!(e.refused() && !e.name.is_empty(), "{e}");
                        refused += 1;
                    }
                    other => panic!("operation {n}: {other:?}"),
                }
            }
            // Each of more than twenty files was opened, read, and looked at.
            assert!(refused > 60, "{refused}");
        }
    }
    // A directory in a file's place is damage: whoever made the archive left a file there.
    let chunk = store.path().join("s%401@t@@2.tsv.zst");
    std::fs::remove_file(&chunk).unwrap();
    std::fs::create_dir(&chunk).unwrap();
    assert!(!run(&store, true).unwrap().sound());
}

#[test]
fn an_archive_of_another_tool_is_checked_for_structure() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    build(&store, "mysqlsh Ver 9.6.0").unwrap();
    store.remove(MANIFEST).unwrap();
    store.put("readme.txt", b"hello").unwrap();
    let report = run(&store, true).unwrap();
    assert!(
        report.sound() && !report.has_manifest,
        "{:?}",
        report.problems
    );
    assert_eq!(report.rows, 20);
    assert_eq!((report.notes.len(), report.warnings.len()), (1, 1));
    assert!(report.warnings[0].starts_with("readme.txt is not part"));
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let archive = Archive::open(shared.clone()).unwrap();
    assert!(!archive.has_manifest());
    let t = archive.tables().next().unwrap();
    assert_eq!((t.rows, t.chunks[0].rows), (Some(15), None));
    assert!(t.chunks[0].raw_bytes.is_some());

    let chunk = t.chunks[1].file.clone();
    let good = store.read_all(&chunk, 1 << 20).unwrap();
    for cut in 0..good.len() {
        store.put(&chunk, &good[..cut]).unwrap();
        assert_eq!(
            run(&store, false).unwrap().problems.len(),
            1,
            "cut at {cut}"
        );
    }
    let other = zstd::stream::encode_all(&b"1\tAAAA\n"[..], 1).unwrap();
    store.put(&chunk, &other).unwrap();
    assert!(
        !run(&store, false).unwrap().sound(),
        "size before compression"
    );
    store.remove(&chunk).unwrap();
    let report = run(&store, false).unwrap();
    assert_eq!(report.problems[0].kind, ProblemKind::Missing);
    store.put(&chunk, &good).unwrap();
    store.put(&format!("{chunk}.idx"), &[0; 8]).unwrap();
    assert!(!run(&store, false).unwrap().sound(), "index");
    // Without @.done.json it is still being written, or was cut off.
    store.remove(DONE).unwrap();
    assert!(matches!(
        Archive::open(shared),
        Err(ArchiveError::Incomplete { .. })
    ));
}

#[test]
fn hostile_metadata_cannot_name_paths() {
    let tmp = tempfile::tempdir().unwrap();
    let store = Directory::open(tmp.path()).unwrap();
    build(&store, "mysqlsh Ver 9.6.0").unwrap();
    store.remove(MANIFEST).unwrap();
    let mut root: Root = crate::meta::read(&store, ROOT).unwrap();
    for bad in ["../../etc/passwd", "/etc/passwd", "a\0b", ""] {
        root.basenames.insert(SCHEMA.to_owned(), bad.to_owned());
        store.put(ROOT, to_json(&root).as_bytes()).unwrap();
        let e = Archive::open(Arc::new(store.clone())).unwrap_err();
        assert!(matches!(e, ArchiveError::Damaged { .. }), "{e}");
    }
}

#[test]
fn interruption_is_an_error() {
    let (_tmp, store, _) = fresh();
    let cancel = Cancel::new();
    cancel.raise();
    let options = CheckOptions {
        threads: 2,
        rows: true,
    };
    let result = check(&store, &options, &|_| {}, &cancel);
    assert!(matches!(result, Err(ArchiveError::Interrupted)));
}

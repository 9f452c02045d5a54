use super::*;
use crate::Dialect;
use std::fs::write;
use tempfile::TempDir;

/// A directory with these files: name and content.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }
    dir
}

fn dump(dir: &TempDir) -> Dump {
    match detect(dir.path()).unwrap() {
        Detected::Dump(dump) => *dump,
        Detected::Archive => panic!("an archive"),
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|p| name(p)).collect()
}

fn data(table: &Table) -> Vec<&str> {
    table.data.iter().map(|d| name(&d.path)).collect()
}

#[test]
fn old_mydumper() {
    let dir = directory(&[
        (
            "metadata",
            "Started dump at: 2026-01-01 00:00:00\nSHOW MASTER STATUS:\n\tLog: binlog.000001\n\tPos: 42\n\tGTID:0-1-59\n\nFinished dump at: 2026-01-01 00:00:01\n",
        ),
        ("d-schema-create.sql.gz", ""),
        ("d-schema-post.sql.gz", ""),
        ("d.t-schema.sql.gz", ""),
        ("d.t-schema-triggers.sql.gz", ""),
        ("d.t-metadata", "17\n"),
        ("d.t.00010.sql.gz", "xy"),
        ("d.t.00002.sql.gz", ""),
        ("d.t.00002.00001.sql.gz", ""),
        ("d.a.b-schema.sql.zst", ""),
        ("d.a.b.sql.zst", ""),
        ("d.v-schema.sql", ""),
        ("d.v-schema-view.sql", ""),
        ("d.s-schema-sequence.sql", ""),
        ("notes", ""),
    ]);
    let dump = dump(&dir);
    assert_eq!(dump.layout, Layout::Mydumper);
    assert_eq!(names(&dump.unknown), ["notes"]);
    let metadata = dump.metadata.as_ref().unwrap();
    assert_eq!(metadata.finished.as_deref(), Some("2026-01-01 00:00:01"));
    let source = &metadata.sections[0];
    assert_eq!(
        (source.get("log"), source.get("pos")),
        (Some("binlog.000001"), Some("42"))
    );
    assert_eq!(source.get("gtid"), Some("0-1-59"));
    let [schema] = &dump.schemas[..] else {
        panic!("{dump:?}")
    };
    assert_eq!(schema.name.as_deref(), Some("d"));
    assert!(schema.create.is_some() && schema.post.len() == 1);
    let [ab, t] = &schema.tables[..] else {
        panic!("{schema:?}")
    };
    assert_eq!(
        (ab.name.as_str(), ab.ddl.is_some(), data(ab)),
        ("a.b", true, vec!["d.a.b.sql.zst"])
    );
    assert_eq!(
        data(t),
        [
            "d.t.00002.sql.gz",
            "d.t.00002.00001.sql.gz",
            "d.t.00010.sql.gz"
        ]
    );
    assert_eq!((t.rows, t.data[2].bytes), (Some(17), 2));
    assert!(t.triggers.is_some() && t.data[0].kind == DataKind::Sql);
    assert_eq!(
        (
            schema.views[0].name.as_str(),
            schema.sequences[0].name.as_str()
        ),
        ("v", "s")
    );
}

#[test]
fn current_mydumper() {
    let dir = directory(&[
        (
            "metadata",
            "# Started dump at: 2026-01-01 00:00:00\n[config]\nquote-character = BACKTICK\nlocal-infile = 1\n\n[source]\nFile = binlog.1\n\n[`mydumper_0`.`mydumper_1`]\nreal_table_name=odd.t\u{1000}0x\nrows = 5\n\n[`mydumper_0`.`t`]\nreal_table_name=t\nrows = 0\n# Finished dump at: 2026-01-01 00:00:01\n",
        ),
        ("all-schema-create-tablespace.sql", ""),
        ("mydumper_0-schema-create.sql", ""),
        ("mydumper_0-schema-triggers.sql", ""),
        ("mydumper_0.mydumper_1-schema.sql", ""),
        ("mydumper_0.mydumper_1.00000.sql", ""),
        ("mydumper_0.mydumper_1.00000.dat.gz", ""),
        ("mydumper_0.t-schema.sql", ""),
        ("mydumper_0.mydumper_2-schema.sql", ""),
    ]);
    let dump = dump(&dir);
    assert_eq!(dump.before.len(), 1);
    let schema = &dump.schemas[0];
    assert!(schema.placeholder && schema.triggers.len() == 1);
    let [odd, unnamed, t] = &schema.tables[..] else {
        panic!("{schema:?}")
    };
    assert_eq!(
        (odd.name.as_str(), odd.placeholder, odd.rows),
        ("odd.t\nx", false, Some(5))
    );
    assert_eq!(data(odd), ["mydumper_0.mydumper_1.00000.dat.gz"]);
    assert!(
        matches!(&odd.data[0].kind, DataKind::LoadData(sql) if sql.ends_with("mydumper_0.mydumper_1.00000.sql"))
    );
    assert!(unnamed.placeholder && unnamed.data.is_empty());
    assert_eq!((t.name.as_str(), t.rows), ("t", Some(0)));
}

#[test]
fn unfinished_and_unknown_directories_are_errors() {
    let partial = directory(&[
        ("metadata.partial", ""),
        ("d.t-schema.sql", ""),
        ("d.t.00000.sql", ""),
    ]);
    assert!(matches!(
        detect(partial.path()),
        Err(Error::Incomplete { .. })
    ));
    let lost = directory(&[("d-schema-create.sql", ""), ("d.t.00000.sql", "")]);
    assert!(matches!(detect(lost.path()), Err(Error::Incomplete { .. })));
    for files in [
        &[][..],
        &[("readme", "")],
        &[("a.sql", "")],
        &[("x/y/t.txt", "")],
    ] {
        assert!(
            matches!(detect(directory(files).path()), Err(Error::Unknown { .. })),
            "{files:?}"
        );
    }
    assert!(matches!(
        detect(&partial.path().join("nothing")),
        Err(Error::Io { .. })
    ));
    let archive = directory(&[("@.json", "{}"), ("d@t.tsv.zst", "")]);
    assert_eq!(detect(archive.path()).unwrap(), Detected::Archive);
}

#[test]
fn tables_next_to_their_rows() {
    let dir = directory(&[
        ("a.sql", ""),
        ("a.txt", "12"),
        ("v.sql", ""),
        ("b@002dc.txt.gz", ""),
        ("x@y.txt", ""),
    ]);
    let tab = dump(&dir);
    assert_eq!(tab.layout, Layout::Tab);
    let schema = &tab.schemas[0];
    assert_eq!(schema.name, None);
    let found: Vec<_> = schema
        .tables
        .iter()
        .map(|t| (t.name.as_str(), t.ddl.is_some()))
        .collect();
    assert_eq!(found, [("a", true), ("b-c", false), ("x@y", false)]);
    let charset = Some(crate::Charset::BINARY);
    assert_eq!(
        schema.tables[0].data[0].kind,
        DataKind::Delimited(Delimited {
            charset,
            ..Delimited::tsv()
        })
    );
    assert_eq!(schema.views[0].name, "v");

    let dir = directory(&[
        ("s1/a.sql", ""),
        ("s1/a.txt", ""),
        ("s2/a.txt", ""),
        (".git/x.txt", ""),
        ("empty/x", ""),
    ]);
    let two = dump(&dir);
    assert_eq!(two.layout, Layout::Dir);
    let found: Vec<_> = two
        .schemas
        .iter()
        .map(|s| s.name.as_deref().unwrap())
        .collect();
    assert_eq!(found, ["s1", "s2"]);

    let dir = directory(&[
        ("a.csv.xz", ""),
        ("a.sql", ""),
        ("b.tsv", ""),
        ("README.md", ""),
    ]);
    let lines = dump(&dir);
    assert_eq!(lines.layout, Layout::Delimited);
    assert_eq!(
        lines.schemas[0].tables[0].data[0].kind,
        DataKind::Delimited(Delimited::csv())
    );
    assert_eq!(names(&lines.unknown), ["README.md"]);
}

#[test]
fn the_format_of_lines_is_read_from_their_statement() {
    let of = |text: &str| Delimited::from_statement(text.as_bytes(), Dialect::default());
    assert_eq!(
        of("LOAD DATA LOCAL INFILE 'x' INTO TABLE t"),
        Some(Delimited::tsv())
    );
    let form = of("LOAD DATA LOCAL INFILE 'd.t.00000.dat' REPLACE INTO TABLE `d`.`t` CHARACTER SET binary FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\r\\n' IGNORE 1 LINES (`a`,@`b`) SET `b`=UNHEX(@`b`)").unwrap();
    assert_eq!(
        form,
        Delimited {
            fields: b",".to_vec(),
            enclosed: b"\"".to_vec(),
            optionally: true,
            escaped: b"\\".to_vec(),
            starting: Vec::new(),
            lines: b"\r\n".to_vec(),
            ignore: 1,
            columns: Some(vec!["a".to_owned(), "@`b`".to_owned()]),
            set: Some("`b`=UNHEX(@`b`)".to_owned()),
            charset: Some(crate::Charset::BINARY),
        }
    );
    for no in [
        "INSERT INTO t VALUES (1)",
        "LOAD DATA INFILE 'x' INTO TABLE t FIELDS TERMINATED BY 5",
        "LOAD DATA INFILE 'x' INTO TABLE t nonsense",
        "LOAD XML INFILE 'x' INTO TABLE t",
    ] {
        assert_eq!(of(no), None, "{no}");
    }
}

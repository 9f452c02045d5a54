//! Every form that the format allows for data files: compression, chunking, dialect and version. They are
//! built by hand from the description of the format; the expected values are written out in SQL.

use super::write;
use crate::kit::{Pair, both};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;

/// A field as text, and whether it is a string.
type Field<'a> = (Option<&'a [u8]>, bool);

struct Form {
    version: &'static str,
    dialect: &'static str,
    compression: &'static str,
    chunked: bool,
    /// `TO_BASE64` breaks lines after 76 characters.
    broken: bool,
}

const fn form(
    version: &'static str,
    dialect: &'static str,
    compression: &'static str,
    chunked: bool,
    broken: bool,
) -> Form {
    Form {
        version,
        dialect,
        compression,
        chunked,
        broken,
    }
}

const FORMS: [Form; 8] = [
    form("1.0.0", "default", "gzip", false, true),
    form("1.0.1", "csv", "none", true, true),
    form("1.0.2", "tsv", "zstd", false, false),
    form("2.0.0", "csv-unix", "gzip", true, true),
    form("2.0.1", "default", "none", false, true),
    form("2.0.1", "csv", "gzip", true, false),
    form("2.0.1", "tsv", "none", true, true),
    form("2.0.1", "default", "gzip", true, false),
];

/// Field end, line end, enclosing character, and whether numbers go without it.
fn dialect(name: &str) -> (&'static str, &'static str, &'static str, bool) {
    match name {
        "csv" => (",", "\r\n", "\"", true),
        "tsv" => ("\t", "\r\n", "\"", true),
        "csv-unix" => (",", "\n", "\"", false),
        _ => ("\t", "\n", "", false),
    }
}

fn line(form: &Form, fields: &[Field<'_>]) -> Vec<u8> {
    let (end, line_end, enclosed, optionally) = dialect(form.dialect);
    let mut out = Vec::new();
    for (i, (value, string)) in fields.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(end.as_bytes());
        }
        let Some(value) = value else {
            out.extend_from_slice(b"\\N");
            continue;
        };
        let quote = if *string || !optionally { enclosed } else { "" };
        out.extend_from_slice(quote.as_bytes());
        for &b in *value {
            match b {
                0 => out.extend_from_slice(b"\\0"),
                8 => out.extend_from_slice(b"\\b"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0x1a => out.extend_from_slice(b"\\Z"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b if [end, line_end, enclosed]
                    .iter()
                    .any(|s| s.as_bytes().first() == Some(&b)) =>
                {
                    out.extend_from_slice(&[b'\\', b]);
                }
                b => out.push(b),
            }
        }
        out.extend_from_slice(quote.as_bytes());
    }
    out.extend_from_slice(line_end.as_bytes());
    out
}

fn stored(form: &Form, rows: &[u8]) -> Vec<u8> {
    match form.compression {
        "gzip" => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(rows).expect("compressed");
            gz.finish().expect("compressed")
        }
        "zstd" => zstd::encode_all(rows, 1).expect("compressed"),
        _ => rows.to_vec(),
    }
}

fn edit(directory: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = directory.join(name);
    let text = fs::read(&path).expect("metadata");
    let mut value = serde_json::from_slice(&text).expect("JSON");
    change(&mut value);
    fs::write(path, serde_json::to_vec_pretty(&value).expect("JSON")).expect("written");
}

/// Turns the archive that `write` makes into one of this form, with other rows.
fn build(directory: &Path, form: &Form, server: &str) {
    let base = if form.version < "2" { "1.0.2" } else { "2.0.1" };
    write(directory, base, server);
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        if name.starts_with("shop@item@") {
            fs::remove_file(&path).expect("removed");
        }
    }
    // 60 bytes from 0x00 to 0x3b.
    let mut base64 =
        b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7"
            .to_vec();
    if form.broken {
        base64.insert(76, b'\n');
    }
    let first: [Field<'_>; 7] = [
        (Some(b"1"), false),
        (Some("p,l\"a i\tn\n\\\0\x1a\r\x08é".as_bytes()), true),
        (Some("ä€".as_bytes()), true),
        (Some(&base64), true),
        (Some(b"AQE="), true),
        (Some(b"1.50"), false),
        (Some(b"2024-06-01 12:00:00"), true),
    ];
    let second: [Field<'_>; 7] = [
        (Some(b"2"), false),
        (Some(b""), true),
        (None, true),
        (None, true),
        (None, true),
        (None, false),
        (None, true),
    ];
    let (first, second) = (line(form, &first), line(form, &second));
    let extension = match form.dialect {
        "default" | "tsv" => "tsv",
        _ => "csv",
    };
    let extension = match form.compression {
        "gzip" => format!("{extension}.gz"),
        "zstd" => format!("{extension}.zst"),
        _ => extension.to_owned(),
    };
    let files = if form.chunked {
        vec![("@0", first.clone()), ("@@1", second.clone())]
    } else {
        vec![("", [first.clone(), second.clone()].concat())]
    };
    for (number, rows) in &files {
        let name = format!("shop@item{number}.{extension}");
        fs::write(directory.join(&name), stored(form, rows)).expect("written");
        let size = (rows.len() as u64).to_be_bytes();
        fs::write(directory.join(format!("{name}.idx")), size).expect("written");
    }
    edit(directory, "shop@item.json", |meta| {
        let (end, line_end, enclosed, optionally) = dialect(form.dialect);
        meta["extension"] = json!(extension);
        meta["chunking"] = json!(form.chunked);
        meta["options"]["fieldsTerminatedBy"] = json!(end);
        meta["options"]["linesTerminatedBy"] = json!(line_end);
        meta["options"]["fieldsEnclosedBy"] = json!(enclosed);
        meta["options"]["fieldsOptionallyEnclosed"] = json!(optionally);
        if form.version == "1.0.0" {
            // The first version has it among the options.
            meta.as_object_mut()
                .expect("an object")
                .remove("compression");
            meta["options"]["compression"] = json!(form.compression);
        } else {
            meta["compression"] = json!(form.compression);
        }
    });
}

both!(every_form_of_data_file_loads);
fn every_form_of_data_file_loads(pair: &Pair) {
    let server = if pair.is_mysql() {
        "9.6.0"
    } else {
        "10.11.6-MariaDB"
    };
    for (i, form) in FORMS.iter().enumerate() {
        let what = format!(
            "{} {} {} chunked {}",
            form.version, form.dialect, form.compression, form.chunked
        );
        let name = format!("a{i}");
        let directory = pair.path(&name);
        build(&directory, form, server);
        edit(&directory, "@.json", |root| {
            root["version"] = json!(form.version);
            if form.version == "2.0.1" {
                root["mdsCompatibility"] = json!(true);
                root["compatibilityOptions"] = json!(["strip_definers", "create_invisible_pks"]);
                root["options"] = json!({"ocimds": true});
            }
        });
        edit(&directory, "@.done.json", |done| {
            done["tableRows"]["shop"]["item"] = json!(2);
        });
        let verify = pair.verify(&name).ok();
        let load = pair.load(&name, &[]).ok();
        let load = match form.version {
            "2.0.1" => load.says(&["create_invisible_pks"]),
            _ => load,
        };
        if form.dialect == "default" {
            load.says(&["equal: 2 rows in 2 tables"]);
        } else {
            verify.says(&["another dialect"]);
            load.says(&["not compared", "`shop`.`item`"]);
        }
        let sql = "SELECT id, HEX(name), HEX(old), HEX(raw), flags + 0, price, twice, at FROM shop.item \
             ORDER BY id";
        let mut conn = pair.target().conn().expect("a session");
        conn.execute("SET time_zone = '+00:00'").expect("a setting");
        let rows = conn.fetch(sql).expect("rows");
        let text = |row: usize| {
            let cell = |c: &Option<Vec<u8>>| match c {
                Some(c) => String::from_utf8_lossy(c).into_owned(),
                None => "NULL".to_owned(),
            };
            rows[row].iter().map(cell).collect::<Vec<_>>().join("|")
        };
        let raw: String = (0..60).map(|n| format!("{n:02X}")).collect();
        assert_eq!(
            text(0),
            format!(
                "1|702C6C22612069096E0A5C001A0D08C3A9|E480|{raw}|257|1.50|3.00|2024-06-01 12:00:00"
            ),
            "{what}"
        );
        assert_eq!(text(1), "2||NULL|NULL|NULL|NULL|NULL|NULL", "{what}");
        pair.target().client("DROP DATABASE shop").expect("dropped");
    }
}

both!(a_damaged_gzip_file_is_found);
fn a_damaged_gzip_file_is_found(pair: &Pair) {
    let form = form("2.0.1", "default", "gzip", false, false);
    build(&pair.path("a"), &form, "9.6.0");
    let path = pair.path("a").join("shop@item.tsv.gz");
    let whole = fs::read(&path).expect("a file");
    let mut flipped = whole.clone();
    let at = flipped.len() - 6;
    flipped[at] ^= 1;
    for damaged in [&whole[..whole.len() - 3], &flipped[..], b""] {
        fs::write(&path, damaged).expect("written");
        pair.verify("a").code(5).says(&["shop@item.tsv.gz"]);
    }
}

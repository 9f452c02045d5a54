//! Layouts in which a table is a `.sql` file and a file of lines with the same name.

use super::{DataFile, DataKind, Delimited, Dump, File, Layout, Object, Schema, Table};
use std::collections::BTreeMap;

/// The table of a file with rows, and its format; `None` for any other file.
pub(super) fn parse_name(name: &str) -> Option<(&str, Delimited)> {
    let (table, end) = name.rsplit_once('.')?;
    match end {
        // By default both tools write the bytes of each column unchanged.
        "txt" => {
            let charset = Some(crate::Charset::BINARY);
            let format = Delimited::tsv();
            Some((table, Delimited { charset, ..format }))
        }
        "tsv" => Some((table, Delimited::tsv())),
        "csv" => Some((table, Delimited::csv())),
        _ => None,
    }
}

/// One directory: `--tab`, or CSV and TSV files.
pub(super) fn read(files: Vec<File>) -> Dump {
    let text = files.iter().any(|f| f.name.ends_with(".txt"));
    let layout = if text { Layout::Tab } else { Layout::Delimited };
    let (schema, unknown) = schema(None, files);
    Dump {
        layout,
        schemas: vec![schema],
        metadata: None,
        before: Vec::new(),
        unknown,
    }
}

/// One directory for each schema: `--dir`.
pub(super) fn read_dir(directories: Vec<(String, Vec<File>)>) -> Dump {
    let mut dump = Dump {
        layout: Layout::Dir,
        schemas: Vec::new(),
        metadata: None,
        before: Vec::new(),
        unknown: Vec::new(),
    };
    for (name, files) in directories {
        let (schema, unknown) = schema(Some(name), files);
        dump.schemas.push(schema);
        dump.unknown.extend(unknown);
    }
    dump
}

/// The tables of a directory. A `.sql` file without a file of rows is a table
/// without rows, a view, or the routines of the schema. Only its statements say
/// which, so it is listed with the views, which run last.
fn schema(name: Option<String>, files: Vec<File>) -> (Schema, Vec<std::path::PathBuf>) {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut unknown = Vec::new();
    let (definitions, rest): (Vec<File>, Vec<File>) =
        files.into_iter().partition(|f| f.name.ends_with(".sql"));
    for file in rest {
        let Some((table, format)) = parse_name(&file.name) else {
            unknown.push(file.path);
            continue;
        };
        let table = decoded(table);
        let entry = tables.entry(table.clone()).or_default();
        entry.name = table;
        entry.data.push(DataFile {
            path: file.path,
            bytes: file.bytes,
            kind: DataKind::Delimited(format),
        });
    }
    let mut schema = Schema {
        name: name.map(|n| decoded(&n)),
        ..Schema::default()
    };
    for file in definitions {
        let name = decoded(file.name.trim_end_matches(".sql"));
        match tables.get_mut(&name) {
            Some(table) => table.ddl = Some(file.path),
            None => schema.views.push(Object {
                name,
                placeholder: false,
                ddl: file.path,
            }),
        }
    }
    schema.tables = tables.into_values().collect();
    (schema, unknown)
}

/// Decodes a file name in the encoding of the server and its tools: `@002d` is a
/// character by its UTF-16 code. Names without such a code stay unchanged.
fn decoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 5)
            .filter(|c| c.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|c| u32::from_str_radix(c, 16).ok())
            .and_then(char::from_u32);
        match code {
            Some(c) => {
                out.push(c);
                rest = &rest[at + 5..];
            }
            None => {
                out.push('@');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

//! Whether the parts of an archive that say the same thing say it alike.

use super::{Problem, ProblemKind, Report};
use crate::manifest::{Manifest, TableRecord};
use crate::meta;
use crate::open::{Content, Table};
use std::collections::{HashMap, HashSet};

/// Compares the format's metadata with the manifest.
pub(super) fn agree(content: &Content, manifest: &Manifest, report: &mut Report) {
    let records: HashMap<_, _> = manifest.by_name().collect();
    let mut seen = HashSet::new();
    for table in content.schemas.iter().flat_map(|s| &s.tables) {
        seen.insert((table.schema.as_str(), table.name.as_str()));
        let record = records.get(&(table.schema.as_str(), table.name.as_str()));
        of_table(content, record.copied(), table, report);
    }
    // What is damaged is named already.
    seen.extend(
        content
            .damaged
            .iter()
            .map(|d| (d.schema.as_str(), d.object.as_str())),
    );
    for t in &manifest.tables {
        if !seen.contains(&(t.schema.as_str(), t.table.as_str())) {
            let what = "the manifest has rows of a table that the metadata does not have";
            let file = crate::manifest::MANIFEST;
            let problem = Problem::new(ProblemKind::Disagrees, file, what);
            report.problem(problem.of_table(&t.schema, &t.table));
        }
    }
    let named = content.root.users.as_ref().map(|u| u.len() as u64);
    if named != manifest.accounts {
        let say = |n: Option<u64>| n.map_or("no".to_owned(), |n| n.to_string());
        let what = format!(
            "it names {} accounts, the manifest has {}",
            say(named),
            say(manifest.accounts)
        );
        report.problem(Problem::new(ProblemKind::Disagrees, meta::ROOT, what));
    }
    if content.done.data_bytes != manifest.totals.raw_bytes {
        let (said, is) = (content.done.data_bytes, manifest.totals.raw_bytes);
        let what = format!("dataBytes is {said}, the manifest's chunks have {is}");
        report.problem(Problem::new(ProblemKind::Disagrees, meta::DONE, what));
    }
}

fn of_table(content: &Content, record: Option<&TableRecord>, table: &Table, report: &mut Report) {
    let mut disagrees = |file: &str, what: String| {
        let problem = Problem::new(ProblemKind::Disagrees, file, what);
        report.problem(problem.of_table(&table.schema, &table.name));
    };
    let Some(record) = record else {
        if !table.chunks.is_empty() {
            disagrees(&table.meta_file, "not in the manifest".to_owned());
        }
        return;
    };
    let files: Vec<_> = table.chunks.iter().map(|c| &c.file).collect();
    let recorded: Vec<_> = record.chunks.iter().map(|c| &c.file).collect();
    if files != recorded {
        let what = "its data files are not those of the manifest".to_owned();
        disagrees(&table.meta_file, what);
    }
    if table.meta.options.columns != record.columns {
        let what = "its columns are not those of the manifest".to_owned();
        disagrees(&table.meta_file, what);
    }
    let rows = content.done.table_rows.get(&table.schema);
    let said = rows.and_then(|tables| tables.get(&table.name));
    if let Some(said) = said.filter(|&&said| said != record.rows) {
        let what = format!("tableRows is {said}, the manifest has {}", record.rows);
        disagrees(meta::DONE, what);
    }
    for chunk in &record.chunks {
        let said = content.done.chunk_file_bytes.get(&chunk.file);
        if said.is_some_and(|&said| said != chunk.raw_bytes) {
            let what = format!("chunkFileBytes of {} differs from the manifest", chunk.file);
            disagrees(meta::DONE, what);
        }
    }
}

/// Compares decoded rows with the counts of an archive without a manifest.
pub(super) fn rows_agree(content: &Content, report: &mut Report) {
    let tables = content.schemas.iter().flat_map(|s| &s.tables);
    let decodable = tables
        .clone()
        .all(|t| t.meta.is_default_dialect() && (t.chunks.is_empty() || t.rows.is_some()));
    let counted: u64 = tables.filter_map(|t| t.rows).sum();
    if decodable && report.problems.is_empty() && counted != report.rows {
        let what = format!(
            "tableRows add up to {counted}, the files hold {}",
            report.rows
        );
        report.problem(Problem::new(ProblemKind::Disagrees, meta::DONE, what));
    }
}

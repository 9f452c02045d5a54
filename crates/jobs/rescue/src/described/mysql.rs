//! Tables by the dictionary information that MySQL since 8.0 keeps in each file.

use super::opened::Opened;
use super::{Layout, Table, catalog};
use crate::input::Input;
use base::Cancel;
use innodb::read::Error;
use innodb::read::sdi::Sdi;
use innodb::read::sdi::create::Created;
use server::Flavour;
use server::catalog::Column;
use std::path::PathBuf;
use std::sync::Arc;

/// The tables that the files describe, each with those of the files that have rows of it. The error says why there is no
/// description.
pub fn tables(
    files: &[(Input, Opened)],
    first: &Input,
    cancel: &Cancel,
) -> Result<Vec<Table>, String> {
    let mut tables: Vec<Table> = Vec::new();
    let mut all: Vec<Arc<Sdi>> = Vec::new();
    let mut why = "its dictionary information is not in it".to_owned();
    for (_, opened) in files {
        match of_file(opened) {
            Ok(sdi) => all.extend(sdi),
            Err(e) => why = format!("its dictionary information cannot be read: {e}"),
        }
    }
    if all.is_empty() && files[0].1.is_mysql() {
        // Only the first partition describes the table.
        all.extend(of_siblings(first, cancel));
    }
    if all.is_empty() {
        return Err(why);
    }
    for sdi in all {
        for (n, created) in sdi.created().into_iter().enumerate() {
            if created.engine != "InnoDB"
                || tables
                    .iter()
                    .any(|t| t.catalog.name == created.name && t.catalog.schema == created.schema)
            {
                continue;
            }
            let has_rows = |opened: &Opened| {
                let space = opened.space();
                space.is_ok_and(|space| sdi.nth(n, space.id).is_some())
            };
            let own: Vec<Input> = files
                .iter()
                .filter(|f| has_rows(&f.1))
                .map(|f| f.0.clone())
                .collect();
            if !own.is_empty() {
                tables.push(table(created, Layout::Described(Arc::clone(&sdi), n), own));
            }
        }
    }
    Ok(tables)
}

/// The information in a file, by its tree or by its pages; `None`: it has none.
fn of_file(opened: &Opened) -> Result<Option<Arc<Sdi>>, Error> {
    if !opened.is_mysql() {
        return Ok(None);
    }
    let space = opened.space()?;
    let sdi = Sdi::read(&space);
    let sdi = match sdi {
        Ok(sdi) if !sdi.json().is_empty() => sdi,
        Ok(_) => Sdi::salvage(&space)?,
        Err(e) => {
            let found = Sdi::salvage(&space)?;
            if found.json().is_empty() {
                return Err(e);
            }
            found
        }
    };
    Ok(Some(sdi).filter(|s| !s.json().is_empty()).map(Arc::new))
}

/// That in the file of another partition.
fn of_siblings(first: &Input, cancel: &Cancel) -> Option<Arc<Sdi>> {
    let directory = first.path.parent()?;
    let begin = format!("{}#p#", first.stem).to_ascii_lowercase();
    let is_sibling = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        let lower = name.to_ascii_lowercase();
        lower.starts_with(&begin) && lower.ends_with(".ibd")
    };
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(is_sibling).collect();
    all.sort();
    all.iter()
        .filter_map(|path| Opened::new(path, cancel).ok())
        .find_map(|opened| of_file(&opened).ok().flatten())
}

fn table(created: Created, layout: Layout, files: Vec<Input>) -> Table {
    let columns = created.columns.iter().map(|c| Column {
        nullable: c.nullable,
        generated: c.generated,
        stored: c.stored,
        ..Column::declared(&c.name, &c.column_type, c.collation.as_deref())
    });
    let v = created.version;
    let mut not_told = created.not_told.clone();
    if let Some(space) = &created.tablespace {
        not_told.push(format!(
            "the general tablespace {}, which it was in: it becomes a table with a file of its own",
            server::quote::ident(space)
        ));
    }
    Table {
        catalog: catalog::table(
            &created.schema,
            &created.name,
            &created.collation,
            columns.collect(),
        ),
        primary: created.primary,
        create: created.sql,
        flavour: Flavour::MySql,
        version: Some(format!("{}.{}.{}", v / 10_000, v / 100 % 100, v % 100)),
        by: "dictionary information",
        layout,
        schema_collation: None,
        row_end: None,
        files,
        not_told,
        renamed_from: None,
        names: Default::default(),
    }
}

//! What tables the files hold, and how their rows lie.
//!
//! A definition the user wrote wins; else MySQL's is in the file (`mysql`), and MariaDB's is beside it (`mariadb`).

mod catalog;
mod given;
mod mariadb;
mod mysql;
mod opened;

pub use opened::Opened;

use crate::Options;
use crate::input::{Found, Input};
use base::Result;
use base::units::printable;
use given::Given;
use innodb::read::mariadb::Definition;
use innodb::read::sdi::Sdi;
use innodb::read::{self, Error, Tablespace};
use run::Run;
use server::Flavour;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table with its files.
pub struct Table {
    /// Names, columns; the name may be another one than that in the file.
    pub catalog: server::catalog::Table,
    /// Columns of its primary key.
    pub primary: Vec<String>,
    /// The statement that makes it.
    pub create: String,
    /// Whose it is.
    pub flavour: Flavour,
    /// The version of the server that described it, where that is known.
    pub version: Option<String>,
    /// Where the definition is from.
    pub by: &'static str,
    /// How rows lie.
    pub layout: Layout,
    /// The default collation of its schema, where a file says it.
    pub schema_collation: Option<String>,
    /// The column that says whether a row is a current one, of a system-versioned table.
    pub row_end: Option<String>,
    /// Its files: its own, one for each partition, or a tablespace that it shares.
    pub files: Vec<Input>,
    /// What is not rescued of the definition.
    pub not_told: Vec<String>,
    /// Its own name, which another table of the archive has already.
    pub renamed_from: Option<String>,
    /// Names of its files in the archive, and of the tables beside it.
    pub names: crate::side::Names,
}

/// How rows lie.
#[derive(Clone)]
pub enum Layout {
    /// As one of the descriptions says that MySQL keeps in the file; its place among them.
    Described(Arc<Sdi>, usize),
    /// As it follows from the definition.
    Defined(Box<Definition>),
}

impl Table {
    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|f| std::fs::metadata(&f.path));
        sizes.map(|m| m.map_or(0, |m| m.len())).sum()
    }

    /// The reader's table for one of its files, and the number of the index of its rows where it is known. The second
    /// part says what could not be read of it, although rows can be.
    pub fn of_file(
        &self,
        space: &Tablespace<'_>,
    ) -> Result<(read::Table, Option<u64>, Option<Error>), Error> {
        match &self.layout {
            Layout::Described(sdi, n) => {
                let missing = || Error::Definition("its file does not describe it".to_owned());
                let table = sdi.nth(*n, space.id).ok_or_else(missing)??;
                Ok((table, sdi.index_id(*n, space.id), None))
            }
            Layout::Defined(definition) => {
                opened::defined(space, definition).map(|(t, e)| (t, None, e))
            }
        }
    }
}

/// What was found.
#[derive(Default)]
pub struct All {
    /// The tables.
    pub tables: Vec<Table>,
    /// What is not rescued, with the reason.
    pub exceptions: Vec<String>,
    /// Whether a file is left out because nothing describes it.
    pub undescribed: bool,
}

/// Reads the definitions of all files.
pub fn all(run: &Run, options: &Options, found: &Found) -> Result<All> {
    let mut all = All {
        exceptions: found.left_out.clone(),
        ..All::default()
    };
    let mut given = Given::read(&options.definitions)?;
    // Files of one table: its partitions.
    let mut groups: BTreeMap<(std::path::PathBuf, &str), Vec<&Input>> = BTreeMap::new();
    for file in &found.files {
        let directory = file.path.parent().map(|p| p.to_owned()).unwrap_or_default();
        groups
            .entry((directory, &file.stem))
            .or_default()
            .push(file);
    }
    let only = groups.len() == 1;
    for files in groups.into_values() {
        run.check()?;
        group(run, options, &mut given, &files, only, &mut all);
    }
    // One of a table that is not selected is not used either.
    if options.filter.takes_all() {
        given.check_used(&all)?;
    }
    Ok(all)
}

/// What helps where nothing describes a table.
const WAY_OUT: &str = "; its CREATE TABLE can be named with --definition";

/// The tables of files that have one name.
fn group(
    run: &Run,
    options: &Options,
    given: &mut Given,
    files: &[&Input],
    only: bool,
    all: &mut All,
) {
    let first = files[0];
    let shown = |file: &Input| printable(&file.path.display().to_string());
    let schema = first.schema.as_deref();
    let named = options.schema.as_deref().or(schema);
    if !may_be_selected(options, named, first) {
        return;
    }
    let mut usable = Vec::new();
    for file in files {
        match Opened::new(&file.path, &run.cancel) {
            Ok(opened) => usable.push(((*file).clone(), opened)),
            Err(e) => all
                .exceptions
                .push(format!("{} is not read: {e}", shown(file))),
        }
    }
    let Some((_, opened)) = usable.first() else {
        return;
    };
    let mut tables = match given.of(schema, &first.table, only, opened) {
        Some(Ok(table)) => vec![table],
        Some(Err(why)) => {
            all.exceptions
                .push(printable(&format!("{}: {why}", shown(first))));
            return;
        }
        None => {
            let by_file = mysql::tables(&usable, first, &run.cancel);
            let why = by_file.as_ref().err().cloned();
            let mut tables = by_file.unwrap_or_default();
            if let Some(why) = why {
                match mariadb::table(first, opened) {
                    Ok(Some(table)) => tables.push(table),
                    Ok(None) => {
                        let why = match opened.is_mysql() {
                            true => why.as_str(),
                            false => "there is no .frm file beside it",
                        };
                        // A definition does not help with pages that are not read.
                        let helps = !why.ends_with("is not supported");
                        all.undescribed |= helps;
                        let hint = if helps { WAY_OUT } else { "" };
                        all.exceptions.push(printable(&format!(
                            "{} is not read: nothing describes its table: {why}{hint}",
                            shown(first)
                        )));
                    }
                    Err(why) => {
                        all.undescribed = true;
                        all.exceptions.push(printable(&format!(
                            "{} is not read: its .frm file: {why}{WAY_OUT}",
                            shown(first)
                        )));
                    }
                }
            }
            tables
        }
    };
    for table in &mut tables {
        if let Some(schema) = &options.schema {
            table.catalog.schema.clone_from(schema);
        }
        if table.files.is_empty() {
            table.files = usable.iter().map(|u| u.0.clone()).collect();
        }
    }
    let taken = |t: &Table| {
        options.filter.schema(&t.catalog.schema)
            && options.filter.table(&t.catalog.schema, &t.catalog.name)
    };
    all.tables.extend(tables.into_iter().filter(taken));
}

/// Whether the table of a file may be among those that are selected; those of a shared tablespace are known later.
fn may_be_selected(options: &Options, schema: Option<&str>, file: &Input) -> bool {
    schema.is_none_or(|s| {
        file.schema.is_none() || options.filter.schema(s) && options.filter.table(s, &file.table)
    })
}

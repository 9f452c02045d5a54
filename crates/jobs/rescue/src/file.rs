//! A file of a table: opened, with its leaves found, and what is lost of it named.

use crate::Options;
use crate::account::Account;
use crate::described::{self, Opened};
use base::units::printable;
use base::{Error, Result};
use innodb::read::salvage::Found;
use innodb::read::{self, Rows, Window, versions};
use rows::table_plan::TablePlan;
use run::Run;
use run::state::storage;
use std::io;
use std::path::Path;

/// A file of a table that can be read.
pub struct File {
    pub opened: Opened,
    /// Its path for people.
    pub shown: String,
    pub table: read::Table,
    pub found: Found,
    pub columns: Vec<usize>,
    /// Rows that a newer page of it has.
    pub older: versions::Older,
}

impl File {
    /// Finds the leaves again, by all pages.
    pub fn look_at_all(&mut self) -> Result<()> {
        let why = "its leaves name other neighbours".to_owned();
        let found = self.opened.space().and_then(|space| {
            let (table, id) = (&self.table, Some(self.found.id));
            Found::by_pages(&space, &table.clustered, table.redundant, id, why)
        });
        self.found = found.map_err(|e| unread(&self.shown, e))?;
        Ok(())
    }

    /// Finds the rows that are in it twice.
    pub fn compare(&mut self) -> Result<()> {
        let older = self.opened.space().and_then(|space| {
            let index = &self.table.clustered;
            let found = &self.found;
            versions::older(&space, index, self.table.redundant, found.id, &found.leaves)
        });
        self.older = older.map_err(|e| unread(&self.shown, e))?;
        Ok(())
    }
}

/// The error of a file that cannot be read.
pub fn unread(shown: &str, e: read::Error) -> Error {
    let e = match e {
        read::Error::Io(e) => e,
        e => io::Error::other(e.to_string()),
    };
    storage("read", Path::new(shown), &e)
}

/// Opens a file, and finds its leaves.
pub fn open(
    run: &Run,
    options: &Options,
    t: &described::Table,
    plan: &TablePlan,
    path: &Path,
    shown: &str,
    account: &mut Account,
) -> std::result::Result<File, read::Error> {
    let opened = Opened::new(path, &run.cancel)?;
    let (table, found, columns) = {
        let space = opened.space()?;
        if let Some(why) = &opened.damaged {
            account
                .page(|| format!("{shown}: page 0: {why}; what it says is taken from other pages"));
        }
        cut(&space, opened.damaged.is_some(), shown, account)?;
        let (table, id, doubt) = t.of_file(&space)?;
        if let Some(e) = doubt {
            account.note(format!(
                    "{shown}: what an instant ALTER TABLE left cannot be read ({e}): rows of before and after it may be lost"
                ));
        }
        let all = options.old_pages;
        let found = Found::of(&space, &table.clustered, table.redundant, id, all)?;
        if let Some(why) = &found.broken {
            account.page(|| {
                    format!("{shown}: the index of the rows is damaged ({why}): its leaves were looked for in all pages")
                });
        }
        name_lost(&found, shown, account);
        let mut columns = Vec::new();
        for name in plan.columns.iter().chain(&t.row_end) {
            let column = table.column(name);
            columns.push(column.ok_or_else(|| {
                read::Error::Definition(format!("it has no column {}", printable(name)))
            })?);
        }
        // Types that are not read are known now.
        Rows::new(&space, &table, found.id, &columns)?;
        (table, found, columns)
    };
    Ok(File {
        opened,
        shown: shown.to_owned(),
        table,
        found,
        columns,
        older: versions::Older::new(),
    })
}

/// Names the pages that are lost.
pub fn name_lost(found: &Found, shown: &str, account: &mut Account) {
    for lost in &found.lost {
        account.page(|| {
            let records = match lost.records {
                Some(n) => format!("it had {n} rows, as what is left of it says"),
                None => "it may have had rows".to_owned(),
            };
            format!("{shown}: page {}: {}; {records}", lost.page, lost.why)
        });
    }
}

/// Names what the end of a file lacks.
fn cut(
    space: &read::Tablespace<'_>,
    first_is_damaged: bool,
    shown: &str,
    account: &mut Account,
) -> std::result::Result<(), read::Error> {
    /// How many pages there are (`FSP_SIZE`).
    const SIZE: usize = 38 + 8;
    let has = space.pages();
    let mut window = Window::default();
    let says = match first_is_damaged {
        true => has,
        false => innodb::page::u32_at(space.page(&mut window, 0)?, SIZE),
    };
    if says > has {
        account.page(|| {
            format!(
                "{shown}: it ends after page {}, and had {says} pages",
                i64::from(has) - 1
            )
        });
    } else if space.cut_off()? > 0 {
        account.page(|| format!("{shown}: it ends within page {has}"));
    }
    Ok(())
}

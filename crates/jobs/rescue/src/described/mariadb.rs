//! A table by the `.frm` file of MariaDB beside its file.

use super::opened::Opened;
use super::{Layout, Table, catalog};
use crate::input::Input;
use innodb::page::{index, u64_at};
use innodb::read::Window;
use innodb::read::frm::{Frm, KeyKind, Visible};
use innodb::read::mariadb;
use server::Flavour;
use server::catalog::{Column, TableKind};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The longest `.frm` file that is read, in bytes: far more than a definition takes.
const LONGEST: u64 = 64 << 20;

/// The table; `None`: there is no such file, or the server had none. The error says why it is not read.
pub fn table(file: &Input, opened: &Opened) -> Result<Option<Table>, String> {
    if opened.is_mysql() {
        return Ok(None);
    }
    let path = file.path.with_file_name(format!("{}.frm", file.stem));
    match std::fs::metadata(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.to_string()),
        Ok(meta) if meta.len() > LONGEST => return Err("it is too large for one".to_owned()),
        Ok(_) => {}
    }
    let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
    let frm = Frm::read(&bytes).map_err(|e| e.to_string())?;
    if !frm.engine.eq_ignore_ascii_case("InnoDB") {
        return Err(format!("its engine is {}", frm.engine));
    }
    let shown = |c: &&innodb::read::frm::Column| matches!(c.visible, Visible::Yes | Visible::Named);
    let of_system = |n: usize| {
        let ends = frm.system_time.is_some_and(|(a, b)| a == n || b == n);
        (ends, ends)
    };
    let place = |name: &str| frm.columns.iter().position(|c| c.name == name);
    let columns = frm.columns.iter().filter(shown).map(|c| {
        let (versioning, generated) = of_system(place(&c.name).unwrap_or(usize::MAX));
        Column {
            nullable: c.nullable,
            generated: generated || c.generated.is_some(),
            stored: c.generated.as_ref().is_some_and(|g| g.stored),
            versioning,
            invisible: c.visible == Visible::Named,
            auto_increment: c.auto_increment,
            ..Column::declared(&c.name, &c.column_type, c.collation.as_deref())
        }
    });
    let columns: Vec<Column> = columns.collect();
    let mut create = frm.create_table(&file.table);
    if frm.columns.iter().any(|c| c.auto_increment)
        && let Some(next) = next_number(opened)
    {
        create = with_next_number(create, next);
    }
    let primary = frm.keys.iter().find(|k| k.kind == KeyKind::Primary);
    let name = |n: usize| frm.columns.get(n).map(|c| c.name.clone());
    let row_end = frm.system_time.and_then(|(_, end)| name(end));
    let v = frm.version;
    let mut table = catalog::table(
        file.schema.as_deref().unwrap_or("rescued"),
        &file.table,
        &frm.collation,
        columns,
    );
    if row_end.is_some() {
        table.kind = TableKind::SystemVersioned;
    }
    Ok(Some(Table {
        catalog: table,
        primary: primary.map_or_else(Vec::new, |k| {
            k.parts.iter().filter_map(|p| name(p.column)).collect()
        }),
        create,
        flavour: Flavour::MariaDb,
        version: Some(format!(
            "{}.{}.{}-MariaDB",
            v / 10_000,
            v / 100 % 100,
            v % 100
        )),
        by: ".frm file",
        layout: Layout::Defined(Box::new(frm.definition(&file.table))),
        schema_collation: of_schema(&path.with_file_name("db.opt")),
        row_end,
        files: Vec::new(),
        not_told: frm.not_told,
        renamed_from: None,
        names: Default::default(),
    }))
}

/// The default collation of a schema, by the file of its options.
fn of_schema(path: &Path) -> Option<String> {
    /// Far more than its options take, in bytes.
    const LONGEST: u64 = 1 << 16;
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let name = text
        .lines()
        .find_map(|l| l.strip_prefix("default-collation="))?;
    let is_name =
        |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    Some(name).filter(is_name).map(str::to_owned)
}

/// The next AUTO_INCREMENT value: MariaDB keeps the last one in the root of the index of rows (`PAGE_ROOT_AUTO_INC`).
fn next_number(opened: &Opened) -> Option<u64> {
    let space = opened.space().ok()?;
    let mut window = Window::default();
    let root = space.page(&mut window, mariadb::ROOT).ok()?;
    let last = u64_at(root, index::MAX_TRX);
    last.checked_add(1).filter(|_| last > 0)
}

/// The statement with the option.
fn with_next_number(create: String, next: u64) -> String {
    match server::ddl::CreateTable::parse(&create) {
        Some(table) => {
            let tail = table.tail.replacen(
                " DEFAULT CHARSET",
                &format!(" AUTO_INCREMENT={next} DEFAULT CHARSET"),
                1,
            );
            let elements = table.elements.clone();
            let table = server::ddl::CreateTable {
                tail: &tail,
                ..table
            };
            table.join(&elements)
        }
        None => create,
    }
}

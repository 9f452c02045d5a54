//! Definitions that the user wrote, for files that nothing else describes.

use super::opened::Opened;
use super::{All, Layout, Table, catalog};
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::create_table::{self, Created, KeyKind};
use dumps::script::Script;
use innodb::read::mariadb::{self, Defined, Definition};
use innodb::read::types::{Server, Type};
use innodb::read::{self, Values};
use run::state::storage;
use server::Flavour;
use server::catalog::Column;
use server::ddl::CreateTable;
use std::fs::File;
use std::path::PathBuf;

/// A definition, its text, and whether a table was made of it.
struct One {
    created: Created,
    sql: String,
    used: bool,
}

/// The definitions of all scripts.
pub struct Given(Vec<One>);

impl Given {
    /// Reads them; a script that cannot be read, or that has none, is an error.
    pub fn read(scripts: &[PathBuf]) -> Result<Given> {
        let mut all = Vec::new();
        for path in scripts {
            let shown = printable(&path.display().to_string());
            let wrong =
                |what: String| Error::new(Kind::Usage, printable(&format!("{shown}: {what}")));
            let file = File::open(path).map_err(|e| storage("read", path, &e))?;
            let mut script = Script::new(file).allow_unterminated(true);
            let before = all.len();
            while let Some(statement) = script.next().map_err(|e| wrong(e.to_string()))? {
                let created = match create_table::parse(&statement.text, statement.dialect) {
                    None => continue,
                    Some(created) => created.map_err(wrong)?,
                };
                let sql = String::from_utf8(statement.text)
                    .map_err(|_| wrong("it is not UTF-8".to_owned()))?;
                all.push(One {
                    created,
                    sql,
                    used: false,
                });
            }
            if all.len() == before {
                return Err(wrong("there is no CREATE TABLE in it".to_owned()));
            }
        }
        Ok(Given(all))
    }

    /// The table of a file, if there is a definition for it: that of its name, or the one of one file. The error says why its
    /// rows cannot be read with it.
    pub fn of(
        &mut self,
        schema: Option<&str>,
        table: &str,
        only: bool,
        opened: &Opened,
    ) -> Option<std::result::Result<Table, String>> {
        let single = only && self.0.len() == 1;
        let fits = |o: &&mut One| {
            let of_schema = match (&o.created.schema, schema) {
                (Some(own), Some(schema)) => own == schema,
                _ => true,
            };
            single || o.created.name == table && of_schema
        };
        let one = self.0.iter_mut().find(fits)?;
        one.used = true;
        let schema = one
            .created
            .schema
            .as_deref()
            .or(schema)
            .unwrap_or("rescued");
        Some(one.table(schema, opened))
    }

    /// Fails if a definition is of no file: it is probably a typo.
    pub fn check_used(&self, all: &All) -> Result<()> {
        match self.0.iter().find(|o| !o.used) {
            Some(one) if all.exceptions.is_empty() => Err(Error::new(
                Kind::Usage,
                format!(
                    "--definition has table {}, and none of the files is called so",
                    server::quote::ident(&printable(&one.created.name))
                ),
            )
            .hint("a definition is for the file of the same name; one definition for one file may have another")),
            _ => Ok(()),
        }
    }
}

impl One {
    fn table(&self, schema: &str, opened: &Opened) -> std::result::Result<Table, String> {
        let created = &self.created;
        let mysql = opened.is_mysql();
        let server = if mysql {
            Server::MySql
        } else {
            Server::MariaDb
        };
        let primary = created.keys.iter().find(|k| k.kind == KeyKind::Primary);
        let is_primary = |name: &str| {
            primary.is_some_and(|k| k.parts.iter().any(|p| p.0.eq_ignore_ascii_case(name)))
        };
        let mut defined = Vec::new();
        let mut columns = Vec::new();
        for c in &created.columns {
            let collation = c.collation.clone();
            let charset = created.charset_of(c);
            let values = if c.generated == Some(false) {
                Values::Virtual
            } else {
                let of = Type::of(&c.column_type, charset.as_deref(), None, server);
                Values::Stored(of.map_err(|e| match e {
                    read::types::Unsupported::Charset(_) if charset.is_none() => format!(
                        "the definition names no character set for column {}: name that of the table (DEFAULT CHARSET=…)",
                        c.name
                    ),
                    e => format!("column {}: {e} is not supported", c.name),
                })?)
            };
            // Servers of old take TIMESTAMP as NOT NULL where nothing is said, and write NULL where it may be.
            let is_old_timestamp = !mysql && c.column_type.starts_with("timestamp");
            let nullable = c.nullable.unwrap_or(!is_old_timestamp) && !is_primary(&c.name);
            let charset = charset.filter(|_| c.is_text());
            columns.push(Column {
                nullable,
                generated: c.generated.is_some(),
                stored: c.generated == Some(true),
                charset: charset.clone(),
                ..Column::declared(&c.name, &c.column_type, collation.as_deref())
            });
            defined.push(Defined {
                column: read::Column {
                    name: c.name.clone(),
                    values,
                    hidden: false,
                },
                nullable,
                charset,
            });
        }
        let mut keys = Vec::new();
        for key in &created.keys {
            let mut parts = Vec::new();
            for (name, length) in &key.parts {
                let at = columns
                    .iter()
                    .position(|c| c.name.eq_ignore_ascii_case(name));
                let at =
                    at.ok_or_else(|| format!("its key is on column {name}, which it lacks"))?;
                let widest = match columns[at].charset.as_deref() {
                    Some("utf8mb4" | "utf16" | "utf16le" | "utf32" | "gb18030") => 4,
                    Some("utf8" | "utf8mb3" | "ujis" | "eucjpms") => 3,
                    Some("ucs2" | "big5" | "cp932" | "euckr" | "gb2312" | "gbk" | "sjis") => 2,
                    _ => 1,
                };
                parts.push((at, length.map_or(0, |n| n.saturating_mul(widest))));
            }
            if parts.is_empty() {
                continue;
            }
            keys.push(mariadb::Key {
                name: key.name.clone(),
                kind: match key.kind {
                    KeyKind::Primary => mariadb::KeyKind::Primary,
                    KeyKind::Unique => mariadb::KeyKind::Unique,
                    KeyKind::FullText => mariadb::KeyKind::FullText,
                    KeyKind::Other => mariadb::KeyKind::Plain,
                },
                parts,
            });
        }
        let shape = CreateTable::parse(&self.sql).ok_or("its definition is not understood")?;
        let head = format!("CREATE TABLE {} (", server::quote::ident(&created.name));
        let elements = shape.elements.clone();
        let create = CreateTable {
            head: &head,
            ..shape
        };
        let flavour = if mysql {
            Flavour::MySql
        } else {
            Flavour::MariaDb
        };
        Ok(Table {
            primary: primary
                .map_or_else(Vec::new, |k| k.parts.iter().map(|p| p.0.clone()).collect()),
            create: create.join(&elements),
            catalog: catalog::table(
                schema,
                &created.name,
                created.collation.as_deref().unwrap_or(""),
                columns,
            ),
            flavour,
            version: None,
            by: "--definition",
            layout: Layout::Defined(Box::new(Definition {
                name: created.name.clone(),
                columns: defined,
                keys,
            })),
            schema_collation: None,
            row_end: None,
            files: Vec::new(),
            not_told: Vec::new(),
            renamed_from: None,
            names: Default::default(),
        })
    }
}

//! Prepares a table for the import of a tablespace: exports the server's own empty tablespace as a
//! template, reads the server's description of its indexes and columns, and has the server discard it.

use super::MethodPlan;
use super::datadir::{Datadir, TablePaths};
use super::outcome::{Rejection, UNKNOWN_PLACE, Verdict, import_error};
use super::row_id;
use super::targets::{EmptyTablespace, ImportTarget, PartitionImport};
use crate::Target;
use crate::journal::Journal;
use archive::open::Table;
use base::{Error, Kind, Result, failpoint};
use innodb::bulk::Template;
use innodb::layout::Order;
use innodb::read::Values;
use innodb::read::types::{Server, Type};
use innodb::value::{self, Kind as Column};
use innodb::{Exported, Layout};
use run::failure;
use server::quote;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use wire::Conn;

/// The column in which a server keeps the row ids of a table without a primary key.
const ROW_ID: &str = "DB_ROW_ID";

/// Prepares one table, or the table that takes the rows of a partition first (with its name). Discards its
/// empty tablespace, unless the server is going to be stopped for the new one.
pub fn prepare<'p>(
    t: &mut Target<'_>,
    methods: &MethodPlan,
    journal: &Journal,
    table: &'p Table,
    partition: Option<(PartitionImport, &str)>,
) -> Result<Verdict<ImportTarget<'p>>> {
    let own_name = partition.as_ref().map_or(table.name.as_str(), |p| p.1);
    let name = quote::qualified(&table.schema, own_name);
    let paths = methods.paths(&table.schema, own_name);
    let (Some(datadir), Some(paths)) = (methods.datadir(), paths) else {
        return Ok(Verdict::use_sql(UNKNOWN_PLACE));
    };
    let empty = match export(&mut t.conn, &name, datadir, &paths)? {
        Verdict::Ready(empty) => empty,
        Verdict::Rejected(why) => return Ok(Verdict::Rejected(why)),
    };
    let (columns, read) = match columns(&mut t.conn, table, &name, t.id.is_mariadb())? {
        Verdict::Ready(columns) => columns,
        Verdict::Rejected(why) => return Ok(Verdict::Rejected(why)),
    };
    let unknown = indexes_of_unknown_order(&empty);
    if !unknown.is_empty() {
        return Ok(Verdict::Rejected(Rejection::Indexes(unknown)));
    }
    // The server gives row ids to the rows of a table without a primary key. It continues past those that
    // it finds in a tablespace only when it imports one.
    let clustered = empty.exported.indexes.first();
    let first_field = clustered.and_then(|i| i.fields.first());
    let has_row_ids = first_field.is_some_and(|f| f.name == ROW_ID);
    let uses_up_row_id = has_row_ids && t.id.is_mariadb();
    if uses_up_row_id && let Some(why) = row_id::why_unsupported(&mut t.conn, &table.schema)? {
        return Ok(Verdict::use_sql(why));
    }
    let online = !t.options.is_offline() || has_row_ids || partition.is_some();
    let build_path = datadir.build_path(&name);
    journal.begin_tablespace(&mut t.conn, &name, &build_path.display().to_string())?;
    failpoint::reached("a file is announced");
    if online {
        match t
            .conn
            .execute(format!("ALTER TABLE {name} DISCARD TABLESPACE"))
        {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => {
                return Ok(Verdict::use_sql(format!("DISCARD TABLESPACE failed: {e}")));
            }
            Err(e) => return Err(import_error(&name, e)),
        }
    }
    Ok(Verdict::Ready(ImportTarget {
        table,
        name,
        paths,
        build_path,
        empty,
        columns,
        read,
        online,
        uses_up_row_id,
        partition: partition.map(|p| p.0),
    }))
}

/// The indexes whose order of values is not known here.
fn indexes_of_unknown_order(empty: &EmptyTablespace) -> Vec<String> {
    let unknown = |layout: &&Layout| {
        let keys = &layout.fields[..layout.keys];
        keys.iter().any(|f| f.order == Order::Unknown)
    };
    let layouts = empty.template.targets.iter().map(|t| &t.layout);
    layouts.filter(unknown).map(|l| l.name.clone()).collect()
}

/// Bytes that a checkpoint itself adds to the log: 16, or 24 with encryption. Where nothing else was
/// written since the last checkpoint no other is made, and the last one stays that far behind.
const CHECKPOINT_BYTES: u64 = 24;

/// Has MariaDB write a checkpoint.
pub fn checkpoint(conn: &mut Conn) -> Result<()> {
    let failed = |e| failure::wire("cannot have the server write a checkpoint", e);
    let before = lsn(conn, "Innodb_lsn_current")?;
    // While other sessions write, the first checkpoint may stop short of what was current.
    for _ in 0..20 {
        conn.execute("SET GLOBAL innodb_log_checkpoint_now = 1")
            .map_err(failed)?;
        if before > 0 && lsn(conn, "Innodb_lsn_last_checkpoint")? + CHECKPOINT_BYTES >= before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Error::new(
        Kind::Failed,
        "the server did not write a checkpoint when it was asked to",
    )
    .hint("load with --import-mode sql"))
}

fn lsn(conn: &mut Conn, name: &str) -> Result<u64> {
    let rows = conn
        .fetch(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .map_err(|e| failure::wire("cannot read the server's log position", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().nth(1));
    let text = cell.flatten().unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).parse().unwrap_or(0))
}

/// Exports the empty table, and reads it as a template.
fn export(
    conn: &mut Conn,
    name: &str,
    datadir: &Datadir,
    paths: &TablePaths,
) -> Result<Verdict<EmptyTablespace>> {
    match conn.execute(format!("FLUSH TABLES {name} FOR EXPORT")) {
        Ok(_) => {}
        Err(wire::Error::Server(e)) => {
            let why = format!("the server does not export their empty tables: {e}");
            return Ok(Verdict::use_sql(why));
        }
        Err(e) => return Err(failure::wire(format_args!("cannot export {name}"), e)),
    }
    let read = read_exported(datadir, paths);
    conn.execute("UNLOCK TABLES")
        .map_err(|e| failure::wire("cannot unlock tables", e))?;
    let exported = match read {
        Ok(exported) => exported,
        Err(e) => {
            return Ok(Verdict::use_sql(format!(
                "the server's files cannot be read from here ({}: {e})",
                paths.tablespace.display()
            )));
        }
    };
    if paths.description.exists() {
        return Ok(Verdict::use_sql(format!(
            "{} is not this server's data directory",
            datadir.scratch().display()
        )));
    }
    if !exported.is_on_same_device {
        return Ok(Verdict::use_sql(
            "the directory of their schema is on another device than the data directory",
        ));
    }
    let template = || -> Result<EmptyTablespace, String> {
        let description = Exported::read(&exported.description).map_err(|e| e.to_string())?;
        let template =
            Template::read(&exported.tablespace, &description).map_err(|e| e.to_string())?;
        Ok(EmptyTablespace {
            template,
            exported: description,
            description: exported.description.clone(),
            mode: exported.mode,
        })
    };
    Ok(template().map_or_else(Verdict::use_sql, Verdict::Ready))
}

/// The files of a table while it is exported.
struct ExportedFiles {
    is_on_same_device: bool,
    tablespace: Vec<u8>,
    description: Vec<u8>,
    mode: u32,
}

fn read_exported(datadir: &Datadir, paths: &TablePaths) -> io::Result<ExportedFiles> {
    let description = std::fs::read(&paths.description)?;
    Ok(ExportedFiles {
        is_on_same_device: datadir.is_on_same_device(paths)?,
        tablespace: std::fs::read(&paths.tablespace)?,
        description,
        mode: std::fs::metadata(&paths.tablespace)?.permissions().mode(),
    })
}

/// Types of columns, for what builds a tablespace and for what reads it again.
type Types = (Vec<(String, Column)>, Vec<innodb::read::Column>);

/// The types of the columns that the archive has, in its order.
fn columns(conn: &mut Conn, table: &Table, name: &str, mariadb: bool) -> Result<Verdict<Types>> {
    let server = if mariadb {
        Server::MariaDb
    } else {
        Server::MySql
    };
    let sql = format!(
        "SELECT column_name, column_type, character_set_name FROM information_schema.columns \
         WHERE table_schema = {} AND table_name = {} AND extra NOT LIKE '%VIRTUAL%'",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire(format_args!("cannot read the columns of {name}"), e))?;
    let text = |c: Option<&Option<Vec<u8>>>| {
        let cell = c.and_then(Option::as_ref)?;
        Some(String::from_utf8_lossy(cell).into_owned())
    };
    let mut types: HashMap<String, (String, Option<String>)> = rows
        .iter()
        .filter_map(|r| Some((text(r.first())?, (text(r.get(1))?, text(r.get(2))))))
        .collect();
    let (mut list, mut read) = (Vec::new(), Vec::new());
    for column in &table.meta.options.columns {
        let Some((column_type, charset)) = types.remove(column) else {
            return Ok(Verdict::use_sql(
                "the archive has columns that the server's tables lack",
            ));
        };
        let set = charset.as_deref();
        let members = match value::to_encode(&column_type, set) {
            Some(members) => Some(encoded(conn, name, &members, set.unwrap_or("binary"))?),
            None => None,
        };
        read.push(innodb::read::Column {
            name: column.clone(),
            values: match Type::of(&column_type, set, members.clone(), server) {
                Ok(of) => Values::Stored(of),
                Err(why) => Values::Unread(why.to_string()),
            },
            hidden: false,
        });
        match Column::of(&column_type, set, members) {
            Ok(kind) => list.push((column.clone(), kind)),
            Err(why) => {
                // A list of members would make a separate reason for each table.
                let why: String = why.to_string().chars().take(40).collect();
                return Ok(Verdict::use_sql(format!(
                    "they have columns of an unsupported type ({why})"
                )));
            }
        }
    }
    Ok(if types.is_empty() {
        Verdict::Ready((list, read))
    } else {
        Verdict::use_sql("they have columns that the archive has no values of")
    })
}

/// Members of an ENUM or SET as rows have them: the server knows every character set.
fn encoded(conn: &mut Conn, name: &str, members: &[String], set: &str) -> Result<Vec<Vec<u8>>> {
    let member = |m: &String| {
        let hex: String = m.bytes().map(|b| format!("{b:02x}")).collect();
        format!("CAST(CONVERT(_utf8mb4 x'{hex}' USING {set}) AS BINARY)")
    };
    let mut all = Vec::new();
    // A row has at most 4,096 columns, an ENUM 65,535 members.
    for some in members.chunks(1000) {
        let items: Vec<String> = some.iter().map(member).collect();
        let rows = conn
            .fetch(format!("SELECT {}", items.join(", ")))
            .map_err(|e| failure::wire(format_args!("cannot read the columns of {name}"), e))?;
        let row = rows.into_iter().next().unwrap_or_default();
        all.extend(row.into_iter().map(Option::unwrap_or_default));
    }
    Ok(all)
}

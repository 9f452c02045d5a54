//! What is needed before a file can be built: the server's own empty file of
//! the table as a template, what it says of indexes and columns, and a server
//! that has let go of that file; on MariaDB one that has written a checkpoint.

use super::MethodPlan;
use super::datadir::{Datadir, TablePaths};
use super::import::{Outcome, lost};
use super::partitions::{self, PartitionImport};
use super::row_id;
use crate::Target;
use crate::journal::Journal;
use archive::open::{Chunk, Table};
use base::{Error, Kind, Result, failpoint};
use innodb::build::Template;
use innodb::layout::Order;
use innodb::value::{self, Kind as Column};
use innodb::{Exported, Layout};
use run::failure;
use server::quote;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use wire::Conn;

/// The column by which a server keeps rows that have no key.
const NUMBER: &str = "DB_ROW_ID";

/// The server's empty file, and what it says of the table.
pub struct EmptyTablespace {
    /// To build on.
    pub template: Template,
    /// Its indexes and columns.
    pub exported: Exported,
    /// The same as the server wrote it.
    pub description: Vec<u8>,
    /// Permissions of the server's file.
    pub mode: u32,
}

/// A table that is to get a new file.
pub struct ImportTarget<'p> {
    /// What it is in the archive.
    pub table: &'p Table,
    /// Quoted, qualified.
    pub name: String,
    /// Where the server has its file.
    pub place: TablePaths,
    /// Where the new file is built.
    pub path: PathBuf,
    /// What it is built on.
    pub blank: EmptyTablespace,
    /// Those of the archive, in its order.
    pub columns: Vec<(String, Column)>,
    /// Whether the server imports its file, and need not be stopped for it.
    pub imported: bool,
    /// Whether somebody has to take the number of a row then, before the table gets one that has it already.
    pub takes_number: bool,
    /// If it is a partition only: this is the table that takes its rows first.
    pub part: Option<PartitionImport>,
}

impl ImportTarget<'_> {
    /// The whole table, quoted, qualified.
    pub fn whole(&self) -> &str {
        self.part.as_ref().map_or(&self.name, |p| &p.whole)
    }

    /// What the archive has of it.
    pub fn chunks(&self) -> Vec<&Chunk> {
        let partition = self.part.as_ref().map(|p| &p.partition);
        let all = self.table.chunks.iter();
        all.filter(|c| partition.is_none() || c.partition.as_ref() == partition)
            .collect()
    }
}

/// Takes the server's empty files of these tables as templates, and discards them unless the server is going
/// to be stopped; several of a table whose partitions come by themselves. The inner outcome is that of a table
/// which cannot come as a file.
pub fn ready<'p>(
    t: &mut Target<'_>,
    roads: &MethodPlan,
    journal: &Journal,
    tables: &[&'p Table],
) -> Result<Vec<std::result::Result<Vec<ImportTarget<'p>>, Outcome>>> {
    let mut all = Vec::new();
    for table in tables {
        t.run.check()?;
        all.push(if partitions::has(table) {
            partitions::ready(t, roads, journal, table)?
        } else {
            one_ready(t, roads, journal, table, None)?.map(|ready| vec![ready])
        });
    }
    if t.id.is_mariadb() && all.iter().any(std::result::Result::is_ok) {
        // Its recovery takes a space whose file was discarded since the last checkpoint for deleted, and
        // leaves out whatever was changed in it since, whether a file was imported or not. And of pages that
        // were made since then it does not even look at what the file has, which may be another by then.
        checkpoint(&mut t.conn)?;
    }
    failpoint::reached("empty files are discarded");
    Ok(all)
}

/// The same of one table, or of the one that takes the rows of a partition first.
pub fn one_ready<'p>(
    t: &mut Target<'_>,
    roads: &MethodPlan,
    journal: &Journal,
    table: &'p Table,
    part: Option<(PartitionImport, &str)>,
) -> Result<std::result::Result<ImportTarget<'p>, Outcome>> {
    let unfit = |why: String| Ok(Err(Outcome::Unfit(why)));
    let own = part.as_ref().map_or(table.name.as_str(), |p| p.1);
    let name = quote::qualified(&table.schema, own);
    let place = roads.place(&table.schema, own);
    let (Some(site), Some(place)) = (roads.site(), place) else {
        return unfit("the server's files are not known".to_owned());
    };
    let blank = match blank(&mut t.conn, &name, site, &place)? {
        Ok(blank) => blank,
        Err(why) => return unfit(why),
    };
    let columns = match columns(&mut t.conn, table, &name)? {
        Ok(columns) => columns,
        Err(why) => return unfit(why),
    };
    let unknown = |layout: &Layout| {
        let keys = &layout.fields[..layout.keys];
        keys.iter().any(|f| f.order == Order::Unknown)
    };
    let layouts = blank.template.targets.iter().map(|t| &t.layout);
    let unknown: Vec<String> = layouts
        .filter(|l| unknown(l))
        .map(|l| l.name.clone())
        .collect();
    if !unknown.is_empty() {
        return Ok(Err(Outcome::Keys(unknown)));
    }
    // Rows without a key have numbers of the server's. It counts on behind those that it finds in a file only when it imports one.
    let clustered = blank
        .exported
        .indexes
        .first()
        .and_then(|i| i.fields.first());
    let numbered = clustered.is_some_and(|f| f.name == NUMBER);
    let takes_number = numbered && t.id.is_mariadb();
    if takes_number && let Some(why) = row_id::barred(&mut t.conn, &table.schema)? {
        return unfit(why);
    }
    let imported = !t.options.is_offline() || numbered || part.is_some();
    let path = site.building(&name);
    journal.begin_file(&mut t.conn, &name, &path.display().to_string())?;
    failpoint::reached("a file is announced");
    if imported {
        match t
            .conn
            .execute(format!("ALTER TABLE {name} DISCARD TABLESPACE"))
        {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => {
                return unfit(format!(
                    "the server does not let go of their empty files: {e}"
                ));
            }
            Err(e) => return Err(lost(&name, e)),
        }
    }
    Ok(Ok(ImportTarget {
        table,
        name,
        place,
        path,
        blank,
        columns,
        imported,
        takes_number,
        part: part.map(|p| p.0),
    }))
}

/// Bytes that a checkpoint itself adds to the log, 16, or 24 with encryption: where nothing else was written since the
/// last one no other is made, and that one stays as far behind.
const OF_CHECKPOINT: u64 = 24;

/// Has MariaDB write a checkpoint.
pub fn checkpoint(conn: &mut Conn) -> Result<()> {
    let failed = |e| failure::wire("cannot have the server write a checkpoint", e);
    let before = lsn(conn, "Innodb_lsn_current")?;
    // While others write, the first one may stop short of what was current.
    for _ in 0..20 {
        conn.execute("SET GLOBAL innodb_log_checkpoint_now = 1")
            .map_err(failed)?;
        if before > 0 && lsn(conn, "Innodb_lsn_last_checkpoint")? + OF_CHECKPOINT >= before {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Error::new(
        Kind::Failed,
        "the server did not write a checkpoint when it was asked to",
    )
    .hint("load with --road rows"))
}

fn lsn(conn: &mut Conn, name: &str) -> Result<u64> {
    let rows = conn
        .fetch(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .map_err(|e| failure::wire("cannot read the server's log position", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().nth(1));
    let text = cell.flatten().unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).parse().unwrap_or(0))
}

/// Exports the empty table. The inner error says why it does not do as a template.
fn blank(
    conn: &mut Conn,
    name: &str,
    site: &Datadir,
    place: &TablePaths,
) -> Result<std::result::Result<EmptyTablespace, String>> {
    match conn.execute(format!("FLUSH TABLES {name} FOR EXPORT")) {
        Ok(_) => {}
        Err(wire::Error::Server(e)) => {
            return Ok(Err(format!("the server does not export them empty: {e}")));
        }
        Err(e) => return Err(failure::wire(format_args!("cannot export {name}"), e)),
    }
    let read = || -> io::Result<(bool, Vec<u8>, Vec<u8>, u32)> {
        use std::os::unix::fs::PermissionsExt;
        let description = std::fs::read(&place.description)?;
        Ok((
            site.is_near(place)?,
            std::fs::read(&place.file)?,
            description,
            std::fs::metadata(&place.file)?.permissions().mode(),
        ))
    };
    let read = read();
    conn.execute("UNLOCK TABLES")
        .map_err(|e| failure::wire("cannot unlock tables", e))?;
    let (near, file, description, mode) = match read {
        Ok(read) => read,
        Err(e) => {
            return Ok(Err(format!(
                "the server's files of them are not to be read here ({}: {e})",
                place.file.display()
            )));
        }
    };
    if place.description.exists() {
        return Ok(Err(format!(
            "{} is not this server's data folder",
            site.scratch().display()
        )));
    }
    if !near {
        return Ok(Err(
            "their schema's folder is on another device than the data folder".to_owned(),
        ));
    }
    let blank = || -> Result<EmptyTablespace, String> {
        let exported = Exported::read(&description).map_err(|e| e.to_string())?;
        let template = Template::read(&file, &exported).map_err(|e| e.to_string())?;
        Ok(EmptyTablespace {
            template,
            exported,
            description: description.clone(),
            mode,
        })
    };
    Ok(blank())
}

/// The kinds of the columns that the archive has, in its order.
fn columns(
    conn: &mut Conn,
    table: &Table,
    name: &str,
) -> Result<std::result::Result<Vec<(String, Column)>, String>> {
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
    let mut list = Vec::new();
    for column in &table.meta.options.columns {
        let Some((column_type, charset)) = types.remove(column) else {
            return Ok(Err(
                "the archive has columns that the server's tables lack".into()
            ));
        };
        let set = charset.as_deref();
        let members = match value::to_encode(&column_type, set) {
            Some(members) => Some(encoded(conn, name, &members, set.unwrap_or("binary"))?),
            None => None,
        };
        match Column::of(&column_type, set, members) {
            Ok(kind) => list.push((column.clone(), kind)),
            Err(why) => {
                // A list of members would be a reason of its own for each table.
                let why: String = why.to_string().chars().take(40).collect();
                return Ok(Err(format!(
                    "they have columns of a type that is not built ({why})"
                )));
            }
        }
    }
    Ok(if types.is_empty() {
        Ok(list)
    } else {
        Err("they have columns that the archive has no values of".to_owned())
    })
}

/// Members of an ENUM or SET as rows have them: the server knows every character set.
fn encoded(conn: &mut Conn, name: &str, members: &[String], set: &str) -> Result<Vec<Vec<u8>>> {
    let member = |m: &String| {
        let hex: String = m.bytes().map(|b| format!("{b:02x}")).collect();
        format!("CAST(CONVERT(_utf8mb4 x'{hex}' USING {set}) AS BINARY)")
    };
    let mut all = Vec::new();
    // A row has 4,096 columns at most, an ENUM 65,535 members.
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

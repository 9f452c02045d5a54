//! How fast tablespaces are built, checked and imported: tables of a server are
//! read into memory, built as files, and imported into tables of the same
//! definition in another schema.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use crate::args::Args;
use innodb::bulk::{Builder, Options, Template};
use innodb::page::SIZE;
use innodb::value::Kind as Column;
use innodb::{Exported, Layout};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;
use testkit::{Error, Result};
use wire::{Conn, Endpoint};

/// The options of `testkit tablespace`.
pub(crate) const OPTIONS: [&str; 5] = ["socket", "schema", "tables", "threads", "sort-memory"];

/// Where the copies go.
const COPIES: &str = "penstock_built";

/// Measures and prints a table.
pub(crate) fn measure(args: &Args) -> Result<()> {
    let socket = args.needed("socket")?;
    let schema = args.text("schema").unwrap_or("tpcc");
    let threads: usize = args.number("threads", 2)?;
    let memory: usize = args.number::<usize>("sort-memory", 512)? << 20;
    let mut conn = Conn::connect(&wire::Options::new(Endpoint::Unix(socket.into()), "root"))?;
    for sql in [
        "SET NAMES utf8mb4",
        "SET SESSION character_set_results = binary",
        "SET time_zone = '+00:00'",
        "SET SESSION sql_log_bin = 0",
    ] {
        conn.execute(sql)?;
    }
    let names = match args.text("tables") {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => column(
            &mut conn,
            &format!(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type = 'BASE TABLE'"
            ),
        )?,
    };
    conn.execute(format!("DROP DATABASE IF EXISTS {COPIES}"))?;
    conn.execute(format!("CREATE DATABASE {COPIES}"))?;
    println!(
        "| table | rows | keys | file | build, {threads} threads | a core | check | sync | import | equal |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for name in &names {
        match one(&mut conn, schema, name, threads, memory) {
            Ok(line) => println!("{line}"),
            Err(e) => println!("| {name} | not built: {e} |"),
        }
    }
    conn.execute(format!("DROP DATABASE {COPIES}"))?;
    Ok(())
}

fn column(conn: &mut Conn, sql: &str) -> Result<Vec<String>> {
    let rows = conn.fetch(sql)?;
    let cells = rows
        .into_iter()
        .filter_map(|r| r.into_iter().next().flatten());
    Ok(cells
        .map(|c| String::from_utf8_lossy(&c).into_owned())
        .collect())
}

/// Rows of a table, as the server sends them.
struct Rows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

fn one(conn: &mut Conn, schema: &str, name: &str, threads: usize, memory: usize) -> Result<String> {
    conn.execute(format!("CREATE TABLE {COPIES}.{name} LIKE {schema}.{name}"))?;
    let (file, description, exported) = template(conn, name)?;
    let path = Path::new(&column(conn, "SELECT @@datadir")?.remove(0)).join("building");
    let template = Template::read(&std::fs::read(&file)?, &exported).map_err(Error::doing(name))?;
    let primary: Vec<String> = exported.indexes[0].fields[..exported.indexes[0].unique]
        .iter()
        .map(|f| format!("`{}`", f.name))
        .collect();
    let mut rows = Rows {
        bytes: Vec::new(),
        ends: Vec::new(),
    };
    let mut answer = conn.query_bulk(format!(
        "SELECT * FROM {schema}.{name} ORDER BY {}",
        primary.join(", ")
    ))?;
    while let Some(row) = answer.next()? {
        rows.bytes.extend_from_slice(row.payload());
        rows.ends.push(rows.bytes.len());
    }
    let columns = columns(conn, name)?;
    let out = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(&path)?;
    let options = Options {
        memory,
        folder: std::env::temp_dir(),
        threads,
    };
    let began = Instant::now();
    let builder =
        Builder::new(&template, &exported, columns, &out, &options).map_err(Error::doing(name))?;
    let pages = build(builder, &rows, threads).map_err(Error::doing(name))?;
    out.set_len(u64::from(pages) * SIZE as u64)?;
    let built = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let whole = check(&path, &exported, threads)?;
    let checked = began.elapsed().as_secs_f64();
    let began = Instant::now();
    out.sync_all()?;
    let synced = began.elapsed().as_secs_f64();
    conn.execute(format!("ALTER TABLE {COPIES}.{name} DISCARD TABLESPACE"))?;
    std::fs::rename(&path, &file)?;
    std::fs::write(file.with_extension("cfg"), description)?;
    let began = Instant::now();
    conn.execute(format!("ALTER TABLE {COPIES}.{name} IMPORT TABLESPACE"))?;
    let imported = began.elapsed().as_secs_f64();
    let sums = conn.fetch(format!("CHECKSUM TABLE {schema}.{name}, {COPIES}.{name}"))?;
    let equal = sums.len() == 2 && sums[0][1] == sums[1][1] && whole;
    let megabytes = f64::from(pages) * SIZE as f64 / 1e6;
    conn.execute(format!("DROP TABLE {COPIES}.{name}"))?;
    Ok(format!(
        "| {name} | {} | {} | {megabytes:.0} MB | {built:.2} s | {:.0} MB/s | {checked:.2} s | {synced:.2} s | {imported:.2} s | {} |",
        rows.ends.len(),
        exported.indexes.len(),
        megabytes / built / threads as f64,
        if equal { "yes" } else { "NO" }
    ))
}

/// Exports the empty copy; its file, which stays where it is, and its description.
fn template(conn: &mut Conn, name: &str) -> Result<(PathBuf, Vec<u8>, Exported)> {
    let data = column(conn, "SELECT @@datadir")?.remove(0);
    conn.execute(format!("FLUSH TABLES {COPIES}.{name} FOR EXPORT"))?;
    let file = Path::new(&data).join(COPIES).join(format!("{name}.ibd"));
    let description = file.with_extension("cfg");
    let read = std::fs::read(&description);
    conn.execute("UNLOCK TABLES")?;
    let description = read?;
    let exported = Exported::read(&description).map_err(Error::doing(name))?;
    Ok((file, description, exported))
}

fn columns(conn: &mut Conn, name: &str) -> Result<Vec<(String, Column)>> {
    let rows = conn.fetch(format!("SELECT column_name, column_type, character_set_name FROM information_schema.columns WHERE table_schema = '{COPIES}' AND table_name = '{name}' ORDER BY ordinal_position"))?;
    let text = |c: &Option<Vec<u8>>| c.as_ref().map(|c| String::from_utf8_lossy(c).into_owned());
    rows.iter()
        .map(|r| {
            let column_type = text(&r[1]).unwrap_or_default();
            let kind = Column::of(&column_type, text(&r[2]).as_deref(), None)
                .map_err(Error::doing(name))?;
            Ok((text(&r[0]).unwrap_or_default(), kind))
        })
        .collect()
}

fn build(
    builder: Builder<'_>,
    rows: &Rows,
    threads: usize,
) -> std::result::Result<u32, innodb::bulk::Error> {
    let each = rows.ends.len().div_ceil(threads).max(1);
    let stretches = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|n| {
                let builder = &builder;
                scope.spawn(move || {
                    let from = (n * each).min(rows.ends.len());
                    let mut to = builder.rows(from as u64 + 1);
                    let until = (from + each).min(rows.ends.len());
                    let mut at = from.checked_sub(1).map_or(0, |n| rows.ends[n]);
                    for end in &rows.ends[from..until] {
                        let cells = wire::Row(&rows.bytes[at..*end]).cells();
                        to.push(cells.map(|c| c.unwrap_or_default()))?;
                        at = *end;
                    }
                    to.end()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect::<std::result::Result<Vec<_>, _>>()
    })?;
    builder.finish(stretches)
}

fn check(path: &Path, exported: &Exported, threads: usize) -> Result<bool> {
    let layouts: Vec<Layout> = exported
        .indexes
        .iter()
        .filter_map(|i| Layout::of(exported, i).ok())
        .collect();
    let file = File::open(path)?;
    let count = (file.metadata()?.len() / SIZE as u64) as u32;
    let file = InFile { file, count };
    let report = innodb::check(&file, &layouts, threads).map_err(Error::doing(path.display()))?;
    for (page, what) in report.problems.iter().take(10) {
        println!("page {page}: {what}");
    }
    Ok(report.is_whole())
}

struct InFile {
    file: File,
    count: u32,
}

impl innodb::space::Pages for InFile {
    fn count(&self) -> u32 {
        self.count
    }

    fn read(&self, number: u32, page: &mut [u8]) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.file
            .read_exact_at(page, u64::from(number) * SIZE as u64)
    }
}

//! Big real data that every Debian machine can get: the index of all files in all packages, from
//! the machine's own package mirror.
//!
//! It has what generated data lacks: 5.66 million long, skewed keys with shared prefixes, text of
//! every length, and a table whose key is two such strings.

mod fetch;
mod parse;

use crate::{Error, Result};
use parse::{Contents, Packages};
use std::io::{BufRead, BufReader};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;
use wire::{Conn, Options};

pub use fetch::{Index, Mirror};

/// The schema it goes into unless another is named.
pub const SCHEMA: &str = "debian";

/// Rows are sent to the server in pieces of about this many bytes.
const PIECE: usize = 8 << 20;

/// An InnoDB key may have 3,072 bytes, and a character four: 600 + 150 characters fit. The longest
/// path seen has 304 characters, the longest name far fewer than 100.
const TABLES: [(&str, &str); 4] = [
    (
        "file_index",
        "path VARCHAR(600) NOT NULL, packages TEXT NOT NULL, PRIMARY KEY (path)",
    ),
    (
        "file_owner",
        "path VARCHAR(600) NOT NULL, package VARCHAR(150) NOT NULL, section VARCHAR(60) NOT NULL, PRIMARY KEY (path, package)",
    ),
    (
        "package",
        "name VARCHAR(150) NOT NULL, version VARCHAR(150) NOT NULL, architecture VARCHAR(30) NOT NULL, \
         section VARCHAR(60), priority VARCHAR(30), installed_size BIGINT UNSIGNED, size BIGINT UNSIGNED, \
         maintainer TEXT, homepage TEXT, description TEXT, tags TEXT, stanza MEDIUMTEXT NOT NULL, \
         PRIMARY KEY (name, version, architecture)",
    ),
    (
        "dependency",
        "name VARCHAR(150) NOT NULL, version VARCHAR(150) NOT NULL, architecture VARCHAR(30) NOT NULL, \
         kind VARCHAR(20) NOT NULL, position INT UNSIGNED NOT NULL, wants TEXT NOT NULL, \
         PRIMARY KEY (name, version, architecture, kind, position)",
    ),
];

/// What to load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Most rows of the file index; `None` for all. Packages are limited likewise.
    pub rows: Option<u64>,
    /// Connections that load at the same time.
    pub connections: usize,
    /// Schema to create; it must not exist.
    pub schema: String,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            rows: None,
            connections: 2,
            schema: SCHEMA.to_owned(),
        }
    }
}

/// What was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loaded {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of these rows as tab-separated text.
    pub bytes: u64,
    /// How long it took, without the download.
    pub seconds: f64,
}

/// A piece of one table, ready for LOAD DATA.
struct Piece {
    table: &'static str,
    rows: Vec<u8>,
}

impl Load {
    /// Fetches the indexes unless they are in the cache directory, and fills the schema.
    pub fn run(&self, options: &Options) -> Result<Loaded> {
        let mirror = Mirror::of_this_machine()?;
        let contents = mirror.index(Index::Contents)?;
        let packages = mirror.index(Index::Packages)?;
        let begin = Instant::now();
        let mut options = options.clone();
        options.local_infile = true;
        let mut conn = Conn::connect(&options)?;
        conn.execute(format!(
            "CREATE DATABASE `{}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            self.schema
        ))?;
        for (name, columns) in TABLES {
            conn.execute(format!(
                "CREATE TABLE `{}`.{name} ({columns}) ENGINE=InnoDB",
                self.schema
            ))?;
        }
        let (pieces, inbox) = sync_channel(self.connections + 1);
        let inbox = Mutex::new(inbox);
        let mut loaded = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.connections.max(1))
                .map(|_| scope.spawn(|| self.work_off(&options, &inbox)))
                .collect();
            let read = self.read(&contents, &packages, pieces);
            let mut all = Loaded::default();
            let mut first = Ok(());
            for worker in workers {
                match worker
                    .join()
                    .unwrap_or_else(|_| Err(Error::new("a loading thread panicked")))
                {
                    Ok(part) => {
                        all.rows += part.rows;
                        all.bytes += part.bytes;
                    }
                    Err(e) => first = first.and(Err(e)),
                }
            }
            // The failure of a worker is why the reader could not deliver its pieces.
            first.and(read).map(|()| all)
        })?;
        for (name, _) in TABLES {
            conn.execute(format!("ANALYZE TABLE `{}`.{name}", self.schema))?;
        }
        loaded.seconds = begin.elapsed().as_secs_f64();
        Ok(loaded)
    }

    fn read(
        &self,
        contents: &fetch::Cached,
        packages: &fetch::Cached,
        pieces: SyncSender<Piece>,
    ) -> Result<()> {
        let limit = self.rows.unwrap_or(u64::MAX);
        let mut out = Pieces::new(&pieces);
        let mut stanzas = Packages::new();
        packages.lines(|line| {
            if stanzas.line(line, &mut out)? {
                return Ok(stanzas.count() < limit);
            }
            Ok(true)
        })?;
        stanzas.line(b"", &mut out)?;
        let mut files = Contents::default();
        contents.lines(|line| {
            files.line(line, &mut out)?;
            Ok(files.count() < limit)
        })?;
        out.flush()
    }

    fn work_off(&self, options: &Options, inbox: &Mutex<Receiver<Piece>>) -> Result<Loaded> {
        let mut conn = Conn::connect(options)?;
        conn.execute("SET SESSION unique_checks=0, foreign_key_checks=0, sql_log_bin=0")?;
        let mut loaded = Loaded::default();
        loop {
            let next = inbox.lock().unwrap_or_else(|e| e.into_inner()).recv();
            let Ok(piece) = next else { return Ok(loaded) };
            let (schema, table) = (&self.schema, piece.table);
            let sql = format!(
                "LOAD DATA LOCAL INFILE '{table}' INTO TABLE `{schema}`.{table} CHARACTER SET utf8mb4"
            );
            let done = conn
                .load(&sql, &mut &piece.rows[..])
                .map_err(Error::doing(table))?;
            if done.warnings != 0 {
                let warnings = conn.fetch("SHOW WARNINGS LIMIT 1")?;
                let text = warnings
                    .into_iter()
                    .flatten()
                    .flatten()
                    .next_back()
                    .unwrap_or_default();
                return Err(Error(format!(
                    "{table}: {}: {}",
                    done.info,
                    String::from_utf8_lossy(&text)
                )));
            }
            loaded.rows += done.affected;
            loaded.bytes += piece.rows.len() as u64;
        }
    }
}

/// Collects rows of every table, and delivers what has become big enough.
struct Pieces<'a> {
    to: &'a SyncSender<Piece>,
    open: Vec<Piece>,
}

impl<'a> Pieces<'a> {
    fn new(to: &'a SyncSender<Piece>) -> Self {
        let empty = |(table, _)| Piece {
            table,
            rows: Vec::with_capacity(PIECE + 4096),
        };
        Self {
            to,
            open: TABLES.map(empty).into(),
        }
    }

    /// Lets `row` append one row to `table`.
    fn row(&mut self, table: &'static str, row: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let at = self.open.iter().position(|p| p.table == table);
        let piece = &mut self.open[at.ok_or_else(|| Error(format!("no table {table}")))?];
        row(&mut piece.rows);
        piece.rows.push(b'\n');
        if piece.rows.len() >= PIECE {
            let rows = std::mem::replace(&mut piece.rows, Vec::with_capacity(PIECE + 4096));
            Self::send(self.to, Piece { table, rows })?;
        }
        Ok(())
    }

    fn flush(self) -> Result<()> {
        let mut filled = self.open.into_iter().filter(|p| !p.rows.is_empty());
        filled.try_for_each(|piece| Self::send(self.to, piece))
    }

    fn send(to: &SyncSender<Piece>, piece: Piece) -> Result<()> {
        to.send(piece)
            .map_err(|_| Error::new("all loading connections have ended"))
    }
}

/// Calls `each` with every line, without its end, until it says false.
fn for_lines(input: impl std::io::Read, mut each: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        if !each(&line)? {
            return Ok(());
        }
    }
}

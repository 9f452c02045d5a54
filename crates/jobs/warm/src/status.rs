//! `warm status SERVER`: what is in the buffer pool of a server now.
//!
//! Only counters are read that the server keeps anyway; `information_schema.INNODB_BUFFER_PAGE`, which looks at every page of
//! the pool while others wait for it, is not used. Which index has how many pages in memory, only MySQL counts.

use crate::dictionary;
use crate::file::HotSet;
use crate::load::{InMemory, in_memory};
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::session;
use std::path::PathBuf;
use wire::Conn;

/// Statements of a file's ranges that are read to see how much of it is in memory.
const SAMPLE: usize = 200;

/// What to look at.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub server: wire::Options,
    /// A file of hot ranges, of which the share in memory is asked.
    pub from: Option<PathBuf>,
}

/// Pages of an index.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Partition, or subpartition.
    pub partition: Option<String>,
    /// Index name.
    pub index: String,
    /// Its pages in the buffer pool.
    pub pages: u64,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// Pages that the pool has room for.
    pub pool: u64,
    /// Pages without anything in them.
    pub free: u64,
    /// Pages of data.
    pub data: u64,
    /// Those of them that are in the old part of the list, which are evicted first.
    pub old: u64,
    /// Those of them that are not written to disk yet.
    pub dirty: u64,
    /// Of each index, those with most pages first; `None` where the server does not count that.
    pub indexes: Option<Vec<Cached>>,
    /// How much of a file of hot ranges is in memory.
    pub hot: Option<InMemory>,
}

const POOL: &str = "SELECT SUM(POOL_SIZE), SUM(FREE_BUFFERS), SUM(DATABASE_PAGES), SUM(OLD_DATABASE_PAGES), \
                    SUM(MODIFIED_DATABASE_PAGES) FROM information_schema.INNODB_BUFFER_POOL_STATS";

const INDEXES: &str = "SELECT t.NAME, i.NAME, c.N_CACHED_PAGES FROM information_schema.INNODB_CACHED_INDEXES c \
                       JOIN information_schema.INNODB_INDEXES i ON i.INDEX_ID = c.INDEX_ID \
                       JOIN information_schema.INNODB_TABLES t ON t.TABLE_ID = i.TABLE_ID";

/// Looks.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let set = options.from.as_deref().map(HotSet::read).transpose()?;
    let (mut conn, id) = run::connect::open(run, &options.server)?;
    run::connect::prepared(session::for_catalog(&mut conn, &id))?;
    let pool = numbers(&mut conn, POOL)?;
    let [size, free, data, old, dirty] = pool[..] else {
        return Err(Error::new(
            Kind::Privilege,
            "the server does not say what its buffer pool holds",
        )
        .hint("grant PROCESS to the account"));
    };
    let indexes = match id.mysql_at_least(8, 0, 0) {
        true => Some(cached(&mut conn)?),
        false => None,
    };
    let hot = match &set {
        Some(set) => Some(in_memory(
            run,
            &mut conn,
            &id,
            &options.server,
            set,
            SAMPLE,
        )?),
        None => None,
    };
    Ok(Summary {
        server: format!("{id} at {}", options.server.endpoint),
        page_size: id.innodb_page_size,
        pool: size,
        free,
        data,
        old,
        dirty,
        indexes,
        hot,
    })
}

/// The numbers of the first row.
fn numbers(conn: &mut Conn, sql: &str) -> Result<Vec<u64>> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot read what the buffer pool holds", e))?;
    let number = |cell: &Option<Vec<u8>>| std::str::from_utf8(cell.as_deref()?).ok()?.parse().ok();
    let row = rows.first().map(Vec::as_slice).unwrap_or_default();
    Ok(row.iter().map_while(number).collect())
}

fn cached(conn: &mut Conn) -> Result<Vec<Cached>> {
    let rows = conn
        .fetch(INDEXES)
        .map_err(|e| failure::wire("cannot read what the buffer pool holds", e))?;
    let text =
        |cell: &Option<Vec<u8>>| Some(String::from_utf8_lossy(cell.as_deref()?).into_owned());
    let one = |row: &Vec<Option<Vec<u8>>>| {
        let (schema, table, partition) = dictionary::names(&text(row.first()?)?)?;
        Some(Cached {
            schema,
            table,
            partition,
            index: text(row.get(1)?)?,
            pages: text(row.get(2)?)?.parse().ok()?,
        })
    };
    let is_of_users = |c: &Cached| !server::filter::is_system_schema(&c.schema) && c.pages > 0;
    let mut all: Vec<Cached> = rows.iter().filter_map(one).filter(is_of_users).collect();
    all.sort_by(|a, b| (b.pages, &a.schema, &a.table).cmp(&(a.pages, &b.schema, &b.table)));
    Ok(all)
}

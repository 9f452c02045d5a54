//! Fills a server the way `penstock load` does: rows are generated while LOAD DATA LOCAL INFILE asks for them, in key
//! order, on several connections with the same sessions, schedule, executor and tuning; keys are added after the rows.
//!
//! Invariant: only a schema that this run creates is written to.

use super::feed::Feed;
use super::schema::denied;
use super::stream::{Passing, Warehouses};
use super::{SCHEMA, Table};
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use instance::tune;
use load::schedule::{Schedule, Task, Work};
use load::{bulk_insert, check_writable};
use rows::load_data::{self, Executor, Failed, add_indexes};
use run::Run;
use run::Stop;
use run::connect;
use run::failure;
use server::privileges::{LoadNeeds, Privileges};
use server::{Identity, quote, session};
use std::ops::Range;
use std::time::Instant;
use wire::Conn;

/// What to fill in.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub server: wire::Options,
    /// Schema to create; it must not exist.
    pub schema: String,
    /// How many warehouses; about 71 MB of rows each.
    pub warehouses: u32,
    /// Connections that load at the same time.
    pub threads: usize,
    /// Decides every value.
    pub seed: u64,
    /// Whether the tables have the foreign keys of clause 1.3.
    pub foreign_keys: bool,
    /// Keep the load out of the binary log.
    pub skip_binlog: bool,
    /// Whoever loads removes what a load that fails leaves behind.
    pub cleared: bool,
    /// How far the server may be tuned, and where that is journalled.
    pub tune: tune::Options,
}

impl Options {
    /// This many warehouses in schema `tpcc`, two connections, seed 1.
    pub fn new(server: wire::Options, warehouses: u32) -> Options {
        Options {
            server,
            schema: SCHEMA.to_owned(),
            warehouses,
            threads: 2,
            seed: 1,
            foreign_keys: false,
            skip_binlog: false,
            cleared: false,
            tune: tune::Options::default(),
        }
    }
}

/// What was filled in.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// The schema.
    pub schema: String,
    /// Its warehouses.
    pub warehouses: u32,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of these rows as tab-separated text.
    pub bytes: u64,
    /// Connections that loaded.
    pub threads: usize,
    /// How long it took, tables and keys included.
    pub seconds: f64,
    /// Rows and keys alone.
    pub rows_seconds: f64,
    /// What was done to the server to make it fast, and undone.
    pub tuning: tune::Report,
}

/// Creates the schema and its tables, and fills them.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let begin = Instant::now();
    if options.warehouses == 0 {
        return Err(Error::new(
            Kind::Usage,
            "there is nothing to load: no warehouse",
        ));
    }
    let (mut conn, id) = connect::open(run, &options.server)?;
    let id = tune::recover(run, &options.tune, &options.server, &mut conn, id)?;
    run.observer
        .note(format!("target: {id} at {}", options.server.endpoint));
    fit(&mut conn, &id, options)?;
    let bytes = |t: &Table| t.bytes() * u64::from(chunks(*t, options.warehouses));
    let work = tune::LoadProfile {
        bytes: Table::ALL.iter().map(bytes).sum(),
        split: options.warehouses > 1,
        binlog: !options.skip_binlog,
        redo: false,
        session: conn.id(),
    };
    // Whatever ends this function from here on, `tuning` puts the server's settings back.
    let tuning = tune::begin(run, &options.tune, &options.server, &id, &work)?;
    session::for_ddl(&mut conn, &id).map_err(|e| failure::server("cannot prepare a session", e))?;
    if options.skip_binlog {
        skip_binlog(&mut conn, &id)?;
    }
    create_schema(&mut conn, &options.schema)?;
    let filled = fill(run, &mut conn, &id, options, work.bytes);
    let (rows, bytes, rows_seconds) = filled.map_err(|e| match options.cleared {
        true => e,
        false => left_behind(e, &options.schema),
    })?;
    let tuning = tuning.finish();
    Ok(Summary {
        server: format!("{id} at {}", options.server.endpoint),
        schema: options.schema.clone(),
        warehouses: options.warehouses,
        rows,
        bytes,
        threads: options.threads,
        seconds: begin.elapsed().as_secs_f64(),
        rows_seconds,
        tuning,
    })
}

/// Whether the server takes rows, the account may load them, and the schema is not there.
fn fit(conn: &mut Conn, id: &Identity, options: &Options) -> Result<()> {
    check_writable(conn, id, Some(options.tune.level))?;
    let held = Privileges::read(conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let needs = LoadNeeds {
        schemas: vec![options.schema.clone()],
        skip_binlog: options.skip_binlog,
        ..LoadNeeds::default()
    };
    let missing = held.missing_for_load(id, &needs);
    if !missing.is_empty() {
        return Err(denied(&held, &missing));
    }
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = {}",
        quote::text(&options.schema)
    );
    let there = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for the schema", e))?;
    if there.into_iter().flatten().flatten().any(|n| n != b"0") {
        return Err(exists(&options.schema));
    }
    Ok(())
}

fn exists(schema: &str) -> Error {
    Error::new(
        Kind::Target,
        printable(&format!("schema {} exists already", quote::ident(schema))),
    )
    .hint("nothing is ever overwritten: name another with --schema, or drop it yourself")
}

fn create_schema(conn: &mut Conn, schema: &str) -> Result<()> {
    let name = quote::ident(schema);
    let done = conn.execute(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"));
    match done {
        Ok(_) => Ok(()),
        // Somebody was quicker.
        Err(e) if e.code() == Some(1007) => Err(exists(schema)),
        Err(e) => Err(failure::wire(
            format_args!("cannot create schema {name}"),
            e,
        )),
    }
}

fn skip_binlog(conn: &mut Conn, id: &Identity) -> Result<()> {
    session::skip_binlog(conn, id)
        .map_err(|e| failure::server("cannot keep the load out of the binary log", e))
}

fn left_behind(e: Error, schema: &str) -> Error {
    let hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default();
    e.hint(
        hint + &printable(&format!(
            "schema {} holds a part of the rows: drop it to start again",
            quote::ident(schema)
        )),
    )
}

/// Chunks of a table: one for each warehouse.
fn chunks(table: Table, warehouses: u32) -> u32 {
    if table == Table::Item { 1 } else { warehouses }
}

/// Tables, rows and keys; gives rows, bytes, and seconds of the rows.
fn fill(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    options: &Options,
    expected: u64,
) -> Result<(u64, u64, f64)> {
    let phase = run.phase("creating tables", 1);
    for table in Table::ALL {
        let mut definition = vec![table.columns()];
        if options.foreign_keys {
            // Adding them to full tables takes ten times as long as the rows do, and they need keys.
            definition.extend(table.key());
            definition.extend(table.foreign_keys());
        }
        let name = quote::qualified(&options.schema, table.name());
        conn.execute(format!(
            "CREATE TABLE {name} ({}) ENGINE=InnoDB",
            definition.join(", ")
        ))
        .map_err(|e| failure::wire(format_args!("cannot create table {name}"), e))?;
    }
    drop(phase);
    let mut conns = Vec::new();
    let mut server = options.server.clone();
    server.local_infile = true;
    for _ in 0..options.threads.max(1) {
        let mut conn = connect::connection(run, &server)?;
        let prepared = session::for_load(&mut conn, id).and_then(|_| {
            if options.tune.level == tune::Level::Off {
                session::without_speedups(&mut conn)?;
            }
            Ok(())
        });
        prepared.map_err(|e| failure::server("cannot prepare a session", e))?;
        if options.skip_binlog {
            skip_binlog(&mut conn, id)?;
        }
        conns.push(conn);
    }
    let phase = run.phase("loading rows", conns.len());
    phase.counters.bytes_expected.set(expected);
    let filler = Filler::new(run, id, options, expected, &phase.counters);
    run.workers(conns, |_, mut conn, stop| filler.work(&mut conn, stop))?;
    let (rows, bytes) = (phase.counters.rows.get(), phase.counters.bytes.get());
    let seconds = phase.seconds();
    drop(phase);
    for table in Table::ALL {
        run.check()?;
        let name = quote::qualified(&options.schema, table.name());
        conn.execute(format!("ANALYZE TABLE {name}"))
            .map_err(|e| failure::wire(format_args!("cannot analyze {name}"), e))?;
    }
    Ok((rows, bytes, seconds))
}

/// What all workers share.
struct Filler<'a> {
    run: &'a Run,
    options: &'a Options,
    schedule: Schedule,
    /// By table: whether all of it goes in at once.
    whole: [bool; Table::ALL.len()],
    counters: &'a Counters,
}

impl<'a> Filler<'a> {
    fn new(
        run: &'a Run,
        id: &Identity,
        options: &'a Options,
        all: u64,
        counters: &'a Counters,
    ) -> Filler<'a> {
        let most = bulk_insert(id, &options.tune, all, options.threads);
        let size = |t: Table| t.bytes() * u64::from(chunks(t, options.warehouses));
        let whole = Table::ALL.map(|t| size(t) <= most);
        let work = |(t, whole): (Table, bool)| Work {
            grows: false,
            sizes: vec![t.bytes(); chunks(t, options.warehouses) as usize],
            indexes: t.key().is_some() && !options.foreign_keys,
            whole,
            trial: true,
        };
        let schedule = Schedule::new(Table::ALL.into_iter().zip(whole).map(work).collect());
        Filler {
            run,
            options,
            schedule,
            whole,
            counters,
        }
    }

    fn work(&self, conn: &mut Conn, stop: &Stop<'_>) -> Result<()> {
        let mut last = None;
        loop {
            stop.check()?;
            let task = self.schedule.next(last);
            let begun = Instant::now();
            self.counters.busy.add(1);
            let outcome = match &task {
                Task::Chunks(at, chunks) => self.piece(conn, *at, chunks, stop),
                Task::Indexes(at) => {
                    let table = Table::ALL[*at];
                    let name = quote::qualified(&self.options.schema, table.name());
                    let key = table.key().map(str::to_owned);
                    add_indexes(conn, &name, &[Vec::from_iter(key)], false)
                }
                Task::Wait | Task::End => Ok(()),
            };
            self.counters.busy.sub(1);
            outcome?;
            match task {
                Task::Chunks(at, chunks) => {
                    last = Some(at);
                    self.schedule.done(at, chunks, begun.elapsed());
                }
                Task::End => return Ok(()),
                Task::Indexes(_) | Task::Wait => {}
            }
        }
    }

    /// Loads warehouses `chunks` (counted from 0) of a table in one transaction.
    fn piece(
        &self,
        conn: &mut Conn,
        at: usize,
        chunks: &Range<usize>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let table = Table::ALL[at];
        let name = quote::qualified(&self.options.schema, table.name());
        let doing = format!(
            "cannot load warehouses {} to {} of {name}",
            chunks.start + 1,
            chunks.end
        );
        let executor = Executor {
            table: &name,
            doing: &doing,
            bulk: self.whole[at],
            sent: table.bytes() * chunks.len() as u64,
            counters: self.counters,
            observer: &*self.run.observer,
            stop,
        };
        let sql =
            format!("LOAD DATA LOCAL INFILE 'penstock' INTO TABLE {name} CHARACTER SET utf8mb4");
        executor.run(conn, |conn| {
            let mut rows = Passing {
                feed: Feed::new(Warehouses::new(table, self.options.seed, chunks)),
                counters: self.counters,
                stop,
            };
            let done = match conn.load(&sql, &mut rows) {
                Err(wire::Error::Source(_)) => return Err(Failed::Other(self.run.interrupted())),
                done => done?,
            };
            let stored = load_data::stored(conn, &doing, &done, &[], Some(rows.feed.rows))?;
            conn.execute("COMMIT")?;
            self.counters.rows.add(stored);
            Ok(())
        })
    }
}

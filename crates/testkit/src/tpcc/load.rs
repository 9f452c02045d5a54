//! Filling a server: rows are made while LOAD DATA LOCAL INFILE asks for them,
//! several tables and warehouses at a time.

use super::rows::Rows;
use super::{SCHEMA, Table};
use crate::feed::Feed;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Mutex;
use std::time::Instant;
use wire::{Conn, Options};

/// What to fill in.
#[derive(Clone, Debug)]
pub struct Fill {
    /// How many warehouses; about 71 MB of rows each.
    pub warehouses: u32,
    /// Decides every value.
    pub seed: u64,
    /// Connections that load at the same time.
    pub connections: usize,
    /// Whether the tables have the foreign keys of clause 1.3.
    pub foreign_keys: bool,
    /// Schema to create; it must not exist.
    pub schema: String,
}

/// What was filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filled {
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of these rows as tab-separated text.
    pub bytes: u64,
    /// How long it took, tables and indexes included.
    pub seconds: f64,
}

impl Fill {
    /// This many warehouses, two connections, no foreign keys, seed 1, schema `tpcc`.
    pub fn new(warehouses: u32) -> Fill {
        Fill {
            warehouses,
            seed: 1,
            connections: 2,
            foreign_keys: false,
            schema: SCHEMA.to_owned(),
        }
    }

    /// Creates the schema and its tables, and fills them.
    pub fn run(&self, options: &Options) -> Result<Filled> {
        let begin = Instant::now();
        let mut options = options.clone();
        options.local_infile = true;
        let mut conn = Conn::connect(&options)?;
        conn.execute(format!(
            "CREATE DATABASE `{}` CHARACTER SET utf8mb4",
            self.schema
        ))?;
        conn.execute(format!("USE `{}`", self.schema))?;
        // Foreign keys may name a table that comes later, and adding them to full
        // tables takes ten times as long as the rows do.
        conn.execute("SET SESSION foreign_key_checks=0")?;
        for table in Table::ALL {
            let mut columns = table.columns().to_owned();
            for key in table.foreign_keys().iter().filter(|_| self.foreign_keys) {
                columns += ", ";
                columns += key;
            }
            conn.execute(format!(
                "CREATE TABLE {} ({columns}) ENGINE=InnoDB",
                table.name()
            ))?;
        }
        let queue = Mutex::new(self.work());
        let workers: Vec<Result<Filled>> = std::thread::scope(|scope| {
            let start = || scope.spawn(|| self.work_off(&options, &queue));
            let handles: Vec<_> = (0..self.connections.max(1)).map(|_| start()).collect();
            let ended = handles.into_iter().map(|h| h.join());
            ended
                .map(|r| r.unwrap_or_else(|_| Err(Error::new("a loading thread panicked"))))
                .collect()
        });
        let mut filled = Filled::default();
        for worker in workers {
            let part = worker?;
            filled.rows += part.rows;
            filled.bytes += part.bytes;
        }
        for table in Table::ALL {
            conn.execute(format!("ANALYZE TABLE `{}`.{}", self.schema, table.name()))?;
        }
        filled.seconds = begin.elapsed().as_secs_f64();
        Ok(filled)
    }

    /// Loads in an order that leaves small pieces for the end, so that all connections end together.
    fn work(&self) -> VecDeque<(Table, u32)> {
        let mut work = VecDeque::from([(Table::Item, 1)]);
        let by_size = [
            Table::Stock,
            Table::OrderLine,
            Table::Customer,
            Table::History,
            Table::Orders,
            Table::NewOrders,
            Table::District,
            Table::Warehouse,
        ];
        for table in by_size {
            work.extend((1..=self.warehouses).map(|w| (table, w)));
        }
        work
    }

    fn work_off(&self, options: &Options, queue: &Mutex<VecDeque<(Table, u32)>>) -> Result<Filled> {
        let mut conn = Conn::connect(options)?;
        conn.execute("SET SESSION unique_checks=0, foreign_key_checks=0, sql_log_bin=0")?;
        let mut filled = Filled::default();
        loop {
            let next = queue.lock().unwrap_or_else(|e| e.into_inner()).pop_front();
            let Some((table, warehouse)) = next else {
                return Ok(filled);
            };
            let sql = format!(
                "LOAD DATA LOCAL INFILE '{name}' INTO TABLE `{}`.{name} CHARACTER SET utf8mb4",
                self.schema,
                name = table.name()
            );
            let mut feed = Counted(Feed::new(Rows::new(table, self.seed, warehouse)), 0);
            let done = conn
                .load(&sql, &mut feed)
                .map_err(Error::doing(table.name()))?;
            if done.warnings != 0 {
                return Err(Error(format!(
                    "{}, warehouse {warehouse}: {}",
                    table.name(),
                    done.info
                )));
            }
            filled.rows += done.affected;
            filled.bytes += feed.1;
        }
    }
}

/// Counts what is read through it.
struct Counted<R>(R, u64);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(out)?;
        self.1 += n as u64;
        Ok(n)
    }
}

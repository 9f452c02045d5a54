//! Runs queries on one server or on two, one after another, and measures each.
//!
//! Invariant: sessions are read-only, so that a server refuses what would write; nothing of a server is set but session
//! variables. Each query runs on both servers before the next one does, so that what else the machines do meanwhile
//! meets both alike.

use super::sample::Query;
use base::Result;
use run::{Run, failure};
use server::{Identity, quote, session};
use std::time::{Duration, Instant};
use wire::Conn;

/// Statements that do nothing, which measure the way to the server.
const PINGS: usize = 25;

/// One run of one query.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was answered: seconds, and pages that the server read from disk meanwhile.
    Done(f64, u64),
    /// The server refused it.
    Refused(String),
}

/// A server with a session that replays.
pub struct Replayer {
    /// In words.
    pub server: String,
    /// Seconds that a statement takes which does nothing.
    pub round_trip: f64,
    conn: Conn,
    schema: Option<String>,
    /// Pages read when it was last asked.
    reads: u64,
}

impl Replayer {
    /// Opens a session.
    pub fn open(
        run: &Run,
        options: &wire::Options,
        id: &Identity,
        sql_mode: &str,
        longest: Duration,
    ) -> Result<Replayer> {
        let mut conn = run::connect::connection(run, options)?;
        run::connect::prepared(session::for_rows(&mut conn, id))?;
        let limit = match id.is_mariadb() {
            true => format!("max_statement_time = {}", longest.as_secs_f64()),
            false => format!("max_execution_time = {}", longest.as_millis()),
        };
        let mut sql = vec![
            format!("SET SESSION sql_mode = {}", quote::text(sql_mode)),
            "SET SESSION TRANSACTION READ ONLY".to_owned(),
        ];
        let name = limit.split(' ').next().unwrap_or_default();
        if id.has_variable(name) {
            sql.push(format!("SET SESSION {limit}"));
        }
        // An answer out of a cache says nothing about memory.
        if id.variable("query_cache_type").is_some_and(|v| v != "OFF") {
            sql.push("SET SESSION query_cache_type = OFF".to_owned());
        }
        for sql in sql {
            conn.execute(sql)
                .map_err(|e| failure::wire("cannot prepare a session", e))?;
        }
        let mut times = Vec::new();
        for _ in 0..PINGS {
            let begin = Instant::now();
            conn.execute("DO 0")
                .map_err(|e| failure::wire("no answer", e))?;
            times.push(begin.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let mut replayer = Replayer {
            server: format!("{id} at {}", options.endpoint),
            round_trip: times[PINGS / 2],
            conn,
            schema: None,
            reads: 0,
        };
        replayer.reads = replayer.pages_read()?;
        Ok(replayer)
    }

    /// Pages that the server had to read from disk because a statement wanted them.
    pub fn pages_read(&mut self) -> Result<u64> {
        pages_read(&mut self.conn)
    }

    /// Runs a query.
    pub fn replay(&mut self, query: &Query) -> Result<Outcome> {
        if query.schema.is_some() && query.schema != self.schema {
            let name = query.schema.clone().unwrap_or_default();
            match self.conn.execute(format!("USE {}", quote::ident(&name))) {
                Ok(_) => self.schema = Some(name),
                Err(e) => return self.refused(e),
            }
        }
        let begin = Instant::now();
        let answered = self.conn.execute(&query.text);
        let seconds = begin.elapsed().as_secs_f64();
        if let Err(e) = answered {
            return self.refused(e);
        }
        let reads = self.pages_read()?;
        let before = std::mem::replace(&mut self.reads, reads);
        Ok(Outcome::Done(seconds, reads.saturating_sub(before)))
    }

    fn refused(&mut self, e: wire::Error) -> Result<Outcome> {
        match e {
            wire::Error::Server(e) => {
                self.reads = self.pages_read()?;
                Ok(Outcome::Refused(e.to_string()))
            }
            e => Err(failure::wire(format_args!("{}: a query", self.server), e)),
        }
    }
}

/// Pages that a server had to read from disk because a statement wanted them.
pub fn pages_read(conn: &mut Conn) -> Result<u64> {
    let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'";
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot read the server's counters", e))?;
    let cell = rows.first().and_then(|r| r.get(1)?.as_deref());
    let number = cell.and_then(|c| std::str::from_utf8(c).ok()?.parse().ok());
    Ok(number.unwrap_or(0))
}

/// The value below which this share of sorted values lie.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    let value = sorted.get(place.saturating_sub(1)).or(sorted.last());
    value.copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 50.0);
        assert_eq!(quantile(&values, 0.95), 95.0);
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}

//! One window of a measurement: the workload's figures, and what the host and
//! the server's memory did meanwhile.

use super::super::tpcc::Figures;
use base::Result;
use run::host::{self, Disks, Host};
use run::server_counters;
use std::time::Instant;
use wire::Conn;

/// A window that is over.
#[derive(Clone, Debug)]
pub struct Window {
    /// The workload.
    pub figures: Figures,
    /// Cores of this host at work, of everything on it; `None` if they cannot be seen.
    pub cores: Option<f64>,
    /// Bytes per second that its disks read and wrote.
    pub disks: Option<(f64, f64)>,
    /// Share of the server's page requests that were answered from memory.
    pub hits: Option<f64>,
    /// Length of the history list at the end.
    pub history: Option<u64>,
}

impl Window {
    /// Two windows as one: what is in the middle between them.
    #[must_use]
    pub fn and(mut self, other: &Window) -> Window {
        let middle = |a: Option<f64>, b: Option<f64>| Some((a? + b?) / 2.0);
        self.figures.merge(&other.figures);
        self.cores = middle(self.cores, other.cores);
        self.disks = self
            .disks
            .zip(other.disks)
            .map(|(a, b)| ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0));
        self.hits = middle(self.hits, other.hits);
        self.history = self.history.max(other.history);
        self
    }
}

/// A window that is open.
pub struct Meter<'a> {
    conn: &'a mut Conn,
    began: Instant,
    host: Option<Host>,
    disks: Option<Disks>,
    pages: Pages,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pages {
    requests: Option<u64>,
    reads: Option<u64>,
    history: Option<u64>,
}

impl<'a> Meter<'a> {
    /// Begins to look on.
    pub fn open(conn: &'a mut Conn) -> Meter<'a> {
        let pages = pages(conn);
        Meter {
            conn,
            began: Instant::now(),
            host: host::host(),
            disks: host::disks(),
            pages,
        }
    }

    /// The window is over.
    pub fn close(self, figures: Figures) -> Result<Window> {
        let seconds = self.began.elapsed().as_secs_f64().max(1e-3);
        let cores = self
            .host
            .zip(host::host())
            .map(|(a, b)| (b.busy - a.busy).max(0.0) / seconds);
        let disks = self.disks.zip(host::disks()).map(|(a, b)| {
            let rate = |a: u64, b: u64| b.saturating_sub(a) as f64 / seconds;
            (rate(a.read, b.read), rate(a.written, b.written))
        });
        let now = pages(self.conn);
        let moved = |a: Option<u64>, b: Option<u64>| b?.checked_sub(a?);
        let hits = moved(self.pages.requests, now.requests)
            .zip(moved(self.pages.reads, now.reads))
            .filter(|(requests, _)| *requests > 0)
            .map(|(requests, reads)| 1.0 - reads as f64 / requests as f64);
        Ok(Window {
            figures,
            cores,
            disks,
            hits,
            history: now.history,
        })
    }
}

/// The server's memory; what it does not tell is left out.
fn pages(conn: &mut Conn) -> Pages {
    const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_reads', 'Innodb_history_list_length')";
    let mut pages = Pages::default();
    for (name, value) in server_counters::pairs(conn, STATUS).unwrap_or_default() {
        let value = value.parse().ok();
        match name.as_str() {
            "innodb_buffer_pool_read_requests" => pages.requests = value,
            "innodb_buffer_pool_reads" => pages.reads = value,
            "innodb_history_list_length" => pages.history = value,
            _ => {}
        }
    }
    pages.history = pages
        .history
        .or_else(|| server_counters::history_list_length(conn));
    pages
}

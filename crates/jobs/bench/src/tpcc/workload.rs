//! The workload that other jobs measure against: terminals that run the five
//! transactions until they are told to stop, and windows of time that are
//! measured meanwhile.
//!
//! A server that stalls is waited for; the seconds then show nothing done, and
//! [`Figures::under_way`] how long. A connection that is lost, or an error that
//! trying again cannot mend, ends the workload, and every call says so from
//! then on. Terminals keep their connections to themselves: another job's
//! failure does not break them.

use super::board::{Board, Second};
use super::figures::Figures;
use super::mix::Deck;
use super::random::Random;
use super::session::{Session, Trouble};
use super::terminal::{IDLE, Shared, Terminal, lock};
use super::{SCHEMA, schema};
use base::{Error, Kind, Result};
use run::Run;
use run::connect;
use run::failure;
use server::{Identity, quote};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::Closer;

/// How long transactions that are under way may go on after a stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same once the user wants an end.
const HURRY: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub server: wire::Options,
    /// The schema that holds the tables.
    pub schema: String,
    /// Connections, each with one transaction at a time.
    pub connections: usize,
    /// Decides the transactions' input.
    pub seed: u64,
    /// Transactions a second, all connections together; `None` for as many as
    /// the server takes.
    pub rate: Option<f64>,
}

impl Options {
    /// Eight connections without a limit, on schema `tpcc`.
    pub fn new(server: wire::Options) -> Options {
        Options {
            server,
            schema: SCHEMA.to_owned(),
            connections: 8,
            seed: 1,
            rate: None,
        }
    }
}

/// Terminals at work; dropping it ends them.
pub struct Workload {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    closers: Vec<Closer>,
    server: Identity,
    warehouses: u32,
}

impl Workload {
    /// Connects all terminals, then lets them begin. Fails if the tables or
    /// privileges for them are missing.
    pub fn start(run: &Run, options: &Options) -> Result<Workload> {
        let (mut conn, server) = connect::open(run, &options.server)?;
        let wanted = ["SELECT", "INSERT", "UPDATE", "DELETE"];
        schema::allowed(&mut conn, &server, &options.schema, &wanted)?;
        let warehouses = schema::warehouses(&mut conn, &options.schema)?;
        let count = options.connections.max(1);
        let mut workload = Workload {
            shared: Arc::new(Shared {
                began: Instant::now(),
                stop: AtomicBool::new(false),
                cancel: run.cancel.clone(),
                failed: Mutex::new(None),
                board: Mutex::new(Board::default()),
                deck: Mutex::new(Deck::new(options.seed)),
                under_way: (0..count).map(|_| AtomicU64::new(IDLE)).collect(),
            }),
            threads: Vec::new(),
            closers: Vec::new(),
            server,
            warehouses,
        };
        let mut sessions = Vec::new();
        for _ in 0..count {
            run.check()?;
            let mut conn = connect::untracked(&options.server)?;
            let doing = "cannot prepare a session";
            for sql in [
                "SET NAMES utf8mb4".to_owned(),
                format!("USE {}", quote::ident(&options.schema)),
            ] {
                conn.execute(sql).map_err(|e| failure::wire(doing, e))?;
            }
            let closer = conn.closer().map_err(|e| failure::wire(doing, e))?;
            workload.closers.push(closer);
            sessions.push(Session::new(conn));
        }
        // Connecting has taken its time.
        if let Some(shared) = Arc::get_mut(&mut workload.shared) {
            shared.began = Instant::now();
        }
        let pace = options
            .rate
            .map(|rate| Duration::from_secs_f64(count as f64 / rate.max(0.001)));
        for (number, session) in sessions.into_iter().enumerate() {
            let random = Random::new(options.seed, &[0x7465_726d, number as u64]);
            workload.spawn(number, session, random, pace)?;
        }
        Ok(workload)
    }

    fn spawn(
        &mut self,
        number: usize,
        session: Session,
        random: Random,
        pace: Option<Duration>,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let warehouses = self.warehouses;
        let work = move || {
            let terminal = Terminal {
                session,
                random,
                warehouses,
                number,
                pace,
                shared: &shared,
            };
            let work = std::panic::AssertUnwindSafe(|| terminal.work());
            match std::panic::catch_unwind(work) {
                Ok(Ok(())) => {}
                Ok(Err(Trouble::Wire(e))) => shared.fail(failure::wire("the workload ended", e)),
                Ok(Err(Trouble::Data(what))) => shared.fail(unfit(&what)),
                Err(_) => shared.fail(Error::new(Kind::Internal, "a terminal panicked")),
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("terminal-{}", number + 1))
            .spawn(work);
        let thread = thread
            .map_err(|e| Error::new(Kind::Failed, format!("cannot start a terminal: {e}")))?;
        self.threads.push(thread);
        Ok(())
    }

    /// The server that it runs on.
    pub fn server(&self) -> &Identity {
        &self.server
    }

    /// Warehouses that were found.
    pub fn warehouses(&self) -> u32 {
        self.warehouses
    }

    /// Time since it began, on the clock of [`Second::at`] and [`Figures::from`].
    pub fn elapsed(&self) -> Duration {
        self.shared.now()
    }

    /// Transactions committed since it began.
    pub fn committed(&self) -> u64 {
        lock(&self.shared.board).committed()
    }

    /// Fails if a terminal has failed, or a stop was asked for.
    pub fn check(&self) -> Result<()> {
        if let Some(e) = &*lock(&self.shared.failed) {
            return Err(e.clone());
        }
        if self.shared.cancel.is_raised() {
            return Err(Error::new(Kind::Interrupted, "stopped on request"));
        }
        Ok(())
    }

    /// Lets it run for some time; ends early, and fails, as [`Workload::check`] does.
    pub fn wait(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    /// Begins to measure, anew if a window was open.
    pub fn open_window(&self) {
        let mut board = lock(&self.shared.board);
        board.open(self.shared.now());
    }

    /// The figures since [`Workload::open_window`].
    pub fn close_window(&self) -> Result<Figures> {
        let closed = {
            let mut board = lock(&self.shared.board);
            board.close(self.shared.now())
        };
        self.check()?;
        let mut figures = closed
            .ok_or_else(|| Error::new(Kind::Internal, "no window of the workload is open"))?;
        figures.under_way = self.under_way();
        Ok(figures)
    }

    /// Measures for some time.
    pub fn window(&self, time: Duration) -> Result<Figures> {
        self.open_window();
        self.wait(time)?;
        self.close_window()
    }

    /// How long the oldest transaction has been under way.
    pub fn under_way(&self) -> Option<Duration> {
        let now = self.shared.now();
        let begun = self.shared.under_way.iter();
        let begun = begun.map(|b| b.load(Ordering::Relaxed));
        let oldest = begun.filter(|b| *b != IDLE).min()?;
        Some(now.saturating_sub(Duration::from_micros(oldest)))
    }

    /// Every whole second since it began.
    pub fn seconds(&self) -> Vec<Second> {
        let mut board = lock(&self.shared.board);
        board.seconds(self.shared.now())
    }

    /// Lets the transactions that are under way come to their end, and ends.
    /// Fails if the workload had failed before, or if the server did not answer
    /// for so long that connections had to be broken; it then rolls back what
    /// they were at.
    pub fn stop(mut self) -> Result<()> {
        let failed = self.check();
        let broken = self.end();
        failed?;
        if broken > 0 {
            return Err(Error::new(
                Kind::Connection,
                format!(
                    "{broken} transaction{} had not ended {} s after the stop, so the connection{} closed",
                    if broken == 1 { "" } else { "s" },
                    PATIENCE.as_secs(),
                    if broken == 1 { " was" } else { "s were" }
                ),
            ));
        }
        Ok(())
    }

    /// Ends all terminals; gives how many had to be broken off.
    fn end(&mut self) -> usize {
        self.shared.stop.store(true, Ordering::Relaxed);
        let asked = Instant::now();
        let mut broken = 0;
        loop {
            let at_work = self.threads.iter().filter(|t| !t.is_finished()).count();
            if at_work == 0 {
                break;
            }
            let hurry = self.shared.cancel.is_raised();
            let patience = if hurry { HURRY } else { PATIENCE };
            if broken == 0 && asked.elapsed() > patience {
                broken = at_work;
                self.closers.iter().for_each(Closer::close);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        for thread in self.threads.drain(..) {
            // A panic was caught inside.
            let _ = thread.join();
        }
        broken
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.end();
    }
}

fn unfit(what: &str) -> Error {
    Error::new(
        Kind::Failed,
        base::units::printable(&format!("the rows are not those of TPC-C: {what}")),
    )
    .hint("penstock bench tpcc check names what is broken; fill a new schema with penstock bench tpcc load")
}

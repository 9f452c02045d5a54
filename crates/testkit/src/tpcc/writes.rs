//! Writes that go on while a dump runs: New-Order and Payment transactions
//! (clauses 2.4 and 2.5) with literal values, on several connections, until
//! told to stop. They keep what the consistency conditions of clause 3.3.2 say,
//! so a copy taken in the middle shows whether it is one moment in time.

use super::random::Random;
use super::{CUSTOMERS, DISTRICTS, ITEMS, SCHEMA};
use crate::Result;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::{Conn, Options};

/// What the writers should do.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Warehouses that are there.
    pub warehouses: u32,
    /// Connections, each with one transaction at a time.
    pub connections: usize,
    /// Transactions a second on all connections together; 0 for as many as possible.
    pub rate: u32,
    /// The schema.
    pub schema: String,
}

impl Mix {
    /// Two connections without a limit, in schema `tpcc`.
    pub fn new(warehouses: u32) -> Mix {
        Mix {
            warehouses,
            connections: 2,
            rate: 0,
            schema: SCHEMA.to_owned(),
        }
    }
}

/// Writers at work; they stop when this is dropped.
#[derive(Debug)]
pub struct Writes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    committed: AtomicU64,
}

impl Writes {
    /// Connects and starts to write.
    pub fn start(options: &Options, mix: &Mix) -> Result<Writes> {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        for n in 0..mix.connections.max(1) {
            let mut conn = Conn::connect(options)?;
            conn.execute(format!("USE `{}`", mix.schema))?;
            let writer = Writer {
                conn,
                random: Random::new(0x0077_7269_7465, &[n as u64]),
                warehouses: mix.warehouses,
                shared: Arc::clone(&shared),
            };
            let pause =
                (mix.rate > 0).then(|| Duration::from_secs(mix.connections as u64) / mix.rate);
            threads.push(std::thread::spawn(move || writer.run(pause)));
        }
        Ok(Writes { shared, threads })
    }

    /// Transactions committed so far.
    pub fn count(&self) -> u64 {
        self.shared.committed.load(Ordering::Relaxed)
    }

    /// Whether all writers are still at work; one that has ended met an error, which [`Writes::stop`] tells.
    pub fn is_running(&self) -> bool {
        self.threads.iter().all(|t| !t.is_finished())
    }

    /// Lets the transactions that are under way finish, and gives the number committed.
    pub fn stop(mut self) -> Result<u64> {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread
                .join()
                .unwrap_or_else(|_| Err(crate::Error::new("a writing thread panicked")))?;
        }
        Ok(self.count())
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

struct Writer {
    conn: Conn,
    random: Random,
    warehouses: u32,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(mut self, pause: Option<Duration>) -> Result<()> {
        let mut due = Instant::now();
        while !self.shared.stop.load(Ordering::Relaxed) {
            if let Some(pause) = pause {
                due += pause;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let done = if self.random.chance(50) {
                self.new_order()
            } else {
                self.payment()
            };
            match done {
                Ok(true) => {
                    self.shared.committed.fetch_add(1, Ordering::Relaxed);
                }
                Ok(false) => {}
                // Deadlock, or a lock not had in time: the transaction is simply tried no more.
                Err(e) if matches!(e.code(), Some(1213 | 1205)) => {
                    self.conn.execute("ROLLBACK")?;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Clause 2.4: an order of 5 to 15 lines; one in a hundred is rolled back.
    fn new_order(&mut self) -> wire::Result<bool> {
        let w = self.random.between(1, self.warehouses);
        let d = self.random.between(1, DISTRICTS);
        let c = self.random.nurand(1023, 1, CUSTOMERS);
        let lines = self.random.between(5, 15);
        self.conn.execute("START TRANSACTION")?;
        let sql =
            format!("SELECT d_next_o_id FROM district WHERE d_w_id={w} AND d_id={d} FOR UPDATE");
        let order = self.number(&sql)?;
        self.conn.execute(format!(
            "UPDATE district SET d_next_o_id={} WHERE d_w_id={w} AND d_id={d}",
            order + 1
        ))?;
        self.conn.execute(format!(
            "INSERT INTO orders VALUES ({order},{d},{w},{c},NOW(),NULL,{lines},1)"
        ))?;
        self.conn
            .execute(format!("INSERT INTO new_orders VALUES ({order},{d},{w})"))?;
        // In ascending order, so that two writers do not lock the same stock crosswise.
        let mut items: Vec<u32> = (0..lines)
            .map(|_| self.random.nurand(8191, 1, ITEMS))
            .collect();
        items.sort_unstable();
        let mut insert = String::from("INSERT INTO order_line VALUES ");
        let mut info = Vec::new();
        for (line, item) in (1..).zip(&items) {
            let quantity = self.random.between(1, 10);
            self.conn.execute(format!(
                "UPDATE stock SET s_quantity=IF(s_quantity>={0}+10, s_quantity-{0}, s_quantity-{0}+91), \
                 s_ytd=s_ytd+{0}, s_order_cnt=s_order_cnt+1 WHERE s_w_id={w} AND s_i_id={item}",
                quantity
            ))?;
            info.clear();
            self.random.letters(&mut info, 24, 24);
            let amount = self.random.between(1, 999_999);
            let _ = write!(
                insert,
                "{}({order},{d},{w},{line},{item},{w},NULL,{quantity},{}.{:02},'{}')",
                if line > 1 { "," } else { "" },
                amount / 100,
                amount % 100,
                String::from_utf8_lossy(&info)
            );
        }
        self.conn.execute(insert)?;
        let commit = !self.random.chance(1);
        self.conn
            .execute(if commit { "COMMIT" } else { "ROLLBACK" })?;
        Ok(commit)
    }

    /// Clause 2.5: money from a customer, counted in four places.
    fn payment(&mut self) -> wire::Result<bool> {
        let w = self.random.between(1, self.warehouses);
        let d = self.random.between(1, DISTRICTS);
        let c = self.random.nurand(1023, 1, CUSTOMERS);
        let cents = self.random.between(100, 500_000);
        let amount = format!("{}.{:02}", cents / 100, cents % 100);
        self.conn.execute("START TRANSACTION")?;
        self.conn.execute(format!(
            "UPDATE warehouse SET w_ytd=w_ytd+{amount} WHERE w_id={w}"
        ))?;
        self.conn.execute(format!(
            "UPDATE district SET d_ytd=d_ytd+{amount} WHERE d_w_id={w} AND d_id={d}"
        ))?;
        self.conn.execute(format!(
            "UPDATE customer SET c_balance=c_balance-{amount}, c_ytd_payment=c_ytd_payment+{amount}, \
             c_payment_cnt=c_payment_cnt+1 WHERE c_w_id={w} AND c_d_id={d} AND c_id={c}"
        ))?;
        self.conn.execute(format!(
            "INSERT INTO history VALUES ({c},{d},{w},{d},{w},NOW(),{amount},'penstock')"
        ))?;
        self.conn.execute("COMMIT")?;
        Ok(true)
    }

    fn number(&mut self, sql: &str) -> wire::Result<u64> {
        let rows = self.conn.fetch(sql)?;
        let cell = rows
            .into_iter()
            .flatten()
            .next()
            .flatten()
            .unwrap_or_default();
        let number = String::from_utf8_lossy(&cell).parse();
        number.map_err(|_| wire::Error::Protocol(format!("no number from {sql}")))
    }
}

//! Waiting for a state instead of for a time: as short as the machine allows, and long enough on a
//! busy one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::Server;

/// No state that a test waits for takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(90);

/// What must not wait for anything takes no longer than this, even where other programs have the
/// cores. The timeouts that such tests set up are longer.
pub const PROMPT: Duration = Duration::from_secs(10);

/// Looks until there is something, and gives it.
#[track_caller]
pub fn found<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    poll(&mut look, || what.to_owned())
}

#[track_caller]
fn poll<T>(mut look: impl FnMut() -> Option<T>, what: impl Fn() -> String) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {}", what());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Looks until it is so.
#[track_caller]
pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    found(what, || look().then_some(()));
}

/// Waits until the first value of this query is neither 0 nor empty, and gives it.
#[track_caller]
pub fn until_some(server: &Server, sql: &str) -> String {
    found(sql, || {
        let value = server.value(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        Some(value).filter(|v| v != "0" && !v.is_empty())
    })
}

/// Waits until a server that is on its way up accepts logins.
#[track_caller]
pub fn until_up(server: &Server) {
    let up = || server.conn().ok();
    poll(up, || format!("a login\n{}", server.log()));
}

/// A statement of another session. It runs until it is killed, which this does when it is dropped.
pub struct Statement<'a> {
    server: &'a Server,
    id: u32,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl<'a> Statement<'a> {
    /// Begins a statement, and waits until it runs.
    #[track_caller]
    pub fn begin(server: &'a Server, sql: &str) -> Statement<'a> {
        let mut conn = wire::Conn::connect(&server.options()).expect("a connection");
        let (id, text) = (conn.id(), sql.to_owned());
        let thread = std::thread::spawn(move || {
            // It is killed.
            let _ = conn.execute(&text);
        });
        let statement = Statement {
            server,
            id,
            thread: Some(thread),
        };
        statement.until_it_has_run_for(0);
        statement
    }

    /// Waits until the server says that it has run for that many seconds.
    #[track_caller]
    pub fn until_it_has_run_for(&self, seconds: u32) {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.processlist \
            WHERE id = {} AND command = 'Query' AND time >= {seconds}",
            self.id
        );
        until_some(self.server, &sql);
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        let _ = self.server.client(&format!("KILL {}", self.id));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Ends what goes on in other threads until this is true, also when a test fails.
pub struct Ends<'a>(pub &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

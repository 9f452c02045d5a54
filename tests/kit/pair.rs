//! A source and a target server of one flavour, shared by all tests, used by one at a time. There
//! are two pairs of each flavour, so that tests of one flavour need not wait for each other.

use super::{Done, Tool};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use testkit::{Kind, Server, available};

/// Makes two tests of a function, `function::mysql` and `function::mariadb`. The function takes a
/// [`Pair`], or what the constructor after the semicolon makes for a kind of server; where that is
/// `None` the test has been skipped.
macro_rules! both {
    ($test:ident) => {
        $crate::kit::both!(@ $test, $crate::kit::Pair::take);
    };
    ($test:ident; $($make:ident)::+) => {
        $crate::kit::both!(@ $test, super::$($make)::+);
    };
    (@ $test:ident, $make:path) => {
        mod $test {
            #[test]
            fn mysql() {
                if let Some(mut made) = $make(testkit::Kind::MySql) {
                    super::$test(&mut made);
                }
            }
            #[test]
            fn mariadb() {
                if let Some(mut made) = $make(testkit::Kind::MariaDb) {
                    super::$test(&mut made);
                }
            }
        }
    };
}
pub(crate) use both;

/// Makes a test of a function for each kind of server named: `function::mysql` and so on. The
/// function takes the kind.
macro_rules! each_kind {
    ($test:ident; $($kind:ident),+) => {
        mod $test {
            $(
                #[test]
                fn $kind() {
                    super::$test(testkit::Kind::named(stringify!($kind)).expect("a kind"));
                }
            )+
        }
    };
}
pub(crate) use each_kind;

struct Servers {
    source: Server,
    target: Server,
}

/// The two servers, for as long as a test uses them.
pub struct Pair {
    /// Which flavour.
    pub kind: Kind,
    directory: tempfile::TempDir,
    lease: Lease,
}

/// The pairs of a flavour.
struct Pool {
    free: Mutex<Vec<usize>>,
    returned: Condvar,
    servers: [OnceLock<Servers>; PAIRS],
}

/// How many pairs of each flavour.
const PAIRS: usize = 2;

impl Pool {
    fn of(kind: Kind) -> &'static Pool {
        static MYSQL: OnceLock<Pool> = OnceLock::new();
        static MARIADB: OnceLock<Pool> = OnceLock::new();
        let pool = if kind == Kind::MySql {
            &MYSQL
        } else {
            &MARIADB
        };
        pool.get_or_init(|| Pool {
            // The first pair is taken first: a single test starts no second one.
            free: Mutex::new((0..PAIRS).rev().collect()),
            returned: Condvar::new(),
            servers: [const { OnceLock::new() }; PAIRS],
        })
    }

    fn take(&'static self) -> Lease {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(number) = free.pop() {
                return Lease { pool: self, number };
            }
            let waited = self.returned.wait(free);
            free = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A pair in use. Dropping it returns the pair, also when a test fails.
struct Lease {
    pool: &'static Pool,
    number: usize,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut free = self
            .pool
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        free.push(self.number);
        self.pool.returned.notify_one();
    }
}

/// A server for one test alone, which may kill it; `None` where this machine has none of that kind,
/// which counts as a skip.
pub fn own_server(kind: Kind, args: &[&str]) -> Option<Server> {
    if !available(kind) {
        return None;
    }
    Some(Server::start(kind, args).expect("a server starts"))
}

impl Pair {
    /// Waits for the servers of this flavour and empties them; `None` where this machine has none,
    /// which counts as a skip.
    pub fn take(kind: Kind) -> Option<Pair> {
        if !available(kind) {
            return None;
        }
        let lease = Pool::of(kind).take();
        let servers = lease.pool.servers[lease.number].get_or_init(|| {
            let start = |id: usize| {
                let setup = testkit::Setup::new(kind).expect("a set-up").tcp();
                let gtid: &[&str] = match kind {
                    Kind::MySql => &[
                        "--gtid-mode=ON",
                        "--enforce-gtid-consistency=ON",
                        "--secure-file-priv=",
                    ],
                    _ => &[],
                };
                setup
                    .args([format!("--server-id={id}")])
                    .args(gtid.iter().copied())
                    .start()
                    .expect("a server")
            };
            Servers {
                source: start(10 * lease.number + 11),
                target: start(10 * lease.number + 12),
            }
        });
        // A test that failed may have left something.
        for server in [&servers.source, &servers.target] {
            empty(server);
        }
        let directory = tempfile::Builder::new()
            .prefix("penstock-whole-")
            .tempdir()
            .expect("a directory");
        Some(Pair {
            kind,
            directory,
            lease,
        })
    }

    /// What is dumped.
    pub fn source(&self) -> &Server {
        &self.servers().source
    }

    /// What is loaded into.
    pub fn target(&self) -> &Server {
        &self.servers().target
    }

    fn servers(&self) -> &'static Servers {
        let servers = self.lease.pool.servers[self.lease.number].get();
        servers.expect("servers that run")
    }

    /// Whether it is MySQL.
    pub fn is_mysql(&self) -> bool {
        self.kind == Kind::MySql
    }

    /// A path in the test's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a script on the source.
    #[track_caller]
    pub fn fill(&self, script: &str) {
        if let Err(e) = self.source().script(script.as_bytes()) {
            panic!("{e:?}\nin {script}");
        }
    }

    /// `penstock dump` of the source into `name`, with two workers unless `more` says otherwise.
    pub fn dump(&self, name: &str, more: &[&str]) -> Done {
        self.dumping(name, more).run()
    }

    /// [`Pair::dump`], not yet started.
    pub fn dumping(&self, name: &str, more: &[&str]) -> Tool {
        let tool = Tool::new(["dump", "--socket"]).arg(self.source().socket());
        tool.args(["--user", "root", "--to"])
            .arg(self.path(name))
            .args(workers(more).iter().copied())
            .args(more.iter().copied())
    }

    /// `penstock load` of `name` into the target, with two workers unless `more` says otherwise.
    pub fn load(&self, name: &str, more: &[&str]) -> Done {
        let tool = Tool::new(["load"])
            .arg(self.path(name))
            .arg("--socket")
            .arg(self.target().socket());
        tool.args(["--user", "root"])
            .args(workers(more).iter().copied())
            .args(more.iter().copied())
            .run()
    }

    /// `penstock load` of an archive, with a directory of its own for what it keeps on this host.
    pub fn loading(&self, name: &str, more: &[&str]) -> Tool {
        Tool::new(["load"])
            .arg(self.path(name))
            .arg("--socket")
            .arg(self.target().socket())
            .env("PENSTOCK_STATE", self.path("state"))
            .args(["--user", "root"])
            .args(more.iter().copied())
    }

    /// `penstock verify` of `name`, without a server.
    pub fn verify(&self, name: &str) -> Done {
        Tool::new(["verify"]).arg(self.path(name)).run()
    }

    /// `penstock verify` of `name` against a server.
    pub fn verify_against(&self, name: &str, server: &Server) -> Done {
        Tool::new(["verify"])
            .arg(self.path(name))
            .args(["--against", &server.uri()])
            .run()
    }

    /// `penstock verify` of the source against the target.
    pub fn verify_servers(&self, more: &[&str]) -> Done {
        Tool::new([
            "verify",
            "--server",
            &self.source().uri(),
            "--server",
            &self.target().uri(),
        ])
        .args(more.iter().copied())
        .run()
    }

    /// Dump, verify and load, each without exceptions, and equal by the servers' own checksums.
    #[track_caller]
    pub fn carry(&self, name: &str, dump: &[&str]) -> Done {
        let done = self.dump(name, dump).ok();
        self.verify(name).ok();
        self.load(name, &[]).ok().says(&["Load complete", "equal:"]);
        self.same_checksums();
        done
    }

    /// `CHECKSUM TABLE` agrees on every table of both servers.
    #[track_caller]
    pub fn same_checksums(&self) {
        let found =
            testkit::checksum::compare(&self.source().options(), &self.target().options(), &[]);
        let found = found.expect("checksums");
        assert!(found.differences.is_empty(), "{:#?}", found.differences);
        assert!(found.compared > 0, "nothing to compare");
    }

    /// Both servers give the same rows for a statement; at least one row.
    #[track_caller]
    pub fn same(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let ask = |server: &Server| server.client(sql).unwrap_or_else(|e| panic!("{e:?}"));
        let (source, target) = (ask(self.source()), ask(self.target()));
        assert_eq!(source, target, "{sql}");
        assert!(!source.is_empty(), "no rows: {sql}");
        source
    }

    /// Schemas of users on the target.
    pub fn target_schemas(&self) -> Vec<String> {
        schemas(self.target())
    }
}

fn workers(more: &[&str]) -> &'static [&'static str] {
    if more.contains(&"--threads") {
        &[]
    } else {
        &["--threads", "2"]
    }
}

/// The schemas of users on a server.
pub fn schemas(server: &Server) -> Vec<String> {
    let own = ["mysql", "sys", "information_schema", "performance_schema"];
    let rows = server.client("SHOW DATABASES").expect("schemas");
    rows.into_iter()
        .flatten()
        .flatten()
        .filter(|s| !own.contains(&s.as_str()))
        .collect()
}

fn empty(server: &Server) {
    let mut conn = server.conn().expect("a connection");
    // Foreign keys may refer to another schema.
    conn.execute("SET foreign_key_checks = 0")
        .expect("a setting");
    for schema in schemas(server) {
        conn.execute(format!("DROP DATABASE `{}`", schema.replace('`', "``")))
            .expect("a schema dropped");
    }
    let account = "CONCAT('USER ', QUOTE(user), '@', QUOTE(host))";
    let account = match server.kind() {
        Kind::MySql => account.to_owned(),
        _ => format!("IF(is_role = 'Y', CONCAT('ROLE ', user), {account})"),
    };
    let sql = format!("SELECT {account} FROM mysql.user WHERE user LIKE 't\\_%'");
    for account in server
        .client(&sql)
        .expect("accounts")
        .into_iter()
        .flatten()
        .flatten()
    {
        server
            .client(&format!("DROP {account}"))
            .expect("an account dropped");
    }
}

//! Servers with a log, and the log's transactions.

use base::{Cancel, Event, Observer};
use binlog::{Boundaries, Mark, Transaction};
use replay::{Directory, LogFiles, Options, Place, Request, Summary};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use testkit::{Kind, Server, checksum};

/// Makes a test of a function for each kind of server named. The function takes the kind.
macro_rules! each_kind {
    ($test:ident; $($kind:ident),+) => {
        mod $test {
            $(
                #[test]
                fn $kind() {
                    let kind = testkit::Kind::named(stringify!($kind)).expect("a kind");
                    if testkit::available(kind) {
                        super::$test(kind);
                    }
                }
            )+
        }
    };
}
pub(crate) use each_kind;

/// MySQL logs GTIDs unless a test is about their absence.
pub fn gtids(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::MySql => &["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
        _ => &[],
    }
}

pub fn start(kind: Kind, args: &[&str]) -> Server {
    Server::start(kind, &[gtids(kind), args].concat()).expect("a server")
}

/// A log that is not written any more, in a directory.
pub struct Log {
    pub directory: tempfile::TempDir,
    pub files: Directory,
    /// Every transaction with the place where it ends.
    pub transactions: Vec<(Place, Transaction)>,
}

impl Log {
    /// Copies the log of a server.
    pub fn of(source: &Server) -> Log {
        source.client("FLUSH BINARY LOGS").expect("a new file");
        let directory = tempfile::tempdir().expect("a directory");
        let rows = source.client("SHOW BINARY LOGS").expect("its files");
        let mut names: Vec<String> = rows
            .into_iter()
            .filter_map(|r| r.into_iter().next()?)
            .collect();
        names.pop();
        for name in &names {
            std::fs::copy(source.datadir().join(name), directory.path().join(name))
                .expect("a copy");
        }
        let files = Directory::open(directory.path(), &names).expect("the files");
        let transactions = transactions(&files);
        Log {
            directory,
            files,
            transactions,
        }
    }

    /// Where it begins.
    pub fn first(&self) -> Place {
        Place { file: 0, offset: 4 }
    }

    /// The end of its last transaction.
    pub fn last(&self) -> Place {
        self.transactions.last().expect("transactions").0
    }

    /// Applies a part by the stock programs.
    pub fn by_stock_programs(&self, server: &Server, from: Place, to: Place) {
        let names: Vec<PathBuf> = self.files.files()[from.file..=to.file]
            .iter()
            .map(|f| self.directory.path().join(&f.name))
            .collect();
        let mut read = server.install().command("binlog").expect("the program");
        read.arg("--no-defaults")
            .arg(format!("--start-position={}", from.offset))
            .arg(format!("--stop-position={}", to.offset))
            .args(names)
            .stdout(Stdio::piped());
        let mut read = read.spawn().expect("it runs");
        let mut client = server.install().command("client").expect("the client");
        client
            .args([
                "--no-defaults",
                "--user=root",
                "--binary-mode",
                "--local-infile=1",
            ])
            .arg("--max-allowed-packet=1G")
            .arg(format!("--socket={}", server.socket().display()))
            .stdin(read.stdout.take().expect("a pipe"));
        assert!(client.status().expect("it runs").success());
        assert!(read.wait().expect("it ends").success());
    }
}

fn transactions(files: &Directory) -> Vec<(Place, Transaction)> {
    let mut found = Vec::new();
    for file in 0..files.files().len() {
        let reader = files.open(file, 0).expect("a file");
        let mut events = binlog::file::File::open(reader).expect("a log");
        let mut boundaries = Boundaries::new();
        while let Some((at, event)) = events.next().expect("an event") {
            if boundaries.take(at, &event).expect("an event") == Mark::End {
                let transaction = boundaries.ended().clone();
                let offset = transaction.end;
                found.push((Place { file, offset }, transaction));
            }
        }
    }
    found
}

/// Keeps what a run says.
#[derive(Default)]
pub struct Heard(pub Mutex<Vec<String>>);

impl Observer for Heard {
    fn event(&self, event: Event) {
        if let Event::Note(text) | Event::Warning(text) = event {
            self.0.lock().expect("a lock").push(text);
        }
    }
}

/// A replay with its own directory of state.
pub struct Tool {
    pub state: tempfile::TempDir,
    pub heard: Arc<Heard>,
    pub cancel: Cancel,
    pub change: fn(&mut Options),
}

impl Tool {
    pub fn new() -> Tool {
        Tool {
            state: tempfile::tempdir().expect("a directory"),
            heard: Arc::default(),
            cancel: Cancel::new(),
            change: |_| {},
        }
    }

    pub fn replay(
        &self,
        target: &Server,
        log: &dyn LogFiles,
        from: Place,
        to: Place,
    ) -> base::Result<Summary> {
        let mut options = Options::new(target.options(), self.state.path().to_owned());
        (self.change)(&mut options);
        let request = Request {
            log,
            from,
            to,
            executed: None,
        };
        let run = run::Run::new(self.heard.clone(), self.cancel.clone());
        replay::replay(&run, &options, &request)
    }

    pub fn said(&self) -> String {
        self.heard.0.lock().expect("a lock").join("\n")
    }
}

/// Every table of a server with its checksum.
pub fn tables(server: &Server) -> BTreeMap<String, String> {
    checksum::tables(&server.options(), &[]).expect("checksums")
}

/// Settings and channels of a server that a replay may touch.
pub fn marks(server: &Server) -> Vec<String> {
    let status = match server.kind() {
        Kind::MySql => "SHOW REPLICA STATUS",
        _ => "SHOW ALL SLAVES STATUS",
    };
    let channels = server.client(status).expect("its channels").len();
    let sql = "SHOW GLOBAL VARIABLES WHERE Variable_name REGEXP \
        '^(server_id|(replica|slave)_.*|sync_.*|innodb_flush_log_at_trx_commit|.*skip_counter)$'";
    let mut all: Vec<String> = server
        .client(sql)
        .expect("its settings")
        .into_iter()
        .map(|row| format!("{row:?}"))
        .collect();
    all.push(format!("{channels} channels"));
    all.push(format!("{:?}", relay_files(&server.datadir())));
    all
}

/// Files of replication in a data directory.
fn relay_files(datadir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(datadir)
        .expect("a data directory")
        .flatten();
    let mut names: Vec<String> = files
        .map(|f| f.file_name().to_string_lossy().into_owned())
        .filter(|n| n.contains("penstock"))
        .collect();
    names.sort();
    names
}

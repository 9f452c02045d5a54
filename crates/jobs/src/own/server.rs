//! The process: how it is called, started, and ended in good order.
//!
//! Invariants: it listens on a socket in its own folder and nowhere else; which
//! process it is says the lock that every server holds on its system tablespace,
//! never a number that somebody wrote down.

use base::units::printable;
use rustix::process::{Flock, FlockType, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take until its socket is there.
const START: Duration = Duration::from_secs(300);

/// How long it may take to end: it writes what it has in memory.
const END: Duration = Duration::from_secs(600);

/// The name of its socket.
const SOCKET: &str = "penstock.sock";

/// What it says, while it is a load's.
const LOG: &str = "penstock.err";

/// Where its process says that it is there. No server may share the default with it.
const PID: &str = "penstock.pid";

/// What the kernel takes as the path of a socket.
const LONGEST: usize = 107;

/// A server on a data folder that a load has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its data folder; absolute.
    pub(super) folder: PathBuf,
    /// The server's program.
    pub(super) program: PathBuf,
    /// Whether that is MariaDB's.
    pub(super) mariadb: bool,
    /// An option file that it reads; it reads none otherwise.
    pub(super) defaults: Option<PathBuf>,
    /// As whom it runs, if that has to be said.
    pub(super) user: Option<u32>,
    /// Bytes of its buffer pool and of its redo log, unless the option file has its own.
    pub(super) sizes: Option<(u64, u64)>,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "{} --datadir={}",
            self.program.display(),
            self.folder.display()
        );
        f.write_str(&printable(&text))
    }
}

impl Server {
    /// Its data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }

    /// Whether its socket has a name that the kernel takes.
    pub(super) fn has_room_for_socket(&self) -> bool {
        self.socket().as_os_str().len() <= LONGEST
    }

    /// What every call of its program begins with.
    pub(super) fn first_arguments(&self) -> Vec<OsString> {
        let mut list = vec![match &self.defaults {
            Some(file) => option("--defaults-file=", file),
            None => "--no-defaults".into(),
        }];
        list.push(option("--datadir=", &self.folder));
        list.extend(self.user.map(|uid| format!("--user={uid}").into()));
        list
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut list = self.first_arguments();
        list.extend([
            option("--socket=", &self.socket()),
            option("--pid-file=", &self.folder.join(PID)),
            option("--log-error=", &self.folder.join(LOG)),
        ]);
        // Nobody else is served, and nothing runs in it by itself.
        list.extend(
            [
                "--skip-networking",
                "--skip-log-bin",
                "--event-scheduler=OFF",
                "--local-infile=1",
                "--innodb-buffer-pool-dump-at-shutdown=0",
                "--innodb-buffer-pool-load-at-startup=0",
                // What was just written is compared from the page cache.
                "--innodb-flush-method=fsync",
            ]
            .map(OsString::from),
        );
        list.push("--max-allowed-packet=1G".into());
        if !self.mariadb {
            list.push("--mysqlx=OFF".into());
            // Builds name a folder here that their packages make, and do not start without it.
            list.push("--secure-file-priv=NULL".into());
        }
        if let Some((pool, redo)) = self.sizes {
            list.push(format!("--innodb-buffer-pool-size={pool}").into());
            list.push(if self.mariadb {
                format!("--innodb-log-file-size={redo}").into()
            } else {
                format!("--innodb-redo-log-capacity={redo}").into()
            });
        }
        list
    }

    /// The process that has the folder.
    pub fn process(&self) -> Option<Pid> {
        let system = File::open(self.folder.join("ibdata1")).ok()?;
        let lock = Flock::from(FlockType::WriteLock);
        rustix::process::fcntl_getlk(&system, &lock).ok()??.pid
    }

    /// Starts it, unless it runs; over when it takes connections.
    pub fn start(&self) -> Result<(), String> {
        let mut child = match self.process() {
            Some(_) => None,
            None => Some(self.spawn()?),
        };
        let end = Instant::now() + START;
        let outcome = loop {
            if UnixStream::connect(self.socket()).is_ok() {
                break Ok(());
            }
            let ended = match &mut child {
                Some(child) => child.try_wait().is_ok_and(|status| status.is_some()),
                None => self.process().is_none(),
            };
            if ended || Instant::now() > end {
                break Err(self.says());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        if let Some(mut child) = child {
            // Somebody has to take note of its end, or it stays as a name without a process.
            std::thread::spawn(move || child.wait());
        }
        outcome
    }

    fn spawn(&self) -> Result<Child, String> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join(LOG))
            .map_err(|e| e.to_string())?;
        let again = log.try_clone().map_err(|e| e.to_string())?;
        super::given(&log, self.user).map_err(|e| e.to_string())?;
        // Left by one that was killed.
        let _ = std::fs::remove_file(self.socket());
        Command::new(&self.program)
            .args(self.arguments())
            .env_remove("PENSTOCK_PASSWORD")
            .env_remove("MYSQL_PWD")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(again)
            // Out of reach of the terminal's Ctrl-C: it is ended in good order.
            .process_group(0)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.display()))
    }

    /// Ends it in good order; over when it is gone.
    pub fn stop(&self) -> Result<(), String> {
        let end = Instant::now() + END;
        let Some(first) = self.process() else {
            return Ok(());
        };
        let failed = |e: rustix::io::Errno| format!("its process is not to be ended: {e}");
        rustix::process::kill_process(first, Signal::TERM).map_err(failed)?;
        // Its lock goes a little before it does; of one that nobody buries only the name stays.
        let line = Path::new("/proc").join(first.as_raw_nonzero().to_string());
        let line = line.join("cmdline");
        let is_there = || std::fs::read(&line).is_ok_and(|line| !line.is_empty());
        while self.process() == Some(first) || is_there() {
            if Instant::now() > end {
                return Err(format!("it did not end within {} s", END.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The end of its log, where the reason usually is.
    fn says(&self) -> String {
        let text = std::fs::read(self.folder.join(LOG)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        last_lines(&text)
    }

    /// Removes what it has needed as a load's own.
    pub(super) fn remove_traces(&self) {
        for name in [SOCKET, LOG, PID, "penstock.sock.lock"] {
            let _ = std::fs::remove_file(self.folder.join(name));
        }
    }
}

/// An option with a path.
pub(super) fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push(path);
    text
}

/// The errors in what a server has said, or its last words.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let errors: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|l| l.to_ascii_lowercase().contains("error"))
        .collect();
    let list = if errors.is_empty() { lines } else { errors };
    let last = list.len().saturating_sub(4);
    printable(&list[last..].join("; "))
}

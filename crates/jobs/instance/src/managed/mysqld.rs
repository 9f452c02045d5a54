//! The process: how it is called, started, and ended in good order.
//!
//! Invariants: it listens on a socket that only its own account gets at, and
//! nowhere else; it writes nothing outside of its data folder; which process it
//! is says the lock that every server holds on its system tablespace, never a
//! number that somebody wrote down; no other server is ever ended.

use base::units::printable;
use rustix::process::{Flock, FlockType, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take until its socket is there.
const START: Duration = Duration::from_secs(300);

/// How long it may take to end: it writes what it has in memory.
const END: Duration = Duration::from_secs(600);

/// Where in the data folder everything is that is a load's: hidden, and closed to other accounts.
pub(super) const PRIVATE: &str = ".penstock-load";

/// What the kernel takes as the path of a socket.
const LONGEST: usize = 107;

/// A server on a data folder that a load has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mysqld {
    /// Its data folder; absolute.
    pub(super) folder: PathBuf,
    /// The server's program.
    pub(super) program: PathBuf,
    /// Whether that is MariaDB's.
    pub(super) mariadb: bool,
    /// Options that the user wants it to have, each `name=value`.
    pub(super) options: Vec<String>,
    /// As whom it runs, if that has to be said.
    pub(super) user: Option<u32>,
    /// Bytes of its buffer pool and of its redo log, unless its options have their own.
    pub(super) sizes: (u64, u64),
    /// Whether rows come as files: then nobody looks at what it spends its time on.
    #[serde(default)]
    pub(super) by_file: bool,
}

impl fmt::Display for Mysqld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "{} --datadir={}",
            self.program.display(),
            self.folder.display()
        );
        f.write_str(&printable(&text))
    }
}

impl Mysqld {
    /// Its data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where what is a load's own is kept.
    pub fn state_directory(&self) -> PathBuf {
        self.folder.join(PRIVATE)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.folder)
    }

    /// What it says, while it is a load's.
    fn log(&self) -> PathBuf {
        self.state_directory().join("log")
    }

    /// Where it may write what it needs for a while. The usual place it would share with others, whose files it takes for
    /// what an earlier run of its own has left.
    pub(super) fn scratch(&self) -> PathBuf {
        self.state_directory().join("tmp")
    }

    /// Whether its socket has a name that the kernel takes.
    pub(super) fn has_room_for_socket(&self) -> bool {
        self.socket().as_os_str().len() <= LONGEST
    }

    /// What every call of its program begins with, for a data folder that may be named in another way.
    pub(super) fn first_arguments(&self, datadir: &Path) -> Vec<OsString> {
        let mut list = vec!["--no-defaults".into(), option("--datadir=", datadir)];
        list.extend(self.user.map(|uid| format!("--user={uid}").into()));
        list
    }

    /// What else it is told, when its folder is made and when it runs.
    pub(super) fn more_arguments(&self) -> Vec<OsString> {
        let mut list: Vec<OsString> = ["--skip-log-bin", "--max-allowed-packet=1G"]
            .map(OsString::from)
            .into();
        let (pool, redo) = self.sizes;
        list.push(format!("--innodb-buffer-pool-size={pool}").into());
        list.push(if self.mariadb {
            format!("--innodb-log-file-size={redo}").into()
        } else {
            format!("--innodb-redo-log-capacity={redo}").into()
        });
        if !self.mariadb {
            // Builds name a folder here that their packages make, and do not start without it.
            list.push("--secure-file-priv=NULL".into());
            // Its threads for native requests look only twice a second whether the server ends, and it ends three times.
            list.push("--innodb-use-native-aio=OFF".into());
        }
        list.extend(self.options.iter().map(|o| format!("--{o}").into()));
        list
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut list = self.first_arguments(&self.folder);
        list.extend([
            option("--socket=", &self.socket()),
            option("--pid-file=", &self.state_directory().join("pid")),
            option("--log-error=", &self.log()),
            option("--tmpdir=", &self.scratch()),
        ]);
        // Nobody else is served, and nothing runs in it by itself.
        list.extend(
            [
                "--skip-networking",
                "--event-scheduler=OFF",
                "--local-infile=1",
                "--innodb-buffer-pool-dump-at-shutdown=0",
                "--innodb-buffer-pool-load-at-startup=0",
                // What was just written is compared from the page cache.
                "--innodb-flush-method=fsync",
            ]
            .map(OsString::from),
        );
        if !self.mariadb {
            list.push("--mysqlx=OFF".into());
        }
        if !self.mariadb && self.by_file {
            // To start with it takes a quarter of a GB and a part of a second.
            list.push("--performance-schema=OFF".into());
        }
        list.extend(self.more_arguments());
        list
    }

    /// The process that has the folder.
    pub fn process(&self) -> Option<Pid> {
        let system = File::open(self.folder.join("ibdata1")).ok()?;
        let lock = Flock::from(FlockType::WriteLock);
        rustix::process::fcntl_getlk(&system, &lock).ok()??.pid
    }

    /// The same, if it is one that was started here; the error names another one, which nobody may end.
    fn own_process(&self) -> Result<Option<Pid>, String> {
        let Some(pid) = self.process() else {
            return Ok(None);
        };
        let socket = option("--socket=", &self.socket());
        let line = std::fs::read(told(pid)).unwrap_or_default();
        if line
            .split(|b| *b == 0)
            .any(|a| a == socket.as_encoded_bytes())
        {
            return Ok(Some(pid));
        }
        // It may have ended in between.
        match self.process() {
            Some(again) if again == pid => Err(format!(
                "a server that is not the load's own has the folder: process {}",
                pid.as_raw_nonzero()
            )),
            _ => Ok(None),
        }
    }

    /// Starts it, unless it runs; over when it takes connections.
    pub fn start(&self) -> Result<(), String> {
        let mut child = match self.own_process()? {
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
            .custom_flags(run::NO_LINK)
            .open(self.log())
            .map_err(|e| e.to_string())?;
        let again = log.try_clone().map_err(|e| e.to_string())?;
        super::state_file::given(&log, self.user).map_err(|e| e.to_string())?;
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
        let Some(first) = self.own_process()? else {
            return Ok(());
        };
        let failed = |e: rustix::io::Errno| format!("its process is not to be ended: {e}");
        rustix::process::kill_process(first, Signal::TERM).map_err(failed)?;
        // Its lock goes a little before it does; of one that nobody buries only the name stays.
        let line = told(first);
        let is_there = || std::fs::read(&line).is_ok_and(|line| !line.is_empty());
        while self.process() == Some(first) || is_there() {
            if Instant::now() > end {
                return Err(format!("it did not end within {} s", END.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// What it has complained about last.
    fn says(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        // An earlier start has had its say in the same file.
        let last = ["starting as process", "Starting MariaDB"]
            .iter()
            .filter_map(|mark| text.rfind(mark))
            .max();
        complaints(&text[last.unwrap_or(0)..])
    }
}

/// The socket of a load's own server on this data folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join(PRIVATE).join("sock")
}

/// Where the kernel tells how a process was called.
fn told(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}/cmdline", pid.as_raw_nonzero()))
}

/// An option with a path.
pub(super) fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push(path);
    text
}

/// The errors in what a server has said, those that came first and the last one; or its last words.
pub(super) fn complaints(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let is_error = |l: &&str| l.contains("[ERROR]") || l.starts_with("ERROR");
    let errors: Vec<&str> = lines.iter().copied().filter(is_error).collect();
    let list = if errors.len() > 3 {
        let last = errors.len() - 1;
        vec![errors[0], errors[1], errors[last]]
    } else if errors.is_empty() {
        lines[lines.len().saturating_sub(3)..].to_vec()
    } else {
        errors
    };
    printable(&list.join("; "))
}

#[cfg(test)]
mod tests {
    use super::complaints;

    #[test]
    fn the_first_complaint_says_why_and_the_last_one_what_became_of_it() {
        let log = "10:00 0 [Note] starting\n10:01 0 [ERROR] no space left\n10:01 0 [ERROR] a\n10:02 0 [ERROR] b\n10:02 0 [ERROR] Aborting\n\n";
        assert_eq!(
            complaints(log),
            "10:01 0 [ERROR] no space left; 10:01 0 [ERROR] a; 10:02 0 [ERROR] Aborting"
        );
        assert_eq!(complaints("a\nb\nc\nd\n"), "b; c; d");
        assert_eq!(complaints(""), "");
    }
}

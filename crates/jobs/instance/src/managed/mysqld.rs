//! The server process of a managed instance: how it is called, started, and shut down cleanly.
//!
//! Invariants: it listens on a socket that only its own account can reach, and nowhere else; it writes
//! nothing outside its data directory; the lock that every server holds on its system tablespace says
//! which process it is, never a number in a file; no other server is ever stopped.

use super::account;
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

/// How long it may take until its socket exists.
const START: Duration = Duration::from_secs(300);

/// How long it may take to shut down: it writes what it has in memory.
const SHUTDOWN: Duration = Duration::from_secs(600);

/// The directory of the load in the data directory: hidden, and closed to other accounts.
pub(super) const LOAD_DIRECTORY: &str = ".penstock-load";

/// The longest path of a socket that the kernel accepts.
const MAX_SOCKET_PATH: usize = 107;

/// A server on a data directory that a load has initialized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mysqld {
    /// Its data directory; absolute.
    pub(super) datadir: PathBuf,
    /// The server's program.
    pub(super) program: PathBuf,
    /// Whether that is MariaDB's.
    pub(super) mariadb: bool,
    /// Options that the user gave for it, each `name=value`.
    pub(super) options: Vec<String>,
    /// The account that it runs as, if it is started by root.
    pub(super) user: Option<u32>,
    /// Bytes of its buffer pool and of its redo log, unless its options have their own.
    pub(super) sizes: (u64, u64),
    /// Whether most tables are imported as tablespaces: then its performance schema is not used.
    #[serde(default)]
    pub(super) tablespaces: bool,
}

impl fmt::Display for Mysqld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!(
            "{} --datadir={}",
            self.program.display(),
            self.datadir.display()
        );
        f.write_str(&printable(&text))
    }
}

impl Mysqld {
    /// Its data directory.
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// Where the load keeps what belongs to it: state file, socket, log.
    pub fn state_directory(&self) -> PathBuf {
        self.datadir.join(LOAD_DIRECTORY)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.datadir)
    }

    /// Its error log, while it is managed.
    fn log(&self) -> PathBuf {
        self.state_directory().join("log")
    }

    /// Its directory for temporary files. The usual one is shared with other servers, whose files it
    /// would take for those that its earlier run has left.
    pub(super) fn scratch(&self) -> PathBuf {
        self.state_directory().join("tmp")
    }

    /// Whether the kernel accepts the path of its socket.
    pub(super) fn has_room_for_socket(&self) -> bool {
        self.socket().as_os_str().len() <= MAX_SOCKET_PATH
    }

    /// What every call of its program begins with. `datadir` may name the data directory in another way.
    pub(super) fn first_arguments(&self, datadir: &Path) -> Vec<OsString> {
        let mut list = vec!["--no-defaults".into(), option("--datadir=", datadir)];
        list.extend(self.user.map(|uid| format!("--user={uid}").into()));
        list
    }

    /// Its other options, when its data directory is initialized and when it runs.
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
            // Some builds have a directory here that their packages create, and do not start without it.
            list.push("--secure-file-priv=NULL".into());
            // Its native AIO threads check only twice a second whether the server shuts down, and it does
            // so three times.
            list.push("--innodb-use-native-aio=OFF".into());
        }
        list.extend(self.options.iter().map(|o| format!("--{o}").into()));
        list
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut list = self.first_arguments(&self.datadir);
        list.extend([
            option("--socket=", &self.socket()),
            option("--pid-file=", &self.state_directory().join("pid")),
            option("--log-error=", &self.log()),
            option("--tmpdir=", &self.scratch()),
        ]);
        // It has no other clients, and runs no events.
        list.extend(
            [
                "--skip-networking",
                "--event-scheduler=OFF",
                "--local-infile=1",
                "--innodb-buffer-pool-dump-at-shutdown=0",
                "--innodb-buffer-pool-load-at-startup=0",
                // What was just written is verified from the page cache.
                "--innodb-flush-method=fsync",
            ]
            .map(OsString::from),
        );
        if !self.mariadb {
            list.push("--mysqlx=OFF".into());
        }
        if !self.mariadb && self.tablespaces {
            // Starting with it takes a quarter of a GB and a part of a second.
            list.push("--performance-schema=OFF".into());
        }
        list.extend(self.more_arguments());
        list
    }

    /// The process that has the data directory.
    pub fn process(&self) -> Option<Pid> {
        let system = File::open(self.datadir.join("ibdata1")).ok()?;
        let lock = Flock::from(FlockType::WriteLock);
        rustix::process::fcntl_getlk(&system, &lock).ok()??.pid
    }

    /// The same, if it was started here; the error names any other process, which must not be stopped.
    fn own_process(&self) -> Result<Option<Pid>, String> {
        let Some(pid) = self.process() else {
            return Ok(None);
        };
        let socket = option("--socket=", &self.socket());
        let line = std::fs::read(command_line(pid)).unwrap_or_default();
        if line
            .split(|b| *b == 0)
            .any(|a| a == socket.as_encoded_bytes())
        {
            return Ok(Some(pid));
        }
        // It may have ended in between.
        match self.process() {
            Some(again) if again == pid => Err(format!(
                "another server uses the data directory: process {}",
                pid.as_raw_nonzero()
            )),
            _ => Ok(None),
        }
    }

    /// Starts it, unless it runs; returns when it accepts connections.
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
                break Err(self.errors());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        if let Some(mut child) = child {
            // Without a wait for its exit it stays as a zombie.
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
        account::give(&log, self.user).map_err(|e| e.to_string())?;
        // A killed server leaves it.
        let _ = std::fs::remove_file(self.socket());
        Command::new(&self.program)
            .args(self.arguments())
            .env_remove("PENSTOCK_PASSWORD")
            .env_remove("MYSQL_PWD")
            .current_dir(&self.datadir)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(again)
            // The terminal's Ctrl-C must not reach it: it is shut down cleanly.
            .process_group(0)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.display()))
    }

    /// Shuts it down cleanly; returns when its process is gone.
    pub fn stop(&self) -> Result<(), String> {
        let end = Instant::now() + SHUTDOWN;
        let Some(first) = self.own_process()? else {
            return Ok(());
        };
        let failed = |e: rustix::io::Errno| format!("cannot signal its process: {e}");
        rustix::process::kill_process(first, Signal::TERM).map_err(failed)?;
        // Its lock is released a little before it exits; a zombie has an empty command line.
        let line = command_line(first);
        let exists = || std::fs::read(&line).is_ok_and(|line| !line.is_empty());
        while self.process() == Some(first) || exists() {
            if Instant::now() > end {
                return Err(format!(
                    "it did not shut down within {} s",
                    SHUTDOWN.as_secs()
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The errors in its log since it was started last.
    fn errors(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        // An earlier start wrote to the same file.
        let last = ["starting as process", "Starting MariaDB"]
            .iter()
            .filter_map(|mark| text.rfind(mark))
            .max();
        error_lines(&text[last.unwrap_or(0)..])
    }
}

/// The socket of a managed instance on this data directory.
pub fn socket(datadir: &Path) -> PathBuf {
    datadir.join(LOAD_DIRECTORY).join("sock")
}

/// Where the kernel shows the command line of a process.
fn command_line(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}/cmdline", pid.as_raw_nonzero()))
}

/// An option with a path.
pub(crate) fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push(path);
    text
}

/// The errors in the output of a server: the first two and the last; or its last three lines.
pub(crate) fn error_lines(text: &str) -> String {
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
    use super::error_lines;

    #[test]
    fn the_first_errors_say_why_and_the_last_one_what_came_of_it() {
        let log = "10:00 0 [Note] starting\n10:01 0 [ERROR] no space left\n10:01 0 [ERROR] a\n10:02 0 [ERROR] b\n10:02 0 [ERROR] Aborting\n\n";
        assert_eq!(
            error_lines(log),
            "10:01 0 [ERROR] no space left; 10:01 0 [ERROR] a; 10:02 0 [ERROR] Aborting"
        );
        assert_eq!(error_lines("a\nb\nc\nd\n"), "b; c; d");
        assert_eq!(error_lines(""), "");
    }
}

//! The process of a temporary server, and how it is called.

use super::directory;
use super::original::{Original, RECOVER};
use crate::managed::account;
use crate::managed::mysqld::{error_lines, option};
use crate::managed::program;
use base::units::printable;
use base::{Error, Kind, Result, Secret};
use run::Run;
use run::state::storage;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, lchown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::Endpoint;
use wire::serve::Account;

/// How long it may take until it accepts connections.
const START: Duration = Duration::from_secs(300);

/// How long a server that has recovered may take to shut down.
const SHUTDOWN: Duration = Duration::from_secs(600);

/// What the user said about the temporary server.
#[derive(Clone, Debug)]
pub struct Options {
    /// An empty directory that is removed afterwards.
    pub scratch: PathBuf,
    /// The server's program; searched for if it is not given.
    pub program: Option<PathBuf>,
    /// Options of the server, each `name=value`: what its data directory was initialized with.
    pub options: Vec<String>,
}

/// How a server is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose<'a> {
    /// It only reads.
    Read,
    /// It recovers its data directory, which has this index of binary logs.
    Recover(Option<&'a Path>),
}

/// A server that has been started, and is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    directory: PathBuf,
    /// Whom it lets in; `None`: everybody.
    account: Option<Account>,
}

/// Where things are in the scratch directory.
const DATA: &str = "data";
const SOCKET: &str = "sock";
const LOG: &str = "log";
const TEMPORARY: &str = "tmp";

impl Process {
    /// Starts a server on a data directory, with its socket, log and temporary files in `directory`.
    pub(super) fn start(
        run: &Run,
        original: &Original,
        datadir: &Path,
        directory: &Path,
        options: &Options,
        purpose: Purpose<'_>,
    ) -> Result<Process> {
        let (program, mariadb) =
            program::find(options.program.as_deref(), Some(original.is_mariadb()))?;
        if mariadb != original.is_mariadb() {
            let name = |mariadb| if mariadb { "MariaDB" } else { "MySQL" };
            let what = format!(
                "--mysqld {} is a server of {}, and the data directory is of {}",
                program.display(),
                name(mariadb),
                name(!mariadb)
            );
            return Err(
                Error::new(Kind::Usage, printable(&what)).hint("name a program of that flavour")
            );
        }
        let user = user(original)?;
        let temporary = directory.join(TEMPORARY);
        let made = DirBuilder::new().mode(0o700).create(&temporary);
        made.and_then(|()| user.map_or(Ok(()), |uid| lchown(&temporary, Some(uid), None)))
            .and_then(|()| user.map_or(Ok(()), |uid| lchown(directory, Some(uid), None)))
            .map_err(|e| storage("create", &temporary, &e))?;
        let account = match (mariadb, purpose) {
            (true, Purpose::Read) => Some(made_at_start(directory, user)?),
            _ => None,
        };
        let log = directory.join(LOG);
        let output = File::create(&log).map_err(|e| storage("create", &log, &e))?;
        let failed = |e| storage("run", &program, &e);
        let child = Command::new(&program)
            .args(arguments(
                original, datadir, directory, user, options, purpose,
            ))
            .env_remove("PENSTOCK_PASSWORD")
            .env_remove("MYSQL_PWD")
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            // The terminal's Ctrl-C ends it when this process does.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut process = Process {
            child,
            directory: directory.to_owned(),
            account,
        };
        process.wait(run, &log, &program, datadir, purpose)?;
        Ok(process)
    }

    fn wait(
        &mut self,
        run: &Run,
        log: &Path,
        program: &Path,
        datadir: &Path,
        purpose: Purpose<'_>,
    ) -> Result<()> {
        let end = Instant::now() + START;
        loop {
            run.check()?;
            if UnixStream::connect(self.directory.join(SOCKET)).is_ok() {
                return Ok(());
            }
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > end {
                let text = fs::read(log).unwrap_or_default();
                return Err(not_started(
                    &String::from_utf8_lossy(&text),
                    program,
                    datadir,
                    purpose,
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Shuts it down cleanly.
    pub(super) fn stop(mut self, run: &Run) -> Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        let failed = |why: String| {
            Error::new(
                Kind::Failed,
                format!("the temporary server does not shut down: {why}"),
            )
        };
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)
            .map_err(|e| failed(e.to_string()))?;
        let end = Instant::now() + SHUTDOWN;
        loop {
            run.check()?;
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(failed(status.to_string())),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
                Ok(None) => return Err(failed(format!("not within {} s", SHUTDOWN.as_secs()))),
                Err(e) => return Err(failed(e.to_string())),
            }
        }
    }

    /// Whether it found transactions that were prepared and not committed, when it recovered.
    pub(super) fn found_prepared(&self) -> Result<bool> {
        let log = self.directory.join(LOG);
        let text = fs::read(&log).map_err(|e| storage("read", &log, &e))?;
        Ok(names_prepared(&String::from_utf8_lossy(&text)))
    }

    /// How to connect to it: the accounts of the original are not asked.
    pub(super) fn wire(&self) -> wire::Options {
        let socket = Endpoint::Unix(self.directory.join(SOCKET));
        let Some(account) = &self.account else {
            return wire::Options::new(socket, "root");
        };
        let mut options = wire::Options::new(socket, &account.user);
        options.password = Some(account.password.clone());
        options
    }
}

impl Drop for Process {
    /// It has nothing to save.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server does when it starts.
const AT_START: &str = "at-start.sql";

/// An account that MariaDB makes when it starts, in its own copy of the grant tables: one that reads no grant tables knows no
/// events either.
fn made_at_start(directory: &Path, user: Option<u32>) -> Result<Account> {
    let path = directory.join(AT_START);
    let failed = |e: std::io::Error| storage("create", &path, &e);
    let mut account = Account::random().map_err(failed)?;
    // Rules on passwords ask for these.
    account.password = Secret::new(format!("{}-A1z", account.password.reveal()));
    let name = format!("{}@localhost", account.user);
    let text = format!(
        "CREATE USER {name} IDENTIFIED BY '{}';\nGRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;\n",
        account.password.reveal()
    );
    let mut new = fs::OpenOptions::new();
    let mut file = (new.write(true).create_new(true).mode(0o600).open(&path)).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    if let Some(uid) = user {
        lchown(&path, Some(uid), None).map_err(failed)?;
    }
    Ok(account)
}

/// The account for `--user`.
pub(super) fn user(original: &Original) -> Result<Option<u32>> {
    account::of_server(original.path()).map_err(|e| storage("read", original.path(), &e))
}

fn arguments(
    original: &Original,
    datadir: &Path,
    directory: &Path,
    user: Option<u32>,
    options: &Options,
    purpose: Purpose<'_>,
) -> Vec<OsString> {
    let mariadb = original.is_mariadb();
    // Option files are those of other servers, and so is mysqld-auto.cnf, which this keeps away, too.
    let mut list: Vec<OsString> = vec!["--no-defaults".into(), option("--datadir=", datadir)];
    list.extend(user.map(|uid| format!("--user={uid}").into()));
    list.extend([
        option("--socket=", &directory.join(SOCKET)),
        option("--pid-file=", &directory.join("pid")),
        option("--tmpdir=", &directory.join(TEMPORARY)),
    ]);
    list.extend(
        [
            "--skip-networking",
            "--event-scheduler=OFF",
            "--innodb-buffer-pool-size=128M",
            "--innodb-buffer-pool-dump-at-shutdown=0",
            "--innodb-buffer-pool-load-at-startup=0",
            "--max-allowed-packet=1G",
        ]
        .map(OsString::from),
    );
    // Its accounts are those of the original, with passwords that nobody has told us; only its socket leads to it.
    match (mariadb, purpose) {
        (true, Purpose::Read) => list.push(option("--init-file=", &directory.join(AT_START))),
        _ => list.push("--skip-grant-tables".into()),
    }
    match purpose {
        Purpose::Read => {
            list.extend(["--innodb-read-only=1", "--skip-log-bin"].map(OsString::from))
        }
        Purpose::Recover(Some(index)) => {
            list.push(option(
                "--log-bin=",
                &datadir.join(index.with_extension("")),
            ));
            list.push(option("--log-bin-index=", &datadir.join(index)));
        }
        Purpose::Recover(None) => list.push("--skip-log-bin".into()),
    }
    let own: &[&str] = if mariadb {
        &["--skip-slave-start"]
    } else {
        &[
            "--skip-replica-start",
            "--mysqlx=OFF",
            "--performance-schema=OFF",
            "--secure-file-priv=NULL",
            "--innodb-use-native-aio=OFF",
            // The dictionary has the paths of the originals; files that were moved could not be entered.
            "--innodb-validate-tablespace-paths=OFF",
            // Notes: transactions that were prepared (`names_prepared`).
            "--log-error-verbosity=3",
        ]
    };
    list.extend(own.iter().map(OsString::from));
    let size = original.page_size();
    list.extend(size.map(|bytes| format!("--innodb-page-size={bytes}").into()));
    list.extend(options.options.iter().map(|o| format!("--{o}").into()));
    list
}

/// The way out where recovery has to ask a binary log that is not in the data directory.
pub(super) const NAME_THE_INDEX: &str = "whether a transaction that was prepared is committed stands in the binary log that the server was writing: --binary-log-index names the index that lists it (the server's log_bin_index), as /var/log/mysql/binlog.index";

/// What servers say of transactions that were prepared and not committed: MySQL of each one that it finds, MariaDB when
/// it needs a binary log that it does not have.
fn names_prepared(log: &str) -> bool {
    log.contains("was in the XA prepared state")
        || log.contains("Found ") && log.contains(" prepared transaction")
}

/// The error of a server that does not come up.
fn not_started(log: &str, program: &Path, datadir: &Path, purpose: Purpose<'_>) -> Error {
    let text = format!(
        "the temporary server does not start ({} --datadir={}): {}",
        program.display(),
        datadir.display(),
        error_lines(log)
    );
    let unclean = [
        "prevents crash recovery",
        "initiate database recovery",
        "not shut down cleanly",
        "read-only mode. Can't",
    ];
    if log.contains("No space left") || log.contains("error 28") {
        return Error::new(Kind::Storage, printable(&text))
            .hint("make room there, or name another directory with --scratch");
    }
    let error = Error::new(Kind::Failed, printable(&text));
    if purpose == Purpose::Read && unclean.iter().any(|u| log.contains(u)) {
        return error.hint(format!(
            "the data directory was not shut down cleanly: {RECOVER}"
        ));
    }
    if purpose == Purpose::Recover(None) && names_prepared(log) {
        return error.hint(NAME_THE_INDEX);
    }
    error.hint("this is the output of the server's program: it must be of the version that the data directory is of (--mysqld), and may need options that the data directory was initialized with (--mysqld-option innodb_page_size=…, lower_case_table_names=…)")
}

/// A server that reads a data directory.
#[derive(Debug)]
pub struct ReadOnlyServer {
    process: Process,
    original: Original,
    /// Bytes that were copied for it.
    pub copied: u64,
}

impl ReadOnlyServer {
    /// Starts it.
    pub fn start(run: &Run, original: Original, options: &Options) -> Result<ReadOnlyServer> {
        let _phase = run.phase("starting a temporary server", 1);
        let datadir = options.scratch.join(DATA);
        let copied = directory::create(run, &original, &datadir, user(&original)?)?;
        let process = Process::start(
            run,
            &original,
            &datadir,
            &options.scratch,
            options,
            Purpose::Read,
        )?;
        Ok(ReadOnlyServer {
            process,
            original,
            copied,
        })
    }

    /// How to connect to it.
    pub fn wire(&self) -> wire::Options {
        self.process.wire()
    }

    /// What it reads.
    pub fn original(&self) -> &Original {
        &self.original
    }
}

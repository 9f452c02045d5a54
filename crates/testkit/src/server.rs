//! A throw-away server: a data directory, a socket, and the process.
//!
//! Everything is in one directory. A [`Server`] removes it when dropped and kills the process: its
//! data is worth nothing, so it gets no time to write it out. Directories left by a killed test
//! process are removed by the next one.

use crate::install::{Install, Kind, option};
use crate::{Error, Result, datadir, process};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};
use wire::{Conn, Endpoint, Options};

pub mod standing;

/// How long a server may take until a login works.
const START: Duration = Duration::from_secs(120);
/// How long a server may take to shut down where its data is kept.
const STOP: Duration = Duration::from_secs(120);
/// A unix socket's path has to fit into 108 bytes, with the terminating zero.
const SOCKET_MAX: usize = 100;
/// First part of the names of our directories; the process id follows.
const PREFIX: &str = "penstock-test-";

/// What a new server should be like.
#[derive(Clone, Debug)]
pub struct Setup {
    install: Install,
    tcp: bool,
    extra: Vec<OsString>,
    datadir: Option<PathBuf>,
    within: Option<PathBuf>,
    page_size: Option<u32>,
}

impl Setup {
    /// A server of this kind on a socket only, tuned for tests.
    pub fn new(kind: Kind) -> Result<Setup> {
        Ok(Setup {
            install: Install::find(kind)?,
            tcp: false,
            extra: Vec::new(),
            datadir: None,
            within: None,
            page_size: None,
        })
    }

    /// On an existing data directory; it is moved to where these servers are.
    #[must_use]
    pub fn over(mut self, datadir: &Path) -> Setup {
        self.datadir = Some(datadir.to_owned());
        self
    }

    /// Also listens on a free port of 127.0.0.1.
    #[must_use]
    pub fn tcp(mut self) -> Setup {
        self.tcp = true;
        self
    }

    /// In a directory of its own below this one, as on a file system of its own.
    #[must_use]
    pub fn within(mut self, directory: &Path) -> Setup {
        self.within = Some(directory.to_owned());
        self
    }

    /// With pages of InnoDB of this many bytes.
    #[must_use]
    pub fn page_size(mut self, bytes: u32) -> Setup {
        self.page_size = Some(bytes);
        self
    }

    /// Adds arguments of the server; they override the ones chosen here.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, extra: impl IntoIterator<Item = S>) -> Setup {
        self.extra.extend(extra.into_iter().map(Into::into));
        self
    }

    /// Where the server is.
    pub(crate) fn install(&self) -> &Install {
        &self.install
    }

    /// Runs this copy of the server's binary.
    pub(crate) fn run_from(&mut self, copy: PathBuf) {
        let binary = self.install.binary.as_os_str().to_owned();
        for arg in self.install.server.iter_mut().filter(|a| **a == binary) {
            *arg = copy.clone().into_os_string();
        }
    }

    /// Starts it in a temporary directory and waits until a login works.
    pub fn start(self) -> Result<Server> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        let directory = temp_directory(self.within.as_deref())?;
        let instance = Instance::create(&self, directory.path())?;
        let child = start(&instance, process::spawn_bound)?;
        Ok(Server {
            instance,
            child: Some(child),
            directory: Some(directory),
        })
    }
}

/// Where a server is and how it is called.
#[derive(Clone, Debug)]
struct Instance {
    install: Install,
    directory: PathBuf,
    port: Option<u16>,
    args: Vec<OsString>,
}

impl Instance {
    /// Prepares a new server in `directory`, which exists and is empty.
    fn create(setup: &Setup, directory: &Path) -> Result<Instance> {
        let directory = directory
            .canonicalize()
            .map_err(Error::doing(directory.display()))?;
        let socket = directory.join("sock");
        if socket.as_os_str().len() >= SOCKET_MAX {
            return Err(Error(format!(
                "{} is too long for a socket",
                socket.display()
            )));
        }
        match &setup.datadir {
            Some(made) => std::fs::rename(made, directory.join("data"))
                .map_err(Error::doing(made.display()))?,
            None => datadir::create(&setup.install, &directory.join("data"), setup.page_size)?,
        }
        std::fs::create_dir(directory.join("tmp"))?;
        let port = if setup.tcp { Some(free_port()?) } else { None };
        let mut args: Vec<OsString> = setup.install.server[1..].to_vec();
        args.extend([
            option("--datadir=", directory.join("data")),
            option("--tmpdir=", directory.join("tmp")),
            option("--socket=", &socket),
            option("--pid-file=", directory.join("pid")),
        ]);
        args.extend(tuning(setup.install.kind).map(OsString::from));
        args.extend(
            datadir::layout(setup.install.kind)
                .iter()
                .map(OsString::from),
        );
        args.extend(setup.page_size.map(datadir::page_size_argument));
        args.extend(datadir::user_argument());
        match port {
            Some(port) => args.extend([
                "--bind-address=127.0.0.1".into(),
                format!("--port={port}").into(),
            ]),
            None => args.push("--skip-networking".into()),
        }
        args.extend(setup.extra.iter().cloned());
        Ok(Instance {
            install: setup.install.clone(),
            directory,
            port,
            args,
        })
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("sock")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    fn options(&self) -> Options {
        let mut options = Options::new(Endpoint::Unix(self.socket()), "root");
        options.local_infile = true;
        options
    }
}

/// Arguments of every test server: start quickly, survive a kill of the process (but not of the
/// machine), and never reach a limit.
fn tuning(kind: Kind) -> impl Iterator<Item = &'static str> {
    let all = [
        "--local-infile=1",
        "--secure-file-priv=",
        "--innodb-buffer-pool-size=128M",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-use-native-aio=0",
        "--sync-binlog=0",
        "--server-id=1",
        "--max-allowed-packet=1G",
        "--max-connections=100",
    ];
    let own: &[&str] = match kind {
        Kind::MySql => &[
            "--mysqlx=OFF",
            "--log-bin=binlog",
            "--log-error-verbosity=2",
        ],
        Kind::MariaDb | Kind::MariaDb118 => &["--log-bin=binlog"],
        Kind::MySql55 => &["--log-bin=binlog", "--innodb-file-per-table=1"],
    };
    all.into_iter().chain(own.iter().copied())
}

fn start(
    instance: &Instance,
    spawn: impl FnOnce(Command) -> std::io::Result<Child>,
) -> Result<Child> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(instance.log())?;
    let mut command = Command::new(&instance.install.server[0]);
    command
        .args(&instance.args)
        .current_dir(&instance.directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    let mut child = spawn(command).map_err(Error::doing(instance.install.binary.display()))?;
    match until_login(instance, &mut child) {
        Ok(()) => Ok(child),
        Err(e) => {
            let _ = child.kill();
            let _ = child.wait();
            let log = std::fs::read(instance.log()).unwrap_or_default();
            let end = datadir::last_lines(&String::from_utf8_lossy(&log), 15);
            Err(Error(format!(
                "{} server: {e}\n{end}",
                instance.install.kind.name()
            )))
        }
    }
}

fn until_login(instance: &Instance, child: &mut Child) -> Result<()> {
    let deadline = Instant::now() + START;
    loop {
        if let Some(status) = child.try_wait()? {
            return Err(Error(format!("ended while starting, {status}")));
        }
        let reason = if instance.socket().exists() {
            match Conn::connect(&instance.options()) {
                Ok(_) => return Ok(()),
                Err(e) => e.to_string(),
            }
        } else {
            "no socket yet".to_owned()
        };
        if Instant::now() > deadline {
            return Err(Error(format!(
                "no login within {} s: {reason}",
                START.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A running throw-away server; dropping it ends the process and removes its directory.
#[derive(Debug)]
pub struct Server {
    instance: Instance,
    child: Option<Child>,
    directory: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts a server of this kind on a socket, with further arguments.
    pub fn start(kind: Kind, extra_args: &[&str]) -> Result<Server> {
        Setup::new(kind)?.args(extra_args).start()
    }

    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        self.instance.install.kind
    }

    /// The binaries it runs from.
    pub fn install(&self) -> &Install {
        &self.instance.install
    }

    /// The unix socket.
    pub fn socket(&self) -> PathBuf {
        self.instance.socket()
    }

    /// The port on 127.0.0.1, when it was set up with one.
    pub fn port(&self) -> Option<u16> {
        self.instance.port
    }

    /// The data directory.
    pub fn datadir(&self) -> PathBuf {
        self.instance.directory.join("data")
    }

    /// Everything that the server has written to its error log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.instance.log()).unwrap_or_default())
            .into_owned()
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Root on the socket, LOCAL INFILE allowed.
    pub fn options(&self) -> Options {
        self.instance.options()
    }

    /// Root on the TCP port; panics when the server has none.
    pub fn tcp_options(&self) -> Options {
        let port = self.instance.port.expect("a server set up with tcp()");
        let mut options = self.options();
        options.endpoint = Endpoint::Tcp("127.0.0.1".into(), port);
        options
    }

    /// The server as a user would name it: `mysql://root@localhost/?socket=…`.
    pub fn uri(&self) -> String {
        format!("mysql://root@localhost/?socket={}", self.socket().display())
    }

    /// `mysql://root@127.0.0.1:PORT/`; panics when the server has no port.
    pub fn tcp_uri(&self) -> String {
        let port = self.instance.port.expect("a server set up with tcp()");
        format!("mysql://root@127.0.0.1:{port}/")
    }

    /// A connection as root.
    pub fn conn(&self) -> Result<Conn> {
        Ok(Conn::connect(&self.options())?)
    }

    /// Runs one statement as root and returns its rows as text.
    pub fn client(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let rows = self.conn()?.fetch(sql).map_err(Error::doing(sql))?;
        let text = |cell: Option<Vec<u8>>| cell.map(|c| String::from_utf8_lossy(&c).into_owned());
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(text).collect())
            .collect())
    }

    /// The first cell of the first row of one statement; empty for none or NULL.
    pub fn value(&self, sql: &str) -> Result<String> {
        let rows = self.client(sql)?;
        Ok(rows
            .into_iter()
            .flatten()
            .next()
            .flatten()
            .unwrap_or_default())
    }

    /// The cell of this column in the first row of one statement; `None` for NULL and where there
    /// is no row.
    pub fn field(&self, sql: &str, column: &str) -> Result<Option<String>> {
        let mut conn = self.conn()?;
        let mut rows = conn.query(sql).map_err(Error::doing(sql))?;
        let at = rows.columns().iter().position(|c| c.name == column);
        let at = at.ok_or_else(|| Error(format!("{sql}: no column {column}")))?;
        let Some(row) = rows.next().map_err(Error::doing(sql))? else {
            return Ok(None);
        };
        let cell = row.cells().nth(at).transpose()?.flatten();
        Ok(cell.map(|c| String::from_utf8_lossy(c).into_owned()))
    }

    /// Runs a script of many statements (DELIMITER and all) through the stock client.
    pub fn script(&self, sql: &[u8]) -> Result<()> {
        let socket = self.socket();
        crate::sample::run_script(&self.instance.install, &socket, None, &mut &sql[..])
    }

    /// Kills the process as a power cut would; the data directory stays for [`Server::restart`].
    pub fn kill9(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Shuts the server down cleanly; the data directory stays.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            process::signal(child.id(), Signal::TERM)?;
            if !process::wait(&mut child, STOP)? {
                child.kill()?;
                child.wait()?;
                return Err(Error(format!(
                    "the server did not end within {} s",
                    STOP.as_secs()
                )));
            }
        }
        Ok(())
    }

    /// Stops the server if it runs, and starts it again on the same data and addresses.
    pub fn restart(&mut self) -> Result<()> {
        self.restart_with(&[])
    }

    /// As [`Server::restart`], with further arguments from now on.
    pub fn restart_with(&mut self, extra_args: &[&str]) -> Result<()> {
        self.stop()?;
        self.instance
            .args
            .extend(extra_args.iter().map(OsString::from));
        let _ = std::fs::remove_file(self.socket());
        self.child = Some(start(&self.instance, process::spawn_bound)?);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill9();
        if std::env::var_os("PENSTOCK_KEEP").is_some()
            && let Some(directory) = self.directory.take()
        {
            let kept = directory.keep();
            let _ = writeln!(std::io::stderr(), "kept {}", kept.display());
        }
    }
}

fn temp_directory(within: Option<&Path>) -> Result<tempfile::TempDir> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut home = within.map_or_else(std::env::temp_dir, Path::to_owned);
    // Room for the prefix, the random part and the socket's own name.
    if home.as_os_str().len() + prefix.len() + 16 >= SOCKET_MAX {
        home = PathBuf::from("/tmp");
    }
    tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(&home)
        .map_err(Error::doing(home.display()))
}

/// The home directory of the tools that this process starts: nothing of the user's own is read, and what
/// tools keep is not left in a directory of the machine. The next test process removes it.
pub fn home_directory() -> Result<PathBuf> {
    let home = std::env::temp_dir().join(format!("{PREFIX}{}-home", std::process::id()));
    std::fs::create_dir_all(&home).map_err(Error::doing(home.display()))?;
    Ok(home)
}

/// Removes the directories of test processes that were killed before they could.
fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|n| n.strip_prefix(PREFIX))
            .and_then(|n| n.split('-').next());
        let Some(owner) = owner.and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new("/proc").join(owner.to_string()).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A port that is free now. Another process could take it before the server does; the server then
/// ends and says so.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
